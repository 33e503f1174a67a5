//! What a recording says that its program left in its files, against what is there.

use crate::Failure;
use crate::record_gone::{self, GONE, Left};
use crate::trace_info;
use nix::unistd::{Whence, lseek};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use trace::left::{LeftFile, differences};
use trace::{About, Differs, Recording};

/// One file of the recording.
pub(crate) struct Check {
    pub(crate) path: String,
    /// Whether it could be compared, and why not.
    pub(crate) is_compared: bool,
    pub(crate) why: String,
    pub(crate) differs: Vec<Differs>,
}

impl Check {
    /// The same, and why it says nothing.
    pub(crate) fn not_compared(self, why: &str) -> Check {
        Check { is_compared: false, why: why.into(), ..self }
    }
}

/// Bytes of a file, in words.
pub(crate) fn range(d: &Differs) -> String {
    let Differs { offset, bytes, .. } = d;
    if *bytes == 1 { format!("byte {offset}") } else { format!("bytes {offset} to {}", offset + bytes - 1) }
}

/// What a person should know of the recording before using it.
pub(crate) fn warnings(trace: &Recording, checks: &[Check]) -> Vec<String> {
    let (about, counts) = (trace.about(), trace.counts());
    let mut all: Vec<String> = about.notes.clone();
    let (gone, changed): (Vec<&Check>, Vec<&Check>) = checks
        .iter()
        .filter(|c| !c.differs.is_empty())
        .partition(|c| c.differs.iter().any(record_gone::is_whole));
    all.extend(gone.iter().map(|check| format!("warning: {}: {GONE}", check.path)));
    for check in changed {
        let ranges: Vec<String> = check.differs.iter().take(3).map(range).collect();
        let more = check.differs.len().saturating_sub(ranges.len());
        let more = if more > 0 { format!(" and {more} more ranges") } else { String::new() };
        all.push(format!(
            "warning: {}: {}{more} are not what the recording gives: something that it does not see wrote them",
            check.path,
            ranges.join(", ")
        ));
    }
    let elsewhere = about.files_elsewhere().map(|number| {
        let path = trace_info::path(about, number);
        format!("warning: {path}: other processes change it or make it durable, so that the crash lab gives no verdict on it")
    });
    all.extend(elsewhere);
    let unseen = counts.unseen.iter().map(|(number, c)| {
        let text = about.unseen.get(number).map_or("something", String::as_str);
        format!("warning: not modelled: {text} ({} times)", c.times)
    });
    all.extend(unseen);
    if counts.files.values().any(|f| f.stores + f.written > 0) && !counts.makes_durable() {
        let text = "warning: it stores to persistent memory without one flush, fence or sync: nothing says that any of it is durable";
        all.push(text.into());
    }
    all
}

/// What was not compared, once for each name and reason: of a journal that each transaction makes anew there are thousands.
pub(crate) fn not_compared(checks: &[Check]) -> Vec<String> {
    let mut times: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for check in checks.iter().filter(|c| !c.is_compared) {
        *times.entry((&check.path, &check.why)).or_default() += 1;
    }
    let told = |((path, why), times): ((&str, &str), usize)| {
        let times = if times > 1 { format!(" ({times} such files)") } else { String::new() };
        format!("{path}: not compared with the recording: {why}{times}")
    };
    times.into_iter().map(told).collect()
}

/// Names that are no text, as they are told.
pub(crate) fn odd_names(about: &About) -> Vec<String> {
    let all = about.files.values().map(|f| &f.path).chain(about.names.values());
    let odd: BTreeSet<&String> = all.filter(|name| !trace::names::is_plain(name)).collect();
    let told = |name: &&String| format!("a name is not UTF-8, and told as {}", trace::names::shown(name));
    odd.iter().map(told).collect()
}

/// Folders that the program made and left there: no image has one of its own.
pub(crate) fn made_folders(about: &About) -> Option<String> {
    const SHOWN: usize = 3;
    let is_there = |path: &&String| trace::names::path_of(path).is_dir();
    let all: Vec<&String> = about.made_folders.iter().filter(is_there).collect();
    if all.is_empty() {
        return None;
    }
    let shown: Vec<String> = all.iter().take(SHOWN).map(|path| trace::names::shown(path)).collect();
    let more = all.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Some(format!(
        "it makes folders ({}{more}), which are taken as durable at once: images have one as soon as they have a file in it, and none without a file",
        shown.join(", ")
    ))
}

