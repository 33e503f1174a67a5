//! Hidden memory that is another machine's: what a page costs there is measured at line fidelity.

use crate::Error;
use crate::spec::CacheSpec;
use protocol::Settings;
use units::Dur;

/// Whoever can run machines at line fidelity.
pub trait LineFidelity {
    /// The time of a run.
    ///
    /// # Errors
    /// When the machine's description does not hold together, or its run breaks a promise.
    fn time(&self, probe: &Probe<'_>) -> Result<Dur, Error>;
}

/// A run at line fidelity that measures what memory costs.
#[derive(Clone, Debug)]
pub struct Probe<'a> {
    /// The machine.
    pub machine: &'a str,
    /// Prefixes of keys that it takes from the description, where the user has set them.
    pub own: &'a [&'a str],
    /// Keys of it that are set in any case.
    pub machine_sets: &'a [(&'a str, String)],
    /// The workload.
    pub workload: &'a str,
    /// Its parameters, without their prefix.
    pub workload_sets: &'a [(&'a str, String)],
}

/// What persistent memory costs besides its own latency.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costs {
    /// A cache of pages that stands in front of it.
    pub(crate) front: Option<CacheSpec>,
}

/// A machine that persistent memory can be.
struct StandIn {
    /// The word of `fusion.hidden`.
    word: &'static str,
    machine: &'static str,
    own: &'static [&'static str],
    /// The key of its cache's size, KiB in one of it, and a size that a short run misses.
    cache: (&'static str, u64, &'static str),
    workload: &'static [(&'static str, &'static str)],
}

const STAND_INS: &[StandIn] = &[
    StandIn {
        word: "nvdimmc",
        machine: "nvdimmc-poc",
        own: &["nvdimm.", "nand."],
        cache: ("nvdimm.slots_mib", 1024, "8"),
        workload: &[("resident", "false"), ("file_bytes", "33554432")],
    },
    StandIn {
        word: "remote",
        machine: "pberry",
        own: &["remote."],
        cache: ("remote.local_kib", 1, "1024"),
        workload: &[("file_bytes", "33554432")],
    },
];

/// Words of `fusion.hidden`: a medium of its own, or one of the machines.
pub const HIDDEN: &[&str] = &{
    let mut words = ["pm"; STAND_INS.len() + 1];
    let mut n = 0;
    while n < STAND_INS.len() {
        words[n + 1] = STAND_INS[n].word;
        n += 1;
    }
    words
};

/// Blocks of a measuring run.
const BLOCKS: u64 = 300;
/// KiB of a page.
const KIB_OF_PAGE: u64 = 4;

/// What persistent memory costs: time of a page that misses, read by `fio` a page at a time on that machine, whose
/// own keys hold.
///
/// # Errors
/// As [`LineFidelity::time`].
pub(crate) fn costs(s: &Settings, line: &dyn LineFidelity) -> Result<Costs, Error> {
    let Some(other) = STAND_INS.iter().find(|m| m.word == s.text("fusion.hidden")) else {
        return Ok(Costs::default());
    };
    let (key, kib, _) = other.cache;
    let pages = s.number(key) * kib / KIB_OF_PAGE;
    let (fill, with_write_back) = (other.page(line, "read")?, other.page(line, "write")?);
    let write_back = with_write_back - with_write_back.min(fill);
    Ok(Costs { front: Some(CacheSpec { pages: pages.max(1), fill, write_back }) })
}

impl StandIn {
    /// Time of a page that is read or written and was not there.
    fn page(&self, line: &dyn LineFidelity, rw: &str) -> Result<Dur, Error> {
        let (key, _, small) = self.cache;
        let blocks = BLOCKS.to_string();
        let all = [
            ("rw", rw),
            ("pattern", "random"),
            ("threads", "1"),
            ("block_size", "4096"),
            ("operations", &blocks),
            ("software_ns", "0"),
        ];
        let owned = |(key, value): &(&'static str, &str)| (*key, (*value).to_string());
        let sets: Vec<_> =
            all.iter().map(|(k, v)| (*k, (*v).to_string())).chain(self.workload.iter().map(owned)).collect();
        let probe = Probe {
            machine: self.machine,
            own: self.own,
            machine_sets: &[(key, small.to_string())],
            workload: "fio",
            workload_sets: &sets,
        };
        Ok(Dur::ps(line.time(&probe)?.as_ps() / BLOCKS))
    }
}
