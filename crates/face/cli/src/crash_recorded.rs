//! `coreplane crash` on a recorded program: its files, what a check sees of them, and both ways of cutting its power.

use crate::args::CrashArgs;
use crate::crash_asked::Asked;
use crate::crash_beside::{self, Beside};
use crate::crash_check::External;
use crate::crash_files::{Left, Place, Said};
use crate::crash_found::Found;
use crate::crash_lab::{Lab, of_the_machine};
use crate::crash_names::{Link, Names};
use crate::crash_refused as refused;
use crate::crash_so_far::Keeper;
use crate::crash_time::Budget;
use crate::races;
use crate::{Failure, crash_options, output, progress, quantity};
use check::crash::{self, Candidate, Facts, FileState, Log, Persistency, Reads, Timed, Tracker};
use machine::{CrashEvery, CrashPoint, Cuts, Description, WorkloadDescription};
use protocol::PM_BASE;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trace::names::{path_of, shown_path};
use trace::space::{Layout, is_memory};
use trace::{About, Recording};

/// Threads that a machine can run.
const MOST_THREADS: usize = 64;

/// A check that is always told the same holds whatever of that is lost.
const WITHOUT_MARKS: &str = "the recording has no mark: {acknowledged} is 0 at every power failure, and {marks} is empty, so that the \
    check cannot find that what was acknowledged is lost. coreplane_mark_here(n) of coreplane.h makes marks in a program of coreplane cc, \
    and in one as it is that is linked as position-independent code (without -static or -no-pie)";

/// What becomes of the file that the program found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtFirst {
    /// There is none, or the check does not hold on it.
    Fails,
    /// It was durable, and power may fail from the start.
    Stays,
    /// The program makes it anew.
    Emptied,
}

/// A recording, its files, and which of them the check is about.
pub(crate) struct Recorded<'a> {
    about: &'a About,
    pub(crate) facts: Facts,
    /// How the recording left its files.
    pub(crate) files: Vec<FileState>,
    pub(crate) names: Names,
    /// The number of the file that is `{image}` in the end.
    pub(crate) number: u32,
    /// The recorded path of `{image}`.
    pub(crate) chosen: String,
    /// From where on the power may fail: see [`Facts::begins`].
    begins: Vec<(usize, u64)>,
    /// What a mark before that would be about, where the check is told of marks.
    marked: Marked,
    at_first: AtFirst,
    /// Where files lie in a machine's memory.
    layout: Layout,
    /// Files that the program only read, outside of the folder that the others have in common: a check does not get them.
    far: BTreeSet<u32>,
    /// Folders that the program found, in that folder: whatever is lost, they are there.
    folders: Arc<[PathBuf]>,
    /// What is none of it.
    beside: Arc<[Beside]>,
    /// The folder that files have in common without that, where it is another.
    without_beside: Option<PathBuf>,
}

/// Marks, and what they are about.
#[derive(Default)]
struct Marked {
    /// The number of the one from which on the power may fail, because the program made it before the file was there to stay.
    from: Option<u64>,
    /// The least and the largest number of those that it made before it changed the file.
    before: Option<(u64, u64)>,
}

impl Marked {
    /// Those of a check that is told of them, and from where on the power may fail; `chosen` are the files that have the name of the one
    /// that the check is about. Where it gets all files, and none is asked for, a mark may be about any that is ever durable.
    fn begins(args: &CrashArgs, facts: &Facts, chosen: &[u32], command: &str) -> (Marked, Vec<(usize, u64)>) {
        let is_told = is_told_of_marks(command);
        let gets_all = args.file.is_none() && command.contains("{folder}");
        let durable = facts.files.iter().filter(|(_, f)| gets_all && f.durable).map(|(number, _)| *number);
        let about: Vec<u32> = chosen.iter().copied().chain(durable).filter(|_| is_told).collect();
        let first = facts.first_mark(&about);
        let begins = facts.begins(chosen, first, args.after);
        let is_first = args.after.is_none() && begins != facts.begins(chosen, None, None);
        let from = first.filter(|_| is_first).map(|index| facts.marks[index].number);
        let before = facts.marks_before(chosen, first).filter(|_| is_told && args.after.is_none());
        (Marked { from, before }, begins)
    }
}

