//! The agent of remote memory with its remote host, small enough to see everything that can happen.
//!
//! ```text
//!   program --walks, reads--> agent <--packets, in any order, lost or twice--> remote host, there or away
//!      cache  <--recalls, write-backs--+
//! ```
//!
//! A program reads and writes lines of a few pages, whichever it likes; there are fewer frames than pages. Its cache
//! writes lines back when it likes. Requests of which nothing is in the air any more are late. The host may go away once,
//! and come back.
//!
//! What must hold: every read gives what was written last; nothing is stuck; a page walk is answered though the host is
//! away; and at the end, when every page has gone back, the remote host has what was written last.

use crate::packet::line_at;
use crate::{AgentState, AgentStateSpec, Bytes, Command, Effect, Mutant, Packet, RemoteHost, Walks, What};
use explore::{Bound, Event, Explored, Given, Mutants, Protocol, Texts, Wires};
use protocol::{Block, Line};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::Hash;

/// The size of what is explored.
#[derive(Clone, Copy, Debug)]
pub struct RemoteSpace {
    /// Pages.
    pub pages: u32,
    /// Frames.
    pub frames: u32,
    /// Lines of a page.
    pub lines: u32,
    /// Accesses of the program.
    pub accesses: u8,
    /// Packets that may be lost.
    pub losses: u8,
    /// Packets that may come twice.
    pub duplicates: u8,
    /// Whether the host may go away.
    pub away: bool,
    /// What page walks wait for.
    pub walks: Walks,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// The program reads or writes a line.
    Access { page: u32, index: u32, write: bool },
    /// The cache writes a line back and forgets it.
    Evict { page: u32, index: u32 },
    /// The cache gives a line back that the agent recalls.
    Recalled { page: u32, index: u32 },
    /// Something happens to a packet in the air.
    Packet(Event<Air>),
    /// A request is late.
    Late(u64),
    /// The host goes, or comes back.
    Host { away: bool },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Access { page, index, write: true } => {
                write!(f, "the program writes line {index} of page {page}")
            }
            Step::Access { page, index, .. } => write!(f, "the program reads line {index} of page {page}"),
            Step::Evict { page, index } => write!(f, "the cache writes line {index} of page {page} back"),
            Step::Recalled { page, index } => write!(f, "the cache gives line {index} of page {page} back"),
            Step::Packet(Event::Arrives(_, n)) => write!(f, "packet {n} in the air arrives"),
            Step::Packet(Event::Lost(_, n)) => write!(f, "packet {n} in the air is lost"),
            Step::Packet(Event::Doubled(_, n)) => write!(f, "packet {n} in the air is doubled"),
            Step::Late(number) => write!(f, "no answer to request {number} has come in time"),
            Step::Host { away: true } => write!(f, "the remote host goes away"),
            Step::Host { .. } => write!(f, "the remote host comes back"),
        }
    }
}

/// Memory: the lines that were ever written.
#[derive(Clone, Default, Hash)]
struct Lines(BTreeMap<u64, u8>);

impl Bytes for Lines {
    fn read(&self, line: Line) -> Block {
        [self.0.get(&line.0).copied().unwrap_or(0); 64]
    }

    fn write(&mut self, line: Line, data: &Block) {
        self.0.insert(line.0, data[0]);
    }
}

/// What the program waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Wait {
    Nothing,
    /// Its page's frame.
    Room,
    /// Its page walk.
    Walk,
    /// Software fetches the page.
    Fault,
    /// The line.
    Data,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Access {
    page: u32,
    index: u32,
    write: bool,
}

/// The one network, both ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Air;

/// Where everything stands.
#[derive(Clone, Hash)]
pub struct State {
    agent: AgentState,
    memory: Lines,
    host: RemoteHost,
    far: Lines,
    air: Wires<Air, Packet>,
    away: bool,
    /// Absences that may still come.
    absences: u8,
    /// Lines in the cache: value, and whether memory has an older one.
    cache: BTreeMap<(u32, u32), (u8, bool)>,
    recalls: BTreeSet<(u32, u32)>,
    /// Pages that the processor has translations of.
    mapped: BTreeSet<u32>,
    /// Local pages in the order in which they came, for the daemon.
    local: Vec<u32>,
    posted: u64,
    completed: u64,
    access: Option<Access>,
    wait: Wait,
    done: u8,
    /// Late requests since the walk began, the host being away.
    patience: u8,
    truth: BTreeMap<(u32, u32), u8>,
    wrong: Option<String>,
}

