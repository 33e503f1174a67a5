//! What persistent memory holds when a machine starts.

use crate::build::WiredMachine;
use crate::error::ConfigError;
use protocol::{Image, PAGE_BYTES, PM_BASE, line_of, mask_of, offset_of};
use trace::space::Layout;
use trace::{Kind, Recording};

/// What the files of a recording held before its program changed them, laid out as its replay has them.
pub(crate) fn contents(recording: &Recording) -> Image {
    let mut image = Image::new(PM_BASE);
    if recording.counts().kind(Kind::Contents) == 0 {
        return image;
    }
    let layout = Layout::new(recording.about(), &recording.counts().extents, PM_BASE);
    for record in recording.records().filter(|r| r.kind == Kind::Contents) {
        let Some(address) = layout.compact(record.address) else { continue };
        let (at, size) = (offset_of(address), usize::from(record.size));
        let mut block = [0; 64];
        block[at..at + size].copy_from_slice(&record.value.to_le_bytes()[..size]);
        image.write(line_of(address), &block, mask_of(at, size));
    }
    image
}

impl WiredMachine {
    /// Puts the touched pages of `image` into persistent memory; zeros, where nobody looks at its bytes. Takes no
    /// simulated time.
    ///
    /// # Errors
    /// When there is no room for them.
    pub(crate) fn preload(&mut self, image: &Image, keeps_bytes: bool) -> Result<(), ConfigError> {
        for (address, page) in image.touched() {
            let page = if keeps_bytes { page } else { &[0; PAGE_BYTES as usize] };
            let index = self.map.memory_of(address);
            for (_, companion) in self.companions.iter().filter(|(memory, _)| *memory == index) {
                companion.borrow().preloaded(address);
            }
            let own = PM_BASE + self.map.own_page(index, (address - PM_BASE) / PAGE_BYTES) * PAGE_BYTES;
            let memory = *self.map.memory(index);
            let map = self.map;
            for controller in memory.numbers() {
                self.controllers[controller]
                    .preload(own, page, &|line| map.controller(line) == controller)
                    .map_err(|e| ConfigError::new(format!("first contents of persistent memory: {e}")))?;
            }
        }
        Ok(())
    }
}
