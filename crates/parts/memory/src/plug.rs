//! Plain memories: controllers with nothing of their own behind the media.

use crate::controller::{OF_BUFFER, OF_DRAM, STATISTICS, statistics};
use crate::ddr4::params::{
    AcknowledgeParameters, ChannelParameters, ControllerParameters, DdrParameters, MediaWord,
    RefreshParameters, own_channel,
};
use crate::ddr4::{ChannelStats, Ddr4, Interleave};
use crate::ddr5::params::{Ddr5Parameters, sub_channel};
use crate::ddr5::{self, Ddr5};
use crate::link::cxl::CxlParameters;
use crate::link::params::{CXL_STATISTICS, SOCKET_STATISTICS, WhichLinkParameters};
use crate::link::socket::SocketParameters;
use crate::nand::params::NandParameters;
use crate::nand::stats::STATISTICS as FLASH;
use crate::params::{
    ControllersParameters, DrainParameters, DramMediaParameters, DramParameters, DramTimeParameters,
    InterleaveParameters, KindParameters, PmMediaParameters, PmParameters, PmTimeParameters,
    PmTurnParameters, QueueParameters, TABLES,
};
use crate::{
    Admission, BufferSpec, Controller, ControllerSpec, Drain, FixedMedia, FixedSpec, Media, PassThrough,
    QueuedMedia,
};
use ::plug::{Around, LeastAnswer, MemoryDevice, MemoryKind, MemoryParts, Place, System};
use params::{Parameters, StatisticInfo, Statistics};
use protocol::{
    Block, ControllerOrdering, DRAM_BASE, LINE_BYTES, Line, PAGE_BYTES, Param, Records, Settings, Turns,
    line_of,
};
use units::Dur;

/// Controllers and the media behind them.
pub const SYSTEM: System = System {
    parameters: &[
        KindParameters::TABLE,
        DrainParameters::TABLE,
        ControllersParameters::TABLE,
        InterleaveParameters::TABLE,
        PmTimeParameters::TABLE,
        PmParameters::TABLE,
        PmTurnParameters::TABLE,
        PmMediaParameters::TABLE,
        DramParameters::TABLE,
        DramTimeParameters::TABLE,
        DramMediaParameters::TABLE,
        QueueParameters::TABLE,
        DdrParameters::TABLE,
        ControllerParameters::TABLE,
        AcknowledgeParameters::TABLE,
        ChannelParameters::TABLE,
        RefreshParameters::TABLE,
        Ddr5Parameters::TABLE,
        NandParameters::TABLE,
        WhichLinkParameters::TABLE,
        CxlParameters::TABLE,
        SocketParameters::TABLE,
    ],
    groups: &[("memory", "memory")],
    statistics: STATISTICS,
    memory: Some(&PersistentMemory),
    ..System::NOTHING
};

/// Channels of DDR4 as a memory of their own, and what several kinds have: links that they are behind, and flash.
pub const DDR4: System = System {
    statistics: &[ChannelStats::TABLE, CXL_STATISTICS, SOCKET_STATISTICS, FLASH[0], FLASH[1]],
    derived: Some(crate::nand::stats::derived),
    memory: Some(&PlainDram(Standard::Ddr4)),
    ..System::NOTHING
};

/// Channels of DDR5 as a memory of their own.
pub const DDR5: System = System {
    statistics: &[ddr5::ChannelStats::TABLE],
    memory: Some(&PlainDram(Standard::Ddr5)),
    ..System::NOTHING
};

/// The tables that act where there are channels of DDR4.
pub const DDR4_TABLES: &[&[Param]] =
    &[DdrParameters::TABLE, ControllerParameters::TABLE, ChannelParameters::TABLE, RefreshParameters::TABLE];

/// A standard that channels of DRAM follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standard {
    Ddr4,
    Ddr5,
}

impl Standard {
    /// That of the media that `key` names; none where they take constant times.
    fn of(s: &Settings, key: &str) -> Option<Standard> {
        match s.read::<MediaWord>(key) {
            MediaWord::Fixed => None,
            MediaWord::Ddr4 => Some(Standard::Ddr4),
            MediaWord::Ddr5 => Some(Standard::Ddr5),
        }
    }

