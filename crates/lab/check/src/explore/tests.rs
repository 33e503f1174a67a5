use super::asap::AsapSpace;
use super::nearpm::NearSpace;
use super::remote::RemoteSpace;
use super::*;
use ::pberry::{self, Walks};
use ordering::asap::Mutant;

#[test]
fn asap_neither_gets_stuck_nor_loses_anything() {
    let spaces = [
        AsapSpace::SMALL,
        AsapSpace { recovery_table: 0, ..AsapSpace::SMALL },
        AsapSpace { recovery_table: 1, epoch_table: 2, ..AsapSpace::SMALL },
        AsapSpace { epochs: 1, stores: 2, persist_buffer: 2, ..AsapSpace::SMALL },
        AsapSpace { cores: 3, epochs: 1, controllers: 1, lines: 2, ..AsapSpace::SMALL },
        AsapSpace { cores: 1, epochs: 4, persist_buffer: 3, ..AsapSpace::SMALL },
    ];
    for space in spaces {
        let outcome = explore(&space, 2_000_000);
        assert!(outcome.complete && outcome.violation.is_none(), "{space:?}: {outcome:?}");
        assert!(outcome.finals > 0 && outcome.depth > 10);
    }
}

#[test]
fn every_mutant_is_caught_with_a_trace_that_replays() {
    for (name, mutant, _) in Mutant::ALL {
        let space = AsapSpace { mutant: Some(mutant), epochs: 3, ..AsapSpace::SMALL };
        let outcome = explore(&space, 2_000_000);
        let violation = outcome.violation.expect(name);
        assert_eq!(violation.trace.len(), outcome.depth, "{name}: {violation:?}");
        assert!(violation.message.starts_with("a power failure"), "{name}: {violation:?}");
    }
}

#[test]
fn nearpm_s_devices_neither_get_stuck_nor_lose_anything() {
    let spaces = [
        NearSpace::SMALL,
        NearSpace { units: 1, host_queue: 1, ..NearSpace::SMALL },
        NearSpace { devices: 1, transactions: 4, ..NearSpace::SMALL },
        NearSpace { devices: 1, cores: 2, ..NearSpace::SMALL },
    ];
    for space in spaces {
        let outcome = explore(&space, 2_000_000);
        assert!(outcome.complete && outcome.violation.is_none(), "{space:?}: {outcome:?}");
        assert!(outcome.finals > 0 && outcome.depth > 10);
    }
    assert!(NearSpace { devices: 3, ..NearSpace::SMALL }.check_bounds().is_err());
}

#[test]
fn every_mutant_of_nearpm_is_caught_with_a_trace_that_replays() {
    for (name, mutant, _) in ::nearpm::Mutant::ALL {
        let space = NearSpace { mutant: Some(mutant), ..NearSpace::SMALL };
        let outcome = explore(&space, 2_000_000);
        let violation = outcome.violation.expect(name);
        assert_eq!(violation.trace.len(), outcome.depth, "{name}: {violation:?}");
    }
}

#[test]
fn remote_memory_gives_every_byte_whatever_the_network_and_the_host_do() {
    let spaces = [
        RemoteSpace { accesses: 2, ..RemoteSpace::SMALL },
        RemoteSpace { lines: 1, accesses: 4, duplicates: 0, ..RemoteSpace::SMALL },
        RemoteSpace { walks: Walks::WholePage, accesses: 2, ..RemoteSpace::SMALL },
        RemoteSpace { walks: Walks::Untracked, accesses: 2, ..RemoteSpace::SMALL },
        RemoteSpace { pages: 3, frames: 2, lines: 1, losses: 0, duplicates: 0, ..RemoteSpace::SMALL },
    ];
    for space in spaces {
        let outcome = explore(&space, 2_000_000);
        assert!(outcome.complete && outcome.violation.is_none(), "{space:?}: {outcome:?}");
        assert!(outcome.finals > 0 && outcome.depth > 10);
    }
    assert!(RemoteSpace { pages: 9, ..RemoteSpace::SMALL }.check_bounds().is_err());
}

#[test]
fn every_mutant_of_remote_memory_is_caught_with_a_trace_that_replays() {
    for (name, mutant, _) in pberry::Mutant::ALL {
        let small = RemoteSpace { mutant: Some(mutant), losses: 0, away: false, ..RemoteSpace::SMALL };
        let space = match mutant {
            // Two writes of one page, and a read between others.
            pberry::Mutant::OldWritesTaken => RemoteSpace { lines: 1, accesses: 5, ..small },
            pberry::Mutant::WalkNeverFails => RemoteSpace { away: true, accesses: 1, ..small },
            // A line asked for alone and with its page: the page has a third.
            pberry::Mutant::ReplyOverwrites | pberry::Mutant::StaleReplyTaken => {
                RemoteSpace { lines: 3, duplicates: 0, ..small }
            }
            _ => RemoteSpace { duplicates: 0, ..small },
        };
        let outcome = explore(&space, 4_000_000);
        let violation = outcome.violation.expect(name);
        assert_eq!(violation.trace.len(), outcome.depth, "{name}: {violation:?}");
    }
}

/// What is explored depends on the limit alone.
#[test]
fn a_limit_ends_the_search_and_is_told() {
    let outcome = explore(&AsapSpace::SMALL, 100);
    assert!(!outcome.complete && outcome.violation.is_none() && outcome.states >= 100);
}
