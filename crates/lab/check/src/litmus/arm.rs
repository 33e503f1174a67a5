//! Armv8 by its axioms: every candidate execution, those that are consistent, and what each may leave.
//!
//! A candidate gives each load a store to read from and each location an order of its stores. It is consistent
//! when coherence and the "ordered before" relation have no cycle (Arm ARM, B2.3, without devices and mixed
//! sizes). A power failure cuts an execution at any set of events that is closed under "ordered before"; a DSB
//! inside the cut makes every DC CVAP before it count (Cho et al., PLDI 2021). Release persistency has the same executions, and
//! another order of what persists (`released`).

mod released;

pub(super) use released::Sides;

use super::instruction::STEP_LIMIT;
use super::view::product;
use super::{
    Compare, FenceKind, ImageValues, Instruction, Location, Register, RmwKind, STATE_LIMIT, Test, Unfinished,
    Value,
};
use std::collections::BTreeSet;
use units::watch;

/// A set of events, as bits.
type Set = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
    Flush,
    /// DMB or DSB.
    Fence {
        waits: bool,
    },
}

#[derive(Clone, Copy, Debug)]
struct Event {
    kind: Kind,
    location: Location,
    value: i64,
    /// Loads of the same thread, counted from its first event, whose value this one's value or execution needs.
    needs: Set,
    acquires: bool,
    releases: bool,
    /// The write of a locked operation whose read is the event before.
    locked: bool,
}

/// Every way in which a thread can go, given what its loads may return.
struct Paths<'a> {
    test: &'a Test,
    domain: &'a [BTreeSet<i64>],
    found: Vec<Vec<Event>>,
}

#[derive(Clone)]
struct Walk {
    at: usize,
    registers: Vec<(i64, Set)>,
    compared: (i64, i64, Set),
    control: Set,
    events: Vec<Event>,
    steps: usize,
}

impl Walk {
    fn value(&self, v: Value) -> (i64, Set) {
        match v {
            Value::Number(n) => (n, 0),
            Value::Register(r) => self.registers[r.0],
        }
    }

    fn push(&mut self, kind: Kind, location: Location, value: i64, needs: Set) -> &mut Event {
        let event = Event { kind, location, value, needs, acquires: false, releases: false, locked: false };
        self.events.push(event);
        let last = self.events.len() - 1;
        &mut self.events[last]
    }
}

impl Paths<'_> {
    fn walk(&mut self, t: usize, mut w: Walk) -> Result<(), Unfinished> {
        loop {
            w.steps += 1;
            if w.steps > STEP_LIMIT || w.events.len() > 24 {
                return Err(Unfinished::TooManySteps);
            }
            let Some(instruction) = self.test.threads[t].get(w.at).copied() else {
                self.found.push(w.events);
                return Ok(());
            };
            w.at += 1;
            match instruction {
                Instruction::Set(r, v) => w.registers[r.0] = w.value(v),
                Instruction::Compare(a, b) => {
                    let ((a, x), (b, y)) = (w.value(a), w.value(b));
                    w.compared = (a, b, x | y);
                }
                Instruction::Jump(when, to) => {
                    if when.is_some() {
                        w.control |= w.compared.2;
                    }
                    let equal = w.compared.0 == w.compared.1;
                    if when.is_none_or(|c| (c == Compare::Equal) == equal) {
                        w.at = to;
                    }
                }
                Instruction::Write { to, value, nontemporal } => {
                    let (value, data) = w.value(value);
                    let control = w.control;
                    w.push(Kind::Write, to, value, data | control).releases = nontemporal;
                }
                Instruction::Read { into, from } => return self.reads(t, &w, from, Some(into), None),
                Instruction::Rmw { at, kind, operand, old } => {
                    return self.reads(t, &w, at, old, Some((kind, operand)));
                }
                Instruction::Flush(_, location) => {
                    // One event for each location of the line.
                    let control = w.control;
                    let line = self.test.lines[location.0];
                    for l in (0..self.test.locations.len()).filter(|l| self.test.lines[*l] == line) {
                        w.push(Kind::Flush, Location(l), 0, control);
                    }
                }
                Instruction::Fence(kind) => {
                    w.push(Kind::Fence { waits: kind == FenceKind::Full }, Location(0), 0, 0);
                }
            }
        }
    }

    /// One way for each value that a load may return.
    fn reads(
        &mut self,
        t: usize,
        w: &Walk,
        from: Location,
        into: Option<Register>,
        rmw: Option<(RmwKind, Value)>,
    ) -> Result<(), Unfinished> {
        for value in &self.domain[from.0] {
            let mut next = w.clone();
            let read: Set = 1 << next.events.len();
            next.push(Kind::Read, from, *value, 0).acquires = rmw.is_some();
            if let Some((kind, operand)) = rmw {
                let (operand, data) = next.value(operand);
                let written = match kind {
                    RmwKind::Exchange => Some(operand),
                    RmwKind::Add => Some(value.wrapping_add(operand)),
                    RmwKind::CompareExchange { expected } => {
                        (*value == next.value(expected).0).then_some(operand)
                    }
                };
                if let Some(new) = written {
                    let needs = read | data | next.control;
                    let event = next.push(Kind::Write, from, new, needs);
                    (event.releases, event.locked) = (true, true);
                }
            }
            if let Some(r) = into {
                next.registers[r.0] = (*value, read);
            }
            self.walk(t, next)?;
        }
        Ok(())
    }
}

