//! System calls that a stopped process makes for the tracker: its registers are saved before and put back after.

use crate::kernel::{self, Resume, Status};
use crate::maps;
use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use std::io::IoSliceMut;

/// Makes the stopped thread `pid` carry out system call `number`, and gives the answer.
///
/// # Errors
/// When the thread cannot be made to, or the call's own error.
#[cfg(target_arch = "x86_64")]
pub(crate) fn system_call(pid: Pid, number: i64, arguments: [u64; 2]) -> Result<i64, Errno> {
    let before = ptrace::getregs(pid)?;
    // A 32-bit program makes its calls by another instruction; one that filters its calls may be killed for this one.
    if before.cs != USER_64 || filters_calls(pid) {
        return Err(Errno::EPERM);
    }
    let instruction = find_instruction(pid)?;
    let mut call = before;
    call.rip = instruction;
    call.rax = number as u64;
    // No call is under way: without this the kernel would begin the interrupted one again.
    call.orig_rax = u64::MAX;
    (call.rdi, call.rsi) = (arguments[0], arguments[1]);
    ptrace::setregs(pid, call)?;
    let answer = one_step(pid);
    ptrace::setregs(pid, before)?;
    let answer = answer? as i64;
    if answer < 0 { Err(Errno::from_raw(-answer as i32)) } else { Ok(answer) }
}

/// The code segment of 64-bit programs.
#[cfg(target_arch = "x86_64")]
const USER_64: u64 = 0x33;

/// Whether seccomp is on.
#[cfg(target_arch = "x86_64")]
fn filters_calls(pid: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|l| l.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() != "0"))
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn system_call(_: Pid, _: i64, _: [u64; 2]) -> Result<i64, Errno> {
    Err(Errno::ENOSYS)
}

/// More than can be pending at once without one that comes again and again.
#[cfg(target_arch = "x86_64")]
const MOST_SIGNALS: usize = 64;

#[cfg(target_arch = "x86_64")]
fn one_step(pid: Pid) -> Result<u64, Errno> {
    // Signals that arrive at the same moment are seen first: they are sent again once the step is done.
    let mut early = Vec::new();
    let answer = loop {
        if early.len() > MOST_SIGNALS {
            return Err(Errno::EAGAIN);
        }
        kernel::resume(pid, Resume::Step, 0)?;
        match kernel::wait(pid, false)? {
            Status::Stopped { signal: libc::SIGTRAP, event: 0 } => break ptrace::getregs(pid)?.rax,
            Status::Stopped { signal, event: 0 } => early.push(signal),
            Status::Stopped { signal: libc::SIGTRAP, .. } => {}
            Status::Running | Status::Stopped { .. } | Status::Ended => return Err(Errno::ESRCH),
        }
    };
    for signal in early {
        kernel::send(pid, signal);
    }
    Ok(answer)
}

/// The address of a `syscall` instruction.
#[cfg(target_arch = "x86_64")]
fn find_instruction(pid: Pid) -> Result<u64, Errno> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/maps")).map_err(|_| Errno::ESRCH)?;
    let code = maps::kernel_code(&text).ok_or(Errno::ENOENT)?;
    let mut bytes = vec![0; (code.end - code.start) as usize];
    let remote = RemoteIoVec { base: code.start as usize, len: bytes.len() };
    process_vm_readv(pid, &mut [IoSliceMut::new(&mut bytes)], &[remote])?;
    let at = bytes.windows(2).position(|w| w == [0x0F, 0x05]).ok_or(Errno::ENOENT)?;
    Ok(code.start + at as u64)
}
