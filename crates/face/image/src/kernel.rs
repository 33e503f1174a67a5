//! System calls that have no safe form elsewhere. Nothing here allocates: it is called where memory must not change.
#![expect(unsafe_code, reason = "system calls; every argument is a plain structure owned by the caller")]

use crate::channel::Page;
use crate::format::{BOUNDS, SIGNALS, Thread};
use nix::libc::{self, c_long};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// glibc's mark of an area for restartable sequences on x86-64.
pub(crate) const RSEQ_MARK: u64 = 0x5305_3053;
pub(crate) const ARCH_SET_GS: u64 = 0x1001;
pub(crate) const ARCH_SET_FS: u64 = 0x1002;
const ARCH_GET_FS: c_long = 0x1003;
const ARCH_GET_GS: c_long = 0x1004;
const PR_GET_TID_ADDRESS: c_long = 40;
const PR_SET_MM: c_long = 35;
const PR_SET_MM_MAP_SIZE: c_long = 15;
/// Bytes of `prctl_mm_map`.
pub(crate) const BOUNDS_BYTES: usize = 8 * BOUNDS + 16;
/// Bytes of the kernel's set of signals.
pub(crate) const SET_BYTES: u64 = 8;

type Done<T> = Result<T, i32>;

/// What went wrong last.
pub(crate) fn wrong() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// # Safety
/// What the call does must be sound.
unsafe fn call(number: c_long, [a, b, c, d, e]: [c_long; 5]) -> Done<u64> {
    // SAFETY: the caller's.
    let gave = unsafe { libc::syscall(number, a, b, c, d, e) };
    if gave == -1 { Err(wrong()) } else { Ok(gave as u64) }
}

fn address<T>(of: &mut T) -> c_long {
    std::ptr::from_mut(of) as c_long
}

/// The clock that is cheap to ask, to some milliseconds.
pub(crate) fn clock() -> Duration {
    now(libc::CLOCK_MONOTONIC_COARSE)
}

/// The time since 1970.
pub(crate) fn date() -> Duration {
    now(libc::CLOCK_REALTIME)
}

fn now(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it writes the structure.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.max(0) as u32)
}

/// Whether a process may set where its break is, without which its memory could not grow.
pub(crate) fn sets_bounds() -> bool {
    let mut bytes = 0_u32;
    // SAFETY: it writes the number.
    let asked = unsafe { call(libc::SYS_prctl, [PR_SET_MM, PR_SET_MM_MAP_SIZE, address(&mut bytes), 0, 0]) };
    asked.is_ok() && bytes as usize == BOUNDS_BYTES
}

/// The kernel ends this process when `parent` has ended.
pub(crate) fn ends_with(parent: i32) {
    // SAFETY: numbers alone.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != parent {
            libc::_exit(1);
        }
    }
}

/// The user by whose rights this process works.
pub(crate) fn user() -> u32 {
    // SAFETY: a number.
    unsafe { libc::geteuid() }
}

pub(crate) fn end(code: i32) -> ! {
    // SAFETY: nothing runs after it.
    unsafe { libc::_exit(code) }
}

/// A copy of this process: 0 in the copy, its number here.
pub(crate) fn fork() -> Done<i32> {
    // SAFETY: the copy has this thread alone, and takes no lock that another may have held.
    match unsafe { libc::fork() } {
        -1 => Err(wrong()),
        process => Ok(process),
    }
}

/// How a child ended, as `wait` tells it; none while it runs.
pub(crate) fn ended(process: i32, wait: bool) -> Done<Option<i32>> {
    let mut status = 0;
    loop {
        // SAFETY: it writes the number.
        match unsafe { libc::waitpid(process, &raw mut status, if wait { 0 } else { libc::WNOHANG }) } {
            0 => return Ok(None),
            -1 if wrong() == libc::EINTR => {}
            -1 => return Err(wrong()),
            _ => return Ok(Some(status)),
        }
    }
}

/// A signal does nothing to this process.
pub(crate) fn ignore(signal: i32) {
    // SAFETY: no handler.
    unsafe { libc::signal(signal, libc::SIG_IGN) };
}

