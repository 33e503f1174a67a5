//! Parameters by themselves: each definition of a key, and whose it is.

use crate::output::{self, Table};
use machine::params::MACHINE;
use machine::{Description, PRESETS};
use protocol::Param;
use serde_json::{Value, json};

/// What a key is, and the workloads of which it is that; none of a machine's key.
pub(crate) struct Definition {
    param: &'static Param,
    workloads: Vec<&'static str>,
}

impl Definition {
    fn new(param: &'static Param) -> Definition {
        Definition { param, workloads: Vec::new() }
    }

    /// Whether another parameter is the same in everything that is shown.
    fn is(&self, other: &Param) -> bool {
        let shown = |p: &Param| (p.key, p.default, p.source, p.meaning, p.acts);
        shown(self.param) == shown(other) && self.param.kind.accepts() == other.kind.accepts()
    }
}

/// Every definition of a parameter of machines, workloads and recordings. Those of one key stand together.
pub(crate) fn all() -> Vec<Definition> {
    let mut all: Vec<Definition> = MACHINE.iter().map(Definition::new).collect();
    for (name, params) in machine::workload_tables() {
        params.iter().for_each(|param| add(&mut all, name, param));
    }
    all
}

fn add(all: &mut Vec<Definition>, workload: &'static str, param: &'static Param) {
    if let Some(known) = all.iter_mut().find(|known| known.is(param)) {
        if !known.workloads.contains(&workload) {
            known.workloads.push(workload);
        }
        return;
    }
    let behind =
        all.iter().rposition(|known| known.param.key == param.key).map_or(all.len(), |last| last + 1);
    all.insert(behind, Definition { param, workloads: vec![workload] });
}

/// Every key once.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = all().iter().map(|d| d.param.key).collect();
    names.dedup();
    names
}

/// All of them in a line each, with whose they are.
pub(crate) fn every_one() {
    let mut table = Table::new(["key", "default", "unit", "meaning"]).text_from(2);
    for Definition { param, workloads } in all() {
        let of = if workloads.is_empty() { String::new() } else { format!("\nof {}", workloads.join(", ")) };
        table.row([param.key, param.default, param.kind.unit(), &(param.meaning.to_string() + &of)]);
    }
    table.print();
}

/// What a word means: a whole key, a system, or the last word of keys.
pub(crate) fn meant(word: &str) -> Vec<Definition> {
    let of = |fits: &dyn Fn(&str) -> bool| {
        let counted = evaluate::counted::OPEN.iter().copied().map(Definition::new);
        all().into_iter().chain(counted).filter(|d| fits(d.param.key)).collect::<Vec<_>>()
    };
    let exact = of(&|key| key == word);
    if !exact.is_empty() {
        return exact;
    }
    let system = of(&|key| key.split('.').next() == Some(word));
    if !system.is_empty() {
        return system;
    }
    let word = word.replace('-', "_");
    of(&|key| key.rsplit('.').next() == Some(&word) || key.ends_with(&format!(".{word}")))
}

/// Those of a kind of recordings, by its word: `trace`, or `trace:FILE`.
pub(crate) fn of_recordings(name: &str) -> Vec<Definition> {
    let of = |workload: &&str| {
        let kind = workload.strip_suffix(":FILE");
        kind == Some(name) || kind.is_some() && *workload == name
    };
    all().into_iter().filter(|d| d.workloads.iter().any(of)).collect()
}

/// Of each key, the machines that it acts on.
fn machines_of(found: &[Definition]) -> Vec<Vec<&'static str>> {
    let named = |name: &'static str| Some((name, Description::preset(name).ok()?));
    let plain = PRESETS.iter().map(|p| p.name).filter(|name| !name.contains('@'));
    let machines: Vec<(&'static str, Description)> = plain.filter_map(named).collect();
    let acts = |d: &Definition| {
        machines.iter().filter(|(_, m)| m.acts(d.param.key)).map(|(name, _)| *name).collect()
    };
    found.iter().map(acts).collect()
}

/// Parameters by themselves, as JSON.
pub(crate) fn list(found: &[Definition]) -> Value {
    let one = |(Definition { param: p, workloads }, machines): (&Definition, Vec<&str>)| {
        json!({"key": p.key, "unit": p.kind.unit(), "default": p.default, "accepts": machine::accepts(p),
               "source": p.source, "meaning": p.meaning, "machines": machines, "workloads": workloads})
    };
    found.iter().zip(machines_of(found)).map(one).collect()
}

/// Parameters by themselves: with what they accept, and the machines or workloads whose they are.
pub(crate) fn described(name: &str, found: &[Definition], json: bool) {
    if json {
        return output::print_json(&json!({"name": name, "parameters": list(found)}));
    }
    let mut table = Table::new(["key", "default", "unit", "meaning"]).text_from(2);
    for (Definition { param: p, workloads }, machines) in found.iter().zip(machines_of(found)) {
        let mut text = format!("{}\naccepts {}\nfrom {}", p.meaning, machine::accepts(p), p.source);
        if p.key.starts_with("counting.") {
            text += "\nacts on what reproduce counts without a machine, where --bands varies it; it cannot be set";
        } else if !workloads.is_empty() {
            text += &format!("\nof {}", workloads.join(", "));
        } else if machines.is_empty() {
            // It hangs on another key, which none of them sets so.
            text += &format!("\n{}", machine::acts_on(p.key, &[]).trim_start_matches("it "));
        } else {
            text += &format!("\nacts on {}", machines.join(", "));
        }
        table.row([p.key.into(), p.default.into(), p.kind.unit().to_string(), text]);
    }
    table.print();
}