/// Whether a check is told what the program had acknowledged.
fn is_told_of_marks(command: &str) -> bool {
    ["{acknowledged}", "{marks}"].iter().any(|word| command.contains(word))
}

/// Where files are in the folder that a check gets: what the program changed decides, and what is beside it.
fn names_of(
    about: &About,
    facts: &Facts,
    layout: &Layout,
    changed: &BTreeSet<u32>,
    beside: impl Iterator<Item = PathBuf>,
) -> Names {
    let is_link = |number: u32| about.links.contains_key(&number);
    let counts = |number: u32| changed.contains(&number) && !about.is_made_nameless(number);
    let at_first = layout.files().iter().filter(|f| counts(f.number)).map(|f| (f.number, f.path.as_str()));
    // What has nothing in it has no place there.
    let empty = about.files.iter().filter(|(n, _)| counts(**n)).map(|(n, f)| (*n, f.path.as_str()));
    let all: Vec<(u32, &str)> = at_first.chain(empty).chain(facts.named.paths()).collect();
    let links = all.iter().filter_map(|(number, path)| Some(Link { path, to: about.links.get(number)? }));
    let links: Vec<Link<'_>> = links.collect();
    let files = all.iter().filter(|(number, _)| !is_link(*number)).map(|(_, path)| path_of(path));
    Names::new(files.chain(beside), &links)
}

/// The paths that a recording has files of, as the system has them.
fn recorded(about: &About, but: &BTreeSet<u32>) -> BTreeSet<PathBuf> {
    let files = about.files.iter().filter(|(number, _)| !but.contains(number));
    let first = files.map(|(_, f)| f.path.as_str());
    first.chain(about.names.values().map(String::as_str)).map(path_of).collect()
}

pub(crate) fn lab(
    args: &CrashArgs,
    machine: &Description,
    workload: &WorkloadDescription,
    command: &str,
    model: Persistency,
) -> Result<Lab, Failure> {
    let recording = workload.recording().ok_or_else(|| {
        Failure::BadInput(format!("{}: --check is for recorded programs (trace:FILE)", args.workload))
    })?;
    refused::without_values(args, recording.about())?;
    let shown = progress::reading(&args.common, &args.workload);
    let mut recorded = Recorded::new(args, recording, command)?;
    refused::unseen(args, &recorded)?;
    let mut log = log_of(args, recording, &recorded)?;
    drop(shown);
    log.tells_marks = is_told_of_marks(command);
    log.sfence_settles = machine.settings.text("ordering.sfence") != "ofence";
    // As large as each ever was: what was cut off at the end is there before.
    let near = recorded.layout.files().iter().filter(|f| !recorded.far.contains(&f.number));
    let bytes: u64 = near.map(|f| f.bytes).sum();
    let beside: u64 = recorded.beside.iter().map(Beside::bytes).sum();
    let external = External::new(command, args.time_limit, bytes + beside)?;
    let mut lab = External::ends(|| {
        if let Some(text) = &args.replay {
            return replayed(text, &log, &recorded, &external);
        }
        recorded.at_first = recorded.look_at_first(args, model, &log, &external)?;
        if recorded.at_first == AtFirst::Stays {
            recorded.begins = Vec::new();
            recorded.marked = Marked::default();
            log.begins_at_once();
        } else if !(log.tells_marks && recorded.facts.acknowledges_writes()) {
            refused::never_durable(args, &recorded, &recording.counts().calls, model)?;
        }
        let shown = progress::busy(&args.common, "the check on everything that the program did");
        let whole = uncut(model, &log, &recorded, &external);
        drop(shown);
        whole.map_err(|message| refused::uncut(args, &recorded, &message))?;
        search(args, machine, workload, model, &log, &recorded, &external)
    })??;
    lab.recording = Some(recorded.json(args, &external));
    lab.notes.splice(0..0, recorded.notes(args, &external));
    lab.notes.extend(external.remarks(&|| recorded.folder_text()));
    Ok(lab)
}

/// The check on everything that the program did.
fn uncut(model: Persistency, log: &Log, recorded: &Recorded<'_>, external: &External) -> Result<(), String> {
    let mut end = Tracker::new(log, model);
    while end.step() {}
    external.run(&recorded.left(&end.candidate(&BTreeMap::new())))
}

