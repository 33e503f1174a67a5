//! What can be told from the log alone, without trying any image.

use super::files::{Change, What, moved};
use super::in_flight::writes;
use super::log::{Event, Happened, Kind, Log, SiteId};
use super::made_folders::MadeFolders;
use super::recorded::{OUTSIDE, UNSEEN};
use protocol::FenceKind;
use std::collections::{BTreeMap, BTreeSet};
use trace::names::own_name;
use units::watch;

/// A remark about a place in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `never-flushed`, `never-synced`, `named-by-another-sync`, `name-not-synced`, `flushed-twice` or `idle-fence`.
    pub kind: &'static str,
    /// Where.
    pub site: String,
    /// How often, or of how many lines (see [`Finding::counted`]).
    pub times: usize,
    /// The file whose lines they are, as it was called first; of a remark about names the first of them. None of a program that
    /// comes with the project, and of flushes and fences.
    pub file: Option<String>,
    /// The shortest end of that path that tells it from the program's other files, as failures name files.
    pub name: Option<String>,
    /// Nothing that lies in this file was flushed or synced by anybody.
    pub is_of_forgotten_file: bool,
}

impl Finding {
    /// What `times` counts: `lines` that are not durable at the end, or `times` that a flush or fence was executed.
    pub fn counted(&self) -> &'static str {
        if self.kind.starts_with("never-") { "lines" } else { "times" }
    }
}

/// See [`Finding::kind`].
const BY_ANOTHER_SYNC: &str = "named-by-another-sync";
const NAME_NOT_SYNCED: &str = "name-not-synced";
const IDLE_FENCE: &str = "idle-fence";

/// How a line stands: the last store to it, whether the kernel did it, and whether it was flushed or synced since.
#[derive(Clone, Copy)]
struct LineState {
    store: SiteId,
    by_kernel: bool,
    flushed: bool,
}

/// Names that are durable by the sync of another file or folder alone, as on a file system with a journal: POSIX promises that to nobody.
/// Only of files that the program has synced before, which it expects to find again.
#[derive(Default)]
struct Names {
    synced: BTreeSet<u64>,
    pending: Vec<Named>,
    folders: MadeFolders,
}

/// A name that nothing has made durable yet, but for the sync of another folder.
struct Named {
    /// The first address of its file.
    base: u64,
    name: String,
    /// Before it was renamed.
    from: Option<String>,
    site: SiteId,
    thread: u16,
    /// Another folder was synced since. Its own may still be, before anybody is told that the name is there.
    by_folder: bool,
}

impl Named {
    /// Where it was named, and how.
    fn told(self) -> (SiteId, String) {
        (self.site, self.name)
    }

    /// A folder has another name.
    fn go_along(&mut self, from: &str, to: &str) {
        let names = std::iter::once(&mut self.name).chain(&mut self.from);
        names.for_each(|name| *name = moved(name, from, to).unwrap_or_else(|| std::mem::take(name)));
    }

    /// Whether it is in a folder. That of the one in which it was before makes durable that it has gone from there.
    fn is_in(&self, folder: &str) -> bool {
        let name = self.name.trim_end_matches('/');
        name.rfind('/').is_some_and(|end| name[..end] == *folder)
    }
}

/// So many names may wait for the sync of their own folder after that of another one.
const MOST_PENDING: usize = 1000;

impl Names {
    fn follow(&mut self, log: &Log, change: &Change, call: &Event) {
        let Some(base) = log.files.get(change.file).map(|file| file.base) else { return };
        self.folders.follow(base, &change.what);
        match &change.what {
            What::Size(_) | What::AtLeast(_) => {}
            What::Unlink(name) => _ = self.forget(name),
            What::Link(name) => self.note(base, name, None, call),
            What::Rename(from, name) => {
                let is_back = self.forget(from).iter().any(|before| before.from.as_ref() == Some(name));
                self.pending.iter_mut().for_each(|pending| pending.go_along(from, name));
                if !is_back {
                    self.note(base, name, Some(from), call);
                }
            }
        }
    }

    /// A folder is made or removed, which is told as a load.
    fn follow_folder(&mut self, log: &Log, event: &Event) {
        match log.folder_change(event) {
            Some((folder, true)) => self.folders.make(folder, event.site, event.thread),
            Some((folder, false)) => self.folders.remove(folder),
            None => {}
        }
    }

