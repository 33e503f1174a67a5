//! Windows, one after the other, until the processes end or the tracker is interrupted.

use crate::accessed::mapping_of;
use crate::kernel::Asked;
use crate::member::{Member, Part};
use crate::shared::Shared;
use crate::tracees::{Event, Started, Tracees};
use crate::{
    Accessed, DirtyPage, Error, MappingWindow, Mechanism, Options, PAGE, ProcessWindow, TargetChoice, Window,
    ending, processes,
};
use nix::unistd::Pid;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

/// How tracking went.
#[derive(Clone, Debug)]
pub struct Report {
    /// The windows; the last may be shorter.
    pub windows: Vec<Window>,
    /// How pages were found, of the first process.
    pub mechanism: Mechanism,
    /// Why not by the faster mechanism.
    pub instead: Option<String>,
    /// Seconds of comparing pages with the shadow copy, and how many bytes were compared.
    pub comparing_s: f64,
    /// See `comparing_s`.
    pub compared_bytes: u64,
    /// How long processes stood still before the first window, for their memory to be copied, milliseconds in all.
    pub start_pause_ms: f64,
    /// Pages that could not be read.
    pub unreadable: u64,
    /// Processes that came and could not be tracked, or not by the same mechanism, with the reason.
    pub notes: Vec<String>,
}

