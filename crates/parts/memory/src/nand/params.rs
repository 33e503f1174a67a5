//! Parameters of NAND and its translation layer.

use super::Collection;
use params::{Dur, Parameters, Words, ns};

/// What the media are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
pub enum MediaKind {
    /// NAND with channels and dies.
    ZNand,
    /// Media that take the time of a read for everything (PRAM, STT-MRAM).
    Fixed,
}

/// The flash.
#[derive(Clone, Debug, Parameters)]
#[parameters(prefix = "nand")]
pub struct NandParameters {
    /// NAND with channels and dies, or media that take nand.read_ns for everything (PRAM, STT-MRAM)
    #[param(default = "z-nand", source = "paper: NVDIMM-C §IV-A")]
    pub media: MediaKind,
    /// channels
    #[param(acts = "nand.media=z-nand", default = "2", source = "paper: NVDIMM-C §IV-A", min = 1, max = 64)]
    pub channels: u32,
    /// dies on all channels
    #[param(
        acts = "nand.media=z-nand",
        default = "16",
        source = "datasheet: Z-NAND, 64 Gb dies",
        min = 1,
        max = 4096
    )]
    pub dies: u32,
    /// array to page register
    #[param(default = "3000", source = "datasheet: Z-NAND tR", range = ns::NS)]
    pub read_ns: Dur,
    /// page register to array
    #[param(acts = "nand.media=z-nand", default = "100000", source = "datasheet: Z-NAND tPROG", range = ns::NS)]
    pub program_ns: Dur,
    /// erase of a block
    #[param(acts = "nand.media=z-nand", default = "1000000", source = "open 1000000..5000000: not public; stands at its least; the published programs erase nothing", range = ns::LONG)]
    pub erase_ns: Dur,
    /// a page over its channel
    #[param(
        acts = "nand.media=z-nand",
        default = "3400",
        source = "open 2000..3900: measurements leave at most 6.9 us for firmware, read and transfer; stands at 6.9 less 0.5 and 3",
        range = ns::NS
    )]
    pub transfer_ns: Dur,
    /// a read interrupts a program
    #[param(acts = "nand.media=z-nand", default = "true", source = "datasheet: Cheong et al., ISSCC 2018")]
    pub suspends: bool,
    /// pages of a block
    #[param(default = "256", source = "open 128|256|512: not public", min = 1, max = 4096)]
    pub pages_per_block: u64,
    /// over-provisioning, in thousandths of the capacity, beside the seven blocks that collection needs
    #[param(default = "67", source = "paper: NVDIMM-C §VI, 128 GB for 120 GB", min = 0, max = 1000)]
    pub spare_permille: u64,
    /// which block is collected next
    #[param(default = "greedy", source = "open greedy|fifo: not public")]
    pub collection: Collection,
    /// wear levelling: erases that a block may have more than another; 0 for none
    #[param(default = "64", source = "open 32..128: not public", min = 0, max = 1_000_000)]
    pub level_above: u32,
    /// wrong bits of a read, in parts of 10^9
    #[param(
        default = "0",
        source = "open 0: a fault to try; there is none unless it is asked for",
        min = 0,
        max = 1_000_000_000
    )]
    pub bit_errors: u64,
    /// wrong bits that are corrected in each 1,024 bytes
    #[param(
        acts = "nand.bit_errors!=0",
        default = "72",
        source = "open 40..72: LDPC class; stands at the most",
        min = 0,
        max = 1000
    )]
    pub corrected_bits: u64,
    /// reads that are tried again with other thresholds
    #[param(
        acts = "nand.bit_errors!=0",
        default = "4",
        source = "open 2..8: not published, half to twice",
        min = 0,
        max = 16
    )]
    pub retries: u32,
    /// programs that fail, in parts of 10^9
    #[param(
        default = "0",
        source = "open 0: a fault to try; there is none unless it is asked for",
        min = 0,
        max = 1_000_000_000
    )]
    pub program_errors: u64,
    /// erases that fail, in parts of 10^9
    #[param(
        default = "0",
        source = "open 0: a fault to try; there is none unless it is asked for",
        min = 0,
        max = 1_000_000_000
    )]
    pub erase_errors: u64,
    /// blocks that are bad from the factory: they take from the over-provisioning, until nothing is left of it
    #[param(
        default = "0",
        source = "open 0: a fault to try; there is none unless it is asked for",
        min = 0,
        max = 100_000
    )]
    pub bad_blocks: u32,
    /// seed of the stream that decides on errors
    #[param(
        acts = "nand.bit_errors!=0 or nand.program_errors!=0 or nand.erase_errors!=0",
        default = "1",
        source = "open 1: what errors are drawn from",
        min = 0,
        max = 1_000_000_000
    )]
    pub error_seed: u64,
}
