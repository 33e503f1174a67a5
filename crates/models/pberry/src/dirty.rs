//! What a program changes, window by window, by two of the three definitions in use: bytes that it stored, and bytes whose
//! value differs at a window's end. The third, lines that the agent saw written back, is the agent's.

use crate::stats::{ChangedStats, StoredStats, WindowStats};
use protocol::StatSink;
use rustc_hash::FxHashMap;
use units::{Dur, Time};

const PAGE: usize = 4096;

/// Sums over windows, of distinct bytes and blocks in each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirtySet {
    /// Bytes.
    pub bytes: u64,
    /// Lines of 64 bytes with such a byte.
    pub lines: u64,
    /// Pages of 4 KiB with such a byte.
    pub pages: u64,
    /// Stretches of 2 MiB with such a byte.
    pub huge_pages: u64,
}

impl DirtySet {
    /// Adds a page of a window, in order of page.
    pub(crate) fn add(&mut self, page: u32, bytes: u64, lines: u64, last_huge: &mut Option<u32>) {
        if lines == 0 {
            return;
        }
        self.bytes += bytes;
        self.lines += lines;
        self.pages += 1;
        self.huge_pages += u64::from(*last_huge != Some(page / 512));
        *last_huge = Some(page / 512);
    }
}

/// A page, line by line.
struct Tracked {
    now: [[u8; 64]; 64],
    /// What a line held when the window began, where it was stored to in it.
    before: [[u8; 64]; 64],
    stored: [u64; 64],
    in_window: bool,
}

impl Tracked {
    fn new() -> Box<Tracked> {
        Box::new(Tracked { now: [[0; 64]; 64], before: [[0; 64]; 64], stored: [0; 64], in_window: false })
    }

    fn store(&mut self, at: usize, size: usize, value: u64) {
        let (line, byte) = (at / 64, at % 64);
        if self.stored[line] == 0 {
            self.before[line] = self.now[line];
        }
        self.now[line][byte..byte + size].copy_from_slice(&value.to_le_bytes()[..size]);
        self.stored[line] |= protocol::mask_of(byte, size);
    }

    /// Bytes that were stored to, and lines with one.
    fn stored(&self) -> (u64, u64) {
        let bytes = self.stored.iter().map(|m| u64::from(m.count_ones())).sum();
        (bytes, self.stored.iter().filter(|m| **m != 0).count() as u64)
    }

    /// Bytes that differ from what they were, and lines with one. What was not stored to does not.
    fn changed(&self) -> (u64, u64) {
        let (mut bytes, mut lines) = (0, 0);
        for line in (0..64).filter(|line| self.stored[*line] != 0) {
            let pairs = self.before[line].iter().zip(&self.now[line]);
            let count = pairs.filter(|(a, b)| a != b).count() as u64;
            bytes += count;
            lines += u64::from(count > 0);
        }
        (bytes, lines)
    }
}

/// Stores of all cores, as they happen. Cost of a store: one look-up by page; memory: two pages for each page stored to.
pub struct DirtyWindows {
    length: Dur,
    begins: Time,
    ends: Time,
    /// The window that lasts is counted already: the program ended in it.
    is_closed: bool,
    pages: FxHashMap<u32, Box<Tracked>>,
    touched: Vec<u32>,
    windows: u64,
    stored: DirtySet,
    changed: DirtySet,
    /// For each window of the region of interest, pages by how many of their lines were stored to, 0 to 64.
    lines_per_page: [u64; 65],
}

impl DirtyWindows {
    /// Windows of `length`, the first from the beginning.
    pub fn new(length: Dur) -> DirtyWindows {
        DirtyWindows {
            begins: Time::ZERO,
            ends: Time::ZERO + length,
            is_closed: false,
            length,
            pages: FxHashMap::default(),
            touched: Vec::new(),
            windows: 0,
            stored: DirtySet::default(),
            changed: DirtySet::default(),
            lines_per_page: [0; 65],
        }
    }

