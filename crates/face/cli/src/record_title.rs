//! How far a recording is, in the terminal's title: the rest of the terminal is the program's own while it runs.

use crate::args::Common;
use crate::quantity;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two looks at the recording.
const LOOK: Duration = Duration::from_secs(1);
/// Puts the title aside, and takes it back (XTerm's control sequences, "window manipulation").
const ASIDE: &str = "\x1b[22;2t";
const BACK: &str = "\x1b[23;2t";

/// Stands there until it goes.
pub(crate) struct Title(Option<(Sender<()>, JoinHandle<()>)>);

impl Title {
    /// What has been recorded so far into `raw`, each second; nothing where no terminal is, or nothing is to be said.
    #[expect(clippy::disallowed_methods, reason = "nothing is simulated while a program is recorded")]
    pub(crate) fn of(common: &Common, raw: &Path) -> Title {
        let plain = std::env::var_os("TERM").is_none_or(|t| t == "dumb" || t == "linux");
        if common.quiet || plain || !std::io::stderr().is_terminal() {
            return Title(None);
        }
        let (sender, stop) = channel();
        let raw = PathBuf::from(raw);
        let show = move || {
            let mut seconds = 0;
            while stop.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if seconds == 0 {
                    put(ASIDE);
                }
                seconds += 1;
                let bytes = std::fs::metadata(&raw).map_or(0, |m| m.len());
                put(&text(seconds, bytes));
            }
            if seconds > 0 {
                put(BACK);
            }
        };
        Title(Some((sender, std::thread::spawn(show))))
    }
}

impl Drop for Title {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.0.take() {
            drop(stop);
            _ = thread.join();
        }
    }
}

/// A title that a terminal takes (ECMA-48's operating system command).
fn text(seconds: u64, bytes: u64) -> String {
    let bytes = quantity::with_unit("bytes", bytes as f64, "B");
    format!("\x1b]2;coreplane records: {seconds} s, {bytes}\x07")
}

fn put(text: &str) {
    let mut terminal = std::io::stderr();
    _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}
