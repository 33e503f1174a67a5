//! What a power failure left, as files: a folder for each run of a check.

use crate::crash_beside::Beside;
use crate::crash_names::Names;
use crate::crash_quoted::filled;
use crate::interrupt::Temporary;
use crate::{Failure, abandoned};
use check::crash::Mark;
use protocol::PAGE_BYTES;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{File, FileTimes, Metadata};
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

/// A file that a power failure left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its path in the folder.
    pub(crate) name: PathBuf,
    /// The address of its first byte, a multiple of the page size.
    pub(crate) base: u64,
    /// Its size.
    pub(crate) bytes: u64,
    /// What it leads to, where it is a symbolic link.
    pub(crate) link: Option<PathBuf>,
}

/// What the program had said when the power failed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    /// The number of its last mark; 0 when there is none.
    pub(crate) acknowledged: u64,
    /// The number of the last mark of each thread that has one.
    pub(crate) marks: Vec<(u16, u64)>,
}

impl Said {
    /// After these marks: the last, and the last of each thread.
    pub(crate) fn after(acknowledged: u64, marks: &BTreeMap<u16, u64>) -> Said {
        Said { acknowledged, marks: marks.iter().map(|(t, n)| (*t, *n)).collect() }
    }

    /// After these marks, in their order.
    pub(crate) fn of(marks: impl Iterator<Item = Mark>) -> Said {
        let (mut acknowledged, mut last) = (0, BTreeMap::new());
        for mark in marks {
            acknowledged = mark.number;
            last.insert(mark.thread, mark.number);
        }
        Said { acknowledged, marks: last.into_iter().collect() }
    }
}

/// What a power failure left.
pub(crate) struct Left<'a> {
    /// Addresses of the pages that were ever stored to, in ascending order.
    pub(crate) pages: Vec<u64>,
    /// The bytes of such a page.
    pub(crate) page: Box<dyn Fn(u64) -> Cow<'a, [u8; PAGE_BYTES as usize]> + 'a>,
    /// All files.
    pub(crate) files: Vec<Place>,
    /// Folders that the program found.
    pub(crate) folders: Arc<[PathBuf]>,
    /// What is beside them.
    pub(crate) beside: Arc<[Beside]>,
    /// What a link leads to is looked for by the names in the folder.
    pub(crate) names: Names,
    /// The path of `{image}` in the folder; it need not be there.
    pub(crate) chosen: PathBuf,
    /// What the check may rely on.
    pub(crate) said: Said,
}

impl Left<'_> {
    /// Writes the files into a new folder, and what a check is told beside them; gives the command with its
    /// placeholders filled in.
    pub(crate) fn lay_out(&self, folder: &Path, command: &str) -> std::io::Result<String> {
        let files = folder.join("files");
        std::fs::create_dir_all(&files)?;
        for place in &self.files {
            let path = files.join(&place.name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            match &place.link {
                None => self.write(place, &path)?,
                Some(to) => symlink(self.names.leads_to(to, &files), path)?,
            }
        }
        for folder in self.folders.iter().map(|folder| files.join(folder)) {
            if folder.symlink_metadata().is_err() {
                std::fs::create_dir_all(folder)?;
            }
        }
        for beside in self.beside.iter() {
            beside.copy(&files, &self.names)?;
        }
        let (marks, image) = (folder.join("marks"), files.join(&self.chosen));
        if command.contains("{marks}") {
            let mut text = String::new();
            for (thread, number) in &self.said.marks {
                _ = writeln!(text, "{thread} {number}");
            }
            std::fs::write(&marks, text)?;
        }
        let acknowledged = self.said.acknowledged.to_string();
        let values = [
            ("{folder}", files.as_path()),
            ("{image}", image.as_path()),
            ("{marks}", marks.as_path()),
            ("{acknowledged}", Path::new(&acknowledged)),
        ];
        Ok(filled(command, &values))
    }

    /// What is there, and holes.
    fn write(&self, place: &Place, path: &Path) -> std::io::Result<()> {
        let file = File::create(path)?;
        file.set_len(place.bytes)?;
        let end = place.base + place.bytes;
        let from = self.pages.partition_point(|address| *address < place.base);
        for address in self.pages[from..].iter().take_while(|address| **address < end) {
            let page = (self.page)(*address);
            let bytes = PAGE_BYTES.min(end - address) as usize;
            if page[..bytes].iter().any(|b| *b != 0) {
                file.write_all_at(&page[..bytes], address - place.base)?;
            }
        }
        // So that whoever reads it is seen, however soon (`was_opened`).
        file.set_times(FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH))
    }

    /// Whether a file was read since it was laid out, or is not as it was.
    pub(crate) fn was_opened(&self, folder: &Path) -> bool {
        let files = folder.join("files");
        let is_untouched = |place: &Place| {
            let about = files.join(&place.name).symlink_metadata();
            about.is_ok_and(|about| about.atime() == 0 && about.len() == place.bytes)
        };
        !self.files.iter().filter(|place| place.link.is_none()).all(is_untouched)
    }
}

/// A folder that goes with whoever made it.
pub(crate) struct Folder {
    temporary: Temporary,
    /// Says that its maker lives.
    _lock: File,
}

