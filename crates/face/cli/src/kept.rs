//! Results that bands are made of, a file for each run: what is there is not simulated again.

use crate::Failure;
use crate::output;
use evaluate::bands::study::Keep;
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

/// A folder of results.
pub(crate) struct Kept {
    folder: PathBuf,
}

impl Kept {
    /// In the folder of a report, or in the user's cache.
    pub(crate) fn new(out: Option<&Path>) -> Kept {
        let folder = match out {
            Some(out) => out.join("runs"),
            None => output::cache().join("bands"),
        };
        let text = format!("runs that are done are in {} (the same command goes on)", folder.display());
        crate::interrupt::keeps(&folder, text);
        Kept { folder }
    }
}

impl Keep for Kept {
    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.join(format!("{name}.json"))).ok()
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let written = output::write(&self.folder, &format!("{name}.json"), text.as_bytes());
        written.map_err(|failure| match failure {
            Failure::BadInput(text) | Failure::DoesNotHold(text) => text,
        })
    }
}

/// What results hang on besides machine, workload and seed: this program's own bytes, and the recordings that are
/// replayed. Without the former nothing of an earlier call is taken.
pub(crate) fn build(workload: Option<&str>) -> String {
    let own = own_file().and_then(|path| std::fs::read(path).ok());
    let own = own.map_or_else(
        || format!("process {}", std::process::id()),
        |bytes| format!("{:016x}", XxHash3_64::oneshot(&bytes)),
    );
    let named = workload.and_then(output::recording).map_or("", |(_, files)| files);
    let state = |file: &str| {
        let about = std::fs::metadata(file).ok()?;
        Some(format!("{file} {} {:?}", about.len(), about.modified().ok()?))
    };
    let files: Vec<String> = named.split(',').filter_map(state).collect();
    format!("{own} {named} {files:?}")
}

/// The file that this function was loaded from: the command, or the Python module.
fn own_file() -> Option<PathBuf> {
    let here = build as fn(Option<&str>) -> String as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let line = maps.lines().find(|line| {
        let ends = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text: &str| usize::from_str_radix(text, 16).ok();
        ends.and_then(|(from, to)| Some((number(from)?..number(to)?).contains(&here))).unwrap_or(false)
    })?;
    line.find('/').map(|at| PathBuf::from(&line[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_known_by_its_own_file() {
        assert_eq!(own_file(), std::env::current_exe().ok());
        assert_eq!(build(None), build(None));
        assert!(build(Some("trace:/proc/self/maps")).contains("/proc/self/maps 0"));
    }
}