/// A signal does what it does to a process that has said nothing of it.
pub(crate) fn as_usual(signal: i32) {
    // SAFETY: no handler.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

pub(crate) fn kill(process: i32) {
    // SAFETY: numbers alone; the child has not been waited for, so that the number is its own.
    unsafe { libc::kill(process, libc::SIGKILL) };
}

/// No signal comes until the calls of the restored process say so.
pub(crate) fn block_all() {
    let all = u64::MAX;
    // SAFETY: the kernel reads eight bytes.
    let _ = unsafe {
        call(
            libc::SYS_rt_sigprocmask,
            [libc::SIG_SETMASK.into(), &raw const all as c_long, 0, SET_BYTES as c_long, 0],
        )
    };
}

/// This process is ended first where memory is short.
pub(crate) fn step_back() {
    if let Ok(file) = open(c"/proc/self/oom_score_adj", libc::O_WRONLY) {
        // SAFETY: four bytes.
        unsafe { libc::write(file, b"1000".as_ptr().cast(), 4) };
        close(file);
    }
}

pub(crate) fn open(path: &std::ffi::CStr, flags: i32) -> Done<i32> {
    open_in(libc::AT_FDCWD, path, flags)
}

pub(crate) fn open_in(folder: i32, path: &std::ffi::CStr, flags: i32) -> Done<i32> {
    // SAFETY: a path that ends with zero.
    match unsafe { libc::openat(folder, path.as_ptr(), flags | libc::O_CLOEXEC, 0o600) } {
        -1 => Err(wrong()),
        file => Ok(file),
    }
}

pub(crate) fn close(file: i32) {
    // SAFETY: the caller's own descriptor.
    unsafe { libc::close(file) };
}

/// Reads `into` full, or to the end.
pub(crate) fn read_at(file: i32, at: u64, into: &mut [u8]) -> Done<usize> {
    let mut done = 0;
    while done < into.len() {
        let rest = &mut into[done..];
        // SAFETY: it writes into the slice.
        match unsafe { libc::pread(file, rest.as_mut_ptr().cast(), rest.len(), (at + done as u64) as i64) } {
            0 => break,
            -1 if wrong() == libc::EINTR => {}
            -1 => return Err(wrong()),
            read => done += read as usize,
        }
    }
    Ok(done)
}

pub(crate) fn write_at(file: i32, at: u64, from: &[u8]) -> Done<()> {
    let mut done = 0;
    while done < from.len() {
        let rest = &from[done..];
        // SAFETY: it reads the slice.
        match unsafe { libc::pwrite(file, rest.as_ptr().cast(), rest.len(), (at + done as u64) as i64) } {
            0 => return Err(libc::ENOSPC),
            -1 if wrong() == libc::EINTR => {}
            -1 => return Err(wrong()),
            wrote => done += wrote as usize,
        }
    }
    Ok(())
}

/// All that is in a file of `/proc`, as far as there is room.
pub(crate) fn read_all(path: &std::ffi::CStr, into: &mut [u8]) -> Done<usize> {
    let file = open(path, libc::O_RDONLY)?;
    let mut done = 0;
    let read = loop {
        let rest = &mut into[done..];
        // SAFETY: it writes into the slice.
        match unsafe { libc::read(file, rest.as_mut_ptr().cast(), rest.len()) } {
            0 if rest.is_empty() => break Err(libc::EFBIG),
            0 => break Ok(done),
            -1 => break Err(wrong()),
            read => done += read as usize,
        }
    };
    close(file);
    read
}

/// To the disk, and under its name.
pub(crate) fn finish(folder: i32, file: i32, from: &std::ffi::CStr, to: &std::ffi::CStr) -> Done<()> {
    // SAFETY: paths that end with zero.
    unsafe {
        if libc::fsync(file) != 0 || libc::renameat(folder, from.as_ptr(), folder, to.as_ptr()) != 0 {
            return Err(wrong());
        }
    }
    Ok(())
}

pub(crate) fn remove_in(folder: i32, path: &std::ffi::CStr) {
    // SAFETY: a path that ends with zero.
    unsafe { libc::unlinkat(folder, path.as_ptr(), 0) };
}

pub(crate) fn state(file: i32) -> Done<libc::stat> {
    // SAFETY: plain numbers, which the kernel writes.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        if libc::fstat(file, &raw mut about) != 0 { Err(wrong()) } else { Ok(about) }
    }
}

/// The state of the file of that path.
pub(crate) fn state_of(path: &std::ffi::CStr) -> Done<libc::stat> {
    // SAFETY: a path that ends with zero; plain numbers, which the kernel writes.
    unsafe {
        let mut about: libc::stat = std::mem::zeroed();
        if libc::stat(path.as_ptr(), &raw mut about) != 0 { Err(wrong()) } else { Ok(about) }
    }
}

/// How a file was opened.
pub(crate) fn flags(file: i32) -> Done<i32> {
    // SAFETY: numbers alone.
    match unsafe { libc::fcntl(file, libc::F_GETFL) } {
        -1 => Err(wrong()),
        flags => Ok(flags),
    }
}

pub(crate) fn position(file: i32) -> Done<u64> {
    // SAFETY: numbers alone.
    match unsafe { libc::lseek(file, 0, libc::SEEK_CUR) } {
        -1 => Err(wrong()),
        at => Ok(at as u64),
    }
}

