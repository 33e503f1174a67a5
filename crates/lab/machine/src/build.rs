//! The wiring: one engine, its nodes, and the links between them.

use crate::describe::Description;
use crate::error::ConfigError;
use crate::memories::Memory;
use crate::near_parts;
use crate::nvdimm_parts;
use crate::pager::Pager;
use crate::remote_parts;
use cpu::params::{core_spec, directory_spec};
use cpu::{Core, Directory};
use engine::{Engine, Link, Mode, NodeId, PortId};
use memory::{BufferSpec, Controller, ControllerSpec, PassThrough};
use nearpm::{Checker, CommandPort};
use protocol::{AddressMap, DRAM_BASE, Msg, Node, Occupancy, PM_BASE, Settings, ports};
use std::rc::Rc;
use trace::Replay;
use units::Dur;
use workloads::NearInterface;

/// A machine with its engine, ready to run.
pub(crate) struct Machine {
    pub(crate) engine: Engine<Msg>,
    pub(crate) cores: Vec<Core>,
    pub(crate) directory: Directory,
    pub(crate) controllers: Vec<Memory>,
    /// The node that the ordering model's core sides share, where it has one.
    pub(crate) register: Option<Box<dyn Node>>,
    pub(crate) map: AddressMap,
    /// The driver of a DIMM that needs one, or the daemon of remote memory.
    pub(crate) host: Option<Pager>,
    /// Bytes of persistent memory that a cache in front of it holds; none where there is no such cache.
    pub(crate) pm_cache_bytes: Option<u64>,
    /// A recording that runs on it.
    pub(crate) replay: Option<Rc<Replay>>,
    /// The way to near-data devices.
    pub(crate) commands: CommandPort,
    /// Watches them.
    pub(crate) checker: Option<Checker>,
    /// What programs are told of them.
    pub(crate) near: Option<NearInterface>,
    /// Devices with a unit at work.
    pub(crate) at_work: Occupancy,
}

impl Machine {
    /// Builds `cores` cores and everything that they need.
    pub(crate) fn build(description: &Description, cores: usize, mode: Mode) -> Result<Machine, ConfigError> {
        let s = &description.settings;
        let map = near_parts::address_map(s);
        let plan = Plan { cores, map };
        let ordering = ordering::plug::of(s);
        let core = |id: usize| {
            Core::new(
                id as u8,
                core_spec(s, s.dur("neardata.store_ns")),
                ordering.core_side(s, id as u8, map),
                map.pm_controllers,
            )
        };
        let nvdimm = nvdimm_parts::build(s, cores)?;
        let remote = remote_parts::kind(s);
        let driver = nvdimm.as_ref().and_then(|n| n.host.clone()).map(Pager::Nvdimm);
        let host = driver.or_else(|| Some(Pager::Remote(remote_parts::host(s, cores, remote?))));
        // Cores that share a driver's tables on the host act in order of time.
        let mode = if host.is_some() { Mode::Reference } else { mode };
        // Devices and agents answer when they will; the directory and the controllers take their time.
        let is_plain = nvdimm.is_none() && remote.is_none() && !near_parts::is_near(s);
        let lookahead = if is_plain { lookahead(s) } else { Dur::ZERO };
        let pm_cache_bytes = nvdimm.as_ref().and_then(|n| n.cache_bytes);
        let mut dimm = nvdimm.map(|n| n.dimm);
        let mut memory = |index: usize| match dimm.take().filter(|_| index == 0) {
            Some(dimm) => Memory::Dimm(Box::new(dimm)),
            None if near_parts::is_near(s) && index < map.pm_controllers => {
                let memory = controller(s, map, index);
                Memory::Near(Box::new(near_parts::device(s, cores, map, index, memory)))
            }
            None => match remote.filter(|_| index < map.pm_controllers) {
                Some(kind) => {
                    let memory = controller(s, map, index);
                    Memory::Remote(Box::new(remote_parts::agent(s, kind, memory)))
                }
                None => Memory::Controller(controller(s, map, index)),
            },
        };
        Ok(Machine {
            engine: Engine::new(plan.links(s), cores, mode, lookahead),
            cores: (0..cores).map(core).collect(),
            directory: Directory::new(directory_spec(s, cores, ordering.capabilities().caches_persist), map),
            controllers: (0..map.controllers()).map(&mut memory).collect(),
            register: ordering.shared_node(s, cores),
            map,
            host,
            pm_cache_bytes,
            replay: None,
            commands: near_parts::port(s, cores, map),
            checker: near_parts::checker(s, map),
            near: near_parts::interface(s, map),
            at_work: Occupancy::default(),
        })
    }

