//! A core: an out-of-order core as its memory sees it.
//!
//! ```text
//!   program (async fn) --ops--> [issue] -> store buffer (TSO) -> L1/L2 (MESI, real bytes) --misses--> directory
//!                                               |                                                   ^
//!                                               +--> core side of the ordering model --flushes--> controllers
//! ```
//!
//! Modelled: program order at a given rate of references; dependent loads that wait for their value and touches
//! that do not, as far as the window and the miss registers reach; a store buffer that drains in order, asks for
//! lines ahead and forwards to loads; write-combining buffers; flushes and fences; evictions that wait for their
//! writes to persist. Private hits run ahead of the event queue up to the exact safe time.
//!
//! Not modelled: instruction fetch, branch prediction, address translation, bank conflicts in the caches, and
//! the transfer of dirty lines between the two private levels (the second level holds the bytes of both).
//!
//! Sources: ASAP (HPCA 2022) §V and Table II; x86-TSO (Sewell et al., CACM 2010); Intel SDM volume 3, 12.
//!
//! Architecture Invariant: everything here is driven by [`Device::on`]; a core reads no clock but its own.

mod account;
mod caches;
mod checkpoint;
mod combining;
mod front;
mod misses;
mod program;
mod rollback;
mod snoops;
mod spec;
mod stats;
mod store_buffer;
mod stores;

#[cfg(test)]
mod tests;

/// What a core reports.
pub(crate) const STATISTICS: [&[StatisticInfo]; 4] =
    [stats::Stats::TABLE, TimeStats::TABLE, stats::PathStats::TABLE, checkpoint::RollbackStats::TABLE];

/// What every core reports.
pub const OF_ALL: [&[StatisticInfo]; 2] = [stats::Stats::TABLE, TimeStats::TABLE];

/// Where the time of all cores went.
pub const TIMES: &[StatisticInfo] = TimeStats::TABLE;

/// What one with a persist path reports besides.
pub const OF_PATH: &[StatisticInfo] = stats::PathStats::TABLE;

/// What one that goes back reports besides.
pub const OF_ROLLBACK: &[StatisticInfo] = checkpoint::RollbackStats::TABLE;

pub use account::{Stretch, TimeStats};

pub use spec::{CoreSpec, FlushSpec};

use engine::{Device, Mark, Out, PortId};
use front::Front;
use params::{StatisticInfo, Statistics};
use protocol::{
    Activity, Block, CoreOrdering, CorePort, Cpu, Depth, Line, LineWrite, Mask, Msg, Node, Op, Peer,
    PostCrash, Share, StatSink,
};
use protocol::{Tally, View, ports};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use units::{Dur, Time, watch};

/// How far a core runs, at most, before it looks whether the run is to stop.
const LEG: Dur = Dur::ns(1_000_000);

/// What runs on a core.
pub type Program = Pin<Box<dyn Future<Output = ()>>>;

/// The core's device: its front, its program, and when it wakes next.
pub struct Core {
    port: Rc<Port>,
    program: Option<Program>,
    /// It may have something to make up for before its program goes on.
    goes_back: bool,
    controllers: usize,
    wakes_at: Time,
}

struct Port(RefCell<Front>);

impl CorePort for Port {
    #[inline]
    fn poll(&self, op: &Op) -> Poll<u64> {
        self.0.borrow_mut().poll(op)
    }

    fn core(&self) -> u8 {
        self.0.borrow().id
    }

    fn now(&self) -> Time {
        self.0.borrow().now
    }

    fn operation_done(&self) {
        self.0.borrow_mut().operation_done();
    }

    fn operation_failed(&self) {
        self.0.borrow_mut().stats.failed_operations += 1;
    }

    fn catches_up(&self) -> Poll<()> {
        if self.0.borrow_mut().reach() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn region(&self, starts: bool) {
        self.0.borrow_mut().region(starts);
    }

    fn region_skipped(&self, gap: Dur) {
        self.0.borrow_mut().skipped(gap);
    }

    fn gave_up(&self) {
        self.0.borrow_mut().stats.given_up += 1;
    }

    fn moved(&self, bytes: u64) {
        self.0.borrow_mut().stats.moved += bytes;
    }

    fn took(&self, time: Dur) {
        self.0.borrow_mut().took(time);
    }

    fn spent(&self, share: Share, time: Dur) {
        let stats = &mut self.0.borrow_mut().stats;
        match share {
            Share::Consistency => stats.consistency += time,
            Share::Movement => stats.movement += time,
        }
    }

    fn charge(&self, activity: Option<Activity>) -> Option<Activity> {
        let mut front = self.0.borrow_mut();
        let now = front.now;
        front.account.turn_to(now, activity)
    }

    fn fail(&self, what: String) {
        self.0.borrow_mut().failure.get_or_insert(what);
    }

    fn stores_whole_lines(&self) -> bool {
        // What was there before is kept word by word.
        !self.0.borrow().capabilities.rolls_back
    }
}

impl Core {
    /// Core number `id` of a machine with `controllers` controllers of persistent memory.
    pub fn new(id: u8, spec: CoreSpec, ordering: Box<dyn CoreOrdering>, controllers: usize) -> Core {
        let goes_back = ordering.checkpoints().is_some();
        let front = Front::new(id, spec, ordering);
        let port = Rc::new(Port(RefCell::new(front)));
        Core { port, program: None, goes_back, controllers, wakes_at: Time::NEVER }
    }

