//! The translation layer: page mapping, garbage collection, wear levelling, bad blocks, recovery.

use super::blocks::{PageSet, ValidPages};
use super::{Array, Block, Flash, FlashError, FtlError, Geometry, HostPage, PageNumber, Spare, Timed};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

const NONE: u32 = u32::MAX;

/// Which block is collected next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, params::Words)]
pub enum Collection {
    /// The one with the fewest valid pages.
    Greedy,
    /// The one that was closed first.
    Fifo,
}

/// A translation layer's parameters.
#[derive(Clone, Copy, Debug)]
pub struct FtlSpec {
    /// Blocks and pages of the flash.
    pub geometry: Geometry,
    /// Pages that the host sees.
    pub host_pages: u32,
    /// Which block is collected next.
    pub collection: Collection,
    /// Erased blocks below which blocks are collected; at least 3: collecting needs one itself, and the power may fail
    /// in the middle of it.
    pub reserve: u32,
    /// How many more erases than another a block may have, before the less worn one's data is moved; 0 for never.
    pub level_above: u32,
}

impl FtlSpec {
    /// Whether the numbers fit together.
    ///
    /// # Errors
    /// Which key is impossible, and its bound.
    pub fn check(&self) -> Result<(), String> {
        let g = self.geometry;
        let bound = |key: &str, value: u64, low: u64, high: u64| {
            if (low..=high).contains(&value) {
                return Ok(());
            }
            Err(format!("{key} = {value}: accepted are {low} to {high}"))
        };
        bound("pages_per_block", g.pages_per_block.into(), 1, 4096)?;
        bound("blocks", g.blocks.into(), 8, u64::from(u32::MAX / g.pages_per_block) - 1)?;
        bound("page_bytes", g.page_bytes.into(), 64, 65536)?;
        bound("reserve", self.reserve.into(), 3, u64::from(g.blocks) - 2)?;
        // One block is open besides, and one has to be worth collecting.
        let most = u64::from(g.blocks - self.reserve - 1) * u64::from(g.pages_per_block) - 1;
        bound("host_pages", self.host_pages.into(), 1, most)
    }
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages that the host wrote.
    pub host_writes: u64,
    /// Pages that were moved: by collection, by levelling, or out of bad blocks.
    pub copies: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks whose data was moved for levelling.
    pub levelled: u64,
    /// Blocks that went bad.
    pub grown_bad: u64,
    /// Pages that could not be read.
    pub uncorrectable: u64,
}

impl Counts {
    /// Pages programmed for each page that the host wrote.
    pub fn write_amplification(&self) -> f64 {
        (self.host_writes + self.copies) as f64 / self.host_writes.max(1) as f64
    }
}

/// A page whose block is known, so that nobody has to divide for it.
#[derive(Clone, Copy, Debug)]
struct Place {
    block: Block,
    page: PageNumber,
}

/// The block that is written, and which of its pages are erased still.
#[derive(Clone, Debug)]
struct Open {
    block: Block,
    pages: Range<PageNumber>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Erased,
    Open,
    Closed,
    Bad,
}

/// The translation layer over some flash. Cost of a write: the map at random, its inverse in order, and a bit and a count
/// of the page before; a block's collection costs its valid pages.
#[derive(Clone, Debug)]
pub struct Ftl<F> {
    spec: FtlSpec,
    flash: F,
    /// For each host page its page, and the other way round for those that are valid.
    map: Vec<PageNumber>,
    owner: Vec<HostPage>,
    is_valid: PageSet,
    valid: ValidPages,
    erases: Vec<u32>,
    state: Vec<State>,
    /// The least worn first.
    erased: BinaryHeap<Reverse<(u32, Block)>>,
    closed_in_order: VecDeque<Block>,
    open: Option<Open>,
    sequence: u64,
    counts: Counts,
}

impl<F: Flash> Ftl<F> {
    /// Over flash whose blocks are all erased, but those of `bad`.
    ///
    /// # Errors
    /// What is impossible about `spec`.
    pub fn new(spec: FtlSpec, flash: F, bad: &[Block]) -> Result<Ftl<F>, String> {
        let mut ftl = Ftl::empty(spec, flash)?;
        for block in 0..spec.geometry.blocks {
            if bad.contains(&block) {
                ftl.state[block as usize] = State::Bad;
            } else {
                ftl.erased.push(Reverse((0, block)));
            }
        }
        Ok(ftl)
    }

