//! What a litmus test consists of, and how a thread gets from one memory access to the next.

use super::{Question, Unfinished};
use shared::PersistentFlush;

/// The most steps of one thread.
pub(super) const STEP_LIMIT: usize = 1000;

/// Index of a location in [`Test::locations`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location(pub usize);

/// Index of a register of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Register(pub usize);

/// The instruction set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// x86-64.
    X86_64,
    /// Armv8-A.
    AArch64,
    /// Armv8-A, of which releases, acquires and fences order what persists.
    Release,
    /// x86-64, each thread on a host of its own.
    Hosts,
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A number.
    Number(i64),
    /// What a register holds.
    Register(Register),
}

/// A flush of the line of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flush {
    /// clflush: ordered as a store.
    Ordered,
    /// clflushopt, clwb, DC CVAP: weakly ordered.
    Weak,
}

/// A fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenceKind {
    /// sfence.
    Store,
    /// mfence, and DSB on Arm: orders everything, and waits for flushes.
    Full,
    /// DMB: orders accesses and flushes, waits for none.
    Memory,
}

/// What a locked operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RmwKind {
    /// Writes the operand.
    Exchange,
    /// Writes the operand where the expected value stands.
    CompareExchange {
        /// The expected value.
        expected: Value,
    },
    /// Adds the operand.
    Add,
}

/// The relation of a conditional jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compare {
    /// The compared values are equal.
    Equal,
    /// They are not.
    NotEqual,
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Instruction {
    /// A store; a non-temporal one flushes its line itself.
    Write {
        /// Where.
        to: Location,
        /// What.
        value: Value,
        /// Past the caches.
        nontemporal: bool,
    },
    /// A load.
    Read {
        /// Into which register.
        into: Register,
        /// From where.
        from: Location,
    },
    /// A locked operation; the old value goes to a register.
    Rmw {
        /// Where.
        at: Location,
        /// What it does.
        kind: RmwKind,
        /// Its operand.
        operand: Value,
        /// Where the old value goes.
        old: Option<Register>,
    },
    /// A flush of a line.
    Flush(Flush, Location),
    /// A fence.
    Fence(FenceKind),
    /// Sets a register.
    Set(Register, Value),
    /// Compares two values for the next jump.
    Compare(Value, Value),
    /// Goes to an instruction, always or by the last comparison.
    Jump(Option<Compare>, usize),
}

/// A litmus test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Its instruction set.
    pub isa: Isa,
    /// Its name.
    pub name: String,
    /// `Key=Value` lines before the initial state.
    pub metadata: Vec<(String, String)>,
    /// Names of the locations.
    pub locations: Vec<String>,
    /// Their values at the start, which are persistent.
    pub initial: Vec<i64>,
    /// The cache line of each location.
    pub lines: Vec<usize>,
    /// The threads' programs.
    pub threads: Vec<Vec<Instruction>>,
    /// The registers' values at the start.
    pub registers: Vec<Vec<i64>>,
    /// What is asked.
    pub question: Question,
}

impl Test {
    /// The value of a `Key=Value` line.
    pub fn metadata(&self, key: &str) -> Option<&str> {
        self.metadata.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }

    /// The number of cache lines.
    pub fn line_count(&self) -> usize {
        self.lines.iter().max().map_or(0, |l| l + 1)
    }

    /// The words of a `Key=Value` line.
    fn words(&self, key: &str) -> impl Iterator<Item = &str> {
        self.metadata(key).unwrap_or_default().split_whitespace()
    }

    /// Which lines hardware keeps coherent between hosts: those of the locations after `Coherent=`.
    pub(super) fn coherent_lines(&self) -> Vec<bool> {
        let is_coherent = |l: usize| self.words("Coherent").any(|name| name == self.locations[l]);
        let all = |line| (0..self.locations.len()).any(|l| self.lines[l] == line && is_coherent(l));
        (0..self.line_count()).map(all).collect()
    }

    /// Whether a host may stop: one of those after `Stops=`.
    pub(super) fn may_stop(&self, host: usize) -> bool {
        self.words("Stops").any(|name| name.strip_prefix('P').is_some_and(|n| n.parse() == Ok(host)))
    }

    /// Whether a host's link may fail and come back: those after `Links=`.
    pub(super) fn may_lose_link(&self, host: usize) -> bool {
        self.words("Links").any(|name| name.strip_prefix('P').is_some_and(|n| n.parse() == Ok(host)))
    }

