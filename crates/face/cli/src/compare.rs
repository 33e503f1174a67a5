//! `coreplane compare`.

use crate::Failure;
use crate::accounts;
use crate::apart::Apart;
use crate::args::CompareArgs;
use crate::bands::{self, Ended, Here, Make, Runs};
use crate::columns::{self, shown};
use crate::compared_machines;
use crate::designs;
use crate::interrupt;
use crate::kept::KeptRuns;
use crate::lines::{paragraph, say};
use crate::output::{self, Table};
use crate::progress;
use crate::quantity;
use crate::races;
use crate::results;
use crate::spread::{Spanned, Spreads, ends};
use evaluate::Grid;
use machine::{Description, Report, RunOptions, STATISTICS, StatisticInfo, WorkloadDescription};
use serde_json::{Value, json};
use trace::tables::StatisticRow;

pub(crate) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let asked = compared_machines::asked(&args.on)?;
    let machines: Result<Vec<_>, _> = asked.iter().map(|name| output::machine(name)).collect();
    let mut machines = machines?;
    let on = &compared_machines::told_apart(&asked, &mut machines);
    let index = compared_machines::base(args.baseline.as_deref(), &asked, on)?;
    let baseline = on[index].as_str();
    let shown = progress::reading(&args.common, &args.workload);
    let workloads = bands::counted(&args.workload)?;
    drop(shown);
    let mut jobs: Vec<_> = machines.into_iter().map(|machine| (machine, workloads.clone())).collect();
    output::apply_all(&args.settings, &mut jobs)?;
    bands::say(&args.common, &bands::remarks(jobs.iter().map(|(machine, _)| machine), &workloads));
    let ends = !args.no_bands && !args.bands;
    comparable(on, &jobs)?;
    output::make_folder(args.out.as_deref())?;
    let bar = progress::bar(&args.common, bands::count(&jobs, ends), &args.workload);
    let opening = if args.out.is_some() { output::OPENING } else { 0 };
    let options = RunOptions { opening, ..output::options(&args.settings) };
    let varied = args.bands.then(|| jobs.clone());
    let kept = args.out.as_deref().map(|out| KeptRuns::new(out, &args.workload, on, &options));
    let apart = kept.as_ref().map(|kept| Apart::new(kept, &args.workload, &bar)).transpose()?;
    let how = apart.as_ref().map_or(&Here as &dyn Make, |apart| apart);
    interrupt::tells_of_replay(&args.workload);
    let step = |ended: Ended<'_>| {
        bar.step();
        kept.iter().for_each(|kept| kept.keep(&ended));
    };
    let done = look(on, jobs, &options, ends, index, how, step);
    drop(bar);
    let Compared { runs, mut rows, remarks } = done?;
    let spreads = varied.map(|jobs| {
        let about = (args.workload.as_str(), &args.settings, &args.common);
        Spreads::of(&jobs, about, Some(index), args.runs, args.out.as_deref())
    });
    let spreads = spreads.transpose()?;
    let all = |n| spreads.as_ref().map(|all| all.band(n, Some(index)));
    let spanned: Vec<Option<Spanned>> = (0..runs.len()).map(all).collect();
    for (row, spanned) in rows.iter_mut().zip(&spanned) {
        if let Some(spanned) = spanned {
            row["band"] = spanned.to_json();
        }
    }
    let base = &runs[index];
    if args.explain {
        for (row, of) in rows.iter_mut().zip(&runs) {
            row["reasons"] = accounts::explanation(of.report().0, base.report().0);
        }
    }
    let mut all = json!({"workload": args.workload, "baseline": baseline, "machines": rows});
    let designs = if args.on.iter().any(|name| name == compared_machines::FAMILY) {
        designs::of(on, &runs)
    } else {
        Vec::new()
    };
    if !designs.is_empty() {
        all["tables"] = designs.iter().map(Grid::to_json).collect();
    }
    if !remarks.is_empty() {
        all["remarks"] = remarks.into();
    }
    if let Some(folder) = &args.out {
        let table: Vec<StatisticRow> = runs.iter().flat_map(|of| self::rows(of.report().0)).collect();
        let table = trace::tables::statistics(&table, &[])?;
        // What the report says of it.
        let mut kept = all.clone();
        kept["provenance"] = output::provenance_of(&args.workload)?;
        let rows = kept["machines"].as_array_mut().into_iter().flatten();
        for (row, said) in rows.zip(explained(on, &runs, index, spreads.as_ref())) {
            if let Some(said) = said {
                row["explained"] = said.into();
            }
        }
        results::put(folder, |own| {
            own.write("results.parquet", &table)?;
            own.write_json("compare.json", &kept)
        })?;
    }
    if output::is_json(&args.common) {
        output::print_json(&all);
    } else {
        bands::say(&args.common, &races::told(&all["remarks"]));
        print(args, on, &runs, base, &spanned);
        designs.iter().for_each(designs::print);
        if args.explain {
            println!();
            explained(on, &runs, index, spreads.as_ref()).iter().flatten().for_each(|text| paragraph(text));
        }
        if base.time_band().is_some() && !args.bands {
            say!("\nband: the speedups over {}", base.varied());
        }
        if base.report().0.workload_description.lasts_a_given_time() {
            say!("\nspeedup: of operations a second, since these programs work for a given time");
        }
        if let Some(all) = &spreads {
            let said = on.iter().zip(&runs).zip(&spanned).filter(|((_, of), _)| !std::ptr::eq(*of, base));
            println!();
            for ((name, of), spanned) in said {
                spanned.iter().for_each(|s| s.say(name, of.speedup(base), baseline));
            }
            say!("{}", all.about());
        }
    }
    Ok(())
}

