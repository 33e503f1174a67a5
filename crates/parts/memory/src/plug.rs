//! Plain memories: controllers with nothing of their own behind the media.

use crate::controller::STATISTICS;
use crate::ddr4::params::{DdrParameters, RefreshParameters};
use crate::nand::params::NandParameters;
use crate::params::{
    ControllersParameters, DramParameters, InterleaveParameters, KindParameters, PmParameters,
    QueueParameters, TABLES,
};
use crate::{Admission, BufferSpec, Controller, ControllerSpec, Drain, FixedMedia, FixedSpec, PassThrough};
use ::plug::{Around, LeastAnswer, MemoryDevice, MemoryKind, MemoryParts, Place, System};
use params::Parameters;
use protocol::{Block, ControllerOrdering, DRAM_BASE, Line, PAGE_BYTES, Param, Settings, Turns, line_of};
use units::Dur;

/// Controllers and the media behind them.
pub const SYSTEM: System = System {
    parameters: &[
        KindParameters::TABLE,
        ControllersParameters::TABLE,
        InterleaveParameters::TABLE,
        PmParameters::TABLE,
        DramParameters::TABLE,
        QueueParameters::TABLE,
        DdrParameters::TABLE,
        RefreshParameters::TABLE,
        NandParameters::TABLE,
    ],
    statistics: STATISTICS,
    memory: Some(&PersistentMemory),
    ..System::NOTHING
};

/// Persistent memory behind plain controllers.
struct PersistentMemory;

impl MemoryKind for PersistentMemory {
    fn name(&self) -> &'static str {
        "pm"
    }

    fn about(&self) -> &'static str {
        "persistent memory behind plain controllers"
    }

    fn tables(&self, _: &Settings) -> Vec<&'static [Param]> {
        [TABLES, &[ControllersParameters::TABLE]].concat()
    }

    fn check(&self, _: &Around<'_>) -> Result<(), String> {
        Ok(())
    }

    fn controllers(&self, s: &Settings) -> usize {
        s.count("memory.controllers")
    }

    fn build(&self, place: &Place<'_>) -> Result<MemoryParts, String> {
        let controllers = self.controllers(place.settings);
        let (base, bytes) = (place.map.base(place.index), place.map.memory(place.index).interleave_bytes);
        let controller = |nth| {
            let turns = Turns { bytes, of: controllers as u64, nth };
            let controller = of_part(place.settings, base, Some(turns), (place.ordering)());
            Box::new(controller) as Box<dyn MemoryDevice>
        };
        Ok(MemoryParts::of((0..controllers as u64).map(controller).collect()))
    }
}

/// A controller of persistent memory whose first address is `base`, with its half of the ordering model.
pub fn persistent(s: &Settings, base: u64, ordering: Box<dyn ControllerOrdering>) -> Controller {
    of_part(s, base, None, ordering)
}

/// The same, for its part of that memory.
fn of_part(
    s: &Settings,
    base: u64,
    turns: Option<Turns>,
    ordering: Box<dyn ControllerOrdering>,
) -> Controller {
    let blocks = s.count("memory.pm.buffer_blocks");
    let media = FixedSpec {
        read: s.dur("memory.pm.read_ns"),
        read_service: s.dur("memory.pm.read_service_ns"),
        write_service: s.dur("memory.pm.write_service_ns"),
        buffer: (blocks > 0).then(|| BufferSpec {
            blocks,
            read: s.dur("memory.pm.buffer_read_ns"),
            hit_service: s.dur("memory.pm.buffer_service_ns"),
        }),
    };
    let queue = s.count("ordering.write_pending_queue");
    let spec = ControllerSpec {
        base,
        turns,
        acknowledge: s.dur("memory.pm.acknowledge_ns"),
        commit: s.dur("ordering.commit_ns"),
        write_pending_queue: queue,
        drain_threshold: s.count("memory.pm.drain_threshold").min(queue),
        drain: Drain::First,
        admission: Admission::InTurn,
    };
    Controller::new(spec, Box::new(FixedMedia::new(media)), ordering)
}

/// A controller of DRAM.
pub fn dram(s: &Settings) -> Controller {
    let service = s.dur("memory.dram.service_ns");
    let read = s.dur("memory.dram.read_ns");
    let media = FixedSpec { read, read_service: service, write_service: service, buffer: None };
    let spec = ControllerSpec {
        base: DRAM_BASE,
        turns: None,
        acknowledge: Dur::ZERO,
        commit: Dur::ZERO,
        write_pending_queue: 32,
        drain_threshold: 24,
        drain: Drain::First,
        admission: Admission::InTurn,
    };
    Controller::new(spec, Box::new(FixedMedia::new(media)), Box::new(PassThrough))
}

impl MemoryDevice for Controller {
    fn least_answer(&self) -> Option<LeastAnswer> {
        Some(Controller::least_answer(self))
    }

    fn persists(&self) -> u64 {
        Controller::persists(self)
    }

    fn preload(
        &mut self,
        address: u64,
        page: &[u8; PAGE_BYTES as usize],
        owns: &dyn Fn(Line) -> bool,
    ) -> Result<(), String> {
        own_lines(address, page, owns).for_each(|(line, block)| Controller::preload(self, line, block));
        Ok(())
    }

    fn latest(&self, line: Line) -> Option<Block> {
        Some(Controller::latest(self, line))
    }
}

/// The lines of a page for which `owns` says so.
pub fn own_lines<'a>(
    address: u64,
    page: &'a [u8; PAGE_BYTES as usize],
    owns: &'a dyn Fn(Line) -> bool,
) -> impl Iterator<Item = (Line, &'a Block)> {
    let first = line_of(address).0;
    (first..).map(Line).zip(page.as_chunks::<64>().0).filter(|(line, _)| owns(*line))
}
