//! `coreplane diff`: what differs between two results that were kept.

use crate::Failure;
use crate::args::DiffArgs;
use crate::lines::say;
use crate::machine_files::can_be_read;
use crate::output::{self, Table};
use crate::quantity::{time, with_unit};
use crate::results;
use machine::STATISTICS;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Rows that are shown unless all are asked for.
const SHOWN: usize = 20;

pub(crate) fn diff(args: &DiffArgs) -> Result<(), Failure> {
    let bounds = [("--at-least", Some(args.at_least)), ("--slower-than", args.slower_than)];
    let unfit =
        |(_, percent): &(&str, Option<f64>)| percent.is_some_and(|p| !(0.0..f64::INFINITY).contains(&p));
    if let Some((option, Some(percent))) = bounds.into_iter().find(unfit) {
        return Err(Failure::BadInput(format!("{option} {percent}: give a number of percent, from 0 on")));
    }
    let is_read = |folder: &Path| [&args.before, &args.after].iter().any(|side| holds(folder, side));
    if let Some(folder) = args.out.as_deref().filter(|folder| is_read(folder)) {
        let text = "has what is compared in it; give another folder for what differs";
        return Err(Failure::BadInput(format!("--out: {} {text}", folder.display())));
    }
    let found = between((&args.before, None), (&args.after, None))?;
    args.slower_than.map_or(Ok(()), |_| comparable(&found))?;
    if let Some(folder) = &args.out {
        output::make_folder(Some(folder))?;
        let mut kept = found.kept();
        kept["provenance"] = output::provenance();
        results::put(folder, |own| own.write_json("diff.json", &kept))?;
    }
    if output::is_json(&args.common) {
        output::print_json(&found.to_json());
    } else {
        print(&found, args);
    }
    slower(&found, args)
}

/// Two results of one machine each, or of machines of one name.
pub(crate) struct Found {
    pairs: Vec<Pair>,
    /// Machines that only one of the results has.
    alone: Vec<String>,
}

struct Pair {
    before: Kept,
    after: Kept,
}

/// What a run left.
#[derive(Clone)]
struct Kept {
    machine: String,
    workload: String,
    seed: u64,
    time_ns: f64,
    stats: BTreeMap<String, f64>,
    configuration: Map<String, Value>,
    whole: Value,
}

/// One thing that differs; none where a side does not have it.
struct Change {
    name: String,
    before: Option<f64>,
    after: Option<f64>,
}

/// A folder or a file; or the JSON of a result that is kept in none, and what it is called.
pub(crate) type Side<'a> = (&'a Path, Option<&'a str>);

/// Compares two results.
///
/// # Errors
/// When one cannot be read, is no result of `run` or `compare`, or they have no machine in common.
pub(crate) fn between(before: Side<'_>, after: Side<'_>) -> Result<Found, Failure> {
    let (mut old, mut new) = (read(before)?, read(after)?);
    if let ([_], [_]) = (old.as_slice(), new.as_slice()) {
        let pairs = old.drain(..).zip(new.drain(..)).map(|(before, after)| Pair { before, after }).collect();
        return Ok(Found { pairs, alone: Vec::new() });
    }
    let has = |all: &[Kept], name: &str| all.iter().any(|kept| kept.machine == name);
    let only = |these: &[Kept], others: &[Kept], path: &Path| -> Vec<String> {
        let alone = these.iter().filter(|kept| !has(others, &kept.machine));
        alone.map(|kept| format!("{} only in {}", kept.machine, path.display())).collect()
    };
    let alone = [only(&old, &new, before.0), only(&new, &old, after.0)].concat();
    let mut pairs = Vec::new();
    for before in old {
        if let Some(after) = new.iter().find(|kept| kept.machine == before.machine) {
            pairs.push(Pair { before, after: after.clone() });
        }
    }
    if pairs.is_empty() {
        let text = format!("they have no machine in common: {}", alone.join(", "));
        return Err(Failure::BadInput(text));
    }
    Ok(Found { pairs, alone })
}

fn read((path, json): Side<'_>) -> Result<Vec<Kept>, Failure> {
    let fail = |text: String| Failure::BadInput(format!("{}: {text}", path.display()));
    let text = json.map_or_else(|| text_of(path), |json| Ok(json.to_string())).map_err(fail)?;
    let value: Value = serde_json::from_str(&text).map_err(|e| fail(format!("it is no JSON: {e}")))?;
    let runs: Vec<Option<Kept>> = match value.get("machines").and_then(Value::as_array) {
        // What recordings they are of stands beside them.
        Some(machines) => machines.iter().map(|run| kept(&with_provenance(run, &value))).collect(),
        None => vec![kept(&value)],
    };
    let whole: Option<Vec<Kept>> = runs.into_iter().collect();
    whole.filter(|runs| !runs.is_empty()).ok_or_else(|| {
        fail("it is no result of run or compare (machine, workload, seed, time_ns, stats)".into())
    })
}

