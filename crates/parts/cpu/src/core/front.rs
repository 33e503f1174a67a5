//! The core's state, and what drives it: messages, its background (store buffer and ordering model), and the
//! clock of its program.

use super::account::{Account, Blocked, Cause};
use super::caches::{Caches, State, Victim};
use super::checkpoint::Checkpoint;
use super::combining::Combining;
use super::misses::Misses;
use super::spec::CoreSpec;
use super::stats::Stats;
use super::store_buffer::StoreBuffer;
use engine::{Mark, Track};
use protocol::Capabilities;
use protocol::{Block, CoreOrdering, EpochId, Line, Msg, Outbox, Peer, Snoop, StatSink, Tally, messages};
use std::collections::VecDeque;
use units::{Dur, Time};

/// Why the program does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    Nothing,
    /// A line has to arrive.
    Line(Line),
    /// A miss register has to become free.
    MissRegister,
    /// The store buffer has to have room.
    Room,
    /// The store buffer has to be empty.
    Drained,
}

pub(super) struct Front {
    pub(super) id: u8,
    pub(super) spec: CoreSpec,
    pub(super) capabilities: Capabilities,
    /// The program's clock.
    pub(super) now: Time,
    /// Nothing may happen here after this time without asking the engine again.
    pub(super) safe_time: Time,
    shortest_wire: Dur,
    /// Before this time the program has nobody to wait for and nothing to bring up to its clock; in the past when
    /// that has to be worked out.
    pub(super) clear_until: Time,
    pub(super) runnable: bool,
    /// A program was given to this core.
    pub(super) loaded: bool,
    /// The operation that waited may be finished.
    pub(super) resumed: bool,
    pub(super) wait: Wait,
    pub(super) wait_from: Time,
    pub(super) result: u64,
    /// The operation under way ends when the store buffer is empty.
    pub(super) waits_for_result: bool,

    pub(super) caches: Caches,
    pub(super) misses: Misses,
    /// How many of them are to be stored to.
    pub(super) store_misses: usize,
    /// Instructions that the program computed besides its references, where it tells them.
    pub(super) computed: u64,
    /// Touches that are under way: the place in the program at which each was made, and its line.
    pub(super) window: VecDeque<(u64, Line)>,
    pub(super) write_back: Vec<Victim>,
    pub(super) deferred: VecDeque<(Line, Snoop)>,
    /// Lines handed over while the persist buffer held writes of them.
    pub(super) owed: Vec<Line>,

    pub(super) store_buffer: StoreBuffer,
    /// The store buffer's head may act from here on.
    pub(super) head_free_at: Time,
    /// The head waits for a message, and whether the ordering model is the reason.
    pub(super) head_blocked: bool,
    /// Attempts of the head to go before it is no longer asked whether it would be refused: one that was refused may well be again.
    pub(super) doubts: u8,
    /// The epoch that the release at the head publishes.
    pub(super) release_epoch: EpochId,
    pub(super) combining: Vec<Combining>,
    /// Lines that the ordering model has written back, in the order in which it asked.
    pub(super) asked: Vec<Line>,
    /// Flushes and non-temporal stores whose acknowledgement is still to come.
    pub(super) unacknowledged: u32,
    /// The store to a register at the head has passed its port.
    pub(super) register_passed: bool,
    /// What a load of a register gave.
    pub(super) register_value: Option<u64>,

    /// What is kept to go back; none where a core never does.
    pub(super) checkpoint: Option<Box<Checkpoint>>,
    pub(super) ordering: Box<dyn CoreOrdering>,
    ordering_next: Time,
    pub(super) outbox: Outbox,

    pub(super) stats: Stats,
    /// When the program's last operation ended; none before the first, and where programs time their operations themselves.
    operation_ended: Option<Time>,
    times_operations: bool,
    /// Where the program's time goes.
    pub(super) account: Account,
    pub(super) marks: Option<Vec<Mark>>,
    last_level: usize,
    pub(super) region_began: Option<Time>,
    pub(super) region_ended: Option<Time>,
    /// Of the time since it began, what lay between its parts.
    pub(super) region_gaps: Dur,
    pub(super) outside_region: Tally,
    /// What was counted when it last ended, if that was told and it has not begun again.
    at_region_end: Option<Tally>,
    pub(super) failure: Option<String>,
    /// Where the region of interest was last bounded.
    pub(super) bound: Option<Time>,
    /// Everything goes the general way: a test holds that the shorter ones are the same.
    #[cfg(test)]
    pub(super) is_general: bool,
}

