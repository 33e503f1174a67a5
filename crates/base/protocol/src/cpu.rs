//! The handle through which a program acts on a core: plain async functions in simulated time.

use crate::{LINE_BYTES, Line, line_of};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use units::{Dur, Time};

/// Cache-line write-back instructions (Intel SDM volume 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushKind {
    /// Write back, keep the line; weakly ordered.
    Clwb,
    /// Write back and invalidate; weakly ordered.
    Clflushopt,
    /// Write back and invalidate; ordered with stores.
    Clflush,
    /// As `Clflushopt`, on every machine: something else than a core is about to write the line.
    WriteBackInvalidate,
}

/// Fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceKind {
    /// Earlier flushes and non-temporal stores are durable before later stores are visible.
    Sfence,
    /// As `Sfence`, and loads wait too.
    Mfence,
    /// Earlier writes persist before later ones (HOPS, ASAP); nothing waits.
    Ofence,
    /// Earlier writes are durable before the core goes on (HOPS, ASAP).
    Dfence,
    /// What follows is on a strand of its own: it comes after nothing that persists since the last join. Nothing at all
    /// on machines without strands.
    NewStrand,
    /// What follows comes after everything on all strands so far. An ofence on machines without strands.
    JoinStrand,
}

/// Memory order of a load, a store or an atomic operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// None beyond x86-TSO.
    #[default]
    Plain,
    /// Synchronises with the release that it reads from.
    Acquire,
    /// What comes before persists before it.
    Release,
    /// Both.
    AcquireRelease,
}

impl Order {
    /// Whether the operation acquires.
    pub fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcquireRelease)
    }

    /// Whether the operation releases.
    pub fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcquireRelease)
    }
}

/// Locked read-modify-write operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RmwKind {
    /// Writes `value` where the old value is `expected`.
    CompareExchange { expected: u64 },
    /// Writes `value`.
    Exchange,
    /// Adds `value`, wrapping.
    Add,
    /// Ors `value`.
    Or,
    /// Ands `value`.
    And,
    /// Exclusive-ors `value`.
    Xor,
}

impl RmwKind {
    /// The new value, none when nothing is written.
    pub fn apply(self, old: u64, value: u64) -> Option<u64> {
        match self {
            RmwKind::CompareExchange { expected } => (old == expected).then_some(value),
            RmwKind::Exchange => Some(value),
            RmwKind::Add => Some(old.wrapping_add(value)),
            RmwKind::Or => Some(old | value),
            RmwKind::And => Some(old & value),
            RmwKind::Xor => Some(old ^ value),
        }
    }
}

/// What a program asks of its core. Addresses do not cross a line.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// What to do.
    pub kind: OpKind,
    /// Where.
    pub address: u64,
    /// How many bytes, 1 to 8; 64 in a non-temporal store for a core of which [`CorePort::stores_whole_lines`].
    pub size: u8,
    /// Memory order.
    pub order: Order,
    /// The value of a store or the operand of a read-modify-write.
    pub value: u64,
}

/// When the value of a line that was touched is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// So long after the touch.
    After(Dur),
    /// When this line, as the core addresses it, has arrived.
    WithLine(Line),
}

const UNDER_WAY: u64 = 1 << 63;

impl Touched {
    /// As a core's answer.
    pub fn to_answer(self) -> u64 {
        match self {
            Touched::After(time) => time.as_ps(),
            Touched::WithLine(line) => UNDER_WAY | line.0,
        }
    }

    /// The opposite of [`Touched::to_answer`].
    pub fn from_answer(answer: u64) -> Touched {
        if answer & UNDER_WAY == 0 {
            Touched::After(Dur::ps(answer))
        } else {
            Touched::WithLine(Line(answer & !UNDER_WAY))
        }
    }
}

/// The kind of an [`Op`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Wait for the value.
    Load,
    /// Fetch the line; nothing waits for its value, as far as the instruction window reaches. A core answers when the value
    /// is there: [`Touched`].
    Prefetch,
    /// Store into the store buffer.
    Store,
    /// Non-temporal store.
    StoreNonTemporal,
    /// Locked read-modify-write; drains the store buffer.
    Rmw(RmwKind),
    /// Flush the line.
    Flush(FlushKind),
    /// Fence.
    Fence(FenceKind),
    /// Compute for `value` picoseconds, which takes up `address` instructions of the window.
    Compute,
    /// Wait until line number `value` is not under way to the core.
    Await,
}

