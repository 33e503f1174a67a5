//! Remote memory from its parameters: the agent with its network, and the daemon.

use crate::error::ConfigError;
use memory::Controller;
use pberry::{
    Agent, AgentSpec, AgentStateSpec, Daemon, DaemonSpec, Faults, FilterSpec, Host, HostSpec, Kind, Layout,
    NetworkSpec, Prefetch, UseCosts, UseSpec, Walks,
};
use protocol::{PAGE_BYTES, Settings};
use units::Time;

/// Which system it is; none where memory is not remote.
pub(crate) fn kind(s: &Settings) -> Option<Kind> {
    match s.text("remote.kind") {
        "pages" => Some(Kind::Pages),
        "lines" => Some(Kind::Lines),
        _ => None,
    }
}

/// Whether the parameters fit together.
///
/// # Errors
/// The key, and what is accepted.
pub(crate) fn check(s: &Settings) -> Result<(), ConfigError> {
    let wrong = |text: String| Err(ConfigError::new(text));
    if kind(s).is_none() {
        return Ok(());
    }
    if !ordering::plug::of(s).capabilities().flush_instructions {
        let (given, able) = (s.text("ordering.model"), ordering::plug::those(|asks| asks.flush_instructions));
        return wrong(format!("ordering.model = {given}: remote memory has no such part; give {able}"));
    }
    for (key, wanted) in [("nvdimm.kind", "none"), ("neardata.kind", "none")] {
        if s.text(key) != wanted {
            let given = s.text(key);
            return wrong(format!("{key} = {given}: remote memory has no such part; give {wanted}"));
        }
    }
    if s.count("memory.controllers") != 1 {
        let given = s.count("memory.controllers");
        return wrong(format!("memory.controllers = {given}: remote memory is behind one agent; give 1"));
    }
    let (size, used) = (s.number("remote.page_kib"), s.text("remote.use"));
    if size > 4 && (kind(s) == Some(Kind::Lines) || used != "none") {
        return wrong(format!(
            "remote.page_kib = {size}: larger pages are those of remote.kind = pages with remote.use = none; give 4"
        ));
    }
    let near = s.number("remote.cpu_kib");
    if near > 0 && (kind(s) == Some(Kind::Pages) || used != "none") {
        return wrong(format!(
            "remote.cpu_kib = {near}: pages are placed by remote.kind = lines with remote.use = none; give 0"
        ));
    }
    if !(s.number("remote.capacity_mib") * 1024).is_multiple_of(size) {
        let given = s.number("remote.capacity_mib");
        return wrong(format!("remote.capacity_mib = {given}: is no multiple of remote.page_kib = {size}"));
    }
    let (frames, batch) = (frames(s) / span(s), s.number("remote.reclaim_batch"));
    if u64::from(frames) < 4 * batch {
        return wrong(format!(
            "remote.reclaim_batch = {batch}: remote.local_kib = {} has {frames} pages; give 1 to {}",
            s.number("remote.local_kib"),
            frames / 4
        ));
    }
    check_retry(s)?;
    let (from, to) = (s.dur("remote.fault.away_from_ns"), s.dur("remote.fault.away_to_ns"));
    if from > to {
        return wrong(format!(
            "remote.fault.away_to_ns = {}: the host comes back after it has gone (remote.fault.away_from_ns = {})",
            to.as_ns(),
            from.as_ns()
        ));
    }
    Ok(())
}

/// Asked again before an answer could have come, the host would be asked for ever more.
fn check_retry(s: &Settings) -> Result<(), ConfigError> {
    let (retry, page) = (s.dur("remote.retry_ns"), PAGE_BYTES + 2 * 64);
    let least = s.dur("remote.network_ns") * 2 + s.dur("remote.network_byte_ns") * page;
    if retry >= least {
        return Ok(());
    }
    Err(ConfigError::new(format!(
        "remote.retry_ns = {}: a page takes {} ns to come (remote.network_ns, remote.network_byte_ns); give that or more",
        retry.as_ns(),
        least.as_ns()
    )))
}

fn frames(s: &Settings) -> u32 {
    (s.number("remote.local_kib") / 4) as u32
}

