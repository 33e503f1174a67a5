//! What a run says.

use crate::build::WiredMachine;
use crate::describe::{Description, WorkloadDescription};
use crate::error::RunError;
use crate::interest::Interest;
use crate::options::RunOptions;
use crate::stats::{STATISTICS, derived, is_reported};
use cpu::{Stretch, TimeStats};
use engine::Timeline;
use protocol::params::SHARES;
use protocol::{Image, Tally, Value, View};
use serde_json::{Map, json};
use simulator::Series;
use units::{Dur, Time};

/// A number with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    /// Dotted name; unit and meaning stand in [`STATISTICS`].
    pub name: String,
    /// The value, in that unit.
    pub value: f64,
}

/// Operations of one kind, and the time that they took together.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Their name.
    pub name: String,
    /// How many.
    pub operations: u64,
    /// From the first one's beginning to the last one's end.
    pub time: Dur,
}

impl Phase {
    /// Operations a simulated second; 0 where they took no time.
    pub fn rate(&self) -> f64 {
        let seconds = self.time.as_ns() * 1e-9;
        if seconds > 0.0 { self.operations as f64 / seconds } else { 0.0 }
    }
}

/// The result of a run.
pub struct Report {
    /// The machine's name.
    pub machine: String,
    /// The workload's name.
    pub workload: String,
    /// The seed.
    pub seed: u64,
    /// Time of the region of interest, or the sum of its parts: each from the first program's start of it to the last one's end.
    pub time: Dur,
    /// References of all programs, setting-up included.
    pub references: u64,
    /// Events of the engine.
    pub events: u64,
    /// Every statistic of the region of interest.
    pub stats: Vec<Statistic>,
    /// Persistent memory as a power failure at the end (or at the asked time) leaves it.
    pub durable: Image,
    /// Persistent memory as loads would see it.
    pub visible: Image,
    /// The machine, fully described.
    pub description: Description,
    /// The workload, fully described.
    pub workload_description: WorkloadDescription,
    /// The recording, where one was asked for.
    pub timeline: Option<Box<Timeline>>,
    /// Where the first cores' first time in the region of interest went, where it was asked for; zero is the region's beginning.
    pub opening: Vec<Vec<Stretch>>,
    /// Kinds of operations, on machines at page fidelity.
    pub phases: Vec<Phase>,
    /// What was seen over time, on machines at page fidelity.
    pub series: Option<Series>,
    /// Dirty pages by how many of their lines were stored to in a window, 0 to 64, on machines of remote memory.
    pub lines_per_page: Option<Vec<u64>>,
    /// Of a recording: how many of its records were replayed, and how many there are.
    pub replayed: Option<(u64, u64)>,
    /// When the region of interest began, counted from power-on as instants of power failures are; none where none did, and at page fidelity.
    pub region_began: Option<Time>,
    /// When the run had ended, where the power was to fail later.
    pub ended_before_power: Option<Time>,
}

/// Operations of the workload a simulated second.
pub const OPERATION_RATE: &str = "throughput.operations_per_second";

