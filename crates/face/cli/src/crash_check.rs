//! A user's own recovery: a command that gets the files that a power failure left and decides by its exit status.

use crate::Failure;
use crate::crash_files::{Folder, LEAST_LIMIT, Left, temporary};
use crate::crash_left::Known;
use crate::crash_limit::OwnTime;
use crate::crash_reads;
use crate::crash_turns::Turns;
use check::crash::{Outcome, Verdict};
use nix::sys::signal::{Signal, killpg};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use protocol::params::nearest;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use units::watch::{self, Watch};

/// Bytes of a command's output that are looked at.
const OUTPUT: u64 = 4096;

/// Characters of a line that are shown.
const SHOWN: usize = 400;

/// The limit for files of `bytes` bytes in all.
fn file_limit(bytes: u64) -> u64 {
    bytes.saturating_mul(4).max(LEAST_LIMIT).next_multiple_of(512)
}

/// What a shell says of a command that it cannot run, and that it does not find.
const CANNOT_RUN: [i32; 2] = [126, 127];

/// Ended for a file over the limit, as a process and as a shell says it.
const TOO_LARGE: i32 = 25;

/// A check command. Each run has files of its own, which it may change.
pub(crate) struct External {
    command: String,
    limit: Duration,
    /// Bytes of the largest file that it may write.
    pub(crate) file_limit: u64,
    /// Goes with this.
    _folder: Folder,
    /// Its path, without links: as a check sees it that asks the kernel.
    whole: PathBuf,
    /// Runs asked for, and the number of the next that is watched.
    count: AtomicUsize,
    watched_next: AtomicUsize,
    /// The last run told what it read: only then there is something to find out by watching.
    tells: AtomicBool,
    /// Runs made, each in a folder of its own.
    folders: AtomicUsize,
    /// It read more than it told.
    reads_more: AtomicBool,
    /// Some run opened a file of those that were laid out, or nobody can know.
    opened: AtomicBool,
    turns: Turns,
    /// Runs that did not end.
    endless: AtomicUsize,
    /// The longest run that ended, by the host's clock.
    longest_us: AtomicU64,
    watch: Option<Arc<Watch>>,
}

/// Of so many runs one, at most, finds out whether the program reads more than it tells.
const WATCHED: usize = 32;

/// A run is made for each so many accesses that were made step by step, before the next is watched: a step takes some ten
/// microseconds, a run some milliseconds, and what watching takes stays below a quarter of what it is there for.
const STEPS: usize = 64;

/// After so many runs that did not end the next are not waited for as long: a tenth, if the longest that ended was shorter
/// than a part of that.
const ENDLESS: usize = 4;
const TENTH: u32 = 10;
const SHORTER: u32 = 4;

/// A word in braces that is nearly `acknowledged`: the check would get it as it stands, and might hold for want of the number. Of the
/// shorter ones too much is near that shells and other languages have in braces.
fn misspelt(command: &str) -> Option<&str> {
    let opened = command.match_indices('{').filter(|(at, _)| !command[..*at].ends_with('$'));
    let mut words = opened.filter_map(|(at, _)| command[at + 1..].split_once('}')).map(|(word, _)| word);
    words.find(|word| *word != ACKNOWLEDGED && word.len() > 6 && !nearest(word, [ACKNOWLEDGED]).is_empty())
}

const ACKNOWLEDGED: &str = "acknowledged";

/// What a run of the check did.
struct Ran {
    outcome: Outcome,
    /// Accesses that were made step by step.
    steps: usize,
    /// By itself.
    ended: bool,
}

/// The check could not be run: what is unwound with, as [`watch::check`] does, so that a search ends at once.
struct Broken(String);