    /// A program stored `size` bytes, which do not cross a line.
    pub fn store(&mut self, at: Time, offset: u64, size: u8, value: u64) {
        self.pass(at);
        self.is_closed = false;
        let page = (offset / PAGE as u64) as u32;
        let tracked = self.pages.entry(page).or_insert_with(Tracked::new);
        if !tracked.in_window {
            tracked.in_window = true;
            self.touched.push(page);
        }
        tracked.store((offset % PAGE as u64) as usize, size.into(), value);
    }

    /// What a load of `size` bytes sees, which do not cross a line: what was stored, or zero.
    pub fn load(&self, offset: u64, size: u8) -> u64 {
        let Some(tracked) = self.pages.get(&((offset / PAGE as u64) as u32)) else { return 0 };
        let (at, size) = ((offset % PAGE as u64) as usize, usize::from(size));
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&tracked.now[at / 64][at % 64..at % 64 + size]);
        u64::from_le_bytes(bytes)
    }

    /// Bytes stored, in the windows that have ended.
    pub fn stored(&self) -> DirtySet {
        self.stored
    }

    /// Bytes that differed at their ends.
    pub fn changed(&self) -> DirtySet {
        self.changed
    }

    /// Windows that have ended by `now` are counted, those without a store among them.
    pub fn pass(&mut self, now: Time) {
        if now >= self.ends {
            self.close();
            let past = now.since(self.ends).as_ps() / self.length.as_ps();
            self.windows += past;
            self.begins = self.ends + Dur::ps(past * self.length.as_ps());
            self.ends = self.begins + self.length;
            self.is_closed = false;
        }
    }

    fn close(&mut self) {
        self.windows += u64::from(!self.is_closed);
        self.touched.sort_unstable();
        let (mut last_stored, mut last_changed) = (None, None);
        for page in self.touched.drain(..) {
            let Some(t) = self.pages.get_mut(&page) else { continue };
            let (bytes, lines) = t.stored();
            self.stored.add(page, bytes, lines, &mut last_stored);
            self.lines_per_page[lines as usize] += 1;
            let (bytes, lines) = t.changed();
            self.changed.add(page, bytes, lines, &mut last_changed);
            t.stored = [0; 64];
            t.in_window = false;
        }
    }

    /// Hands up both definitions, of the windows that have ended by `now`. One without a store may end at any time.
    pub fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        self.pass(now);
        let is_empty = now > self.begins && !self.is_closed && self.touched.is_empty();
        let windows = self.windows + u64::from(is_empty);
        StoredStats::from(&self.stored).hand_up(sink);
        ChangedStats::from(&self.changed).hand_up(sink);
        WindowStats { windows }.hand_up(sink);
    }

    /// The program ends: so does the last window.
    pub fn finish(&mut self) {
        if !self.touched.is_empty() {
            self.close();
            self.is_closed = true;
        }
    }

    /// What was stored before `now` is of windows that have ended; the next one begins.
    pub fn next_window(&mut self, now: Time) {
        self.pass(now);
        if now > self.begins {
            self.close();
        }
        (self.begins, self.ends, self.is_closed) = (now, now + self.length, false);
    }

    /// The region of interest begins.
    pub fn begin(&mut self) {
        self.lines_per_page = [0; 65];
    }

    /// Pages by how many of their lines were stored to in a window, 0 to 64.
    pub fn lines_per_page(&self) -> &[u64; 65] {
        &self.lines_per_page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_distinct_bytes_and_what_differs_in_each_window() {
        let mut all = DirtyWindows::new(Dur::ns(100));
        let at = |ns| Time::ZERO + Dur::ns(ns);
        all.store(at(1), 8, 8, 1);
        all.store(at(2), 8, 8, 0);
        all.store(at(3), 4096 + 64, 1, 9);
        // The window ends at 100 ns, not before.
        all.store(at(99), 70, 1, 1);
        all.store(at(100), 70, 1, 2);
        all.finish();
        assert_eq!(
            all.stored,
            DirtySet { bytes: 8 + 1 + 1 + 1, lines: 2 + 1 + 1, pages: 2 + 1, huge_pages: 2 }
        );
        assert_eq!(all.changed, DirtySet { bytes: 1 + 1 + 1, lines: 1 + 1 + 1, pages: 2 + 1, huge_pages: 2 });
        assert_eq!(all.windows, 2);
        assert_eq!(all.lines_per_page[..3], [0, 2, 1]);
    }

    #[test]
    fn a_window_that_is_cut_has_ended_and_the_next_one_is_whole() {
        let mut all = DirtyWindows::new(Dur::ns(100));
        let at = |ns| Time::ZERO + Dur::ns(ns);
        all.store(at(10), 0, 8, 1);
        all.next_window(at(30));
        assert_eq!((all.stored.bytes, all.windows), (8, 1));
        // The same line counts anew, until 100 ns later.
        all.store(at(31), 0, 8, 2);
        all.store(at(129), 0, 8, 3);
        all.store(at(130), 0, 8, 4);
        assert_eq!((all.stored.bytes, all.windows), (16, 2));
        all.next_window(at(230));
        all.next_window(at(230));
        assert_eq!((all.stored.bytes, all.changed.bytes, all.windows), (24, 3, 3));
    }

    #[test]
    fn windows_without_a_store_are_counted_until_the_end() {
        let at = |ns| Time::ZERO + Dur::ns(ns);
        for ends in [false, true] {
            let mut all = DirtyWindows::new(Dur::ns(100));
            all.next_window(at(50));
            assert_eq!(all.windows, 1);
            all.store(at(60), 0, 8, 1);
            // Of 50 to 150 ns, and so on.
            all.store(at(455), 0, 8, 2);
            assert_eq!(all.windows, 1 + 4);
            if ends {
                all.finish();
            }
            let mut tally = params::Tally::default();
            all.stats(at(700), &mut tally);
            all.next_window(at(700));
            assert_eq!((all.windows, all.stored.bytes), (1 + 7, 16), "six, and a half: {ends}");
            assert_eq!(tally.number("tracking.windows") as u64, 8);
            all.next_window(at(700));
            assert_eq!(all.windows, 1 + 7);
        }
    }

    #[test]
    fn windows_are_what_whole_pages_compared_byte_by_byte_would_tell() {
        const BYTES: usize = 3 * PAGE;
        let (mut random, mut all) = (units::Random::new(5, 0), DirtyWindows::new(Dur::ns(100)));
        let (mut now, mut before) = (vec![0_u8; BYTES], vec![0_u8; BYTES]);
        let mut stored = vec![false; BYTES];
        let mut wanted = [DirtySet::default(); 2];
        let mut close = |now: &[u8], before: &mut Vec<u8>, stored: &mut Vec<bool>| {
            let changed: Vec<bool> = now.iter().zip(before.iter()).map(|(a, b)| a != b).collect();
            for (sum, dirty) in wanted.iter_mut().zip([&changed, &*stored]) {
                let blocks = |of: usize| dirty.chunks(of).filter(|c| c.contains(&true)).count() as u64;
                sum.bytes += blocks(1);
                sum.lines += blocks(64);
                sum.pages += blocks(PAGE);
                sum.huge_pages += blocks(BYTES);
            }
            before.copy_from_slice(now);
            stored.fill(false);
        };
        for n in 0..4000_u64 {
            if n % 100 == 0 && n > 0 {
                close(&now, &mut before, &mut stored);
            }
            let size = 1 << random.below(4);
            let at = (random.below(BYTES as u64 / size) * size) as usize;
            let value = random.below(2);
            all.store(Time::ZERO + Dur::ns(n), at as u64, size as u8, value);
            now[at..at + size as usize].copy_from_slice(&value.to_le_bytes()[..size as usize]);
            stored[at..at + size as usize].fill(true);
        }
        close(&now, &mut before, &mut stored);
        all.finish();
        assert_eq!([all.changed, all.stored], wanted);
    }
}
