//! What a search for crash images found.

use crate::lines::say;
use crate::quantity::count;
use check::crash::{self, Search, StoreNote};
use serde_json::{Value, json};
use trace::names::{name_among, shown};

/// What a search found, before and after an interruption.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    pub(crate) points: usize,
    pub(crate) points_in_log: usize,
    pub(crate) images: usize,
    /// Images that the model allows at the points tried; 0 where they were not counted.
    pub(crate) possible: f64,
    /// `possible` is exact; otherwise there are at least so many.
    pub(crate) counted: bool,
    pub(crate) bounded_points: usize,
    /// Points at which stores to a line that stays pending were taken in groups.
    pub(crate) grouped_points: usize,
    pub(crate) failing_points: usize,
    pub(crate) failures: Vec<Value>,
    /// The search ended with as many failures as it looks for.
    pub(crate) full: bool,
}

impl Found {
    /// With what another part of the same search found.
    pub(crate) fn with(&self, s: &Search) -> Found {
        let mut failures = self.failures.clone();
        let failing_points = self.failing_points + s.failing_points;
        for f in s.failures.iter().map(failure) {
            match failures.iter_mut().find(|g| g["why"] == f["why"]) {
                Some(known) => join(known, &f, failing_points),
                None => failures.push(f),
            }
        }
        Found {
            points: self.points + s.points,
            points_in_log: s.points_in_log,
            images: self.images + s.images,
            possible: (self.possible + s.possible).min(f64::MAX),
            counted: (self.points == 0 || self.counted) && s.counted,
            bounded_points: self.bounded_points + s.bounded_points,
            grouped_points: self.grouped_points + s.grouped_points,
            failing_points,
            failures,
            full: s.full,
        }
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "points": self.points,
            "points_in_log": self.points_in_log,
            "images": self.images,
            "images_possible": (self.possible > 0.0).then_some(self.possible),
            "images_possible_is_exact": self.counted,
            "bounded_points": self.bounded_points,
            "grouped_points": self.grouped_points,
            "failing_points": self.failing_points,
            "ended_with_failures": self.full,
            "failures": self.failures,
        })
    }

    /// What a verdict without a failure does not speak of, where bounds left something out.
    pub(crate) fn left_out(&self) -> Option<String> {
        let is_whole = self.points >= self.points_in_log && self.bounded_points == 0;
        let [points, all, bounded] =
            [self.points, self.points_in_log, self.bounded_points].map(|n| count(n as u64));
        let text =
            format!("bounded: {points} of {all} points, {bounded} with images left out (--points, --images)");
        (!is_whole && self.failing_points == 0).then_some(text)
    }

    /// Why not all points were tried, or not to their end.
    pub(crate) fn ended(&self) -> String {
        match self.full {
            true => format!(
                " (the search ended with {} different failures: mend these first)",
                self.failures.len()
            ),
            false if self.points < self.points_in_log => " (the bound; --points raises it)".into(),
            false => String::new(),
        }
    }

    /// How many images there are beside those that were tried.
    pub(crate) fn possible_text(&self) -> String {
        let least = if self.counted { "" } else { "at least " };
        let bytes =
            if self.possible <= self.images as f64 { return String::new() } else { many(self.possible) };
        format!(
            " of {least}{bytes} possible; those left out look the same to what was tried, or are over a bound"
        )
    }

    pub(crate) fn read(v: &Value) -> Option<Found> {
        let number = |key: &str| v[key].as_u64().map(|n| n as usize);
        Some(Found {
            points: number("points")?,
            points_in_log: number("points_in_log")?,
            images: number("images")?,
            possible: v["images_possible"].as_f64().unwrap_or_default(),
            counted: v["images_possible_is_exact"].as_bool()?,
            bounded_points: number("bounded_points")?,
            grouped_points: number("grouped_points")?,
            failing_points: number("failing_points")?,
            failures: v["failures"].as_array()?.clone(),
            full: v["ended_with_failures"].as_bool()?,
        })
    }
}

/// A number of images: every digit as long as a person reads them.
fn many(n: f64) -> String {
    match n {
        n if n < 1e6 => count(n as u64),
        n if n < 1e307 => format!("{n:.1e}"),
        _ => "1e307".into(),
    }
}

/// A failure that has the words of a known one: its points, of all that fail, and what recovery says there.
fn join(known: &mut Value, f: &Value, failing_points: usize) {
    let points = |f: &Value| f["points"].as_u64().unwrap_or_default();
    let said = |f: &Value| f["others"].as_array().cloned().unwrap_or_default();
    let says_so = |a: &Value, b: &Value| crash::says_the_same(&text(a), &text(b));
    let mut others = said(known);
    for other in std::iter::once(f["message"].clone()).chain(said(f)) {
        if !says_so(&known["message"], &other) && others.iter().all(|o| !says_so(o, &other)) {
            others.push(other);
        }
    }
    known["points"] = json!((points(known) + points(f)).min(failing_points as u64));
    known["others"] = json!(others);
}

fn text(v: &Value) -> String {
    v.as_str().unwrap_or_default().into()
}

fn failure(f: &crash::Failure) -> Value {
    let note = |n: &StoreNote| {
        let file = n.file.as_deref().map(shown);
        let name = n.name.as_deref().map(shown);
        json!({"site": n.site, "event": n.event, "address": n.address, "value": n.value, "size": n.size, "file": file, "name": name, "offset": n.offset})
    };
    json!({
        "point": f.point,
        "acknowledged": f.acknowledged,
        "message": f.message,
        "why": f.why.text,
        "missing": f.why.missing.iter().map(note).collect::<Vec<_>>(),
        "present": f.why.present.iter().map(note).collect::<Vec<_>>(),
        "replay": f.why.replay,
        "torn": f.why.is_torn,
        "points": f.points,
        "others": f.others,
    })
}

