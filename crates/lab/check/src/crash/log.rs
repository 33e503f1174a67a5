//! What a program did to persistent memory, in one order.

use super::files::{Change, FileState};
use super::pages::Pages;
use super::recorded::Origin;
use machine::WorkloadDescription;
use protocol::{
    CorePort, Cpu, FenceKind, FlushKind, Image, Mask, Op, OpKind, Order, PAGE_BYTES, PM_BASE, Site, line_of,
    mask_of, offset_of,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};
use units::Time;
use workloads::Context;

/// Index into [`Log::sites`].
pub type SiteId = u32;

/// The place of code of which the recording has none: of no file, as what a program compiles while it runs.
const UNKNOWN: &str = "an unknown place";

/// One thing that a thread did.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What.
    pub kind: Kind,
    /// Where, for accesses and flushes.
    pub address: u64,
    /// The value of a store.
    pub value: u64,
    /// Where it stands in the program.
    pub site: SiteId,
    /// Who.
    pub thread: u16,
    /// Bytes of an access.
    pub size: u8,
}

/// The kind of an [`Event`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A store to persistent memory.
    Store,
    /// A store past the caches.
    NonTemporal,
    /// A locked operation; wrote or did not.
    Locked {
        /// Whether it wrote.
        wrote: bool,
    },
    /// A load of persistent memory.
    Load,
    /// A load, store or locked operation of any memory that acquires or releases.
    Synchronise(Order),
    /// A flush.
    Flush(FlushKind),
    /// A fence.
    Fence(FenceKind),
    /// The program ended an operation; a recorded program made mark `value`.
    Ended,
    /// The region of interest begins.
    Begins,
    /// The kernel stored: no flush, but a sync call makes it durable.
    Written {
        /// The same for all that one call of a thread wrote.
        call: u32,
    },
    /// A sync call for the `value` bytes from the address on; it also makes every change of names and sizes durable.
    Sync,
    /// Change number `value` of a file's name or size.
    Change,
}

/// A mark of a recorded program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Who.
    pub thread: u16,
    /// Its number.
    pub number: u64,
}

/// A program's events and their places.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// In the order in which they happened; none of a recording, which is read again for each pass.
    pub events: Vec<Event>,
    /// Places in the program.
    pub sites: Vec<String>,
    /// Threads.
    pub threads: usize,
    /// The program was cut off: more events than the bound.
    pub cut: bool,
    /// An sfence persists what the thread stored before, on models with epochs too: that is what a recorded program
    /// takes it for. Where the machine makes an ofence of it, it does not.
    pub sfence_settles: bool,
    /// Recovery is told what a recorded program acknowledged by its marks.
    pub tells_marks: bool,
    /// Its threads ran one at a time, and only turns were recorded where they handed over by plain moves.
    pub has_turns: bool,
    /// What memory held before the first event.
    pub(super) contents: Pages,
    /// Files before the first event, by address.
    pub files: Vec<FileState>,
    /// What is shown of paths that files ever have: the shortest end that no other has.
    pub(super) ends: BTreeMap<String, String>,
    /// What [`Kind::Change`] events change.
    pub changes: Vec<Change>,
    /// Files, by index, of which a call begins to write something out, which makes nothing durable, and the call.
    pub(super) begun: BTreeMap<usize, &'static str>,
    /// The recording whose events these are.
    pub(super) origin: Option<Arc<Origin>>,
}

/// The most events of a program that comes with the project: they are in memory.
pub const MOST_EVENTS: usize = 20_000_000;

/// An event, and the change of a file that it is.
#[derive(Clone, Debug)]
pub(super) struct Happened {
    pub(super) event: Event,
    pub(super) change: Option<Box<Change>>,
}

impl Log {
    /// How many events there are.
    pub fn len(&self) -> usize {
        self.origin.as_ref().map_or(self.events.len(), |o| o.events)
    }

    /// Whether nothing happened.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index of the first event of the region of interest.
    pub fn begins(&self) -> usize {
        let in_memory = || self.events.iter().rposition(|e| e.kind == Kind::Begins).map_or(0, |i| i + 1);
        self.origin.as_ref().map_or_else(in_memory, |o| o.begins)
    }

    /// Power may fail from the first event on, whatever was waited for.
    pub fn begins_at_once(&mut self) {
        if let Some(origin) = &mut self.origin {
            Arc::make_mut(origin).begins = 0;
        }
    }

