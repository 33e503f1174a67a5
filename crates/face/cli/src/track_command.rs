//! `coreplane track`: dirty data of a live process.

use crate::Failure;
use crate::args::{TrackArgs, TrackMechanism, TrackMode};
use crate::lines::{self, say};
use crate::output::{self, Table, number};
use crate::progress::{self, Progress};
use crate::{quantity, whole};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::Path;
use track::{
    Accessed, Format, LINE, MappingWindow, Mechanism, Mode, Options, PAGE, ProcessWindow, Report,
    TargetChoice, Window,
};

/// Bytes of a huge page.
const HUGE_PAGE: u64 = 2 << 20;

pub(crate) fn track(args: &TrackArgs) -> Result<(), Failure> {
    let format = args.out.as_deref().map(format_of).transpose()?;
    let options = options(args)?;
    if let (Some(Format::KTracker), true) = (format, has_several(&options)) {
        let text = "--out: .ktracker has no room for several processes; give a name that ends in .parquet";
        return Err(Failure::BadInput(text.into()));
    }
    args.out.as_deref().map_or(Ok(()), whole::can_be_made)?;
    let live = !output::is_json(&args.common);
    // Lines that appear as windows end say it themselves, where they are read at once.
    let bar = (!live || !std::io::stdout().is_terminal()).then(|| match args.windows {
        Some(windows) => progress::bar(&args.common, windows as usize, "windows"),
        None => progress::busy(&args.common, "tracking; it ends when the program does"),
    });
    let mut shown = 0;
    let report = track::track(&options, &mut |window| {
        if live {
            print_window(shown, window);
        }
        bar.iter().for_each(Progress::step);
        shown += 1;
    })?;
    drop(bar);
    if let (Some(path), Some(format)) = (&args.out, format) {
        whole::put_bytes(path, &track::save(&report, format)?)?;
        if matches!(format, Format::Parquet) {
            summarise(&path.with_extension("json"), &report)?;
        }
    }
    if output::is_json(&args.common) {
        output::print_json(&windows(&report).into());
        report.notes.iter().for_each(|note| lines::remark(note));
    } else {
        summary(args, &report);
    }
    Ok(())
}

fn has_several(options: &Options) -> bool {
    let many = matches!(&options.target, TargetChoice::Processes(numbers) if numbers.len() > 1);
    many || options.follow
}

fn windows(report: &Report) -> Vec<Value> {
    report.windows.iter().map(|w| to_json(w, report)).collect()
}

/// Beside the table of pages: the windows, their sums, and where they are from.
fn summarise(path: &Path, report: &Report) -> Result<(), Failure> {
    let total = total(report);
    let all = json!({
        "windows": windows(report),
        "notes": report.notes,
        "total": {"bytes": total.bytes, "lines": total.lines, "pages": total.pages, "huge_pages": total.huge_pages,
            "pages_compared": total.compared, "pause_ms": total.pause_ms},
        "mechanism": mechanism(report),
        "provenance": output::provenance(),
    });
    let (folder, name) = (path.parent().unwrap_or(Path::new("")), path.file_name().unwrap_or_default());
    output::write(folder, &name.to_string_lossy(), format!("{all:#}\n").as_bytes())
}

/// All windows as one.
fn total(report: &Report) -> Window {
    let sum = |of: fn(&Window) -> u64| report.windows.iter().map(of).sum();
    Window {
        bytes: sum(|w| w.bytes),
        lines: sum(|w| w.lines),
        pages: sum(|w| w.pages),
        huge_pages: sum(|w| w.huge_pages),
        compared: sum(|w| w.compared),
        pause_ms: report.windows.iter().map(|w| w.pause_ms).sum(),
        ..Window::default()
    }
}

