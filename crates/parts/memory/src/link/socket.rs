//! Links between the sockets of a host (UPI).
//!
//! Lanes carry flits of three slots. A slot is eight bytes; a line has one for its header and eight for its data, which is what
//! Intel's guide to the counters of these links divides by (64 bytes are nine slots). Of the 20 lanes of a direction 16 carry what
//! is published as a link's rate, 20.8 GB/s at 10.4 GT/s; the others are taken for the link layer's own.
//!
//! The other socket keeps with each line in memory whether this one may have it: see [`super::directory`].
//!
//! Sources: Intel Xeon Processor Scalable Family, uncore performance monitoring reference (slots, flits); Xeon Platinum 8260
//! (links, rate); Intel 64 and IA-32 Architectures Optimization Reference Manual (directory in memory, and that it is written).

use super::flits::Format;
use super::spec::{Home, LinkSpec};
use ::params::{Dur, Parameters, Settings, Words, ns};

/// Transfers of a lane, in GT/s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum SocketRate {
    /// The slower rate of the first generations.
    #[word = "9.6"]
    Gt9_6,
    /// Skylake and Cascade Lake.
    #[word = "10.4"]
    Gt10_4,
    /// Ice Lake.
    #[word = "11.2"]
    Gt11_2,
}

/// Where the other socket keeps who has which of its lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum DirectoryWord {
    /// With each line in memory.
    Memory,
    /// Nowhere: it asks.
    None,
}

/// Links to the other socket.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory.socket")]
pub struct SocketParameters {
    /// transfers of a lane in GT/s; 16 lanes of a direction carry data
    #[param(default = "10.4", source = "datasheet: Xeon Platinum 8260")]
    pub rate_gt: SocketRate,
    /// links, no more than there are controllers, between which the memory's controllers are shared in turn
    #[param(
        default = "2",
        source = "open 2|3: the processor has three, and boards of two sockets wire two or three",
        min = 1,
        max = 4
    )]
    pub links: usize,
    /// reads on their way at once over each link, until their data is back
    #[param(default = "64", source = "open 32..128: not published, half to twice", min = 1, max = 1024)]
    pub requests: usize,
    /// time in a port, one way; a message passes two
    #[param(
        default = "8.4",
        source = "measured: a load of the other socket's DRAM takes 130 ns (Skylake) where one of the own takes 80, flits and the other socket's wires taken off",
        range = ns::NS
    )]
    pub port_ns: Dur,
    /// time between the other socket's port and its memory controllers, one way
    #[param(default = "6", source = "open 3..9: not published; as the own socket's", range = ns::WIRE)]
    pub home_ns: Dur,
    /// where the other socket keeps which of its lines this one may have: memory, with each line, which is written when that changes; none, nowhere
    #[param(
        default = "memory",
        source = "datasheet: Intel optimisation manual, on several processors a line's state is kept with it in memory"
    )]
    pub directory: DirectoryWord,
}

/// Bits of a flit.
const FLIT_BITS: u64 = 192;
/// Of 20 lanes of a direction, those that carry a flit's bits.
const LANES: u64 = 16;

/// A link as `s` describes it.
pub(super) fn spec(s: &Settings) -> LinkSpec {
    let own = SocketParameters::from_settings(s);
    let tenths = match own.rate_gt {
        SocketRate::Gt9_6 => 96,
        SocketRate::Gt10_4 => 104,
        SocketRate::Gt11_2 => 112,
    };
    LinkSpec {
        // Picoseconds: a transfer takes 1000 of them at one GT/s.
        flit: Dur::ps((FLIT_BITS * 10_000).div_ceil(LANES * tenths)),
        format: Format::SOCKET,
        requests: own.requests,
        way: own.port_ns * 2,
        device: own.home_ns,
        links: own.links,
        home: Some(Home { keeps_directory: own.directory == DirectoryWord::Memory }),
    }
}