pub(crate) fn seek(file: i32, to: u64) -> Done<()> {
    // SAFETY: numbers alone.
    if unsafe { libc::lseek(file, to as i64, libc::SEEK_SET) } == -1 { Err(wrong()) } else { Ok(()) }
}

/// The same file under the first free number from `from` on.
pub(crate) fn again_from(file: i32, from: i32) -> Done<i32> {
    // SAFETY: numbers alone.
    match unsafe { libc::fcntl(file, libc::F_DUPFD_CLOEXEC, from) } {
        -1 => Err(wrong()),
        number => Ok(number),
    }
}

/// The same file under this number.
pub(crate) fn again_as(file: i32, number: i32) -> Done<()> {
    // SAFETY: numbers alone.
    if unsafe { libc::dup2(file, number) } == -1 { Err(wrong()) } else { Ok(()) }
}

/// What a link says.
pub(crate) fn link(path: &std::ffi::CStr, into: &mut [u8]) -> Done<usize> {
    // SAFETY: it writes into the slice.
    match unsafe { libc::readlink(path.as_ptr(), into.as_mut_ptr().cast(), into.len()) } {
        -1 => Err(wrong()),
        bytes => Ok(bytes as usize),
    }
}

/// Whether this process has a single thread.
pub(crate) fn is_single() -> bool {
    let Ok(folder) = open(c"/proc/self/task", libc::O_RDONLY) else { return false };
    let links = state(folder).map(|about| about.st_nlink);
    close(folder);
    links == Ok(3)
}

/// New memory somewhere, zero, of which nothing is taken before it is touched.
pub(crate) fn new_memory(bytes: usize) -> Done<*mut u8> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: new addresses.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, rights, flags, -1, 0) };
    if at == libc::MAP_FAILED { Err(wrong()) } else { Ok(at.cast()) }
}

/// Gives addresses back.
///
/// # Safety
/// Nobody uses them.
pub(crate) unsafe fn unmap(at: u64, bytes: u64) {
    // SAFETY: the caller's.
    unsafe { libc::munmap(at as *mut _, bytes as usize) };
}

/// Makes memory readable that was not, in a copy that does nothing with it but read.
pub(crate) fn make_readable(at: u64, bytes: u64) {
    // SAFETY: only rights are added, in a process that is about to end.
    unsafe { libc::mprotect(at as *mut _, bytes as usize, libc::PROT_READ) };
}

/// What the kernel knows of this thread beside its memory.
pub(crate) fn thread(stack: u64, goes_on: u64) -> Done<Thread> {
    let mut about = Thread {
        stack,
        goes_on,
        fs: 0,
        gs: 0,
        rseq: [0; 2],
        robust_list: [0; 2],
        thread_id_at: 0,
        signal_stack: [0; 3],
        blocked: 0,
        bounds: [0; BOUNDS],
        actions: [[0; 4]; SIGNALS],
    };
    let set = SET_BYTES as c_long;
    let [list, length] = &mut about.robust_list;
    // SAFETY: each writes into a number or a structure of its size.
    unsafe {
        call(libc::SYS_arch_prctl, [ARCH_GET_FS, address(&mut about.fs), 0, 0, 0])?;
        call(libc::SYS_arch_prctl, [ARCH_GET_GS, address(&mut about.gs), 0, 0, 0])?;
        call(libc::SYS_get_robust_list, [0, address(list), address(length), 0, 0])?;
        call(libc::SYS_prctl, [PR_GET_TID_ADDRESS, address(&mut about.thread_id_at), 0, 0, 0])?;
        call(libc::SYS_sigaltstack, [0, address(&mut about.signal_stack), 0, 0, 0])?;
        call(libc::SYS_rt_sigprocmask, [0, 0, address(&mut about.blocked), set, 0])?;
        for (signal, action) in (1..).zip(&mut about.actions) {
            call(libc::SYS_rt_sigaction, [signal, 0, address(action), set, 0])?;
        }
    }
    about.rseq = rseq(about.fs)?;
    Ok(about)
}

/// Where this thread's area for restartable sequences is, and its bytes; zeros where it has none. `offset` from the thread's
/// own address is where glibc has it.
fn rseq(fs: u64) -> Done<[u64; 2]> {
    // SAFETY: a name that ends with zero; what it names is a constant of this type.
    let offset = unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"__rseq_offset".as_ptr());
        if found.is_null() {
            return Ok([0; 2]);
        }
        *found.cast::<isize>()
    };
    let area = fs.wrapping_add_signed(offset as i64);
    let asks = |bytes: u64, flags: c_long| {
        // SAFETY: the area is glibc's and stays as it was: what was registered by this is unregistered.
        unsafe { call(libc::SYS_rseq, [area as c_long, bytes as c_long, flags, RSEQ_MARK as c_long, 0]) }
    };
    for bytes in (32..=512).step_by(32) {
        match asks(bytes, 0) {
            // Registered, and just so.
            Err(libc::EBUSY) => return Ok([area, bytes]),
            // It was not: as before.
            Ok(_) => {
                asks(bytes, 1)?;
                return Ok([0; 2]);
            }
            Err(libc::ENOSYS) => return Ok([0; 2]),
            Err(_) => {}
        }
    }
    Err(libc::EINVAL)
}