impl Report {
    /// The value called `name`, if it was reported.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.stats.iter().find(|s| s.name == name).map(|s| s.value)
    }

    /// What speedups are of, in nanoseconds: the time, or that of an operation where programs work for a given time.
    pub fn time_of_work(&self) -> f64 {
        match self.get(OPERATION_RATE) {
            Some(rate) if rate > 0.0 && self.workload_description.lasts_a_given_time() => 1e9 / rate,
            Some(_) | None => self.time.as_ns(),
        }
    }

    /// Makes time, counts and statistics the means of this run and others of the same machine and kind of work.
    pub fn average(&mut self, others: &[Report]) {
        let runs = others.len() as u64 + 1;
        let mean = |own: u64, of: fn(&Report) -> u64| (own + others.iter().map(of).sum::<u64>()) / runs;
        self.time = Dur::ps(mean(self.time.as_ps(), |r| r.time.as_ps()));
        self.references = mean(self.references, |r| r.references);
        for other in others {
            self.workload += &format!(",{}", other.workload.trim_start_matches("trace:"));
        }
        for s in others.iter().flat_map(|r| &r.stats) {
            if self.get(&s.name).is_none() {
                self.stats.push(Statistic { name: s.name.clone(), value: 0.0 });
            }
        }
        for s in &mut self.stats {
            s.value = (s.value + others.iter().filter_map(|r| r.get(&s.name)).sum::<f64>()) / runs as f64;
        }
        in_order(&mut self.stats);
    }

    /// The report as JSON, without anything that depends on the host.
    pub fn to_json(&self) -> serde_json::Value {
        let stats: Map<String, serde_json::Value> =
            self.stats.iter().map(|s| (s.name.clone(), number(s.value))).collect();
        let placed = self.workload_description.in_memory_of(&self.description);
        let workload = placed.as_ref().unwrap_or(&self.workload_description);
        let configuration: Map<String, serde_json::Value> = self
            .description
            .rows()
            .filter_map(|(p, shown, _)| {
                let value = self.description.settings.get(p.key)?;
                Some((p.key.to_string(), crate::describe::json(value, &shown)))
            })
            .chain(self.description.memory_rows().into_iter().map(|row| (row.key.clone(), row.json())))
            .chain(
                workload
                    .acting()
                    .map(|(p, value)| (p.key.to_string(), crate::describe::json(value, &p.kind.show(value)))),
            )
            .collect();
        let mut all = json!({
            "machine": self.machine,
            "workload": self.workload,
            "seed": self.seed,
            "time_ns": self.time.as_ns(),
            "references": self.references,
            "stats": stats,
            "configuration": configuration,
        });
        if let Some(began) = self.region_began {
            all["region_began_ns"] = began.since(Time::ZERO).as_ns().into();
        }
        if !self.phases.is_empty() {
            let phase = |p: &Phase| {
                let (name, rate) = (&p.name, p.rate());
                json!({"name": name, "operations": p.operations, "time_ns": p.time.as_ns(), "operations_per_second": rate})
            };
            all["phases"] = self.phases.iter().map(phase).collect();
        }
        if let Some(series) = &self.series {
            all["series"]["seconds"] = series.seconds.clone().into();
            for (name, values) in &series.columns {
                all["series"][*name] = values.clone().into();
            }
        }
        if !self.opening.is_empty() {
            let stretch = |s: &Stretch| json!([s.cause, s.from.as_ns(), s.to.as_ns()]);
            let core = |c: &Vec<Stretch>| c.iter().map(stretch).collect::<Vec<_>>();
            all["opening"] = self.opening.iter().map(core).collect();
        }
        if let Some((records, of)) = self.replayed {
            all["replayed"] = json!({"records": records, "of": of});
        }
        if let Some(pages) = &self.lines_per_page {
            all["lines_per_page"] = pages.clone().into();
        }
        all
    }
}

