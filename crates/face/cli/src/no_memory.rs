//! Where the host has no memory for what a command needs: one line that says so, and nothing temporary is left.

use crate::interrupt;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// What is said.
pub(crate) const TEXT: &str =
    "the host has no memory for it (or `ulimit -v` allows no more); give a smaller workload or machine";

/// With what the process of a run ends, whose parent says it.
pub(crate) const CODE: u8 = 214;

/// The process that says it.
static COMMAND: AtomicU32 = AtomicU32::new(0);

/// From here on this process, and those of its runs, end so.
pub(crate) fn is_told() {
    COMMAND.store(std::process::id(), SeqCst);
    host::without_memory(end);
}

/// The thread may be anywhere, with anything locked.
fn end() -> ! {
    if COMMAND.load(SeqCst) != std::process::id() {
        signal_hook::low_level::exit(CODE.into());
    }
    let kept = interrupt::cleared().map(|text| format!("; {text}")).unwrap_or_default();
    let line = format!("coreplane: {TEXT}{kept}\n");
    // Nobody may listen.
    _ = nix::unistd::write(std::io::stderr(), line.as_bytes());
    signal_hook::low_level::exit(2)
}
