//! What the agent keeps of the lines that it has seen written back: filters, and a bounded buffer of reports for the
//! daemon.
//!
//! A line that was not reported before, of a page that was reported often enough, is reported as its whole page: the
//! buffer stays small, and the page is written back whole. That is a bit of the page's frame and no entry of the buffer, so
//! that one is told of when the buffer is full, too. Filters err on one side: a page is taken for a busy one, or a
//! line for an old one. Neither loses a line.
//!
//! Source: PBerry §4.1.2.

use std::collections::BTreeMap;

/// Sizes.
#[derive(Clone, Copy, Debug)]
pub struct FilterSpec {
    /// Bits of the Bloom filter of lines, a power of two.
    pub line_bits: u64,
    /// Counters of the counting Bloom filter of pages, a power of two.
    pub page_counters: u64,
    /// Hash functions of each.
    pub hashes: u32,
    /// Lines of a page reported before the page is reported whole (N).
    pub threshold: u32,
    /// Entries of the report buffer, a line each.
    pub buffer: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Reported {
    lines: u64,
    page: bool,
    /// What the page's counters were raised by.
    counted: u8,
}

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterCounts {
    /// Reports of lines.
    pub lines: u64,
    /// Reports of whole pages.
    pub pages: u64,
    /// Of these, pages that had not been reported often enough: other pages' counters were theirs.
    pub false_pages: u64,
    /// Lines that the line filter took for reported ones.
    pub false_lines: u64,
    /// Pages reported whole because the buffer was full.
    pub overflows: u64,
    /// The most entries that the buffer has held.
    pub buffer_max: usize,
}

/// Filters and buffer. Cost of a write-back: two lookups of `hashes` places each.
#[derive(Clone, Debug)]
pub struct Tracker {
    spec: FilterSpec,
    lines: Vec<u64>,
    pages: Vec<u8>,
    reported: BTreeMap<u32, Reported>,
    entries: usize,
    counts: FilterCounts,
}

/// The places of a key: one multiplication each, as hardware would fold address bits.
fn places(key: u64, hashes: u32, size: u64) -> impl Iterator<Item = usize> {
    (1..=u64::from(hashes)).map(move |n| {
        let mixed =
            (key ^ n << 56).wrapping_mul(0x9E37_79B9_7F4A_7C15 ^ n.wrapping_mul(0xD1B5_4A32_D192_ED03) | 1);
        ((mixed ^ mixed >> 32) & (size - 1)) as usize
    })
}

impl Tracker {
    /// With nothing reported.
    pub fn new(spec: FilterSpec) -> Tracker {
        Tracker {
            lines: vec![0; spec.line_bits.div_ceil(64) as usize],
            pages: vec![0; spec.page_counters as usize],
            reported: BTreeMap::new(),
            entries: 0,
            counts: FilterCounts::default(),
            spec,
        }
    }

    /// What was counted.
    pub fn counts(&self) -> FilterCounts {
        self.counts
    }

    /// A line of a page was written back.
    pub fn report(&mut self, page: u32, index: u32) {
        let bit = 1 << index;
        let before = self.reported.get(&page).copied().unwrap_or_default();
        if before.page {
            return;
        }
        let old_line = self.remember_line(page, index);
        if before.lines & bit != 0 {
            return;
        }
        self.counts.false_lines += u64::from(old_line);
        let busy = self.count(page) >= self.spec.threshold;
        if !old_line && busy {
            self.counts.false_pages += u64::from(before.lines.count_ones() < self.spec.threshold);
            return self.whole(page);
        }
        if self.entries >= self.spec.buffer {
            self.counts.overflows += 1;
            return self.whole(page);
        }
        self.counts.lines += 1;
        let reported = self.reported.entry(page).or_default();
        reported.lines |= bit;
        reported.counted = reported.counted.saturating_add(1);
        self.entries += 1;
        self.counts.buffer_max = self.counts.buffer_max.max(self.entries);
        for place in places(page.into(), self.spec.hashes, self.spec.page_counters) {
            self.pages[place] = self.pages[place].saturating_add(1);
        }
    }

