//! ChampSim's records of instructions.

use super::{Sink, fixed, pieces, plain};
use crate::error::TraceError;
use crate::record::{Kind, Record};
use std::io::BufRead;

/// Records of 64 bytes, one an instruction: instruction pointer (8), branch flags (2), registers (6), two destinations and
/// four sources in memory (8 each). Accesses are taken as eight bytes; instructions without one are counted.
pub(super) fn read(input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let mut executed = 0u32;
    fixed::<64>(input, "ChampSim", &mut |at, record| {
        if record[8] > 1 || record[9] > 1 {
            return Err(TraceError::damaged(at + 8, "a branch flag that is neither 0 nor 1"));
        }
        executed = executed.saturating_add(1);
        let words = record.as_chunks::<8>().0;
        let sources = words[4..].iter().map(|word| (Kind::Load, word));
        let destinations = words[2..4].iter().map(|word| (Kind::Store, word));
        for (kind, word) in sources.chain(destinations) {
            let address = u64::from_le_bytes(*word);
            if address != 0 {
                let instructions = std::mem::take(&mut executed);
                pieces(sink, Record { instructions, ..plain(kind, address & !7) }, 8)?;
            }
        }
        Ok(())
    })
}
