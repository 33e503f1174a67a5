//! Valgrind's lackey.

use super::{Sink, pieces, plain, short, text};
use crate::error::TraceError;
use crate::record::{Kind, Record};
use std::io::BufRead;

/// Lines such as ` L 1ffeffe7e8,8`; a modification is a load and a store. Instruction fetches (`I  4001000,3`) are counted, and
/// come before what their instruction accesses.
pub(super) fn read(input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let mut executed = 0;
    text::lines(input, &mut |number, text| line(number, text, &mut executed, sink))
}

fn line(number: usize, line: &str, executed: &mut u32, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let bad = || TraceError::line(number, format!("\"{}\" is not ` L address,size`", short(line)));
    let kind = match line.trim_start().as_bytes().first() {
        Some(b'L' | b'S' | b'M') if line.starts_with(' ') => line.as_bytes()[1],
        Some(b'I') => {
            *executed = executed.saturating_add(u32::from(place(line).is_some()));
            return Ok(());
        }
        Some(b'=') | None => return Ok(()),
        _ => return Err(bad()),
    };
    let (address, size) = place(line).ok_or_else(bad)?;
    let mut first = Record { instructions: std::mem::take(executed), ..plain(Kind::Load, address) };
    if kind != b'S' {
        pieces(sink, first, size)?;
        first.instructions = 0;
    }
    if kind != b'L' {
        pieces(sink, Record { kind: Kind::Store, ..first }, size)?;
    }
    Ok(())
}

/// The address and how many bytes are there.
fn place(line: &str) -> Option<(u64, u64)> {
    let (address, size) = line.get(2..)?.trim().split_once(',')?;
    let address = u64::from_str_radix(address, 16).ok()?;
    size.parse().ok().filter(|s| (1..=4096).contains(s)).map(|size| (address, size))
}
