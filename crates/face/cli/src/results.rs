//! A command's result in the folder that was asked for: what an earlier result has there that this one has not goes, so that
//! the two are never taken for one.

use crate::whole::{self, Ready};
use crate::{Failure, abandoned};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// What a command puts into a folder.
struct Product {
    /// It is there where this file is. It says where it is from.
    result: &'static str,
    files: &'static [&'static str],
    /// Files that it has where its command says so, by which option.
    asked_for: &'static [(&'static str, &'static str)],
    /// Figures of its page, each as `.svg` and `.png`; those whose name ends in `-` have a number behind it.
    figures: &'static [&'static str],
}

/// What there is of every command but campaigns, which go on where they were. Runs that are kept, and what a search found so far,
/// are no results: the same command goes on from them.
const PRODUCTS: [Product; 9] = [
    Product {
        result: "run.json",
        files: &["stats.parquet"],
        asked_for: &[("--timeline", "timeline.pftrace"), ("--power-fails-at", "image.pm")],
        figures: &["time", "timeline", "opening", "operations"],
    },
    Product {
        result: "compare.json",
        files: &["results.parquet"],
        asked_for: &[],
        figures: &["speedup", "time", "opening", "operations", "free", "pm_integrated", "swap"],
    },
    Product { result: "crash.json", files: &[], asked_for: &[], figures: &[] },
    Product { result: "curve.json", files: &["curve.csv"], asked_for: &[], figures: &["curve"] },
    Product { result: "holdup.json", files: &["holdup.csv"], asked_for: &[], figures: &["holdup"] },
    Product { result: "diff.json", files: &[], asked_for: &[], figures: &["time", "operations"] },
    Product { result: "explore.json", files: &[], asked_for: &[], figures: &["trace"] },
    Product { result: "shared.json", files: &[], asked_for: &[], figures: &["schedule-"] },
    Product { result: "reproduce.json", files: &[], asked_for: &[], figures: &["published", "tornado"] },
];

/// The page of each.
const REPORT: &str = "report.html";

/// What this command writes.
pub(crate) struct Own<'a> {
    folder: &'a Path,
    names: BTreeSet<String>,
    /// What is whole, under other names.
    ready: Vec<Ready>,
}

impl Own<'_> {
    /// Writes a file.
    pub(crate) fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.folder.join(name);
        let fail = |e: std::io::Error| Failure::BadInput(format!("{}: {e}", path.display()));
        let ((), ready) = whole::ready(&path, |mut file| file.write_all(bytes).map_err(fail))?;
        self.ready.extend(ready);
        self.names.insert(name.into());
        Ok(())
    }

    /// Writes a value as text.
    pub(crate) fn write_json(&mut self, name: &str, value: &Value) -> Result<(), Failure> {
        self.write(name, format!("{value:#}\n").as_bytes())
    }

    /// The path of a file that is written otherwise, after the others.
    pub(crate) fn place(&mut self, name: &str) -> PathBuf {
        self.names.insert(name.into());
        self.folder.join(name)
    }
}

/// Puts a result into a folder. Its files get their names when all of them are written, so that an earlier result is whole where there
/// is no room for this one; what is left of that goes then. Pages and figures are drawn afterwards.
pub(crate) fn put(
    folder: &Path,
    write: impl FnOnce(&mut Own<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    abandoned::remove_partial(folder);
    let earlier = earlier(folder);
    let mut own = Own { folder, names: BTreeSet::new(), ready: Vec::new() };
    write(&mut own)?;
    own.ready.drain(..).try_for_each(Ready::put)?;
    for name in earlier.difference(&own.names) {
        _ = std::fs::remove_file(folder.join(name));
        if let Some((inner, _)) = name.split_once('/') {
            // What a user put there stays.
            _ = std::fs::remove_dir(folder.join(inner));
        }
    }
    Ok(())
}

/// The files of earlier results. Those of a user's, which may be called the same, are none.
fn earlier(folder: &Path) -> BTreeSet<String> {
    let there = names_in(folder);
    let mut inner = BTreeSet::new();
    let mut found = BTreeSet::new();
    for product in PRODUCTS.iter().filter(|product| there.contains(product.result)) {
        let Some(result) = result(&folder.join(product.result)) else { continue };
        found.extend([product.result, REPORT].map(String::from));
        found.extend(product.files.iter().map(|name| (*name).to_string()));
        let command = result["provenance"]["command"].as_str().unwrap_or_default();
        let asked = product.asked_for.iter().filter(|(option, _)| command.contains(option));
        found.extend(asked.map(|(_, name)| (*name).to_string()));
        if !there.contains(REPORT) {
            continue;
        }
        let of_paper = result["figures"].as_array().into_iter().flatten();
        let of_paper = of_paper.filter_map(|figure| figure["name"].as_str());
        let figures: Vec<&str> = product.figures.iter().copied().chain(of_paper).collect();
        found.extend(there.iter().filter(|name| is_figure(name, &figures)).cloned());
        inner.extend(inner_figures(folder, &result, &figures));
    }
    &(&found & &there) | &inner
}

/// The names of what is in a folder.
fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}

/// Figures of a page that has a folder of them for each of several machines, as its result says.
fn inner_figures(folder: &Path, result: &Value, figures: &[&str]) -> Vec<String> {
    let pairs = result["pairs"].as_array().into_iter().flatten();
    let named = pairs.filter_map(|pair| pair["figures"].as_str());
    let own = named.filter(|name| Path::new(name).file_name().is_some_and(|own| own == *name));
    let all = own.flat_map(|name| {
        let files = names_in(&folder.join(name)).into_iter();
        files.filter(|file| is_figure(file, figures)).map(move |file| format!("{name}/{file}"))
    });
    all.collect()
}

