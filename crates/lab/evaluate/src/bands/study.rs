//! The runs of a design, each made once, on all cores; what is done is kept, and not made again.

use super::design::Point;
use super::space::Space;
use crate::counted::Counted;
use machine::{ConfigError, Description, RunError, RunOptions, WorkloadDescription, run};
use rayon::prelude::*;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use units::watch;

/// Where results are kept between calls. A name stands for everything that a result hangs on.
pub trait Keep: Sync {
    /// What is kept under a name.
    fn read(&self, name: &str) -> Option<String>;

    /// Keeps something: all of it, or nothing.
    ///
    /// # Errors
    /// When that cannot be done.
    fn write(&self, name: &str, text: &str) -> Result<(), String>;
}

/// Keeps something. Where that cannot be done no machine has broken a promise.
pub(crate) fn kept(keep: &dyn Keep, name: &str, text: &str) -> Result<(), RunError> {
    keep.write(name, text).map_err(|why| ConfigError(why).into())
}

/// A machine and its program, and which of its statistics are wanted.
pub struct Job {
    /// A name of its own.
    pub name: String,
    /// The machine.
    pub machine: Description,
    /// The workload.
    pub workload: WorkloadDescription,
    /// `time_ns`, `phase.*`, or the names of statistics.
    pub wanted: BTreeSet<String>,
    /// Counted without the machine.
    pub counted: Option<Counted>,
}

/// The statistics of a run, or why there are none.
pub type Outcome = Result<BTreeMap<String, f64>, String>;

/// Simulations of a design: which there are, and which each of its runs takes.
pub struct Study<'a> {
    jobs: &'a [Job],
    space: &'a Space,
    points: &'a [Point],
    simulations: Vec<Simulation>,
    /// Of each run, the simulation of each job.
    takes: Vec<Vec<usize>>,
    /// Under which each run is kept.
    names: Vec<String>,
}

struct Simulation {
    job: usize,
    seed: u64,
    changes: Vec<(usize, String)>,
}

