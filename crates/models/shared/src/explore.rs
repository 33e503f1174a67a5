//! Every order in which hosts load, store, flush, invalidate and fence, lines are evicted, writes arrive, links fail and come
//! back, and one host stops; and in each state the power may fail.

use crate::device::{PostCrashState, Reach};
use crate::link::Use;
use crate::mutant::{MUTANTS, Mutant};
use crate::params::PersistentFlush;
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
    /// Times that a link may fail.
    pub(crate) links: u8,
    /// Lines of the device's buffer.
    pub(crate) buffer: usize,
    /// When the power fails, hosts write their caches back; without, the device drains what it accepted.
    pub(crate) global_flush: bool,
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
    LinkFails(usize),
    LinkReturns(usize),
    Drain(usize),
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
            Step::LinkFails(host) => write!(f, "the link of host {host} fails"),
            Step::LinkReturns(host) => write!(f, "the link of host {host} is back"),
            Step::Drain(index) => write!(f, "the media gets line {index} of the device's buffer"),
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
    /// Times that a link has failed.
    links: u8,
    /// What the device has held, line by line, as far back as a load may still return it.
    history: Vec<Vec<u8>>,
    promises: Vec<Vec<Promise>>,
    /// The last value that any host stored and that is not lost, line by line.
    newest: Vec<u8>,
    stores: u8,
    wrong: Option<String>,
}

impl SharedSpace {
    /// What a host's program may do next: with a link that is down, what needs no device.
    fn operations_of(&self, state: &State, host: usize, steps: &mut Vec<Step>) {
        let all =
            [Does::Load, Does::Store, Does::Flush(Keep::Copy), Does::Flush(Keep::Nothing), Does::StorePast];
        let is_able = |line: usize, does: &Does| {
            let uses = match does {
                Does::Load => Use::Load,
                Does::Store => Use::Store,
                Does::StorePast => Use::StorePast,
                Does::Flush(_) => return true,
            };
            state.links == 0 || state.caches.waits_for(host, line, uses).is_none()
        };
        for line in 0..self.lines {
            let able = all.into_iter().filter(|does| is_able(line, does));
            steps.extend(able.map(|does| Step::Does(host, line, does)));
        }
        if !state.caches.is_cut_off(host) || state.caches.in_flight(host).is_empty() {
            steps.push(Step::Fence(host));
        }
    }

    fn power_fails(&self, state: &State, host_lines: usize, device_lines: usize) -> PostCrashState<u8, 1> {
        let flush = if self.global_flush { PersistentFlush::Global } else { PersistentFlush::Device };
        state.caches.power_fails(Reach { flush, host_lines, device_lines })
    }

    /// A device that counts no dirty shutdown holds what it had accepted, and after a global flush what hosts stored last.
    fn check_post_crash(&self, state: &State, post_crash: &PostCrashState<u8, 1>) -> Result<(), String> {
        if post_crash.dirty_shutdowns > 0 {
            return Ok(());
        }
        for (line, [kept]) in post_crash.memory.iter().enumerate() {
            let [accepted] = state.caches.memory()[line];
            let stored = |host: usize| state.promises[host][line].own;
            let own = (0..self.hosts).filter_map(stored).any(|own| own == *kept);
            let any = (0..self.hosts).any(|host| stored(host).is_some());
            let is_kept = if self.global_flush && any { own } else { *kept == accepted };
            if !is_kept {
                return Err(format!(
                    "the power fails, line {line} is left with {kept}, and the device counts no dirty shutdown; it had accepted {accepted}"
                ));
            }
        }
        Ok(())
    }

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
            caches: caches.with(self.mutant).buffered(self.buffer),
            done: vec![0; self.hosts],
            stopped: None,
            links: 0,
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
                self.operations_of(state, host, steps);
            }
            if state.caches.is_cut_off(host) {
                steps.push(Step::LinkReturns(host));
            } else {
                steps.extend(state.caches.cached(host).map(|line| Step::Evict(host, line)));
                steps.extend((0..state.caches.in_flight(host).len()).map(|index| Step::Land(host, index)));
                steps.extend((state.links < self.links).then_some(Step::LinkFails(host)));
            }
            if state.stopped.is_none() && !self.stays {
                steps.push(Step::Crash(host));
            }
        }
        steps.extend((0..state.caches.accepted().count()).map(Step::Drain));
    }

    fn step(&self, state: &State, step: Step) -> State {
        let mut s = state.clone();
        match step {
            Step::Does(host, line, does) => self.operate(&mut s, host, line, does),
            Step::Fence(host) => Self::fence(&mut s, host),
            Step::Evict(host, line) => _ = s.caches.evict(host, line),
            Step::Land(host, index) => _ = s.caches.land(host, index),
            Step::Crash(host) => self.crash(&mut s, host),
            Step::LinkFails(host) => {
                s.links += 1;
                s.caches.link_fails(host);
            }
            Step::LinkReturns(host) => s.caches.link_returns(host),
            Step::Drain(index) => s.caches.drain(index),
        }
        Self::look(&mut s);
        s
    }

    fn check(&self, state: &State) -> Result<(), String> {
        state.wrong.clone().map_or(Ok(()), Err)
    }

    /// The power fails of all, with time and energy for any number of lines.
    fn check_power_failure(&self, state: &State) -> Result<(), String> {
        if self.buffer == 0 && !self.global_flush {
            // Its media has what it has accepted, and nobody promised more.
            return Ok(());
        }
        let everything = self.power_fails(state, usize::MAX, usize::MAX);
        for device_lines in 0..=everything.accepted.len() {
            self.check_post_crash(state, &self.power_fails(state, usize::MAX, device_lines))?;
        }
        if self.global_flush {
            self.check_post_crash(state, &self.power_fails(state, 0, usize::MAX))?;
        }
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
const LINKS: Bound = Bound::number("links", 0, 0, 3, "Times that a host's link fails, and comes back");
const BUFFER: Bound =
    Bound::number("buffer", 0, 0, 3, "Lines that the device has accepted and its media has not");
const FLUSH: Bound = Bound::flag("global-flush", "Hosts' caches are written back when the power fails");
const COHERENT: Bound = Bound::flag("coherent", "Hardware keeps the lines coherent");

impl Explored for SharedSpace {
    const NAME: &'static str = "shared";
    const MEANING: &'static str = "memory that hosts share without coherence: flushes, fences, evictions, a host that stops, lost links, power failures";
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = MUTANTS;
    // Nobody snoops unless hardware keeps lines coherent.
    const SHOWN_WITH: &'static [(&'static str, Texts)] = &[
        ("snoop-leaves-copies", &[("coherent", "")]),
        ("link-forgets", &[("links", "1")]),
        ("snoop-skips-lost-links", &[("coherent", ""), ("links", "1")]),
        ("drain-forgets", &[("buffer", "1")]),
        ("caches-forgotten", &[("global-flush", "")]),
        ("count-stays", &[("buffer", "1")]),
    ];
    bounded! { SharedSpace {
        hosts: number(HOSTS),
        lines: number(LINES),
        operations: number(OPERATIONS),
        stays: said(STAYS),
        coherent: said(COHERENT),
        links: number(LINKS),
        buffer: number(BUFFER),
        global_flush: said(FLUSH),
    } }
}
