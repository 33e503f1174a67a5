//! A persistent-memory library for workloads: pools, an allocator and transactions, with the crash-consistency
//! mechanism as a parameter, carried out by the core or through the primitives of a near-data device.
//!
//! ```text
//!   pool: header, thread words, page table | log area of each thread | data | shadow frames of the data
//! ```
//!
//! | mechanism | before a change | at the commit |
//! |---|---|---|
//! | logging | old lines go to an undo log | changes persist, the log is deleted |
//! | redo | changes stay aside | they go to a redo log, which is applied, then deleted |
//! | undo-redo | as logging; the allocator's words stay aside | both, as PMDK does: one word commits the two logs |
//! | checkpoint | old pages go to a checkpoint, once an epoch | at the end of an epoch, as logging |
//! | shadow | a page is copied to its other frame, where changes go | pages change over to their new frames |
//!
//! Logging and checkpoints differ in their grain and in how many transactions share a commit. A line is logged at most
//! once in a transaction. The log's form is that of [`protocol::LogHeader`], whoever writes it.
//!
//! Sources: PMDK 1.9's undo log; NearPM (EuroSys 2023) §2.1, §6.1 and its artifact for pages and the threshold.

mod bug;
mod log;
mod mechanism;
mod offload;
mod recover;
mod redo;
mod shadow;

pub(crate) use bug::BUGS;
pub(crate) use mechanism::{AUTO, Mechanism};
pub(crate) use recover::Recovered;

use self::bug::Bug;
use crate::context::Context;
use crate::words::CopiedPages;
use crate::workload::Asked;
use params::FromSetting;
use protocol::{LogLayout, NearInterface, POOL_HEADER, Share};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use units::Dur;

/// First word of a pool.
const POOL_MAGIC: u64 = 0x4C4F_4F50_4D50_4F43;
/// Where each thread has a line of its own: the last committed transaction, the length of its journal, and the last
/// transaction whose redo log was applied.
const THREAD_WORDS: u64 = 1024;
/// Where the page table is: a word for each page of data, zero or one: its frame.
const PAGE_TABLE: u64 = 4096;
/// Bytes at the beginning of the data that are the allocator's: the next free byte, then a list for each size.
const ALLOCATOR: u64 = 128;
/// Bytes of a page.
const PAGE: u64 = 4096;
/// Most pages of data.
const MOST_PAGES: u64 = (POOL_HEADER - PAGE_TABLE) / 8;

/// Where a pool is and who shares it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) id: u8,
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    /// Threads that use it.
    pub(crate) threads: u64,
}

/// The parts of a pool.
#[derive(Clone, Copy, Debug)]
struct Parts {
    place: Place,
    layout: LogLayout,
    data: u64,
    pages: u64,
}

impl Parts {
    fn new(place: Place, layout: LogLayout) -> Parts {
        let data = place.base + POOL_HEADER + place.threads * layout.area_bytes();
        let room = (place.base + place.bytes).saturating_sub(data) / 2 / POOL_HEADER * POOL_HEADER;
        Parts { place, layout, data, pages: (room / PAGE).min(MOST_PAGES / 16 * 16) }
    }

    /// From a page's first frame to its second: both are on the same device.
    fn span(&self) -> u64 {
        self.pages * PAGE
    }

    fn page(&self, address: u64) -> u64 {
        (address - self.data) / PAGE
    }

    /// The first address of one of a page's frames.
    fn frame(&self, page: u64, which: u64) -> u64 {
        self.data + page * PAGE + which * self.span()
    }

    /// The one place to which all pages of a device are copied where that is fixed.
    fn fixed_frame(&self, page: u64) -> u64 {
        let turn = (self.layout.devices * self.layout.interleave / PAGE).max(1);
        self.frame(page % turn, 1)
    }

    fn table(&self, page: u64) -> u64 {
        self.place.base + PAGE_TABLE + page * 8
    }

    fn thread_words(&self, thread: u64) -> u64 {
        self.place.base + THREAD_WORDS + thread * 64
    }

