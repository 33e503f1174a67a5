//! Partitioned persist ordering (paper §4): four invariants, watched in every run.
//!
//! The checker knows nothing of the dispatcher. It is told what arrived, what was carried out and what was deleted, and
//! compares with the order of arrival, which is program order as far as it left the host.

use crate::dispatcher::{Event, Queued};
use protocol::{Line, NearKind, NearRequest};
use std::fmt;

/// The invariants of §4, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invariant {
    /// Reads and writes of shared addresses happen in program order.
    ReadWriteOrdering = 1,
    /// Writes to shared addresses persist in program order.
    Persistence = 2,
    /// What came before a synchronisation has persisted on every device.
    PersistBeforeSynchronisation = 3,
    /// Recovery reads what had persisted.
    FailureRecovery = 4,
}

/// An invariant that was broken, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which.
    pub invariant: Invariant,
    /// The access.
    pub access: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.invariant {
            Invariant::ReadWriteOrdering => "read-write ordering",
            Invariant::Persistence => "persistence",
            Invariant::PersistBeforeSynchronisation => "persist before synchronisation",
            Invariant::FailureRecovery => "failure-recovery",
        };
        write!(f, "PPO invariant {} ({name}) is broken: {}", self.invariant as u8, self.access)
    }
}

/// A request on one device whose accesses are not all done.
#[derive(Clone, Debug)]
struct Open {
    queued: Queued,
    read_to: u64,
    written_to: u64,
}

impl Open {
    fn has_still_to_read(&self, line: u64) -> bool {
        self.queued.request.reads().contains(&line) && line >= self.read_to
    }

    fn has_still_to_write(&self, line: u64) -> bool {
        self.queued.request.writes().contains(&line) && line >= self.written_to
    }
}

#[derive(Clone, Debug, Default)]
struct DeviceView {
    open: Vec<Open>,
    /// Host accesses that arrived and were not carried out: line, whether it writes, stamp.
    waiting: Vec<(Line, bool, u64)>,
    /// Host writes that were carried out, and that memory has not taken: line, stamp.
    untaken: Vec<(Line, u64)>,
    /// Host writes that programs count on, and that memory has not taken: line, stamp.
    promised: Vec<(Line, u64)>,
}

/// Watches all devices of a machine. Cost for each host access: one pass over the requests under way.
#[derive(Clone, Debug, Default)]
pub struct Checker {
    devices: Vec<DeviceView>,
    /// Requests that left the host, with the devices that have not persisted their part.
    unpersisted: Vec<(NearRequest, u16)>,
    broken: Option<Broken>,
}

impl Checker {
    /// For so many devices.
    pub fn new(devices: usize) -> Checker {
        Checker { devices: vec![DeviceView::default(); devices], ..Checker::default() }
    }

    /// What was broken first.
    pub fn broken(&self) -> Option<&Broken> {
        self.broken.as_ref()
    }

    /// Notes that an invariant was broken.
    pub fn report(&mut self, invariant: Invariant, access: String) {
        self.broken.get_or_insert(Broken { invariant, access });
    }

    /// A request leaves the host.
    pub fn sent(&mut self, request: &NearRequest) {
        if request.kind != NearKind::MapPool && request.kind != NearKind::CommitLog {
            self.unpersisted.push((*request, request.devices));
        }
    }

    /// A request was refused by a device.
    pub fn refused(&mut self, number: u64, device: usize) {
        self.persisted(number, device);
    }

    fn persisted(&mut self, number: u64, device: usize) {
        for (_, left) in self.unpersisted.iter_mut().filter(|(r, _)| r.number == number) {
            *left &= !(1 << device);
        }
        self.unpersisted.retain(|(_, left)| *left != 0);
    }

    /// Something happened on a device.
    pub fn saw(&mut self, device: usize, event: &Event) {
        match *event {
            Event::Request(queued) => {
                self.devices[device].open.push(Open { queued, read_to: 0, written_to: 0 });
            }
            Event::Host { line, write, stamp } => self.devices[device].waiting.push((line, write, stamp)),
            Event::Performed { line, write, stamp } => self.performed(device, line, write, stamp),
            Event::Promised { line, stamp } => self.promised(device, line, stamp),
            Event::Took { stamp } => {
                let view = &mut self.devices[device];
                view.untaken.retain(|w| w.1 != stamp);
                view.promised.retain(|w| w.1 != stamp);
            }
            Event::Read { number, line } => self.near(device, number, line, false),
            Event::Write { number, line } => self.near(device, number, line, true),
            Event::Local { number } => {
                self.devices[device].open.retain(|o| o.queued.request.number != number);
                self.persisted(number, device);
            }
            Event::Deleted(request) => self.deleted(device, &request),
        }
    }