impl OpKind {
    /// Whether memory may be different after it.
    pub fn writes(self) -> bool {
        matches!(self, OpKind::Store | OpKind::StoreNonTemporal | OpKind::Rmw(_))
    }
}

/// A place in a program's source.
pub type Site = &'static std::panic::Location<'static>;

/// What a program spends time on, for statistics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Its crash-consistency mechanism.
    Consistency,
    /// Moving data for that.
    Movement,
}

/// What a program is about, where its operations do not tell: its time is charged to that, whatever it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Taking a lock, or waiting for another thread.
    Locks,
    /// In the kernel, for a fault or another core's question.
    Kernel,
}

/// A core as a program sees it.
pub trait CorePort {
    /// Carries out `op`, or keeps it and answers `Pending`; then the same `op` is asked again.
    fn poll(&self, op: &Op) -> Poll<u64>;
    /// The same, told where in the program's source the operation stands.
    #[inline]
    fn poll_at(&self, op: &Op, site: Site) -> Poll<u64> {
        let _ = site;
        self.poll(op)
    }
    /// The core's number.
    fn core(&self) -> u8;
    /// The core's clock.
    fn now(&self) -> Time;
    /// Notes that the program finished one of its operations (a transaction, an insert).
    fn operation_done(&self);
    /// Notes that the operation that is about to be done has failed.
    fn operation_failed(&self) {}
    /// Whether all has happened that happens here before the core's clock; otherwise the same is asked again.
    fn catches_up(&self) -> Poll<()> {
        Poll::Ready(())
    }
    /// A bound of the region of interest: the first call of any core starts it, the last call ends it.
    fn region(&self, starts: bool);
    /// Notes that the region of interest was not open for so long of what this core took for it: it waited across its bounds.
    fn region_skipped(&self, gap: Dur) {
        let _ = gap;
    }
    /// Notes that a replay did not wait any longer for its recorded turn.
    fn gave_up(&self) {}
    /// Notes that the program has read or written so many bytes of its data.
    fn moved(&self, bytes: u64);
    /// One of the program's operations took `time`.
    fn took(&self, time: Dur) {
        let _ = time;
    }
    /// The program has spent so much time so.
    fn spent(&self, share: Share, time: Dur) {
        let _ = (share, time);
    }
    /// From now on the program's time is charged to `activity`, or to what its operations are; gives what it was.
    fn charge(&self, activity: Option<Activity>) -> Option<Activity> {
        activity
    }
    /// The program has seen what must not be.
    fn fail(&self, what: String);
    /// The program looks for I/O errors itself; otherwise one ends the run.
    fn catches_io_errors(&self) {}
    /// Whether an access since the last call got an I/O error, and so read nothing or wrote nothing.
    fn take_io_error(&self) -> bool {
        false
    }
    /// The program maps its persistent memory anew.
    fn maps_anew(&self) {}
    /// Whether a non-temporal store may be of a whole line, each of its words `value`, as one vector instruction's is.
    fn stores_whole_lines(&self) -> bool {
        false
    }
}

/// Stands between a program and its core: a translation of addresses, which may have to run the kernel first.
pub trait Translator {
    /// As [`CorePort::poll_at`], on `core`.
    fn poll_at(&self, core: &Cpu, op: &Op, site: Site) -> Poll<u64>;
    /// As [`CorePort::catches_io_errors`].
    fn catches_io_errors(&self);
    /// As [`CorePort::take_io_error`].
    fn take_io_error(&self) -> bool;
    /// As [`CorePort::maps_anew`].
    fn maps_anew(&self) {}
}

/// A core behind a translator: everything that is not an access goes straight to the core.
pub struct Translated<T> {
    core: Cpu,
    translator: T,
}

impl<T: Translator + 'static> Translated<T> {
    /// A program's handle for `core`, behind `translator`.
    pub fn cpu(core: Cpu, translator: T) -> Cpu {
        Cpu::new(Rc::new(Translated { core, translator }))
    }
}

impl<T: Translator> CorePort for Translated<T> {
    fn poll(&self, op: &Op) -> Poll<u64> {
        self.poll_at(op, std::panic::Location::caller())
    }

