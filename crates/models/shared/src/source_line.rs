//! Places in programs: of the workloads here, and of recorded ones.

use protocol::Site;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

/// Places of recorded programs, each kept once and for good: a place is copied with every access.
static PLACES: Mutex<BTreeSet<&'static Place>> = Mutex::new(BTreeSet::new());

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    file: String,
    line: u32,
    /// Where the function was called, where that tells more.
    caller: Option<(String, u32)>,
}

impl Place {
    fn kept(self) -> SourceLine {
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        SourceLine(At::Recorded(places.get(&self).copied().unwrap_or_else(|| {
            let new: &'static Place = Box::leak(Box::new(self));
            places.insert(new);
            new
        })))
    }
}

/// A line of a program's source.
#[derive(Clone, Copy, Debug)]
pub struct SourceLine(At);

#[derive(Clone, Copy, Debug)]
enum At {
    /// In a workload here.
    Own(Site),
    /// In a recorded program.
    Recorded(&'static Place),
}

/// The same line is the same place, however it became known.
impl PartialEq for SourceLine {
    fn eq(&self, other: &SourceLine) -> bool {
        (self.file(), self.line(), self.caller()) == (other.file(), other.line(), other.caller())
    }
}

impl Eq for SourceLine {}

impl SourceLine {
    /// A place of a recorded program; line 0 where only the file is known.
    pub fn recorded(file: &str, line: u32) -> SourceLine {
        Place { file: file.into(), line, caller: None }.kept()
    }

    /// The same, with where its function was called.
    #[must_use]
    pub fn called_at(self, file: &str, line: u32) -> SourceLine {
        Place { file: self.file().into(), line: self.line(), caller: Some((file.into(), line)) }.kept()
    }

    /// The file and line of the call of its function, where that was recorded and the function is called in several places.
    pub fn caller(&self) -> Option<(&'static str, u32)> {
        match self.0 {
            At::Own(_) => None,
            At::Recorded(place) => place.caller.as_ref().map(|(file, line)| (file.as_str(), *line)),
        }
    }

    /// The file's path, as far as it is known.
    pub fn file(&self) -> &'static str {
        match self.0 {
            At::Own(site) => site.file(),
            At::Recorded(place) => &place.file,
        }
    }

    /// The line.
    pub fn line(&self) -> u32 {
        match self.0 {
            At::Own(site) => site.line(),
            At::Recorded(place) => place.line,
        }
    }
}

impl From<Site> for SourceLine {
    fn from(site: Site) -> SourceLine {
        SourceLine(At::Own(site))
    }
}

/// With as much of each file's path as tells it from others.
impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        spell(f, self.file(), self.line())?;
        if let Some((file, line)) = self.caller() {
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