    fn whole(&mut self, page: u32) {
        self.counts.pages += 1;
        let reported = self.reported.entry(page).or_default();
        // Its lines' entries are free.
        self.entries -= reported.lines.count_ones() as usize;
        reported.page = true;
    }

    /// Puts a line into the filter; whether it seemed to be there.
    fn remember_line(&mut self, page: u32, index: u32) -> bool {
        let mut there = true;
        for place in places(u64::from(page) << 6 | u64::from(index), self.spec.hashes, self.spec.line_bits) {
            let bit = 1 << (place % 64);
            there &= self.lines[place / 64] & bit != 0;
            self.lines[place / 64] |= bit;
        }
        there
    }

    fn count(&self, page: u32) -> u32 {
        let all = places(page.into(), self.spec.hashes, self.spec.page_counters);
        all.map(|place| u32::from(self.pages[place])).min().unwrap_or(0)
    }

    /// The lines of a page that have to be written back, as far as the reports tell: all where it was reported whole.
    pub fn lines(&self, page: u32) -> u64 {
        self.reported.get(&page).map_or(0, |r| if r.page { u64::MAX } else { r.lines })
    }

    /// The daemon has taken a page's reports.
    pub fn forget(&mut self, page: u32) {
        let Some(reported) = self.reported.remove(&page) else { return };
        self.entries -= if reported.page { 0 } else { reported.lines.count_ones() as usize };
        for place in places(page.into(), self.spec.hashes, self.spec.page_counters) {
            // A counter that was full does not say what it was.
            if self.pages[place] < u8::MAX {
                self.pages[place] = self.pages[place].saturating_sub(reported.counted);
            }
        }
    }

    /// A new window: lines that are reported from now on are new.
    pub fn clear_lines(&mut self) {
        self.lines.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tracker(buffer: usize) -> Tracker {
        let spec = FilterSpec { line_bits: 1 << 16, page_counters: 1 << 12, hashes: 4, threshold: 5, buffer };
        Tracker::new(spec)
    }

    #[test]
    fn a_page_is_reported_whole_at_its_line_after_the_threshold_and_not_before() {
        let mut t = tracker(100);
        (0..5).for_each(|i| t.report(7, i));
        assert_eq!(t.lines(7), 0b11111);
        t.report(7, 4);
        assert_eq!(t.lines(7), 0b11111, "an old line does not make it busier");
        t.report(7, 5);
        assert_eq!(t.lines(7), u64::MAX);
        t.forget(7);
        t.clear_lines();
        t.report(7, 63);
        assert_eq!(t.lines(7), 1 << 63);
    }

    #[test]
    fn a_full_buffer_reports_pages_and_never_loses_a_line() {
        let mut t = tracker(3);
        for page in 0..50 {
            t.report(page, page % 64);
        }
        assert!((0..50).all(|page| t.lines(page) >> (page % 64) & 1 == 1));
        assert_eq!((t.counts().overflows, t.counts().buffer_max, t.entries), (47, 3, 3));
        t.forget(2);
        t.report(60, 1);
        assert_eq!((t.counts().overflows, t.entries, t.lines(60)), (47, 3, 2), "there is room again");
    }

    #[test]
    fn what_is_reported_covers_what_was_written_for_any_small_filter() {
        let spec = FilterSpec { line_bits: 64, page_counters: 8, hashes: 2, threshold: 2, buffer: 9 };
        let mut t = Tracker::new(spec);
        let mut exact = BTreeMap::<u32, u64>::new();
        let mut seed = 1u64;
        for step in 0..20_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (page, index) = ((seed >> 40) as u32 % 40, (seed >> 50) as u32 % 64);
            if step % 7 == 0 {
                t.forget(page);
                exact.remove(&page);
            } else {
                t.report(page, index);
                *exact.entry(page).or_default() |= 1 << index;
            }
            if step % 500 == 0 {
                t.clear_lines();
            }
            assert!(t.entries <= 9, "the buffer is bounded");
            assert!(exact.iter().all(|(page, lines)| lines & !t.lines(*page) == 0), "at {step}");
        }
        assert!(t.counts().false_pages > 0 && t.counts().false_lines > 0);
    }
}
