//! `coreplane compare`.

use crate::Failure;
use crate::args::CompareArgs;
use crate::bands::{self, Runs};
use crate::output::{self, Table};
use crate::progress;
use machine::{Description, Report, STATISTICS, WorkloadDescription};
use serde_json::{Value, json};
use trace::tables::StatisticRow;

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
    let baseline = args.baseline.as_deref().unwrap_or(&args.on[0]);
    let index = args.on.iter().position(|m| m == baseline).ok_or_else(|| {
        Failure::BadInput(format!("--baseline {baseline}: is not among --on {}", args.on.join(",")))
    })?;
    let (runs, remarks) = run_all(args)?;
    let base = &runs[index];
    let rows: Vec<_> = runs.iter().map(|of| row(of, base)).collect();
    let mut all = json!({"workload": args.workload, "baseline": baseline, "machines": rows});
    if !remarks.is_empty() {
        all["remarks"] = remarks.into();
    }
    if let Some(folder) = &args.out {
        let table: Vec<StatisticRow> = runs.iter().flat_map(|of| self::rows(of.report().0)).collect();
        output::write(folder, "results.parquet", &trace::tables::statistics(&table, &[])?)?;
        output::write(folder, "compare.json", format!("{all:#}\n").as_bytes())?;
    }
    if output::is_json(&args.common) {
        output::print_json(&all);
    } else {
        print(args, &runs, base);
    }
    Ok(())
}

/// A machine's entry in the JSON.
fn row(runs: &Runs, base: &Runs) -> Value {
    let (report, host) = runs.report();
    let mut row = report.to_json();
    row["host_seconds"] = host.into();
    row["speedup"] = (base.time() / runs.time()).into();
    if let Some(band) = runs.to_json(Some(base)) {
        row["band"] = band;
    }
    row
}

fn run_all(args: &CompareArgs) -> Result<(Vec<Runs>, Vec<String>), Failure> {
    let mut jobs = Vec::new();
    let workloads = bands::workloads(&args.workload)?;
    for name in &args.on {
        jobs.push((output::machine(name)?, workloads.clone()));
    }
    output::apply_all(&args.settings, &mut jobs)?;
    check_fidelity(args, &jobs)?;
    let remarks = bands::remarks(&args.common, &workloads);
    let options = output::options(&args.settings);
    let bar = progress::bar(&args.common, jobs.len(), &args.workload);
    let results = bands::run(&jobs, &options, !args.no_bands, || bar.step());
    drop(bar);
    Ok((results.map_err(output::failed)?, remarks))
}

/// A speedup between machines that simulate different things would say nothing.
fn check_fidelity(
    args: &CompareArgs,
    jobs: &[(Description, Vec<WorkloadDescription>)],
) -> Result<(), Failure> {
    let names = |pages: bool| {
        let of = args.on.iter().zip(jobs).filter(|(_, (machine, _))| machine.is_page() == pages);
        of.map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ")
    };
    let (pages, lines) = (names(true), names(false));
    if pages.is_empty() || lines.is_empty() {
        return Ok(());
    }
    Err(Failure::BadInput(format!(
        "--on {}: {lines} simulate every cache line, {pages} visits of pages by programs; their times cannot be compared (compare each kind on its own)",
        args.on.join(",")
    )))
}

/// The rows of a run's results table.
pub(crate) fn rows(report: &Report) -> Vec<StatisticRow> {
    let time = ("time_ns".to_string(), report.time.as_ns(), "ns", "time of the region of interest");
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

fn print(args: &CompareArgs, runs: &[Runs], base: &Runs) {
    println!("{}, seed {}\n", args.workload, args.settings.seed);
    let pages = runs.iter().all(|of| of.report().0.series.is_some());
    let candidates = if pages { SHOWN_PAGES } else { SHOWN };
    // A column that no machine has says nothing of any.
    let has = |(stat, _): &(&str, &str)| runs.iter().any(|of| of.report().0.get(stat).is_some());
    let columns: Vec<_> = candidates.into_iter().filter(has).collect();
    let band = base.time_band().is_some();
    let fixed = ["machine", "time us", "speedup"].into_iter().chain(band.then_some("band"));
    let mut table = Table::new(fixed.chain(columns.iter().map(|(_, short)| *short)));
    for (name, of) in args.on.iter().zip(runs) {
        let time = of.time();
        let fixed = [name.clone(), format!("{:.1}", time / 1e3), format!("{:.2}", base.time() / time)];
        let band = of.speedup_band(base).map(|(low, high)| format!("{low:.2}..{high:.2}"));
        let report = of.report().0;
        let shown = columns.iter().map(|(stat, _)| report.get(stat).map_or("-".to_string(), output::number));
        table.row(fixed.into_iter().chain(band).chain(shown));
    }
    table.print();
    if band {
        println!(
            "\nband: the speedups with cpu.ipc from {} to {}, and of every recording",
            machine::params::IPC_INTERVAL[0],
            machine::params::IPC_INTERVAL[1]
        );
    }
}
