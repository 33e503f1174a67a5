//! The writer: a copy of the child that stands still, and writes itself to a file.
//!
//! Nothing here allocates: memory is to be as it was when the copy was made. What it needs lies in memory of its own, which
//! the image does not have. Every piece is copied there first, so that what is summed is what is written.
#![expect(unsafe_code, reason = "it reads its own memory, and divides some among plain values")]

use crate::Told;
use crate::channel::Page;
use crate::format::{
    Extent, HEAD_BYTES, Head, KERNELS, MAGIC, OpenFile, PAGE, Plain, Region, Thread, bytes_of, sum,
};
use crate::kernel;
use crate::mappings::{self, Kind, Mapping};
use nix::libc;
use std::ffi::{CStr, c_void};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The exit code where there is something that no image can have.
pub(crate) const ODD: i32 = 200;

/// Files that memory may be views of.
const MAPPED: usize = 2048;
const TEXT: usize = 32 << 20;
const REGIONS: usize = 1 << 16;
/// Files that may be open.
pub(crate) const FILES: usize = 256;
const EXTENTS: usize = 4 << 20;
/// Bytes that are copied, summed and written at once.
const PIECE: usize = 1 << 20;
const PIECE_PAGES: usize = PIECE / PAGE as usize;
/// Fewer pages of zeros in a row are written: a table would take longer.
const GAP: usize = 16;

/// What is to be written, and for whom.
pub(crate) struct Job {
    pub(crate) parent: i32,
    pub(crate) page: &'static Page,
    pub(crate) channel: i32,
    pub(crate) folder: i32,
    /// Where each open file was read to, by its number. It is asked before the copy is made, which shares it with the child.
    pub(crate) positions: [u64; FILES],
    pub(crate) told: Told,
    pub(crate) spent: Duration,
}

/// Writes the process, and ends it.
pub(crate) extern "C" fn take(stack: u64, goes_on: u64, with: *const c_void) -> u64 {
    // SAFETY: the one caller gives a job that lives on.
    let job = unsafe { &*with.cast::<Job>() };
    kernel::ends_with(job.parent);
    kernel::step_back();
    let done = kernel::thread(stack, goes_on).and_then(|thread| Writer::new(job)?.write(&thread));
    kernel::end(done.err().unwrap_or(0))
}

type Done<T> = Result<T, i32>;

/// Memory that is divided, and never given back.
struct Own {
    from: *mut u8,
    at: usize,
}

impl Own {
    const BYTES: usize = TEXT
        + REGIONS * size_of::<Region>()
        + (FILES + MAPPED) * size_of::<OpenFile>()
        + EXTENTS * size_of::<Extent>()
        + 8 * PIECE;

    fn new() -> Done<Own> {
        Ok(Own { from: kernel::new_memory(Own::BYTES)?, at: 0 })
    }

    /// So many zeros.
    fn some<T: Plain>(&mut self, count: usize) -> &'static mut [T] {
        let at = self.at.next_multiple_of(64);
        self.at = at + count * size_of::<T>();
        assert!(self.at <= Own::BYTES);
        // SAFETY: nobody else's, zero, which plain values may be, and there until the process ends.
        unsafe { std::slice::from_raw_parts_mut(self.from.add(at).cast(), count) }
    }

    fn has(&self, mapping: &Mapping<'_>) -> bool {
        (mapping.from..mapping.to).contains(&(self.from as u64))
    }
}

/// A table that is filled.
struct Table<T: 'static> {
    all: &'static mut [T],
    count: usize,
}

impl<T: Plain> Table<T> {
    fn new(own: &mut Own, most: usize) -> Table<T> {
        Table { all: own.some(most), count: 0 }
    }

    fn push(&mut self, one: T) -> Done<()> {
        *self.all.get_mut(self.count).ok_or(ODD)? = one;
        self.count += 1;
        Ok(())
    }

    fn filled(&self) -> &[T] {
        &self.all[..self.count]
    }
}

struct Writer<'a> {
    job: &'a Job,
    own: Own,
    regions: Table<Region>,
    extents: Table<Extent>,
    files: Table<OpenFile>,
    kernels: [[u64; 2]; KERNELS],
    piece: &'static mut [u8],
    pages: &'static mut [u64],
    /// This process's memory, and which of it is there.
    memory: i32,
    there: i32,
    file: i32,
    /// Where the file ends.
    end: u64,
}

