//! The log of a recorded program: its files one after the other, stores, flushes, fences, system calls.

use super::files::{Change, FileState, What};
use super::log::{Event, Happened, Kind, Log, SiteId};
use super::named::Named;
use super::pages::Pages;
use protocol::{FenceKind, FlushKind, Order, line_of, mask_of, offset_of};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use trace::names::{endings, own_name};
use trace::space::{Layout, Space, file_of};
use trace::{Call, InOrder, Record, Recording};

/// What of a recording a log is of.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// Where files lie.
    pub layout: &'a Layout,
    /// What they are called at first: a file that the program makes has no name before.
    pub named: &'a Named,
    /// Power fails only once each of these threads has done so many records: see [`super::Facts::begins`].
    pub begins: &'a [(usize, u64)],
}

/// A recorded program's events, threads in turn and synchronisation in the recorded order. Addresses are those of the
/// layout; files that have no place there are left out. Reads the recording once, and again for each pass.
pub fn of_trace(recording: &Recording, what: &Recorded<'_>) -> Log {
    let layout = what.layout.clone();
    let files = what.named.files(recording.about(), &layout, Some(&[]));
    let part = Arc::new(Part { recording: recording.clone(), layout, files, begins: what.begins.to_vec() });
    let mut recorder = Recorder { contents: Some(Pages::default()), ..Recorder::new(Arc::clone(&part)) };
    let (mut events, mut begins) = (0, 0);
    for (done, record) in recording.in_order().enumerate() {
        recorder.follow(&record);
        for happened in recorder.out.drain(..) {
            events += 1;
            if happened.event.kind == Kind::Begins {
                begins = events;
            }
        }
        if done.is_multiple_of(1 << 16) {
            units::watch::pass(done as u64, recording.len());
        }
    }
    let Recorder { files, contents, begun, has_turns, .. } = recorder;
    let contents = contents.unwrap_or_default();
    let mut sites: Vec<String> = places(recording).map(|(_, name)| name).collect();
    sites.push(UNSEEN.into());
    let paths = recording.about().files.values().map(|f| f.path.as_str());
    let ends = endings(paths.chain(what.named.paths().map(|(_, path)| path)).filter(|p| !p.ends_with('/')));
    let threads = recording.threads();
    let origin = Some(Arc::new(Origin { part, events, begins }));
    let sfence_settles = true;
    Log { threads, sites, files, ends, contents, sfence_settles, has_turns, begun, origin, ..Log::default() }
}

/// The places of a recording's code, those without a name behind the others. Code of no file has none.
fn places(recording: &Recording) -> impl Iterator<Item = (u32, String)> {
    let named = &recording.about().locations;
    let unnamed = recording.counts().locations.iter().filter(|l| **l != 0 && !named.contains_key(l));
    let unnamed = unnamed.map(|location| (*location, format!("code offset {location:#x}")));
    named.iter().map(|(location, name)| (*location, short(name))).chain(unnamed)
}

/// A recording, and what of it a log is of.
struct Part {
    recording: Recording,
    layout: Layout,
    /// Files as the program found them.
    files: Vec<FileState>,
    begins: Vec<(usize, u64)>,
}

/// Where a recorded log's events come from.
#[derive(Clone)]
pub(super) struct Origin {
    part: Arc<Part>,
    /// How many there are.
    pub(super) events: usize,
    /// The index of the first event of the region of interest.
    pub(super) begins: usize,
}

impl std::fmt::Debug for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a recording of {} events", self.events)
    }
}

impl Origin {
    /// The path that the recording has of a file.
    pub(super) fn path(&self, number: u32) -> Option<String> {
        self.part.layout.file(number).map(|file| file.path.clone())
    }

    /// The folder that a sync call is for, where the recording tells it.
    pub(super) fn folder(&self, sync: &Event) -> Option<&str> {
        self.folder_at(sync.address).filter(|_| sync.value == 0)
    }

    fn folder_at(&self, address: u64) -> Option<&str> {
        let names = &self.part.recording.about().names;
        names.get(&(address.checked_sub(OUTSIDE)? / 64))?.strip_suffix("/.")
    }