const ATTEMPTS: u32 = 2;

impl RemoteSpace {
    /// Small enough for a test.
    pub const SMALL: RemoteSpace = RemoteSpace {
        pages: 2,
        frames: 1,
        lines: 2,
        accesses: 3,
        losses: 1,
        duplicates: 1,
        away: true,
        walks: Walks::FirstLine,
        mutant: None,
    };

    fn apply(&self, state: &mut State, effects: Vec<Effect>) {
        let mut left = effects;
        while !left.is_empty() {
            let mut more = Vec::new();
            for effect in left {
                self.carry_out(state, effect, &mut more);
            }
            left = more;
        }
    }

    fn carry_out(&self, state: &mut State, effect: Effect, more: &mut Vec<Effect>) {
        match effect {
            Effect::Send(packet) => {
                let packet = state.agent.packet(packet, &state.memory, |_| 0);
                state.air.scatter(Air, packet);
            }
            Effect::Serve { page, index } => {
                let value = state.memory.read(line_at(page, index))[0];
                state.cache.insert((page, index), (value, false));
                self.finish(state);
            }
            Effect::Walk { failed: false, .. } if state.wait == Wait::Walk => self.translated(state, more),
            Effect::Walk { page, failed: true } if state.wait == Wait::Walk => {
                state.wait = Wait::Fault;
                state.posted += 1;
                state.agent.command(Command::Fetch { page }, more);
            }
            Effect::Walk { .. } => {}
            Effect::Recall { page, index } => _ = state.recalls.insert((page, index)),
            Effect::Done { count } => {
                state.completed += count;
                match (state.wait, state.access) {
                    (Wait::Room, Some(access)) => self.walk(state, access.page, more),
                    (Wait::Fault, _) if state.completed == state.posted => self.translated(state, more),
                    (Wait::Room, None) | (Wait::Fault | Wait::Nothing | Wait::Walk | Wait::Data, _) => {}
                }
            }
        }
    }

    /// The daemon makes room, and the processor walks.
    fn begin(&self, state: &mut State, access: Access, out: &mut Vec<Effect>) {
        state.access = Some(access);
        if state.mapped.contains(&access.page) {
            return self.reach(state, out);
        }
        if state.local.contains(&access.page) || state.local.len() < self.frames as usize {
            return self.walk(state, access.page, out);
        }
        let victim = state.local.remove(0);
        state.mapped.remove(&victim);
        state.wait = Wait::Room;
        state.posted += 1;
        state.agent.command(Command::Reclaim { page: victim, what: What::Tracked }, out);
    }

    fn walk(&self, state: &mut State, page: u32, out: &mut Vec<Effect>) {
        if !state.local.contains(&page) {
            state.local.push(page);
        }
        (state.wait, state.patience) = (Wait::Walk, 0);
        state.agent.walk(page, out);
    }

    fn translated(&self, state: &mut State, out: &mut Vec<Effect>) {
        if let Some(access) = state.access {
            state.mapped.insert(access.page);
            self.reach(state, out);
        }
    }

    /// The program reaches its line, in the cache or from the agent.
    fn reach(&self, state: &mut State, out: &mut Vec<Effect>) {
        let Some(Access { page, index, .. }) = state.access else { return };
        state.wait = Wait::Data;
        if state.cache.contains_key(&(page, index)) {
            return self.finish(state);
        }
        state.agent.read(page, index, out);
    }

    fn finish(&self, state: &mut State) {
        let Some(Access { page, index, write }) = state.access.take() else { return };
        let wanted = state.truth.get(&(page, index)).copied().unwrap_or(0);
        let (value, _) = state.cache[&(page, index)];
        if value != wanted {
            state.wrong =
                Some(format!("line {index} of page {page} has the value {value}; {wanted} was written last"));
        }
        state.done += 1;
        if write {
            state.cache.insert((page, index), (state.done, true));
            state.truth.insert((page, index), state.done);
        }
        state.wait = Wait::Nothing;
    }

    fn write_back(state: &mut State, page: u32, index: u32) {
        if let Some((value, true)) = state.cache.remove(&(page, index)) {
            state.memory.write(line_at(page, index), &[value; 64]);
            state.agent.written(page, index);
        }
    }