impl Front {
    pub(super) fn new(id: u8, spec: CoreSpec, ordering: Box<dyn CoreOrdering>) -> Front {
        Front {
            id,
            capabilities: ordering.capabilities(),
            now: Time::ZERO,
            safe_time: Time::ZERO,
            shortest_wire: Dur::ZERO,
            clear_until: Time::ZERO,
            runnable: false,
            loaded: false,
            resumed: false,
            wait: Wait::Nothing,
            wait_from: Time::ZERO,
            result: 0,
            waits_for_result: false,
            caches: Caches::new(spec.l1, spec.l2),
            misses: Misses::new(spec.outstanding_misses),
            store_misses: 0,
            computed: 0,
            window: VecDeque::with_capacity(spec.outstanding_misses),
            write_back: Vec::with_capacity(spec.write_back_buffer),
            deferred: VecDeque::new(),
            owed: Vec::new(),
            store_buffer: StoreBuffer::new(spec.store_buffer),
            head_free_at: Time::ZERO,
            head_blocked: false,
            doubts: 0,
            release_epoch: 0,
            combining: Vec::with_capacity(spec.write_combining + 1),
            asked: Vec::new(),
            unacknowledged: 0,
            register_passed: false,
            register_value: None,
            checkpoint: ordering.checkpoints().map(|spec| Box::new(Checkpoint::new(spec))),
            ordering,
            ordering_next: Time::NEVER,
            outbox: Outbox::default(),
            stats: Stats::default(),
            operation_ended: None,
            times_operations: true,
            account: Account::default(),
            marks: None,
            last_level: 0,
            region_began: None,
            region_ended: None,
            region_gaps: Dur::ZERO,
            outside_region: Tally::default(),
            at_region_end: None,
            failure: None,
            bound: None,
            #[cfg(test)]
            is_general: false,
            spec,
        }
    }

    /// Whether what is frequent and simple may go a way of its own.
    #[inline]
    pub(super) fn takes_short_ways(&self) -> bool {
        #[cfg(test)]
        return !self.is_general;
        #[cfg(not(test))]
        true
    }

    pub(super) fn set_safe_time(&mut self, safe_time: Time, shortest_wire: Dur) {
        self.safe_time = safe_time;
        self.shortest_wire = shortest_wire;
        self.clear_until = Time::ZERO;
    }

    /// A message at `now`: nothing local before it is left to do.
    pub(super) fn message(&mut self, now: Time, from: Peer, msg: &Msg) {
        match *msg {
            Msg::Data { line, ref data, grant, tag } => self.arrived(now, line, data, grant, tag),
            Msg::Snoop { line, kind } => self.snoop(now, line, kind),
            Msg::CleanAck { line } if self.takes_written_back(line) => {
                self.ordering.on(now, Peer::Caches, msg, &mut self.outbox);
                self.ordering_progressed(now);
            }
            Msg::CleanAck { .. } | Msg::UncachedAck => {
                let Some(left) = self.unacknowledged.checked_sub(1) else {
                    return self.acknowledged_already(from);
                };
                self.unacknowledged = left;
                self.emit_whole(now, 0);
                self.unblock_head(now);
                self.request_refused_stores(now);
            }
            Msg::UncachedPassed => {
                self.register_passed = true;
                self.unblock_head(now);
            }
            Msg::UncachedReply { value } => {
                self.register_value = Some(value);
                self.unblock_head(now);
            }
            Msg::Misread { .. } => self.misread(now),
            Msg::Recalled { .. } => self.recalled(now),
            messages!(ordering) => {
                self.ordering.on(now, from, msg, &mut self.outbox);
                self.ordering_progressed(now);
            }
            messages!(timers | requests | accesses | answers | register_accesses | near) => {
                protocol::unexpected("a core", msg)
            }
        }
        self.after_ordering(now);
    }

    /// An acknowledgement came that nothing waits for.
    #[cold]
    #[inline(never)]
    fn acknowledged_already(&mut self, from: Peer) {
        let who = match from {
            Peer::Controller(index) => format!("pm {index}"),
            Peer::Commands => "the port of uncached accesses".into(),
            Peer::Directory | Peer::Caches => "the directory".into(),
            Peer::TimestampRegister => "the node that cores share".into(),
            Peer::Core(index) => format!("core {index}"),
        };
        self.failure.get_or_insert_with(|| {
            format!(
                "{who} acknowledged a write of core {}, which waits for none; this is a fault of the model",
                self.id
            )
        });
    }

    /// When the background has something to do.
    #[inline]
    pub(super) fn background_next(&self) -> Time {
        self.head_next().min(self.ordering_next)
    }

    #[inline]
    fn head_next(&self) -> Time {
        match self.store_buffer.head() {
            Some(head) if !self.head_blocked => self.head_free_at.max(head.ready),
            _ => Time::NEVER,
        }
    }

