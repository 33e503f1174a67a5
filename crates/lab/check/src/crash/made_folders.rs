//! Folders that a recorded program makes and whose names are durable by the way alone: nothing syncs the folders that they are in.

use super::files::{What, moved};
use super::log::SiteId;
use std::collections::BTreeSet;
use std::ops::Range;

/// So many folders are followed at once.
const MOST: usize = 1000;

/// A folder whose own name nothing has made durable yet.
pub(super) struct Made {
    pub(super) path: String,
    pub(super) site: SiteId,
    thread: u16,
    /// The first addresses of files that got a name in it.
    files: BTreeSet<u64>,
    /// It, or something in it, was synced: somebody expects to find it again.
    kept: bool,
}

impl Made {
    fn holds(&self, path: &str) -> bool {
        path.strip_prefix(&self.path).is_some_and(|rest| rest.starts_with('/'))
    }

    fn is_in(&self, folder: &str) -> bool {
        self.path.rsplit_once('/').is_some_and(|(above, _)| above == folder)
    }
}

/// Those of a recording.
#[derive(Default)]
pub(super) struct MadeFolders(Vec<Made>);

impl MadeFolders {
    pub(super) fn make(&mut self, path: &str, site: SiteId, thread: u16) {
        self.remove(path);
        if self.0.len() < MOST {
            let files = BTreeSet::new();
            self.0.push(Made { path: path.into(), site, thread, files, kept: false });
        }
    }

    pub(super) fn remove(&mut self, path: &str) {
        self.0.retain(|made| made.path != path);
    }

    /// A change of the names of the file at `base`, or of a folder.
    pub(super) fn follow(&mut self, base: u64, what: &What) {
        let named = |made: &mut Made, name: &str| {
            if made.holds(name) {
                made.files.insert(base);
            }
        };
        let gone = |made: &mut Made, name: &str| {
            if made.holds(name) {
                made.files.remove(&base);
            }
        };
        for made in &mut self.0 {
            match what {
                What::Link(name) => named(made, name),
                What::Unlink(name) => gone(made, name),
                What::Rename(from, to) if from.ends_with('/') => {
                    if let Some(path) = moved(&format!("{}/", made.path), from, to) {
                        made.path = path.trim_end_matches('/').into();
                    }
                }
                What::Rename(from, to) => {
                    gone(made, from);
                    named(made, to);
                }
                What::Size(_) | What::AtLeast(_) => {}
            }
        }
    }

    /// A sync call of a folder, where it is known which one it is, or of the bytes that it covers.
    pub(super) fn sync(&mut self, folder: Option<&str>, covered: &Range<u64>) {
        let Some(folder) = folder else {
            // All files, or a folder that may be any.
            if covered.is_empty() || covered.end == u64::MAX {
                self.0.clear();
            }
            let synced = |made: &Made| made.files.range(covered.clone()).next().is_some();
            self.0.iter_mut().for_each(|made| made.kept |= synced(made));
            return;
        };
        self.0.retain(|made| !made.is_in(folder));
        self.0.iter_mut().for_each(|made| made.kept |= made.path == folder || made.holds(folder));
    }

    /// A thread acknowledges something, or the program ends: its folders whose own names no sync was for.
    pub(super) fn told(&mut self, thread: Option<u16>) -> Vec<Made> {
        let is_its = |made: &mut Made| thread.is_none_or(|thread| thread == made.thread);
        self.0.extract_if(.., |made| made.kept && is_its(made)).collect()
    }
}
