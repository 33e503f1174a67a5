//! What every interleaving keeps.

use super::Cwsp;
use crate::early::EarlyMember;
use crate::explore::PathSpace;
use explore::Held;

#[test]
fn logs_undo_what_has_not_committed_and_every_mutant_is_caught() {
    let small = PathSpace::small(Cwsp::SMALL);
    let refusing = EarlyMember { records: 0, ..Cwsp::SMALL.0 };
    Held {
        clean: vec![
            (small, 39_993),
            (PathSpace { model: Cwsp(refusing), ..small }, 22_375),
            (PathSpace { epochs: 1, stores: 2, persist_buffer: 2, ..small }, 307_567),
            (PathSpace { cores: 3, epochs: 1, controllers: 1, ..small }, 85_357),
        ],
        seeded: |mutant| {
            let sides = EarlyMember { mutant: Some(mutant), ..Cwsp::SMALL.0 };
            PathSpace { epochs: 3, ..PathSpace::small(Cwsp(sides)) }
        },
        wrong: &["a power failure"],
    }
    .holds();
}
