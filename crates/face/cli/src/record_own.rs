//! An output that the recorded program has as a file of its own: that stays, and the recording goes beside it.

use crate::{Failure, recordings};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use trace::About;

/// What a file is known by, and when it was changed last.
type State = (u64, u64, i64, i64);

fn state(path: &Path) -> Option<State> {
    let about = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    Some((about.dev(), about.ino(), about.ctime(), about.ctime_nsec()))
}

/// An output before the program runs.
pub(crate) struct Output<'a> {
    path: &'a Path,
    before: Option<State>,
}

impl Output<'_> {
    pub(crate) fn of(path: &Path) -> Output<'_> {
        Output { path, before: state(path) }
    }

    /// Where the recording goes: beside what the program wrote under the output's name, or has in the recording.
    pub(crate) fn place(&self, about: &About) -> PathBuf {
        let now = state(self.path);
        let identity = now.map(|(device, inode, ..)| format!("{device}:{inode}"));
        let is_recorded = identity.is_some_and(|own| about.files.values().any(|file| file.identity == own));
        if is_recorded || now.is_some() && now != self.before {
            return recordings::numbered(self.path, "recorded");
        }
        self.path.to_path_buf()
    }

    /// Says it where the recording went elsewhere.
    pub(crate) fn is(&self, place: &Path) -> Result<(), Failure> {
        if place == self.path {
            return Ok(());
        }
        let (own, other) = (self.path.display(), place.display());
        Err(Failure::BadInput(format!(
            "--out: {own} is a file of the program's, and stays; the recording is {other} (give --out another name)"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::File;

    #[test]
    fn a_file_of_the_programs_stays() {
        let folder = crate::whole::beside(&std::env::temp_dir().join("own"), "recorded");
        std::fs::create_dir_all(folder.path()).unwrap();
        let [out, other] = ["y.cpt", "y.recorded.cpt"].map(|name| folder.path().join(name));
        let mut about = About::default();
        assert_eq!(Output::of(&out).place(&about), out);
        let output = Output::of(&out);
        std::fs::write(&out, "data").unwrap();
        assert_eq!(output.place(&about), other, "it was written meanwhile");
        assert!(output.is(&out).is_ok() && output.is(&other).is_err());
        let earlier = Output::of(&out);
        assert_eq!(earlier.place(&about), out, "an earlier recording is replaced");
        let (device, inode, ..) = state(&out).unwrap();
        let file = File { identity: format!("{device}:{inode}"), path: "y.cpt".into(), bytes: 4 };
        about.files.insert(0, file);
        assert_eq!(earlier.place(&about), other, "the program mapped it");
    }
}
