//! Exhaustive exploration: every order in which messages can be delivered, with a power failure at every step.
//!
//! A protocol is explored through the state machines that the timed engine runs; here their times are all zero
//! and the explorer decides what happens next. States are visited breadth first, so a violation comes with a
//! shortest trace. A visited state is kept as a 128-bit fingerprint.
//!
//! Architecture Invariant: nothing in here knows a protocol; `asap` and its siblings implement [`System`].

pub mod asap;
pub mod nearpm;
pub mod remote;

use rustc_hash::FxHashSet;
use std::fmt::Display;
use std::hash::Hasher;
use units::watch;

/// States between two looks at whether the search is to stop.
const LOOK: u32 = 1 << 10;

/// What can be explored.
pub trait System {
    /// Where everything stands.
    type State: Clone;
    /// One step.
    type Action: Copy + Display;

    /// The state at the start.
    fn start(&self) -> Self::State;
    /// What may happen next. Steps that change nothing are allowed, and ignored.
    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>);
    /// The state after a step.
    fn step(&self, state: &Self::State, action: Self::Action) -> Self::State;
    /// Everything that decides about the future and about what is checked.
    fn fingerprint(&self, state: &Self::State, into: &mut Fingerprint);
    /// What must hold when the power fails now.
    ///
    /// # Errors
    /// What does not hold.
    fn check(&self, state: &Self::State) -> Result<(), String>;
    /// Whether all work is done.
    fn is_final(&self, state: &Self::State) -> bool;
    /// What must hold at the end.
    ///
    /// # Errors
    /// What does not hold.
    fn check_final(&self, state: &Self::State) -> Result<(), String>;
}

/// Two independent hashes of a state.
#[derive(Default)]
pub struct Fingerprint(rustc_hash::FxHasher, u64);

impl Hasher for Fingerprint {
    fn write_u64(&mut self, n: u64) {
        self.0.write_u64(n);
        self.1 = units::mix(self.1 ^ n);
    }

    fn write_u32(&mut self, n: u32) {
        self.write_u64(n.into());
    }

    fn write_u8(&mut self, n: u8) {
        self.write_u64(n.into());
    }

    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.1 = units::mix(self.1 ^ u64::from_le_bytes(word)).wrapping_add(chunk.len() as u64);
        }
    }

    fn finish(&self) -> u64 {
        self.0.finish()
    }
}

impl Fingerprint {
    fn both(&self) -> u128 {
        u128::from(self.0.finish()) << 64 | u128::from(self.1)
    }
}

/// What an exploration found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Different states.
    pub states: usize,
    /// Steps between them.
    pub steps: usize,
    /// The longest shortest way from the start to a state.
    pub depth: usize,
    /// States in which all work is done.
    pub finals: usize,
    /// Whether every state was visited.
    pub complete: bool,
    /// What went wrong, and how to get there.
    pub violation: Option<Violation>,
}

/// What does not hold, with a shortest trace.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What does not hold.
    pub message: String,
    /// The steps that lead there.
    pub trace: Vec<String>,
}

/// A visited state: how it was reached.
#[derive(Clone, Copy)]
struct Visit {
    parent: u32,
    action: u16,
}

/// Visits every state of `system`, at most `limit`; its watch is told how many were found.
pub fn explore<S: System>(system: &S, limit: usize) -> Outcome {
    let mut search = Search { system, visits: Vec::new(), seen: FxHashSet::default(), steps: 0 };
    let start = system.start();
    let key = search.key(&start);
    search.seen.insert(key);
    search.visits.push(Visit { parent: 0, action: 0 });
    let (mut level, mut depth, mut finals) = (vec![(0_u32, key, start)], 0, Vec::new());
    let mut complete = true;
    while !level.is_empty() {
        let mut next = Vec::new();
        for (id, key, state) in level {
            if id.is_multiple_of(LOOK) {
                watch::steps(search.visits.len() as u64);
            }
            if let Some(message) = search.wrong(&state, &mut finals, id) {
                return search.outcome(depth, finals.len(), complete, Some((id, message)));
            }
            if search.visits.len() >= limit {
                complete = false;
                continue;
            }
            let moved = search.expand(id, key, &state, &mut next);
            if !moved && !system.is_final(&state) {
                let message = "deadlock: nothing can happen, and work is left".to_string();
                return search.outcome(depth, finals.len(), complete, Some((id, message)));
            }
        }
        depth += usize::from(!next.is_empty());
        level = next;
    }
    search.outcome(depth, finals.len(), complete, None)
}

struct Search<'a, S: System> {
    system: &'a S,
    visits: Vec<Visit>,
    seen: FxHashSet<u128>,
    steps: usize,
}

impl<S: System> Search<'_, S> {
    fn key(&self, state: &S::State) -> u128 {
        let mut f = Fingerprint::default();
        self.system.fingerprint(state, &mut f);
        f.both()
    }

    fn wrong(&self, state: &S::State, finals: &mut Vec<u32>, id: u32) -> Option<String> {
        if let Err(message) = self.system.check(state) {
            return Some(message);
        }
        if self.system.is_final(state) {
            finals.push(id);
            return self.system.check_final(state).err();
        }
        None
    }

    /// Every state after `state`; whether any differs from it.
    fn expand(
        &mut self,
        id: u32,
        own: u128,
        state: &S::State,
        next: &mut Vec<(u32, u128, S::State)>,
    ) -> bool {
        let (mut actions, mut moved) = (Vec::new(), false);
        self.system.actions(state, &mut actions);
        for (index, action) in actions.iter().enumerate() {
            let after = self.system.step(state, *action);
            let key = self.key(&after);
            if key == own {
                continue;
            }
            moved = true;
            self.steps += 1;
            if self.seen.insert(key) {
                let new = self.visits.len() as u32;
                self.visits.push(Visit { parent: id, action: index as u16 });
                next.push((new, key, after));
            }
        }
        moved
    }

    fn outcome(&self, depth: usize, finals: usize, complete: bool, wrong: Option<(u32, String)>) -> Outcome {
        let violation = wrong.map(|(id, message)| Violation { message, trace: self.trace(id) });
        Outcome { states: self.visits.len(), steps: self.steps, depth, finals, complete, violation }
    }

    fn trace(&self, mut id: u32) -> Vec<String> {
        let mut chosen = Vec::new();
        while id != 0 {
            let visit = self.visits[id as usize];
            chosen.push(visit.action);
            id = visit.parent;
        }
        let mut state = self.system.start();
        let mut trace = Vec::new();
        for index in chosen.into_iter().rev() {
            let mut actions = Vec::new();
            self.system.actions(&state, &mut actions);
            let action = actions[index as usize];
            trace.push(action.to_string());
            state = self.system.step(&state, action);
        }
        trace
    }
}

#[cfg(test)]
mod tests;
