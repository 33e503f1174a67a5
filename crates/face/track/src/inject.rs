//! A userfaultfd that a stopped process opens for the tracker, in a way that it survives the tracker's end at any moment.
//!
//! A few instructions are written behind the kernel's own code for user space (the vDSO), where nothing is. They open the
//! descriptor, close it, put every register back and go on where the process was: whoever is let go in the midst of them
//! gets back by itself. The tracker stops the process between the two calls, takes its copy, and puts the registers back.

use crate::kernel::{self, Resume, Status};
use crate::maps;
use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use std::io::IoSliceMut;
use std::os::fd::OwnedFd;

/// The code segment of 64-bit programs.
const USER_64: u64 = 0x33;

/// Makes the stopped thread `pid` open a userfaultfd, takes a copy of it, and makes the thread close its own.
///
/// # Errors
/// When the thread cannot be made to, or the call's own error.
#[cfg(target_arch = "x86_64")]
pub(crate) fn userfaultfd(pid: Pid, flags: i32) -> Result<OwnedFd, Errno> {
    let before = ptrace::getregs(pid)?;
    // A 32-bit program makes its calls by another instruction; one that filters its calls may be killed for this one.
    if before.cs != USER_64 || filters_calls(pid) {
        return Err(Errno::EPERM);
    }
    let place = find_room(pid)?;
    if (place..place + LENGTH as u64).contains(&before.rip) {
        return Err(Errno::EAGAIN);
    }
    for (word, at) in code(&Registers::of(&before)).as_chunks::<8>().0.iter().zip((place..).step_by(8)) {
        ptrace::write(pid, at as *mut libc::c_void, i64::from_le_bytes(*word))?;
    }
    let mut call = before;
    call.rip = place;
    call.rax = libc::SYS_userfaultfd as u64;
    call.rdi = flags as u64;
    // No call is under way: without this the kernel would begin the interrupted one again.
    call.orig_rax = u64::MAX;
    ptrace::setregs(pid, call)?;
    let mut early = Vec::new();
    let taken = take(pid, &mut early);
    ptrace::setregs(pid, before)?;
    for signal in early {
        kernel::send(pid, signal);
    }
    taken
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn userfaultfd(_: Pid, _: i32) -> Result<OwnedFd, Errno> {
    Err(Errno::ENOSYS)
}

/// What the two calls change.
#[derive(Clone, Copy, Default)]
struct Registers {
    rax: u64,
    rcx: u64,
    rdi: u64,
    rsi: u64,
    r11: u64,
    rip: u64,
    orig_rax: u64,
}

impl Registers {
    fn of(all: &libc::user_regs_struct) -> Registers {
        let libc::user_regs_struct { rax, rcx, rdi, rsi, r11, rip, orig_rax, .. } = *all;
        Registers { rax, rcx, rdi, rsi, r11, rip, orig_rax }
    }
}

/// Bytes of the instructions, and of the registers that they put back.
const LENGTH: usize = 104;

/// The instructions: `syscall; mov edi, eax; mov eax, SYS_close; syscall`, then each register from behind them.
fn code(before: &Registers) -> [u8; LENGTH] {
    const CALLS: [u8; 11] = [0x0F, 0x05, 0x89, 0xC7, 0xB8, 3, 0, 0, 0, 0x0F, 0x05];
    // mov rax, rcx, rdi, rsi, r11, [rip + ...]; jmp [rip + ...].
    const LOADS: [&[u8]; 6] = [
        &[0x48, 0x8B, 0x05],
        &[0x48, 0x8B, 0x0D],
        &[0x48, 0x8B, 0x3D],
        &[0x48, 0x8B, 0x35],
        &[0x4C, 0x8B, 0x1D],
        &[0xFF, 0x25],
    ];
    const DATA: usize = 56;
    let (rax, rip) = begun_again(before);
    let mut bytes = CALLS.to_vec();
    for (load, number) in LOADS.iter().zip(0..) {
        bytes.extend_from_slice(load);
        let next = bytes.len() + 4;
        bytes.extend_from_slice(&((DATA + 8 * number - next) as u32).to_le_bytes());
    }
    bytes.resize(DATA, 0);
    for register in [rax, before.rcx, before.rdi, before.rsi, before.r11, rip] {
        bytes.extend_from_slice(&register.to_le_bytes());
    }
    std::array::from_fn(|at| bytes[at])
}

/// A call that the stop interrupted is begun again, as the kernel does (`ERESTARTSYS` and its kin).
fn begun_again(before: &Registers) -> (u64, u64) {
    const SYS_RESTART: u64 = libc::SYS_restart_syscall as u64;
    match before.rax as i64 {
        -514..=-512 if before.orig_rax as i64 >= 0 => (before.orig_rax, before.rip - 2),
        -516 if before.orig_rax as i64 >= 0 => (SYS_RESTART, before.rip - 2),
        _ => (before.rax, before.rip),
    }
}

/// Follows the two calls, and stops the thread where its registers can be put back.
fn take(pid: Pid, early: &mut Vec<i32>) -> Result<OwnedFd, Errno> {
    next_stop(pid, early)?;
    next_stop(pid, early)?;
    let number = ptrace::getregs(pid)?.rax as i64;
    let taken = if number < 0 {
        Err(Errno::from_raw(-number as i32))
    } else {
        kernel::take_descriptor(pid.as_raw(), number)
    };
    next_stop(pid, early)?;
    next_stop(pid, early)?;
    // The kernel begins an interrupted call again after a stop of this kind, and not after one at a call.
    ptrace::interrupt(pid)?;
    kernel::resume(pid, Resume::Run, 0)?;
    while let Status::Stopped { signal, event: 0 } = kernel::wait(pid, false)? {
        early.push(signal);
        kernel::resume(pid, Resume::Run, 0)?;
    }
    taken
}

/// More than can be pending at once without one that comes again and again.
const MOST_SIGNALS: usize = 64;

/// Lets the thread run to the beginning of its call, or from there to the end.
fn next_stop(pid: Pid, early: &mut Vec<i32>) -> Result<(), Errno> {
    const AT_CALL: i32 = libc::SIGTRAP | 0x80;
    while early.len() < MOST_SIGNALS {
        kernel::resume(pid, Resume::Call, 0)?;
        match kernel::wait(pid, false)? {
            Status::Stopped { signal: AT_CALL, event: 0 } => return Ok(()),
            // Signals that arrive at the same moment are seen first: they are sent again once this is done.
            Status::Stopped { signal, event: 0 } => early.push(signal),
            Status::Stopped { signal: libc::SIGTRAP, .. } => {}
            Status::Running | Status::Stopped { .. } | Status::Ended(_) => return Err(Errno::ESRCH),
        }
    }
    Err(Errno::EAGAIN)
}

/// Whether seccomp is on.
fn filters_calls(pid: Pid) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|l| l.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() != "0"))
}

