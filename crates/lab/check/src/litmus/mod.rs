//! Persistency litmus tests: small programs, and every memory image that a power failure can leave.
//!
//! ```text
//!   text --parse--> Test --view | operational | axiomatic--> set of images --condition--> verdict
//! ```
//!
//! Modelled: x86-64 with clflush, clflushopt, clwb, sfence, mfence, locked operations and non-temporal stores;
//! Armv8 with DC CVAP, DMB and DSB; release persistency, with Armv8's instructions; hosts that share memory without coherence, a thread each, with x86's instructions. A test's condition is asked of the image after a power failure at any time,
//! not of the final state of a run.
//!
//! Not modelled: accesses of mixed size, devices, instruction fetch; a non-temporal store is a store that flushes
//! its own line (its weaker order towards other stores is left out).
//!
//! Sources: Raad, Wickerson, Neiger, Vafeiadis (POPL 2020), Px86; Khyzha and Lahav (POPL 2021), synchronous
//! flushes; Cho, Lee, Raad, Kang (PLDI 2021), the views.

mod arm;
mod hosts;
mod hosts_by_line;
mod instruction;
mod operational;
mod parse;
mod reach;
mod spec;
mod view;

pub use instruction::{
    Compare, FenceKind, Flush, Instruction, Isa, Location, Register, RmwKind, Test, Thread, Value,
};
pub use parse::{SyntaxError, parse};
pub use spec::{Block, SPECS, blocks};

use std::collections::BTreeSet;

/// What persistent memory holds after a power failure: a value for each location, in the order of [`Test::locations`].
pub type ImageValues = Vec<i64>;

/// A persistency model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// x86: each location persists on its own (Px86-view).
    Px86,
    /// x86: the stores of one cache line persist in the order in which they became visible.
    Px86Line,
    /// Armv8 with DC CVAP.
    Armv8,
    /// Release persistency: a release comes after what its thread stored before, and what follows after both.
    Release,
    /// One-sided release persistency: what follows comes after nothing of its thread.
    OneSided,
    /// Every store persists when it becomes visible: persistent caches, or strict persistency under TSO.
    Strict,
    /// Hosts with caches of their own in front of a device: what the device holds.
    Shared,
}

/// All models, with their names.
pub const MODELS: &[(&str, Model)] = &[
    ("px86", Model::Px86),
    ("px86-line", Model::Px86Line),
    ("armv8", Model::Armv8),
    ("release", Model::Release),
    ("one-sided", Model::OneSided),
    ("strict", Model::Strict),
    ("shared", Model::Shared),
];

/// How the images of a test are found; of x86 and of hosts there are two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Views into one list of messages; of hosts, line by line.
    #[default]
    View,
    /// Store buffers and persistence buffers; of hosts, their caches.
    Operational,
}

/// What to vary in a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// How the images are found.
    pub method: Method,
    /// A locked operation that writes nothing fences too, as LOCK CMPXCHG does on processors.
    pub failed_rmw_fences: bool,
}

/// The most states that one test may have.
pub const STATE_LIMIT: usize = 4_000_000;

/// A test that cannot be run to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// More states than [`STATE_LIMIT`].
    TooManyStates,
    /// A thread took more than [`instruction::STEP_LIMIT`] steps.
    TooManySteps,
    /// The model is for another instruction set.
    WrongModel,
}

impl std::fmt::Display for Unfinished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Unfinished::TooManyStates => write!(f, "the test has more than {STATE_LIMIT} states"),
            Unfinished::TooManySteps => {
                write!(f, "a thread takes more than {} steps", instruction::STEP_LIMIT)
            }
            Unfinished::WrongModel => write!(f, "the model is for another instruction set"),
        }
    }
}

/// Every image that a power failure at any time can leave.
///
/// # Errors
/// When the test is too large, or the model is for another instruction set.
pub fn images(test: &Test, model: Model, options: Options) -> Result<BTreeSet<ImageValues>, Unfinished> {
    let fences = options.failed_rmw_fences;
    match (test.isa, model, options.method) {
        (Isa::AArch64, Model::Armv8, _) => arm::images(test, None),
        (Isa::Release, Model::Release, _) => arm::images(test, Some(arm::Sides::Both)),
        (Isa::Release, Model::OneSided, _) => arm::images(test, Some(arm::Sides::One)),
        (Isa::X86_64, Model::Px86 | Model::Px86Line, Method::View) => view::images(test, model, fences),
        (Isa::X86_64, Model::Px86 | Model::Px86Line, Method::Operational) => {
            operational::images(test, model, fences)
        }
        (Isa::Hosts, Model::Shared, Method::View) => hosts_by_line::images(test),
        (Isa::Hosts, Model::Shared, Method::Operational) => hosts::images(test, None),
        (Isa::X86_64, Model::Strict, _) => operational::images(test, model, fences),
        (
            Isa::AArch64 | Isa::X86_64 | Isa::Hosts | Isa::Release,
            Model::Px86
            | Model::Px86Line
            | Model::Armv8
            | Model::Release
            | Model::OneSided
            | Model::Strict
            | Model::Shared,
            _,
        ) => Err(Unfinished::WrongModel),
    }
}

/// What a test asks of the images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Some image satisfies the condition.
    Exists(Condition),
    /// No image does.
    NotExists(Condition),
    /// Every image does.
    ForAll(Condition),
}

/// A condition on an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Holds always.
    True,
    /// The location holds the value.
    Equals(Location, i64),
    /// All hold.
    And(Vec<Condition>),
    /// One holds.
    Or(Vec<Condition>),
    /// It does not hold.
    Not(Box<Condition>),
}

impl Condition {
    /// Whether it holds of `image`.
    pub fn holds(&self, image: &ImageValues) -> bool {
        match self {
            Condition::True => true,
            Condition::Equals(location, value) => image[location.0] == *value,
            Condition::And(all) => all.iter().all(|c| c.holds(image)),
            Condition::Or(some) => some.iter().any(|c| c.holds(image)),
            Condition::Not(inner) => !inner.holds(image),
        }
    }
}

impl Question {
    /// Whether the answer is yes.
    pub fn holds(&self, images: &BTreeSet<ImageValues>) -> bool {
        match self {
            Question::Exists(c) => images.iter().any(|i| c.holds(i)),
            Question::NotExists(c) => !images.iter().any(|i| c.holds(i)),
            Question::ForAll(c) => images.iter().all(|i| c.holds(i)),
        }
    }

    /// Whether an image that satisfies the condition is reachable.
    pub fn reachable(&self, images: &BTreeSet<ImageValues>) -> bool {
        let (Question::Exists(c) | Question::NotExists(c) | Question::ForAll(c)) = self;
        images.iter().any(|i| c.holds(i))
    }
}

#[cfg(test)]
mod hosts_tests;
#[cfg(test)]
mod tests;
