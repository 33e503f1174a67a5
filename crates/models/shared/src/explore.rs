//! Every order in which hosts load, store, flush, invalidate and fence, lines are evicted, writes arrive and one host stops.

use crate::mutant::{MUTANTS, Mutant};
use crate::state::{Keep, State as Caches};
use explore::{Bound, Explored, Mutants, Protocol, Texts, bounded};
use std::fmt;

/// What is explored, and how large it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedSpace {
    pub(crate) hosts: usize,
    pub(crate) lines: usize,
    pub(crate) operations: u8,
    pub(crate) stays: bool,
    pub(crate) coherent: bool,
    pub(crate) mutant: Option<Mutant>,
}

/// What a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Does {
    Load,
    Store,
    Flush(Keep),
    StorePast,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Does(usize, usize, Does),
    Fence(usize),
    Evict(usize, usize),
    Land(usize, usize),
    Crash(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Does(host, line, Does::Load) => write!(f, "host {host} loads from line {line}"),
            Step::Does(host, line, Does::Store) => write!(f, "host {host} stores to line {line}"),
            Step::Does(host, line, Does::Flush(Keep::Copy)) => write!(f, "host {host} flushes line {line}"),
            Step::Does(host, line, Does::Flush(Keep::Nothing)) => {
                write!(f, "host {host} invalidates line {line}")
            }
            Step::Does(host, line, Does::StorePast) => {
                write!(f, "host {host} stores to line {line} past its caches")
            }
            Step::Fence(host) => write!(f, "host {host} fences"),
            Step::Evict(host, line) => write!(f, "line {line} leaves the caches of host {host}"),
            Step::Land(host, index) => write!(f, "write {index} of host {host} reaches the device"),
            Step::Crash(host) => write!(f, "host {host} stops"),
        }
    }
}

/// What a host may rely on for a line, whatever the hardware under test does.
#[derive(Clone, Default, Hash)]
struct Promise {
    /// What it stored last, until the device has had it.
    own: Option<u8>,
    /// Of what is kept of the line's history, the first that a load may still return.
    floor: usize,
    /// Flushed, so that the device has to have had it by the next fence.
    flushed: Option<u8>,
}

/// Where everything stands.
#[derive(Clone, Hash)]
pub(crate) struct State {
    caches: Caches<u8, 1>,
    done: Vec<u8>,
    stopped: Option<usize>,
    /// What the device has held, line by line, as far back as a load may still return it.
    history: Vec<Vec<u8>>,
    promises: Vec<Vec<Promise>>,
    /// The last value that any host stored and that is not lost, line by line.
    newest: Vec<u8>,
    stores: u8,
    wrong: Option<String>,
}

impl SharedSpace {
    /// What the device has held since the last step. What nobody may see any more is forgotten: states that differ in that
    /// alone are one.
    fn look(state: &mut State) {
        let State { caches, history, promises, stopped, .. } = state;
        for (line, history) in history.iter_mut().enumerate() {
            let [now] = caches.memory()[line];
            if history.last() != Some(&now) {
                history.push(now);
                for promise in promises.iter_mut().map(|p| &mut p[line]) {
                    promise.own = promise.own.filter(|own| *own != now);
                    promise.flushed = promise.flushed.filter(|flushed| *flushed != now);
                }
            }
            let alive = promises.iter().enumerate().filter(|(host, _)| *stopped != Some(*host));
            let seen = alive.map(|(_, p)| p[line].floor).min().unwrap_or(0).min(history.len() - 1);
            history.drain(..seen);
            promises.iter_mut().for_each(|p| p[line].floor = p[line].floor.saturating_sub(seen));
        }
    }

    fn operate(&self, state: &mut State, host: usize, line: usize, does: Does) {
        state.done[host] += 1;
        match does {
            Does::Load => {
                let got = state.caches.load(host, line, 0);
                Self::look(state);
                self.check_load(state, host, line, got);
            }
            Does::Store | Does::StorePast => {
                state.stores += 1;
                let value = state.stores;
                let past = does == Does::StorePast;
                if past {
                    state.caches.store_past(host, line, 0, value);
                } else {
                    state.caches.store(host, line, 0, value);
                }
                Self::look(state);
                let floor = state.history[line].len();
                state.promises[host][line] =
                    Promise { own: Some(value), floor, flushed: past.then_some(value) };
                state.newest[line] = value;
            }
            Does::Flush(keep) => {
                state.caches.flush(host, line, keep);
                let (known, promise) = (state.history[line].len(), &mut state.promises[host][line]);
                promise.flushed = promise.own.or(promise.flushed);
                if keep == Keep::Nothing && promise.own.is_none() {
                    promise.floor = promise.floor.max(known - 1);
                }
            }
        }
    }