/// All paths of all threads, with the values that loads may return grown until nothing new is written.
fn paths(test: &Test) -> Result<Vec<Vec<Vec<Event>>>, Unfinished> {
    let mut domain: Vec<BTreeSet<i64>> = test.initial.iter().map(|v| BTreeSet::from([*v])).collect();
    loop {
        let mut all = Vec::new();
        for (t, registers) in test.registers.iter().enumerate() {
            let mut paths = Paths { test, domain: &domain, found: Vec::new() };
            let registers = registers.iter().map(|v| (*v, 0)).collect();
            let compared = (0, 0, 0);
            paths.walk(t, Walk { at: 0, registers, compared, control: 0, events: Vec::new(), steps: 0 })?;
            all.push(paths.found);
        }
        let mut grown = domain.clone();
        for event in all.iter().flatten().flatten().filter(|e| e.kind == Kind::Write) {
            grown[event.location.0].insert(event.value);
        }
        if grown == domain {
            return Ok(all);
        }
        if grown.iter().any(|d| d.len() > 16) {
            return Err(Unfinished::TooManyStates);
        }
        domain = grown;
    }
}

/// What DC CVAP makes persistent, or what releases order.
pub(super) fn images(test: &Test, sides: Option<Sides>) -> Result<BTreeSet<ImageValues>, Unfinished> {
    let all = paths(test)?;
    let mut found = BTreeSet::new();
    let mut choice = vec![0; all.len()];
    let mut work = 0;
    loop {
        let threads: Vec<&[Event]> = choice.iter().zip(&all).map(|(c, p)| p[*c].as_slice()).collect();
        let mut candidate = Candidate::new(test, &threads, sides).ok_or(Unfinished::TooManyStates)?;
        candidate.choose_sources(0, &mut work, &mut found)?;
        let Some(next) = (0..all.len()).find(|t| choice[*t] + 1 < all[*t].len()) else { return Ok(found) };
        choice[next] += 1;
        choice[..next].fill(0);
    }
}

fn accesses(event: &Event) -> bool {
    !matches!(event.kind, Kind::Fence { .. })
}

/// One choice of paths; sources of loads and orders of stores are being filled in.
struct Candidate<'a> {
    test: &'a Test,
    events: Vec<Event>,
    thread: Vec<usize>,
    /// The event's place in its thread.
    place: Vec<usize>,
    reads: Vec<usize>,
    /// What each load reads from, and the newest store that each flush sees; none is the initial value.
    source: Vec<Option<usize>>,
    /// The stores of each location, oldest first.
    order: Vec<Vec<usize>>,
    sides: Option<Sides>,
}

