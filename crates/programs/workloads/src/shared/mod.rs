//! Programs of several hosts that share memory which nothing keeps coherent between them: one program a host, each with
//! right and wrong forms (`workload.bug`).
//!
//! What a program has to do by itself here: write a line back and wait (`flush`, `fence`) before it tells anybody of it, and
//! drop its own copy (`invalidate`) before it reads what another host may have written. Words that tell are stored with
//! release and loaded with acquire; everything else is data, which a release and an acquire have to stand between.

mod allocator;
mod host;
mod lock;
mod log;
mod pages;
mod ring;
mod superblock;

pub use host::{Host, Membership};

use crate::Program;
use crate::recovery::Persistent;
pub(crate) use protocol::Param;
use protocol::{PM_BASE, Settings};

/// A program that several hosts run, each its part.
pub struct SharedWorkload {
    /// Name, as in `coreplane shared MACHINE NAME`.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its parameters, all under `workload.`.
    pub params: &'static [Param],
    /// Lines of shared memory that it uses.
    pub lines: fn(&Settings) -> usize,
    /// Words that are locks: who waits for one waits for its release.
    pub locks: fn(&Settings) -> Vec<u64>,
    /// The program of one core.
    pub program: fn(Host) -> Program,
    /// What must hold of the device when every host has ended or stopped, and what recovery needs after a power failure.
    pub check: fn(&mut dyn Persistent, &Left<'_>) -> Result<(), Broken>,
}

impl SharedWorkload {
    /// How many programs it has at most, one for each core.
    ///
    /// # Panics
    /// Of a workload that takes no number of hosts.
    pub fn most_programs(&self) -> usize {
        let hosts = self.params.iter().find(|p| p.key == "workload.hosts").map(|p| p.kind);
        let Some(params::Kind::Count { max, .. }) = hosts else { panic!("{} has no hosts", self.name) };
        max as usize
    }
}

/// How many programs of hosts run: one for each core of each host that takes part.
pub fn programs(settings: &Settings) -> usize {
    settings.count("workload.hosts") * settings.count("workload.cores")
}

impl std::fmt::Debug for SharedWorkload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// What is known when every host has ended or stopped.
#[derive(Clone, Copy, Debug)]
pub struct Left<'a> {
    /// The workload's parameters.
    pub settings: &'a Settings,
    /// Operations that each program had ended: cores of one host are one after the other.
    pub ended: &'a [u64],
    /// Whether the host of each program is still there.
    pub alive: &'a [bool],
    /// The power failed of all hosts and of the device, and this is recovery.
    pub power_failed: bool,
    /// How much the device's count of dirty shutdowns went up: it says so where a power failure lost what it had accepted, or
    /// a global persistent flush did not end.
    pub dirty_shutdowns: u64,
}

impl Left<'_> {
    /// Whether recovery takes nothing from the device, which says that it has lost something.
    fn is_given_up(&self) -> bool {
        self.dirty_shutdowns > 0 && !self.has("recovery-trusts-device")
    }

    /// Whether the mistake called `bug` is seeded.
    fn has(&self, bug: &str) -> bool {
        self.settings.text("workload.bug") == bug
    }

    fn stopped(&self) -> u64 {
        self.alive.iter().filter(|alive| !**alive).count() as u64
    }
}

/// What does not hold, and of which word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The word.
    pub address: u64,
    /// What does not hold of it.
    pub what: String,
}

impl Broken {
    fn new(address: u64, what: String) -> Broken {
        Broken { address, what }
    }
}

/// All of them.
// No constant, as with `catalogue::WORKLOADS`.
pub static SHARED_WORKLOADS: &[SharedWorkload] = &[
    log::WORKLOAD,
    ring::WORKLOAD,
    allocator::WORKLOAD,
    pages::WORKLOAD,
    superblock::WORKLOAD,
    lock::WORKLOAD,
];

/// The workload called `name`.
pub fn find_shared(name: &str) -> Option<&'static SharedWorkload> {
    SHARED_WORKLOADS.iter().find(|w| w.name == name)
}

/// The address of shared line `n`.
fn line(n: u64) -> u64 {
    PM_BASE + n * 64
}

/// Words of a line that carry data; the last says which version they are of.
const DATA_WORDS: u64 = 7;
/// The place of that last word.
const VERSION: u64 = 56;

/// Word `index` of version `n` of what `salt` names: each another, so that a torn or an older one shows.
fn word(salt: u64, n: u64, index: u64) -> u64 {
    units::mix(salt << 40 | n << 3 | index)
}

/// Stores version `n` of `salt` into a line.
#[track_caller]
fn fill(host: &Host, at: u64, salt: u64, n: u64) -> impl Future<Output = ()> + '_ {
    let site = std::panic::Location::caller();
    async move {
        for index in 0..DATA_WORDS {
            host.store(at + index * 8, word(salt, n, index)).at(site).await;
        }
        host.store(at + VERSION, n).at(site).await;
    }
}

/// Loads a line and tells the model where it is not some whole version of `salt`; gives the version.
#[track_caller]
fn verify(host: &Host, at: u64, salt: u64) -> impl Future<Output = u64> + '_ {
    let site = std::panic::Location::caller();
    async move {
        let n = host.load(at + VERSION).at(site).await;
        for index in 0..DATA_WORDS {
            let has = host.load(at + index * 8).at(site).await;
            if n > 0 && has != word(salt, n, index) {
                host.found_broken(
                    at + index * 8,
                    &format!("word {index} is not of version {n}, as the line says"),
                );
                break;
            }
        }
        n
    }
}

/// Whether the device holds a whole version of `salt` in a line, or nothing yet.
fn whole(memory: &mut dyn Persistent, at: u64, salt: u64) -> Result<u64, Broken> {
    let n = memory.word(at + VERSION);
    match (0..DATA_WORDS).find(|index| n > 0 && memory.word(at + index * 8) != word(salt, n, *index)) {
        None => Ok(n),
        Some(index) => {
            Err(Broken::new(at + index * 8, format!("word {index} is not of version {n}, as the line says")))
        }
    }
}

/// The parameters of a program for hosts.
macro_rules! shared_params {
    ($hosts:literal to $most:literal, $operations:literal, $meaning:literal, $bugs:expr) => {
        &[
            protocol::Param {
                key: "workload.hosts",
                kind: params::Kind::Count { min: 2, max: $most },
                default: $hosts,
                source: concat!("open ", $hosts, ": what is asked of the program"),
                meaning: "hosts that take part",
                acts: "",
            },
            protocol::Param {
                key: "workload.cores",
                kind: params::Kind::Count { min: 1, max: 4 },
                default: "1",
                source: "open 1: what is asked of the program",
                meaning: "cores of each host that take part, each with a part of its own as if it were a host",
                acts: "",
            },
            protocol::Param {
                key: "workload.operations",
                kind: params::Kind::Count { min: 1, max: 1_000_000 },
                default: $operations,
                source: concat!("open ", $operations, ": what is asked of the program"),
                meaning: $meaning,
                acts: "",
            },
            protocol::Param {
                key: "workload.bug",
                kind: params::Kind::Choice($bugs),
                default: "none",
                source: "open none: what is asked of the program",
                meaning: "a mistake seeded in the program; see docs/howto/shared-memory.md",
                acts: "",
            },
        ]
    };
}

use shared_params;
