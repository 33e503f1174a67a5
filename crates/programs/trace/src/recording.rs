//! A recorded program that is read as it is needed: from a block file, from Parquet or from memory.
//!
//! Opening it finds each thread's records; the first pass over them in order checks every record and counts. Later
//! passes are plain iterators that hold one block of each thread that is alive.

use crate::about::About;
use crate::error::TraceError;
use crate::file::{BlockCursor, BlockWriter, Blocks, MAGIC, SUMMARY, Texts, texts_alone};
use crate::import::Format;
use crate::normal::{crosses, cut};
use crate::parquet_file::{ParquetWriter, is_parquet};
use crate::parquet_rows::{RowCursor, Rows, quietly};
use crate::record::{Kind, Record, SIZES, Trace};
use crate::scan::{Counts, Scan, senseless};
use crate::source::ReadAt;
use crate::space::file_of;
use crate::summary::{Described, Summary};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use std::sync::{Arc, OnceLock};
use units::watch;

/// Records between two looks at whether the work is to stop.
const LOOK: u64 = 1 << 16;

enum Input {
    Memory(Vec<Vec<Record>>),
    Blocks(Blocks),
    Rows(Rows),
}

/// What cursors read.
struct Opened {
    input: Input,
    /// The place of each thread's first record in the order of all; none for threads without one.
    starts: Vec<Option<u64>>,
    /// What went wrong after the first pass: the file changed while it was read.
    failed: OnceLock<TraceError>,
}

/// A recorded program. Clones are cheap.
#[derive(Clone)]
pub struct Recording {
    opened: Arc<Opened>,
    about: Arc<About>,
    counts: Arc<Counts>,
    finished: bool,
    left_over: u64,
    damage: Option<String>,
}

impl Recording {
    /// Opens a block file or Parquet, and checks all of it.
    ///
    /// # Errors
    /// When the bytes are neither, or damaged; a block file's whole blocks before the damage can be read with
    /// [`Recording::prefix`].
    pub fn open(source: Box<dyn ReadAt>) -> Result<Recording, TraceError> {
        let mut head = [0; 8];
        if source.size() >= 8 {
            source.read_at(0, &mut head)?;
        }
        if head.starts_with(MAGIC) {
            Recording::of_blocks(Blocks::whole(source)?)
        } else if is_parquet(&head) {
            quietly(|| Recording::of_rows(Rows::open(source)?))
                .unwrap_or_else(|| Err(TraceError::foreign("its Parquet metadata contradict themselves")))
        } else {
            let known = Format::ALL.map(|(name, _)| name).join(", ");
            let text = format!(
                "neither a block file (COREPLNT) nor Parquet (PAR1); another tool's trace goes through coreplane trace convert --from FORMAT, one of {known}"
            );
            Err(TraceError::foreign(text))
        }
    }

