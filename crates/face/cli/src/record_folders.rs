//! Folders that a program found: what it makes in them can be lost, and they cannot.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trace::About;
use trace::names::path_of;

/// The most entries of folders that are looked at before a program begins.
const MOST: usize = 100_000;

/// What a folder is, wherever it lies: its device and its number there.
type Identity = (u64, u64);

/// The folders that are there when a program begins: those in which it begins, above that one, and in the folders that its command names.
pub(crate) struct Begun(BTreeMap<PathBuf, Identity>);

impl Begun {
    /// Now.
    pub(crate) fn now(command: &[String]) -> Begun {
        let here = std::env::current_dir().unwrap_or_default();
        let named = command.iter().skip(1).filter_map(|word| Path::new(word).canonicalize().ok());
        let mut begun = Begun(BTreeMap::new());
        let mut left = MOST;
        for folder in std::iter::once(here.clone()).chain(named) {
            begun.note(folder, &mut left);
        }
        for folder in here.ancestors() {
            begun.0.extend(identity(folder).map(|identity| (folder.to_path_buf(), identity)));
        }
        begun
    }

    /// A folder and those in it, the nearest first, as far as `left` entries go.
    fn note(&mut self, folder: PathBuf, left: &mut usize) {
        let mut folders = VecDeque::from([folder]);
        while let Some(folder) = folders.pop_front() {
            let Some(identity) = identity(&folder) else { continue };
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                *left = left.saturating_sub(1);
                if *left == 0 {
                    return;
                }
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push_back(entry.path());
                }
            }
            self.0.insert(folder, identity);
        }
    }

    /// Notes the folders that the program found and left where they were, of those that hold what it recorded: one that was renamed, or
    /// that another has taken the place of, is not there whatever is lost.
    pub(crate) fn note_folders(&self, about: &mut About) {
        let stays = |folder: &str| {
            let path = path_of(folder);
            self.0.get(&path).is_some_and(|found| identity(&path) == Some(*found))
        };
        let found: BTreeSet<String> =
            holding(about).into_iter().filter(|folder| stays(folder)).map(str::to_string).collect();
        about.folders = found;
    }
}

/// That of a folder; none of what is no folder, and of a link to one.
fn identity(path: &Path) -> Option<Identity> {
    let found = path.symlink_metadata().ok().filter(std::fs::Metadata::is_dir)?;
    Some((found.dev(), found.ino()))
}

/// The folders of all that was recorded, and those above them. None to which a recorded name leads, or that lies in one: a link, or
/// a folder that the program renamed.
fn holding(about: &About) -> BTreeSet<&str> {
    let paths = about.files.values().map(|file| file.path.as_str());
    let named: BTreeSet<&str> =
        paths.chain(about.names.values().map(|name| name.trim_end_matches('/'))).collect();
    let is_free = |folder: &str| !named.contains(folder) && above(folder).all(|one| !named.contains(one));
    named.iter().flat_map(|path| above(path)).filter(|folder| is_free(folder)).collect()
}

/// The folders above a path, the nearest first.
fn above(path: &str) -> impl Iterator<Item = &str> {
    path.rmatch_indices('/').map(|(at, _)| &path[..at]).filter(|folder| !folder.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whole;
    use std::collections::BTreeMap;

    #[test]
    fn folders_are_those_that_were_there_before_and_stay_where_nothing_recorded_leads_to() {
        let temporary = whole::beside(&std::env::temp_dir().join("found"), "folders");
        let at = temporary.path().display().to_string();
        let make = |folder: &str| std::fs::create_dir_all(format!("{at}/{folder}")).unwrap();
        let rename = |from: &str, to: &str| {
            std::fs::rename(format!("{at}/{from}"), format!("{at}/{to}")).unwrap();
        };
        for folder in ["old/sub", "moved", "link", "staging", "replaced"] {
            make(folder);
        }
        let begun = Begun::now(&["program".into(), at.clone(), "no folder".into()]);
        for folder in ["new", "other"] {
            make(folder);
        }
        rename("staging", "final");
        rename("other", "replaced");
        let file = |path: &str| trace::File { path: format!("{at}/{path}"), ..trace::File::default() };
        let paths = ["old/sub/a", "new/b", "link", "link/c", "gone/d", "final/f", "replaced/g"];
        let files = paths.iter().enumerate().map(|(n, path)| (n as u32, file(path))).collect();
        let names = BTreeMap::from([(0, format!("{at}/moved/")), (1, format!("{at}/moved/e"))]);
        let mut about = About { files, names, ..About::default() };
        begun.note_folders(&mut about);
        let own = about.folders.iter().filter_map(|folder| folder.strip_prefix(&at));
        assert_eq!(own.collect::<Vec<_>>(), ["", "/old", "/old/sub"]);
    }
}
