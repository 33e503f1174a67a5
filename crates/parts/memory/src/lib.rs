//! Memory: controllers with their queues, the media behind them, and the bytes.
#![forbid(unsafe_code)]

pub mod controller;
pub mod ddr4;
pub mod nand;
pub mod params;
pub mod plug;

pub use controller::{BufferSpec, Controller, ControllerSpec, PassThrough};
pub use plug::SYSTEM;
