//! Parameters of cores, of their caches, and of the wires between them and memory.

use crate::{CacheShape, CoreSpec, DirectorySpec, FlushSpec, Index, Replacement};
use params::{Dur, Param, Parameters, Settings, Words, ns};
use protocol::FenceKind;
use units::Clock;

/// Cores.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "cpu")]
pub struct CpuParameters {
    /// cores; those of a machine's file are raised to the program's threads where these are more
    #[param(default = "4", source = "paper: ASAP Table II", min = 1, max = 64)]
    pub cores: usize,
    /// instructions issued a cycle
    #[param(default = "8", source = "paper: ASAP Table II", min = 1, max = 16)]
    pub width: u64,
    /// instructions issued for each memory reference, itself included
    #[param(
        default = "4",
        source = "open 3..6: about a quarter of instructions are loads and stores",
        min = 1,
        max = 100
    )]
    pub instructions_per_reference: u64,
    /// instructions that may pass a load whose value nothing waits for
    #[param(default = "192", source = "artifact: gem5 O3 reorder buffer", min = 8, max = 4096)]
    pub window: u64,
    /// lines that a core may have on their way at once
    #[param(default = "16", source = "artifact: gem5 sequencer", min = 1, max = 256)]
    pub outstanding_misses: usize,
    /// of these, lines that it has asked for to store to them; 0: as many as any
    #[param(
        default = "0",
        source = "open 0: no text names a bound; machines that were measured have their own",
        min = 0,
        max = 256
    )]
    pub outstanding_store_misses: usize,
    /// stores that have retired but are not yet visible
    #[param(default = "32", source = "artifact: gem5 O3 store queue", min = 1, max = 256)]
    pub store_buffer: usize,
    /// a store asks for its line when it enters the store buffer
    #[param(default = "true", source = "datasheet: current cores request ownership ahead")]
    pub store_prefetch: bool,
    /// time from one store's becoming visible to the next
    #[param(default = "0.5", source = "open 0.25..1: about a cycle", range = ns::STEP)]
    pub store_interval_ns: Dur,
    /// time of a locked read-modify-write on a line that is there
    #[param(default = "10", source = "datasheet: about 20 cycles for locked instructions", range = ns::NS)]
    pub locked_ns: Dur,
}

/// Writes that go past the caches, where a core's flush instructions or its stores to devices make any.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "cpu")]
pub struct OutstandingParameters {
    /// flushes and non-temporal stores that a core may have on their way at once; 0: nothing bounds them
    #[param(
        default = "0",
        source = "open 0: no text names a bound; machines that were measured have their own",
        min = 0,
        max = 256
    )]
    pub outstanding_writes: usize,
}

/// Non-temporal stores, where they are more than stores.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "cpu")]
pub struct NonTemporalParameters {
    /// write-combining buffers for non-temporal stores
    #[param(default = "10", source = "datasheet: Intel line fill buffers", min = 1, max = 64)]
    pub write_combining: usize,
    /// time from one word of a non-temporal store to the next; eight words are a line, and those that join a whole one take cpu.store_interval_ns
    #[param(default = "0.5", source = "datasheet: a store a cycle, as of others", range = ns::STEP)]
    pub nontemporal_interval_ns: Dur,
}

/// How fast instructions go; recorded programs at page fidelity know nothing else of a core.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "cpu")]
pub struct RateParameters {
    /// clock of the cores in MHz
    #[param(default = "2000", source = "paper: ASAP Table II", min = 100, max = 10_000)]
    pub clock_mhz: u64,
    /// instructions a cycle of a recorded program's own work; its waiting for memory is simulated and comes
    /// on top
    #[param(
        default = "1.5",
        source = "open 0.5..3: a recording does not tell it; stands at 1.5, as before any paper's program took its time from it",
        min = 500,
        max = 3000,
        thousandths
    )]
    pub ipc: u64,
}

/// The first-level data cache.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "l1")]
pub struct L1Parameters {
    /// size of the first-level data cache
    #[param(default = "32 KiB", source = "paper: ASAP Table II", multiple_of = 64, max = 1 << 24)]
    pub size_bytes: usize,
    /// ways of the first-level data cache
    #[param(default = "8", source = "paper: ASAP Table II", min = 1, max = 64)]
    pub ways: usize,
    /// time of a first-level hit
    #[param(default = "1", source = "paper: ASAP Table II", range = ns::SERVICE)]
    pub latency_ns: Dur,
}

/// The private second-level cache.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "l2")]
pub struct L2Parameters {
    /// size of the private second-level cache
    #[param(default = "2 MiB", source = "paper: ASAP Table II", multiple_of = 64, max = 1 << 28)]
    pub size_bytes: usize,
    /// ways of the private second-level cache
    #[param(default = "8", source = "paper: ASAP Table II", min = 1, max = 64)]
    pub ways: usize,
    /// time of a second-level hit
    #[param(default = "10", source = "paper: ASAP Table II", range = ns::SERVICE)]
    pub latency_ns: Dur,
}