    fn empty(spec: FtlSpec, flash: F) -> Result<Ftl<F>, String> {
        spec.check()?;
        let (blocks, pages) = (spec.geometry.blocks as usize, spec.geometry.pages() as usize);
        Ok(Ftl {
            flash,
            map: vec![NONE; spec.host_pages as usize],
            owner: vec![NONE; pages],
            is_valid: PageSet::new(spec.geometry.pages()),
            valid: ValidPages::new(spec.geometry.blocks),
            erases: vec![0; blocks],
            state: vec![State::Erased; blocks],
            erased: BinaryHeap::with_capacity(blocks),
            closed_in_order: VecDeque::with_capacity(blocks),
            open: None,
            sequence: 0,
            counts: Counts::default(),
            spec,
        })
    }

    /// What was done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Counts from here on: for a steady state.
    pub fn forget_counts(&mut self) {
        self.counts = Counts::default();
    }

    /// Erases of the least and of the most worn block that is not bad.
    pub fn wear(&self) -> (u32, u32) {
        let good = || (0..self.state.len()).filter(|b| self.state[*b] != State::Bad).map(|b| self.erases[b]);
        (good().min().unwrap_or(0), good().max().unwrap_or(0))
    }

    /// The flash.
    pub fn flash(&self) -> &F {
        &self.flash
    }

    /// The flash, to change.
    pub fn flash_mut(&mut self) -> &mut F {
        &mut self.flash
    }

    /// Where a page's data is; none when it was never written.
    pub fn place(&self, host: HostPage) -> Option<PageNumber> {
        self.map.get(host as usize).copied().filter(|page| *page != NONE)
    }

