//! What is open of some machines and their programs: the parameters that nobody has published, and what each may be.

use super::study::Job;
use crate::counted::Counted;
use machine::{ConfigError, Description, WorkloadDescription};
use protocol::params::{Among, Kind, Setting, Source};
use std::collections::BTreeSet;

/// From this ratio of its ends on an interval is gone through by factors.
const BY_FACTORS: f64 = 10.0;

/// One thing that nobody has published. Machines of which a source says the same have one in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The parameter, of one memory of a list `memory.N.KEY`.
    pub key: String,
    /// The machines or workloads of which it is open.
    pub of: Vec<String>,
    /// What the first of them has for it.
    pub value: String,
    kind: Kind,
    source: String,
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Space {
    /// The open parameters, each once.
    pub dimensions: Vec<Dimension>,
    /// Values that were set for a purpose to what lies outside of their interval, which are not varied: whose, the key, the value.
    pub outside: BTreeSet<(String, String, String)>,
    /// Those of each machine and its program, in the order in which they were given, and what each has for it.
    acting: Vec<Vec<(usize, String)>>,
}

impl Space {
    /// What is open of machines and their programs, except keys that `closed` says were set for a purpose.
    pub fn of<'a>(
        jobs: impl IntoIterator<Item = (&'a Description, &'a WorkloadDescription)>,
        closed: &BTreeSet<String>,
    ) -> Space {
        Space::gathered(jobs.into_iter().map(|(machine, workload)| (machine, workload, None)), closed)
    }

    /// What is open of jobs: of one that is counted without its machine, the program and how it is counted.
    pub(super) fn of_jobs(jobs: &[Job], closed: &BTreeSet<String>) -> Space {
        Space::gathered(jobs.iter().map(|job| (&job.machine, &job.workload, job.counted)), closed)
    }

    fn gathered<'a>(
        jobs: impl Iterator<Item = (&'a Description, &'a WorkloadDescription, Option<Counted>)>,
        closed: &BTreeSet<String>,
    ) -> Space {
        let mut space = Space::default();
        for (machine, workload, counted) in jobs {
            let mut acting = Vec::new();
            if let Some(open) = counted.and_then(Counted::open) {
                acting.extend(space.add(
                    &workload.name,
                    (open.key, open.kind),
                    open.default.into(),
                    open.source,
                ));
            }
            let params = if counted.is_none_or(Counted::has_program) { workload.params } else { &[] };
            if counted.is_none() {
                acting.extend(space.of_machine(machine, closed));
            }
            for param in params {
                let value = workload.settings.get(param.key).map_or_else(String::new, |v| param.kind.show(v));
                if !closed.contains(param.key) {
                    let source = workload.sources.get(param.key).map_or(param.source, |source| &source[..]);
                    acting.extend(space.add(&workload.name, (param.key, param.kind), value, source));
                }
            }
            space.acting.push(acting);
        }
        space
    }

    /// The place of an open parameter, which may be there already.
    /// What is open of a machine, and of each of its memories.
    fn of_machine(&mut self, machine: &Description, closed: &BTreeSet<String>) -> Vec<(usize, String)> {
        let mut acting = Vec::new();
        for (param, value, source) in machine.rows() {
            // What one of several memories has of its own is that memory's.
            let own = machine.memories.iter().any(|m| m.settings.contains_key(param.key));
            if !own && !closed.contains(param.key) {
                acting.extend(self.add(&machine.name, (param.key, param.kind), value, &source));
            }
        }
        for row in machine.memory_rows() {
            let Some(kind) = row.kind.filter(|_| !closed.contains(&row.key)) else { continue };
            acting.extend(self.add(&machine.name, (&row.key, kind), row.value, &row.source));
        }
        acting
    }

    fn add(
        &mut self,
        name: &str,
        (key, kind): (&str, Kind),
        value: String,
        source: &str,
    ) -> Option<(usize, String)> {
        let open = Source::read(source).ok()?.open().filter(|open| open.among.varies())?;
        if open.among.check(kind, &kind.read(&value).ok()?).is_err() {
            self.outside.insert((name.to_string(), key.to_string(), value));
            return None;
        }
        let same = |d: &Dimension| d.key == key && d.source == source;
        let place = self.dimensions.iter().position(same).unwrap_or(self.dimensions.len());
        if place == self.dimensions.len() {
            let source = source.to_string();
            let (key, of, value) = (key.to_string(), Vec::new(), value.clone());
            self.dimensions.push(Dimension { key, of, value, kind, source });
        }
        let of = &mut self.dimensions[place].of;
        if !of.iter().any(|other| other == name) {
            of.push(name.to_string());
        }
        Some((place, value))
    }

    /// What a setting changes of the machine with that number and of its program: places and values, without those that
    /// it has anyway.
    pub fn changes(&self, job: usize, levels: &[Option<f64>]) -> Vec<(usize, String)> {
        let of = |(place, value): &(usize, String)| {
            let text = self.dimensions[*place].at(levels[*place]?);
            (text != *value).then_some((*place, text))
        };
        self.acting[job].iter().filter_map(of).collect()
    }

    /// Makes these changes, but for keys that do nothing with the others: channels of DDR4 have no use for fixed times.
    ///
    /// # Errors
    /// When the machine cannot be that.
    pub fn apply(
        &self,
        changes: &[(usize, String)],
        machine: &mut Description,
        workload: &mut WorkloadDescription,
    ) -> Result<(), ConfigError> {
        let mut of_machine = Vec::new();
        for (place, text) in changes {
            let key = self.dimensions[*place].key.as_str();
            if key.starts_with("workload.") {
                workload.set(key, text)?;
            } else if !key.starts_with("counting.") {
                of_machine.push((key, text.as_str()));
            }
        }
        let mut with_all = machine.clone();
        with_all.set_all(of_machine.iter().copied())?;
        of_machine.retain(|(key, _)| with_all.acts(key));
        machine.set_all(of_machine)?;
        machine.check()
    }

    /// What changes have for a key.
    pub(super) fn value<'a>(&self, changes: &'a [(usize, String)], key: &str) -> Option<&'a str> {
        changes.iter().find(|(place, _)| self.dimensions[*place].key == key).map(|(_, text)| &text[..])
    }

    /// A parameter's key, with the machines where the same key is open in another way on others.
    pub fn name(&self, place: usize) -> String {
        let dimension = &self.dimensions[place];
        let alone = self.dimensions.iter().filter(|d| d.key == dimension.key).count() == 1;
        if alone {
            dimension.key.clone()
        } else {
            format!("{} of {}", dimension.key, dimension.of.join(", "))
        }
    }

    /// A setting in words: what differs from the presets.
    pub fn setting(&self, levels: &[Option<f64>]) -> Vec<(String, String)> {
        let of = |(place, level): (usize, &Option<f64>)| {
            let (dimension, level) = (&self.dimensions[place], (*level)?);
            let text = dimension.at(level);
            (text != dimension.value).then_some((self.name(place), text))
        };
        levels.iter().enumerate().filter_map(of).collect()
    }
}

