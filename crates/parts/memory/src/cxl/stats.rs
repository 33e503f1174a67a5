//! What a link counts.

use ::params::{Dur, Statistics};

/// What it reports. The times are sums over reads, and with the wires beside it all of a read's time behind the host.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "cxl")]
pub(crate) struct LinkStats {
    /// reads that crossed a link
    pub(crate) reads: u64,
    /// writes that crossed a link
    pub(crate) writes: u64,
    /// commands to near-data devices that crossed a link
    pub(crate) commands: u64,
    /// flits from the host to the device
    pub(crate) flits_down: u64,
    /// flits from the device to the host
    pub(crate) flits_up: u64,
    /// time that reads waited for a credit, summed over reads
    #[stat(name = "credit_time")]
    pub(crate) credits: Dur,
    /// time until a read's request had left the host, for flits before it and its own, summed over reads
    #[stat(name = "request_time")]
    pub(crate) down: Dur,
    /// time in ports, wires and switches, both ways, summed over reads
    #[stat(name = "port_time")]
    pub(crate) ports: Dur,
    /// time from a request's arrival at the device to its data, summed over reads
    #[stat(name = "device_time")]
    pub(crate) device: Dur,
    /// time until a read's data had left the device, for flits before it and its own, summed over reads
    #[stat(name = "data_time")]
    pub(crate) up: Dur,
}
