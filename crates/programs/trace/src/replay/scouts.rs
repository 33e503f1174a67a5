//! A recording read ahead once for all threads, and once more for each thread that has got too far from the others: what
//! lies between them would have to be kept. Who reads a thread's records changes nothing of them.

use super::Options;
use super::scout::{Places, Scout, Step};
use super::survey::Survey;
use crate::recording::Recording;
use std::collections::VecDeque;
use std::sync::Arc;

/// Steps that are kept of threads that the machine runs later: some 100 bytes each.
const MOST: usize = 1 << 20;

/// The readers.
pub(super) struct Scouts {
    recording: Recording,
    survey: Arc<Survey>,
    options: Options,
    /// Where nothing has been read yet.
    places: Places,
    all: Scout,
    /// Readers of one thread each.
    own: Vec<Option<Box<Scout>>>,
    /// Steps that each thread has got from the reader of all, and whether there are no more.
    given: Vec<u64>,
    ended: Vec<bool>,
    most: usize,
}

impl Scouts {
    pub(super) fn new(recording: Recording, survey: Arc<Survey>, options: Options, places: Places) -> Scouts {
        let threads = recording.threads();
        let all = Scout::new(&recording, &survey, &options, places.clone());
        let own = (0..threads).map(|_| None).collect();
        Scouts {
            recording,
            survey,
            options,
            places,
            all,
            own,
            given: vec![0; threads],
            ended: vec![false; threads],
            most: MOST,
        }
    }

    /// The next steps of a thread; empty when it has ended. The first time that these are too far away takes a pass over the
    /// recording up to there.
    pub(super) fn take(&mut self, thread: usize) -> VecDeque<Step> {
        if self.ended[thread] {
            return VecDeque::new();
        }
        let steps = self.next(thread);
        if steps.is_empty() {
            self.ended[thread] = true;
            self.own[thread] = None;
        }
        steps
    }

    fn next(&mut self, thread: usize) -> VecDeque<Step> {
        if self.own[thread].is_none() {
            if let Some(steps) = self.all.take(thread, self.most) {
                self.given[thread] += steps.len() as u64;
                return steps;
            }
            let mut own = Scout::new(&self.recording, &self.survey, &self.options, self.places.clone());
            own.only(thread, self.given[thread]);
            self.all.without(thread);
            self.own[thread] = Some(Box::new(own));
        }
        // Of others it keeps nothing.
        self.own[thread].as_mut().and_then(|own| own.take(thread, usize::MAX)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trace;
    use crate::record::{Kind, Record};

    fn record(thread: u16, kind: Kind, stamp: u32, value: u64) -> Record {
        Record { address: 8, value, stamp, location: 0, instructions: 1, thread, kind, size: 8 }
    }

    fn scouts(trace: Trace, most: usize) -> Scouts {
        let recording = Recording::of_trace(trace).unwrap();
        let survey = Arc::new(Survey::of(&recording));
        let places = Places::new(Some(1 << 20));
        Scouts { most, ..Scouts::new(recording, survey, Options::plain(), places) }
    }

    fn kinds(steps: VecDeque<Step>) -> Vec<(Kind, u64)> {
        steps.iter().map(|s| (s.record.kind, s.passed)).collect()
    }

    /// A thread that starts another, and comes back with `last` when that has stored ten thousand times.
    fn far(last: Record) -> Trace {
        let mut trace = Trace::default();
        trace.push(record(0, Kind::Create, 1, 1));
        trace.push(record(1, Kind::Start, 2, 0));
        (0..10_000).for_each(|n| trace.push(record(1, Kind::Store, 0, n)));
        trace.push(record(1, Kind::End, 3, 0));
        trace.push(last);
        trace.push(record(0, Kind::Load, 0, 0));
        trace
    }

    #[test]
    fn of_what_a_thread_does_while_another_waits_for_its_end_little_is_kept() {
        let mut all = scouts(far(record(0, Kind::Join, 4, 1)), usize::MAX);
        assert_eq!(kinds(all.take(0)), [(Kind::Create, 1)]);
        assert_eq!(kinds(all.take(0)), [(Kind::Join, 2)]);
        assert!(all.all.kept_steps <= 64, "{}", all.all.kept_steps);
        let steps: usize = std::iter::from_fn(|| Some(all.take(1).len()).filter(|n| *n > 0)).sum();
        assert_eq!(steps, 10_002);
        assert_eq!(kinds(all.take(0)), [(Kind::Load, 3)], "the wait comes once");
        assert_eq!(kinds(all.take(0)), []);
    }

    #[test]
    fn who_is_too_far_from_the_others_is_read_apart() {
        let mut all = scouts(far(record(0, Kind::Lock, 4, 0)), 500);
        assert_eq!(kinds(all.take(0)), [(Kind::Create, 1)]);
        assert_eq!(kinds(all.take(0)), [(Kind::Lock, 2), (Kind::Load, 3)]);
        assert!(all.all.kept_steps <= 501, "{}", all.all.kept_steps);
        let steps: usize = std::iter::from_fn(|| Some(all.take(1).len()).filter(|n| *n > 0)).sum();
        assert_eq!(steps, 10_002);
        assert_eq!(kinds(all.take(0)), []);
    }

    #[test]
    fn after_a_thread_that_has_ended_nothing_is_read() {
        let mut trace = far(record(0, Kind::Lock, 4, 0));
        trace.threads[0].truncate(1);
        let mut all = scouts(trace, 500);
        assert_eq!([all.take(0).len(), all.take(0).len()], [1, 0]);
        assert_eq!((all.all.kept_steps, all.own.iter().flatten().count()), (0, 0));
    }

    #[test]
    fn how_much_is_kept_changes_no_step() {
        let mut trace = Trace::default();
        for n in 0..3000_u32 {
            // Each thread stores, and takes and gives back a lock: the second seldom, the third at the end alone.
            for thread in (0..3).filter(|t| [true, n % 50 == 7, n > 2900][usize::from(*t)]) {
                let kinds = [Kind::Lock, Kind::Store, Kind::StoreRelease, Kind::Unlock];
                for (nth, kind) in kinds.into_iter().enumerate() {
                    let stamp =
                        if kind.has_stamp() { 12 * n + 4 * u32::from(thread) + nth as u32 } else { 0 };
                    trace.push(record(thread, kind, stamp, u64::from(n)));
                }
            }
        }
        let read = |most: usize, order: &[usize]| {
            let mut all = scouts(trace.clone(), most);
            let (mut steps, mut apart) = (vec![Vec::new(); 3], false);
            for round in 0..40_000 {
                let thread = order[round % order.len()];
                let told = all.take(thread);
                apart |= all.own.iter().any(Option::is_some);
                steps[thread].extend(told.into_iter().map(|s| format!("{s:?}")));
            }
            (steps, apart)
        };
        let (whole, apart) = read(usize::MAX, &[0, 1, 2]);
        assert_eq!((whole.iter().map(Vec::len).sum::<usize>(), apart), (trace.len(), false));
        for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
            let (steps, apart) = read(100, &order);
            assert!(apart);
            assert!(steps == whole, "{order:?}");
        }
    }
}
