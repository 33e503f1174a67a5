//! What an operating system does: on harts, by their own loads, stores and waits (translations of pages, the mapping lock,
//! taking a page away from every hart); and at page fidelity, where a page is the smallest thing, [`memory`].
//!
//! A driver keeps its tables on the host and is asked by a program's [`Port`] before each operation; what takes time
//! runs as a [`Task`] on the hart. Harts that share such tables act in order of time, none ahead.
//!
//! Modelled: a small set-associative translation buffer for each hart; shootdowns that wait until every other hart's
//! stores are done; harts in the kernel, which need no such wait. Not modelled: the cost of a page walk (whoever
//! translates adds it), interrupts, scheduling.
#![forbid(unsafe_code)]

mod kernel;
pub mod memory;
mod port;
mod translations;

use kernel::INTERRUPTIBLE;
pub use kernel::{Entered, Task};
pub use port::{Caller, Kernel, Port, Step};
pub use translations::Translations;

/// What the kernel knows of a hart.
#[derive(Clone, Debug)]
pub struct HartState {
    /// Places of pages that the hart need not ask for.
    pub translations: Translations,
    /// Its stores to pages are done, and it makes no others: it is in the kernel, or has no program.
    pub quiet: bool,
    /// Another hart waits until its stores are done.
    pub asked: bool,
}

impl HartState {
    /// A hart without a program, with room for `translations` pages.
    pub fn new(translations: usize) -> HartState {
        HartState { translations: Translations::new(translations), quiet: true, asked: false }
    }

    /// The hart's program has ended, its stores being done: nobody needs to ask it.
    pub fn leave(&mut self) {
        (self.quiet, self.asked) = (true, false);
    }
}
