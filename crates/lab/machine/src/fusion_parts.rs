//! Machines at page fidelity: from their parameters, through their run, to a report.

use crate::describe::{Description, Source, WorkloadDescription};
use crate::error::{ConfigError, RunError};
use crate::report::{Phase, Report, Series, Statistic};
use crate::run::RunOptions;
use kernel::memory::{Costs, Descriptors, Medium, MemorySpec, Rule, SwapSpec, ZoneSpec};
use pagesim::{AmfSpec, CacheSpec, FusionSpec, Machine, MediumSpec, PowerSpec, Sample, Stopped, TieringSpec};
use protocol::{Image, Settings};
use trace::ReplayOptions;
use units::{Dur, Time};
use workloads::{PageContext, PageWorkload, find_pages};

/// Sections of a GiB, pages of a GiB.
const SECTIONS: u64 = 8;
const PAGES: u64 = 1 << 18;

/// Whether this is a machine at page fidelity.
pub(crate) fn is_page(s: &Settings) -> bool {
    s.text("machine.fidelity") == "page"
}

/// Whether the sizes fit together.
///
/// # Errors
/// The key, and what is accepted.
pub(crate) fn check(s: &Settings) -> Result<(), ConfigError> {
    if !is_page(s) {
        return Ok(());
    }
    let wrong = |text: String| Err(ConfigError::new(text));
    let (dram, pm, device) =
        (s.number("fusion.dram_gib"), s.number("fusion.pm_gib"), s.number("fusion.device_gib"));
    let wants_pm = s.text("fusion.design") != "dram-swap";
    if wants_pm && pm == 0 {
        return wrong(format!(
            "fusion.pm_gib = 0: design {} needs persistent memory; give 1 to 1024",
            s.text("fusion.design")
        ));
    }
    if pm > 0 && device >= pm {
        return wrong(format!(
            "fusion.device_gib = {device}: is to be less than fusion.pm_gib = {pm}; give 0 to {}",
            pm - 1
        ));
    }
    if dram + pm > 2000 {
        return wrong(format!("fusion.pm_gib = {pm}: DRAM and it are to be 2000 GiB together, at most"));
    }
    if s.number("os.reserved_mib") >= dram * 1024 {
        return wrong(format!(
            "os.reserved_mib = {}: is not less than fusion.dram_gib = {dram}; give 1 to {}",
            s.number("os.reserved_mib"),
            dram * 1024 - 1
        ));
    }
    if s.number("os.min_free_kib") >= dram << 19 {
        return wrong(format!(
            "os.min_free_kib = {}: watermarks would be above half of fusion.dram_gib = {dram}; give 0 to {}",
            s.number("os.min_free_kib"),
            (dram << 19) - 1
        ));
    }
    for key in ["os.quantum_ns", "os.sample_ns", "fusion.period_ns", "os.scan_period_ns"] {
        if s.dur(key) < Dur::ns(1000) {
            return wrong(format!("{key} = {}: give 1000 or more", s.dur(key).as_ns()));
        }
    }
    let at_line = crate::params::MACHINE.iter().filter(|p| p.key.ends_with(".kind") && p.key != "media.kind");
    for param in at_line.filter(|p| p.default == "none") {
        if s.text(param.key) != "none" {
            let given = s.text(param.key);
            return wrong(format!(
                "{} = {given}: a machine at page fidelity has no such part; give none",
                param.key
            ));
        }
    }
    Ok(())
}

/// The workload's programs at page fidelity.
///
/// # Errors
/// When it has none.
fn workload_of(workload: &WorkloadDescription) -> Result<&'static PageWorkload, ConfigError> {
    let found = match &workload.source {
        Source::Pages(pages) => Some(*pages),
        Source::BuiltIn(built_in) => find_pages(built_in.name),
        Source::Trace(_) => None,
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = workloads::PAGE_WORKLOADS.iter().map(|w| w.name).collect();
        ConfigError::new(format!(
            "workload {}: runs at line fidelity; a machine at page fidelity (machine.fidelity = page) takes {} and trace:FILE",
            workload.name,
            names.join(", ")
        ))
    })
}