    fn area(&self, thread: u64) -> u64 {
        self.layout.area(self.place.base, thread)
    }
}

/// What a transaction has done so far.
#[derive(Default)]
struct State {
    /// Lines that need no log any more, because they have one or are new.
    logged: BTreeSet<u64>,
    /// Lines changed and not yet flushed.
    dirty: BTreeSet<u64>,
    /// Words that a redo log will hold.
    aside: BTreeMap<u64, u64>,
    /// Pages saved in this epoch, or with a new frame in this transaction.
    pages: BTreeMap<u64, u64>,
    /// This transaction has copied a page.
    copied: bool,
    /// Bytes of the undo log that the core has written; of those that devices have, together.
    log_used: u64,
    /// How far the redo log is, on each device.
    redo_used: Vec<u64>,
    /// Whether the log holds anything.
    logs: bool,
    /// Page faults of this epoch, and operations that wait for its end.
    faults: u64,
    waiting: u64,
}

/// Whether devices know a pool for every thread that has one in them, `place` saying where a thread has it, and a mistake that
/// is asked for does anything there.
pub(crate) fn fits(asked: &Asked<'_>, place: impl Fn(usize, usize) -> Place) -> Result<(), String> {
    let threads = asked.settings.count("workload.threads");
    let in_devices = asked.near.map_or(0, |near| {
        let places = (0..threads).map(|thread| place(thread, threads));
        places.filter(|place| near.owns(place.base, place.bytes)).count()
    });
    Bug::check(asked.settings, in_devices > 0)?;
    let Some(near) = asked.near.filter(|near| in_devices > near.pools) else { return Ok(()) };
    let (most, key) = (near.pools, near.pools_key);
    Err(format!(
        "workload.threads = {threads}: each takes an entry of the devices' address mapping table, which has {most} ({key}); give at most {most} threads, or more entries"
    ))
}

/// A pool as one thread has it open.
pub(crate) struct Pm {
    c: Context,
    parts: Parts,
    /// The thread's number among those that share the pool.
    thread: u64,
    mechanism: Mechanism,
    near: Option<NearInterface>,
    bug: Bug,
    copied: Option<CopiedPages>,
    /// Time of faults in the range in hand that no region counts.
    untimed: Cell<Dur>,
    /// Ranges added so far.
    added: Cell<u64>,
    transaction: Cell<u64>,
    state: RefCell<State>,
}

impl Pm {
    /// Opens the pool at `place` as the thread that has this number there.
    pub(crate) async fn open(c: &Context, place: Place, thread: u64, mechanism: Mechanism) -> Pm {
        // Devices take over what lies in them, and no more.
        let near = c.near.filter(|n| n.owns(place.base, place.bytes));
        let devices = near.map_or(1, |n| n.devices);
        let layout = LogLayout { devices, interleave: near.map_or(PAGE, |n| n.interleave) };
        let pm = Pm {
            c: c.clone(),
            parts: Parts::new(place, layout),
            thread,
            mechanism,
            near,
            bug: Bug::of(&c.settings),
            copied: c.settings.get("workload.pages").and_then(CopiedPages::from_setting),
            untimed: Cell::new(Dur::ZERO),
            added: Cell::new(0),
            transaction: Cell::new(1),
            state: RefCell::new(State {
                redo_used: vec![mechanism.redo_start(); devices as usize],
                ..State::default()
            }),
        };
        pm.map().await;
        pm
    }

    /// Makes the empty pool: once, by one thread.
    pub(crate) async fn create(&self) {
        let (c, parts) = (&self.c, &self.parts);
        c.store(parts.data, parts.data + PAGE).await;
        c.persist(parts.data, ALLOCATOR).await;
        let header = [POOL_MAGIC, parts.layout.devices, parts.layout.interleave, parts.place.threads];
        for (i, word) in (0..).zip(header) {
            c.store(parts.place.base + i * 8, word).await;
        }
        c.persist(parts.place.base, 32).await;
        c.cpu.dfence().await;
    }

