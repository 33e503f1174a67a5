//! Many runs of one program: what is wrong in any of them, each with a smallest schedule that shows it.

use crate::finding::{Finding, Kind};
use crate::params::SharedParameters;
use crate::run::{Ran, Running, run};
use crate::schedule::{Accesses, Happens, What, drawn};
use crate::world::Step;
use params::{Parameters, Setting, Settings, Tally};
use std::rc::Rc;
use units::{Dur, watch};
use workloads::SharedWorkload;

/// What is searched, and how far.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The machine's parameters.
    pub machine: &'a Settings,
    /// The program.
    pub workload: &'a SharedWorkload,
    /// Its parameters.
    pub settings: &'a Settings,
    /// Seed of what happens.
    pub seed: u64,
    /// Runs, each with something else that happens.
    pub schedules: u64,
}

/// The most mistakes that are told of one program.
const MOST_FINDINGS: usize = 8;
/// Accesses before which the power is made to fail at most, where nothing was found.
const MOST_CUTS: u64 = 1 << 10;
/// Schedules that are tried at each smaller size of a program.
const TRIES: u64 = 40;

/// A mistake, with the smallest run that was found to show it.
#[derive(Debug)]
pub struct Found {
    /// What is wrong.
    pub finding: Finding,
    /// Runs of the search in which it was the first thing to be wrong.
    pub runs: u64,
    /// Operations of the smallest run; of a recording, accesses, flushes and fences of the smallest part of it.
    pub operations: u64,
    /// What happens in it.
    pub schedule: Vec<Happens>,
    /// What was done in it to the line concerned, and the fences between.
    pub steps: Vec<Step>,
}

/// What a search came to.
#[derive(Debug)]
pub struct Outcome {
    /// Each mistake once.
    pub found: Vec<Found>,
    /// Runs.
    pub schedules: u64,
    /// What the run in which nothing happens counted.
    pub tally: Tally,
    /// How long it took.
    pub time: Dur,
    /// Loads and stores of all runs.
    pub references: u64,
    /// What has to be said besides of what was looked at.
    pub remarks: Vec<String>,
}

const OPERATIONS: &str = "workload.operations";

impl Search<'_> {
    /// Runs the program under every schedule.
    pub fn run(&self) -> Outcome {
        let settings = Rc::new(self.settings.clone());
        let usual = run(self.machine, self.workload, &settings, Vec::new(), false);
        let accesses = usual.accesses.clone();
        let mut outcome = Outcome {
            found: Vec::new(),
            schedules: self.schedules,
            tally: usual.tally.clone(),
            time: usual.time,
            references: 0,
            remarks: Vec::new(),
        };
        let (mut first, link_timeout) = (Some(usual), self.link_timeout());
        for number in 0..self.schedules {
            watch::check();
            watch::parts(number, self.schedules);
            let schedule = drawn(self.seed, number, &accesses, link_timeout);
            let again = || run(self.machine, self.workload, &settings, schedule.clone(), false);
            let ran = first.take().unwrap_or_else(again);
            outcome.references += ran.references;
            let Some(finding) = ran.finding else { continue };
            if let Some(known) = outcome.found.iter_mut().find(|known| known.finding.is_like(&finding)) {
                known.runs += 1;
            } else if outcome.found.len() < MOST_FINDINGS {
                outcome.found.push(self.small(finding, schedule));
            }
        }
        // In the first run nothing happens.
        if outcome.found.is_empty()
            && self.schedules > 1
            && let Some((finding, schedule)) = self.power_failure(&settings, &accesses)
        {
            outcome.found.push(self.small(finding, schedule));
        }
        outcome
    }

    /// The first access of the run in which nothing happens before which a power failure leaves what recovery does not cope
    /// with: few of those that are drawn meet a write that nobody waited for.
    fn power_failure(
        &self,
        settings: &Rc<Settings>,
        accesses: &[Accesses],
    ) -> Option<(Finding, Vec<Happens>)> {
        let every = accesses.iter().map(|a| a.all).sum::<u64>().div_ceil(MOST_CUTS).max(1);
        let mut running = Running::new(self.machine, self.workload, settings, Vec::new());
        let buffer = SharedParameters::from_settings(self.machine).buffer_lines;
        running.world.borrow_mut().state.buffer = buffer;
        let mut done = 0;
        while let Some(core) = running.next() {
            if done % every == 0 {
                let at = running.side(core);
                let world = &mut *running.world.borrow_mut();
                let cut = world.cut(at, None);
                if let Some(finding) = world.recovered(&cut, self.workload, settings) {
                    let access = world.hosts[core].accesses.all;
                    return Some((finding, vec![Happens { core, access, what: What::PowerFails(None) }]));
                }
            }
            done += 1;
            if !running.act(core) {
                break;
            }
        }
        None
    }

    /// The smallest run that is found to show `finding`, which `schedule` shows.
    fn small(&self, finding: Finding, schedule: Vec<Happens>) -> Found {
        let whole = self.settings.number(OPERATIONS);
        let (operations, mut schedule) = self.shorter(&finding, whole).unwrap_or((whole, schedule));
        let mut index = 0;
        while index < schedule.len() {
            let mut less = schedule.clone();
            less.remove(index);
            if self.shows(&finding, operations, &less).is_some() {
                schedule = less;
            } else {
                index += 1;
            }
        }
        // Energy that is short only where that matters.
        for index in 0..schedule.len() {
            if let What::PowerFails(Some(_)) = schedule[index].what {
                let mut enough = schedule.clone();
                enough[index].what = What::PowerFails(None);
                if self.shows(&finding, operations, &enough).is_some() {
                    schedule = enough;
                }
            }
        }
        let ran = run(self.machine, self.workload, &self.with(operations), schedule.clone(), true);
        let (finding, steps) = match ran.finding {
            Some(found) => {
                let steps = told(&found, &ran.steps);
                (found, steps)
            }
            None => (finding, Vec::new()),
        };
        Found { finding, runs: 1, operations, schedule, steps }
    }

    /// The fewest operations with which some schedule shows `finding`.
    fn shorter(&self, finding: &Finding, whole: u64) -> Option<(u64, Vec<Happens>)> {
        let mut operations = 1;
        while operations < whole {
            let usual = run(self.machine, self.workload, &self.with(operations), Vec::new(), false);
            let drawn =
                (0..TRIES).map(|number| drawn(self.seed, number, &usual.accesses, self.link_timeout()));
            for schedule in failures(finding, &usual.accesses).chain(drawn) {
                watch::check();
                if self.shows(finding, operations, &schedule).is_some() {
                    return Some((operations, schedule));
                }
            }
            operations += operations.div_ceil(2);
        }
        None
    }

    fn link_timeout(&self) -> Dur {
        SharedParameters::from_settings(self.machine).link_timeout_ns
    }

    fn with(&self, operations: u64) -> Rc<Settings> {
        let mut settings = self.settings.clone();
        settings.set(OPERATIONS, Setting::Number(operations));
        Rc::new(settings)
    }

    /// The run where it shows the same.
    fn shows(&self, finding: &Finding, operations: u64, schedule: &[Happens]) -> Option<Ran> {
        let ran = run(self.machine, self.workload, &self.with(operations), schedule.to_vec(), false);
        ran.finding.as_ref().is_some_and(|found| found.is_like(finding)).then_some(ran)
    }
}