/// The shared last-level cache, with its directory.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "llc")]
pub struct LlcParameters {
    /// size of the shared last-level cache
    #[param(default = "16 MiB", source = "paper: ASAP Table II", multiple_of = 64, max = 1 << 32)]
    pub size_bytes: usize,
    /// ways of the shared last-level cache
    #[param(default = "16", source = "paper: ASAP Table II", min = 1, max = 64)]
    pub ways: usize,
    /// time of a lookup in the last-level cache and directory
    #[param(default = "12", source = "artifact: 40 cycles configured, wires taken off", range = ns::NS)]
    pub latency_ns: Dur,
    /// which line of a set makes room, among those equally worth keeping
    #[param(default = "lru", source = "artifact: gem5 Ruby's default")]
    pub replacement: Replacement,
    /// which set a line has
    #[param(default = "modulo", source = "artifact: gem5 Ruby's default")]
    pub index: Index,
    /// false: only a directory; what no core holds comes from memory
    #[param(default = "true", source = "paper: ASAP Table II")]
    pub keeps_data: bool,
}

/// Wires.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "wires")]
pub struct WireParameters {
    /// one way between a core and the directory
    #[param(default = "4", source = "open 2..8: not published, half to twice", range = ns::WIRE)]
    pub core_directory_ns: Dur,
    /// one way between the directory and a controller
    #[param(default = "5", source = "open 2.5..10: not published, half to twice", range = ns::WIRE)]
    pub directory_controller_ns: Dur,
}

/// Wires on which cores tell controllers of what they have written.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "wires")]
pub struct ControllerWireParameters {
    /// one way between a core and a controller of persistent memory
    #[param(default = "5", source = "open 2.5..10: not published, half to twice", range = ns::WIRE)]
    pub core_controller_ns: Dur,
}

/// Wires between what stands beside the cores, where anything does.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "wires")]
pub struct PeerWireParameters {
    /// one way between two cores
    #[param(default = "5", source = "open 2.5..10: not published, half to twice", range = ns::WIRE)]
    pub core_core_ns: Dur,
}

/// What waits at an sfence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum SfenceBlocks {
    /// The core.
    Core,
    /// Its later stores.
    Stores,
}

/// Flush instructions and fences on a machine that needs them.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub struct FlushParameters {
    /// fixed time in the core before a flush instruction leaves it
    #[param(default = "0", source = "datasheet: Intel SDM: clwb and clflushopt are weakly ordered, and the core goes on", range = ns::NS)]
    pub flush_instruction_ns: Dur,
    /// later stores may pass a flush instruction that is under way
    #[param(default = "true", source = "datasheet: clwb and clflushopt are weakly ordered")]
    pub flush_overlap: bool,
    /// flush instructions and lines to be stored to contend: with so many flushes and non-temporal stores on their way no store
    /// becomes visible or asks for its line, and while such a line is on its way no further flush leaves; 0: they do not
    #[param(
        default = "0",
        source = "open 0: no text names a bound; machines that were measured have their own",
        min = 0,
        max = 256
    )]
    pub outstanding_flushes: usize,
}

/// Programs' own flush instructions.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub struct WriteBackParameters {
    /// clwb drops the line
    #[param(default = "false", source = "datasheet: Intel SDM, clwb")]
    pub flush_invalidates: bool,
}

/// Fences that wait for flush instructions, and for no persist path.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub struct SfenceParameters {
    /// what waits at an sfence on a machine with volatile caches
    #[param(default = "core", source = "paper: ASAP §II-B")]
    pub sfence_blocks: SfenceBlocks,
}

/// What a program's own sfence means to a persist path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum Sfence {
    /// What was stored before is durable when it ends.
    Dfence,
    /// What was stored before is durable before what is stored after it.
    Ofence,
}

/// A core with a persist path.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub struct PersistPathParameters {
    /// evicted lines of a core that wait until their writes have persisted
    #[param(default = "16", source = "open 8..32: not published, half to twice", min = 1, max = 256)]
    pub write_back_buffer: usize,
}

/// A persist path with fences.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "ordering")]
pub struct PathFenceParameters {
    /// what a program's own sfence means on a machine with a persist path
    #[param(
        default = "dfence",
        source = "datasheet: Intel SDM, what is flushed before an sfence is durable after it"
    )]
    pub sfence: Sfence,
}

/// A cache of so many bytes.
fn shape(size_bytes: usize, ways: usize, latency: Dur) -> CacheShape {
    CacheShape { sets: size_bytes / 64 / ways, ways, latency, index: Index::Modulo }
}

