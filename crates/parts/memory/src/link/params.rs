//! Which link is before a memory, and what links are made of.

use super::spec::LinkSpec;
pub(crate) use super::stats::{CXL as CXL_STATISTICS, SOCKET as SOCKET_STATISTICS};
use super::{cxl, socket};
use ::params::{Param, Parameters, Settings, StatisticInfo, Words};

/// What is between a memory's controllers and the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum LinkWord {
    /// Wires alone.
    Direct,
    /// A CXL link.
    Cxl,
    /// The links to the other socket.
    Socket,
}

/// Which it is.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "memory")]
pub struct WhichLinkParameters {
    /// what is between the host and the memory's controllers: direct, wires alone; cxl, a link with flits; socket, the links to the other socket
    #[param(default = "direct", source = "open direct: what is asked")]
    pub link: LinkWord,
}

/// What is between the host and a memory.
fn word(s: &Settings) -> LinkWord {
    s.read("memory.link")
}

/// Whether a memory is behind a link.
pub fn is_linked(s: &Settings) -> bool {
    word(s) != LinkWord::Direct
}

/// The value of `memory.link`.
pub fn name(s: &Settings) -> &'static str {
    word(s).word()
}

/// The tables of a memory that a link can carry.
pub const TABLES: &[&[Param]] =
    &[WhichLinkParameters::TABLE, cxl::CxlParameters::TABLE, socket::SocketParameters::TABLE];

/// Those of them that act.
pub fn tables(s: &Settings) -> Vec<&'static [Param]> {
    let own = match word(s) {
        LinkWord::Direct => None,
        LinkWord::Cxl => Some(TABLES[1]),
        LinkWord::Socket => Some(TABLES[2]),
    };
    [TABLES[0]].into_iter().chain(own).collect()
}

/// With which value of `memory.link` a key of [`TABLES`] acts.
pub fn acts_with(key: &str) -> &'static str {
    let is_of_socket = socket::SocketParameters::TABLE.iter().any(|p| p.key == key);
    if is_of_socket { LinkWord::Socket.word() } else { LinkWord::Cxl.word() }
}

/// What the links before a memory report.
pub fn statistics(s: &Settings) -> Option<&'static [StatisticInfo]> {
    match word(s) {
        LinkWord::Direct => None,
        LinkWord::Cxl => Some(CXL_STATISTICS),
        LinkWord::Socket => Some(SOCKET_STATISTICS),
    }
}

/// A link as `s` describes it; where there is none, one to CXL's words.
pub fn spec(s: &Settings) -> LinkSpec {
    match word(s) {
        LinkWord::Direct | LinkWord::Cxl => cxl::spec(s),
        LinkWord::Socket => socket::spec(s),
    }
}