    /// The tables that act where there are channels of it.
    fn tables(self) -> &'static [&'static [Param]] {
        match self {
            Standard::Ddr4 => DDR4_TABLES,
            Standard::Ddr5 => &[Ddr5Parameters::TABLE, ControllerParameters::TABLE, ChannelParameters::TABLE],
        }
    }

    /// What a channel of it reports.
    fn statistics(self) -> &'static [StatisticInfo] {
        match self {
            Standard::Ddr4 => ChannelStats::TABLE,
            Standard::Ddr5 => ddr5::ChannelStats::TABLE,
        }
    }

    fn check(self, s: &Settings) -> Result<(), String> {
        match self {
            Standard::Ddr4 => own_channel(s),
            Standard::Ddr5 => sub_channel(s),
        }
        .map(|_| ())
    }

    fn channel(self, s: &Settings, interleave: Interleave) -> Result<Box<dyn QueuedMedia>, String> {
        Ok(match self {
            Standard::Ddr4 => Box::new(Ddr4::new(own_channel(s)?, interleave)?),
            Standard::Ddr5 => Box::new(Ddr5::new(sub_channel(s)?, interleave)?),
        })
    }
}

/// The tables that act where the machine's DRAM is channels; none where it takes constant times.
pub fn dram_tables(s: &Settings) -> Option<&'static [&'static [Param]]> {
    Standard::of(s, DRAM_MEDIA).map(Standard::tables)
}

/// What the machine's DRAM reports.
pub fn dram_statistics(s: &Settings) -> Vec<&'static [StatisticInfo]> {
    let channel = Standard::of(s, DRAM_MEDIA).map(Standard::statistics);
    [OF_DRAM].into_iter().chain(channel).collect()
}

/// What persistent memory behind a plain controller with media of constant times reports.
pub fn persistent_statistics(s: &Settings, records: Option<Records>) -> Vec<&'static [StatisticInfo]> {
    let buffer = (s.count("memory.pm.buffer_blocks") > 0).then_some(OF_BUFFER);
    statistics(records).into_iter().chain(buffer).collect()
}

/// What channels of DDR4 report.
pub const DDR4_STATISTICS: &[StatisticInfo] = ChannelStats::TABLE;

/// Persistent memory behind plain controllers.
struct PersistentMemory;

impl MemoryKind for PersistentMemory {
    fn name(&self) -> &'static str {
        "pm"
    }

    fn about(&self) -> &'static str {
        "persistent memory behind plain controllers"
    }

    fn tables(&self, s: &Settings) -> Vec<&'static [Param]> {
        let own: &[&[Param]] = &[ControllersParameters::TABLE, PmMediaParameters::TABLE];
        // Channels have times of their own, and an order.
        let queued: &[&[Param]] = &[PmParameters::TABLE, QueueParameters::TABLE];
        match Standard::of(s, PM_MEDIA) {
            Some(standard) => [queued, own, standard.tables()].concat(),
            None => [TABLES, own].concat(),
        }
    }

    fn statistics(&self, s: &Settings, records: Option<Records>) -> Vec<&'static [StatisticInfo]> {
        match Standard::of(s, PM_MEDIA) {
            Some(standard) => [statistics(records), vec![standard.statistics()]].concat(),
            None => persistent_statistics(s, records),
        }
    }

    fn waited_for(&self) -> &'static [&'static str] {
        &["memory.pm.acknowledge_ns"]
    }

    fn check(&self, around: &Around<'_>) -> Result<(), String> {
        Standard::of(around.settings, PM_MEDIA).map_or(Ok(()), |standard| standard.check(around.settings))
    }

    fn controllers(&self, s: &Settings) -> usize {
        s.count("memory.controllers")
    }

    fn build(&self, place: &Place<'_>) -> Result<MemoryParts, String> {
        let s = place.settings;
        let acknowledge = s.dur("memory.pm.acknowledge_ns");
        each(place, self.controllers(s), |base, turns| {
            if let Some(standard) = Standard::of(s, PM_MEDIA) {
                let spec = spec(s, base, Some(turns), acknowledge);
                return channel(s, standard, spec, (base, turns), (place.ordering)());
            }
            Ok(of_part(s, base, Some(turns), (place.ordering)()))
        })
    }
}

const PM_MEDIA: &str = "memory.pm.media";
const DRAM_MEDIA: &str = "memory.dram.media";

/// DRAM behind controllers of its own: programs have it where others have persistent memory, and nothing of it is left.
struct PlainDram(Standard);

