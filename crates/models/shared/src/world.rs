//! Hosts' cores with a program each, in simulated time: the one with the earliest clock acts next, the lower number first.
//!
//! Cores are numbered over all hosts, those of one host one after the other; they share its caches and its link.

use crate::device::Cut;
use crate::finding::{Finding, Side};
use crate::looks::{self, Look};
use crate::params::SharedParameters;
use crate::schedule::{Accesses, Happens, What};
use crate::shadow::{Shadow, Version, Word};
use crate::source_line::SourceLine;
use crate::state::{Keep, State};
use crate::stats::SharedStats;
use protocol::{FlushKind, Op, OpKind, PM_BASE};
use std::collections::VecDeque;
use units::{Dur, Time, watch};

/// Accesses of a run of which the last are kept for people.
const KEPT: usize = 4096;
/// An access, for people.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// When it began.
    pub time: Time,
    /// By which host.
    pub host: usize,
    /// What, in a word.
    pub what: &'static str,
    /// The word's address, none for a fence.
    pub address: Option<u64>,
    /// The value of a load or a store.
    pub value: Option<u64>,
    /// Where in the program.
    pub site: SourceLine,
}

/// Accesses between two looks at whether the work is to stop.
const LOOK: u64 = 1 << 12;

/// No core, at no time.
const NOBODY: (Time, usize) = (Time::NEVER, usize::MAX);

/// A host's core.
pub(crate) struct HostCore {
    pub(crate) now: Time,
    pub(crate) asked: Option<(Op, SourceLine)>,
    /// Where it last was.
    pub(crate) last: Option<SourceLine>,
    pub(crate) answer: Option<u64>,
    pub(crate) is_alive: bool,
    pub(crate) has_ended: bool,
    pub(crate) stopped: Option<Side>,
    pub(crate) told_gone: Vec<bool>,
    pub(crate) operations: u64,
    pub(crate) accesses: Accesses,
    /// How much longer its next write takes.
    linger: Dur,
    /// When its host's link is free.
    link_free: Time,
    /// When its host's lost link is back, and when it is given up where that is sooner.
    pub(crate) link_back: Option<(Time, Option<Time>)>,
    /// It stopped because its link was lost for too long.
    pub(crate) is_fenced_off: bool,
    fetched: Fetched,
    /// Words that it looks at again and again.
    pub(crate) looks: Vec<Look>,
}

/// Lines that a host fetched; of some its caches have no copy any more.
#[derive(Default)]
struct Fetched {
    /// Of each line, the how many-th fetch was its last; 0 where there was none.
    last: Vec<u64>,
    /// Lines that were fetched.
    lines: usize,
    all: u64,
}

impl HostCore {
    fn new(all: usize) -> HostCore {
        HostCore {
            now: Time::ZERO,
            asked: None,
            last: None,
            answer: None,
            is_alive: true,
            has_ended: false,
            stopped: None,
            told_gone: vec![false; all],
            operations: 0,
            accesses: Accesses::default(),
            linger: Dur::ZERO,
            link_free: Time::ZERO,
            link_back: None,
            is_fenced_off: false,
            fetched: Fetched::default(),
            looks: Vec::new(),
        }
    }

    /// Whether its program can go on.
    pub(crate) fn runs(&self) -> bool {
        self.is_alive && !self.has_ended
    }
}

/// All hosts and what they share.
pub(crate) struct World {
    pub(crate) spec: SharedParameters,
    pub(crate) state: State<Word, 8>,
    pub(crate) shadow: Shadow,
    /// Cores of all hosts. What there is once for each host, its first one has.
    pub(crate) hosts: Vec<HostCore>,
    /// Cores of each host.
    cores: usize,
    pub(crate) locks: Vec<u64>,
    schedule: Vec<Happens>,
    pub(crate) stats: SharedStats,
    steps: VecDeque<Step>,
    pub(crate) keeps_steps: bool,
    /// The first thing that was wrong, and the store whose bytes were missed.
    pub(crate) found: Option<(Finding, Version)>,
    /// When anything but looking last happened.
    pub(crate) progress: Time,
    /// When an operation or a host last ended.
    pub(crate) ended: Time,
    /// Nothing arrives and no link comes back before that.
    due: Time,
    /// Hosts whose links are lost.
    pub(crate) lost_links: usize,
    /// How long only looking may go on.
    pub(crate) patience: Dur,
    /// When the device has brought the last line to its media that it has brought there.
    pub(crate) drained: Time,
    /// What the power left when it failed.
    pub(crate) power: Option<Cut>,
    /// Whether a program goes on by itself as long as its core is the next one.
    pub(crate) runs_ahead: bool,
    /// The core that comes after the one that is next, and when.
    then: (Time, usize),
    /// Until then at least it has not been too long that nothing but looking happens.
    pub(crate) patient_until: Time,
    pub(crate) acted: u64,
}

