//! The runs of an evaluation: declared first, then done on all cores, each on one.

use crate::bands::study::{self, Fnv, Keep, described};
use crate::counted::Counted;
use machine::{
    ConfigError, Description, Report, RunError, RunOptions, Series, WorkloadDescription, run, statistic,
};
use rayon::prelude::*;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use units::watch;

/// Keys and values.
pub(crate) type Changes = &'static [(&'static str, &'static str)];

/// Changes as [`Runs::add`] takes them.
pub(crate) fn owned(changes: Changes) -> Vec<(&'static str, String)> {
    changes.iter().map(|(k, v)| (*k, (*v).to_string())).collect()
}

/// Of `sets` what does anything on `machine`.
pub(crate) fn acting(
    machine: &Description,
    sets: impl IntoIterator<Item = (&'static str, String)>,
) -> Vec<(&'static str, String)> {
    sets.into_iter().filter(|(key, _)| key.starts_with("workload.") || machine.acts(key)).collect()
}

/// A run: machine (with changes), workload (with changes).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// A name of its own: the machine's, or the machine's and what was changed.
    pub machine: String,
    /// The workload.
    pub workload: String,
    /// Threads.
    pub threads: u64,
}

impl Key {
    /// The run of `workload` with so many threads that is known by the name `machine`.
    pub fn new(machine: &str, workload: &str, threads: u64) -> Key {
        Key { machine: machine.into(), workload: workload.into(), threads }
    }
}

struct Job {
    key: Key,
    machine: Description,
    workload: WorkloadDescription,
    /// Without a machine: what is counted.
    counted: Option<Counted>,
}

impl Job {
    fn done(&self, seed: u64) -> Result<Done, RunError> {
        if let Some(counted) = self.counted {
            let stats = counted.count(&self.workload, None, seed).map_err(RunError::Violation)?;
            return Ok(Done { stats, series: None, lines_per_page: None });
        }
        let report = quiet(&self.machine, &self.workload, seed)?;
        let time = ("time_ns".to_string(), report.time.as_ns());
        let phases = report.phases.iter().map(|p| (format!("phase.{}", p.name), p.rate()));
        let stats = report.stats.into_iter().map(|s| (s.name, s.value)).chain([time]);
        let stats = stats.chain(phases).collect();
        Ok(Done { stats, series: report.series, lines_per_page: report.lines_per_page })
    }

    /// The same, kept if statistics are all that it has.
    fn done_and_kept(&self, seed: u64, keep: &dyn Keep, name: &str) -> Result<Done, RunError> {
        let done = self.done(seed)?;
        if done.series.is_none() && done.lines_per_page.is_none() {
            study::kept(keep, name, &format!("{:#}\n", json!(done.stats)))?;
        }
        Ok(done)
    }

    /// Under which it is kept: stands for everything that its statistics hang on.
    fn name(&self, seed: u64, build: &str) -> String {
        let mut hash = Fnv::default();
        hash.add(build);
        hash.add(&format!("seed {seed}"));
        hash.add(&self.does());
        hash.name()
    }

    /// Everything that it hangs on besides the seed. What is counted without the machine hangs on the program alone.
    fn does(&self) -> String {
        match self.counted {
            Some(counted) => {
                format!("{}|{:?}|{:?}", self.workload.name, self.workload.settings, counted.as_taken())
            }
            None => described("", &self.machine, &self.workload),
        }
    }
}

/// Where results are kept, and which program they are of; nothing is kept without.
pub type Kept<'a> = Option<(&'a dyn Keep, &'a str)>;

/// What is kept of a run.
#[derive(Clone)]
struct Done {
    stats: BTreeMap<String, f64>,
    series: Option<Series>,
    lines_per_page: Option<Vec<u64>>,
}

/// Runs to do, then their statistics.
#[derive(Default)]
pub struct Runs {
    jobs: Vec<Job>,
    done: BTreeMap<Key, Done>,
    /// The first statistic that was asked for and does not exist.
    unknown: OnceLock<ConfigError>,
    /// What was asked for: runs, and statistics of each.
    asked: Mutex<Asked>,
}

/// Runs, and statistics of each.
pub(crate) type Asked = BTreeMap<Key, BTreeSet<String>>;

impl Runs {
    /// Declares a run of `workload` on preset `preset` with changes to either.
    ///
    /// # Errors
    /// When a name, key or value is not accepted.
    pub fn add(&mut self, key: Key, preset: &str, sets: &[(&str, String)]) -> Result<(), ConfigError> {
        let mut machine = Description::preset(preset)?;
        let mut workload = WorkloadDescription::named(&key.workload)?;
        if workload.settings.get("workload.threads").is_some() {
            workload.set("workload.threads", &key.threads.to_string())?;
        }
        for (name, value) in sets {
            if name.starts_with("workload.") {
                workload.set(name, value)?;
            } else {
                machine.set(name, value)?;
            }
        }
        machine.check()?;
        if !self.jobs.iter().any(|j| j.key == key) {
            self.jobs.push(Job { key, machine, workload, counted: None });
        }
        Ok(())
    }

