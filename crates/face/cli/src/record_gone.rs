//! Files that are gone when a recorded program has ended, and of which the recording says that they are there.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use trace::names::path_of;
use trace::space::{LARGEST_FILE, Space, file_of};
use trace::{About, Call, Differs, Kind, Recording};

/// What a whole file is, where its bytes are told.
pub(crate) fn whole(file: u32) -> Differs {
    Differs { file, offset: 0, bytes: LARGEST_FILE }
}

/// Whether all of a file is what is not explained: it is gone.
pub(crate) fn is_whole(differs: &Differs) -> bool {
    differs.bytes >= LARGEST_FILE
}

/// How it is told.
pub(crate) const GONE: &str = "it is gone, and nothing recorded removes or renames it: what the recorder does not see did, before the program ended or after";

/// The names that files have at the end by what is recorded.
pub(crate) struct Left(BTreeMap<String, u32>);

impl Left {
    /// Follows all calls that change names.
    pub(crate) fn of(recording: &Recording) -> Left {
        let about = recording.about();
        let found = about.files.iter().filter(|(_, file)| !file.path.is_empty());
        let mut left = Left(found.map(|(number, file)| (file.path.clone(), *number)).collect());
        let mut space = Space::new();
        for (done, record) in recording.in_order().enumerate() {
            let operand = space.follow(&record);
            if let (Kind::Call, Some((file, _))) = (record.kind, file_of(record.address)) {
                left.follow(about, record.value, file, operand);
            }
            if done.is_multiple_of(1 << 16) {
                units::watch::pass(done as u64, recording.len());
            }
        }
        left
    }

    fn follow(&mut self, about: &About, value: u64, file: u32, operand: Option<u64>) {
        let Some(name) = about.names.get(&(value >> 8)) else { return };
        let from = operand.and_then(|from| about.names.get(&from));
        match (Call::from_number(value as u8), from) {
            (Some(Call::Link), _) => _ = self.0.insert(name.clone(), file),
            (Some(Call::Unlink), _) => _ = self.0.remove(name),
            (Some(Call::Rename), Some(from)) if from.ends_with('/') => self.move_folder(from, name),
            (Some(Call::Rename), Some(from)) => {
                self.0.remove(from);
                self.0.insert(name.clone(), file);
            }
            (None | Some(_), _) => {}
        }
    }

    fn move_folder(&mut self, from: &str, to: &str) {
        let names = std::mem::take(&mut self.0).into_iter();
        let moved = |name: String| name.strip_prefix(from).map(|rest| format!("{to}{rest}")).unwrap_or(name);
        self.0 = names.map(|(name, file)| (moved(name), file)).collect();
    }

    /// Whether the recording says of a file that it has no name any more.
    pub(crate) fn is_removed(&self, file: u32) -> bool {
        !self.0.values().any(|other| *other == file)
    }

    /// Whether a file is gone, without anything in the recording that took it away: nothing has the names that it would have. Not where its
    /// file system is not to be seen from here, as of a program with mounts of its own, nor where nothing outlasts a power failure.
    pub(crate) fn is_lost(&self, file: u32, identity: &str) -> bool {
        let mut names =
            self.0.iter().filter(|(_, other)| **other == file).map(|(name, _)| path_of(name)).peekable();
        names.peek().is_some() && names.all(|name| is_absent(&name, identity))
    }
}

fn is_absent(path: &Path, identity: &str) -> bool {
    let is_missing = |path: &Path| {
        let missing = [ErrorKind::NotFound, ErrorKind::NotADirectory];
        path.symlink_metadata().is_err_and(|error| missing.contains(&error.kind()))
    };
    let device = identity.split(':').next().unwrap_or_default();
    let above = path.ancestors().skip(1).find_map(|folder| folder.metadata().ok());
    let is_seen = above.is_some_and(|above| above.dev().to_string() == device);
    is_seen && is_missing(path) && !path.starts_with("/dev/shm")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::whole;
    use std::collections::BTreeSet;
    use trace::space::file_address;
    use trace::{File, Record, Trace};

    #[test]
    fn a_file_is_lost_where_no_call_takes_it_away() {
        let temporary = whole::beside(&std::env::temp_dir().join("found"), "gone");
        let at = temporary.path().canonicalize().unwrap_or_else(|_| temporary.path().into());
        std::fs::create_dir_all(&at).unwrap();
        let (device, at) = (at.metadata().unwrap().dev(), at.display().to_string());
        let mut trace = Trace::default();
        let paths = [
            "removed", "lost", "there", "renamed", "replaced", "d/moved", "again", "again", "linked",
            "d/lost",
        ];
        for (number, path) in (0..).zip(paths) {
            let file =
                File { identity: format!("{device}:{number}"), path: format!("{at}/{path}"), bytes: 0 };
            trace.about.files.insert(number, file);
        }
        let elsewhere =
            File { identity: format!("{}:1", device + 1), path: format!("{at}/elsewhere"), bytes: 0 };
        trace.about.files.insert(20, elsewhere);
        let names =
            ["removed", "renamed", "new", "replaced", "d/", "e/", "e/moved", "again", "other", "linked"];
        trace.about.names = (0..).zip(names.map(|name| format!("{at}/{name}"))).collect();
        let mut push = |kind, file, value| {
            let stamp = trace.len() as u32;
            let address = file_address(file, 0);
            trace.push(Record {
                address,
                value,
                stamp,
                location: 0,
                instructions: 0,
                thread: 0,
                kind,
                size: 8,
            });
        };
        let mut rename = |file, from, to: u64| {
            push(Kind::Operand, file, from);
            push(Kind::Call, file, to << 8 | Call::Rename as u64);
        };
        rename(3, 1, 2);
        rename(3, 2, 3);
        rename(5, 4, 5);
        for (call, file, name) in [
            (Call::Unlink, 0, 0),
            (Call::Unlink, 5, 6),
            (Call::Link, 6, 7),
            (Call::Unlink, 6, 7),
            (Call::Link, 7, 7),
            (Call::Link, 8, 8),
            (Call::Unlink, 8, 9),
        ] {
            push(Kind::Call, file, name << 8 | call as u64);
        }
        std::fs::write(format!("{at}/there"), "").unwrap();
        std::fs::write(format!("{at}/replaced"), "").unwrap();
        let recording = Recording::of_trace(trace).unwrap();
        let (left, about) = (Left::of(&recording), recording.about());
        let all = || about.files.keys().copied();
        let lost: BTreeSet<u32> = all().filter(|n| left.is_lost(*n, &about.files[n].identity)).collect();
        // 9 was in a folder that has another name now.
        assert_eq!(lost, BTreeSet::from([1, 7, 8, 9]));
        let removed: BTreeSet<u32> = all().filter(|n| left.is_removed(*n)).collect();
        assert_eq!(removed, BTreeSet::from([0, 4, 5, 6]));
    }
}
