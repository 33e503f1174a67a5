//! A process that is killed goes on from an image of itself, written while it worked.
//!
//! ```text
//!   parent: shows how far it is, waits ---------------------------------------- takes what the work came to
//!      | fork                                   ^ a shared page, then the result ^
//!   child: works, one thread ------ look ------------ look ------------ ... ---- ends
//!                                    | fork
//!                            writer: a copy that stands still, and writes itself to a file
//!
//!   (killed)   the same command:  parent finds the file -> fork -> child becomes what is in it, and works on
//! ```
//!
//! Where work stands is more than data that could be written down: it is halfway in functions, and in futures that wait. An
//! image has all of it, since it is the process: its memory, where it lies, and the registers. It is taken
//! on Linux on x86-64, and goes on in the same program on the same kernel and the same kind of processor; elsewhere
//! nothing is kept, and the work is done all the same. Whatever the writer does not know (a second thread, memory shared with
//! others, files open for writing) there is no image of, rather than a wrong one.

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod channel;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod context;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod format;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod kernel;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod mappings;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod process;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod read;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod restore;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod taking;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod write;

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
pub use {process::Child, read::Image, taking::look};

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
mod elsewhere;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
pub use elsewhere::{Child, Image, look};

use std::path::{Path, PathBuf};
use std::time::Duration;

/// Numbers that the work tells of itself.
pub const NUMBERS: usize = 8;

/// What the work tells of itself; what each number means is the caller's.
pub type Told = [u64; NUMBERS];

/// Where images of a piece of work lie, and what they are of.
#[derive(Clone, Debug)]
pub struct Place {
    /// The folder, which is there.
    pub folder: PathBuf,
    /// The file's name.
    pub name: String,
    /// All that the work hangs on, in short: an image of anything else is not taken.
    pub of: String,
    /// The host's time between two images, at least.
    pub every: Duration,
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With what its work came to.
    Said(Vec<u8>),
    /// It panicked, and has said so.
    Panicked,
    /// It could not become what is in the image.
    NotRestored,
    /// By a signal, which has this number.
    Signal(i32),
    /// With another exit code.
    Code(i32),
}

impl Place {
    fn file(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Removes the image, if there is one, and what killed writers left.
    pub fn clear(&self) {
        _ = std::fs::remove_file(self.file());
        self.clear_partial();
    }

    /// Removes what killed writers left.
    pub fn clear_partial(&self) {
        let begins = format!("{}.", self.name);
        let is_partial = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&begins) && name.ends_with(".partial")
        };
        let all = std::fs::read_dir(&self.folder).into_iter().flatten().flatten();
        all.map(|entry| entry.path()).filter(|path| is_partial(path)).for_each(|path| {
            _ = std::fs::remove_file(path);
        });
    }
}