impl External {
    /// `command`, for files of `bytes` bytes in all.
    pub(crate) fn new(command: &str, limit_s: f64, bytes: u64) -> Result<External, Failure> {
        if !["{image}", "{folder}"].iter().any(|name| command.contains(name)) {
            return Err(Failure::BadInput(format!(
                "--check '{command}': write {{image}} where the file's path belongs, or {{folder}} for that of all files"
            )));
        }
        if let Some(word) = misspelt(command) {
            return Err(Failure::BadInput(format!(
                "--check '{command}': {{{word}}} stands for nothing; did you mean {{{ACKNOWLEDGED}}}?"
            )));
        }
        if !limit_s.is_finite() || limit_s <= 0.0 {
            return Err(Failure::BadInput(format!("--time-limit {limit_s}: give seconds above 0")));
        }
        let folder = temporary(bytes)?;
        let whole = folder.path().canonicalize().unwrap_or_else(|_| folder.path().to_path_buf());
        let tells_when_read = statvfs(&whole).is_ok_and(|s| !s.flags().contains(FsFlags::ST_NOATIME));
        Ok(External {
            command: command.into(),
            limit: Duration::from_secs_f64(limit_s.min(86_400.0)),
            file_limit: file_limit(bytes),
            _folder: folder,
            whole,
            count: AtomicUsize::new(0),
            watched_next: AtomicUsize::new(0),
            tells: AtomicBool::new(false),
            folders: AtomicUsize::new(0),
            reads_more: AtomicBool::new(false),
            opened: AtomicBool::new(!tells_when_read),
            turns: Turns::default(),
            endless: AtomicUsize::new(0),
            longest_us: AtomicU64::new(0),
            watch: watch::entered(),
        })
    }

    /// Lays out what is left, runs the command on it. To be called within [`External::ends`].
    ///
    /// # Errors
    /// How the command ended, when not with success.
    pub(crate) fn run(&self, left: &Left<'_>) -> Result<(), String> {
        match self.outcome(left).verdict {
            Verdict::Fails(message) => Err(message),
            Verdict::Holds | Verdict::Stop => Ok(()),
        }
    }

    /// The same, with the lines that the command says that it read.
    pub(crate) fn outcome(&self, left: &Left<'_>) -> Outcome {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let watched = self.tells.load(Ordering::Relaxed) && self.is_turn(number);
        let (mut outcome, steps) = self.run_once(left, watched);
        if steps > STEPS * WATCHED {
            self.watched_next.fetch_max(number + steps / STEPS, Ordering::Relaxed);
        }
        if watched && (outcome.verdict != Verdict::Holds || outcome.more || outcome.read.is_none()) {
            let first = outcome;
            (outcome, _) = self.run_once(left, false);
            // To be watched may disturb a program: then it does what nobody sees.
            if first.more || (outcome.read.is_some() && outcome.verdict != first.verdict) {
                self.reads_more.store(true, Ordering::Relaxed);
            }
        }
        self.tells.store(outcome.read.is_some(), Ordering::Relaxed);
        Outcome { more: self.reads_more.load(Ordering::Relaxed), ..outcome }
    }

    /// Whether this run is to be watched, as far as their number decides.
    fn is_turn(&self, number: usize) -> bool {
        let next = self.watched_next.load(Ordering::Relaxed);
        let (next_one, relaxed) = (number + WATCHED, Ordering::Relaxed);
        number >= next && self.watched_next.compare_exchange(next, next_one, relaxed, relaxed).is_ok()
    }

    /// What the check did, and how many accesses were made step by step.
    fn run_once(&self, left: &Left<'_>, watched: bool) -> (Outcome, usize) {
        watch::shared(self.watch.as_ref(), || {
            let run = || {
                let number = self.folders.fetch_add(1, Ordering::Relaxed);
                let folder = self.whole.join(number.to_string());
                let result = self.run_in(&folder, left, watched);
                _ = std::fs::remove_dir_all(&folder);
                result
            };
            match self.turns.run(run, |ran| ran.ended && ran.outcome.verdict != Verdict::Holds) {
                Ok(ran) => (ran.outcome, ran.steps),
                Err(broken) => std::panic::resume_unwind(Box::new(broken)),
            }
        })
    }

    /// Does `work`, which runs the check.
    ///
    /// # Errors
    /// When the check could not be run.
    pub(crate) fn ends<T>(work: impl FnOnce() -> T) -> Result<T, Failure> {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        caught.or_else(|payload| match payload.downcast::<Broken>() {
            Ok(broken) => Err(Failure::BadInput(format!("--check: {}", broken.0))),
            Err(other) => std::panic::resume_unwind(other),
        })
    }

