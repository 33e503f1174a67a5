//! What every interleaving keeps.

use super::Vorpal;
use crate::early::EarlyMember;
use crate::explore::PathSpace;
use explore::Held;

#[test]
fn controllers_keep_the_order_and_every_mutant_is_caught() {
    let small = PathSpace::small(Vorpal::SMALL);
    let refusing = EarlyMember { records: 0, ..Vorpal::SMALL.0 };
    Held {
        clean: vec![
            (small, 36_657),
            (PathSpace { model: Vorpal(refusing), ..small }, 29_127),
            (PathSpace { epoch_table: 2, ..small }, 30_761),
            (PathSpace { cores: 3, epochs: 1, controllers: 1, ..small }, 83_485),
        ],
        seeded: |mutant| {
            let sides = EarlyMember { mutant: Some(mutant), ..Vorpal::SMALL.0 };
            PathSpace { epochs: 3, ..PathSpace::small(Vorpal(sides)) }
        },
        wrong: &["a power failure"],
    }
    .holds();
}
