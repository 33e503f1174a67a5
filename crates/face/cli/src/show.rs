//! `coreplane show`.

use crate::Failure;
use crate::args::ShowArgs;
use crate::explore;
use crate::lines::{self, say};
use crate::markdown;
use crate::output::{self, Table};
use crate::show_keys::{self, Definition};
use machine::params::MACHINE;
use machine::{Description, Fidelity, MemoryRow, PRESETS, STATISTICS, StatisticInfo, WorkloadDescription};
use protocol::Param;
use serde_json::{Value, json};
use workloads::{
    PAGE_WORKLOADS, SHARED_WORKLOADS, VARIANTS, WORKLOADS, Workload, find, find_shared, find_variant,
};

/// What can be shown besides what has a name of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Topic {
    Machines,
    Workloads,
    Stats,
    Parameters,
    Protocols,
    Claims,
    Deviations,
    Schema,
}

impl Topic {
    pub(crate) const ALL: [Topic; 8] = [
        Topic::Machines,
        Topic::Workloads,
        Topic::Stats,
        Topic::Parameters,
        Topic::Protocols,
        Topic::Claims,
        Topic::Deviations,
        Topic::Schema,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Topic::Machines => "machines",
            Topic::Workloads => "workloads",
            Topic::Stats => "stats",
            Topic::Parameters => "parameters",
            Topic::Protocols => "protocols",
            Topic::Claims => "claims",
            Topic::Deviations => "deviations",
            Topic::Schema => "schema",
        }
    }

    pub(crate) fn called(word: &str) -> Option<Topic> {
        let word = if word == "statistics" { "stats" } else { word };
        Topic::ALL.into_iter().find(|topic| topic.word() == word)
    }

    /// As programs read it.
    pub(crate) fn json(self) -> Result<Value, Failure> {
        Ok(match self {
            Topic::Machines => machine_list(),
            Topic::Workloads => workload_list(),
            Topic::Stats => statistic_list(),
            Topic::Parameters => show_keys::list(&show_keys::all()),
            Topic::Protocols => explore::protocols(),
            Topic::Claims => claim_list()?,
            Topic::Deviations => DEVIATIONS.into(),
            Topic::Schema => machine::schema::machine(),
        })
    }

    /// As people read it.
    fn print(self) -> Result<(), Failure> {
        match self {
            Topic::Machines => machines(),
            Topic::Workloads => workloads(),
            Topic::Stats => stats(),
            Topic::Parameters => show_keys::every_one(),
            Topic::Protocols => explore::list(false),
            Topic::Claims => claims()?,
            Topic::Deviations => print!("{}", markdown::readable(DEVIATIONS, lines::text_width())),
            Topic::Schema => output::print_json(&self.json()?),
        }
        Ok(())
    }
}

/// Why claims are missed, as it stands beside the claims.
const DEVIATIONS: &str = include_str!("../../../../validation/DEVIATIONS.md");

pub(crate) fn show(args: &ShowArgs) -> Result<(), Failure> {
    let json = output::is_json(&args.common);
    let Some(what) = &args.what else {
        overview(json)?;
        return Ok(());
    };
    match Topic::called(what) {
        Some(topic) if !json => topic.print()?,
        // As of the parameters that a word means.
        Some(Topic::Parameters) => show_keys::described("parameters", &show_keys::all(), true),
        Some(topic) => output::print_json(&topic.json()?),
        None => named(what, json)?,
    }
    Ok(())
}

/// What can be shown.
fn overview(json: bool) -> Result<(), Failure> {
    if json {
        let systems: Vec<&str> = groups().map(|(prefix, _)| prefix).collect();
        output::print_json(&json!({
            "machines": PRESETS.iter().map(|p| p.name).collect::<Vec<_>>(), "workloads": plain_workloads(),
            "systems": systems, "statistics": STATISTICS.len(), "parameters": MACHINE.len(),
            "claims": evaluate::Claims::built_in()?.list.len(),
        }));
        return Ok(());
    }
    let mut table = Table::new(["coreplane show", "what"]).left(2);
    overview_rows()?.into_iter().for_each(|row| table.row(row));
    table.print();
    println!("\nRecordings are workloads too (trace:FILE).");
    Ok(())
}

/// Workloads without their variants.
pub(crate) fn plain_workloads() -> Vec<&'static str> {
    let names = WORKLOADS.iter().map(|w| w.name).chain(pages().map(|w| w.name));
    names.chain(SHARED_WORKLOADS.iter().map(|w| w.name)).collect()
}