    /// What is said of a finished recording, as far as its file says so without its records being read; none where it does not.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn described(source: Box<dyn ReadAt>) -> Result<Option<Described>, TraceError> {
        let mut head = [0; 8];
        if source.size() >= 8 {
            source.read_at(0, &mut head)?;
        }
        if head.starts_with(MAGIC) {
            return Ok(texts_alone(&*source)?.and_then(|texts| described(texts, None)));
        }
        if !is_parquet(&head) {
            return Ok(None);
        }
        let texts = quietly(|| Rows::texts_alone(source)).unwrap_or(Ok(None))?;
        Ok(texts.and_then(|(texts, rows)| described(texts, Some(rows))))
    }

    /// The whole blocks at the beginning of a block file, whatever follows.
    ///
    /// # Errors
    /// When its header or a whole block is damaged.
    pub fn prefix(source: Box<dyn ReadAt>) -> Result<Recording, TraceError> {
        Recording::of_blocks(Blocks::prefix(source)?)
    }

    /// A trace in memory.
    ///
    /// # Errors
    /// When a record makes no sense.
    pub fn of_trace(trace: Trace) -> Result<Recording, TraceError> {
        Recording::new(Input::Memory(trace.threads), trace.about)
    }

    fn of_blocks(file: Blocks) -> Result<Recording, TraceError> {
        let mut about = About::default();
        for (key, value) in &file.texts {
            about.read(key, value)?;
        }
        let (finished, left_over) = (file.finished, file.left_over);
        let damage = file.damage().map(|damage| damage.to_string());
        Ok(Recording { finished, left_over, damage, ..Recording::new(Input::Blocks(file), about)? })
    }

    fn of_rows(file: Rows) -> Result<Recording, TraceError> {
        let mut about = About::default();
        for (key, value) in file.texts() {
            about.read(key, value)?;
        }
        Recording::new(Input::Rows(file), about)
    }

    fn new(input: Input, about: About) -> Result<Recording, TraceError> {
        let mut opened = Opened { input, starts: Vec::new(), failed: OnceLock::new() };
        for thread in 0..opened.threads() {
            let first = Cursor::default().next_of(&opened, thread as u16)?;
            opened.starts.push(first.map(|r| place(&r)));
        }
        let mut merge = Merge::new(&opened);
        let mut scan = Scan::new(&about, opened.threads());
        let (mut done, all) = (0u64, opened.records());
        while let Some(record) = merge.next(&opened)? {
            scan.follow(&record)?;
            done += 1;
            if done.is_multiple_of(LOOK) {
                watch::pass(done, all);
            }
        }
        let counts = Arc::new(scan.finish());
        let (opened, about) = (Arc::new(opened), Arc::new(about));
        Ok(Recording { opened, about, counts, finished: true, left_over: 0, damage: None })
    }

    /// What is said beside the records.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The same records with something else said beside them.
    pub fn with_about(self, about: About) -> Recording {
        Recording { about: Arc::new(about), ..self }
    }

    /// What the first pass counted.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    pub(crate) fn shared_counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    /// How many threads there are: one more than the highest number.
    pub fn threads(&self) -> usize {
        self.opened.threads()
    }

    /// How many records there are.
    pub fn len(&self) -> u64 {
        self.counts.threads.iter().sum()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the recorder finished the file.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Bytes after the last whole block.
    pub fn left_over(&self) -> u64 {
        self.left_over
    }

    /// What is wrong behind the last whole block and where, if the file was not just cut short.
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// The records of one thread, in program order.
    pub fn thread(&self, thread: usize) -> Thread {
        Thread { opened: Arc::clone(&self.opened), thread: thread as u16, cursor: Cursor::default() }
    }

    /// All records in one order: a thread goes on until its next record has a place in the order of synchronisation,
    /// and these come in that order.
    pub fn in_order(&self) -> InOrder {
        InOrder { opened: Arc::clone(&self.opened), merge: Merge::new(&self.opened) }
    }

    /// All records, thread after thread.
    pub fn records(&self) -> impl Iterator<Item = Record> + use<> {
        let all = self.clone();
        (0..self.threads()).flat_map(move |t| all.thread(t))
    }

    /// What went wrong since it was opened: the file changed while it was read, and its iterators ended early.
    pub fn failed(&self) -> Option<&TraceError> {
        self.opened.failed.get()
    }

    /// All of it in memory.
    pub fn to_trace(&self) -> Trace {
        let threads = (0..self.threads()).map(|t| self.thread(t).collect());
        Trace { threads: threads.collect(), about: (*self.about).clone() }
    }

    /// Writes it as a block file.
    ///
    /// # Errors
    /// When it cannot be written, or not be read any more.
    pub fn write_blocks(&self, out: impl Write) -> Result<(), TraceError> {
        let mut writer = BlockWriter::new(out, &self.about)?;
        let mut told = self.telling();
        for thread in 0..self.threads() {
            writer.thread(thread as u16, self.thread(thread).inspect(&mut told))?;
        }
        match Summary::of(&self.about, &self.counts).text() {
            Some(summary) => _ = writer.finish_with(&summary)?,
            None => _ = writer.finish()?,
        }
        self.failed().map_or(Ok(()), |e| Err(e.clone()))
    }

    /// Says now and then how many of all records have been met.
    fn telling(&self) -> impl FnMut(&Record) + use<> {
        let (mut done, all) = (0u64, self.len());
        move |_| {
            done += 1;
            if done.is_multiple_of(LOOK) {
                watch::pass(done, all);
            }
        }
    }

    /// Writes it as Parquet.
    ///
    /// # Errors
    /// When it cannot be written, or not be read any more.
    pub fn write_parquet(&self, out: impl Write + Send) -> Result<(), TraceError> {
        let summary = Summary::of(&self.about, &self.counts).text();
        let mut writer = ParquetWriter::new(out, &self.about, summary)?;
        let mut told = self.telling();
        for thread in 0..self.threads() {
            writer.thread(self.thread(thread).inspect(&mut told))?;
        }
        writer.finish()?;
        self.failed().map_or(Ok(()), |e| Err(e.clone()))
    }
}

