//! Ctrl-C, SIGTERM and SIGHUP: the work is stopped, what is temporary goes, one line says what is kept.
//!
//! A thread waits for the signals. It tells the work to stop ([`units::watch`]), which then unwinds to [`guarded`], and every
//! guard on the way cleans up. Work that does not look within [`PATIENCE`] (a compiler, one long read) is not waited for:
//! the thread removes what is registered here and ends the process.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR2, SIGXFSZ};
use signal_hook::iterator::Signals;
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::time::Duration;
use units::watch;

/// How long the work may take to stop.
const PATIENCE: Duration = Duration::from_millis(700);

/// The signal that came, 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// Whether there is work that could stop by itself.
static AT_WORK: AtomicBool = AtomicBool::new(false);
static LEFT: Mutex<Left> = Mutex::new(Left { temporary: BTreeSet::new(), kept: None, closing: false });

/// What is there when the process ends.
struct Left {
    temporary: BTreeSet<PathBuf>,
    /// Where something stays, and what is said of it when it is there.
    kept: Option<(PathBuf, String)>,
    /// The process is about to end: nothing new may be made.
    closing: bool,
}

fn left() -> MutexGuard<'static, Left> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file or folder that goes with this value, or with the process when that is asked to end.
pub(crate) struct Temporary(PathBuf);

impl Temporary {
    /// Call it before the file or folder is made.
    pub(crate) fn new(path: impl Into<PathBuf>) -> Temporary {
        let path = path.into();
        loop {
            let mut left = left();
            if !left.closing {
                left.temporary.insert(path.clone());
                return Temporary(path);
            }
            drop(left);
            std::thread::sleep(PATIENCE);
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        remove(&self.0);
        left().temporary.remove(&self.0);
    }
}

/// Whether there is a file, or a folder with something in it.
fn has_something(path: &Path) -> bool {
    std::fs::read_dir(path).map_or_else(|_| path.exists(), |mut all| all.next().is_some())
}

fn remove(path: &Path) {
    if path.is_dir() {
        _ = std::fs::remove_dir_all(path);
    } else {
        _ = std::fs::remove_file(path);
    }
}

/// Where the command keeps what is whole, and what to say of it when the command is interrupted from here on.
pub(crate) fn keeps(at: &Path, text: String) {
    left().kept = Some((at.into(), text));
}

/// Whether runs are of a recording, and how much of them was done when the signal came, in thousandths.
static REPLAYS: AtomicBool = AtomicBool::new(false);
static REPLAYED: AtomicI32 = AtomicI32::new(-1);

/// From here on recordings are replayed, if `workload` is one: how much of it was is said when the command is interrupted.
pub(crate) fn tells_of_replay(workload: &str) {
    REPLAYS.store(workload.starts_with("trace:"), SeqCst);
}

fn note_replayed() {
    let watch = watch::process();
    let (ended, all) = watch.parts();
    if REPLAYS.load(SeqCst) && all > 0 {
        let share = (ended as f64 + watch.under_way()) / all as f64;
        REPLAYED.store((1000.0 * share.min(1.0)) as i32, SeqCst);
    }
}

/// Does `work`. When it is interrupted meanwhile: an exit code, after the one line was printed.
pub(crate) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, u8> {
    static LISTEN: Once = Once::new();
    LISTEN.call_once(listen);
    AT_WORK.store(true, SeqCst);
    let done = std::panic::catch_unwind(AssertUnwindSafe(work));
    AT_WORK.store(false, SeqCst);
    if SIGNAL.load(SeqCst) != 0 {
        return Err(said());
    }
    done.map_err(|payload| {
        if !watch::stopped_by(&*payload) {
            std::panic::resume_unwind(payload);
        }
        said()
    })
}

/// A file that grows beyond what it may (`ulimit -f`) ends no command: who writes it is told. Programs that are started have what is usual,
/// since a handler, unlike what is ignored, does not go over to them; where this is a Python module, the interpreter ignores the signal.
pub(crate) fn outlives_limits_of_files() {
    // Without it the command ends as any program does.
    _ = signal_hook::flag::register(SIGXFSZ, Arc::default());
}

/// Prints the line, once, and gives the exit code.
fn said() -> u8 {
    static SAID: Once = Once::new();
    let signal = SIGNAL.load(SeqCst);
    SAID.call_once(|| {
        // A bar that was drawn is wiped out.
        let begin = if std::io::stderr().is_terminal() { "\r\x1b[2K" } else { "" };
        let kept = left().kept.take().filter(|(at, _)| has_something(at));
        let kept = kept.map(|(_, text)| format!("; {text}")).unwrap_or_default();
        let share = REPLAYED.load(SeqCst);
        let share =
            if share < 0 { String::new() } else { format!(" with {} % of the replay done", share / 10) };
        eprintln!("{begin}coreplane: interrupted{share}{kept}");
    });
    u8::try_from(128 + signal).unwrap_or(128)
}

/// Starts the thread that waits for signals. One that was ignored when the process began (`nohup`, `&` in a script) stays so.
fn listen() {
    let ignored = ignored();
    let wanted = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|s| ignored >> (s - 1) & 1 == 0);
    // Without signals everything works but Ctrl-C, which then ends the process as usual.
    let Ok(mut signals) = Signals::new(wanted) else { return };
    _ = std::thread::Builder::new().name("signals".into()).spawn(move || {
        for signal in signals.forever() {
            let again = SIGNAL.swap(signal, SeqCst) != 0;
            note_replayed();
            watch::process().stop();
            // Whoever is at work and stops ends the process by itself.
            if again || !AT_WORK.load(SeqCst) || !stops() {
                end();
            }
        }
    });
}

