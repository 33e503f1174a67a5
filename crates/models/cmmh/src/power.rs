//! What a power failure leaves: the NAND, and as many changed pages as stored energy lasts for.

use crate::cache::Kept;
use crate::device::Cmmh;
use protocol::{Image, Lost, PAGE_BYTES, PostCrash, SharedPage};

/// What happens when the power fails.
#[derive(Clone, Copy, Debug)]
pub struct PowerSpec {
    /// Changed pages that stored energy brings to the NAND.
    pub saved_pages: u64,
    /// Energy of one, in nanojoules.
    pub page_nj: u64,
}

impl Cmmh {
    fn address(&self, page: u32) -> u64 {
        self.spec.base + u64::from(page) * PAGE_BYTES
    }

    /// Every page as the NAND has it. What is on its way there, the device's write buffer, counts as there.
    pub(crate) fn lay_out_nand(&self, image: &mut Image) {
        for page in &self.written {
            let place = self.ftl.place(*page);
            let bytes = place.and_then(|place| self.ftl.flash().array().peek(place).cloned());
            let bytes: Option<SharedPage> = bytes.and_then(|bytes| bytes.try_into().ok());
            image.put_page(self.address(*page), bytes);
        }
    }

    /// Every page that the DRAM has, over that.
    pub(crate) fn lay_out_cache(&self, image: &mut Image) {
        for (page, _, bytes) in self.pages.cache.pages() {
            image.put_page(self.address(page), bytes);
        }
    }

    /// Changed pages are saved as long as there is energy; of the rest the NAND's old bytes stay.
    pub(crate) fn power_fails(&self, image: &mut Image, post_crash: &mut PostCrash) {
        self.pages.cache.power_fails(self.spec.power.saved_pages, &mut |page, kept| {
            post_crash.keep_page(self.address(page), self.spec.power.page_nj);
            match kept {
                Kept::Saved(bytes) => image.put_page(self.address(page), bytes),
                Kept::Lost => post_crash.lost.push(Lost::Page(self.address(page))),
            }
        });
    }
}