/// What the program did, from the mark on that `--after` names.
fn log_of(args: &CrashArgs, recording: &Recording, recorded: &Recorded<'_>) -> Result<Log, Failure> {
    let marks = &recorded.facts.marks;
    if let Some(number) = args.after.filter(|n| marks.iter().all(|m| m.number != *n)) {
        let numbers = || marks.iter().map(|m| m.number);
        let there = match (numbers().min(), numbers().max()) {
            (Some(first), Some(last)) => format!("its {} marks are numbered {first} to {last}", marks.len()),
            _ => "it has no mark (coreplane_mark in coreplane.h makes one)".into(),
        };
        return Err(Failure::BadInput(format!("--after {number}: the recording has no such mark; {there}")));
    }
    let (layout, named, begins) = (&recorded.layout, &recorded.facts.named, &recorded.begins);
    Ok(crash::of_trace(recording, &crash::Recorded { layout, named, begins }))
}

/// One image of the model, tried again.
fn replayed(text: &str, log: &Log, recorded: &Recorded<'_>, external: &External) -> Result<Lab, Failure> {
    let (replay, tracker) = crash_options::replay(text, log)?;
    let message = external.run(&recorded.left(&tracker.candidate(&replay.choice))).err();
    Ok(Lab::replayed(replay.model, message))
}

fn search(
    args: &CrashArgs,
    machine: &Description,
    workload: &WorkloadDescription,
    model: Persistency,
    log: &Log,
    recorded: &Recorded<'_>,
    external: &External,
) -> Result<Lab, Failure> {
    let mut keeper = Keeper::new(args, machine, workload, model)?;
    let asked = Asked::new(&keeper);
    // The search is made again, with what checks said before.
    keeper.before = Found::default();
    let budget = Budget::new(args.minimise_seconds)?;
    let mut notes = Vec::new();
    let (result, seconds) = output::timed(|| {
        let timed = on_the_machine(&mut keeper, machine, workload, recorded, external, &mut notes)?;
        let bar = progress::bar(&args.common, args.points, "crash points");
        if let Some(f) = timed.as_ref().and_then(|timed| timed.failures.first()) {
            bar.say(&format!("found: recovery fails after a power failure in the run: {}", f.message));
        }
        // One instant was asked for, not the model.
        let search = args.at.is_none().then(|| {
            let mut told = 0;
            let mut step = |found: &crash::Search| {
                found.failures[told..].iter().for_each(|f| bar.say(&format!("found: {}", f.why.text)));
                told = found.failures.len();
                bar.length(found.points_in_log.min(args.points) as u64);
                bar.step();
                keeper.images(found);
            };
            let check = |image: &Candidate<'_>| {
                budget.spend(|| asked.outcome(image, || external.outcome(&recorded.left(image))))
            };
            let bounds = crash_options::bounds(args, 0);
            let go_on = || budget.goes_on();
            let found = crash::search_whole(log, model, bounds, &check, &go_on, &mut step);
            (Found::default().with(&found), found.reads)
        });
        Ok::<_, Failure>((timed, search))
    });
    let (timed, search) = result?;
    let last = |f: &crash::TimedFailure| recorded.facts.passed(&f.passed).last().map_or(0, |m| m.number);
    let acknowledged = timed.iter().flat_map(|t| &t.failures).map(last).collect();
    if budget.is_spent() {
        notes.push(format!(
            "failures are not as small as they could be: --minimise-seconds {} was used up",
            args.minimise_seconds
        ));
    }
    match search.as_ref().map(|(_, reads)| reads) {
        Some(Reads::Reported) => {
            notes.push("the check tells which lines it reads: only these are varied".into())
        }
        Some(Reads::Distrusted) => notes.push(
            "the check reads more lines than it tells (its answer hangs on others too): all count as read"
                .into(),
        ),
        None | Some(Reads::Unknown) => {}
    }
    notes.extend(races::of_log(model, log));
    notes.extend(races::of_turns(model, log));
    notes.extend(of_the_machine(machine, timed.as_ref(), Some(&recorded.ranges()))?);
    let search = search.map(|(found, _)| found);
    let by_flush = model.needs_flushes();
    let persistence_lint = if by_flush { crash::persistence_lint(log) } else { Vec::new() };
    Ok(Lab {
        timed,
        acknowledged,
        search,
        persistence_lint,
        seconds,
        events: log.len(),
        notes,
        ..Lab::of(model)
    })
}

