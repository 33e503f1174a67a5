//! The wiring: one engine, its nodes, and the links between them.

use crate::describe::Description;
use crate::error::ConfigError;
use crate::faults::Names;
use crate::memories::{Entry, address_map};
use crate::work::Work;
use cpu::params::{core_spec, directory_spec};
use cpu::{Core, Directory};
use engine::{Engine, Link, Mode, NodeId, PortId};
use memory::link::{self, LinkPorts, MemoryLink};
use plug::{Companion, MemoryDevice, MemoryParts, NoDevice, Place, UncachedPort};
use protocol::{AddressMap, Among, Msg, NearInterface, Node, PAGE_BYTES, Settings, TURN, ports};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use trace::Replay;
use units::Dur;
use workloads::PmCache;

/// A machine with its engine, ready to run.
pub(crate) struct WiredMachine {
    pub(crate) engine: Engine<Msg>,
    pub(crate) cores: Vec<Core>,
    pub(crate) directory: Directory,
    /// Those of persistent memory, memory by memory, then those of DRAM.
    pub(crate) controllers: Vec<Box<dyn MemoryDevice>>,
    /// The node that the ordering model's core sides share.
    pub(crate) register: Box<dyn Node>,
    pub(crate) map: AddressMap,
    /// What belongs to memories besides their devices, with each memory's place in the list.
    pub(crate) companions: Vec<(usize, Rc<RefCell<dyn Companion>>)>,
    /// Whether one of these wants to see what devices did.
    pub(crate) is_watched: bool,
    /// Whether a device or what belongs to a memory may find that going on is of no use.
    pub(crate) may_break: bool,
    /// Who watches devices has found something wrong.
    pub(crate) has_failed: bool,
    /// Memories, by their place in the list, that a power failure empties.
    pub(crate) emptied: Vec<usize>,
    /// Links that memories are behind.
    pub(crate) links: Vec<MemoryLink>,
    /// Whether one is a driver, whose tables cores share.
    pub(crate) is_shared: bool,
    /// What of persistent memory is in caches in front of it; none where there is no such cache.
    pub(crate) pm_cache: Option<PmCache>,
    /// Whether a memory's driver maps pages at their first touch.
    pub(crate) is_mapped_late: bool,
    /// Bytes of persistent memory, where one memory is all of it and ends.
    pub(crate) pm_bytes: Option<u64>,
    /// A recording that runs on it.
    pub(crate) replay: Option<Rc<Replay>>,
    /// Whether the run is of no use once a recording's region of interest has ended.
    pub(crate) ends_with_region: bool,
    /// About how much its programs have to do.
    pub(crate) work: Work,
    /// What is behind the port of uncached accesses.
    pub(crate) port: Box<dyn UncachedPort>,
    /// What programs are told of devices that take crash consistency over.
    pub(crate) offload: Option<NearInterface>,
    /// What its models are called.
    pub(crate) names: Names,
}

