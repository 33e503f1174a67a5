//! Registers, and what runs where there is no memory yet: two functions in assembler.
//!
//! A function that is called may change all registers but six, the stack's and two control words. [`captured`]
//! keeps these on the stack, as any function does, and calls; from then on whoever sets the stack to where it was
//! then and jumps to its end returns from it once more. [`play`] makes the system calls of a table, one after the other. Nothing else is
//! needed to become another process: no stack, no library, and no address but the table's.

use std::arch::naked_asm;
use std::ffi::c_void;

/// What [`captured`] gives when it returns in a process that was restored.
pub(crate) const RESTORED: u64 = 1;
/// The exit code of a process that could not be restored.
pub(crate) const NOT_RESTORED: i32 = 213;
/// Bytes of [`play`] at most.
pub(crate) const PLAY_BYTES: usize = 256;

/// Gets where the stack stands, where to go on, and what was given to [`captured`].
pub(crate) type Take = extern "C" fn(stack: u64, goes_on: u64, with: *const c_void) -> u64;

/// Calls `take` and gives what that gives; [`RESTORED`] when it returns for the second time.
#[unsafe(naked)]
pub(crate) extern "C" fn captured(take: Take, with: *const c_void) -> u64 {
    naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "stmxcsr [rsp]",
        "fnstcw [rsp + 4]",
        "mov rax, rdi",
        "mov rdx, rsi",
        "mov rdi, rsp",
        "lea rsi, [rip + 2f]",
        "call rax",
        "jmp 3f",
        "2:",
        "cld",
        "mov eax, {restored}",
        "3:",
        "ldmxcsr [rsp]",
        "fldcw [rsp + 4]",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        restored = const RESTORED,
    )
}

/// A system call of a table.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    /// Its number; [`Call::END`] for none.
    pub(crate) number: u64,
    pub(crate) arguments: [u64; 6],
    /// What it has to give: [`Call::NO_ERROR`], [`Call::ANYTHING`], or just this.
    pub(crate) gives: u64,
}

impl Call {
    pub(crate) const END: u64 = u64::MAX;
    pub(crate) const NO_ERROR: u64 = u64::MAX;
    pub(crate) const ANYTHING: u64 = u64::MAX - 1;
}

/// Makes the calls from `first` on, and then goes on at `goes_on` with the stack at `stack`. When one gives something else
/// than it has to the process ends with [`NOT_RESTORED`]. Position-independent, of [`PLAY_BYTES`] at most, to be run from a copy.
#[unsafe(naked)]
pub(crate) extern "C" fn play(first: *const Call, stack: u64, goes_on: u64) -> ! {
    naked_asm!(
        "mov r12, rdi",
        "mov r13, rsi",
        "mov r14, rdx",
        "2:",
        "mov rax, [r12]",
        "cmp rax, -1",
        "je 6f",
        "mov rdi, [r12 + 8]",
        "mov rsi, [r12 + 16]",
        "mov rdx, [r12 + 24]",
        "mov r10, [r12 + 32]",
        "mov r8, [r12 + 40]",
        "mov r9, [r12 + 48]",
        "syscall",
        "mov rbx, [r12 + 56]",
        "cmp rbx, -2",
        "je 4f",
        "cmp rbx, -1",
        "je 3f",
        "cmp rax, rbx",
        "jne 5f",
        "jmp 4f",
        "3:",
        "cmp rax, -4095",
        "jae 5f",
        "4:",
        "add r12, 64",
        "jmp 2b",
        "5:",
        "mov edi, {failed}",
        "mov eax, 231", // exit_group
        "syscall",
        "ud2",
        "6:",
        "mov rsp, r13",
        "jmp r14",
        ".skip {bytes}, 0xcc", // what is copied is this function's
        failed = const NOT_RESTORED,
        bytes = const PLAY_BYTES,
    )
}

#[cfg(test)]
#[expect(unsafe_code, reason = "a pointer to the test's own number")]
mod tests {
    use super::*;

    extern "C" fn gives(_: u64, _: u64, with: *const c_void) -> u64 {
        // SAFETY: the test's.
        unsafe { *with.cast::<u64>() }
    }

    #[test]
    fn a_call_through_gives_what_the_function_gives() {
        let with = 42_u64;
        assert_eq!(captured(gives, (&raw const with).cast()), 42);
    }
}
