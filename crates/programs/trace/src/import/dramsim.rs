//! DRAMsim3's traces, and those of DRAMSim2 that are called k6 and mase.

use super::ramulator::number_of;
use super::{Sink, pieces, plain, short};
use crate::error::TraceError;
use crate::record::Kind;

/// Lines such as `0x12345680 READ 14`: address, what is done, and the memory's cycle, which is dropped; whole lines of 64 bytes.
pub(super) fn line(number: usize, line: &str, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let bad = || {
        let text = format!("\"{}\" is not `0xADDRESS READ|WRITE CYCLE`", short(line));
        TraceError::line(number, text)
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let (address, what) = match words[..] {
        [] => return Ok(()),
        [c, ..] if c.starts_with(['#', ';']) => return Ok(()),
        [address, what, cycle] if cycle.parse::<f64>().is_ok_and(f64::is_finite) => (address, what),
        _ => return Err(bad()),
    };
    let kind = match what {
        "READ" | "read" | "IFETCH" | "P_FETCH" | "P_MEM_RD" | "P_LOCK_RD" => Kind::Load,
        "WRITE" | "write" | "BOFF" | "P_MEM_WR" | "P_LOCK_WR" => Kind::Store,
        _ => return Err(bad()),
    };
    let address = address.starts_with("0x").then(|| number_of(address)).flatten().ok_or_else(bad)?;
    pieces(sink, plain(kind, address & !63), 8)
}
