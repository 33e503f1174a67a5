//! Lines of a text, none of which may fill memory.

use crate::error::TraceError;
use std::io::BufRead;
use units::watch;

/// The most bytes of a line, or of an entry of a line.
const LONGEST: u64 = 1 << 16;

/// The next piece of a text up to one of `ends`, which is its last byte unless the text ends; none at its end. `at` is
/// where it begins.
pub(crate) fn piece(
    input: &mut dyn BufRead,
    ends: &[u8],
    at: &mut usize,
) -> Result<Option<String>, TraceError> {
    let mut bytes = Vec::new();
    loop {
        let buffer = input.fill_buf()?;
        let end = buffer.iter().position(|b| ends.contains(b)).map(|end| end + 1);
        let taken = end.unwrap_or(buffer.len());
        bytes.extend_from_slice(&buffer[..taken]);
        input.consume(taken);
        if bytes.len() as u64 > LONGEST {
            return Err(TraceError::damaged(*at, format!("a line of more than {LONGEST} bytes")));
        }
        if end.is_some() || taken == 0 {
            break;
        }
    }
    let text = String::from_utf8(bytes)
        .map_err(|e| TraceError::damaged(*at + e.utf8_error().valid_up_to(), "not text"))?;
    *at += text.len();
    Ok((!text.is_empty()).then_some(text))
}

/// Gives every line and its number.
pub(super) fn lines(
    input: &mut dyn BufRead,
    each: &mut dyn FnMut(usize, &str) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let (mut at, mut number) = (0, 0usize);
    while let Some(line) = piece(input, b"\n", &mut at)? {
        number += 1;
        if number.is_multiple_of(1 << 14) {
            watch::check();
        }
        let line = line.strip_suffix('\n').unwrap_or(&line);
        each(number, line.strip_suffix('\r').unwrap_or(line))?;
    }
    Ok(())
}
