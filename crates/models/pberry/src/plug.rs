//! Remote memory as a kind of memory: the agent with its network, and the daemon.

use crate::params::{RemoteParameters, TABLES};
use crate::stats::{HOST_STATISTICS, STATISTICS, USE_STATISTICS};
use crate::{
    Agent, AgentSpec, AgentStateSpec, Daemon, DaemonSpec, Faults, FilterSpec, Kind, Layout, NetworkSpec,
    RemoteSpace, SharedDaemon, SharedDaemonSpec, UseCosts, UseSpec, Walks,
};
use ::plug::{Around, CacheView, Companion, MemoryDevice, MemoryKind, MemoryParts, Place, System};
use explore::Harness;
use memory::Controller;
use memory::params::ControllersParameters;
use memory::plug::{own_lines, persistent, persistent_statistics};
use params::{Parameters, StatisticInfo};
use protocol::{
    AddressMap, Cpu, Image, Line, Mask, PAGE_BYTES, PM_BASE, Param, Records, Settings, StatSink, View,
    line_of,
};
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Dur, Time};

/// The system.
pub const SYSTEM: System = System {
    parameters: TABLES,
    groups: &[("remote", "remote memory"), ("os", "the operating system's memory manager")],
    statistics: STATISTICS,
    renamed: &[
        ("remote.shootdown_hart_ns", "remote.shootdown_core_ns"),
        ("remote.kind = none", "memory.kind = pm"),
    ],
    protocols: &[Harness::of::<RemoteSpace>()],
    memory: Some(&RemoteMemory),
    ..System::NOTHING
};

/// Memory of another host, by lines through an agent or by paging.
struct RemoteMemory;

fn kind(s: &Settings) -> Kind {
    s.read("remote.kind")
}

impl MemoryKind for RemoteMemory {
    fn name(&self) -> &'static str {
        "remote"
    }

    fn about(&self) -> &'static str {
        "memory of another host behind an agent that fetches and tracks lines, or behind page faults"
    }

    fn tables(&self, _: &Settings) -> Vec<&'static [Param]> {
        [memory::params::TABLES, &[ControllersParameters::TABLE], TABLES].concat()
    }

    fn statistics(&self, s: &Settings, records: Option<Records>) -> Vec<&'static [StatisticInfo]> {
        let uses = RemoteParameters::from_settings(s).r#use.map(|_| USE_STATISTICS);
        let own = HOST_STATISTICS.iter().copied().chain(uses);
        persistent_statistics(s, records).into_iter().chain(own).collect()
    }

    fn check(&self, around: &Around<'_>) -> Result<(), String> {
        if !around.capabilities.caches_flush() {
            return Err(format!(
                "ordering.model = {}: remote memory is volatile, nothing of it persists in an order; give {}",
                around.ordering,
                (around.models)(&|asks| asks.caches_flush())
            ));
        }
        if !around.is_rest {
            return Err("memory: remote memory takes what is in no range, its page table lies behind its pages; give the others a range".into());
        }
        check(around.settings, around.is_alone())
    }

    fn needs_the_host(&self, s: &Settings) -> Option<&'static str> {
        (kind(s) == Kind::Pages)
            .then_some("pages go to the host's own memory (remote.kind = pages), no agent is there")
    }

    fn controllers(&self, _: &Settings) -> usize {
        1
    }

    fn counts_controllers(&self) -> bool {
        false
    }

    fn link(&self, s: &Settings) -> Dur {
        s.dur("remote.link_ns")
    }

    fn is_volatile(&self, _: &Settings) -> Option<&'static str> {
        Some("remote memory is volatile")
    }

    /// The other host keeps its power, and what it acknowledged.
    fn is_emptied(&self, _: &Settings) -> bool {
        false
    }

    fn build(&self, place: &Place<'_>) -> Result<MemoryParts, String> {
        let memory = persistent(place.settings, place.map.base(place.index), (place.ordering)());
        let mut parts = MemoryParts::of(vec![Box::new(agent(place.settings, kind(place.settings), memory))]);
        parts.companion = Some(Rc::new(RefCell::new(host(place))));
        Ok(parts)
    }
}

