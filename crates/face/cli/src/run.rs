//! `coreplane run`.

use crate::Failure;
use crate::accounts;
use crate::apart::Apart;
use crate::args::RunArgs;
use crate::bands::{self, Ended, Here, Make, Runs};
use crate::interrupt;
use crate::kept::KeptRuns;
use crate::lines::{paragraph, say};
use crate::output::{self, Table};
use crate::progress;
use crate::quantity;
use crate::races;
use crate::results;
use crate::spread::{Spreads, decides, ends};
use machine::{Description, Report, RunOptions, STATISTICS, WorkloadDescription};
use serde_json::Value;
use std::path::Path;
use units::{Time, parse_dur};

pub(crate) const TIMELINE_MARKS: usize = 2_000_000;

pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    let mut machine = output::machine_before(&args.machine, &args.workload)?;
    let shown = progress::reading(&args.common, &args.workload);
    let mut workloads = bands::counted(&args.workload)?;
    drop(shown);
    bands::apply(&args.settings, &mut machine, &mut workloads)?;
    let mut options = output::options(&args.settings);
    if args.timeline {
        options.timeline_marks = TIMELINE_MARKS;
    }
    if let Some(text) = &args.power_fails_at {
        cut_power(&mut options, text, args.out.is_some())?;
    }
    if args.out.is_some() {
        options.opening = output::OPENING;
    }
    bands::say(&args.common, &remarks(&machine, &workloads, &options));
    if args.bands && (args.timeline || options.power_fails_at.is_some()) {
        let text = "--bands: a run that is watched or cut short has none; leave --timeline and --power-fails-at away";
        return Err(Failure::BadInput(text.into()));
    }
    output::make_folder(args.out.as_deref())?;
    let jobs = args.bands.then(|| [(machine.clone(), workloads.clone())]);
    let with_ends = has_ends(&options) && !args.no_bands && !args.bands;
    let pairs = [(machine, workloads)];
    let what = format!("{} on {}", args.workload, args.machine);
    let shown = progress::simulation(&args.common, bands::count(&pairs, with_ends), &what);
    // A run that is watched or cut short has more than a report.
    let is_plain = options.timeline_marks == 0 && options.power_fails_at.is_none();
    let names = [args.machine.clone()];
    let kept = args.out.as_deref().filter(|_| is_plain);
    let kept = kept.map(|out| KeptRuns::new(out, &args.workload, &names, &options));
    let apart = kept.as_ref().map(|kept| Apart::new(kept, &args.workload, &shown)).transpose()?;
    let how = apart.as_ref().map_or(&Here as &dyn Make, |apart| apart);
    interrupt::tells_of_replay(&args.workload);
    let done = look(&pairs, &options, with_ends, how, |ended| {
        shown.step();
        kept.iter().for_each(|kept| kept.keep(&ended));
    });
    drop(shown);
    let (runs, mut json) = done?;
    let spreads = jobs.map(|jobs| {
        let about = (args.workload.as_str(), &args.settings, &args.common);
        Spreads::of(&jobs, about, None, args.runs, args.out.as_deref())
    });
    let spreads = spreads.transpose()?;
    let spanned = spreads.as_ref().map(|all| all.band(0, None));
    if let Some(spanned) = &spanned {
        json["band"] = spanned.to_json();
    }
    let (report, host_seconds) = runs.report();
    if let Some(folder) = &args.out {
        save(folder, &args.workload, report, &json, options.power_fails_at.is_some())?;
    }
    json["host_seconds"] = host_seconds.into();
    if output::is_json(&args.common) {
        output::print_json(&json);
    } else {
        bands::say(&args.common, &races::told(&json["remarks"]));
        bands::say(&args.common, &where_cut(report, &options).into_iter().collect::<Vec<_>>());
        let band = runs.time_band().filter(|_| !args.bands);
        print(report, band.map(|ends| (ends, runs.varied())), host_seconds);
        if let (Some(all), Some(band)) = (&spreads, spanned.and_then(|s| s.time)) {
            let (low, high) =
                ends(&band).map(|(l, h)| (quantity::time(l), quantity::time(h))).unwrap_or_default();
            say!("\n{low} to {high}; {} decides\n{}", decides(&band), all.about());
        }
    }
    Ok(())
}

/// Lets the power fail at a time from power-on, written with its unit; `kept` says whether what is left is asked for.
pub(crate) fn cut_power(options: &mut RunOptions, at: &str, kept: bool) -> Result<(), Failure> {
    let at = parse_dur(at).map_err(|e| Failure::BadInput(format!("--power-fails-at: {e}")))?;
    options.power_fails_at = Some(Time::ZERO + at);
    options.without_images = !kept;
    Ok(())
}

/// Whether the ends of what is open may be run too: a timeline and an image are of one run.
pub(crate) fn has_ends(options: &RunOptions) -> bool {
    options.timeline_marks == 0 && options.power_fails_at.is_none()
}

/// What has to be said of a run.
fn remarks(machine: &Description, workloads: &[WorkloadDescription], options: &RunOptions) -> Vec<String> {
    let mut remarks = bands::remarks([machine], workloads);
    if options.power_fails_at.is_some() {
        let nothing = machine::can_crash(machine).err();
        remarks.extend(nothing.map(|why| format!("the power failure leaves nothing: {why}")));
    }
    remarks
}

