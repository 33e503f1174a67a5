//! A report that was kept as JSON, as it was: a run that is done need not be made again.

use crate::describe::{Description, WorkloadDescription};
use crate::report::{Report, Statistic, in_order};
use cpu::Stretch;
use protocol::Image;
use serde_json::Value;
use units::{Dur, Time};

impl Report {
    /// The report of which [`Report::to_json`] made `kept`, for that machine and workload, without images; none where it is not whole,
    /// or tells what cannot be read back: what machines at page fidelity and agents of remote memory tell.
    pub fn restored(kept: &Value, machine: &Description, workload: &WorkloadDescription) -> Option<Report> {
        let of_pages = ["phases", "series", "lines_per_page"].iter().any(|key| kept.get(key).is_some());
        let stats = kept["stats"].as_object()?.iter();
        let statistic =
            |(name, value): (&String, &Value)| Some(Statistic { name: name.clone(), value: value.as_f64()? });
        let mut stats: Vec<Statistic> = stats.map(statistic).collect::<Option<_>>()?;
        in_order(&mut stats);
        let replayed = match kept.get("replayed") {
            Some(told) => Some((told["records"].as_u64()?, told["of"].as_u64()?)),
            None => None,
        };
        (!of_pages).then_some(Report {
            machine: kept["machine"].as_str()?.into(),
            workload: kept["workload"].as_str()?.into(),
            seed: kept["seed"].as_u64()?,
            time: Dur::ps(picoseconds(&kept["time_ns"])?),
            references: kept["references"].as_u64()?,
            events: 0,
            stats,
            durable: Image::default(),
            visible: Image::default(),
            description: machine.clone(),
            workload_description: workload.clone(),
            timeline: None,
            opening: opening(kept)?,
            phases: Vec::new(),
            series: None,
            lines_per_page: None,
            replayed,
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
}
