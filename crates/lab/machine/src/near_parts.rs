//! NearPM from its parameters: devices, the command port, and the checker that watches them.

use crate::describe::Description;
use crate::error::ConfigError;
use memory::Controller;
use nearpm::{Checker, CommandPort, DeviceSpec, DispatcherSpec, Mutant, NearDevice, PortSpec, Sync};
use protocol::{AddressMap, Settings};
use units::{Dur, Time};
use workloads::NearInterface;

/// Whether persistent memory is near-data devices.
pub(crate) fn is_near(s: &Settings) -> bool {
    s.text("neardata.kind") == "device"
}

/// Whether the parameters fit together.
///
/// # Errors
/// The key, and what is accepted.
pub(crate) fn check(s: &Settings) -> Result<(), ConfigError> {
    if !is_near(s) {
        return Ok(());
    }
    if s.text("nvdimm.kind") != "none" {
        let given = s.text("nvdimm.kind");
        return Err(ConfigError::new(format!(
            "nvdimm.kind = {given}: with neardata.kind = device persistent memory is NearPM devices; give none"
        )));
    }
    let (model, asks) = (s.text("ordering.model"), ordering::plug::of(s).capabilities());
    if s.flag("neardata.offload") && !asks.fences {
        let others = ordering::plug::those(|asks| asks.fences);
        return Err(ConfigError::new(format!(
            "ordering.model = {model}: a device reads memory, not what batteries save; give one of {others}, or neardata.offload = false"
        )));
    }
    let (core, port) = (s.dur("wires.core_controller_ns"), s.dur("wires.core_directory_ns"));
    let link = s.dur("neardata.link_ns");
    if asks.persist_path && core < port + link {
        return Err(ConfigError::new(format!(
            "wires.core_controller_ns = {}: a persist path must not be shorter than that of commands; give at least {}",
            core.as_ns(),
            (port + link).as_ns()
        )));
    }
    Ok(())
}

/// Controllers of persistent memory: each near-data device is one.
pub(crate) fn controllers(s: &Settings) -> usize {
    s.count(if is_near(s) { "neardata.devices" } else { "memory.controllers" })
}

/// Which controller has which address.
pub(crate) fn address_map(s: &Settings) -> AddressMap {
    AddressMap {
        pm_controllers: controllers(s),
        dram_controllers: s.count("memory.dram.controllers"),
        interleave_bytes: s.number("memory.interleave_bytes"),
    }
}

fn dispatcher(s: &Settings, map: AddressMap, index: u8) -> DispatcherSpec {
    let sync = match s.text("neardata.sync") {
        "polling" => Sync::Polling,
        "none" => Sync::None,
        _ => Sync::Delayed,
    };
    let mutant =
        match (s.text("neardata.ordering"), s.text("neardata.conflicts"), s.flag("neardata.gates_reads")) {
            ("none", ..) => Some(Mutant::NoOrdering),
            (_, "sources", _) => Some(Mutant::SourcesOnly),
            (.., false) => Some(Mutant::UngatedReads),
            _ => None,
        };
    DispatcherSpec {
        index,
        map,
        units: s.count("neardata.units"),
        fifo: s.count("neardata.fifo"),
        host_queue: s.count("neardata.host_queue"),
        table: s.count("neardata.address_table"),
        sync,
        writes_wait_for_all: s.text("neardata.host_writes") == "any",
        mutant,
    }
}

/// A near-data device's state machine as a machine describes it.
pub fn near_dispatcher(machine: &Description, index: u8) -> DispatcherSpec {
    let s = &machine.settings;
    dispatcher(s, address_map(s), index)
}

/// Device `index` before its memory.
pub(crate) fn device(
    s: &Settings,
    cores: usize,
    map: AddressMap,
    index: usize,
    memory: Controller,
) -> NearDevice {
    let stops = s.number("neardata.fault.stops_after");
    let faulty = s.count("neardata.fault.device") == index;
    let spec = DeviceSpec {
        dispatcher: dispatcher(s, map, index as u8),
        cores,
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
    };
    NearDevice::new(spec, memory)
}

/// The port through which commands pass.
pub(crate) fn port(s: &Settings, cores: usize, map: AddressMap) -> CommandPort {
    CommandPort::new(PortSpec {
        cores,
        map,
        words: s.count("neardata.command_words"),
        fifo: s.count("neardata.fifo"),
        piece: s.number("neardata.piece_bytes"),
        timeout: s.dur("neardata.timeout_ns"),
    })
}

/// The checker of partitioned persist ordering, where there are devices to watch.
pub(crate) fn checker(s: &Settings, map: AddressMap) -> Option<Checker> {
    is_near(s).then(|| Checker::new(map.pm_controllers))
}

/// What programs are told of the devices; none where they have to do without.
pub(crate) fn interface(s: &Settings, map: AddressMap) -> Option<NearInterface> {
    (is_near(s) && s.flag("neardata.offload")).then(|| NearInterface {
        devices: map.pm_controllers as u64,
        interleave: map.interleave_bytes,
        words: s.count("neardata.command_words"),
        polls: s.text("neardata.sync") == "polling",
    })
}