impl Folder {
    fn make(root: &Path, number: usize) -> std::io::Result<Folder> {
        // Elsewhere the file system may be other machines' too, whose locks on folders are not seen here.
        if root == Path::new(MEMORY) {
            abandoned::remove(root, maker, is_settled);
        }
        let name = format!("{CALLED}{}-{number}", std::process::id());
        let temporary = Temporary::new(root.join(name));
        std::fs::DirBuilder::new().mode(0o700).create(temporary.path())?;
        let lock = File::open(temporary.path())?;
        // Where there are no locks, the process's number must do.
        _ = lock.try_lock();
        Ok(Folder { temporary, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.temporary.path()
    }
}

/// After so long a folder has its lock.
const SETTLED: Duration = Duration::from_secs(60);

/// What the folders' names begin with; the process's number and one of the folder's own come after.
const CALLED: &str = "coreplane-crash-";

/// The process that made a folder of that name; none where it is somebody else's.
fn maker(name: &str) -> Option<u32> {
    let (process, number) = name.strip_prefix(CALLED)?.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits(process) && digits(number) { process.parse().ok() } else { None }
}

/// Whether it is a folder that was not made just now, and may not have its lock yet.
fn is_settled(about: &Metadata) -> bool {
    about.is_dir() && about.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > SETTLED))
}

/// A new folder for checks on files of `bytes` bytes: in memory where there is room and `TMPDIR` says nothing.
pub(crate) fn temporary(bytes: u64) -> Result<Folder, Failure> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let make = |root: &Path| Folder::make(root, number);
    let memory = Path::new(MEMORY);
    if std::env::var_os("TMPDIR").is_none()
        && has_room(memory, bytes)
        && let Ok(made) = make(memory)
    {
        return Ok(made);
    }
    let root = std::env::temp_dir();
    make(&root).map_err(|e| {
        let text = format!(
            "{}: {e}; checks get their files there: name a folder that can be written to in TMPDIR",
            root.display()
        );
        Failure::BadInput(text)
    })
}

/// The smallest limit on the size of files that a command writes: databases allocate logs of tens of megabytes when they are opened.
pub(crate) const LEAST_LIMIT: u64 = 128 << 20;

/// Where memory is a file system.
const MEMORY: &str = "/dev/shm";

/// Whether a file system has room for a check on each processor, and what it may write, and as much again.
fn has_room(root: &Path, bytes: u64) -> bool {
    let checks = rayon::current_num_threads() as u64;
    let needed = bytes.saturating_mul(4 * 2 * checks).max(2 * LEAST_LIMIT);
    nix::sys::statvfs::statvfs(root).is_ok_and(|s| s.blocks_available() * s.fragment_size() > needed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_of_other_names_are_nobodys_leftovers() {
        assert_eq!(maker("coreplane-crash-2026-0"), Some(2026));
        for name in [
            "coreplane-crash-2026-11-27",
            "coreplane-crash-2026-",
            "coreplane-crash-x-0",
            "coreplane-crash-1",
        ] {
            assert_eq!(maker(name), None, "{name}");
        }
    }

    #[test]
    fn only_touched_pages_are_written_and_the_command_is_filled_in() {
        let page = [7; PAGE_BYTES as usize];
        let left = Left {
            folders: Arc::from(["sub/new".into()]),
            beside: Arc::from([]),
            names: Names::default(),
            pages: vec![4096, 3 << 12, 9 << 12],
            page: Box::new(|_| Cow::Borrowed(&page)),
            files: vec![
                Place { name: "a b".into(), base: 4096, bytes: 3 * 4096 - 10, link: None },
                Place { name: "sub/c".into(), base: 8 << 12, bytes: 5000, link: None },
                Place { name: "sub/l".into(), base: 20 << 12, bytes: 1, link: Some("c".into()) },
            ],
            chosen: "a b".into(),
            said: Said { acknowledged: 4, marks: vec![(0, 4), (2, 3)] },
        };
        let folder = temporary(1).unwrap();
        let command = left.lay_out(folder.path(), "x {image} {folder} {acknowledged} {marks}").unwrap();
        let root = folder.path().display().to_string();
        assert_eq!(command, format!("x '{root}/files/a b' {root}/files 4 {root}/marks"));
        assert!(!left.was_opened(folder.path()));
        let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(read("files/sub/l").len(), 5000, "it leads to the file beside it");
        assert!(left.was_opened(folder.path()));
        let (a, c) = (read("files/a b"), read("files/sub/c"));
        assert_eq!((a.len(), c.len()), (3 * 4096 - 10, 5000));
        assert!(a[..4096].iter().chain(&a[2 * 4096..]).all(|b| *b == 7));
        assert!(a[4096..2 * 4096].iter().all(|b| *b == 0));
        assert!(c[..4096].iter().all(|b| *b == 0) && c[4096..].iter().all(|b| *b == 7));
        assert_eq!(read("marks"), b"0 4\n2 3\n");
        assert!(folder.path().join("files/sub/new").is_dir(), "the program found it");
        let gone = folder.path().to_path_buf();
        drop(folder);
        assert!(!gone.exists());
    }
}