/// Whether the work stops by itself.
fn stops() -> bool {
    const LOOKS: u32 = 50;
    (0..LOOKS).any(|_| {
        std::thread::sleep(PATIENCE / LOOKS);
        !AT_WORK.load(SeqCst)
    })
}

/// The signals that this process ignores, as the kernel shows them: signal n is bit n - 1.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Removes what is temporary before the process ends, wherever it is; gives what is to be said of what is kept.
pub(crate) fn cleared() -> Option<String> {
    // The thread itself may have it.
    let mut left = LEFT.try_lock().ok()?;
    left.closing = true;
    left.temporary.iter().for_each(|path| remove(path));
    left.kept.take().filter(|(at, _)| has_something(at)).map(|(_, text)| text)
}

/// Ends the process, whatever it does.
fn end() -> ! {
    let temporary = {
        let mut left = left();
        left.closing = true;
        left.temporary.clone()
    };
    temporary.iter().for_each(|path| remove(path));
    let code = said();
    signal_hook::low_level::exit(code.into())
}

/// Whether SIGUSR2 came, where it is passed on.
static USER_SIGNAL: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// From here on SIGUSR2 is for the program that is waited for.
pub(crate) fn passes_user_signal_on() -> std::io::Result<()> {
    let came = USER_SIGNAL.get_or_init(Arc::default);
    signal_hook::flag::register(SIGUSR2, Arc::clone(came)).map(|_| ())
}

fn pass_user_signal_on(child: &Child) {
    let came = USER_SIGNAL.get().is_some_and(|came| came.swap(false, SeqCst));
    if let (true, Ok(pid)) = (came, i32::try_from(child.id())) {
        _ = kill(Pid::from_raw(pid), Signal::SIGUSR2);
    }
}

/// Waits for a program that was started. When the command is interrupted, the program is ended with it.
pub(crate) fn wait(child: &mut Child) -> std::io::Result<ExitStatus> {
    let mut pause = Duration::from_micros(200);
    while !watch::is_stopped() {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        pass_user_signal_on(child);
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
    stop(child);
    watch::check();
    child.wait()
}

/// Passes the signal on, unless the terminal has sent it to the program too, and ends the program if it does not obey.
fn stop(child: &mut Child) {
    let from_terminal = SIGNAL.load(SeqCst) == SIGINT && std::io::stdin().is_terminal();
    if let (false, Ok(pid)) = (from_terminal, i32::try_from(child.id())) {
        let signal = Signal::try_from(SIGNAL.load(SeqCst)).unwrap_or(Signal::SIGTERM);
        _ = kill(Pid::from_raw(pid), signal);
    }
    for _ in 0..40 {
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    _ = child.kill();
    _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_may_not_grow_ends_no_command_and_programs_that_are_started_have_what_is_usual() {
        outlives_limits_of_files();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        assert_eq!(u64::from_str_radix(caught.trim(), 16).unwrap() >> (SIGXFSZ - 1) & 1, 1);
        assert_eq!(ignored() >> (SIGXFSZ - 1) & 1, 0);
    }
}
