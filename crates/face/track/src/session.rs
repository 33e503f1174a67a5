//! Windows, one after the other, until the target ends or the tracker is interrupted.

use crate::compare::{PAGE, PageBytes};
use crate::kernel::Asked;
use crate::maps::{self, Mapping};
use crate::protect::Protection;
use crate::shadow::Shadow;
use crate::target::{Event, Target};
use crate::{DirtyPage, Error, Mechanism, Mode, Options, TargetChoice, Window, kernel};
use nix::errno::Errno;
use nix::sys::uio::{RemoteIoVec, process_vm_readv};
use nix::unistd::Pid;
use std::fs::File;
use std::io::IoSliceMut;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// How tracking went.
#[derive(Clone, Debug)]
pub struct Report {
    /// The windows; the last may be shorter.
    pub windows: Vec<Window>,
    /// How pages were found.
    pub mechanism: Mechanism,
    /// Why not by the faster mechanism.
    pub instead: Option<String>,
    /// Seconds of comparing pages with the shadow copy, and how many bytes were compared.
    pub comparing_s: f64,
    /// See `comparing_s`.
    pub compared_bytes: u64,
    /// How long the target stood still before the first window, for its memory to be copied, milliseconds.
    pub start_pause_ms: f64,
    /// Pages that could not be read.
    pub unreadable: u64,
}

/// Tracks as `options` say; `each` is shown every window as it ends.
///
/// # Errors
/// When the target cannot be traced, or the kernel lacks what `options` insist on.
pub fn track(options: &Options, each: &mut dyn FnMut(&Window)) -> Result<Report, Error> {
    if options.target_is(std::process::id() as i32) {
        return Err(Error("a tracker cannot track itself".into()));
    }
    let mut target = Target::new(&options.target)?;
    let asked = Asked::new().map_err(|e| Error::at("signals cannot be waited for", e))?;
    let mut session = Session::begin(&mut target, options)?;
    let interrupted = session.run(&mut target, &asked, each);
    let report = session.report();
    target.finish(!matches!(interrupted, Ok(false)));
    interrupted.map(|_| report)
}

impl Options {
    fn target_is(&self, pid: i32) -> bool {
        matches!(self.target, TargetChoice::Process(p) if p == pid)
    }
}

/// Between two looks at the target: it may stand still for a signal, or be about to end.
const LOOK: Duration = Duration::from_millis(5);

/// Pages of the target as they were when it stood still.
#[derive(Default)]
struct Copied {
    pages: Vec<u64>,
    bytes: Vec<PageBytes>,
}

struct Session {
    pid: Pid,
    options: Options,
    mechanism: Mechanism,
    instead: Option<String>,
    protection: Option<Protection>,
    pagemap: File,
    shadow: Shadow,
    copied: Copied,
    mappings: Vec<Mapping>,
    windows: Vec<Window>,
    start: Instant,
    start_pause_ms: f64,
    comparing: Duration,
    compared_bytes: u64,
    unreadable: u64,
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn open_pagemap(pid: Pid) -> Result<File, Error> {
    File::open(format!("/proc/{pid}/pagemap")).map_err(|e| Error(format!("/proc/{pid}/pagemap: {e}")))
}

impl Session {
    fn begin(target: &mut Target, options: &Options) -> Result<Session, Error> {
        let mut session = Session {
            pid: target.pid,
            options: options.clone(),
            mechanism: options.mechanism.unwrap_or(Mechanism::Scan),
            instead: None,
            protection: None,
            pagemap: open_pagemap(target.pid)?,
            shadow: Shadow::default(),
            copied: Copied::default(),
            mappings: Vec::new(),
            windows: Vec::new(),
            start: Instant::now(),
            start_pause_ms: 0.0,
            comparing: Duration::ZERO,
            compared_bytes: 0,
            unreadable: 0,
        };
        let stopping = Instant::now();
        match target.stop() {
            Event::None | Event::Replaced => {}
            Event::Ends | Event::Gone => {
                return Err(Error(format!("process {} ended before it could be tracked", target.pid)));
            }
        }
        let begun = session.renew();
        target.go();
        session.start_pause_ms = milliseconds(stopping);
        session.start = Instant::now();
        begun.map(|()| session)
    }

