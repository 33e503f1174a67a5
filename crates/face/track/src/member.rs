//! The memory of one tracked process, from when it came until it ends or replaces itself.

use crate::accessed::{self, Seen};
use crate::compare::{PAGE, PageBytes};
use crate::kernel::{self, Move, Which};
use crate::maps::{self, Mapping, Object, SharedPage};
use crate::protect::Protection;
use crate::shadow::Shadow;
use crate::shared::Shared;
use crate::{DirtyPage, Error, Mechanism, Mode, Options, processes};
use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use std::fs::File;
use std::io::IoSliceMut;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Pages of the process as they were when it stood still.
#[derive(Default)]
struct Copied {
    pages: Vec<u64>,
    bytes: Vec<PageBytes>,
}

/// What one process did in a window.
#[derive(Default)]
pub(crate) struct Part {
    pub(crate) process: i32,
    pub(crate) name: String,
    pub(crate) pages_dirty: Vec<DirtyPage>,
    pub(crate) compared: u64,
    pub(crate) tracked_bytes: u64,
    pub(crate) protecting: Duration,
    pub(crate) comparing: Duration,
    pub(crate) unreadable: u64,
    /// Which pages were accessed; none where nobody asked, or the kernel does not tell.
    pub(crate) seen: Option<Vec<Seen>>,
}

/// The memory.
pub(crate) struct Member {
    pid: Pid,
    /// Through which its memory is reached: the first, which the process is known by, may have ended.
    thread: Pid,
    mode: Mode,
    pub(crate) mechanism: Mechanism,
    /// Why not by the faster mechanism.
    pub(crate) instead: Option<String>,
    /// Whether accessed pages are counted, and why not where they cannot be.
    accessed: bool,
    pub(crate) refused: Option<String>,
    protection: Option<Protection>,
    pagemap: File,
    shadow: Shadow<u64>,
    copied: Copied,
    mappings: Vec<Mapping>,
    part: Part,
}

fn open_pagemap(thread: Pid) -> Result<File, Error> {
    let path = format!("/proc/{thread}/pagemap");
    File::open(&path).map_err(|e| Error(format!("{path}: {e}")))
}

impl Member {
    /// Begins with the memory as it is, reached through `thread`: the process stands still.
    ///
    /// # Errors
    /// When the memory cannot be read, or the kernel lacks what `options` insist on.
    pub(crate) fn begin(
        pid: Pid,
        thread: Pid,
        options: &Options,
        shared: &mut Shared,
    ) -> Result<Member, Error> {
        let mut member = Member {
            pid,
            thread,
            mode: options.mode,
            mechanism: options.mechanism.unwrap_or(Mechanism::Scan),
            instead: None,
            accessed: options.accessed,
            refused: None,
            protection: None,
            pagemap: open_pagemap(thread)?,
            shadow: Shadow::default(),
            copied: Copied::default(),
            mappings: Vec::new(),
            part: Part::default(),
        };
        if member.mode == Mode::Nothing {
            member.read_maps()?;
            member.clear();
            return Ok(member);
        }
        if member.mechanism == Mechanism::Scan {
            member.protect(options.mechanism.is_some())?;
        }
        let written = member.find()?;
        if member.mode == Mode::Lines {
            member.copy(&member.first(written, shared))?;
            member.keep(shared);
        }
        // The tracker's own reading counts as an access: it comes before.
        member.clear();
        Ok(member)
    }

    /// A window begins: no page was accessed in it yet.
    fn clear(&mut self) {
        if self.accessed {
            self.refused = accessed::clear(self.thread.as_raw()).err().map(|e| e.to_string());
        }
    }