/// Where in the run the power failed, which counts from power-on, unlike the run's time.
fn where_cut(report: &Report, options: &RunOptions) -> Option<String> {
    let at = options.power_fails_at?;
    let shown = |t: Time| quantity::time(t.since(Time::ZERO).as_ns());
    let failed = format!("the power failed at {} from power-on", shown(at));
    if let Some(ended) = report.ended_before_power {
        return Some(format!("the run had ended at {}: {failed}, and cut nothing short", shown(ended)));
    }
    match report.region_began {
        Some(began) if began > Time::ZERO => {
            let since = quantity::time(at.since(began).as_ns());
            Some(format!("{failed}, {since} after the region of interest had begun at {}", shown(began)))
        }
        None if output::recording(&report.workload).is_none() => Some(format!(
            "{failed}, while the workload was set up: nothing is promised yet, and what is counted is the set-up's"
        )),
        Some(_) | None => None,
    }
}

/// Runs a machine, at the ends of what is open too where `ends` says so, and gives what JSON says of it, but for the
/// host's time; `done` is called after each run.
pub(crate) fn look(
    pair: &[(Description, Vec<WorkloadDescription>); 1],
    options: &RunOptions,
    ends: bool,
    how: &dyn Make,
    done: impl Fn(Ended<'_>) + Sync,
) -> Result<(Runs, Value), Failure> {
    let mut remarks = remarks(&pair[0].0, &pair[0].1, options);
    remarks.extend(races::of_workloads(std::iter::once(&pair[0].0), &pair[0].1, options.seed));
    let runs = bands::run(pair, options, ends, how, done).map_err(output::failed)?.pop();
    let runs = runs.ok_or_else(|| Failure::BadInput("nothing was run".into()))?;
    let mut json = runs.report().0.to_json();
    if let Some(band) = runs.to_json(None) {
        json["band"] = band;
    }
    remarks.extend(where_cut(runs.report().0, options));
    if !remarks.is_empty() {
        json["remarks"] = remarks.into();
    }
    Ok((runs, json))
}

fn save(
    folder: &Path,
    workload: &str,
    report: &Report,
    json: &Value,
    power_failed: bool,
) -> Result<(), Failure> {
    let mut kept = json.clone();
    kept["provenance"] = output::provenance_of(workload)?;
    let rows = trace::tables::statistics(&crate::compare::rows(report), &[])?;
    results::put(folder, |own| {
        own.write_json("run.json", &kept)?;
        own.write("stats.parquet", &rows)?;
        if let Some(timeline) = &report.timeline {
            own.write("timeline.pftrace", &timeline.to_perfetto())?;
        }
        if power_failed {
            crate::recordings::save_image(&report.durable, &own.place("image.pm"))?;
        }
        Ok(())
    })
}

fn print(report: &Report, band: Option<((f64, f64), String)>, host_seconds: f64) {
    say!(
        "{} on {}, seed {}: {} simulated",
        report.workload,
        report.machine,
        report.seed,
        quantity::time(report.time.as_ns())
    );
    if let Some(((low, high), varied)) = band {
        say!("{} to {} over {varied}", quantity::time(low), quantity::time(high));
    }
    let rate = report.references as f64 / host_seconds / 1e6;
    // Of several recordings both are means, one of them a whole number.
    let set_up = report.get("cpu.references").is_some_and(|own| report.references as f64 - own >= 1.0);
    say!(
        "{} references{} in {host_seconds:.2} host seconds ({rate:.1} million a second)",
        quantity::plain(report.references as f64),
        if set_up { " with the set-up" } else { "" }
    );
    if let Some((records, of)) = report.replayed.filter(|(records, of)| records < of) {
        let (records, of) = (quantity::count(records), quantity::count(of));
        say!("{records} of the recording's {of} records were replayed, until the run ended");
    }
    if let Some(error) = report.get("sampling.error_percent") {
        let [windows, time] =
            ["sampling.windows", "sampling.window_time"].map(|name| report.get(name).unwrap_or(0.0));
        say!(
            "{} windows of {} each, standard error {error:.1} %",
            quantity::plain(windows),
            quantity::time(time)
        );
    }
    if let Some(text) = accounts::sentence(report) {
        paragraph(&format!("the cores' time: {text}"));
    }
    println!();
    let mut table = Table::new(["statistic", "value", "unit", "meaning"]).text_from(2);
    for s in report.stats.iter().filter(|s| s.value != 0.0) {
        let info = STATISTICS.iter().find(|i| i.name == s.name);
        let (unit, meaning) = info.map_or(("", ""), |i| (i.unit, i.meaning));
        let (value, unit) = quantity::scaled(&s.name, s.value, unit);
        table.row([s.name.clone(), value, unit, meaning.into()]);
    }
    table.print();
    if !report.phases.is_empty() {
        println!();
        let mut table = Table::new(["operations", "count", "a simulated second"]);
        for p in &report.phases {
            table.row([p.name.clone(), p.operations.to_string(), output::number(p.rate())]);
        }
        table.print();
    }
}
