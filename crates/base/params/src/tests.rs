use crate::*;
use units::Time;

/// How devices agree.
#[derive(Clone, Copy, Debug, PartialEq, Words)]
enum Sync {
    Delayed,
    PollAll,
    #[word = "1600"]
    Fast,
}

#[derive(Parameters)]
#[parameters(prefix = "device.fault")]
struct Fault {
    /// stops after
    #[param(default = "0", source = "-", min = 0, max = 9)]
    stops: u32,
}

#[derive(Parameters)]
#[parameters(prefix = "device")]
#[expect(dead_code, reason = "the rows are what is looked at")]
struct Device {
    /// how devices
    /// agree
    #[param(default = "poll-all", source = "a")]
    sync: Sync,
    /// or not
    #[param(default = "none", source = "a")]
    r#use: Option<Sync>,
    #[param(flatten)]
    fault: Fault,
    /// a size
    #[param(default = "32 KiB", source = "a", min = 1024, max = 65536, bytes)]
    size: u64,
    /// a power
    #[param(default = "8", source = "a", min = 1, max = 64, power_of_two)]
    ways: usize,
    /// a multiple
    #[param(default = "96", source = "a", multiple_of = 32, max = 96, name = "deep.block")]
    block: u64,
    /// a ratio
    #[param(default = "1.5", source = "a", min = 500, max = 3000, thousandths)]
    ipc: u64,
    /// a time
    #[param(default = "9.02", source = "a", range = ns::SERVICE)]
    wait_ns: Dur,
    /// on
    #[param(default = "true", source = "a")]
    on: bool,
    /// a text
    #[param(default = "any", source = "a")]
    name: String,
}

#[test]
fn a_structs_fields_are_the_rows_of_its_table_in_their_order() {
    let rows: Vec<_> = Device::TABLE.iter().map(|p| (p.key, p.kind, p.meaning)).collect();
    assert_eq!(rows[0], ("device.sync", Kind::Choice(&["delayed", "poll-all", "1600"]), "how devices agree"));
    assert_eq!(rows[1], ("device.use", Kind::Choice(&["none", "delayed", "poll-all", "1600"]), "or not"));
    assert_eq!(rows[2], ("device.fault.stops", Kind::Count { min: 0, max: 9 }, "stops after"));
    assert_eq!(rows[3], ("device.size", Kind::Bytes { min: 1024, max: 65536 }, "a size"));
    assert_eq!(rows[4], ("device.ways", Kind::PowerOfTwo { min: 1, max: 64 }, "a power"));
    assert_eq!(rows[5], ("device.deep.block", Kind::Multiple { of: 32, max: 96 }, "a multiple"));
    assert_eq!(rows[6], ("device.ipc", Kind::Thousandths { min: 500, max: 3000 }, "a ratio"));
    let ns = Kind::Nanoseconds { min_ps: 1, max_ps: 1_000_000_000 };
    assert_eq!(rows[7], ("device.wait_ns", ns, "a time"));
    assert_eq!(rows[8], ("device.on", Kind::Flag, "on"));
    assert_eq!((rows[9], rows.len()), (("device.name", Kind::Text, "a text"), 10));
}