    /// Every page that was written, and where its data is.
    pub fn places(&self) -> impl Iterator<Item = (HostPage, PageNumber)> + '_ {
        (0..).zip(self.map.iter().copied()).filter(|(_, page)| *page != NONE)
    }

    /// The flash, which a power failure leaves.
    pub fn into_flash(self) -> F {
        self.flash
    }

    /// Writes a page; it is durable when this returns.
    ///
    /// # Errors
    /// See [`FtlError`]; the page then has its old or its new contents.
    #[inline]
    pub fn write(&mut self, host: HostPage, data: &[u8]) -> Result<(), FtlError> {
        if host >= self.spec.host_pages {
            return Err(FtlError::Beyond);
        }
        self.sequence += 1;
        let spare = Spare { host, sequence: self.sequence };
        loop {
            let to = self.next_page()?;
            match self.flash.program(to.page, spare, data) {
                Ok(()) => {
                    self.counts.host_writes += 1;
                    self.assign(host, to);
                    return Ok(());
                }
                Err(FlashError::PowerLost) => return Err(FtlError::PowerLost),
                Err(FlashError::Failed | FlashError::Uncorrectable) => self.abandon_open()?,
            }
        }
    }

    /// Reads a page; one that was never written is zero.
    ///
    /// # Errors
    /// See [`FtlError`].
    pub fn read(&mut self, host: HostPage, data: &mut [u8]) -> Result<(), FtlError> {
        match self.map.get(host as usize) {
            None => Err(FtlError::Beyond),
            Some(&NONE) => {
                data.fill(0);
                Ok(())
            }
            Some(&page) => self.flash.read(page, data).map_err(|e| match e {
                FlashError::PowerLost => FtlError::PowerLost,
                FlashError::Failed | FlashError::Uncorrectable => {
                    self.counts.uncorrectable += 1;
                    FtlError::Uncorrectable
                }
            }),
        }
    }

    /// The data of `host` is now at `to`.
    #[inline]
    fn assign(&mut self, host: HostPage, to: Place) {
        let page = self.map[host as usize];
        if page != NONE {
            self.is_valid.remove(page);
            self.valid.remove(self.spec.geometry.block_of(page));
        }
        self.take_in(host, to);
    }

    #[inline]
    fn take_in(&mut self, host: HostPage, new: Place) {
        self.map[host as usize] = new.page;
        self.owner[new.page as usize] = host;
        self.is_valid.insert(new.page);
        self.valid.add(new.block);
    }

    /// The next page of the open block; a full one is closed, and blocks are collected before another is opened.
    #[inline]
    fn next_page(&mut self) -> Result<Place, FtlError> {
        match self.page_of_open() {
            Some(place) => Ok(place),
            None => self.page_of_next(),
        }
    }

    /// Apart from what every write does, which is short so that a host has the next write under way meanwhile.
    #[inline(never)]
    fn page_of_next(&mut self) -> Result<Place, FtlError> {
        self.close_open();
        // What collection leaves of the block that it opened counts as one.
        while self.erased.len() + usize::from(self.open_has_room()) < self.spec.reserve as usize {
            self.collect()?;
        }
        if !self.open_has_room() {
            self.close_open();
            self.open_block()?;
        }
        self.page_of_open().ok_or(FtlError::WornOut)
    }

    fn open_has_room(&self) -> bool {
        self.open.as_ref().is_some_and(|open| !open.pages.is_empty())
    }

    #[inline]
    fn page_of_open(&mut self) -> Option<Place> {
        let open = self.open.as_mut()?;
        Some(Place { block: open.block, page: open.pages.next()? })
    }

    fn open_block(&mut self) -> Result<(), FtlError> {
        let Reverse((_, block)) = self.erased.pop().ok_or(FtlError::WornOut)?;
        self.state[block as usize] = State::Open;
        self.open = Some(Open { block, pages: self.spec.geometry.pages_of(block) });
        Ok(())
    }

    fn close_open(&mut self) {
        if let Some(open) = self.open.take() {
            self.close(open.block);
        }
    }

    fn close(&mut self, block: Block) {
        self.state[block as usize] = State::Closed;
        self.valid.close(block);
        if self.spec.collection == Collection::Fifo {
            self.closed_in_order.push_back(block);
        }
    }

    /// Frees one block: moves what is valid in it, and erases it.
    fn collect(&mut self) -> Result<(), FtlError> {
        let fewest = self.valid.least().ok_or(FtlError::WornOut)?;
        if self.valid.of(fewest) == self.spec.geometry.pages_per_block {
            return Err(FtlError::WornOut);
        }
        let block = self.victim(fewest);
        self.take_closed(block);
        self.move_out(block)?;
        self.erase(block)
    }

    /// The least worn block where wear has grown apart, otherwise by the rule of collection.
    fn victim(&mut self, fewest: Block) -> Block {
        // Looked for now and then: it costs a pass over the blocks.
        if self.spec.level_above > 0 && self.counts.erases.is_multiple_of(64) {
            let closed = (0..self.spec.geometry.blocks).filter(|b| self.state[*b as usize] == State::Closed);
            if let Some(block) = closed.min_by_key(|b| self.erases[*b as usize])
                && self.is_cold(block)
            {
                self.counts.levelled += 1;
                return block;
            }
        }
        match self.spec.collection {
            Collection::Greedy => fewest,
            Collection::Fifo => self.closed_in_order.front().copied().unwrap_or(fewest),
        }
    }

    fn is_cold(&self, block: Block) -> bool {
        self.spec.level_above > 0 && self.wear().1 > self.erases[block as usize] + self.spec.level_above
    }

    fn take_closed(&mut self, block: Block) {
        self.valid.take(block);
        if self.closed_in_order.front() == Some(&block) {
            self.closed_in_order.pop_front();
        } else if self.spec.collection == Collection::Fifo {
            self.closed_in_order.retain(|b| *b != block);
        }
        self.state[block as usize] = State::Open;
    }

    /// Copies every valid page of a block to the log.
    fn move_out(&mut self, block: Block) -> Result<(), FtlError> {
        let mut rest = self.spec.geometry.pages_of(block);
        while !rest.is_empty() {
            for page in self.is_valid.some_of(&mut rest) {
                self.move_page(Place { block, page })?;
            }
        }
        Ok(())
    }

    #[inline]
    fn move_page(&mut self, from: Place) -> Result<(), FtlError> {
        let host = self.owner[from.page as usize];
        // Who abandons a block on the way may have moved it.
        while self.is_valid.has(from.page) {
            let Some(to) = self.page_of_open() else {
                self.close_open();
                self.open_block()?;
                continue;
            };
            match self.flash.copy(from.page, to.page) {
                Ok(()) => {
                    self.counts.copies += 1;
                    // The map is not asked where the data was: that would be a miss of this host's caches.
                    self.is_valid.remove(from.page);
                    self.valid.remove_from_taken(from.block);
                    self.take_in(host, to);
                    return Ok(());
                }
                Err(FlashError::PowerLost) => return Err(FtlError::PowerLost),
                Err(FlashError::Failed | FlashError::Uncorrectable) => self.abandon_open()?,
            }
        }
        Ok(())
    }

    fn erase(&mut self, block: Block) -> Result<(), FtlError> {
        self.counts.erases += 1;
        self.erases[block as usize] += 1;
        match self.flash.erase(block) {
            Ok(()) => {
                self.state[block as usize] = State::Erased;
                self.erased.push(Reverse((self.erases[block as usize], block)));
                Ok(())
            }
            Err(FlashError::PowerLost) => Err(FtlError::PowerLost),
            Err(FlashError::Failed | FlashError::Uncorrectable) => {
                self.retire(block);
                Ok(())
            }
        }
    }

    fn retire(&mut self, block: Block) {
        self.state[block as usize] = State::Bad;
        self.counts.grown_bad += 1;
    }

    /// A program failed in the open block: what is in it moves, and it is used no more.
    #[cold]
    fn abandon_open(&mut self) -> Result<(), FtlError> {
        let Some(Open { block, .. }) = self.open.take() else { return Ok(()) };
        self.retire(block);
        self.move_out(block)
    }
}

