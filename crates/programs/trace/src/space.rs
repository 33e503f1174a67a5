//! Which byte of which file a program address is, and where files lie when they are put one after the other.
//!
//! A file may be mapped twice, in parts, elsewhere after a remap, or over another; what the program does to memory
//! keeps its program addresses in the trace. [`Space`] follows the records in the order of their stamps and gives
//! addresses of the file space. [`Layout`] gives each file a room in one dense range.

use crate::about::About;
pub use crate::record::MEMORY;
use crate::record::{Call, FILE_SHIFT, FILE_SPACE, Kind, Record, Resizes, Trace};
use std::cell::Cell;
use std::collections::BTreeMap;

const PAGE: u64 = 4096;

/// Numbers of files are below.
const FILES: u32 = 1 << (62 - FILE_SHIFT);

/// The most bytes of a file.
pub const LARGEST_FILE: u64 = 1 << FILE_SHIFT;

/// The address in the file space of a byte of a file.
pub fn file_address(number: u32, offset: u64) -> u64 {
    FILE_SPACE | u64::from(number) << FILE_SHIFT | offset & (LARGEST_FILE - 1)
}

/// The file and the offset of an address of the file space; none for an address of the program.
pub fn file_of(address: u64) -> Option<(u32, u64)> {
    let number = ((address & !FILE_SPACE) >> FILE_SHIFT) as u32;
    (address >> 62 == 1).then_some((number, address & (LARGEST_FILE - 1)))
}

/// Whether the number is that of memory without a file.
pub fn is_memory(number: u32) -> bool {
    number >= MEMORY
}

/// Program addresses from a start to `end` are those of the file space from `target` on.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    end: u64,
    target: u64,
}

/// A range of addresses that are of one stretch, or of none.
#[derive(Clone, Copy)]
struct Known {
    from: u64,
    to: u64,
    target: Option<u64>,
}

/// A range that no address is in.
const NOWHERE: Known = Known { from: 1, to: 0, target: None };

/// What is mapped where, at one moment of the recorded program.
pub struct Space {
    mapped: BTreeMap<u64, Stretch>,
    /// The operand that awaits the next record, by thread.
    operands: Vec<Option<u64>>,
    /// Threads that have one.
    awaiting: usize,
    memory: u32,
    /// The range that was looked up last.
    last: Cell<Known>,
    /// The one before it: programs go between a file and memory of their own.
    other: Cell<Known>,
}

impl Known {
    fn has(&self, address: u64) -> bool {
        (self.from..self.to).contains(&address)
    }
}

impl Default for Space {
    fn default() -> Space {
        Space::new()
    }
}

impl Space {
    /// Nothing is mapped.
    pub fn new() -> Space {
        let (last, other) = (Cell::new(NOWHERE), Cell::new(NOWHERE));
        Space { mapped: BTreeMap::new(), operands: Vec::new(), awaiting: 0, memory: MEMORY, last, other }
    }

    /// Follows the next record in the order of stamps. Gives the operand that belongs to it.
    #[inline]
    pub fn follow(&mut self, record: &Record) -> Option<u64> {
        // Most records map nothing, and have no operand.
        if self.awaiting == 0 && !matches!(record.kind, Kind::Operand | Kind::Map | Kind::Unmap) {
            return None;
        }
        self.follow_operand(record)
    }

    #[inline(never)]
    fn follow_operand(&mut self, record: &Record) -> Option<u64> {
        let thread = record.thread as usize;
        if record.kind == Kind::Operand {
            if thread >= self.operands.len() {
                self.operands.resize(thread + 1, None);
            }
            let before = self.operands[thread].replace(record.value);
            self.awaiting += usize::from(before.is_none());
            return None;
        }
        let operand = self.operands.get_mut(thread).and_then(Option::take);
        self.awaiting -= usize::from(operand.is_some());
        self.apply(record, operand);
        operand
    }

    /// Follows a record whose operand is known.
    pub(crate) fn apply(&mut self, record: &Record, operand: Option<u64>) {
        if record.kind == Kind::Map {
            match operand.and_then(file_of) {
                Some((number, offset)) => self.map(record, number, offset),
                None => self.declare(record.address, record.value),
            }
        } else if record.kind == Kind::Unmap {
            self.unmap(record.address, record.address.saturating_add(whole_pages(record.value)));
        }
    }

    /// The address in the file space of a byte; none where it is of no file.
    #[inline]
    pub fn place(&self, address: u64) -> Option<u64> {
        let last = self.last.get();
        let last = if last.has(address) { last } else { self.turn_to(address) };
        Some(last.target? + (address - last.from))
    }

    /// The pieces of `bytes` bytes from `address` on that are of files: where in the file space, and how many bytes.
    pub fn pieces(&self, address: u64, bytes: u64) -> Vec<(u64, u64)> {
        let end = address.saturating_add(bytes);
        if file_of(address).is_some() {
            return vec![(address, bytes)];
        }
        if bytes == 0 || address >= FILE_SPACE {
            return Vec::new();
        }
        let before = self.mapped.range(..=address).next_back();
        let all = before.into_iter().chain(self.mapped.range(address.saturating_add(1)..end));
        let cut = all.filter_map(|(from, s)| {
            let (first, last) = (address.max(*from), end.min(s.end));
            (first < last).then(|| (s.target + (first - from), last - first))
        });
        cut.collect()
    }