    fn performed(&mut self, device: usize, line: Line, write: bool, stamp: u64) {
        let view = &mut self.devices[device];
        view.waiting.retain(|w| w.2 != stamp);
        let passed = view.open.iter().find(|o| {
            let before = o.queued.stamp < stamp;
            before && (o.has_still_to_write(line.0) || write && o.has_still_to_read(line.0))
        });
        let overtaken = view.waiting.iter().find(|w| w.2 < stamp && w.0 == line && (w.1 || write));
        view.untaken.extend(write.then_some((line, stamp)));
        let what = if write { "write" } else { "read" };
        let at = line.address();
        if let Some(open) = passed {
            let request = open.queued.request;
            let does = if open.has_still_to_write(line.0) { "written" } else { "read" };
            self.report(
                Invariant::ReadWriteOrdering,
                format!("device {device} carried out a host {what} of line {at:#x} before {request}, which came first, had {does} it"),
            );
        } else if overtaken.is_some() {
            self.report(
                Invariant::ReadWriteOrdering,
                format!("device {device} carried out a host {what} of line {at:#x} before an earlier one"),
            );
        }
    }

    /// Programs count on a host write from now on, and on those of its line before it.
    fn promised(&mut self, device: usize, line: Line, stamp: u64) {
        let DeviceView { waiting, untaken, promised, .. } = &mut self.devices[device];
        let waiting = waiting.iter().filter(|w| w.1).map(|w| (w.0, w.2));
        let covered = waiting.chain(untaken.iter().copied()).filter(|w| w.0 == line && w.1 <= stamp);
        promised.extend(covered);
    }

    /// The power failed, and a device saved those host writes that `has` knows by their stamps.
    pub(crate) fn saved(&mut self, device: usize, has: &dyn Fn(u64) -> bool) {
        if let Some((line, _)) = self.devices[device].promised.iter().find(|w| !has(w.1)) {
            let at = line.address();
            self.report(
                Invariant::FailureRecovery,
                format!("device {device} did not save a host write of line {at:#x} that it had acknowledged"),
            );
        }
    }

    /// A unit accesses a line.
    fn near(&mut self, device: usize, number: u64, line: Line, write: bool) {
        let view = &mut self.devices[device];
        let Some(index) = view.open.iter().position(|o| o.queued.request.number == number) else { return };
        let me = &mut view.open[index];
        if write {
            me.written_to = line.0 + 1;
        } else {
            me.read_to = line.0 + 1;
        }
        let (stamp, request) = (me.queued.stamp, me.queued.request);
        let host = view.waiting.iter().find(|w| w.2 < stamp && w.0 == line && (w.1 || write));
        let untaken = view.untaken.iter().any(|w| w.1 < stamp && w.0 == line);
        let other = view.open.iter().find(|o| {
            o.queued.stamp < stamp && (o.has_still_to_write(line.0) || write && o.has_still_to_read(line.0))
        });
        let does = if write { "wrote" } else { "read" };
        let at = line.address();
        let passed = match (host, other) {
            (Some((_, host_writes, _)), _) => {
                format!("a host {} of it that came first", if *host_writes { "write" } else { "read" })
            }
            (None, Some(other)) => format!("{}, which came first, was done with it", other.queued.request),
            (None, None) if untaken => "memory had taken a host write of it that came first".into(),
            (None, None) => return,
        };
        let access = format!("device {device}: {request} {does} line {at:#x} before {passed}");
        self.report(Invariant::ReadWriteOrdering, access);
    }

    fn deleted(&mut self, device: usize, commit: &NearRequest) {
        let of_it =
            |r: &NearRequest| (r.pool, r.thread) == (commit.pool, commit.thread) && r.number < commit.number;
        let left = self.unpersisted.iter().find(|(r, left)| of_it(r) && left & !(1 << device) != 0);
        if let Some((request, left)) = left {
            let other = left.trailing_zeros();
            let access = format!(
                "device {device} deleted the logs of thread {} ({commit}) before device {other} had persisted {request}",
                commit.thread
            );
            self.report(Invariant::PersistBeforeSynchronisation, access);
        }
    }

    /// A command leaves the host while a line of its data is changed in a cache.
    pub fn not_written_back(&mut self, request: &NearRequest, line: Line) {
        let at = line.address();
        self.report(
            Invariant::Persistence,
            format!("{request} left the host while line {at:#x}, written before it, was still in a cache"),
        );
    }

    /// A command leaves the host while a cache holds a line that the device will write.
    pub fn still_cached(&mut self, request: &NearRequest, line: Line) {
        let at = line.address();
        self.report(
            Invariant::ReadWriteOrdering,
            format!("{request} writes line {at:#x}, which a cache still holds: later reads would not see it"),
        );
    }
}
