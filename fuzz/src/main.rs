//! One program for all targets; which one is in the environment (`COREPLANE_TARGET`), so that it is built once.
#![no_main]

mod targets;

use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;

static TARGET: LazyLock<targets::Target> = LazyLock::new(|| {
    let name = std::env::var("COREPLANE_TARGET").unwrap_or_default();
    let found = targets::TARGETS.iter().find(|(n, _)| *n == name);
    let names: Vec<&str> = targets::TARGETS.iter().map(|(n, _)| *n).collect();
    found.unwrap_or_else(|| panic!("COREPLANE_TARGET: give one of {}", names.join(", "))).1
});

fuzz_target!(|bytes: &[u8]| TARGET(bytes));
