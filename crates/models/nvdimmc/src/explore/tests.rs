//! The handshake loses nothing; every seeded mistake is caught with a trace that replays.

use super::{HandshakeSpace, Mutant};
use explore::{explore, replay};

const LIMIT: usize = 1_000_000;

#[test]
fn the_handshake_neither_gets_stuck_nor_loses_anything() {
    let small = HandshakeSpace::SMALL;
    let spaces = [
        small,
        HandshakeSpace { merges: true, ..small },
        HandshakeSpace { cores: 2, accesses: 3, ..small },
        HandshakeSpace {
            cores: 2,
            slots: 2,
            pages: 3,
            accesses: 3,
            queue_depth: 2,
            window_pages: 2,
            ..small
        },
    ];
    for space in spaces {
        let outcome = explore(&space, LIMIT);
        assert!(outcome.complete && outcome.violation.is_none(), "{space:?}: {outcome:?}");
        assert!(outcome.finals > 0 && outcome.depth > 10, "{space:?}: {outcome:?}");
    }
}

#[test]
fn every_mutant_is_caught_with_a_trace_that_replays() {
    for (name, mutant, _) in Mutant::ALL {
        let space = HandshakeSpace { mutant: Some(mutant), ..HandshakeSpace::SMALL };
        let violation = explore(&space, LIMIT).violation.expect(name);
        let again = replay(&space, &violation.choices).unwrap();
        assert_eq!((again.trace, again.message), (violation.trace, Some(violation.message)), "{name}");
    }
}