    /// The folder that a program makes, or else removes, in what is told as a load.
    pub(super) fn folder_change(&self, event: &Event) -> Option<(&str, bool)> {
        let is_made = match event.value {
            made if made == Call::MakeFolder as u64 => true,
            gone if gone == Call::RemoveFolder as u64 => false,
            _ => return None,
        };
        Some((self.folder_at(event.address)?, is_made))
    }

    /// The events once more.
    pub(super) fn pass(&self) -> Reader {
        let part = Arc::clone(&self.part);
        Reader { records: part.recording.in_order(), recorder: Recorder::new(part) }
    }
}

/// Reads a recording and gives its events.
pub(super) struct Reader {
    records: InOrder,
    recorder: Recorder,
}

impl Iterator for Reader {
    type Item = Happened;

    fn next(&mut self) -> Option<Happened> {
        loop {
            if let Some(happened) = self.recorder.out.pop_front() {
                return Some(happened);
            }
            let record = self.records.next()?;
            self.recorder.follow(&record);
        }
    }
}

/// Makes events of records, one after the other.
struct Recorder {
    what: Arc<Part>,
    space: Space,
    /// Files by address: at the end, as they are before the first event.
    files: Vec<FileState>,
    /// Those of which a call begins to write something out, which makes nothing durable, and the call.
    begun: BTreeMap<usize, &'static str>,
    /// Threads ran one at a time.
    has_turns: bool,
    /// What files held at first; kept where somebody asks.
    contents: Option<Pages>,
    /// Events of the last record.
    out: VecDeque<Happened>,
    changes: u64,
    sites: BTreeMap<u32, SiteId>,
    /// Sizes of files as the program sees them.
    sizes: Vec<u64>,
    /// Of each thread's last call the place, and how many it has made.
    calls: Vec<(u32, u32)>,
    /// Who wrote a line last, and who read it since. Of one thread nobody asks.
    writers: FxHashMap<u64, (u16, u16)>,
    /// Records of each thread so far.
    passed: Vec<u64>,
    /// What power failures still wait for.
    waits: Vec<(usize, u64)>,
}

/// The site of stores by code that the recorder does not see.
pub(super) const UNSEEN: &str = "code without hooks";

impl Recorder {
    fn new(what: Arc<Part>) -> Recorder {
        let files = what.files.clone();
        Recorder {
            space: Space::new(),
            sizes: files.iter().map(|f| f.size).collect(),
            files,
            begun: BTreeMap::new(),
            has_turns: false,
            contents: None,
            out: VecDeque::new(),
            changes: 0,
            sites: places(&what.recording).enumerate().map(|(i, (l, _))| (l, i as SiteId)).collect(),
            calls: vec![(0, 0); what.recording.threads()],
            writers: FxHashMap::default(),
            passed: vec![0; what.recording.threads()],
            waits: what.begins.clone(),
            what,
        }
    }

    fn place(&self, address: u64) -> Option<u64> {
        self.what.layout.compact(self.space.place(address)?)
    }

    /// The file of an address.
    fn file_at(&self, address: u64) -> Option<usize> {
        self.files.partition_point(|f| f.base <= address).checked_sub(1)
    }

    /// The record after those before.
    fn follow(&mut self, r: &Record) {
        self.act(r);
        let thread = usize::from(r.thread);
        self.passed[thread] += 1;
        if self.waits.is_empty() {
            return;
        }
        self.waits.retain(|(thread, records)| self.passed[*thread] < *records);
        if self.waits.is_empty() {
            self.note(Kind::Begins, 0, 0, 0, 0, SiteId::MAX);
        }
    }