    /// The address of the program's own root object: what is left of the first page, zero at first.
    pub(crate) fn root(&self) -> u64 {
        self.parts.data + ALLOCATOR
    }

    /// A transaction begins.
    pub(crate) fn begin(&self) {
        let mut state = self.state.borrow_mut();
        state.logged.clear();
        state.aside.clear();
        state.copied = false;
        if self.mechanism == Mechanism::Shadow {
            state.pages.clear();
        }
    }

    /// `size` bytes at `address` are about to change.
    pub(crate) async fn add(&self, address: u64, size: u64) {
        let began = self.c.cpu.now();
        self.added.set(self.added.get() + 1);
        if self.bug == Bug::ChangeNotAdded && self.added.get().is_multiple_of(8) {
            return;
        }
        match self.mechanism {
            Mechanism::Logging => self.log_lines(address, size).await,
            Mechanism::UndoRedo if !self.is_allocator(address) => self.log_lines(address, size).await,
            Mechanism::Redo | Mechanism::UndoRedo => {}
            Mechanism::Checkpoint => self.save_pages(address, size).await,
            Mechanism::Shadow => self.shadow_pages(address, size).await,
        }
        let spent = self.c.cpu.now() - began - self.untimed.take();
        self.c.cpu.spent(Share::Consistency, spent);
    }

    /// Changes a word of what was added or is new.
    pub(crate) async fn set(&self, address: u64, value: u64) {
        if self.stays_aside(address) {
            self.state.borrow_mut().aside.insert(address, value);
            self.c.compute(4).await;
            return;
        }
        let place = self.at(address).await;
        self.c.store(place, value).await;
        self.state.borrow_mut().dirty.insert(place / 64);
    }

    /// Adds and changes a word.
    pub(crate) async fn put(&self, address: u64, value: u64) {
        self.add(address, 8).await;
        self.set(address, value).await;
    }

    /// Reads a word.
    pub(crate) async fn get(&self, address: u64) -> u64 {
        if matches!(self.mechanism, Mechanism::Redo | Mechanism::UndoRedo) {
            let aside = self.state.borrow().aside.get(&address).copied();
            if let Some(value) = aside {
                return value;
            }
        }
        let place = self.at(address).await;
        self.c.load(place).await
    }

    /// Whether a page that is about to change is left as it is: the public artifact's programs copy the first one that a
    /// transaction changes, and no other.
    fn leaves_page(&self) -> bool {
        let copied = std::mem::replace(&mut self.state.borrow_mut().copied, true);
        copied && self.copies_first_alone()
    }

    fn copies_first_alone(&self) -> bool {
        matches!(self.copied, Some(CopiedPages::First | CopiedPages::Fixed))
    }

    /// Whether a word is the allocator's.
    fn is_allocator(&self, address: u64) -> bool {
        (self.parts.data..self.parts.data + ALLOCATOR).contains(&address)
    }

    /// Whether a change waits for a redo log.
    fn stays_aside(&self, address: u64) -> bool {
        match self.mechanism {
            Mechanism::Redo => !self.state.borrow().logged.contains(&(address / 64)),
            Mechanism::UndoRedo => self.is_allocator(address),
            Mechanism::Logging | Mechanism::Checkpoint | Mechanism::Shadow => false,
        }
    }

    /// Where a word is: shadow paging has two frames for a page.
    async fn at(&self, address: u64) -> u64 {
        if self.mechanism != Mechanism::Shadow {
            return address;
        }
        let page = self.parts.page(address);
        let new = self.state.borrow().pages.get(&page).copied();
        let frame = match new {
            Some(frame) => frame,
            None => self.c.load(self.parts.table(page)).await,
        };
        address + (frame & 1) * self.parts.span()
    }

