//! What a program did to the names and sizes of files. These changes are ordered: of those that no sync call made
//! durable, a power failure leaves the first few.

use super::candidate::FileState;

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
    /// The first name becomes the second, which then is no other file's.
    Rename(String, String),
}

impl Change {
    /// Carries the change out.
    pub(super) fn apply(&self, files: &mut [FileState]) {
        let remove = |files: &mut [FileState], name: &str| {
            files.iter_mut().for_each(|f| f.names.retain(|n| n != name));
        };
        match &self.what {
            What::Link(name) | What::Rename(_, name) => remove(files, name),
            _ => {}
        }
        if let What::Unlink(name) | What::Rename(name, _) = &self.what {
            remove(files, name);
        }
        let Some(file) = files.get_mut(self.file) else { return };
        match &self.what {
            What::Size(bytes) => file.size = *bytes,
            What::AtLeast(bytes) => file.size = file.size.max(*bytes),
            What::Link(name) | What::Rename(_, name) => file.names.push(name.clone()),
            What::Unlink(_) => {}
        }
    }

    /// In words, for an explanation.
    pub(super) fn words(&self) -> String {
        match &self.what {
            What::Size(bytes) | What::AtLeast(bytes) => format!("the size of {bytes} bytes"),
            What::Link(name) => format!("the name {name}"),
            What::Unlink(name) => format!("the removal of {name}"),
            What::Rename(from, to) => format!("the renaming of {from} to {to}"),
        }
    }
}
