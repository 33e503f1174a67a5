//! NAND flash and its translation layer: who owns which page, what moves, what wears, what survives; and, beside
//! them, how long the media take.
//!
//! ```text
//!   host page --write--> Ftl: map, open block, garbage collection, levelling --program, copy, erase--> Flash
//!             --read---> Ftl: map ------------------------------------------------read-------------> Flash
//!   power failure ------> Ftl::recover: newest readable copy of each page <------spare bytes--------- Flash
//! ```
//!
//! Modelled: page mapping; one log that host writes and copies share; greedy and FIFO garbage collection; static wear
//! levelling; factory and grown bad blocks; programs and erases that fail; bit errors with correction, read retry and
//! uncorrectable pages; a power failure in the middle of a program or an erase; recovery from the spare bytes alone.
//!
//! Not modelled: cache reads and programs, what suspending a program costs, read disturb and retention, several planes, hot and cold streams, trim.
//!
//! Architecture Invariant: [`Ftl`] knows flash by [`Flash`] alone. [`Array`] keeps bytes; [`Counter`] keeps nothing, for
//! studies of write amplification.
//!
//! Sources: Agrawal et al. (USENIX ATC 2008) for page mapping and greedy collection; Xiang and Kurkoski (2012) for the
//! write amplification of uniform random writes.

mod array;
mod blocks;
mod described;
mod ftl;
mod media;
pub mod params;
pub(crate) mod stats;
#[cfg(test)]
mod tests;
mod timed;

use std::ops::Range;

pub use array::{Array, Errors};
pub use described::flash;
pub use ftl::{Collection, Counts, Ftl, FtlSpec};
pub use media::{Media, MediaSpec};
pub use stats::{STATISTICS, hand_up};
pub use timed::Timed;

/// A page of the flash, counted over all dies.
pub type PageNumber = u32;
/// A page as the host counts.
pub type HostPage = u32;
/// A block of the flash.
pub type Block = u32;

/// Blocks and pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks of all dies together.
    pub blocks: u32,
    /// Pages of a block.
    pub pages_per_block: u32,
    /// Bytes of a page, spare bytes apart.
    pub page_bytes: u32,
}

impl Geometry {
    /// Pages of all blocks.
    pub fn pages(&self) -> u32 {
        self.blocks * self.pages_per_block
    }

    /// The block of a page: without a division where a block has a power of two of them, as most have.
    #[inline]
    pub fn block_of(&self, page: PageNumber) -> Block {
        let pages = self.pages_per_block;
        if pages.is_power_of_two() { page >> pages.trailing_zeros() } else { page / pages }
    }

    /// The pages of a block.
    pub fn pages_of(&self, block: Block) -> Range<PageNumber> {
        block * self.pages_per_block..(block + 1) * self.pages_per_block
    }
}

/// What flash answers when it cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlashError {
    /// A program or an erase failed: the block is bad from now on.
    Failed,
    /// More bits are wrong than can be corrected.
    Uncorrectable,
    /// There is no power.
    PowerLost,
}

/// What the host is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FtlError {
    /// The page number is beyond the device.
    Beyond,
    /// The page cannot be read.
    Uncorrectable,
    /// Too many blocks are bad: nothing can be written any more.
    WornOut,
    /// There is no power.
    PowerLost,
}

/// What is in a page's spare bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// Whose data it is.
    pub host: HostPage,
    /// Counts all host writes: of two copies the one with the higher number is newer.
    pub sequence: u64,
}

/// Flash memory, as the translation layer sees it.
pub trait Flash {
    /// Programs a page that is erased.
    ///
    /// # Errors
    /// The program failed, or the power.
    fn program(&mut self, page: PageNumber, spare: Spare, data: &[u8]) -> Result<(), FlashError>;

    /// Programs a page with the data and spare bytes of another. What cannot be read any more is copied as such.
    ///
    /// # Errors
    /// The program failed, or the power.
    fn copy(&mut self, from: PageNumber, to: PageNumber) -> Result<(), FlashError>;

    /// Erases a block.
    ///
    /// # Errors
    /// The erase failed, or the power.
    fn erase(&mut self, block: Block) -> Result<(), FlashError>;

    /// Reads a page.
    ///
    /// # Errors
    /// Its bits cannot be corrected, or there is no power.
    fn read(&mut self, page: PageNumber, data: &mut [u8]) -> Result<(), FlashError>;
}

/// Flash that keeps nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter;

impl Flash for Counter {
    fn program(&mut self, _: PageNumber, _: Spare, _: &[u8]) -> Result<(), FlashError> {
        Ok(())
    }

    fn copy(&mut self, _: PageNumber, _: PageNumber) -> Result<(), FlashError> {
        Ok(())
    }

    fn erase(&mut self, _: Block) -> Result<(), FlashError> {
        Ok(())
    }

    fn read(&mut self, _: PageNumber, _: &mut [u8]) -> Result<(), FlashError> {
        Ok(())
    }
}
