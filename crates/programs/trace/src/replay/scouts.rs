//! A recording read ahead once for all threads, and once more for those that have got too far from another: what lies between
//! them would have to be kept. Who reads a thread's records changes nothing of them.

use super::Options;
use super::scout::{Places, Scout, Step};
use super::survey::Survey;
use crate::recording::Recording;
use std::collections::VecDeque;
use std::sync::Arc;

/// Steps that are kept of threads that the machine runs later, by all readers: some 100 bytes each.
const MOST: usize = 1 << 20;

/// The readers.
pub(super) struct Scouts {
    recording: Recording,
    survey: Arc<Survey>,
    options: Options,
    /// Where nothing has been read yet.
    places: Places,
    /// Each reads for some threads; none where these have ended.
    readers: Vec<Option<Box<Scout>>>,
    /// Which of them reads for each thread.
    reader_of: Vec<usize>,
    /// Steps that each thread has got, and whether there are no more.
    given: Vec<u64>,
    ended: Vec<bool>,
    most: usize,
}

impl Scouts {
    pub(super) fn new(recording: Recording, survey: Arc<Survey>, options: Options, places: Places) -> Scouts {
        let threads = recording.threads();
        let all = Scout::new(&recording, &survey, &options, places.clone());
        Scouts {
            recording,
            survey,
            options,
            places,
            readers: vec![Some(Box::new(all))],
            reader_of: vec![0; threads],
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
            let reader = self.reader_of[thread];
            if self.read_by(reader).next().is_none() {
                self.readers[reader] = None;
            }
        }
        steps
    }

    fn next(&mut self, thread: usize) -> VecDeque<Step> {
        loop {
            let (reader, most) = (self.reader_of[thread], self.most / self.readers.len());
            let Some(scout) = &mut self.readers[reader] else { return VecDeque::new() };
            if let Some(steps) = scout.take(thread, most) {
                self.given[thread] += steps.len() as u64;
                return steps;
            }
            self.part(reader);
        }
    }

    /// The threads that a reader reads for and that have not ended.
    fn read_by(&self, reader: usize) -> impl Iterator<Item = usize> {
        (0..self.ended.len()).filter(move |thread| self.reader_of[*thread] == reader && !self.ended[*thread])
    }

    /// A reader goes on for the thread of which it keeps most, and the others get one of their own: those that wait for that thread are
    /// read together, so that many that do little take one more pass.
    fn part(&mut self, reader: usize) {
        let Some(scout) = &self.readers[reader] else { return };
        let ahead = scout.most_kept();
        let others: Vec<usize> = self.read_by(reader).filter(|thread| *thread != ahead).collect();
        let mut own = Scout::new(&self.recording, &self.survey, &self.options, self.places.clone());
        own.only(&others, &self.given);
        for thread in others {
            self.reader_of[thread] = self.readers.len();
            if let Some(scout) = &mut self.readers[reader] {
                scout.without(thread);
            }
        }
        self.readers.push(Some(Box::new(own)));
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

    fn kept(all: &Scouts) -> usize {
        all.readers.iter().flatten().map(|scout| scout.kept_steps).sum()
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
        let kept = kept(&all);
        assert!(kept <= 64, "{kept}");
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
        assert!(kept(&all) <= 501, "{}", kept(&all));
        let steps: usize = std::iter::from_fn(|| Some(all.take(1).len()).filter(|n| *n > 0)).sum();
        assert_eq!(steps, 10_002);
        assert_eq!(kinds(all.take(0)), []);
    }

    /// As of a server whose other threads wait until it ends: what they do is read in one pass more.
    #[test]
    fn those_who_wait_for_one_thread_are_read_together() {
        let mut trace = Trace::default();
        (1..5).for_each(|thread| trace.push(record(thread, Kind::Lock, 10_000 + u32::from(thread), 0)));
        (0..10_000).for_each(|n| trace.push(record(0, Kind::StoreRelease, n + 1, 0)));
        let mut all = scouts(trace, 500);
        (1..5).for_each(|thread| assert_eq!(kinds(all.take(thread)), [(Kind::Lock, 1)], "{thread}"));
        assert_eq!(all.readers.len(), 2);
        let steps: usize = std::iter::from_fn(|| Some(all.take(0).len()).filter(|n| *n > 0)).sum();
        assert_eq!(steps, 10_000);
        (1..5).for_each(|thread| assert_eq!(kinds(all.take(thread)), []));
        assert_eq!(all.readers.iter().flatten().count(), 0);
    }

    /// A thread that was given its wait for another's end before is parted from it without all of the other's being read, and kept, first.
    #[test]
    fn who_has_its_wait_already_is_not_read_up_to_it() {
        let mut trace = far(record(0, Kind::Join, 30_000, 1));
        trace.push(record(2, Kind::Lock, 20_000, 0));
        (0..20_000).for_each(|n| trace.push(record(3, Kind::StoreRelease, 4 + n, 0)));
        let mut all = scouts(trace, 500);
        assert_eq!(kinds(all.take(0)), [(Kind::Create, 1)]);
        assert_eq!(kinds(all.take(0)), [(Kind::Join, 2)]);
        assert_eq!(kinds(all.take(2)), [(Kind::Lock, 1)]);
        assert!(all.readers.len() > 1 && kept(&all) <= 1_200, "{} {}", all.readers.len(), kept(&all));
        assert_eq!(kinds(all.take(0)), [(Kind::Load, 3)]);
        let steps =
            |thread| std::iter::from_fn(|| Some(all.take(thread).len()).filter(|n| *n > 0)).sum::<usize>();
        assert_eq!([1, 2, 3].map(steps), [10_002, 0, 20_000]);
    }

    #[test]
    fn after_a_thread_that_has_ended_nothing_is_read() {
        let mut trace = far(record(0, Kind::Lock, 4, 0));
        trace.threads[0].truncate(1);
        let mut all = scouts(trace, 500);
        assert_eq!([all.take(0).len(), all.take(0).len(), kept(&all), all.readers.len()], [1, 0, 0, 1]);
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
                apart |= all.readers.len() > 1;
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
