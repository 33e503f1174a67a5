//! The one table of machine parameters. Files, `--set`, `show`, the JSON Schema and the wiring all follow it. Each
//! system has a file; fusion's are of machines at page fidelity, the others' of machines at line fidelity.

mod cores;
mod fusion;
mod memory;
mod neardata;
mod nvdimm;
mod ordering;
mod remote;

use protocol::Param;
use protocol::params::Kind::Nanoseconds;

const fn p(
    key: &'static str,
    kind: protocol::params::Kind,
    default: &'static str,
    source: &'static str,
    meaning: &'static str,
) -> Param {
    Param { key, kind, default, source, meaning }
}

const NS: protocol::params::Kind = Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 };
const LONG: protocol::params::Kind = Nanoseconds { min_ps: 0, max_ps: 10_000_000_000_000_000 };
const WIRE: protocol::params::Kind = Nanoseconds { min_ps: 100, max_ps: 1_000_000 };
/// Between two steps of something that is done for every store: up to a microsecond, or a run takes for ever.
const STEP: protocol::params::Kind = Nanoseconds { min_ps: 1, max_ps: 1_000_000 };
/// What happens again and again: up to a tenth of a second.
const SHORT: protocol::params::Kind = Nanoseconds { min_ps: 0, max_ps: 100_000_000_000 };
const SERVICE: protocol::params::Kind = Nanoseconds { min_ps: 1, max_ps: 1_000_000_000 };

const PARTS: [&[Param]; 7] = [
    cores::CORES,
    memory::MEMORY,
    neardata::NEARDATA,
    ordering::ORDERING,
    nvdimm::NVDIMM,
    remote::REMOTE,
    fusion::PAGES,
];

/// Keys that once had another name, and the name that they have.
const RENAMED: &[(&str, &str)] = &[
    ("cpu.harts", "cpu.cores"),
    ("wires.hart_directory_ns", "wires.core_directory_ns"),
    ("wires.hart_controller_ns", "wires.core_controller_ns"),
    ("wires.hart_hart_ns", "wires.core_core_ns"),
    ("remote.shootdown_hart_ns", "remote.shootdown_core_ns"),
    ("neardata.fault.dark_ns", "neardata.fault.power_off_ns"),
];

/// The present name of a key that had another one.
pub(crate) fn renamed(key: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == key).map(|(_, new)| *new)
}

/// The interval of `cpu.ipc`, which no recording tells.
pub const IPC_INTERVAL: [&str; 2] = ["0.5", "3"];

/// Every parameter of a machine.
pub const MACHINE: &[Param] = &join::<{ count() }>();

const fn count() -> usize {
    let (mut count, mut part) = (0, 0);
    while part < PARTS.len() {
        count += PARTS[part].len();
        part += 1;
    }
    count
}

const fn join<const N: usize>() -> [Param; N] {
    let mut all = [PARTS[0][0]; N];
    let (mut at, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut of_part = 0;
        while of_part < PARTS[part].len() {
            all[at] = PARTS[part][of_part];
            (at, of_part) = (at + 1, of_part + 1);
        }
        part += 1;
    }
    all
}
