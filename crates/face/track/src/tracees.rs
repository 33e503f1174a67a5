//! The tracked processes: threads stopped together and let go again, and the children that come.
//!
//! Between stops only the first thread of a process is attached to, so that its end is seen while its memory is still
//! there; where children are followed, every thread is, since each may fork. Nothing is detached from in the end: the
//! kernel lets go of every thread when the thread that traces them ends, however it ends.

use crate::kernel::{self, Asked, Resume, Status};
use crate::processes;
use crate::wait::{Waited, Waiter};
use crate::{Error, TargetChoice};
use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const EVENT_EXEC: i32 = 4;
const EVENT_EXIT: i32 = 6;
const EVENT_STOP: i32 = 128;

/// A thread that does not stop for so long sleeps in the kernel, and runs nothing of the program before it stops.
const PATIENCE: Duration = Duration::from_secs(2);

/// What a process has done. It stands still after the first two, until it is let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Its memory is there for the first time: it was attached to, forked, or has replaced itself by another program.
    Came(Pid),
    /// It is about to end: its memory is there for the last time.
    Ends(Pid),
    /// It has ended.
    Gone(Pid),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thread {
    Runs,
    /// It runs, and is asked to stop.
    Asked,
    /// `before`: a signal had stopped it (SIGSTOP, a terminal).
    Stopped {
        before: bool,
    },
    /// A signal has stopped it, and it reports when another lets it go on.
    Listens,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// [`Event::Came`] is still to come.
    Fresh,
    /// It runs in the memory of another one (`vfork`), until it replaces itself.
    Visits,
    /// It has come.
    Known,
    /// It is about to end.
    Ends,
}

struct Process {
    life: Life,
    threads: BTreeMap<Pid, Thread>,
    /// Whoever stops stays so.
    held: bool,
    /// The tracker has attached to it: it may have had children before.
    found: bool,
}

/// The processes.
pub(crate) struct Tracees<'a> {
    processes: BTreeMap<Pid, Process>,
    /// Whose a thread is.
    owners: BTreeMap<Pid, Pid>,
    follow: bool,
    queue: VecDeque<Event>,
    waiter: Waiter,
    asked: &'a Asked,
    child: Option<Child>,
    /// Children, and who else came, that could not be attached to.
    pub(crate) untracked: BTreeSet<i32>,
}

impl<'a> Tracees<'a> {
    /// Attaches to processes, or starts a command and stops it before its first instruction.
    ///
    /// # Errors
    /// When there is no such process or program, or no permission.
    pub(crate) fn new(target: &TargetChoice, follow: bool, asked: &'a Asked) -> Result<Tracees<'a>, Error> {
        let waiter = Waiter::new().map_err(|e| Error::at("a timer", e))?;
        let (processes, owners, queue) = Default::default();
        let mut tracees = Tracees {
            processes,
            owners,
            follow,
            queue,
            waiter,
            asked,
            child: None,
            untracked: BTreeSet::new(),
        };
        match target {
            TargetChoice::Processes(numbers) => {
                numbers.iter().try_for_each(|pid| tracees.attach(Pid::from_raw(*pid)))?;
            }
            TargetChoice::Command(words) => {
                let child = spawn(words)?;
                let pid = Pid::from_raw(child.id() as i32);
                tracees.child = Some(child);
                tracees.attach(pid)?;
                kernel::send(pid, libc::SIGCONT);
            }
        }
        Ok(tracees)
    }

    fn options(&self) -> Options {
        let calls = Options::PTRACE_O_TRACESYSGOOD;
        let ends = Options::PTRACE_O_TRACEEXIT | Options::PTRACE_O_TRACEEXEC | calls;
        let forks = Options::PTRACE_O_TRACEFORK | Options::PTRACE_O_TRACEVFORK | Options::PTRACE_O_TRACECLONE;
        if self.follow { ends | forks } else { ends }
    }

    pub(crate) fn attach(&mut self, pid: Pid) -> Result<(), Error> {
        if self.processes.contains_key(&pid) {
            return Ok(());
        }
        seize(pid, self.options())?;
        self.add(pid, true);
        self.ask(pid, pid);
        Ok(())
    }

    fn add(&mut self, pid: Pid, found: bool) {
        let threads = BTreeMap::from([(pid, Thread::Runs)]);
        self.processes.insert(pid, Process { life: Life::Fresh, threads, held: false, found });
        self.owners.insert(pid, pid);
    }

    fn forget(&mut self, pid: Pid) {
        self.owners.retain(|_, owner| *owner != pid);
        self.processes.remove(&pid);
    }

    /// Asks a thread to stop.
    fn ask(&mut self, pid: Pid, thread: Pid) {
        if ptrace::interrupt(thread).is_ok() {
            self.set(pid, thread, Thread::Asked);
        }
    }

    fn set(&mut self, pid: Pid, thread: Pid, state: Thread) {
        if let Some(process) = self.processes.get_mut(&pid) {
            process.threads.insert(thread, state);
        }
    }

    /// Whether nobody is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.queue.is_empty()
    }

