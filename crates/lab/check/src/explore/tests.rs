use super::asap::AsapSpace;
use super::nearpm::NearSpace;
use super::*;
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
        let outcome = explore(&space, 2_000_000, |_| {});
        assert!(outcome.complete && outcome.violation.is_none(), "{space:?}: {outcome:?}");
        assert!(outcome.finals > 0 && outcome.depth > 10);
    }
}

#[test]
fn every_mutant_is_caught_with_a_trace_that_replays() {
    for (name, mutant, _) in Mutant::ALL {
        let space = AsapSpace { mutant: Some(mutant), epochs: 3, ..AsapSpace::SMALL };
        let outcome = explore(&space, 2_000_000, |_| {});
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
        let outcome = explore(&space, 2_000_000, |_| {});
        assert!(outcome.complete && outcome.violation.is_none(), "{space:?}: {outcome:?}");
        assert!(outcome.finals > 0 && outcome.depth > 10);
    }
    assert!(NearSpace { devices: 3, ..NearSpace::SMALL }.check_bounds().is_err());
}

#[test]
fn every_mutant_of_nearpm_is_caught_with_a_trace_that_replays() {
    for (name, mutant, _) in neardata::Mutant::ALL {
        let space = NearSpace { mutant: Some(mutant), ..NearSpace::SMALL };
        let outcome = explore(&space, 2_000_000, |_| {});
        let violation = outcome.violation.expect(name);
        assert_eq!(violation.trace.len(), outcome.depth, "{name}: {violation:?}");
    }
}

/// What is explored depends on the limit alone.
#[test]
fn a_limit_ends_the_search_and_is_told() {
    let outcome = explore(&AsapSpace::SMALL, 100, |_| {});
    assert!(!outcome.complete && outcome.violation.is_none() && outcome.states >= 100);
}