    fn check_load(&self, state: &mut State, host: usize, line: usize, got: u8) {
        let (promise, history) = (&state.promises[host][line], &state.history[line]);
        let late = history.iter().skip(promise.floor).any(|value| *value == got);
        if promise.own != Some(got) && !late {
            state.wrong =
                Some(format!("host {host} loads {got} from line {line}, which it may not see any more"));
        } else if self.coherent && got != state.newest[line] {
            state.wrong = Some(format!(
                "host {host} loads {got} from line {line}, which hardware keeps coherent; {} was stored last",
                state.newest[line]
            ));
        }
    }

    fn fence(state: &mut State, host: usize) {
        state.done[host] += 1;
        state.caches.fence(host);
        Self::look(state);
        for (line, promise) in state.promises[host].iter_mut().enumerate() {
            if let Some(value) = promise.flushed.take() {
                state.wrong = Some(format!(
                    "host {host} flushed {value} in line {line} and fenced; the device never had it"
                ));
            }
        }
    }

    fn crash(&self, state: &mut State, host: usize) {
        let before = state.caches.memory().to_vec();
        state.caches.crash(host);
        state.stopped = Some(host);
        state.done[host] = self.operations;
        if state.caches.memory() != before {
            state.wrong = Some(format!("host {host} stops, and the device changes"));
        }
        for (line, [on_device]) in before.into_iter().enumerate() {
            if state.promises[host][line].own == Some(state.newest[line]) {
                state.newest[line] = on_device;
            }
            state.promises[host][line] = Promise::default();
        }
    }
}

impl Protocol for SharedSpace {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        let caches = Caches::new(self.hosts, vec![[0]; self.lines], vec![self.coherent; self.lines]);
        State {
            caches: caches.with(self.mutant),
            done: vec![0; self.hosts],
            stopped: None,
            history: vec![vec![0]; self.lines],
            promises: vec![vec![Promise::default(); self.lines]; self.hosts],
            newest: vec![0; self.lines],
            stores: 0,
            wrong: None,
        }
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        for host in (0..self.hosts).filter(|host| state.stopped != Some(*host)) {
            if state.done[host] < self.operations {
                let all = [
                    Does::Load,
                    Does::Store,
                    Does::Flush(Keep::Copy),
                    Does::Flush(Keep::Nothing),
                    Does::StorePast,
                ];
                let of_line = |line| all.map(|does| Step::Does(host, line, does));
                steps.extend((0..self.lines).flat_map(of_line));
                steps.push(Step::Fence(host));
            }
            steps.extend(state.caches.cached(host).map(|line| Step::Evict(host, line)));
            steps.extend((0..state.caches.in_flight(host).len()).map(|index| Step::Land(host, index)));
            if state.stopped.is_none() && !self.stays {
                steps.push(Step::Crash(host));
            }
        }
    }

    fn step(&self, state: &State, step: Step) -> State {
        let mut s = state.clone();
        match step {
            Step::Does(host, line, does) => self.operate(&mut s, host, line, does),
            Step::Fence(host) => Self::fence(&mut s, host),
            Step::Evict(host, line) => _ = s.caches.evict(host, line),
            Step::Land(host, index) => _ = s.caches.land(host, index),
            Step::Crash(host) => self.crash(&mut s, host),
        }
        Self::look(&mut s);
        s
    }

    fn check(&self, state: &State) -> Result<(), String> {
        state.wrong.clone().map_or(Ok(()), Err)
    }

    /// The device is not what loses its power here: hosts do, each for itself, and that is a step.
    fn check_power_failure(&self, _: &State) -> Result<(), String> {
        Ok(())
    }

    fn is_final(&self, state: &State) -> bool {
        (0..self.hosts).all(|host| state.stopped == Some(host) || state.done[host] == self.operations)
    }

    /// What was promised is checked with every load and fence.
    fn check_final(&self, _: &State) -> Result<(), String> {
        Ok(())
    }
}

const HOSTS: Bound = Bound::number("hosts", 2, 1, 3, "Hosts");
const LINES: Bound = Bound::number("lines", 2, 1, 3, "Lines that they share");
const OPERATIONS: Bound = Bound::number("operations", 3, 1, 5, "Operations of each host");
const STAYS: Bound = Bound::flag("hosts-stay", "No host stops");
const COHERENT: Bound = Bound::flag("coherent", "Hardware keeps the lines coherent");

impl Explored for SharedSpace {
    const NAME: &'static str = "shared";
    const MEANING: &'static str =
        "memory that hosts share without coherence: flushes, fences, evictions, a host that stops";
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = MUTANTS;
    // Nobody snoops unless hardware keeps lines coherent.
    const SHOWN_WITH: &'static [(&'static str, Texts)] = &[("snoop-leaves-copies", &[("coherent", "")])];
    bounded! { SharedSpace {
        hosts: number(HOSTS),
        lines: number(LINES),
        operations: number(OPERATIONS),
        stays: said(STAYS),
        coherent: said(COHERENT),
    } }
}