impl<'a> Study<'a> {
    /// What has to be done; `build` stands for the program that does it, and for every file that it reads.
    pub fn new(jobs: &'a [Job], space: &'a Space, points: &'a [Point], build: &str) -> Study<'a> {
        let mut known = BTreeMap::new();
        let (mut simulations, mut takes) = (Vec::new(), Vec::new());
        for point in points {
            let mut of = Vec::new();
            for job in 0..jobs.len() {
                let changes = space.changes(job, &point.levels);
                let place = *known.entry((job, point.seed, changes.clone())).or_insert(simulations.len());
                if place == simulations.len() {
                    simulations.push(Simulation { job, seed: point.seed, changes });
                }
                of.push(place);
            }
            takes.push(of);
        }
        let described = |job: &Job| {
            let own = described(&job.name, &job.machine, &job.workload);
            format!("{own}|{:?}|{:?}", job.wanted, job.counted)
        };
        let described: Vec<String> = jobs.iter().map(described).collect();
        let name = |(point, of): (&Point, &Vec<usize>)| {
            let mut hash = Fnv::default();
            hash.add(build);
            hash.add(&point.seed.to_string());
            for simulation in of.iter().map(|place| &simulations[*place]) {
                hash.add(&described[simulation.job]);
                for (place, text) in &simulation.changes {
                    hash.add(&space.dimensions[*place].key);
                    hash.add(text);
                }
            }
            hash.name()
        };
        let names = points.iter().zip(&takes).map(name).collect();
        Study { jobs, space, points, simulations, takes, names }
    }

    /// How many simulations that is, if nothing is kept of them.
    pub fn len(&self) -> usize {
        self.simulations.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.simulations.is_empty()
    }

    /// Does it: the outcome of each job in each run. `begin` is told how many simulations are left, `step` is called after
    /// each.
    ///
    /// # Errors
    /// When results cannot be kept.
    pub fn run(
        &self,
        keep: &dyn Keep,
        begin: impl FnOnce(usize),
        step: impl Fn() + Sync,
    ) -> Result<Vec<Vec<Outcome>>, RunError> {
        let done: Vec<Mutex<Option<Outcome>>> = self.simulations.iter().map(|_| Mutex::new(None)).collect();
        let mut left: Vec<AtomicUsize> = Vec::new();
        for (point, of) in self.takes.iter().enumerate() {
            let kept = keep.read(&self.names[point]).and_then(|text| self.kept(&text));
            let missing = kept.is_none();
            for (place, outcome) in of.iter().zip(kept.into_iter().flatten()) {
                set(&done[*place], outcome);
            }
            left.push(AtomicUsize::new(if missing { of.len() } else { 0 }));
        }
        let users = self.users();
        // What a kept run has in common with one that is not is done already.
        let open: Vec<usize> = (0..self.simulations.len()).filter(|place| !is_set(&done[*place])).collect();
        for place in (0..self.simulations.len()).filter(|place| is_set(&done[*place])) {
            for point in &users[place] {
                _ = left[*point].fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
            }
        }
        begin(open.len());
        let own = watch::entered();
        open.par_iter().try_for_each(|place| {
            set(&done[*place], watch::one_of(own.as_ref(), || self.simulate(&self.simulations[*place])));
            step();
            for point in &users[*place] {
                if left[*point].fetch_sub(1, Ordering::SeqCst) == 1 {
                    let text = self.text(*point, &done);
                    kept(keep, &self.names[*point], &text)?;
                }
            }
            Ok::<(), RunError>(())
        })?;
        Ok(self.takes.iter().map(|of| of.iter().map(|place| get(&done[*place])).collect()).collect())
    }

    /// The runs that take each simulation.
    fn users(&self) -> Vec<Vec<usize>> {
        let mut users = vec![Vec::new(); self.simulations.len()];
        for (point, of) in self.takes.iter().enumerate() {
            of.iter().for_each(|place| users[*place].push(point));
        }
        users
    }

    fn simulate(&self, simulation: &Simulation) -> Outcome {
        let job = &self.jobs[simulation.job];
        let (mut machine, mut workload) = (job.machine.clone(), job.workload.clone());
        let options = RunOptions { seed: simulation.seed, without_images: true, ..RunOptions::default() };
        self.space.apply(&simulation.changes, &mut machine, &mut workload).map_err(|e| e.to_string())?;
        if let Some(counted) = job.counted {
            let value = counted.open().and_then(|open| self.space.value(&simulation.changes, open.key));
            let all = counted.count(&workload, value, simulation.seed)?;
            return Ok(all.into_iter().filter(|(name, _)| job.wanted.contains(name)).collect());
        }
        let report = run(&machine, &workload, &options).map_err(|e| e.to_string())?;
        let phases = report.phases.iter().map(|p| (format!("phase.{}", p.name), p.rate()));
        let all = report.stats.iter().map(|s| (s.name.clone(), s.value)).chain(phases);
        let all = all.chain([("time_ns".to_string(), report.time.as_ns())]);
        Ok(all.filter(|(name, _)| job.wanted.contains(name)).collect())
    }

    /// A run as it is kept.
    fn text(&self, point: usize, done: &[Mutex<Option<Outcome>>]) -> String {
        let mut runs = Map::new();
        for (job, place) in self.jobs.iter().zip(&self.takes[point]) {
            let value = match get(&done[*place]) {
                Ok(stats) => json!(stats),
                Err(why) => json!(why),
            };
            runs.insert(job.name.clone(), value);
        }
        let point = &self.points[point];
        let setting: Map<String, Value> =
            self.space.setting(&point.levels).into_iter().map(|(k, v)| (k, v.into())).collect();
        format!("{:#}\n", json!({"seed": point.seed, "setting": setting, "runs": runs}))
    }

    /// A kept run; none where it is not whole.
    fn kept(&self, text: &str) -> Option<Vec<Outcome>> {
        let kept: Value = serde_json::from_str(text).ok()?;
        let one = |job: &Job| match kept["runs"].get(&job.name)? {
            Value::String(why) => Some(Err(why.clone())),
            Value::Object(stats) => {
                stats.iter().map(|(name, v)| Some((name.clone(), v.as_f64()?))).collect::<Option<_>>().map(Ok)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
        };
        self.jobs.iter().map(one).collect()
    }
}

/// Everything that the results of a machine and its program hang on besides the seed, by a name.
pub(crate) fn described(name: &str, machine: &Description, workload: &WorkloadDescription) -> String {
    let memories: Vec<_> = machine.memories.iter().map(|m| format!("{m:?}")).collect();
    format!("{name}|{:?}|{memories:?}|{}|{:?}", machine.settings, workload.name, workload.settings)
}

fn set(slot: &Mutex<Option<Outcome>>, outcome: Outcome) {
    *slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(outcome);
}

fn is_set(slot: &Mutex<Option<Outcome>>) -> bool {
    slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner).is_some()
}

fn get(slot: &Mutex<Option<Outcome>>) -> Outcome {
    let slot = slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    slot.clone().unwrap_or_else(|| Err("was not run".into()))
}

/// Fowler, Noll and Vo's hash of 64 bits: the same on every host.
pub(crate) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    /// A text, and where it ends.
    pub(crate) fn add(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// As the name of a file.
    pub(crate) fn name(&self) -> String {
        format!("{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::design::design;
    use super::*;

    /// Keeps in memory, and refuses after so many.
    struct Memory {
        kept: Mutex<BTreeMap<String, String>>,
        most: usize,
    }

    impl Keep for Memory {
        fn read(&self, name: &str) -> Option<String> {
            self.kept.lock().unwrap().get(name).cloned()
        }

        fn write(&self, name: &str, text: &str) -> Result<(), String> {
            let mut kept = self.kept.lock().unwrap();
            if kept.len() >= self.most {
                return Err("full".into());
            }
            kept.insert(name.into(), text.into());
            Ok(())
        }
    }

    fn job(machine: &str) -> Job {
        let mut workload = WorkloadDescription::named("queue").unwrap();
        workload.set("workload.operations", "40").unwrap();
        Job {
            name: machine.into(),
            machine: Description::preset(machine).unwrap(),
            workload,
            wanted: ["time_ns".to_string()].into(),
            counted: None,
        }
    }

    #[test]
    fn a_study_that_was_ended_goes_on_where_it_was_and_ends_the_same() {
        let jobs = [job("asap-rp"), job("intel")];
        let space = Space::of(jobs.iter().map(|j| (&j.machine, &j.workload)), &BTreeSet::new());
        let points = design(space.dimensions.len(), 50, 1);
        let study = Study::new(&jobs, &space, &points, "this build");
        let count = |keep: &Memory| {
            let made = AtomicUsize::new(0);
            let all = study.run(keep, |_| {}, || _ = made.fetch_add(1, Ordering::SeqCst));
            (all, made.into_inner())
        };
        let whole = Memory { kept: Mutex::default(), most: usize::MAX };
        let (all, made) = count(&whole);
        let all = all.unwrap();
        assert_eq!(made, study.len());
        assert!(made < points.len() * jobs.len(), "what does not act is not run again");
        assert!(all.iter().flatten().all(Result::is_ok), "{all:?}");
        // The second time nothing is left to do.
        assert_eq!(count(&whole), (Ok(all.clone()), 0));
        // Ended in the middle: the rest is made, and a half-written run with it.
        let mut part: BTreeMap<_, _> = whole.kept.into_inner().unwrap().into_iter().take(20).collect();
        part.values_mut().next().unwrap().truncate(30);
        let part = Memory { kept: Mutex::new(part), most: usize::MAX };
        let (again, made) = count(&part);
        assert_eq!(again, Ok(all));
        assert!(made > 0 && made < study.len());
        // Another build's results are not taken.
        let other = Study::new(&jobs, &space, &points, "another build");
        assert!(other.names.iter().all(|name| !study.names.contains(name)));
    }

    #[test]
    fn results_that_cannot_be_kept_end_the_study() {
        let jobs = [job("intel")];
        let full = Memory { kept: Mutex::default(), most: 0 };
        let open = Space::of(jobs.iter().map(|j| (&j.machine, &j.workload)), &BTreeSet::new());
        let points = design(open.dimensions.len(), 3, 1);
        let ended = Study::new(&jobs, &open, &points, "b").run(&full, |_| {}, || {});
        assert_eq!(ended, Err(ConfigError("full".into()).into()));
    }
}
