//! `coreplane explore`.

use crate::Failure;
use crate::args::ExploreArgs;
use crate::bounds::declare;
use crate::lines::{remark, say};
use crate::output::{self, Table};
use crate::progress;
use crate::quantity::count;
use crate::results;
use explore::{Given, Harness, Outcome, Replay};
use protocol::params::nearest;
use serde_json::{Value, json};

/// The most states that are visited where nothing else is asked for.
const STATES: usize = 5_000_000;

/// What only says how states are visited, where none are.
fn only_visits(args: &ExploreArgs, what: &str) -> Result<(), Failure> {
    let bound = args.bounds.0.first().map(|(name, _)| *name).filter(|_| args.protocol == "list");
    match args.states.map(|_| "states").or(bound) {
        Some(name) => {
            Err(Failure::BadInput(format!("--{name}: does nothing for {what}, which visits no states")))
        }
        None => Ok(()),
    }
}

pub(crate) fn explore(args: &ExploreArgs) -> Result<(), Failure> {
    if args.states == Some(0) {
        return Err(Failure::BadInput("--states 0: give at least 1".into()));
    }
    if args.protocol == "list" {
        only_visits(args, "list")?;
        list(output::is_json(&args.common));
        return Ok(());
    }
    let harness = protocol(&args.protocol)?;
    let given = given(&args.bounds.0, harness)?;
    match (args.mutant.as_deref(), &args.replay) {
        (Some("list"), _) => {
            list_mutants(harness, output::is_json(&args.common));
            Ok(())
        }
        (mutant, Some(choices)) => {
            only_visits(args, "--replay")?;
            let replay = harness.replay(&given, mutant, choices).map_err(Failure::BadInput)?;
            replayed(args, harness, &given, &replay)
        }
        (mutant, None) => visit(args, harness, &given, mutant),
    }
}

/// The protocol called `name`.
pub(crate) fn protocol(name: &str) -> Result<&'static Harness, Failure> {
    let names = || machine::protocols().map(|p| p.name).collect::<Vec<_>>().join(", ");
    let unknown = || Failure::BadInput(format!("`{name}` is no protocol; accepted: {}", names()));
    machine::protocols().find(|p| p.name == name).ok_or_else(unknown)
}

/// Every protocol with its bounds and its mutants, as JSON.
pub(crate) fn protocols() -> Value {
    let bound = |b: &explore::Bound| json!({"name": b.name, "meaning": b.to_string()});
    let one = |p: &Harness| {
        json!({
            "name": p.name,
            "meaning": p.meaning,
            "bounds": p.bounds.iter().map(bound).collect::<Vec<_>>(),
            "mutants": mutants(p),
        })
    };
    machine::protocols().map(one).collect()
}

/// Every protocol with its bounds.
pub(crate) fn list(json: bool) {
    if json {
        return output::print_json(&protocols());
    }
    let mut table = Table::new(["protocol", "what is explored"]).left(2);
    for p in machine::protocols() {
        table.row([p.name.to_string(), p.meaning.to_string()]);
        p.bounds.iter().for_each(|b| table.row([String::new(), format!("  --{} {b}", b.name)]));
    }
    table.print();
}

/// The mutants of a protocol as JSON, each with the bounds that it has unless others are given.
fn mutants(harness: &Harness) -> Value {
    let one = |(name, meaning): (&str, &str)| {
        let bounds =
            harness.shown_with(name).iter().map(|(name, value)| json!({"name": name, "value": value}));
        json!({"name": name, "meaning": meaning, "bounds": bounds.collect::<Vec<_>>()})
    };
    harness.mutants().into_iter().map(one).collect()
}

fn list_mutants(harness: &Harness, json: bool) {
    if json {
        return output::print_json(&mutants(harness));
    }
    for (name, meaning) in harness.mutants() {
        say!("{name:20}  {meaning}{}", larger(harness, name));
    }
}

/// The bounds that were given, as the protocol reads them.
pub(crate) fn given<S: AsRef<str>>(values: &[(S, String)], harness: &Harness) -> Result<Given, Failure> {
    let foreign = values.iter().find(|(name, _)| !harness.bounds.iter().any(|b| b.name == name.as_ref()));
    if let Some((name, _)) = foreign {
        return Err(Failure::BadInput(foreign_bound(name.as_ref(), harness)));
    }
    let values = values.iter().map(|(name, text)| (name.as_ref(), text.as_str()));
    Given::read(harness.bounds, values).map_err(Failure::BadInput)
}

/// Why a bound that the protocol does not have is refused.
fn foreign_bound(name: &str, harness: &Harness) -> String {
    let own: Vec<String> = harness.bounds.iter().map(|b| format!("--{}", b.name)).collect();
    let own = if own.is_empty() { "no bounds".into() } else { own.join(", ") };
    let knows: Vec<&str> = declare(name).map(|(p, _)| p.name).collect();
    if !knows.is_empty() {
        return format!(
            "--{name}: does nothing for {}, but for {}; accepted: {own}",
            harness.name,
            knows.join(", ")
        );
    }
    // On the command line there is no such option: a program gave it, beside what every protocol takes.
    let known = harness.bounds.iter().map(|b| b.name).chain(["mutant", "states"]);
    let near: Vec<String> = nearest(name, known).iter().map(|near| format!("--{near}")).collect();
    let near = if near.is_empty() { ";".into() } else { format!("; did you mean {}?", near.join(", ")) };
    format!("{}: unknown bound of {}{near} accepted: {own}", name.replace('-', "_"), harness.name)
}

