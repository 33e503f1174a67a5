//! Epochs of threads, and which comes after which.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Epochs of a thread that are held without a look at which are settled.
const ROOM: usize = 1 << 12;

/// The last epoch of each thread that must be there; threads that are not named have none.
pub(super) type Before = Vec<(u16, u32)>;

/// Takes the later epoch of each thread.
fn join(to: &mut Before, from: &[(u16, u32)]) {
    for (thread, epoch) in from {
        match to.binary_search_by_key(thread, |b| b.0) {
            Ok(at) => to[at].1 = to[at].1.max(*epoch),
            Err(at) => to.insert(at, (*thread, *epoch)),
        }
    }
}

/// Epochs of all threads and what each comes after.
#[derive(Clone, Debug, Default)]
pub(super) struct Epochs {
    open: Vec<u32>,
    wrote: Vec<bool>,
    /// For each thread's epochs from the oldest that may be in flight on.
    before: Vec<VecDeque<Before>>,
    /// The epoch of the first of these.
    first: Vec<u32>,
    /// Epochs that are held before those that are settled are looked for.
    room: usize,
    /// Who wrote or released a line last; where releases are one-sided, who released a word.
    last: FxHashMap<u64, (u16, u32)>,
    /// Where releases are one-sided: what each thread's plain stores come after.
    plain: Vec<Before>,
    /// And what its releases come after besides, and so its later ones.
    handed_on: Vec<Before>,
    /// Where each thread's release is that is under way, and who released there before.
    releasing: Vec<Option<u64>>,
    displaced: Vec<Option<(u16, u32)>>,
}

impl Epochs {
    pub(super) fn new(threads: usize) -> Epochs {
        Epochs {
            open: vec![1; threads],
            wrote: vec![false; threads],
            before: vec![VecDeque::from([Before::new()]); threads],
            first: vec![1; threads],
            room: ROOM,
            last: FxHashMap::default(),
            plain: vec![Before::new(); threads],
            handed_on: vec![Before::new(); threads],
            releasing: vec![None; threads],
            displaced: vec![None; threads],
        }
    }

    /// The epoch that a thread is in.
    pub(super) fn open(&self, thread: u16) -> u32 {
        self.open[thread as usize]
    }

    /// Whether a thread stored something in its epoch.
    pub(super) fn wrote(&self, thread: u16) -> bool {
        self.wrote[thread as usize]
    }

    /// What comes before an epoch.
    pub(super) fn before(&self, thread: u16, epoch: u32) -> &[(u16, u32)] {
        let place = epoch.checked_sub(self.first[thread as usize]);
        place.and_then(|at| self.before[thread as usize].get(at as usize)).map_or(&[], Vec::as_slice)
    }

    /// An epoch and what comes before it.
    fn until(&self, thread: u16, epoch: u32) -> Before {
        let mut all = self.before(thread, epoch).to_vec();
        join(&mut all, &[(thread, epoch)]);
        all
    }

    /// Whether it is time to forget.
    pub(super) fn are_many(&self) -> bool {
        self.before.iter().map(VecDeque::len).max().unwrap_or(0) >= self.room
    }

    /// Forgets what comes before epochs that are settled, and before which all is: nothing hangs on it any more.
    /// `oldest` gives the oldest epoch of each thread of which a store is in flight.
    pub(super) fn forget(&mut self, oldest: &[u32]) {
        for (thread, epochs) in self.before.iter_mut().enumerate() {
            let settled = |(t, e): &(u16, u32)| *e < oldest[*t as usize];
            while epochs.len() > 1
                && self.first[thread] < oldest[thread].min(self.open[thread])
                && epochs.front().is_some_and(|b| b.iter().all(settled))
            {
                epochs.pop_front();
                self.first[thread] += 1;
            }
        }
        let left = self.before.iter().map(VecDeque::len).max().unwrap_or(0);
        self.room = ROOM.max(2 * left);
    }

    /// The thread stores in its epoch.
    pub(super) fn stores(&mut self, thread: u16) {
        self.wrote[thread as usize] = true;
    }

    /// The thread wrote or released a line.
    pub(super) fn leaves(&mut self, thread: u16, line: u64) {
        self.wrote[thread as usize] = true;
        self.last.insert(line, (thread, self.open[thread as usize]));
    }