#[test]
fn settings_become_the_struct() {
    let mut settings = Settings::defaults(Device::TABLE);
    let d = Device::from_settings(&settings);
    assert_eq!((d.sync, d.r#use, d.fault.stops, d.size), (Sync::PollAll, None, 0, 32768));
    assert_eq!((d.ways, d.block, d.ipc, d.wait_ns), (8, 96, 1500, Dur::ps(9020)));
    settings.set("device.use", Device::TABLE[1].kind.read("1600").unwrap());
    settings.set("device.fault.stops", Setting::Number(3));
    let d = Device::from_settings(&settings);
    assert_eq!((d.r#use, d.fault.stops), (Some(Sync::Fast), 3));
    assert_eq!(Sync::ALL.iter().map(Words::word).collect::<Vec<_>>(), Sync::WORDS);
}

#[test]
fn defaults_are_judged_at_compile_time_as_values_are_at_run_time() {
    let kinds = [
        Kind::Count { min: 1, max: 64 },
        Kind::PowerOfTwo { min: 2, max: 64 },
        Kind::Multiple { of: 3, max: 9 },
        Kind::Multiple { of: 4096, max: 1 << 20 },
        Kind::MultipleOrZero { of: 4096, max: 1 << 20 },
        Kind::Thousandths { min: 500, max: 3000 },
        Kind::Nanoseconds { min_ps: 1, max_ps: 5_000_000 },
        Kind::Bytes { min: 64, max: 1 << 20 },
        Kind::Choice(&["true", "3"]),
        Kind::Flag,
        Kind::Text,
    ];
    let texts = [
        "",
        "0",
        "1",
        "2",
        "3",
        "6",
        "9",
        "12",
        "64",
        "65",
        "1.5",
        "0.001",
        "0.0001",
        "3.",
        ".5",
        "5000",
        "5001",
        "32 KiB",
        "1 MiB",
        "2 MiB",
        "32KB",
        "true",
        "false",
        "none",
        "-1",
        "18446744073709551616",
    ];
    for kind in kinds {
        for text in texts {
            // Looser only where a value may be written in ways that no default is.
            let loose = matches!((kind, text), (Kind::Nanoseconds { .. }, "3." | ".5" | "0.0001"));
            assert!(loose || fits(&kind, text) == kind.read(text).is_ok(), "{kind:?} {text}");
        }
    }
}

#[derive(Default, Statistics)]
#[statistics(prefix = "device")]
struct Counts {
    /// requests
    requests: u64,
    /// bytes moved
    #[stat(unit = "B", name = "moved.bytes", unless_zero)]
    moved: u64,
    /// time that programs waited
    #[stat(name = ".cpu.waited")]
    waited: Dur,
    /// filling of a queue
    queue: Occupancy,
    /// time in a cache, where there is one
    cached: Option<Dur>,
    /// filling of a filter
    filter: Option<Occupancy>,
    #[stat(skip)]
    _own: u8,
}

#[derive(Statistics)]
#[statistics(prefix = "")]
struct Computed {
    /// energy
    #[stat(unit = "J")]
    energy_j: f64,
    /// energy of a battery
    #[stat(unit = "J")]
    battery_j: Option<f64>,
}

#[test]
fn a_statistic_is_said_once_and_handed_up_under_its_name() {
    let rows: Vec<_> = Counts::TABLE.iter().map(|s| (s.name, s.unit, s.meaning)).collect();
    let expected = [
        ("device.requests", "1", "requests"),
        ("device.moved.bytes", "B", "bytes moved"),
        ("cpu.waited", "ns", "time that programs waited"),
        ("device.queue.mean", "1", "mean filling of a queue over time"),
        ("device.queue.p99", "1", "filling of a queue not exceeded in 99 % of the time"),
        ("device.queue.max", "1", "highest filling of a queue"),
        ("device.cached", "ns", "time in a cache, where there is one"),
        ("device.filter.mean", "1", "mean filling of a filter over time"),
        ("device.filter.p99", "1", "filling of a filter not exceeded in 99 % of the time"),
        ("device.filter.max", "1", "highest filling of a filter"),
    ];
    assert_eq!(rows, expected);
    let mut counts = Counts { requests: 3, waited: Dur::ns(2), ..Counts::default() };
    counts.queue.set(Time::ZERO, 2);
    counts.queue.pass(Time::from_ps(10));
    let mut tally = Tally::default();
    counts.hand_up(&mut tally);
    let names: Vec<_> = tally.iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["device.requests", "cpu.waited", "device.queue"]);
    let with_cache = Counts { cached: Some(Dur::ZERO), ..Counts::default() };
    let mut tally = Tally::default();
    with_cache.hand_up(&mut tally);
    assert!(tally.get("device.cached").is_some(), "a part that is there is told, whatever it counted");
    let mut seen = Vec::new();
    Computed { energy_j: 1.5, battery_j: None }.each(&mut |name, value| seen.push((name, value.to_string())));
    assert_eq!(seen, [("energy_j", "1.5".to_string())]);
    assert_eq!(Computed::TABLE[0].unit, "J");
}

#[test]
fn one_alternative_has_to_hold_and_all_of_it() {
    let acts = "device.sync=delayed and device.ways!=8 or device.on=false";
    let param = Param { acts, ..Device::TABLE[0] };
    let acts_with = |sets: &[(&str, &str)]| {
        let mut settings = Settings::defaults(Device::TABLE);
        for (key, value) in sets {
            let row = Device::TABLE.iter().find(|p| p.key == *key).unwrap();
            settings.set(row.key, row.kind.read(value).unwrap());
        }
        param.acts_with(&settings)
    };
    assert!(
        !acts_with(&[]) && !acts_with(&[("device.sync", "delayed")]) && !acts_with(&[("device.ways", "4")])
    );
    assert!(acts_with(&[("device.sync", "delayed"), ("device.ways", "4")]));
    assert!(acts_with(&[("device.on", "false")]));
    assert_eq!(
        param.conditions().map(|c| c.key).collect::<Vec<_>>(),
        ["device.sync", "device.ways", "device.on"]
    );
}
