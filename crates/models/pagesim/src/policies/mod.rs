//! The policies, a file and a line of the table each. Words of `fusion.design` follow from the table, so that there is no word
//! without a policy behind it.

mod amf;
mod dram_swap;
mod hotplug;
mod memory_mode;
mod numa_balancing;
mod pm_block;
mod unified;
mod weighted_interleave;

use crate::policy::Entry;
use params::{FromSetting, Kind, Parameters, Plain, Setting};

/// Every policy.
pub const POLICIES: &[Entry] = &[
    unified::ENTRY,
    amf::ENTRY,
    dram_swap::ENTRY,
    pm_block::ENTRY,
    memory_mode::ENTRY,
    hotplug::ENTRY,
    numa_balancing::ENTRY,
    weighted_interleave::ENTRY,
];

/// Their words.
const WORDS: &[&str] = &{
    let mut words = [""; POLICIES.len()];
    let mut n = 0;
    while n < words.len() {
        words[n] = POLICIES[n].word;
        n += 1;
    }
    words
};

/// One of the table, as `fusion.design` names it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Design(pub(crate) &'static Entry);

impl FromSetting for Design {
    fn from_setting(setting: &Setting) -> Option<Design> {
        let word = setting.as_text()?;
        POLICIES.iter().find(|p| p.word == word).map(Design)
    }
}

impl Plain for Design {
    const KIND: Kind = Kind::Choice(WORDS);
}

/// What decides about pages.
#[derive(Parameters)]
#[parameters(prefix = "fusion")]
pub(crate) struct DesignParameters {
    /// what decides about pages
    #[param(default = "unified", source = "paper: AMF Fig. 3")]
    pub(crate) design: Design,
}

/// What each says of itself: "word: text; word: text".
pub(crate) const ABOUT: &str = {
    const BYTES: [u8; length()] = about();
    match str::from_utf8(&BYTES) {
        Ok(text) => text,
        Err(_) => panic!("pieces of text are text"),
    }
};

const fn length() -> usize {
    let (mut all, mut n) = (0, 0);
    while n < POLICIES.len() {
        all += POLICIES[n].word.len() + POLICIES[n].about.len() + 4;
        n += 1;
    }
    all - 2
}

const fn about<const N: usize>() -> [u8; N] {
    let (mut text, mut at, mut n) = ([0; N], 0, 0);
    while n < POLICIES.len() {
        let pieces = [POLICIES[n].word, ": ", POLICIES[n].about, "; "];
        let last = n + 1 == POLICIES.len();
        let mut piece = 0;
        while piece < pieces.len() - last as usize {
            let bytes = pieces[piece].as_bytes();
            let mut byte = 0;
            while byte < bytes.len() {
                text[at] = bytes[byte];
                (at, byte) = (at + 1, byte + 1);
            }
            piece += 1;
        }
        n += 1;
    }
    text
}