    /// The handle for this core's program.
    pub fn cpu(&self) -> Cpu {
        Cpu::new(Rc::clone(&self.port) as Rc<dyn CorePort>)
    }

    /// Operations that the program has ended so far.
    pub fn operations(&self) -> u64 {
        self.port.0.borrow().stats.operations
    }

    /// Operations of which the world has been told: of none that waits for a fence which holds later stores alone.
    pub fn told_operations(&self) -> u64 {
        let core = self.port.0.borrow();
        core.stats.operations - core.store_buffer.untold()
    }

    /// Gives the core its program; it starts with the first timer.
    pub fn load(&mut self, program: Program) {
        self.program = Some(program);
        self.wakes_at = Time::ZERO;
        let mut front = self.port.0.borrow_mut();
        (front.runnable, front.loaded) = (true, true);
    }

    /// Notes stalls and buffer levels on the timeline.
    pub fn record_marks(&mut self) {
        self.port.0.borrow_mut().marks = Some(Vec::new());
    }

    /// Keeps what the first `limit` stretches of time in the region of interest go to.
    pub fn keep_opening(&mut self, limit: usize) {
        self.port.0.borrow_mut().account.keep_opening(limit);
    }

    /// The stretches that were kept, in order.
    pub fn opening(&self) -> Vec<Stretch> {
        self.port.0.borrow().account.opening().to_vec()
    }

    /// Whether the program has ended, or none was loaded.
    pub fn finished(&self) -> bool {
        self.program.is_none()
    }

    /// The core's clock.
    pub fn now(&self) -> Time {
        self.port.0.borrow().now
    }

    /// When the region of interest began and ended on this core.
    pub fn region(&self) -> (Option<Time>, Option<Time>) {
        let f = self.port.0.borrow();
        (f.region_began, f.region_ended)
    }

    /// Adds where this core's time went, in a region of interest of so much time on the machine. Time outside the core's own
    /// region is idle.
    pub fn add_time(&self, all: Dur, time: &mut TimeStats) {
        let f = self.port.0.borrow();
        let (from, to) = f.account.region();
        time.add(&from, &to, f.capabilities.orders_stores);
        let own = (f.region_began.unwrap_or(Time::ZERO), f.region_ended.unwrap_or(f.now));
        time.idle += all - (own.1.since(own.0) - f.region_gaps);
    }

    /// Whether a program was given to this core.
    pub fn is_loaded(&self) -> bool {
        self.port.0.borrow().loaded
    }

    /// What this core counted from the end of the region of interest to `now`, if an end was told; everything where it told of no
    /// region. Asked once.
    pub fn counted_beside_region(&mut self, now: Time) -> Tally {
        self.port.0.borrow_mut().counted_beside_region(now)
    }

    /// What this core had counted when the region of interest began, and where it was not open.
    pub fn outside_region(&self) -> Tally {
        self.port.0.borrow().outside_region.clone()
    }

    /// What the program found that must not be.
    pub fn failure(&self) -> Option<String> {
        self.port.0.borrow().failure.clone()
    }

    /// The bytes of a line that this core has changed and nobody else has.
    pub fn changed(&self, line: Line) -> Option<Block> {
        self.port.0.borrow().changed(line).copied()
    }

    /// Whether this core has changed a line and memory does not have it yet: its caches do, or its persist buffer.
    pub fn has_changed(&self, line: Line) -> bool {
        self.port.0.borrow().has_changed(line)
    }

    /// Whether stores to persistent memory also go a way beside the caches.
    pub fn has_persist_path(&self) -> bool {
        self.port.0.borrow().capabilities.persist_path
    }

    /// What the program waits for, in words; for reports of a deadlock.
    pub fn waits_for(&self) -> String {
        self.port.0.borrow().waits_for()
    }

    /// References made so far, and operations of the program done.
    pub fn references(&self) -> u64 {
        self.port.0.borrow().stats.references
    }

