//! What a power failure leaves: the dump that the metadata asks for, as far as the battery lasts, and the write pending
//! queue, which the published device does not save (§V-C).

use super::{Bytes, Dimm};
use crate::shared_driver::page_address;
use protocol::{Image, Line, Lost, PM_BASE, PostCrash};

/// What happens when the power fails.
#[derive(Clone, Copy, Debug)]
pub struct PowerSpec {
    /// Pages for which the battery lasts.
    pub battery_pages: u64,
    /// Energy of one, in nanojoules.
    pub page_nj: u64,
    /// The write pending queue reaches the DRAM before the dump begins. Not so in the published device: both go on side
    /// by side, and what the queue held may be lost.
    pub write_queue_survives: bool,
    /// Slots, and the page of the DRAM with the first.
    pub slots: u32,
    /// See there.
    pub first_slot: u32,
}

impl Dimm {
    /// Lays out what every page of the device holds after the dump.
    pub(super) fn power_fails(&self, post_crash: &mut PostCrash) {
        let mut dram = self.dram.clone();
        if self.spec.power.write_queue_survives || self.firmware.is_none() {
            let queued = self.write_queue.iter().map(|(_, w)| w);
            // With caches, all that is before the queue is saved too.
            let with_caches = post_crash.caches_persist;
            let waiting = self.writes_waiting.iter().filter(|_| with_caches).map(|w| &w.write);
            for write in queued.chain(waiting) {
                dram.write(write.line, &write.data, write.mask);
                post_crash.queue(write.line);
            }
        }
        let Some(firmware) = &self.firmware else { return post_crash.parts.push(by_page(&dram)) };
        let mut image = Image::new(PM_BASE);
        let nand = firmware.ftl();
        for (page, place) in nand.places() {
            let bytes = nand.flash().array().peek(place).cloned();
            image.put_page(page_address(page), bytes.and_then(|b| b.try_into().ok()));
        }
        let power = self.spec.power;
        let valid = firmware.to_save(&mut Bytes(&mut dram), power.first_slot, power.slots);
        valid.iter().for_each(|(slot, _)| post_crash.keep_page(self.slot_address(*slot), power.page_nj));
        for (nth, (slot, page)) in (0..).zip(&valid) {
            if nth < power.battery_pages {
                image.put_page(page_address(*page), dram.page(self.slot_address(*slot)));
            } else {
                post_crash.lost.push(Lost::Page(page_address(*page)));
            }
        }
        if !power.write_queue_survives {
            let weak = |line: Line| {
                let (_, page) = valid
                    .iter()
                    .find(|(slot, _)| u64::from(*slot) == self.number(line) / crate::PAGE_LINES)?;
                Some(Lost::Line(page_address(*page) + self.number(line) % crate::PAGE_LINES * 64))
            };
            post_crash.lost.extend(self.write_queue.iter().filter_map(|(_, w)| weak(w.line)));
        }
        post_crash.parts.push(image);
    }
}

/// The pages of a DRAM that holds each page of the device in its own place, at the addresses by which the device's pages are told.
fn by_page(dram: &Image) -> Image {
    let mut image = Image::new(PM_BASE);
    for address in dram.pages() {
        image.put_page(PM_BASE + (address - dram.base()), dram.page(address));
    }
    image
}
