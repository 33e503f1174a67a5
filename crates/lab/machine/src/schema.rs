//! The JSON Schema of machine descriptions, from the one table of parameters.

use crate::params::MACHINE;
use crate::registry::{accepts, words_of};
use protocol::Param;
use protocol::params::Kind;
use serde_json::{Map, Value, json};

/// The schema of a machine file.
pub fn machine() -> Value {
    let mut properties = Map::new();
    properties.insert("about".into(), json!({"type": "string", "description": "what this machine is"}));
    properties.insert(
        "extends".into(),
        json!({"type": "string", "description": "the machine that this one changes: its name, or a file from here"}),
    );
    let source = json!({"type": "string", "pattern": ::params::SOURCES_PATTERN});
    let sources = json!({"type": "object", "additionalProperties": source, "description": "where values come from, by key"});
    properties.insert("sources".into(), sources);
    for param in MACHINE {
        insert(&mut properties, param.key, param);
    }
    let memory = memory_of_list(&properties);
    // Its keys, or a list of memories.
    properties["memory"]["type"] = json!(["object", "array"]);
    properties["memory"]["minItems"] = 1.into();
    properties["memory"]["items"] = json!({"$ref": "#/$defs/memory"});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Coreplane machine",
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
        "$defs": {"campaign": campaign(), "memory": memory},
    })
}

/// The schema of an entry of `[[memory]]`: the keys of `memory` but those of DRAM, and any other of the machine's.
fn memory_of_list(properties: &Map<String, Value>) -> Value {
    let mut own = Map::new();
    let reference = |at: String| json!({"$ref": format!("#/properties/{at}")});
    for name in
        properties.keys().filter(|name| !["memory", "about", "extends", "sources"].contains(&name.as_str()))
    {
        own.insert(name.clone(), reference(name.clone()));
    }
    let of_memory = properties["memory"]["properties"].as_object().into_iter().flatten();
    for (name, _) in of_memory.filter(|(name, _)| *name != "dram") {
        own.insert(name.clone(), reference(format!("memory/properties/{name}")));
    }
    own.insert(
        "size".into(),
        json!({"type": ["integer", "string"], "description": "bytes of its own range"}),
    );
    let share = "its share of what is in no range, against the others' shares";
    own.insert("share".into(), json!({"type": "integer", "minimum": 1, "description": share}));
    json!({"type": "object", "additionalProperties": false, "required": ["kind"], "properties": own})
}

/// The schema of every workload's parameters, by name without `workload.`; where workloads differ, all that one accepts.
pub fn workloads() -> Value {
    let mut properties: Map<String, Value> = Map::new();
    for param in workloads::all_params().chain(trace::REPLAY_PARAMS) {
        let name = param.key.strip_prefix("workload.").unwrap_or(param.key);
        let one = property(param);
        let Value::Object(known) = properties.entry(name).or_insert_with(|| json!({"anyOf": []})) else {
            continue;
        };
        if let Some(Value::Array(all)) =
            known.get_mut("anyOf").filter(|all| !all.as_array().is_some_and(|a| a.contains(&one)))
        {
            all.push(one);
        }
    }
    json!({"type": "object", "additionalProperties": false, "properties": properties})
}

/// The schema of a campaign (`coreplane sweep`).
fn campaign() -> Value {
    let names = |what: &str| {
        let text = format!("{what}, by name or file; one, or a list");
        json!({"type": ["string", "array"], "items": {"type": "string"}, "minItems": 1, "description": text})
    };
    let keys = |what: &str| json!({"type": "object", "description": what});
    json!({
        "title": "Coreplane campaign",
        "type": "object",
        "additionalProperties": false,
        "required": ["machines", "workloads"],
        "properties": {
            "about": {"type": "string", "description": "what the campaign asks"},
            "machines": names("machines"),
            "workloads": names("workloads"),
            "seeds": {
                "type": ["integer", "array"],
                "items": {"type": "integer", "minimum": 0},
                "minItems": 1,
                "description": "seeds of the random streams; 1 unless given",
            },
            "set": keys("keys of machines and workloads, for every run"),
            "vary": keys("keys of machines and workloads, each with a list of values: every combination is run"),
        },
    })
}

fn insert(properties: &mut Map<String, Value>, key: &str, param: &Param) {
    let Some((head, rest)) = key.split_once('.') else {
        properties.insert(key.into(), property(param));
        return;
    };
    let section = properties
        .entry(head)
        .or_insert_with(|| json!({"type": "object", "additionalProperties": false, "properties": {}}));
    if let Some(Value::Object(inner)) = section.get_mut("properties") {
        insert(inner, rest, param);
    }
}

fn property(param: &Param) -> Value {
    let mut schema = match param.kind {
        Kind::Count { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::PowerOfTwo { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Kind::Multiple { of, max } => {
            json!({"type": ["integer", "string"], "multipleOf": of, "minimum": of, "maximum": max})
        }
        Kind::MultipleOrZero { of, max } => {
            json!({"type": ["integer", "string"], "multipleOf": of, "minimum": 0, "maximum": max})
        }
        Kind::Thousandths { min, max } => {
            json!({"type": "number", "minimum": min as f64 / 1e3, "maximum": max as f64 / 1e3})
        }
        Kind::Nanoseconds { .. } => json!({"type": ["number", "string"]}),
        Kind::Bytes { .. } => json!({"type": ["integer", "string"]}),
        // As TOML and Python say it.
        Kind::Choice(words) if words.contains(&"true") => {
            json!({"anyOf": [{"type": "boolean"}, {"enum": words}]})
        }
        Kind::Choice(words) => json!({"enum": words}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Text => json!({"type": "string"}),
    };
    if let Some(words) = words_of(param) {
        schema = json!({"enum": words});
    }
    let text = format!("{} ({}; default {}, {})", param.meaning, accepts(param), param.default, param.source);
    schema["description"] = text.into();
    if let Some(source) = crate::sources::to_json(param.source) {
        schema["x-source"] = source;
    }
    schema
}
