//! A report that was kept as JSON, as it was: a run that is done need not be made again.

use crate::describe::{CORES, Description, WorkloadDescription};
use crate::report::{Phase, Report, Statistic, in_order};
use cpu::Stretch;
use protocol::Image;
use serde_json::Value;
use simulator::Series;
use units::{Dur, Time};

impl Report {
    /// The report of which [`Report::to_json`] made `kept`, for that machine and workload, without images; none where it is not whole.
    pub fn restored(kept: &Value, machine: &Description, workload: &WorkloadDescription) -> Option<Report> {
        let stats = kept["stats"].as_object()?.iter();
        let statistic =
            |(name, value): (&String, &Value)| Some(Statistic { name: name.clone(), value: value.as_f64()? });
        let mut stats: Vec<Statistic> = stats.map(statistic).collect::<Option<_>>()?;
        in_order(&mut stats);
        let replayed = match kept.get("replayed") {
            Some(told) => Some((told["records"].as_u64()?, told["of"].as_u64()?)),
            None => None,
        };
        let region_began = match kept.get("region_began_ns") {
            Some(began) => Some(Time::ZERO + Dur::ps(picoseconds(began)?)),
            None => None,
        };
        Some(Report {
            machine: kept["machine"].as_str()?.into(),
            workload: kept["workload"].as_str()?.into(),
            seed: kept["seed"].as_u64()?,
            time: Dur::ps(picoseconds(&kept["time_ns"])?),
            references: kept["references"].as_u64()?,
            events: 0,
            stats,
            durable: Image::default(),
            visible: Image::default(),
            description: kept["configuration"][CORES]
                .as_u64()
                .map_or_else(|| machine.clone(), |n| machine.with_cores(n)),
            workload_description: workload.clone(),
            timeline: None,
            opening: opening(kept)?,
            phases: phases(kept)?,
            series: series(kept)?,
            lines_per_page: lines_per_page(kept)?,
            replayed,
            region_began,
            ended_before_power: None,
        })
    }
}

fn picoseconds(ns: &Value) -> Option<u64> {
    let ps = (ns.as_f64()? * 1e3).round();
    (0.0..9e15).contains(&ps).then_some(ps as u64)
}

fn opening(kept: &Value) -> Option<Vec<Vec<Stretch>>> {
    let Some(cores) = kept.get("opening") else { return Some(Vec::new()) };
    let at = |ns: &Value| Some(Time::ZERO + Dur::ps(picoseconds(ns)?));
    let stretch = |s: &Value| {
        let cause = Stretch::cause_named(s[0].as_str()?)?;
        Some(Stretch { cause, from: at(&s[1])?, to: at(&s[2])? })
    };
    let core = |c: &Value| c.as_array()?.iter().map(stretch).collect::<Option<Vec<_>>>();
    cores.as_array()?.iter().map(core).collect()
}

fn phases(kept: &Value) -> Option<Vec<Phase>> {
    let Some(all) = kept.get("phases") else { return Some(Vec::new()) };
    let phase = |p: &Value| {
        let (name, operations) = (p["name"].as_str()?.into(), p["operations"].as_u64()?);
        Some(Phase { name, operations, time: Dur::ps(picoseconds(&p["time_ns"])?) })
    };
    all.as_array()?.iter().map(phase).collect()
}

/// What was seen over time, where something was.
fn series(kept: &Value) -> Option<Option<Series>> {
    let Some(all) = kept.get("series") else { return Some(None) };
    let numbers = |all: &Value| all.as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<_>>>();
    let columns = all.as_object()?.iter().filter(|(name, _)| *name != "seconds");
    // Names are those of a program that is built: a few words stay where they are until it ends.
    let column = |(name, values): (&String, &Value)| Some((&*name.clone().leak(), numbers(values)?));
    let columns = columns.map(column).collect::<Option<_>>()?;
    Some(Some(Series { seconds: numbers(&all["seconds"])?, columns }))
}

fn lines_per_page(kept: &Value) -> Option<Option<Vec<u64>>> {
    let Some(all) = kept.get("lines_per_page") else { return Some(None) };
    all.as_array()?.iter().map(Value::as_u64).collect::<Option<_>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunOptions, run};

    #[test]
    fn a_report_comes_back_as_it_was_and_not_where_it_is_damaged() {
        let machine = Description::preset("asap-rp").unwrap();
        let mut workload = WorkloadDescription::named("queue").unwrap();
        workload.set("workload.operations", "200").unwrap();
        let options = RunOptions { seed: 3, without_images: true, opening: 9, ..RunOptions::default() };
        let report = run(&machine, &workload, &options).unwrap();
        let kept = serde_json::to_string(&report.to_json()).unwrap();
        let read: Value = serde_json::from_str(&kept).unwrap();
        let back = Report::restored(&read, &machine, &workload).unwrap();
        assert_eq!(back.to_json(), report.to_json());
        assert_eq!((back.time, &back.stats, &back.opening), (report.time, &report.stats, &report.opening));
        for key in ["machine", "seed", "time_ns", "references", "stats"] {
            let mut less = read.clone();
            less.as_object_mut().unwrap().remove(key);
            assert!(Report::restored(&less, &machine, &workload).is_none(), "{key}");
        }
        assert!(Report::restored(&Value::Null, &machine, &workload).is_none());
    }

    #[test]
    fn what_machines_of_pages_and_of_remote_memory_tell_comes_back_too() {
        let told = [("amf", "sqlite-mem", "series"), ("pberry", "redis-random", "lines_per_page")];
        for (machine, workload, key) in told {
            let machine = Description::preset(machine).unwrap();
            let mut workload = WorkloadDescription::named(workload).unwrap();
            workload.set("workload.operations", "500").unwrap();
            let options = RunOptions { without_images: true, ..RunOptions::default() };
            let report = run(&machine, &workload, &options).unwrap();
            assert!(report.to_json().get(key).is_some(), "{key}");
            let read: Value = serde_json::from_str(&report.to_json().to_string()).unwrap();
            let back = Report::restored(&read, &machine, &workload).unwrap();
            assert_eq!((back.to_json(), &back.stats), (report.to_json(), &report.stats));
        }
    }
}
