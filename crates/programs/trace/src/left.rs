//! What a recording says that a program left in its files, against what it really left: what differs was changed by
//! something that the recording does not have.
//!
//! The recording is replayed into pages. When there are more than memory is meant for, the lowest come first, and the
//! others in further passes.

use crate::about::Differs;
use crate::record::{Call, Kind, Record};
use crate::recording::Recording;
use crate::space::{Sizes, Space, file_address, file_of};
use std::collections::BTreeMap;
use std::io;

const PAGE: usize = 4096;

/// Pages in memory at once: 128 MiB.
const PAGES: usize = 1 << 15;

/// Ranges that are told apart; with more than these, nobody reads on.
const RANGES: usize = 1000;

/// A file as the program left it.
pub trait LeftFile {
    /// How many bytes it has.
    fn size(&self) -> u64;

    /// The first byte from `at` on that is not in a hole; none where only holes follow.
    fn data(&self, at: u64) -> Option<u64>;

    /// Reads a page; what is behind the end stays as it is.
    ///
    /// # Errors
    /// When it cannot be read.
    fn page(&self, at: u64, into: &mut [u8; PAGE]) -> io::Result<()>;
}

/// The ranges of these files, by number, that hold other bytes than the recording says, in order.
///
/// # Errors
/// When a file cannot be read.
pub fn differences(
    recording: &Recording,
    files: &BTreeMap<u32, Box<dyn LeftFile>>,
) -> io::Result<Vec<Differs>> {
    let mut found = Found::default();
    let mut from = 0;
    loop {
        let mut window = Window::new(recording, from, PAGES);
        for (done, record) in recording.in_order().enumerate() {
            window.follow(&record);
            if done.is_multiple_of(1 << 16) {
                units::watch::pass(done as u64, recording.len());
            }
        }
        for (number, file) in files {
            window.compare(*number, &**file, &mut found)?;
        }
        if window.to == u64::MAX || found.ranges.len() > RANGES {
            break;
        }
        from = window.to;
    }
    for (number, file) in files {
        let (is, said) = (file.size(), recording.counts().sizes.of(*number));
        if is != said {
            found.add(*number, is.min(said), is.abs_diff(said));
        }
    }
    found.ranges.truncate(RANGES);
    found.ranges.sort_by_key(|d| (d.file, d.offset));
    Ok(found.ranges)
}

#[derive(Default)]
struct Found {
    ranges: Vec<Differs>,
}

impl Found {
    fn add(&mut self, file: u32, offset: u64, bytes: u64) {
        match self.ranges.last_mut() {
            Some(d) if d.file == file && offset <= d.offset + d.bytes + 8 => {
                d.bytes = offset + bytes - d.offset
            }
            _ => self.ranges.push(Differs { file, offset, bytes }),
        }
    }
}

/// The pages of the file space from `from` to `to`, as far as something is in them.
struct Window {
    from: u64,
    to: u64,
    most: usize,
    pages: BTreeMap<u64, Box<[u8; PAGE]>>,
    space: Space,
    sizes: Sizes,
}

impl Window {
    fn new(recording: &Recording, from: u64, most: usize) -> Window {
        let sizes = Sizes::new(recording.about());
        Window { from, to: u64::MAX, most, pages: BTreeMap::new(), space: Space::new(), sizes }
    }

    fn follow(&mut self, r: &Record) {
        self.space.follow(r);
        if r.kind == Kind::Call {
            self.cut(r);
        }
        self.sizes.follow(r);
        let stores = matches!(
            r.kind,
            Kind::Store
                | Kind::StoreNonTemporal
                | Kind::StoreRelease
                | Kind::Rmw
                | Kind::Written
                | Kind::Observed
                | Kind::Contents
        );
        if stores && let Some(place) = self.space.place(r.address) {
            self.store(place, r.value, r.size.into());
        }
    }

    /// A record is within a line.
    fn store(&mut self, place: u64, value: u64, size: usize) {
        let (page, at) = (place & !(PAGE as u64 - 1), place as usize % PAGE);
        if page < self.from || page >= self.to {
            return;
        }
        let bytes = self.pages.entry(page).or_insert_with(|| Box::new([0; PAGE]));
        bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
        if self.pages.len() > self.most {
            self.to = self.pages.pop_last().map_or(self.to, |(page, _)| page);
        }
    }

    /// What is behind a new end is gone; what a mapping had behind the old one never was in the file.
    fn cut(&mut self, r: &Record) {
        let (Some(Call::Resize), Some((number, _))) = (Call::from_number(r.value as u8), file_of(r.address))
        else {
            return;
        };
        let size = (r.value >> 8).min(self.sizes.of(number)).min(crate::space::LARGEST_FILE - 1);
        let first = file_address(number, size & !(PAGE as u64 - 1));
        let end = file_address(number, crate::space::LARGEST_FILE - 1);
        if let Some(page) = self.pages.get_mut(&first) {
            page[size as usize % PAGE..].fill(0);
        }
        let gone: Vec<u64> = self.pages.range(first + 1..=end).map(|(page, _)| *page).collect();
        gone.iter().for_each(|page| _ = self.pages.remove(page));
    }