/// What is asked for.
pub(crate) fn options(args: &TrackArgs) -> Result<Options, Failure> {
    if !(0.001..=86400.0).contains(&args.interval) {
        let text = format!("--interval {}: give 0.001 to 86400 seconds", args.interval);
        return Err(Failure::BadInput(text));
    }
    let cgroup = args.cgroup.as_deref().map(track::cgroup).transpose()?;
    let target = if let Some(folder) = &cgroup {
        TargetChoice::Processes(track::members(folder)?)
    } else if args.command.is_empty() {
        let numbers: Result<Vec<_>, _> = args.processes.iter().map(|p| numbers_of(p)).collect();
        TargetChoice::Processes(numbers?.concat())
    } else {
        TargetChoice::Command(args.command.clone())
    };
    if let (TargetChoice::Processes(numbers), Some(folder)) = (&target, &cgroup)
        && numbers.is_empty()
    {
        return Err(Failure::BadInput(format!("--cgroup {}: no process is in it", folder.display())));
    }
    Ok(Options {
        target,
        follow: args.children || cgroup.is_some(),
        cgroup,
        interval: args.interval,
        windows: args.windows,
        mode: match args.mode {
            TrackMode::Lines => Mode::Lines,
            TrackMode::WriteProtect => Mode::WriteProtect,
            TrackMode::Nothing => Mode::Nothing,
        },
        mechanism: args.mechanism.map(|m| match m {
            TrackMechanism::Scan => Mechanism::Scan,
            TrackMechanism::Read => Mechanism::Read,
        }),
        keep_pages: args.out.is_some(),
        accessed: args.accessed,
    })
}

/// The numbers of processes that are given by them, or by name.
fn numbers_of(process: &str) -> Result<Vec<i32>, Failure> {
    let refused = |why: String| Err(Failure::BadInput(why));
    match process.parse::<i64>().map(i32::try_from) {
        Ok(Ok(pid)) if pid > 0 => return Ok(vec![pid]),
        Ok(_) => return refused(format!("PID {process}: give a process's number, 1 or more")),
        Err(_) => {}
    }
    let found = track::named(process);
    if found.is_empty() {
        let names = track::names();
        let near = protocol::params::nearest(process, names.iter().map(String::as_str));
        let meant =
            if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
        return refused(format!(
            "{process}: no process is called that (`ps -A` lists names); a program to start is given as a command{meant}"
        ));
    }
    Ok(found)
}

pub(crate) fn format_of(path: &Path) -> Result<Format, Failure> {
    match path.extension().and_then(|e| e.to_str()) {
        Some("parquet") => Ok(Format::Parquet),
        Some("ktracker") => Ok(Format::KTracker),
        _ => Err(Failure::BadInput(format!(
            "--out {}: give a name that ends in .parquet or .ktracker",
            path.display()
        ))),
    }
}

/// A window as JSON.
pub(crate) fn to_json(window: &Window, report: &Report) -> Value {
    let mut told = json!({
        "start_s": window.start_s,
        "end_s": window.end_s,
        "bytes": window.bytes,
        "lines": window.lines,
        "pages": window.pages,
        "huge_pages": window.huge_pages,
        "pause_ms": window.pause_ms,
        "protect_ms": window.protect_ms,
        "pages_compared": window.compared,
        "tracked_bytes": window.tracked_bytes,
        "dirty": "content difference per window",
        "mechanism": report.mechanism.name(),
        "begin_ms": window.begin_ms,
        "processes": window.processes.iter().map(process_to_json).collect::<Vec<_>>(),
    });
    with_accessed(&mut told, window.accessed);
    if window.accessed.is_some() {
        let mapping = |m: &MappingWindow| {
            let mut told = json!({"name": m.name, "pages": m.pages});
            with_accessed(&mut told, Some(m.counts));
            told
        };
        told["mappings"] = window.mappings.iter().map(mapping).collect();
    }
    told
}

fn with_accessed(told: &mut Value, counts: Option<Accessed>) {
    if let Some(counts) = counts {
        told["pages_resident"] = counts.resident.into();
        told["pages_accessed"] = counts.accessed.into();
    }
}

