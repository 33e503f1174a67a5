//! `coreplane crash` of several hosts and the memory that they share.

use crate::Failure;
use crate::args::CrashArgs;
use crate::crash::{of_recordings, some_points};
use crate::crash_lab::Lab;
use crate::crash_options::every;
use crate::output;
use check::crash::{Timed, TimedFailure};
use machine::{CrashEvery, Description, WorkloadDescription, power_failures};
use serde_json::json;
use simulator::{Broken, PowerFailure};

/// Different failures that are told.
const FAILURES: usize = 8;

/// The power fails at many instants of a run of hosts, and recovery looks at what the device has kept.
pub(crate) fn lab(
    args: &CrashArgs,
    machine: &Description,
    workload: &WorkloadDescription,
) -> Result<Lab, Failure> {
    some_points(args)?;
    refused(args)?;
    output::make_folder(args.out.as_deref())?;
    // A run of hosts makes few writes.
    let every = every(args)?.unwrap_or(CrashEvery::Persists(1));
    let mut found = Found::default();
    let (whole, seconds) = output::timed(|| {
        power_failures(machine, workload, every, &mut |failure| {
            found.add(failure);
            found.timed.bounded = found.timed.points >= args.points;
            !found.timed.bounded
        })
    });
    let whole = whole?;
    let mut lab = Lab { seconds, events: whole.accesses as usize, ..Lab::named("shared") };
    let flush = machine.settings.text("shared.persistent_flush").to_string();
    let microjoules = (found.most_lines * machine.drain_line_nj()) as f64 / 1e3;
    lab.notes.push(format!(
        "persistent flush: {flush}; at most {} lines to save ({microjoules:.2} uJ), dirty shutdowns {}",
        found.most_lines, found.dirty
    ));
    if let Some(message) = whole.broken {
        lab.notes.push(format!("without any power failure: {message}"));
    }
    lab.power = Some(json!({
        "kind": flush,
        "most_lines": found.most_lines,
        "microjoules": microjoules,
        "dirty_shutdowns": found.dirty,
    }));
    lab.timed = Some(found.timed);
    Ok(lab)
}

/// Options that have nothing to say of hosts.
fn refused(args: &CrashArgs) -> Result<(), Failure> {
    let others = [
        ("--check", args.check.is_some()),
        ("--model", args.model.is_some()),
        ("--replay", args.replay.is_some()),
        ("--resume", args.resume),
    ];
    match of_recordings(args).iter().chain(&others).find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::BadInput(format!(
            "{option}: does nothing on {}: what several hosts leave is what their device holds (shared.persistent_flush), in one run",
            args.machine
        ))),
    }
}

/// What power failures came to.
#[derive(Default)]
struct Found {
    timed: Timed,
    most_lines: u64,
    dirty: u64,
    findings: Vec<Broken>,
}

impl Found {
    fn add(&mut self, failure: PowerFailure) {
        self.timed.points += 1;
        self.most_lines = self.most_lines.max(failure.lines);
        self.dirty += failure.dirty_shutdowns;
        let Some(broken) = failure.broken else { return };
        self.timed.failing += 1;
        if self.findings.len() < FAILURES && !self.findings.iter().any(|known| known.mark == broken.mark) {
            self.timed.failures.push(TimedFailure {
                at: failure.at,
                ended: failure.ended,
                passed: Vec::new(),
                message: broken.message.clone(),
                lost: Vec::new(),
            });
            self.findings.push(broken);
        }
    }
}
