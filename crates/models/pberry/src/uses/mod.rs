//! Use cases of the paper's table 2 on five primitives, each by lines and, as its twin, by pages and page faults.
//!
//! Read and write tracking are what a use case is told; local copy, remote copy and waiting are what it asks for. By lines it
//! is the agent that tells and copies, and the program waits only where a use case says so. By pages the operating
//! system tells, by a fault at the first write of each page since it was protected, and copies while the program
//! waits.
//!
//! A write-back tells of a write late. At a window's end the agent therefore recalls every line that caches may hold (§4.1),
//! and the window ends when it has them.
//!
//! Modelled: when and how much each use case tracks, copies and waits. By pages the waits hold the program up. By lines the
//! agent's copies take its memory's time and its network's from the program's own reads, and what it recalls at a window's
//! end has to come back to the caches; a wait for a missing line is counted alone. Not modelled: what is done with the
//! copies.
//!
//! Source: PBerry §4.1.1 and table 2.

mod checkpoint;
mod copy_on_write;
mod encrypt;
mod log;
mod migrate;
mod replicate;

use crate::network::NetworkSpec;
use crate::packet::PAGE_LINES;
use crate::spec::Kind;
use crate::stats::UseStats;
use protocol::StatSink;
use std::collections::BTreeSet;
use units::{Dur, Time};

/// A line or a page: what is tracked.
pub(crate) type Unit = u64;

/// What a use case does about what it is told.
pub(crate) trait UseCase {
    /// The program reads, or fetches to write.
    fn read(&mut self, _: Unit, _: &mut Primitives) {}
    /// The program changes a unit; memory still has its old bytes.
    fn written(&mut self, unit: Unit, primitives: &mut Primitives);
    /// A window ends: an epoch, a round, a checkpoint.
    fn window(&mut self, _: &mut Primitives) {}
    /// Units that would have to be moved, were the program stopped now.
    fn left(&self) -> u64 {
        0
    }
}

/// What things take.
#[derive(Clone, Copy, Debug)]
pub struct UseCosts {
    /// A fault at the first write of a protected page.
    pub write_fault: Dur,
    /// A fault at a page that is not here, without the network.
    pub fault: Dur,
    /// Protecting a page.
    pub protect_page: Dur,
    /// Copying a line in local memory.
    pub copy_line: Dur,
    /// Reading a line of the agent's memory, in which it does nothing else.
    pub agent_read: Dur,
    /// Writing one.
    pub agent_write: Dur,
    /// The way to the other host.
    pub network: NetworkSpec,
}

/// The primitives, and what was asked of them.
pub(crate) struct Primitives {
    kind: Kind,
    costs: UseCosts,
    known: BTreeSet<Unit>,
    events: u64,
    bytes: u64,
    waited: Dur,
    /// What the program has not waited yet.
    owed: Dur,
    agent: AgentWork,
}

/// What the agent has to do beside the program: time of its memory, and bytes to the other host.
#[derive(Clone, Copy, Default)]
pub(crate) struct AgentWork {
    pub(crate) memory: Dur,
    pub(crate) sends: u64,
}

impl Primitives {
    fn lines(&self, units: u64) -> u64 {
        if self.kind == Kind::Lines { units } else { units * PAGE_LINES }
    }

    fn wait(&mut self, time: Dur) {
        self.waited += time;
        self.owed += time;
    }

    /// Whether each write is told, not the first alone.
    pub(crate) fn tells_every_write(&self) -> bool {
        self.kind == Kind::Lines
    }

    /// A unit is written for the first time since tracking began anew: a report, or a fault.
    pub(crate) fn first_write(&mut self, unit: Unit) {
        self.events += 1;
        self.known.insert(unit);
        if self.kind == Kind::Pages {
            self.wait(self.costs.write_fault);
        }
    }

    /// Copies so many units in local memory: the agent beside the program, the operating system in its place.
    pub(crate) fn local_copy(&mut self, units: u64) {
        let lines = self.lines(units);
        self.bytes += 64 * lines;
        match self.kind {
            Kind::Pages => self.wait(self.costs.copy_line * lines),
            Kind::Lines => self.agent.memory += (self.costs.agent_read + self.costs.agent_write) * lines,
        }
    }

    /// Changes so many units where they are: the agent before it hands a line on, the operating system while the program
    /// waits.
    pub(crate) fn transform(&mut self, units: u64) {
        self.local_copy(units);
    }

    /// Copies so many units to the other host, in the background.
    pub(crate) fn remote_copy(&mut self, units: u64) {
        let lines = self.lines(units);
        self.bytes += 64 * lines;
        self.agent.memory += self.costs.agent_read * lines;
        self.agent.sends += 64 * lines;
    }

