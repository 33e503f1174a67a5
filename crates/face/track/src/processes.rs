//! Processes by their names, from `/proc`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The numbers of the processes that are called `name`, in order, without the caller's. A name is what the kernel calls the
/// process (`ps -o comm`), the last part of its first argument (`pidof`) or of its program's path; one with a slash is a path.
pub fn named(name: &str) -> Vec<i32> {
    let own = std::process::id() as i32;
    let mut found: Vec<i32> = all().into_iter().filter(|pid| *pid != own && is_called(*pid, name)).collect();
    found.sort_unstable();
    found
}

fn all() -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect()
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
fn name_of(pid: i32) -> String {
    let text = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&text).trim_end_matches('\n').to_string()
}

fn first_argument(pid: i32) -> Option<PathBuf> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let first = line.split(|b| *b == 0).next()?;
    (!line.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(first)))
}
