//! Devices on a machine's memory wires.

use engine::{Device, Out, PortId};
use protocol::{Block, Line, Msg, Node, PAGE_BYTES, PostCrash, StatSink, View, messages};
use std::any::Any;
use units::{Dur, Time};

/// How long a device takes at least to answer, wires left aside, from the arrival of what it answers or from a timer of its
/// own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeastAnswer {
    /// Bytes for the directory.
    pub to_directory: Dur,
    /// An acknowledgement for a core.
    pub to_core: Dur,
}

/// What stands at a controller's place: a plain memory controller, or a device with more behind it. Asked through a trait
/// object, once a message.
pub trait MemoryDevice: Node + Any {
    /// Writes that have changed persistent memory so far.
    fn persists(&self) -> u64 {
        0
    }

    /// Puts the lines of a page for which `owns` says so into memory before the machine starts.
    ///
    /// # Errors
    /// When there is no room for it.
    fn preload(
        &mut self,
        address: u64,
        page: &[u8; PAGE_BYTES as usize],
        owns: &dyn Fn(Line) -> bool,
    ) -> Result<(), String>;

    /// How long it takes at least to answer, whatever it is asked; none where it answers when it will, so that no core may
    /// run ahead of it by more than a wire. Beside a companion that is shared it would say nothing: cores act in order of time there.
    fn least_answer(&self) -> Option<LeastAnswer> {
        None
    }

    /// The latest value of a line as the controller has it; none where it does not hold lines by their address.
    fn latest(&self, line: Line) -> Option<Block> {
        let _ = line;
        None
    }

    /// Whether [`MemoryDevice::failure`] has something to tell. Asked after every event where the kind asks for it.
    fn has_failed(&self) -> bool {
        false
    }

    /// What it met that ends the run.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Why programs that wait for it wait for ever, where it knows.
    fn silence(&self) -> Option<String> {
        None
    }

    /// The region of interest begins.
    fn begin_region(&mut self, now: Time) {
        let _ = now;
    }

    /// A part of the region of interest begins or ends: who counts window by window ends one here.
    fn bound_region(&mut self, now: Time) {
        let _ = now;
    }
}

/// What is behind the port of uncached accesses.
pub trait UncachedPort: Node + Any {
    /// Whether [`UncachedPort::failure`] has something to tell.
    fn has_failed(&self) -> bool {
        false
    }

    /// What it met that ends the run.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// The end of a wire that nothing is behind.
#[derive(Clone, Debug, Default)]
pub struct NoDevice {
    came: Option<String>,
}

impl UncachedPort for NoDevice {
    fn has_failed(&self) -> bool {
        self.came.is_some()
    }

    fn failure(&self) -> Option<String> {
        self.came.clone()
    }
}

impl Device<Msg> for NoDevice {
    fn on(&mut self, _: Time, _: PortId, msg: &Msg, _: &mut Out<'_, Msg>) {
        let text = match msg {
            Msg::UncachedWrite { address, .. } | Msg::UncachedRead { address } => {
                format!(
                    "the program uses a device's register at {address:#x}, and this machine has no such device"
                )
            }
            messages!(timers | caches | memory | ordering | register_answers | near) => {
                protocol::unexpected("the end of a wire that nothing is behind", msg)
            }
        };
        self.came.get_or_insert(text);
    }
}

impl Node for NoDevice {
    fn post_crash(&self, _: View, _: &mut PostCrash) {}
    fn stats(&mut self, _: Time, _: &mut dyn StatSink) {}
}