    fn poll_at(&self, op: &Op, site: Site) -> Poll<u64> {
        self.translator.poll_at(&self.core, op, site)
    }

    fn core(&self) -> u8 {
        self.core.core()
    }

    fn now(&self) -> Time {
        self.core.now()
    }

    fn operation_done(&self) {
        self.core.operation_done();
    }

    fn operation_failed(&self) {
        self.core.operation_failed();
    }

    fn catches_up(&self) -> Poll<()> {
        self.core.port().catches_up()
    }

    fn region(&self, starts: bool) {
        if starts { self.core.region_begins() } else { self.core.region_ends() }
    }

    fn region_skipped(&self, gap: Dur) {
        self.core.region_skipped(gap);
    }

    fn gave_up(&self) {
        self.core.gave_up();
    }

    fn moved(&self, bytes: u64) {
        self.core.moved(bytes);
    }

    fn took(&self, time: Dur) {
        self.core.took(time);
    }

    fn spent(&self, share: Share, time: Dur) {
        self.core.spent(share, time);
    }

    fn charge(&self, activity: Option<Activity>) -> Option<Activity> {
        self.core.port().charge(activity)
    }

    fn fail(&self, what: String) {
        self.core.fail(what);
    }

    fn catches_io_errors(&self) {
        self.translator.catches_io_errors();
    }

    fn take_io_error(&self) -> bool {
        self.translator.take_io_error()
    }

    fn maps_anew(&self) {
        self.translator.maps_anew();
        self.core.maps_anew();
    }
}

/// A program's core. Cheap to clone. Cost on the hit path: one virtual call.
#[derive(Clone)]
pub struct Cpu(Rc<dyn CorePort>);

/// An operation under way; awaiting it gives the value.
#[must_use = "nothing happens until it is awaited"]
pub struct Access<'a> {
    cpu: &'a Cpu,
    op: Op,
    site: Site,
}

impl<'a> Access<'a> {
    /// The same operation, standing at another place of the source: for functions that act for their caller.
    pub fn at(self, site: Site) -> Access<'a> {
        Access { site, ..self }
    }
}

impl Future for Access<'_> {
    type Output = u64;
    #[inline]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u64> {
        self.cpu.0.poll_at(&self.op, self.site)
    }
}

impl Cpu {
    /// A handle for `port`.
    pub fn new(port: Rc<dyn CorePort>) -> Cpu {
        Cpu(port)
    }

