//! What can stand behind a machine's memory wires.

use engine::{Device, Out, PortId};
use memory::Controller;
use nearpm::NearDevice;
use nvdimmc::{Collision, Dimm};
use pberry::Agent;
use protocol::{Line, Msg, Node, PAGE_BYTES, PostCrash, StatSink, View, line_of};
use units::Time;

/// A memory controller with its memory.
#[expect(clippy::large_enum_variant, reason = "a machine has a handful, and the larger one is the hot one")]
pub(crate) enum Memory {
    Controller(Controller),
    Dimm(Box<Dimm>),
    Near(Box<NearDevice>),
    Remote(Box<Agent>),
}

impl Memory {
    /// Writes that have changed persistent memory so far.
    pub(crate) fn persists(&self) -> u64 {
        match self {
            Memory::Controller(c) => c.persists(),
            Memory::Dimm(d) => d.persists(),
            Memory::Near(d) => d.persists(),
            Memory::Remote(_) => 0,
        }
    }

    /// Puts the lines of a page for which `owns` says so into persistent memory before the machine starts.
    ///
    /// # Errors
    /// When there is no room for it.
    pub(crate) fn preload(
        &mut self,
        address: u64,
        page: &[u8; PAGE_BYTES as usize],
        owns: impl Fn(Line) -> bool,
    ) -> Result<(), String> {
        let first = line_of(address).0;
        let blocks = (first..).map(Line).zip(page.as_chunks::<64>().0).filter(|(line, _)| owns(*line));
        match self {
            Memory::Controller(c) => blocks.for_each(|(line, block)| c.preload(line, block)),
            Memory::Near(d) => blocks.for_each(|(line, block)| d.preload(line, block)),
            Memory::Dimm(d) => return d.preload(address, page),
            Memory::Remote(agent) => blocks.for_each(|(line, block)| agent.preload(line, block)),
        }
        Ok(())
    }

    /// The plain controller, where it is one.
    pub(crate) fn controller(&self) -> Option<&Controller> {
        match self {
            Memory::Controller(c) => Some(c),
            Memory::Dimm(_) | Memory::Near(_) | Memory::Remote(_) => None,
        }
    }

    /// The near-data device, where it is one.
    pub(crate) fn near(&self) -> Option<&NearDevice> {
        match self {
            Memory::Near(d) => Some(d),
            Memory::Controller(_) | Memory::Dimm(_) | Memory::Remote(_) => None,
        }
    }

    /// The agent of remote memory, where it is one.
    pub(crate) fn remote(&self) -> Option<&Agent> {
        match self {
            Memory::Remote(agent) => Some(agent),
            Memory::Controller(_) | Memory::Dimm(_) | Memory::Near(_) => None,
        }
    }

    pub(crate) fn remote_mut(&mut self) -> Option<&mut Agent> {
        match self {
            Memory::Remote(agent) => Some(agent),
            Memory::Controller(_) | Memory::Dimm(_) | Memory::Near(_) => None,
        }
    }

    /// Whether it has met what ends the run.
    pub(crate) fn has_stopped(&self) -> bool {
        match self {
            Memory::Dimm(d) => d.collision().is_some(),
            Memory::Remote(agent) => agent.failure().is_some(),
            Memory::Controller(_) | Memory::Near(_) => false,
        }
    }

    /// Two commands that met on its bus.
    pub(crate) fn collision(&self) -> Option<Collision> {
        match self {
            Memory::Dimm(d) => d.collision(),
            Memory::Controller(_) | Memory::Near(_) | Memory::Remote(_) => None,
        }
    }
}

impl Device<Msg> for Memory {
    #[inline]
    fn on(&mut self, now: Time, port: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        match self {
            Memory::Controller(c) => c.on(now, port, msg, out),
            Memory::Dimm(d) => d.on(now, port, msg, out),
            Memory::Near(d) => d.on(now, port, msg, out),
            Memory::Remote(d) => d.on(now, port, msg, out),
        }
    }
}

impl Node for Memory {
    fn post_crash(&self, view: View, post_crash: &mut PostCrash) {
        match self {
            Memory::Controller(c) => c.post_crash(view, post_crash),
            Memory::Dimm(d) => d.post_crash(view, post_crash),
            Memory::Near(d) => d.post_crash(view, post_crash),
            Memory::Remote(d) => d.post_crash(view, post_crash),
        }
    }

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        match self {
            Memory::Controller(c) => c.stats(now, sink),
            Memory::Dimm(d) => d.stats(now, sink),
            Memory::Near(d) => d.stats(now, sink),
            Memory::Remote(d) => d.stats(now, sink),
        }
    }
}
