//! What a device beside a controller does with its memory, past the queues.

use super::media::{Cost, Media};
use super::{Behind, Controller};
use protocol::{Block, Line, Mask, PAGE_BYTES, SharedPage};
use units::Time;

const PAGE_LINES: u64 = PAGE_BYTES / 64;

impl Controller {
    /// The bytes of a line as a device beside this controller reads them: what the host has written so far.
    pub fn present(&self, line: Line) -> Block {
        self.latest(line)
    }

    /// A unit beside this controller reads a line: [`Controller::present`], and the media are busy with it.
    pub fn read_near(&mut self, now: Time, line: Line) -> Block {
        self.stats.reads += u64::from(self.use_media(now, |media| media.read(now, line)));
        self.present(line)
    }

    /// A unit beside this controller writes memory past the write pending queue; durable at once, and the media are busy.
    pub fn write_near(&mut self, now: Time, line: Line, data: &Block, mask: Mask) {
        self.stats.writes += u64::from(self.use_media(now, |media| media.write(now, line)));
        self.put_near(line, data, mask);
    }

    /// One more access of media that serve one after the other; media that hold requests are not asked. Whether there was
    /// one.
    fn use_media(&mut self, now: Time, access: impl FnOnce(&mut dyn Media) -> Cost) -> bool {
        let Behind::Server(media) = &mut self.media else { return false };
        let cost = access(media.as_mut());
        self.stats.accessed(&cost);
        self.occupy(now, cost.busy);
        true
    }

    /// When media that serve one access after the other are free for the next.
    pub fn media_free(&self) -> Time {
        self.busy_until
    }

    /// A device beside this controller writes memory past the write pending queue, in a time of its own; durable at once.
    pub fn put_near(&mut self, line: Line, data: &Block, mask: Mask) {
        self.image.write(line, data, mask);
        self.persists += 1;
    }

    /// As [`Controller::present`], of a whole page, shared and not copied; none where something of it may be on its way.
    pub fn present_page(&self, first: Line) -> Option<Option<SharedPage>> {
        let mut settled = self.input.is_empty();
        self.ordering.each_held(&mut |write| settled &= write.line.0 / PAGE_LINES != first.0 / PAGE_LINES);
        settled.then(|| self.image.page(first.address()))
    }

    /// As [`Controller::put_near`], of a whole page.
    pub fn put_page_near(&mut self, first: Line, page: Option<SharedPage>) {
        self.image.put_page(first.address(), page);
        self.persists += PAGE_LINES;
    }

    /// Writes and flushes that came and have no place in the write pending queue yet: the last of those that came, where
    /// they are let in in turn.
    pub fn waiting_outside(&self) -> usize {
        self.input.len()
    }
}