/// Whole numbers stay whole.
fn number(value: f64) -> serde_json::Value {
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

impl WiredMachine {
    /// Where the time of the cores with a program went, of so much on the machine.
    fn time_spent(&self, all: Dur) -> TimeStats {
        let mut time = TimeStats::default();
        self.of_interest().for_each(|core| core.add_time(all, &mut time));
        time
    }

    /// The cores whose programs told of a region of interest; all where none did. What others do meanwhile is no part of it.
    fn of_interest(&self) -> impl Iterator<Item = &cpu::Core> {
        let any_told = self.region_began().is_some();
        let is_of_it = move |core: &&cpu::Core| !any_told || core.region().0.is_some();
        self.cores.iter().filter(|core| core.is_loaded()).filter(is_of_it)
    }

    /// What cores counted outside of the region of interest, up to `now`. Where no recording bounds it, devices count on behind its end,
    /// and cores do with them, and so does whoever told of no region: but for time, of which there is no more than the region has.
    fn outside_of_cores(&mut self, now: Time) -> Tally {
        let mut outside = Tally::default();
        if self.region_began().is_none() {
            return outside;
        }
        let is_bounded = self.is_bounded();
        for core in &mut self.cores {
            let beside = core.counted_beside_region(now);
            outside.add(&core.outside_region());
            outside.add(&if is_bounded { beside } else { beside.times() });
        }
        outside
    }

    /// What each core kept of its first time, counted from `began`.
    fn opening(&self, began: Time) -> Vec<Vec<Stretch>> {
        let shifted = |at: Time| Time::ZERO + at.since(began);
        let of = |s: Stretch| Stretch { from: shifted(s.from), to: shifted(s.to), ..s };
        self.of_interest()
            .map(|core| core.opening().into_iter().map(of).collect())
            .filter(|kept: &Vec<_>| !kept.is_empty())
            .collect()
    }

    pub(crate) fn report(
        mut self,
        machine: &Description,
        workload: &WorkloadDescription,
        options: &RunOptions,
        mut interest: Interest,
    ) -> Result<Report, RunError> {
        let last = self.cores.iter().map(cpu::Core::now).max().unwrap_or(Time::ZERO);
        let is_cut = options.power_fails_at.is_some() && self.cores.iter().any(|core| !core.finished());
        // Threads that have ended by then are no end of the region while others go on.
        let goes_on = is_cut && self.cores.iter().any(|core| matches!(core.region(), (Some(_), None)));
        let ended = self.region_ended().filter(|_| !goes_on);
        let end = ended.or(options.power_fails_at).unwrap_or(last);
        let region_began = self.region_began();
        let began = region_began.unwrap_or(Time::ZERO);
        let mut tally = self.tally(last.max(end));
        let bounded = if self.is_bounded() { interest.time(end) } else { None };
        if self.is_bounded() {
            interest.finish(self.shared_tally(last.max(end)));
        }
        let mut before = std::mem::take(&mut interest.outside);
        before.add(&self.outside_of_cores(last.max(end)));
        tally.subtract(&before);
        let time = bounded.unwrap_or_else(|| end.since(began));
        // A run that was cut short leaves programs in the middle of something.
        let spent = options.power_fails_at.is_none().then(|| self.time_spent(time));
        let mut stats = statistics(&tally, time, self.of_interest().count(), spent);
        if let Some(sampling) = interest.sampling() {
            sampling.each(&mut |name, value| stats.push(Statistic { name: name.into(), value }));
            in_order(&mut stats);
        }
        let mut image = |view| if options.without_images { Image::default() } else { self.image(view) };
        let (durable, visible) = (image(View::Durable), image(View::Visible));
        self.check_models()?;
        Ok(Report {
            machine: machine.name.clone(),
            workload: workload.name.clone(),
            seed: options.seed,
            time,
            references: self.cores.iter().map(cpu::Core::references).sum(),
            events: self.engine.events(),
            stats,
            durable,
            visible,
            description: machine.with_cores(self.cores.len() as u64),
            workload_description: workload.clone(),
            opening: self.opening(began),
            timeline: self.engine.timeline.take(),
            phases: Vec::new(),
            series: None,
            lines_per_page: self.companions.iter().find_map(|(_, c)| c.borrow().lines_per_page()),
            replayed: self.replayed(options),
            region_began,
            ended_before_power: options.power_fails_at.and_then(|at| self.ended_before(at)),
        })
    }
}

/// Counts, times and levels as numbers, and what follows from them; in the order of the table.
pub(crate) fn statistics(
    tally: &Tally,
    time: Dur,
    threads: usize,
    spent: Option<TimeStats>,
) -> Vec<Statistic> {
    let mut tally = tally.clone();
    if let Some(spent) = spent {
        spent.tell(&mut tally);
    }
    let tally = &tally;
    let mut all = Vec::new();
    let mut add = |name: String, value: f64| all.push(Statistic { name, value });
    for (name, value) in tally.iter().filter(|(name, _)| is_reported(name)) {
        match value {
            Value::Count(n) => add(name.into(), *n as f64),
            Value::Time(t) => add(name.into(), t.as_ns()),
            Value::Levels(o) => {
                add(format!("{name}.mean"), o.mean());
                add(format!("{name}.p99"), o.p99() as f64);
                add(format!("{name}.max"), o.max() as f64);
            }
            Value::Times(d) => {
                add(format!("{name}.mean"), d.mean_ns());
                for (word, share) in SHARES {
                    add(format!("{name}.{word}"), d.quantile_ns(share));
                }
            }
        }
    }
    derived(tally, time, threads, &mut |name, value| add(name.into(), value));
    in_order(&mut all);
    all
}

/// The order of the table of statistics.
pub(crate) fn in_order(stats: &mut [Statistic]) {
    let rank = |name: &str| STATISTICS.iter().position(|s| s.name == name).unwrap_or(usize::MAX);
    stats.sort_by_key(|s| rank(&s.name));
}