    /// One step of the background at `at`: the ordering model first, then the store buffer.
    pub(super) fn background(&mut self, at: Time) {
        if self.ordering_next <= at {
            self.ordering.tick(at, &mut self.outbox);
            self.ordering_progressed(at);
        } else if self.doubts > 0 && self.is_refused() {
            self.head_blocked = true;
            self.account.blocked(Blocked::Ordering);
        } else if self.head_is_alone() && self.drain_plain(at) {
            // The ordering model was not asked.
            return self.shrink_safe_time();
        } else {
            self.drain_head(at);
        }
        self.after_ordering(at);
    }

    /// Whether this core passes something on as soon as its turn comes: an answer that it owes the directory, or word
    /// of a commit. Otherwise it only ever asks.
    #[inline]
    pub(super) fn has_pending_replies(&self) -> bool {
        !self.deferred.is_empty() || self.ordering.has_pending_replies()
    }

    /// When the program has something to do.
    #[inline]
    pub(super) fn program_next(&self) -> Time {
        if self.runnable { self.now } else { Time::NEVER }
    }

    /// Sends to the directory at `at`.
    pub(super) fn send(&mut self, at: Time, msg: Msg) {
        self.outbox.send(at, Peer::Directory, msg);
    }

    /// After every call into the ordering model: its next timer, its level, and the safe time that is left.
    fn after_ordering(&mut self, at: Time) {
        self.ordering_next = self.ordering.next();
        self.shrink_safe_time();
        if let Some(marks) = &mut self.marks {
            let level = self.ordering.level();
            if level != self.last_level {
                self.last_level = level;
                marks.push(Mark::Level { track: Track("persist buffer"), at, value: level as u64 });
            }
        }
    }

    /// What is sent can be answered: an answer arrives later than one shortest wire after the sending.
    pub(super) fn shrink_safe_time(&mut self) {
        self.clear_until = Time::ZERO;
        if let Some(first) = self.outbox.0.iter().map(|(at, ..)| *at).min() {
            self.safe_time = self.safe_time.min(first + self.shortest_wire);
        }
    }

    /// The ordering model moved: whoever waited for it tries again.
    fn ordering_progressed(&mut self, now: Time) {
        if self.capabilities.takes_flushes {
            // Before anything else can take a line away that it asked for.
            self.write_back_asked();
        }
        self.unblock_head(now);
        self.retry_fills(now);
        if !self.deferred.is_empty() {
            self.retry_snoops(now);
        }
        if !self.write_back.is_empty() {
            self.release_write_backs(now);
        }
        if !self.owed.is_empty() {
            self.settle_owed(now);
        }
        if self.checkpoint.is_some() {
            self.look_whether_drained(now);
        }
    }

    pub(super) fn unblock_head(&mut self, now: Time) {
        if self.head_blocked {
            self.head_blocked = false;
            self.head_free_at = self.head_free_at.max(now);
        }
    }

    /// The program waits from its present time on.
    pub(super) fn wait_for(&mut self, wait: Wait) {
        self.wait = wait;
        self.wait_from = self.now;
        self.runnable = false;
        let held_up = match wait {
            Wait::Room => self.store_buffer.head().map(|head| head.kind),
            Wait::Drained => self.store_buffer.last().map(|last| last.kind),
            Wait::Nothing | Wait::Line(_) | Wait::MissRegister => None,
        };
        self.account.waits(self.now, held_up);
    }

    /// What the program waited for is there at `at`.
    pub(super) fn resume(&mut self, at: Time, wait: Wait) {
        if self.wait != wait {
            return;
        }
        self.wait = Wait::Nothing;
        self.runnable = true;
        self.resumed = true;
        self.now = self.now.max(at);
        self.account_stall();
    }

    fn account_stall(&mut self) {
        let lasted = self.now - self.wait_from;
        let cause = self.account.waited(self.now);
        self.stats.waited(cause, lasted);
        if lasted > Dur::ZERO
            && let Some(marks) = &mut self.marks
        {
            let name = cause.stall_name();
            marks.push(Mark::Span { track: Track("stall"), name, from: self.wait_from, lasts: lasted });
        }
    }

    /// One of the program's operations is done. What came before a core's first operation is no operation's time.
    pub(super) fn operation_done(&mut self) {
        self.stats.operations += 1;
        // Whoever tells the world does so by a store or more, and where a fence holds only these, behind it.
        if !self.spec.sfence_blocks && !self.capabilities.orders_stores {
            self.store_buffer.end_operation();
        }
        if !self.times_operations {
            return;
        }
        if let Some(before) = self.operation_ended.replace(self.now) {
            self.stats.operation_time.add(self.now.since(before));
        }
    }

