//! What the device does with requests of pages, small enough to see everything that can happen.
//!
//! ```text
//!   host --reads, writes--> [slots] <--pages, when they like--- NAND
//!        <--data, acknowledgements--    ---changed pages that make room-->
//! ```
//!
//! A host reads and writes lines of a few pages, whichever it likes; there are fewer slots than pages, and fewer fills than requests. A page comes
//! from the NAND when it likes, in any order; one that makes room is on its way there at once, and counts as there. The slots, what waits for
//! what, and what stored energy saves are a run's.
//!
//! What must hold: a read gives what was written to its line last before it came; writes to a line are done in the order in which they came; when
//! the power fails, in any state, a page holds what was acknowledged, or it is told that it is lost, and only as many are lost as have changed
//! beyond what stored energy lasts for; nothing gets stuck. Not explored: tags, channels, the translation layer, how long anything takes.

use crate::cache::{Cache, Evicted, Kept};
use crate::mutant::Mutant;
use crate::pages::{Asked, Pages};
use explore::{Aside, Bound, Explored, Mutants, Protocol, Texts};
use memory::Replacement;
use protocol::{Block, Line, LineWrite, Mask, PAGE_BYTES, SharedPage};
use std::fmt;

/// Lines of a page.
const PAGE_LINES: u64 = PAGE_BYTES / 64;

/// The size of what is explored.
#[derive(Clone, Copy, Debug)]
pub struct PagesSpace {
    /// Pages that the host uses.
    pub pages: u32,
    /// Slots of the DRAM, in one set.
    pub slots: u32,
    /// Pages on their way from the NAND at once.
    pub fills: usize,
    /// Reads and writes of the host.
    pub accesses: u8,
    /// Changed pages that stored energy saves.
    pub saved: u64,
    /// A seeded mistake.
    pub mutant: Option<Mutant>,
}

impl PagesSpace {
    /// Two slots before three pages, which come one at a time.
    pub const SMALL: PagesSpace =
        PagesSpace { pages: 3, slots: 2, fills: 1, accesses: 5, saved: 1, mutant: None };
}

/// A request of a page's first line. Writes of a line have numbers, which are the bytes that they write.
#[derive(Clone, Copy, Debug, Hash)]
enum Request {
    /// Of what has to be read.
    Read(u8),
    /// By its number.
    Write(u8),
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// The host reads or writes a page.
    Access {
        /// The page.
        page: u32,
        /// Whether it writes.
        write: bool,
    },
    /// The NAND has this one of the pages on their way ready.
    Ends(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Access { page, write: true } => write!(f, "the program writes page {page}"),
            Step::Access { page, write: false } => write!(f, "the program reads page {page}"),
            Step::Ends(nth) => write!(f, "the device gets the page of fill {nth} from the NAND"),
        }
    }
}

/// What was written to a page: how often, and how many of these the host was told of.
#[derive(Clone, Copy, Default, Hash)]
struct Written {
    came: u8,
    told: u8,
}

/// Where everything stands.
#[derive(Clone, Hash)]
pub struct State {
    pages: Pages<Request, ()>,
    /// What the NAND has of each page.
    nand: Vec<u8>,
    written: Vec<Written>,
    accesses: u8,
    /// Pages that the host has used: those that are alike are named in the order of first use.
    used: u32,
    wrong: Aside<Option<String>>,
    is_wrong: bool,
}

fn line(page: u32) -> Line {
    Line(u64::from(page) * PAGE_LINES)
}

fn bytes(number: u8) -> SharedPage {
    let mut page = [0; PAGE_BYTES as usize];
    page[0] = number;
    SharedPage::new(page)
}

fn number(bytes: Option<&SharedPage>) -> u8 {
    bytes.map_or(0, |bytes| bytes[0])
}

impl State {
    fn new(space: &PagesSpace) -> State {
        let cache = Cache::new(0, space.slots, space.slots, Replacement::Lru).seeded(space.mutant);
        State {
            pages: Pages::new(cache, space.fills),
            nand: vec![0; space.pages as usize],
            written: vec![Written::default(); space.pages as usize],
            accesses: 0,
            used: 0,
            wrong: Aside(None),
            is_wrong: false,
        }
    }

    fn fails(&mut self, what: String) {
        self.is_wrong = true;
        self.wrong.0.get_or_insert(what);
    }

    fn access(&mut self, page: u32, write: bool) {
        self.accesses += 1;
        self.used = self.used.max(page + 1);
        let written = &mut self.written[page as usize];
        written.came += u8::from(write);
        let came = written.came;
        let request = if write { Request::Write(came) } else { Request::Read(came) };
        let asked = self.pages.arrives(page, &request);
        self.goes_on(page, asked, request);
    }

    fn goes_on(&mut self, page: u32, asked: Asked, request: Request) {
        match asked {
            Asked::Joins | Asked::Waits => {}
            Asked::Here(slot) => self.serve(page, slot, request),
            Asked::Misses(slot, evicted) => {
                if let Some(Evicted { page, changed: Some(bytes) }) = evicted {
                    self.nand[page as usize] = number(Some(&bytes));
                }
                let coming = (bytes(self.nand[page as usize]), ());
                self.pages.begins(page, slot, coming, &request);
            }
        }
    }

