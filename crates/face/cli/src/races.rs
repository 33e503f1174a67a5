//! What is to be said of a program that races where releases and acquires alone order threads.

use check::crash::{self, Log, Persistency, Race};
use machine::{Description, WorkloadDescription};
use serde_json::Value;

/// How every such remark begins.
pub(crate) const WARNING: &str = "warning: the program races: ";

/// Of what a program did, under a persistency model.
pub(crate) fn of_log(model: Persistency, log: &Log) -> Option<String> {
    if model == Persistency::Release { said(&crash::races(log)) } else { None }
}

/// Of the recordings that run on machines, where one of these needs programs without races.
pub(crate) fn of_recordings<'a>(
    mut machines: impl Iterator<Item = &'a Description>,
    workloads: &[WorkloadDescription],
) -> Option<String> {
    if !machines.any(|machine| machine.is_line() && machine.persistency() == Persistency::Release) {
        return None;
    }
    let recordings = workloads.iter().filter_map(WorkloadDescription::recording);
    recordings.map(crash::recorded_races).find_map(|found| said(&found))
}

/// The warnings among a result's remarks: others were said before it was there.
pub(crate) fn told(remarks: &Value) -> Vec<String> {
    let all = remarks.as_array().into_iter().flatten().filter_map(Value::as_str);
    all.filter(|remark| remark.starts_with(WARNING)).map(String::from).collect()
}

fn said(found: &[Race]) -> Option<String> {
    let first = found.first()?;
    let more = match found.len() - 1 {
        0 => String::new(),
        1 => "; and one more pair".into(),
        n => format!("; and {n} more pairs"),
    };
    Some(format!(
        "{WARNING}{first}, and no release and acquire order them{more}. Release persistency says nothing of which persists: what is found holds for programs without races only"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_names_both_stores_and_tells_how_many_pairs_there_are() {
        let race = |second: &str| Race { first: "a.c:3".into(), second: second.into(), times: 1 };
        assert_eq!(said(&[]), None);
        let one = said(&[race("b.c:9")]).unwrap();
        assert!(one.contains("a.c:3 and b.c:9") && !one.contains("pair"), "{one}");
        assert!(said(&[race("b.c:9"), race("c.c:1"), race("d.c:1")]).unwrap().contains("and 2 more pairs"));
    }

    #[test]
    fn the_projects_own_program_races_when_it_is_told_to_and_where_that_matters() {
        let mut mix = WorkloadDescription::named("mix").unwrap();
        mix.set("workload.racy", "true").unwrap();
        let log = crash::of_program(&mix, 1).unwrap();
        assert!(of_log(Persistency::Release, &log).unwrap().contains("mix.rs:"));
        assert_eq!(of_log(Persistency::Epoch, &log), None);
    }
}