/// From texts of which one is a summary, and how many rows there are where that is known.
fn described(texts: Texts, rows: Option<u64>) -> Option<Described> {
    let mut about = About::default();
    let mut summary = None;
    for (key, value) in &texts {
        if key == SUMMARY {
            summary = Summary::read(value);
        } else {
            about.read(key, value).ok()?;
        }
    }
    let summary = summary.filter(|s| rows.is_none_or(|rows| rows == s.records()))?;
    Some(Described { about, summary })
}

impl Opened {
    fn threads(&self) -> usize {
        match &self.input {
            Input::Memory(threads) => threads.len(),
            Input::Blocks(file) => file.threads(),
            Input::Rows(file) => file.threads(),
        }
    }

    /// How many records there are.
    fn records(&self) -> u64 {
        match &self.input {
            Input::Memory(threads) => threads.iter().map(|thread| thread.len() as u64).sum(),
            Input::Blocks(file) => file.records(),
            Input::Rows(file) => file.records(),
        }
    }

    /// Keeps an error; an iterator then ends.
    fn kept(&self, next: Result<Option<Record>, TraceError>) -> Option<Record> {
        next.unwrap_or_else(|e| {
            _ = self.failed.set(e);
            None
        })
    }
}

/// Where the reading of one thread stands.
#[derive(Default)]
struct Cursor {
    at: At,
    /// What is left of an access that crosses the end of its line.
    rest: Option<Record>,
}

#[derive(Default)]
enum At {
    #[default]
    Start,
    Memory(usize),
    Blocks(BlockCursor),
    Rows(Box<RowCursor>),
}

impl Cursor {
    #[inline]
    fn next_of(&mut self, opened: &Opened, thread: u16) -> Result<Option<Record>, TraceError> {
        let whole = match self.rest.take() {
            Some(rest) => Some(rest),
            None => self.whole(opened, thread)?,
        };
        match whole {
            // What is left of a cut access may have a size that no access has.
            Some(r) if crosses(&r) || !r.size.is_power_of_two() => self.first_piece(r),
            whole => Ok(whole),
        }
    }

    /// Of a record that is not one access within a line.
    fn first_piece(&mut self, r: Record) -> Result<Option<Record>, TraceError> {
        if !r.kind.is_access() {
            return Ok(Some(r));
        }
        if r.size == 0 {
            return Err(senseless(&r, &format!("is of no bytes: {SIZES}")));
        }
        if !ends_where_it_begins(&r) {
            let text = format!("is of {} bytes, more than there are from there on", r.size);
            return Err(senseless(&r, &text));
        }
        let (piece, rest) = cut(r);
        self.rest = rest;
        Ok(Some(piece))
    }

