//! CXL links: flits of 68 bytes, of which 64 are four slots: one for a header, three for data or for further headers; a line is four
//! slots of data. A port's time for each end and switch.
//!
//! Sources: the Compute Express Link specification 2.0, chapters 3 and 4 (68-byte flits, slots); PCI Express 5.0 (lanes, 128b/130b).

use super::flits::Format;
use super::spec::LinkSpec;
use ::params::{Dur, Parameters, Settings, Words, ns};

/// Transfers of a lane, in GT/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Rate {
    /// PCI Express 3.0.
    #[word = "8"]
    Gt8,
    /// PCI Express 4.0.
    #[word = "16"]
    Gt16,
    /// PCI Express 5.0.
    #[word = "32"]
    Gt32,
}

/// Lanes of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Lanes {
    /// One.
    #[word = "1"]
    X1,
    /// Two.
    #[word = "2"]
    X2,
    /// Four.
    #[word = "4"]
    X4,
    /// Eight.
    #[word = "8"]
    X8,
    /// Sixteen.
    #[word = "16"]
    X16,
}

/// A CXL link.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.cxl")]
pub struct CxlParameters {
    /// transfers of a lane in GT/s: those of PCI Express 3.0, 4.0 and 5.0
    #[param(default = "32", source = "datasheet: PCI Express 5.0")]
    pub rate_gt: Rate,
    /// lanes
    #[param(default = "8", source = "datasheet: expanders of one device have eight")]
    pub lanes: Lanes,
    /// reads on their way at once, until their data is back: credits of requests
    #[param(
        default = "58",
        source = "fitted to hardware.cxl.reads: what a link of eight lanes leaves unused",
        min = 1,
        max = 1024
    )]
    pub requests: usize,
    /// time in a port, one way: transaction, link and physical layer; a message passes two, and two more for each switch
    #[param(default = "20", source = "open 10..35: about 25 ns are named for a port of two ways", range = ns::NS)]
    pub port_ns: Dur,
    /// switches on the way
    #[param(default = "0", source = "open 0: what is asked", min = 0, max = 8)]
    pub switches: u64,
    /// time in a switch, one way, its ports left aside
    #[param(acts = "memory.cxl.switches!=0", default = "10", source = "open 5..20: not published, half to twice", range = ns::NS)]
    pub switch_ns: Dur,
    /// time between the device's port and its memory controllers, one way
    #[param(default = "35", source = "fitted to hardware.cxl.load-to-use: what ports, flits, DRAM and host leave", range = ns::WIRE)]
    pub device_ns: Dur,
}

/// Bytes of a flit on the wires.
const FLIT_BYTES: u64 = 68;

/// A link as `s` describes it.
pub(super) fn spec(s: &Settings) -> LinkSpec {
    let own = CxlParameters::from_settings(s);
    let gigatransfers = match own.rate_gt {
        Rate::Gt8 => 8,
        Rate::Gt16 => 16,
        Rate::Gt32 => 32,
    };
    let lanes = match own.lanes {
        Lanes::X1 => 1,
        Lanes::X2 => 2,
        Lanes::X4 => 4,
        Lanes::X8 => 8,
        Lanes::X16 => 16,
    };
    // Picoseconds: a lane carries a bit a transfer, and of 130 bits 128 are a flit's.
    let flit = (FLIT_BYTES * 8 * 1000 * 130).div_ceil(gigatransfers * lanes * 128);
    let ports = own.port_ns * (2 + 2 * own.switches);
    LinkSpec {
        flit: Dur::ps(flit),
        format: Format::CXL,
        requests: own.requests,
        way: ports + own.switch_ns * own.switches,
        device: own.device_ns,
        links: 1,
        home: None,
    }
}