    fn note(&mut self, base: u64, name: &str, from: Option<&str>, call: &Event) {
        if self.synced.contains(&base) {
            let (name, from) = (name.to_string(), from.map(str::to_string));
            let (site, thread) = (call.site, call.thread);
            self.pending.push(Named { base, name, from, site, thread, by_folder: false });
        }
    }

    /// What has gone again, or back, is nothing that anybody expects to find.
    fn forget(&mut self, name: &str) -> Vec<Named> {
        self.pending.extract_if(.., |pending| pending.name == name).collect()
    }

    /// A sync call: the names that it makes durable by the way.
    fn sync(&mut self, log: &Log, event: &Event) -> Vec<Named> {
        let covered = event.address..event.address.saturating_add(event.value);
        // An empty file has an address, unlike a folder of which it is not told which one it is.
        let is_unknown = covered.is_empty() && (event.address == 0 || event.address & OUTSIDE != 0);
        self.synced.extend(log.files.iter().map(|file| file.base).filter(|base| *base == event.address));
        self.synced.extend(log.files.iter().map(|file| file.base).filter(|base| covered.contains(base)));
        let folder = log.folder(event);
        self.folders.sync(folder, &covered);
        if let Some(folder) = folder {
            self.pending.retain(|pending| !pending.is_in(folder));
            self.pending.iter_mut().for_each(|pending| pending.by_folder = true);
            let more = self.pending.len().saturating_sub(MOST_PENDING);
            return self.pending.drain(..more).collect();
        }
        let pending = std::mem::take(&mut self.pending).into_iter();
        pending.filter(|p| !is_unknown && p.base != event.address && !covered.contains(&p.base)).collect()
    }

    /// A thread acknowledges something, or the program ends: its names that another folder's sync alone has made durable.
    fn told(&mut self, thread: Option<u16>) -> Vec<Named> {
        let is_its = |pending: &mut Named| thread.is_none_or(|thread| thread == pending.thread);
        self.pending.extract_if(.., |pending| pending.by_folder && is_its(pending)).collect()
    }
}

/// Names to tell of: of each site how often, and the first of them.
#[derive(Default)]
struct NamesTold(BTreeMap<SiteId, (usize, String)>);

impl NamesTold {
    fn add(&mut self, named: impl IntoIterator<Item = (SiteId, String)>, counts: bool) {
        for (site, name) in named.into_iter().filter(|_| counts) {
            self.0.entry(site).or_insert((0, name)).0 += 1;
        }
    }

    /// What `names` tells now, of a thread or at the end.
    fn add_told(&mut self, names: &mut Names, thread: Option<u16>, counts: bool) {
        self.add(names.told(thread).into_iter().map(Named::told), counts);
        self.add(names.folders.told(thread).into_iter().map(|made| (made.site, made.path)), counts);
    }
}

/// Of which files anything was made durable, by index.
#[derive(Default)]
struct Kept(BTreeSet<usize>);

impl Kept {
    fn add(&mut self, log: &Log, from: u64, end: u64) {
        let last = end.checked_sub(1).filter(|last| *last >= from).and_then(|last| log.file_at(last));
        self.0.extend(last.into_iter().flat_map(|last| log.file_at(from).unwrap_or(0)..=last));
    }
}

/// The shortest name that is the file's alone; a folder's own.
fn shortest(log: &Log, file: Option<&str>) -> Option<String> {
    let path = file?.trim_end_matches('/');
    Some(log.ends.get(path).map_or_else(|| own_name(path), String::as_str).to_string())
}

