//! A child becomes what is in an image.
//!
//! Everything that this process has lies in its way: its code, its stack, its libraries. What is to be done is therefore written down as
//! a table of system calls, beside the few instructions that make them ([`play`]), where neither process has anything:
//! the kernel's own mappings step aside, everything else goes, memory is mapped and read as it was, the kernel is told what it
//! has to know of the thread, and the last step is a jump.
#![expect(unsafe_code, reason = "it gives up this process for another")]

use crate::channel::Page;
use crate::context::{Call, NOT_RESTORED, PLAY_BYTES, play};
use crate::format::{BOUNDS, Head, OpenFile, PAGE, Region, SIGNALS, Thread, bytes_of};
use crate::kernel::{self, ARCH_SET_FS, ARCH_SET_GS, BOUNDS_BYTES, RSEQ_MARK, SET_BYTES};
use crate::mappings::{self, Kind};
use crate::process::all_files;
use crate::read::Image;
use nix::libc::{self, c_long};
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering::Relaxed;

/// Where a process's addresses end.
const ALL: u64 = 0x7fff_ffff_f000;
/// Where a place for the table is looked for.
const FIRST: u64 = 1 << 32;
const STEP: u64 = 1 << 30;
const WRITABLE: u64 = (libc::PROT_READ | libc::PROT_WRITE) as u64;

/// Becomes what is in `image`; ends the process where it cannot.
pub(crate) fn restore(image: Image, channel: i32, folder: i32, page: &Page) -> ! {
    if prepared(image, channel, folder, page).is_none() {
        kernel::end(NOT_RESTORED);
    }
    unreachable!("it has become another process, or has ended");
}

/// None where something is in the way.
fn prepared(image: Image, channel: i32, folder: i32, page: &Page) -> Option<()> {
    let file = take_numbers(&image, channel, folder)?;
    let text = std::fs::read_to_string("/proc/self/smaps").ok()?;
    let own: Vec<_> = mappings::all(&text).collect();
    let kernels: Vec<[u64; 2]> =
        own.iter().filter(|m| m.kind() == Kind::Kernel).map(|m| [m.from, m.to]).collect();
    let wanted: Vec<[u64; 2]> = image.head.kernels().collect();
    let lengths = |all: &[[u64; 2]]| all.iter().map(|[from, to]| to - from).collect::<Vec<_>>();
    let is_sealed = own.iter().any(|mapping| mapping.has("sl"));
    if is_sealed || lengths(&kernels) != lengths(&wanted) {
        return None;
    }
    let taken: Vec<[u64; 2]> = own
        .iter()
        .map(|m| [m.from, m.to])
        .chain(image.regions.iter().map(|r| [r.from, r.to]))
        .chain(wanted.iter().copied())
        .chain([[image.head.channel[1], image.head.channel[1] + PAGE]])
        .collect();
    let aside: u64 = lengths(&kernels).iter().sum();
    let calls = 64 + SIGNALS + kernels.len() * 2 + 5 * image.regions.len() + image.extents.len();
    let paths: u64 =
        image.regions.iter().filter_map(|region| view(&image, region)).map(|of| of.path_bytes + 16).sum();
    let data = (PAGE + paths).next_multiple_of(PAGE);
    let bytes = (PAGE + data + (calls * size_of::<Call>()) as u64).next_multiple_of(PAGE) + aside;
    let at = free_place(&taken, bytes)?;
    kernel::map_at(at, bytes).ok()?;
    page.used_up[0].store(at, Relaxed);
    page.used_up[1].store(bytes, Relaxed);
    // The number that the next file gets.
    let free = kernel::again_from(file, 0).ok()?;
    kernel::close(free);
    let free = free as u64;
    kernel::block_all();
    let first = at + PAGE + data;
    let mut table = Table { at, bytes, data: at + PAGE, first, calls: Vec::with_capacity(calls) };
    let own = kernel::thread(0, 0).ok()?;
    table.make_room(&own, &kernels);
    table.memory(&image, file, free);
    table.kernels(&kernels, &wanted);
    table.thread(&image.head.thread);
    table.call(libc::SYS_close, [file as u64, 0, 0, 0, 0, 0], 0);
    table.play(&image.head);
    Some(())
}

/// The file that a region is a view of.
fn view<'a>(image: &'a Image, region: &Region) -> Option<&'a OpenFile> {
    let place = usize::try_from(region.file).ok()?.checked_sub(1)?;
    image.files.get(place).map(|(of, _)| of)
}

/// A stretch where nothing is, and nothing is to be.
fn free_place(taken: &[[u64; 2]], bytes: u64) -> Option<u64> {
    let is_free = |at: &u64| taken.iter().all(|[from, to]| at + bytes + STEP <= *from || *to + STEP <= *at);
    (FIRST..ALL / 2).step_by(STEP as usize).find(is_free)
}

