//! What `coreplane crash` found: as JSON, and for people.

use crate::Failure;
use crate::args::CrashArgs;
use crate::crash_found::{Found, print_failure};
use crate::lines::say;
use crate::output::Table;
use crate::quantity::{self, count};
use check::crash::{self, Persistency, Timed, TimedFailure};
use machine::Description;
use protocol::PM_BASE;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use trace::names::shown;
use units::Time;

/// What the lab found.
pub(crate) struct Lab {
    /// The persistency model, or that of hosts.
    pub(crate) model: &'static str,
    pub(crate) timed: Option<Timed>,
    /// Of a recorded program: the number of the last mark before each failure of `timed`.
    pub(crate) acknowledged: Vec<u64>,
    pub(crate) search: Option<Found>,
    pub(crate) persistence_lint: Vec<crash::Finding>,
    pub(crate) seconds: f64,
    pub(crate) events: usize,
    /// The program did more than its log holds: nothing was looked at after it.
    pub(crate) cut: bool,
    /// Of a recorded program: its file, and what its check may do.
    pub(crate) recording: Option<Value>,
    /// What has to be known to read the result.
    pub(crate) notes: Vec<String>,
    /// Of several hosts: what their machine's flush had to save.
    pub(crate) power: Option<Value>,
}

impl Lab {
    /// Nothing yet.
    pub(crate) fn of(model: Persistency) -> Lab {
        Lab::named(model.name())
    }

    /// The same, of a model by its name.
    pub(crate) fn named(model: &'static str) -> Lab {
        Lab {
            model,
            timed: None,
            acknowledged: Vec::new(),
            search: None,
            persistence_lint: Vec::new(),
            seconds: 0.0,
            events: 0,
            cut: false,
            recording: None,
            notes: Vec::new(),
            power: None,
        }
    }

    /// One image of `model`, tried again.
    pub(crate) fn replayed(model: Persistency, message: Option<String>) -> Lab {
        let failure =
            |message| TimedFailure { at: Time::ZERO, ended: vec![], passed: vec![], message, lost: vec![] };
        let failures: Vec<TimedFailure> = message.into_iter().map(failure).collect();
        let failing = failures.len();
        Lab { timed: Some(Timed { points: 1, failing, failures, ..Timed::default() }), ..Lab::of(model) }
    }

    pub(crate) fn failures(&self) -> usize {
        self.timed.as_ref().map_or(0, |t| t.failing) + self.search.as_ref().map_or(0, |s| s.failing_points)
    }

    pub(crate) fn json(&self, args: &CrashArgs) -> Value {
        let timed = self.timed.as_ref().map(|t| {
            let failures = t.failures.iter().enumerate().map(|(i, f)| {
                let mut failure = json!({
                    "at_ns": f.at.since(Time::ZERO).as_ns(),
                    "ended": f.ended,
                    "message": f.message,
                    "lost_pages": f.lost,
                });
                if let Some(number) = self.acknowledged.get(i) {
                    failure["acknowledged"] = json!(number);
                }
                failure
            });
            json!({"points": t.points, "bounded": t.bounded, "failing_points": t.failing, "failures": failures.collect::<Vec<_>>()})
        });
        let search = self.search.as_ref().map(Found::json);
        let persistence_lint = self
            .persistence_lint
            .iter()
            .map(|f| json!({"kind": f.kind, "site": f.site, "times": f.times, "counted": f.counted(), "file": f.file.as_deref().map(shown), "name": f.name.as_deref().map(shown)}));
        json!({
            "machine": args.machine,
            "workload": args.workload,
            "seed": args.settings.seed,
            "model": self.model,
            "clean": self.failures() == 0,
            "recording": self.recording,
            "notes": self.notes,
            "timed": timed,
            "model_images": search,
            "events": self.events,
            "log_cut": self.cut,
            "persistent_flush": self.power,
            "persistence_lint": persistence_lint.collect::<Vec<_>>(),
            "host_seconds": self.seconds,
        })
    }

    pub(crate) fn print(&self, args: &CrashArgs) {
        say!("{} on {}, seed {}, model {}", args.workload, args.machine, args.settings.seed, self.model);
        if let Some(text) = self.search.as_ref().and_then(Found::left_out) {
            say!("{text}");
        }
        self.notes.iter().for_each(|note| say!("{note}"));
        if let Some(t) = &self.timed {
            self.print_timed(args, t);
        }
        if let Some(s) = &self.search {
            self.print_search(s);
        }
        self.print_persistence_lint();
    }

    fn print_timed(&self, args: &CrashArgs, t: &Timed) {
        let bound = if t.bounded && args.at.is_none() { " (the bound; --points raises it)" } else { "" };
        say!("\npower failures in the run   {}{bound}", count(t.points as u64));
        say!("recovery fails              {}", count(t.failing as u64));
        for (i, f) in t.failures.iter().enumerate() {
            let said = self.acknowledged.get(i).map(|n| format!(", after mark {n}")).unwrap_or_default();
            say!("  at {}{said}: {}", quantity::time(f.at.since(Time::ZERO).as_ns()), f.message);
            print_lost(&f.lost);
        }
    }

