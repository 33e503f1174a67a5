//! Folders that a program found: what it makes in them can be lost, and they cannot.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};
use trace::About;
use trace::names::path_of;

/// How often a clock of files is looked at, and how long in between: most tick every few milliseconds.
const TRIES: (usize, Duration) = (40, Duration::from_millis(1));

/// The time of files when a program begins; none where it is not to be had.
pub(crate) struct Begun(Option<SystemTime>);

impl Begun {
    /// Now: what is there by then is older than that, and nothing else is. `probe` is made, and goes again.
    pub(crate) fn now(probe: &Path) -> Begun {
        let time = next_tick(probe);
        _ = std::fs::remove_file(probe);
        Begun(time.ok())
    }

    /// Notes the folders that the program found, of those that hold what it recorded.
    pub(crate) fn note_folders(&self, about: &mut About) {
        let Some(begun) = self.0 else { return };
        let is_older = |folder: &str| {
            let is_folder = std::fs::metadata(path_of(folder)).ok().filter(std::fs::Metadata::is_dir);
            is_folder.and_then(|folder| folder.created().ok()).is_some_and(|made| made < begun)
        };
        let found: BTreeSet<String> =
            holding(about).into_iter().filter(|folder| is_older(folder)).map(str::to_string).collect();
        about.folders = found;
    }
}

/// A later time than that of anything that was there before; the same where no clock ticks.
fn next_tick(probe: &Path) -> std::io::Result<SystemTime> {
    let mut file = File::create(probe)?;
    let first = file.metadata()?.modified()?;
    for _ in 0..TRIES.0 {
        std::thread::sleep(TRIES.1);
        file.write_all(b"x")?;
        let now = file.metadata()?.modified()?;
        if now > first {
            return Ok(now);
        }
    }
    Ok(first)
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
    use crate::recordings;
    use std::collections::BTreeMap;

    #[test]
    fn folders_are_those_that_were_there_before_and_that_nothing_recorded_leads_to() {
        let temporary = recordings::beside(&std::env::temp_dir().join("found"), "folders");
        let at = temporary.path().display().to_string();
        for folder in ["old/sub", "moved", "link"] {
            std::fs::create_dir_all(format!("{at}/{folder}")).unwrap();
        }
        let begun = Begun::now(&temporary.path().join("probe"));
        std::fs::create_dir(format!("{at}/new")).unwrap();
        let file = |path: &str| trace::File { path: format!("{at}/{path}"), ..trace::File::default() };
        let paths = ["old/sub/a", "new/b", "link", "link/c", "gone/d"];
        let files = paths.iter().enumerate().map(|(n, path)| (n as u32, file(path))).collect();
        let names = BTreeMap::from([(0, format!("{at}/moved/")), (1, format!("{at}/moved/e"))]);
        let mut about = About { files, names, ..About::default() };
        begun.note_folders(&mut about);
        let own = about.folders.iter().filter_map(|folder| folder.strip_prefix(&at));
        assert_eq!(own.collect::<Vec<_>>(), ["", "/old", "/old/sub"]);
        assert!(!temporary.path().join("probe").exists());
    }
}