/// What a core is made of; a store to a device's register holds it for `uncached`.
pub fn core_spec(settings: &Settings, uncached: Dur) -> CoreSpec {
    let cpu = CpuParameters::from_settings(settings);
    let (l1, l2) = (L1Parameters::from_settings(settings), L2Parameters::from_settings(settings));
    let outstanding = OutstandingParameters::from_settings(settings);
    let non_temporal = NonTemporalParameters::from_settings(settings);
    let flush = FlushParameters::from_settings(settings);
    let path = PersistPathParameters::from_settings(settings);
    let fences = PathFenceParameters::from_settings(settings);
    let clock = Clock::mhz(RateParameters::from_settings(settings).clock_mhz);
    let cycles = clock.cycles(cpu.instructions_per_reference);
    CoreSpec {
        issue: Dur::ps(cycles.as_ps().div_ceil(cpu.width)),
        l1: shape(l1.size_bytes, l1.ways, l1.latency_ns),
        l2: shape(l2.size_bytes, l2.ways, l2.latency_ns),
        store_buffer: cpu.store_buffer,
        store_prefetch: cpu.store_prefetch,
        outstanding_misses: cpu.outstanding_misses,
        outstanding_store_misses: match cpu.outstanding_store_misses {
            0 => cpu.outstanding_misses,
            most => most,
        },
        outstanding_writes: Some(outstanding.outstanding_writes).filter(|most| *most > 0),
        window_references: (cpu.window / cpu.instructions_per_reference).max(1),
        store_interval: cpu.store_interval_ns,
        locked: cpu.locked_ns,
        write_combining: non_temporal.write_combining,
        nontemporal_interval: non_temporal.nontemporal_interval_ns,
        flush: FlushSpec {
            issue: flush.flush_instruction_ns,
            overlap: flush.flush_overlap,
            beside_stores: Some(flush.outstanding_flushes).filter(|most| *most > 0),
            invalidates: WriteBackParameters::from_settings(settings).flush_invalidates,
        },
        uncached,
        sfence_blocks: match SfenceParameters::from_settings(settings).sfence_blocks {
            SfenceBlocks::Core => true,
            SfenceBlocks::Stores => false,
        },
        sfence_as: match fences.sfence {
            Sfence::Dfence => FenceKind::Dfence,
            Sfence::Ofence => FenceKind::Ofence,
        },
        write_back_buffer: path.write_back_buffer,
    }
}

/// What the shared cache and the directory of `cores` cores are made of.
pub fn directory_spec(settings: &Settings, cores: usize, caches_persist: bool) -> DirectorySpec {
    let llc = LlcParameters::from_settings(settings);
    DirectorySpec {
        cores: cores as u8,
        shape: CacheShape { index: llc.index, ..shape(llc.size_bytes, llc.ways, llc.latency_ns) },
        latency: llc.latency_ns,
        snoop: Dur::ns(1),
        retry: Dur::ns(50),
        keeps_data: llc.keeps_data,
        replacement: llc.replacement,
        caches_persist,
    }
}

/// Whether the caches hold each other.
///
/// # Errors
/// The key, and what is accepted.
pub fn check(settings: &Settings) -> Result<(), String> {
    let (l1, l2) = (L1Parameters::from_settings(settings), L2Parameters::from_settings(settings));
    let llc = LlcParameters::from_settings(settings);
    let sizes = [
        ("l1", l1.size_bytes, 1 << 10, l1.ways),
        ("l2", l2.size_bytes, 1 << 10, l2.ways),
        ("llc", llc.size_bytes, 1 << 12, llc.ways),
    ];
    for (cache, size, least, ways) in sizes {
        if size < least {
            return Err(format!("{cache}.size_bytes: {size} bytes; give {least} at least"));
        }
        if size / 64 < ways {
            return Err(format!(
                "{cache}.size_bytes: {size} bytes hold fewer than {cache}.ways = {ways} lines"
            ));
        }
        if !(size / 64).is_multiple_of(ways) {
            return Err(format!(
                "{cache}.size_bytes: {size} bytes are no whole number of sets of {cache}.ways = {ways} lines; give a multiple of {} bytes",
                64 * ways
            ));
        }
    }
    if l2.size_bytes < l1.size_bytes {
        return Err(format!(
            "l2.size_bytes: {} bytes; the second level includes the first and cannot be smaller than l1.size_bytes = {}",
            l2.size_bytes, l1.size_bytes
        ));
    }
    if llc.size_bytes < l2.size_bytes {
        return Err(format!(
            "llc.size_bytes: {} bytes; the last level includes the private caches and cannot be smaller than l2.size_bytes = {}",
            llc.size_bytes, l2.size_bytes
        ));
    }
    Ok(())
}

/// Every parameter.
pub(crate) const TABLES: &[&[Param]] = &[
    CpuParameters::TABLE,
    OutstandingParameters::TABLE,
    NonTemporalParameters::TABLE,
    RateParameters::TABLE,
    L1Parameters::TABLE,
    L2Parameters::TABLE,
    LlcParameters::TABLE,
    WireParameters::TABLE,
    ControllerWireParameters::TABLE,
    PeerWireParameters::TABLE,
    FlushParameters::TABLE,
    WriteBackParameters::TABLE,
    SfenceParameters::TABLE,
    PersistPathParameters::TABLE,
    PathFenceParameters::TABLE,
];