    /// `size` new bytes at a multiple of 64, of any contents. The old ones need no log.
    pub(crate) async fn alloc(&self, size: u64) -> u64 {
        let class = class_of(size);
        let list = self.parts.data + 8 + u64::from(class) * 8;
        let (free, bytes) = (self.get(list).await, 64 << class);
        let address = if free != 0 {
            let next = self.get(free).await;
            self.put(list, next).await;
            free
        } else {
            let next = self.get(self.parts.data).await;
            if next + bytes > self.parts.data + self.parts.span() {
                self.c.cpu.fail(
                    "the pool is full: give fewer workload.operations or a smaller workload.value_size"
                        .into(),
                );
            }
            self.put(self.parts.data, next + bytes).await;
            next
        };
        if matches!(self.mechanism, Mechanism::Checkpoint | Mechanism::Shadow) {
            self.add(address, size).await;
        } else if free == 0 {
            self.state.borrow_mut().logged.extend(address / 64..(address + bytes) / 64);
        } else {
            // Its first line links a list that an undone transaction goes back to.
            self.state.borrow_mut().logged.extend(address / 64 + 1..(address + bytes) / 64);
            self.add(address, 64).await;
        }
        address
    }

    /// `bytes` zero bytes for a table, for good: part of setting up.
    pub(crate) async fn reserve(&self, bytes: u64) -> u64 {
        let next = self.get(self.parts.data).await;
        let end = (next + bytes).next_multiple_of(64);
        if end > self.parts.data + self.parts.span() {
            let room = (self.parts.data + self.parts.span()).saturating_sub(next);
            self.c.cpu.fail(format!("a table of {bytes} bytes does not fit: the pool has {room} left"));
        }
        self.put(self.parts.data, end).await;
        next
    }

    /// Gives back what `alloc` gave.
    pub(crate) async fn free(&self, address: u64, size: u64) {
        let list = self.parts.data + 8 + u64::from(class_of(size)) * 8;
        let first = self.get(list).await;
        self.put(address, first).await;
        self.put(list, address).await;
    }

    /// The transaction's changes become durable, all or none; with checkpoints, when their epoch ends.
    pub(crate) async fn commit(&self) {
        match self.mechanism {
            Mechanism::Logging => self.end_log().await,
            Mechanism::Redo | Mechanism::UndoRedo => self.apply().await,
            Mechanism::Shadow => self.switch().await,
            Mechanism::Checkpoint => {
                let threshold = self.c.settings.number("workload.epoch_faults");
                if self.state.borrow().faults >= threshold || self.parts.place.threads > 1 {
                    self.end_log().await;
                    self.end_epoch().await;
                }
            }
        }
    }

    /// One of the program's operations has ended; it counts once it is durable.
    pub(crate) async fn end_operation(&self) {
        let waits = self.mechanism == Mechanism::Checkpoint && self.state.borrow().faults > 0;
        if waits {
            self.state.borrow_mut().waiting += 1;
        } else {
            self.c.end_operation().await;
        }
    }

    async fn end_epoch(&self) {
        let waiting = {
            let mut state = self.state.borrow_mut();
            state.pages.clear();
            state.faults = 0;
            std::mem::take(&mut state.waiting)
        };
        for _ in 0..waiting {
            self.c.end_operation().await;
        }
    }

    /// The last epoch ends.
    pub(crate) async fn close(&self) {
        if self.mechanism == Mechanism::Checkpoint && self.state.borrow().faults > 0 {
            self.end_log().await;
            self.end_epoch().await;
        }
    }

    /// Every changed line is flushed and durable, or ordered before what follows where nothing else has to see it.
    async fn flush_changes(&self) {
        let dirty = std::mem::take(&mut self.state.borrow_mut().dirty);
        for line in dirty {
            self.c.cpu.clwb(line * 64).await;
        }
        self.durable().await;
    }

    /// Whether devices take this pool's part of crash consistency over.
    pub(crate) fn has_devices(&self) -> bool {
        self.near.is_some()
    }

    /// What has been flushed is durable: devices read memory, not caches.
    async fn durable(&self) {
        if self.has_devices() {
            self.c.cpu.dfence().await;
        } else {
            self.c.cpu.ofence().await;
        }
    }
}

/// The size class of `size` bytes: a power of two of lines.
fn class_of(size: u64) -> u32 {
    size.div_ceil(64).next_power_of_two().trailing_zeros().min(10)
}
