//! Words of an image against all stores of their line.

use super::*;
use proptest::prelude::*;
use protocol::{PM_BASE, merge};

/// Stores of one to eight bytes within two lines.
fn any_stores() -> impl Strategy<Value = Vec<Event>> {
    let store = (0..2u64, 0..64u64, 1..=8u8, any::<u64>()).prop_map(|(line, at, size, value)| {
        let (at, size) = (at.min(64 - u64::from(size)), size);
        Event { kind: Kind::Store, address: PM_BASE + 64 * line + at, value, site: 0, thread: 0, size }
    });
    prop::collection::vec(store, 0..24)
}

proptest! {
    #[test]
    fn a_word_is_what_all_that_is_there_makes_of_its_line(
        first in any_stores(),
        then in any_stores(),
        model in prop::sample::select(&[Persistency::Px86, Persistency::Px86Line, Persistency::Release]),
    ) {
        let mut contents = Pages::default();
        for event in &first {
            let (mask, block) = crate::crash::log::block_of(event);
            contents.write(line_of(event.address), &block, mask);
        }
        let log = Log { events: then, threads: 1, contents, ..Log::default() };
        let mut tracker = Tracker::new(&log, model);
        while tracker.step() {}
        for address in (PM_BASE..PM_BASE + 128).filter(|a| a % 64 <= 56 && (!model.by_word() || a % 8 == 0)) {
            let unit = tracker.unit(address);
            let mut block = tracker.persisted.read(line_of(address));
            let at = offset_of(address);
            prop_assert_eq!(tracker.persisted.word(address), word_of(&block, at));
            let stores = tracker.stores(unit);
            for kept in 0..=stores.len() {
                prop_assert_eq!(tracker.word(address, &stores[..kept]), word_of(&block, at));
                if let Some(next) = stores.get(kept) {
                    let (mask, new) = tracker.block(unit, next);
                    merge(&mut block, &new, mask);
                }
            }
        }
    }
}