    fn protect(&mut self, insists: bool) -> Result<(), Error> {
        let lacks = if kernel::has_scan(&self.pagemap) {
            match Protection::new(self.thread, self.mode == Mode::Lines) {
                Ok(protection) => {
                    self.protection = Some(protection);
                    return Ok(());
                }
                Err(Errno::EPERM) => {
                    "the program filters its system calls (seccomp), may not have userfaultfd, or is a \
                                      32-bit one"
                        .to_string()
                }
                Err(e) => format!("asynchronous write-protection: {}", e.desc()),
            }
        } else {
            "this kernel has no PAGEMAP_SCAN (Linux 6.7 has)".to_string()
        };
        if insists || self.mode == Mode::WriteProtect {
            return Err(Error(format!("{lacks}; --mechanism read with --mode lines does without")));
        }
        self.mechanism = Mechanism::Read;
        self.instead = Some(lacks);
        Ok(())
    }

    fn read_maps(&mut self) -> Result<(), Error> {
        let path = format!("/proc/{}/maps", self.thread);
        let text = std::fs::read_to_string(&path).map_err(|e| Error(format!("{path}: {e}")))?;
        self.mappings = maps::ordinary(&text, &self.mappings);
        Ok(())
    }

    /// Pages that may have changed since the last call, in order of address.
    fn find(&mut self) -> Result<Vec<Range<u64>>, Error> {
        self.read_maps()?;
        let mut found = Vec::new();
        match &self.protection {
            Some(protection) => {
                let gone = |e| Error::at("the target's memory", e);
                for mapping in self.mappings.iter().filter(|m| m.is_looked_at()) {
                    protection.take(&self.pagemap, mapping, &mut found).map_err(gone)?;
                }
            }
            None => {
                for mapping in self.mappings.iter().filter(|m| m.is_looked_at()) {
                    resident(&self.pagemap, mapping, &mut found);
                }
            }
        }
        Ok(found)
    }

    fn shared_page(&self, page: u64) -> Option<SharedPage> {
        maps::mapping_of(&self.mappings, page)?.shared_page(page)
    }

    /// What is copied at first. A page of a file that was never touched holds the file's bytes: such mappings are copied
    /// whole, without what another process has shown already.
    fn first(&self, mut found: Vec<Range<u64>>, shared: &Shared) -> Vec<Range<u64>> {
        let is_whole = |m: &Mapping| m.backed && m.writable;
        let mapping = |r: &Range<u64>| maps::mapping_of(&self.mappings, r.start / PAGE as u64);
        found.retain(|r| !mapping(r).is_some_and(is_whole));
        for mapping in self.mappings.iter().filter(|m| is_whole(m)) {
            let is_new = |page| mapping.shared_page(page).is_none_or(|s| !shared.is_known(s));
            found.extend(runs(&mapping.range, is_new));
        }
        found
    }

    /// Copies pages of the process.
    fn copy(&mut self, ranges: &[Range<u64>]) -> Result<(), Error> {
        const PIECE: u64 = 1 << 20;
        self.copied.pages.clear();
        for range in ranges {
            let mut at = range.start;
            while at < range.end {
                let end = range.end.min(at + PIECE);
                let (from, pages) = (self.copied.pages.len(), ((end - at) / PAGE as u64) as usize);
                if self.copied.bytes.len() < from + pages {
                    self.copied.bytes.resize(from + pages, [0; PAGE]);
                }
                let into = self.copied.bytes[from..from + pages].as_flattened_mut();
                let remote = RemoteIoVec { base: at as usize, len: into.len() };
                let mut read = match process_vm_readv(self.thread, &mut [IoSliceMut::new(into)], &[remote]) {
                    Ok(bytes) => bytes / PAGE,
                    Err(Errno::EFAULT) => 0,
                    Err(e) => return Err(Error::at("the target's memory cannot be read", e)),
                };
                if read < pages {
                    // The program itself may not read it any more.
                    let rest = &mut into[read * PAGE..];
                    read += read_forbidden(self.thread, rest, at + (read * PAGE) as u64) / PAGE;
                }
                self.copied.pages.extend((0..read as u64).map(|p| at / PAGE as u64 + p));
                at += (read * PAGE) as u64;
                if read < pages {
                    self.part.unreadable += 1;
                    at += PAGE as u64;
                }
            }
        }
        Ok(())
    }