impl WiredMachine {
    /// Builds `cores` cores and everything that they need.
    pub(crate) fn build(
        description: &Description,
        cores: usize,
        mode: Mode,
    ) -> Result<WiredMachine, ConfigError> {
        let s = &description.settings;
        let entries = description.entries()?;
        let map = address_map(s, &entries);
        let plan = Plan { cores, map, entries: &entries };
        let ordering = ordering::models::of(s);
        // Without a port there is no register to be stored to.
        let register_store = entries.iter().find_map(|e| e.register_store()).unwrap_or(Dur::ZERO);
        let core = |id: usize| {
            Core::new(
                id as u8,
                core_spec(s, register_store),
                ordering.core_side(s, id as u8, map),
                map.pm_controllers,
            )
        };
        let mut built = Built::new();
        for (index, entry) in entries.iter().enumerate() {
            // Halves are asked for in the order of their controllers.
            let next = Cell::new(map.memory(index).first);
            let half = || {
                let mut half = ordering.controller_side(&entry.settings);
                half.among(Among {
                    own: next.replace(next.get() + 1),
                    controllers: map.pm_controllers,
                    cores,
                });
                half
            };
            let place = Place { settings: &entry.settings, cores, index, map, ordering: &half };
            // One with a range of its own has all pages there.
            let share = Some(map.memory(index).share).filter(|share| *share > 0).unwrap_or(TURN);
            built.add(index, share as u64, entry.kind.build(&place).map_err(ConfigError::new)?);
        }
        for nth in 0..map.dram_controllers as u64 {
            let dram = memory::plug::dram(s, nth, map.dram_controllers as u64).map_err(ConfigError::new)?;
            built.devices.push(Box::new(dram));
        }
        let links = plan.linked().map(|link| plan.memory_link(link)).collect();
        let directory = Directory::new(directory_spec(s, cores, ordering.capabilities().caches_persist), map);
        // Cores that share a driver's tables on the host act in order of time.
        let shared = built.companions.iter().any(|(_, c)| c.borrow().is_shared());
        let devices_may_fall_silent = built.devices.iter().any(|device| device.silence().is_some());
        Ok(WiredMachine {
            engine: Engine::new(
                plan.links(s),
                cores,
                if shared && mode == Mode::Fast { Mode::InOrder } else { mode },
                plan.lookahead(s, &directory, &built.devices),
            ),
            cores: (0..cores).map(core).collect(),
            directory,
            controllers: built.devices,
            register: ordering.shared_node(s, cores).unwrap_or_else(|| Box::new(NoDevice::default())),
            map,
            emptied: (0..)
                .zip(&entries)
                .filter(|(_, e)| e.kind.is_emptied(&e.settings))
                .map(|(n, _)| n)
                .collect(),
            links,
            is_shared: shared,
            has_failed: false,
            may_break: !built.companions.is_empty() || devices_may_fall_silent,
            is_watched: built.companions.iter().any(|(_, c)| c.borrow().watches()),
            companions: built.companions,
            pm_cache: built.cache,
            is_mapped_late: entries.iter().any(|entry| entry.kind.translates(&entry.settings)),
            pm_bytes: if let [alone] = &entries[..] { alone.capacity() } else { None },
            replay: None,
            ends_with_region: false,
            work: Work::Operations(0),
            port: built.port.unwrap_or_else(|| Box::new(NoDevice::default())),
            offload: built.offload,
            names: Names::new(s, &entries),
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
            .chain((0..self.links.len()).map(|i| format!("link {i}")))
            .collect()
    }
}

/// Bytes of persistent memory that caches in front of it hold at once; none where there is no such cache.
///
/// # Errors
/// When the machine cannot be built.
pub fn cached_bytes(description: &Description) -> Result<Option<u64>, ConfigError> {
    let machine = WiredMachine::build(description, 1, Mode::Fast)?;
    Ok(machine.pm_cache.map(|cache| cache.bytes))
}

/// The parts of all memories.
struct Built {
    devices: Vec<Box<dyn MemoryDevice>>,
    companions: Vec<(usize, Rc<RefCell<dyn Companion>>)>,
    port: Option<Box<dyn UncachedPort>>,
    offload: Option<NearInterface>,
    cache: Option<PmCache>,
}

impl Built {
    fn new() -> Built {
        Built { devices: Vec::new(), companions: Vec::new(), port: None, offload: None, cache: None }
    }

    /// Adds a memory to which so many pages of a turn go.
    fn add(&mut self, index: usize, share: u64, parts: MemoryParts) {
        self.devices.extend(parts.devices);
        self.companions.extend(parts.companion.map(|c| (index, c)));
        self.port = self.port.take().or(parts.port);
        self.offload = self.offload.or(parts.offload);
        let own = parts.cache_bytes.map(|bytes| {
            let turns = (bytes / PAGE_BYTES).div_ceil(share);
            PmCache { bytes, span_bytes: turns * TURN as u64 * PAGE_BYTES }
        });
        let both = |a: PmCache, b: PmCache| PmCache {
            bytes: a.bytes + b.bytes,
            span_bytes: a.span_bytes.max(b.span_bytes),
        };
        self.cache = [self.cache, own].into_iter().flatten().reduce(both);
    }
}

/// Node numbers and links: cores, directory, controllers, register, command port, links to devices.
struct Plan<'a> {
    cores: usize,
    map: AddressMap,
    entries: &'a [Entry],
}

impl Plan<'_> {
    /// The memory of a controller of persistent memory.
    fn entry(&self, controller: usize) -> &Entry {
        &self.entries[self.map.memory_of_controller(controller)]
    }

