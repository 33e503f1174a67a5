//! The handshake loses nothing; every seeded mistake is caught.

use super::HandshakeSpace;
use explore::Held;

#[test]
fn the_handshake_neither_gets_stuck_nor_loses_anything_and_every_mutant_is_caught() {
    let small = HandshakeSpace::SMALL;
    Held {
        clean: vec![
            (small, 3_945),
            (HandshakeSpace { merges: true, ..small }, 3_713),
            (HandshakeSpace { cores: 2, accesses: 3, ..small }, 2_627),
            (
                HandshakeSpace {
                    cores: 2,
                    slots: 2,
                    pages: 3,
                    accesses: 3,
                    queue_depth: 2,
                    window_pages: 2,
                    ..small
                },
                68_380,
            ),
        ],
        seeded: |mutant| HandshakeSpace { mutant: Some(mutant), ..HandshakeSpace::SMALL },
        wrong: &["a power failure", "page ", "device "],
    }
    .holds();
}