impl MemoryKind for PlainDram {
    fn name(&self) -> &'static str {
        match self.0 {
            Standard::Ddr4 => "ddr4",
            Standard::Ddr5 => "ddr5",
        }
    }

    fn about(&self) -> &'static str {
        match self.0 {
            Standard::Ddr4 => "channels of DDR4, of which a power failure leaves nothing",
            Standard::Ddr5 => "channels of DDR5, of which a power failure leaves nothing",
        }
    }

    fn tables(&self, _: &Settings) -> Vec<&'static [Param]> {
        [
            self.0.tables(),
            &[AcknowledgeParameters::TABLE, ControllersParameters::TABLE, QueueParameters::TABLE],
        ]
        .concat()
    }

    fn statistics(&self, _: &Settings, records: Option<Records>) -> Vec<&'static [StatisticInfo]> {
        [statistics(records), vec![self.0.statistics()]].concat()
    }

    fn check(&self, around: &Around<'_>) -> Result<(), String> {
        if around.capabilities.persist_path {
            return Err(format!(
                "ordering.model = {}: DRAM has nothing that a persist path could order; give memory.kind = pm with memory.pm.media = {}, whose modules save it, or {}",
                around.ordering,
                self.name(),
                (around.models)(&|asks| !asks.persist_path)
            ));
        }
        self.0.check(around.settings)
    }

    fn controllers(&self, s: &Settings) -> usize {
        s.count("memory.controllers")
    }

    fn is_volatile(&self, _: &Settings) -> Option<&'static str> {
        Some("DRAM forgets what it holds when the power fails")
    }

    fn build(&self, place: &Place<'_>) -> Result<MemoryParts, String> {
        let s = place.settings;
        let acknowledge = s.dur("memory.ddr.acknowledge_ns");
        each(place, self.controllers(s), |base, turns| {
            channel(s, self.0, spec(s, base, Some(turns), acknowledge), (base, turns), (place.ordering)())
        })
    }
}

/// So many controllers, which share a memory in turns.
fn each(
    place: &Place<'_>,
    controllers: usize,
    one: impl Fn(u64, Turns) -> Result<Controller, String>,
) -> Result<MemoryParts, String> {
    let (base, bytes) = (place.map.base(place.index), place.map.memory(place.index).interleave_bytes);
    let of = |nth| {
        let turns = Turns { bytes, of: controllers as u64, nth };
        one(base, turns).map(|controller| Box::new(controller) as Box<dyn MemoryDevice>)
    };
    Ok(MemoryParts::of((0..controllers as u64).map(of).collect::<Result<_, _>>()?))
}

/// A controller of persistent memory whose first address is `base`, with its half of the ordering model.
pub fn persistent(s: &Settings, base: u64, ordering: Box<dyn ControllerOrdering>) -> Controller {
    of_part(s, base, None, ordering)
}

/// The same before media that are given.
pub fn persistent_on(
    s: &Settings,
    base: u64,
    media: Box<dyn Media>,
    ordering: Box<dyn ControllerOrdering>,
) -> Controller {
    Controller::new(spec(s, base, None, s.dur("memory.pm.acknowledge_ns")), media, ordering)
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
    let spec = spec(s, base, turns, s.dur("memory.pm.acknowledge_ns"));
    Controller::new(spec, Box::new(FixedMedia::new(media)), ordering)
}

/// A controller with the write pending queue that orderings name.
fn spec(s: &Settings, base: u64, turns: Option<Turns>, acknowledge: Dur) -> ControllerSpec {
    let queue = s.count("ordering.write_pending_queue");
    ControllerSpec {
        base,
        turns,
        acknowledge,
        commit: s.dur("ordering.commit_ns"),
        write_pending_queue: queue,
        coalesces: true,
        drain_threshold: s.count("memory.pm.drain_threshold").min(queue),
        drain: Drain::First,
        admission: Admission::InTurn,
    }
}

/// A controller with a channel behind it, for its part of a memory that begins at `first`.
fn channel(
    s: &Settings,
    standard: Standard,
    spec: ControllerSpec,
    (first, turns): (u64, Turns),
    ordering: Box<dyn ControllerOrdering>,
) -> Result<Controller, String> {
    let (lines, channels) = (turns.bytes / LINE_BYTES, turns.of);
    let media = standard.channel(s, Interleave { first: first / LINE_BYTES, lines, channels })?;
    Ok(Controller::of_queued(spec, media, ordering))
}

/// Controller `nth` of the `of` that share the machine's DRAM.
///
/// # Errors
/// When its channel's parameters do not fit together.
pub fn dram(s: &Settings, nth: u64, of: u64) -> Result<Controller, String> {
    let spec = ControllerSpec {
        base: DRAM_BASE,
        turns: None,
        acknowledge: Dur::ZERO,
        commit: Dur::ZERO,
        write_pending_queue: 32,
        coalesces: true,
        drain_threshold: 24,
        drain: Drain::First,
        admission: Admission::InTurn,
    };
    if let Some(standard) = Standard::of(s, DRAM_MEDIA) {
        // Who has which block of DRAM is counted from address zero.
        let turns = Turns { bytes: s.number("memory.interleave_bytes"), of, nth };
        return channel(s, standard, spec, (0, turns), Box::new(PassThrough));
    }
    let service = s.dur("memory.dram.service_ns");
    let read = s.dur("memory.dram.read_ns");
    let media = FixedSpec { read, read_service: service, write_service: service, buffer: None };
    Ok(Controller::new(spec, Box::new(FixedMedia::new(media)), Box::new(PassThrough)))
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