    #[inline]
    fn whole(&mut self, opened: &Opened, thread: u16) -> Result<Option<Record>, TraceError> {
        loop {
            match (&mut self.at, &opened.input) {
                (At::Blocks(cursor), Input::Blocks(file)) => return cursor.next(file),
                (At::Rows(cursor), Input::Rows(file)) => return cursor.next(file),
                (At::Memory(at), Input::Memory(threads)) => {
                    let record = threads.get(thread as usize).and_then(|t| t.get(*at)).copied();
                    *at += usize::from(record.is_some());
                    return Ok(record);
                }
                (at, Input::Blocks(_)) => *at = At::Blocks(BlockCursor::new(thread)),
                (at, Input::Rows(_)) => *at = At::Rows(Box::new(RowCursor::new(thread))),
                (at, Input::Memory(_)) => *at = At::Memory(0),
            }
        }
    }
}

/// The records of one thread, in program order.
pub struct Thread {
    opened: Arc<Opened>,
    thread: u16,
    cursor: Cursor,
}

impl Iterator for Thread {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let next = self.cursor.next_of(&self.opened, self.thread);
        self.opened.kept(next)
    }
}

/// The place of a record in the order of all: first what has none of its own.
fn place(r: &Record) -> u64 {
    if r.kind.has_stamp() { u64::from(r.stamp) + 1 } else { 0 }
}

/// Where a pass in order stands. A thread's cursor is there from its first record's turn to its end.
struct Merge {
    /// The next place of each thread that waits for its turn, and the thread.
    waiting: BinaryHeap<Reverse<(u64, u16)>>,
    live: Vec<Option<Box<(Cursor, Record)>>>,
    /// The thread whose records come now.
    current: Option<u16>,
}

impl Merge {
    fn new(opened: &Opened) -> Merge {
        let starts = opened.starts.iter().enumerate();
        let waiting = starts.filter_map(|(t, place)| Some(Reverse(((*place)?, t as u16)))).collect();
        let live = opened.starts.iter().map(|_| None).collect();
        Merge { waiting, live, current: None }
    }

    #[inline]
    fn next(&mut self, opened: &Opened) -> Result<Option<Record>, TraceError> {
        let Some(thread) = self.turn(opened)? else { return Ok(None) };
        let live = &mut self.live[thread as usize];
        let Some(entry) = live.as_deref_mut() else { return Ok(None) };
        let (cursor, next) = entry;
        let record = *next;
        match cursor.next_of(opened, thread)? {
            Some(following) => {
                *next = following;
                let place = place(&following);
                if place > 0 {
                    self.current = None;
                    self.waiting.push(Reverse((place, thread)));
                }
            }
            None => (*live, self.current) = (None, None),
        }
        Ok(Some(record))
    }

    /// The thread whose turn it is, its cursor there.
    #[inline]
    fn turn(&mut self, opened: &Opened) -> Result<Option<u16>, TraceError> {
        if let Some(thread) = self.current {
            return Ok(Some(thread));
        }
        let Some(Reverse((_, thread))) = self.waiting.pop() else { return Ok(None) };
        let live = &mut self.live[thread as usize];
        if live.is_none() {
            let mut cursor = Cursor::default();
            *live = cursor.next_of(opened, thread)?.map(|first| Box::new((cursor, first)));
        }
        self.current = Some(thread);
        Ok(self.current)
    }
}

/// All records in one order: see [`Recording::in_order`].
pub struct InOrder {
    opened: Arc<Opened>,
    merge: Merge,
}

impl Iterator for InOrder {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        let next = self.merge.next(&self.opened);
        self.opened.kept(next)
    }
}

/// Whether the last byte of an access is memory as its first is, or of the same file.
fn ends_where_it_begins(r: &Record) -> bool {
    let file = |address| file_of(address).map(|(number, _)| number);
    r.address.checked_add(u64::from(r.size) - 1).is_some_and(|last| file(last) == file(r.address))
}

/// Whether the kind changes what is mapped.
pub(crate) fn maps(kind: Kind) -> bool {
    matches!(kind, Kind::Map | Kind::Unmap)
}

#[cfg(test)]
#[path = "recording_tests.rs"]
mod tests;
