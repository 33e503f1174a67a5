//! Flash that keeps its bytes, wears, errs, and loses its power.

use super::{Block, Flash, FlashError, Geometry, PageNumber, Spare};
use std::sync::Arc;
use units::Random;

/// How often things go wrong. Rates are in parts of 10^9.
#[derive(Clone, Copy, Debug, Default)]
pub struct Errors {
    /// Seed of the stream that decides.
    pub seed: u64,
    /// Programs that fail.
    pub program: u64,
    /// Erases that fail.
    pub erase: u64,
    /// Bits that are wrong when a page is read.
    pub bits: u64,
    /// Wrong bits that are corrected in each [`Errors::CODEWORD`] bytes.
    pub corrected: u64,
    /// Reads that are tried again with other thresholds, each with half as many wrong bits.
    pub retries: u32,
}

impl Errors {
    /// Bytes that are corrected together.
    pub const CODEWORD: u64 = 1024;
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    Erased,
    Programmed {
        spare: Spare,
        data: Arc<[u8]>,
    },
    /// Half programmed or half erased, or copied from what could not be read.
    Torn(Option<Spare>),
}

/// Pages of bytes.
#[derive(Clone, Debug)]
pub struct Array {
    geometry: Geometry,
    /// For each block its pages; none where all are erased.
    cells: Vec<Vec<Cell>>,
    bad: Vec<bool>,
    errors: Errors,
    random: Random,
    /// Programs and erases until the power fails, in the middle of the last.
    until_failure: Option<u64>,
    /// Reads that were tried again, and reads that had bits corrected.
    pub retried: u64,
    /// Reads with wrong bits that were all corrected.
    pub corrected: u64,
}

impl Array {
    /// Every block erased, but those of `bad`, which are marked so.
    pub fn new(geometry: Geometry, errors: Errors, bad: &[Block]) -> Array {
        Array {
            geometry,
            cells: vec![Vec::new(); geometry.blocks as usize],
            bad: (0..geometry.blocks).map(|b| bad.contains(&b)).collect(),
            random: Random::new(errors.seed, 0),
            errors,
            until_failure: None,
            retried: 0,
            corrected: 0,
        }
    }

    /// The power fails in the middle of the `operation`th program or erase from here on, counted from 1.
    pub fn fail_at(&mut self, operation: u64) {
        self.until_failure = Some(operation);
    }

    /// The power is back.
    pub fn power_on(&mut self) {
        self.until_failure = None;
    }

    /// The spare bytes of a page that was programmed and can be read.
    pub fn spare(&self, page: PageNumber) -> Option<Spare> {
        match self.cell(page) {
            Cell::Programmed { spare, .. } => Some(*spare),
            // Copied as unreadable: the host has to be told, not given something older.
            Cell::Torn(spare) => *spare,
            Cell::Erased => None,
        }
    }

    /// Whether a block was marked bad.
    pub fn is_bad(&self, block: Block) -> bool {
        self.bad[block as usize]
    }

    /// Pages of a block up to the last that is not erased.
    pub fn used(&self, block: Block) -> u32 {
        let cells = &self.cells[block as usize];
        cells.iter().rposition(|cell| *cell != Cell::Erased).map_or(0, |at| at as u32 + 1)
    }

    /// The bytes of a page that was programmed, without a word about errors: for whoever looks from outside.
    pub fn peek(&self, page: PageNumber) -> Option<&Arc<[u8]>> {
        match self.cell(page) {
            Cell::Programmed { data, .. } => Some(data),
            Cell::Erased | Cell::Torn(_) => None,
        }
    }

    fn cell(&self, page: PageNumber) -> &Cell {
        let (block, at) = (self.geometry.block_of(page), page % self.geometry.pages_per_block);
        self.cells[block as usize].get(at as usize).unwrap_or(&Cell::Erased)
    }

    fn set(&mut self, page: PageNumber, cell: Cell) {
        let (block, at) = (self.geometry.block_of(page), page % self.geometry.pages_per_block);
        let cells = &mut self.cells[block as usize];
        cells.resize(self.geometry.pages_per_block as usize, Cell::Erased);
        cells[at as usize] = cell;
    }

