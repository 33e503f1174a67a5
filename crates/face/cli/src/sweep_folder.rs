//! The folder of a campaign's results: what it holds, and which campaign may go on there.

use crate::Failure;
use crate::output;
use crate::sweep_sources::{Job, Sources};
use machine::Campaign;
use serde_json::{Map, Value, json};
use std::path::{Component, Path, PathBuf};

/// What the folder says of its campaign.
const ABOUT: &str = "campaign.json";

/// What each campaign that goes on in a folder has to be alike in, and how it differs in words. Machines and workloads may be others.
const ALIKE: [(&str, &str); 3] = [("version", "was made by version"), ("vary", "varies"), ("set", "sets")];

/// What [`ABOUT`] has of a campaign whose results go to `folder`; with what it had of one before, whose results are there. `jobs` are all of its
/// runs: results of others in the folder are of what it had before.
pub(crate) fn about(
    campaign: &Campaign,
    file: &Path,
    (sources, jobs): (&Sources, &[Job]),
    folder: &Path,
) -> Value {
    let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
    let mut about = json!({
        "vary": varied(campaign), "runs": campaign.len(), "names": names, "version": env!("CARGO_PKG_VERSION"),
        "set": sources.settings(&campaign.set), "machines": hashes(sources.machine_hashes()), "workloads": hashes(sources.workload_hashes()),
        "campaign": from(folder, file).to_string_lossy(),
    });
    let before = read(folder).unwrap_or_default();
    for kind in ["machines", "workloads"] {
        if let (Some(now), Some(before)) = (about[kind].as_object_mut(), before[kind].as_object()) {
            before.iter().for_each(|(name, hash)| _ = now.entry(name).or_insert_with(|| hash.clone()));
        }
    }
    about
}

fn read(folder: &Path) -> Option<Value> {
    let text = std::fs::read_to_string(folder.join(ABOUT)).ok()?;
    Some(serde_json::from_str(&text).unwrap_or_default())
}

/// Whether the folder holds nothing yet, or may go on: everything in it is to be of one campaign.
pub(crate) fn may_begin(resume: bool, folder: &Path, about: &Value) -> Result<(), Failure> {
    let Some(before) = read(folder) else { return Ok(()) };
    let at = folder.display();
    if !resume {
        return Err(Failure::BadInput(format!(
            "{at}: holds the results of a campaign; give --resume to go on with it, or another --out"
        )));
    }
    match differs(&before, about) {
        None => Ok(()),
        Some(how) => Err(Failure::BadInput(format!("{at}: holds the results of {how}; give another --out"))),
    }
}

/// How the campaign of before was another one, in words.
fn differs(before: &Value, now: &Value) -> Option<String> {
    if let Some((key, does)) = ALIKE.iter().find(|(key, _)| before[key] != now[key]) {
        let shown = |value: &Value| match value {
            Value::Null => "something unknown".to_string(),
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
        };
        return Some(format!("a campaign that {does} {}, not {}", shown(&before[key]), shown(&now[key])));
    }
    ["machines", "workloads"].iter().find_map(|kind| {
        let Some(hashes) = before[kind].as_object() else { return Some("another version".to_string()) };
        let other = |(name, hash): &(&String, &Value)| now[kind].get(name.as_str()) != Some(hash);
        hashes.iter().find(other).map(|(name, _)| format!("{name} before it was changed"))
    })
}

pub(crate) fn varied(campaign: &Campaign) -> Vec<&str> {
    campaign.vary.iter().map(|(key, ..)| key.as_str()).collect()
}

/// Keeps the campaign's text beside its results, and what is said of it.
pub(crate) fn keep_campaign(folder: &Path, about: &Value, text: &str) -> Result<(), Failure> {
    output::write(folder, "campaign.toml", text.as_bytes())?;
    output::write(folder, ABOUT, format!("{about:#}\n").as_bytes())
}

/// The simulated nanoseconds of a run whose results are whole.
pub(crate) fn done(folder: &Path, job: &Job) -> Option<f64> {
    let file = |extension: &str| std::fs::read(folder.join(format!("{}.{extension}", job.name))).ok();
    if !trace::tables::is_whole(file("parquet")?) {
        return None;
    }
    let report: Value = serde_json::from_slice(&file("json")?).ok()?;
    report["time_ns"].as_f64()
}

/// Where a file is, from a folder, which need not be there yet.
fn from(folder: &Path, file: &Path) -> PathBuf {
    let (Ok(folder), Ok(file)) = (std::path::absolute(folder), std::path::absolute(file)) else {
        return file.into();
    };
    let (folder, file) = (plain(&folder), plain(&file));
    let same = folder.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(same).map(|_| Component::ParentDir);
    up.chain(file.components().skip(same)).collect()
}

/// A path without steps back.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

/// Names and hashes, as JSON.
fn hashes<'a>(of: impl Iterator<Item = (&'a str, u64)>) -> Value {
    of.map(|(name, hash)| (name.to_string(), format!("{hash:016x}").into())).collect::<Map<_, _>>().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_from_a_folder() {
        for (folder, file, wanted) in [
            ("k.sweep", "k.toml", "../k.toml"),
            ("k.sweep", "./a/k.toml", "../a/k.toml"),
            ("/x/../out/k.sweep", "/a/k.toml", "../../a/k.toml"),
            ("here", "here/k.toml", "k.toml"),
        ] {
            assert_eq!(from(Path::new(folder), Path::new(file)), PathBuf::from(wanted));
        }
    }

    #[test]
    fn a_campaign_goes_on_where_nothing_that_it_names_has_become_another() {
        let about = |set: &str, machine: &str| json!({"version": "1", "vary": ["a"], "set": {"k": set}, "machines": {machine: "1"}, "workloads": {}});
        let said = |before: &Value, now: &Value| differs(before, now).unwrap_or_default();
        let first = about("1", "m");
        assert_eq!(said(&first, &first), "");
        assert_eq!(said(&first, &about("2", "m")), r#"a campaign that sets {"k":"1"}, not {"k":"2"}"#);
        let mut changed = first.clone();
        changed["machines"]["m"] = "2".into();
        assert_eq!(said(&first, &changed), "m before it was changed");
        changed = first.clone();
        changed["machines"]["n"] = "3".into();
        assert_eq!(said(&first, &changed), "", "machines may be added");
        changed["version"] = "2".into();
        assert_eq!(said(&first, &changed), "a campaign that was made by version 1, not 2");
        changed["set"] = Value::Null;
        changed["version"] = "1".into();
        assert_eq!(said(&changed, &first), r#"a campaign that sets something unknown, not {"k":"1"}"#);
    }
}
