//! Small machines hold their promises; every seeded mistake is caught.

use super::PathSpace;
use crate::asap::Asap;
use crate::bbb::Bbb;
use crate::hops::Hops;
use explore::{Held, explore};

const SMALL: PathSpace<Asap> = PathSpace::small(Asap::SMALL);

#[test]
fn asap_neither_gets_stuck_nor_loses_anything_and_every_mutant_is_caught() {
    let with = |recovery_table: usize| Asap { recovery_table, ..Asap::SMALL };
    Held {
        clean: vec![
            (SMALL, 39_993),
            (PathSpace { model: with(0), ..SMALL }, 22_375),
            (PathSpace { model: with(1), epoch_table: 2, ..SMALL }, 34_799),
            (PathSpace { epochs: 1, stores: 2, persist_buffer: 2, ..SMALL }, 279_495),
            (PathSpace { cores: 3, epochs: 1, controllers: 1, lines: 2, ..SMALL }, 85_357),
            (PathSpace { cores: 1, epochs: 4, persist_buffer: 3, ..SMALL }, 8_459),
        ],
        seeded: |mutant| {
            let model = Asap { mutant: Some(mutant), ..Asap::SMALL };
            PathSpace { epochs: 3, ..PathSpace::small(model) }
        },
        wrong: &["a power failure"],
    }
    .holds();
}

#[test]
fn hops_neither_gets_stuck_nor_loses_anything_and_every_mutant_is_caught() {
    let small = PathSpace::small(Hops { mutant: None });
    Held {
        clean: vec![
            (small, 64_313),
            (PathSpace { epoch_table: 2, persist_buffer: 2, ..small }, 317_081),
            (PathSpace { cores: 3, epochs: 1, controllers: 1, ..small }, 113_401),
            (PathSpace { epochs: 1, stores: 2, persist_buffer: 2, ..small }, 217_965),
        ],
        seeded: |mutant| {
            let small = PathSpace::small(Hops { mutant: Some(mutant) });
            PathSpace { persist_buffer: 2, ..small }
        },
        wrong: &["a power failure"],
    }
    .holds();
}

#[test]
fn bbb_keeps_whatever_is_visible_and_every_mutant_is_caught() {
    let small = PathSpace::small(Bbb { mutant: None });
    Held {
        clean: vec![
            (small, 2_135),
            (PathSpace { persist_buffer: 2, lines: 1, ..small }, 2_011),
            (PathSpace { cores: 3, epochs: 1, controllers: 1, ..small }, 6_865),
        ],
        seeded: |mutant| PathSpace::small(Bbb { mutant: Some(mutant) }),
        wrong: &["a power failure"],
    }
    .holds();
}

/// What is explored depends on the limit alone.
#[test]
fn a_limit_ends_the_search_and_is_told() {
    let outcome = explore(&SMALL, 100);
    assert!(!outcome.complete && outcome.violation.is_none() && outcome.states >= 100);
}