impl<'a> Writer<'a> {
    fn new(job: &'a Job) -> Done<Writer<'a>> {
        let mut own = Own::new()?;
        let (regions, extents) = (Table::new(&mut own, REGIONS), Table::new(&mut own, EXTENTS));
        let files = Table::new(&mut own, FILES + MAPPED);
        let (piece, pages) = (own.some(PIECE), own.some(PIECE_PAGES));
        let mut writer = Writer {
            job,
            own,
            regions,
            extents,
            files,
            kernels: [[0; 2]; KERNELS],
            piece,
            pages,
            memory: -1,
            there: -1,
            file: -1,
            end: HEAD_BYTES,
        };
        // Before there is a file of the writer's own.
        writer.note_files()?;
        writer.memory = kernel::open(c"/proc/self/mem", libc::O_RDONLY)?;
        writer.there = kernel::open(c"/proc/self/pagemap", libc::O_RDONLY)?;
        Ok(writer)
    }

    /// Writes everything under another name, and then under its own.
    fn write(mut self, thread: &Thread) -> Done<()> {
        let mut names = [[0; 320]; 2];
        let [partial, name] = &mut names;
        let (partial, name) = (self.partial_name(partial), self.name(name));
        let create = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
        self.file = kernel::open_in(self.job.folder, partial, create)?;
        let mut done = self.write_memory();
        if done.is_ok() {
            done = self.write_tables(thread);
        }
        if done.is_ok() {
            done = kernel::finish(self.job.folder, self.file, partial, name);
        }
        if done.is_err() {
            kernel::remove_in(self.job.folder, partial);
        }
        done
    }

    fn name<'n>(&self, into: &'n mut [u8]) -> &'n CStr {
        join(into, &[plain(&self.job.page.name)])
    }

    /// Of this writer alone: an orphan may still be at work.
    fn partial_name<'n>(&self, into: &'n mut [u8]) -> &'n CStr {
        let (mut own, mut time) = ([0; 20], [0; 20]);
        let own = decimal(std::process::id().into(), &mut own);
        let time = decimal(kernel::date().as_nanos() as u64, &mut time);
        join(into, &[plain(&self.job.page.name), b".", own, b"-", time, b".partial"])
    }

    /// Notes what files are open. They are there to be read, or the process's own three.
    fn note_files(&mut self) -> Done<()> {
        let numbers: &'static mut [i32] = self.own.some(4 * FILES);
        for number in kernel::open_files(self.piece, numbers).map_err(|_| ODD)? {
            let number = *number;
            if number == self.job.channel || number == self.job.folder {
                continue;
            }
            let flags = kernel::flags(number)?;
            let about = kernel::state(number)?;
            let is_read = flags & libc::O_ACCMODE == libc::O_RDONLY;
            if about.st_mode & libc::S_IFMT != libc::S_IFREG || !is_read || about.st_nlink == 0 {
                return Err(ODD);
            }
            let mut file = OpenFile {
                number: number as u64,
                flags: flags as u64,
                position: *self.job.positions.get(number as usize).ok_or(ODD)?,
                bytes: about.st_size as u64,
                seconds: about.st_mtime,
                nanoseconds: about.st_mtime_nsec,
                path_bytes: 0,
                path: [0; OpenFile::PATH],
            };
            let (mut digits, mut link) = ([0; 20], [0; 64]);
            let digits = decimal(number as u64, &mut digits);
            let link = join(&mut link, &[b"/proc/self/fd/", digits]);
            file.path_bytes = kernel::link(link, &mut file.path)? as u64;
            if file.path_bytes as usize >= OpenFile::PATH {
                return Err(ODD);
            }
            self.files.push(file)?;
        }
        Ok(())
    }

    fn write_memory(&mut self) -> Done<()> {
        let text: &'static mut [u8] = self.own.some(TEXT);
        let length = kernel::read_all(c"/proc/self/smaps", text)?;
        let text = std::str::from_utf8(&text[..length]).map_err(|_| ODD)?;
        let mut kernels = 0;
        for mapping in mappings::all(text) {
            match mapping.kind() {
                _ if self.own.has(&mapping) => self.write_around(&mapping)?,
                _ if mapping.from == std::ptr::from_ref(self.job.page) as u64 => {}
                Kind::Own | Kind::File => self.write_mapping(&mapping)?,
                Kind::Kernel => {
                    *self.kernels.get_mut(kernels).ok_or(ODD)? = [mapping.from, mapping.to];
                    kernels += 1;
                }
                Kind::Everybodys => {}
                Kind::Odd => return Err(ODD),
            }
        }
        Ok(())
    }

    /// The writer's own memory is not written; what the kernel shows as one with it is.
    fn write_around(&mut self, mapping: &Mapping<'_>) -> Done<()> {
        let from = self.own.from as u64;
        let to = from + Own::BYTES.next_multiple_of(PAGE as usize) as u64;
        for (from, to) in [(mapping.from, from), (to, mapping.to)] {
            if from < to {
                self.write_mapping(&Mapping { from, to, ..*mapping })?;
            }
        }
        Ok(())
    }

    fn write_mapping(&mut self, mapping: &Mapping<'_>) -> Done<()> {
        let has = |flag, bit| if mapping.has(flag) { bit } else { 0 };
        let about = has("gd", Region::GROWS)
            | has("hg", Region::HUGE)
            | has("nh", Region::NO_HUGE)
            | has("nr", Region::NO_RESERVE);
        let (from, to, protection) = (mapping.from, mapping.to, mapping.protection());
        let is_file = mapping.kind() == Kind::File;
        let file = if is_file { self.note_view(mapping)? } else { 0 };
        self.regions.push(Region { from, to, protection, about, file, offset: mapping.offset })?;
        let wanted = match (is_file, file) {
            (false, _) => Wanted::There,
            (true, 0) => Wanted::All,
            (true, _) => Wanted::Changed,
        };
        // Memory of nobody's file that is nowhere is zero.
        if wanted != Wanted::All && mapping.there == 0 {
            return Ok(());
        }
        if !mapping.rights.starts_with('r') {
            kernel::make_readable(from, to - from);
        }
        for at in (from..to).step_by(PIECE) {
            let bytes = PIECE.min((to - at) as usize);
            self.write_piece(at, bytes, wanted)?;
        }
        Ok(())
    }

    /// Notes the file that memory is a view of, and gives one more than its place among the files; 0 where there is no such
    /// file any more.
    fn note_view(&mut self, mapping: &Mapping<'_>) -> Done<u64> {
        let name = mapping.name.as_bytes();
        let last = self.files.filled().last();
        if last.is_some_and(|file| file.number == OpenFile::MAPPED && file.path() == name) {
            return Ok(self.files.count as u64);
        }
        if name.len() >= OpenFile::PATH {
            return Ok(0);
        }
        let mut path = [0; OpenFile::PATH];
        let Ok(about) = kernel::state_of(join(&mut path, &[name])) else { return Ok(0) };
        if about.st_ino != mapping.inode || about.st_mode & libc::S_IFMT != libc::S_IFREG {
            return Ok(0);
        }
        self.files.push(OpenFile {
            number: OpenFile::MAPPED,
            flags: 0,
            position: 0,
            bytes: about.st_size as u64,
            seconds: about.st_mtime,
            nanoseconds: about.st_mtime_nsec,
            path_bytes: name.len() as u64,
            path,
        })?;
        Ok(self.files.count as u64)
    }

    fn write_piece(&mut self, at: u64, bytes: usize, wanted: Wanted) -> Done<()> {
        let pages = bytes / PAGE as usize;
        if wanted != Wanted::All {
            self.look_at_pages(at, pages)?;
            if !self.pages[..pages].iter().any(|page| wanted.has(*page)) {
                return Ok(());
            }
        }
        self.copy_piece(at, bytes);
        let is_zero = |page: usize| all_zero(&self.piece[page * PAGE as usize..][..PAGE as usize]);
        let is_left_out = |page: usize| match wanted {
            Wanted::Changed => !wanted.has(self.pages[page]),
            Wanted::All | Wanted::There => is_zero(page),
        };
        // Pages beyond the end of a file cannot be written again.
        let gap = if wanted == Wanted::Changed { 1 } else { GAP };
        let mut next = 0;
        while let Some(first) = (next..pages).find(|page| !is_left_out(*page)) {
            let mut last = first;
            while let Some(more) = (last + 1..pages.min(last + 1 + gap)).find(|page| !is_left_out(*page)) {
                last = more;
            }
            next = last + 1;
            let (from, to) = (first * PAGE as usize, next * PAGE as usize);
            let piece = &self.piece[from..to];
            kernel::write_at(self.file, self.end, piece)?;
            let bytes = piece.len() as u64;
            self.extents.push(Extent { at: at + from as u64, bytes, offset: self.end, sum: sum(piece) })?;
            self.end += bytes;
        }
        Ok(())
    }

    /// Asks the kernel where so many pages are.
    fn look_at_pages(&mut self, at: u64, pages: usize) -> Done<()> {
        let entries = &mut self.pages[..pages];
        // SAFETY: numbers as bytes.
        let bytes = unsafe { std::slice::from_raw_parts_mut(entries.as_mut_ptr().cast(), 8 * pages) };
        let read = kernel::read_at(self.there, at / PAGE * 8, bytes)?;
        if read < 8 * pages { Err(ODD) } else { Ok(()) }
    }

    /// Copies memory; a page that cannot be read, beyond the end of a file that is mapped, is zero.
    fn copy_piece(&mut self, at: u64, bytes: usize) {
        let piece = &mut self.piece[..bytes];
        if kernel::read_at(self.memory, at, piece) == Ok(bytes) {
            return;
        }
        for (page, into) in piece.chunks_mut(PAGE as usize).enumerate() {
            if kernel::read_at(self.memory, at + page as u64 * PAGE, into) != Ok(PAGE as usize) {
                into.fill(0);
            }
        }
    }

    fn write_tables(&mut self, thread: &Thread) -> Done<()> {
        let tables_at = self.end;
        let mut sums = [0; 3];
        let (regions, extents, files) = (self.regions.filled(), self.extents.filled(), self.files.filled());
        for (bytes, own) in [bytes_of(regions), bytes_of(extents), bytes_of(files)].into_iter().zip(&mut sums)
        {
            kernel::write_at(self.file, self.end, bytes)?;
            self.end += bytes.len() as u64;
            *own = sum(bytes);
        }
        let mut head = Head {
            magic: MAGIC,
            of: self.job.page.of.load(Relaxed),
            spent: self.job.spent.as_millis() as u64,
            taken_at: kernel::date().as_secs(),
            told: self.job.told,
            tables_at,
            regions: regions.len() as u64,
            extents: extents.len() as u64,
            files: files.len() as u64,
            tables_sum: sum(bytes_of(&sums)),
            channel: [self.job.channel as u64, std::ptr::from_ref(self.job.page) as u64],
            folder: self.job.folder as u64,
            kernels: self.kernels,
            thread: *thread,
            sum: 0,
        };
        head.thread.bounds = kernel::bounds(self.piece)?;
        head.sum = head.own_sum();
        kernel::write_at(self.file, 0, head.bytes())
    }
}

