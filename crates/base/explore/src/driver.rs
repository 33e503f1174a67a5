//! The search: every state once, the shortest way to what is wrong.

use crate::Fingerprint;
use rustc_hash::FxHashSet;
use std::fmt::Display;
use std::hash::Hash;
use std::hint::black_box;
use units::watch;

/// States between two looks at whether the search is to stop.
const LOOK: u32 = 1 << 10;

/// What can be explored.
pub trait Protocol {
    /// Where everything stands. States whose hashes are equal count as one.
    type State: Clone + Hash;
    /// One step.
    type Step: Copy + Display;

    /// The state at the start.
    fn start(&self) -> Self::State;
    /// What may happen next. Steps that change nothing are allowed, and ignored.
    fn steps(&self, state: &Self::State, steps: &mut Vec<Self::Step>);
    /// The state after a step.
    fn step(&self, state: &Self::State, step: Self::Step) -> Self::State;

    /// What must hold now.
    ///
    /// # Errors
    /// What does not hold.
    fn check(&self, state: &Self::State) -> Result<(), String> {
        let _ = state;
        Ok(())
    }

    /// What must hold when the power fails now.
    ///
    /// # Errors
    /// What does not hold.
    fn check_power_failure(&self, state: &Self::State) -> Result<(), String>;

    /// Whether all work is done.
    fn is_final(&self, state: &Self::State) -> bool;

    /// What must hold at the end.
    ///
    /// # Errors
    /// What does not hold.
    fn check_final(&self, state: &Self::State) -> Result<(), String>;
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
    /// Whether the host had no memory for more states.
    pub out_of_memory: bool,
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
    /// The same, as [`replay`] takes them: which of the steps that were possible.
    pub choices: Vec<u16>,
}

/// What a replay met.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The steps.
    pub trace: Vec<String>,
    /// What does not hold at the end of them.
    pub message: Option<String>,
}

/// A visited state: how it was reached.
#[derive(Clone, Copy)]
struct Visit {
    parent: u32,
    choice: u16,
}

/// A state that was found and not looked at yet: its number and its fingerprint.
type Found<S> = (u32, u128, S);

/// States that are looked at between two looks at whether memory is left.
const PROBE: u32 = 1 << 6;
/// Bytes that have to be left then: more than what states hold on the heap grows by in between, which cannot be asked for before.
const LEFT: usize = 64 << 20;

/// The host has no memory for more states.
struct OutOfMemory;

const DEADLOCK: &str = "deadlock: nothing can happen, and work is left";

/// Visits every state of `protocol`, at most `limit` and as many as the host has memory for; its watch is told how many were
/// found, and looked at.
pub fn explore<P: Protocol>(protocol: &P, limit: usize) -> Outcome {
    let start = protocol.start();
    let key = Fingerprint::of(&start);
    let seen = FxHashSet::from_iter([key]);
    let mut search = Search {
        protocol,
        visits: vec![Visit { parent: 0, choice: 0 }],
        seen,
        steps: 0,
        finals: 0,
        possible: Vec::new(),
        limit,
        left: false,
    };
    let (mut level, mut depth) = (vec![(0, key, start)], 0);
    while !level.is_empty() {
        let mut next = Vec::new();
        for found in level {
            let id: u32 = found.0;
            if id.is_multiple_of(LOOK) {
                // Numbers are in the order of looking.
                watch::parts(id.into(), search.visits.len() as u64);
                watch::steps(search.visits.len() as u64);
            }
            match search.visit(found, &mut next) {
                Ok(None) => {}
                Ok(Some(message)) => return search.outcome(depth, Some((id, message))),
                Err(OutOfMemory) => {
                    return Outcome { complete: false, out_of_memory: true, ..search.outcome(depth, None) };
                }
            }
        }
        depth += usize::from(!next.is_empty());
        level = next;
    }
    search.outcome(depth, None)
}

/// Takes the steps that `choices` name from the start of `protocol`, and looks at what holds where they end.
///
/// # Errors
/// Which choice is none of the steps that are possible there.
pub fn replay<P: Protocol>(protocol: &P, choices: &[u16]) -> Result<Replay, String> {
    let (mut state, mut trace) = (protocol.start(), Vec::new());
    for (place, choice) in choices.iter().enumerate() {
        let mut steps = Vec::new();
        protocol.steps(&state, &mut steps);
        let possible = || format!("step {}: choice {choice} of {} possible ones", place + 1, steps.len());
        let step = *steps.get(usize::from(*choice)).ok_or_else(possible)?;
        trace.push(step.to_string());
        state = protocol.step(&state, step);
    }
    let stuck = || {
        let (own, mut steps) = (Fingerprint::of(&state), Vec::new());
        protocol.steps(&state, &mut steps);
        let moves = steps.iter().any(|s| Fingerprint::of(&protocol.step(&state, *s)) != own);
        (!moves && !protocol.is_final(&state)).then(|| DEADLOCK.to_string())
    };
    let message = wrong(protocol, &state).or_else(stuck);
    Ok(Replay { trace, message })
}