/// glibc knows this thread by its number, which is another one in a process that was restored.
pub(crate) fn renew_thread_id() {
    let mut at = 0_u64;
    // SAFETY: where the kernel clears the number when the thread ends is where glibc has it.
    unsafe {
        let asked = call(libc::SYS_prctl, [PR_GET_TID_ADDRESS, address(&mut at), 0, 0, 0]);
        if asked.is_ok() && at != 0 {
            *(at as *mut i32) = libc::gettid();
        }
    }
}

/// Gives back what a process needed to be restored.
pub(crate) fn forget_used_up(page: &Page) {
    let [at, bytes] = page.used_up.each_ref().map(|n| n.swap(0, Relaxed));
    if bytes > 0 {
        // SAFETY: whoever restored this process used it, and is not there any more.
        unsafe { unmap(at, bytes) };
    }
}

/// The numbers of all open files beyond the first three, in room of the caller's.
pub(crate) fn open_files<'a>(room: &'a mut [u8], numbers: &'a mut [i32]) -> Done<&'a [i32]> {
    let folder = open(c"/proc/self/fd", libc::O_RDONLY)?;
    let mut count = 0;
    let done = loop {
        let (to, bytes) = (room.as_mut_ptr() as c_long, room.len() as c_long);
        // SAFETY: it writes into the slice.
        let read = match unsafe { call(libc::SYS_getdents64, [folder.into(), to, bytes, 0, 0]) } {
            Ok(0) => break Ok(()),
            Ok(read) => read as usize,
            Err(why) => break Err(why),
        };
        let mut at = 0;
        while at < read {
            let (length, name) = entry(&room[at..read]);
            at += length;
            let number = std::str::from_utf8(name).ok().and_then(|name| name.parse().ok());
            let Some(number) = number.filter(|number| *number > 2 && *number != folder) else { continue };
            let Some(place) = numbers.get_mut(count) else { return Err(libc::EMFILE) };
            *place = number;
            count += 1;
        }
    };
    close(folder);
    done.map(|()| &numbers[..count])
}

/// An entry of a folder as the kernel gives it: its length, and its name.
fn entry(of: &[u8]) -> (usize, &[u8]) {
    let length = usize::from(u16::from_ne_bytes([of[16], of[17]]));
    let name = &of[19..length];
    (length, name.split(|byte| *byte == 0).next().unwrap_or(name))
}

/// Where this process's code, data, break, stack, arguments and environment begin and end. `text` is room to read.
pub(crate) fn bounds(text: &mut [u8]) -> Done<[u64; BOUNDS]> {
    let length = read_all(c"/proc/self/stat", text)?;
    let text = std::str::from_utf8(&text[..length]).map_err(|_| libc::EINVAL)?;
    // The second field is a name, which may have anything.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let field = |number: usize| {
        let text = rest.split_ascii_whitespace().nth(number - 3);
        text.and_then(|text| text.parse::<u64>().ok()).filter(|n| *n > 0).ok_or(libc::EINVAL)
    };
    // SAFETY: it asks where the break is.
    let now = unsafe { call(libc::SYS_brk, [0; 5]) }?;
    // In the kernel's order: code, data, the break, stack, arguments, environment.
    Ok([
        field(26)?,
        field(27)?,
        field(45)?,
        field(46)?,
        field(47)?,
        now,
        field(28)?,
        field(48)?,
        field(49)?,
        field(50)?,
        field(51)?,
    ])
}

/// New memory at a place where there is none.
pub(crate) fn map_at(at: u64, bytes: u64) -> Done<()> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: nothing is replaced.
    let given = unsafe { libc::mmap(at as *mut _, bytes as usize, rights, flags, -1, 0) };
    if given as u64 == at { Ok(()) } else { Err(libc::EEXIST) }
}

/// Memory that was written becomes code.
///
/// # Safety
/// It is code, and nobody writes there any more.
pub(crate) unsafe fn make_code(at: u64, bytes: u64) -> Done<()> {
    // SAFETY: the caller's.
    let done = unsafe { libc::mprotect(at as *mut _, bytes as usize, libc::PROT_READ | libc::PROT_EXEC) };
    if done == 0 { Ok(()) } else { Err(wrong()) }
}
