//! Where cores, caches, wires and memory stand, and what the checker knows.

use super::{Does, SpecSpace, Wire};
use crate::pmem_spec::{SpecCore, SpecParameters, SpeculationBuffer};
use explore::{Aside, Wires};
use protocol::{
    AddressMap, ControllerOrdering, CoreOrdering, FlushRequest, Image, Line, LineWrite, Mask, Msg, Outbox,
    PM_BASE, Peer, line_of,
};
use units::{Dur, Time};

/// The line that has the word.
const WORD: usize = 0;

/// For each line a number of writes of it, the first being 1.
type Writes = Vec<u8>;

fn join(into: &mut Writes, other: &Writes) {
    into.iter_mut().zip(other).for_each(|(a, b)| *a = (*a).max(*b));
}

/// On a wire.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) enum Moving {
    Flush(FlushRequest),
    Evicted(usize),
    /// A line is wanted of memory, by a core.
    Read(usize, usize),
    /// Memory gives a line, as of so many writes.
    Data(usize, u8),
    /// No cache has the line.
    Gone,
    /// Take a line out of every cache.
    Recall(usize),
    Ack(u16),
    Misread,
    /// The line that was read too early is nowhere.
    Recalled,
}

/// A core, and what the checker knows of it.
#[derive(Clone, Hash)]
struct Core {
    side: SpecCore,
    /// What a store that comes now comes after.
    before: Writes,
    /// It has read old bytes of its own since its checkpoint.
    misled: bool,
    /// Lines that it stored to since.
    wrote: Vec<bool>,
    /// It waits for a line.
    waits: bool,
    /// It has been told to go back, and has not made up for it.
    goes_back: bool,
    recalls: u8,
}

/// A line in the caches.
#[derive(Clone, Hash)]
struct Cached {
    holder: Option<usize>,
    dirty: bool,
    /// How many writes the bytes there have.
    number: u8,
    /// What each write comes after.
    after: Vec<Writes>,
}

/// Where everything stands.
#[derive(Clone, Hash)]
pub struct State {
    cores: Vec<Core>,
    controllers: Vec<SpeculationBuffer>,
    lines: Vec<Cached>,
    memory: Writes,
    /// The same as bytes.
    image: Aside<Image>,
    map: Aside<AddressMap>,
    /// For each controller whose recall it is that the caches are asked for, oldest first.
    recalls: Vec<Vec<usize>>,
    pub(super) wires: Wires<Wire, Moving>,
    pub(super) done: usize,
    pub(super) evicted: usize,
    pub(super) wrong: Option<&'static str>,
}

fn line(index: usize) -> Line {
    line_of(PM_BASE + index as u64 * 64)
}

fn index(line: Line) -> usize {
    (line.0 - PM_BASE / 64) as usize
}

impl State {
    pub(super) fn new(space: &SpecSpace) -> State {
        let (map, none) = (space.map(), vec![0; space.lines]);
        let spec = SpecParameters {
            persist_path_entries: 64,
            persist_path_ns: Dur::ZERO,
            persist_path_issue_ns: Dur::ZERO,
            speculation_window_ns: Dur::ZERO,
            misspeculation_ns: Dur::ZERO,
            region_operations: 1,
        };
        let core = |id: usize| Core {
            side: SpecCore::new(id as u8, map, spec, space.mutant),
            before: none.clone(),
            misled: false,
            wrote: vec![false; space.lines],
            waits: false,
            goes_back: false,
            recalls: 0,
        };
        let cached = |at: usize| Cached {
            holder: Some(owner(at, space.cores)),
            dirty: false,
            number: 0,
            after: Vec::new(),
        };
        State {
            cores: (0..space.cores).map(core).collect(),
            controllers: vec![SpeculationBuffer::new(Dur::ZERO, space.mutant); space.controllers],
            lines: (0..space.lines).map(cached).collect(),
            memory: none.clone(),
            image: Aside(Image::new(PM_BASE)),
            map: Aside(map),
            recalls: vec![Vec::new(); space.controllers],
            wires: Wires::new(),
            done: 0,
            evicted: 0,
            wrong: None,
        }
    }

    pub(super) fn side(&self, core: usize) -> &SpecCore {
        &self.cores[core].side
    }

    /// The core that a line other than the word is of.
    pub(super) fn owner(&self, at: usize) -> usize {
        owner(at, self.cores.len())
    }

    /// Whether a core's program runs.
    pub(super) fn goes_on(&self, core: usize) -> bool {
        !self.cores[core].waits && !self.cores[core].goes_back
    }

    fn controller(&self, at: usize) -> usize {
        self.map.0.controller(line(at))
    }