    /// The same for a workload that is counted without a machine.
    ///
    /// # Errors
    /// As [`Runs::add`].
    pub(crate) fn add_counted(
        &mut self,
        key: Key,
        counted: Counted,
        preset: &str,
        sets: &[(&str, String)],
    ) -> Result<(), ConfigError> {
        let before = self.jobs.len();
        self.add(key, preset, sets)?;
        self.jobs[before..].iter_mut().for_each(|job| job.counted = Some(counted));
        Ok(())
    }

    /// Says where a value of a declared run's machine or program comes from. What an evaluation sets is what it asks, unless it says so.
    pub(crate) fn source(&mut self, key: &Key, param: &'static str, source: String) {
        for job in self.jobs.iter_mut().filter(|job| job.key == *key) {
            let sources = if param.starts_with("workload.") {
                &mut job.workload.sources
            } else {
                &mut job.machine.sources
            };
            sources.insert(param, source.clone());
        }
    }

    /// How many runs are declared.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Does them; `step` is called after each.
    ///
    /// # Errors
    /// When a run cannot be done.
    pub fn run(&mut self, seed: u64, step: impl Fn() + Sync) -> Result<(), RunError> {
        self.run_keeping(seed, None, step)
    }

    /// The same; what is kept is not done again. A run with more than statistics is not kept.
    ///
    /// # Errors
    /// When a run cannot be done, or kept.
    pub(crate) fn run_keeping(
        &mut self,
        seed: u64,
        kept: Kept<'_>,
        step: impl Fn() + Sync,
    ) -> Result<(), RunError> {
        let one = |jobs: &Vec<&Job>| {
            let job = jobs[0];
            let named = kept.map(|(keep, build)| (keep, job.name(seed, build)));
            let before = named.as_ref().and_then(|(keep, name)| serde_json::from_str(&keep.read(name)?).ok());
            let done = match (before, named) {
                (Some(stats), _) => Done { stats, series: None, lines_per_page: None },
                (None, None) => job.done(seed)?,
                (None, Some((keep, name))) => job.done_and_kept(seed, keep, &name)?,
            };
            jobs.iter().for_each(|_| step());
            Ok(jobs.iter().map(|job| (job.key.clone(), done.clone())).collect::<Vec<_>>())
        };
        self.done.extend(in_parallel(&self.different(), one)?.into_iter().flatten());
        Ok(())
    }

    /// The jobs, those together that do the same under other names.
    fn different(&self) -> Vec<Vec<&Job>> {
        let mut known = BTreeMap::new();
        let mut all: Vec<Vec<&Job>> = Vec::new();
        for job in &self.jobs {
            let place = *known.entry(job.does()).or_insert(all.len());
            if place == all.len() {
                all.push(Vec::new());
            }
            all[place].push(job);
        }
        all
    }

    /// A statistic of a run that was done; before, 0. A name that no statistic has, or that the run does not report, is told by
    /// [`Runs::all_known`].
    pub fn get(&self, machine: &str, workload: &str, threads: u64, name: &str) -> f64 {
        if name != "time_ns"
            && !name.starts_with("phase.")
            && let Err(unknown) = statistic(name)
        {
            _ = self.unknown.set(unknown);
        }
        let key = Key::new(machine, workload, threads);
        let reported = self.done.get(&key).map(|done| done.stats.get(name).copied());
        self.asked_so_far().entry(key).or_default().insert(name.to_string());
        reported.unwrap_or(Some(0.0)).unwrap_or_else(|| {
            let missing = format!("{machine} does not report {name} of {workload} on {threads} threads");
            _ = self.unknown.set(ConfigError(missing));
            f64::NAN
        })
    }

    /// Whether a run counted something.
    pub(crate) fn counts(&self, key: &Key, name: &str) -> bool {
        self.done.get(key).is_some_and(|done| done.stats.contains_key(name))
    }

    /// Whether any run was done. Before, a claim is only asked what it reads, and nothing is explored for it.
    pub(crate) fn any_done(&self) -> bool {
        !self.done.is_empty()
    }

