//! What is done with requests of pages, without times: which wait for what, and which slot a page gets.

use crate::cache::{Cache, Evicted};
use crate::mutant::Mutant;
use protocol::SharedPage;
use std::collections::{BTreeMap, VecDeque};

/// A page on its way from the NAND.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Fill<R, T> {
    pub(crate) page: u32,
    pub(crate) slot: u32,
    /// When it is there.
    pub(crate) done: T,
    pub(crate) bytes: SharedPage,
    /// In the order in which they came.
    pub(crate) waiting: Vec<R>,
}

/// What becomes of a request.
pub(crate) enum Asked {
    /// Its page is in this slot.
    Here(u32),
    /// Its page is on its way.
    Joins,
    /// It is to be fetched into this slot, which another page may have left.
    Misses(u32, Option<Evicted>),
    /// There is no fill or no slot.
    Waits,
}

/// The slots, pages on their way, and requests that wait for either.
#[derive(Clone, Hash)]
pub(crate) struct Pages<R, T> {
    pub(crate) cache: Cache,
    pub(crate) fills: Vec<Fill<R, T>>,
    /// How many may be under way at once.
    most: usize,
    /// Pages for which there was no fill or no slot, in the order in which they were asked for, and their requests.
    stalled: VecDeque<u32>,
    stalled_requests: BTreeMap<u32, Vec<R>>,
}

impl<R: Clone, T> Pages<R, T> {
    pub(crate) fn new(cache: Cache, most: usize) -> Pages<R, T> {
        let fills = Vec::with_capacity(most);
        Pages { cache, fills, most, stalled: VecDeque::new(), stalled_requests: BTreeMap::new() }
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.cache.is(mutant)
    }

    /// A request of `page` has come.
    #[inline]
    pub(crate) fn arrives(&mut self, page: u32, request: &R) -> Asked {
        if let Some(before) = self.stalled_requests.get_mut(&page) {
            before.push(request.clone());
            return Asked::Waits;
        }
        self.asks(page, request)
    }

    /// What can be done with a request now; it waits where nothing can.
    #[inline]
    pub(crate) fn asks(&mut self, page: u32, request: &R) -> Asked {
        let looks = !self.is(Mutant::FillsTwice);
        if let Some(fill) = self.fills.iter_mut().find(|fill| looks && fill.page == page) {
            fill.waiting.push(request.clone());
            return Asked::Joins;
        }
        if let Some(slot) = self.cache.find(page) {
            return Asked::Here(slot);
        }
        let room = if self.fills.len() < self.most { self.cache.make_room(page) } else { None };
        match room {
            Some((slot, evicted)) => Asked::Misses(slot, evicted),
            None => self.stalls(page, request),
        }
    }

    /// A page that was missed is on its way.
    pub(crate) fn begins(&mut self, page: u32, slot: u32, (bytes, done): (SharedPage, T), request: &R) {
        self.fills.push(Fill { page, slot, done, bytes, waiting: vec![request.clone()] });
    }

    /// A page has come: it is in its slot, and those who waited for it are to be served, in their order.
    pub(crate) fn ends(&mut self, index: usize) -> Fill<R, T> {
        let fill = self.fills.remove(index);
        self.cache.fill(fill.slot, fill.page, SharedPage::clone(&fill.bytes));
        fill
    }

    /// The first page in order for which there is room now, with its requests: the first begins, those after it join.
    pub(crate) fn next_stalled(&mut self) -> Option<(u32, Vec<R>)> {
        if self.fills.len() >= self.most || self.is(Mutant::ForgetsStalled) {
            return None;
        }
        let index = self.stalled.iter().position(|page| self.cache.has_room(*page))?;
        let page = self.stalled.remove(index)?;
        Some((page, self.stalled_requests.remove(&page)?))
    }

    fn stalls(&mut self, page: u32, request: &R) -> Asked {
        let requests = self.stalled_requests.entry(page).or_default();
        if requests.is_empty() {
            self.stalled.push_back(page);
        }
        requests.push(request.clone());
        Asked::Waits
    }

    /// Requests that wait for their pages, or for room; those of one page in order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &R> {
        self.fills.iter().flat_map(|fill| &fill.waiting).chain(self.stalled_requests.values().flatten())
    }
}