    fn compare(&self, number: u32, file: &dyn LeftFile, found: &mut Found) -> io::Result<()> {
        let (first, last) = (file_address(number, 0), file_address(number, crate::space::LARGEST_FILE - 1));
        let end = file.size().min(self.sizes.of(number));
        let mut at = self.from.clamp(first, last) - first;
        let stop = self.to.clamp(first, last) - first;
        while at < end.min(stop) && found.ranges.len() <= RANGES {
            let held = self.pages.range(first + at..=last).next().map(|(page, _)| page - first);
            let data = file.data(at).map(|data| data & !(PAGE as u64 - 1));
            let Some(next) = held.into_iter().chain(data).min() else { break };
            if next >= end.min(stop) {
                break;
            }
            let mut page = [0; PAGE];
            file.page(next, &mut page)?;
            let zeros = [0; PAGE];
            let said = self.pages.get(&(first + next)).map_or(&zeros, |page| page);
            let within = (end - next).min(PAGE as u64) as usize;
            if page[..within] != said[..within] {
                let differs = (0..within).filter(|i| page[*i] != said[*i]);
                differs.for_each(|i| found.add(number, next + i as u64, 1));
            }
            at = next + PAGE as u64;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::about::File;
    use crate::{About, Trace};

    struct Left(Vec<u8>);

    impl LeftFile for Left {
        fn size(&self) -> u64 {
            self.0.len() as u64
        }

        fn data(&self, at: u64) -> Option<u64> {
            (at < self.size()).then_some(at)
        }

        fn page(&self, at: u64, into: &mut [u8; PAGE]) -> io::Result<()> {
            let bytes = &self.0[at as usize..self.0.len().min(at as usize + PAGE)];
            into[..bytes.len()].copy_from_slice(bytes);
            Ok(())
        }
    }

    fn trace(records: &[(Kind, u64, u64, u8)]) -> Recording {
        let mut trace = Trace::default();
        for (number, bytes) in [(0, 100), (3, 8192)] {
            trace.about.files.insert(number, File { identity: "1:1".into(), path: "x".into(), bytes });
        }
        for (stamp, (kind, address, value, size)) in records.iter().copied().enumerate() {
            let stamp = if kind.has_stamp() { stamp as u32 } else { 0 };
            trace.push(Record { address, value, stamp, location: 0, instructions: 0, thread: 0, kind, size });
        }
        let about: About = trace.about.clone();
        Recording::of_trace(trace).unwrap().with_about(about)
    }

    fn found(recording: &Recording, files: Vec<(u32, Vec<u8>)>) -> Vec<(u32, u64, u64)> {
        let files =
            files.into_iter().map(|(n, bytes)| (n, Box::new(Left(bytes)) as Box<dyn LeftFile>)).collect();
        let all = differences(recording, &files).unwrap();
        all.iter().map(|d| (d.file, d.offset, d.bytes)).collect()
    }

    #[test]
    fn what_differs_is_found_to_the_byte() {
        let recording = trace(&[
            (Kind::Contents, file_address(3, 0), 0x11, 8),
            (Kind::Operand, 0, file_address(3, 4096), 8),
            (Kind::Map, 0x10000, 4096, 1),
            (Kind::Store, 0x10010, 0x2222, 8),
            (Kind::Call, file_address(0, 0), 100 << 8 | 1, 1),
            (Kind::Written, file_address(0, 90), 0x33, 1),
        ]);
        let (mut a, mut b) = (vec![0; 100], vec![0; 8192]);
        (a[90], b[0], b[4096 + 0x10], b[4096 + 0x11]) = (0x33, 0x11, 0x22, 0x22);
        assert_eq!(found(&recording, vec![(0, a.clone()), (3, b.clone())]), []);
        (b[4096 + 0x11], b[700]) = (7, 1);
        a.push(0);
        assert_eq!(found(&recording, vec![(0, a), (3, b)]), [(0, 100, 1), (3, 700, 1), (3, 4096 + 0x11, 1)]);
    }

    #[test]
    fn what_is_cut_off_is_gone() {
        let recording = trace(&[
            (Kind::Written, file_address(3, 5000), 0xFF, 1),
            (Kind::Written, file_address(3, 10), 0xFF, 1),
            (Kind::Call, file_address(3, 0), 11 << 8 | 7, 1),
            (Kind::Call, file_address(3, 0), 8192 << 8 | 7, 1),
        ]);
        let mut b = vec![0; 8192];
        b[10] = 0xFF;
        assert_eq!(found(&recording, vec![(3, b)]), []);
    }

    #[test]
    fn many_pages_come_in_several_passes() {
        let recording = trace(&[]);
        let stores: Vec<u64> = (0..50).map(|i| file_address(i * 7 % 4, u64::from(i) * 4096)).collect();
        let (mut seen, mut from) = (BTreeMap::new(), 0);
        while from != u64::MAX {
            let mut window = Window::new(&recording, from, 8);
            stores.iter().for_each(|place| window.store(*place, *place, 8));
            assert!(window.pages.len() <= 8);
            seen.extend(window.pages);
            from = window.to;
        }
        assert_eq!(seen.len(), 50);
        assert!(seen.iter().all(|(place, page)| page[..8] == place.to_le_bytes()));
    }
}
