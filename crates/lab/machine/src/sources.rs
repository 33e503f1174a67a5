//! Where values come from, for whoever reads it by program.

use ::params::{Among, Source};
use serde_json::{Value, json};

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
