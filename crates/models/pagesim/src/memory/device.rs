//! Device files that programs have mapped: their pages are online and in use while a mapping shows them.

use super::MemoryManager;
use units::Time;

/// What is mapped of the region for device files: a stretch of frames a mapping, in order.
#[derive(Debug, Default)]
pub(crate) struct Mapped(Vec<(u64, u64)>);

impl Mapped {
    /// Frames that some mapping shows.
    pub(crate) fn frames(&self) -> u64 {
        let count = |(sum, past): (u64, u64), (first, end): &(u64, u64)| {
            let end = *end.max(&past);
            (sum + end - past.clamp(*first, end), end)
        };
        self.0.iter().fold((0, 0), count).0
    }

    fn add(&mut self, stretch: (u64, u64)) {
        let at = self.0.partition_point(|other| *other < stretch);
        self.0.insert(at, stretch);
    }

    fn remove(&mut self, stretch: (u64, u64)) {
        if let Ok(at) = self.0.binary_search(&stretch) {
            self.0.remove(at);
        }
    }
}

impl MemoryManager {
    /// A mapping shows `pages` frames from `first` on, or does not any more.
    pub(super) fn show(&mut self, first: u64, pages: u64, shows: bool, now: Time) {
        let before = self.mapped.frames();
        let change = if shows { Mapped::add } else { Mapped::remove };
        change(&mut self.mapped, (first, first + pages));
        let more = self.mapped.frames() as i64 - before as i64;
        self.usage.online.change(now, more);
        self.usage.used.change(now, more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_counts_once_however_many_mappings_show_it() {
        let mut mapped = Mapped::default();
        for (stretch, frames) in
            [((10, 20), 10), ((10, 20), 10), ((15, 17), 10), ((12, 30), 20), ((40, 41), 21)]
        {
            mapped.add(stretch);
            assert_eq!(mapped.frames(), frames, "{stretch:?}");
        }
        for (stretch, frames) in [((12, 30), 11), ((10, 20), 11), ((10, 20), 3), ((15, 17), 1), ((40, 41), 0)]
        {
            mapped.remove(stretch);
            assert_eq!(mapped.frames(), frames, "{stretch:?}");
        }
    }
}