/// Lines that nothing has made durable, by kind, place and file. How code without hooks flushes what it stores is not seen.
fn left_lines(log: &Log, lines: &BTreeMap<u64, LineState>, kept: &Kept) -> Vec<Finding> {
    let mut left: BTreeMap<(&'static str, SiteId, Option<usize>), usize> = BTreeMap::new();
    for (line, state) in lines.iter().filter(|(_, s)| !s.flushed && log.place(s.store) != UNSEEN) {
        let kind = if state.by_kernel { "never-synced" } else { "never-flushed" };
        *left.entry((kind, state.store, log.file_at(line * 64))).or_default() += 1;
    }
    let finding = |((kind, site, file), times): ((&'static str, SiteId, Option<usize>), usize)| {
        let is_of_forgotten_file = file.is_some_and(|file| !kept.0.contains(&file));
        let file = file.and_then(|file| log.first_name(file));
        let name = shortest(log, file.as_deref());
        Finding { kind, site: log.place(site).to_string(), times, file, name, is_of_forgotten_file }
    };
    left.into_iter().map(finding).collect()
}

/// Stores that nothing flushes or syncs up to the end, flushes of lines without a new store, and fences with nothing
/// to wait for, unless the program flushes nothing, and stores to no mapped file or makes sync calls. Only of the region of
/// interest. For machines whose caches are volatile and that have no persist path.
pub fn persistence_lint(log: &Log) -> Vec<Finding> {
    let mut found: BTreeMap<(&'static str, SiteId), usize> = BTreeMap::new();
    let mut lines: BTreeMap<u64, LineState> = BTreeMap::new();
    let mut to_fence = vec![false; log.threads];
    let (mut flushes, mut stores, mut syncs) = (false, false, false);
    let (begins, mut names) = (log.begins(), Names::default());
    let (mut by_the_way, mut kept) = (NamesTold::default(), Kept::default());
    for (index, Happened { event, change }) in log.pass().enumerate() {
        if index.is_multiple_of(1 << 16) {
            watch::check();
        }
        let (thread, line) = (event.thread as usize, event.address / 64);
        let mut count = |kind| {
            if index >= begins {
                *found.entry((kind, event.site)).or_default() += 1;
            }
        };
        flushes |= matches!(event.kind, Kind::Flush(_) | Kind::NonTemporal);
        stores |= writes(event.kind);
        syncs |= event.kind == Kind::Sync;
        match event.kind {
            Kind::Store | Kind::Locked { wrote: true } => {
                lines.insert(line, LineState { store: event.site, by_kernel: false, flushed: false });
                to_fence[thread] |= event.kind != Kind::Store;
            }
            Kind::Written { .. } => {
                lines.insert(line, LineState { store: event.site, by_kernel: true, flushed: false });
            }
            Kind::NonTemporal => {
                to_fence[thread] = true;
                kept.add(log, event.address, event.address + 1);
            }
            // Of memory that is no file's nothing is known but that a fence may wait for it.
            Kind::Flush(_) if event.address & OUTSIDE != 0 => to_fence[thread] = true,
            Kind::Flush(_) => {
                to_fence[thread] = true;
                kept.add(log, event.address, event.address + 1);
                match lines.get_mut(&line) {
                    Some(state) if !state.flushed => state.flushed = true,
                    _ => count("flushed-twice"),
                }
            }
            Kind::Sync => {
                let end = event.address.saturating_add(event.value);
                kept.add(log, event.address, end);
                let end = end.div_ceil(64);
                lines.range_mut(line..end.max(line)).for_each(|(_, state)| state.flushed = true);
                by_the_way.add(names.sync(log, &event).into_iter().map(Named::told), index >= begins);
            }
            Kind::Fence(kind) => {
                // An ofence or dfence means more on other machines.
                let x86 = matches!(kind, FenceKind::Sfence | FenceKind::Mfence);
                if x86 && !to_fence[thread] {
                    count(IDLE_FENCE);
                }
                to_fence[thread] = false;
            }
            Kind::Ended => by_the_way.add_told(&mut names, Some(event.thread), index >= begins),
            Kind::Load => names.follow_folder(log, &event),
            Kind::Locked { .. } | Kind::Synchronise(_) | Kind::Begins => {}
            Kind::Change => change.iter().for_each(|change| names.follow(log, change, &event)),
        }
    }
    by_the_way.add_told(&mut names, None, true);
    let mut left = NamesTold::default();
    left.add(names.pending.into_iter().map(Named::told), true);
    let of_names = BTreeMap::from([(BY_ANOTHER_SYNC, by_the_way.0), (NAME_NOT_SYNCED, left.0)]);
    for (kind, named) in &of_names {
        found.extend(named.iter().map(|(site, (times, _))| ((*kind, *site), *times)));
    }
    // Where nothing is flushed, and what is stored to files is synced, fences are there for the program's threads.
    let has_fences = flushes || stores && !syncs;
    found.retain(|(kind, _), _| *kind != IDLE_FENCE || has_fences);
    let finding = |((kind, site), times)| {
        let named = of_names.get(kind).and_then(|named| named.get(&site));
        let file = named.map(|(_, name)| name.clone());
        let name = shortest(log, file.as_deref());
        Finding { kind, site: log.place(site).to_string(), times, file, name, is_of_forgotten_file: false }
    };
    let mut all: Vec<Finding> =
        found.into_iter().map(finding).chain(left_lines(log, &lines, &kept)).collect();
    all.sort_by_key(|f| f.kind);
    all
}
