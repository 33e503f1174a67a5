//! The kernel's interfaces that no library wraps: `PAGEMAP_SCAN`, userfaultfd of another process, pidfds.
//!
//! Source: Linux uapi `linux/fs.h` and `linux/userfaultfd.h`.
#![expect(unsafe_code, reason = "system calls; every argument is a plain structure owned by the caller")]

use nix::errno::Errno;
use nix::libc;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::unistd::Pid;
use std::fs::File;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// What a page is, as `PAGEMAP_SCAN` names it.
const PAGE_IS_WRITTEN: u64 = 1 << 1;
const PAGE_IS_FILE: u64 = 1 << 2;
const PAGE_IS_PRESENT: u64 = 1 << 3;
const PAGE_IS_SWAPPED: u64 = 1 << 4;

const PM_SCAN_WP_MATCHING: u64 = 1 << 0;
const PM_SCAN_CHECK_WPASYNC: u64 = 1 << 1;
const UFFD_API: u64 = 0xAA;
const UFFD_FEATURE_EVENT_REMAP: u64 = 1 << 2;
const UFFD_FEATURE_WP_UNPOPULATED: u64 = 1 << 13;
const UFFD_FEATURE_WP_ASYNC: u64 = 1 << 15;
const UFFDIO_REGISTER_MODE_WP: u64 = 1 << 1;

#[repr(C)]
#[derive(Default)]
pub(crate) struct ScanArgument {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    regions: u64,
    regions_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// A stretch of pages of one kind.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Region {
    pub(crate) start: u64,
    pub(crate) end: u64,
    categories: u64,
}

#[repr(C)]
pub(crate) struct FaultApi {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
pub(crate) struct FaultRegister {
    start: u64,
    len: u64,
    mode: u64,
    ioctls: u64,
}

nix::ioctl_readwrite!(pagemap_scan, b'f', 16, ScanArgument);
nix::ioctl_readwrite!(fault_api, 0xAA, 0x3F, FaultApi);
nix::ioctl_readwrite!(fault_register, 0xAA, 0x00, FaultRegister);

/// Whether this kernel has `PAGEMAP_SCAN`: asks it for nothing.
pub(crate) fn has_scan(pagemap: &File) -> bool {
    let mut argument = ScanArgument { size: size_of::<ScanArgument>() as u64, ..ScanArgument::default() };
    // SAFETY: the argument has the size that it names, and no vector.
    unsafe { pagemap_scan(pagemap.as_raw_fd(), &raw mut argument) }.is_ok()
}

/// Which pages of a range are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// Those that were written; they are protected again.
    Written,
    /// The same, without pages of a file that nobody has changed in this memory.
    OwnWritten,
    /// All that are in memory or swapped out, without pages of a file that nobody has changed in this memory.
    Own,
}

impl Which {
    fn flags(self) -> u64 {
        match self {
            Which::Written | Which::OwnWritten => PM_SCAN_WP_MATCHING | PM_SCAN_CHECK_WPASYNC,
            Which::Own => 0,
        }
    }

    /// The categories that are looked at, and those of them that a page must not be of.
    fn categories(self) -> (u64, u64) {
        match self {
            Which::Written => (PAGE_IS_WRITTEN, 0),
            Which::OwnWritten => (PAGE_IS_WRITTEN | PAGE_IS_FILE, PAGE_IS_FILE),
            Which::Own => (PAGE_IS_FILE, PAGE_IS_FILE),
        }
    }
}

/// Adds pages of `range` to `found`.
///
/// # Errors
/// `EPERM` where written ones are asked for and the range is not registered; others where the kernel has no such call.
pub(crate) fn list(
    pagemap: &File,
    range: Range<u64>,
    which: Which,
    found: &mut Vec<Range<u64>>,
) -> Result<(), Errno> {
    let (category_mask, category_inverted) = which.categories();
    let mut regions = [Region::default(); 512];
    let mut from = range.start;
    while from < range.end {
        let mut argument = ScanArgument {
            size: size_of::<ScanArgument>() as u64,
            flags: which.flags(),
            start: from,
            end: range.end,
            regions: regions.as_mut_ptr() as u64,
            regions_len: regions.len() as u64,
            category_mask,
            category_inverted,
            // A page that was never there has not been written: stacks and arenas are mostly such.
            category_anyof_mask: PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
            // Regions of one kind are one: of what else a page may be nothing is asked.
            return_mask: if which == Which::Own { PAGE_IS_FILE } else { PAGE_IS_WRITTEN },
            ..ScanArgument::default()
        };
        // SAFETY: the kernel writes at most `regions_len` entries into `regions`, which outlives the call.
        let count = unsafe { pagemap_scan(pagemap.as_raw_fd(), &raw mut argument) }?;
        found.extend(regions[..count as usize].iter().map(|r| r.start..r.end));
        from = argument.walk_end.max(from + 4096);
    }
    Ok(())
}