    /// The page is in `slot`: a read is answered, a write is done and told of.
    fn serve(&mut self, page: u32, slot: u32, request: Request) {
        match request {
            Request::Read(wanted) => {
                let read = self.pages.cache.read(slot, line(page))[0];
                if read != wanted {
                    self.fails(format!(
                        "page {page}: a read gives write {read} where {wanted} came last before it"
                    ));
                }
            }
            Request::Write(number) => {
                let mut data: Block = [0; 64];
                data[0] = number;
                self.pages.cache.write(slot, &LineWrite { line: line(page), mask: Mask::MAX, data });
                let told = &mut self.written[page as usize].told;
                let before = std::mem::replace(told, number);
                if before + 1 != number {
                    self.fails(format!("page {page}: write {number} is done after write {before}"));
                }
            }
        }
    }

    fn ends(&mut self, index: usize) {
        let fill = self.pages.ends(index);
        fill.waiting.iter().for_each(|request| self.serve(fill.page, fill.slot, *request));
        while let Some((page, requests)) = self.pages.next_stalled() {
            for request in requests {
                let asked = self.pages.asks(page, &request);
                self.goes_on(page, asked, request);
            }
        }
    }

    /// What a power failure leaves that it may not.
    fn after_power_failure(&self, energy: u64) -> Result<(), String> {
        let (mut left, mut lost) = (self.nand.clone(), Vec::new());
        self.pages.cache.power_fails(energy, &mut |page, kept| match kept {
            Kept::Saved(bytes) => left[page as usize] = number(bytes.as_ref()),
            Kept::Lost => lost.push(page),
        });
        let differs =
            |(page, left): (u32, &u8)| *left != self.written[page as usize].told && !lost.contains(&page);
        if let Some(page) = (0..).zip(&left).position(differs) {
            let (left, told) = (left[page], self.written[page].told);
            return Err(format!(
                "a power failure leaves write {left} in page {page}, of whose write {told} the host was told"
            ));
        }
        let changed =
            self.nand.iter().zip(&self.written).filter(|(nand, written)| **nand != written.told).count();
        let most = (changed as u64).saturating_sub(energy);
        if lost.len() as u64 > most {
            return Err(format!(
                "a power failure leaves {} of the pages unsaved where stored energy lasts for all but {most}",
                lost.len()
            ));
        }
        Ok(())
    }
}

impl Protocol for PagesSpace {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        State::new(self)
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        if state.accesses < self.accesses {
            let pages = 0..self.pages.min(state.used + 1);
            steps.extend(pages.flat_map(|page| [false, true].map(|write| Step::Access { page, write })));
        }
        steps.extend((0..state.pages.fills.len()).map(Step::Ends));
    }

    fn step(&self, state: &State, step: Step) -> State {
        let mut next = state.clone();
        match step {
            Step::Access { page, write } => next.access(page, write),
            Step::Ends(index) => next.ends(index),
        }
        next
    }

    fn check(&self, state: &State) -> Result<(), String> {
        state.wrong.0.clone().map_or(Ok(()), Err)
    }

    fn check_power_failure(&self, state: &State) -> Result<(), String> {
        state.after_power_failure(self.saved)
    }

    fn is_final(&self, state: &State) -> bool {
        state.accesses == self.accesses && state.pages.waiting().next().is_none()
    }

    fn check_final(&self, state: &State) -> Result<(), String> {
        let untold = state.written.iter().position(|written| written.told != written.came);
        untold.map_or(Ok(()), |page| Err(format!("page {page}: the host was not told of all of its writes")))
    }
}

const PAGES: Bound = Bound::number("pages", 3, 1, 4, "Pages that the host uses");
const SLOTS: Bound = Bound::number("slots", 2, 1, 4, "Slots of the DRAM, in one set");
const FILLS: Bound = Bound::number("fills", 1, 1, 4, "Pages on their way from the NAND at once");
const ACCESSES: Bound = Bound::number("accesses", 5, 1, 9, "Reads and writes of the host");
const SAVED: Bound = Bound::number("saved", 1, 0, 4, "Changed pages that stored energy saves");

impl Explored for PagesSpace {
    const NAME: &'static str = "cmmh";
    const MEANING: &'static str =
        "CMM-H: slots, pages on their way from the NAND and to it, and stored energy";
    type Mutant = Mutant;
    const MUTANTS: Mutants<Mutant> = &Mutant::ALL;
    const SHOWN_WITH: &'static [(&'static str, Texts)] = &[("fills-twice", &[("fills", "2")])];

    explore::bounded!(PagesSpace {
        pages: number(PAGES),
        slots: number(SLOTS),
        fills: number(FILLS),
        accesses: number(ACCESSES),
        saved: number(SAVED),
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use explore::Held;

    #[test]
    fn what_was_acknowledged_is_read_and_saved_or_told_lost_and_every_mutant_is_caught() {
        let small = PagesSpace::SMALL;
        Held {
            clean: vec![
                (small, 1_807),
                (PagesSpace { slots: 1, ..small }, 2_882),
                (PagesSpace { fills: 2, ..small }, 6_035),
                (PagesSpace { pages: 4, slots: 2, fills: 3, saved: 0, ..small }, 12_547),
            ],
            seeded: |mutant| {
                let fills = if mutant == Mutant::FillsTwice { 2 } else { 1 };
                PagesSpace { mutant: Some(mutant), fills, ..PagesSpace::SMALL }
            },
            wrong: &["a power failure", "page ", "deadlock"],
        }
        .holds();
    }
}
