//! Small machines hold their promises; every seeded mistake is caught with a trace that replays.

use super::PathSpace;
use crate::asap::{Asap, Mutant};
use crate::bbb::Bbb;
use crate::hops::Hops;
use explore::{Explored, explore, replay};

const SMALL: PathSpace<Asap> = PathSpace::small(Asap::SMALL);
const LIMIT: usize = 2_000_000;

fn with(recovery_table: usize) -> Asap {
    Asap { recovery_table, ..Asap::SMALL }
}

#[test]
fn asap_neither_gets_stuck_nor_loses_anything() {
    let spaces = [
        SMALL,
        PathSpace { model: with(0), ..SMALL },
        PathSpace { model: with(1), epoch_table: 2, ..SMALL },
        PathSpace { epochs: 1, stores: 2, persist_buffer: 2, ..SMALL },
        PathSpace { cores: 3, epochs: 1, controllers: 1, lines: 2, ..SMALL },
        PathSpace { cores: 1, epochs: 4, persist_buffer: 3, ..SMALL },
    ];
    spaces.into_iter().for_each(holds);
    // So many states: a change of the protocol shows here.
    assert_eq!(explore(&SMALL, LIMIT).states, 39_905);
}

#[test]
fn hops_neither_gets_stuck_nor_loses_anything() {
    let small = PathSpace::small(Hops { mutant: None });
    let spaces = [
        small,
        PathSpace { epoch_table: 2, persist_buffer: 2, ..small },
        PathSpace { cores: 3, epochs: 1, controllers: 1, ..small },
        PathSpace { epochs: 1, stores: 2, persist_buffer: 2, ..small },
    ];
    spaces.into_iter().for_each(holds);
}

#[test]
fn bbb_keeps_whatever_is_visible() {
    let small = PathSpace::small(Bbb { mutant: None });
    let spaces = [
        small,
        PathSpace { persist_buffer: 2, lines: 1, ..small },
        PathSpace { cores: 3, epochs: 1, controllers: 1, ..small },
    ];
    spaces.into_iter().for_each(holds);
}

fn holds<S: Explored + std::fmt::Debug>(space: S) {
    let outcome = explore(&space, LIMIT);
    assert!(outcome.complete && outcome.violation.is_none(), "{space:?}: {outcome:?}");
    assert!(outcome.finals > 0 && outcome.depth > 5, "{space:?}: {outcome:?}");
}

/// A mistake is found on `space`, and its trace leads there again.
fn caught<S: Explored>(name: &str, space: &S) {
    let violation = explore(space, LIMIT).violation.expect(name);
    assert!(violation.message.starts_with("a power failure"), "{name}: {violation:?}");
    let again = replay(space, &violation.choices).unwrap();
    assert_eq!((again.trace, again.message), (violation.trace, Some(violation.message)), "{name}");
}

#[test]
fn every_mutant_is_caught_with_a_trace_that_replays() {
    for (name, mutant, _) in Mutant::ALL {
        let model = Asap { mutant: Some(mutant), ..Asap::SMALL };
        caught(name, &PathSpace { epochs: 3, ..PathSpace::small(model) });
    }
    for (name, mutant, _) in crate::hops::Mutant::ALL {
        let small = PathSpace::small(Hops { mutant: Some(mutant) });
        caught(name, &PathSpace { persist_buffer: 2, ..small });
    }
    for (name, mutant, _) in crate::bbb::Mutant::ALL {
        caught(name, &PathSpace::small(Bbb { mutant: Some(mutant) }));
    }
}

/// What is explored depends on the limit alone.
#[test]
fn a_limit_ends_the_search_and_is_told() {
    let outcome = explore(&SMALL, 100);
    assert!(!outcome.complete && outcome.violation.is_none() && outcome.states >= 100);
}