/// Whether a side is that folder, or a file in it.
fn holds(folder: &Path, side: &Path) -> bool {
    let (Ok(folder), Ok(side)) = (folder.canonicalize(), side.canonicalize()) else { return false };
    side == folder || side.parent() == Some(&folder)
}

/// The text of a result, or why there is none.
fn text_of(path: &Path) -> Result<String, String> {
    let names = ["run.json", "compare.json"];
    let file = if path.is_dir() {
        let mut found = names.into_iter().map(|name| path.join(name)).filter(|file| file.exists());
        let (first, second) = (found.next(), found.next());
        if second.is_some() {
            return Err("both run.json and compare.json are in it; give the one that is meant".into());
        }
        first.ok_or("neither run.json nor compare.json is in it; give a folder that run or compare --out made, or a file of their JSON")?
    } else {
        path.to_path_buf()
    };
    if file.exists() && !can_be_read(&file) {
        return Err("it is neither a folder that run or compare --out made nor a file of their JSON".into());
    }
    // Opened once: a pipe says everything once.
    let (mut file, mut bytes) = (File::open(&file).map_err(|e| e.to_string())?, Vec::new());
    (&mut file).take(8).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if trace::is_block_file(&bytes) {
        return Err("it is a recording, and no result of run or compare".into());
    }
    file.read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is no text, and no result of run or compare".into())
}

fn with_provenance(run: &Value, of: &Value) -> Value {
    let mut run = run.clone();
    if let (Some(fields), Some(provenance)) = (run.as_object_mut(), of.get("provenance")) {
        fields.entry("provenance").or_insert_with(|| provenance.clone());
    }
    run
}

fn kept(run: &Value) -> Option<Kept> {
    // What stands in a file is shown on a terminal.
    let text = |key: &str| Some(run.get(key)?.as_str()?.replace(char::is_control, " "));
    let stats =
        run.get("stats")?.as_object()?.iter().map(|(name, value)| Some((name.clone(), value.as_f64()?)));
    Some(Kept {
        machine: text("machine")?,
        workload: text("workload")?,
        seed: run.get("seed")?.as_u64()?,
        time_ns: run.get("time_ns")?.as_f64().filter(|time| *time >= 0.0)?,
        stats: stats.collect::<Option<_>>()?,
        configuration: run.get("configuration").and_then(Value::as_object).cloned().unwrap_or_default(),
        whole: run.clone(),
    })
}

impl Kept {
    /// The contents of the recordings that it is of, as far as it says.
    fn recordings(&self) -> Vec<&str> {
        let listed = self.whole.get("provenance").and_then(|p| p.get("recordings")).and_then(Value::as_array);
        listed.into_iter().flatten().filter_map(|one| one.get("xxh3")?.as_str()).collect()
    }
}

impl Pair {
    /// Keys whose values differ.
    fn parameters(&self) -> Vec<(&str, Option<&Value>, Option<&Value>)> {
        let (old, new) = (&self.before.configuration, &self.after.configuration);
        let keys: BTreeSet<&str> = old.keys().chain(new.keys()).map(String::as_str).collect();
        let differ = keys.into_iter().map(|key| (key, old.get(key), new.get(key)));
        differ.filter(|(_, before, after)| before != after).collect()
    }

    /// Statistics that differ: those that moved by most first, then those that one side lacks or has none of.
    fn statistics(&self) -> Vec<Change> {
        let (old, new) = (&self.before.stats, &self.after.stats);
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let all = names.into_iter().map(|name| Change {
            name: name.clone(),
            before: old.get(name).copied(),
            after: new.get(name).copied(),
        });
        let mut changes: Vec<Change> = all.filter(|c| c.moved() > 0.0).collect();
        let order = |c: &Change| if c.moved().is_finite() { -c.moved() } else { 0.0 };
        changes.sort_by(|a, b| order(a).total_cmp(&order(b)).then_with(|| a.name.cmp(&b.name)));
        changes
    }

    /// Why the two did not do the same work, where that is known.
    fn other_work(&self) -> Option<String> {
        let (old, new) = (&self.before, &self.after);
        let recordings = [old, new].map(|kept| kept.recordings());
        if recordings.iter().any(|own| !own.is_empty()) {
            return (recordings[0] != recordings[1]).then(|| "the recordings are not the same".into());
        }
        if old.workload != new.workload {
            return Some("the workloads are not the same".into());
        }
        let name = "cpu.operations";
        let count = |kept: &Kept| kept.stats.get(name).copied().unwrap_or(0.0);
        let differ = (count(old) - count(new)).abs() >= 0.5;
        differ.then(|| format!("the one did {} operations, the other {}", count(old), count(new)))
    }

