//! Processes, their names, threads and children, from `/proc`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The numbers of the processes that are called `name`, in order, without the caller's. A name is what the kernel calls the
/// process (`ps -o comm`), the last part of its first argument (`pidof`) or of its program's path; one with a slash is a path.
pub fn named(name: &str) -> Vec<i32> {
    let own = std::process::id() as i32;
    let mut found: Vec<i32> = all().into_iter().filter(|pid| *pid != own && is_called(*pid, name)).collect();
    found.sort_unstable();
    found
}

/// What the kernel calls each process but the caller, each name once, in order.
pub fn names() -> Vec<String> {
    let own = std::process::id() as i32;
    let others = all().into_iter().filter(|pid| *pid != own).map(name_of);
    others.filter(|name| !name.is_empty()).collect::<BTreeSet<_>>().into_iter().collect()
}

fn all() -> Vec<i32> {
    numbers("/proc")
}

fn numbers(folder: &str) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// The threads of a process.
pub(crate) fn threads(pid: i32) -> Vec<i32> {
    numbers(&format!("/proc/{pid}/task"))
}

/// The processes that a process has started and that have not ended.
pub(crate) fn children(pid: i32) -> Vec<i32> {
    all().into_iter().filter(|child| status(*child, "PPid") == Some(pid)).collect()
}

/// The process of a thread.
pub(crate) fn process_of(thread: i32) -> Option<i32> {
    status(thread, "Tgid")
}

/// Whether a thread of this process traces `pid`.
pub(crate) fn is_traced_here(pid: i32) -> bool {
    tracer_of(pid).and_then(process_of) == Some(std::process::id() as i32)
}

/// The thread that traces `pid`, 0 for none.
pub(crate) fn tracer_of(pid: i32) -> Option<i32> {
    status(pid, "TracerPid")
}

fn status(pid: i32, key: &str) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix(':')?.trim().parse().ok())
}

/// What a thread does, by the kernel's letter (`proc_pid_stat(5)`); none where it has ended or is past running.
pub(crate) fn state(pid: i32, thread: i32) -> Option<char> {
    const IS_EXITING: u32 = 4;
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/stat")).ok()?;
    // A name in parentheses stands before, with any characters.
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let flags: u32 = fields.nth(5)?.parse().ok()?;
    (!"ZXx".contains(state) && flags & IS_EXITING == 0).then_some(state)
}

/// The threads of a process that have not ended: the first may have.
fn living(pid: i32) -> impl Iterator<Item = i32> {
    threads(pid).into_iter().filter(move |thread| state(pid, *thread).is_some())
}

/// Whether any thread of a process has not ended.
pub(crate) fn lives(pid: i32) -> bool {
    state(pid, pid).is_some() || is_outlived(pid)
}

/// Whether the first thread of a process has ended before others, which go on.
pub(crate) fn is_outlived(pid: i32) -> bool {
    state(pid, pid).is_none() && living(pid).next().is_some()
}

/// The system call that a thread, which stands still, is in.
fn call(pid: i32, thread: i32) -> Option<i64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).ok()?;
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// What becomes of a process whose first thread stands at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The thread has ended itself, and no other.
    Alone,
    /// This thread replaces the program by another, for which the others are killed.
    Replaced(i32),
    /// All end.
    Whole,
}

/// How long threads may take to end that are killed.
const PATIENCE: Duration = Duration::from_millis(200);

/// What becomes of a process whose first thread stands at its end.
pub(crate) fn ending(pid: i32) -> Ending {
    let own = call(pid, pid);
    if own == Some(nix::libc::SYS_exit) {
        return Ending::Alone;
    }
    let begun = Instant::now();
    // It was killed: soon the others have ended, or sleep in the call for which they are.
    while own != Some(nix::libc::SYS_exit_group) && begun.elapsed() < PATIENCE {
        let others: Vec<i32> = living(pid).filter(|thread| *thread != pid).collect();
        if let Some(thread) = others.iter().find(|thread| replaces(pid, **thread)) {
            return Ending::Replaced(*thread);
        } else if others.is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ending::Whole
}

fn replaces(pid: i32, thread: i32) -> bool {
    call(pid, thread).is_some_and(|call| [nix::libc::SYS_execve, nix::libc::SYS_execveat].contains(&call))
}

/// Whether a process ends or has ended: it has no memory any more.
pub(crate) fn is_dying(pid: i32) -> bool {
    let has_none = |thread| std::fs::read(format!("/proc/{thread}/maps")).is_ok_and(|text| text.is_empty());
    living(pid).all(has_none)
}

/// Whether a thread that was asked to stop cannot: it waits in the kernel, for a child that has its memory (`vfork`) or a
/// device, and stops before it runs anything of its program; or it has ended.
pub(crate) fn is_still(pid: i32, thread: i32) -> bool {
    state(pid, thread).is_none_or(|s| s == 'D')
}

fn is_called(pid: i32, name: &str) -> bool {
    // A kernel thread, or a process that has ended and is waited for, has no arguments and no memory.
    let Some(argument) = first_argument(pid) else { return false };
    // Another user's may not be read.
    let program = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    if name.contains('/') {
        return std::fs::canonicalize(name).is_ok_and(|path| path == program);
    }
    let is_last_of = |path: &Path| path.file_name() == Some(OsStr::new(name));
    name_of(pid) == name || is_last_of(&argument) || is_last_of(&program)
}

/// What the kernel calls a process; empty where it has ended.
pub(crate) fn name_of(pid: i32) -> String {
    let text = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&text).trim_end_matches('\n').to_string()
}

fn first_argument(pid: i32) -> Option<PathBuf> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let first = line.split(|b| *b == 0).next()?;
    (!line.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(first)))
}