/// What can be shown, and what that is.
pub(crate) fn overview_rows() -> Result<Vec<[String; 2]>, Failure> {
    let machines: Vec<&str> = PRESETS.iter().map(|p| p.name).filter(|name| !name.contains('@')).collect();
    let (workloads, claims) = (plain_workloads(), evaluate::Claims::built_in()?.list.len());
    let variants = PRESETS.len() - machines.len();
    let systems: Vec<&str> = groups().map(|(prefix, _)| prefix).collect();
    let said = |topic: Topic| match topic {
        Topic::Machines => {
            format!("{} machines and {variants} variants: {}", machines.len(), machines.join(", "))
        }
        Topic::Workloads => format!("{} workloads: {}", workloads.len(), workloads.join(", ")),
        Topic::Stats => format!("{} statistics, with unit and meaning", STATISTICS.len()),
        Topic::Parameters => format!("{} parameters of machines and workloads", show_keys::names().len()),
        Topic::Protocols => "what `coreplane explore` visits, with bounds".into(),
        Topic::Claims => format!("{claims} claims of papers, which `coreplane reproduce` checks"),
        Topic::Deviations => "why claims are missed, and where numbers in print contradict each other".into(),
        Topic::Schema => "the JSON Schema of machine files".into(),
    };
    let rows = [
        (
            "MACHINE",
            "its parameters by system, each with value, unit, meaning and source; a TOML file is one too"
                .into(),
        ),
        ("WORKLOAD", "its parameters".into()),
        (
            "KEY",
            format!(
                "a parameter, whole (ordering.persist_buffer) or its last word; or all of a system: {}",
                systems.join(", ")
            ),
        ),
        ("STATISTIC", "its unit and meaning; or the head of a column of `compare`".into()),
    ];
    let topics = Topic::ALL.map(|topic| (topic.word(), said(topic)));
    Ok(topics.into_iter().chain(rows).map(|(show, what)| [show.to_string(), what]).collect())
}

/// What keys begin with, and what they are about: what the machine's systems say, and the workloads'.
fn groups() -> impl Iterator<Item = (&'static str, &'static str)> {
    machine::groups().chain(std::iter::once(("workload", "the workload")))
}

/// What a key is about, as the heading of its group.
fn system(key: &str) -> String {
    let prefix = key.split('.').next().unwrap_or(key);
    let about = groups().find(|(known, _)| *known == prefix).map(|(_, about)| about);
    about.map_or_else(|| prefix.to_string(), |about| format!("{prefix}: {about}"))
}

fn about(text: &str) -> &str {
    text.lines().find_map(|l| l.strip_prefix("about = \"")).and_then(|l| l.strip_suffix('"')).unwrap_or("")
}

/// Every preset, as JSON.
pub(crate) fn machine_list() -> Value {
    PRESETS.iter().map(|p| json!({"name": p.name, "about": about(p.text)})).collect()
}

fn machines() {
    let mut table = Table::new(["machine", "what it is"]).left(2);
    PRESETS.iter().for_each(|p| table.row([p.name, about(p.text)]));
    table.print();
}

/// Every workload, as JSON.
pub(crate) fn workload_list() -> Value {
    let row = |name: &str, w: &Workload| json!({"name": name, "meaning": w.meaning, "source": w.source});
    let page = |w: &workloads::PageWorkload| json!({"name": w.name, "meaning": w.meaning, "source": w.source, "fidelity": Fidelity::Page.to_string()});
    let shared = |w: &workloads::SharedWorkload| json!({"name": w.name, "meaning": w.meaning, "source": w.source, "fidelity": Fidelity::Hosts.to_string()});
    let all = WORKLOADS.iter().map(|w| row(w.name, w));
    let all = all.chain(variants().map(|(name, w)| row(name, w))).chain(pages().map(page));
    all.chain(SHARED_WORKLOADS.iter().map(shared)).collect()
}

fn workloads() {
    let mut table = Table::new(["workload", "what it does, and where it is from"]).left(2);
    let said = |meaning: &str, source: &str| format!("{meaning} [{source}]");
    WORKLOADS.iter().for_each(|w| table.row([w.name, &said(w.meaning, w.source)]));
    pages().for_each(|w| table.row([w.name, &said(w.meaning, w.source)]));
    SHARED_WORKLOADS.iter().for_each(|w| table.row([w.name, &said(w.meaning, w.source)]));
    let variant = "the same, as the public artifact runs it";
    variants().for_each(|(name, w)| table.row([name, &said(w.meaning, variant)]));
    table.print();
}

