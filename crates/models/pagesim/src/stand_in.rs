//! Hidden memory that is another machine's: what a page costs there is measured at line fidelity.

use crate::curve::{Curve, SETS};
use crate::params::{Cost, MemoryParameters};
use crate::spec::CacheSpec;
use ::simulator::{Error, LineFidelity, Measured, Probe};
use params::{FromSetting, Kind, Parameters, Plain, Setting, Settings};
use units::Dur;

/// What persistent memory costs besides its own latency.
#[derive(Clone, Debug, Default)]
pub(crate) struct Costs {
    /// A cache of pages that stands in front of it.
    pub(crate) front: Option<CacheSpec>,
    /// Measured latencies in place of one, and pages of the cache that working sets are told by.
    pub(crate) curve: Option<(Curve, u64)>,
}

/// A cache of pages in front of a machine's memory.
#[derive(Debug)]
struct Front {
    /// The key of its size, KiB in one of it, and a size that a short run misses.
    key: &'static str,
    kib: u64,
    small: u64,
    /// Parameters of `fio`, so that it misses.
    misses: &'static [(&'static str, &'static str)],
}

/// A machine at line fidelity whose memory persistent memory can be.
#[derive(Debug)]
pub(crate) struct StandIn {
    /// The word of `fusion.hidden`.
    pub(crate) word: &'static str,
    of: Measured,
    front: Option<Front>,
}

/// What a plain memory's reads and writes hang on: nobody waits for a write's acknowledgement there, and nothing else is loaded.
const PLAIN: &[&str] = &[
    "memory.controllers",
    "memory.interleave_bytes",
    "memory.pm.read",
    "memory.pm.write_service_ns",
    "memory.pm.buffer",
    "memory.pm.drain_threshold",
    "memory.pm.media",
    "memory.link",
    "memory.cxl.",
    "memory.socket.",
    "memory.ddr.",
    "memory.refresh.",
];

const STAND_INS: &[StandIn] = &[
    StandIn { word: "pm", of: Measured { machine: "intel", own: PLAIN, but: &[] }, front: None },
    StandIn {
        word: "nvdimmc",
        of: Measured {
            machine: "nvdimmc-poc",
            own: &["nvdimm.", "nand."],
            but: &[
                "nvdimm.kind",
                "nvdimm.dram_mib",
                "nvdimm.battery_uj",
                "nvdimm.dump_page_uj",
                "nvdimm.write_queue_survives",
            ],
        },
        front: Some(Front {
            key: "nvdimm.slots_mib",
            kib: 1024,
            small: 8,
            // In its order a file larger than the cache finds nothing there, and what goes is changed.
            misses: &[("pattern", "sequential"), ("file_bytes", "33554432")],
        }),
    },
    StandIn {
        word: "remote",
        of: Measured { machine: "pberry", own: &["remote."], but: &["remote.window_ns"] },
        front: Some(Front {
            key: "remote.local_kib",
            kib: 1,
            small: 1024,
            misses: &[("file_bytes", "33554432")],
        }),
    },
];

/// Words of `fusion.hidden`.
const WORDS: &[&str] = &{
    let mut words = [""; STAND_INS.len()];
    let mut n = 0;
    while n < STAND_INS.len() {
        words[n] = STAND_INS[n].word;
        n += 1;
    }
    words
};

/// What persistent memory is, as `fusion.hidden` names it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hidden(pub(crate) &'static StandIn);

impl Hidden {
    /// A medium of its own, and no other system.
    pub(crate) fn is_plain(self) -> bool {
        self.0.front.is_none()
    }
}

impl FromSetting for Hidden {
    fn from_setting(setting: &Setting) -> Option<Hidden> {
        let word = setting.as_text()?;
        STAND_INS.iter().find(|m| m.word == word).map(Hidden)
    }
}

impl Plain for Hidden {
    const KIND: Kind = Kind::Choice(WORDS);
}

/// Blocks of a measuring run.
const BLOCKS: u64 = 300;
/// KiB of a page.
const KIB_OF_PAGE: u64 = 4;

/// Visits of a measuring run under load, for each that is under way at once.
const VISITS: u64 = 32;
/// Pages of the cache in front of a machine whose working sets are measured.
const SMALL_PAGES: u64 = 256;

/// What persistent memory costs, told in one way or the other.
///
/// # Errors
/// As [`LineFidelity::time`].
pub(crate) fn costs(
    memory: &MemoryParameters,
    s: &Settings,
    line: &dyn LineFidelity,
) -> Result<Costs, Error> {
    let other = memory.hidden.0;
    match memory.cost {
        Cost::Constant => Ok(Costs { front: other.cache(s, line)?, curve: None }),
        Cost::Curve => Ok(Costs { front: None, curve: Some((other.curve(line)?, other.pages(s))) }),
    }
}

