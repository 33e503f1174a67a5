//! Where a core's time goes: every stretch of its program's clock is charged to one cause, when it ends.

use super::store_buffer::Kind;
use params::Statistics;
use protocol::{Activity, StatSink, WouldBlock};
use units::{Dur, Time};

/// Why the program's clock went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Compute,
    Memory,
    Fences,
    BufferFull,
    Devices,
    Locks,
    Kernel,
}

impl Cause {
    /// As a wait for it is called on a timeline.
    pub(super) fn stall_name(self) -> &'static str {
        match self {
            Cause::Fences => "fence",
            Cause::BufferFull => "persist buffer full",
            Cause::Memory | Cause::Devices | Cause::Compute | Cause::Locks | Cause::Kernel => self.name(),
        }
    }

    /// As the statistic is called.
    fn name(self) -> &'static str {
        match self {
            Cause::Compute => "compute",
            Cause::Memory => "memory",
            Cause::Fences => "fences",
            Cause::BufferFull => "buffer_full",
            Cause::Devices => "devices",
            Cause::Locks => "locks",
            Cause::Kernel => "kernel",
        }
    }
}

/// Why the store buffer's head goes no further now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocked {
    /// Its line is on its way, or it is past the caches and others before it are.
    Line,
    /// Flushes before it are under way.
    Flushes,
    /// The ordering model.
    Ordering,
}

impl From<WouldBlock> for Blocked {
    fn from(_: WouldBlock) -> Blocked {
        Blocked::Ordering
    }
}

/// A stretch of a core's time that went to one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The cause, as its statistic is called after `time.`.
    pub cause: &'static str,
    /// Its beginning.
    pub from: Time,
    /// Its end.
    pub to: Time,
}

impl Stretch {
    /// The cause that is called so.
    pub fn cause_named(name: &str) -> Option<&'static str> {
        use Cause::{BufferFull, Compute, Devices, Fences, Kernel, Locks, Memory};
        let all = [Compute, Memory, Fences, BufferFull, Devices, Locks, Kernel];
        all.into_iter().map(Cause::name).find(|known| *known == name)
    }
}

/// The first stretches of a region of interest, neighbours of one cause taken together.
#[derive(Clone, Debug)]
struct Opening {
    stretches: Vec<Stretch>,
    limit: usize,
}

impl Opening {
    fn note(&mut self, cause: Cause, from: Time, to: Time) {
        if from == to {
            return;
        }
        let (cause, full) = (cause.name(), self.stretches.len() == self.limit);
        match self.stretches.last_mut() {
            Some(last) if last.cause == cause && last.to == from => last.to = to,
            // What comes after something that had no room touches none of what is kept.
            _ if full => {}
            _ => self.stretches.push(Stretch { cause, from, to }),
        }
    }
}

/// What of a core's time was spent on what; together with the idle time that is all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent([Dur; 7]);

/// The time of the cores that run a program, in the region of interest, by what it was spent on.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "time")]
pub struct TimeStats {
    /// time in which programs issued operations, hit private caches or computed, summed over cores
    pub compute: Dur,
    /// time in which programs waited for lines, summed over cores
    pub memory: Dur,
    /// time in which programs waited at fences and locked operations outside locks, or for flushes that held up
    /// stores, summed over cores
    pub fences: Dur,
    /// time in which programs waited because a persist buffer or the ordering model took no more stores, summed over
    /// cores; none where the model holds up no stores
    pub buffer_full: Option<Dur>,
    /// time in which programs took locks and waited for other threads, summed over cores
    pub locks: Dur,
    /// time in which programs waited for registers of devices, summed over cores
    #[stat(unless_zero)]
    pub devices: Dur,
    /// time that cores spent in the kernel, for faults and questions of other cores, summed over cores
    #[stat(unless_zero)]
    pub kernel: Dur,
    /// time before the first and after the last operation of a core's program, summed over cores
    pub idle: Dur,
}

impl TimeStats {
    /// All of it.
    pub fn total(&self) -> Dur {
        let busy = self.compute + self.memory + self.fences + self.buffer_full.unwrap_or_default();
        busy + self.locks + self.devices + self.kernel + self.idle
    }

    /// Tells all of it.
    pub fn tell(&self, sink: &mut dyn StatSink) {
        self.hand_up(sink);
    }

    /// Counts what a core spent between the two.
    pub(super) fn add(&mut self, from: &Spent, to: &Spent, orders_stores: bool) {
        let of = |cause: Cause| to.0[cause as usize] - from.0[cause as usize];
        self.compute += of(Cause::Compute);
        self.memory += of(Cause::Memory);
        self.fences += of(Cause::Fences);
        if orders_stores {
            *self.buffer_full.get_or_insert_default() += of(Cause::BufferFull);
        }
        self.devices += of(Cause::Devices);
        self.locks += of(Cause::Locks);
        self.kernel += of(Cause::Kernel);
    }
}

