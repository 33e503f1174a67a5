//! A recording's records in one order that respects their stamps and depends on nothing but the recording.

use crate::record::Record;
use crate::recording::{Recording, Thread};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Records of a thread in a row before another one's turn, as long as none has a stamp: threads that run side by side
/// are read side by side, so that little has to be kept of the one that the machine runs later.
const QUANTUM: u32 = 64;

/// Reads all threads of a recording at once.
pub(crate) struct Merge {
    threads: Vec<Option<Peeked>>,
    /// Threads whose next record may have no stamp.
    runnable: VecDeque<usize>,
    /// Threads whose next record has one.
    stamped: BinaryHeap<Reverse<(u32, usize)>>,
    /// The thread that is being read, how many records more, and whether its stamp has come.
    current: Option<(usize, u32, bool)>,
}

struct Peeked {
    records: Thread,
    next: Option<Record>,
}

impl Merge {
    pub(crate) fn new(recording: &Recording) -> Merge {
        let threads = recording.threads();
        let open = |thread| {
            let mut records = recording.thread(thread);
            let next = records.next();
            next.is_some().then_some(Peeked { records, next })
        };
        Merge {
            threads: (0..threads).map(open).collect(),
            runnable: (0..threads).collect(),
            stamped: BinaryHeap::new(),
            current: None,
        }
    }
}

impl Merge {
    /// The next record of a thread, whoever's turn it is.
    pub(crate) fn peek(&self, thread: usize) -> Option<&Record> {
        self.threads[thread].as_ref()?.next.as_ref()
    }
}

impl Iterator for Merge {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        loop {
            let Some((thread, left, granted)) = self.current else {
                self.current = match (self.runnable.pop_front(), self.stamped.peek()) {
                    (Some(thread), _) => Some((thread, QUANTUM, false)),
                    (None, Some(Reverse((_, thread)))) => Some((*thread, QUANTUM, true)),
                    (None, None) => return None,
                };
                if let Some((_, _, true)) = self.current {
                    self.stamped.pop();
                }
                continue;
            };
            self.current = None;
            let Some(peeked) = &mut self.threads[thread] else { continue };
            let Some(record) = peeked.next else {
                // Its buffers are not needed any more.
                self.threads[thread] = None;
                continue;
            };
            if record.kind.has_stamp() && !granted {
                self.stamped.push(Reverse((record.stamp, thread)));
                continue;
            }
            peeked.next = peeked.records.next();
            match left {
                0 => self.runnable.push_back(thread),
                left => self.current = Some((thread, left - 1, false)),
            }
            return Some(record);
        }
    }
}