impl<'a> Candidate<'a> {
    fn new(test: &'a Test, threads: &[&[Event]], sides: Option<Sides>) -> Option<Candidate<'a>> {
        let (mut events, mut thread, mut place) = (Vec::new(), Vec::new(), Vec::new());
        for (t, path) in threads.iter().enumerate() {
            let first = events.len();
            for (p, event) in path.iter().enumerate() {
                events.push(Event { needs: event.needs << first, ..*event });
                thread.push(t);
                place.push(p);
            }
        }
        if events.len() > 60 {
            return None;
        }
        let sees = |e: &usize| matches!(events[*e].kind, Kind::Read | Kind::Flush);
        let reads: Vec<usize> = (0..events.len()).filter(sees).collect();
        let mut order = vec![Vec::new(); test.locations.len()];
        for (e, event) in events.iter().enumerate().filter(|(_, e)| e.kind == Kind::Write) {
            order[event.location.0].push(e);
        }
        let source = vec![None; events.len()];
        Some(Candidate { test, events, thread, place, reads, source, order, sides })
    }

    fn choose_sources(
        &mut self,
        index: usize,
        work: &mut usize,
        found: &mut BTreeSet<ImageValues>,
    ) -> Result<(), Unfinished> {
        let Some(read) = self.reads.get(index).copied() else { return self.choose_order(0, 0, work, found) };
        let Event { location, value, kind, .. } = self.events[read];
        let any = kind == Kind::Flush;
        let stores = self.order[location.0].iter().copied();
        let mut sources: Vec<Option<usize>> =
            stores.filter(|w| any || self.events[*w].value == value).map(Some).collect();
        if any || self.test.initial[location.0] == value {
            sources.push(None);
        }
        for source in sources {
            self.source[read] = source;
            self.choose_sources(index + 1, work, found)?;
        }
        Ok(())
    }

    /// Every permutation of the stores of each location.
    fn choose_order(
        &mut self,
        location: usize,
        fixed: usize,
        work: &mut usize,
        found: &mut BTreeSet<ImageValues>,
    ) -> Result<(), Unfinished> {
        if location == self.order.len() {
            *work += 1;
            if work.is_multiple_of(1024) {
                watch::check();
            }
            if *work > STATE_LIMIT {
                return Err(Unfinished::TooManyStates);
            }
            self.collect(found);
            return Ok(());
        }
        let count = self.order[location].len();
        if fixed >= count {
            return self.choose_order(location + 1, 0, work, found);
        }
        for other in fixed..count {
            self.order[location].swap(fixed, other);
            self.choose_order(location, fixed + 1, work, found)?;
            self.order[location].swap(fixed, other);
        }
        Ok(())
    }

    fn in_order(&self, a: usize, b: usize) -> bool {
        self.thread[a] == self.thread[b] && self.place[a] < self.place[b]
    }

    fn rank(&self, store: Option<usize>, location: Location) -> usize {
        store.map_or(0, |w| 1 + self.order[location.0].iter().position(|o| *o == w).unwrap_or(0))
    }

    /// Communication between two accesses of one location: reads-from, coherence, from-read.
    fn communicates(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.events[a], &self.events[b]);
        if x.location != y.location || !accesses(x) || !accesses(y) {
            return false;
        }
        let place = |e: usize| match self.events[e].kind {
            Kind::Write => self.rank(Some(e), x.location),
            Kind::Read | Kind::Flush | Kind::Fence { .. } => self.rank(self.source[e], x.location),
        };
        match y.kind {
            Kind::Read | Kind::Flush => x.kind == Kind::Write && self.source[b] == Some(a),
            Kind::Write | Kind::Fence { .. } => place(a) < place(b),
        }
    }

    fn same_location_in_order(&self, a: usize, b: usize) -> bool {
        let (x, y) = (&self.events[a], &self.events[b]);
        self.in_order(a, b) && x.location == y.location && accesses(x) && accesses(y)
    }

    /// Ordered within a thread by dependencies, fences, acquire and release.
    fn held_in_order(&self, a: usize, b: usize) -> bool {
        if !self.in_order(a, b) {
            return false;
        }
        let (x, y) = (&self.events[a], &self.events[b]);
        let fence = |e: &Event| matches!(e.kind, Kind::Fence { .. });
        let flush_waits = |e: &Event| matches!(e.kind, Kind::Fence { waits: true });
        match (x.kind, y.kind) {
            (Kind::Flush, _) => return flush_waits(y),
            (_, Kind::Flush) => return fence(x) || self.touches_line(a, b) || x.acquires,
            (
                Kind::Read | Kind::Write | Kind::Fence { .. },
                Kind::Read | Kind::Write | Kind::Fence { .. },
            ) => {}
        }
        let forwarded = y.kind == Kind::Read
            && self.source[b].is_some_and(|w| self.in_order(w, b) && self.events[w].needs >> a & 1 == 1);
        fence(x) || fence(y) || y.needs >> a & 1 == 1 || forwarded || x.acquires || y.releases
    }