/// Simulates `workload` on `machine`.
///
/// # Errors
/// As [`crate::run()`].
pub(crate) fn run(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
) -> Result<Report, RunError> {
    if options.power_fails_at.is_some() {
        return Err(ConfigError::new(format!(
            "{}: a machine at page fidelity carries no bytes, so there is nothing to lose; give a machine at line fidelity",
            machine.name
        ))
        .into());
    }
    let (arrivals, mut kinds): (_, Vec<&str>) = match &workload.source {
        // A recording is one operation, which has no rate.
        Source::Trace(recorded) => {
            let told = ReplayOptions::new(&workload.settings, &machine.settings, false);
            let time_of = move |instructions| told.time_of(instructions);
            (trace::page_programs(&recorded.recording, time_of), Vec::new())
        }
        _ => {
            let pages = workload_of(workload)?;
            let context = PageContext {
                settings: workload.settings.clone(),
                seed: options.seed,
                visits: workload.visits.clone(),
            };
            ((pages.programs)(&context), pages.kinds.to_vec())
        }
    };
    if let Some(visits) = &workload.visits {
        kinds = visits.phases.iter().map(|p| p.name.as_str()).collect();
    }
    let mut m = Machine::new(spec(machine, options)?, arrivals).map_err(|e| stopped(machine, &e))?;
    m.run().map_err(|e| stopped(machine, &e))?;
    if m.totals().failed_maps > 0 {
        let text = format!(
            "{} of the programs' mappings failed: device files do not fit into fusion.device_gib = {}, or programs map more than 2 TiB together",
            m.totals().failed_maps,
            machine.settings.number("fusion.device_gib")
        );
        return Err(ConfigError::new(text).into());
    }
    Ok(report(&m, machine, workload, options, &kinds))
}

fn stopped(machine: &Description, why: &Stopped) -> RunError {
    match why {
        Stopped::NoRoom(room) => RunError::Config(ConfigError::new(format!(
            "{}: page descriptors and the kernel take {} MiB, and fusion.dram_gib has {} MiB; give more DRAM or less fusion.pm_gib",
            machine.name,
            room.wanted / 256,
            room.there / 256
        ))),
        Stopped::OutOfMemory => RunError::Violation(
            "out of memory: memory and the swap device are full, and every program was killed (give more fusion.pm_gib or os.swap_gib, or a smaller workload)".into(),
        ),
    }
}

fn spec(machine: &Description, options: &RunOptions) -> Result<FusionSpec, RunError> {
    let s = &machine.settings;
    let design = s.text("fusion.design");
    let overlap = s.number("fusion.overlap");
    let line = |key: &str| Dur::ps(s.dur(key).as_ps() / overlap);
    let service = |key: &str| Dur::ps(64_000_000 / s.number(key));
    let dram = MediumSpec {
        read: line("fusion.dram_ns"),
        write: line("fusion.dram_ns"),
        service: service("fusion.dram_mbps"),
    };
    let pm = MediumSpec {
        read: line("fusion.pm_read_ns"),
        write: line("fusion.pm_write_ns"),
        service: service("fusion.pm_mbps"),
    };
    let hidden = crate::fusion_hidden::cost(machine, options)?;
    let cache = match design {
        "dram-cache" => Some(CacheSpec {
            pages: s.number("fusion.dram_gib") * PAGES,
            fill: pm.read * 64,
            write_back: pm.write * 64,
        }),
        _ => hidden,
    };
    let number = |key: &str| s.number(key);
    Ok(FusionSpec {
        memory: memory(s),
        seed: options.seed,
        cores: s.count("os.cores"),
        quantum: s.dur("os.quantum_ns"),
        switch: s.dur("os.switch_ns"),
        dram,
        pm,
        cache,
        amf: amf(s),
        tiering: (design == "tiering").then(|| TieringSpec {
            period: s.dur("os.scan_period_ns"),
            scan: number("os.scan_mib") << 20,
            rate: number("os.promote_mib") << 20,
        }),
        sample: s.dur("os.sample_ns"),
        power: PowerSpec {
            idle: number("fusion.idle_mw"),
            active: number("fusion.active_mw"),
            transition: number("fusion.transition_mw"),
        },
        block_bytes: if design == "pm-block" { number("fusion.pm_gib") << 30 } else { 0 },
    })
}

