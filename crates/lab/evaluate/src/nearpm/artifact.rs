//! The public artifact's programs on its own platform, beside the paper's text.

use super::{CPU, MD, MECHANISMS, WORKLOADS, average, name, region_speedup, shares, speedup};
use crate::figure::{Cell, Grid};
use crate::runs::{Key, Runs};
use machine::ConfigError;

/// The cores alone, and with the devices.
const MACHINES: [&str; 2] = ["nearpm-cpu@artifact", "nearpm-md@artifact"];
/// Transactions of each program.
const OPERATIONS: &str = "200";

fn program(workload: &str) -> String {
    format!("{workload}@artifact")
}

pub(super) fn declare(runs: &mut Runs) -> Result<(), ConfigError> {
    for (mechanism, _) in MECHANISMS {
        for program in WORKLOADS.map(program) {
            for machine in MACHINES {
                let sets = [
                    ("workload.operations", OPERATIONS.to_string()),
                    ("workload.mechanism", mechanism.to_string()),
                ];
                runs.add(Key::new(&name(machine, mechanism), &program, 1), machine, &sets)?;
            }
        }
    }
    Ok(())
}

pub(super) fn tables(runs: &Runs) -> Vec<Grid> {
    let row = |(mechanism, called): (&str, &str), [cpu, md]: [&str; 2], programs: &[String], whose: &str| {
        let mean = |of: &dyn Fn(&str) -> f64| Cell::Number(average(programs.iter().map(|w| of(w))));
        vec![
            Cell::Text(called.into()),
            Cell::Text(whose.into()),
            mean(&|w| shares(runs, cpu, mechanism, w).0),
            mean(&|w| region_speedup(runs, (cpu, md), mechanism, w)),
            mean(&|w| speedup(runs, (cpu, md), mechanism, w, 1)),
        ]
    };
    let (texts, artifacts) = (WORKLOADS.map(String::from), WORKLOADS.map(program));
    let rows = MECHANISMS.iter().flat_map(|mechanism| {
        let text = row(*mechanism, [CPU, MD], &texts, "text");
        [text, row(*mechanism, MACHINES, &artifacts, "artifact")]
    });
    vec![Grid {
        title: "The text's programs and the artifact's".into(),
        caption: format!(
            "Averages over nine programs, one thread: the share of the cores' run in crash consistency, and how many times as fast its regions and the \
             whole run are with two devices. The artifact's programs ({OPERATIONS} transactions) copy the first page that a transaction changes to one \
             place, time 1 us of a fault's 7, and run on its platform."
        ),
        head: ["mechanism", "whose programs", "share", "regions, times as fast", "run, times as fast"]
            .map(String::from)
            .to_vec(),
        rows: rows.collect(),
    }]
}
