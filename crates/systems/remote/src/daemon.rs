//! Which page is in which frame: the daemon's tables. Time passes elsewhere.

use crate::spec::{DaemonSpec, Kind, Prefetch};
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, Default)]
struct FrameState {
    page: Option<u32>,
    /// It was walked to since the hand came by.
    referenced: bool,
    /// It was written, as far as faults tell.
    dirty: bool,
    /// Its page is on its way: it cannot go.
    pinned: bool,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DaemonCounts {
    /// Faults on pages that had to be fetched by software.
    pub major: u64,
    /// Faults on pages that only had to be mapped.
    pub minor: u64,
    /// Faults at the first write to a protected page.
    pub write: u64,
    /// Shootdowns that other harts had to answer.
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
    /// By page.
    frames_of: Vec<u32>,
    frames: Vec<FrameState>,
    /// Frames without a page, with the number of commands after which each is free.
    free: VecDeque<(u32, u64)>,
    hand: u32,
    /// Commands posted.
    pub(crate) posted: u64,
    /// Commands carried out, as far as is known.
    pub(crate) completed: u64,
    last_fault: Option<u32>,
    last_stride: Option<i64>,
    /// What was counted.
    pub counts: DaemonCounts,
}

impl Daemon {
    /// With every frame free.
    pub fn new(spec: DaemonSpec) -> Daemon {
        Daemon {
            frames_of: Vec::new(),
            frames: vec![FrameState::default(); spec.frames as usize],
            free: (0..spec.frames).map(|f| (f, 0)).collect(),
            hand: 0,
            posted: 0,
            completed: 0,
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

    /// The frame of a page.
    pub fn frame_of(&self, page: u32) -> Option<u32> {
        self.frames_of.get(page as usize).copied().filter(|f| *f != NONE)
    }

    /// A hart has looked a page up, and may write it or not.
    pub fn walked(&mut self, frame: u32, writes: bool) {
        let state = &mut self.frames[frame as usize];
        state.referenced = true;
        state.dirty |= writes;
    }

    /// A frame for `page`, if one is free and its last page is gone; it stays until [`Daemon::unpin`].
    pub fn take_free(&mut self, page: u32) -> Option<u32> {
        let ready = self.free.iter().position(|(_, after)| *after <= self.completed)?;
        let (frame, _) = self.free.remove(ready)?;
        if self.frames_of.len() <= page as usize {
            self.frames_of.resize(page as usize + 1, NONE);
        }
        self.frames_of[page as usize] = frame;
        self.frames[frame as usize] =
            FrameState { page: Some(page), referenced: true, dirty: false, pinned: true };
        Some(frame)
    }

    /// The frame's page is mapped: it can go again.
    pub fn unpin(&mut self, frame: u32) {
        self.frames[frame as usize].pinned = false;
    }

    /// Whether so few frames are free, or about to be, that others should be reclaimed.
    pub fn is_short(&self) -> bool {
        self.free.len() < self.spec.batch as usize
    }

    /// Pages that go, with their frames and whether they were written: the first that the hand finds unused (CLOCK).
    pub fn choose_victims(&mut self) -> Vec<(u32, u32, bool)> {
        let mut victims = Vec::new();
        let mut looked = 0;
        while victims.len() < self.spec.batch as usize && looked < 2 * self.frames.len() {
            let frame = self.hand;
            self.hand = (self.hand + 1) % self.spec.frames;
            looked += 1;
            let state = &mut self.frames[frame as usize];
            let Some(page) = state.page.filter(|_| !state.pinned) else { continue };
            if std::mem::take(&mut state.referenced) {
                continue;
            }
            self.frames_of[page as usize] = NONE;
            state.page = None;
            victims.push((page, frame, state.dirty));
        }
        self.counts.reclaimed += victims.len() as u64;
        victims
    }

    /// A victim's frame is free once so many commands are carried out.
    pub fn give_back(&mut self, frame: u32, after: u64) {
        self.free.push_back((frame, after));
    }

    /// Frames that have no page, and wait for no command.
    pub fn idle_frames(&self) -> usize {
        self.free.iter().filter(|(_, after)| *after <= self.completed).count()
    }

    /// Pages that are likely to be wanted after a fault on `page`, at most as many as frames are idle.
    pub fn beside(&mut self, page: u32) -> Vec<u32> {
        let stride = self.last_fault.map(|last| i64::from(page) - i64::from(last));
        let steady = stride.is_some() && stride == self.last_stride;
        (self.last_fault, self.last_stride) = (Some(page), stride);
        let (step, count) = match (self.spec.prefetch, self.spec.kind) {
            (Prefetch::Next, _) => (1, self.spec.prefetch_pages),
            (Prefetch::Stride, _) if steady => (stride.unwrap_or(1), self.spec.prefetch_pages),
            (_, Kind::Lines) => (1, self.spec.proactive),
            _ => (1, 0),
        };
        let wanted = (1..=i64::from(count)).map(|n| i64::from(page) + n * step);
        let fits = wanted.filter_map(|p| u32::try_from(p).ok()).filter(|p| *p < self.spec.pages);
        let idle = self.idle_frames();
        fits.filter(|p| self.frame_of(*p).is_none()).take(idle).collect()
    }
}