    /// The wires of a controller, or of the link before it, to the command port; and those to its peers, which are behind the same link.
    fn command_wires(&self, controller: usize) -> [Dur; 2] {
        let entry = self.entry(controller);
        let [to_port, to_peer] = entry.kind.command_links(&entry.settings);
        if link::is_linked(&entry.settings) {
            return [entry.settings.dur("wires.directory_controller_ns"), to_peer];
        }
        [to_port, to_peer]
    }

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
        all.extend(self.linked().map(|link| self.links_of_link(s, link)));
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
        let near = s.dur("wires.core_directory_ns");
        let cores = (0..self.cores as u16).map(|h| link(NodeId(h), ports::COMMANDS, near));
        let arrives = ports::commands(self.cores);
        let device = |i| match self.link_before(i) {
            Some((node, ports)) => link(node, ports.command_down(), self.command_wires(i)[0]),
            None => link(self.controller(i), arrives, self.command_wires(i)[0]),
        };
        let devices = (0..self.map.pm_controllers).map(device);
        cores.chain(devices).collect()
    }

    /// One way between the directory and a controller, or the link before it: some memories are behind a way of their own.
    fn to_controller(&self, s: &Settings, index: usize) -> Dur {
        if index >= self.map.pm_controllers || link::is_linked(&self.entry(index).settings) {
            return s.dur("wires.directory_controller_ns");
        }
        let entry = self.entry(index);
        entry.kind.link(&entry.settings)
    }

    fn directory_links(&self, s: &Settings) -> Vec<Link> {
        let near = s.dur("wires.core_directory_ns");
        let cores = (0..self.cores as u16).map(|h| link(NodeId(h), ports::DIRECTORY, near));
        let to = |i| match self.link_before(i) {
            Some((node, ports)) => link(node, ports.down(), self.to_controller(s, i)),
            None => link(self.controller(i), PortId(0), self.to_controller(s, i)),
        };
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
        let ups = std::iter::once(first).chain(cores).enumerate();
        let behind = self
            .link_before(index)
            .map(|(node, ports)| (node, ports, link::spec(&self.entry(index).settings).device));
        let ups = ups.map(|(to, direct)| match behind {
            Some((node, ports, device)) => link(node, ports.up(to), device),
            None => direct,
        });
        // As many links as there are cores, then the command port and the other controllers.
        let [to_port, to_peer] = self.command_wires(index);
        let commands = match behind {
            Some((node, ports, device)) => link(node, ports.command_up(), device),
            None => link(self.commands(), ports::command_to_device(index, self.cores), to_port),
        };
        let from = ports::device(index, self.cores);
        let peers = (0..self.map.pm_controllers).map(|i| link(self.controller(i), from, to_peer));
        ups.chain([commands]).chain(peers).collect()
    }

    /// The links, each with its memory and its number among those of that memory.
    fn linked(&self) -> impl Iterator<Item = (usize, usize)> {
        let links = |memory: usize| match link::is_linked(&self.entries[memory].settings) {
            true => self.links_of(memory),
            false => 0,
        };
        (0..self.entries.len()).flat_map(move |memory| (0..links(memory)).map(move |nth| (memory, nth)))
    }

    /// Links of a memory: none is without a controller.
    fn links_of(&self, memory: usize) -> usize {
        link::spec(&self.entries[memory].settings).links.min(self.map.memory(memory).controllers)
    }

    /// The controllers behind a link: a memory's are shared between its links in turn.
    fn behind(&self, (memory, nth): (usize, usize)) -> impl Iterator<Item = usize> + Clone {
        self.map.memory(memory).numbers().skip(nth).step_by(self.links_of(memory))
    }

    /// A link of a memory.
    fn memory_link(&self, which: (usize, usize)) -> MemoryLink {
        let Entry { kind, settings, .. } = &self.entries[which.0];
        let spec = link::spec(settings);
        let spec = if kind.keeps_directory() { spec } else { spec.without_directory() };
        MemoryLink::new(spec, self.behind(which).count(), self.cores)
    }

    /// The link that a controller is behind, and its ports for this controller.
    fn link_before(&self, controller: usize) -> Option<(NodeId, LinkPorts)> {
        if controller >= self.map.pm_controllers {
            return None;
        }
        let memory = self.map.memory_of_controller(controller);
        let (links, own) = (self.links_of(memory), controller - self.map.memory(memory).first);
        let which = (memory, own % links);
        let number = self.linked().position(|linked| linked == which)?;
        let ports =
            LinkPorts { own: own / links, controllers: self.behind(which).count(), cores: self.cores };
        Some((NodeId(self.commands().0 + 1 + number as u16), ports))
    }

    /// A link's: to each controller; for each of these to the directory and to all cores; commands to each, and back from it.
    fn links_of_link(&self, s: &Settings, which: (usize, usize)) -> Vec<Link> {
        let (own, device) = (self.behind(which), link::spec(&self.entries[which.0].settings).device);
        let down = own.clone().map(|i| link(self.controller(i), PortId(0), device));
        let far = s.dur("wires.core_controller_ns");
        let up = own.clone().flat_map(|i| {
            let back = ports::directory_to_controller(i, self.cores);
            let directory = link(self.directory(), back, self.to_controller(s, i));
            let cores = (0..self.cores as u16).map(move |h| link(NodeId(h), ports::controller(i), far));
            std::iter::once(directory).chain(cores)
        });
        let arrives = ports::commands(self.cores);
        let commands = own.clone().map(|i| link(self.controller(i), arrives, device));
        let answers = own.map(|i| {
            link(self.commands(), ports::command_to_device(i, self.cores), self.command_wires(i)[0])
        });
        down.chain(up).chain(commands).chain(answers).collect()
    }

    /// How long the directory and the devices take at least to answer a core, wires included; zero where a device answers
    /// when it will.
    fn lookahead(&self, s: &Settings, directory: &Directory, devices: &[Box<dyn MemoryDevice>]) -> Dur {
        let (near, far) = (s.dur("wires.core_directory_ns"), s.dur("wires.core_controller_ns"));
        let mut least = directory.least_answer() + near;
        for (index, device) in devices.iter().enumerate() {
            let Some(answer) = device.least_answer() else { return Dur::ZERO };
            let behind = index < self.map.pm_controllers && link::is_linked(&self.entry(index).settings);
            if behind {
                // What has reached the host's end of a link is passed on after that.
                least = least.min(MemoryLink::least(&link::spec(&self.entry(index).settings)) + far);
            }
            least = least.min(answer.to_directory + self.to_controller(s, index) + near);
            if index < self.map.pm_controllers {
                least = least.min(answer.to_core + far);
                if self.entry(index).register_store().is_some() {
                    // A timer of the device may tell the command port, and that a core.
                    least = least.min(self.command_wires(index)[0] + near);
                }
            }
        }
        least
    }
}

fn link(to: NodeId, port: PortId, latency: Dur) -> Link {
    Link { to, port, latency }
}
