//! The end of a program that was started to be tracked.

use crate::kernel::{self, Asked};
use nix::libc;
use nix::unistd::Pid;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

/// How long a program may take to end once its windows are over: as long as systemd gives a service.
const PATIENCE: Duration = Duration::from_secs(90);

/// The same where an interrupt ended the tracking: it may have to write back what it holds.
const PATIENCE_WHEN_ASKED: Duration = Duration::from_secs(5);

/// How much longer, where an interrupt comes while it is waited for.
const PATIENCE_WHEN_ASKED_AGAIN: Duration = Duration::from_millis(400);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(2);

/// How a program ended by itself, in words, where it was not well; `told` where somebody has waited for it already.
pub(crate) fn how(mut child: Child, told: Option<ExitStatus>) -> Option<String> {
    told.or_else(|| child.wait().ok()).and_then(badly).map(|how| format!("the program ended {how}"))
}

fn badly(status: ExitStatus) -> Option<String> {
    let by_signal = status.signal().map(|signal| format!("by signal {signal}"));
    by_signal.or_else(|| status.code().filter(|code| *code != 0).map(|code| format!("with exit code {code}")))
}

/// Asks a program to end, and kills it where it does not; says so then.
pub(crate) fn end(mut child: Child, asked: &Asked) -> Option<String> {
    kernel::send(Pid::from_raw(child.id() as i32), libc::SIGTERM);
    let mut until = Instant::now() + if asked.was_asked() { PATIENCE_WHEN_ASKED } else { PATIENCE };
    while Instant::now() < until {
        if !matches!(child.try_wait(), Ok(None)) {
            return None;
        }
        if asked.was_asked() {
            until = until.min(Instant::now() + PATIENCE_WHEN_ASKED_AGAIN);
        }
        std::thread::sleep(PAUSE);
    }
    _ = child.kill();
    _ = child.wait();
    Some("the program did not end by SIGTERM, and was killed".into())
}