    /// Begins with the memory as it is: the target stands still.
    fn renew(&mut self) -> Result<(), Error> {
        self.pagemap = open_pagemap(self.pid)?;
        self.shadow = Shadow::default();
        self.protection = None;
        if self.options.mode == Mode::Nothing {
            return self.read_maps();
        }
        if self.mechanism == Mechanism::Scan {
            self.protect()?;
        }
        let written = self.find()?;
        if self.options.mode == Mode::Lines {
            self.copy(&self.with_backed(written))?;
            self.keep();
        }
        Ok(())
    }

    fn protect(&mut self) -> Result<(), Error> {
        let lacks = if kernel::has_scan(&self.pagemap) {
            match Protection::new(self.pid) {
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
        if self.options.mechanism.is_some() || self.options.mode == Mode::WriteProtect {
            return Err(Error(format!("{lacks}; --mechanism read with --mode lines does without")));
        }
        self.mechanism = Mechanism::Read;
        self.instead = Some(lacks);
        Ok(())
    }

    fn read_maps(&mut self) -> Result<(), Error> {
        let path = format!("/proc/{}/maps", self.pid);
        let text = std::fs::read_to_string(&path).map_err(|e| Error(format!("{path}: {e}")))?;
        self.mappings = maps::writable(&text);
        Ok(())
    }

    /// Pages that may have changed since the last call, in order of address.
    fn find(&mut self) -> Result<Vec<Range<u64>>, Error> {
        self.read_maps()?;
        let mut found = Vec::new();
        match &mut self.protection {
            Some(protection) => {
                let gone = |e| Error::at("the target's memory", e);
                protection.cover(&self.mappings).map_err(gone)?;
                for mapping in &self.mappings {
                    protection.take(&self.pagemap, mapping, &mut found);
                }
            }
            None => {
                for mapping in &self.mappings {
                    resident(&self.pagemap, mapping, &mut found);
                }
            }
        }
        Ok(found)
    }

    /// A page of a file that was never touched holds the file's bytes: such mappings are copied whole at first.
    fn with_backed(&self, mut found: Vec<Range<u64>>) -> Vec<Range<u64>> {
        found.retain(|r| !self.mappings.iter().any(|m| m.backed && m.range.contains(&r.start)));
        found.extend(self.mappings.iter().filter(|m| m.backed).map(|m| m.range.clone()));
        found
    }

    /// Copies pages of the target.
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
                let read = match process_vm_readv(self.pid, &mut [IoSliceMut::new(into)], &[remote]) {
                    Ok(bytes) => bytes / PAGE,
                    Err(Errno::EFAULT) => 0,
                    Err(e) => return Err(Error::at("the target's memory cannot be read", e)),
                };
                self.copied.pages.extend((0..read as u64).map(|p| at / PAGE as u64 + p));
                at += (read * PAGE) as u64;
                if read < pages {
                    self.unreadable += 1;
                    at += PAGE as u64;
                }
            }
        }
        Ok(())
    }

    /// What was copied is what the next window is compared with.
    fn keep(&mut self) {
        for (page, bytes) in self.copied.pages.iter().zip(&self.copied.bytes) {
            self.shadow.set(*page, bytes);
        }
    }

    fn compare(&mut self, window: &mut Window) {
        let begun = Instant::now();
        for (page, bytes) in self.copied.pages.iter().zip(&self.copied.bytes) {
            window.pages_dirty.extend(self.shadow.update(*page, bytes));
        }
        let count = self.copied.pages.len() as u64;
        self.comparing += begun.elapsed();
        self.compared_bytes += count * PAGE as u64;
        window.compared += count;
    }