/// Files get the numbers that they had, and others are closed. Gives the image's own number.
fn take_numbers(image: &Image, channel: i32, folder: i32) -> Option<i32> {
    let open = image.files.iter().filter(|(of, _)| of.number != OpenFile::MAPPED);
    let mut wanted: Vec<(i32, i32)> = open.map(|(of, file)| (file.as_raw_fd(), of.number as i32)).collect();
    wanted.extend([(channel, image.head.channel[0] as i32), (folder, image.head.folder as i32)]);
    let file = image.file.as_raw_fd();
    let highest = wanted.iter().flat_map(|(a, b)| [*a, *b]).chain([file, 2]).max()?;
    let beyond = |number| kernel::again_from(number, highest + 1).ok();
    let file = beyond(file)?;
    let moved: Vec<(i32, i32)> =
        wanted.iter().map(|(from, to)| Some((beyond(*from)?, *to))).collect::<Option<_>>()?;
    let is_kept = |number: &i32| *number == file || moved.iter().any(|(from, _)| from == number);
    all_files().into_iter().filter(|number| !is_kept(number)).for_each(kernel::close);
    for (from, to) in moved {
        kernel::again_as(from, to).ok()?;
        kernel::close(from);
    }
    Some(file)
}

/// The calls, and where they are going to lie.
struct Table {
    at: u64,
    bytes: u64,
    /// Where the next structure that a call needs lies.
    data: u64,
    /// Where the calls lie, behind all structures.
    first: u64,
    calls: Vec<Call>,
}

impl Table {
    fn call(&mut self, number: c_long, arguments: [u64; 6], gives: u64) {
        self.calls.push(Call { number: number as u64, arguments, gives });
    }

    /// Puts numbers where they are going to be found, behind the code.
    fn put(&mut self, numbers: &[u64]) -> u64 {
        self.put_bytes(bytes_of(numbers))
    }

    fn put_bytes(&mut self, bytes: &[u8]) -> u64 {
        let at = self.data;
        self.data = (at + bytes.len() as u64).next_multiple_of(8);
        assert!(self.data <= self.first);
        // SAFETY: the pages are this table's.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
        at
    }

    /// A view of a file, which is opened for it.
    fn view(&mut self, region: &Region, of: &OpenFile, number: u64) {
        const VIEW: u64 = (libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE) as u64;
        let path = self.put_bytes(&[of.path(), &[0]].concat());
        let read = (libc::O_RDONLY | libc::O_CLOEXEC) as u64;
        self.call(libc::SYS_openat, [libc::AT_FDCWD as u64, path, read, 0, 0, 0], number);
        let (from, bytes) = (region.from, region.to - region.from);
        self.call(libc::SYS_mmap, [from, bytes, WRITABLE, VIEW, number, region.offset], from);
        self.call(libc::SYS_close, [number, 0, 0, 0, 0, 0], 0);
    }

    /// Where the kernel's mappings stand meanwhile.
    fn aside(&self, kernels: &[[u64; 2]]) -> u64 {
        self.at + self.bytes - kernels.iter().map(|[from, to]| to - from).sum::<u64>()
    }

    fn move_to(&mut self, from: u64, bytes: u64, to: u64) {
        const FLAGS: u64 = (libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED) as u64;
        self.call(libc::SYS_mremap, [from, bytes, bytes, FLAGS, to, 0], to);
    }

    /// Everything goes.
    fn make_room(&mut self, own: &Thread, kernels: &[[u64; 2]]) {
        let [area, bytes] = own.rseq;
        if area != 0 {
            self.call(libc::SYS_rseq, [area, bytes, 1, RSEQ_MARK, 0, 0], 0);
        }
        let mut aside = self.aside(kernels);
        for [from, to] in kernels {
            self.move_to(*from, to - from, aside);
            aside += to - from;
        }
        let behind = self.at + self.bytes;
        self.call(libc::SYS_munmap, [0, self.at, 0, 0, 0, 0], 0);
        self.call(libc::SYS_munmap, [behind, ALL - behind, 0, 0, 0, 0], 0);
    }