    /// How many pieces of memory without a file were declared.
    pub fn memories(&self) -> u32 {
        self.memory - MEMORY
    }

    /// Whether no further piece of memory without a file can be told apart.
    pub(crate) fn is_full(&self) -> bool {
        self.memory >= FILES
    }

    /// The range of an address that is not in the last one.
    fn turn_to(&self, address: u64) -> Known {
        let other = self.other.replace(self.last.get());
        if other.has(address) {
            self.last.set(other);
            return other;
        }
        self.look_up(address)
    }

    /// What is mapped has changed.
    fn forget(&self) {
        self.last.set(NOWHERE);
        self.other.set(NOWHERE);
    }

    #[cold]
    fn look_up(&self, address: u64) -> Known {
        let found = if address >= FILE_SPACE {
            let target = file_of(address).is_some().then_some(FILE_SPACE);
            let (from, to) = if target.is_some() { (FILE_SPACE, 1 << 63) } else { (1 << 63, u64::MAX) };
            Known { from, to, target }
        } else {
            let before = self.mapped.range(..=address).next_back();
            match before.filter(|(_, s)| address < s.end) {
                Some((from, s)) => Known { from: *from, to: s.end, target: Some(s.target) },
                None => {
                    let next = self.mapped.range(address..).next().map_or(FILE_SPACE, |(from, _)| *from);
                    Known { from: before.map_or(0, |(_, s)| s.end), to: next, target: None }
                }
            }
        };
        if found.has(address) {
            self.last.set(found);
        }
        found
    }

    /// A mapping of a file replaces what was there, as the kernel's does; it has whole pages.
    fn map(&mut self, record: &Record, number: u32, offset: u64) {
        let (from, room) = (record.address, LARGEST_FILE - offset);
        let end = from.saturating_add(whole_pages(record.value).min(room)).min(FILE_SPACE);
        if from < end {
            self.unmap(from, end);
            self.mapped.insert(from, Stretch { end, target: file_address(number, offset) });
        }
    }

    /// Memory that the program declares persistent stays what it is where it is a file's or was declared before.
    fn declare(&mut self, from: u64, bytes: u64) {
        let end = from.saturating_add(bytes.min(LARGEST_FILE - PAGE)).min(FILE_SPACE);
        let mut at = from;
        while at < end && self.memory < FILES {
            let inside = self.mapped.range(..=at).next_back().filter(|(_, s)| at < s.end);
            if let Some((_, s)) = inside {
                at = s.end;
                continue;
            }
            let next = self.mapped.range(at..end).next().map_or(end, |(start, _)| *start);
            // Lines stay lines, and pages pages.
            let target = file_address(self.memory, at % PAGE);
            self.mapped.insert(at, Stretch { end: next, target });
            self.memory += 1;
            at = next;
        }
        self.forget();
    }

    fn unmap(&mut self, from: u64, end: u64) {
        self.forget();
        let before = self.mapped.range(..from).next_back().map(|(start, s)| (*start, *s));
        if let Some((start, s)) = before.filter(|(_, s)| from < s.end) {
            self.mapped.insert(start, Stretch { end: from, target: s.target });
            if end < s.end {
                self.mapped.insert(end, Stretch { end: s.end, target: s.target + (end - start) });
            }
        }
        while let Some((start, s)) = self.mapped.range(from..end).next().map(|(start, s)| (*start, *s)) {
            self.mapped.remove(&start);
            if end < s.end {
                self.mapped.insert(end, Stretch { end: s.end, target: s.target + (end - start) });
            }
        }
    }
}

fn whole_pages(bytes: u64) -> u64 {
    bytes.min(1 << 62).next_multiple_of(PAGE)
}

/// The size of each file at a moment of the recorded program.
#[derive(Clone, Debug, Default)]
pub struct Sizes(BTreeMap<u32, u64>);

impl Sizes {
    /// As the program found them.
    pub fn new(about: &About) -> Sizes {
        Sizes(about.files.iter().map(|(n, f)| (*n, f.bytes)).collect())
    }

    /// Follows the next record in the order of stamps.
    pub fn follow(&mut self, record: &Record) {
        let Some((number, offset)) = file_of(record.address) else { return };
        if record.kind == Kind::Written {
            self.at_least(number, (offset + u64::from(record.size)).min(LARGEST_FILE));
        } else if record.kind == Kind::Call {
            let (call, bytes) = (Call::from_number(record.value as u8), record.value >> 8);
            let end = offset.saturating_add(bytes).min(LARGEST_FILE);
            match call.map(Call::resizes) {
                Some(Resizes::To) => _ = self.0.insert(number, bytes.min(LARGEST_FILE)),
                Some(Resizes::AtLeast) => self.at_least(number, end),
                Some(Resizes::Not) | None => {}
            }
        }
    }