impl MemoryDevice for Agent {
    fn preload(
        &mut self,
        address: u64,
        page: &[u8; PAGE_BYTES as usize],
        owns: &dyn Fn(Line) -> bool,
    ) -> Result<(), String> {
        own_lines(address, page, owns).for_each(|(line, block)| Agent::preload(self, line, block));
        Ok(())
    }

    fn has_failed(&self) -> bool {
        Agent::failure(self).is_some()
    }

    fn failure(&self) -> Option<String> {
        Agent::failure(self).map(ToString::to_string)
    }

    fn begin_region(&mut self, now: Time) {
        self.begin_uses(now);
    }

    fn bound_region(&mut self, now: Time) {
        self.next_window(now);
    }
}

fn agent_of(devices: &[Box<dyn MemoryDevice>]) -> Option<&Agent> {
    devices.iter().find_map(|d| (d.as_ref() as &dyn Any).downcast_ref())
}

/// The daemon.
impl Companion for SharedDaemon {
    fn cpu(&self, core: usize, cpu: &Cpu) -> Cpu {
        SharedDaemon::cpu(self, core, cpu)
    }

    fn leave(&self, core: usize) {
        SharedDaemon::leave(self, core);
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn begin_region(&self, now: Time) {
        self.begin_uses(now);
    }

    fn bound_region(&self, now: Time) {
        self.next_window(now);
    }

    fn has_failed(&self) -> bool {
        SharedDaemon::has_failed(self)
    }

    fn failure(&self) -> Option<String> {
        SharedDaemon::error(self)
    }

    /// Local memory loses its contents with its power; the remote host keeps what it has acknowledged.
    fn recover(&mut self, devices: &[Box<dyn MemoryDevice>], parts: &mut [Image]) {
        if let (Some(agent), [part]) = (agent_of(devices), parts) {
            *part = agent.kept();
        }
    }

    fn as_addressed(
        &self,
        view: View,
        image: Image,
        devices: &[Box<dyn MemoryDevice>],
        _: &AddressMap,
        caches: &dyn CacheView,
    ) -> Image {
        let Some(agent) = agent_of(devices).filter(|_| view == View::Visible) else { return image };
        let mut seen = agent.as_addressed(&image);
        self.lay_near(&mut seen, caches);
        seen
    }

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        SharedDaemon::stats(self, now, sink);
    }

    fn lines_per_page(&self) -> Option<Vec<u64>> {
        Some(SharedDaemon::lines_per_page(self).to_vec())
    }
}

impl SharedDaemon {
    /// Pages that lie in the processor's memory, as loads see them.
    fn lay_near(&self, image: &mut Image, caches: &dyn CacheView) {
        for (page, place) in self.local_pages() {
            for at in (0..PAGE_BYTES).step_by(64) {
                let (from, to) = (line_of(place + at), line_of(PM_BASE + u64::from(page) * PAGE_BYTES + at));
                // A page of which nothing was ever written is not in the image at all.
                if let Some(block) = caches.latest(from).filter(|b| *b != image.read(to)) {
                    image.write(to, &block, Mask::MAX);
                }
            }
        }
    }
}

