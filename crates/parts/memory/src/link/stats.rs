//! What links count.

use ::params::{Dur, StatisticInfo, Statistics};
use protocol::StatSink;

/// What a link counts, whatever it is called. The times are sums over reads, and with the wires beside it all of a read's time behind
/// the host; but for `claim`, over writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) commands: u64,
    pub(super) claims: u64,
    pub(super) directory_writes: u64,
    pub(super) credits: Dur,
    pub(super) down: Dur,
    pub(super) ports: Dur,
    pub(super) device: Dur,
    pub(super) up: Dur,
    pub(super) claim: Dur,
}

/// One direction: flits, and the time that they took.
pub(super) type Direction = (u64, Dur);

/// What a CXL link reports.
pub(crate) const CXL: &[StatisticInfo] = CxlStats::TABLE;
/// What links between sockets report.
pub(crate) const SOCKET: &[StatisticInfo] = SocketStats::TABLE;

impl Counts {
    /// Hands them up as a CXL link's.
    pub(super) fn of_cxl(&self, down: Direction, up: Direction, sink: &mut dyn StatSink) {
        let stats = CxlStats {
            reads: self.reads,
            writes: self.writes,
            commands: self.commands,
            flits_down: down.0,
            flits_up: up.0,
            credits: self.credits,
            down: self.down,
            ports: self.ports,
            device: self.device,
            up: self.up,
        };
        stats.hand_up(sink);
    }

    /// Hands them up as those of a link between sockets.
    pub(super) fn of_socket(&self, out: Direction, back: Direction, sink: &mut dyn StatSink) {
        let stats = SocketStats {
            reads: self.reads,
            writes: self.writes,
            commands: self.commands,
            claims: self.claims,
            directory_writes: self.directory_writes,
            flits_out: out.0,
            flits_back: back.0,
            busy_out: out.1,
            busy_back: back.1,
            credits: self.credits,
            request: self.down,
            ports: self.ports,
            home: self.device,
            data: self.up,
            claim: self.claim,
        };
        stats.hand_up(sink);
    }
}

/// What a CXL link reports. The times are sums over reads, and with the wires beside it all of a read's time behind the host.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "cxl")]
struct CxlStats {
    /// reads that crossed a link
    reads: u64,
    /// writes that crossed a link, without flushes of lines that no cache has changed, which are headers
    writes: u64,
    /// commands to near-data devices that crossed a link
    commands: u64,
    /// flits from the host to the device
    flits_down: u64,
    /// flits from the device to the host
    flits_up: u64,
    /// time that reads waited for a credit, summed over reads
    #[stat(name = "credit_time")]
    credits: Dur,
    /// time until a read's request had left the host, for flits before it and its own, summed over reads
    #[stat(name = "request_time")]
    down: Dur,
    /// time in ports, wires and switches, both ways, summed over reads
    #[stat(name = "port_time")]
    ports: Dur,
    /// time from a request's arrival at the device to its data, summed over reads
    #[stat(name = "device_time")]
    device: Dur,
    /// time until a read's data had left the device, for flits before it and its own, summed over reads
    #[stat(name = "data_time")]
    up: Dur,
}

/// What links between sockets report.
#[derive(Clone, Debug, Default, Statistics)]
#[statistics(prefix = "socket")]
struct SocketStats {
    /// reads that crossed to the other socket
    reads: u64,
    /// writes that crossed to the other socket, without flushes of lines that no cache has changed, which are headers
    writes: u64,
    /// commands to near-data devices that crossed to the other socket
    commands: u64,
    /// writes whose line was claimed from the other socket before
    claims: u64,
    /// lines that the other socket wrote to its memory because they were given away
    directory_writes: u64,
    /// flits to the other socket
    flits_out: u64,
    /// flits from the other socket
    flits_back: u64,
    /// time that links to the other socket carried flits, summed over links
    #[stat(name = "busy_time_out")]
    busy_out: Dur,
    /// time that links from the other socket carried flits, summed over links
    #[stat(name = "busy_time_back")]
    busy_back: Dur,
    /// time that reads waited for a credit, or behind a line that was claimed, summed over reads
    #[stat(name = "credit_time")]
    credits: Dur,
    /// time until a read's request had left the own socket, for flits before it and its own, summed over reads
    #[stat(name = "request_time")]
    request: Dur,
    /// time in ports and wires, both ways, summed over reads
    #[stat(name = "port_time")]
    ports: Dur,
    /// time from a request's arrival at the other socket to its data, summed over reads
    #[stat(name = "home_time")]
    home: Dur,
    /// time until a read's data had left the other socket, for flits before it and its own, summed over reads
    #[stat(name = "data_time")]
    data: Dur,
    /// time that writes waited for their lines, summed over writes whose line was claimed
    #[stat(name = "claim_time")]
    claim: Dur,
}
