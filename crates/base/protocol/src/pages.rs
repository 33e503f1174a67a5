//! What programs do at page fidelity: a page of 4 KiB is the smallest thing, and what happens within it is a sum.

use units::{Dur, Time};

/// Where a visit goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// One page after the other.
    Sweep,
    /// Pages of the stretch at random.
    Random,
}

/// Visits of pages of one area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The area, numbered by the program.
    pub area: usize,
    /// First page of the stretch.
    pub first: u64,
    /// Pages of the stretch.
    pub span: u64,
    /// Visits: pages from the first on, or so many at random.
    pub count: u64,
    /// Which.
    pub pattern: Pattern,
    /// Lines of 64 B that a visit touches.
    pub lines: u64,
    /// It writes them.
    pub write: bool,
    /// The program's own time for a visit, memory's aside.
    pub compute: Dur,
}

impl Visit {
    /// One visit each of `count` pages of `area` from `first` on, of `lines` lines.
    pub fn sweep(area: usize, first: u64, count: u64, lines: u64, write: bool, compute: Dur) -> Visit {
        Visit { area, first, span: count, count, pattern: Pattern::Sweep, lines, write, compute }
    }
}

/// What a program does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageStep {
    /// Maps anonymous memory.
    Map {
        /// As which area.
        area: usize,
        /// Pages.
        pages: u64,
    },
    /// Maps a device file of hidden persistent memory (pass-through).
    MapDevice {
        /// As which area.
        area: usize,
        /// Pages to map, perhaps more than the file has.
        pages: u64,
        /// Pages of the file.
        file_pages: u64,
        /// Which file.
        file: usize,
    },
    /// Unmaps an area.
    Unmap {
        /// Which.
        area: usize,
    },
    /// Visits pages.
    Visit(Visit),
    /// Operations of the workload have ended; `kind` counts them apart. None of a kind marks where its first one begins.
    Operations {
        /// Kind, numbered by the workload.
        kind: usize,
        /// How many.
        count: u64,
    },
    /// A part of a recording's region begins, or ends: of a program that has any, they alone count.
    Bound {
        /// It begins.
        opens: bool,
    },
    /// The program ends.
    End,
}

/// A program at page fidelity.
pub trait PageProgram {
    /// What it does next; after [`PageStep::End`] it is asked no more.
    fn next(&mut self) -> PageStep;

    /// How much of it is done, all of it being one, as far as it knows; for whoever waits.
    fn done(&self) -> f64 {
        0.0
    }
}

/// A program and when it starts.
pub struct Arrival {
    /// When.
    pub at: Time,
    /// What.
    pub program: Box<dyn PageProgram>,
}
