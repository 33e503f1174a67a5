//! Linux with dax/kmem: persistent memory is added as memory early on, and that is all. Descriptors lie where
//! `os.descriptors` says.

use crate::policy::{Entry, Policy, needs_pm};

pub(super) const ENTRY: Entry = Entry {
    word: "hotplug",
    about: "dax/kmem, descriptors as os.descriptors says",
    params: &[],
    ignores: &["os.describe_ns"],
    statistics: &[],
    check: needs_pm,
    new: |_| Box::new(Hotplug),
};

struct Hotplug;

impl Policy for Hotplug {}
