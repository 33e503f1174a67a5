//! What devices and the command port count.

use params::{Occupancy, StatisticInfo, Statistics, Tally, Value};

/// What near-data memory reports.
pub(crate) const STATISTICS: &[&[StatisticInfo]] = &[
    Ports::TABLE,
    DeviceStats::TABLE,
    PortStats::TABLE,
    WorkStats::TABLE,
    ParallelShare::TABLE,
    RegionStats::TABLE,
];

/// What tells that there are devices, whether or not they get commands.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "neardata")]
pub(crate) struct Ports {
    /// command ports of a machine
    #[stat(unreported)]
    pub(crate) ports: u64,
}

/// A device.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "neardata")]
pub(crate) struct DeviceStats {
    /// requests that units have worked on
    #[stat(column = "device requests")]
    pub(crate) requests: u64,
    /// 64-byte lines that units have copied
    #[stat(name = "lines_copied")]
    pub(crate) lines: u64,
    /// host accesses that had to wait for a request
    #[stat(name = "host_held")]
    pub(crate) held: u64,
    /// messages between devices
    pub(crate) completions: u64,
    /// filling of a device's request FIFO
    pub(crate) fifo: Occupancy,
    /// filling of a device's host queue
    pub(crate) host_queue: Occupancy,
    /// number of a device's units at work
    #[stat(name = "units_busy", most = "most units of a device at work")]
    pub(crate) units: Occupancy,
    /// reads among them
    pub(crate) host_reads_held: u64,
}

/// The command port.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "neardata", sometimes)]
pub(crate) struct PortStats {
    /// commands of programs to near-data devices
    #[stat(explains = "time.devices")]
    pub(crate) commands: u64,
    /// requests in which more than one device has a part
    #[stat(name = "requests_duplicated")]
    pub(crate) duplicated: u64,
    /// loads of devices' status registers
    #[stat(explains = "time.devices")]
    pub(crate) polls: u64,
}

/// All devices together.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "neardata")]
pub struct WorkStats {
    /// number of devices with a unit at work
    #[stat(most = "most devices with a unit at work")]
    pub at_work: Occupancy,
}

/// What follows of units at work.
#[derive(Statistics)]
#[statistics(prefix = "neardata")]
pub(crate) struct ParallelShare {
    /// share of the time in which units work while programs go on or wait for them
    #[stat(column = "side by side")]
    pub(crate) parallel_share: f64,
}

/// What follows of programs.
#[derive(Statistics)]
#[statistics(prefix = "neardata", sometimes)]
pub(crate) struct RegionStats {
    /// time that programs spent on their crash-consistency mechanism, summed over cores
    #[stat(unit = "ns")]
    pub(crate) region_time_ns: f64,
    /// the part of neardata.region_time_ns in which programs moved data
    #[stat(unit = "ns")]
    pub(crate) movement_time_ns: f64,
    /// share of the cores' time that programs spent on their crash-consistency mechanism
    pub(crate) region_share: f64,
}

/// What follows from what was counted.
pub(crate) fn derived(tally: &Tally, core_time: f64, each: &mut dyn FnMut(&'static str, f64)) {
    if let Some(Value::Levels(at_work)) = tally.get("neardata.at_work") {
        ParallelShare { parallel_share: at_work.share_filled() }.each(each);
    }
    let region = tally.number("cpu.consistency");
    // Programs have that mechanism on every machine; it is told where devices could take it over.
    if region > 0.0 && tally.get("neardata.ports").is_some() {
        let movement = tally.number("cpu.movement");
        RegionStats { region_time_ns: region, movement_time_ns: movement, region_share: region / core_time }
            .each(each);
    }
}