/// Tells a new userfaultfd that the kernel itself resolves write-protection faults; and, where asked for, that it tells
/// moves, for which whoever moves memory waits.
///
/// # Errors
/// `EINVAL` where the kernel cannot.
pub(crate) fn ask_asynchronous(faults: &OwnedFd, tells_moves: bool) -> Result<(), Errno> {
    let moves = if tells_moves { UFFD_FEATURE_EVENT_REMAP } else { 0 };
    let features = UFFD_FEATURE_WP_ASYNC | UFFD_FEATURE_WP_UNPOPULATED | moves;
    let mut argument = FaultApi { api: UFFD_API, features, ioctls: 0 };
    // SAFETY: the structure is the one that this request reads and writes.
    unsafe { fault_api(faults.as_raw_fd(), &raw mut argument) }.map(|_| ())
}

/// By which one thread tells another to end.
///
/// # Errors
/// As `eventfd(2)`.
pub(crate) fn bell() -> Result<OwnedFd, Errno> {
    // SAFETY: plain integers in, a new descriptor that nobody else owns out.
    unsafe { Errno::result(libc::eventfd(0, libc::EFD_CLOEXEC)).map(|fd| OwnedFd::from_raw_fd(fd)) }
}

/// Tells whoever waits for it.
pub(crate) fn ring(bell: &OwnedFd) {
    let one = 1u64;
    // SAFETY: the kernel reads eight bytes of a variable of this function.
    _ = unsafe { libc::write(bell.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
}

/// Waits until a userfaultfd tells something: whether it does before `end` rings.
pub(crate) fn is_told(faults: &OwnedFd, end: &OwnedFd) -> bool {
    let asked = |fd: &OwnedFd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut both = [asked(faults), asked(end)];
    // SAFETY: the array is a variable of this function, and has two entries.
    let done = Errno::result(unsafe { libc::poll(both.as_mut_ptr(), 2, -1) });
    match done {
        Ok(_) => both[1].revents == 0 && both[0].revents & (libc::POLLERR | libc::POLLNVAL) == 0,
        Err(e) => e == Errno::EINTR,
    }
}

/// Memory that a program has moved: pages from one address on are at another now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) bytes: u64,
}

/// The next move that a userfaultfd tells, which does not block; none where there is none.
pub(crate) fn next_move(faults: &OwnedFd) -> Option<Move> {
    const EVENT_REMAP: u64 = 0x14;
    // `struct uffd_msg`: the event in a byte, then what it is about.
    let mut message = [0u64; 4];
    let size = size_of_val(&message);
    loop {
        // SAFETY: the kernel writes at most one message of this size to a variable of this function.
        let read = unsafe { libc::read(faults.as_raw_fd(), message.as_mut_ptr().cast(), size) };
        if read != size as isize {
            return None;
        }
        if message[0] & 0xFF == EVENT_REMAP {
            return Some(Move { from: message[1], to: message[2], bytes: message[3] });
        }
    }
}

/// Writes to `range` are noted from now on.
///
/// # Errors
/// `EINVAL` and others where this mapping cannot be; `ESRCH` when the memory is gone.
pub(crate) fn register(faults: &OwnedFd, range: &Range<u64>) -> Result<(), Errno> {
    let len = range.end - range.start;
    let mut argument = FaultRegister { start: range.start, len, mode: UFFDIO_REGISTER_MODE_WP, ioctls: 0 };
    // SAFETY: the structure is the one that this request reads and writes.
    unsafe { fault_register(faults.as_raw_fd(), &raw mut argument) }.map(|_| ())
}

/// A copy of file descriptor `number` of a thread's process.
///
/// # Errors
/// As `pidfd_getfd(2)`.
pub(crate) fn take_descriptor(thread: i32, number: i64) -> Result<OwnedFd, Errno> {
    // What is no first thread, by which a process is known, is asked for as a thread (Linux 6.9).
    const PIDFD_THREAD: i32 = libc::O_EXCL;
    // SAFETY: plain integers in, a new descriptor that nobody else owns out.
    unsafe {
        let open = |flags: i32| Errno::result(libc::syscall(libc::SYS_pidfd_open, thread, flags));
        let pidfd = OwnedFd::from_raw_fd(open(0).or_else(|_| open(PIDFD_THREAD))? as i32);
        let copy = Errno::result(libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), number, 0))?;
        Ok(OwnedFd::from_raw_fd(copy as i32))
    }
}

/// A child that stops before the first instruction of its program, as a traced one.
///
/// # Errors
/// When the program cannot be started.
pub(crate) fn spawn_stopped(command: &mut std::process::Command) -> std::io::Result<std::process::Child> {
    use std::os::unix::process::CommandExt;
    // SAFETY: between fork and exec the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(|| nix::sys::ptrace::traceme().map_err(std::io::Error::from)) }.spawn()
}

/// What a traced thread has reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// It runs.
    Running,
    /// It stands still: for a signal, or for an event of ptrace, whose signal says more.
    Stopped { signal: i32, event: i32 },
    /// It has ended, and how, as `wait(2)` says it.
    Ended(i32),
}

