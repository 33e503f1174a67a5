//! `coreplane show`.

use crate::Failure;
use crate::args::ShowArgs;
use crate::output::{self, Table};
use machine::{Description, PRESETS, STATISTICS, WorkloadDescription};
use protocol::Param;
use serde_json::json;
use workloads::{PAGE_WORKLOADS, VARIANTS, WORKLOADS, Workload, find, find_variant};

pub(crate) fn show(args: &ShowArgs) -> Result<(), Failure> {
    let json = output::is_json(&args.common);
    match args.what.as_str() {
        "machines" => machines(json),
        "workloads" => workloads(json),
        "stats" => stats(json),
        "claims" => claims(json)?,
        "schema" => output::print_json(&machine::schema::machine()),
        name => named(name, json)?,
    }
    Ok(())
}

fn about(text: &str) -> &str {
    text.lines().find_map(|l| l.strip_prefix("about = \"")).and_then(|l| l.strip_suffix('"')).unwrap_or("")
}

fn machines(json: bool) {
    if json {
        return output::print_json(
            &PRESETS.iter().map(|p| json!({"name": p.name, "about": about(p.text)})).collect(),
        );
    }
    let mut table = Table::new(["machine", "what it is"]).left(2);
    PRESETS.iter().for_each(|p| table.row([p.name, about(p.text)]));
    table.print();
}

fn workloads(json: bool) {
    if json {
        let row = |name: &str, w: &Workload| json!({"name": name, "meaning": w.meaning, "source": w.source});
        let all = WORKLOADS.iter().map(|w| row(w.name, w));
        let all = all.chain(variants().map(|(name, w)| row(name, w)));
        let all =
            all.chain(pages().map(
                |w| json!({"name": w.name, "meaning": w.meaning, "source": w.source, "fidelity": "page"}),
            ));
        return output::print_json(&all.collect());
    }
    let mut table = Table::new(["workload", "what it does", "source"]).left(3);
    WORKLOADS.iter().for_each(|w| table.row([w.name, w.meaning, w.source]));
    pages().for_each(|w| table.row([w.name, w.meaning, w.source]));
    variants().for_each(|(name, w)| table.row([name, w.meaning, "the same, as the public artifact runs it"]));
    table.print();
}

/// Workloads that run at page fidelity only.
fn pages() -> impl Iterator<Item = &'static workloads::PageWorkload> {
    PAGE_WORKLOADS.iter().filter(|w| find(w.name).is_none())
}

fn variants() -> impl Iterator<Item = (&'static str, &'static Workload)> {
    VARIANTS.iter().filter_map(|(name, _)| Some((*name, find_variant(name)?.0)))
}

fn stats(json: bool) {
    if json {
        let all = STATISTICS.iter().map(|s| json!({"name": s.name, "unit": s.unit, "meaning": s.meaning}));
        return output::print_json(&all.collect());
    }
    let mut table = Table::new(["statistic", "unit", "meaning"]).left(3);
    STATISTICS.iter().for_each(|s| table.row([s.name, s.unit, s.meaning]));
    table.print();
}

fn claims(json: bool) -> Result<(), Failure> {
    let all = evaluate::Claims::built_in()?;
    if json {
        let rows =
            all.list.iter().map(|c| json!({"id": c.id, "where": c.place, "says": c.says, "use": c.purpose}));
        output::print_json(&rows.collect());
        return Ok(());
    }
    let mut table = Table::new(["claim", "use", "says"]).left(3);
    all.list.iter().for_each(|c| table.row([&c.id, &c.purpose, &c.says]));
    table.print();
    Ok(())
}

fn named(name: &str, json: bool) -> Result<(), Failure> {
    if let Some(info) = STATISTICS.iter().find(|s| s.name == name) {
        if json {
            output::print_json(&json!({"name": info.name, "unit": info.unit, "meaning": info.meaning}));
        } else {
            println!("{} [{}]: {}", info.name, info.unit, info.meaning);
        }
        return Ok(());
    }
    let meaning = find_variant(name).map(|(w, _)| w.meaning);
    if let Some(meaning) = meaning.or_else(|| pages().find(|w| w.name == name).map(|w| w.meaning)) {
        let w = WorkloadDescription::named(name)?;
        let rows = w.params.iter().map(|p| {
            let value = w.settings.get(p.key).map_or_else(String::new, |v| p.kind.show(v));
            (p, value, p.source.to_string())
        });
        parameters(name, meaning, rows, json);
        return Ok(());
    }
    let machine = match output::machine(name) {
        Ok(m) => m,
        Err(e) => {
            let known = PRESETS.iter().map(|p| p.name).chain(WORKLOADS.iter().map(|w| w.name));
            let known = known.chain(pages().map(|w| w.name));
            let near = protocol::params::nearest(name, known);
            let text = if near.is_empty() {
                e.0
            } else {
                format!("nothing is called \"{name}\"; did you mean {}?", near.join(", "))
            };
            return Err(Failure::BadInput(text));
        }
    };
    let text = PRESETS.iter().find(|p| p.name == name).map_or("", |p| about(p.text));
    machine_parameters(&machine, text, json);
    Ok(())
}

fn machine_parameters(machine: &Description, about: &str, json: bool) {
    parameters(&machine.name, about, machine.rows(), json);
    let memories = machine.memory_rows();
    if !json && !memories.is_empty() {
        println!("\nIts memories, over what is above:\n");
        let mut table = Table::new(["key", "value", "meaning"]).left(3);
        memories.into_iter().for_each(|(key, value, meaning)| table.row([key, value, meaning]));
        table.print();
    }
}

fn parameters(
    name: &str,
    about: &str,
    rows: impl Iterator<Item = (&'static Param, String, String)>,
    json: bool,
) {
    if json {
        let all = rows.map(|(p, value, source)| {
            let kind = machine::sources::to_json(&source);
            json!({"key": p.key, "value": value, "unit": p.kind.unit(), "default": p.default,
                   "accepts": p.kind.accepts(), "source": source, "source_kind": kind, "meaning": p.meaning})
        });
        return output::print_json(
            &json!({"name": name, "about": about, "parameters": all.collect::<Vec<_>>()}),
        );
    }
    println!("{name}: {about}\n");
    let mut table = Table::new(["key", "value", "unit", "meaning", "source"]).left(5);
    rows.for_each(|(p, value, source)| {
        table.row([p.key.to_string(), value, p.kind.unit().into(), p.meaning.into(), source])
    });
    table.print();
}