/// Compares all files of a recording that are still there.
pub(crate) fn against_files(recording: &Recording) -> Result<Vec<Check>, Failure> {
    let about = recording.about();
    let mut left: BTreeMap<u32, Box<dyn LeftFile>> = BTreeMap::new();
    let mut checks: BTreeMap<u32, Check> = BTreeMap::new();
    let last = about.last_files();
    let mut names = None;
    // It was made with what it leads to, and nothing changes that.
    for (number, file) in about.files.iter().filter(|(number, _)| !about.links.contains_key(number)) {
        let mut check = Check {
            path: trace_info::path(about, *number),
            is_compared: true,
            why: String::new(),
            differs: Vec::new(),
        };
        match open(about, &file.path, &file.identity) {
            Ok(found) if found.is_at_first && last.contains(number) => {
                _ = left.insert(*number, Box::new(found))
            }
            found => {
                let names = names.get_or_insert_with(|| Left::of(recording));
                let is_lost = knows_names(recording) && names.is_lost(*number, &file.identity);
                match found {
                    Ok(_) | Err(_) if is_lost => check.differs.push(record_gone::whole(*number)),
                    Ok(found) if last.contains(number) => _ = left.insert(*number, Box::new(found)),
                    Err(Some(why)) => check = check.not_compared(&why),
                    Ok(_) | Err(None) => {
                        check = check.not_compared(absence(&file.path, names.is_removed(*number)));
                    }
                }
            }
        }
        checks.insert(*number, check);
    }
    for differs in differences(recording, &left)? {
        if let Some(check) = checks.get_mut(&differs.file) {
            check.differs.push(differs);
        }
    }
    Ok(checks.into_values().collect())
}

struct OnDisk {
    file: File,
    size: u64,
    /// Under the name at which it was first seen.
    is_at_first: bool,
}

impl LeftFile for OnDisk {
    fn size(&self) -> u64 {
        self.size
    }

    fn data(&self, at: u64) -> Option<u64> {
        if at >= self.size {
            return None;
        }
        // Where a file system does not know of holes, all is data.
        match lseek(&self.file, at as i64, Whence::SeekData) {
            Ok(data) => u64::try_from(data).ok(),
            Err(nix::errno::Errno::ENXIO) => None,
            Err(_) => Some(at),
        }
    }

    fn page(&self, at: u64, into: &mut [u8; 4096]) -> io::Result<()> {
        let bytes = self.size.saturating_sub(at).min(4096) as usize;
        self.file.read_exact_at(&mut into[..bytes], at)
    }
}

/// Whether all that happens to names of files is recorded: one process has them, up to its end, and they are as they are called here.
fn knows_names(recording: &Recording) -> bool {
    recording.is_finished() && recording.about().hosts.is_empty()
}

/// Why a file is not there, of which the recording says that it lost all its names, or that it has one.
fn absence(path: &str, is_removed: bool) -> &'static str {
    let is_there = std::fs::symlink_metadata(trace::names::path_of(path)).is_ok();
    match (is_removed, is_there) {
        (true, true) => "an earlier file of this name, which the program removed or replaced",
        (true, false) => "the program removed it",
        (false, true) => "another file has its name",
        (false, false) => "it is gone",
    }
}

/// The file under the name at which it was first seen, or under another that the program gave it; where it is there and cannot be
/// opened, why.
fn open(about: &About, path: &str, identity: &str) -> Result<OnDisk, Option<String>> {
    let others = about.names.values().map(String::as_str);
    let mut why = None;
    for (number, path) in std::iter::once(path).chain(others).enumerate() {
        let path = trace::names::path_of(path);
        let Ok(meta) = std::fs::metadata(&path) else { continue };
        if format!("{}:{}", meta.dev(), meta.ino()) != identity || !meta.is_file() {
            continue;
        }
        match File::open(path) {
            Ok(file) => return Ok(OnDisk { file, size: meta.len(), is_at_first: number == 0 }),
            Err(e) => why = Some(e.to_string()),
        }
    }
    Err(why)
}
