//! What a check says that it read: a program that `coreplane cc` made reports it (capture/runtime/reads.h).

use crate::crash_files::Place;
use std::ops::Range;
use std::path::Path;

/// Names the file that a check's report goes to.
pub(crate) const REPORT: &str = "COREPLANE_READS";

/// The folder of the files that count.
pub(crate) const FILES: &str = "COREPLANE_READS_OF";

/// Whether the program is to find out by itself if it reads more than it tells.
pub(crate) const WATCHED: &str = "COREPLANE_READS_WATCHED";

/// What a check told of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LinesRead {
    /// Addresses of the lines that it read, in the order of the report.
    pub(crate) lines: Vec<Range<u64>>,
    /// It read others too.
    pub(crate) more: bool,
    /// Accesses that were made step by step, where that was watched.
    pub(crate) steps: usize,
}

/// Bytes of a line.
const LINE: u64 = 64;

/// What the process `pid` says that it read of `files`, which lie in `folder`; none when its report is not whole, is
/// another process's, or speaks of other files.
pub(crate) fn lines_read(report: &str, pid: u32, folder: &Path, files: &[Place]) -> Option<LinesRead> {
    let mut texts = report.lines();
    let whole = texts.next_back()? == format!("end {pid}") && texts.next()? == "coreplane reads 1";
    let (mut found, mut file) = (LinesRead::default(), None);
    for text in texts {
        if text == "more" {
            found.more = true;
            continue;
        }
        match text.split_once(' ')? {
            ("file", path) => {
                let name = Path::new(path).strip_prefix(folder).ok()?;
                // What the check made itself was not there before.
                file = files.iter().find(|f| f.name == name);
            }
            ("steps", count) => found.steps = count.parse().ok()?,
            ("lines", range) => {
                let (first, count) = range.split_once(' ')?;
                let (first, count): (u64, u64) = (first.parse().ok()?, count.parse().ok()?);
                let Some(place) = file else { continue };
                let room = place.bytes.div_ceil(LINE);
                let end = first.saturating_add(count).min(room);
                if first < end {
                    found.lines.push(place.base + first * LINE..place.base + end * LINE);
                }
            }
            _ => return None,
        }
    }
    whole.then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(report: &str) -> Option<LinesRead> {
        let files = [
            Place { name: "a".into(), base: 4096, bytes: 200, link: None },
            Place { name: "sub/b c".into(), base: 8192, bytes: 4096, link: None },
        ];
        lines_read(report, 7, Path::new("/t/files"), &files)
    }

    #[test]
    fn only_whole_reports_of_the_check_itself_count() {
        let body =
            "coreplane reads 1\nfile /t/files/a\nlines 1 9\nfile /t/files/sub/b c\nlines 0 1\nlines 63 1\n";
        let whole = format!("{body}end 7\n");
        let lines = vec![4160..4352, 8192..8256, 8192 + 63 * 64..8192 + 64 * 64];
        assert_eq!(
            of(&whole),
            Some(LinesRead { lines: lines.clone(), ..LinesRead::default() }),
            "none beyond the end"
        );
        let watched = format!("{body}more\nsteps 900\nend 7\n");
        assert_eq!(of(&watched), Some(LinesRead { lines, more: true, steps: 900 }));
        assert_eq!(of("coreplane reads 1\nend 7\n"), Some(LinesRead::default()));
        let made = "coreplane reads 1\nfile /t/files/new\nlines 0 4\nend 7\n";
        assert_eq!(of(made), Some(LinesRead::default()));
        let others = [
            body.to_string(),
            format!("{body}end 8\n"),
            whole.replace("reads 1", "reads 2"),
            whole.replace("/t/files/a", "/t/other/a"),
            whole.replace("lines 63", "lines x"),
            whole.replace("lines 63", "pages 63"),
            format!("{body}failed 7\n"),
            String::new(),
        ];
        for other in others {
            assert_eq!(of(&other), None, "{other}");
        }
    }
}
