//! What checks said of images, kept as they say it: a search that was interrupted is made again, and no check that was done is.

use crate::crash_options::folder;
use crate::crash_so_far::Keeper;
use check::crash::{Candidate, Outcome, Verdict};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The file, in the folder of results: a line for whom it is, then one for each answer, and before it what it read, where that is new.
pub(crate) const ASKED: &str = "crash.so-far.checks";

/// Bytes that lists of what was read may take; an answer with more is asked for again.
const MOST_BYTES: usize = 64 << 20;

/// Answers of an interrupted search, and where those of this one go.
#[derive(Default)]
pub(crate) struct Asked {
    before: Answers,
    kept: Option<Mutex<Kept>>,
}

/// By point and sum of the image.
#[derive(Default)]
struct Answers {
    said: BTreeMap<(usize, u64), Said>,
    /// Most images are read in one of a few ways.
    reads: Vec<Vec<Range<u64>>>,
}

struct Said {
    message: Option<String>,
    more: bool,
    read: Option<usize>,
}

struct Kept {
    file: File,
    reads: BTreeMap<String, usize>,
    bytes: usize,
}

impl Asked {
    /// With what is there, where the command is to go on. One instant that was asked for has no search.
    pub(crate) fn new(keeper: &Keeper<'_>) -> Asked {
        let args = keeper.args;
        let Some(folder) = folder(args).filter(|_| args.at.is_none()) else { return Asked::default() };
        let path = folder.join(ASKED);
        let first = format!("{}\n", json!({"arguments": keeper.arguments()}));
        let there =
            if args.resume { std::fs::read_to_string(&path).unwrap_or_default() } else { String::new() };
        let lines = there.strip_prefix(&first).unwrap_or_default();
        let (before, whole) = read(lines);
        // Without a file the search does all checks, should it be made again.
        let kept = kept(&path, &first, &lines[..whole]);
        Asked { before, kept: kept.ok().map(Mutex::new) }
    }

    /// What `check` says of an image, or said before.
    pub(crate) fn outcome(&self, image: &Candidate<'_>, check: impl FnOnce() -> Outcome) -> Outcome {
        let key = (image.point(), image.choice());
        if let Some(said) = self.before.said.get(&key) {
            return self.before.outcome(said);
        }
        let outcome = check();
        if let Some(kept) = &self.kept {
            // The search goes on without.
            _ = kept.lock().unwrap_or_else(PoisonError::into_inner).keep(key, &outcome);
        }
        outcome
    }
}

impl Answers {
    fn outcome(&self, said: &Said) -> Outcome {
        let verdict = said.message.clone().map_or(Verdict::Holds, Verdict::Fails);
        let read = said.read.and_then(|number| self.reads.get(number).cloned());
        Outcome { verdict, read, more: said.more }
    }

    /// Takes a line; none where it is not whole.
    fn take(&mut self, line: &str) -> Option<()> {
        let line: Value = serde_json::from_str(line).ok()?;
        if let Some(ranges) = line.as_array() {
            let one = |r: &Value| Some(r[0].as_u64()?..r[1].as_u64()?);
            self.reads.push(ranges.iter().map(one).collect::<Option<_>>()?);
            return Some(());
        }
        let read = line["read"].as_u64().map(|n| n as usize);
        let said =
            Said { message: line["message"].as_str().map(String::from), more: line["more"].as_bool()?, read };
        self.said.insert((line["point"].as_u64()? as usize, line["choice"].as_u64()?), said);
        Some(())
    }
}

/// The answers of all whole lines, and how many bytes these take: the last one may be cut off.
fn read(lines: &str) -> (Answers, usize) {
    let (mut answers, mut whole) = (Answers::default(), 0);
    for line in lines.split_inclusive('\n') {
        if !line.ends_with('\n') || answers.take(line).is_none() {
            break;
        }
        whole += line.len();
    }
    (answers, whole)
}

/// The file, behind what is whole of it.
fn kept(path: &Path, first: &str, lines: &str) -> std::io::Result<Kept> {
    let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    file.set_len(0)?;
    file.write_all(first.as_bytes())?;
    file.write_all(lines.as_bytes())?;
    file.seek(SeekFrom::End(0))?;
    let lists = lines.lines().filter(|line| line.starts_with('['));
    let reads: BTreeMap<String, usize> = lists.enumerate().map(|(n, line)| (line.to_string(), n)).collect();
    let bytes = reads.keys().map(String::len).sum();
    Ok(Kept { file, reads, bytes })
}

impl Kept {
    fn keep(&mut self, (point, choice): (usize, u64), outcome: &Outcome) -> std::io::Result<()> {
        let message = match &outcome.verdict {
            Verdict::Stop => return Ok(()),
            Verdict::Holds => None,
            Verdict::Fails(message) => Some(message),
        };
        let mut text = String::new();
        let mut number = None;
        if let Some(ranges) = &outcome.read {
            let list = json!(ranges.iter().map(|r| [r.start, r.end]).collect::<Vec<_>>()).to_string();
            let next = self.reads.len();
            if !self.reads.contains_key(&list) {
                if self.bytes + list.len() > MOST_BYTES {
                    return Ok(());
                }
                text = format!("{list}\n");
                self.bytes += list.len();
            }
            number = Some(*self.reads.entry(list).or_insert(next));
        }
        let said = json!({"point": point, "choice": choice, "message": message, "more": outcome.more, "read": number});
        self.file.write_all(format!("{text}{said}\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_as_they_were_written_but_for_a_line_that_is_cut_off() {
        let folder = crate::whole::beside(&std::env::temp_dir().join("asked"), "checks");
        std::fs::create_dir_all(folder.path()).unwrap();
        let path = folder.path().join(ASKED);
        let fails = Outcome::of(Err("lost \"one\"\n".into()));
        let reads = Outcome { read: Some(vec![0..64, 128..256]), ..Outcome::of(Ok(())) };
        let all = [Outcome::of(Ok(())), fails, reads.clone(), Outcome { more: true, ..reads }];
        let mut file = kept(&path, "first\n", "").unwrap();
        for (n, outcome) in all.iter().enumerate() {
            file.keep((n, u64::MAX), outcome).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let lines = text.strip_prefix("first\n").unwrap();
        let cut = format!("{lines}{{\"point\": 9");
        let (answers, whole) = read(&cut);
        assert_eq!((whole, answers.reads.len(), answers.said.len()), (lines.len(), 1, all.len()));
        for (n, outcome) in all.iter().enumerate() {
            assert_eq!(answers.outcome(&answers.said[&(n, u64::MAX)]), *outcome);
        }
        let mut again = kept(&path, "first\n", &cut[..whole]).unwrap();
        again.keep((7, 1), &all[2]).unwrap();
        assert_eq!(
            read(std::fs::read_to_string(&path).unwrap().strip_prefix("first\n").unwrap()).0.reads.len(),
            1
        );
    }
}