/// The book that a core keeps.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    spent: Spent,
    /// Up to here everything is charged.
    until: Time,
    activity: Option<Activity>,
    /// What stands at the store buffer's head, or is the operation itself, while the program waits.
    waits_for: Option<Kind>,
    /// What kept the head, when it was last looked at.
    blocked_by: Option<Blocked>,
    /// What was charged when the region of interest began, and when it ended.
    began: Option<Spent>,
    ended: Option<Spent>,
    /// Where somebody wants to see it.
    opening: Option<Box<Opening>>,
}

impl Account {
    /// Keeps the first `limit` stretches of the region of interest.
    pub(super) fn keep_opening(&mut self, limit: usize) {
        self.opening = Some(Box::new(Opening { stretches: Vec::new(), limit }));
    }

    /// Those that were kept.
    pub(super) fn opening(&self) -> &[Stretch] {
        self.opening.as_ref().map_or(&[], |opening| &opening.stretches)
    }

    /// Charges everything up to `now` to `cause`, unless the program said what it is about.
    pub(super) fn charge(&mut self, now: Time, cause: Cause) {
        let cause = match self.activity {
            None => cause,
            Some(Activity::Locks) => Cause::Locks,
            Some(Activity::Kernel) => Cause::Kernel,
        };
        self.spent.0[cause as usize] += now.since(self.until);
        if let Some(opening) = &mut self.opening
            && self.ended.is_none()
        {
            opening.note(cause, self.until, now);
        }
        self.until = now;
    }

    /// What the program is about from `now` on; gives what it was about.
    pub(super) fn turn_to(&mut self, now: Time, activity: Option<Activity>) -> Option<Activity> {
        self.charge(now, Cause::Compute);
        std::mem::replace(&mut self.activity, activity)
    }

    /// A wait begins at `now`; `kind` holds it up, where the store buffer does.
    pub(super) fn waits(&mut self, now: Time, kind: Option<Kind>) {
        self.charge(now, Cause::Compute);
        self.waits_for = kind;
    }

    /// The store buffer's head cannot act.
    pub(super) fn blocked(&mut self, by: Blocked) {
        self.blocked_by = Some(by);
    }

    /// The store buffer's head has become visible; nothing is known of the next.
    pub(super) fn passed(&mut self) {
        self.blocked_by = None;
    }

    /// A wait ends at `now`; gives its cause.
    pub(super) fn waited(&mut self, now: Time) -> Cause {
        let cause = self.cause_of_wait();
        self.waits_for = None;
        self.charge(now, cause);
        cause
    }

    /// What the program waits for, as the head was when it was last looked at.
    fn cause_of_wait(&self) -> Cause {
        match self.waits_for {
            Some(Kind::Register | Kind::RegisterLoad) => Cause::Devices,
            Some(Kind::Fence(_) | Kind::Flush(_) | Kind::Rmw(_)) => Cause::Fences,
            Some(Kind::Store | Kind::NonTemporal | Kind::Acquired) => match self.blocked_by {
                Some(Blocked::Ordering) => Cause::BufferFull,
                Some(Blocked::Flushes) => Cause::Fences,
                Some(Blocked::Line) | None => Cause::Memory,
            },
            None => Cause::Memory,
        }
    }

    /// The region of interest begins.
    pub(super) fn begin(&mut self, now: Time) {
        self.charge(now, Cause::Compute);
        self.began = Some(self.spent);
        // Whoever tells of no region is in it from the start.
        self.opening.iter_mut().for_each(|opening| opening.stretches.clear());
    }

    /// It goes on: what was charged since its end is not of it.
    pub(super) fn begin_again(&mut self, now: Time) {
        self.charge(now, Cause::Compute);
        if let (Some(began), Some(ended)) = (&mut self.began, self.ended.take()) {
            for (began, (spent, ended)) in began.0.iter_mut().zip(self.spent.0.iter().zip(ended.0)) {
                *began += *spent - ended;
            }
        }
    }

    /// So much of what was charged was not of it: the core waited across its bounds, for somebody else as a rule.
    pub(super) fn skip(&mut self, now: Time, gap: Dur) {
        self.charge(now, Cause::Compute);
        let Some(began) = &mut self.began else { return };
        let mut left = gap;
        for cause in [Cause::Locks, Cause::Memory, Cause::Compute] {
            let skipped = left.min(self.spent.0[cause as usize] - began.0[cause as usize]);
            began.0[cause as usize] += skipped;
            left = left - skipped;
        }
    }

    /// It ends, as far as this core knows; a later end counts.
    pub(super) fn end(&mut self, now: Time) {
        self.charge(now, Cause::Compute);
        self.ended = Some(self.spent);
    }

    /// What was spent in the region of interest: all of it where the program told none.
    pub(super) fn region(&self) -> (Spent, Spent) {
        (self.began.unwrap_or_default(), self.ended.unwrap_or(self.spent))
    }
}
