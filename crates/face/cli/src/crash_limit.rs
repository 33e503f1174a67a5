//! How long a check takes by itself: on a processor, or waiting for anything but a processor or a disk. Only that counts
//! against its limit, since on a busy host a check that is right may wait long for its turn.

use std::path::Path;
use std::time::Duration;

/// A look at a check's processes costs some milliseconds: at most so often, and so many in its limit.
const BETWEEN_LOOKS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));
const LOOKS: u32 = 20;

/// What a group of processes does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Activity {
    /// Time on processors so far.
    ran: Duration,
    /// One of its threads runs, could run, or waits for a disk.
    is_busy: bool,
}

/// A check's own time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OwnTime {
    limit: Duration,
    took: Duration,
    ran: Duration,
    /// Since its start, by the host's clock.
    looked: Duration,
}

impl OwnTime {
    /// Nothing yet, of at most `limit`.
    pub(crate) fn of(limit: Duration) -> OwnTime {
        OwnTime { limit, ..OwnTime::default() }
    }

    /// Whether it has used its limit up, `now` after its start; looks at the process group `group` now and then.
    pub(crate) fn is_over(&mut self, now: Duration, group: u32) -> bool {
        let pause = (self.limit / LOOKS).clamp(BETWEEN_LOOKS.0, BETWEEN_LOOKS.1);
        if now >= self.looked + pause {
            self.note(now, activity(Path::new("/proc"), group));
        }
        self.took >= self.limit
    }

    fn note(&mut self, now: Duration, does: Activity) {
        let (passed, ran) = (now.saturating_sub(self.looked), does.ran.saturating_sub(self.ran));
        self.took += if does.is_busy { ran } else { passed.max(ran) };
        self.ran = self.ran.max(does.ran);
        self.looked = now;
    }

    /// What is said of a check that used its limit up.
    pub(crate) fn text(&self) -> String {
        let ran = self.ran.as_secs_f64();
        format!(
            "the check did not end in {} s of its own ({ran:.1} s on a processor)",
            self.limit.as_secs_f64()
        )
    }
}

/// What the processes of a group do, as `proc` tells it.
fn activity(proc: &Path, group: u32) -> Activity {
    let ticks = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok().flatten();
    let ticks = ticks.filter(|t| *t > 0).map_or(100.0, |t| t as f64);
    let mut all = Activity::default();
    for process in folders(proc) {
        let Some(stat) = Stat::read(&process).filter(|stat| stat.group == group) else { continue };
        all.ran += Duration::from_secs_f64(stat.ticks as f64 / ticks);
        let threads = folders(&process.join("task"));
        all.is_busy |= threads.iter().filter_map(|t| Stat::read(t)).any(|t| t.is_busy);
    }
    all
}

/// Entries of a folder that are numbers.
fn folders(of: &Path) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir(of).into_iter().flatten().flatten();
    let is_number =
        |entry: &std::fs::DirEntry| entry.file_name().to_str().is_some_and(|n| n.parse::<u32>().is_ok());
    all.filter(is_number).map(|entry| entry.path()).collect()
}

/// What is used of a process's or thread's `stat`.
struct Stat {
    group: u32,
    is_busy: bool,
    /// Its own time on processors, and that of children that have ended.
    ticks: u64,
}

impl Stat {
    fn read(of: &Path) -> Option<Stat> {
        let text = std::fs::read_to_string(of.join("stat")).ok()?;
        // A program's name may hold anything.
        let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let group = fields.nth(1)?.parse().ok()?;
        let times = fields.skip(8).take(4).map(|time| time.parse::<u64>().unwrap_or(0));
        Some(Stat { group, is_busy: matches!(state, "R" | "D"), ticks: times.sum() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn waiting_for_a_processor_is_not_counted() {
        let s = Duration::from_secs;
        let mut own = OwnTime::of(s(10));
        own.note(s(100), Activity { ran: s(3), is_busy: true });
        assert_eq!(own.took, s(3), "it could run, and others did");
        own.note(s(104), Activity { ran: s(3), is_busy: false });
        assert_eq!(own.took, s(7), "it waited");
        own.note(s(105), Activity { ran: s(5), is_busy: true });
        assert_eq!(own.took, s(9), "on two processors");
        own.note(s(106), Activity { ran: Duration::ZERO, is_busy: true });
        assert_eq!(own.took, s(9), "what ran has ended and was not waited for");
        assert!(own.text().contains("10 s of its own (5.0 s"));
    }

    #[test]
    fn what_a_group_does_is_seen() {
        let start = |text: &str| Command::new("sh").args(["-c", text]).process_group(0).spawn().unwrap();
        let look = |group| activity(Path::new("/proc"), group);
        let mut spins = start("(while :; do :; done) & wait");
        let mut sleeps = start("sleep 1000 & wait");
        let begun = look(spins.id());
        while look(spins.id()).ran <= begun.ran {
            std::thread::yield_now();
        }
        assert!(look(spins.id()).is_busy, "a child of the one that waits");
        while look(sleeps.id()).is_busy {
            std::thread::yield_now();
        }
        for child in [&mut spins, &mut sleeps] {
            let group = nix::unistd::Pid::from_raw(child.id() as i32);
            nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL).unwrap();
            child.wait().unwrap();
        }
        while look(spins.id()).is_busy {
            std::thread::yield_now();
        }
    }
}
