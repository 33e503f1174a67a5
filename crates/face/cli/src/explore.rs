//! `coreplane explore`.

use crate::Failure;
use crate::args::ExploreArgs;
use crate::output;
use crate::progress;
use check::explore::{self, Outcome, System, asap::AsapSpace, nearpm::NearSpace, remote::RemoteSpace};
use nearpm::Mutant as NearMutant;
use ordering::asap::Mutant;
use pberry::Walks;
use serde_json::json;

pub(crate) fn explore(args: &ExploreArgs) -> Result<(), Failure> {
    if args.states == 0 {
        return Err(Failure::BadInput("--states 0: give at least 1".into()));
    }
    match args.protocol.as_str() {
        "asap" => asap(args),
        "nearpm" => nearpm(args),
        "remote" => remote(args),
        other => Err(Failure::BadInput(format!("`{other}` is no protocol; accepted: asap, nearpm, remote"))),
    }
}

fn asap(args: &ExploreArgs) -> Result<(), Failure> {
    let Some(mutant) = mutant(args, &Mutant::ALL)? else { return Ok(()) };
    let space = AsapSpace {
        cores: args.cores.unwrap_or(2),
        controllers: args.controllers,
        lines: args.lines,
        epochs: args.epochs.unwrap_or(3),
        stores: args.stores,
        recovery_table: args.recovery_table,
        persist_buffer: args.persist_buffer,
        epoch_table: args.epoch_table,
        mutant,
    };
    space.check_bounds().map_err(Failure::BadInput)?;
    visit(args, &space)
}

fn nearpm(args: &ExploreArgs) -> Result<(), Failure> {
    let Some(mutant) = mutant(args, &NearMutant::ALL)? else { return Ok(()) };
    let space = NearSpace {
        cores: args.cores.unwrap_or(1),
        devices: args.controllers,
        transactions: args.epochs.unwrap_or(2),
        units: args.units,
        host_queue: args.host_queue,
        mutant,
    };
    space.check_bounds().map_err(Failure::BadInput)?;
    visit(args, &space)
}

fn remote(args: &ExploreArgs) -> Result<(), Failure> {
    let Some(mutant) = mutant(args, &pberry::Mutant::ALL)? else { return Ok(()) };
    let walks =
        [("whole-page", Walks::WholePage), ("first-line", Walks::FirstLine), ("untracked", Walks::Untracked)];
    let space = RemoteSpace {
        pages: args.pages,
        frames: args.frames,
        lines: u32::try_from(args.lines).unwrap_or(u32::MAX),
        accesses: args.accesses,
        losses: args.losses,
        duplicates: args.duplicates,
        away: !args.host_stays,
        walks: output::named("--walks", &args.walks, walks)?,
        mutant,
    };
    space.check_bounds().map_err(Failure::BadInput)?;
    visit(args, &space)
}

fn visit(args: &ExploreArgs, space: &impl System) -> Result<(), Failure> {
    let bar = progress::count(&args.common, "states");
    let (outcome, seconds) = output::timed(|| explore::explore(space, args.states));
    drop(bar);
    if output::is_json(&args.common) {
        output::print_json(&json(args, &outcome, seconds));
    } else {
        print(&outcome, seconds);
    }
    match outcome.violation {
        Some(v) => Err(Failure::DoesNotHold(v.message)),
        None => Ok(()),
    }
}

/// The seeded mistake that was asked for, if any; none after the list of them was printed.
fn mutant<M: Copy>(
    args: &ExploreArgs,
    all: &[(&'static str, M, &'static str)],
) -> Result<Option<Option<M>>, Failure> {
    match args.mutant.as_deref() {
        None => Ok(Some(None)),
        Some("list") => {
            all.iter().for_each(|(name, _, meaning)| println!("{name:20} {meaning}"));
            Ok(None)
        }
        Some(name) => {
            let names = all.iter().map(|(n, mutant, _)| (*n, *mutant));
            output::named("--mutant", name, names).map(|m| Some(Some(m)))
        }
    }
}

fn json(args: &ExploreArgs, o: &Outcome, seconds: f64) -> serde_json::Value {
    json!({
        "protocol": args.protocol,
        "mutant": args.mutant,
        "states": o.states,
        "steps": o.steps,
        "depth": o.depth,
        "final_states": o.finals,
        "complete": o.complete,
        "violation": o.violation.as_ref().map(|v| json!({"message": v.message, "trace": v.trace})),
        "host_seconds": seconds,
    })
}

fn print(o: &Outcome, seconds: f64) {
    let rate = o.states as f64 / seconds / 1e3;
    println!("states     {} ({rate:.0} thousand a second)", o.states);
    println!("steps      {}", o.steps);
    println!("depth      {}", o.depth);
    println!("ends       {}", o.finals);
    if let Some(v) = &o.violation {
        println!("violation  {}\n\na shortest way there:", v.message);
        v.trace.iter().enumerate().for_each(|(i, step)| println!("{:4}  {step}", i + 1));
    } else if o.complete {
        println!("violation  none; every state was visited");
    } else {
        println!("violation  none in the states visited; more are left (raise --states)");
    }
}
