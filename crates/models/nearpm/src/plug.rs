//! NearPM as a kind of memory: its devices, the port that commands pass, and the checker that watches them.

use crate::params::{Conflicts, HostWrites, NearMedia, NearParameters, PersistOrdering, TABLES};
use crate::stats::{DeviceStats, ParallelShare, PortStats, RegionStats, STATISTICS, WorkStats, derived};
use crate::{
    Checker, CommandPort, DeviceSpec, DispatcherSpec, Dump, Invariant, Mutant, NearDevice, NearSpace,
    PortSpec, Sync, recover,
};
use ::plug::{
    Around, CacheView, Companion, LeastAnswer, MemoryDevice, MemoryKind, MemoryParts, Place, System,
    UncachedPort,
};
use explore::Harness;
use memory::link::is_linked;
use memory::params::OF_CONTROLLERS;
use memory::plug::{own_lines, persistent, persistent_on, persistent_statistics};
use memory::{Controller, MediaKind, controller};
use params::{Parameters, StatisticInfo, Statistics, Words};
use protocol::{
    AddressMap, Capabilities, Image, Line, NearInterface, Occupancy, PAGE_BYTES, Param, Records, Settings,
    StatSink,
};
use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use units::{Dur, Time};

/// The system.
pub const SYSTEM: System = System {
    parameters: TABLES,
    groups: &[("neardata", "near-data devices")],
    statistics: STATISTICS,
    renamed: &[
        ("neardata.fault.dark_ns", "neardata.fault.power_off_ns"),
        ("neardata.kind", "memory.kind (nearpm)"),
    ],
    derived: Some(derived),
    protocols: &[Harness::of::<NearSpace>()],
    ..System::NOTHING
};

/// Near-data devices, over which their memory is interleaved.
pub struct NearMemory {
    media: &'static [&'static dyn MediaKind],
}

impl NearMemory {
    /// Devices that may stand on any of these media, besides those of constant times.
    pub const fn on(media: &'static [&'static dyn MediaKind]) -> NearMemory {
        NearMemory { media }
    }

    /// The media that settings name; none for those of constant times.
    fn media(&self, s: &Settings) -> Option<&'static dyn MediaKind> {
        let asked: NearMedia = s.read("neardata.media");
        self.media.iter().copied().find(|media| media.name() == asked.word())
    }

    /// The controller before a device's media.
    fn controller(&self, place: &Place<'_>) -> Controller {
        let (s, base, ordering) = (place.settings, place.map.base(place.index), (place.ordering)());
        match self.media(s) {
            Some(media) => persistent_on(s, base, media.media(s), ordering),
            None => persistent(s, base, ordering),
        }
    }
}

