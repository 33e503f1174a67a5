//! One run: programs on hosts, what happens to them, and what the device holds in the end.

use crate::finding::{Finding, Side};
use crate::params::SharedParameters;
use crate::port::{Members, Port};
use crate::ranges::CoherentRanges;
use crate::schedule::{Accesses, Happens};
use crate::shadow::Word;
use crate::state::Block;
use crate::world::{Step, World, place_of};
use params::{Parameters, Settings, Tally};
use protocol::Cpu;
use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use units::{Dur, Time};
use workloads::{Host, Left, Membership, Persistent, Program, SharedWorkload};

/// Why a machine is none.
///
/// # Errors
/// The key, and what is accepted.
pub(crate) fn check_machine(machine: &Settings) -> Result<(), String> {
    let own = SharedParameters::from_settings(machine);
    let read = CoherentRanges::read(&own.coherent_ranges, own.lines());
    read.map(|_| ()).map_err(|why| format!("shared.coherent_ranges: {why}"))
}

/// Lines that hardware keeps coherent.
pub(crate) fn coherent_ranges(machine: &Settings) -> CoherentRanges {
    SharedParameters::from_settings(machine).coherent()
}

/// Why a workload cannot run on a machine.
///
/// # Errors
/// The key, and what is accepted.
pub fn check(machine: &Settings, workload: &SharedWorkload, settings: &Settings) -> Result<(), String> {
    let own = SharedParameters::from_settings(machine);
    let hosts = settings.count("workload.hosts");
    if hosts > own.hosts {
        return Err(format!(
            "workload.hosts = {hosts}: {} takes more hosts than the machine has; give at most shared.hosts = {}",
            workload.name, own.hosts
        ));
    }
    check_cores(own.cores, workload, settings)?;
    let lines = (workload.lines)(settings) as u64;
    if lines > own.lines() {
        return Err(format!(
            "{}: takes {lines} lines, and the memory has {}; give shared.memory_bytes at least {}",
            workload.name,
            own.lines(),
            (lines * 64).next_power_of_two()
        ));
    }
    Ok(())
}

/// Why a workload's programs have not each a core.
fn check_cores(own: usize, workload: &SharedWorkload, settings: &Settings) -> Result<(), String> {
    let (name, hosts, cores) =
        (workload.name, settings.count("workload.hosts"), settings.count("workload.cores"));
    if cores > own {
        return Err(format!(
            "workload.cores = {cores}: {name} takes more cores than a host has; give at most shared.cores = {own}"
        ));
    }
    let (programs, most) = (hosts * cores, workload.most_programs());
    if programs > most {
        return Err(format!(
            "workload.cores = {cores}: {name} on {hosts} hosts of {cores} cores is {programs} programs, and it has at most {most}"
        ));
    }
    Ok(())
}

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    /// The first thing that was wrong.
    pub finding: Option<Finding>,
    /// The last accesses, where they were asked for.
    pub steps: Vec<Step>,
    /// What was counted.
    pub tally: Tally,
    /// Until the last host ended.
    pub time: Dur,
    /// What hosts waited for of it, summed over them: lines of the device; flushes and fences; the last of them to end.
    pub waits: [Dur; 3],
    /// What each host did.
    pub accesses: Vec<Accesses>,
    /// Loads and stores of all hosts.
    pub references: u64,
    /// Operations of all hosts.
    pub operations: u64,
}

/// The device, for the program's check.
pub(crate) struct Device<'a>(pub(crate) &'a [Block<Word, 8>]);

impl Persistent for Device<'_> {
    fn word(&mut self, address: u64) -> u64 {
        let (line, word) = place_of(address);
        self.0[line][word].value
    }
}

/// Runs `workload` on `machine`, while `schedule` happens.
pub fn run(
    machine: &Settings,
    workload: &SharedWorkload,
    settings: &Rc<Settings>,
    schedule: Vec<Happens>,
    keeps_steps: bool,
) -> Ran {
    let mut running = Running::new(machine, workload, settings, schedule);
    running.world.borrow_mut().keeps_steps = keeps_steps;
    // Programs are all at their first access now.
    running.world.borrow_mut().runs_ahead = true;
    while let Some(id) = running.next() {
        if !running.act(id) {
            break;
        }
    }
    running.end(workload, settings)
}

/// Programs on hosts' cores, an access at a time.
pub(crate) struct Running {
    pub(crate) world: Rc<RefCell<World>>,
    programs: Vec<Option<Program>>,
}