    fn act(&mut self, r: &Record) {
        use trace::Kind as K;
        let operand = self.space.follow(r);
        let site = self.sites.get(&r.location).copied().unwrap_or(SiteId::MAX);
        match r.kind {
            K::Sfence => self.note(Kind::Fence(FenceKind::Sfence), 0, 0, 0, r.thread, site),
            K::Order => self.note(Kind::Fence(FenceKind::Ofence), 0, 0, 0, r.thread, site),
            K::Mfence => self.note(Kind::Fence(FenceKind::Mfence), 0, 0, 0, r.thread, site),
            K::Mark => self.note(Kind::Ended, 0, r.value, 0, r.thread, site),
            K::Store | K::StoreNonTemporal | K::StoreRelease => self.store(r, site),
            K::Observed => self.store(r, self.sites.len() as SiteId),
            K::Rmw => self.locked(r, site),
            K::Load => self.load(r, site),
            K::LoadAcquire => {
                self.synchronise(r, Order::Acquire, r.address, site);
                self.load(r, site);
            }
            K::Clwb => self.flush(r, FlushKind::Clwb, site),
            K::Clflushopt => self.flush(r, FlushKind::Clflushopt, site),
            K::Clflush => self.flush(r, FlushKind::Clflush, site),
            K::Lock => self.synchronise(r, Order::Acquire, r.address, site),
            // Readers of a lock give it back one by one: who takes it comes after all of them.
            K::Unlock => self.synchronise(r, Order::AcquireRelease, r.address, site),
            K::Create => self.synchronise(r, Order::Release, born(r.value), site),
            K::Start => self.synchronise(r, Order::Acquire, born(r.thread.into()), site),
            K::End => self.synchronise(r, Order::Release, ended(r.thread.into()), site),
            K::Join => self.synchronise(r, Order::Acquire, ended(r.value), site),
            K::Call => self.call(r, operand, site),
            K::Written => self.written(r, site),
            K::Contents => self.contents(r),
            K::Turn => self.has_turns |= r.address == trace::hosts::MEETINGS,
            K::Map | K::Unmap | K::Operand | K::Unseen | K::Region => {}
        }
    }

    fn note(&mut self, kind: Kind, address: u64, value: u64, size: u8, thread: u16, site: SiteId) {
        let event = Event { kind, address, value, site, thread, size };
        self.out.push_back(Happened { event, change: None });
    }

    /// The parts of an access, none of which crosses a line: address, bytes of the value before it, and bytes.
    fn parts(&self, r: &Record) -> impl Iterator<Item = (u64, u32, u8)> + use<> {
        let size = r.size.min(8);
        let first = (64 - r.address % 64).min(size.into()) as u8;
        let second = r.address.checked_add(first.into()).and_then(|a| self.place(a));
        let parts = [(self.place(r.address), 0, first), (second, 8 * u32::from(first), size - first)];
        parts.into_iter().filter_map(|(at, shift, size)| Some((at?, shift, size))).filter(|p| p.2 > 0)
    }

    fn store(&mut self, r: &Record, site: SiteId) {
        let kind = if r.kind == trace::Kind::StoreNonTemporal { Kind::NonTemporal } else { Kind::Store };
        if r.kind == trace::Kind::StoreRelease {
            // Of a barrier or a semaphore too.
            let meets = r.address & trace::hosts::MEETINGS != 0;
            let order = if meets { Order::AcquireRelease } else { Order::Release };
            self.synchronise(r, order, r.address, site);
        }
        for (address, shift, size) in self.parts(r) {
            self.stored(r, address, size);
            self.note(kind, address, r.value >> shift, size, r.thread, site);
        }
    }

    fn locked(&mut self, r: &Record, site: SiteId) {
        self.synchronise(r, Order::AcquireRelease, r.address, site);
        let parts: Vec<_> = self.parts(r).collect();
        if parts.is_empty() {
            self.note(Kind::Locked { wrote: false }, 0, r.value, 0, r.thread, site);
        }
        for (address, shift, size) in parts {
            self.stored(r, address, size);
            self.note(Kind::Locked { wrote: true }, address, r.value >> shift, size, r.thread, site);
        }
    }

    fn writes(&mut self, thread: u16, address: u64) {
        if self.calls.len() > 1 {
            self.writers.insert(address / 64, (thread, thread));
        }
    }