    /// Windows until the end; whether the tracker was asked to end, or has seen enough.
    fn run(
        &mut self,
        target: &mut Target,
        asked: &Asked,
        each: &mut dyn FnMut(&Window),
    ) -> Result<bool, Error> {
        let interval = Duration::from_secs_f64(self.options.interval);
        let mut begun = Instant::now();
        loop {
            let left = interval.saturating_sub(begun.elapsed());
            std::thread::sleep(left.min(LOOK));
            let asked = asked.is_asked();
            match target.look() {
                Event::Gone => return Ok(false),
                Event::Ends => {
                    self.close(target, begun, Instant::now(), each)?;
                    return Ok(false);
                }
                Event::Replaced => {
                    if matches!(target.stop(), Event::None | Event::Replaced) {
                        self.renew()?;
                    }
                    target.go();
                    begun = Instant::now();
                }
                Event::None if !asked && begun.elapsed() < interval => {}
                Event::None => {
                    let stopping = Instant::now();
                    match target.stop() {
                        Event::Gone => return Ok(false),
                        Event::Replaced => self.renew()?,
                        event @ (Event::None | Event::Ends) => {
                            self.close(target, begun, stopping, each)?;
                            if event == Event::Ends {
                                return Ok(false);
                            }
                        }
                    }
                    target.go();
                    begun = Instant::now();
                    let enough = self.options.windows.is_some_and(|n| self.windows.len() as u64 >= n);
                    if asked || enough {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Ends a window: the target stands still, and goes on as soon as its pages are copied.
    fn close(
        &mut self,
        target: &mut Target,
        begun: Instant,
        stopping: Instant,
        each: &mut dyn FnMut(&Window),
    ) -> Result<(), Error> {
        let since_start = |at: Instant| at.saturating_duration_since(self.start).as_secs_f64();
        let mut window =
            Window { start_s: since_start(begun), end_s: since_start(stopping), ..Window::default() };
        if self.options.mode != Mode::Nothing {
            let protecting = Instant::now();
            let found = self.find()?;
            window.protect_ms = milliseconds(protecting);
            self.take(&found, &mut window)?;
        }
        target.go();
        window.pause_ms = milliseconds(stopping);
        if self.mechanism == Mechanism::Scan && self.options.mode == Mode::Lines {
            self.compare(&mut window);
        }
        let kept: Vec<Range<u64>> = self.mappings.iter().map(|m| m.range.clone()).collect();
        self.shadow.retain(&kept);
        window.tracked_bytes = kept.iter().map(|r| r.end - r.start).sum();
        count(&mut window);
        if !self.options.keep_pages {
            window.pages_dirty = Vec::new();
        }
        each(&window);
        self.windows.push(window);
        Ok(())
    }

    /// What has to be done while the target stands still.
    fn take(&mut self, found: &[Range<u64>], window: &mut Window) -> Result<(), Error> {
        match (self.options.mode, self.mechanism) {
            (Mode::Nothing, _) => {}
            (Mode::WriteProtect, _) => {
                let pages = found.iter().flat_map(|r| r.start / PAGE as u64..r.end / PAGE as u64);
                window.pages_dirty.extend(pages.map(|page| DirtyPage {
                    page,
                    lines: u64::MAX,
                    bytes: PAGE as u32,
                }));
            }
            (Mode::Lines, Mechanism::Scan) => self.copy(found)?,
            (Mode::Lines, Mechanism::Read) => {
                // All of memory: a piece at a time, or the copy would take as much again.
                for piece in pieces(found) {
                    self.copy(&[piece])?;
                    self.compare(window);
                }
            }
        }
        Ok(())
    }

    fn report(&self) -> Report {
        Report {
            windows: self.windows.clone(),
            mechanism: self.mechanism,
            instead: self.instead.clone(),
            comparing_s: self.comparing.as_secs_f64(),
            compared_bytes: self.compared_bytes,
            start_pause_ms: self.start_pause_ms,
            unreadable: self.unreadable,
        }
    }
}

fn pieces(ranges: &[Range<u64>]) -> impl Iterator<Item = Range<u64>> + '_ {
    const PIECE: usize = 16 << 20;
    ranges.iter().flat_map(|r| r.clone().step_by(PIECE).map(|at| at..r.end.min(at + PIECE as u64)))
}

fn count(window: &mut Window) {
    let mut huge = u64::MAX;
    for dirty in &window.pages_dirty {
        window.bytes += u64::from(dirty.bytes);
        window.lines += u64::from(dirty.lines.count_ones());
        window.pages += 1;
        window.huge_pages += u64::from(dirty.page / 512 != huge);
        huge = dirty.page / 512;
    }
}

/// Adds the pages of a mapping that are in memory or swapped out: a file's are all, an anonymous one's others are zeros.
fn resident(pagemap: &File, mapping: &Mapping, found: &mut Vec<Range<u64>>) {
    if mapping.backed {
        found.push(mapping.range.clone());
        return;
    }
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
            if u64::from_le_bytes(*entry) >> 62 != 0 {
                let start = page * PAGE as u64;
                match found.last_mut() {
                    Some(last) if last.end == start => last.end += PAGE as u64,
                    _ => found.push(start..start + PAGE as u64),
                }
            }
            page += 1;
        }
    }
}