    /// The names of the nodes, in their order.
    pub(crate) fn names(&self) -> Vec<String> {
        let controllers = (0..self.controllers.len()).map(|i| {
            if i < self.map.pm_controllers {
                format!("pm {i}")
            } else {
                format!("dram {}", i - self.map.pm_controllers)
            }
        });
        (0..self.cores.len())
            .map(|i| format!("core {i}"))
            .chain(["directory".to_string()])
            .chain(controllers)
            .chain(["register".to_string(), "commands".to_string()])
            .collect()
    }
}

/// Node numbers and links: cores, directory, controllers, register, command port.
struct Plan {
    cores: usize,
    map: AddressMap,
}

impl Plan {
    fn directory(&self) -> NodeId {
        NodeId(self.cores as u16)
    }

    fn controller(&self, index: usize) -> NodeId {
        NodeId((self.cores + 1 + index) as u16)
    }

    fn register(&self) -> NodeId {
        self.controller(self.map.controllers())
    }

    fn commands(&self) -> NodeId {
        NodeId(self.register().0 + 1)
    }

    fn links(&self, s: &Settings) -> Vec<Vec<Link>> {
        let mut all: Vec<Vec<Link>> = (0..self.cores).map(|h| self.core_links(s, h)).collect();
        all.push(self.directory_links(s));
        all.extend((0..self.map.controllers()).map(|i| self.controller_links(s, i)));
        let to_core = |h| link(NodeId(h), ports::REGISTER, s.dur("wires.core_directory_ns"));
        let nothing = link(self.register(), PortId(0), Dur::ps(1));
        all.push(std::iter::once(nothing).chain((0..self.cores as u16).map(to_core)).collect());
        all.push(self.command_links(s));
        all
    }

    fn core_links(&self, s: &Settings, core: usize) -> Vec<Link> {
        let (near, far) = (s.dur("wires.core_directory_ns"), s.dur("wires.core_controller_ns"));
        let mut links = vec![
            link(self.directory(), PortId(core as u8), near),
            link(self.register(), ports::from_core(core as u8), near),
            link(self.commands(), PortId(core as u8), near),
        ];
        let arrives = ports::from_core(core as u8);
        links.extend((0..self.map.pm_controllers).map(|i| link(self.controller(i), arrives, far)));
        let from_me = ports::core(core as u8, self.map.pm_controllers);
        let peers = s.dur("wires.core_core_ns");
        links.extend((0..self.cores).map(|h| link(NodeId(h as u16), from_me, peers)));
        links
    }

    /// The command port: cores, then the devices.
    fn command_links(&self, s: &Settings) -> Vec<Link> {
        let (near, far) = (s.dur("wires.core_directory_ns"), s.dur("neardata.link_ns"));
        let cores = (0..self.cores as u16).map(|h| link(NodeId(h), ports::COMMANDS, near));
        let arrives = ports::commands(self.cores);
        let devices = (0..self.map.pm_controllers).map(|i| link(self.controller(i), arrives, far));
        cores.chain(devices).collect()
    }