impl Ftl<Timed> {
    /// Puts a page there before the device is used: takes no time and is not counted.
    ///
    /// # Errors
    /// See [`FtlError`].
    pub fn preload(&mut self, host: HostPage, data: &[u8]) -> Result<(), FtlError> {
        self.write(host, data)?;
        self.flash.rest();
        self.forget_counts();
        Ok(())
    }
}

impl Ftl<Array> {
    /// Finds everything again from the spare bytes: of each host page the newest copy. The block that was open goes on
    /// where it was, others with anything in them are closed; erase counts begin anew. Of two equal copies the one in
    /// the open block counts, so that an interrupted collection is not begun anew for want of room.
    ///
    /// # Errors
    /// What is impossible about `spec`.
    pub fn recover(spec: FtlSpec, flash: Array) -> Result<Ftl<Array>, String> {
        let mut ftl = Ftl::empty(spec, flash)?;
        let mut newest = vec![0; spec.host_pages as usize];
        let good = |flash: &Array, block: &Block| !flash.is_bad(*block) && flash.used(*block) > 0;
        let room = |block: &Block| spec.geometry.pages_per_block - ftl.flash.used(*block);
        let used = (0..spec.geometry.blocks).filter(|b| good(&ftl.flash, b));
        let open = used.max_by_key(room).filter(|b| room(b) > 0);
        ftl.open = open.map(|block| {
            let pages = spec.geometry.pages_of(block);
            Open { block, pages: pages.start + ftl.flash.used(block)..pages.end }
        });
        for block in open.into_iter().chain((0..spec.geometry.blocks).filter(|b| Some(*b) != open)) {
            for page in spec.geometry.pages_of(block) {
                let Some(spare) = ftl.flash.spare(page) else { continue };
                ftl.sequence = ftl.sequence.max(spare.sequence);
                let known = newest.get(spare.host as usize).copied();
                if known.is_some_and(|known| known < spare.sequence) {
                    newest[spare.host as usize] = spare.sequence;
                    ftl.assign(spare.host, Place { block, page });
                }
            }
        }
        for block in 0..spec.geometry.blocks {
            if ftl.flash.is_bad(block) {
                ftl.state[block as usize] = State::Bad;
            } else if Some(block) == open {
                ftl.state[block as usize] = State::Open;
            } else if ftl.flash.used(block) == 0 {
                ftl.erased.push(Reverse((0, block)));
            } else {
                ftl.close(block);
            }
        }
        Ok(ftl)
    }
}
