//! The one table of machine parameters. Files, `--set`, `show`, the JSON Schema and the wiring all follow it. Each
//! system says its own in its folder.

use ::params::{Param, Parameters, join, rows};
use cpu::params::{
    CpuParameters, FlushParameters, L1Parameters, L2Parameters, LlcParameters, PersistPathParameters,
    RateParameters, WireParameters,
};
use memory::ddr4::params::{DdrParameters, RefreshParameters};
use memory::nand::params::NandParameters;
use memory::params::{
    ControllersParameters, DramParameters, InterleaveParameters, PmParameters, QueueParameters,
};

const PARTS: &[&[Param]] = &[
    CpuParameters::TABLE,
    RateParameters::TABLE,
    L1Parameters::TABLE,
    L2Parameters::TABLE,
    LlcParameters::TABLE,
    WireParameters::TABLE,
    memory::params::KindParameters::TABLE,
    ControllersParameters::TABLE,
    InterleaveParameters::TABLE,
    PmParameters::TABLE,
    DramParameters::TABLE,
    nearpm::params::NearParameters::TABLE,
    nearpm::params::FaultParameters::TABLE,
    ordering::plug::PARAMETERS,
    PersistPathParameters::TABLE,
    QueueParameters::TABLE,
    FlushParameters::TABLE,
    DdrParameters::TABLE,
    RefreshParameters::TABLE,
    nvdimmc::params::KindParameters::TABLE,
    nvdimmc::params::NvdimmParameters::TABLE,
    nvdimmc::params::FaultTimeParameters::TABLE,
    nvdimmc::params::DriverParameters::TABLE,
    nvdimmc::params::HypotheticalParameters::TABLE,
    nvdimmc::params::FaultParameters::TABLE,
    NandParameters::TABLE,
    pberry::params::KindParameters::TABLE,
    pberry::params::RemoteParameters::TABLE,
    pberry::params::FaultParameters::TABLE,
    crate::page::FidelityParameters::TABLE,
    pagesim::PARAMETERS,
];

/// Keys that once had another name, and the name that they have.
const RENAMED: &[(&str, &str)] = &[
    ("cpu.harts", "cpu.cores"),
    ("wires.hart_directory_ns", "wires.core_directory_ns"),
    ("wires.hart_controller_ns", "wires.core_controller_ns"),
    ("wires.hart_hart_ns", "wires.core_core_ns"),
    ("remote.shootdown_hart_ns", "remote.shootdown_core_ns"),
    ("neardata.fault.dark_ns", "neardata.fault.power_off_ns"),
    ("neardata.kind", "memory.kind (nearpm)"),
];

/// The present name of a key that had another one.
pub(crate) fn renamed(key: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == key).map(|(_, new)| *new)
}

/// The interval of `cpu.ipc`, which no recording tells.
pub const IPC_INTERVAL: [&str; 2] = ["0.5", "3"];

/// Every parameter of a machine.
pub const MACHINE: &[Param] = &join::<{ rows(PARTS) }>(PARTS);