fn memory(s: &Settings) -> MemorySpec {
    let design = s.text("fusion.design");
    let dram =
        ZoneSpec { medium: Medium::Dram, sections: s.number("fusion.dram_gib") * SECTIONS, online: true };
    let all = s.number("fusion.pm_gib") * SECTIONS;
    let device = (s.number("fusion.device_gib") * SECTIONS).min(all);
    let mut left = match design {
        "dram-swap" | "pm-block" => 0,
        _ => all - device,
    };
    // DRAM that is a cache is no memory of its own, but what the kernel keeps and the descriptors need is as fast.
    let mut zones = match design {
        "dram-cache" => Vec::new(),
        _ => vec![dram],
    };
    let node = s.number("fusion.node_gib") * SECTIONS;
    while left > 0 {
        let sections = node.min(left);
        zones.push(ZoneSpec { medium: Medium::Pm, sections, online: design != "amf" });
        left -= sections;
    }
    let rule = match s.text("os.watermarks") {
        "today" => Rule::Today { scale: s.number("os.watermark_scale") },
        _ => Rule::Before46,
    };
    MemorySpec {
        zones,
        descriptor_bytes: s.number("os.descriptor_bytes"),
        descriptors: if s.text("os.descriptors") == "added" { Descriptors::Added } else { Descriptors::Dram },
        device_sections: device,
        reserved: s.number("os.reserved_mib") * 256,
        rule,
        min_free_kib: s.number("os.min_free_kib"),
        swap: swap(s),
        readahead: s.number("os.readahead"),
        demotes: design == "tiering",
        costs: Costs {
            fault: s.dur("os.fault_ns"),
            major: s.dur("os.major_ns"),
            scan: s.dur("os.scan_ns"),
            unmap: s.dur("os.unmap_ns"),
            free: s.dur("os.free_ns"),
            map: s.dur("os.map_ns"),
            describe: s.dur("os.describe_ns"),
        },
    }
}

fn swap(s: &Settings) -> Option<SwapSpec> {
    let device = |channels, us: u64, mbps: u64, seeks| SwapSpec {
        pages: s.number("os.swap_gib") * PAGES,
        channels,
        read: Dur::ns(us * 1000),
        write: Dur::ns(us * 1000),
        page: Dur::ps(4_096_000_000 / mbps),
        seeks,
    };
    if s.text("fusion.design") == "pm-block" {
        // The block layer's time, then the medium's: one request of a page a core.
        let pages = s.number("fusion.pm_gib") * PAGES;
        let page = Dur::ps(4_096_000_000 / s.number("fusion.pm_mbps"));
        let (read, write) = (s.dur("fusion.pm_read_ns"), s.dur("fusion.pm_write_ns"));
        let channels = s.count("os.cores");
        let block = |medium: Dur| Dur::ns(2000) + medium;
        return Some(SwapSpec {
            pages,
            channels,
            read: block(read),
            write: block(write),
            page,
            seeks: false,
        });
    }
    match s.text("os.swap") {
        "hdd" => Some(device(1, 8000, 150, true)),
        "ssd" => Some(device(32, 150, 500, false)),
        "nvme" => Some(device(64, 90, 3000, false)),
        _ => None,
    }
}

fn report(
    m: &Machine,
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
    kinds: &[&str],
) -> Report {
    let t = m.totals();
    let phase = |(name, (operations, from, to)): (&&str, &(u64, Time, Time))| Phase {
        name: (*name).to_string(),
        operations: *operations,
        time: to.since(*from),
    };
    Report {
        machine: machine.name.clone(),
        workload: workload.name.clone(),
        seed: options.seed,
        time: t.time,
        references: t.visits,
        events: t.slices,
        stats: statistics(m, machine.settings.count("os.cores")),
        durable: Image::default(),
        visible: Image::default(),
        description: machine.clone(),
        workload_description: workload.clone(),
        timeline: None,
        phases: kinds.iter().zip(&t.operations).map(phase).collect(),
        series: Some(series(m.samples(), amf(&machine.settings).map(|a| a.integrates_below()))),
        lines_per_page: None,
    }
}

