//! `coreplane compare`.

use crate::Failure;
use crate::args::CompareArgs;
use crate::output::{self, Table};
use crate::progress;
use machine::{Report, STATISTICS};
use rayon::prelude::*;
use serde_json::json;
use trace::tables::StatisticRow;
use units::watch;

/// What the table shows of each machine, beside time and speedup.
const SHOWN: [(&str, &str); 7] = [
    ("ordering.stall_share", "stalled"),
    ("ordering.blocked_share", "blocked"),
    ("ordering.epochs", "epochs"),
    ("ordering.cross_dependences", "cross deps"),
    ("ordering.persist_buffer.mean", "PB mean"),
    ("memory.writes", "PM writes"),
    ("memory.reads", "PM reads"),
];

/// The same of machines at page fidelity.
const SHOWN_PAGES: [(&str, &str); 7] = [
    ("os.minor_faults", "minor faults"),
    ("os.major_faults", "major faults"),
    ("os.swap_bytes_max", "swap max B"),
    ("os.pm_integrated_bytes_max", "PM online max B"),
    ("os.descriptor_bytes_max", "descriptors B"),
    ("os.user_share", "user share"),
    ("energy_j", "energy J"),
];

pub(crate) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let reports = run_all(args)?;
    let baseline = args.baseline.as_deref().unwrap_or(&args.on[0]);
    let index = args.on.iter().position(|m| m == baseline).ok_or_else(|| {
        Failure::BadInput(format!("--baseline {baseline}: is not among --on {}", args.on.join(",")))
    })?;
    let base = reports[index].0.time.as_ns();
    let rows: Vec<_> = reports
        .iter()
        .map(|(r, host)| {
            let mut row = r.to_json();
            row["host_seconds"] = (*host).into();
            row["speedup"] = (base / r.time.as_ns()).into();
            row
        })
        .collect();
    let all = json!({"workload": args.workload, "baseline": baseline, "machines": rows});
    if let Some(folder) = &args.out {
        let table: Vec<StatisticRow> = reports.iter().flat_map(|(r, _)| self::rows(r)).collect();
        output::write(folder, "results.parquet", &trace::tables::statistics(&table, &[])?)?;
        output::write(folder, "compare.json", format!("{all:#}\n").as_bytes())?;
    }
    if output::is_json(&args.common) {
        output::print_json(&all);
    } else {
        print(args, &reports, base);
    }
    Ok(())
}

fn run_all(args: &CompareArgs) -> Result<Vec<(Report, f64)>, Failure> {
    let mut jobs = Vec::new();
    let workload = output::workload(&args.workload)?;
    for name in &args.on {
        let mut machine = output::machine(name)?;
        let mut workload = workload.clone();
        output::apply(&args.settings, &mut machine, &mut workload)?;
        jobs.push((machine, workload));
    }
    let options = output::options(&args.settings);
    let bar = progress::bar(&args.common, jobs.len(), &args.workload);
    let own = watch::entered();
    let results: Result<Vec<_>, _> = jobs
        .par_iter()
        .map(|(machine, workload)| {
            let run = || machine::run(machine, workload, &options);
            let (report, host) = output::timed(|| watch::shared(own.as_ref(), run));
            bar.step();
            report.map(|r| (r, host))
        })
        .collect();
    drop(bar);
    results.map_err(output::failed)
}

/// The rows of a run's results table.
pub(crate) fn rows(report: &Report) -> Vec<StatisticRow> {
    let time = ("time_ns".to_string(), report.time.as_ns(), "ns", "time of the part that counts");
    let stats = report.stats.iter().map(|s| {
        let info = STATISTICS.iter().find(|i| i.name == s.name);
        let (unit, meaning) = info.map_or(("", ""), |i| (i.unit, i.meaning));
        (s.name.clone(), s.value, unit, meaning)
    });
    std::iter::once(time)
        .chain(stats)
        .map(|(name, value, unit, meaning)| StatisticRow {
            machine: report.machine.clone(),
            workload: report.workload.clone(),
            seed: report.seed,
            name,
            value,
            unit,
            description: meaning,
        })
        .collect()
}

fn print(args: &CompareArgs, reports: &[(Report, f64)], base: f64) {
    println!("{}, seed {}\n", args.workload, args.settings.seed);
    let pages = reports.iter().all(|(r, _)| r.series.is_some());
    let columns = if pages { SHOWN_PAGES } else { SHOWN };
    let head = ["machine", "time us", "speedup"].into_iter().chain(columns.map(|(_, short)| short));
    let mut table = Table::new(head);
    for (name, (report, _)) in args.on.iter().zip(reports) {
        let fixed = [
            name.clone(),
            format!("{:.1}", report.time.as_ns() / 1e3),
            format!("{:.2}", base / report.time.as_ns()),
        ];
        let shown = columns.map(|(stat, _)| report.get(stat).map_or("-".to_string(), output::number));
        table.row(fixed.into_iter().chain(shown));
    }
    table.print();
}
