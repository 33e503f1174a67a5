//! Recorded programs of hosts, on hosts that nothing keeps coherent: no line leaves or enters their caches but by what the programs do.
//!
//! Hosts act in the order of the recording, but a thread that looks for a store waits until it can see it. What a host tells of has to be
//! on the device when it tells, since the line that tells may leave its caches at any time.

use crate::checked::Checks;
use crate::finding::{Finding, Kind, Side};
use crate::params::SharedParameters;
use crate::recorded::{Access, Act, Recorded, Saw, Sights};
use crate::search::{Found, MOST_STEPS, Outcome, told};
use crate::shadow::{MOST_HOSTS, Version, Word};
use crate::smallest::{MOST_REPLAYED, Smallest};
use crate::source_line::SourceLine;
use crate::world::{Step, World};
use params::{Parameters, Settings, Tally};
use protocol::{FenceKind, FlushKind, Op, OpKind, Order, PM_BASE};
use std::collections::{BTreeMap, BTreeSet};
use units::{Dur, Time, watch};

/// Accesses between two looks at whether the work is to stop.
const LOOK: u32 = 1 << 12;
/// How often a recording is gone through at most, each time without what loads told that cannot have: one may hide others that come after it.
const ROUNDS: usize = 16;
/// A host that loads a word so often without dropping the line waits for it to change.
const WAITS: u32 = 3;
/// The most mistakes that are told.
const MOST_FINDINGS: usize = 16;

/// Why a recording cannot be checked on a machine.
///
/// # Errors
/// What is accepted.
pub fn check_recorded(machine: &Settings, hosts: usize) -> Result<(), String> {
    let own = SharedParameters::from_settings(machine).hosts;
    if hosts < 2 {
        return Err("is of one host; record the processes with coreplane record --host-per-process".into());
    }
    if hosts > own {
        return Err(format!(
            "is of {hosts} hosts, which are more than the machine has; shared.hosts = {own} (at most 8)"
        ));
    }
    Ok(())
}

/// Looks for what is wrong in a recording, and for the fewest of its accesses that show it.
pub fn replay(machine: &Settings, recorded: &Recorded) -> Outcome {
    let mut whole = replay_once(machine, recorded, false);
    whole.remarks.extend(recorded.exchanged());
    whole.remarks.extend(recorded.unexplained());
    let smallest = Smallest::new(machine, recorded);
    let mut cut = 0;
    for (found, concerned) in &mut whole.found {
        watch::check();
        if let Some((small, is_whole)) = smallest.of(&found.finding, concerned) {
            cut += u64::from(!is_whole);
            *found = Found { runs: found.runs, ..small };
        }
    }
    if cut > 0 {
        whole.remarks.push(format!(
            "the search for a smallest schedule ended at its limit, {MOST_REPLAYED} accesses gone through, for {cut} of these: shorter ones may show them too"
        ));
    }
    whole.outcome()
}

/// What going through a recording, or a part of one, came to.
pub(crate) struct Replayed {
    /// With the accesses that it is about.
    pub(crate) found: Vec<(Found, Vec<usize>)>,
    tally: Tally,
    time: Dur,
    references: u64,
    remarks: Vec<String>,
}

impl Replayed {
    fn outcome(self) -> Outcome {
        let Replayed { found, tally, time, references, remarks } = self;
        let found = found.into_iter().map(|(found, _)| found).collect();
        Outcome { found, schedules: 1, tally, time, references, remarks }
    }
}

/// Goes through a recording until nothing is learnt from loads that cannot have told; `all_steps` are told of a finding, or only
/// those of its line.
pub(crate) fn replay_once(machine: &Settings, recorded: &Recorded, all_steps: bool) -> Replayed {
    let mut unordered = Unordered::default();
    let mut rounds = 1..=ROUNDS;
    loop {
        let sights = recorded.sights(&unordered.loads);
        let mut replay = Replay::new(machine, recorded, &sights);
        replay.all_steps = all_steps;
        replay.run();
        let known = unordered.loads.len();
        unordered.take(&mut replay);
        rounds.next();
        if unordered.loads.len() == known || rounds.is_empty() {
            return replay.ended(unordered);
        }
    }
}

