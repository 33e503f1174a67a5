//! Which pages are local: the daemon's tables. Time passes elsewhere.

use crate::local_tier::LocalTier;
use crate::spec::{DaemonSpec, Prefetch};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, Default)]
struct PageState {
    local: bool,
    /// It was walked to since the hand came by.
    referenced: bool,
    /// It was written, as far as faults tell.
    dirty: bool,
    /// It may be written without a fault.
    writable: bool,
    /// It is on its way: it cannot go.
    pinned: bool,
    /// Times that it came from the remote host.
    refaults: u32,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DaemonCounts {
    /// Faults on pages that had to be fetched by software.
    pub major: u64,
    /// Faults at the first write to a protected page.
    pub write: u64,
    /// Shootdowns that other cores had to answer.
    pub shootdowns: u64,
    /// Pages reclaimed.
    pub reclaimed: u64,
    /// Pages fetched before a program asked for them.
    pub prefetched: u64,
}

/// The daemon's tables.
#[derive(Clone, Debug)]
pub struct Daemon {
    spec: DaemonSpec,
    /// By page, as far as pages were ever local.
    pages: Vec<PageState>,
    /// The local pages in the order in which the hand passes them.
    ring: VecDeque<u32>,
    /// For each frame that is about to be free: after how many commands.
    going: VecDeque<u64>,
    /// Commands posted.
    pub(crate) posted: u64,
    /// Commands carried out, as far as is known.
    pub(crate) completed: u64,
    /// Pages in the processor's memory.
    pub(crate) local_tier: LocalTier,
    last_fault: Option<u32>,
    last_stride: Option<i64>,
    /// What was counted.
    pub counts: DaemonCounts,
}

impl Daemon {
    /// With every frame free.
    pub fn new(spec: DaemonSpec) -> Daemon {
        Daemon {
            pages: Vec::new(),
            ring: VecDeque::with_capacity(spec.frames as usize),
            going: VecDeque::new(),
            posted: 0,
            completed: 0,
            local_tier: LocalTier::new(spec.local_frames),
            last_fault: None,
            last_stride: None,
            counts: DaemonCounts::default(),
            spec,
        }
    }

    /// Its parameters.
    pub fn spec(&self) -> &DaemonSpec {
        &self.spec
    }

    /// Whether a page is local, or about to be.
    pub fn is_local(&self, page: u32) -> bool {
        self.pages.get(page as usize).is_some_and(|p| p.local)
    }

    /// A core has looked a page up, and may write it or not.
    pub fn walked(&mut self, page: u32, writes: bool) {
        let state = &mut self.pages[page as usize];
        state.referenced = true;
        state.dirty |= writes;
        state.writable |= writes;
    }

    /// Gives `page` a frame, if one is free and its last page is gone; it stays until [`Daemon::unpin`].
    pub fn take_frame(&mut self, page: u32) -> bool {
        if self.idle_frames() == 0 {
            return false;
        }
        if self.pages.len() <= page as usize {
            self.pages.resize(page as usize + 1, PageState::default());
        }
        let refaults = self.pages[page as usize].refaults.saturating_add(1);
        self.pages[page as usize] =
            PageState { local: true, referenced: true, pinned: true, refaults, ..PageState::default() };
        self.ring.push_back(page);
        true
    }

    /// The page is mapped: it can go again.
    pub fn unpin(&mut self, page: u32) {
        self.pages[page as usize].pinned = false;
    }

    /// Whether a local page should move to the processor's memory.
    pub(crate) fn wants_near(&mut self, page: u32) -> bool {
        let PageState { local, pinned, refaults, .. } = self.pages[page as usize];
        let ripe = self.spec.local_frames > 0 && local && !pinned && refaults >= self.spec.local_after;
        ripe && self.local_tier.accepts(refaults)
    }

    /// Times that a page came from the remote host.
    pub(crate) fn refaults(&self, page: u32) -> u32 {
        self.pages[page as usize].refaults
    }

    /// The page is no longer local, though its frame is still taken.
    pub(crate) fn detach(&mut self, page: u32) {
        self.pages[page as usize].local = false;
        self.ring.retain(|p| *p != page);
    }

    /// Whether so few frames are free, or about to be, that others should be reclaimed.
    pub fn is_short(&self) -> bool {
        (self.spec.frames as usize - self.ring.len()) < self.spec.batch as usize
    }

    /// Pages that go, and whether they were written: the first that the hand finds unused (CLOCK).
    pub fn choose_victims(&mut self) -> Vec<(u32, bool)> {
        let mut victims = Vec::new();
        for _ in 0..2 * self.ring.len() {
            if victims.len() == self.spec.batch as usize {
                break;
            }
            let Some(page) = self.ring.pop_front() else { break };
            let state = &mut self.pages[page as usize];
            if std::mem::take(&mut state.referenced) || state.pinned {
                self.ring.push_back(page);
            } else {
                state.local = false;
                victims.push((page, state.dirty));
            }
        }
        self.counts.reclaimed += victims.len() as u64;
        victims
    }

    /// The local pages, and those that were written since they were protected: these are protected again.
    pub fn protect(&mut self) -> (usize, Vec<u32>) {
        let pages = &mut self.pages;
        let written = |page: &&u32| std::mem::take(&mut pages[**page as usize].writable);
        (self.ring.len(), self.ring.iter().filter(written).copied().collect())
    }

    /// A victim's frame is free once so many commands are carried out.
    pub fn give_back(&mut self, after: u64) {
        self.going.push_back(after);
    }

    /// Frames that have no page, and wait for no command.
    pub fn idle_frames(&mut self) -> usize {
        while self.going.front().is_some_and(|after| *after <= self.completed) {
            self.going.pop_front();
        }
        self.spec.frames as usize - self.ring.len() - self.going.len()
    }

    /// Pages that are likely to be wanted after a fault on `page`, at most as many as frames are idle.
    pub fn beside(&mut self, page: u32) -> Vec<u32> {
        let stride = self.last_fault.map(|last| i64::from(page) - i64::from(last));
        let steady = stride.is_some() && stride == self.last_stride;
        (self.last_fault, self.last_stride) = (Some(page), stride);
        let (step, count) = match self.spec.prefetch {
            Prefetch::Next => (1, self.spec.prefetch_pages),
            Prefetch::Stride if steady => (stride.unwrap_or(1), self.spec.prefetch_pages),
            Prefetch::None | Prefetch::Stride => (1, 0),
        };
        let (idle, pages) = (self.idle_frames(), self.spec.pages);
        let wanted = (1..=i64::from(count)).map(|n| i64::from(page) + n * step);
        let fits = wanted.filter_map(|p| u32::try_from(p).ok()).filter(|p| *p < pages);
        fits.filter(|p| !self.is_local(*p)).take(idle).collect()
    }
}
