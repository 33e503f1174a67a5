//! Where values come from: what is accepted, and what is told to whoever reads it by program.

use ::params::{Among, Source};
use protocol::Param;
use protocol::params::Setting;
use serde_json::{Value, json};

/// The source of a value that was set by `--set`, or by a program.
pub(crate) const USER: &str = "set by the user";

/// A source as JSON: its kind, and of an open one what it may be and why; none where a user gave a value without one.
pub fn to_json(source: &str) -> Option<Value> {
    let source = Source::read(source).ok()?;
    let mut json = json!({"kind": source.word()});
    match source {
        Source::Fitted { claims, .. } => {
            json["claims"] = claims.split(',').map(str::trim).collect();
        }
        Source::Open(open) => {
            json["reason"] = open.reason.into();
            match open.among {
                Among::Interval(low, high) => json["interval"] = json!([low, high]),
                Among::Choices(_) => json["choices"] = open.among.texts().into(),
            }
        }
        Source::Paper(_) | Source::Artifact(_) | Source::Datasheet(_) | Source::Measured(_) => {}
    }
    Some(json)
}

/// Whether `text` is a source, values may be fitted to the claims that it names, and what it leaves open can be read and has the key's
/// values among it.
pub(crate) fn check_source(param: &Param, text: &str, values: &[&Setting]) -> Result<(), String> {
    let source = Source::read(text)?;
    if let Source::Fitted { claims, .. } = source {
        return crate::fitted::check(claims);
    }
    let Some(open) = source.open() else { return Ok(()) };
    let read = open.among.read(param.kind).map(drop);
    let all = values.iter().try_for_each(|value| open.among.check(param.kind, value));
    read.and(all).map_err(|e| format!("\"{text}\": {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_source_has_its_interval_or_its_choices_and_its_reason() {
        let interval = json!({"kind": "open", "interval": ["5", "50"], "reason": "not published"});
        assert_eq!(to_json("open 5..50: not published"), Some(interval));
        let choices = json!({"kind": "open", "choices": ["hdd", "ssd"], "reason": "both are named"});
        assert_eq!(to_json("open hdd|ssd: both are named"), Some(choices));
        assert_eq!(
            to_json("fitted to a.b, c.d: x"),
            Some(json!({"kind": "fitted", "claims": ["a.b", "c.d"]}))
        );
        assert_eq!(to_json("set by the user"), None);
    }
}
