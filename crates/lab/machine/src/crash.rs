//! Power failures at many instants of one run: each gives the memory that this machine would leave then.

use crate::build::Machine;
use crate::describe::{Description, WorkloadDescription};
use crate::error::{ConfigError, RunError};
use crate::memories::Memory;
use crate::remote_parts;
use crate::run::{RunOptions, within_arenas};
use cpu::Hart;
use neardata::{Dump, Invariant};
use protocol::{AddressMap, Block, Image, Line, Lost, Msg, Remains, View};
use units::Time;

/// When the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashEvery {
    /// After every so many writes that reach persistent memory or its controllers' tables.
    Persists(u64),
    /// After every event of the simulation.
    Event,
    /// Once.
    At(Time),
}

/// What one power failure leaves.
pub struct CrashPoint {
    /// When.
    pub at: Time,
    /// For each thread: operations that it had ended.
    pub ended: Vec<u64>,
    /// What the program had been told was durable, and is not.
    pub lost: Vec<Lost>,
    parts: Vec<Image>,
    map: AddressMap,
}

impl CrashPoint {
    /// The bytes of a line of persistent memory.
    pub fn read(&self, line: Line) -> Block {
        self.parts[self.map.controller(line)].read(line)
    }

    /// All of persistent memory, as a DAX file would hold it.
    pub fn image(&self) -> Image {
        let mut remains = Remains::new();
        remains.parts.clone_from(&self.parts);
        remains.settle(&self.map)
    }
}

/// Whether a power failure leaves anything on this machine.
///
/// # Errors
/// Why not.
pub fn can_crash(machine: &Description) -> Result<(), ConfigError> {
    if machine.is_page() {
        let text = format!(
            "{}: a machine at page fidelity carries no bytes, there is nothing to recover",
            machine.name
        );
        return Err(ConfigError::new(text));
    }
    if remote_parts::kind(&machine.settings).is_none() {
        return Ok(());
    }
    Err(ConfigError::new(format!("{}: remote memory is volatile, there is nothing to recover", machine.name)))
}

/// Simulates `workload` on `machine`, and shows what a power failure would leave at many instants of the part that
/// counts. Costs, for each, what changed since the one before. `visit` says whether to go on.
///
/// # Errors
/// As [`crate::run`].
pub fn run_with_crashes(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
    every: CrashEvery,
    visit: &mut dyn FnMut(CrashPoint) -> bool,
) -> Result<(), RunError> {
    can_crash(machine)?;
    within_arenas(workload, || run_to_crashes(machine, workload, options, every, visit))?
}

fn run_to_crashes(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
    every: CrashEvery,
    visit: &mut dyn FnMut(CrashPoint) -> bool,
) -> Result<(), RunError> {
    let mut m = Machine::prepare(machine, workload, options)?;
    let threads = workload.threads();
    if let CrashEvery::At(at) = every {
        m.engine.stop_after(at);
    }
    let (mut done, mut next, mut began) = (0, 0, Time::NEVER);
    let mut msg = Msg::Wake;
    while let Some((now, to, port)) = m.engine.next(&mut msg) {
        m.dispatch(now, to, port, &msg);
        if m.is_broken() {
            break;
        }
        began = began.min(m.region_began_on(to));
        if now < began {
            continue;
        }
        done = match every {
            CrashEvery::Event => done + 1,
            CrashEvery::At(_) => continue,
            CrashEvery::Persists(_) => m.controllers.iter().map(Memory::persists).sum(),
        };
        if done < next {
            continue;
        }
        next = done + if let CrashEvery::Persists(n) = every { n } else { 1 };
        if !visit(m.crash(now, threads)) {
            return m.check_promises();
        }
    }
    m.check_promises()?;
    let end = match every {
        CrashEvery::At(at) => at,
        _ => {
            m.check_finished()?;
            m.harts.iter().map(Hart::now).max().unwrap_or(Time::ZERO)
        }
    };
    visit(m.crash(end, threads));
    // Devices that replay may have found what must not be, at this last point too.
    m.check_promises()
}

impl Machine {
    /// Near-data devices replay what they saved.
    pub(crate) fn recover_near(&mut self, parts: &mut [Image]) {
        let near = self.controllers.iter().filter_map(Memory::near);
        let dumps: Vec<Dump> = near.map(|d| d.core().power_fail()).collect();
        if let Err(what) = neardata::recover(&dumps, parts)
            && let Some(checker) = &mut self.checker
        {
            checker.report(Invariant::FailureRecovery, what);
        }
    }

    fn crash(&mut self, at: Time, threads: usize) -> CrashPoint {
        let mut remains = Remains::new();
        for node in self.nodes() {
            node.remains(View::Durable, &mut remains);
        }
        let lost = std::mem::take(&mut remains.lost);
        let mut parts = remains.settle_in_place(&self.map);
        self.recover_near(&mut parts);
        let ended = self.harts.iter().take(threads).map(Hart::operations).collect();
        CrashPoint { at, ended, lost, parts, map: self.map }
    }
}
