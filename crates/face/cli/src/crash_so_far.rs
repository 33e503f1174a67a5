//! What power failures on a machine and a search for images found so far, kept so that an interrupted command can go on.

use crate::Failure;
use crate::args::CrashArgs;
use crate::crash_found::Found;
use crate::crash_options::folder;
use crate::{kept, output};
use check::crash::{Persistency, Search, SoFar, Timed, TimedFailure};
use machine::{Description, WorkloadDescription};
use serde_json::{Value, json};
use std::io::ErrorKind;
use units::Time;

/// The file, in the folder of results.
pub(crate) const SO_FAR: &str = "crash.so-far.json";

/// What must be the same for a search to go on.
fn identity(args: &CrashArgs, model: Persistency) -> Value {
    let (settings, check) = (&args.settings, &args.check);
    json!([
        args.machine,
        args.workload,
        check,
        args.points,
        args.images,
        settings.seed,
        settings.set,
        model.name(),
        [
            json!(args.file),
            json!(args.beside),
            json!(args.after),
            json!(args.from_start),
            json!(args.accept_unseen),
            json!(args.time_limit)
        ],
    ])
}

/// What is behind the names: the recording's bytes, what was set of the machine and of its program, and this build's version.
fn behind(
    args: &CrashArgs,
    machine: &Description,
    workload: &WorkloadDescription,
) -> Result<String, Failure> {
    let told = output::provenance_of(&args.workload)?;
    Ok(kept::hash(&json!([told["version"], told["recordings"]]).to_string(), machine, workload))
}

/// What must be the same, besides, for power failures on the machine to go on.
fn cuts(args: &CrashArgs) -> Value {
    json!([args.every, args.all])
}

/// What was found before an interruption, and keeps what is found since.
pub(crate) struct Keeper<'a> {
    pub(crate) args: &'a CrashArgs,
    arguments: Value,
    /// By the search for images, before.
    pub(crate) before: Found,
    /// On the machine, up to now.
    timed: Value,
}

impl<'a> Keeper<'a> {
    /// With what is there, where the command is to go on.
    pub(crate) fn new(
        args: &'a CrashArgs,
        machine: &Description,
        workload: &WorkloadDescription,
        model: Persistency,
    ) -> Result<Keeper<'a>, Failure> {
        let kept = folder(args).map(|_| behind(args, machine, workload)).transpose()?;
        let arguments = json!([identity(args, model), kept]);
        let mut keeper = Keeper { args, arguments, before: Found::default(), timed: Value::Null };
        let Some(folder) = args.out.as_ref().filter(|_| args.resume) else { return Ok(keeper) };
        let path = folder.join(SO_FAR);
        let named = |what: &dyn std::fmt::Display| Failure::BadInput(format!("{}: {what}", path.display()));
        let damaged = |what: &dyn std::fmt::Display| {
            named(&format!("{what}: it is damaged; without --resume the search begins anew"))
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(keeper),
            Err(e) => return Err(named(&e)),
        };
        let mut so_far: Value = serde_json::from_str(&text).map_err(|e| damaged(&e))?;
        if so_far["arguments"][0] != keeper.arguments[0] {
            return Err(named(&"of a search with other arguments; give these, or another --out"));
        }
        if so_far["arguments"] != keeper.arguments {
            return Err(named(
                &"of another recording, machine or version of the same name; without --resume the search begins anew",
            ));
        }
        let unread = || damaged(&"not what this command wrote");
        keeper.before = Found::read(&so_far["found"]).ok_or_else(unread)?;
        keeper.timed = so_far["timed"].take();
        if !keeper.timed.is_null() && read(&keeper.timed).is_none() {
            return Err(unread());
        }
        Ok(keeper)
    }

    /// What must be the same for a search to go on.
    pub(crate) fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// What was found on the machine before; nothing where the power is to fail at other instants now.
    pub(crate) fn on_the_machine(&self) -> SoFar {
        let same = self.args.at.is_none() && self.timed["cuts"] == cuts(self.args);
        if same { read(&self.timed).unwrap_or_default() } else { SoFar::default() }
    }

    /// Keeps what was found on the machine. Of one instant that was asked for nothing is.
    pub(crate) fn instants(&mut self, so_far: &SoFar) {
        if self.args.at.is_none() {
            self.timed = written(so_far, cuts(self.args));
            self.keep(&self.before);
        }
    }

    /// Keeps what was found of images since.
    pub(crate) fn images(&self, search: &Search) {
        self.keep(&self.before.with(search));
    }

    fn keep(&self, found: &Found) {
        let Some(folder) = folder(self.args) else { return };
        let text = json!({"arguments": self.arguments, "timed": self.timed, "found": found.json()});
        // The search goes on without: what it finds is printed all the same.
        _ = output::write(folder, SO_FAR, text.to_string().as_bytes());
    }
}

fn written(so_far: &SoFar, cuts: Value) -> Value {
    let failure = |f: &TimedFailure| {
        let at = f.at.ps();
        json!({"at_ps": at, "ended": f.ended, "passed": f.passed, "message": f.message, "lost": f.lost})
    };
    let Timed { points, failing, failures, bounded: _, after_end } = &so_far.found;
    json!({
        "cuts": cuts,
        "points": points,
        "failing_points": failing,
        "failures": failures.iter().map(failure).collect::<Vec<_>>(),
        "after_end_ps": after_end.map(Time::ps),
        "said": so_far.said,
    })
}

fn read(v: &Value) -> Option<SoFar> {
    let number = |v: &Value| v.as_u64().and_then(|n| usize::try_from(n).ok());
    let numbers = |v: &Value| v.as_array()?.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>();
    let failure = |f: &Value| {
        Some(TimedFailure {
            at: Time::from_ps(f["at_ps"].as_u64()?),
            ended: numbers(&f["ended"])?,
            passed: numbers(&f["passed"])?,
            message: f["message"].as_str()?.into(),
            lost: numbers(&f["lost"])?,
        })
    };
    let found = Timed {
        points: number(&v["points"])?,
        failing: number(&v["failing_points"])?,
        failures: v["failures"].as_array()?.iter().map(failure).collect::<Option<_>>()?,
        bounded: false,
        after_end: v["after_end_ps"].as_u64().map(Time::from_ps),
    };
    Some(SoFar { found, said: v["said"].as_str().map(String::from) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_on_a_machine_is_read_as_it_was_written() {
        let failure = TimedFailure {
            at: Time::from_ps(1_234_567),
            ended: vec![3, 4],
            passed: vec![70],
            message: "lost \"one\"".into(),
            lost: vec![u64::MAX],
        };
        let (failures, after_end) = (vec![failure], Some(Time::from_ps(9)));
        let found = Timed { points: 17, failing: 2, failures, bounded: false, after_end };
        for so_far in [SoFar { found, said: Some("lost".into()) }, SoFar::default()] {
            let text = written(&so_far, json!([null, false])).to_string();
            let again = read(&serde_json::from_str(&text).unwrap()).unwrap();
            assert_eq!(format!("{again:?}"), format!("{so_far:?}"));
        }
        assert!(read(&json!({"points": 1})).is_none());
    }
}