    /// What was copied is what the next window is compared with.
    fn keep(&mut self, shared: &mut Shared) {
        for (page, bytes) in self.copied.pages.iter().zip(&self.copied.bytes) {
            match self.shared_page(*page) {
                Some(known) => shared.begin(known, bytes),
                None => self.shadow.set(*page, bytes),
            }
        }
    }

    /// At the end of a window or of the process, which stands still: finds pages through `thread`, and copies or compares them.
    ///
    /// # Errors
    /// When the memory cannot be read.
    pub(crate) fn look(&mut self, thread: Pid, ends: bool, shared: &mut Shared) -> Result<(), Error> {
        self.thread = thread;
        self.copied.pages.clear();
        if self.accessed && self.refused.is_none() {
            match accessed::read(self.thread.as_raw()) {
                Ok(seen) => self.part.seen = Some(seen),
                Err(e) => self.refused = Some(e.to_string()),
            }
        }
        self.look_for_changes(ends, shared)?;
        if !ends {
            self.clear();
        }
        Ok(())
    }

    /// Memory that was moved within the window is compared with what it held at its old place.
    fn follow_moves(&mut self) {
        let page = PAGE as u64;
        for Move { from, to, bytes } in self.protection.iter().flat_map(Protection::moves) {
            let (old, new) = (from / page..(from + bytes) / page, to / page..(to + bytes) / page);
            self.shadow.rename(old, new, |at| at - from / page + to / page);
        }
    }

    fn look_for_changes(&mut self, ends: bool, shared: &mut Shared) -> Result<(), Error> {
        if self.mode == Mode::Nothing {
            return Ok(());
        }
        self.follow_moves();
        let protecting = Instant::now();
        let found = self.find()?;
        self.part.protecting = protecting.elapsed();
        match (self.mode, self.mechanism) {
            (Mode::Nothing, _) => {}
            (Mode::WriteProtect, _) => self.count(&found, shared),
            (Mode::Lines, Mechanism::Scan) => self.copy(&found)?,
            (Mode::Lines, Mechanism::Read) => {
                // All of memory: a piece at a time, or the copy would take as much again.
                let wanted: Vec<Range<u64>> = self.uncounted(&found, shared);
                for piece in pieces(&wanted) {
                    self.copy(&[piece])?;
                    self.compare(ends, shared);
                }
                self.copied.pages.clear();
            }
        }
        Ok(())
    }

    /// Without the shared pages that another process was asked for.
    fn uncounted(&self, found: &[Range<u64>], shared: &Shared) -> Vec<Range<u64>> {
        let is_new = |page| self.shared_page(page).is_none_or(|s| !shared.is_counted(s));
        found.iter().flat_map(|range| runs(range, is_new)).collect()
    }

    fn count(&mut self, found: &[Range<u64>], shared: &mut Shared) {
        let process = self.pid.as_raw();
        for page in found.iter().flat_map(|r| r.start / PAGE as u64..r.end / PAGE as u64) {
            if self.shared_page(page).is_none_or(|s| shared.counts(s)) {
                let (lines, bytes) = (u64::MAX, PAGE as u32);
                self.part.pages_dirty.push(DirtyPage { process, page, lines, bytes });
            }
        }
    }

    fn compare(&mut self, ends: bool, shared: &mut Shared) {
        let begun = Instant::now();
        let process = self.pid.as_raw();
        for (page, bytes) in self.copied.pages.iter().zip(&self.copied.bytes) {
            let changed = match maps::mapping_of(&self.mappings, *page).and_then(|m| m.shared_page(*page)) {
                None => self.shadow.update(*page, bytes),
                Some(known) if ends => {
                    shared.leave(process, *page, known, bytes);
                    None
                }
                Some(known) => shared.update(known, bytes),
            };
            let dirty = |(lines, bytes)| DirtyPage { process, page: *page, lines, bytes };
            self.part.pages_dirty.extend(changed.map(dirty));
        }
        self.part.compared += self.copied.pages.len() as u64;
        self.part.comparing += begun.elapsed();
    }

