//! How many pages are online and in use over time, exactly: each change is told with its time.

use units::Time;

/// So many changes are kept apart before the first look at which of them are past.
const KEPT: usize = 256;

/// What a number of pages has been by an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Elapsed {
    /// Pages now.
    pub pages: i64,
    /// Pages times picoseconds so far.
    pub time: i128,
    /// Pages that were added so far, whether they stayed or not; those of the beginning are not.
    pub added: u64,
}

#[derive(Clone, Copy, Debug)]
struct Change {
    at: Time,
    pages: i64,
}

/// A number of pages over time. Cores' slices overlap, so that changes are told ahead of an instant and out of order; each
/// counts from its own time on. Cost of a change: an entry of a list that is short.
#[derive(Clone, Debug, Default)]
pub struct Level {
    pages: i64,
    /// The sum of each change times its time.
    moment: i128,
    added: u64,
    /// Changes that may lie ahead of who asks.
    ahead: Vec<Change>,
    /// With so many of them it is time to look which are past.
    full: usize,
}

impl Level {
    /// So many pages from the beginning.
    pub fn of(pages: u64) -> Level {
        Level { pages: pages as i64, ..Level::default() }
    }

    /// There are so many pages more, or fewer, from `at` on.
    pub fn change(&mut self, at: Time, pages: i64) {
        match self.ahead.last_mut().filter(|last| last.at == at && (last.pages > 0) == (pages > 0)) {
            Some(last) => last.pages += pages,
            None => self.ahead.push(Change { at, pages }),
        }
    }

    /// Nobody asks for a time before `now` any more.
    pub fn pass(&mut self, now: Time) {
        if self.ahead.len() < self.full.max(KEPT) {
            return;
        }
        let mut ahead = std::mem::take(&mut self.ahead);
        ahead.retain(|change| {
            if change.at <= now {
                self.add(change);
            }
            change.at > now
        });
        self.ahead = ahead;
        self.full = 2 * self.ahead.len();
    }

    fn add(&mut self, change: &Change) {
        self.pages += change.pages;
        self.moment += i128::from(change.pages) * i128::from(change.at.ps());
        self.added += change.pages.max(0) as u64;
    }

    /// What it has been by `now`.
    pub fn until(&self, now: Time) -> Elapsed {
        let Level { pages, moment, added, .. } = *self;
        let mut sum = Level { pages, moment, added, ..Level::default() };
        self.ahead.iter().filter(|change| change.at <= now).for_each(|change| sum.add(change));
        let time = i128::from(sum.pages) * i128::from(now.ps()) - sum.moment;
        Elapsed { pages: sum.pages, time, added: sum.added }
    }
}

/// Memory online, and in use.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// Pages that the allocator knows or a program has mapped.
    pub online: Level,
    /// Pages in use, by programs or the kernel.
    pub used: Level,
}

impl Usage {
    /// As [`Level::pass`].
    pub fn pass(&mut self, now: Time) {
        self.online.pass(now);
        self.used.pass(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Random;

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn each_change_counts_from_its_own_time_on() {
        let mut level = Level::of(5);
        level.change(at(30), 2);
        level.change(at(10), 1);
        level.change(at(30), 1);
        level.change(at(30), -4);
        assert_eq!(level.until(at(10)), Elapsed { pages: 6, time: 50, added: 1 });
        assert_eq!(level.until(at(29)), Elapsed { pages: 6, time: 50 + 6 * 19, added: 1 });
        assert_eq!(level.until(at(40)), Elapsed { pages: 5, time: 50 + 6 * 20 + 5 * 10, added: 4 });
    }

    #[test]
    fn what_is_past_is_forgotten_and_still_counts() {
        let (mut random, mut kept, mut passed) = (Random::new(3, 0), Level::of(9), Level::of(9));
        for step in 0..20_000_u64 {
            let change = (at(step * 10 + random.below(4000)), random.below(9) as i64 - 4);
            kept.change(change.0, change.1);
            passed.change(change.0, change.1);
            passed.pass(at(step * 10));
            if step % 1000 == 0 {
                assert_eq!(passed.until(at(step * 10)), kept.until(at(step * 10)));
            }
        }
        assert!(passed.ahead.len() < 2000 && passed.until(at(1 << 40)) == kept.until(at(1 << 40)));
    }
}