    /// How many times as fast the second is; none where one took no time.
    fn speedup(&self) -> Option<f64> {
        self.timeless().is_none().then(|| self.before.time_ns / self.after.time_ns)
    }

    /// Why there is no speedup, where there is none.
    fn timeless(&self) -> Option<&'static str> {
        match [&self.before, &self.after].map(|kept| kept.time_ns > 0.0) {
            [true, true] => None,
            [true, false] => Some("no simulated time passed after, so that there is no speedup"),
            [false, true] => Some("no simulated time passed before, so that there is no speedup"),
            [false, false] => Some("no simulated time passed before or after, so that there is no speedup"),
        }
    }

    /// The folder of its figures, where a page has several pairs. A machine may be called by its file's path.
    fn folder(&self, n: usize) -> String {
        let stem = Path::new(&self.after.machine).file_stem().unwrap_or_default();
        format!("{:02}.{}", n + 1, stem.to_string_lossy())
    }

    fn to_json(&self) -> Value {
        let parameters = self.parameters().into_iter();
        let parameters: Vec<Value> = parameters
            .map(|(key, before, after)| json!({"key": key, "before": before, "after": after}))
            .collect();
        let statistics: Vec<Value> = self.statistics().iter().map(Change::to_json).collect();
        json!({
            "before": self.before.whole,
            "after": self.after.whole,
            "speedup": self.speedup(),
            "other_work": self.other_work(),
            "parameters": parameters,
            "statistics": statistics,
        })
    }
}

impl Change {
    /// How far apart the two are, as a factor's logarithm; what one side lacks or has none of is farthest.
    fn moved(&self) -> f64 {
        match (self.before, self.after) {
            (Some(a), Some(b)) if a.to_bits() == b.to_bits() => 0.0,
            (Some(a), Some(b)) if a * b > 0.0 => (b / a).ln().abs(),
            (a, b) if a.unwrap_or(0.0).abs() + b.unwrap_or(0.0).abs() > 0.0 => f64::INFINITY,
            _ => 0.0,
        }
    }

    fn percent(&self) -> Option<f64> {
        let (before, after) = (self.before?, self.after?);
        (before.abs() > 0.0).then(|| 100.0 * (after / before - 1.0))
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "unit": unit_of(&self.name),
            "before": self.before,
            "after": self.after,
            "change_percent": self.percent(),
        })
    }
}

impl Found {
    /// A list of pairs, and the machines that have no other.
    pub(crate) fn to_json(&self) -> Value {
        json!({"pairs": self.pairs.iter().map(Pair::to_json).collect::<Vec<_>>(), "alone": self.alone})
    }

    /// The same, and in which folders a page has its figures.
    fn kept(&self) -> Value {
        let mut all = self.to_json();
        for (n, pair) in self.pairs.iter().enumerate().filter(|_| self.pairs.len() > 1) {
            all["pairs"][n]["figures"] = pair.folder(n).into();
        }
        all
    }
}

/// What is to be checked has to be of the same work, and there on both sides.
fn comparable(found: &Found) -> Result<(), Failure> {
    if let Some(gone) = found.alone.first() {
        return Err(Failure::BadInput(format!(
            "--slower-than: {gone}, so that there is nothing to compare it with"
        )));
    }
    let other = found.pairs.iter().find_map(|pair| Some((pair, pair.other_work()?)));
    if let Some((pair, why)) = other {
        let text = format!("--slower-than: {why}, so that times cannot be compared: {}", title(&pair.after));
        return Err(Failure::BadInput(text));
    }
    if let Some((pair, why)) = found.pairs.iter().find_map(|pair| Some((pair, pair.timeless()?))) {
        return Err(Failure::BadInput(format!("--slower-than: {why}: {}", title(&pair.after))));
    }
    Ok(())
}

/// A result that is slower by more than is allowed does not hold.
fn slower(found: &Found, args: &DiffArgs) -> Result<(), Failure> {
    let Some(percent) = args.slower_than else { return Ok(()) };
    let more = |pair: &Pair| Some(100.0 * (1.0 / pair.speedup()? - 1.0));
    let all = found.pairs.iter().filter_map(|pair| Some((pair, more(pair)?)));
    let too_slow = all.filter(|(_, more)| *more > percent);
    let named: Vec<String> = too_slow
        .map(|(pair, more)| format!("{} by {} %", title(&pair.after), above(more, percent)))
        .collect();
    if named.is_empty() {
        return Ok(());
    }
    Err(Failure::DoesNotHold(format!("slower by more than {percent} %: {}", named.join("; "))))
}