    /// Carries out any operation.
    #[track_caller]
    #[inline]
    pub fn op(&self, op: Op) -> Access<'_> {
        Access { cpu: self, op, site: std::panic::Location::caller() }
    }

    #[track_caller]
    #[inline]
    fn access(&self, kind: OpKind, address: u64, size: u8, order: Order, value: u64) -> Access<'_> {
        debug_assert!(address % 64 + u64::from(size) <= 64, "an access does not cross a line");
        self.op(Op { kind, address, size, order, value })
    }

    /// Loads eight bytes.
    #[track_caller]
    #[inline]
    pub fn load(&self, address: u64) -> Access<'_> {
        self.access(OpKind::Load, address, 8, Order::Plain, 0)
    }

    /// Loads `size` bytes, 1 to 8, within a line.
    #[track_caller]
    #[inline]
    pub fn load_sized(&self, address: u64, size: u8) -> Access<'_> {
        self.access(OpKind::Load, address, size, Order::Plain, 0)
    }

    /// Loads eight bytes and synchronises with the release that wrote them.
    #[track_caller]
    #[inline]
    pub fn load_acquire(&self, address: u64) -> Access<'_> {
        self.access(OpKind::Load, address, 8, Order::Acquire, 0)
    }

    /// Fetches a line whose value nothing waits for yet.
    #[track_caller]
    #[inline]
    pub fn prefetch(&self, address: u64) -> Access<'_> {
        self.access(OpKind::Prefetch, address, 1, Order::Plain, 0)
    }

    /// Stores eight bytes.
    #[track_caller]
    #[inline]
    pub fn store(&self, address: u64, value: u64) -> Access<'_> {
        self.access(OpKind::Store, address, 8, Order::Plain, value)
    }

    /// Stores `size` bytes, 1 to 8, within a line.
    #[track_caller]
    #[inline]
    pub fn store_sized(&self, address: u64, size: u8, value: u64) -> Access<'_> {
        self.access(OpKind::Store, address, size, Order::Plain, value)
    }

    /// Stores eight bytes; what came before persists before it.
    #[track_caller]
    #[inline]
    pub fn store_release(&self, address: u64, value: u64) -> Access<'_> {
        self.access(OpKind::Store, address, 8, Order::Release, value)
    }

    /// Stores eight bytes past the caches.
    #[track_caller]
    #[inline]
    pub fn store_nontemporal(&self, address: u64, value: u64) -> Access<'_> {
        self.access(OpKind::StoreNonTemporal, address, 8, Order::Plain, value)
    }

    /// Stores the whole line of `address` past the caches, each of its words `value`: by one vector instruction, or word by word
    /// where the core's port takes none.
    pub async fn store_line_nontemporal(&self, address: u64, value: u64) {
        let line = line_of(address).address();
        if self.0.stores_whole_lines() {
            self.access(OpKind::StoreNonTemporal, line, LINE_BYTES as u8, Order::Plain, value).await;
            return;
        }
        for word in (0..LINE_BYTES).step_by(8) {
            self.store_nontemporal(line + word, value).await;
        }
    }

    /// Locked compare-and-exchange of eight bytes; gives the old value.
    #[track_caller]
    #[inline]
    pub fn compare_exchange(&self, address: u64, expected: u64, value: u64, order: Order) -> Access<'_> {
        self.access(OpKind::Rmw(RmwKind::CompareExchange { expected }), address, 8, order, value)
    }

    /// Locked addition to eight bytes; gives the old value.
    #[track_caller]
    #[inline]
    pub fn fetch_add(&self, address: u64, value: u64, order: Order) -> Access<'_> {
        self.access(OpKind::Rmw(RmwKind::Add), address, 8, order, value)
    }

    /// Flushes the line of `address` with clwb where the machine has volatile caches; free elsewhere.
    #[track_caller]
    #[inline]
    pub fn clwb(&self, address: u64) -> Access<'_> {
        self.access(OpKind::Flush(FlushKind::Clwb), address, 1, Order::Plain, 0)
    }

    /// Drops the line of `address` from every cache, so that what a device writes there is seen.
    #[track_caller]
    #[inline]
    pub fn write_back_invalidate(&self, address: u64) -> Access<'_> {
        self.access(OpKind::Flush(FlushKind::WriteBackInvalidate), address, 1, Order::Plain, 0)
    }

    /// A fence.
    #[track_caller]
    #[inline]
    pub fn fence(&self, kind: FenceKind) -> Access<'_> {
        self.access(OpKind::Fence(kind), 0, 1, Order::Plain, 0)
    }

    /// Orders earlier persists before later ones; sfence on a machine that has nothing else.
    #[track_caller]
    #[inline]
    pub fn ofence(&self) -> Access<'_> {
        self.fence(FenceKind::Ofence)
    }

    /// Waits until earlier persists are durable; sfence on a machine that has nothing else.
    #[track_caller]
    #[inline]
    pub fn dfence(&self) -> Access<'_> {
        self.fence(FenceKind::Dfence)
    }

    /// What follows comes after nothing since the last join, on a machine with strands; nothing elsewhere.
    #[track_caller]
    #[inline]
    pub fn new_strand(&self) -> Access<'_> {
        self.fence(FenceKind::NewStrand)
    }

    /// What follows comes after all strands so far; an ofence on a machine without strands.
    #[track_caller]
    #[inline]
    pub fn join_strand(&self) -> Access<'_> {
        self.fence(FenceKind::JoinStrand)
    }

    /// Computes for a while.
    #[track_caller]
    #[inline]
    pub fn compute(&self, time: Dur) -> Access<'_> {
        self.access(OpKind::Compute, 0, 1, Order::Plain, time.as_ps())
    }

    /// Computes for a while, over so many instructions.
    #[track_caller]
    #[inline]
    pub fn compute_instructions(&self, time: Dur, instructions: u64) -> Access<'_> {
        self.op(Op {
            kind: OpKind::Compute,
            address: instructions,
            size: 1,
            order: Order::Plain,
            value: time.as_ps(),
        })
    }

    /// Waits until a line that was touched has arrived.
    #[track_caller]
    #[inline]
    pub fn arrival(&self, line: Line) -> Access<'_> {
        self.op(Op { kind: OpKind::Await, address: 0, size: 1, order: Order::Plain, value: line.0 })
    }

    /// The core's number, from zero.
    pub fn core(&self) -> u8 {
        self.0.core()
    }

    /// The core's clock.
    pub fn now(&self) -> Time {
        self.0.now()
    }

    /// Notes that one of the program's operations is done.
    pub fn operation_done(&self) {
        self.0.operation_done();
    }

    /// Notes that the operation that is about to be done has failed: it counts for no rate.
    pub fn operation_failed(&self) {
        self.0.operation_failed();
    }

    /// Notes that a replay did not wait any longer for its recorded turn.
    pub fn gave_up(&self) {
        self.0.gave_up();
    }

    /// Notes that the program has read or written so many bytes of its data: for programs whose speed is told in bytes.
    pub fn moved(&self, bytes: u64) {
        self.0.moved(bytes);
    }

    /// Notes that one of the program's operations took `time`: for programs whose times are told as a distribution.
    pub fn took(&self, time: Dur) {
        self.0.took(time);
    }

    /// Notes that the program has spent `time` so; it may be spent in both ways.
    pub fn spent(&self, share: Share, time: Dur) {
        self.0.spent(share, time);
    }

    /// Does `work`, whose time is charged to `activity`.
    pub async fn charged<T>(&self, activity: Activity, work: impl Future<Output = T>) -> T {
        let before = self.0.charge(Some(activity));
        let done = work.await;
        self.0.charge(before);
        done
    }

    /// The program has found wrong data or another broken promise: the run ends without success and says `what`.
    pub fn fail(&self, what: String) {
        self.0.fail(what);
    }

    /// From here on the program asks [`Cpu::take_io_error`] after accesses that may fail. Otherwise such an error ends the
    /// run, as a signal would.
    pub fn catches_io_errors(&self) {
        self.0.catches_io_errors();
    }

    /// Whether an access since the last call got an I/O error: a load gave zero, a store did nothing.
    pub fn take_io_error(&self) -> bool {
        self.0.take_io_error()
    }

    /// The program maps its persistent memory anew: where a kernel maps pages one by one, the first touch of each is a
    /// fault again.
    pub fn maps_anew(&self) {
        self.0.maps_anew();
    }

    /// What this handle drives, for whoever stands between a program and its core.
    pub fn port(&self) -> &Rc<dyn CorePort> {
        &self.0
    }

    /// Flushes every line of `size` bytes from `address` on.
    #[track_caller]
    #[inline]
    pub fn clwb_range(&self, address: u64, size: u64) -> impl Future<Output = ()> + '_ {
        let site = std::panic::Location::caller();
        async move {
            let mut line = address / 64 * 64;
            while line < address + size {
                self.clwb(line).at(site).await;
                line += 64;
            }
        }
    }

    /// Stores `bytes` from `address` on, eight at a time where lines allow.
    #[track_caller]
    #[inline]
    pub fn store_bytes<'a>(&'a self, address: u64, bytes: &'a [u8]) -> impl Future<Output = ()> + 'a {
        let site = std::panic::Location::caller();
        async move {
            let mut at = 0;
            while at < bytes.len() {
                let size = chunk(address + at as u64, bytes.len() - at);
                let mut word = [0; 8];
                word[..size].copy_from_slice(&bytes[at..at + size]);
                self.store_sized(address + at as u64, size as u8, u64::from_le_bytes(word)).at(site).await;
                at += size;
            }
        }
    }

    /// Loads `bytes.len()` bytes from `address` on; the lines are fetched together.
    pub async fn load_bytes(&self, address: u64, bytes: &mut [u8]) {
        let mut line = address / 64 * 64 + 64;
        while line < address + bytes.len() as u64 {
            self.prefetch(line).await;
            line += 64;
        }
        let mut at = 0;
        while at < bytes.len() {
            let size = chunk(address + at as u64, bytes.len() - at);
            let word = self.load_sized(address + at as u64, size as u8).await.to_le_bytes();
            bytes[at..at + size].copy_from_slice(&word[..size]);
            at += size;
        }
    }
}

/// How many of `left` bytes one access at `address` may take: up to the next multiple of eight.
fn chunk(address: u64, left: usize) -> usize {
    left.min(8 - (address % 8) as usize)
}