/// The machine at line fidelity that is measured; none where none is.
pub(crate) fn measured(s: &Settings) -> Option<Measured> {
    let memory = MemoryParameters::from_settings(s);
    let other = memory.hidden.0;
    let is_measured = match memory.cost {
        Cost::Constant => other.front.is_some(),
        Cost::Curve => true,
    };
    is_measured.then_some(other.of)
}

/// The measured cost of the described machine's persistent memory, where it has one.
///
/// # Errors
/// As [`LineFidelity::time`].
pub fn curve(s: &Settings, line: &dyn LineFidelity) -> Result<Option<Curve>, Error> {
    let memory = MemoryParameters::from_settings(s);
    Ok(costs(&memory, s, line)?.curve.map(|(curve, _)| curve))
}

impl StandIn {
    /// Pages of the cache in front of it; of a page where there is none, so that every working set is a large one.
    fn pages(&self, s: &Settings) -> u64 {
        self.front.as_ref().map_or(1, |f| (s.number(f.key) * f.kib / KIB_OF_PAGE).max(1))
    }

    /// The cache, and the time of a page that misses it, read and written by `fio` a page at a time.
    fn cache(&self, s: &Settings, line: &dyn LineFidelity) -> Result<Option<CacheSpec>, Error> {
        let Some(front) = &self.front else { return Ok(None) };
        let (fill, with_write_back) = (self.miss(front, line, "read")?, self.miss(front, line, "write")?);
        let write_back = with_write_back - with_write_back.min(fill);
        Ok(Some(CacheSpec { pages: self.pages(s), fill, write_back }))
    }

    fn miss(&self, front: &Front, line: &dyn LineFidelity, rw: &str) -> Result<Dur, Error> {
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
        let probe = Probe {
            of: self.of,
            machine_sets: vec![(front.key, front.small.to_string())],
            workload: "fio",
            workload_sets: all.iter().chain(front.misses).map(owned).collect(),
        };
        Ok(Dur::ps(line.time(&probe)?.as_ps() / BLOCKS))
    }

    /// Latencies of visits, through caches of the cores that are as good as none. Where there is no cache in front, all
    /// working sets are one.
    pub(crate) fn curve(&self, line: &dyn LineFidelity) -> Result<Curve, Error> {
        let one = self.front.is_none().then_some(SETS[0]);
        Curve::measured(|write, lines, set, load| self.visit(line, write, lines, one.unwrap_or(set), load))
    }

    /// The time of a visit.
    pub(crate) fn visit(
        &self,
        line: &dyn LineFidelity,
        write: bool,
        lines: u64,
        set: u64,
        load: u64,
    ) -> Result<Dur, Error> {
        let mut machine_sets = vec![
            ("l1.size_bytes", "1024".to_string()),
            ("l2.size_bytes", "1024".to_string()),
            ("llc.size_bytes", "4096".to_string()),
        ];
        if let Some(front) = &self.front {
            machine_sets.push((front.key, (SMALL_PAGES * KIB_OF_PAGE / front.kib).to_string()));
        }
        let visits = VISITS * load;
        let workload_sets = vec![
            ("threads", load.to_string()),
            ("operations", visits.to_string()),
            ("pages", (SMALL_PAGES * set / 1000).to_string()),
            ("lines", lines.to_string()),
            ("warm", (2 * SMALL_PAGES).to_string()),
            ("rw", if write { "write" } else { "read" }.to_string()),
        ];
        let probe = Probe { of: self.of, machine_sets, workload: "loaded-latency", workload_sets };
        Ok(Dur::ps(line.time(&probe)?.as_ps() / VISITS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::PARAMETERS;

    /// A line simulator whose visits take longer the more lines and threads there are.
    struct Line;

    fn number(probe: &Probe<'_>, key: &str) -> u64 {
        let (_, value) = probe.workload_sets.iter().find(|(k, _)| *k == key).unwrap();
        value.parse().unwrap()
    }

    impl LineFidelity for Line {
        fn time(&self, probe: &Probe<'_>) -> Result<Dur, Error> {
            assert_eq!((probe.of.machine, probe.workload), ("intel", "loaded-latency"));
            let each = number(probe, "operations") / number(probe, "threads");
            Ok(Dur::ns((90 + number(probe, "lines") * 7) * (3 + number(probe, "threads")) * each))
        }
    }

    #[test]
    fn alone_a_visit_takes_what_the_line_simulator_takes() {
        let mut s = Settings::defaults(PARAMETERS);
        assert_eq!(curve(&s, &Line).unwrap(), None, "one latency, and nothing is measured");
        s.set("fusion.cost", Setting::Text("curve".into()));
        let curve = curve(&s, &Line).unwrap().unwrap();
        for lines in [1, 64] {
            let alone = Dur::ns((90 + lines * 7) * 4);
            assert_eq!([0, 500, 1000].map(|load| curve.visit(load, 0, lines, false)), [alone; 3]);
            assert_eq!(curve.visit(16_000, 0, lines, true), Dur::ns((90 + lines * 7) * 19), "by sixteen");
        }
    }
}