/// What is done with an access.
enum Done {
    /// It takes so long, and gives this.
    After(Dur, u64),
    /// It is to be asked again then.
    Again(Time),
}

impl World {
    /// So many hosts, each with so many cores.
    pub(crate) fn new(
        spec: SharedParameters,
        each: (usize, usize),
        lines: usize,
        schedule: Vec<Happens>,
    ) -> World {
        let coherent = spec.coherent();
        let coherent = (0..lines).map(|line| coherent.has(line as u64)).collect();
        World::of_lines(spec, each, coherent, schedule)
    }

    /// The same, told of each line whether hardware keeps it coherent.
    pub(crate) fn of_lines(
        spec: SharedParameters,
        (hosts, cores): (usize, usize),
        coherent: Vec<bool>,
        schedule: Vec<Happens>,
    ) -> World {
        let lines = coherent.len();
        let is_buffered = schedule.iter().any(|h| matches!(h.what, What::PowerFails(_)));
        let state = State::new(hosts, vec![[Word::default(); 8]; lines], coherent);
        World {
            state: state.buffered(if is_buffered { spec.buffer_lines } else { 0 }),
            shadow: Shadow::new((hosts, cores), lines),
            hosts: (0..hosts * cores).map(|_| HostCore::new(hosts * cores)).collect(),
            cores,
            locks: Vec::new(),
            schedule,
            stats: SharedStats::default(),
            steps: VecDeque::new(),
            keeps_steps: false,
            found: None,
            progress: Time::ZERO,
            ended: Time::ZERO,
            due: Time::NEVER,
            lost_links: 0,
            patience: looks::patience(&spec),
            drained: Time::ZERO,
            power: None,
            runs_ahead: false,
            then: NOBODY,
            patient_until: Time::ZERO,
            acted: 0,
            spec,
        }
    }

    /// The host of a core.
    pub(crate) fn host_of(&self, core: usize) -> usize {
        core / self.cores
    }

    /// The cores of a host.
    pub(crate) fn cores_of(&self, host: usize) -> std::ops::Range<usize> {
        host * self.cores..(host + 1) * self.cores
    }

    /// What there is once of a host: its first core has it.
    pub(crate) fn first_of(&mut self, host: usize) -> &mut HostCore {
        let first = self.cores_of(host).start;
        &mut self.hosts[first]
    }