    /// All events, from the first on.
    pub(super) fn pass(&self) -> Pass<'_> {
        match &self.origin {
            Some(origin) => Box::new(origin.pass()),
            None => Box::new(self.events.iter().map(|event| {
                let change = (event.kind == Kind::Change).then(|| self.changes.get(event.value as usize));
                Happened { event: *event, change: change.flatten().map(|c| Box::new(c.clone())) }
            })),
        }
    }

    /// The index of the file that an address is in.
    pub(super) fn file_at(&self, address: u64) -> Option<usize> {
        self.files.partition_point(|f| f.base <= address).checked_sub(1)
    }

    /// The folder that is made, or else removed.
    pub(super) fn folder_change(&self, event: &Event) -> Option<(&str, bool)> {
        self.origin.as_ref()?.folder_change(event)
    }

    /// The folder that a sync call is for, where that is known.
    pub(super) fn folder(&self, sync: &Event) -> Option<&str> {
        self.origin.as_ref()?.folder(sync)
    }

    /// What a file was called when the program found it, or when it made it.
    pub(super) fn first_name(&self, file: usize) -> Option<String> {
        let state = self.files.get(file)?;
        let recorded = || self.origin.as_ref().and_then(|origin| origin.path(state.number));
        state.names.first().cloned().or_else(recorded)
    }

    /// The place of an event.
    pub fn site(&self, event: &Event) -> &str {
        self.place(event.site)
    }

    pub(super) fn place(&self, site: SiteId) -> &str {
        self.sites.get(site as usize).map_or(UNKNOWN, String::as_str)
    }
}

/// A log's events, one after the other.
pub(super) type Pass<'a> = Box<dyn Iterator<Item = Happened> + Send + 'a>;

struct Shared {
    log: Log,
    sites: Sites,
    memory: [Image; 2],
}

/// Numbers of places.
struct Sites {
    numbers: BTreeMap<(&'static str, u32, u32), SiteId>,
    /// Where the compiler put places that came lately, and their numbers: a program is at few of them at a time. One place
    /// may have several addresses.
    lately: [(usize, SiteId); 64],
}

impl Sites {
    fn new() -> Sites {
        Sites { numbers: BTreeMap::new(), lately: [(0, 0); 64] }
    }

    /// Its number; a place that was not seen before gets the next one, and its name is added to `names`. Cost: two loads
    /// where it came lately.
    fn number(&mut self, site: Site, names: &mut Vec<String>) -> SiteId {
        let address = std::ptr::from_ref(site).addr();
        let slot = address / size_of_val(site) % self.lately.len();
        let (known, number) = self.lately[slot];
        if known == address {
            return number;
        }
        let next = names.len() as SiteId;
        let key = (site.file(), site.line(), site.column());
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            let name = site.file().rsplit('/').next().unwrap_or_default();
            names.push(format!("{name}:{}", site.line()));
        }
        self.lately[slot] = (address, number);
        number
    }
}

struct Tap {
    shared: Rc<RefCell<Shared>>,
    core: u8,
    /// Accesses left before another thread's turn.
    turn: std::cell::Cell<u32>,
}

impl Shared {
    fn image(&mut self, address: u64) -> &mut Image {
        &mut self.memory[usize::from(address >= PM_BASE)]
    }

    fn write(&mut self, op: &Op, value: u64) {
        let (at, size) = (offset_of(op.address), op.size as usize);
        let mut block = [0; 64];
        block[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
        self.image(op.address).write(line_of(op.address), &block, mask_of(at, size));
    }

    fn carry_out(&mut self, core: u8, op: &Op, site: Site) -> u64 {
        let persistent = op.address >= PM_BASE;
        let id = self.sites.number(site, &mut self.log.sites);
        let note = |log: &mut Log, kind, value| {
            let event =
                Event { kind, address: op.address, value, site: id, thread: core.into(), size: op.size };
            log.events.push(event);
        };
        if op.order != Order::Plain {
            note(&mut self.log, Kind::Synchronise(op.order), 0);
        }
        match op.kind {
            OpKind::Load | OpKind::Prefetch => {
                if persistent {
                    note(&mut self.log, Kind::Load, 0);
                }
                self.image(op.address).number(op.address, op.size.into())
            }
            OpKind::Store | OpKind::StoreNonTemporal => {
                let kind = if op.kind == OpKind::Store { Kind::Store } else { Kind::NonTemporal };
                if persistent {
                    note(&mut self.log, kind, op.value);
                }
                self.write(op, op.value);
                0
            }
            OpKind::Rmw(kind) => {
                let old = self.image(op.address).number(op.address, op.size.into());
                let width = u64::MAX >> (64 - 8 * u32::from(op.size));
                let new = kind.apply(old, op.value).map(|v| v & width);
                // A locked operation fences, wherever its word is.
                note(&mut self.log, Kind::Locked { wrote: new.is_some() && persistent }, new.unwrap_or(old));
                if let Some(new) = new {
                    self.write(op, new);
                }
                old
            }
            OpKind::Flush(kind) => {
                if persistent {
                    note(&mut self.log, Kind::Flush(kind), 0);
                }
                0
            }
            OpKind::Fence(kind) => {
                note(&mut self.log, Kind::Fence(kind), 0);
                0
            }
            OpKind::Compute | OpKind::Await => 0,
        }
    }
}

impl CorePort for Tap {
    fn poll(&self, op: &Op) -> Poll<u64> {
        self.poll_at(op, std::panic::Location::caller())
    }

