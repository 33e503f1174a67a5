//! The tracked processes: threads stopped together and let go again, and the children that come.
//!
//! Between stops only the first thread of a process is attached to, so that its end is seen while its memory is still
//! there. Where children are followed, every thread is, since each may fork; and where the first thread has ended before
//! the others, since the memory goes with the last. Nothing is detached from in the end: the kernel lets go of every thread
//! when the thread that traces them ends, however it ends.

use crate::kernel::{self, Asked, Resume, Status};
use crate::processes::{self, Ending};
use crate::threads::{Life, Process, Thread};
use crate::wait::{Waited, Waiter};
use crate::{Error, TargetChoice};
use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::unistd::{Pid, gettid};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

const EVENT_FORK: i32 = 1;
const EVENT_VFORK: i32 = 2;
const EVENT_CLONE: i32 = 3;
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
    /// It is about to end, unless [`Tracees::ends`] tells otherwise once all of it stands still: its memory is there for
    /// the last time.
    Ends(Pid),
    /// It has ended.
    Gone(Pid),
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
    /// How it ended, once the kernel has told.
    told: Option<ExitStatus>,
    /// The kernel has said that no thread is traced any more.
    alone: bool,
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
            told: None,
            alone: false,
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

    /// What a thread reports that is attached to for longer than a stop.
    fn options(&self, is_first: bool) -> Options {
        let calls = Options::PTRACE_O_TRACESYSGOOD;
        let ends = Options::PTRACE_O_TRACEEXIT | Options::PTRACE_O_TRACEEXEC | calls;
        let threads = ends | Options::PTRACE_O_TRACECLONE;
        match (self.follow, is_first) {
            (true, _) => threads | Options::PTRACE_O_TRACEFORK | Options::PTRACE_O_TRACEVFORK,
            (false, false) => threads,
            (false, true) => ends,
        }
    }

    /// Attaches to a process, or to what is left of one whose first thread has ended.
    pub(crate) fn attach(&mut self, pid: Pid) -> Result<(), Error> {
        if self.processes.contains_key(&pid) {
            return Ok(());
        }
        let seized = seize(pid, self.options(true));
        if seized.is_err() && !processes::is_outlived(pid.as_raw()) {
            return seized;
        }
        self.alone = false;
        self.processes.insert(pid, Process::new(seized.is_ok(), true));
        if seized.is_ok() {
            self.join(pid, pid);
            self.ask(pid, pid);
        } else if !self.ask_threads(pid) {
            self.forget(pid);
            return seized;
        }
        Ok(())
    }

    /// A thread of this process is attached to, and runs.
    fn join(&mut self, pid: Pid, thread: Pid) {
        self.owners.insert(thread, pid);
        self.set(pid, thread, Thread::Runs);
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
        self.are_gone() && self.queue.is_empty()
    }

    /// Whether every process has ended. A child whose parent was killed in the midst of the fork is known to the kernel alone.
    fn are_gone(&self) -> bool {
        self.processes.is_empty() && (self.alone || !self.follow)
    }

    /// Whether somebody is still to come, and is not stopped by a signal.
    pub(crate) fn is_awaited(&self) -> bool {
        let sleeps = |p: &Process| p.threads.values().any(|t| *t == Thread::Listens);
        !self.queue.is_empty() || self.processes.values().any(|p| p.life == Life::Fresh && !sleeps(p))
    }

    /// Whether the process has come and has not ended.
    pub(crate) fn is_known(&self, pid: Pid) -> bool {
        self.processes
            .get(&pid)
            .is_some_and(|p| matches!(p.life, Life::Known | Life::Leaderless | Life::Ends))
    }

    /// Whether the process has come and is not about to end.
    pub(crate) fn lives(&self, pid: Pid) -> bool {
        self.is_known(pid) && !self.ends(pid)
    }

    /// Whether the process, all of which stands still, is about to end: its first thread may end alone.
    pub(crate) fn ends(&self, pid: Pid) -> bool {
        // Who does not stop sleeps in the kernel, or is past its end.
        let goes_on = |thread: Pid| processes::state(pid.as_raw(), thread.as_raw()).is_some();
        self.processes.get(&pid).is_some_and(|process| match process.life {
            Life::Ends => true,
            Life::Leaderless => !process.others().any(goes_on),
            Life::Fresh | Life::Visits | Life::Known => false,
        })
    }

    /// A thread through which the memory of the process is reached.
    pub(crate) fn reach(&self, pid: Pid) -> Pid {
        self.processes.get(&pid).and_then(|process| process.reach(pid)).unwrap_or(pid)
    }

    /// The next event; none when the time has come, the tracker was asked to end, or nobody is left.
    pub(crate) fn next(&mut self, until: Option<Instant>) -> Option<Event> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Some(event);
            }
            let late = until.is_some_and(|time| Instant::now() >= time);
            if late || self.asked.is_asked() || self.are_gone() {
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
                self.alone = true;
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
            Status::Ended(status) => return self.ended(thread, status),
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
        self.set(pid, thread, if event == EVENT_EXIT { Thread::Ends } else { Thread::Stopped { before } });
        if [EVENT_FORK, EVENT_VFORK, EVENT_CLONE].contains(&event) {
            self.expect_new(thread);
        }
        let Some(process) = self.processes.get_mut(&pid) else { return };
        if event == EVENT_EXEC {
            // Its other threads are no more. It is asked to stop once more, before its first instruction.
            process.begin_again(thread);
            self.owners.retain(|t, owner| *owner != pid || *t == thread);
            _ = ptrace::interrupt(thread);
            self.resume(pid, thread);
        } else if event == EVENT_EXIT {
            self.at_end(pid, thread);
        } else if process.life == Life::Fresh
            && (thread == pid || !process.is_led)
            && event == EVENT_STOP
            && !before
        {
            self.first_stop(pid, thread);
        } else if !process.held {
            self.resume(pid, thread);
        }
    }

    /// A thread ends, and with it the process where it is the last, or where all are killed.
    fn at_end(&mut self, pid: Pid, thread: Pid) {
        let ending = self.ending(pid, thread);
        let Some(process) = self.processes.get_mut(&pid) else { return };
        match ending {
            Some(Ending::Replaced(by)) => self.replaced(pid, Pid::from_raw(by)),
            Some(Ending::Alone | Ending::Whole) if process.life == Life::Known => {
                process.life = if ending == Some(Ending::Alone) { Life::Leaderless } else { Life::Ends };
                process.held = true;
                self.queue.push_back(Event::Ends(pid));
            }
            Some(Ending::Alone) => {
                // It was to come with its first thread: now it does with any other.
                process.is_led = false;
                self.ask_threads(pid);
                self.resume(pid, thread);
            }
            Some(Ending::Whole) | None if process.held => {}
            Some(Ending::Whole) | None => self.resume(pid, thread),
        }
    }

    /// What the end of a thread is for its process; none where it goes on as before.
    fn ending(&self, pid: Pid, thread: Pid) -> Option<Ending> {
        let process = self.processes.get(&pid)?;
        let is_known = process.life == Life::Known;
        if is_known && (self.follow || !process.is_led) {
            return process.is_over().then_some(Ending::Whole);
        }
        let asks = (is_known || process.life == Life::Fresh) && process.is_led && thread == pid;
        asks.then(|| processes::ending(pid.as_raw()))
    }

    /// A thread that is not attached to replaces the program. Attaching to it waits until it has, for which it in turn waits
    /// for the end of the first thread, whose number it has from then on, or already.
    fn replaced(&mut self, pid: Pid, by: Pid) {
        _ = kernel::resume(pid, Resume::Run, 0);
        let attach = |thread| seize(thread, self.options(true));
        if attach(by).or_else(|_| attach(pid)).is_ok() {
            self.forget(pid);
            self.processes.insert(pid, Process::new(true, false));
            self.join(pid, pid);
            self.ask(pid, pid);
        }
    }

    /// Who came by a fork, or as a thread, is known from then on: its first stop may be reported before or after, and its
    /// parent may end first.
    fn expect_new(&mut self, parent: Pid) {
        let Ok(number) = ptrace::getevent(parent) else { return };
        let new = Pid::from_raw(number as i32);
        // One that has ended, and whose end was reported, has no tracer any more.
        if !self.owners.contains_key(&new) && processes::tracer_of(new.as_raw()) == Some(gettid().as_raw()) {
            self.adopt(new);
        }
    }

    fn ended(&mut self, thread: Pid, status: i32) {
        if self.child.as_ref().is_some_and(|child| child.id() as i32 == thread.as_raw()) {
            self.told = Some(ExitStatus::from_raw(status));
        }
        let Some(pid) = self.owners.remove(&thread) else { return };
        let Some(process) = self.processes.get_mut(&pid) else { return };
        process.threads.remove(&thread);
        // The end of the first thread is reported last, where it is attached to at all.
        if thread == pid || (process.threads.is_empty() && !self.owners.contains_key(&pid)) {
            self.gone(pid);
        }
    }

    /// Whose a thread is that the kernel attached the tracker to: a new one of a process, or a child's first.
    fn adopt(&mut self, thread: Pid) -> Option<Pid> {
        let pid = Pid::from_raw(processes::process_of(thread.as_raw())?);
        if pid == thread && self.follow {
            self.processes.insert(pid, Process::new(true, false));
        }
        self.processes.get(&pid)?;
        self.join(pid, thread);
        Some(pid)
    }

    fn first_stop(&mut self, pid: Pid, thread: Pid) {
        let others = self.processes.iter().filter(|(other, p)| **other != pid && p.life != Life::Visits);
        let reached = |(other, process): (&Pid, &Process)| process.reach(*other).unwrap_or(*other);
        let visits = others.map(reached).any(|other| kernel::share_memory(thread, other));
        let Some(process) = self.processes.get_mut(&pid) else { return };
        if visits {
            process.life = Life::Visits;
            self.resume(pid, thread);
        } else {
            (process.life, process.held) = (Life::Known, true);
            self.queue.push_back(Event::Came(pid));
        }
    }

    /// Stops every thread of these processes.
    pub(crate) fn stop(&mut self, whom: &[Pid]) {
        let begun = Instant::now();
        let known: Vec<Pid> = whom.iter().copied().filter(|pid| self.may_run(*pid)).collect();
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
        self.may_run(pid) && self.ask_threads(pid)
    }

    /// Whether threads of a process that has come may run.
    fn may_run(&self, pid: Pid) -> bool {
        self.processes.get(&pid).is_some_and(|p| matches!(p.life, Life::Known | Life::Leaderless))
    }

    fn ask_threads(&mut self, pid: Pid) -> bool {
        let Some(process) = self.processes.get(&pid) else { return false };
        let running = |(thread, state): (&Pid, &Thread)| (*state == Thread::Runs).then_some(*thread);
        let mut new: Vec<Pid> = process.threads.iter().filter_map(running).collect();
        let stays = self.follow || !process.is_led || process.life == Life::Leaderless;
        let options = if stays { self.options(false) } else { Options::empty() };
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
            let ends = self.ends(*pid);
            let Some(process) = self.processes.get_mut(pid) else { continue };
            process.held = false;
            if process.life == Life::Leaderless && !ends {
                (process.life, process.is_led) = (Life::Known, false);
            }
            let threads: Vec<Pid> = process.threads.keys().copied().collect();
            threads.into_iter().for_each(|thread| self.resume(*pid, thread));
            if ends || !processes::lives(pid.as_raw()) {
                self.gone(*pid);
            }
        }
    }

    /// Lets a thread go on that stands still; all but the first are no longer attached to where neither children are followed
    /// nor the first has ended.
    fn resume(&mut self, pid: Pid, thread: Pid) {
        let options = self.options(thread == pid);
        let Some(process) = self.processes.get_mut(&pid) else { return };
        let state = process.threads.get(&thread).copied();
        let before = match state {
            Some(Thread::Stopped { before }) => before,
            Some(Thread::Ends) => false,
            Some(Thread::Runs | Thread::Asked | Thread::Listens) | None => return,
        };
        let how = if thread != pid && !self.follow && process.is_led {
            Resume::Detach
        } else if before {
            Resume::Listen
        } else {
            Resume::Run
        };
        if !process.is_led {
            // It may have been attached to for a stop alone.
            _ = ptrace::setoptions(thread, options);
        }
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
            Resume::Run | Resume::Call if state == Some(Thread::Ends) => process.leaves(pid, thread),
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

    /// The command that was started, for whoever waits for its end.
    pub(crate) fn command(&mut self) -> Option<Started> {
        let child = self.child.take()?;
        let runs = self.processes.contains_key(&Pid::from_raw(child.id() as i32));
        Some(Started { child, runs, told: self.told })
    }
}

/// A command that was started.
pub(crate) struct Started {
    pub(crate) child: Child,
    /// It may still run.
    pub(crate) runs: bool,
    /// How it ended, where its end was waited for already.
    pub(crate) told: Option<ExitStatus>,
}

/// Starts a program that stands still, stopped, before its first instruction.
fn spawn(words: &[String]) -> Result<Child, Error> {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    let child = kernel::spawn_stopped(&mut command).map_err(|e| Error(format!("{}: {e}", words[0])))?;
    let pid = Pid::from_raw(child.id() as i32);
    let wait = || match kernel::wait(pid, false) {
        Ok(Status::Stopped { .. }) => Ok(()),
        Ok(Status::Running | Status::Ended(_)) | Err(_) => {
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
        Errno::EPERM if !processes::lives(pid.as_raw()) => {
            Error(format!("process {pid}: it has ended, and its parent has not waited for it yet"))
        }
        Errno::EPERM => Error(format!(
            "process {pid}: no permission to trace it; run as its user with kernel.yama.ptrace_scope = 0, or as root \
             (it may also be traced already, by a debugger or another tracker)"
        )),
        e => Error::at(&format!("process {pid}: cannot be traced"), e),
    })
}
