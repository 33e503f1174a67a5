//! What controllers have written.

use super::line;
use protocol::{Block, Image, LineWrite, Mask, PM_BASE, merge};
use std::cell::RefCell;

thread_local! {
    /// Where lines lie while a controller works on them: an image of a state's own would be two pages to copy.
    static IMAGE: RefCell<Image> = RefCell::new(Image::new(PM_BASE));
}

/// The controllers' memories, a block for each line.
#[derive(Clone, Hash)]
pub(super) struct Media(Vec<Block>);

impl Media {
    /// So many lines of zeros.
    pub(super) fn new(lines: usize) -> Media {
        Media(vec![[0; 64]; lines])
    }

    /// Keeps what `work` makes of the lines. Cost: each of them is copied twice.
    pub(super) fn with<R>(&mut self, work: impl FnOnce(&mut Image) -> R) -> R {
        IMAGE.with_borrow_mut(|image| {
            self.0.iter().enumerate().for_each(|(l, block)| image.write(line(l), block, Mask::MAX));
            let done = work(image);
            self.0.iter_mut().enumerate().for_each(|(l, block)| *block = image.read(line(l)));
            done
        })
    }

    pub(super) fn write(&mut self, w: &LineWrite) {
        if let Some((_, block)) = self.0.iter_mut().enumerate().find(|(l, _)| line(*l) == w.line) {
            merge(block, &w.data, w.mask);
        }
    }

    /// The number of the write that each line holds, 0 for none.
    pub(super) fn numbers(&self) -> impl Iterator<Item = usize> {
        self.0.iter().map(|block| block[0].into())
    }
}