    fn at_least(&mut self, number: u32, bytes: u64) {
        let size = self.0.entry(number).or_default();
        *size = bytes.max(*size);
    }

    /// The size of a file now.
    pub fn of(&self, number: u32) -> u64 {
        self.0.get(&number).copied().unwrap_or(0)
    }
}

/// How far each file reaches: what it held, what was written, touched or resized at any moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extents(BTreeMap<u32, u64>);

impl Extents {
    /// Those of a whole trace.
    pub fn of(trace: &Trace) -> Extents {
        let mut reached = Reached::new(&trace.about);
        trace.in_order().for_each(|r| _ = reached.follow(r));
        reached.extents
    }

    /// Bytes of each file, by number.
    pub fn by_file(&self) -> &BTreeMap<u32, u64> {
        &self.0
    }
}

/// How far each file reaches until a moment of the recorded program.
pub struct Reached {
    space: Space,
    sizes: Sizes,
    extents: Extents,
    /// The file that was met last, and how far it reaches.
    last: (u32, u64),
}

impl Reached {
    /// Nothing was done yet.
    pub fn new(about: &About) -> Reached {
        let sizes = Sizes::new(about);
        Reached { space: Space::new(), extents: Extents(sizes.0.clone()), last: (u32::MAX, 0), sizes }
    }

    /// How far it is.
    pub fn into_extents(self) -> Extents {
        self.extents
    }

    /// What is mapped now.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The size of each file now.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Follows the next record in the order of stamps. Gives the operand that belongs to it.
    pub fn follow(&mut self, record: &Record) -> Option<u64> {
        let operand = self.space.follow(record);
        self.sizes.follow(record);
        if record.kind == Kind::Map {
            // All of what was declared counts; of a mapped file, what is there or touched.
            for (address, bytes) in self.space.pieces(record.address, record.value) {
                if file_of(address).is_some_and(|(n, _)| is_memory(n)) {
                    self.reach(address, bytes);
                }
            }
        } else if record.kind == Kind::Call {
            if let Some((n, _)) = file_of(record.address) {
                self.reach(file_address(n, 0), self.sizes.of(n));
            }
        } else if record.kind.has_place()
            && let Some(address) = self.space.place(record.address)
        {
            self.reach(address, record.size.max(1).into());
        }
        operand
    }

    #[inline]
    fn reach(&mut self, address: u64, bytes: u64) {
        let Some((number, offset)) = file_of(address) else { return };
        let to = offset.saturating_add(bytes).min(LARGEST_FILE);
        if self.last.0 == number && to <= self.last.1 {
            return;
        }
        let end = self.extents.0.entry(number).or_default();
        *end = to.max(*end);
        self.last = (number, *end);
    }
}

/// A file in a [`Layout`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The file's number.
    pub number: u32,
    /// Its path; for memory without a file, that it is.
    pub path: String,
    /// The address of its first byte.
    pub base: u64,
    /// How many bytes it has.
    pub bytes: u64,
}

/// The files of a trace one after the other, each from the start of a page on.
#[derive(Clone, Debug)]
pub struct Layout {
    files: Vec<Placed>,
    end: u64,
}

impl Layout {
    /// Puts files with something in them one after the other from `base` on, in the order of their numbers.
    pub fn new(about: &About, extents: &Extents, base: u64) -> Layout {
        let mut end = base;
        let placed = extents.0.iter().filter(|(_, bytes)| **bytes > 0).map(|(number, bytes)| {
            let base = end;
            end += bytes.next_multiple_of(PAGE);
            let path = match about.path(*number) {
                "" if is_memory(*number) => format!("memory {}", number - MEMORY),
                "" => format!("file {number}"),
                path => path.to_string(),
            };
            Placed { number: *number, path, base, bytes: *bytes }
        });
        let files = placed.collect();
        Layout { files, end }
    }

    /// The files, by number and by place.
    pub fn files(&self) -> &[Placed] {
        &self.files
    }

    /// The first address after all files.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// The file with a number.
    #[inline]
    pub fn file(&self, number: u32) -> Option<&Placed> {
        let index = self.files.binary_search_by_key(&number, |f| f.number).ok()?;
        Some(&self.files[index])
    }

    /// The file in whose pages a byte lies.
    pub fn file_at(&self, compact: u64) -> Option<&Placed> {
        let index = self.files.partition_point(|f| f.base <= compact).checked_sub(1)?;
        let file = &self.files[index];
        (compact - file.base < file.bytes.next_multiple_of(PAGE)).then_some(file)
    }

    /// Where a byte of a file lies.
    #[inline]
    pub fn compact(&self, file_space: u64) -> Option<u64> {
        let (number, offset) = file_of(file_space)?;
        let file = self.file(number)?;
        (offset < file.bytes.next_multiple_of(PAGE)).then_some(file.base + offset)
    }

    /// The opposite of [`Layout::compact`].
    pub fn file_space(&self, compact: u64) -> Option<u64> {
        let file = self.file_at(compact)?;
        Some(file_address(file.number, compact - file.base))
    }
}

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
