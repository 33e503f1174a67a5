//! What belongs to a memory besides its devices.

use crate::{MemoryDevice, UncachedPort};
use protocol::{AddressMap, Block, Cpu, Image, Line, StatSink, View};
use units::Time;

/// What caches and cores hold, for those who watch them.
pub trait CacheView {
    /// Whether core `core` has changed bytes of `line` that are in no other cache.
    fn core_has_changed(&self, core: usize, line: Line) -> bool;
    /// Whether its stores to persistent memory go beside the caches too.
    fn has_persist_path(&self, core: usize) -> bool;
    /// Whether the shared cache has changed bytes of `line`.
    fn shared_has_changed(&self, line: Line) -> bool;
    /// Whether any cache holds `line`.
    fn is_cached(&self, line: Line) -> bool;
    /// The value of `line` as a load would see it, where caches or DRAM have it.
    fn latest(&self, line: Line) -> Option<Block>;
}

/// What belongs to a memory besides its devices: a driver with its tables on the host, or a checker. Every call has a
/// meaning for a memory that needs none of it, and that is the default.
pub trait Companion {
    /// The handle for a program on core `core`, whose own handle is `cpu`.
    fn cpu(&self, core: usize, cpu: &Cpu) -> Cpu {
        let _ = core;
        cpu.clone()
    }

    /// The program of a core has ended, its stores being done.
    fn leave(&self, core: usize) {
        let _ = core;
    }

    /// Whether cores share tables of it on the host, and so must act in order of time; and have to be told
    /// that their program has ended.
    fn is_shared(&self) -> bool {
        false
    }

    /// A page of the memory has contents before the machine starts.
    fn preloaded(&self, address: u64) {
        let _ = address;
    }

    /// The region of interest begins.
    fn begin_region(&self, now: Time) {
        let _ = now;
    }

    /// A part of the region of interest begins or ends: who counts window by window ends one here.
    fn bound_region(&self, now: Time) {
        let _ = now;
    }

    /// Whether it wants to see what devices and the command port did after each of their events.
    fn watches(&self) -> bool {
        false
    }

    /// Device `index` of its memory has acted (none: the command port has). Whether this has failed, so that nobody asks
    /// for it apart.
    fn watch(
        &mut self,
        now: Time,
        index: Option<usize>,
        devices: &mut [Box<dyn MemoryDevice>],
        port: &mut dyn UncachedPort,
        caches: &dyn CacheView,
    ) -> bool {
        let _ = (now, index, devices, port, caches);
        self.has_failed()
    }

    /// Whether [`Companion::failure`] has something to tell. Asked after every event.
    fn has_failed(&self) -> bool {
        false
    }

    /// What ended the run. What programs found themselves is told before it where `has_failed` comes from a checker.
    fn failure(&self) -> Option<String> {
        None
    }

    /// Whether a program's own complaint is told before [`Companion::failure`].
    fn programs_first(&self) -> bool {
        false
    }

    /// The power has failed: puts what its devices saved, or what is elsewhere, into the images of their controllers.
    fn recover(&mut self, devices: &[Box<dyn MemoryDevice>], parts: &mut [Image]) {
        let _ = (devices, parts);
    }

    /// The memory as programs address it, made of its controllers' images.
    fn as_addressed(
        &self,
        view: View,
        image: Image,
        devices: &[Box<dyn MemoryDevice>],
        map: &AddressMap,
        caches: &dyn CacheView,
    ) -> Image {
        let _ = (view, devices, map, caches);
        image
    }

    /// Hands up statistics; running intervals end at `now`.
    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        let _ = (now, sink);
    }

    /// Dirty pages by how many of their lines were stored to in a window, where somebody counts.
    fn lines_per_page(&self) -> Option<Vec<u64>> {
        None
    }
}
