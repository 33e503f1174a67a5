//! The tracked process: its threads stopped together and let go again. Between stops only its first thread is attached
//! to, so that its end is seen while its memory is still there.

use crate::kernel::{self, Resume, Status};
use crate::{Error, TargetChoice};
use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;
use std::process::{Child, Command};

const EVENT_EXEC: i32 = 4;
const EVENT_EXIT: i32 = 6;
const EVENT_STOP: i32 = 128;

/// What the target has done since it was last looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Nothing of interest.
    None,
    /// It has replaced itself by another program.
    Replaced,
    /// It is about to end, and stands still: its memory is there for the last time.
    Ends,
    /// It has ended.
    Gone,
}

/// A thread that stands still.
struct Stopped {
    thread: Pid,
    /// To be delivered when it goes on, 0 for none.
    signal: i32,
    /// It had been stopped by a signal before (SIGSTOP, a terminal).
    before: bool,
}

/// The process.
pub(crate) struct Target {
    pub(crate) pid: Pid,
    child: Option<Child>,
    stopped: Vec<Stopped>,
    ended: bool,
}

impl Target {
    /// Attaches to a process, or starts a command and stops it before its first instruction.
    ///
    /// # Errors
    /// When there is no such process or program, or no permission.
    pub(crate) fn new(choice: &TargetChoice) -> Result<Target, Error> {
        let (pid, child) = match choice {
            TargetChoice::Process(pid) => (Pid::from_raw(*pid), None),
            TargetChoice::Command(words) => {
                let child = spawn(words)?;
                (Pid::from_raw(child.id() as i32), Some(child))
            }
        };
        seize(pid)?;
        if child.is_some() {
            kernel::send(pid, libc::SIGCONT);
        }
        let target = Target { pid, child, stopped: Vec::new(), ended: false };
        target.wait_until_it_runs().map_err(|e| Error::at(&format!("process {pid}"), e))?;
        Ok(target)
    }

    /// A process that a signal has stopped makes no system calls for the tracker before it is let go on.
    fn wait_until_it_runs(&self) -> Result<(), Errno> {
        ptrace::interrupt(self.pid)?;
        loop {
            match kernel::wait(self.pid, false)? {
                Status::Stopped { signal: libc::SIGTRAP, event: EVENT_STOP } => {
                    return kernel::resume(self.pid, Resume::Run, 0);
                }
                Status::Stopped { event: EVENT_STOP, .. } => kernel::resume(self.pid, Resume::Listen, 0)?,
                Status::Stopped { signal, event: 0 } => kernel::resume(self.pid, Resume::Run, signal)?,
                Status::Stopped { .. } => kernel::resume(self.pid, Resume::Run, 0)?,
                Status::Running => {}
                Status::Ended => return Err(Errno::ESRCH),
            }
        }
    }

    /// Stops every thread. After [`Event::Gone`] nothing stands still.
    pub(crate) fn stop(&mut self) -> Event {
        let mut replaced = false;
        loop {
            if ptrace::interrupt(self.pid).is_err() {
                return self.gone();
            }
            match kernel::wait(self.pid, false) {
                Ok(Status::Stopped { event: EVENT_EXEC, .. }) => {
                    replaced = true;
                    _ = kernel::resume(self.pid, Resume::Run, 0);
                }
                Ok(status) => match self.note(self.pid, status) {
                    Event::None => break,
                    event @ (Event::Replaced | Event::Ends | Event::Gone) => return event,
                },
                Err(_) => return self.gone(),
            }
        }
        self.stop_others();
        if replaced { Event::Replaced } else { Event::None }
    }

    fn gone(&mut self) -> Event {
        self.ended = true;
        Event::Gone
    }

    /// Threads start others until all stand still.
    fn stop_others(&mut self) {
        loop {
            let known = self.stopped.len();
            for thread in threads(self.pid) {
                if self.stopped.iter().any(|s| s.thread == thread)
                    || ptrace::seize(thread, Options::empty()).is_err()
                    || ptrace::interrupt(thread).is_err()
                {
                    continue;
                }
                if let Ok(status) = kernel::wait(thread, false) {
                    self.note(thread, status);
                }
            }
            if self.stopped.len() == known {
                return;
            }
        }
    }

    /// Takes what a thread reported: [`Event::None`] where it just stands still now.
    fn note(&mut self, thread: Pid, status: Status) -> Event {
        let Status::Stopped { signal, event } = status else {
            self.ended |= thread == self.pid;
            return Event::Gone;
        };
        let delivered = if event == 0 { signal } else { 0 };
        let before = event == EVENT_STOP && signal != libc::SIGTRAP;
        self.stopped.push(Stopped { thread, signal: delivered, before });
        if event == EVENT_EXIT { Event::Ends } else { Event::None }
    }

    /// Lets every thread go on; all but the first are no longer attached to.
    pub(crate) fn go(&mut self) {
        for stopped in std::mem::take(&mut self.stopped) {
            let how = if stopped.thread != self.pid {
                Resume::Detach
            } else if stopped.before {
                Resume::Listen
            } else {
                Resume::Run
            };
            if kernel::resume(stopped.thread, how, stopped.signal).is_err() && how == Resume::Listen {
                // It has made a system call since: it is stopped anew.
                _ = kernel::resume(stopped.thread, Resume::Run, libc::SIGSTOP);
            }
        }
    }

    /// What the running target has done. Signals to its first thread are passed on.
    pub(crate) fn look(&mut self) -> Event {
        loop {
            match kernel::wait(self.pid, true) {
                Err(_) => return self.gone(),
                Ok(Status::Running) => return Event::None,
                Ok(Status::Stopped { event: EVENT_EXEC, .. }) => {
                    _ = kernel::resume(self.pid, Resume::Run, 0);
                    return Event::Replaced;
                }
                Ok(status) => match self.note(self.pid, status) {
                    Event::None => self.go(),
                    event @ (Event::Replaced | Event::Ends | Event::Gone) => return event,
                },
            }
        }
    }

    /// Ends a command that the tracker started, and waits for it.
    pub(crate) fn finish(mut self, interrupted: bool) {
        let child = self.child.take();
        let running = !self.ended;
        let pid = self.pid;
        drop(self);
        if let Some(mut child) = child {
            if running && interrupted {
                kernel::send(pid, libc::SIGTERM);
            }
            _ = child.wait();
        }
    }
}

impl Drop for Target {
    /// Whatever happens, the process goes on, unattached.
    fn drop(&mut self) {
        if self.ended || (self.stopped.is_empty() && self.stop() == Event::Gone) {
            return;
        }
        for stopped in std::mem::take(&mut self.stopped) {
            _ = kernel::resume(stopped.thread, Resume::Detach, stopped.signal);
        }
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
fn seize(pid: Pid) -> Result<(), Error> {
    let options = Options::PTRACE_O_TRACEEXIT | Options::PTRACE_O_TRACEEXEC;
    ptrace::seize(pid, options).map_err(|e| match e {
        Errno::ESRCH => Error(format!("process {pid}: there is none, or it has ended")),
        Errno::EPERM => Error(format!(
            "process {pid}: no permission to trace it; run as its user with kernel.yama.ptrace_scope = 0, or as root \
             (it may also be traced already, by a debugger or another tracker)"
        )),
        e => Error::at(&format!("process {pid}: cannot be traced"), e),
    })
}

fn threads(pid: Pid) -> Vec<Pid> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).map(Pid::from_raw).collect()
}
