//! The words that every floor above shares: lines and blocks, messages, operations, the cpu handle, the two
//! halves of an ordering model, what programs may rely on, the memory image, and how statistics are handed up. No behaviour of a machine.
#![forbid(unsafe_code)]

mod address;
mod cpu;
mod image;
mod interest;
mod messages;
mod msg;
mod near;
mod near_command;
mod near_log;
mod node;
mod ordering;
pub mod pages;
mod persistency;
pub mod words;
mod write;

pub use address::{
    AddressMap, DRAM_BASE, LINE_BYTES, Line, MEMORIES, MemoryPlace, PAGE_BYTES, PM_BASE, TURN, UNCACHED_BASE,
};
pub use address::{is_uncached, line_of, offset_of};
pub use cpu::{
    Access, Activity, CorePort, Cpu, FenceKind, FlushKind, Op, OpKind, Order, RmwKind, Share, Site, Touched,
    Translated, Translator,
};
pub use image::{Block, Image, Mask, SharedPage, Turns, mask_of, merge, whole_bytes, word_of};
pub use msg::{Grant, Msg, Snoop, ports, tell_durable, unexpected};
pub use near::{NearInterface, NearKind, NearRefusal, NearRequest};
pub use near_command::NearCommand;
pub use near_log::{LOG_BYTES, LOG_MAGIC, LogChecksum, LogHeader, LogLayout, POOL_HEADER};
pub use node::{Depth, Drained, Lost, Node, PostCrash, View};
pub use ordering::{
    Accepted, Among, Capabilities, Checkpoints, Clocks, ControllerOrdering, CoreOrdering, Evicted, Flushed,
    Outbox, Peer, Records, Retired, WouldBlock,
};
// What stands in this crate's own interface.
pub use params::{self, Occupancy, Param, Settings, StatSink, Tally, Value};
pub use persistency::Persistency;
pub use write::{EpochId, EpochTag, FlushRequest, LineWrite};
