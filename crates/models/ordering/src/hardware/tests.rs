//! Sizes by hand, and what models say of a power failure against what they do at one.

use super::build::bits_for;
use super::{Across, Around, Entries, Fate, Hardware, Nature, Place, Sized, Speculates};
use crate::MODELS;
use crate::models::SYSTEM;
use crate::plug::Registered;
use protocol::params::Setting;
use protocol::{AddressMap, FenceKind, LineWrite, Mask, Outbox, PM_BASE, Settings, line_of};
use units::Time;

/// The server of ASAP §VII-D: 32 cores, and caches as in its Table II, without those of instructions.
const SERVER: Around = Around {
    cores: 32,
    controllers: 2,
    private_lines: ((32 << 10) + (2 << 20)) / 64,
    shared_lines: (16 << 20) / 64,
};

fn settings(name: &str) -> Settings {
    let mut settings = Settings::defaults(SYSTEM.parameters.iter().copied().flatten());
    settings.set("ordering.model", Setting::Text(name.into()));
    settings
}

fn model(name: &str) -> &'static Registered {
    MODELS.iter().find(|m| m.name == name).unwrap()
}

fn hardware(name: &str) -> Hardware {
    Hardware::of(model(name).model, &settings(name), &SERVER, |_| None)
}

#[test]
fn so_many_bits_tell_so_many_things_apart() {
    let bits: Vec<u64> = [0, 1, 2, 3, 4, 5, 32, 33].into_iter().map(bits_for).collect();
    assert_eq!(bits, [0, 0, 1, 2, 2, 3, 5, 6]);
}

#[test]
fn a_server_drains_what_its_authors_count() {
    assert_eq!(hardware("bbb").drained_bytes(), 64 << 10);
    assert_eq!(hardware("asap").drained_bytes(), 4 << 10);
    // 42 MB of caches half of whose lines are changed.
    assert_eq!(hardware("eadr").drained_bytes() / 2 / 1_000_000, 42);
    assert_eq!(hardware("eadr").bytes(), 0, "the caches are there anyhow");
    assert_eq!(hardware("hops").drained_bytes(), 0);
}

#[test]
fn sizes_follow_from_the_parameters() {
    let mut settings = settings("asap");
    let table = |settings: &Settings| {
        let all = Hardware::of(model("asap").model, settings, &SERVER, |_| None);
        all.structures.into_iter().find(|s| s.structure.name == "recovery table").unwrap()
    };
    let usual = table(&settings);
    // Address, a bit a byte, bytes, one of 32 cores and one of 32 epochs, and which kind of record.
    assert_eq!((usual.entries, usual.structure.entry_bits), (32, 42 + 64 + 512 + 5 + 5 + 1));
    assert_eq!((usual.bytes(), usual.count), (32 * 629 / 8, 2));
    settings.set("ordering.recovery_table", Setting::Number(8));
    assert_eq!(table(&settings).drained_bytes(), 8 * 64 * 2);
}

#[test]
fn a_table_without_entries_is_not_there() {
    for (name, key) in [("asap", "ordering.recovery_table"), ("cwsp", "ordering.undo_log")] {
        let mut settings = settings(name);
        let saved =
            |settings: &Settings| Hardware::of(model(name).model, settings, &SERVER, |_| None).drained();
        let usual = saved(&settings);
        settings.set(key, Setting::Number(0));
        let table = key.trim_start_matches("ordering.").replace('_', " ");
        assert!(usual.contains(&table.as_str()) && !saved(&settings).contains(&table.as_str()), "{name}");
    }
}

#[test]
fn a_clock_grows_with_the_cores() {
    let of = |cores| {
        let around = Around { cores, ..SERVER };
        Hardware::of(model("vorpal").model, &settings("vorpal"), &around, |_| None).bytes_at(Place::Core)
    };
    // 32 entries of 4 bytes a core, and a core and a bit of a dependence in each of 32 epochs.
    assert_eq!(of(32) - of(16), 32 * 4 * 16 + 32 * (16 + 1) / 8);
}

#[test]
fn what_has_no_bound_is_as_large_as_a_run_needed() {
    let of = |counted: Option<f64>| {
        let all = Hardware::of(model("pmem-spec").model, &settings("pmem-spec"), &SERVER, |name| {
            assert_eq!(name, "ordering.speculation_buffer.max");
            counted
        });
        let is_watched = |s: &&Sized| matches!(s.structure.entries, Entries::AsNeeded(_));
        all.structures.iter().find(is_watched).unwrap().entries
    };
    assert_eq!((of(None), of(Some(7.0))), (0, 7));
}

/// Bytes that a core side saves when the power fails after a store and a fence of which nothing has left.
fn saves(name: &str) -> bool {
    let (settings, model) = (settings(name), model(name).model);
    let mut core = model.core_side(&settings, 0, AddressMap::new(2, 1, 64));
    let (mut out, mut saved) = (Outbox::default(), 0);
    if model.capabilities().orders_stores {
        let write = LineWrite { line: line_of(PM_BASE), mask: Mask::MAX, data: [7; 64] };
        core.store(Time::ZERO, &write, &mut out).unwrap();
        _ = core.fence(Time::ZERO, FenceKind::Ofence, &mut out);
    }
    core.power_fail(&mut |_, _| saved += 1);
    saved > 0 || model.capabilities().caches_persist
}

#[test]
fn what_a_model_says_of_a_power_failure_is_what_it_does() {
    for registered in MODELS {
        let (name, all) = (registered.name, hardware(registered.name));
        assert_eq!(all.needs_battery(), saves(name), "{name}");
        let undone = all.structures.iter().any(|s| matches!(s.structure.fate, Fate::Undone(_)));
        let speculates = Nature::of(registered.model, &settings(name)).speculates;
        assert_eq!(undone, speculates == Speculates::Writes, "{name}");
        assert_eq!(all.drained().is_empty(), all.drained_bytes() == 0, "{name}");
    }
}

#[test]
fn models_are_what_they_are_seen_to_be() {
    use Across::{AtOnce, OneKeeps, Waits};
    let expected = [
        ("intel", Waits, Speculates::Nothing),
        ("hops", Waits, Speculates::Nothing),
        ("asap", AtOnce, Speculates::Writes),
        ("bbb", AtOnce, Speculates::Nothing),
        ("eadr", AtOnce, Speculates::Nothing),
        ("dpo", OneKeeps, Speculates::Nothing),
        ("lb++", Waits, Speculates::Nothing),
        ("lrp", Waits, Speculates::Nothing),
        ("strandweaver", Waits, Speculates::Nothing),
        ("pmem-spec", OneKeeps, Speculates::Reads),
        ("ppa", AtOnce, Speculates::Nothing),
        ("capri", AtOnce, Speculates::Nothing),
        ("cwsp", AtOnce, Speculates::Writes),
        ("vorpal", AtOnce, Speculates::Nothing),
    ];
    for (name, across, speculates) in expected {
        assert_eq!(Nature::of(model(name).model, &settings(name)), Nature { across, speculates }, "{name}");
    }
}

#[test]
fn what_is_seen_hangs_on_parameters() {
    let mut settings = settings("asap");
    settings.set("ordering.eager", Setting::Flag(false));
    let waits = Nature { across: Across::Waits, speculates: Speculates::Nothing };
    assert_eq!(Nature::of(model("asap").model, &settings), waits);
    // A table without room refuses, and undoes nothing.
    settings.set("ordering.eager", Setting::Flag(true));
    settings.set("ordering.recovery_table", Setting::Number(0));
    assert_eq!(Nature::of(model("asap").model, &settings).speculates, Speculates::Nothing);
}