/// Which pages of a mapping are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    All,
    /// What is in memory or swapped out.
    There,
    /// What is no longer as in the file.
    Changed,
}

impl Wanted {
    /// Of a page that the kernel says this of.
    fn has(self, page: u64) -> bool {
        const SOMEWHERE: u64 = 3 << 62;
        const OF_FILE: u64 = 1 << 61;
        match self {
            Wanted::All => true,
            Wanted::There => page & SOMEWHERE != 0,
            Wanted::Changed => page & SOMEWHERE != 0 && page & OF_FILE == 0,
        }
    }
}

/// The bytes before the first zero.
fn plain(name: &[u8]) -> &[u8] {
    &name[..name.iter().position(|byte| *byte == 0).unwrap_or(name.len())]
}

/// Parts as one, with a zero behind it.
fn join<'n>(into: &'n mut [u8], parts: &[&[u8]]) -> &'n CStr {
    let mut at = 0;
    for part in parts {
        into[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    }
    into[at] = 0;
    CStr::from_bytes_until_nul(into).unwrap_or(c"")
}

fn decimal(mut number: u64, into: &mut [u8; 20]) -> &[u8] {
    let mut at = into.len();
    loop {
        at -= 1;
        into[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &into[at..];
        }
    }
}

fn all_zero(page: &[u8]) -> bool {
    // In words of many bytes, of which most pages that are not zero need the first.
    page.chunks_exact(256).all(|chunk| chunk.iter().fold(0, |all, byte| all | byte) == 0)
}