    fn asked_so_far(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was asked for since the last call.
    pub(crate) fn take_asked(&self) -> Asked {
        std::mem::take(&mut *self.asked_so_far())
    }

    /// The machine and the workload of a declared run, and what is counted where that is done without the machine.
    pub(crate) fn declared(
        &self,
        key: &Key,
    ) -> Option<(&Description, &WorkloadDescription, Option<Counted>)> {
        self.jobs.iter().find(|job| job.key == *key).map(|job| (&job.machine, &job.workload, job.counted))
    }

    /// Takes a run's statistics as if it had been done here.
    pub(crate) fn insert(&mut self, key: Key, stats: BTreeMap<String, f64>) {
        self.done.insert(key, Done { stats, series: None, lines_per_page: None });
    }

    /// Whether every statistic that was asked for exists.
    ///
    /// # Errors
    /// The first that does not, with the nearest names.
    pub fn all_known(&self) -> Result<(), ConfigError> {
        self.unknown.get().map_or(Ok(()), |unknown| Err(unknown.clone()))
    }

    /// What was seen over time in a run at page fidelity.
    pub fn series(&self, machine: &str, workload: &str) -> Option<&Series> {
        self.done.get(&Key::new(machine, workload, 1))?.series.as_ref()
    }

    /// Dirty pages of a run by how many of their lines were stored to in a window, 0 to 64.
    pub fn lines_per_page(&self, machine: &str, workload: &str) -> Option<&[u64]> {
        self.done.get(&Key::new(machine, workload, 1))?.lines_per_page.as_deref()
    }

    /// Simulated time of a run, in nanoseconds.
    pub fn time(&self, machine: &str, workload: &str, threads: u64) -> f64 {
        self.get(machine, workload, threads, "time_ns")
    }
}

/// Does something with each of a list, on all of the host's cores.
pub(crate) fn in_parallel<T: Sync, R: Send>(
    all: &[T],
    one: impl Fn(&T) -> Result<R, RunError> + Sync,
) -> Result<Vec<R>, RunError> {
    let own = watch::entered();
    all.par_iter().map(|each| watch::one_of(own.as_ref(), || one(each))).collect()
}

/// A run of which nobody wants the images.
pub(crate) fn quiet(
    machine: &Description,
    workload: &WorkloadDescription,
    seed: u64,
) -> Result<Report, RunError> {
    let options = RunOptions { seed, without_images: true, ..RunOptions::default() };
    run(machine, workload, &options)
}

/// The geometric mean.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = values.into_iter().map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effort;

    #[test]
    fn every_evaluation_sets_keys_that_act() {
        for paper in crate::PAPERS {
            for effort in [Effort::Whole, Effort::Design] {
                let declared = (paper.declare)(effort);
                assert!(declared.is_ok(), "{}: {:?}", paper.name, declared.err());
            }
        }
    }

    #[test]
    fn runs_that_do_the_same_under_other_names_are_made_once() {
        let mut runs = Runs::default();
        let mut add = |name: &str, clients: &str, counted| {
            let sets =
                [("workload.keys", "50"), ("workload.operations", "50"), ("workload.clients", clients)];
            let sets = sets.map(|(key, value)| (key, value.to_string()));
            runs.add_counted(Key::new(name, "redis-seq", 1), counted, "pberry", &sets).unwrap();
        };
        add("a", "1", Counted::Windows(20));
        add("b", "1", Counted::Slowed(20));
        add("c", "2", Counted::Windows(20));
        add("d", "1", Counted::Windows(10));
        let together: Vec<usize> = runs.different().iter().map(Vec::len).collect();
        assert_eq!(together, [2, 1, 1]);
        runs.run(1, || {}).unwrap();
        let bytes = |name| runs.get(name, "redis-seq", 1, "tracking.bytes");
        assert!(bytes("a") > 0.0 && bytes("a").to_bits() == bytes("b").to_bits());
        let mut runs = Runs::default();
        for (name, threads) in [("a", 1), ("b", 1), ("c", 2)] {
            runs.add(Key::new(name, "queue", threads), "intel", &[]).unwrap();
        }
        assert_eq!(runs.different().len(), 2);
    }

    #[test]
    fn statistics_that_are_kept_come_back_to_the_last_bit() {
        let mut r = units::Random::new(1, 0);
        for _ in 0..10_000 {
            let value = r.below(1 << 53) as f64 / (1 + r.below(1 << 40)) as f64;
            let back: f64 = serde_json::from_str(&json!(value).to_string()).unwrap();
            assert_eq!(back.to_bits(), value.to_bits(), "{value}");
        }
    }

    #[test]
    fn a_statistic_that_does_not_exist_is_an_error_and_not_zero() {
        let runs = Runs::default();
        runs.get("asap-rp", "cceh", 4, "ordering.nacks");
        runs.time("asap-rp", "cceh", 4);
        runs.get("amf", "redis-mem", 1, "phase.GET");
        assert_eq!(runs.all_known(), Ok(()));
        runs.get("asap-rp", "cceh", 4, "ordering.nack");
        let error = runs.all_known().unwrap_err().to_string();
        assert!(error.contains("\"ordering.nack\"; did you mean ordering.nacks"), "{error}");
    }

    #[test]
    fn a_statistic_that_a_run_does_not_report_is_an_error_and_not_zero() {
        let mut runs = Runs::default();
        runs.insert(Key::new("intel", "cceh", 4), BTreeMap::from([("time_ns".to_string(), 1.0)]));
        runs.time("intel", "cceh", 4);
        assert_eq!(runs.all_known(), Ok(()));
        assert!(runs.get("intel", "cceh", 4, "ordering.nacks").is_nan());
        let error = runs.all_known().unwrap_err().to_string();
        assert_eq!(error, "intel does not report ordering.nacks of cceh on 4 threads");
    }
}
