//! What can happen, in words.

use std::fmt;

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A core stores to a line.
    Store {
        /// The core.
        core: usize,
        /// The line.
        line: usize,
    },
    /// A core exchanges the value of a line, which acquires and releases.
    Exchange {
        /// The core.
        core: usize,
        /// The line.
        line: usize,
    },
    /// A core reaches the fence at the end of an epoch, or of its program.
    Fence(usize),
    /// A core's persist buffer sends an entry.
    Flush(usize),
    /// A core's timer ends.
    Timer(usize),
    /// Controllers tell each other their clocks.
    Tell,
    /// The first message of a wire arrives.
    Deliver(Wire),
}

/// Two ends and a kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wire {
    /// Flushes of a core, or of all, to a controller.
    Flush(Option<usize>, usize),
    /// Commits of a core to a controller.
    Commit(usize, usize),
    /// Answers to flushes, from a controller to a core, or to all.
    Answer(usize, Option<usize>),
    /// Answers to commits, from a controller to a core.
    Committed(usize, usize),
    /// Resolved dependences, from a core to a core.
    Resolved(usize, usize),
    /// The directory to a core.
    AddDependent(usize),
    /// A core to the register that all can address.
    Publish(usize),
    /// That register to a core.
    Timestamp(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Store { core, line } => write!(f, "core {core} stores to line {line}"),
            Step::Exchange { core, line } => write!(f, "core {core} exchanges line {line}"),
            Step::Fence(core) => write!(f, "core {core} reaches a fence"),
            Step::Flush(core) => write!(f, "core {core} flushes an entry"),
            Step::Timer(core) => write!(f, "core {core} asks the register"),
            Step::Tell => write!(f, "controller 0 and the others tell each other how far each core is"),
            Step::Deliver(wire) => wire.fmt(f),
        }
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wire::Flush(Some(h), c) => write!(f, "controller {c} takes a flush of core {h}"),
            Wire::Flush(None, c) => write!(f, "controller {c} takes the next flush"),
            Wire::Commit(h, c) => write!(f, "controller {c} takes a commit of core {h}"),
            Wire::Answer(c, Some(h)) => write!(f, "core {h} gets controller {c}'s answer to a flush"),
            Wire::Answer(c, None) => write!(f, "the next answer of controller {c} to a flush arrives"),
            Wire::Committed(c, h) => write!(f, "core {h} gets controller {c}'s answer to a commit"),
            Wire::Resolved(a, b) => write!(f, "core {b} learns that core {a}'s epoch committed"),
            Wire::AddDependent(h) => write!(f, "core {h} learns that another depends on its epoch"),
            Wire::Publish(h) => write!(f, "the register hears of core {h}"),
            Wire::Timestamp(h) => write!(f, "core {h} gets the register's answer"),
        }
    }
}