    /// A whole block, half erased.
    fn tear(&mut self, block: Block) {
        self.cells[block as usize] = vec![Cell::Torn(None); self.geometry.pages_per_block as usize];
    }

    /// Whether an operation takes place: `Some(true)` wholly, `Some(false)` in part, none not at all.
    fn powered(&mut self) -> Option<bool> {
        match &mut self.until_failure {
            None => Some(true),
            Some(0) => None,
            Some(left) => {
                *left -= 1;
                Some(*left > 0)
            }
        }
    }

    fn happens(&mut self, rate: u64) -> bool {
        rate > 0 && self.random.below(1_000_000_000) < rate
    }

    fn put(&mut self, page: PageNumber, cell: Cell) -> Result<(), FlashError> {
        debug_assert_eq!(*self.cell(page), Cell::Erased, "a page is programmed once");
        match self.powered() {
            None => return Err(FlashError::PowerLost),
            Some(false) => {
                self.set(page, Cell::Torn(None));
                return Err(FlashError::PowerLost);
            }
            Some(true) => {}
        }
        if self.happens(self.errors.program) {
            self.set(page, Cell::Torn(None));
            self.bad[self.geometry.block_of(page) as usize] = true;
            return Err(FlashError::Failed);
        }
        self.set(page, cell);
        Ok(())
    }

    /// Whether a read can be corrected, with retries. The number of wrong bits of a codeword is drawn bit by expected
    /// bit: exact enough for rates at which codewords have few, and the same on every host.
    fn correct(&mut self) -> bool {
        if self.errors.bits == 0 {
            return true;
        }
        let words = u64::from(self.geometry.page_bytes).div_ceil(Errors::CODEWORD);
        let mut rate = self.errors.bits;
        for attempt in 0..=self.errors.retries {
            let most = (0..words).map(|_| self.wrong_bits(rate)).max().unwrap_or(0);
            if most <= self.errors.corrected {
                self.corrected += u64::from(most > 0);
                return true;
            }
            self.retried += u64::from(attempt < self.errors.retries);
            rate /= 2;
        }
        false
    }

    /// A draw from the binomial distribution of a codeword's bits, as the sum of 64 draws from equal parts, each around what is
    /// expected of it.
    fn wrong_bits(&mut self, rate: u64) -> u64 {
        let bits = Errors::CODEWORD * 8 / 64;
        let (each, rest) = (rate * bits / 1_000_000_000, rate * bits % 1_000_000_000);
        (0..64).map(|_| each + u64::from(self.random.below(1_000_000_000) < rest)).sum()
    }
}

impl Flash for Array {
    fn program(&mut self, page: PageNumber, spare: Spare, data: &[u8]) -> Result<(), FlashError> {
        self.put(page, Cell::Programmed { spare, data: data.into() })
    }

    fn copy(&mut self, from: PageNumber, to: PageNumber) -> Result<(), FlashError> {
        let cell = match self.cell(from).clone() {
            Cell::Programmed { spare, .. } if !self.correct() => Cell::Torn(Some(spare)),
            cell @ (Cell::Erased | Cell::Programmed { .. } | Cell::Torn(_)) => cell,
        };
        self.put(to, cell)
    }

    fn erase(&mut self, block: Block) -> Result<(), FlashError> {
        match self.powered() {
            None => return Err(FlashError::PowerLost),
            Some(false) => {
                self.tear(block);
                return Err(FlashError::PowerLost);
            }
            Some(true) => {}
        }
        if self.happens(self.errors.erase) {
            self.tear(block);
            self.bad[block as usize] = true;
            return Err(FlashError::Failed);
        }
        self.cells[block as usize] = Vec::new();
        Ok(())
    }

    fn read(&mut self, page: PageNumber, data: &mut [u8]) -> Result<(), FlashError> {
        if self.until_failure == Some(0) {
            return Err(FlashError::PowerLost);
        }
        let Cell::Programmed { .. } = self.cell(page) else {
            return Err(FlashError::Uncorrectable);
        };
        if !self.correct() {
            return Err(FlashError::Uncorrectable);
        }
        if let Some(held) = self.peek(page) {
            data[..held.len()].copy_from_slice(held);
        }
        Ok(())
    }
}