impl Running {
    /// Each program is at its first access.
    pub(crate) fn new(
        machine: &Settings,
        workload: &SharedWorkload,
        settings: &Rc<Settings>,
        schedule: Vec<Happens>,
    ) -> Running {
        let each = (settings.count("workload.hosts"), settings.count("workload.cores"));
        let all = each.0 * each.1;
        let spec = SharedParameters::from_settings(machine);
        let mut world = World::new(spec, each, (workload.lines)(settings), schedule);
        world.locks = (workload.locks)(settings);
        let world = Rc::new(RefCell::new(world));
        let members: Rc<dyn Membership> = Rc::new(Members(Rc::clone(&world)));
        let program = |id| {
            let cpu = Cpu::new(Rc::new(Port { world: Rc::clone(&world), id }));
            Some((workload.program)(Host::new(cpu, (id, all), Rc::clone(settings), Rc::clone(&members))))
        };
        let mut programs: Vec<Option<Program>> = (0..all).map(program).collect();
        (0..all).for_each(|id| go_on(&world, &mut programs, id));
        Running { world, programs }
    }

    /// The core whose access is next.
    pub(crate) fn next(&self) -> Option<usize> {
        self.world.borrow_mut().next()
    }

    /// Does the next access of a core; whether anything is still to come.
    pub(crate) fn act(&mut self, id: usize) -> bool {
        self.world.borrow_mut().act(id);
        go_on(&self.world, &mut self.programs, id);
        let mut world = self.world.borrow_mut();
        let is_stuck = world.is_stuck(id);
        if is_stuck {
            world.note_stuck(id);
        }
        !is_stuck
    }

    /// Where a core is.
    pub(crate) fn side(&self, id: usize) -> Side {
        self.world.borrow().side(id)
    }

    /// Where the last core ended, and when; none where no host did anything.
    pub(crate) fn ends(&self) -> Option<Side> {
        let world = self.world.borrow();
        let id = (0..world.hosts.len()).max_by_key(|id| world.hosts[*id].now)?;
        world.hosts[id].last?;
        Some(world.side(id))
    }

    /// What it came to.
    pub(crate) fn end(self, workload: &SharedWorkload, settings: &Settings) -> Ran {
        drop(self.programs);
        let world = &mut *self.world.borrow_mut();
        look_at_the_end(world, workload, settings);
        told(world)
    }
}

/// Lets a core's program go on to its next access.
fn go_on(world: &Rc<RefCell<World>>, programs: &mut [Option<Program>], id: usize) {
    if !world.borrow().hosts[id].is_alive {
        // What it held is gone with it.
        programs[id] = None;
    }
    let Some(program) = &mut programs[id] else { return };
    if program.as_mut().poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(()) {
        programs[id] = None;
        world.borrow_mut().hosts[id].has_ended = true;
    }
}

/// The hosts that are still there write back what they have; then the program's check looks at the device.
fn look_at_the_end(world: &mut World, workload: &SharedWorkload, settings: &Settings) {
    if world.found.is_some() {
        return;
    }
    if let Some(cut) = world.power.take() {
        let finding = world.recovered(&cut, workload, settings);
        return world.note(finding, 0);
    }
    world.catch_up(Time::NEVER);
    for host in 0..world.state.hosts() {
        let lines: Vec<usize> = world.state.cached(host).collect();
        lines.into_iter().for_each(|line| _ = world.state.evict(host, line));
        world.state.fence(host);
    }
    let ended: Vec<u64> = world.hosts.iter().map(|h| h.operations).collect();
    let alive: Vec<bool> = world.hosts.iter().map(|h| h.is_alive).collect();
    let left = Left { settings, ended: &ended, alive: &alive, power_failed: false, dirty_shutdowns: 0 };
    if let Err(broken) = (workload.check)(&mut Device(world.state.memory()), &left) {
        let finding = world.at_the_end(place_of(broken.address), &broken.what);
        world.note(finding, 0);
    }
}

fn told(world: &mut World) -> Ran {
    let finding = world.found.take().map(|(finding, missed)| world.look_again(finding, missed));
    let mut tally = Tally::default();
    world.stats.hand_up(&mut tally);
    let ends = world.hosts.iter().map(|h| h.now).max().unwrap_or(Time::ZERO);
    Ran {
        finding,
        steps: world.steps().copied().collect(),
        tally,
        time: ends.since(Time::ZERO),
        waits: [
            world.stats.fetch_time,
            world.stats.flush_time + world.stats.fence_time,
            world.hosts.iter().map(|h| ends.since(h.now)).fold(Dur::ZERO, |sum, rest| sum + rest),
        ],
        accesses: world.hosts.iter().map(|h| h.accesses.clone()).collect(),
        references: world.stats.references,
        operations: world.stats.operations,
    }
}