    /// The last accesses.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter()
    }

    /// The host that stopped, and where.
    pub(crate) fn stopped(&self) -> Option<Side> {
        self.hosts.iter().find_map(|host| host.stopped)
    }

    /// Notes what is wrong; the first is the cause of what comes after it.
    pub(crate) fn note(&mut self, finding: Option<Finding>, missed: Version) {
        if self.found.is_none() {
            self.found = finding.map(|finding| (finding, missed));
        }
    }

    /// The core whose access is next.
    pub(crate) fn next(&mut self) -> Option<usize> {
        let (mut next, mut then) = (NOBODY, NOBODY);
        for (id, host) in self.hosts.iter().enumerate() {
            if !host.runs() || host.asked.is_none() {
                continue;
            }
            if host.now < next.0 {
                (next, then) = ((host.now, id), next);
            } else if host.now < then.0 {
                then = (host.now, id);
            }
        }
        self.then = then;
        (next != NOBODY).then_some(next.1)
    }

    /// Whether a core's program may go on by itself: no other core comes before it, and there is no end to be told of.
    pub(crate) fn is_ahead(&mut self, id: usize) -> bool {
        let host = &self.hosts[id];
        self.runs_ahead && (host.now, id) < self.then && host.runs() && !self.is_stuck(id)
    }

    /// Where a core is: at its next access, or at its last.
    ///
    /// # Panics
    /// Of a core that has neither.
    pub(crate) fn side(&self, id: usize) -> Side {
        let host = &self.hosts[id];
        let site = host.asked.map(|(_, site)| site).or(host.last);
        Side { host: self.host_of(id), site: site.expect("a core that has begun"), time: host.now }
    }

    /// Writes that hosts have sent to the device.
    pub(crate) fn sent(&self) -> u64 {
        self.stats.writes + self.stats.evictions
    }

    /// Does the next access of a core, or what happens before it.
    pub(crate) fn act(&mut self, id: usize) {
        let now = self.hosts[id].now;
        self.acted += 1;
        if self.acted.is_multiple_of(LOOK) {
            watch::check();
        }
        if self.shadow.is_full() {
            self.forget();
        }
        self.catch_up(now);
        let Some((op, site)) = self.hosts[id].asked.filter(|_| self.hosts[id].is_alive) else { return };
        if !self.gets_to(id, site) {
            return;
        }
        match self.carry_out(id, &op, site) {
            Done::Again(time) => self.hosts[id].now = time,
            Done::After(time, value) => {
                let host = &mut self.hosts[id];
                (host.now, host.asked, host.answer) = (now + time, None, Some(value));
                host.last = Some(site);
                if op.order.releases() || matches!(op.kind, OpKind::Flush(_) | OpKind::Fence(_)) {
                    host.accesses.tells();
                }
                host.accesses.all += 1;
                if self.keeps_steps {
                    self.keep_step(id, now, &op, value, site);
                }
            }
        }
    }

    /// What is due by now has happened: writes have arrived, links are back or given up, the device has drained.
    #[inline]
    pub(crate) fn catch_up(&mut self, now: Time) {
        if self.state.buffer > 0 {
            self.drain_until(now);
        }
        if now >= self.due {
            self.arrive(now);
        }
    }

    fn arrive(&mut self, now: Time) {
        let mut due = Time::NEVER;
        for host in 0..self.state.hosts() {
            if self.lost_links > 0 {
                self.link_until(host, now);
                let back = self.first_of(host).link_back.map(|(back, given_up)| given_up.unwrap_or(back));
                due = due.min(back.unwrap_or(Time::NEVER));
            }
            let mut index = 0;
            while let Some(write) = self.state.in_flight(host).get(index) {
                if write.stamp <= now.ps() {
                    // An earlier one to the same line went first.
                    self.state.land(host, index);
                    index = 0;
                } else {
                    due = due.min(Time::from_ps(write.stamp));
                    index += 1;
                }
            }
        }
        self.due = due;
    }

    /// What happens to a core before its next access; whether it gets to that now.
    fn gets_to(&mut self, id: usize, site: SourceLine) -> bool {
        let access = self.hosts[id].accesses.all;
        while let Some(index) = self.schedule.iter().position(|h| h.core == id && h.access == access) {
            let now = self.hosts[id].now;
            match self.schedule.swap_remove(index).what {
                What::Pause(time) => {
                    self.hosts[id].now = now + time;
                    self.progress = self.progress.max(now + time);
                    return false;
                }
                What::Linger(time) => self.hosts[id].linger = time,
                What::Evict(pick) => self.evict_one(id, pick),
                What::Crash => {
                    self.crash(self.host_of(id), site, now);
                    return false;
                }
                What::LinkFails(time) => self.link_fails(id, time),
                What::PowerFails(lines) => {
                    let at = Side { host: self.host_of(id), site, time: now };
                    self.power = Some(self.cut(at, lines));
                    self.hosts.iter_mut().for_each(|host| host.has_ended = true);
                    return false;
                }
            }
        }
        true
    }

    fn evict_one(&mut self, id: usize, pick: u64) {
        let host = self.host_of(id);
        if self.state.is_cut_off(host) {
            return;
        }
        let cached: Vec<usize> = self.state.cached(host).collect();
        if let Some(line) = cached.get((pick % cached.len().max(1) as u64) as usize) {
            self.stats.evictions += u64::from(self.state.evict(host, *line));
        }
    }

    /// A host stops, with all its cores, as one of them is at `site`.
    pub(crate) fn crash(&mut self, host: usize, site: SourceLine, time: Time) {
        self.state.crash(host);
        let memory = self.state.memory();
        self.shadow.lose(host, |(line, word)| memory[line][word].version);
        self.lost_links -= usize::from(self.first_of(host).link_back.take().is_some());
        for core in self.cores_of(host) {
            self.hosts[core].is_alive = false;
            self.hosts[core].stopped = Some(Side { host, site, time });
        }
        self.went_on(time + self.spec.detect_ns);
    }

    /// Something happens then: whoever waits for it cannot end an operation before.
    pub(crate) fn went_on(&mut self, then: Time) {
        self.progress = self.progress.max(then);
        self.ended = self.ended.max(then);
    }

    /// A host's link is lost for `time` from `now` on.
    pub(crate) fn hold_link(&mut self, host: usize, now: Time, time: Dur) {
        let host = self.first_of(host);
        host.link_free = host.link_free.max(now) + time;
    }

    /// Something is due then.
    pub(crate) fn is_due(&mut self, then: Time) {
        self.due = self.due.min(then);
    }

    /// A line over the link of a core's host, from `now` on: how long until it has gone through.
    fn over_link(&mut self, id: usize, now: Time) -> Dur {
        let line_ns = self.spec.line_ns;
        let host = self.first_of(self.host_of(id));
        host.link_free = host.link_free.max(now) + line_ns;
        host.link_free.since(now) + self.spec.link_ns + self.spec.device_ns
    }

    fn carry_out(&mut self, id: usize, op: &Op, site: SourceLine) -> Done {
        let now = self.hosts[id].now;
        if let Some(then) = self.link_awaited(id, op) {
            return Done::Again(then);
        }
        match op.kind {
            OpKind::Load | OpKind::Prefetch | OpKind::Rmw(_) => {
                self.stats.references += 1;
                let (time, value) = self.load(id, op, site);
                if let OpKind::Rmw(kind) = op.kind
                    && let Some(new) = kind.apply(value, op.value)
                {
                    self.store(id, &Op { value: new, ..*op }, site);
                }
                Done::After(time, value)
            }
            OpKind::Store => {
                self.stats.references += 1;
                Done::After(self.store(id, op, site), 0)
            }
            OpKind::StoreNonTemporal => {
                self.stats.references += 1;
                self.store_past(id, op, site);
                Done::After(self.spec.hit_ns, 0)
            }
            OpKind::Flush(kind) => {
                self.flush(id, op, kind, site);
                self.stats.flush_time += self.spec.flush_ns;
                Done::After(self.spec.flush_ns, 0)
            }
            OpKind::Fence(_) => match self.acknowledged(id) {
                Some(acknowledged) => {
                    self.stats.fence_time += acknowledged.since(now);
                    Done::Again(acknowledged)
                }
                None => {
                    self.stats.fences += 1;
                    Done::After(self.spec.hit_ns, 0)
                }
            },
            OpKind::Compute => Done::After(Dur::ps(op.value), 0),
            OpKind::Await => Done::After(Dur::ZERO, 0),
        }
    }

    /// When a core knows that all it flushed is there; none where nothing of it is on its way. What other cores of its host sent
    /// is theirs to wait for, but for lines that this one flushed after that.
    pub(crate) fn acknowledged(&self, id: usize) -> Option<Time> {
        let own = self.state.in_flight(self.host_of(id)).iter().filter(|write| write.cores >> id & 1 == 1);
        let last = own.map(|w| w.stamp).max()?;
        Some(Time::from_ps(last) + self.spec.link_ns)
    }

    /// The line is in the host's caches; how long that takes.
    pub(crate) fn fetch(&mut self, id: usize, line: usize) -> Dur {
        let host = self.host_of(id);
        if self.state.copy(host, line).is_some() {
            return self.spec.hit_ns;
        }
        self.stats.fetches += 1;
        let now = self.hosts[id].now;
        let time = self.over_link(id, now) + self.spec.link_ns + self.spec.hit_ns;
        self.stats.fetch_time += time;
        self.make_room(host, line);
        time
    }

    /// A host's caches have room for a line that comes: what was dropped from them takes none, and of what is left the first that
    /// came goes.
    fn make_room(&mut self, host: usize, line: usize) {
        let most = self.spec.cache_lines;
        let (lines, first) = (self.state.memory().len(), self.cores_of(host).start);
        let fetched = &mut self.hosts[first].fetched;
        fetched.last.resize(lines, 0);
        fetched.all += 1;
        if std::mem::replace(&mut fetched.last[line], fetched.all) != 0 {
            return;
        }
        fetched.lines += 1;
        if fetched.lines > most {
            fetched.lines -= 1;
            let order = |other: &usize| (self.state.copy(host, *other).is_some(), fetched.last[*other]);
            let came = (0..lines).filter(|other| fetched.last[*other] != 0 && *other != line);
            let goes = came.min_by_key(order);
            goes.into_iter().for_each(|line| fetched.last[line] = 0);
            self.stats.evictions += u64::from(goes.is_some_and(|line| self.state.evict(host, line)));
        }
    }

    fn load(&mut self, id: usize, op: &Op, site: SourceLine) -> (Dur, u64) {
        let (place, at) = (place_of(op.address), (site, self.hosts[id].now));
        let time = self.fetch(id, place.0);
        let host = self.host_of(id);
        let got = self.state.load(host, place.0, place.1);
        if let Some(missed) = self.shadow.stale(id, place, got.version) {
            self.note(self.stale(host, at, place, missed), missed);
        }
        if op.order.acquires() {
            self.look(id, at, place, got.version);
            self.shadow.acquire(id, got.version);
        } else if self.shadow.is_unordered(id, got.version) {
            self.note(self.unordered(host, at, place, got.version), 0);
        }
        (time, got.value)
    }

    fn store(&mut self, id: usize, op: &Op, site: SourceLine) -> Dur {
        let (place, at) = (place_of(op.address), (site, self.hosts[id].now));
        let time = self.fetch(id, place.0);
        let host = self.host_of(id);
        let is_own = self.state.copy(host, place.0).is_some_and(|copy| copy.dirty);
        self.check_conflict(id, at, place, None);
        let version = self.stored(id, op, place, at);
        self.state.store(host, place.0, place.1, Word { value: op.value, version });
        let copy = self.state.copy(host, place.0).map(|copy| copy.words).filter(|_| !is_own);
        if let Some(other) = copy.and_then(|words| self.shadow.lacks(id, place, &words)) {
            self.note(self.lacking(host, at, place, other), 0);
        }
        time
    }

    /// Two hosts' stores into a line that nothing orders: no harm where hardware keeps it coherent.
    fn check_conflict(
        &mut self,
        id: usize,
        at: (SourceLine, Time),
        place: (usize, usize),
        only: Option<usize>,
    ) {
        let other = self.shadow.conflict(id, place.0, only).filter(|_| !self.state.is_coherent(place.0));
        if let Some(other) = other {
            self.note(self.conflict(self.host_of(id), at, place, other), 0);
        }
    }

    fn stored(&mut self, id: usize, op: &Op, place: (usize, usize), at: (SourceLine, Time)) -> Version {
        self.shadow.store(id, place, op.order.releases(), at)
    }

    /// A word goes to the device, past the caches.
    fn store_past(&mut self, id: usize, op: &Op, site: SourceLine) {
        let (place, at) = (place_of(op.address), (site, self.hosts[id].now));
        self.check_conflict(id, at, place, Some(place.1));
        let version = self.stored(id, op, place, at);
        self.state.store_past(self.host_of(id), place.0, place.1, Word { value: op.value, version });
        self.send(id);
    }

    /// What was just handed over is on its way.
    pub(crate) fn send(&mut self, id: usize) {
        self.stats.writes += 1;
        let now = self.hosts[id].now;
        let linger = std::mem::take(&mut self.hosts[id].linger);
        let lands = now + self.over_link(id, now) + linger;
        self.state.stamp(self.host_of(id), lands.ps(), id);
        self.is_due(lands);
    }

    pub(crate) fn flush(&mut self, id: usize, op: &Op, kind: FlushKind, site: SourceLine) {
        let (line, _) = place_of(op.address);
        self.stats.flushes += 1;
        let keep = match kind {
            FlushKind::Clwb => Keep::Copy,
            FlushKind::Clflushopt | FlushKind::Clflush | FlushKind::WriteBackInvalidate => Keep::Nothing,
        };
        let host = self.host_of(id);
        if let Some(copy) = self.state.copy(host, line) {
            self.shadow.flush(host, line, &copy.words, (site, self.hosts[id].now));
        }
        if self.state.flush(host, line, keep) {
            self.send(id);
        }
        self.state.flushed_too(host, line, id);
    }

    pub(crate) fn keep_step(&mut self, id: usize, time: Time, op: &Op, value: u64, site: SourceLine) {
        let (what, address, value) = match op.kind {
            OpKind::Load | OpKind::Prefetch => ("loads", Some(op.address), Some(value)),
            OpKind::Store | OpKind::StoreNonTemporal | OpKind::Rmw(_) => {
                ("stores", Some(op.address), Some(op.value))
            }
            OpKind::Flush(FlushKind::Clwb) => ("flushes", Some(op.address), None),
            OpKind::Flush(_) => ("invalidates", Some(op.address), None),
            OpKind::Fence(_) => ("fences", None, None),
            OpKind::Compute | OpKind::Await => return,
        };
        if self.steps.len() == KEPT {
            self.steps.pop_front();
        }
        let host = self.host_of(id);
        self.steps.push_back(Step { time, host, what, address, value, site });
    }

    /// A host is one operation further.
    pub(crate) fn operation_ended(&mut self, id: usize) {
        let host = &mut self.hosts[id];
        host.operations += 1;
        host.looks.clear();
        (self.progress, self.ended) = (self.progress.max(host.now), self.ended.max(host.now));
        self.stats.operations += 1;
    }
}

/// The line and the word of an address.
pub(crate) fn place_of(address: u64) -> (usize, usize) {
    let offset = address - PM_BASE;
    ((offset / 64) as usize, (offset % 64 / 8) as usize)
}
