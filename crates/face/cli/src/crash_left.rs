//! Processes that a check leaves in sessions of their own, as servers do that go into the background.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How often processes are looked for: each time finds those that the ones found before had started meanwhile, or that have become
/// another program.
const LOOKS: usize = 8;

/// Between two looks, where a process was becoming another program.
const PAUSE: Duration = Duration::from_millis(1);

/// What a check's processes are known by: they were started with `setting` in their environment, or work in `folder`, as a server does
/// that has written its name over its environment.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) setting: Vec<u8>,
    pub(crate) folder: PathBuf,
}

impl Known {
    /// Ends every such process that is younger than `parent`. Cost: a folder's names, and two files of each younger process.
    pub(crate) fn end_all(&self, parent: Pid) {
        for _ in 0..LOOKS {
            let (mut found, mut unknown) = (false, false);
            for pid in younger(parent) {
                match self.is_of(pid) {
                    Some(true) => found |= kill(pid, Signal::SIGKILL).is_ok(),
                    Some(false) => {}
                    None => unknown = true,
                }
            }
            if unknown {
                std::thread::sleep(PAUSE);
            } else if !found {
                return;
            }
        }
    }

    /// None of one that is becoming another program, whose environment cannot be seen then. Of other users' processes nothing can be
    /// read, and the kernel's own have no program.
    fn is_of(&self, pid: Pid) -> Option<bool> {
        let process = Path::new("/proc").join(pid.to_string());
        let environment = std::fs::read(process.join("environ")).ok();
        let is_hidden = environment.as_ref().is_some_and(Vec::is_empty);
        let is_of = environment.unwrap_or_default().split(|byte| *byte == 0).any(|one| one == self.setting)
            || std::fs::read_link(process.join("cwd"))
                .is_ok_and(|works_in| works_in.starts_with(&self.folder));
        let may_be = is_hidden && std::fs::read_link(process.join("exe")).is_ok();
        if is_of || !may_be { Some(is_of) } else { None }
    }
}

/// Processes that may have been started since; all, where numbers have begun anew.
fn younger(parent: Pid) -> impl Iterator<Item = Pid> {
    let loads = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let last: Option<i32> = loads.split_whitespace().last().and_then(|last| last.parse().ok());
    let first = if last.is_some_and(|last| last >= parent.as_raw()) { parent.as_raw() } else { 0 };
    let own = std::process::id() as i32;
    let numbers = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers =
        numbers.filter_map(|entry| std::str::from_utf8(entry.file_name().as_bytes()).ok()?.parse().ok());
    numbers.filter(move |number| *number > first && *number != own).map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::Known;
    use nix::unistd::Pid;
    use std::process::{Child, Command};

    fn start(value: &str, folder: &std::path::Path) -> Child {
        let mut sleep = Command::new("setsid");
        let sleep =
            sleep.args(["sleep", "60"]).env("COREPLANE_TEST_OF", value).current_dir(folder).spawn().unwrap();
        // It has another environment until it has become the command.
        while std::fs::read(format!("/proc/{}/comm", sleep.id())).unwrap() != b"sleep\n" {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        sleep
    }

    #[test]
    fn those_of_a_setting_or_in_the_folder_end_and_no_others() {
        let folder = crate::crash_files::temporary(0).unwrap();
        let (here, there) = (std::env::current_dir().unwrap(), folder.path().canonicalize().unwrap());
        let mut others = [start("this one", &here)];
        let mut its = [start("this", &here), start("that", &there)];
        let known = Known { setting: b"COREPLANE_TEST_OF=this".to_vec(), folder: there };
        known.end_all(Pid::from_raw(others[0].id() as i32 - 1));
        its.iter_mut().for_each(|one| assert!(!one.wait().unwrap().success()));
        for other in &mut others {
            assert!(other.try_wait().unwrap().is_none());
            other.kill().unwrap();
            other.wait().unwrap();
        }
    }
}