    fn memory(&mut self, image: &Image, file: i32, free: u64) {
        const ALONE: u64 = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE) as u64;
        for region in &image.regions {
            if let Some(of) = view(image, region) {
                self.view(region, of, free);
                continue;
            }
            let has = |bit, flag: i32| if region.about & bit != 0 { flag as u64 } else { 0 };
            let flags = ALONE
                | has(Region::GROWS, libc::MAP_GROWSDOWN)
                | has(Region::NO_RESERVE, libc::MAP_NORESERVE);
            let (from, bytes) = (region.from, region.to - region.from);
            self.call(libc::SYS_mmap, [from, bytes, WRITABLE, flags, u64::MAX, 0], from);
            for (bit, advice) in
                [(Region::HUGE, libc::MADV_HUGEPAGE), (Region::NO_HUGE, libc::MADV_NOHUGEPAGE)]
            {
                if region.about & bit != 0 {
                    self.call(libc::SYS_madvise, [from, bytes, advice as u64, 0, 0, 0], Call::ANYTHING);
                }
            }
        }
        for extent in &image.extents {
            let read = [file as u64, extent.at, extent.bytes, extent.offset, 0, 0];
            self.call(libc::SYS_pread64, read, extent.bytes);
        }
        for region in image.regions.iter().filter(|region| region.protection != WRITABLE) {
            let bytes = region.to - region.from;
            self.call(libc::SYS_mprotect, [region.from, bytes, region.protection, 0, 0, 0], 0);
        }
        const SHARED: u64 = (libc::MAP_SHARED | libc::MAP_FIXED_NOREPLACE) as u64;
        let [channel, page] = image.head.channel;
        self.call(libc::SYS_mmap, [page, PAGE, WRITABLE, SHARED, channel, 0], page);
    }

    /// The kernel's mappings go to where the other process had them.
    fn kernels(&mut self, own: &[[u64; 2]], wanted: &[[u64; 2]]) {
        let mut aside = self.aside(own);
        for [from, to] in wanted {
            self.move_to(aside, to - from, *from);
            aside += to - from;
        }
    }

    /// What the kernel knows of the thread.
    fn thread(&mut self, thread: &Thread) {
        const PR_SET_MM: u64 = 35;
        const PR_SET_MM_MAP: u64 = 14;
        let mut bounds = [0; BOUNDS_BYTES / 8];
        bounds[..BOUNDS].copy_from_slice(&thread.bounds);
        // No vector of what the kernel told at the beginning, and no other file of the program: two numbers of half a word.
        bounds[BOUNDS + 1] = u64::from(u32::MAX) << 32;
        let bounds = self.put(&bounds);
        self.call(libc::SYS_prctl, [PR_SET_MM, PR_SET_MM_MAP, bounds, BOUNDS_BYTES as u64, 0, 0], 0);
        self.call(libc::SYS_arch_prctl, [ARCH_SET_FS, thread.fs, 0, 0, 0, 0], 0);
        self.call(libc::SYS_arch_prctl, [ARCH_SET_GS, thread.gs, 0, 0, 0, 0], 0);
        let [list, bytes] = thread.robust_list;
        self.call(libc::SYS_set_robust_list, [list, bytes, 0, 0, 0, 0], 0);
        self.call(libc::SYS_set_tid_address, [thread.thread_id_at, 0, 0, 0, 0, 0], Call::NO_ERROR);
        let [area, bytes] = thread.rseq;
        if area != 0 {
            self.call(libc::SYS_rseq, [area, bytes, 0, RSEQ_MARK, 0, 0], 0);
        }
        for (signal, action) in (1..).zip(&thread.actions) {
            if ![libc::SIGKILL as u64, libc::SIGSTOP as u64].contains(&signal) {
                let action = self.put(action);
                self.call(libc::SYS_rt_sigaction, [signal, action, 0, SET_BYTES, 0, 0], 0);
            }
        }
        let stack = self.put(&thread.signal_stack);
        self.call(libc::SYS_sigaltstack, [stack, 0, 0, 0, 0, 0], 0);
        let blocked = self.put(&[thread.blocked]);
        self.call(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as u64, blocked, 0, SET_BYTES, 0, 0], 0);
    }

    /// Makes the calls.
    fn play(mut self, head: &Head) {
        self.calls.push(Call { number: Call::END, arguments: [0; 6], gives: 0 });
        let first = self.first;
        let kept = size_of_val(&self.calls[..]);
        assert!(first + kept as u64 <= self.at + self.bytes);
        // SAFETY: both are in this table's pages, the code of `play` is of this many bytes and does not hang on where it is,
        // and what it does ends this process or makes it another.
        unsafe {
            std::ptr::copy_nonoverlapping(play as *const u8, self.at as *mut u8, PLAY_BYTES);
            std::ptr::copy_nonoverlapping(self.calls.as_ptr(), first as *mut Call, self.calls.len());
            if kernel::make_code(self.at, PAGE).is_err() {
                return;
            }
            let play: extern "C" fn(*const Call, u64, u64) -> ! = std::mem::transmute(self.at);
            play(first as *const Call, head.thread.stack, head.thread.goes_on);
        }
    }
}