/// Stores of a failure that are printed, of the missing and of those that are there.
const MOST_NOTES: usize = 8;

/// Prints one failure, as [`Found`] holds it.
pub(crate) fn print_failure(f: &Value) {
    say!("\n  {}", text(&f["why"]));
    say!("    recovery: {}", text(&f["message"]));
    for (word, notes) in [("missing", &f["missing"]), ("there", &f["present"])] {
        let notes = notes.as_array().map_or(&[][..], Vec::as_slice);
        for n in notes.iter().take(MOST_NOTES) {
            say!("    {word:8}  {}", noted(n, f));
        }
        if notes.len() > MOST_NOTES {
            let more = notes.len() - MOST_NOTES;
            say!("    {word:8}  and {more} more (--format json lists them)");
        }
    }
    if let Some(number) = f["acknowledged"].as_u64().filter(|n| *n > 0) {
        say!("    marked    {number}, the last before the power failed");
    }
    say!("    {}", replay(f["replay"].as_str().unwrap_or_default()));
    let others: Vec<&str> = f["others"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if !others.is_empty() {
        let points = count(f["points"].as_u64().unwrap_or_default());
        say!(
            "    {points} failing points lose the same places of the program and are taken for this one, which may hide another; recovery says there, too:"
        );
        others.iter().for_each(|other| say!("      {other}"));
    }
}

/// A store of a failure: where it stands in the program, and where in its file, or in memory. A change of a file says in its place
/// what it is.
fn noted(n: &Value, f: &Value) -> String {
    let site = n["site"].as_str().unwrap_or_default();
    if n["size"].as_u64() == Some(0) {
        return site.into();
    }
    let number = |key: &str| n[key].as_u64().unwrap_or_default();
    let place = match (n["file"].as_str(), n["offset"].as_u64()) {
        (Some(path), Some(offset)) => {
            let name = n["name"].as_str().unwrap_or_else(|| file_name(path, f));
            format!("{name}+{offset:#x}")
        }
        _ => format!("{:#x}", number("address")),
    };
    format!("{site:24} [{place}] = {:#x}", number("value"))
}

/// A file by its own name, unless another one of the failure has the same.
fn file_name<'v>(path: &'v str, f: &Value) -> &'v str {
    let notes = ["missing", "present"].into_iter().filter_map(|key| f[key].as_array()).flatten();
    name_among(path, notes.filter_map(|n| n["file"].as_str()))
}

/// Characters of an image's string that are printed.
const MOST_REPLAY: usize = 400;

/// How an image is tried again; of one of many lines only where it is told.
fn replay(text: &str) -> String {
    let characters = text.chars().count();
    if characters <= MOST_REPLAY {
        return format!("--replay '{text}'");
    }
    let first: String = text.chars().take(MOST_REPLAY / 8).collect();
    format!(
        "--replay '{first}...' ({} characters: --format json has all of them, and crash.json in the folder of --out)",
        count(characters as u64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_told_by_its_file_and_a_change_by_what_it_is() {
        let note = |file: Value, offset: Value, size: u8| json!({"site": "kv.c:7 put", "address": 0x1000_0038, "value": 5, "size": size, "file": file, "offset": offset});
        let [a, b] = ["/d/a/log", "/d/b/log"].map(|path| note(json!(path), json!(0x38), 8));
        let alone = json!({"missing": [a], "present": []});
        let both = json!({"missing": [a], "present": [b]});
        assert!(noted(&a, &alone).ends_with(" [log+0x38] = 0x5"));
        assert!(noted(&a, &both).ends_with(" [/d/a/log+0x38] = 0x5"));
        let mut named = a.clone();
        named["name"] = json!("a/log");
        assert!(noted(&named, &alone).ends_with(" [a/log+0x38] = 0x5"), "another file is called log");
        assert!(noted(&note(Value::Null, Value::Null, 8), &alone).ends_with(" [0x10000038] = 0x5"));
        assert_eq!(noted(&note(json!("/d/a/log"), Value::Null, 0), &alone), "kv.c:7 put");
    }

    #[test]
    fn why_a_search_ended_is_told() {
        let found = |points, full| {
            let failures = vec![json!({}); 8];
            Found { points, points_in_log: 21, full, failures, ..Found::default() }
        };
        assert!(found(8, true).ended().contains("ended with 8 different failures"));
        assert!(found(8, false).ended().contains("--points raises it"));
        assert_eq!(found(21, false).ended(), "");
        assert!(Found::read(&found(8, true).json()).is_some_and(|read| read.full));
    }

    #[test]
    fn failures_of_one_text_are_one_with_the_points_of_both() {
        let failure = |message: &str, points: u64, others: &[&str]| json!({"why": "w", "message": message, "points": points, "others": others});
        let mut known = failure("key 1 is lost", 3, &["no root"]);
        join(&mut known, &failure("key 2 is lost", 2, &["no root", "no page 7"]), 9);
        join(&mut known, &failure("a hole", 5, &["no page 8"]), 9);
        assert_eq!(known["points"], 9, "no more than fail");
        assert_eq!(known["others"], json!(["no root", "no page 7", "a hole"]));
    }

    #[test]
    fn an_image_of_many_lines_is_not_printed_whole() {
        let short = "px86-line@7:1c0=1";
        assert_eq!(replay(short), format!("--replay '{short}'"));
        let said = replay(&format!("{short}{}", ",1c0=1".repeat(10_000)));
        assert!(said.len() < 200 && said.starts_with("--replay 'px86-line@7:1c0=1,1c0=1"), "{said}");
        assert!(said.contains("...' (60,017 characters: --format json has all of them"), "{said}");
    }
}