fn process_to_json(process: &ProcessWindow) -> Value {
    let mut told = json!({
        "process": process.process,
        "name": process.name,
        "bytes": process.bytes,
        "lines": process.lines,
        "pages": process.pages,
        "huge_pages": process.huge_pages,
        "pages_compared": process.compared,
        "tracked_bytes": process.tracked_bytes,
    });
    with_accessed(&mut told, process.accessed);
    told
}

/// Columns of a window's line: head, width, and whether it is there on a narrow terminal too.
const COLUMNS: [(&str, usize, bool); 10] = [
    ("end s", 8, true),
    ("dirty", 9, true),
    ("lines", 10, true),
    ("pages", 7, true),
    ("2 MiB", 6, false),
    ("looked at", 9, true),
    ("clean of 64 B", 13, false),
    ("4 KiB", 7, false),
    ("2 MiB", 7, false),
    ("pause ms", 8, true),
];

/// One line a window, as it ends: long runs are watched. What has no room is in the summary, over all windows.
fn print_window(index: usize, w: &Window) {
    let all = COLUMNS.iter().map(|(_, width, _)| width + 1).sum::<usize>();
    let narrow = lines::width() < all;
    let line = |cells: [String; COLUMNS.len()]| {
        let shown = COLUMNS.iter().zip(cells).filter(|((.., always), _)| *always || !narrow);
        println!(
            "{}",
            shown.map(|((_, width, _), cell)| format!("{cell:>width$} ")).collect::<String>().trim_end()
        );
    };
    if index == 0 {
        line(COLUMNS.map(|(head, ..)| head.to_string()));
    }
    let count = |n: u64| quantity::plain(n as f64);
    line([
        format!("{:.3}", w.end_s),
        quantity::with_unit("", w.bytes as f64, "B"),
        count(w.lines),
        count(w.pages),
        count(w.huge_pages),
        count(w.compared),
        w.clean(LINE as u64),
        w.clean(PAGE as u64),
        w.clean(HUGE_PAGE),
        format!("{:.2}", w.pause_ms),
    ]);
}

/// The share of dirty blocks that is clean, as text.
trait Clean {
    fn clean(&self, block: u64) -> String;
}

impl Clean for Window {
    fn clean(&self, block: u64) -> String {
        let count = match block as usize {
            LINE => self.lines,
            PAGE => self.pages,
            _ => self.huge_pages,
        };
        if count == 0 {
            "-".into()
        } else {
            format!("{:.1} %", 100.0 - 100.0 * self.bytes as f64 / (count * block) as f64)
        }
    }
}

fn summary(args: &TrackArgs, report: &Report) {
    let total = total(report);
    let count = |n: u64| quantity::plain(n as f64);
    let mut table = Table::new(["over all windows", "", "of each dirty block clean"]).left(1);
    table.row(["dirty bytes (content difference per window)", &count(total.bytes), ""]);
    table.row(["dirty lines of 64 B", &count(total.lines), &total.clean(LINE as u64)]);
    table.row(["dirty pages of 4 KiB", &count(total.pages), &total.clean(PAGE as u64)]);
    table.row(["dirty pages of 2 MiB", &count(total.huge_pages), &total.clean(HUGE_PAGE)]);
    let looked_at = match report.mechanism {
        Mechanism::Scan => "pages written, by the kernel",
        Mechanism::Read => "pages compared",
    };
    table.row([looked_at, &count(total.compared), ""]);
    let longest = report.windows.iter().map(|w| w.pause_ms).fold(0.0, f64::max);
    let seconds = report.windows.last().map_or(0.0, |w| w.end_s);
    table.row(["pauses, ms: all, longest", &number(total.pause_ms), &number(longest)]);
    table.row(["share of time paused", &number(total.pause_ms / 1e3 / seconds.max(1e-9)), ""]);
    table.row(["pause to begin, ms", &number(report.start_pause_ms), ""]);
    println!();
    table.print();
    by_mapping(report);
    by_process(report);
    say!("mechanism: {}", mechanism(report));
    report.notes.iter().filter(|_| !args.common.quiet).for_each(|note| say!("{note}"));
    if report.comparing_s > 0.0 {
        let rate = report.compared_bytes as f64 / report.comparing_s / (1u64 << 30) as f64;
        say!("compared {} MiB with the copy at {rate:.2} GiB/s", report.compared_bytes >> 20);
    }
    if report.unreadable > 0 {
        say!("{} pages could not be read, and are not counted", report.unreadable);
    }
}