/// A number of percent with as many digits as tell it from a smaller one.
fn above(percent: f64, bound: f64) -> String {
    let texts = (1..16).map(|digits| format!("{percent:.digits$}"));
    let mut telling = texts.skip_while(|text| text.parse::<f64>().is_ok_and(|shown| shown <= bound));
    telling.next().unwrap_or_else(|| percent.to_string())
}

/// The unit of a statistic; of one that this version does not know, none.
fn unit_of(name: &str) -> &'static str {
    STATISTICS.iter().find(|info| info.name == name).map_or("", |info| info.unit)
}

/// A result in words.
fn title(kept: &Kept) -> String {
    format!("{} on {}, seed {}", kept.workload, kept.machine, kept.seed)
}

fn print(found: &Found, args: &DiffArgs) {
    for (n, pair) in found.pairs.iter().enumerate() {
        if n > 0 {
            say!("");
        }
        let [before, after] = [&pair.before, &pair.after].map(title);
        say!("before: {before}: {}", time(pair.before.time_ns));
        let how = pair.speedup().map_or(String::new(), |speedup| format!(", {}", how(speedup)));
        say!("after:  {after}: {}{how}\n", time(pair.after.time_ns));
        if let Some(why) = pair.timeless() {
            say!("{why}\n");
        }
        if let Some(why) = pair.other_work() {
            say!("{why}\n");
        }
        if let Some(table) = causes(pair) {
            table.print();
            say!("");
        }
        parameters(pair);
        statistics(pair, args);
    }
    for one in &found.alone {
        say!("{one}");
    }
}

/// A speedup in words.
fn how(speedup: f64) -> String {
    match speedup {
        s if (0.995..1.005).contains(&s) => "as fast as before".into(),
        s if s > 1.0 => format!("{s:.2} times as fast"),
        s => format!("{:.2} times slower", 1.0 / s.max(f64::MIN_POSITIVE)),
    }
}

/// Where the cores' time went on both sides.
fn causes(pair: &Pair) -> Option<Table> {
    let of = |kept: &Kept| -> Vec<(String, f64)> {
        let own = kept.stats.iter().filter_map(|(name, ns)| Some((name.strip_prefix("time.")?.into(), *ns)));
        own.collect()
    };
    let sides = [of(&pair.before), of(&pair.after)];
    let names: BTreeSet<&String> =
        sides.iter().flatten().filter(|(_, ns)| *ns > 0.0).map(|(name, _)| name).collect();
    let sums = sides.each_ref().map(|side| side.iter().map(|(_, ns)| ns).sum::<f64>());
    if names.is_empty() || sums.iter().any(|sum| *sum <= 0.0) {
        return None;
    }
    let mut table = Table::new(
        std::iter::once("cores' time".to_string())
            .chain(names.iter().map(|n| format!("{} %", n.replace('_', " ")))),
    );
    for ((word, side), sum) in ["before", "after"].into_iter().zip(&sides).zip(sums) {
        let share = |name: &&String| {
            let ns = side.iter().find(|(n, _)| n == *name).map_or(0.0, |(_, ns)| *ns);
            format!("{:.1}", 100.0 * ns / sum)
        };
        table.row(std::iter::once(word.to_string()).chain(names.iter().map(share)));
    }
    Some(table)
}

fn parameters(pair: &Pair) {
    let differ = pair.parameters();
    if differ.is_empty() {
        return;
    }
    let shown = |value: Option<&Value>| match value {
        None => "-".to_string(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    let mut rows = vec![["parameter", "before", "after"].map(str::to_string).to_vec()];
    rows.extend(differ.into_iter().map(|(key, a, b)| vec![key.to_string(), shown(a), shown(b)]));
    Table::of_text(rows).print();
    say!("");
}

fn statistics(pair: &Pair, args: &DiffArgs) {
    let changes = pair.statistics();
    if changes.is_empty() {
        say!("every statistic is the same");
        return;
    }
    let worth = |c: &&Change| args.all || 100.0 * (c.moved().exp() - 1.0) >= args.at_least;
    let most = if args.all { usize::MAX } else { SHOWN };
    let mut table = Table::new(["statistic", "before", "after", "change"]);
    let mut shown = 0;
    for change in changes.iter().filter(worth).take(most) {
        let unit = unit_of(&change.name);
        let value = |v: Option<f64>| v.map_or("-".into(), |v| with_unit(&change.name, v, unit));
        let percent = change.percent().map_or("-".into(), |p| format!("{p:+.1} %"));
        table.row([change.name.clone(), value(change.before), value(change.after), percent]);
        shown += 1;
    }
    if shown > 0 {
        table.print();
    }
    if shown < changes.len() {
        say!("{} more differ (--all)", changes.len() - shown);
    }
}
