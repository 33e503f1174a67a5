//! Places in programs: of the workloads here, and of recorded ones.

use protocol::Site;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Files of recorded programs, each kept once: a place is copied with every access, and names one for good.
static FILES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// A file's name, kept for good.
fn kept(file: &str) -> &'static str {
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    files.get(file).copied().unwrap_or_else(|| {
        let new: &'static str = String::from(file).leak();
        files.insert(new);
        new
    })
}

/// A line of a program's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    file: &'static str,
    line: u32,
    /// Where the function was called, where that tells more.
    caller: Option<(&'static str, u32)>,
}

impl SourceLine {
    /// A place of a recorded program; line 0 where only the file is known.
    pub fn recorded(file: &str, line: u32) -> SourceLine {
        SourceLine { file: kept(file), line, caller: None }
    }

    /// The same, with where its function was called.
    #[must_use]
    pub fn called_at(self, file: &str, line: u32) -> SourceLine {
        SourceLine { caller: Some((kept(file), line)), ..self }
    }

    /// The file and line of the call of its function, where that was recorded and the function is called in several places.
    pub fn caller(&self) -> Option<(&'static str, u32)> {
        self.caller
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
        SourceLine { file: site.file(), line: site.line(), caller: None }
    }
}

/// With as much of each file's path as tells it from others.
impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        spell(f, self.file, self.line)?;
        if let Some((file, line)) = self.caller {
            f.write_str(" (called at ")?;
            spell(f, file, line)?;
            f.write_str(")")?;
        }
        Ok(())
    }
}

fn spell(f: &mut fmt::Formatter<'_>, file: &str, line: u32) -> fmt::Result {
    let folder = file.rmatch_indices('/').nth(1).map_or(0, |(at, _)| at + 1);
    f.write_str(&file[folder..])?;
    if line > 0 {
        write!(f, ":{line}")?;
    }
    Ok(())
}
