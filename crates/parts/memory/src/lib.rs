//! Memory: controllers with their queues, the media behind them, and the bytes.
#![forbid(unsafe_code)]

pub mod controller;
pub mod ddr4;
pub mod nand;
pub mod params;
pub mod plug;

pub use controller::{
    Admission, BufferSpec, Controller, ControllerSpec, Cost, Drain, FixedMedia, FixedSpec, Media, PassThrough,
};
pub use plug::SYSTEM;