/// The bounds that a mutant has unless others are given.
fn larger(harness: &Harness, mutant: &str) -> String {
    let option = |(name, text): &(&str, &str)| format!(" --{name} {text}").trim_end().to_string();
    let bounds: String = harness.shown_with(mutant).iter().map(option).collect();
    if bounds.is_empty() { bounds } else { format!(" (with{bounds})") }
}

fn visit(args: &ExploreArgs, harness: &Harness, given: &Given, mutant: Option<&str>) -> Result<(), Failure> {
    let bounds = mutant.map(|mutant| larger(harness, mutant)).filter(|bounds| !bounds.is_empty());
    if let Some(bounds) = bounds.filter(|_| !args.common.quiet) {
        remark(&format!("--mutant {}{bounds}, unless others are given", mutant.unwrap_or_default()));
    }
    let states = args.states.unwrap_or(STATES);
    let bar = progress::search(&args.common, states, "states");
    let (outcome, seconds) = output::timed(|| host::tries(|| harness.explore(given, mutant, states)));
    drop(bar);
    let outcome = outcome.map_err(Failure::BadInput)?;
    keep(args, harness, given, json(&args.protocol, args.mutant.as_deref(), &outcome, seconds))?;
    if output::is_json(&args.common) {
        output::print_json(&json(&args.protocol, args.mutant.as_deref(), &outcome, seconds));
    } else {
        print(&outcome, seconds);
    }
    match outcome.violation {
        Some(v) => Err(Failure::DoesNotHold(v.message)),
        None => Ok(()),
    }
}

/// Every bound with the value that counted, and what it means.
fn within(args: &ExploreArgs, harness: &Harness, given: &Given) -> Result<Value, Failure> {
    let larger = args.mutant.as_deref().map_or(&[][..], |mutant| harness.shown_with(mutant));
    let given = Given::read(harness.bounds, larger.iter().copied()).map_err(Failure::BadInput)?.then(given);
    let rows =
        harness.bounds.iter().map(|b| json!({"name": b.name, "value": given.told(b), "meaning": b.meaning}));
    Ok(rows.collect())
}

/// Keeps a result with what it takes to see it again.
fn keep(args: &ExploreArgs, harness: &Harness, given: &Given, mut result: Value) -> Result<(), Failure> {
    let Some(folder) = &args.out else { return Ok(()) };
    output::make_folder(Some(folder))?;
    result["meaning"] = harness.meaning.into();
    result["bounds"] = args.bounds.0.iter().map(|(name, value)| json!([name, value])).collect();
    result["within"] = within(args, harness, given)?;
    let mutant = harness.mutants().into_iter().find(|(name, _)| Some(*name) == args.mutant.as_deref());
    result["mutant_meaning"] = mutant.map(|(_, meaning)| meaning).into();
    result["provenance"] = output::provenance();
    results::put(folder, |own| own.write_json("explore.json", &result))
}

fn replayed(args: &ExploreArgs, harness: &Harness, given: &Given, replay: &Replay) -> Result<(), Failure> {
    let way = json!({"message": replay.message, "trace": replay.trace, "choices": args.replay});
    let violation = replay.message.as_ref().map(|_| way);
    let kept = json!({"protocol": args.protocol, "mutant": args.mutant, "violation": violation});
    keep(args, harness, given, kept)?;
    if output::is_json(&args.common) {
        output::print_json(&json!({"trace": replay.trace, "message": replay.message}));
    } else {
        steps(&replay.trace);
        let message = replay.message.as_deref().unwrap_or("none where the trace ends");
        say!("violation  {message}");
    }
    replay.message.clone().map_or(Ok(()), |message| Err(Failure::DoesNotHold(message)))
}

/// What a search found, as JSON.
pub(crate) fn json(protocol: &str, mutant: Option<&str>, o: &Outcome, seconds: f64) -> Value {
    let violation =
        o.violation.as_ref().map(|v| json!({"message": v.message, "trace": v.trace, "choices": v.choices}));
    json!({
        "protocol": protocol,
        "mutant": mutant,
        "states": o.states,
        "steps": o.steps,
        "depth": o.depth,
        "final_states": o.finals,
        "complete": o.complete,
        "violation": violation,
        "host_seconds": seconds,
    })
}

fn print(o: &Outcome, seconds: f64) {
    let rate = o.states as f64 / seconds / 1e3;
    println!("states     {} ({rate:.0} thousand a second)", count(o.states as u64));
    println!("steps      {}", count(o.steps as u64));
    println!("depth      {}", count(o.depth as u64));
    println!("ends       {}", count(o.finals as u64));
    if let Some(v) = &o.violation {
        say!("violation  {}\n\na shortest way there:", v.message);
        steps(&v.trace);
    } else if o.complete {
        println!("violation  none; every state was visited");
    } else {
        say!("violation  none in the states visited; more are left (raise --states)");
    }
}

fn steps(trace: &[String]) {
    trace.iter().enumerate().for_each(|(i, step)| say!("{:4}  {step}", i + 1));
}
