//! `coreplane explore`.

use crate::Failure;
use crate::args::ExploreArgs;
use crate::output;
use check::explore::{self, Outcome, asap::AsapSpace};
use ordering::asap::Mutant;
use serde_json::json;

pub(crate) fn explore(args: &ExploreArgs) -> Result<(), Failure> {
    if args.protocol != "asap" {
        return Err(Failure::BadInput(format!("`{}` is no protocol; accepted: asap", args.protocol)));
    }
    if args.mutant.as_deref() == Some("list") {
        Mutant::ALL.iter().for_each(|(name, _, meaning)| println!("{name:20} {meaning}"));
        return Ok(());
    }
    if args.states == 0 {
        return Err(Failure::BadInput("--states 0: give at least 1".into()));
    }
    let space = AsapSpace {
        cores: args.cores,
        controllers: args.controllers,
        lines: args.lines,
        epochs: args.epochs,
        stores: args.stores,
        recovery_table: args.recovery_table,
        persist_buffer: args.persist_buffer,
        epoch_table: args.epoch_table,
        mutant: args.mutant.as_deref().map(mutant).transpose()?,
    };
    space.check_bounds().map_err(Failure::BadInput)?;
    let bar = output::progress(&args.common, args.states, "states");
    let (outcome, seconds) =
        output::timed(|| explore::explore(&space, args.states, |states| bar.set_position(states as u64)));
    bar.finish_and_clear();
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

fn mutant(name: &str) -> Result<Mutant, Failure> {
    output::named("--mutant", name, Mutant::ALL.map(|(n, mutant, _)| (n, mutant)))
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