/// Loads that get older bytes than they saw when they were recorded: of a copy that the host had dropped and fetched before the store,
/// or equal ones. They tell of nothing, and what follows from that is looked at once more.
#[derive(Default)]
struct Unordered {
    loads: BTreeSet<usize>,
    noted: Vec<Noted>,
}

impl Unordered {
    fn take(&mut self, replay: &mut Replay<'_>) {
        self.loads.append(&mut replay.unordered);
        let (own, others) =
            std::mem::take(&mut replay.noted).into_iter().partition(|n| n.finding.kind == Kind::Unordered);
        replay.noted = others;
        for noted in own {
            match self.noted.iter_mut().find(|known| is_same(&known.finding, &noted.finding)) {
                Some(known) => known.times += noted.times,
                None => self.noted.push(noted),
            }
        }
    }
}

impl Replay<'_> {
    fn ended(mut self, unordered: Unordered) -> Replayed {
        let recorded = self.recorded;
        let world = &mut self.world;
        let mut found: Vec<(Found, Vec<usize>)> = Vec::new();
        for noted in std::mem::take(&mut self.noted).into_iter().chain(unordered.noted) {
            let mut finding = world.look_again(noted.finding, noted.missed);
            let is_flushed = world.shadow.stored(noted.missed).is_none_or(|stored| stored.flushed.is_some());
            if !is_flushed && self.released.contains(&noted.missed) {
                finding.kind = Kind::LockRelease;
            }
            let told = Found {
                finding,
                runs: noted.times,
                operations: recorded.accesses.len() as u64,
                schedule: Vec::new(),
                steps: noted.steps,
            };
            found.push((told, noted.concerned));
        }
        found.iter_mut().for_each(|(found, _)| recorded.name_addresses(found));
        let mut tally = Tally::default();
        world.stats.hand_up(&mut tally);
        let time = world.hosts.iter().map(|h| h.now).max().unwrap_or(Time::ZERO).since(Time::ZERO);
        Replayed { found, tally, time, references: world.stats.references, remarks: Vec::new() }
    }
}

/// Whether two findings are of the same places: why bytes were missed may differ from time to time.
fn is_same(one: &Finding, other: &Finding) -> bool {
    let places = |f: &Finding| (f.here.site, f.there.map(|side| side.site));
    places(one) == places(other)
}

impl Recorded {
    /// From places in the replay to those in the file.
    fn name_addresses(&self, found: &mut Found) {
        let steps = found.steps.iter_mut().filter_map(|step| step.address.as_mut());
        for address in steps.chain([&mut found.finding.address]) {
            let offset = *address - PM_BASE;
            *address = self.lines[(offset / 64) as usize] + offset % 64;
        }
    }
}

/// A finding, while the replay goes on.
struct Noted {
    finding: Finding,
    missed: Version,
    times: u64,
    steps: Vec<Step>,
    /// The accesses that it is about.
    concerned: Vec<usize>,
}

struct Replay<'a> {
    recorded: &'a Recorded,
    sights: &'a Sights,
    world: World,
    /// Of each thread, what it has still to do, the next one last.
    left: Vec<Vec<usize>>,
    /// Of each access: the version that it stored, or 1 when it is done; 0 before.
    done: Vec<Version>,
    /// Of each access: the how many-th it was, and when it began.
    began: Vec<(u32, Time)>,
    /// Of each version: after how many accesses the device had it; 0 where it has not.
    landed: Vec<u32>,
    acted: u32,
    /// When the last access began.
    last: Time,
    /// Of each host's copy of a line: whether the host had dropped it before, and how often it loaded each word since.
    looks: BTreeMap<(usize, usize), Looks>,
    unordered: BTreeSet<usize>,
    /// Of each thread, the line that its last load fetched, if it did.
    fetched: Vec<Option<usize>>,
    noted: Vec<Noted>,
    /// Of each version: the access that stored it.
    stored_by: Vec<usize>,
    /// Releases of locks that were looked for in vain.
    released: BTreeSet<Version>,
    checks: Checks,
    /// The threads of each host.
    threads_of: [BTreeSet<usize>; MOST_HOSTS],
    /// Whether all steps are told of a finding.
    all_steps: bool,
}