    /// Whether somebody is still to come, and is not stopped by a signal.
    pub(crate) fn is_awaited(&self) -> bool {
        let sleeps = |p: &Process| p.threads.values().any(|t| *t == Thread::Listens);
        !self.queue.is_empty() || self.processes.values().any(|p| p.life == Life::Fresh && !sleeps(p))
    }

    /// Whether the process has come and has not ended.
    pub(crate) fn is_known(&self, pid: Pid) -> bool {
        self.processes.get(&pid).is_some_and(|p| matches!(p.life, Life::Known | Life::Ends))
    }

    /// Whether the process has come and is not about to end.
    pub(crate) fn lives(&self, pid: Pid) -> bool {
        self.processes.get(&pid).is_some_and(|p| p.life == Life::Known)
    }

    /// The next event; none when the time has come, the tracker was asked to end, or nobody is left.
    pub(crate) fn next(&mut self, until: Option<Instant>) -> Option<Event> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            let late = until.is_some_and(|time| Instant::now() >= time);
            if late || self.asked.is_asked() || self.processes.is_empty() {
                return None;
            }
            self.wait();
        }
    }

    /// Waits for a report and does what it asks for; whether there was one.
    fn wait(&mut self) -> bool {
        match self.waiter.next() {
            Waited::Report(thread, status) => self.note(thread, status),
            Waited::Tick => return false,
            Waited::Nobody => {
                let gone: Vec<Pid> = self.processes.keys().copied().collect();
                gone.into_iter().for_each(|pid| self.gone(pid));
            }
        }
        true
    }

    fn gone(&mut self, pid: Pid) {
        self.forget(pid);
        self.queue.push_back(Event::Gone(pid));
    }

    fn note(&mut self, thread: Pid, status: Status) {
        let (signal, event) = match status {
            Status::Running => return,
            Status::Ended => return self.ended(thread),
            Status::Stopped { signal, event } => (signal, event),
        };
        if event == 0 {
            // It is delivered at once: nobody could do so any more if the tracker ended. Who is asked to stop does so then.
            _ = kernel::resume(thread, Resume::Run, signal);
            return;
        }
        let before = event == EVENT_STOP && signal != libc::SIGTRAP;
        let Some(pid) = self.owners.get(&thread).copied().or_else(|| self.adopt(thread)) else {
            _ = kernel::resume(thread, Resume::Detach, 0);
            return;
        };
        self.set(pid, thread, Thread::Stopped { before });
        let Some(process) = self.processes.get_mut(&pid) else { return };
        if event == EVENT_EXEC {
            // Its other threads are no more. It is asked to stop once more, before its first instruction.
            process.threads.retain(|t, _| *t == thread);
            (process.life, process.held) = (Life::Fresh, false);
            self.owners.retain(|t, owner| *owner != pid || *t == thread);
            _ = ptrace::interrupt(thread);
            self.resume(pid, thread);
        } else if event == EVENT_EXIT && thread == pid && process.life == Life::Known {
            (process.life, process.held) = (Life::Ends, true);
            self.queue.push_back(Event::Ends(pid));
        } else if process.life == Life::Fresh && thread == pid && event == EVENT_STOP && !before {
            self.first_stop(pid);
        } else if !process.held {
            self.resume(pid, thread);
        }
    }

    fn ended(&mut self, thread: Pid) {
        let Some(pid) = self.owners.remove(&thread) else { return };
        if thread == pid {
            self.gone(pid);
        } else if let Some(process) = self.processes.get_mut(&pid) {
            process.threads.remove(&thread);
        }
    }

    /// Whose a thread is that the kernel attached the tracker to: a new one of a process, or a child's first.
    fn adopt(&mut self, thread: Pid) -> Option<Pid> {
        let pid = Pid::from_raw(processes::process_of(thread.as_raw())?);
        if pid == thread {
            self.add(pid, false);
        } else {
            self.processes.get_mut(&pid)?;
            self.owners.insert(thread, pid);
        }
        Some(pid)
    }

    fn first_stop(&mut self, pid: Pid) {
        let others = self.processes.iter().filter(|(other, p)| **other != pid && p.life != Life::Visits);
        let visits = others.map(|(other, _)| *other).any(|other| kernel::share_memory(pid, other));
        let Some(process) = self.processes.get_mut(&pid) else { return };
        if visits {
            process.life = Life::Visits;
            self.resume(pid, pid);
        } else {
            (process.life, process.held) = (Life::Known, true);
            self.queue.push_back(Event::Came(pid));
        }
    }

    /// Stops every thread of these processes.
    pub(crate) fn stop(&mut self, whom: &[Pid]) {
        let begun = Instant::now();
        let known: Vec<Pid> = whom.iter().copied().filter(|pid| self.is_known(*pid)).collect();
        for pid in &known {
            if let Some(process) = self.processes.get_mut(pid) {
                process.held = true;
            }
        }
        let mut lasts = false;
        while begun.elapsed() < PATIENCE {
            if self.are_awaited(&known, lasts) {
                lasts = !self.wait();
            } else if known.iter().filter(|pid| self.ask_all(**pid)).count() == 0 {
                // Threads start others until all stand still.
                return;
            }
        }
    }

    /// Asks every thread to stop that was not asked yet, and tells whether there was one.
    fn ask_all(&mut self, pid: Pid) -> bool {
        let Some(process) = self.processes.get(&pid) else { return false };
        if process.life != Life::Known {
            return false;
        }
        let running = |(thread, state): (&Pid, &Thread)| (*state == Thread::Runs).then_some(*thread);
        let mut new: Vec<Pid> = process.threads.iter().filter_map(running).collect();
        let options = if self.follow { self.options() } else { Options::empty() };
        for thread in processes::threads(pid.as_raw()).into_iter().map(Pid::from_raw) {
            // Who cannot be attached to has ended, or is attached to and has not run yet.
            if !process.threads.contains_key(&thread) && ptrace::seize(thread, options).is_ok() {
                self.owners.insert(thread, pid);
                new.push(thread);
            }
        }
        for thread in &new {
            self.ask(pid, *thread);
        }
        !new.is_empty()
    }

    /// Whether threads are to stop that do not sleep in the kernel, which is looked up where it may have lasted.
    fn are_awaited(&self, whom: &[Pid], lasts: bool) -> bool {
        whom.iter().filter_map(|pid| Some((pid, self.processes.get(pid)?))).any(|(pid, process)| {
            process.threads.iter().any(|(thread, state)| {
                *state == Thread::Asked && !(lasts && processes::is_still(pid.as_raw(), thread.as_raw()))
            })
        })
    }

    /// Lets these processes go on, and those that are about to end do so.
    pub(crate) fn go(&mut self, whom: &[Pid]) {
        for pid in whom {
            let Some(process) = self.processes.get_mut(pid) else { continue };
            process.held = false;
            let threads: Vec<Pid> = process.threads.keys().copied().collect();
            let ends = process.life == Life::Ends;
            threads.into_iter().for_each(|thread| self.resume(*pid, thread));
            if ends || processes::state(pid.as_raw(), pid.as_raw()).is_none() {
                self.gone(*pid);
            }
        }
    }

    /// Lets a thread go on that stands still; all but the first are no longer attached to where children are not followed.
    fn resume(&mut self, pid: Pid, thread: Pid) {
        let Some(process) = self.processes.get_mut(&pid) else { return };
        let Some(Thread::Stopped { before }) = process.threads.get(&thread).copied() else { return };
        let how = if thread != pid && !self.follow {
            Resume::Detach
        } else if before {
            Resume::Listen
        } else {
            Resume::Run
        };
        let done = kernel::resume(thread, how, 0);
        match how {
            Resume::Detach => {
                process.threads.remove(&thread);
                self.owners.remove(&thread);
            }
            Resume::Listen if done.is_ok() => _ = process.threads.insert(thread, Thread::Listens),
            Resume::Listen => {
                // It has made a system call since: it is stopped anew.
                _ = kernel::resume(thread, Resume::Run, libc::SIGSTOP);
                process.threads.insert(thread, Thread::Runs);
            }
            Resume::Run | Resume::Call => _ = process.threads.insert(thread, Thread::Runs),
        }
    }

    /// Attaches to the children that a process has had before, and that nobody traces.
    pub(crate) fn attach_children(&mut self, pid: Pid) {
        if !self.follow || !self.processes.get(&pid).is_some_and(|p| p.found) {
            return;
        }
        for child in processes::children(pid.as_raw()) {
            if self.attach(Pid::from_raw(child)).is_err() && !processes::is_traced_here(child) {
                self.untracked.insert(child);
            }
        }
    }

    /// The command that was started, for whoever waits for its end; with whether it may still run.
    pub(crate) fn command(&mut self) -> Option<(Child, bool)> {
        let child = self.child.take()?;
        let runs = self.processes.contains_key(&Pid::from_raw(child.id() as i32));
        Some((child, runs))
    }
}