    /// The thread has closed its epoch, and what it does next, to `address`, releases its line.
    pub(super) fn gives(&mut self, thread: u16, address: u64) {
        let t = thread as usize;
        self.wrote[t] = true;
        self.releasing[t] = Some(address);
        self.displaced[t] = self.last.insert(address / 64, (thread, self.open[t]));
    }

    pub(super) fn close(&mut self, thread: u16) {
        let t = thread as usize;
        if !self.wrote[t] {
            return;
        }
        let old = self.open[t];
        let mut before = self.before[t].back().cloned().unwrap_or_default();
        join(&mut before, &[(thread, old)]);
        self.before[t].push_back(before);
        self.open[t] += 1;
        self.wrote[t] = false;
    }

    /// `thread` comes after what another did last to `line`.
    pub(super) fn after(&mut self, thread: u16, line: u64) {
        let Some((other, epoch)) = self.last.get(&line).copied() else { return };
        if other == thread {
            return;
        }
        if self.open(other) == epoch {
            self.wrote[other as usize] = true;
            self.close(other);
        }
        self.close(thread);
        let source = self.until(other, epoch);
        // The last is that of the open epoch.
        let Some(own) = self.before[thread as usize].back_mut() else { return };
        join(own, &source);
    }

    /// A new epoch that comes after `before`, be what was stored among it or not.
    fn begin(&mut self, thread: u16, before: Before) {
        let t = thread as usize;
        self.before[t].push_back(before);
        self.open[t] += 1;
        self.wrote[t] = false;
    }

    /// One-sided: the next store to `address` is a release. It comes after all that the thread stored, and has an epoch of
    /// its own.
    pub(super) fn release(&mut self, thread: u16, address: u64) {
        let t = thread as usize;
        let mut before = self.plain[t].clone();
        join(&mut before, &self.handed_on[t]);
        join(&mut before, &[(thread, self.open[t])]);
        self.begin(thread, before);
        self.releasing[t] = Some(address);
        self.displaced[t] = self.last.insert(address / 8, (thread, self.open[t]));
    }

    /// One-sided: where the thread's release is that is under way.
    pub(super) fn under_way(&self, thread: u16) -> Option<u64> {
        self.releasing[thread as usize]
    }

    /// The release under way is a locked operation on `address`, which comes after the release that it read: whoever acquires
    /// from it acquires from that one too.
    pub(super) fn continues(&mut self, thread: u16, address: u64) {
        let t = thread as usize;
        let displaced = self.displaced[t].take();
        let Some((other, epoch)) = displaced.filter(|_| self.releasing[t] == Some(address)) else { return };
        let source = self.until(other, epoch);
        let handed_on = &mut self.handed_on[t];
        join(handed_on, &source);
        if let Some(own) = self.before[t].back_mut() {
            join(own, handed_on);
        }
    }

    /// One-sided: the thread stores to `address`. Whether that is the release under way, which otherwise stores nothing.
    pub(super) fn releases(&mut self, thread: u16, address: u64) -> bool {
        let Some(release) = self.releasing[thread as usize] else { return false };
        if release != address {
            self.released(thread);
        }
        release == address
    }

    /// One-sided: a locked operation on `address` is over that stored nothing that persists.
    pub(super) fn stores_nothing(&mut self, thread: u16, address: u64) {
        if self.releasing[thread as usize] == Some(address) {
            self.released(thread);
        }
    }

    /// One-sided: the release is over, and what follows does not come after it.
    pub(super) fn released(&mut self, thread: u16) {
        self.releasing[thread as usize] = None;
        self.begin(thread, self.plain[thread as usize].clone());
    }

    /// One-sided: what follows comes after all that the thread stored.
    pub(super) fn fence(&mut self, thread: u16) {
        let t = thread as usize;
        self.releasing[t] = None;
        join(&mut self.plain[t], &self.handed_on[t]);
        join(&mut self.plain[t], &[(thread, self.open[t])]);
        self.begin(thread, self.plain[t].clone());
    }

    /// One-sided: what follows comes after what another thread released last to the word of `address`.
    pub(super) fn acquire(&mut self, thread: u16, address: u64) {
        if self.releasing[thread as usize].is_some() {
            self.released(thread);
        }
        let last = self.last.get(&(address / 8)).copied();
        let Some((other, epoch)) = last.filter(|last| last.0 != thread) else { return };
        let source = self.until(other, epoch);
        join(&mut self.plain[thread as usize], &source);
        self.begin(thread, self.plain[thread as usize].clone());
    }
}