impl MemoryKind for NearMemory {
    fn name(&self) -> &'static str {
        "nearpm"
    }

    fn about(&self) -> &'static str {
        "devices that execute crash consistency near their data, behind a link"
    }

    fn tables(&self, s: &Settings) -> Vec<&'static [Param]> {
        match self.media(s) {
            Some(media) => [OF_CONTROLLERS, media.tables(), TABLES].concat(),
            None => [memory::params::TABLES, TABLES].concat(),
        }
    }

    fn statistics(&self, s: &Settings, records: Option<Records>) -> Vec<&'static [StatisticInfo]> {
        let own: &[&[StatisticInfo]] = if s.flag("neardata.offload") {
            &[DeviceStats::TABLE, WorkStats::TABLE, ParallelShare::TABLE]
        } else {
            &[]
        };
        let behind = match self.media(s) {
            Some(media) => [&controller::statistics(records), media.statistics()].concat(),
            None => persistent_statistics(s, records),
        };
        [&behind, &[PortStats::TABLE, RegionStats::TABLE][..], own].concat()
    }

    fn check(&self, around: &Around<'_>) -> Result<(), String> {
        let s = around.settings;
        if around.index > 0 {
            return Err(
                "memory: nearpm comes first in the list, and once: its devices (neardata.devices) are the first controllers".into()
            );
        }
        if s.flag("neardata.offload") && !around.is_alone() && !around.is_sized {
            return Err(
                "size: programs have to know what lies in these devices; give one, or neardata.offload = false"
                    .into(),
            );
        }
        let offloads = s.flag("neardata.offload");
        let fits = |asks: &Capabilities| {
            !asks.rolls_back && !asks.takes_flushes && (asks.fences && !asks.keeps_regions || !offloads)
        };
        if offloads && around.capabilities.keeps_regions {
            return Err(format!(
                "ordering.model = {}: a command to a device does not end a region, whose stores the core keeps; give one of {}, or neardata.offload = false",
                around.ordering,
                (around.models)(&fits)
            ));
        }
        if offloads && !around.capabilities.fences {
            return Err(format!(
                "ordering.model = {}: a device reads memory, not what batteries save; give one of {}, or neardata.offload = false",
                around.ordering,
                (around.models)(&fits)
            ));
        }
        if around.capabilities.rolls_back {
            return Err(format!(
                "ordering.model = {}: a core that goes back cannot take back a command to a device; give one of {}",
                around.ordering,
                (around.models)(&fits)
            ));
        }
        if around.capabilities.takes_flushes {
            return Err(format!(
                "ordering.model = {}: a command to a device does not wait for flushes that the core keeps; give one of {}",
                around.ordering,
                (around.models)(&fits)
            ));
        }
        let (core, port) = (s.dur("wires.core_controller_ns"), s.dur("wires.core_directory_ns"));
        let link = s.dur("neardata.link_ns");
        if around.capabilities.persist_path && core < port + link && !is_linked(s) {
            return Err(format!(
                "wires.core_controller_ns = {}: a persist path must not be shorter than that of commands; give at least {}",
                core.as_ns(),
                (port + link).as_ns()
            ));
        }
        Ok(())
    }

    fn controllers(&self, s: &Settings) -> usize {
        s.count("neardata.devices")
    }

    fn link(&self, s: &Settings) -> Dur {
        s.dur("neardata.link_ns")
    }

    fn register_store(&self, s: &Settings) -> Option<Dur> {
        Some(s.dur("neardata.store_ns"))
    }

    fn command_links(&self, s: &Settings) -> [Dur; 2] {
        [s.dur("neardata.link_ns"), s.dur("neardata.peer_ns")]
    }

    fn build(&self, place: &Place<'_>) -> Result<MemoryParts, String> {
        let (s, map) = (place.settings, place.map.only(place.index));
        let device = |index: usize| {
            let spec = device(s, place.cores, map, index);
            Box::new(NearDevice::new(spec, self.controller(place))) as Box<dyn MemoryDevice>
        };
        let (range, offloads) = (place.map.memory(place.index).range, s.flag("neardata.offload"));
        Ok(MemoryParts {
            devices: (0..map.pm_controllers).map(device).collect(),
            companion: offloads.then(|| watch(map.pm_controllers)),
            port: Some(Box::new(port(s, place.cores, map))),
            offload: offloads.then(|| NearInterface {
                devices: map.pm_controllers as u64,
                interleave: map.interleave_bytes,
                words: s.count("neardata.command_words"),
                polls: s.read::<Sync>("neardata.sync") == Sync::Polling,
                bytes: range.map_or(u64::MAX, |(_, pages)| pages * PAGE_BYTES),
                pools: s.count("neardata.address_table"),
                pools_key: "neardata.address_table",
            }),
            cache_bytes: None,
        })
    }
}

/// Who watches `devices` devices that get commands.
fn watch(devices: usize) -> Rc<RefCell<dyn Companion>> {
    let (checker, works) = (Checker::new(devices), vec![false; devices]);
    Rc::new(RefCell::new(Watch { checker, works, at_work: Occupancy::default() }))
}

/// The state machine of device `index` as parameters describe it.
pub fn dispatcher(s: &Settings, map: AddressMap, index: u8) -> DispatcherSpec {
    let near = NearParameters::from_settings(s);
    let compared = match near.conflicts {
        Conflicts::Sources => Some(Mutant::SourcesOnly),
        Conflicts::Ranges => None,
    };
    let mutants = match near.ordering {
        PersistOrdering::None => [Some(Mutant::NoOrdering), None],
        PersistOrdering::Ppo => [compared, (!near.gates_reads).then_some(Mutant::UngatedReads)],
    };
    DispatcherSpec {
        index,
        map,
        units: s.count("neardata.units"),
        fifo: s.count("neardata.fifo"),
        host_queue: s.count("neardata.host_queue"),
        table: s.count("neardata.address_table"),
        sync: near.sync,
        writes_wait_for_all: match near.host_writes {
            HostWrites::Range => false,
            HostWrites::Any => true,
        },
        mutants,
    }
}

fn device(s: &Settings, cores: usize, map: AddressMap, index: usize) -> DeviceSpec {
    let stops = s.number("neardata.fault.stops_after");
    let faulty = s.count("neardata.fault.device") == index;
    DeviceSpec {
        dispatcher: dispatcher(s, map, index as u8),
        cores,
        offloads: s.flag("neardata.offload"),
        start: s.dur("neardata.start_ns"),
        fine_start: s.dur("neardata.fine_start_ns"),
        line: s.dur("neardata.line_ns"),
        bus: s.dur("neardata.bus_ns"),
        power_off_from: match s.dur("neardata.fault.power_off_ns") {
            Dur::ZERO => Time::NEVER,
            _ if !faulty => Time::NEVER,
            after => Time::ZERO + after,
        },
        stops_after: (stops > 0 && faulty).then(|| stops - 1),
        timeout: s.dur("neardata.timeout_ns"),
    }
}