    fn deliver(&self, state: &mut State, packet: &Packet, out: &mut Vec<Effect>) {
        if matches!(packet, Packet::Data { .. } | Packet::Stored { .. }) {
            let State { agent, memory, .. } = state;
            agent.answer(packet, memory, out);
        } else if !state.away
            && let Some(answer) = state.host.serve(packet, &mut state.far)
        {
            state.air.scatter(Air, answer);
        }
    }
}

impl Protocol for RemoteSpace {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        let spec = AgentStateSpec {
            frames: self.frames,
            page_lines: self.lines,
            walks: self.walks,
            critical_line_first: true,
            attempts: ATTEMPTS,
            mutant: self.mutant,
        };
        State {
            agent: AgentState::new(spec),
            memory: Lines::default(),
            host: RemoteHost::new(self.mutant == Some(Mutant::OldWritesTaken)),
            far: Lines::default(),
            air: Wires::unreliable(self.losses, self.duplicates),
            away: false,
            absences: u8::from(self.away),
            cache: BTreeMap::new(),
            recalls: BTreeSet::new(),
            mapped: BTreeSet::new(),
            local: Vec::new(),
            posted: 0,
            completed: 0,
            access: None,
            wait: Wait::Nothing,
            done: 0,
            patience: 0,
            truth: BTreeMap::new(),
            wrong: None,
        }
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        if state.access.is_none() && state.done < self.accesses {
            for page in 0..self.pages {
                for index in 0..self.lines {
                    steps.extend([false, true].map(|write| Step::Access { page, index, write }));
                }
            }
        }
        steps.extend(state.cache.keys().map(|(page, index)| Step::Evict { page: *page, index: *index }));
        steps.extend(state.recalls.iter().map(|(page, index)| Step::Recalled { page: *page, index: *index }));
        steps.extend(state.air.events().map(Step::Packet));
        let silent = |number: &u64| !state.air.iter().any(|(_, p)| p.number() == *number);
        steps.extend(state.agent.pending().filter(silent).map(Step::Late));
        if state.away {
            steps.push(Step::Host { away: false });
        } else if state.absences > 0 {
            steps.push(Step::Host { away: true });
        }
    }

    fn step(&self, state: &State, step: Step) -> State {
        let mut s = state.clone();
        let mut effects = Vec::new();
        match step {
            Step::Access { page, index, write } => {
                self.begin(&mut s, Access { page, index, write }, &mut effects)
            }
            Step::Evict { page, index } => Self::write_back(&mut s, page, index),
            Step::Recalled { page, index } => {
                s.recalls.remove(&(page, index));
                Self::write_back(&mut s, page, index);
                s.cache.remove(&(page, index));
                s.agent.recalled(page, index, &mut effects);
            }
            Step::Packet(event) => {
                if let Some(packet) = s.air.happen(event) {
                    self.deliver(&mut s, &packet, &mut effects);
                }
            }
            Step::Late(number) => {
                s.patience += u8::from(s.away && s.wait == Wait::Walk);
                s.agent.late(number, &mut effects);
            }
            Step::Host { away } => {
                s.away = away;
                s.patience = 0;
                s.absences -= u8::from(away);
            }
        }
        self.apply(&mut s, effects);
        s
    }

    fn check(&self, state: &State) -> Result<(), String> {
        // Each request of a page is sent a bounded number of times: more, and the walk waits without end.
        if u32::from(state.patience) > 2 * ATTEMPTS {
            return Err("a page walk waits for a remote host that is away".into());
        }
        state.wrong.clone().map_or(Ok(()), Err)
    }

    /// Nothing of this is persistent: the program's host and the remote one lose their power for themselves, and what a
    /// remote host that goes away leaves is checked with it.
    fn check_power_failure(&self, _: &State) -> Result<(), String> {
        Ok(())
    }

    fn is_final(&self, state: &State) -> bool {
        state.done == self.accesses && state.access.is_none() && state.agent.pending().next().is_none()
    }

    fn check_final(&self, state: &State) -> Result<(), String> {
        // Where a byte is now: in the cache, in the agent's memory, or at the remote host.
        for ((page, index), wanted) in &state.truth {
            let line = line_at(*page, *index);
            let here = state.agent.present(*page) >> index & 1 == 1;
            let value = match state.cache.get(&(*page, *index)) {
                Some((value, _)) => *value,
                None if here => state.memory.read(line)[0],
                None => state.far.read(line)[0],
            };
            if value != *wanted {
                return Err(format!(
                    "line {index} of page {page} is left with {value}; {wanted} was written last"
                ));
            }
        }
        Ok(())
    }
}

