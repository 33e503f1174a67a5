//! An image that was found, checked before anything is done with it.

use crate::format::{Extent, HEAD_BYTES, Head, MAGIC, OpenFile, PAGE, Region, bytes_of, of_bytes, sum};
use crate::kernel;
use crate::mappings::{self, Kind};
use crate::{Place, Told};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::Duration;
use twox_hash::XxHash3_64;

/// An image that is whole, and of the work that is to be done.
#[derive(Debug)]
pub struct Image {
    pub(crate) file: File,
    pub(crate) head: Box<Head>,
    pub(crate) regions: Vec<Region>,
    pub(crate) extents: Vec<Extent>,
    /// The files that were open, open again, and those that memory was a view of, open for now.
    pub(crate) files: Vec<(OpenFile, File)>,
}

impl Image {
    /// The image of a piece of work; none where there is none.
    ///
    /// # Errors
    /// Why the one that is there cannot be taken.
    pub fn find(place: &Place) -> Result<Option<Image>, String> {
        let file = match File::open(place.file()) {
            Ok(file) => file,
            Err(why) if why.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(why) => return Err(why.to_string()),
        };
        if !is_own(&file) {
            return Err("others may have written it".into());
        }
        Image::read(file, of(place)).map(Some)
    }

    fn read(file: File, of: u64) -> Result<Image, String> {
        let damaged = || "it is damaged".to_string();
        let mut bytes = vec![0; size_of::<Head>()];
        file.read_exact_at(&mut bytes, 0).map_err(|_| damaged())?;
        let head: Head = of_bytes(&bytes).and_then(|all| all.first().copied()).ok_or_else(damaged)?;
        if head.magic != MAGIC || head.sum != head.own_sum() {
            return Err(damaged());
        }
        if head.of != of {
            return Err("it is of another run, program, kernel or processor".into());
        }
        let tables = Tables::read(&file, &head).ok_or_else(damaged)?;
        if !tables.extents.iter().all(|extent| is_whole(&file, extent)) {
            return Err(damaged());
        }
        let Tables { regions, extents, files } = tables;
        let files: Result<Vec<_>, String> = files.into_iter().map(opened_again).collect();
        Ok(Image { file, head: Box::new(head), regions, extents, files: files? })
    }

    /// What the work had told of itself.
    pub fn told(&self) -> Told {
        self.head.told
    }

    /// The host's time that the work had taken.
    pub fn spent(&self) -> Duration {
        Duration::from_millis(self.head.spent)
    }

    /// How long ago it was taken.
    pub fn age(&self) -> Duration {
        kernel::date().saturating_sub(Duration::from_secs(self.head.taken_at))
    }
}

/// Whether nobody but this user writes the file: what is in it is going to be executed.
fn is_own(file: &File) -> bool {
    const OTHERS_WRITE: u32 = 0o022;
    file.metadata().is_ok_and(|about| about.uid() == kernel::user() && about.mode() & OTHERS_WRITE == 0)
}

struct Tables {
    regions: Vec<Region>,
    extents: Vec<Extent>,
    files: Vec<OpenFile>,
}

impl Tables {
    fn read(file: &File, head: &Head) -> Option<Tables> {
        let mut at = head.tables_at;
        let mut sums = [0; 3];
        let mut next = |count: u64, size: usize, own: &mut u64| {
            let bytes = usize::try_from(count).ok()?.checked_mul(size)?;
            // What is damaged may ask for any number; no more than there is.
            (file.metadata().ok()?.len() >= at.checked_add(bytes as u64)?).then_some(())?;
            let mut all = vec![0; bytes];
            file.read_exact_at(&mut all, at).ok()?;
            at += bytes as u64;
            *own = sum(&all);
            Some(all)
        };
        let [a, b, c] = &mut sums;
        let regions = of_bytes(&next(head.regions, size_of::<Region>(), a)?)?;
        let extents = of_bytes(&next(head.extents, size_of::<Extent>(), b)?)?;
        let files = of_bytes(&next(head.files, size_of::<OpenFile>(), c)?)?;
        (sum(bytes_of(&sums)) == head.tables_sum).then_some(Tables { regions, extents, files })
    }
}

fn is_whole(file: &File, extent: &Extent) -> bool {
    let bounded = extent.bytes.is_multiple_of(PAGE) && extent.bytes <= 1 << 30 && extent.offset >= HEAD_BYTES;
    let mut bytes = vec![0; if bounded { extent.bytes as usize } else { 0 }];
    bounded && file.read_exact_at(&mut bytes, extent.offset).is_ok() && sum(&bytes) == extent.sum
}

fn opened_again(of: OpenFile) -> Result<(OpenFile, File), String> {
    let path = Path::new(OsStr::from_bytes(of.path()));
    let file = File::open(path).map_err(|why| format!("{}: {why}", path.display()))?;
    let is_same = file.metadata().is_ok_and(|about| {
        (about.len(), about.mtime(), about.mtime_nsec()) == (of.bytes, of.seconds, of.nanoseconds)
    });
    if !is_same {
        return Err(format!("{} has changed", path.display()));
    }
    kernel::seek(file.as_raw_fd(), of.position).map_err(|_| format!("{} has no places", path.display()))?;
    Ok((of, file))
}

/// All that has to be the same: the work, the kernel with the code that it lends, and the processor, by which libraries choose
/// their code.
pub(crate) fn of(place: &Place) -> u64 {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let about = read("/proc/cpuinfo");
    let is_told = |line: &&str| {
        ["model name", "vendor_id", "flags", "cpu family", "model\t"].iter().any(|key| line.starts_with(key))
    };
    let processor: Vec<&str> = about.split("\n\n").next().unwrap_or("").lines().filter(is_told).collect();
    let kernel = read("/proc/version");
    let text = format!("{}|{kernel}|{processor:?}|{:x}|{}", place.of, lent(), HEAD_BYTES);
    XxHash3_64::oneshot(text.as_bytes())
}

/// The code that the kernel lends to every process, in short; 0 where there is none.
fn lent() -> u64 {
    let text = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let code =
        mappings::all(&text).find(|mapping| mapping.kind() == Kind::Kernel && mapping.name == "[vdso]");
    let bytes = code.and_then(|code| {
        let mut bytes = vec![0; code.bytes() as usize];
        let memory = File::open("/proc/self/mem").ok()?;
        memory.read_exact_at(&mut bytes, code.from).ok()?;
        Some(bytes)
    });
    bytes.map_or(0, |bytes| sum(&bytes))
}