#[derive(Clone, Copy, Default)]
struct Looks {
    was_dropped: bool,
    loads: [u32; 8],
}

impl<'a> Replay<'a> {
    fn new(machine: &Settings, recorded: &'a Recorded, sights: &'a Sights) -> Replay<'a> {
        let mut spec = SharedParameters::from_settings(machine);
        // No line leaves by itself.
        spec.cache_lines = usize::MAX;
        let mut world = World::of_lines(spec, (recorded.hosts, 1), recorded.coherent.clone(), Vec::new());
        world.keeps_steps = true;
        let mut left = vec![Vec::new(); recorded.threads()];
        recorded
            .accesses
            .iter()
            .enumerate()
            .rev()
            .for_each(|(index, access)| left[access.thread].push(index));
        let all = recorded.accesses.len();
        Replay {
            recorded,
            sights,
            world,
            left,
            done: vec![0; all],
            began: vec![(0, Time::ZERO); all],
            landed: vec![0; all + 1],
            acted: 0,
            last: Time::ZERO,
            looks: BTreeMap::new(),
            unordered: BTreeSet::new(),
            fetched: vec![None; recorded.threads()],
            noted: Vec::new(),
            stored_by: vec![0],
            released: BTreeSet::new(),
            checks: Checks::new(recorded),
            threads_of: recorded.threads_of_hosts(),
            all_steps: false,
        }
    }

    fn run(&mut self) {
        while self.step() {
            if self.acted.is_multiple_of(LOOK) {
                watch::check();
            }
        }
    }

    /// The next access that can be done; whether there was any.
    fn step(&mut self) -> bool {
        let mut next: Vec<usize> = self.left.iter().filter_map(|left| left.last().copied()).collect();
        next.sort_unstable();
        if let Some(index) = next.iter().copied().find(|index| self.can_go_on(*index)) {
            self.act(index);
            return true;
        }
        let Some(first) = next.first().copied() else { return false };
        if self.land_all() {
            return true;
        }
        // Everybody waits: one of them for what it will never see.
        let missing =
            |index: &usize| matches!(self.sights.saw[*index], Saw::Looked(store) if self.done[store] > 0);
        let index = next.iter().copied().find(missing).unwrap_or(first);
        self.act(index);
        true
    }

    /// What is on its way arrives; whether there was anything.
    fn land_all(&mut self) -> bool {
        let mut lines = Vec::new();
        for host in 0..self.recorded.hosts {
            while let Some(write) = self.world.state.land(host, 0) {
                lines.push(write.line);
            }
        }
        lines.iter().for_each(|line| self.note_landed(*line));
        !lines.is_empty()
    }

    /// What the device has of a line now.
    fn note_landed(&mut self, line: usize) {
        self.note_landed_after(line, self.acted);
    }

    fn note_landed_after(&mut self, line: usize, acted: u32) {
        for word in &self.world.state.memory()[line] {
            let landed = &mut self.landed[word.version as usize];
            if *landed == 0 {
                *landed = acted;
            }
        }
    }

    /// Whether a thread need not wait before its next access.
    fn can_go_on(&self, index: usize) -> bool {
        let access = self.recorded.accesses[index];
        match self.sights.saw[index] {
            Saw::Nothing | Saw::Known(..) => true,
            Saw::Looked(before) if access.act == Act::Lock => self.done[before] > 0,
            Saw::Looked(store) => {
                let may_see = self.done[store] > 0 && self.sees(&access, store);
                may_see || self.gives_the_same(&access) || self.waits_in_vain(&access, store)
            }
        }
    }

    /// Whether a store is on the device, and nobody but the thread itself would drop the copy that it has from before: it has dropped the line
    /// not long ago, and loads what it got then.
    fn waits_in_vain(&self, access: &Access, store: usize) -> bool {
        let has_copy = self.world.state.copy(access.host, access.line).is_some();
        let on_device = self.world.state.memory()[access.line][access.word()].version;
        let looks = self.looks.get(&(access.host, access.line));
        access.act == Act::Load
            && has_copy
            && (1..=on_device).contains(&self.done[store])
            && self.threads_of[access.host].len() == 1
            && looks.is_some_and(|looks| looks.was_dropped && looks.loads[access.word()] + 1 < WAITS)
    }

    /// Whether a load gives the bytes that it gave when it was recorded, whoever stored them.
    fn gives_the_same(&self, access: &Access) -> bool {
        access.act == Act::Load && self.in_sight(access).value & access.mask() == access.placed()
    }

    /// The word that a host gets there: of its copy, or else of the device.
    fn in_sight(&self, access: &Access) -> Word {
        let (state, line) = (&self.world.state, access.line);
        state.copy(access.host, line).map_or(&state.memory()[line], |copy| &copy.words)[access.word()]
    }

    /// Whether a load gives a store's bytes, or newer ones.
    fn sees(&self, access: &Access, store: usize) -> bool {
        self.world.state.is_coherent(access.line) || self.in_sight(access).version >= self.done[store]
    }

    fn act(&mut self, index: usize) {
        let access = self.recorded.accesses[index];
        let id = access.host;
        // Times tell what came first.
        let next = if self.acted == 0 { self.last } else { self.last + Dur::ns(1) };
        let began = self.world.hosts[id].now.max(next);
        (self.last, self.world.hosts[id].now) = (began, began);
        self.left[access.thread].pop();
        self.acted += 1;
        self.began[index] = (self.acted, began);
        self.done[index] = 1;
        let time = match access.act {
            Act::Load => self.load(index, &access),
            Act::Again => self.fetch_again(&access),
            Act::Store => self.store(index, &access),
            Act::Exchange => self.fence(&access) + self.store(index, &access),
            Act::StorePast => self.store_past(index, &access),
            Act::Flush(kind) => self.flush(&access, kind),
            Act::Fence => self.fence(&access),
            Act::Lock | Act::Unlock => self.world.spec.hit_ns,
        };
        self.world.hosts[id].now = began + time;
    }

    fn load(&mut self, index: usize, access: &Access) -> Dur {
        let (id, place) = (access.host, (access.line, access.word()));
        self.world.stats.references += 1;
        let is_fetched = self.world.state.copy(id, place.0).is_none();
        self.fetched[access.thread] = is_fetched.then_some(place.0);
        let time = self.world.fetch(id, place.0);
        let got = self.world.state.load(id, place.0, place.1);
        self.keep(access, OpKind::Load, got.value);
        self.note_landed(place.0);
        let looks = self.looks.entry((id, place.0)).or_default();
        looks.loads[place.1] += 1;
        // What the device has, the copy's next fetch brings.
        let on_device = self.world.state.memory()[place.0][place.1].version;
        let is_unordered = looks.was_dropped && looks.loads[place.1] < WAITS;
        match self.sights.saw[index] {
            // Nothing shows that it was this store which it saw.
            Saw::Looked(store)
                if (self.done[store] == 0 || self.done[store] > got.version)
                    && got.value & access.mask() == access.placed() =>
            {
                self.unordered.insert(index);
            }
            Saw::Looked(store)
                if is_unordered && (got.version + 1..=on_device).contains(&self.done[store]) =>
            {
                if !self.is_checked(index) {
                    let at = (access.place, self.world.hosts[id].now);
                    let finding = self.world.fetched_before(id, at, place, self.done[store]);
                    self.note(finding, 0, &[index, store]);
                }
                self.unordered.insert(index);
            }
            Saw::Looked(store) if self.done[store] > 0 && self.is_race(index) => {
                let at = (access.place, self.world.hosts[id].now);
                let finding = self.world.unordered(id, at, place, self.done[store]);
                self.note(finding, 0, &[index, store]);
                self.unordered.insert(index);
            }
            saw @ (Saw::Known(store, _) | Saw::Looked(store)) if self.done[store] > got.version => {
                let missed = self.done[store];
                let finding = self.world.stale(id, (access.place, self.world.hosts[id].now), place, missed);
                let told = if let Saw::Known(_, Some(told)) = saw { told } else { store };
                // Looked for by one host, given back by another.
                let is_lock = matches!(saw, Saw::Looked(_)) && self.recorded.gives_back(store, index);
                self.released.extend(is_lock.then_some(missed));
                self.note(finding, missed, &[index, store, told]);
                self.mend(id, place.0, self.recorded.accesses[store].host);
            }
            Saw::Known(store, Some(told)) if told != store => self.check_order(index, store, told),
            Saw::Nothing | Saw::Known(..) | Saw::Looked(_) => {}
        }
        time
    }

    /// A load may have been made as late as this: what it fetched it may have fetched now.
    fn fetch_again(&mut self, access: &Access) -> Dur {
        let (id, line) = (access.host, access.line);
        let is_clean = self.world.state.copy(id, line).is_some_and(|copy| !copy.dirty);
        let is_on_its_way = self.world.state.in_flight(id).iter().any(|write| write.line == line);
        if is_clean && !is_on_its_way && self.fetched[access.thread] == Some(line) {
            self.world.state.evict(id, line);
            self.world.fetch(id, line);
            self.note_landed(line);
        }
        Dur::ZERO
    }

    /// Whether a plain load saw a store that nothing orders before it, and what is loaded then is not thrown away.
    fn is_race(&mut self, load: usize) -> bool {
        self.sights.races.contains(&load) && !self.is_checked(load)
    }

    fn is_checked(&mut self, load: usize) -> bool {
        self.checks.is_checked(self.recorded, load)
    }

    /// Whether a store went into the line of the word that told of it before that one, and arrives with it.
    fn comes_with(&self, store: usize, told: usize) -> bool {
        let [data, teller] = [store, told].map(|index| &self.recorded.accesses[index]);
        let is_cached = |access: &Access| matches!(access.act, Act::Store | Act::Exchange);
        data.line == teller.line && data.host == teller.host && is_cached(data) && is_cached(teller)
    }

    /// Whether a store was on the device when `told` told of it.
    fn check_order(&mut self, load: usize, store: usize, told: usize) {
        if self.comes_with(store, told) {
            return;
        }
        let [access, teller] = [load, told].map(|index| &self.recorded.accesses[index]);
        let concerned = [load, store, told];
        let (landed, (told_after, told_at)) = (self.landed[self.done[store] as usize], self.began[told]);
        if landed <= told_after || self.world.state.is_coherent(access.line) {
            return;
        }
        let told = Side { host: teller.host, site: teller.place, time: told_at };
        let here = Side { host: access.host, site: access.place, time: self.world.hosts[access.host].now };
        let finding = self.world.told_too_soon(here, (access.line, access.word()), self.done[store], told);
        self.note(finding, 0, &concerned);
    }

    fn store(&mut self, index: usize, access: &Access) -> Dur {
        let (id, place) = (access.host, (access.line, access.word()));
        self.world.stats.references += 1;
        self.keep(access, OpKind::Store, access.value);
        self.check_line(index, access, false);
        let time = self.world.fetch(id, place.0);
        self.note_landed(place.0);
        let old = self.world.state.load(id, place.0, place.1).value;
        let word = self.stored(index, access, old);
        self.world.state.store(id, place.0, place.1, word);
        time
    }

    fn store_past(&mut self, index: usize, access: &Access) -> Dur {
        let (id, place) = (access.host, (access.line, access.word()));
        self.world.stats.references += 1;
        self.keep(access, OpKind::Store, access.value);
        self.check_line(index, access, true);
        let old = self.world.state.copy(id, place.0).map(|copy| copy.words[place.1].value);
        let old = old.unwrap_or(self.world.state.memory()[place.0][place.1].value);
        let word = self.stored(index, access, old);
        self.world.state.store_past(id, place.0, place.1, word);
        self.world.send(id);
        self.world.spec.hit_ns
    }

    /// The word that a store leaves.
    fn stored(&mut self, index: usize, access: &Access, old: u64) -> Word {
        let at = (access.place, self.world.hosts[access.host].now);
        let place = (access.line, access.word());
        let version = self.world.shadow.store(access.host, place, self.sights.tells.contains(&index), at);
        self.done[index] = version;
        self.stored_by.push(index);
        Word { value: old & !access.mask() | access.placed(), version }
    }

    /// Whether another host's write-back destroys what is stored here, or this one's destroys what another host stored.
    fn check_line(&mut self, index: usize, access: &Access, past: bool) {
        let (id, line) = (access.host, access.line);
        if self.world.state.is_coherent(line) {
            return;
        }
        let others = (0..self.recorded.hosts).filter(|host| *host != id);
        let unwritten: Vec<usize> = others.filter(|host| self.has_unwritten(*host, line)).collect();
        if !unwritten.is_empty() && !self.recorded.is_update(index) {
            // One word that both overwrite is whose write-back comes last: the other one's may have come by now.
            for host in &unwritten {
                if self.unwritten_beyond(*host, access).is_none() {
                    self.world.state.evict(*host, line);
                }
            }
            self.note_landed(line);
        }
        if let Some(other) = unwritten.into_iter().find(|host| self.has_unwritten(*host, line)) {
            let last = self.world.shadow.last_by(line, other);
            let text = format!(
                "host {other} has not written the line back, so that whichever of the two does it last destroys the other's bytes"
            );
            self.note_stores(index, access, last, &text);
            self.mend(id, line, other);
        } else if let Some(last) = self.copy_lacks(access, index).filter(|_| !past) {
            let text =
                format!("host {id}'s copy of the line is older, and its write-back destroys those bytes");
            self.note_stores(index, access, last, &text);
            self.mend(id, line, id);
        } else if let Saw::Known(store, Some(told)) = self.sights.saw[index] {
            let (teller, told_after) = (&self.recorded.accesses[told], self.began[told].0);
            if !self.comes_with(store, told) && self.landed[self.done[store] as usize] > told_after {
                let text = format!(
                    "host {} told of that at {}, when it had not been written back, so that its write-back may yet destroy these bytes",
                    teller.host, teller.place
                );
                self.note_stores(index, access, self.done[store], &text);
            }
        }
    }

    /// Whether a host has stored into a line what is not on the device.
    fn has_unwritten(&self, host: usize, line: usize) -> bool {
        let state = &self.world.state;
        state.copy(host, line).is_some_and(|copy| copy.dirty)
            || state.in_flight(host).iter().any(|write| write.line == line && write.only.is_none())
    }

    /// What a host has stored into a line and not written back, besides what a store of another one overwrites.
    fn unwritten_beyond(&self, host: usize, access: &Access) -> Option<Version> {
        let state = &self.world.state;
        let dirty = state.copy(host, access.line).filter(|copy| copy.dirty).map(|copy| &copy.words);
        let sent = || state.in_flight(host).iter().rev().find(|write| write.line == access.line);
        let words = dirty.or_else(|| sent().map(|write| &write.words))?;
        beyond(access, state.memory()[access.line].iter().zip(words).map(|(device, own)| (own, device)))
    }

    /// What the device has of a line that a host's clean copy lacks, besides what the store overwrites without looking.
    fn copy_lacks(&self, access: &Access, index: usize) -> Option<Version> {
        let copy = self.world.state.copy(access.host, access.line).filter(|copy| !copy.dirty)?;
        let words = || self.world.state.memory()[access.line].iter().zip(&copy.words);
        let newer = words().filter(|(device, own)| device.version > own.version);
        let any = newer.map(|(device, _)| device.version).max()?;
        if self.recorded.is_update(index) { Some(any) } else { beyond(access, words()) }
    }

    /// A store into a line into which another host stored, and what is wrong with that.
    fn note_stores(&mut self, index: usize, access: &Access, other: Version, text: &str) {
        let at = (access.place, self.world.hosts[access.host].now);
        let finding = self.world.two_stores(access.host, at, (access.line, access.word()), other, text);
        self.note(finding, 0, &[index, self.stored_by[other as usize]]);
    }

    fn flush(&mut self, access: &Access, kind: FlushKind) -> Dur {
        let address = PM_BASE + access.line as u64 * 64;
        let op = Op { kind: OpKind::Flush(kind), address, size: 8, order: Order::Plain, value: 0 };
        if self.world.state.copy(access.host, access.line).is_none() {
            // It left by itself, and yet what was stored is flushed here for the first time.
            let words = self.world.state.memory()[access.line];
            let at = (access.place, self.world.hosts[access.host].now);
            self.world.shadow.flush(access.host, access.line, &words, at);
        }
        self.world.flush(access.host, &op, kind, access.place);
        if kind != FlushKind::Clwb {
            self.looks.insert((access.host, access.line), Looks { was_dropped: true, loads: [0; 8] });
        }
        self.keep(access, OpKind::Flush(kind), 0);
        let mut time = self.world.spec.flush_ns;
        self.world.stats.flush_time += time;
        if kind == FlushKind::Clflush {
            // It is ordered with other flushes and stores: the next ones wait for it.
            let now = self.world.hosts[access.host].now;
            let until = self.world.acknowledged(access.host).unwrap_or(now).max(now);
            self.world.state.settle(access.host, access.line);
            self.note_landed(access.line);
            self.world.stats.fence_time += until.since(now);
            time += until.since(now);
        }
        time
    }

    fn fence(&mut self, access: &Access) -> Dur {
        let id = access.host;
        self.world.stats.fences += 1;
        self.keep(access, OpKind::Fence(FenceKind::Mfence), 0);
        let now = self.world.hosts[id].now;
        let until = self.world.acknowledged(id).unwrap_or(now).max(now);
        let lines: Vec<usize> = self.world.state.in_flight(id).iter().map(|write| write.line).collect();
        self.world.state.fence(id);
        lines.into_iter().for_each(|line| self.note_landed(line));
        self.world.stats.fence_time += until.since(now);
        until.since(now) + self.world.spec.hit_ns
    }

    fn keep(&mut self, access: &Access, kind: OpKind, value: u64) {
        let address = PM_BASE + access.line as u64 * 64 + access.offset as u64;
        let op = Op { kind, address, size: 8, order: Order::Plain, value };
        let (id, place): (usize, SourceLine) = (access.host, access.place);
        self.world.keep_step(id, self.world.hosts[id].now, &op, value, place);
    }

    fn note(&mut self, finding: Option<Finding>, missed: Version, concerned: &[usize]) {
        let Some(finding) = finding else { return };
        if let Some(known) = self.noted.iter_mut().find(|known| is_same(&known.finding, &finding)) {
            known.times += 1;
        } else if self.noted.len() < MOST_FINDINGS {
            let all: Vec<Step> = self.world.steps().copied().collect();
            let steps = if self.all_steps && all.len() <= MOST_STEPS { all } else { told(&finding, &all) };
            self.noted.push(Noted { finding, missed, times: 1, steps, concerned: concerned.to_vec() });
        }
    }

    /// The line is on the device, `winner`'s bytes last, and nobody's caches have it: what is wrong further on is another mistake.
    fn mend(&mut self, host: usize, line: usize, winner: usize) {
        let others = (0..self.recorded.hosts).filter(|other| ![host, winner].contains(other));
        for host in [host].into_iter().chain(others).chain([winner]) {
            self.world.state.evict(host, line);
        }
        // Long ago: that it was not there has been told.
        self.note_landed_after(line, 1);
    }
}

/// The newest of the words that are newer than their others, but for one whose difference the store overwrites.
fn beyond<'a>(access: &Access, words: impl Iterator<Item = (&'a Word, &'a Word)>) -> Option<Version> {
    let newer = words.enumerate().filter(|(_, (new, old))| new.version > old.version);
    let overwritten = |word: usize, new: &Word, old: &Word| {
        word == access.word() && (new.value ^ old.value) & !access.mask() == 0
    };
    let left = newer.filter(|(word, (new, old))| !overwritten(*word, new, old));
    left.map(|(_, (new, _))| new.version).max()
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