    /// A core does something; none, and a state to throw away, where it has to wait.
    pub(super) fn act(&mut self, core: usize, does: Does) -> Option<()> {
        match does {
            Does::Store(at) => (self.lines[at].holder == Some(core)).then(|| self.store(core, at))??,
            Does::Read(at) => self.lines[at].holder.is_none().then(|| self.ask(core, at))?,
            Does::Acquire => self.acquire(core)?,
            Does::Release => self.release(core)?,
        }
        self.done += 1;
        Some(())
    }

    fn store(&mut self, core: usize, at: usize) -> Option<()> {
        let number = self.lines[at].after.len() as u8 + 1;
        let write = LineWrite { line: line(at), mask: Mask::MAX, data: [number; 64] };
        let own = &mut self.cores[core];
        own.side.store(Time::ZERO, &write, &mut Outbox::default()).ok()?;
        let cached = &mut self.lines[at];
        cached.after.push(own.before.clone());
        (cached.number, cached.dirty) = (number, true);
        own.before[at] = number;
        own.wrote[at] |= at != WORD;
        Some(())
    }

    /// The core waits for a line that no cache has.
    fn ask(&mut self, core: usize, at: usize) {
        self.cores[core].waits = true;
        self.wires.send(Wire::Memory(self.controller(at)), Moving::Read(core, at));
    }

    /// The word comes to a core, and with it what its last release comes after.
    fn acquire(&mut self, core: usize) -> Option<()> {
        match self.lines[WORD].holder {
            Some(holder) if holder == core => return None,
            Some(holder) => {
                let side = &mut self.cores[holder].side;
                side.snooped(Time::ZERO, line(WORD), 0, 0, &mut Outbox::default()).ok()?;
                // What a core has not sent yet of a line stays at its controller's door: the directory keeps the line.
                if side.holds(line(WORD)) {
                    return None;
                }
                self.lines[WORD].holder = Some(core);
                self.acquired(core);
            }
            None if self.is_wanted(WORD) => return None,
            None => self.ask(core, WORD),
        }
        Some(())
    }

    fn acquired(&mut self, core: usize) {
        let word = &self.lines[WORD];
        if usize::from(word.number) < word.after.len() {
            self.wrong = Some("a core takes a word that is not the last one released");
        }
        let own = &mut self.cores[core];
        if let Some(after) = word.after.get(usize::from(word.number).wrapping_sub(1)) {
            join(&mut own.before, after);
            own.before[WORD] = own.before[WORD].max(word.number);
        }
    }

    fn release(&mut self, core: usize) -> Option<()> {
        if self.lines[WORD].holder != Some(core) {
            return None;
        }
        let own = &mut self.cores[core];
        own.side.release(Time::ZERO, line(WORD), &mut Outbox::default()).ok()?;
        if own.misled {
            self.wrong = Some("a core releases what it has read too early");
        }
        own.side.goes_back(Time::ZERO, false);
        own.wrote.fill(false);
        self.store(core, WORD)
    }

    pub(super) fn send(&mut self, core: usize) {
        let mut out = Outbox::default();
        self.cores[core].side.tick(Time::ZERO, &mut out);
        for (_, to, msg) in out.0 {
            let (Peer::Controller(c), Msg::Flush(request)) = (to, &msg) else {
                protocol::unexpected("a persist path's wires", &msg)
            };
            self.wires.send(Wire::Path(core, c), Moving::Flush(*request));
        }
    }

    pub(super) fn may_leave(&self, at: usize) -> bool {
        let cached = &self.lines[at];
        let stays = |core: usize| cached.dirty && self.cores[core].side.holds(line(at));
        cached.holder.is_some_and(|core| !stays(core))
    }

    pub(super) fn evict(&mut self, at: usize) {
        self.evicted += 1;
        self.drop_line(at);
    }

    /// A line leaves all caches, and its controller hears of it where it was changed.
    fn drop_line(&mut self, at: usize) {
        let wire = Wire::Memory(self.controller(at));
        let cached = &mut self.lines[at];
        cached.holder = None;
        if std::mem::take(&mut cached.dirty) {
            self.wires.send(wire, Moving::Evicted(at));
        }
    }

    /// Whether a core waits for a line of memory.
    fn is_wanted(&self, at: usize) -> bool {
        self.wires.iter().any(|(_, m)| matches!(m, Moving::Read(_, l) | Moving::Data(l, _) if *l == at))
    }

    pub(super) fn may_expire(&self, at: usize) -> bool {
        let watched = self.controllers[self.controller(at)].lines().any(|l| l == line(at));
        let comes = |m: &Moving| matches!(m, Moving::Flush(f) if f.write.line == line(at));
        watched && !self.wires.iter().any(|(_, m)| comes(m))
    }

    pub(super) fn expire(&mut self, at: usize) {
        let controller = self.controller(at);
        self.controllers[controller].expires(line(at));
    }

    /// A directory serves one request for a line after the other.
    pub(super) fn may_deliver(&self, wire: Wire) -> bool {
        let first = self.wires.iter().find(|(w, _)| *w == wire);
        !matches!(first, Some((_, Moving::Recall(at))) if self.is_wanted(*at))
    }