    /// The program says what an operation took.
    pub(super) fn took(&mut self, time: Dur) {
        self.times_operations = false;
        self.stats.operation_time.add(time);
    }

    pub(super) fn end_program(&mut self) {
        self.runnable = false;
        if self.region_began.is_some() && self.region_ended.is_none() {
            self.region_ended = Some(self.now);
            self.account.end(self.now);
        }
        self.account.charge(self.now, Cause::Compute);
    }

    /// The region of interest begins or ends. One that begins once more leaves out what lay between.
    pub(super) fn region(&mut self, starts: bool) {
        if !starts {
            self.region_ended = Some(self.now);
            self.account.end(self.now);
            self.at_region_end = Some(self.counted(self.now));
        } else if self.region_began.is_none() {
            self.region_began = Some(self.now);
            self.operation_ended = None;
            self.account.begin(self.now);
            self.outside_region = self.counted(self.now);
        } else if let Some(ended) = self.region_ended.take() {
            self.region_gaps += self.now.since(ended);
            self.operation_ended = None;
            self.account.begin_again(self.now);
            let between = self.counted_behind_region(self.now);
            self.outside_region.add(&between);
        } else {
            return;
        }
        // Shared devices are asked what they had counted until now.
        (self.safe_time, self.clear_until) = (self.safe_time.min(self.now), Time::ZERO);
        self.bound = Some(self.now);
    }

    /// The latest time to which this core may act in an event at `now`: the region's last bound, unless the event comes after
    /// it. Shared devices are asked what they had counted before the first event that does.
    #[inline]
    pub(super) fn halts_at(&self, now: Time) -> Time {
        self.bound.filter(|bound| *bound >= now).unwrap_or(Time::NEVER)
    }

    /// The region of interest was not open for so long of what this core took for it.
    pub(super) fn skipped(&mut self, gap: Dur) {
        self.region_gaps += gap;
        self.account.skip(self.now, gap);
    }

    fn counted(&mut self, now: Time) -> Tally {
        let mut counted = Tally::default();
        self.hand_up(now, &mut counted);
        counted
    }

    /// What was counted since the region ended, if an end was told.
    fn counted_behind_region(&mut self, now: Time) -> Tally {
        let Some(before) = self.at_region_end.take() else { return Tally::default() };
        let mut counted = self.counted(now);
        counted.subtract(&before);
        counted
    }

    /// What was counted up to `now` since the region ended, or in all where none was told.
    pub(super) fn counted_beside_region(&mut self, now: Time) -> Tally {
        if self.region_began.is_some() { self.counted_behind_region(now) } else { self.counted(now) }
    }

    pub(super) fn hand_up(&mut self, now: Time, sink: &mut dyn StatSink) {
        self.stats.hand_up(sink);
        if self.capabilities.orders_stores {
            self.stats.path.hand_up(sink);
        }
        if let Some(kept) = &self.checkpoint {
            kept.stats.hand_up(sink);
        }
        self.ordering.stats(now, sink);
    }

    pub(super) fn modified_lines(&self) -> impl Iterator<Item = (Line, &Block)> {
        let waiting = self.write_back.iter().map(|v| (v.line, &v.data));
        self.caches.modified().chain(waiting).filter(|(line, _)| line.is_pm())
    }

    /// The bytes of a line that the caches have changed.
    pub(super) fn changed(&self, line: Line) -> Option<&Block> {
        let cached = self.caches.find(line).filter(|slot| self.caches.state(*slot) == State::Modified);
        let waiting = || self.write_back.iter().find(|v| v.line == line).map(|v| &v.data);
        cached.map(|slot| self.caches.data(slot)).or_else(waiting)
    }

    pub(super) fn has_changed(&self, line: Line) -> bool {
        if self.capabilities.persist_path {
            return self.ordering.holds(line);
        }
        self.changed(line).is_some()
    }

    pub(super) fn waits_for(&self) -> String {
        let what = match self.wait {
            Wait::Nothing => "nothing".into(),
            Wait::Line(line) => format!("the line at {:#x}", line.address()),
            Wait::MissRegister => "a miss register".into(),
            Wait::Room => "room in its store buffer".into(),
            Wait::Drained => "its store buffer to be empty".into(),
        };
        let head = self.store_buffer.head().map(|head| format!(", first of it {}", head.called()));
        format!(
            "core {} waits for {what} since {}; store buffer: {}{}; lines asked for: {}; writes not acknowledged: {}; persist buffer: {}",
            self.id,
            self.wait_from,
            self.store_buffer.entries().count(),
            head.unwrap_or_default(),
            self.misses.len(),
            self.unacknowledged,
            self.ordering.level()
        )
    }
}