/// Workloads that run at page fidelity only.
fn pages() -> impl Iterator<Item = &'static workloads::PageWorkload> {
    PAGE_WORKLOADS.iter().filter(|w| find(w.name).is_none())
}

fn variants() -> impl Iterator<Item = (&'static str, &'static Workload)> {
    VARIANTS.iter().filter_map(|(name, _)| Some((*name, find_variant(name)?.0)))
}

/// Every statistic, as JSON.
pub(crate) fn statistic_list() -> Value {
    STATISTICS.iter().map(statistic).collect()
}

/// One statistic, as JSON.
pub(crate) fn statistic(info: &StatisticInfo) -> Value {
    let mut row = json!({"name": info.name, "unit": info.unit, "meaning": info.meaning});
    if !info.column.is_empty() {
        row["column"] = info.column.into();
    }
    row
}

fn stats() {
    let mut table = Table::new(["statistic", "unit", "meaning"]).left(3);
    STATISTICS.iter().for_each(|s| table.row([s.name, s.unit, s.meaning]));
    table.print();
}

/// Every claim, as JSON.
pub(crate) fn claim_list() -> Result<Value, Failure> {
    let all = evaluate::Claims::built_in()?;
    let row = |c: &evaluate::Claim| json!({"id": c.id, "where": c.place, "says": c.says, "use": c.purpose});
    Ok(all.list.iter().map(row).collect())
}

fn claims() -> Result<(), Failure> {
    let all = evaluate::Claims::built_in()?;
    let mut table = Table::new(["claim", "use", "says"]).left(3);
    all.list.iter().for_each(|c| table.row([&c.id, &c.purpose, &c.says]));
    table.print();
    Ok(())
}

/// Names that are no key's or statistic's, and had another one.
const RENAMED: [(&str, &str); 1] = [("hygiene", "persistence_lint, in what crash --format json says")];

