//! Memory: controllers with their queues, the media behind them, and the bytes.
#![forbid(unsafe_code)]

pub mod controller;
pub mod ddr4;
pub mod ddr5;
pub mod link;
mod media_kind;
pub mod nand;
pub mod params;
pub mod plug;
pub mod replacement;

pub use controller::{
    Admission, BufferSpec, Controller, ControllerSpec, Cost, Drain, FixedMedia, FixedSpec, Media,
    PassThrough, QueuedMedia,
};
pub use media_kind::MediaKind;
pub use plug::{DDR4, DDR5, SYSTEM};
pub use replacement::Replacement;
