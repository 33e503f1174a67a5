//! What a power failure left, as files: a folder for each run of a check.

use crate::Failure;
use crate::crash_beside;
use crate::interrupt::Temporary;
use crate::recordings::is_abandoned;
use check::crash::Mark;
use protocol::PAGE_BYTES;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::File;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A file that a power failure left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its path in the folder.
    pub(crate) name: PathBuf,
    /// The address of its first byte, a multiple of the page size.
    pub(crate) base: u64,
    /// Its size.
    pub(crate) bytes: u64,
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
    /// What is beside them, with its path in the folder.
    pub(crate) beside: Arc<[(PathBuf, PathBuf)]>,
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
            self.write(place, &path)?;
        }
        crash_beside::copy(&self.beside, &files)?;
        let mut filled = command.replace("{folder}", &quoted(&files));
        filled = filled.replace("{image}", &quoted(&files.join(&self.chosen)));
        if filled.contains("{marks}") {
            let path = folder.join("marks");
            let mut text = String::new();
            for (thread, number) in &self.said.marks {
                _ = writeln!(text, "{thread} {number}");
            }
            std::fs::write(&path, text)?;
            filled = filled.replace("{marks}", &quoted(&path));
        }
        Ok(filled.replace("{acknowledged}", &self.said.acknowledged.to_string()))
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
        Ok(())
    }
}

/// A path for a shell: as it is where nothing in it means anything there.
fn quoted(path: &Path) -> String {
    let mut text = String::new();
    for c in path.to_string_lossy().chars() {
        if !(c.is_alphanumeric() || "/._-+,:@%".contains(c)) {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// Recorded paths, and where they are in the folder of all files: without the folders that all have in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    common: Vec<OsString>,
}

/// The parts of a path that name something; what leads out of a folder does not.
fn parts(path: &str) -> Vec<OsString> {
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_os_string()),
            Component::ParentDir => _ = parts.pop(),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    parts
}

impl Names {
    /// For all of these paths.
    pub(crate) fn new<'p>(paths: impl Iterator<Item = &'p str>) -> Names {
        let folder = |path| {
            let mut parts = parts(path);
            parts.pop();
            parts
        };
        let shorter = |a: Vec<OsString>, b: Vec<OsString>| {
            let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
            a[..same].to_vec()
        };
        Names { common: paths.filter(|p| !p.is_empty()).map(folder).reduce(shorter).unwrap_or_default() }
    }

    /// Where a recorded path is in the folder.
    pub(crate) fn relative(&self, path: &str) -> PathBuf {
        let parts = parts(path);
        let own = parts.strip_prefix(&self.common[..]).unwrap_or(&parts[..]);
        own.iter().collect()
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
            remove_abandoned(root);
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

/// Removes folders of processes that were killed. One that was made just now may not have its lock yet.
fn remove_abandoned(root: &Path) {
    let Ok(entries) = std::fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let is_old = |about: std::fs::Metadata| {
            about.is_dir() && about.modified().is_ok_and(|at| at.elapsed().is_ok_and(|age| age > SETTLED))
        };
        let process = maker(&entry.file_name().to_string_lossy());
        if entry.metadata().is_ok_and(is_old)
            && process.is_some_and(|process| is_abandoned(&entry.path(), process))
        {
            _ = std::fs::remove_dir_all(entry.path());
        }
    }
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
    make(&root).map_err(|e| Failure::BadInput(format!("{}: {e}", root.display())))
}

/// Where memory is a file system.
const MEMORY: &str = "/dev/shm";

/// Whether a file system has room for a check on each processor, and what it may write, and as much again.
fn has_room(root: &Path, bytes: u64) -> bool {
    let checks = rayon::current_num_threads() as u64;
    let needed = bytes.saturating_mul(4 * 2 * checks).max(64 << 20);
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
    fn files_keep_their_names_below_the_folder_that_they_share() {
        let names = Names::new(["/srv/a/db/data", "/srv/a/db/log/1", "/srv/a/db/x"].into_iter());
        assert_eq!(names.relative("/srv/a/db/data"), Path::new("data"));
        assert_eq!(names.relative("/srv/a/db/log/../log/1"), Path::new("log/1"));
        let one = Names::new(["/srv/a/kv.pm"].into_iter());
        assert_eq!(one.relative("/srv/a/kv.pm"), Path::new("kv.pm"));
        let far = Names::new(["a", "/b/c"].into_iter());
        assert_eq!(far.relative("../../b/c"), Path::new("b/c"), "nothing leads out of the folder");
    }

    #[test]
    fn only_touched_pages_are_written_and_the_command_is_filled_in() {
        let page = [7; PAGE_BYTES as usize];
        let left = Left {
            beside: Arc::from([]),
            pages: vec![4096, 3 << 12, 9 << 12],
            page: Box::new(|_| Cow::Borrowed(&page)),
            files: vec![
                Place { name: "a b".into(), base: 4096, bytes: 3 * 4096 - 10 },
                Place { name: "sub/c".into(), base: 8 << 12, bytes: 5000 },
            ],
            chosen: "a b".into(),
            said: Said { acknowledged: 4, marks: vec![(0, 4), (2, 3)] },
        };
        let folder = temporary(1).unwrap();
        let command = left.lay_out(folder.path(), "x {image} {folder} {acknowledged} {marks}").unwrap();
        let root = folder.path().display().to_string();
        assert_eq!(command, format!("x {root}/files/a\\ b {root}/files 4 {root}/marks"));
        let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        let (a, c) = (read("files/a b"), read("files/sub/c"));
        assert_eq!((a.len(), c.len()), (3 * 4096 - 10, 5000));
        assert!(a[..4096].iter().chain(&a[2 * 4096..]).all(|b| *b == 7));
        assert!(a[4096..2 * 4096].iter().all(|b| *b == 0));
        assert!(c[..4096].iter().all(|b| *b == 0) && c[4096..].iter().all(|b| *b == 7));
        assert_eq!(read("marks"), b"0 4\n2 3\n");
        let gone = folder.path().to_path_buf();
        drop(folder);
        assert!(!gone.exists());
    }
}