    /// One way between the directory and a controller: devices and agents are behind a link of their own.
    fn to_controller(&self, s: &Settings, index: usize) -> Dur {
        let usual = "wires.directory_controller_ns";
        s.dur(match index < self.map.pm_controllers {
            true if near_parts::is_near(s) => "neardata.link_ns",
            true if remote_parts::kind(s).is_some() => "remote.link_ns",
            _ => usual,
        })
    }

    fn directory_links(&self, s: &Settings) -> Vec<Link> {
        let near = s.dur("wires.core_directory_ns");
        let cores = (0..self.cores as u16).map(|h| link(NodeId(h), ports::DIRECTORY, near));
        let to = |i| link(self.controller(i), PortId(0), self.to_controller(s, i));
        let controllers = (0..self.map.controllers()).map(to);
        cores.chain(controllers).collect()
    }

    fn controller_links(&self, s: &Settings, index: usize) -> Vec<Link> {
        let back = ports::directory_to_controller(index, self.cores);
        let first = link(self.directory(), back, self.to_controller(s, index));
        if index >= self.map.pm_controllers {
            return vec![first];
        }
        let far = s.dur("wires.core_controller_ns");
        let cores = (0..self.cores as u16).map(|h| link(NodeId(h), ports::controller(index), far));
        // As many links as there are cores, then the command port and the other devices.
        let commands =
            link(self.commands(), ports::command_to_device(index, self.cores), s.dur("neardata.link_ns"));
        let from = ports::device(index, self.cores);
        let peers =
            (0..self.map.pm_controllers).map(|i| link(self.controller(i), from, s.dur("neardata.peer_ns")));
        std::iter::once(first).chain(cores).chain([commands]).chain(peers).collect()
    }
}

/// How long the directory and the controllers take at least to answer a core, wires included.
fn lookahead(s: &Settings) -> Dur {
    let d = |key: &str| s.dur(key);
    let reads = d("memory.pm.read_ns").min(d("memory.pm.buffer_read_ns")).min(d("memory.dram.read_ns"));
    let paths = [
        d("llc.latency_ns") + d("wires.core_directory_ns"),
        d("memory.pm.acknowledge_ns") + d("wires.core_controller_ns"),
        d("ordering.commit_ns") + d("wires.core_controller_ns"),
        reads + d("wires.directory_controller_ns") + d("wires.core_directory_ns"),
    ];
    paths.into_iter().min().unwrap_or(Dur::ZERO)
}

fn link(to: NodeId, port: PortId, latency: Dur) -> Link {
    Link { to, port, latency }
}

fn controller(s: &Settings, map: AddressMap, index: usize) -> Controller {
    let queue = s.count("ordering.write_pending_queue");
    if index >= map.pm_controllers {
        let spec = ControllerSpec {
            base: DRAM_BASE,
            read: s.dur("memory.dram.read_ns"),
            acknowledge: Dur::ZERO,
            commit: Dur::ZERO,
            read_service: s.dur("memory.dram.service_ns"),
            write_service: s.dur("memory.dram.service_ns"),
            write_pending_queue: 32,
            drain_threshold: 24,
            buffer: None,
        };
        return Controller::new(spec, Box::new(PassThrough));
    }
    let blocks = s.count("memory.pm.buffer_blocks");
    let spec = ControllerSpec {
        base: PM_BASE,
        read: s.dur("memory.pm.read_ns"),
        acknowledge: s.dur("memory.pm.acknowledge_ns"),
        commit: s.dur("ordering.commit_ns"),
        read_service: s.dur("memory.pm.read_service_ns"),
        write_service: s.dur("memory.pm.write_service_ns"),
        write_pending_queue: queue,
        drain_threshold: s.count("memory.pm.drain_threshold").min(queue),
        buffer: (blocks > 0).then(|| BufferSpec {
            blocks,
            read: s.dur("memory.pm.buffer_read_ns"),
            hit_service: s.dur("memory.pm.buffer_service_ns"),
        }),
    };
    Controller::new(spec, ordering::plug::of(s).controller_side(s))
}