/// What does not hold in a state.
fn wrong<P: Protocol>(protocol: &P, state: &P::State) -> Option<String> {
    let holds = protocol.check(state).and_then(|()| protocol.check_power_failure(state));
    let ends = || if protocol.is_final(state) { protocol.check_final(state) } else { Ok(()) };
    holds.and_then(|()| ends()).err()
}

struct Search<'a, P: Protocol> {
    protocol: &'a P,
    visits: Vec<Visit>,
    seen: FxHashSet<u128>,
    steps: usize,
    finals: usize,
    /// Steps that are possible in the state that is looked at; kept for its room.
    possible: Vec<P::Step>,
    /// Most states.
    limit: usize,
    /// Whether there were more: seen at the limit, and nothing is looked for behind it.
    left: bool,
}

impl<P: Protocol> Search<'_, P> {
    /// Checks a state, and finds those after it unless some are left out. Gives what does not hold.
    fn visit(
        &mut self,
        (id, key, state): Found<P::State>,
        next: &mut Vec<Found<P::State>>,
    ) -> Result<Option<String>, OutOfMemory> {
        let ends = self.protocol.is_final(&state);
        self.finals += usize::from(ends);
        if let Some(message) = wrong(self.protocol, &state) {
            return Ok(Some(message));
        }
        let stuck = !self.left && !self.expand(id, key, &state, next)? && !ends;
        Ok(stuck.then(|| DEADLOCK.to_string()))
    }

    /// Every state after `state`, as far as the limit allows; whether any differs from it.
    fn expand(
        &mut self,
        id: u32,
        own: u128,
        state: &P::State,
        next: &mut Vec<Found<P::State>>,
    ) -> Result<bool, OutOfMemory> {
        let (mut steps, mut moved) = (std::mem::take(&mut self.possible), false);
        steps.clear();
        self.protocol.steps(state, &mut steps);
        self.make_room(id, steps.len(), next)?;
        for (choice, step) in steps.iter().enumerate() {
            let after = self.protocol.step(state, *step);
            let key = Fingerprint::of(&after);
            if key == own {
                continue;
            }
            moved = true;
            if self.visits.len() >= self.limit && !self.seen.contains(&key) {
                self.left = true;
                continue;
            }
            self.steps += 1;
            if self.seen.insert(key) {
                next.push((self.visits.len() as u32, key, after));
                self.visits.push(Visit { parent: id, choice: choice as u16 });
            }
        }
        self.possible = steps;
        Ok(moved)
    }

    /// Room for so many more states after the one with number `id`.
    fn make_room(
        &mut self,
        id: u32,
        states: usize,
        next: &mut Vec<Found<P::State>>,
    ) -> Result<(), OutOfMemory> {
        let seen = self.seen.try_reserve(states);
        let mut room = seen.and(next.try_reserve(states)).and(self.visits.try_reserve(states));
        if id.is_multiple_of(PROBE) {
            // A compiler may leave out memory that nobody looks at.
            let mut left = black_box(Vec::<u8>::new());
            room = room.and(left.try_reserve_exact(LEFT));
            black_box(&left);
        }
        room.map_err(|_| OutOfMemory)
    }

    fn outcome(&self, depth: usize, wrong: Option<(u32, String)>) -> Outcome {
        let violation = wrong.map(|(id, message)| {
            let choices = self.choices(id);
            let trace = replay(self.protocol, &choices).map_or(Vec::new(), |r| r.trace);
            Violation { message, trace, choices }
        });
        let (states, steps, finals) = (self.visits.len(), self.steps, self.finals);
        Outcome { states, steps, depth, finals, complete: !self.left, out_of_memory: false, violation }
    }

    /// How a state was reached.
    fn choices(&self, mut id: u32) -> Vec<u16> {
        let mut choices = Vec::new();
        while id != 0 {
            let visit = self.visits[id as usize];
            choices.push(visit.choice);
            id = visit.parent;
        }
        choices.reverse();
        choices
    }
}
