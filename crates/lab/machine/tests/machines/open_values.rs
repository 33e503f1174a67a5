//! What stands where nobody has published a value: the middle of its interval, or its source says where and why.

use machine::{Description, PRESETS};
use protocol::Param;
use protocol::params::{Among, Source};

/// How far from a middle, as a share: values are round numbers.
const NEAR: f64 = 0.15;

/// Whether an open value is near the geometric middle of its interval, or the arithmetic one, or says where it stands.
fn stands(param: &Param, value: &str, source: &str) -> bool {
    let Ok(Source::Open(open)) = Source::read(source) else { return true };
    let Among::Interval(low, high) = open.among else { return true };
    let number = |text: &str| param.kind.read(text).ok().and_then(|v| v.as_number()).map(|n| n as f64);
    let (Some(value), Some(low), Some(high)) = (number(value), number(low), number(high)) else {
        return false;
    };
    let near = |middle: f64| (value / middle - 1.0).abs() <= NEAR;
    near((low * high).sqrt()) || near(f64::midpoint(low, high)) || open.reason.contains("; stands at ")
}

#[test]
fn open_values_stand_in_the_middle_or_say_where() {
    let mut wrong = Vec::new();
    for preset in PRESETS {
        for (param, value, source) in Description::preset(preset.name).unwrap().rows() {
            if !stands(param, &value, &source) {
                wrong.push(format!("{}: {} = {value}: {source}", preset.name, param.key));
            }
        }
    }
    let tables = workloads::WORKLOADS.iter().map(|w| (w.name, w.params));
    for (name, params) in tables.chain(workloads::SHARED_WORKLOADS.iter().map(|w| (w.name, w.params))) {
        for param in params {
            if !stands(param, param.default, param.source) {
                wrong.push(format!("{name}: {} = {}: {}", param.key, param.default, param.source));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_value_at_an_end_without_a_word_is_found() {
    let machine = Description::preset("asap-rp").unwrap();
    let (param, ..) = machine.rows().into_iter().find(|(p, ..)| p.key == "ordering.commit_ns").unwrap();
    assert!(stands(param, "16", "open 5..50: why"));
    assert!(stands(param, "27", "open 5..50: why"));
    assert!(!stands(param, "50", "open 5..50: why"));
    assert!(stands(param, "50", "open 5..50: why; stands at the artifact's"));
}