    fn stored(&mut self, r: &Record, address: u64, size: u8) {
        self.writes(r.thread, address);
        if let Some(file) = self.file_at(address) {
            // What is stored to is there, whatever the recorder knows of the file's size.
            let end = address - self.files[file].base + u64::from(size);
            if end > self.sizes[file] && end > self.files[file].size {
                self.files[file].size = end;
                self.sizes[file] = end;
            }
        }
    }

    /// Only loads of what another thread wrote order anything.
    fn load(&mut self, r: &Record, site: SiteId) {
        let parts: Vec<_> = self.parts(r).collect();
        for (address, _, size) in parts {
            let Some((writer, reader)) = self.writers.get_mut(&(address / 64)) else { continue };
            if *writer != r.thread && *reader != r.thread {
                *reader = r.thread;
                self.note(Kind::Load, address, 0, size, r.thread, site);
            }
        }
    }

    fn flush(&mut self, r: &Record, kind: FlushKind, site: SiteId) {
        // What is no file's cannot be lost, but a fence may be for it.
        let address = self.place(r.address).unwrap_or(r.address | OUTSIDE);
        self.note(Kind::Flush(kind), address, 0, 0, r.thread, site);
    }

    fn synchronise(&mut self, r: &Record, order: Order, address: u64, site: SiteId) {
        let address = self.place(address).unwrap_or(address | OUTSIDE);
        self.note(Kind::Synchronise(order), address, 0, 0, r.thread, site);
    }

    /// What a file held before the program changed it.
    fn contents(&mut self, r: &Record) {
        let parts: Vec<_> = self.parts(r).collect();
        let Some(contents) = &mut self.contents else { return };
        for (address, shift, size) in parts {
            let (at, mut block) = (offset_of(address), [0; 64]);
            let size = size as usize;
            block[at..at + size].copy_from_slice(&(r.value >> shift).to_le_bytes()[..size]);
            contents.write(line_of(address), &block, mask_of(at, size));
        }
    }

    fn written(&mut self, r: &Record, site: SiteId) {
        let (location, call) = self.calls.get(r.thread as usize).copied().unwrap_or_default();
        let site =
            if site == SiteId::MAX { self.sites.get(&location).copied().unwrap_or(site) } else { site };
        for (address, shift, size) in self.parts(r) {
            self.writes(r.thread, address);
            self.note(Kind::Written { call }, address, r.value >> shift, size, r.thread, site);
        }
    }

    fn call(&mut self, r: &Record, operand: Option<u64>, site: SiteId) {
        if let Some(place) = self.calls.get_mut(r.thread as usize) {
            *place = (r.location, place.1.wrapping_add(1));
        }
        let Some(call) = Call::from_number(r.value as u8) else { return };
        let bytes = r.value >> 8;
        match call {
            Call::Msync => self.msync(r, bytes, site),
            Call::Fdatasync | Call::Fsync => {
                let whole = self.file(r.address).map(|f| (self.files[f].base, self.room(f)));
                let (base, room) = whole.unwrap_or_default();
                self.sync(r, base, room, site);
            }
            Call::Sync => self.sync(r, 0, u64::MAX, site),
            // It has no bytes; where it is told which one it is, that stands for their address.
            Call::SyncFolder => self.sync(r, operand.map_or(0, folder_address), 0, site),
            Call::Write | Call::Resize | Call::Allocate => self.resize(r, call, bytes, site),
            Call::Link | Call::Unlink | Call::Rename => self.rename(r, call, bytes, operand, site),
            Call::SyncFileRange => self.begin_writing(r, "sync_file_range"),
            Call::MsyncAsync => self.begin_writing(r, "msync with MS_ASYNC"),
            Call::MakeFolder | Call::RemoveFolder => self.folder_changes(r, call, bytes, site),
        }
    }

    fn begin_writing(&mut self, r: &Record, call: &'static str) {
        self.begun.extend(self.file(r.address).map(|file| (file, call)));
    }

    /// No image has folders of their own: it is told as a load of where nothing is, for who follows names.
    fn folder_changes(&mut self, r: &Record, call: Call, name: u64, site: SiteId) {
        self.note(Kind::Load, folder_address(name), call as u64, 0, r.thread, site);
    }