impl Dimension {
    /// Why it is open, and what it may be.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The value at a level from 0 to 1, as it would be written.
    pub fn at(&self, level: f64) -> String {
        let Ok(Source::Open(open)) = Source::read(&self.source) else { return self.value.clone() };
        match open.among {
            Among::Choices(_) => {
                let all = open.among.texts();
                let chosen = ((level * all.len() as f64) as usize).min(all.len() - 1);
                self.shown(all[chosen])
            }
            Among::Interval(low, high) => self.between(low, high, level),
        }
    }

    fn shown(&self, text: &str) -> String {
        self.kind.read(text).map_or_else(|_| text.to_string(), |value| self.kind.show(&value))
    }

    fn between(&self, low: &str, high: &str, level: f64) -> String {
        let number = |text: &str| self.kind.read(text).ok().and_then(|v| v.as_number());
        let (Some(low), Some(high)) = (number(low), number(high)) else { return self.value.clone() };
        let (from, to) = (low as f64, high as f64);
        let exact = if low > 0 && to / from >= BY_FACTORS {
            from * (to / from).powf(level)
        } else {
            from + (to - from) * level
        };
        let near = match self.kind {
            Kind::PowerOfTwo { .. } | Kind::Bytes { .. } => 2_f64.powf(exact.max(1.0).log2().round()),
            Kind::Multiple { of, .. } | Kind::MultipleOrZero { of, .. } => {
                (exact / of as f64).round() * of as f64
            }
            Kind::Nanoseconds { .. } => three_digits(exact),
            Kind::Count { .. } | Kind::Thousandths { .. } | Kind::Choice(_) | Kind::Flag | Kind::Text => {
                exact
            }
        };
        self.kind.show(&Setting::Number((near.round() as u64).clamp(low, high)))
    }
}