    fn print_search(&self, s: &Found) {
        let [points, all, events] = [s.points, s.points_in_log, self.events].map(|n| count(n as u64));
        say!("\ncrash points of the model   {points} of {all} in {events} events{}", s.ended());
        say!("images                      {}{}", count(s.images as u64), s.possible_text());
        if s.bounded_points > 0 {
            let points = count(s.bounded_points as u64);
            say!("points with images left out {points} (--images raises the bound)");
        }
        if s.grouped_points > 0 {
            say!(
                "points with grouped stores  {} (lines stored to hundreds of times and never made durable: not after each store)",
                count(s.grouped_points as u64)
            );
        }
        let points = if s.failing_points == 1 { "point" } else { "points" };
        say!("recovery fails              {} {points}", count(s.failing_points as u64));
        s.failures.iter().for_each(print_failure);
    }

    fn print_persistence_lint(&self) {
        if self.persistence_lint.is_empty() {
            return;
        }
        println!("\nwithout any crash:");
        let mut table = Table::new(["finding", "place", "how many"]).left(2);
        let meaning: BTreeMap<&str, &str> = BTreeMap::from([
            ("never-flushed", "stored, and not flushed up to the end"),
            ("never-synced", "written, and not synced up to the end"),
            (
                "named-by-another-sync",
                "named, and its folder not synced: durable by the sync of another file or folder alone, which not every file system promises",
            ),
            (
                "name-not-synced",
                "named after its sync, and nothing synced up to the end: the name can be lost",
            ),
            ("flushed-twice", "flushed without a store since the last flush"),
            ("idle-fence", "a fence with nothing to wait for"),
        ]);
        for f in &in_short(&self.persistence_lint) {
            let text = meaning.get(f.kind).copied().unwrap_or(f.kind);
            table.row([text.to_string(), place_of(f), format!("{} {}", count(f.times as u64), f.counted())]);
        }
        table.print();
    }
}

/// Places shown of a file of which nothing is made durable: there that is no oversight of each.
const PLACES_SHOWN: usize = 3;

/// The remarks, with the many places of a forgotten file in one, behind those that left most.
fn in_short(all: &[crash::Finding]) -> Vec<crash::Finding> {
    let mut places: BTreeMap<(&str, Option<&str>), Vec<&crash::Finding>> = BTreeMap::new();
    for f in all.iter().filter(|f| f.is_of_forgotten_file) {
        places.entry((f.kind, f.file.as_deref())).or_default().push(f);
    }
    let mut short: Vec<crash::Finding> = all.iter().filter(|f| !f.is_of_forgotten_file).cloned().collect();
    for mut of_file in places.into_values() {
        of_file.sort_by_key(|f| Reverse(f.times));
        let more = of_file.split_off(of_file.len().min(PLACES_SHOWN));
        short.extend(of_file.into_iter().cloned());
        if let Some(first) = more.first() {
            let times = more.iter().map(|f| f.times).sum();
            let site =
                format!("{} more places, nothing of this file being made durable", count(more.len() as u64));
            short.push(crash::Finding { site, times, ..(*first).clone() });
        }
    }
    short.sort_by_key(|f| f.kind);
    short
}

/// Where a remark is, and the shortest name of the file that it is about.
fn place_of(f: &crash::Finding) -> String {
    f.name.as_deref().map_or_else(|| f.site.clone(), |name| format!("{} ({})", f.site, shown(name)))
}

/// Pages that a dump did not save.
fn print_lost(pages: &[u64]) {
    const SHOWN: usize = 8;
    if pages.is_empty() {
        return;
    }
    let shown: Vec<String> = pages.iter().take(SHOWN).map(|p| format!("{:#x}", p - PM_BASE)).collect();
    let more = if pages.len() > SHOWN { ", ..." } else { "" };
    let (all, shown) = (pages.len(), shown.join(", "));
    say!("    not saved, the battery being empty: {all} pages, at {shown}{more}");
}

/// What the machine itself takes: where recovery failed in the run, the program need not be at fault, and where it did not, a
/// workload's own recovery may have excused what was taken, or the check of a recording not have looked at what was taken of its `files`.
pub(crate) fn of_the_machine(
    machine: &Description,
    timed: Option<&Timed>,
    files: Option<&[(u64, u64)]>,
) -> Result<Vec<String>, Failure> {
    let ended = timed.and_then(|timed| timed.after_end).map(|ended| {
        let ended = quantity::time(ended.since(Time::ZERO).as_ns());
        format!("the run had ended at {ended}, before the power failed: nothing was cut short")
    });
    let Some(timed) = timed else { return Ok(Vec::new()) };
    let (told, so) = match files {
        _ if !timed.failures.is_empty() => (
            machine::takes_what_was_durable(machine)?,
            "what fails in the run may be the machine's fault, and no mistake of the program",
        ),
        None => (
            machine::takes_what_was_durable(machine)?,
            "recovery of a workload of the simulator's own takes older contents there, so that none of it is a failure",
        ),
        Some(files) => (
            machine::forgets_of(machine, files)?,
            "files lie there, and are empty after each power failure in the run; a check that does not fail then says nothing of what they held",
        ),
    };
    Ok(told.into_iter().map(|what| format!("{what}: {so}")).chain(ended).collect())
}