    /// A page that is at the other host is wanted: its missing line first, or all of it in a fault.
    pub(crate) fn fetch_page(&mut self) {
        self.events += 1;
        self.bytes += 64 * PAGE_LINES;
        let network = self.costs.network;
        let way = |lines: u64| network.latency * 2 + network.byte * (64 * lines);
        match self.kind {
            Kind::Lines => self.wait(way(1)),
            Kind::Pages => self.wait(self.costs.fault + way(PAGE_LINES)),
        }
    }

    /// Tracking begins anew: pages are protected again, the agent forgets.
    pub(crate) fn track_anew(&mut self) {
        if self.kind == Kind::Pages {
            self.wait(self.costs.protect_page * self.known.len() as u64);
        }
    }
}

/// A use case at work.
pub(crate) struct Using {
    case: Box<dyn UseCase>,
    primitives: Primitives,
    length: Dur,
    /// By pages, when the window ends; by lines the agent says so.
    ends: Time,
}

/// What tracking may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, params::Words)]
pub enum Use {
    /// Migration that copies while the program runs.
    PreCopy,
    /// Migration that copies after the program has moved.
    PostCopy,
    /// Pages shared until one is written.
    CopyOnWrite,
    /// Checkpoints, each of what has changed.
    Checkpoint,
    /// A copy that is kept up to date.
    Replicate,
    /// Contents encrypted when they are written.
    Encrypt,
    /// An undo log.
    Log,
}

impl Use {
    fn case(self) -> Box<dyn UseCase> {
        match self {
            Use::PreCopy => Box::<migrate::PreCopy>::default(),
            Use::PostCopy => Box::<migrate::PostCopy>::default(),
            Use::CopyOnWrite => Box::<copy_on_write::CopyOnWrite>::default(),
            Use::Checkpoint => Box::<checkpoint::Checkpoint>::default(),
            Use::Replicate => Box::<replicate::Replicate>::default(),
            Use::Encrypt => Box::<encrypt::Encrypt>::default(),
            Use::Log => Box::<log::UndoLog>::default(),
        }
    }
}

/// What a machine is told of its use case.
#[derive(Clone, Debug)]
pub struct UseSpec {
    /// Which one.
    pub what: Option<Use>,
    /// What things take.
    pub costs: UseCosts,
    /// Length of a window.
    pub window: Dur,
}

impl Using {
    /// The use case, where there is one.
    pub(crate) fn new(spec: &UseSpec, kind: Kind) -> Option<Using> {
        let case = spec.what?.case();
        let primitives = Primitives {
            kind,
            costs: spec.costs,
            known: BTreeSet::new(),
            events: 0,
            bytes: 0,
            waited: Dur::ZERO,
            owed: Dur::ZERO,
            agent: AgentWork::default(),
        };
        Some(Using { case, primitives, length: spec.window, ends: Time::ZERO + spec.window })
    }

    /// The region of interest begins: with memory as it is now.
    pub(crate) fn begin(&mut self, spec: &UseSpec, now: Time) {
        if let Some(anew) = Using::new(spec, self.primitives.kind) {
            *self = Using { ends: now + spec.window, ..anew };
        }
    }

    /// A window ends.
    pub(crate) fn end_window(&mut self) {
        self.case.window(&mut self.primitives);
    }

    /// The program accesses a line of a page.
    pub(crate) fn accessed(&mut self, now: Time, page: u32, index: u32, writes: bool) {
        let unit = match self.primitives.kind {
            Kind::Lines => u64::from(page) * PAGE_LINES + u64::from(index),
            Kind::Pages => u64::from(page),
        };
        if self.primitives.kind == Kind::Pages && now >= self.ends {
            self.end_window();
            self.ends = now + self.length;
        }
        if writes {
            self.case.written(unit, &mut self.primitives);
        } else {
            self.case.read(unit, &mut self.primitives);
        }
    }

    /// What the program has to wait now.
    pub(crate) fn take_wait(&mut self) -> Dur {
        std::mem::take(&mut self.primitives.owed)
    }

    /// What the agent has to do now.
    pub(crate) fn take_work(&mut self) -> AgentWork {
        std::mem::take(&mut self.primitives.agent)
    }

    pub(crate) fn stats(&self, sink: &mut dyn StatSink) {
        let p = &self.primitives;
        let counted = UseStats {
            events: p.events,
            bytes_moved: p.bytes,
            wait: p.waited,
            bytes_left: 64 * p.lines(self.case.left()),
        };
        counted.hand_up(sink);
    }
}

/// The page of a unit.
pub(crate) fn page_of(unit: Unit, primitives: &Primitives) -> u64 {
    if primitives.kind == Kind::Lines { unit / PAGE_LINES } else { unit }
}
