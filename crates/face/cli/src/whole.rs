//! Files that commands write: under another name until they are whole, then in one step, so that no half of one is ever seen.
//! A link is followed, and a device or a pipe is written to as it is.

use crate::Failure;
use crate::interrupt::Temporary;
use nix::errno::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Links that are followed at most, as by the kernel.
const MOST_LINKS: usize = 40;

/// What an output's name stands for.
enum Place {
    /// A file of this name, or none yet.
    File(PathBuf),
    /// A device, a pipe, or what this process has open already: nothing may take its place.
    Stream,
}

impl Place {
    fn of(path: &Path) -> io::Result<Place> {
        if std::fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
            return Ok(Place::Stream);
        }
        let mut named = path.to_path_buf();
        for _ in 0..MOST_LINKS {
            if !named.is_symlink() {
                return Ok(Place::File(named));
            }
            let folder = folder_of(&named);
            // What is open has links there, which only look like names.
            if folder.canonicalize()?.starts_with("/proc") {
                return Ok(Place::Stream);
            }
            named = folder.join(std::fs::read_link(&named)?);
        }
        Err(Errno::ELOOP.into())
    }
}

/// The folder that a file lies in, or is to.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file beside another one, of this process alone (several may write into one folder), which goes afterwards.
fn hidden(path: &Path, kind: &str) -> Temporary {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    Temporary::new(folder_of(path).join(format!(".{name}.{}.{kind}", std::process::id())))
}

/// The same beside what is written as that output; among temporary files where that is none.
pub(crate) fn beside(path: &Path, kind: &str) -> Temporary {
    match Place::of(path) {
        Ok(Place::File(named)) => hidden(&named, kind),
        Ok(Place::Stream) => hidden(&std::env::temp_dir().join("coreplane"), kind),
        Err(_) => hidden(path, kind),
    }
}

/// A file that is whole, and has another name as yet. Who drops it removes it.
pub(crate) struct Ready {
    partial: Temporary,
    named: PathBuf,
    /// Says that its maker lives.
    _lock: File,
}

impl Ready {
    /// Gives it its name.
    pub(crate) fn put(self) -> Result<(), Failure> {
        let fail = |e: io::Error| Failure::BadInput(format!("{}: {e}", self.named.display()));
        std::fs::rename(self.partial.path(), &self.named).map_err(fail)
    }
}

/// Makes a file under another name; what is no file is written to at once.
pub(crate) fn ready<T>(
    path: &Path,
    write: impl FnOnce(&File) -> Result<T, Failure>,
) -> Result<(T, Option<Ready>), Failure> {
    let fail = |e: io::Error| Failure::BadInput(format!("{}: {e}", path.display()));
    std::fs::create_dir_all(folder_of(path)).map_err(fail)?;
    let Place::File(named) = Place::of(path).map_err(fail)? else {
        let said = write(&OpenOptions::new().append(true).open(path).map_err(fail)?)?;
        return Ok((said, None));
    };
    if named.is_dir() {
        return Err(fail(Errno::EISDIR.into()));
    }
    let partial = hidden(&named, "partial");
    let file = File::create(partial.path()).map_err(fail)?;
    // Where there are no locks, the process's number must do.
    _ = file.try_lock();
    let said = write(&file)?;
    Ok((said, Some(Ready { partial, named, _lock: file })))
}

/// Makes a file, or writes to what is no file.
pub(crate) fn put<T>(path: &Path, write: impl FnOnce(&File) -> Result<T, Failure>) -> Result<T, Failure> {
    let (said, ready) = ready(path, write)?;
    ready.map_or(Ok(()), Ready::put)?;
    Ok(said)
}

/// Puts bytes that are made.
pub(crate) fn put_bytes(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let fail = |e: io::Error| Failure::BadInput(format!("{}: {e}", path.display()));
    put(path, |mut file| file.write_all(bytes).map_err(fail))
}

/// Makes a file's folder, and looks whether the file can be made there: said before work that takes long. What is there stays until
/// the work is done.
pub(crate) fn can_be_made(path: &Path) -> Result<(), Failure> {
    let folder = folder_of(path);
    let is_there = if folder.exists() { Ok(()) } else { std::fs::create_dir_all(folder) };
    let tried = match is_there.and_then(|()| Place::of(path)) {
        Ok(_) if path.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(Place::File(named)) => File::create(hidden(&named, "probe").path()).map(|_| ()),
        // Who reads a pipe would take a first opening for all of it.
        Ok(Place::Stream) => Ok(()),
        Err(e) => Err(e),
    };
    tried.map_err(|e| Failure::BadInput(format!("--out: {} cannot be written: {e}", path.display())))
}

/// Refuses an output that is the file which is read for it, by whatever name.
pub(crate) fn is_not_the_input(output: &Path, input: &Path) -> Result<(), Failure> {
    let identity = |path: &Path| {
        let about = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        Some((about.dev(), about.ino()))
    };
    if identity(output).is_some_and(|own| identity(input) == Some(own)) {
        let text = "is the file that is read; give another name for what is written";
        return Err(Failure::BadInput(format!("{}: {text}", output.display())));
    }
    Ok(())
}