fn port(s: &Settings, cores: usize, map: AddressMap) -> CommandPort {
    CommandPort::new(PortSpec {
        cores,
        map,
        words: s.count("neardata.command_words"),
        fifo: s.count("neardata.fifo"),
        piece: s.number("neardata.piece_bytes"),
        timeout: s.dur("neardata.timeout_ns"),
    })
}

impl MemoryDevice for NearDevice {
    /// An access that was held goes to the controller, which then takes its time.
    fn least_answer(&self) -> Option<LeastAnswer> {
        Some(self.memory().least_answer())
    }

    fn persists(&self) -> u64 {
        NearDevice::persists(self)
    }

    fn preload(
        &mut self,
        address: u64,
        page: &[u8; PAGE_BYTES as usize],
        owns: &dyn Fn(Line) -> bool,
    ) -> Result<(), String> {
        own_lines(address, page, owns).for_each(|(line, block)| NearDevice::preload(self, line, block));
        Ok(())
    }

    /// Cores that spin on what a silent access would have released never stop of themselves.
    fn has_failed(&self) -> bool {
        self.has_kept_waiting()
    }

    fn failure(&self) -> Option<String> {
        self.has_kept_waiting().then(|| self.silence()).flatten()
    }

    fn silence(&self) -> Option<String> {
        let index = self.dispatcher().spec.index;
        let at = self.power_off_from()?;
        Some(format!(
            "device {index} does not answer: it has no power since {at} (neardata.fault.power_off_ns)"
        ))
    }
}

impl UncachedPort for CommandPort {
    fn has_failed(&self) -> bool {
        CommandPort::failure(self).is_some()
    }

    fn failure(&self) -> Option<String> {
        CommandPort::failure(self).map(ToString::to_string)
    }
}

/// The checker of partitioned persist ordering, and how many devices are at work at once.
struct Watch {
    checker: Checker,
    /// Which devices have a unit at work, and how many were over time.
    works: Vec<bool>,
    at_work: Occupancy,
}

fn near(device: &dyn MemoryDevice) -> Option<&NearDevice> {
    (device as &dyn Any).downcast_ref()
}

impl Watch {
    /// What left the port: nothing of it may still be in a cache.
    fn watch_port(&mut self, port: &mut CommandPort, caches: &dyn CacheView) {
        let Some((sent, refused)) = port.take_events() else { return };
        refused.for_each(|(number, device)| self.checker.refused(number, device));
        for request in sent {
            self.checker.sent(&request);
            let core = usize::from(request.core);
            let shared = |l: Line| !caches.has_persist_path(core) && caches.shared_has_changed(l);
            let changed = |l: &Line| caches.core_has_changed(core, *l) || shared(*l);
            if let Some(line) = request.reads().map(Line).find(changed) {
                self.checker.not_written_back(&request, line);
            }
            if let Some(line) = request.writes().map(Line).find(|l| caches.is_cached(*l)) {
                self.checker.still_cached(&request, line);
            }
        }
    }
}

impl Companion for Watch {
    fn watches(&self) -> bool {
        true
    }

    fn watch(
        &mut self,
        now: Time,
        index: Option<usize>,
        devices: &mut [Box<dyn MemoryDevice>],
        port: &mut dyn UncachedPort,
        caches: &dyn CacheView,
    ) -> bool {
        let Some(index) = index else {
            if let Some(port) = (port as &mut dyn Any).downcast_mut() {
                self.watch_port(port, caches);
            }
            return self.has_failed();
        };
        let Some(device) = (devices[index].as_mut() as &mut dyn Any).downcast_mut::<NearDevice>() else {
            return self.has_failed();
        };
        device.take_events().into_iter().flatten().for_each(|seen| self.checker.saw(index, &seen));
        let works = device.dispatcher().works();
        if std::mem::replace(&mut self.works[index], works) != works {
            self.at_work.set(now, self.works.iter().filter(|works| **works).count());
        }
        self.has_failed()
    }

    fn has_failed(&self) -> bool {
        self.checker.broken().is_some()
    }

    fn failure(&self) -> Option<String> {
        self.checker.broken().map(ToString::to_string)
    }

    /// A program's own complaint comes first: the checker stops the run at once.
    fn programs_first(&self) -> bool {
        true
    }

    fn recover(&mut self, devices: &[Box<dyn MemoryDevice>], parts: &mut [Image]) {
        let dumps = devices.iter().filter_map(|d| near(d.as_ref())).map(|d| d.dispatcher().power_fail());
        let dumps: Vec<Dump> = dumps.collect();
        for (index, dump) in dumps.iter().enumerate() {
            self.checker.saved(index, &|stamp| dump.has(stamp));
        }
        if let Err(what) = recover(&dumps, parts) {
            self.checker.report(Invariant::FailureRecovery, what);
        }
    }

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        self.at_work.pass(now);
        sink.occupancy("neardata.at_work", &self.at_work);
    }
}