/// Names and reports of the runs.
pub(crate) fn reports<'a>(on: &'a [String], runs: &'a [Runs]) -> Vec<(&'a str, &'a Report)> {
    on.iter().map(String::as_str).zip(runs.iter().map(|of| of.report().0)).collect()
}

/// How many times as fast as another each machine is, at least and at most.
pub(crate) fn ratio(runs: &[Runs], spreads: Option<&Spreads>) -> impl Fn(usize, usize) -> Option<(f64, f64)> {
    move |n, m| match spreads {
        Some(all) => ends(all.band(n, Some(m)).speedup.as_ref()?),
        None => runs[n].speedup_band(&runs[m]),
    }
}

/// Why machines take other times than the one at `base`.
fn explained(on: &[String], runs: &[Runs], base: usize, spreads: Option<&Spreads>) -> Vec<Option<String>> {
    accounts::explained(&reports(on, runs), base, &ratio(runs, spreads))
}

/// A machine's entry in the JSON.
fn row(runs: &Runs, base: &Runs) -> Value {
    let (report, host) = runs.report();
    let mut row = report.to_json();
    row["host_seconds"] = host.into();
    row["speedup"] = runs.speedup(base).into();
    if let Some(band) = runs.to_json(Some(base)) {
        row["band"] = band;
    }
    row
}

/// What was compared.
pub(crate) struct Compared {
    pub(crate) runs: Vec<Runs>,
    /// What JSON says of each machine.
    pub(crate) rows: Vec<Value>,
    /// What has to be said of the recordings.
    pub(crate) remarks: Vec<String>,
}

/// Runs everything; the machine at `base` is what speedups are against.
pub(crate) fn look(
    names: &[String],
    jobs: Vec<(Description, Vec<WorkloadDescription>)>,
    options: &RunOptions,
    bands: bool,
    base: usize,
    how: &dyn Make,
    done: impl Fn(Ended<'_>) + Sync,
) -> Result<Compared, Failure> {
    comparable(names, &jobs)?;
    let machines = jobs.iter().map(|(machine, _)| machine);
    let mut remarks = Vec::new();
    if let Some((_, workloads)) = jobs.first() {
        remarks.extend(bands::remarks(machines.clone(), workloads));
        remarks.extend(races::of_workloads(machines, workloads, options.seed));
    }
    let runs = bands::run(&jobs, options, bands, how, done).map_err(output::failed)?;
    let rows = runs.iter().map(|of| row(of, &runs[base])).collect();
    Ok(Compared { runs, rows, remarks })
}

/// A speedup between machines that simulate different things would say nothing.
fn comparable(on: &[String], jobs: &[(Description, Vec<WorkloadDescription>)]) -> Result<(), Failure> {
    let machines = on.iter().map(String::as_str).zip(jobs.iter().map(|(machine, _)| machine));
    machine::comparable(machines).map_err(|e| Failure::BadInput(format!("--on {}: {e}", on.join(","))))
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

fn print(args: &CompareArgs, on: &[String], runs: &[Runs], base: &Runs, spanned: &[Option<Spanned>]) {
    say!("{}, seed {}\n", args.workload, args.settings.seed);
    // A column that no machine has says nothing of any.
    let has =
        |info: &&StatisticInfo| runs.iter().any(|of| of.report().0.get(info.name).is_some_and(|v| v != 0.0));
    let columns: Vec<_> = columns::all().filter(has).collect();
    let recorded = base.time_band().is_some();
    let band = recorded || args.bands;
    let fixed = ["machine", "time", "speedup"].into_iter().chain(band.then_some("band"));
    let mut table = Table::new(fixed.chain(columns.iter().map(|info| info.column)));
    for ((name, of), spanned) in on.iter().zip(runs).zip(spanned) {
        let time = of.time();
        let fixed =
            [name.clone(), quantity::time(time), of.speedup(base).map_or("-".into(), |s| format!("{s:.2}"))];
        let spread = spanned.as_ref().and_then(|s| ends(s.speedup.as_ref()?));
        let band = spread.or_else(|| of.speedup_band(base)).map(|(low, high)| format!("{low:.2}..{high:.2}"));
        let report = of.report().0;
        let shown =
            columns.iter().map(|info| report.get(info.name).map_or("-".to_string(), |v| shown(info, v)));
        table.row(fixed.into_iter().chain(band).chain(shown));
    }
    table.print();
    if let Some(table) = accounts::table(reports(on, runs).into_iter()) {
        println!();
        table.print();
    }
}