    /// Puts what the front wants to send on the wires; true when there was something.
    fn hand_over(&self, front: &mut Front, out: &mut Out<'_, Msg>) -> bool {
        if front.outbox.0.is_empty() && front.marks.is_none() {
            return false;
        }
        let sends = !front.outbox.0.is_empty();
        for (at, to, msg) in &front.outbox.0 {
            let port = match *to {
                Peer::Directory => ports::DIRECTORY,
                Peer::Caches => unreachable!("caches are asked before anything is handed over"),
                Peer::TimestampRegister => ports::REGISTER,
                Peer::Commands => ports::COMMANDS,
                Peer::Controller(index) => ports::controller(index),
                Peer::Core(index) => ports::core(index, self.controllers),
            };
            out.send_copy_at(*at, port, msg);
        }
        front.outbox.0.clear();
        if let Some(marks) = &mut front.marks {
            for mark in marks.drain(..) {
                let mark: Mark = mark;
                out.mark(|| mark);
            }
        }
        sends
    }

    fn sender(&self, port: PortId) -> Peer {
        match port {
            ports::DIRECTORY => Peer::Directory,
            ports::REGISTER => Peer::TimestampRegister,
            ports::COMMANDS => Peer::Commands,
            PortId(p) if usize::from(p - ports::CONTROLLERS) < self.controllers => {
                Peer::Controller((p - ports::CONTROLLERS).into())
            }
            PortId(p) => Peer::Core(p - ports::CONTROLLERS - self.controllers as u8),
        }
    }

    /// Everything that may happen by the safe time, in order of time.
    fn run(&mut self, out: &mut Out<'_, Msg>) {
        let port = Rc::clone(&self.port);
        let mut front = port.0.borrow_mut();
        let shortest = out.shortest_wire();
        let (mut is_stale, mut exact) = (true, Time::ZERO);
        loop {
            is_stale |= self.hand_over(&mut front, out);
            let (background, program) = (front.background_next(), front.program_next());
            let next = background.min(program);
            if next == Time::NEVER {
                return;
            }
            // The queue, and with it the safe time, changes by what is sent alone. Nobody asks for it where nothing can happen.
            if is_stale {
                exact = out.safe_time().min(front.halts_at(out.now()));
                let end = exact.min(front.now + LEG);
                front.set_safe_time(end, shortest);
                is_stale = false;
            }
            if next > front.safe_time && next <= exact {
                watch::at(next.ps());
                front.set_safe_time(exact.min(next + LEG), shortest);
            }
            if next > front.safe_time {
                if next < self.wakes_at {
                    self.wakes_at = next;
                    out.wake(next, Msg::Wake);
                }
                return;
            }
            if background <= program {
                front.background(background);
            } else {
                drop(front);
                self.poll_program();
                front = port.0.borrow_mut();
                exact = exact.min(front.halts_at(out.now()));
            }
        }
    }

    fn poll_program(&mut self) {
        if self.goes_back && self.port.0.borrow_mut().makes_up() {
            return;
        }
        let Some(program) = &mut self.program else {
            self.port.0.borrow_mut().runnable = false;
            return;
        };
        let mut context = Context::from_waker(Waker::noop());
        if program.as_mut().poll(&mut context).is_ready() {
            self.program = None;
            self.port.0.borrow_mut().end_program();
        }
    }
}

impl Device<Msg> for Core {
    fn on(&mut self, now: Time, port: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        if now >= self.wakes_at {
            self.wakes_at = Time::NEVER;
        } else if port == PortId::TIMER {
            // Another timer, set since, has been here or is still to come: nothing is due now.
            return;
        }
        if port != PortId::TIMER {
            let from = self.sender(port);
            self.port.0.borrow_mut().message(now, from, msg);
        }
        self.run(out);
        out.pending_reply(self.port.0.borrow().has_pending_replies());
    }
}

impl Node for Core {
    fn post_crash(&self, view: View, post_crash: &mut PostCrash) {
        let f = self.port.0.borrow();
        if view == View::Durable {
            f.ordering.power_fail(&mut |at, write| post_crash.save(Depth::Buffer, at, write));
        }
        if view == View::Visible || f.capabilities.caches_persist {
            for (line, data) in f.modified_lines() {
                let write = LineWrite { line, mask: Mask::MAX, data: *data };
                post_crash.save(Depth::Private, Time::ZERO, &write);
            }
        }
        // Without persist fences a program relies on every store that has retired: the energy that saves caches or
        // buffers lets the store buffer drain first.
        if view == View::Durable && !f.capabilities.fences {
            for (age, write) in f.retired_stores().enumerate() {
                post_crash.save(Depth::StoreBuffer, Time::ZERO + Dur::ps(age as u64), &write);
            }
        }
    }

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        self.port.0.borrow_mut().hand_up(now, sink);
    }
}