/// Where it is a power failure that shows `finding`: a power failure at each access, with energy for all lines or for few.
fn failures(finding: &Finding, accesses: &[Accesses]) -> impl Iterator<Item = Vec<Happens>> {
    let shown = accesses.iter().filter(|_| finding.kind == Kind::PowerFailure);
    let accesses: Vec<u64> = shown.map(|a| a.all).collect();
    let at = accesses.into_iter().enumerate();
    let places = at.flat_map(|(host, all)| (0..all).map(move |access| (host, access)));
    let energies = [None, Some(0), Some(1), Some(2)];
    places.flat_map(move |(host, access)| {
        energies.map(|lines| vec![Happens { core: host, access, what: What::PowerFails(lines) }])
    })
}

/// Accesses that are told of a finding.
pub(crate) const MOST_STEPS: usize = 24;

/// What the two hosts did to the line, up to where it shows.
pub(crate) fn told(finding: &Finding, steps: &[Step]) -> Vec<Step> {
    let hosts = [Some(finding.here.host), finding.there.map(|side| side.host)];
    // What recovery misses was stored before the power failed, and may have been flushed since.
    let end = finding.there.filter(|_| finding.kind == Kind::PowerFailure).unwrap_or(finding.here).time;
    let until = steps.iter().filter(|s| s.time <= end);
    let mut kept: Vec<Step> = Vec::new();
    for step in until.filter(|s| hosts.contains(&Some(s.host))) {
        let mut own = kept.iter().rev().filter(|s| s.host == step.host);
        let is_told = match step.address {
            Some(address) => {
                address / 64 == finding.address / 64 && !own.take(LOOKS).any(|s| repeats(step, s))
            }
            // A fence, where it waits for this line.
            None => own.next().is_some_and(|last| last.what == "flushes"),
        };
        if is_told {
            kept.push(*step);
        }
    }
    kept.drain(..kept.len().saturating_sub(MOST_STEPS));
    kept
}

/// Steps of a host that looks at a word once.
const LOOKS: usize = 2;

/// Whether a step is one more look at a word, or one more word of a line that is filled or read.
fn repeats(step: &Step, before: &Step) -> bool {
    let is_same = step.site == before.site && step.what == before.what;
    is_same && (step.value == before.value || step.address != before.address)
}