    pub(super) fn deliver(&mut self, wire: Wire) {
        let Some(moving) = self.wires.take(wire) else { return };
        let (core, c) = match wire {
            Wire::Path(core, c) | Wire::Told(core, c) => (core, c),
            Wire::Memory(c) | Wire::Caches(c) => (0, c),
        };
        match moving {
            Moving::Flush(request) => self.persist(core, c, &request),
            Moving::Evicted(at) => {
                let data = [self.lines[at].after.len() as u8; 64];
                let write = LineWrite { line: line(at), mask: Mask::MAX, data };
                self.controllers[c].evict(&write, &mut self.image.0);
            }
            Moving::Read(core, at) => {
                self.controllers[c].read(line(at), &self.image.0);
                let number = self.controllers[c].reads(line(at), &self.image.0)[0];
                self.wires.send(Wire::Told(core, c), Moving::Data(at, number));
            }
            Moving::Gone => {
                let core = self.recalls[c].remove(0);
                self.wires.send(Wire::Told(core, c), Moving::Recalled);
            }
            Moving::Recall(at) => {
                if self.lines[at].holder.is_some() {
                    self.drop_line(at);
                }
                self.wires.send(Wire::Memory(c), Moving::Gone);
            }
            Moving::Data(at, number) => self.arrived(core, at, number),
            Moving::Ack(slot) => {
                let (side, ack) = (&mut self.cores[core].side, Msg::Ack { slot });
                side.on(Time::ZERO, Peer::Controller(c), &ack, &mut Outbox::default());
            }
            Moving::Misread => {
                let own = &mut self.cores[core];
                (own.recalls, own.goes_back) = (own.recalls + 1, true);
                own.side.goes_back(Time::ZERO, true);
            }
            Moving::Recalled => self.cores[core].recalls -= 1,
        }
    }

    fn persist(&mut self, core: usize, c: usize, request: &FlushRequest) {
        let at = index(request.write.line);
        let told = Wire::Told(core, c);
        if self.controllers[c].arrives(request) {
            self.wires.send(told, Moving::Misread);
            self.wires.send(Wire::Caches(c), Moving::Recall(at));
            self.recalls[c].push(core);
        }
        self.controllers[c].flush(request, &mut self.image.0, &mut Vec::new());
        self.memory[at] = request.write.data[0];
        self.wires.send(told, Moving::Ack(request.slot));
    }

    /// A line of memory, as of so many writes, is here.
    fn arrived(&mut self, core: usize, at: usize, number: u8) {
        let cached = &mut self.lines[at];
        (cached.holder, cached.dirty, cached.number) = (Some(core), false, number);
        let own = &mut self.cores[core];
        own.waits = false;
        if at == WORD {
            self.acquired(core);
        } else {
            own.misled |= usize::from(number) < cached.after.len();
        }
    }

    pub(super) fn can_make_up(&self, core: usize) -> bool {
        let own = &self.cores[core];
        own.goes_back && own.recalls == 0 && !own.waits && own.side.level() == 0
    }

    /// The core takes its stores back and carries them out once more: together a further write of each line.
    pub(super) fn make_up(&mut self, core: usize) {
        let own = &mut self.cores[core];
        (own.goes_back, own.misled) = (false, false);
        for at in 0..self.lines.len() {
            if self.cores[core].wrote[at] {
                if usize::from(self.memory[at]) < self.lines[at].after.len() {
                    self.wrong = Some("a core goes on with a line that memory lacks a store of");
                }
                self.lines[at].holder = Some(core);
                self.store(core, at).expect("a persist path has room");
            }
        }
    }

    /// What memory lacks of `wanted`.
    fn lacks(&self, wanted: &Writes) -> Option<(usize, u8)> {
        let found = wanted.iter().enumerate().find(|(l, number)| self.memory[*l] < **number);
        found.map(|(l, number)| (l, *number))
    }

    pub(super) fn check_power_failure(&self) -> Result<(), String> {
        for (at, cached) in self.lines.iter().enumerate() {
            for (n, after) in cached.after.iter().enumerate().take(self.memory[at].into()) {
                if let Some((l, number)) = self.lacks(after) {
                    return Err(format!(
                        "a power failure keeps write {} of line {at} and loses write {number} of line {l}, which comes before it",
                        n + 1
                    ));
                }
            }
        }
        Ok(())
    }

    pub(super) fn check_final(&self) -> Result<(), String> {
        let newest: Writes = self.lines.iter().map(|l| l.after.len() as u8).collect();
        self.lacks(&newest)
            .map_or(Ok(()), |(l, n)| Err(format!("at the end write {n} of line {l} is not there")))
    }
}

fn owner(at: usize, cores: usize) -> usize {
    // The word begins at the first core.
    at.saturating_sub(1) % cores
}