/// A result of a command, if it is one.
fn result(path: &Path) -> Option<Value> {
    // A pipe would be waited for.
    let text = path.is_file().then(|| std::fs::read_to_string(path).ok())??;
    let value: Value = serde_json::from_str(&text).ok()?;
    (value.get("provenance").is_some() || value.get("refused").is_some()).then_some(value)
}

fn is_figure(name: &str, figures: &[&str]) -> bool {
    let Some(stem) = name.strip_suffix(".svg").or_else(|| name.strip_suffix(".png")) else { return false };
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    figures.iter().any(|figure| {
        stem == *figure || (figure.ends_with('-') && stem.strip_prefix(*figure).is_some_and(is_number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output;

    fn names(folder: &Path) -> Vec<String> {
        let mut all: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        all.sort();
        all
    }

    #[test]
    fn an_earlier_result_goes_and_what_is_a_users_stays() {
        let temporary = whole::beside(&std::env::temp_dir().join("mixed"), "results");
        let folder = temporary.path();
        let empty = |name: &str| output::write(folder, name, b"").unwrap();
        [
            "stats.parquet",
            "image.pm",
            "timeline.pftrace",
            REPORT,
            "time.svg",
            "notes.txt",
            "trace.png",
            "schedule-1.svg",
            "schedule-x.svg",
        ]
        .iter()
        .for_each(|name| empty(name));
        output::write(&folder.join("runs"), "01.intel.json", b"").unwrap();
        output::write(folder, "run.json", br#"{"mine": true}"#).unwrap();
        let put = |name: &str| {
            let said = serde_json::json!({"provenance": {"command": "coreplane run --timeline"}});
            put(folder, |own| own.write_json(name, &said)).unwrap();
        };
        put("curve.json");
        assert_eq!(names(folder).len(), 12, "nothing of these is known to be an earlier result's");
        put("run.json");
        empty(REPORT);
        put("shared.json");
        let users =
            ["image.pm", "notes.txt", "runs", "schedule-1.svg", "schedule-x.svg", "shared.json", "trace.png"];
        assert_eq!(names(folder), users);
        empty(REPORT);
        put("compare.json");
        let users = ["compare.json", "image.pm", "notes.txt", "runs", "schedule-x.svg", "trace.png"];
        assert_eq!(names(folder), users, "no power failed of which there was an image");
        empty("time.png");
        put("run.json");
        assert!(names(folder).contains(&"time.png".into()), "no page was drawn");
    }

    #[test]
    fn figures_of_several_machines_go_with_their_folders() {
        let temporary = whole::beside(&std::env::temp_dir().join("pairs"), "results");
        let folder = temporary.path();
        let pairs = ["01.intel", "02.eadr", "..", "a/b"].map(|name| serde_json::json!({"figures": name}));
        let said = serde_json::json!({"provenance": {}, "pairs": pairs});
        put(folder, |own| own.write_json("diff.json", &said)).unwrap();
        output::write(folder, REPORT, b"").unwrap();
        for (inner, name) in [
            ("01.intel", "time.svg"),
            ("01.intel", "time.png"),
            ("02.eadr", "time.svg"),
            ("02.eadr", "mine.txt"),
            ("a/b", "time.svg"),
            ("c", "time.svg"),
        ] {
            output::write(&folder.join(inner), name, b"").unwrap();
        }
        put(folder, |own| own.write_json("diff.json", &serde_json::json!({"provenance": {}}))).unwrap();
        assert_eq!(names(folder), ["02.eadr", "a", "c", "diff.json"]);
        assert_eq!(names(&folder.join("02.eadr")), ["mine.txt"]);
        assert_eq!(names(&folder.join("a/b")), ["time.svg"]);
    }

    #[test]
    fn a_result_that_cannot_be_written_leaves_the_earlier_one_whole() {
        let temporary = whole::beside(&std::env::temp_dir().join("halves"), "results");
        let folder = temporary.path();
        let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
        let written = |own: &mut Own<'_>, of: &str| {
            own.write("results.parquet", of.as_bytes())?;
            own.write_json("compare.json", &serde_json::json!({"provenance": {}, "of": of}))
        };
        put(folder, |own| written(own, "old")).unwrap();
        output::write(folder, REPORT, b"").unwrap();
        output::write(folder, "speedup.svg", b"").unwrap();
        // The last file of the new one can be made nowhere.
        let failed = put(folder, |own| {
            written(own, "new")?;
            own.write("compare.json/below", b"")
        });
        assert!(failed.is_err());
        assert_eq!(names(folder), ["compare.json", REPORT, "results.parquet", "speedup.svg"]);
        assert_eq!(read("results.parquet"), b"old");
        assert!(String::from_utf8(read("compare.json")).unwrap().contains("old"));
        put(folder, |own| written(own, "new")).unwrap();
        assert_eq!(names(folder), ["compare.json", "results.parquet"]);
        assert_eq!(read("results.parquet"), b"new");
    }

    #[test]
    fn what_a_killed_process_left_half_made_goes_with_the_next_result() {
        let temporary = whole::beside(&std::env::temp_dir().join("left"), "results");
        let folder = temporary.path();
        let nobody = ".run.json.4194305.partial"; // Beyond the most processes that Linux numbers.
        let lives = format!(".run.json.{}.partial", std::os::unix::process::parent_id());
        [nobody, &lives].iter().for_each(|name| output::write(folder, name, b"half").unwrap());
        put(folder, |own| own.write_json("run.json", &serde_json::json!({"provenance": {}}))).unwrap();
        assert_eq!(names(folder), [&lives, "run.json"]);
    }
}