/// Whether the parameters fit together.
fn check(s: &Settings, alone: bool) -> Result<(), String> {
    if alone && s.count("memory.controllers") != 1 {
        let given = s.count("memory.controllers");
        return Err(format!("memory.controllers = {given}: remote memory is behind one agent; give 1"));
    }
    let (size, used) = (s.number("remote.page_kib"), s.text("remote.use"));
    if size > 4 && (kind(s) == Kind::Lines || used != "none") {
        return Err(format!(
            "remote.page_kib = {size}: larger pages are those of remote.kind = pages with remote.use = none; give 4"
        ));
    }
    let near = s.number("remote.cpu_kib");
    if near > 0 && (kind(s) == Kind::Pages || used != "none") {
        return Err(format!(
            "remote.cpu_kib = {near}: pages are placed by remote.kind = lines with remote.use = none; give 0"
        ));
    }
    if !(s.number("remote.capacity_mib") * 1024).is_multiple_of(size) {
        let given = s.number("remote.capacity_mib");
        return Err(format!("remote.capacity_mib = {given}: is no multiple of remote.page_kib = {size}"));
    }
    let local = s.number("remote.local_kib");
    if local < 4 * size {
        return Err(format!(
            "remote.local_kib = {local}: four pages of remote.page_kib = {size} are to be local, or more; give {} or more",
            4 * size
        ));
    }
    let (frames, batch) = (frames(s) / span(s), s.number("remote.reclaim_batch"));
    if u64::from(frames) < 4 * batch {
        return Err(format!(
            "remote.reclaim_batch = {batch}: remote.local_kib = {local} has {frames} pages; give 1 to {}",
            frames / 4
        ));
    }
    check_retry(s)?;
    let (from, to) = (s.dur("remote.fault.away_from_ns"), s.dur("remote.fault.away_to_ns"));
    if from > to {
        return Err(format!(
            "remote.fault.away_to_ns = {}: the host comes back after it has gone (remote.fault.away_from_ns = {})",
            to.as_ns(),
            from.as_ns()
        ));
    }
    Ok(())
}

/// The time that a page takes to come, where nothing else is on the way.
fn round_trip(s: &Settings) -> Dur {
    s.dur("remote.network_ns") * 2 + s.dur("remote.network_byte_ns") * (PAGE_BYTES + 2 * 64)
}

/// Whether anything can come so late that it is asked for again.
fn is_asked_again(s: &Settings) -> bool {
    RemoteParameters::TABLE.iter().any(|p| p.key == "remote.retry_ns" && p.acts_with(s))
}

/// Asked again before an answer could have come, the host would be asked for ever more.
fn check_retry(s: &Settings) -> Result<(), String> {
    let (retry, least) = (s.dur("remote.retry_ns"), round_trip(s));
    if retry >= least || !is_asked_again(s) {
        return Ok(());
    }
    Err(format!(
        "remote.retry_ns = {}: a page takes {} ns to come (remote.network_ns, remote.network_byte_ns); give that or more",
        retry.as_ns(),
        least.as_ns()
    ))
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
            agent_read: s.dur("memory.pm.read_service_ns"),
            agent_write: s.dur("memory.pm.write_service_ns"),
            network: network(s),
        },
        window: s.dur("remote.window_ns"),
    }
}

/// The agent before `memory`.
fn agent(s: &Settings, kind: Kind, memory: Controller) -> Agent {
    let walks: Walks = s.read("remote.page_table");
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
        // Where nothing is asked for again, it is as long as needed.
        retry: s.dur("remote.retry_ns").max(round_trip(s)),
        deadline: s.dur("remote.deadline_ns"),
        window: s.dur("remote.window_ns"),
        uses: uses(s),
        host_away: (away.0 < away.1).then_some(away),
    };
    Agent::new(spec, kind, memory)
}

/// The daemon with its tables.
fn host(place: &Place<'_>) -> SharedDaemon {
    let (s, kind) = (place.settings, kind(place.settings));
    let layout = layout(s, kind);
    let daemon = Daemon::new(DaemonSpec {
        kind,
        span: span(s),
        frames: frames(s) / span(s),
        local_frames: (s.number("remote.cpu_kib") / 4) as u32,
        local_after: s.number("remote.cpu_after") as u32,
        pages: layout.pages / span(s),
        batch: s.number("remote.reclaim_batch") as u32,
        prefetch: s.read("remote.prefetch"),
        prefetch_pages: s.number("remote.prefetch_pages") as u32,
    });
    let spec = SharedDaemonSpec {
        cores: place.cores,
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
        addresses: place.map,
        index: place.index,
    };
    SharedDaemon::new(spec, layout, daemon, &uses(s))
}
