//! From settings and programs to a run, and what it says.

use crate::memory::PAGE;
use crate::run::{PageMachine, Stopped};
use crate::samples::Sample;
use crate::settings::Described;
use crate::stand_in;
use crate::stats::{self, Front};
use ::simulator::{Error, LineFidelity, Series};
use params::{Settings, Value};
use protocol::pages::Arrival;
use units::{Dur, Time};

/// A workload's programs.
pub struct Programs<'a> {
    /// When each starts.
    pub arrivals: Vec<Arrival>,
    /// Names of the kinds of their operations.
    pub kinds: Vec<&'a str>,
}

/// What a run says.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// From start to the last program's end.
    pub time: Dur,
    /// Visits of pages.
    pub visits: u64,
    /// Time slices.
    pub slices: u64,
    /// Statistics by name.
    pub statistics: Vec<(&'static str, f64)>,
    /// Operations by kind: name, how many, from the first one's beginning to the last one's end.
    pub phases: Vec<(String, u64, Dur)>,
    /// What was seen over time.
    pub series: Series,
}

/// Runs `programs` on the machine called `name` that `s` describes.
///
/// # Errors
/// When sizes do not fit, memory is full and every program was killed, or a machine at line fidelity that stands in
/// for persistent memory cannot be measured.
pub fn run(
    name: &str,
    s: &Settings,
    programs: Programs<'_>,
    seed: u64,
    line: &dyn LineFidelity,
) -> Result<Outcome, Error> {
    let described = Described::read(s);
    let policy = (described.entry().new)(s);
    let platform = described.platform();
    let layout = policy.boot(&platform);
    let costs = stand_in::costs(&described.memory, s, line)?;
    let spec = described.machine(&platform, layout, seed, costs);
    let block_bytes = spec.block_bytes;
    let stopped = |why| stopped(name, s, block_bytes, &why);
    let mut m = PageMachine::new(spec, policy, programs.arrivals).map_err(stopped)?;
    m.run().map_err(stopped)?;
    let failed = m.totals().failed_maps;
    if failed > 0 {
        return Err(Error::Config(format!(
            "{failed} of the programs' mappings failed: device files do not fit into fusion.device_gib = {}, or programs map more than 2 TiB together",
            described.memory.device_gib
        )));
    }
    Ok(outcome(&m, &programs.kinds))
}

fn stopped(name: &str, s: &Settings, block_bytes: u64, why: &Stopped) -> Error {
    match why {
        Stopped::NoRoom(room) => Error::Config(format!(
            "{name}: page descriptors and the kernel take {} MiB, and fusion.dram_gib has {} MiB; give {}",
            room.wanted / 256,
            room.there / 256,
            room.advice()
        )),
        Stopped::OutOfMemory(full) => Error::Violation(full.text(s, block_bytes)),
    }
}

pub(crate) fn outcome(m: &PageMachine, kinds: &[&str]) -> Outcome {
    let t = m.totals();
    let phase = |(name, (operations, from, to)): (&&str, &(u64, Time, Time))| {
        ((*name).to_string(), *operations, to.since(*from))
    };
    Outcome {
        time: t.passed.time,
        visits: t.passed.visits,
        slices: t.slices,
        statistics: statistics(m),
        phases: kinds.iter().zip(&t.operations).map(phase).collect(),
        series: series(m.samples(), m.policy().level()),
    }
}

fn statistics(m: &PageMachine) -> Vec<(&'static str, f64)> {
    let mut rows = Vec::new();
    let mut each = |name, value| rows.push((name, value));
    run_statistics(m).each(&mut each);
    if m.has_cache() {
        let (hits, misses) = m.totals().passed.cache;
        Front { cache_hits: hits as f64, cache_misses: misses as f64 }.each(&mut each);
    }
    for (name, value) in m.totals().policy.iter() {
        match value {
            Value::Count(n) => each(name, *n as f64),
            Value::Time(time) => each(name, time.as_ns()),
            Value::Levels(levels) => each(name, levels.mean()),
            Value::Times(times) => each(name, times.mean_ns()),
        }
    }
    rows
}

fn run_statistics(m: &PageMachine) -> stats::Run {
    let (totals, memory) = (m.totals(), m.memory());
    let (t, c) = (&totals.passed, totals.passed.counts);
    let core_time = t.time.as_ns() * m.cores() as f64;
    let operations: u64 = totals.operations.iter().map(|(n, _, _)| n).sum();
    let (read, written) = t.swap;
    let seconds = t.time.as_ns() * 1e-9;
    // Of no time there is no rate and no share.
    let of = |n: f64, all: f64| if all > 0.0 { n / all } else { 0.0 };
    let whole = |n: u64| n as f64;
    let of_pm = |n: u64| memory.has_pm().then_some(whole(n));
    let of_swap = |n: u64| memory.has_swap().then_some(whole(n));
    stats::Run {
        operations_per_second: of(whole(operations), seconds),
        operations: whole(operations),
        major_faults: whole(c.major),
        minor_faults: whole(c.minor),
        visits: whole(t.visits),
        readahead_pages: of_swap(c.readahead),
        kswapd_pages: whole(c.by_kswapd),
        direct_reclaim_pages: whole(c.by_direct),
        scanned_pages: whole(c.scanned),
        swap_bytes_max: of_swap(memory.swap_bytes().1),
        swap_read_pages: of_swap(read),
        swap_written_pages: of_swap(written),
        user_share: of(t.user.as_ns(), core_time),
        system_share: of(t.system.as_ns(), core_time),
        user_time: t.user.as_ns(),
        system_time: t.system.as_ns(),
        kernel_threads_time: t.threads.as_ns(),
        pm_integrated_bytes_max: memory.gives_pm().then_some(whole(memory.pm_online_most)),
        descriptor_bytes_max: whole(memory.descriptors_most),
        programs_ended: whole(totals.ended),
        oom_kills: whole(totals.out_of_memory),
        signals: whole(totals.signals),
        bytes_written: of_pm(c.pm_written),
        section_bytes_written_max: of_pm(memory.most_worn()),
        energy_j: t.joules,
    }
}

fn series(samples: &[Sample], level: Option<(&'static str, u64)>) -> Series {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let column = |name, value: &dyn Fn(&Sample) -> f64| (name, samples.iter().map(value).collect());
    let mut all = Series {
        seconds: samples.iter().map(|s| s.at.as_ns() * 1e-9).collect(),
        columns: vec![
            column("free_gib", &|s| gib(s.free * PAGE)),
            column("low_gib", &|s| gib(s.low * PAGE)),
            column("high_gib", &|s| gib(s.high * PAGE)),
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
    if let Some((name, bytes)) = level {
        all.columns.push(column(name, &|_| gib(bytes)));
    }
    all
}
