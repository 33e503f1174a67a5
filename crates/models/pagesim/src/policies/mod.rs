//! The policies, a file and a line of the table each. Words of `fusion.design` follow from the table, so that there is no word
//! without a policy behind it.

mod amf;
mod dram_swap;
mod hotplug;
mod memory_mode;
mod numa_balancing;
mod pm_block;
mod unified;

use crate::policy::Entry;
use protocol::Settings;

/// Every policy.
pub const POLICIES: &[Entry] = &[
    unified::ENTRY,
    amf::ENTRY,
    dram_swap::ENTRY,
    pm_block::ENTRY,
    memory_mode::ENTRY,
    hotplug::ENTRY,
    numa_balancing::ENTRY,
];

/// Their words.
pub const WORDS: &[&str] = &{
    let mut words = [""; POLICIES.len()];
    let mut n = 0;
    while n < words.len() {
        words[n] = POLICIES[n].word;
        n += 1;
    }
    words
};

/// The policy that `fusion.design` names.
///
/// # Panics
/// When the word is none of [`WORDS`], which reading it refuses.
pub(crate) fn chosen(s: &Settings) -> &'static Entry {
    let word = s.text("fusion.design");
    POLICIES.iter().find(|p| p.word == word).unwrap_or_else(|| panic!("no policy is called {word}"))
}