    fn run_in(&self, folder: &Path, left: &Left<'_>, watched: bool) -> Result<Ran, Broken> {
        let broken = |what: &dyn std::fmt::Display| Broken(format!("{}: {what}", folder.display()));
        let command = left.lay_out(folder, &self.command).map_err(|e| broken(&e))?;
        let (said, report, files) = (folder.join("output"), folder.join("reads"), folder.join("files/"));
        let out = File::create(&said).map_err(|e| broken(&e))?;
        let err = out.try_clone().map_err(|e| broken(&e))?;
        let limits = format!("ulimit -c 0; ulimit -f {}", self.file_limit / 512);
        let mut shell = Command::new("sh");
        if watched {
            shell.env(crash_reads::WATCHED, "1");
        }
        let child = shell
            .args(["-c", &format!("exec 2>&1; {limits}; {}", alone(&command))])
            // A group of its own, so that what it started can be ended with it.
            .process_group(0)
            .env_remove("COREPLANE_TRACE")
            .env(crash_reads::REPORT, &report)
            .env(crash_reads::FILES, &files)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .map_err(|e| Broken(format!("sh: {e}")))?;
        let pid = child.id();
        let setting = [crash_reads::REPORT.as_bytes(), b"=", report.as_os_str().as_bytes()].concat();
        let known = Known { setting, folder: folder.into() };
        let status = self.wait(Group { child, known, waited: false }).map_err(|e| broken(&e))?;
        if !self.opened.load(Ordering::Relaxed) && left.was_opened(folder) {
            self.opened.store(true, Ordering::Relaxed);
        }
        // A check that was ended had more to read.
        let told = status.as_ref().ok().and_then(|_| std::fs::read_to_string(&report).ok());
        let told = told.and_then(|told| crash_reads::lines_read(&told, pid, &files, &left.files));
        let ended = status.is_ok();
        let verdict = self.verdict(status, &said)?;
        let (more, steps) = told.as_ref().map_or((false, 0), |t| (t.more, t.steps));
        Ok(Ran { outcome: Outcome { verdict, read: told.map(|t| t.lines), more }, steps, ended })
    }

    /// What is said of runs that a reader must know of; `folder` says what `{folder}` is.
    pub(crate) fn remarks(&self, folder: &dyn Fn() -> String) -> impl Iterator<Item = String> {
        self.endless().into_iter().chain(self.turns.disturbed()).chain(self.looks_elsewhere(folder))
    }

    /// A check that looks at nothing holds whatever is lost.
    fn looks_elsewhere(&self, folder: &dyn Fn() -> String) -> Option<String> {
        let text = "warning: no run of the check opened a file of the recording, so that its answer says nothing of what they \
                    hold: see that it looks for them where {image} and {folder} are. ";
        (!self.opened.load(Ordering::Relaxed)).then(|| text.to_string() + &folder())
    }

    /// Runs that did not end are no sign of what was lost.
    fn endless(&self) -> Option<String> {
        let n = self.endless.load(Ordering::Relaxed);
        (n > 0).then(|| {
            format!(
                "the check did not end {n} times, which counts as a failure: either recovery hangs, or it needs more than \
                 --time-limit {}",
                self.limit.as_secs_f64()
            )
        })
    }

    /// What the way in which the command ended means.
    fn verdict(&self, status: Result<ExitStatus, OwnTime>, said: &Path) -> Result<Verdict, Broken> {
        let status = match status {
            Ok(status) if status.success() => return Ok(Verdict::Holds),
            Ok(status) => status,
            Err(took) => {
                self.endless.fetch_add(1, Ordering::Relaxed);
                return Ok(Verdict::Fails(took.text()));
            }
        };
        let line = last_line(said);
        let said = if line.is_empty() { String::new() } else { format!(": {line}") };
        if let Some(code) = status.code().filter(|code| CANNOT_RUN.contains(code)) {
            return Err(Broken(format!(
                "'{}' could not be run (exit code {code}{said}); that is no verdict on the image",
                self.command
            )));
        }
        let large = status.signal() == Some(TOO_LARGE) || status.code() == Some(128 + TOO_LARGE);
        let limit = if large {
            format!(" (it wrote a file of more than {} bytes, the limit)", self.file_limit)
        } else {
            String::new()
        };
        Ok(Verdict::Fails(format!("the check ended with {status}{limit}{said}")))
    }