/// A number as far as its first three digits, which says as much of an unknown time as can be said.
fn three_digits(x: f64) -> f64 {
    if x < 1000.0 {
        return x.round();
    }
    let scale = 10_f64.powi(x.log10().floor() as i32 - 2);
    (x / scale).round() * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(jobs: &[(&str, &str)], closed: &[&str]) -> Space {
        let described: Vec<_> = jobs
            .iter()
            .map(|(m, w)| (Description::preset(m).unwrap(), WorkloadDescription::named(w).unwrap()))
            .collect();
        let closed = closed.iter().map(ToString::to_string).collect();
        Space::of(described.iter().map(|(m, w)| (m, w)), &closed)
    }

    #[test]
    fn only_what_acts_is_open_and_what_is_said_alike_is_one() {
        let both = space(&[("hops-rp", "queue"), ("asap-rp", "queue"), ("intel", "queue")], &[]);
        let find = |key: &str| both.dimensions.iter().find(|d| d.key == key);
        assert_eq!(find("ordering.commit_ns").unwrap().of, ["asap-rp"]);
        assert_eq!(find("ordering.flush_trigger").unwrap().of, ["hops-rp"]);
        assert_eq!(find("wires.core_directory_ns").unwrap().of, ["hops-rp", "asap-rp", "intel"]);
        assert!(find("ordering.persist_queue").is_none() && find("remote.window_ns").is_none());
        assert!(find("machine.fidelity").is_none(), "one choice is no interval");
        let closed = space(&[("asap-rp", "queue")], &["ordering.commit_ns"]);
        assert!(closed.dimensions.iter().all(|d| d.key != "ordering.commit_ns"));
    }

    #[test]
    fn what_an_evaluation_says_is_open_of_a_program_is() {
        let machine = Description::preset("nvdimmc-poc").unwrap();
        let asked = WorkloadDescription::named("fio").unwrap();
        let mut open = asked.clone();
        open.sources.insert("workload.operations", "open 100..8000: why; stands at what is usual".into());
        let space = Space::of([(&machine, &asked), (&machine, &open)], &BTreeSet::new());
        let place = space.dimensions.iter().position(|d| d.key == "workload.operations").unwrap();
        let mut levels = vec![None; space.dimensions.len()];
        levels[place] = Some(1.0);
        assert!(space.changes(0, &levels).is_empty(), "of the other it is what is asked");
        assert_eq!(space.changes(1, &levels), [(place, "8000".to_string())]);
    }

    #[test]
    fn what_is_tracked_without_its_machine_has_its_programs_open_parameters_alone() {
        let machine = Description::preset("pberry").unwrap();
        let workload = WorkloadDescription::named("redis-seq").unwrap();
        let job = |counted| {
            let (machine, workload) = (machine.clone(), workload.clone());
            Job { name: "a".into(), machine, workload, wanted: BTreeSet::new(), counted }
        };
        let open = |counted| Space::of_jobs(&[job(counted)], &BTreeSet::new());
        let keys = |counted| open(counted).dimensions.iter().map(|d| d.key.clone()).collect::<Vec<_>>();
        assert_eq!(keys(Some(Counted::Windows(100))), ["workload.think_cycles"]);
        let slowed = ["counting.slower", "workload.think_cycles"];
        assert_eq!(keys(Some(Counted::Slowed(100))), slowed);
        assert_eq!(keys(Some(Counted::LeastRecentlyUsed(1))), ["counting.reference_bytes"]);
        assert!(open(None).dimensions.iter().any(|d| d.key == "remote.poll_ns"));
    }

    #[test]
    fn what_one_memory_of_a_list_says_is_varied_by_itself() {
        let text =
            "extends = \"compose-bbb-two-media\"\n[sources]\n\"memory.1.pm.read_ns\" = \"open 40..160: x\"\n";
        let mut machine = Description::parse("mine", "mine.toml", text).unwrap();
        let mut workload = WorkloadDescription::named("queue").unwrap();
        let space = Space::of([(&machine, &workload)], &BTreeSet::new());
        let place = space.dimensions.iter().position(|d| d.key == "memory.1.pm.read_ns").unwrap();
        let mut levels = vec![Some(1.0); space.dimensions.len()];
        levels[place] = Some(0.0);
        space.apply(&space.changes(0, &levels), &mut machine, &mut workload).unwrap();
        let rows = machine.memory_rows();
        assert!(rows.iter().any(|row| row.key == "memory.1.pm.read_ns" && row.value == "40"), "{rows:?}");
        let closed = ["memory.1.pm.read_ns".to_string()].into();
        let closed = Space::of([(&machine, &workload)], &closed);
        assert!(closed.dimensions.iter().all(|d| d.key != "memory.1.pm.read_ns"));
    }

    #[test]
    fn a_setting_changes_the_machines_on_which_it_acts() {
        let both = space(&[("asap-rp", "queue"), ("intel", "queue")], &[]);
        let place = both.dimensions.iter().position(|d| d.key == "ordering.commit_ns").unwrap();
        let mut levels = vec![None; both.dimensions.len()];
        levels[place] = Some(0.0);
        assert_eq!(both.changes(0, &levels), [(place, "5".to_string())]);
        assert_eq!(both.changes(1, &levels), []);
        assert_eq!(both.setting(&levels), [("ordering.commit_ns".to_string(), "5".to_string())]);
        // The preset stands at its upper end.
        levels[place] = Some(1.0);
        assert_eq!(both.changes(0, &levels), []);
    }

    #[test]
    fn a_key_that_does_nothing_with_the_others_is_left_out() {
        let space = space(&[("intel", "queue")], &[]);
        let mut levels = vec![None; space.dimensions.len()];
        for key in ["memory.dram.media", "memory.dram.read_ns"] {
            levels[space.dimensions.iter().position(|d| d.key == key).unwrap()] = Some(1.0);
        }
        let mut machine = Description::preset("intel").unwrap();
        let mut workload = WorkloadDescription::named("queue").unwrap();
        space.apply(&space.changes(0, &levels), &mut machine, &mut workload).unwrap();
        assert!(machine.acts("memory.ddr.speed") && !machine.acts("memory.dram.read_ns"));
    }

    #[test]
    fn values_go_from_end_to_end_and_are_accepted_between() {
        for preset in machine::PRESETS {
            let machine = Description::preset(preset.name).unwrap();
            let workload = WorkloadDescription::named("queue").unwrap();
            let open = Space::of([(&machine, &workload)], &BTreeSet::new());
            for dimension in &open.dimensions {
                for level in [0.0, 0.1, 0.37, 0.5, 0.8, 1.0] {
                    let text = dimension.at(level);
                    assert!(dimension.kind.read(&text).is_ok(), "{} = {text}", dimension.key);
                }
            }
        }
        let kind = Kind::Nanoseconds { min_ps: 1, max_ps: u64::MAX };
        let source = "open 100000..10000000: x".to_string();
        let time = Dimension { key: "a".into(), of: vec![], value: "1000000".into(), kind, source };
        assert_eq!([0.0, 0.5, 1.0].map(|l| time.at(l)), ["100000", "1000000", "10000000"]);
        let choice =
            Dimension { kind: Kind::Choice(&["a", "b", "c"]), source: "open a|b|c: x".into(), ..time };
        assert_eq!([0.0, 0.34, 0.99, 1.0].map(|l| choice.at(l)), ["a", "b", "c", "c"]);
    }
}