/// Where the instructions go: the kernel's own code ends within a page, or a tracker of before has left its own there.
fn find_room(pid: Pid) -> Result<u64, Errno> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/maps")).map_err(|_| Errno::ESRCH)?;
    let mapped = maps::kernel_code(&text).ok_or(Errno::ENOENT)?;
    let place = mapped.end - 128;
    let mut bytes = [0; 128];
    let remote = RemoteIoVec { base: place as usize, len: bytes.len() };
    process_vm_readv(pid, &mut [IoSliceMut::new(&mut bytes)], &[remote])?;
    let is_free = bytes == [0; 128] || bytes[..4] == [0x0F, 0x05, 0x89, 0xC7];
    if is_free { Ok(place) } else { Err(Errno::ENOSPC) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(code: &[u8], at: usize) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|b| code[at + b]))
    }

    #[test]
    fn every_load_finds_its_register() {
        let mut before = Registers::default();
        (before.rax, before.rcx, before.rdi, before.rsi, before.r11, before.rip) = (1, 2, 3, 4, 5, 6);
        before.orig_rax = u64::MAX;
        let code = code(&before);
        let mut at = 11;
        for (number, length) in [(1, 7), (2, 7), (3, 7), (4, 7), (5, 7), (6, 6)] {
            let next = at + length;
            let distance = u32::from_le_bytes(std::array::from_fn(|b| code[next - 4 + b])) as usize;
            assert_eq!(word(&code, next + distance), number);
            at = next;
        }
    }

    #[test]
    fn an_interrupted_call_is_begun_again() {
        let mut before = Registers::default();
        (before.rax, before.orig_rax, before.rip) = (-512i64 as u64, 0, 102);
        assert_eq!(begun_again(&before), (0, 100));
        before.rax = -516i64 as u64;
        assert_eq!(begun_again(&before), (219, 100));
        before.orig_rax = u64::MAX;
        assert_eq!(begun_again(&before), (-516i64 as u64, 102));
        (before.rax, before.orig_rax) = (0, 56);
        assert_eq!(begun_again(&before), (0, 102), "a child's first stop");
    }
}