/// Starts a program that stands still, stopped, before its first instruction.
fn spawn(words: &[String]) -> Result<Child, Error> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    let child = kernel::spawn_stopped(&mut command).map_err(|e| Error(format!("{}: {e}", words[0])))?;
    let pid = Pid::from_raw(child.id() as i32);
    let wait = || match kernel::wait(pid, false) {
        Ok(Status::Stopped { .. }) => Ok(()),
        Ok(Status::Running | Status::Ended) | Err(_) => {
            Err(Error(format!("{}: ended before it could be tracked", words[0])))
        }
    };
    // A child that asked to be traced cannot be interrupted: it is stopped by a signal, and attached to anew.
    wait()?;
    _ = kernel::resume(pid, Resume::Detach, libc::SIGSTOP);
    wait()?;
    Ok(child)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "errno has more values than matter here")]
fn seize(pid: Pid, options: Options) -> Result<(), Error> {
    ptrace::seize(pid, options).map_err(|e| match e {
        Errno::ESRCH => Error(format!("process {pid}: there is none, or it has ended")),
        Errno::EPERM => Error(format!(
            "process {pid}: no permission to trace it; run as its user with kernel.yama.ptrace_scope = 0, or as root \
             (it may also be traced already, by a debugger or another tracker)"
        )),
        e => Error::at(&format!("process {pid}: cannot be traced"), e),
    })
}
