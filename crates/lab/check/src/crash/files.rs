//! What a program did to the names and sizes of files. These changes are ordered: of those that no sync call made
//! durable, a power failure leaves the first few.

use trace::names::shown;

/// A file as a power failure may leave it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileState {
    /// Its number in the recording.
    pub number: u32,
    /// Where its first byte is in the log's address space.
    pub base: u64,
    /// What it is called; nothing where no name leads to it.
    pub names: Vec<String>,
    /// Its length in bytes.
    pub size: u64,
}

/// A change of a file's name or size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Index into [`Log::files`](super::Log::files).
    pub file: usize,
    /// What.
    pub what: What,
    /// The addresses whose bytes it does away with: the file becomes shorter.
    pub cuts: Option<(u64, u64)>,
}

/// See [`Change`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The file has so many bytes.
    Size(u64),
    /// The file has at least so many bytes.
    AtLeast(u64),
    /// The file has a name more.
    Link(String),
    /// A name is no more.
    Unlink(String),
    /// The first name becomes the second, which then is no other file's. Of two folders, which end in a slash, all that is in
    /// the first is in the second.
    Rename(String, String),
}

/// The name that something has once a folder has another; none where it was not in it.
pub(super) fn moved(name: &str, from: &str, to: &str) -> Option<String> {
    let rest = name.strip_prefix(from).filter(|_| from.ends_with('/'))?;
    Some(format!("{to}{rest}"))
}

impl What {
    /// Carries a change of the file at an index out; names that it takes are no more, whether that file is known or not.
    pub(super) fn apply(&self, file: Option<usize>, files: &mut [FileState]) {
        let mut forget = |name: &String| files.iter_mut().for_each(|f| f.names.retain(|n| n != name));
        match self {
            What::Link(name) | What::Unlink(name) => forget(name),
            What::Rename(from, to) if from.ends_with('/') => {
                let names = files.iter_mut().flat_map(|f| &mut f.names);
                names.for_each(|name| *name = moved(name, from, to).unwrap_or_else(|| std::mem::take(name)));
                return;
            }
            What::Rename(from, to) => [from, to].into_iter().for_each(forget),
            What::Size(_) | What::AtLeast(_) => {}
        }
        let Some(file) = file.and_then(|index| files.get_mut(index)) else { return };
        match self {
            What::Size(bytes) => file.size = *bytes,
            What::AtLeast(bytes) => file.size = file.size.max(*bytes),
            What::Link(name) | What::Rename(_, name) => file.names.push(name.clone()),
            What::Unlink(_) => {}
        }
    }
}

impl Change {
    /// Carries the change out.
    pub(super) fn apply(&self, files: &mut [FileState]) {
        self.what.apply(Some(self.file), files);
    }

    /// The name that it is about, where it is about one.
    pub(super) fn name(&self) -> Option<&str> {
        match &self.what {
            What::Link(name) | What::Unlink(name) | What::Rename(_, name) => Some(name),
            What::Size(_) | What::AtLeast(_) => None,
        }
    }

    /// In words, for an explanation: of a file that has that name, if it has one.
    pub(super) fn words(&self, file: Option<&str>) -> String {
        match &self.what {
            What::Size(bytes) if self.cuts.is_some() => {
                format!("the truncation{} to {bytes} bytes", of(file))
            }
            What::Size(bytes) | What::AtLeast(bytes) => format!("the size of {bytes} bytes{}", of(file)),
            What::Link(name) => format!("the name {}", shown(name)),
            What::Unlink(name) => format!("the removal of {}", shown(name)),
            What::Rename(from, to) => format!("the renaming of {} to {}", shown(from), shown(to)),
        }
    }
}

fn of(file: Option<&str>) -> String {
    file.map(|name| format!(" of {}", shown(name))).unwrap_or_default()
}