    /// What a run may take.
    fn limit(&self) -> Duration {
        if self.endless.load(Ordering::Relaxed) < ENDLESS {
            return self.limit;
        }
        let longest = Duration::from_micros(self.longest_us.load(Ordering::Relaxed));
        (self.limit / TENTH).max(SHORTER * longest).min(self.limit)
    }

    /// How it ended; what it took, when that was too long. Unwinds when the search is to stop.
    #[expect(clippy::disallowed_methods, reason = "a command that hangs is ended by the host's clock")]
    fn wait(&self, mut group: Group) -> std::io::Result<Result<ExitStatus, OwnTime>> {
        let (begun, mut own) = (Instant::now(), OwnTime::of(self.limit()));
        let mut pause = Duration::from_micros(100);
        loop {
            if let Some(status) = group.ended()? {
                self.longest_us.fetch_max(begun.elapsed().as_micros() as u64, Ordering::Relaxed);
                return Ok(Ok(status));
            }
            if own.is_over(begun.elapsed(), group.child.id()) {
                return Ok(Err(own));
            }
            watch::check();
            std::thread::sleep(pause);
            pause = (pause * 3 / 2).min(Duration::from_millis(20));
        }
    }
}

/// A command in the shell's place where it is a program's path with arguments: a process less, and what the program says of
/// itself it says of all that the command does. Whatever else a shell may do is left to it.
fn alone(command: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " /._-+,:@%={}\\'\"<>".contains(c);
    let is_setting = |word: &str| {
        let name = word.split('=').next().unwrap_or_default();
        name.len() < word.len() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut at = 0;
    for word in command.split_inclusive(' ') {
        if word != " " && !is_setting(word) {
            let is_path = word.trim_end().chars().all(|c| c.is_alphanumeric() || "/._-+".contains(c));
            if is_path && word.contains('/') && command.chars().all(is_plain) {
                return format!("{}exec {}", &command[..at], &command[at..]);
            }
            break;
        }
        at += word.len();
    }
    command.into()
}

/// A command and what it started: ended with it, whatever happens.
struct Group {
    child: Child,
    /// What it started in sessions of their own.
    known: Known,
    /// Its number may be another process's.
    waited: bool,
}

impl Group {
    /// How the command ended, once it has. What it left in the background ends then.
    fn ended(&mut self) -> std::io::Result<Option<ExitStatus>> {
        let looked = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        // One that a signal without a name ended is an error here.
        if waitid(Id::Pid(self.number()), looked) == Ok(WaitStatus::StillAlive) {
            return Ok(None);
        }
        self.end().map(Some)
    }

    fn number(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Before it is waited for, the group's number is nobody else's.
    fn end(&mut self) -> std::io::Result<ExitStatus> {
        _ = killpg(self.number(), Signal::SIGKILL);
        self.waited = true;
        let status = self.child.wait();
        self.known.end_all(self.number());
        status
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.waited {
            _ = self.end();
        }
    }
}

/// The last line that a command printed, of what is looked at.
fn last_line(said: &Path) -> String {
    use std::io::{Seek, SeekFrom};
    let mut text = Vec::new();
    _ = File::open(said).and_then(|mut f| {
        let bytes = f.metadata()?.len();
        f.seek(SeekFrom::Start(bytes.saturating_sub(OUTPUT)))?;
        f.take(OUTPUT).read_to_end(&mut text)
    });
    told(&String::from_utf8_lossy(&text)).chars().filter(|c| !c.is_control()).take(SHOWN).collect()
}

/// What says most of a text: the message of a Rust panic that it ends with, else its last line that is no advice (`note: `).
fn told(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.iter().rev().find(|line| !is_advice(line)).or(lines.last());
    panic_message(&lines).unwrap_or_else(|| last.copied().unwrap_or_default().into())
}

fn is_advice(line: &str) -> bool {
    line.starts_with("note: ")
}

/// The message of a panic behind which the program says nothing more.
fn panic_message(lines: &[&str]) -> Option<String> {
    const BACKTRACE: &str = "stack backtrace:";
    let is_panic = |line: &&str| line.starts_with("thread '") && line.contains(" panicked at ");
    let lines = &lines[lines.iter().rposition(is_panic)? + 1..];
    let end = lines.iter().position(|line| is_advice(line) || *line == BACKTRACE);
    // Without advice behind it, a message goes on as far as its lines are set in.
    let set_in = || lines.iter().skip(1).take_while(|line| line.starts_with(' ')).count();
    let (message, rest) = lines.split_at(end.unwrap_or_else(|| lines.len().min(1 + set_in())));
    let is_of_panic = |line: &&str| is_advice(line) || *line == BACKTRACE || line.starts_with(' ');
    let message: Vec<&str> = message.iter().map(|line| line.trim()).collect();
    (!message.is_empty() && rest.iter().all(is_of_panic)).then(|| message.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{LEAST_LIMIT, alone, file_limit, misspelt, told};

    #[test]
    fn a_panic_is_told_by_its_message_and_all_else_by_its_last_line() {
        let advice = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n";
        let panic = "open\n\nthread 'main' (7) panicked at src/main.rs:7:5:\nkey 5 is lost\n";
        assert_eq!(told(&format!("{panic}{advice}")), "key 5 is lost");
        assert_eq!(told(panic), "key 5 is lost");
        let frames = "stack backtrace:\n   0: __rustc::rust_begin_unwind\n             at /rustc/x/library/std/src/panicking.rs:689:5\n";
        assert_eq!(
            told(&format!("{panic}{frames}note: Some details are omitted, run with ...\n")),
            "key 5 is lost"
        );
        let equal = "thread 'a b' panicked at m.rs:1:1:\nassertion `left == right` failed: sum\n  left: 1\n right: 2\n";
        let said = "assertion `left == right` failed: sum, left: 1, right: 2";
        assert_eq!((told(equal).as_str(), told(&format!("{equal}{advice}")).as_str()), (said, said));
        for after in [format!("{panic}{advice}3 keys are lost\n"), format!("{panic}3 keys are lost\n\n")] {
            assert_eq!(told(&after), "3 keys are lost", "what the program says after it has caught a panic");
        }
        let python = "Traceback (most recent call last):\n  File \"c.py\", line 2, in <module>\n    f()\nValueError: key 5\n";
        assert_eq!(told(python), "ValueError: key 5");
        assert_eq!(
            (told("lost\nnote: see below\n").as_str(), told("note: see\n\n").as_str(), told("").as_str()),
            ("lost", "note: see", "")
        );
    }

    #[test]
    fn a_check_may_write_four_times_what_is_there_and_what_a_database_allocates() {
        assert_eq!((file_limit(0), file_limit(1 << 20)), (LEAST_LIMIT, LEAST_LIMIT));
        assert_eq!(file_limit((1 << 30) + 1), (4 << 30) + 512);
    }

    #[test]
    fn a_word_that_is_nearly_acknowledged_is_told_from_other_braces() {
        assert_eq!(misspelt("./c {image} {acknoledged}"), Some("acknoledged"));
        assert_eq!(misspelt("./c {image} {Acknowledge}"), Some("Acknowledge"));
        for right in [
            "./c {image} {acknowledged} {marks}",
            "${acknowledge}",
            "awk '{print}' f\"{mark} {usage}\" {",
            "",
        ] {
            assert_eq!(misspelt(right), None);
        }
    }

    #[test]
    fn only_a_program_with_arguments_takes_the_place_of_the_shell() {
        assert_eq!(alone("./check {image} 3"), "exec ./check {image} 3");
        assert_eq!(alone("A=1 B_2=x  /bin/check /d/a\\ b"), "A=1 B_2=x  exec /bin/check /d/a\\ b");
        assert_eq!(alone("./check {image} > 'a b'"), "exec ./check {image} > 'a b'");
        for other in [
            "check x",
            "exit 1",
            "A=1",
            "",
            "./a x && ./b x",
            "./a $(b)",
            "./a x; b",
            "./a x | b",
            "'./a' x",
            "./a x # y",
        ] {
            assert_eq!(alone(other), other);
        }
    }
}
