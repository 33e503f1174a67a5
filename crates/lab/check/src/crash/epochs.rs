//! Epochs of threads, and which comes after which.

use rustc_hash::FxHashMap;

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
    /// For each thread's epochs, the first of which is 1.
    before: Vec<Vec<Before>>,
    /// Who wrote or released a line last.
    last: FxHashMap<u64, (u16, u32)>,
}

impl Epochs {
    pub(super) fn new(threads: usize) -> Epochs {
        Epochs {
            open: vec![1; threads],
            wrote: vec![false; threads],
            before: vec![vec![Before::new(); 2]; threads],
            last: FxHashMap::default(),
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
        self.before[thread as usize].get(epoch as usize).map_or(&[], Vec::as_slice)
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

    pub(super) fn close(&mut self, thread: u16) {
        let t = thread as usize;
        if !self.wrote[t] {
            return;
        }
        let old = self.open[t];
        let mut before = self.before[t][old as usize].clone();
        join(&mut before, &[(thread, old)]);
        self.before[t].push(before);
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
        let source = self.before(other, epoch).to_vec();
        let open = self.open(thread) as usize;
        let own = &mut self.before[thread as usize][open];
        join(own, &source);
        join(own, &[(other, epoch)]);
    }
}