/// The recording runs on the machine, and its power is cut there.
fn on_the_machine(
    keeper: &mut Keeper<'_>,
    machine: &Description,
    workload: &WorkloadDescription,
    recorded: &Recorded<'_>,
    external: &External,
    notes: &mut Vec<String>,
) -> Result<Option<Timed>, Failure> {
    let args = keeper.args;
    let asked = crash_options::every(args)?;
    let threads = workload.threads();
    if threads > MOST_THREADS && asked.is_none() {
        notes.push(format!(
            "not cut on the machine: the recording has {threads} threads, a machine at most {MOST_THREADS} cores"
        ));
        return Ok(None);
    }
    if workload.settings.text("workload.sync") == "page-cache" {
        return Err(Failure::BadInput(
            "workload.sync = page-cache: a power failure leaves persistent memory, and a page cache is none; give dax".into(),
        ));
    }
    let after = recorded.begins.clone();
    let options = output::options(&args.settings);
    let cuts = if let Some(every) = asked {
        Cuts { every, after }
    } else {
        let _shown = progress::simulation(&args.common, 1, "a run without a power failure");
        crash::spread(machine, workload, &options, args.points, after).map_err(output::failed)?
    };
    let bar = progress::bar(&args.common, args.points, "power failures");
    let check = |point: &CrashPoint| recorded.check_on(point, external);
    let same = |a: &[u64], b: &[u64]| recorded.is_told_the_same(a, b);
    let mut tried = 0;
    let before = keeper.on_the_machine();
    let mut keep = |so_far: &crash::SoFar| {
        (tried..so_far.found.points).for_each(|_| bar.step());
        tried = so_far.found.points;
        keeper.instants(so_far);
    };
    let resumed = crash::Resumed { before, keep: &mut keep };
    let whole = crash::Whole { check: &check, same: &same };
    let most = if matches!(cuts.every, CrashEvery::At(_)) { 1 } else { args.points };
    crash::timed_whole(machine, workload, &options, cuts, most, &whole, resumed)
        .map(Some)
        .map_err(output::failed)
}

