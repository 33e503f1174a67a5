//! A program that is recorded, run until it ends.

use crate::Failure;
use crate::interrupt::{self, Temporary};
use crate::record_route::Route;
use crate::whole;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// That a recording is written by nobody else, as long as this is there.
pub(crate) struct Alone {
    // Before the lock goes.
    _name: Temporary,
    _lock: File,
}

/// Refuses a recording that another command is writing, which would be written into from both.
pub(crate) fn alone(raw: &Path) -> Result<Alone, Failure> {
    let name = raw.file_name().unwrap_or_default().to_string_lossy();
    let path = whole::folder_of(raw).join(format!(".{name}.lock"));
    let fail = |e: io::Error| Failure::BadInput(format!("--out: {} cannot be written: {e}", raw.display()));
    loop {
        let lock = OpenOptions::new().create(true).append(true).open(&path).map_err(fail)?;
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            let text = "is being written by another coreplane record; give another name";
            return Err(Failure::BadInput(format!("--out: {} {text}", raw.display())));
        }
        // Whoever had the lock may have removed the file meanwhile; where there are no locks nothing is held.
        let own = lock.metadata().map_err(fail)?.ino();
        if std::fs::metadata(&path).is_ok_and(|there| there.ino() == own) {
            return Ok(Alone { _name: Temporary::new(path), _lock: lock });
        }
    }
}

/// Whether the recording can be written: said before the program runs. What is left of an earlier one goes.
pub(crate) fn may_be_written(raw: &Path) -> Result<(), Failure> {
    // As much as a recording of nothing takes.
    const LEAST: [u8; 4096] = [0; 4096];
    let tried = File::create(raw).and_then(|mut file| {
        let written = file.write_all(&LEAST);
        std::fs::remove_file(raw)?;
        written
    });
    tried.map_err(|e| Failure::BadInput(format!("--out: {} cannot be written: {e}", raw.display())))
}

/// Runs the program that records `command`. Gives how it ended, and the kernel's number of the process.
pub(crate) fn run(
    command: &[String],
    program: &mut Command,
    route: &Route,
    stdout: Stdio,
) -> Result<(ExitStatus, u32), Failure> {
    if route.takes_signals() {
        interrupt::passes_user_signal_on()?;
    }
    let named = |e| Failure::BadInput(format!("{}: {e}", command[0]));
    let mut child = program.stdin(Stdio::inherit()).stdout(stdout).spawn().map_err(named)?;
    let process = child.id();
    Ok((interrupt::wait(&mut child).map_err(named)?, process))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_written_by_one_command_at_a_time() {
        let folder = whole::beside(&std::env::temp_dir().join("alone"), "recording");
        std::fs::create_dir_all(folder.path()).unwrap();
        let raw = folder.path().join("t.recording");
        let first = alone(&raw).unwrap();
        let second = alone(&raw).map(|_| ());
        assert!(
            matches!(&second, Err(Failure::BadInput(said)) if said.contains("t.recording is being written by another coreplane record")),
            "{second:?}"
        );
        assert!(alone(&folder.path().join("u.recording")).is_ok());
        drop(first);
        drop(alone(&raw).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
    }
}