/// Where accessed pages were counted: the mean window, by mapping, the largest first.
fn by_mapping(report: &Report) {
    let counted = report.windows.iter().filter(|w| w.accessed.is_some()).count() as f64;
    let mut sums: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for mapping in report.windows.iter().flat_map(|w| &w.mappings) {
        let of_one = [mapping.counts.resident, mapping.counts.accessed, mapping.pages];
        for name in [mapping.name.as_str(), "all"] {
            let sum = sums.entry(name).or_default();
            sum.iter_mut().zip(of_one).for_each(|(sum, one)| *sum += one);
        }
    }
    if sums.is_empty() {
        return;
    }
    let mut sorted: Vec<_> = sums.into_iter().collect();
    sorted.sort_by_key(|(name, sum)| (*name == "all", std::cmp::Reverse(sum[0])));
    let others = sorted.len().saturating_sub(SHOWN + 1);
    sorted.drain(sorted.len() - 1 - others..sorted.len() - 1);
    let mut table = Table::new(["pages of a window", "resident", "accessed", "changed", "cold"]).left(1);
    for (name, sum) in sorted {
        let cells = sum.map(|n| quantity::plain((n as f64 / counted).round()));
        let cold = format!("{:.1} %", 100.0 - 100.0 * sum[1] as f64 / sum[0].max(1) as f64);
        let short = name.rsplit('/').next().unwrap_or(name);
        table.row([short, &cells[0], &cells[1], &cells[2], &cold]);
    }
    println!();
    table.print();
    if others > 0 {
        say!("and {others} smaller mappings");
    }
    println!();
}

/// The processes, or mappings, that a table names.
const SHOWN: usize = 10;

/// Where there are several: what each has changed, the busiest first.
fn by_process(report: &Report) {
    let mut sums: BTreeMap<(i32, &str), (Window, u64)> = BTreeMap::new();
    for process in report.windows.iter().flat_map(|w| &w.processes) {
        let (sum, windows) = sums.entry((process.process, &process.name)).or_default();
        sum.bytes += process.bytes;
        sum.lines += process.lines;
        sum.pages += process.pages;
        *windows += 1;
    }
    if sums.len() < 2 {
        return;
    }
    let mut sorted: Vec<_> = sums.into_iter().collect();
    sorted.sort_by_key(|(_, (sum, _))| std::cmp::Reverse((sum.bytes, sum.pages)));
    let count = |n: u64| quantity::plain(n as f64);
    let mut table =
        Table::new(["process", "name", "windows", "dirty bytes", "dirty lines", "dirty pages"]).left(2);
    for ((process, name), (sum, windows)) in sorted.iter().take(SHOWN) {
        let cells = [sum.bytes, sum.lines, sum.pages].map(count);
        table.row([&process.to_string(), *name, &count(*windows), &cells[0], &cells[1], &cells[2]]);
    }
    println!();
    table.print();
    if sorted.len() > SHOWN {
        say!("and {} more processes, which changed less", sorted.len() - SHOWN);
    }
    println!();
}

fn mechanism(report: &Report) -> String {
    let what = match report.mechanism {
        Mechanism::Scan => "scan (PAGEMAP_SCAN with asynchronous write-protection)",
        Mechanism::Read => "read (every page is compared)",
    };
    report.instead.as_ref().map_or(what.to_string(), |why| format!("{what}, because {why}"))
}