    /// What is asked of: the device's media after a power failure, with what is flushed then.
    pub(super) fn flush(&self) -> PersistentFlush {
        match self.metadata("Power") {
            Some("none") => PersistentFlush::None,
            Some("global") => PersistentFlush::Global,
            _ => PersistentFlush::Device,
        }
    }

    /// Whether energy and time of a power failure's flush may end at any line.
    pub(super) fn is_short(&self) -> bool {
        self.metadata("Energy") == Some("short")
    }

    /// The location that tells of the device's count of dirty shutdowns.
    pub(super) fn count_of_dirty_shutdowns(&self) -> Option<usize> {
        let name = self.words("Dirty").next()?;
        self.locations.iter().position(|l| l == name)
    }

    /// What of these lines names nothing, or of the lines of locations holds too many.
    pub(super) fn refused(&self) -> Option<String> {
        if let Some(name) = self.words("Coherent").find(|name| !self.locations.iter().any(|l| l == name)) {
            return Some(format!("Coherent: `{name}` is no location of this test"));
        }
        if let Some(name) = self.words("Dirty").find(|name| !self.locations.iter().any(|l| l == name)) {
            return Some(format!("Dirty: `{name}` is no location of this test"));
        }
        for (key, accepted) in [("Power", &["none", "device", "global"][..]), ("Energy", &["short"])] {
            if let Some(word) = self.words(key).find(|word| !accepted.contains(word)) {
                return Some(format!("{key}: `{word}` is not accepted; give one of {}", accepted.join(", ")));
            }
        }
        let is_host = |name: &str| (0..self.threads.len()).any(|n| name == format!("P{n}"));
        for key in ["Stops", "Links"] {
            if let Some(name) = self.words(key).find(|name| !is_host(name)) {
                return Some(format!("{key}: `{name}` is no host of this test"));
            }
        }
        let count = |line| self.lines.iter().filter(|l| **l == line).count();
        let many = (0..self.line_count()).any(|line| count(line) > super::hosts::WORDS);
        many.then(|| format!("Lines: at most {} locations in a line", super::hosts::WORDS))
    }

    pub(super) fn start(&self) -> Vec<Thread> {
        let threads = self.registers.iter();
        threads.map(|r| Thread { at: 0, registers: r.clone(), compared: (0, 0) }).collect()
    }
}

/// Where a thread stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    /// The next instruction.
    pub at: usize,
    /// Its registers.
    pub registers: Vec<i64>,
    compared: (i64, i64),
}

impl Thread {
    /// The value of an operand.
    pub fn value(&self, v: Value) -> i64 {
        match v {
            Value::Number(n) => n,
            Value::Register(r) => self.registers[r.0],
        }
    }

    /// Goes on to the next instruction that touches memory, none at the end.
    pub(super) fn advance(&mut self, program: &[Instruction]) -> Result<Option<Instruction>, Unfinished> {
        for _ in 0..STEP_LIMIT {
            let Some(instruction) = program.get(self.at) else { return Ok(None) };
            match *instruction {
                Instruction::Set(r, v) => self.registers[r.0] = self.value(v),
                Instruction::Compare(a, b) => self.compared = (self.value(a), self.value(b)),
                Instruction::Jump(when, to) => {
                    let equal = self.compared.0 == self.compared.1;
                    if when.is_none_or(|c| (c == Compare::Equal) == equal) {
                        self.at = to;
                        continue;
                    }
                }
                Instruction::Write { .. }
                | Instruction::Read { .. }
                | Instruction::Rmw { .. }
                | Instruction::Flush(..)
                | Instruction::Fence(_) => return Ok(Some(*instruction)),
            }
            self.at += 1;
        }
        Err(Unfinished::TooManySteps)
    }

    /// What a locked operation writes over `old`, if anything.
    pub(super) fn rmw(&self, kind: RmwKind, operand: Value, old: i64) -> Option<i64> {
        let operand = self.value(operand);
        match kind {
            RmwKind::Exchange => Some(operand),
            RmwKind::Add => Some(old.wrapping_add(operand)),
            RmwKind::CompareExchange { expected } => (old == self.value(expected)).then_some(operand),
        }
    }

    pub(super) fn set(&mut self, register: Option<Register>, value: i64) {
        if let Some(r) = register {
            self.registers[r.0] = value;
        }
    }
}