/// What a name means.
pub(crate) enum Named {
    Statistic(&'static StatisticInfo),
    /// With what it does.
    Workload(WorkloadDescription, &'static str),
    Machine(Description),
    Keys(Vec<Definition>),
}

/// What `name` means: a statistic or the head of its column, a workload, a machine, or keys.
pub(crate) fn find_named(name: &str) -> Result<Named, Failure> {
    let column = crate::columns::column(name);
    if let Some(info) = STATISTICS.iter().find(|s| s.name == column.unwrap_or(name)) {
        return Ok(Named::Statistic(info));
    }
    let meaning = find_variant(name).map(|(w, _)| w.meaning);
    let meaning = meaning.or_else(|| pages().find(|w| w.name == name).map(|w| w.meaning));
    if let Some(meaning) = meaning.or_else(|| find_shared(name).map(|w| w.meaning)) {
        return Ok(Named::Workload(WorkloadDescription::named(name)?, meaning));
    }
    if let Some(found) = recorded(name) {
        return found;
    }
    output::machine(name).map(Named::Machine).or_else(|e| {
        let found = show_keys::meant(name);
        if found.is_empty() { Err(Failure::BadInput(unknown(name, e.0))) } else { Ok(Named::Keys(found)) }
    })
}

/// What the name of a recording, or that of its kind, means.
fn recorded(name: &str) -> Option<Result<Named, Failure>> {
    let kind = show_keys::of_recordings(name);
    if !kind.is_empty() {
        return Some(Ok(Named::Keys(kind)));
    }
    output::recording(name)?;
    Some(output::workload(name).map(|w| Named::Workload(w, "a recorded program")))
}

/// Why `name` means nothing, where `no_machine` says why it is no machine.
fn unknown(name: &str, no_machine: String) -> String {
    let renamed = RENAMED.iter().find(|(old, _)| *old == name).map(|(_, new)| *new);
    if let Some(new) = renamed.or_else(|| machine::params::renamed(name)) {
        return format!("{name} has a new name: {new}");
    }
    let workloads = plain_workloads().into_iter().chain(variants().map(|(name, _)| name));
    let known = PRESETS.iter().map(|p| p.name).chain(workloads);
    let known = known.chain(Topic::ALL.map(Topic::word)).chain(STATISTICS.iter().map(|s| s.name));
    let known = known.chain(show_keys::names());
    let near = protocol::params::nearest(name, known);
    if !near.is_empty() {
        return format!("nothing is called \"{name}\"; did you mean {}?", near.join(", "));
    }
    // A file of that name is wrong inside.
    if std::path::Path::new(name).exists() {
        return no_machine;
    }
    format!("nothing is called \"{name}\" (coreplane show lists what there is, show machines the machines)")
}

fn named(name: &str, json: bool) -> Result<(), Failure> {
    match find_named(name)? {
        Named::Statistic(info) if json => output::print_json(&statistic(info)),
        Named::Statistic(info) => say!("{} [{}]: {}", info.name, info.unit, info.meaning),
        Named::Workload(w, meaning) if json => {
            print_parameters(name, meaning, &parameter_list(workload_rows(&w)));
        }
        Named::Workload(w, meaning) => parameters(name, meaning, workload_rows(&w)),
        Named::Machine(machine) => {
            let text = PRESETS.iter().find(|p| p.name == name).map_or("", |p| about(p.text));
            machine_parameters(&machine, text, json);
        }
        Named::Keys(found) => show_keys::described(name, &found, json),
    }
    Ok(())
}

fn machine_parameters(machine: &Description, about: &str, json: bool) {
    if json {
        return print_parameters(&machine.name, about, &keys_of_machine(machine));
    }
    parameters(&machine.name, about, machine.rows());
    let memories = machine.memory_rows();
    if !memories.is_empty() {
        println!("\nIts memories, over what is above:\n");
        let mut table =
            Table::new(["key", "value", "unit", "meaning, and where the value is from"]).text_from(2);
        for row in memories {
            let meaning = format!("{}\n[{}]", row.meaning, row.source);
            table.row([row.key, row.value, row.unit.into(), meaning]);
        }
        table.print();
    }
}

/// Parameters with their values and where these come from, as JSON.
pub(crate) fn parameter_list(rows: impl Iterator<Item = (&'static Param, String, String)>) -> Value {
    let one = |(p, value, source): (&Param, String, String)| {
        let kind = machine::sources::to_json(&source);
        json!({"key": p.key, "value": value, "unit": p.kind.unit(), "default": p.default,
               "accepts": machine::accepts(p), "source": source, "source_kind": kind, "meaning": p.meaning})
    };
    rows.map(one).collect()
}

/// The parameters of a machine, and what its list of memories says.
pub(crate) fn keys_of_machine(machine: &Description) -> Value {
    let memory = |row: MemoryRow| {
        let kind = machine::sources::to_json(&row.source);
        json!({"key": row.key, "value": row.value, "unit": row.unit, "default": "", "accepts": "",
               "source": row.source, "source_kind": kind, "meaning": row.meaning})
    };
    let mut all = parameter_list(machine.rows());
    if let Value::Array(rows) = &mut all {
        rows.extend(machine.memory_rows().into_iter().map(memory));
    }
    all
}

fn print_parameters(name: &str, about: &str, all: &Value) {
    output::print_json(&json!({"name": name, "about": about, "parameters": all}));
}

/// The parameters of a workload.
pub(crate) fn workload_rows(
    w: &WorkloadDescription,
) -> impl Iterator<Item = (&'static Param, String, String)> + '_ {
    w.params.iter().map(|p| {
        let value = w.settings.get(p.key).map_or_else(String::new, |v| p.kind.show(v));
        (p, value, p.source.to_string())
    })
}

fn parameters(name: &str, about: &str, rows: impl Iterator<Item = (&'static Param, String, String)>) {
    say!("{name}: {about}\n");
    let mut rows: Vec<_> = rows.collect();
    let group = |key: &str| {
        let prefix = key.split('.').next();
        groups().position(|(known, _)| Some(known) == prefix).unwrap_or(usize::MAX)
    };
    rows.sort_by_key(|(p, ..)| group(p.key));
    let mut table = Table::new(["key", "value", "unit", "meaning, and where the value is from"]).text_from(2);
    let mut last = String::new();
    for (p, value, source) in rows {
        let heading = system(p.key);
        if heading != last {
            table.row([format!("\n{heading}")]);
            last = heading;
        }
        table.row([
            format!("  {}", p.key),
            value,
            p.kind.unit().into(),
            format!("{}\n[{source}]", p.meaning),
        ]);
    }
    table.print();
}