const PAGES: Bound = Bound::number("pages", 2, 1, 3, "Pages of remote memory");
const FRAMES: Bound = Bound::number("frames", 1, 1, 3, "Local pages");
const LINES: Bound = Bound::number("lines", 2, 1, 3, "Lines of a page");
const ACCESSES: Bound = Bound::number("accesses", 2, 1, 6, "Accesses of the program");
const LOSSES: Bound = Bound::number("losses", 1, 0, 255, "Packets that may be lost");
const DUPLICATES: Bound = Bound::number("duplicates", 1, 0, 255, "Packets that may come twice");
const HOST_STAYS: Bound = Bound::flag("host-stays", "The remote host never goes away");
const WALKS: Bound =
    Bound::word("walks", 1, &["whole-page", "first-line", "untracked"], "What a page walk waits for");

/// Three accesses to pages of three lines, and nothing goes wrong on the way.
const THREE_LINES: Texts =
    &[("lines", "3"), ("accesses", "3"), ("losses", "0"), ("duplicates", "0"), ("host-stays", "")];

impl Explored for RemoteSpace {
    const NAME: &'static str = "remote";
    const MEANING: &'static str =
        "remote memory: its agent, a network that loses and doubles packets, a host that goes";
    const BOUNDS: &'static [Bound] = &[PAGES, FRAMES, LINES, ACCESSES, LOSSES, DUPLICATES, HOST_STAYS, WALKS];
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;
    // A line asked for alone and with its page, which has a third; two writes of one page, and a read between others.
    const SHOWN_WITH: &'static [(&'static str, Texts)] = &[
        ("reply-overwrites", THREE_LINES),
        ("stale-reply-taken", THREE_LINES),
        ("old-writes-taken", &[("lines", "1"), ("accesses", "5"), ("losses", "0"), ("host-stays", "")]),
        (
            "free-before-acknowledged",
            &[("accesses", "3"), ("losses", "0"), ("duplicates", "0"), ("host-stays", "")],
        ),
    ];

    fn new(given: &Given, mutant: Option<Mutant>) -> RemoteSpace {
        RemoteSpace {
            pages: given.number(&PAGES),
            frames: given.number(&FRAMES),
            lines: given.number(&LINES),
            accesses: given.number(&ACCESSES),
            losses: given.number(&LOSSES),
            duplicates: given.number(&DUPLICATES),
            away: !given.said(&HOST_STAYS),
            walks: [Walks::WholePage, Walks::FirstLine, Walks::Untracked][given.place(&WALKS)],
            mutant,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use explore::Held;

    /// A machine that is large enough for a mistake to show.
    fn seeded(mutant: Mutant) -> RemoteSpace {
        let small = RemoteSpace { mutant: Some(mutant), losses: 0, away: false, ..RemoteSpace::SMALL };
        match mutant {
            // Two writes of one page, and a read between others.
            Mutant::OldWritesTaken => RemoteSpace { lines: 1, accesses: 5, ..small },
            Mutant::WalkNeverFails => RemoteSpace { away: true, accesses: 1, ..small },
            // A line asked for alone and with its page: the page has a third.
            Mutant::ReplyOverwrites | Mutant::StaleReplyTaken => {
                RemoteSpace { lines: 3, duplicates: 0, ..small }
            }
            Mutant::FreeBeforeAcknowledged | Mutant::NoRecall => RemoteSpace { duplicates: 0, ..small },
        }
    }

    #[test]
    fn every_byte_comes_whatever_the_network_and_the_host_do_and_every_mutant_is_caught() {
        let small = RemoteSpace::SMALL;
        Held {
            clean: vec![
                (RemoteSpace { accesses: 1, ..small }, 15_051),
                (RemoteSpace { accesses: 2, ..small }, 628_747),
                (RemoteSpace { lines: 1, accesses: 4, duplicates: 0, ..small }, 16_071),
                (RemoteSpace { walks: Walks::WholePage, accesses: 2, ..small }, 23_339),
                (RemoteSpace { walks: Walks::Untracked, accesses: 2, ..small }, 343_411),
                (RemoteSpace { pages: 3, frames: 2, lines: 1, losses: 0, duplicates: 0, ..small }, 10_425),
            ],
            seeded,
            wrong: &["a power failure", "line ", "deadlock", "the ", "a page walk"],
        }
        .holds();
    }
}