    /// What the process did in the window, which has ended: it may run again.
    pub(crate) fn settle(&mut self, ends: bool, shared: &mut Shared) -> Part {
        self.compare(ends, shared);
        self.copied.pages.clear();
        let mappings = &self.mappings;
        self.shadow.retain(|page| maps::mapping_of(mappings, page).is_some());
        self.part.process = self.pid.as_raw();
        self.part.name = processes::name_of(self.pid.as_raw());
        let tracked = mappings.iter().filter(|m| m.was_writable);
        self.part.tracked_bytes = tracked.map(|m| m.range.end - m.range.start).sum();
        std::mem::take(&mut self.part)
    }

    /// What the process shares with others.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Object> + '_ {
        self.mappings.iter().filter_map(|m| Some(m.shared?.0))
    }
}

/// Reads what a tracer may read though the program may not (`mprotect` with `PROT_NONE`); how many bytes.
fn read_forbidden(thread: Pid, into: &mut [u8], at: u64) -> usize {
    let memory = File::open(format!("/proc/{thread}/mem"));
    memory.and_then(|memory| memory.read_at(into, at)).unwrap_or(0)
}

/// Stretches of `range` whose pages are all wanted.
fn runs(range: &Range<u64>, is_wanted: impl Fn(u64) -> bool) -> Vec<Range<u64>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    for page in (range.start / PAGE as u64..range.end / PAGE as u64).filter(|p| is_wanted(*p)) {
        add(&mut found, page);
    }
    found
}

fn add(found: &mut Vec<Range<u64>>, page: u64) {
    let start = page * PAGE as u64;
    match found.last_mut() {
        Some(last) if last.end == start => last.end += PAGE as u64,
        _ => found.push(start..start + PAGE as u64),
    }
}

fn pieces(ranges: &[Range<u64>]) -> impl Iterator<Item = Range<u64>> + '_ {
    const PIECE: usize = 16 << 20;
    ranges.iter().flat_map(|r| r.clone().step_by(PIECE).map(|at| at..r.end.min(at + PIECE as u64)))
}

/// Adds the pages of a mapping that may hold what the process has written: all of a shared one. Of another, those in memory
/// or swapped out that are not a file's; its other pages are zeros, or the file's.
fn resident(pagemap: &File, mapping: &Mapping, found: &mut Vec<Range<u64>>) {
    if mapping.shared.is_some() {
        found.push(mapping.range.clone());
        return;
    }
    let kept = found.len();
    if kernel::list(pagemap, mapping.range.clone(), Which::Own, found).is_ok() {
        return;
    }
    found.truncate(kept);
    // A kernel that does not list them is asked about each: too long for all that is reserved and was never written.
    if mapping.was_writable {
        own(pagemap, mapping, found);
    }
}

fn own(pagemap: &File, mapping: &Mapping, found: &mut Vec<Range<u64>>) {
    const IS_OF_FILE: u64 = 1 << 61;
    const AT_ONCE: usize = 1 << 16;
    let mut entries = vec![0; 8 * AT_ONCE];
    let (mut page, end) = (mapping.range.start / PAGE as u64, mapping.range.end / PAGE as u64);
    while page < end {
        let wanted = 8 * AT_ONCE.min((end - page) as usize);
        let read = pagemap.read_at(&mut entries[..wanted], page * 8).unwrap_or(0) / 8;
        if read == 0 {
            return;
        }
        for entry in entries[..read * 8].as_chunks::<8>().0 {
            let entry = u64::from_le_bytes(*entry);
            if entry >> 62 != 0 && entry & IS_OF_FILE == 0 {
                add(found, page);
            }
            page += 1;
        }
    }
}
