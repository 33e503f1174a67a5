//! What is known of a tracked process and its threads.

use nix::unistd::Pid;
use std::collections::BTreeMap;

/// What a thread does that is attached to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Thread {
    Runs,
    /// It runs, and is asked to stop.
    Asked,
    /// `before`: a signal had stopped it (SIGSTOP, a terminal).
    Stopped {
        before: bool,
    },
    /// A signal has stopped it, and it reports when another lets it go on.
    Listens,
    /// It stands still, and does not run again before it ends.
    Ends,
}

/// How far a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// [`crate::tracees::Event::Came`] is still to come.
    Fresh,
    /// It runs in the memory of another one (`vfork`), until it replaces itself.
    Visits,
    /// It has come.
    Known,
    /// Its first thread ends alone. Whether the others go on is to be asked.
    Leaderless,
    /// It is about to end.
    Ends,
}

/// A process.
pub(crate) struct Process {
    pub(crate) life: Life,
    /// Those that are attached to and have not been let go to their end.
    pub(crate) threads: BTreeMap<Pid, Thread>,
    /// Whoever stops stays so.
    pub(crate) held: bool,
    /// The tracker has attached to it: it may have had children before.
    pub(crate) found: bool,
    /// Its first thread, which has the number of the process, has not ended.
    pub(crate) is_led: bool,
}

impl Process {
    pub(crate) fn new(is_led: bool, found: bool) -> Process {
        Process { life: Life::Fresh, threads: BTreeMap::new(), held: false, found, is_led }
    }

    /// It has replaced itself by another program, which `thread` runs.
    pub(crate) fn begin_again(&mut self, thread: Pid) {
        self.threads.retain(|t, _| *t == thread);
        (self.life, self.held, self.is_led) = (Life::Fresh, false, true);
    }

    /// Whether no thread is left that does not stand at its end, as far as is known.
    pub(crate) fn is_over(&self) -> bool {
        self.others().next().is_none()
    }

    /// The threads that do not stand at their end.
    pub(crate) fn others(&self) -> impl Iterator<Item = Pid> + '_ {
        self.threads.iter().filter(|(_, state)| **state != Thread::Ends).map(|(thread, _)| *thread)
    }

    /// A thread goes on to its end.
    pub(crate) fn leaves(&mut self, pid: Pid, thread: Pid) {
        self.threads.remove(&thread);
        self.is_led &= thread != pid;
    }

    /// A thread that has the memory of process `pid`: the first as long as it is there, and one that stands still rather than
    /// another.
    pub(crate) fn reach(&self, pid: Pid) -> Option<Pid> {
        let stands = |thread: &Pid| matches!(self.threads[thread], Thread::Stopped { .. } | Thread::Ends);
        let first = self.threads.contains_key(&pid).then_some(pid);
        let threads = || self.threads.keys().copied();
        first.or_else(|| threads().find(stands)).or_else(|| threads().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(threads: &[(i32, Thread)]) -> Process {
        let threads = threads.iter().map(|(number, state)| (Pid::from_raw(*number), *state)).collect();
        Process { life: Life::Known, threads, ..Process::new(true, false) }
    }

    #[test]
    fn a_process_ends_with_its_last_thread() {
        let (runs, ends) = (Thread::Runs, Thread::Ends);
        let mut process = process(&[(1, ends), (2, runs), (3, runs)]);
        process.leaves(Pid::from_raw(1), Pid::from_raw(1));
        process.threads.insert(Pid::from_raw(2), ends);
        assert!(!process.is_over() && !process.is_led);
        process.leaves(Pid::from_raw(1), Pid::from_raw(2));
        process.threads.insert(Pid::from_raw(3), ends);
        assert!(process.is_over());
    }

    #[test]
    fn memory_is_reached_through_a_thread_that_has_it() {
        let (runs, stopped) = (Thread::Runs, Thread::Stopped { before: false });
        let reach = |threads: &[(i32, Thread)]| process(threads).reach(Pid::from_raw(1)).map(Pid::as_raw);
        assert_eq!(reach(&[(1, runs), (2, stopped)]), Some(1));
        assert_eq!(reach(&[(2, runs), (3, stopped)]), Some(3));
        assert_eq!(reach(&[(2, runs)]), Some(2));
        assert_eq!(reach(&[]), None);
    }
}
