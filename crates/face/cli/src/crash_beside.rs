//! What a check needs and a recording does not have: files that its program only read, folders without a file, links.

use crate::Failure;
use crate::crash_names::Names;
use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The most files that are laid out for every run of a check.
const MOST: usize = 10_000;

/// What something beside the recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    File,
    /// One with nothing in it.
    Folder,
    Link,
}

/// Something that is beside the recording's files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Beside {
    pub(crate) path: PathBuf,
    what: What,
}

/// The regular files, links and empty folders in `folder` and its folders that have no path of `recorded`.
///
/// # Errors
/// When the folder cannot be read, or holds more than [`MOST`].
pub(crate) fn all(folder: &Path, recorded: &BTreeSet<PathBuf>) -> Result<Vec<Beside>, Failure> {
    let broken = |path: &Path, what: &dyn std::fmt::Display| {
        Failure::BadInput(format!("--beside {}: {}: {what}", folder.display(), path.display()))
    };
    let mut folders = vec![folder.canonicalize().map_err(|e| broken(folder, &e))?];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        let mut entries = 0;
        for entry in std::fs::read_dir(&folder).map_err(|e| broken(&folder, &e))? {
            entries += 1;
            let entry = entry.map_err(|e| broken(&folder, &e))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(|e| broken(&folder, &e))?);
            let what = if kind.is_dir() {
                folders.push(path);
                continue;
            } else if kind.is_file() {
                What::File
            } else if kind.is_symlink() {
                What::Link
            } else {
                continue;
            };
            if !recorded.contains(&path) {
                found.push(Beside { path, what });
            }
        }
        if found.len() > MOST {
            return Err(broken(
                &folder,
                &format!(
                    "more than {MOST} files, each of which is copied for every image; name a folder of fewer"
                ),
            ));
        }
        if entries == 0 {
            found.push(Beside { path: folder, what: What::Folder });
        }
    }
    found.sort();
    Ok(found)
}

impl Beside {
    /// How many bytes it has.
    pub(crate) fn bytes(&self) -> u64 {
        match self.what {
            What::File => self.path.metadata().map_or(0, |about| about.len()),
            What::Folder | What::Link => 0,
        }
    }

    /// Copies it to its name in a folder, where that has none of that name.
    pub(crate) fn copy(&self, folder: &Path, names: &Names) -> std::io::Result<()> {
        let to = folder.join(names.relative_path(&self.path));
        if to.symlink_metadata().is_ok() {
            return Ok(());
        }
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent)?;
        }
        match self.what {
            What::File => std::fs::copy(&self.path, &to).map(|_| ()),
            What::Folder => std::fs::create_dir_all(&to),
            What::Link => symlink(names.leads_to(&std::fs::read_link(&self.path)?, folder), &to),
        }
    }
}
