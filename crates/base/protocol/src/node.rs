//! What every device of a machine offers beyond messages: its part in a power failure, and its statistics.

use crate::{AddressMap, Image, Line, LineWrite, Msg, PAGE_BYTES, PM_BASE, StatSink};
use engine::Device;
use std::collections::{BTreeMap, BTreeSet};
use units::Time;

/// How close to the program a saved write is; at the same place the closer one holds the later value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// A persist buffer, or a controller's ingress queue.
    Buffer,
    /// A message from the shared cache to a controller.
    Evicted,
    /// The shared cache.
    Shared,
    /// A message from a core to the shared cache.
    OnItsWay,
    /// A core's own caches.
    Private,
    /// A non-temporal store on its way: whatever caches hold of its bytes is older.
    NonTemporal,
    /// A core's store buffer.
    StoreBuffer,
}

/// What a machine does not save when the power fails though its program had been told that it was durable, by first
/// address. Either may have older contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// A page of 4 KB, of a dump that stored energy did not suffice for: recovery has to fail.
    Page(u64),
    /// A line that the machine never promises to save, which it says elsewhere (`MemoryKind::forgets`): recovery of the simulator's
    /// own workloads takes it.
    Line(u64),
}

/// What stored energy has to bring to the media, for no more than is promised to be lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Lines, each for what the machine takes for one.
    pub lines: u64,
    /// Pages that devices save whole: how many, by the nanojoules that their device takes for one.
    pub pages: BTreeMap<u64, u64>,
}

/// What is left when the power fails.
#[derive(Clone)]
pub struct PostCrash {
    /// What was lost.
    pub lost: Vec<Lost>,
    /// The images of the controllers of persistent memory, in the order of the controllers.
    pub parts: Vec<Image>,
    /// Whether what caches hold is saved, and with it what has left one on its way to another or to memory.
    pub caches_persist: bool,
    /// When, for those who ask what is to be drained: media have done by then what they were given before. None where nobody does.
    pub fails_at: Option<Time>,
    writes: Vec<(Depth, Time, LineWrite)>,
    /// Lines on their way to the media that the images have already.
    queued: Vec<Line>,
    /// Lines that are nobody's write: undo records.
    kept: u64,
    /// Pages that a device saves whole, by first address, with the nanojoules that each takes.
    pages: BTreeMap<u64, u64>,
}

impl PostCrash {
    /// Nothing yet.
    pub fn new(caches_persist: bool) -> PostCrash {
        PostCrash {
            lost: Vec::new(),
            parts: Vec::new(),
            caches_persist,
            fails_at: None,
            writes: Vec::new(),
            queued: Vec::new(),
            kept: 0,
            pages: BTreeMap::new(),
        }
    }

    /// A write saved by a buffer or cache inside the persistence domain; it became visible at `at`.
    pub fn save(&mut self, depth: Depth, at: Time, write: &LineWrite) {
        self.writes.push((depth, at, *write));
    }

    /// A line waits for the media inside the persistence domain; an image has its bytes.
    pub fn queue(&mut self, line: Line) {
        self.queued.push(line);
    }

    /// So many lines have to be moved to the media besides.
    pub fn keep(&mut self, lines: u64) {
        self.kept += lines;
    }

    /// A device has to save the page at `address` whole, for so many nanojoules.
    pub fn keep_page(&mut self, address: u64, nanojoules: u64) {
        self.pages.insert(address, nanojoules);
    }

    /// What stored energy has to bring to the media: pages that are saved whole, lines of others that buffers, caches and
    /// queues hold, each once, and what is kept besides.
    pub fn drained(&self) -> Drained {
        let saved = self.writes.iter().map(|(_, _, write)| write.line).filter(|line| line.is_pm());
        let goes_with_its_page = |line: &Line| {
            let address = line.address();
            self.pages.contains_key(&(address - address % PAGE_BYTES))
        };
        let lines: BTreeSet<Line> =
            saved.chain(self.queued.iter().copied()).filter(|line| !goes_with_its_page(line)).collect();
        let mut drained = Drained { lines: lines.len() as u64 + self.kept, pages: BTreeMap::new() };
        for nanojoules in self.pages.values() {
            *drained.pages.entry(*nanojoules).or_default() += 1;
        }
        drained
    }

    /// Lays every saved write over the controllers' images as they are, without putting these together: a line's
    /// bytes are then its controller's. Costs the pages that the saved writes touch.
    pub fn settle_in_place(mut self, map: &AddressMap) -> Vec<Image> {
        self.writes.sort_by_key(|(depth, at, _)| (*depth, *at));
        for (_, _, w) in self.writes.iter().filter(|(_, _, w)| w.line.is_pm()) {
            self.parts[map.controller(w.line)].write(w.line, &w.data, w.mask);
        }
        self.parts
    }

    /// Puts each memory's controllers together as `map` interleaves them, and lays every saved write over them: farther
    /// before closer, older before younger. One image for each memory, as its controllers are addressed.
    pub fn settle(mut self, map: &AddressMap) -> Vec<Image> {
        let mut parts = std::mem::take(&mut self.parts).into_iter();
        let together = |memory: &crate::MemoryPlace| {
            let mut own: Vec<Image> = parts.by_ref().take(memory.controllers).collect();
            if own.len() == 1 {
                return own.remove(0);
            }
            let mut image = Image::new(PM_BASE);
            for (index, part) in (memory.first..).zip(&own) {
                image.adopt(part, |line| map.controller(line) == index);
            }
            image
        };
        let mut images: Vec<Image> = map.memories().map(together).collect();
        self.writes.sort_by_key(|(depth, at, _)| (*depth, *at));
        for (_, _, w) in self.writes.iter().filter(|(_, _, w)| w.line.is_pm()) {
            let memory = map.memory_of_controller(map.controller(w.line));
            images[memory].write(w.line, &w.data, w.mask);
        }
        images
    }
}

/// Which bytes are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// What is left when the power fails now.
    Durable,
    /// What loads would see now, were all store buffers empty.
    Visible,
}

/// A device of a machine.
pub trait Node: Device<Msg> {
    /// Adds what this device holds of persistent memory under `view`.
    fn post_crash(&self, view: View, post_crash: &mut PostCrash);
    /// Hands up statistics; running intervals end at `now`.
    fn stats(&mut self, now: Time, sink: &mut dyn StatSink);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_several_hold_counts_once_and_one_of_a_page_that_is_saved_with_its_page() {
        let line = |n: u64| Line(PM_BASE / 64 + n);
        let mut left = PostCrash::new(true);
        left.keep_page(PM_BASE + PAGE_BYTES, 7);
        left.keep_page(PM_BASE + 2 * PAGE_BYTES, 7);
        // Of the pages before, in and behind those.
        [0, 63, 64, 191, 192].iter().for_each(|n| left.queue(line(*n)));
        let write = LineWrite { line: line(63), data: [1; 64], mask: crate::Mask::MAX };
        left.save(Depth::Shared, Time::ZERO, &write);
        left.keep(2);
        assert_eq!(left.drained(), Drained { lines: 3 + 2, pages: [(7, 2)].into() });
    }
}
