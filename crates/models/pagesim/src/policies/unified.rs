//! DRAM and persistent memory as one space from boot on (AMF's design A5): nothing is decided.

use crate::policy::{Entry, Policy, needs_pm};

pub(super) const ENTRY: Entry = Entry {
    word: "unified",
    about: "one space from boot on (A5)",
    params: &[],
    ignores: &["os.describe_ns"],
    statistics: &[],
    check: needs_pm,
    new: |_| Box::new(Unified),
};

struct Unified;

impl Policy for Unified {}
