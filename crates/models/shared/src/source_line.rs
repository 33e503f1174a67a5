//! Places in programs: of the workloads here, and of recorded ones.

use protocol::Site;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Files of recorded programs, each kept once: a place is copied with every access, and names one for good.
static FILES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// A line of a program's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    file: &'static str,
    line: u32,
}

impl SourceLine {
    /// A place of a recorded program; line 0 where only the file is known.
    pub fn recorded(file: &str, line: u32) -> SourceLine {
        let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = files.get(file).copied().unwrap_or_else(|| {
            let new: &'static str = String::from(file).leak();
            files.insert(new);
            new
        });
        SourceLine { file: kept, line }
    }

    /// The file's path, as far as it is known.
    pub fn file(&self) -> &'static str {
        self.file
    }

    /// The line.
    pub fn line(&self) -> u32 {
        self.line
    }
}

impl From<Site> for SourceLine {
    fn from(site: Site) -> SourceLine {
        SourceLine { file: site.file(), line: site.line() }
    }
}

/// With as much of the file's path as tells it from others.
impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let folder = self.file.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
        f.write_str(&self.file[folder..])?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        Ok(())
    }
}
