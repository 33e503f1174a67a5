//! The handshake of NVDIMM-C's driver and firmware in the CP area, small enough to see everything that can happen.
//!
//! ```text
//!   programs --faults--> driver --commands--> CP area, metadata, slots <--windows-- firmware --> NAND
//!      caches <--fills, write-backs, flushes-----------^
//! ```
//!
//! Programs on a few cores read and write pages, whichever they like; there are fewer slots than pages. A fault runs the
//! driver a step at a time: every other core, the caches' write-backs and the device's windows come in between. A window
//! comes whenever it likes, also late. The device may miss one, at once or later: it sees the refresh when its window is
//! over, and what the NAND did meanwhile waits for the next. The NAND is done when a window comes, or is not. What the host
//! writes back is in the DRAM at once.
//!
//! What must hold: every read gives what was written last; when the power fails, in any state, the dump leaves in each page
//! what last left the caches; what the device does in a window fits into it, and the checker of the bus finds nothing; and
//! nothing gets stuck. Not modelled: the write pending queue, errors of the NAND, a battery that does not last.

mod state;
#[cfg(test)]
mod tests;

use crate::mutant::Mutant;
use explore::{Bound, Explored, Mutants, Protocol};
use state::State;
use std::fmt;

/// The size of what is explored.
#[derive(Clone, Copy, Debug)]
pub struct HandshakeSpace {
    /// Cores that run a program.
    pub cores: usize,
    /// Pages of the device.
    pub pages: u32,
    /// Slots for them.
    pub slots: u32,
    /// Accesses of all programs together.
    pub accesses: u8,
    /// Commands under way at once.
    pub queue_depth: usize,
    /// Pages that a window moves.
    pub window_pages: usize,
    /// Writes back and fills with one command.
    pub merges: bool,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

impl HandshakeSpace {
    /// One core, one slot, two pages.
    pub const SMALL: HandshakeSpace = HandshakeSpace {
        cores: 1,
        pages: 2,
        slots: 1,
        accesses: 4,
        queue_depth: 1,
        window_pages: 1,
        merges: false,
        mutant: None,
    };
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A program reads or writes a page.
    Access {
        /// Its core.
        core: usize,
        /// The page.
        page: u32,
        /// Whether it writes.
        write: bool,
    },
    /// A core in a fault takes the driver's next step.
    Drive(usize),
    /// A core in a fault sees the acknowledgement that it waits for.
    Acknowledged(usize),
    /// The caches write a slot's lines back and forget them.
    Evict(u32),
    /// The device owns the bus; the NAND has done by now what it was asked for, or has not.
    Window {
        /// It has.
        done: bool,
    },
    /// The device sees a refresh when its window is over.
    Missed,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Access { core, page, write: true } => write!(f, "core {core} writes page {page}"),
            Step::Access { core, page, write: false } => write!(f, "core {core} reads page {page}"),
            Step::Drive(core) => write!(f, "core {core} takes the driver's next step"),
            Step::Acknowledged(core) => write!(f, "core {core} sees its acknowledgement"),
            Step::Evict(slot) => write!(f, "the caches write slot {slot} back"),
            Step::Missed => write!(f, "the device misses a window"),
            Step::Window { done: true } => write!(f, "the device uses a window"),
            Step::Window { done: false } => write!(f, "the device uses a window, the NAND not being done"),
        }
    }
}

impl Protocol for HandshakeSpace {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        State::new(self)
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        for core in 0..self.cores {
            if state.is_idle(core) {
                if state.accesses() < self.accesses {
                    let pages = (0..self.pages).flat_map(|page| [false, true].map(|write| (page, write)));
                    steps.extend(pages.map(|(page, write)| Step::Access { core, page, write }));
                }
            } else if state.sees_acknowledgement(core) {
                steps.push(Step::Acknowledged(core));
            } else if !state.waits(core) {
                steps.push(Step::Drive(core));
            }
        }
        steps.extend(state.cached().map(Step::Evict));
        steps.extend([true, false].map(|done| Step::Window { done }));
        steps.push(Step::Missed);
    }

    fn step(&self, state: &State, step: Step) -> State {
        let mut next = state.clone();
        match step {
            Step::Access { core, page, write } => next.access(core, page, write),
            Step::Drive(core) => next.drive(core),
            Step::Acknowledged(core) => next.acknowledged(core),
            Step::Evict(slot) => next.evict(slot),
            Step::Window { done } => next.window(done),
            Step::Missed => next.missed(),
        }
        next
    }

    fn check(&self, state: &State) -> Result<(), String> {
        state.wrong().map_or(Ok(()), Err)
    }

    fn check_power_failure(&self, state: &State) -> Result<(), String> {
        let memory = state.after_power_failure();
        let lost = memory.iter().zip(state.persistent()).position(|(left, wanted)| left != wanted);
        match lost {
            Some(page) => Err(format!(
                "a power failure leaves {} in page {page}; {} had left the caches last",
                memory[page],
                state.persistent()[page]
            )),
            None => Ok(()),
        }
    }

    fn is_final(&self, state: &State) -> bool {
        state.accesses() == self.accesses && (0..self.cores).all(|core| state.is_idle(core))
    }

    fn check_final(&self, _: &State) -> Result<(), String> {
        Ok(())
    }
}

const CORES: Bound = Bound::number("cores", 1, 1, 3, "Cores that run a program");
const PAGES: Bound = Bound::number("pages", 2, 1, 4, "Pages of the device");
const SLOTS: Bound = Bound::number("slots", 1, 1, 3, "Slots of the DRAM");
const ACCESSES: Bound = Bound::number("accesses", 4, 1, 8, "Accesses of all programs together");
const QUEUE_DEPTH: Bound = Bound::number("queue-depth", 1, 1, 4, "Commands under way at once");
const WINDOW_PAGES: Bound = Bound::number("window-pages", 1, 1, 2, "Pages that a window moves");
const MERGES: Bound =
    Bound::flag("merges", "One command writes a page back and fills its slot with the next");

impl Explored for HandshakeSpace {
    const NAME: &'static str = "nvdimmc";
    const MEANING: &'static str = "NVDIMM-C: the handshake of driver and firmware, windows, and the dump";
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;

    explore::bounded!(HandshakeSpace {
        cores: number(CORES),
        pages: number(PAGES),
        slots: number(SLOTS),
        accesses: number(ACCESSES),
        queue_depth: number(QUEUE_DEPTH),
        window_pages: number(WINDOW_PAGES),
        merges: said(MERGES),
    });
}