/// Tracks as `options` say; `each` is shown every window as it ends.
///
/// # Errors
/// When a target cannot be traced, or the kernel lacks what `options` insist on.
pub fn track(options: &Options, each: &mut dyn FnMut(&Window)) -> Result<Report, Error> {
    if options.target_is(std::process::id() as i32) {
        return Err(Error("a tracker cannot track itself".into()));
    }
    let asked = Asked::new().map_err(|e| Error::at("signals cannot be waited for", e))?;
    let (send, windows) = std::sync::mpsc::channel();
    // A thread of its own: who it traces is nobody else's, and the kernel lets go of them all when it ends.
    let (mut report, command) = std::thread::scope(|scope| {
        let tracker = scope.spawn(|| traced(options, &asked, send));
        windows.iter().for_each(|window| each(&window));
        tracker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    if let Some(Started { child, runs, told }) = command {
        let told = if runs { ending::end(child, &asked) } else { ending::how(child, told) };
        if let (Ok(report), Some(told)) = (&mut report, told) {
            report.notes.push(told);
        }
    }
    report
}

/// The result, and the command that was started.
type Traced = (Result<Report, Error>, Option<Started>);

fn traced(options: &Options, asked: &Asked, each: Sender<Window>) -> Traced {
    let mut tracees = match Tracees::new(&options.target, options.follow, asked) {
        Ok(tracees) => tracees,
        Err(e) => return (Err(e), None),
    };
    let mut session = Session::new(options, each);
    let done = session.begin(&mut tracees, asked).and_then(|()| session.run(&mut tracees, asked));
    let command = tracees.command();
    (done.map(|()| session.report(&tracees)), command)
}

impl Options {
    fn target_is(&self, pid: i32) -> bool {
        matches!(&self.target, TargetChoice::Processes(numbers) if numbers.contains(&pid))
    }
}

struct Session<'a> {
    options: &'a Options,
    each: Sender<Window>,
    members: BTreeMap<Pid, Member>,
    /// Of processes that ended in this window.
    ended: Vec<Part>,
    shared: Shared,
    /// How long processes stood still in this window that came, or ended.
    coming: Duration,
    ending: Duration,
    windows: Vec<Window>,
    start: Instant,
    start_pause: Duration,
    /// Of the first process.
    mechanism: Option<(Mechanism, Option<String>)>,
    comparing: Duration,
    compared: u64,
    unreadable: u64,
    notes: Vec<String>,
    /// Why the kernel does not tell which pages were accessed.
    refused: Option<String>,
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

impl<'a> Session<'a> {
    fn new(options: &'a Options, each: Sender<Window>) -> Session<'a> {
        Session {
            options,
            each,
            members: BTreeMap::new(),
            ended: Vec::new(),
            shared: Shared::default(),
            coming: Duration::ZERO,
            ending: Duration::ZERO,
            windows: Vec::new(),
            start: Instant::now(),
            start_pause: Duration::ZERO,
            mechanism: None,
            comparing: Duration::ZERO,
            compared: 0,
            unreadable: 0,
            notes: Vec::new(),
            refused: None,
        }
    }

    /// The memory of each process is copied before the first window begins.
    fn begin(&mut self, tracees: &mut Tracees<'_>, asked: &Asked) -> Result<(), Error> {
        while !asked.is_asked() && (self.members.is_empty() || tracees.is_awaited()) {
            // Who waits for a signal to go on may do so for long.
            match tracees.next(Some(Instant::now() + Duration::from_millis(100))) {
                Some(event) => self.take(tracees, event, true)?,
                None if tracees.is_empty() => break,
                None => {}
            }
        }
        if self.members.is_empty() && !asked.is_asked() {
            return Err(Error(format!("{} ended before it could be tracked", self.options.target)));
        }
        self.start_pause = std::mem::take(&mut self.coming);
        self.start = Instant::now();
        Ok(())
    }

    fn take(&mut self, tracees: &mut Tracees<'_>, event: Event, first: bool) -> Result<(), Error> {
        match event {
            Event::Came(pid) => self.come(tracees, pid, first),
            Event::Ends(pid) => {
                self.end(tracees, pid);
                Ok(())
            }
            Event::Gone(pid) => {
                self.members.remove(&pid);
                Ok(())
            }
        }
    }

    /// A process stands still with memory that was not seen before.
    fn come(&mut self, tracees: &mut Tracees<'_>, pid: Pid, first: bool) -> Result<(), Error> {
        let begun = Instant::now();
        self.members.remove(&pid);
        tracees.stop(&[pid]);
        tracees.attach_children(pid);
        let thread = tracees.reach(pid);
        let member = tracees.lives(pid).then(|| Member::begin(pid, thread, self.options, &mut self.shared));
        tracees.go(&[pid]);
        self.coming += begun.elapsed();
        match member {
            Some(Ok(member)) => {
                let how = || (member.mechanism, member.instead.clone());
                if self.mechanism.get_or_insert_with(how).0 != member.mechanism {
                    let (name, why) =
                        (member.mechanism.name(), member.instead.as_deref().unwrap_or("it can be"));
                    self.note(pid, &format!("is tracked by {name}, because {why}"));
                }
                if let (Some(why), None) = (&member.refused, &self.refused) {
                    self.refused = Some(why.clone());
                }
                self.members.insert(pid, member);
            }
            // Who has ended meanwhile is none that could not be tracked.
            Some(Err(_)) if !processes::lives(pid.as_raw()) => {}
            Some(Err(e)) if first && self.members.is_empty() => return Err(e),
            Some(Err(e)) => self.note(pid, &format!("is not tracked: {e}")),
            None => {}
        }
        Ok(())
    }

    fn note(&mut self, pid: Pid, what: &str) {
        self.notes.push(format!("process {pid} ({}) {what}", processes::name_of(pid.as_raw())));
    }

    /// A process is about to end, unless threads of it go on: its share of the window is taken now.
    fn end(&mut self, tracees: &mut Tracees<'_>, pid: Pid) {
        let begun = Instant::now();
        tracees.stop(&[pid]);
        let ended = if tracees.ends(pid) { self.members.remove(&pid) } else { None };
        let seen = ended.and_then(|mut member| {
            member.look(tracees.reach(pid), true, &mut self.shared).ok()?;
            Some(member)
        });
        tracees.go(&[pid]);
        self.ending += begun.elapsed();
        self.ended.extend(seen.map(|mut member| member.settle(true, &mut self.shared)));
    }

    /// Windows until the end.
    fn run(&mut self, tracees: &mut Tracees<'_>, asked: &Asked) -> Result<(), Error> {
        let interval = Duration::from_secs_f64(self.options.interval);
        let (mut begun, mut until) = (self.start, self.start + interval);
        loop {
            match tracees.next(Some(until)) {
                Some(event) => self.take(tracees, event, false)?,
                None if tracees.is_empty() => {
                    if !self.ended.is_empty() {
                        self.close(tracees, begun)?;
                    }
                    return Ok(());
                }
                None => {
                    begun = self.close(tracees, begun)?;
                    // However long pages were compared: processes come and end, and the tracker is to be idle for a while.
                    until = (begun + interval).max(Instant::now() + interval / 2);
                    self.look_for_more(tracees);
                    let enough = self.options.windows.is_some_and(|n| self.windows.len() as u64 >= n);
                    if asked.is_asked() || enough {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Processes that came into the cgroup otherwise than by a fork.
    fn look_for_more(&self, tracees: &mut Tracees<'_>) {
        let found = self.options.cgroup.as_deref().map(crate::members);
        for pid in found.into_iter().flatten().flatten() {
            if tracees.attach(Pid::from_raw(pid)).is_err() && !processes::is_traced_here(pid) {
                tracees.untracked.insert(pid);
            }
        }
    }

    /// Ends a window: all stand still, and go on as soon as their pages are copied, which is when the next one begins. Pages are compared
    /// while they run.
    fn close(&mut self, tracees: &mut Tracees<'_>, begun: Instant) -> Result<Instant, Error> {
        let stopping = Instant::now();
        let whom: Vec<Pid> = self.members.keys().copied().collect();
        tracees.stop(&whom);
        let seen = self.look(tracees);
        tracees.go(&whom);
        let gone_on = if whom.is_empty() { stopping } else { Instant::now() };
        let mut parts = std::mem::take(&mut self.ended);
        for pid in seen? {
            parts.extend(self.members.get_mut(&pid).map(|m| m.settle(false, &mut self.shared)));
        }
        let left = self.shared.end();
        let objects: BTreeSet<_> = self.members.values().flat_map(Member::objects).collect();
        self.shared.retain(|page| objects.contains(&page.object));
        let since_start = |at: Instant| at.saturating_duration_since(self.start).as_secs_f64();
        let window = Window {
            start_s: since_start(begun),
            end_s: since_start(stopping),
            pause_ms: milliseconds(gone_on - stopping + std::mem::take(&mut self.ending)),
            begin_ms: milliseconds(std::mem::take(&mut self.coming)),
            ..Window::default()
        };
        self.add(window, parts, left);
        Ok(gone_on)
    }

    /// Looks at every process that stands still; those whose memory was there.
    fn look(&mut self, tracees: &Tracees<'_>) -> Result<Vec<Pid>, Error> {
        let mut seen = Vec::new();
        for (pid, member) in &mut self.members {
            // Who has replaced itself in the midst of this has other memory by now.
            if !tracees.is_known(*pid) {
                continue;
            }
            match member.look(tracees.reach(*pid), false, &mut self.shared) {
                Ok(()) => seen.push(*pid),
                Err(_) if processes::is_dying(pid.as_raw()) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(seen)
    }

    /// Counts a window, and shows it.
    fn add(&mut self, mut window: Window, mut parts: Vec<Part>, left: Vec<DirtyPage>) {
        for dirty in left {
            if let Some(part) = parts.iter_mut().find(|p| p.process == dirty.process) {
                let at = part.pages_dirty.partition_point(|p| p.page < dirty.page);
                part.pages_dirty.insert(at, dirty);
            }
        }
        parts.sort_by_key(|part| part.process);
        window.mappings = by_mapping(&parts);
        for part in parts {
            self.comparing += part.comparing;
            self.compared += part.compared;
            self.unreadable += part.unreadable;
            window.protect_ms += milliseconds(part.protecting);
            let process = count(&part);
            window.bytes += process.bytes;
            window.lines += process.lines;
            window.pages += process.pages;
            window.huge_pages += process.huge_pages;
            window.compared += process.compared;
            window.tracked_bytes += process.tracked_bytes;
            if let Some(counts) = process.accessed {
                window.accessed.get_or_insert_default().add(counts);
            }
            window.processes.push(process);
            if self.options.keep_pages {
                window.pages_dirty.extend(part.pages_dirty);
            }
        }
        // Nobody listens any more where a reader of windows has panicked.
        _ = self.each.send(window.clone());
        self.windows.push(window);
    }

    fn report(self, tracees: &Tracees<'_>) -> Report {
        let (mechanism, instead) = self.mechanism.unwrap_or((Mechanism::Read, None));
        let mut notes = self.notes;
        notes.extend(tracees.untracked.iter().map(|pid| {
            format!("process {pid} ({}) is not tracked: no permission to trace it", processes::name_of(*pid))
        }));
        if let Some(why) = &self.refused {
            notes.push(format!(
                "the kernel does not tell which pages were accessed: /proc/PID/clear_refs: {why}"
            ));
        }
        Report {
            windows: self.windows,
            mechanism,
            instead,
            comparing_s: self.comparing.as_secs_f64(),
            compared_bytes: self.compared * PAGE as u64,
            start_pause_ms: milliseconds(self.start_pause),
            unreadable: self.unreadable,
            notes,
        }
    }
}

impl Accessed {
    fn add(&mut self, other: Accessed) {
        self.resident += other.resident;
        self.accessed += other.accessed;
    }
}

/// The pages of all processes by the names of their mappings, the largest first.
fn by_mapping(parts: &[Part]) -> Vec<MappingWindow> {
    let mut names: BTreeMap<&str, MappingWindow> = BTreeMap::new();
    for (part, seen) in parts.iter().filter_map(|part| Some((part, part.seen.as_ref()?))) {
        for mapping in seen {
            let sum = names.entry(&mapping.name).or_default();
            sum.counts.add(Accessed { resident: mapping.resident, accessed: mapping.accessed });
        }
        for mapping in part.pages_dirty.iter().filter_map(|dirty| mapping_of(seen, dirty.page)) {
            names.entry(&mapping.name).or_default().pages += 1;
        }
    }
    let named = |(name, sum): (&str, MappingWindow)| MappingWindow { name: name.to_string(), ..sum };
    let mut found: Vec<_> =
        names.into_iter().map(named).filter(|m| m.counts.resident > 0 || m.pages > 0).collect();
    found.sort_by_key(|m| std::cmp::Reverse(m.counts.resident));
    found
}

fn count(part: &Part) -> ProcessWindow {
    let mut counted = ProcessWindow {
        process: part.process,
        name: part.name.clone(),
        compared: part.compared,
        tracked_bytes: part.tracked_bytes,
        ..ProcessWindow::default()
    };
    for mapping in part.seen.iter().flatten() {
        let counts = Accessed { resident: mapping.resident, accessed: mapping.accessed };
        counted.accessed.get_or_insert_default().add(counts);
    }
    let mut huge = u64::MAX;
    for dirty in &part.pages_dirty {
        counted.bytes += u64::from(dirty.bytes);
        counted.lines += u64::from(dirty.lines.count_ones());
        counted.pages += 1;
        counted.huge_pages += u64::from(dirty.page / 512 != huge);
        huge = dirty.page / 512;
    }
    counted
}