    fn touches_line(&self, access: usize, flush: usize) -> bool {
        let line = |e: usize| self.test.lines[self.events[e].location.0];
        !matches!(self.events[access].kind, Kind::Fence { .. }) && line(access) == line(flush)
    }

    fn closure(&self, related: impl Fn(usize, usize) -> bool) -> Vec<Set> {
        let n = self.events.len();
        let mut before: Vec<Set> =
            (0..n).map(|b| (0..n).filter(|a| *a != b && related(*a, b)).fold(0, |s, a| s | 1 << a)).collect();
        for k in 0..n {
            for b in 0..n {
                if before[b] >> k & 1 == 1 {
                    before[b] |= before[k];
                }
            }
        }
        before
    }

    fn collect(&self, found: &mut BTreeSet<ImageValues>) {
        let n = self.events.len();
        let cyclic = |before: &[Set]| (0..n).any(|e| before[e] >> e & 1 == 1);
        let coherent = self.closure(|a, b| self.communicates(a, b) || self.same_location_in_order(a, b));
        if cyclic(&coherent) || !self.locked_are_atomic() {
            return;
        }
        let external = |a: usize, b: usize| self.thread[a] != self.thread[b] && self.communicates(a, b);
        let ordered = self.closure(|a, b| external(a, b) || self.held_in_order(a, b));
        if cyclic(&ordered) {
            return;
        }
        // Stores of one location become visible in coherence order, also within a thread.
        let stores = |a: usize, b: usize| {
            self.events[a].kind == Kind::Write
                && self.events[b].kind == Kind::Write
                && self.communicates(a, b)
        };
        let cut = self.closure(|a, b| external(a, b) || self.held_in_order(a, b) || stores(a, b));
        if cyclic(&cut) {
            return;
        }
        let guarantees = self.sides.map_or_else(|| self.guarantees(), |sides| self.persist_order(sides));
        self.cuts(0, 0, &cut, &guarantees, found);
    }

    /// Nothing comes between the two halves of a locked operation.
    fn locked_are_atomic(&self) -> bool {
        (0..self.events.len()).filter(|e| self.events[*e].locked).all(|w| {
            let location = self.events[w].location;
            self.rank(self.source[w - 1], location) + 1 == self.rank(Some(w), location)
        })
    }

    /// For each DSB: the stores that are persistent once it has completed, those that the flushes before it see.
    fn guarantees(&self) -> Vec<(usize, Set)> {
        let events = 0..self.events.len();
        let waits = events.clone().filter(|e| self.events[*e].kind == Kind::Fence { waits: true });
        let flushes = |d: usize| {
            events.clone().filter(move |f| self.events[*f].kind == Kind::Flush && self.in_order(*f, d))
        };
        let seen = |d: usize| flushes(d).filter_map(|f| self.source[f]).fold(0, |s, w| s | 1 << w);
        waits.map(|d| (d, seen(d))).collect()
    }

    /// Every set of events that a power failure can have let happen.
    fn cuts(
        &self,
        event: usize,
        happened: Set,
        before: &[Set],
        guarantees: &[(usize, Set)],
        found: &mut BTreeSet<ImageValues>,
    ) {
        if event == self.events.len() {
            let closed = (0..event).all(|e| happened >> e & 1 == 0 || before[e] & !happened == 0);
            if closed {
                self.leave(happened, guarantees, found);
            }
            return;
        }
        self.cuts(event + 1, happened | 1 << event, before, guarantees, found);
        self.cuts(event + 1, happened, before, guarantees, found);
    }

    fn leave(&self, happened: Set, guarantees: &[(usize, Set)], found: &mut BTreeSet<ImageValues>) {
        if self.sides.is_some() {
            return self.leave_released(happened, guarantees, found);
        }
        let persisted = guarantees.iter().filter(|(d, _)| happened >> d & 1 == 1).fold(0, |s, (_, w)| s | w);
        let count = self.test.locations.len();
        let choices = (0..count).map(|l| {
            let stores = &self.order[l];
            let from = stores.iter().rposition(|w| persisted >> w & 1 == 1).map_or(0, |i| i + 1);
            let initial = (from == 0).then_some(self.test.initial[l]);
            let later = stores[from.saturating_sub(1)..].iter().filter(|w| happened >> **w & 1 == 1);
            initial.into_iter().chain(later.map(|w| self.events[*w].value)).map(|v| vec![(l, v)]).collect()
        });
        product(count, &choices.collect::<Vec<_>>(), found);
    }
}
