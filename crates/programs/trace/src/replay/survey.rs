//! What a replay has to know of a whole recording before its first record.

use super::merge::Merge;
use crate::record::Kind;
use crate::recording::Recording;
use crate::space::Layout;
use protocol::PM_BASE;

/// Threads that a machine runs at once.
pub(super) const MOST_CORES: usize = 64;

/// What is found out about a recording once, for all its replays.
pub struct Survey {
    /// Where files lie in persistent memory.
    pub layout: Layout,
    /// The threads of each core, one after the other. Where there are more threads than cores, a thread takes the core of
    /// one that ended before it began.
    pub lanes: Vec<Vec<usize>>,
    /// Threads with at least one record.
    pub threads: usize,
    /// For each thread, whether another one started it.
    pub(super) created: Vec<bool>,
}

impl Survey {
    /// Takes a pass over the records where there are many threads.
    pub fn of(recording: &Recording) -> Survey {
        let counts = recording.counts();
        let layout = Layout::new(recording.about(), &counts.extents, PM_BASE);
        let threads = counts.threads.iter().filter(|records| **records > 0).count();
        let own = || (0..recording.threads()).map(|thread| vec![thread]).collect();
        let lanes = if recording.threads() > MOST_CORES { lanes(recording) } else { own() };
        Survey { layout, lanes, threads, created: counts.created.clone() }
    }
}

fn lanes(recording: &Recording) -> Vec<Vec<usize>> {
    let mut lanes = Lanes::default();
    let mut lane_of = vec![None; recording.threads()];
    for record in Merge::new(recording) {
        let thread = usize::from(record.thread);
        let lane = *lane_of[thread].get_or_insert_with(|| lanes.take(thread));
        if record.kind == Kind::End {
            lanes.free(lane);
        }
    }
    lanes.threads
}

/// The cores' threads.
#[derive(Default)]
struct Lanes {
    threads: Vec<Vec<usize>>,
    busy: Vec<bool>,
}

impl Lanes {
    fn take(&mut self, thread: usize) -> usize {
        let lane = self.busy.iter().position(|busy| !busy).unwrap_or(self.busy.len());
        if lane == self.busy.len() {
            self.busy.push(false);
            self.threads.push(Vec::new());
        }
        self.busy[lane] = true;
        self.threads[lane].push(thread);
        lane
    }

    fn free(&mut self, lane: usize) {
        self.busy[lane] = false;
    }
}
