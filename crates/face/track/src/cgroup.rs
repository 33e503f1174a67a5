//! The processes of a cgroup, from its `cgroup.procs` and those of the cgroups below.

use crate::Error;
use std::io;
use std::path::{Path, PathBuf};

const LIST: &str = "cgroup.procs";

/// The folder of a cgroup, given as it is or as its path below where cgroups are mounted (`system.slice/redis.service`).
///
/// # Errors
/// When there is no such cgroup.
pub fn cgroup(path: &Path) -> Result<PathBuf, Error> {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
    let mounted = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (at, kind) = (words.next()?, words.next()?);
        (kind == "cgroup2").then(|| Path::new(at).join(path.strip_prefix("/").unwrap_or(path)))
    });
    let mut places = std::iter::once(path.to_path_buf()).chain(mounted);
    places.find(|place| place.join(LIST).exists()).ok_or_else(|| {
        Error(format!("--cgroup {}: no cgroup is there or below where cgroup v2 is mounted", path.display()))
    })
}

/// The numbers of the processes in a cgroup and those below it, without the caller's, in order.
///
/// # Errors
/// When the kernel does not list them.
pub fn members(folder: &Path) -> Result<Vec<i32>, Error> {
    let mut found = Vec::new();
    add(folder, &mut found).map_err(|e| Error(format!("--cgroup {}: {e}", folder.display())))?;
    found.retain(|pid| *pid != std::process::id() as i32);
    found.sort_unstable();
    Ok(found)
}

fn add(folder: &Path, found: &mut Vec<i32>) -> io::Result<()> {
    // A process of another namespace is listed as 0.
    let text = std::fs::read_to_string(folder.join(LIST))?;
    found.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()).filter(|pid| *pid > 0));
    for entry in std::fs::read_dir(folder)?.flatten() {
        if entry.file_type()?.is_dir() {
            // One that goes meanwhile has no processes.
            _ = add(&entry.path(), found);
        }
    }
    Ok(())
}
