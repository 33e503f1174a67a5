//! Files that a check needs and a recording does not have, since its program only read them.

use crate::Failure;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use trace::About;

/// The most files that are laid out for every run of a check.
const MOST: usize = 10_000;

/// The regular files of `folder` and of its folders, by path, that `about` has under no name.
///
/// # Errors
/// When the folder cannot be read, or holds more than [`MOST`].
pub(crate) fn files(folder: &Path, about: &About) -> Result<Vec<PathBuf>, Failure> {
    let broken = |path: &Path, what: &dyn std::fmt::Display| {
        Failure::BadInput(format!("--beside {}: {}: {what}", folder.display(), path.display()))
    };
    let recorded: BTreeSet<&Path> = about
        .files
        .values()
        .map(|f| f.path.as_str())
        .chain(about.names.values().map(String::as_str))
        .map(Path::new)
        .collect();
    let mut folders = vec![folder.canonicalize().map_err(|e| broken(folder, &e))?];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|e| broken(&folder, &e))? {
            let entry = entry.map_err(|e| broken(&folder, &e))?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(|e| broken(&folder, &e))?);
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && !recorded.contains(path.as_path()) {
                found.push(path);
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
    }
    found.sort();
    Ok(found)
}

/// Copies files to their names in a folder, where it has none of that name.
pub(crate) fn copy(files: &[(PathBuf, PathBuf)], folder: &Path) -> std::io::Result<()> {
    for (from, name) in files {
        let to = folder.join(name);
        if to.exists() {
            continue;
        }
        if let Some(parent) = to.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::copy(from, &to)?;
    }
    Ok(())
}