    /// Index of the file of an address of the file space.
    fn file(&self, address: u64) -> Option<usize> {
        let (number, _) = file_of(address)?;
        self.files.binary_search_by_key(&number, |f| f.number).ok()
    }

    /// Bytes that a file has in the layout.
    fn room(&self, file: usize) -> u64 {
        let next = self.files.get(file + 1).map_or(self.what.layout.end(), |f| f.base);
        next - self.files[file].base
    }

    fn msync(&mut self, r: &Record, bytes: u64, site: SiteId) {
        // The range is whole pages, and may reach beyond the end of the file.
        for (address, bytes) in self.space.pieces(r.address, bytes) {
            let Some(file) = self.file(address) else { continue };
            let Some((_, offset)) = file_of(address) else { continue };
            let room = self.room(file);
            let (first, end) =
                (offset.min(room), offset.saturating_add(bytes).next_multiple_of(4096).min(room));
            let first = first / 4096 * 4096;
            self.sync(r, self.files[file].base + first, end - first, site);
        }
    }

    fn sync(&mut self, r: &Record, address: u64, bytes: u64, site: SiteId) {
        self.note(Kind::Sync, address, bytes, 0, r.thread, site);
    }

    fn change(&mut self, r: &Record, change: Change, site: SiteId) {
        self.note(Kind::Change, 0, self.changes, 0, r.thread, site);
        self.changes += 1;
        if let Some(happened) = self.out.back_mut() {
            happened.change = Some(Box::new(change));
        }
    }

    fn resize(&mut self, r: &Record, call: Call, bytes: u64, site: SiteId) {
        let Some(file) = self.file(r.address) else { return };
        let (size, base, room) = (self.sizes[file], self.files[file].base, self.room(file));
        let end = if call == Call::Resize {
            bytes
        } else {
            let offset = file_of(r.address).map_or(0, |f| f.1);
            offset.saturating_add(bytes)
        };
        if end == size || call != Call::Resize && end < size {
            return;
        }
        let what = if call == Call::Resize { What::Size(end) } else { What::AtLeast(end) };
        let cuts = (end < size && end < room).then(|| (base + end, base + room));
        self.sizes[file] = end;
        self.change(r, Change { file, what, cuts }, site);
    }

    fn rename(&mut self, r: &Record, call: Call, name: u64, operand: Option<u64>, site: SiteId) {
        let text = |n: u64| self.what.recording.about().names.get(&n).cloned();
        let Some(name) = text(name) else { return };
        // A folder has names of any file.
        let Some(file) = self.file(r.address).or(name.ends_with('/').then_some(0)) else { return };
        let what = match (call, operand.and_then(text)) {
            (Call::Link, _) => What::Link(name),
            (Call::Unlink, _) => What::Unlink(name),
            (Call::Rename, Some(from)) => What::Rename(from, name),
            (Call::Rename, None)
            | (
                Call::Write
                | Call::Msync
                | Call::MsyncAsync
                | Call::Fdatasync
                | Call::Fsync
                | Call::Sync
                | Call::Resize
                | Call::Allocate
                | Call::SyncFolder
                | Call::SyncFileRange
                | Call::MakeFolder
                | Call::RemoveFolder,
                _,
            ) => return,
        };
        self.change(r, Change { file, what, cuts: None }, site);
    }
}

/// Added to addresses that are in no file.
pub(super) const OUTSIDE: u64 = 1 << 63;

/// The address of a sync of a folder, by the number of its name: that of a line, in which nothing is.
fn folder_address(number: u64) -> u64 {
    OUTSIDE | number.saturating_mul(64).min(OUTSIDE - 64)
}

/// What a thread that was created waits for.
fn born(thread: u64) -> u64 {
    OUTSIDE | 1 << 61 | (thread & 0xFFFF_FFFF) << 7
}

/// What who joins a thread waits for.
fn ended(thread: u64) -> u64 {
    born(thread) + 64
}

/// Without the folders of a place `path/file.c:12 function`.
fn short(name: &str) -> String {
    let (path, rest) = name.split_at(name.find(' ').unwrap_or(name.len()));
    format!("{}{rest}", own_name(path))
}
