//! What processes that were killed have left: files and folders with the number of their maker in the name.

use std::fs::{File, Metadata};
use std::path::Path;

/// Whether a process that is no more left a file or folder. One that lives holds a lock on it, whose number may mean another
/// process here: the folder may be another host's or container's too.
fn is_abandoned(path: &Path, process: u32) -> bool {
    let lives = Path::new("/proc").join(process.to_string()).exists();
    !lives && File::open(path).is_ok_and(|f| f.try_lock().is_ok())
}

/// Removes what killed processes left in a folder: of which `maker` knows by its name who made it, and which `is_one`.
pub(crate) fn remove(folder: &Path, maker: impl Fn(&str) -> Option<u32>, is_one: impl Fn(&Metadata) -> bool) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let Some(process) = maker(&entry.file_name().to_string_lossy()) else { continue };
        let Some(about) = entry.metadata().ok().filter(|about| is_one(about)) else { continue };
        let path = entry.path();
        if is_abandoned(&path, process) {
            _ = if about.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        }
    }
}

/// Removes files that they left half made.
pub(crate) fn remove_partial(folder: &Path) {
    let maker =
        |name: &str| name.strip_prefix('.')?.strip_suffix(".partial")?.rsplit_once('.')?.1.parse().ok();
    remove(folder, maker, Metadata::is_file);
}
