//! What a recording says that its program left in its files, against what is there.

use crate::Failure;
use crate::trace_info;
use nix::unistd::{Whence, lseek};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use trace::left::{LeftFile, differences};
use trace::{About, Differs, Recording};

/// Why a file is not compared that has a name which another has now.
const EARLIER: &str = "an earlier file of this name, which the program removed or replaced";

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
    for check in checks.iter().filter(|c| !c.differs.is_empty()) {
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

/// Compares all files of a recording that are still there.
pub(crate) fn against_files(recording: &Recording) -> Result<Vec<Check>, Failure> {
    let about = recording.about();
    let mut left: BTreeMap<u32, Box<dyn LeftFile>> = BTreeMap::new();
    let mut checks: BTreeMap<u32, Check> = BTreeMap::new();
    let last = about.last_files();
    for (number, file) in &about.files {
        let why = match open(about, &file.path, &file.identity) {
            // It was made with what it leads to, and nothing changes that.
            _ if about.links.contains_key(number) => continue,
            _ if !last.contains(number) => EARLIER.into(),
            Ok(found) => {
                left.insert(*number, Box::new(found));
                String::new()
            }
            Err(why) => why,
        };
        let path = trace_info::path(about, *number);
        let check = Check { path, is_compared: why.is_empty(), why, differs: Vec::new() };
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

/// The file under the name at which it was first seen, or under another that the program gave it.
fn open(about: &About, path: &str, identity: &str) -> Result<OnDisk, String> {
    let others = || about.names.values().map(String::as_str);
    // The program gave or took that name, and it is there.
    let is_replaced =
        others().any(|n| n == path) && std::fs::symlink_metadata(trace::names::path_of(path)).is_ok();
    let mut why = if is_replaced { EARLIER } else { "it is gone" }.to_string();
    for path in std::iter::once(path).chain(others()) {
        let path = trace::names::path_of(path);
        let Ok(meta) = std::fs::metadata(&path) else { continue };
        if format!("{}:{}", meta.dev(), meta.ino()) != identity || !meta.is_file() {
            continue;
        }
        match File::open(path) {
            Ok(file) => return Ok(OnDisk { file, size: meta.len() }),
            Err(e) => why = e.to_string(),
        }
    }
    Err(why)
}