/// Waits for a report of any thread that the calling thread traces; where `at_once`, only looks. None where nobody reports.
/// A signal is not taken from its thread: until it is delivered, the kernel does so if the tracker ends.
///
/// # Errors
/// `ECHILD` where it traces none, `EINTR` when a signal came.
pub(crate) fn wait_any(at_once: bool) -> Result<Option<(Pid, Status)>, Errno> {
    let all = libc::WEXITED | libc::WSTOPPED | libc::__WALL | libc::__WNOTHREAD;
    let options = all | libc::WNOWAIT | if at_once { libc::WNOHANG } else { 0 };
    // SAFETY: zeros are a value of this structure, which the call fills in.
    let (thread, code, status) = unsafe {
        let mut report: libc::siginfo_t = std::mem::zeroed();
        Errno::result(libc::waitid(libc::P_ALL, 0, &raw mut report, options))?;
        (Pid::from_raw(report.si_pid()), report.si_code, report.si_status())
    };
    if thread.as_raw() == 0 {
        return Ok(None);
    }
    let status = if code == libc::CLD_TRAPPED || code == libc::CLD_STOPPED {
        Status::Stopped { signal: status & 0xFF, event: status >> 8 }
    } else {
        Status::Ended(status)
    };
    let is_signal = matches!(status, Status::Stopped { event: 0, .. });
    Ok(Some((thread, if is_signal { status } else { wait(thread, true)? })))
}

/// Whether two processes have one memory (`vfork`, or `clone` with `CLONE_VM`); not where the kernel does not tell.
pub(crate) fn share_memory(one: Pid, other: Pid) -> bool {
    const KCMP_VM: i64 = 1;
    // SAFETY: plain integers.
    unsafe { libc::syscall(libc::SYS_kcmp, one.as_raw(), other.as_raw(), KCMP_VM, 0, 0) == 0 }
}

/// Waits for a report of `thread`; where `at_once`, only looks. Signals are plain numbers: there are real-time ones.
///
/// # Errors
/// `ECHILD` where it is not traced.
pub(crate) fn wait(thread: Pid, at_once: bool) -> Result<Status, Errno> {
    let options = libc::__WALL | libc::WUNTRACED | if at_once { libc::WNOHANG } else { 0 };
    let mut status = 0;
    let reported = loop {
        // SAFETY: the status is written to a variable of this function.
        match Errno::result(unsafe { libc::waitpid(thread.as_raw(), &raw mut status, options) }) {
            Err(Errno::EINTR) => {}
            other => break other?,
        }
    };
    Ok(match status {
        _ if reported == 0 => Status::Running,
        s if libc::WIFSTOPPED(s) => Status::Stopped { signal: libc::WSTOPSIG(s), event: s >> 16 },
        s => Status::Ended(s),
    })
}

/// How a thread goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// It runs.
    Run,
    /// It runs to the beginning of its next system call, or to the end of the one that it is in.
    Call,
    /// A signal had stopped it: it stands still until another lets it go on.
    Listen,
    /// It runs, and is no longer attached to.
    Detach,
}

/// Lets a stopped thread go on, and delivers `signal`, 0 for none.
///
/// # Errors
/// As `ptrace(2)`.
pub(crate) fn resume(thread: Pid, how: Resume, signal: i32) -> Result<(), Errno> {
    let request = match how {
        Resume::Run => libc::PTRACE_CONT,
        Resume::Call => libc::PTRACE_SYSCALL,
        Resume::Listen => libc::PTRACE_LISTEN,
        Resume::Detach => libc::PTRACE_DETACH,
    };
    // SAFETY: no memory is named.
    Errno::result(unsafe { libc::ptrace(request, thread.as_raw(), 0, i64::from(signal)) }).map(|_| ())
}

/// Sends a signal.
pub(crate) fn send(process: Pid, signal: i32) {
    // SAFETY: no memory is named. It may have ended: then nobody needs the signal.
    _ = unsafe { libc::kill(process.as_raw(), signal) };
}

/// Signals that ask the tracker to end: any thread of this program may get them, so that a handler notes them.
const ENDING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

static ASKED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_: i32) {
    ASKED.store(true, Ordering::Relaxed);
}

/// As long as this lives, signals that ask the tracker to end are noted instead of ending it.
pub(crate) struct Asked([SigAction; 3]);

impl Asked {
    /// With none noted.
    ///
    /// # Errors
    /// As `sigaction(2)`.
    pub(crate) fn new() -> Result<Asked, Errno> {
        ASKED.store(false, Ordering::Relaxed);
        let action = SigAction::new(SigHandler::Handler(note), SaFlags::empty(), SigSet::empty());
        // SAFETY: the handler writes one atomic.
        let [a, b, c] = ENDING.map(|signal| unsafe { sigaction(signal, &action) });
        Ok(Asked([a?, b?, c?]))
    }

    /// Whether one has come.
    pub(crate) fn is_asked(&self) -> bool {
        ASKED.load(Ordering::Relaxed)
    }

    /// The same; the next one is asked for anew.
    pub(crate) fn was_asked(&self) -> bool {
        ASKED.swap(false, Ordering::Relaxed)
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        for (signal, before) in ENDING.iter().zip(&self.0) {
            // SAFETY: what was there before is put back.
            _ = unsafe { sigaction(*signal, before) };
        }
    }
}