fn statistics(m: &Machine, cores: usize) -> Vec<Statistic> {
    let (t, memory) = (m.totals(), m.memory());
    let c = t.counts;
    let core_time = (t.time.as_ns() * cores as f64).max(f64::MIN_POSITIVE);
    let operations: u64 = t.operations.iter().map(|(n, _, _)| n).sum();
    let (read, written) = memory.swap_traffic();
    let seconds = (t.time.as_ns() * 1e-9).max(f64::MIN_POSITIVE);
    let whole = |n: u64| n as f64;
    let mut rows = vec![
        ("throughput.operations_per_second", whole(operations) / seconds),
        ("cpu.operations", whole(operations)),
        ("os.visits", whole(t.visits)),
        ("os.minor_faults", whole(c.minor)),
        ("os.major_faults", whole(c.major)),
        ("os.hint_faults", whole(c.hints)),
        ("os.readahead_pages", whole(c.readahead)),
        ("os.kswapd_pages", whole(c.by_kswapd)),
        ("os.direct_reclaim_pages", whole(c.by_direct)),
        ("os.scanned_pages", whole(c.scanned)),
        ("os.demoted_pages", whole(c.demoted)),
        ("os.promoted_pages", whole(c.promoted)),
        ("os.swap_bytes_max", whole(memory.swap_bytes().1)),
        ("os.swap_read_pages", whole(read)),
        ("os.swap_written_pages", whole(written)),
        ("os.user_share", t.user.as_ns() / core_time),
        ("os.system_share", t.system.as_ns() / core_time),
        ("os.user_time", t.user.as_ns()),
        ("os.system_time", t.system.as_ns()),
        ("os.pm_integrated_bytes_max", whole(memory.pm_online_most)),
        ("os.descriptor_bytes_max", whole(m.samples().iter().map(|s| s.descriptors).max().unwrap_or(0))),
        ("os.programs_ended", whole(t.ended)),
        ("os.oom_kills", whole(t.out_of_memory)),
        ("os.signals", whole(t.signals)),
        ("fusion.sections_integrated", whole(t.kpmemd.0)),
        ("fusion.sections_reclaimed", whole(t.kpmemd.1)),
        ("fusion.integrations", whole(t.kpmemd.2)),
        ("fusion.cache_hits", whole(t.cache.0)),
        ("fusion.cache_misses", whole(t.cache.1)),
        ("memory.bytes_written", whole(c.pm_written)),
        ("fusion.section_bytes_written_max", whole(memory.most_worn())),
        ("energy_j", t.joules),
    ];
    let rank = |name: &str| crate::STATISTICS.iter().position(|s| s.name == name).unwrap_or(usize::MAX);
    rows.sort_by_key(|(name, _)| rank(name));
    rows.into_iter().map(|(name, value)| Statistic { name: name.into(), value }).collect()
}

/// kpmemd's parameters; none on machines without it.
fn amf(s: &Settings) -> Option<AmfSpec> {
    let (design, dram) = (s.text("fusion.design"), s.number("fusion.dram_gib"));
    let page_min = match s.number("fusion.page_min") {
        0 => (4097 * dram / 64).max(1),
        set => set,
    };
    (design == "amf").then(|| AmfSpec {
        dram_sections: dram * SECTIONS,
        page_min,
        period: s.dur("fusion.period_ns"),
        reclaim_per_mille: s.number("fusion.reclaim_per_mille"),
        section: s.dur("fusion.section_ns"),
    })
}

fn series(samples: &[Sample], integrates_below: Option<u64>) -> Series {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let column = |name, value: &dyn Fn(&Sample) -> f64| (name, samples.iter().map(value).collect());
    let mut all = Series {
        seconds: samples.iter().map(|s| s.at.as_ns() * 1e-9).collect(),
        columns: vec![
            column("free_gib", &|s| gib(s.free * 4096)),
            column("low_gib", &|s| gib(s.low * 4096)),
            column("high_gib", &|s| gib(s.high * 4096)),
            column("pm_integrated_gib", &|s| gib(s.pm_online)),
            column("descriptors_gib", &|s| gib(s.descriptors)),
            column("swap_gib", &|s| gib(s.swap)),
            column("minor_faults", &|s| s.minor as f64),
            column("major_faults", &|s| s.major as f64),
            column("user_s", &|s| s.user.as_ns() * 1e-9),
            column("system_s", &|s| s.system.as_ns() * 1e-9),
            column("energy_j", &|s| s.joules),
        ],
    };
    if let Some(pages) = integrates_below {
        all.columns.push(column("integrates_below_gib", &|_| gib(pages * 4096)));
    }
    all
}