/// Pages of 4 KiB in one of the operating system's.
fn span(s: &Settings) -> u32 {
    (s.number("remote.page_kib") / 4) as u32
}

fn layout(s: &Settings, kind: Kind) -> Layout {
    let entry_bytes = if kind == Kind::Lines { 64 } else { 8 };
    Layout { pages: (s.number("remote.capacity_mib") << 8) as u32, entry_bytes }
}

fn network(s: &Settings) -> NetworkSpec {
    NetworkSpec {
        latency: s.dur("remote.network_ns"),
        byte: s.dur("remote.network_byte_ns"),
        faults: Faults {
            lose_one_in: s.number("remote.fault.lose_one_in"),
            late_one_in: s.number("remote.fault.late_one_in"),
            late: s.dur("remote.fault.late_ns"),
            duplicate_one_in: s.number("remote.fault.duplicate_one_in"),
        },
    }
}

fn uses(s: &Settings) -> UseSpec {
    UseSpec {
        what: s.read("remote.use"),
        costs: UseCosts {
            write_fault: s.dur("remote.write_fault_ns"),
            fault: s.dur("remote.fault_ns"),
            protect_page: s.dur("remote.protect_page_ns"),
            copy_line: s.dur("remote.copy_line_ns"),
            network: network(s),
        },
        window: s.dur("remote.window_ns"),
    }
}

/// The agent before `memory`.
pub(crate) fn agent(s: &Settings, kind: Kind, memory: Controller) -> Agent {
    let walks = match s.text("remote.page_table") {
        "first-line" => Walks::FirstLine,
        "untracked" => Walks::Untracked,
        _ => Walks::WholePage,
    };
    let time = |key: &str| Time::ZERO + s.dur(key);
    let away = (time("remote.fault.away_from_ns"), time("remote.fault.away_to_ns"));
    let spec = AgentSpec {
        state: AgentStateSpec {
            frames: frames(s),
            page_lines: 64,
            walks,
            critical_line_first: s.flag("remote.critical_line_first"),
            attempts: s.number("remote.attempts") as u32,
            mutant: None,
        },
        layout: layout(s, kind),
        filter: FilterSpec {
            line_bits: s.number("remote.line_filter_bits"),
            page_counters: s.number("remote.page_filter_counters"),
            hashes: s.number("remote.filter_hashes") as u32,
            threshold: s.number("remote.threshold") as u32,
            buffer: s.count("remote.report_buffer"),
        },
        network: network(s),
        retry: s.dur("remote.retry_ns"),
        deadline: s.dur("remote.deadline_ns"),
        window: s.dur("remote.window_ns"),
        uses: uses(s),
        host_away: (away.0 < away.1).then_some(away),
    };
    Agent::new(spec, kind, memory)
}

/// The daemon with its tables.
pub(crate) fn host(s: &Settings, cores: usize, kind: Kind) -> Host {
    let layout = layout(s, kind);
    let daemon = Daemon::new(DaemonSpec {
        kind,
        span: span(s),
        frames: frames(s) / span(s),
        near_frames: (s.number("remote.cpu_kib") / 4) as u32,
        near_after: s.number("remote.cpu_after") as u32,
        pages: layout.pages / span(s),
        batch: s.number("remote.reclaim_batch") as u32,
        prefetch: match s.text("remote.prefetch") {
            "next" => Prefetch::Next,
            "stride" => Prefetch::Stride,
            _ => Prefetch::None,
        },
        prefetch_pages: s.number("remote.prefetch_pages") as u32,
    });
    let spec = HostSpec {
        cores,
        translations: s.count("remote.translations"),
        fault: s.dur("remote.fault_ns"),
        write_fault: s.dur("remote.write_fault_ns"),
        invalidate: s.dur("remote.invalidate_ns"),
        shootdown: s.dur("remote.shootdown_ns"),
        shootdown_core: s.dur("remote.shootdown_core_ns"),
        poll: s.dur("remote.poll_ns"),
        give_up: s.dur("remote.give_up_ns"),
        window: s.dur("remote.window_ns"),
        protect: s.dur("remote.protect_ns"),
        protect_page: s.dur("remote.protect_page_ns"),
    };
    Host::new(spec, layout, daemon, &uses(s))
}