    fn poll_at(&self, op: &Op, site: Site) -> Poll<u64> {
        let Some(left) = self.turn.get().checked_sub(1) else { return Poll::Pending };
        self.turn.set(left);
        Poll::Ready(self.shared.borrow_mut().carry_out(self.core, op, site))
    }

    fn core(&self) -> u8 {
        self.core
    }

    fn now(&self) -> Time {
        Time::ZERO
    }

    fn operation_done(&self) {
        self.mark(Kind::Ended);
    }

    fn moved(&self, _: u64) {}

    fn fail(&self, _: String) {}

    fn region(&self, starts: bool) {
        if starts {
            self.mark(Kind::Begins);
        }
    }
}

impl Tap {
    fn mark(&self, kind: Kind) {
        let event =
            Event { kind, address: 0, value: 0, site: SiteId::MAX, thread: self.core.into(), size: 0 };
        self.shared.borrow_mut().log.events.push(event);
    }
}

/// Accesses of a thread before the next thread's turn.
const TURN: u32 = 4;

/// Runs a program that comes with the project, without a machine: each access takes effect at once.
pub fn of_program(workload: &WorkloadDescription, seed: u64) -> Option<Log> {
    in_turns(workload, seed, usize::MAX)
}

/// The same of a program's first accesses, at most so many: what waits for a machine, or works for a given time, does not end
/// on its own.
pub fn of_beginning(workload: &WorkloadDescription, seed: u64, accesses: usize) -> Option<Log> {
    in_turns(workload, seed, accesses / (TURN as usize * workload.threads().max(1)))
}

/// Threads take turns, at most so many each.
fn in_turns(workload: &WorkloadDescription, seed: u64, most: usize) -> Option<Log> {
    let built_in = workload.built_in()?;
    let threads = workload.threads();
    let memory = [Image::new(0), Image::new(PM_BASE / PAGE_BYTES * PAGE_BYTES)];
    let shared = Shared { log: Log { threads, ..Log::default() }, sites: Sites::new(), memory };
    let shared = Rc::new(RefCell::new(shared));
    let settings = Rc::new(workload.settings.clone());
    let mut running: Vec<(Rc<Tap>, Option<workloads::Program>)> = (0..threads)
        .map(|t| {
            let tap = Rc::new(Tap { shared: Rc::clone(&shared), core: t as u8, turn: 0.into() });
            let cpu = Cpu::new(Rc::clone(&tap) as Rc<dyn CorePort>);
            let context = Context::new(cpu, t, threads, Rc::clone(&settings), seed);
            (tap, Some((built_in.program)(context)))
        })
        .collect();
    let mut task = TaskContext::from_waker(Waker::noop());
    let mut turns = 0;
    while running.iter().any(|(_, p)| p.is_some()) {
        for (tap, program) in &mut running {
            tap.turn.set(TURN);
            if program.as_mut().is_some_and(|p| p.as_mut().poll(&mut task).is_ready()) {
                *program = None;
            }
        }
        turns += 1;
        if turns > most || shared.borrow().log.events.len() > MOST_EVENTS {
            shared.borrow_mut().log.cut = true;
            break;
        }
    }
    drop(running);
    Rc::try_unwrap(shared).ok().map(|s| s.into_inner().log)
}

/// The bytes that a store changes in its line, and the block that holds them.
pub(super) fn block_of(event: &Event) -> (Mask, protocol::Block) {
    let at = offset_of(event.address);
    // What a log made by hand has beyond the end of the line, or of its value, is not there.
    let size = (event.size as usize).min(8).min(64 - at);
    let mut block = [0; 64];
    block[at..at + size].copy_from_slice(&event.value.to_le_bytes()[..size]);
    (if size == 0 { 0 } else { mask_of(at, size) }, block)
}