impl<'a> Recorded<'a> {
    fn new(args: &CrashArgs, recording: &'a Recording, command: &str) -> Result<Recorded<'a>, Failure> {
        let (facts, about) = (Facts::of(recording), recording.about());
        refused::without_stores(args, about, &facts)?;
        let layout = Layout::new(about, &recording.counts().extents, PM_BASE);
        let changed = facts.changed();
        let near = names_of(about, &facts, &layout, &changed, std::iter::empty());
        // What the program replaces is there where the replacing is lost.
        let taken: BTreeSet<&str> = facts.named.paths().map(|(_, path)| path).collect();
        let is_far = |(n, f): &(&u32, &trace::File)| {
            !changed.contains(n) && !is_memory(**n) && !near.has(&f.path) && !taken.contains(f.path.as_str())
        };
        let far: BTreeSet<u32> = about.files.iter().filter(is_far).map(|(number, _)| *number).collect();
        let beside = args.beside.as_ref().map(|folder| crash_beside::all(folder, &recorded(about, &far)));
        let beside: Arc<[Beside]> = beside.transpose()?.unwrap_or_default().into();
        let names = names_of(about, &facts, &layout, &changed, beside.iter().map(|b| b.path.clone()));
        let without_beside = Some(near.common()).filter(|folder| *folder != names.common());
        let found = about.folders.iter().filter(|folder| names.has(folder));
        let folders = found.map(|folder| names.relative(folder)).collect();
        let mut files = facts.named.files(about, &layout, None);
        files.retain(|f| !far.contains(&f.number));
        let (number, chosen) = refused::choose(args, about, &facts, &files, &names)?;
        let bearers = facts.named.bearers(about, &layout, &chosen);
        let (marked, begins) = Marked::begins(args, &facts, &bearers, command);
        Ok(Recorded {
            about,
            facts,
            files,
            names,
            number,
            chosen,
            begins,
            marked,
            at_first: AtFirst::Fails,
            layout,
            far,
            folders,
            beside,
            without_beside,
        })
    }

    /// Where the files lie that a check gets.
    fn ranges(&self) -> Vec<(u64, u64)> {
        let near = self.layout.files().iter().filter(|f| !self.far.contains(&f.number));
        near.map(|f| (f.base, f.bytes)).collect()
    }

    /// The file of that name that the program found.
    fn found(&self, log: &Log) -> Option<u32> {
        log.files.iter().find(|f| f.size > 0 && f.names.contains(&self.chosen)).map(|f| f.number)
    }

    /// What the program found, of which the file is a part, was durable: where the check holds on it, power may fail as soon as the
    /// program does anything.
    fn look_at_first(
        &self,
        args: &CrashArgs,
        model: Persistency,
        log: &Log,
        external: &External,
    ) -> Result<AtFirst, Failure> {
        let first = Tracker::new(log, model);
        let check = || external.run(&self.left(&first.candidate(&BTreeMap::new())));
        if args.from_start {
            return check().map(|()| AtFirst::Stays).map_err(|message| refused::from_start(args, &message));
        }
        let found = self.found(log).filter(|_| args.after.is_none() && check().is_ok());
        Ok(match found {
            None => AtFirst::Fails,
            Some(number) if self.facts.named.empties(number) => AtFirst::Emptied,
            Some(_) => AtFirst::Stays,
        })
    }

    /// What a check sees of an image of the model.
    fn left<'c>(&self, image: &'c Candidate<'_>) -> Left<'c> {
        Left {
            pages: image.pages().map(|(address, _)| address).collect(),
            page: Box::new(|address| image.page(address).map_or(Cow::Owned([0; _]), Cow::Borrowed)),
            files: self.places(image.files()),
            folders: Arc::clone(&self.folders),
            beside: Arc::clone(&self.beside),
            names: self.names.clone(),
            chosen: self.names.relative(&self.chosen),
            said: Said::after(image.acknowledged(), image.marks()),
        }
    }

    /// The check on what a machine left.
    fn check_on(&self, point: &CrashPoint, external: &External) -> Result<(), String> {
        let files = self.facts.named.files(self.about, &self.layout, Some(&point.passed));
        external.run(&Left {
            pages: point.pages(),
            page: Box::new(|address| Cow::Owned(point.page(address))),
            files: self.places(&files),
            folders: Arc::clone(&self.folders),
            beside: Arc::clone(&self.beside),
            names: self.names.clone(),
            chosen: self.names.relative(&self.chosen),
            said: Said::of(self.facts.passed(&point.passed)),
        })
    }

    fn places(&self, files: &[FileState]) -> Vec<Place> {
        let there = files.iter().filter(|f| !self.far.contains(&f.number));
        let named = there.flat_map(|f| f.names.iter().map(move |name| (name, f)));
        named
            .map(|(name, f)| Place {
                name: self.names.relative(name),
                base: f.base,
                bytes: f.size,
                link: self.about.links.get(&f.number).map(|to| path_of(to)),
            })
            .collect()
    }

    /// Whether a check is told the same of two instants: files and marks.
    fn is_told_the_same(&self, a: &[u64], b: &[u64]) -> bool {
        let files = |passed| self.facts.named.files(self.about, &self.layout, Some(passed));
        a == b || (self.facts.passed(a).eq(self.facts.passed(b)) && files(a) == files(b))
    }

    fn json(&self, args: &CrashArgs, external: &External) -> Value {
        let files = self.files.iter().filter(|f| !f.names.is_empty());
        let files = files.map(|f| json!({"name": self.shown_file(f.number), "bytes": f.size}));
        json!({
            "file": self.shown(),
            "files": files.collect::<Vec<_>>(),
            "file_size_limit_bytes": external.file_limit,
            "time_limit_s": args.time_limit,
            "beside": self.beside.len(),
            "after": args.after,
            "from_the_start": self.begins.is_empty(),
            "from_mark": self.marked.from,
            "emptied": self.at_first == AtFirst::Emptied,
            "marks": self.facts.marks.len(),
            "sources": self.about.sources,
            "remarks": refused::remarks(self),
        })
    }

    /// What a reader of the result has to know.
    fn notes(&self, args: &CrashArgs, external: &External) -> Vec<String> {
        let others = self.files.iter().filter(|f| !f.names.is_empty() && !f.names.contains(&self.chosen));
        let others: Vec<String> = others.map(|f| self.shown_file(f.number)).collect();
        let mut beside = match others.len() {
            0 => String::new(),
            1..=4 => format!(", beside {}", others.join(", ")),
            n => format!(", beside {n} others"),
        };
        if !self.beside.is_empty() {
            beside += &format!(", with {} files that the recording does not have", self.beside.len());
        }
        let since = match (args.after, self.begins.is_empty()) {
            (Some(n), _) => format!("; power failures after mark {n}"),
            (None, true) => String::new(),
            (None, false) => match self.marked.from {
                Some(n) => format!("; power failures after mark {n}, which comes before it is there to stay"),
                None => "; power failures once it is there to stay".into(),
            },
        };
        let mut notes = vec![
            format!("file {}{beside}{since}", self.shown()),
            format!(
                "the check may take {} s and write files of {} bytes",
                args.time_limit,
                quantity::count(external.file_limit)
            ),
        ];
        if self.at_first == AtFirst::Emptied {
            notes.push(format!(
                "the check holds on {} as the program found it, and the program empties it, which counts as making it anew; \
                 --from-start has the power fail from then on, too",
                self.shown()
            ));
        }
        if self.facts.marks.is_empty() && args.check.as_deref().is_some_and(is_told_of_marks) {
            notes.push(WITHOUT_MARKS.into());
        }
        let moved = self.without_beside.iter().map(|_| self.folder_text());
        notes.extend(moved.chain(refused::remarks(self)));
        notes
    }

    /// The folder that recorded files have in common, where that has what the check is not given, the first of it, and whether all of it
    /// is folders that the program made. A --beside of somewhere else says nothing of where they are.
    pub(crate) fn lacks(&self) -> Option<(PathBuf, String, bool)> {
        let folder = self.without_beside.clone().unwrap_or_else(|| self.names.common());
        let found = crash_beside::all(&folder, &recorded(self.about, &BTreeSet::new())).ok()?;
        let is_given = |one: &Beside| {
            self.beside.contains(one) || self.folders.contains(&self.names.relative_path(&one.path))
        };
        let made: BTreeSet<PathBuf> = self.about.made_folders.iter().map(|path| path_of(path)).collect();
        let lacking = || found.iter().filter(|one| !is_given(one));
        let first = lacking().find(|one| !made.contains(&one.path)).or_else(|| lacking().next())?;
        Some((folder, shown_path(&first.path), made.contains(&first.path)))
    }

    /// What `{folder}` is, and what is there in the end.
    pub(crate) fn folder_text(&self) -> String {
        const SHOWN: usize = 4;
        let all = self.files.iter().flat_map(|f| &f.names);
        let mut names: Vec<String> = all.map(|n| shown_path(&self.names.relative(n))).collect();
        names.sort();
        let more = names.len().saturating_sub(SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        names.truncate(SHOWN);
        let moved = self.without_beside.as_ref().map_or(String::new(), |folder| {
            format!(", and without --beside for {} (what DIR has keeps its own path)", shown_path(folder))
        });
        format!(
            "{{folder}} stands for {}{moved}: the files were {}{more} there",
            shown_path(&self.names.common()),
            names.join(", ")
        )
    }

    /// The marks that the check is not asked about.
    pub(crate) fn unjudged(&self) -> Option<String> {
        let (first, last) = self.marked.before?;
        let marks = if first == last { format!("mark {first}") } else { format!("marks {first} to {last}") };
        Some(format!("not judged: {marks}, made before the program changed {}", self.shown()))
    }

    /// Whether a file is a symbolic link.
    pub(crate) fn is_link(&self, number: u32) -> bool {
        self.about.links.contains_key(&number)
    }

    /// What the recorder noted.
    pub(crate) fn noted(&self) -> &[String] {
        &self.about.notes
    }

    /// Whether the check holds on what the program found, which the program then makes anew.
    pub(crate) fn is_emptied(&self) -> bool {
        self.at_first == AtFirst::Emptied
    }

    /// The name of the chosen file as it is shown.
    pub(crate) fn shown(&self) -> String {
        shown_path(&self.names.relative(&self.chosen))
    }

    /// The name of a file by its number, as it is shown.
    pub(crate) fn shown_file(&self, number: u32) -> String {
        let name = self.files.iter().find(|f| f.number == number).and_then(|f| f.names.first());
        let path = name.map_or_else(|| self.about.path(number), String::as_str);
        let path = self.names.relative(path);
        if path == Path::new("") { format!("file {number}") } else { shown_path(&path) }
    }
}
