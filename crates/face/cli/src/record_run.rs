//! A program that is recorded, run until it ends.

use crate::Failure;
use crate::interrupt;
use crate::record_route::Route;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

/// Whether the recording can be written: said before the program runs. What is left of an earlier one goes.
pub(crate) fn may_be_written(raw: &Path) -> Result<(), Failure> {
    // As much as a recording of nothing takes.
    const LEAST: [u8; 4096] = [0; 4096];
    let tried = std::fs::File::create(raw).and_then(|mut file| {
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
