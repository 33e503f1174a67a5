//! What an operating system does: on cores, by their own loads, stores and waits (translations of pages, the mapping lock,
//! taking a page away from every core).
//!
//! A driver keeps its tables on the host and is asked by a program's [`Port`] before each operation; what takes time
//! runs as a [`Task`] on the core. Cores that share such tables act in order of time.
//!
//! Modelled: a small set-associative translation buffer for each core; shootdowns that wait until every other core's
//! stores are done; cores in the kernel, which need no such wait. Not modelled: the cost of a page walk (whoever
//! translates adds it), interrupts, scheduling.
#![forbid(unsafe_code)]

mod kernel;
mod port;
mod translations;

use kernel::INTERRUPTIBLE;
pub use kernel::{Entered, Task};
pub use port::{Caller, Kernel, Port, Step};
pub use translations::Translations;

/// What the kernel knows of a core.
#[derive(Clone, Debug)]
pub struct CoreState {
    /// Places of pages that the core need not ask for.
    pub translations: Translations,
    /// Its stores to pages are done, and it makes no others: it is in the kernel, or has no program.
    pub stores_done: bool,
    /// Another core waits until its stores are done.
    pub asked: bool,
}

impl CoreState {
    /// A core without a program, with room for `translations` pages.
    pub fn new(translations: usize) -> CoreState {
        CoreState { translations: Translations::new(translations), stores_done: true, asked: false }
    }

    /// The core's program has ended, its stores being done: nobody needs to ask it.
    pub fn leave(&mut self) {
        (self.stores_done, self.asked) = (true, false);
    }
}
