//! `perf script` of what `perf mem record` sampled: a line a sample, with its address and what the processor said of it.
//!
//! ```text
//! kv  1234 [001]  56.789012:  1 cpu/mem-loads,ldlat=30/P:  7f10a2c4  68100142 |OP LOAD|LVL L1 hit|SNP None|...
//! ```

use super::turns::Turns;
use super::{Sink, plain, short, text};
use crate::error::TraceError;
use crate::record::{Kind, Record};
use std::io::BufRead;

/// Bits of the data source that say what the instruction did.
const LOAD: u64 = 2;
const STORE: u64 = 4;

pub(super) fn read(input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let (mut turns, mut any) = (Turns::default(), false);
    text::lines(input, &mut |number, line| {
        // Other lines are comments, events of other kinds, and frames of the stack.
        let Some((before, _)) = line.split_once("|OP ") else { return Ok(()) };
        any = true;
        let bad = || {
            let text = format!("\"{}\": no address and data source before |OP", short(line.trim()));
            TraceError::line(number, text)
        };
        let mut words = before.split_whitespace();
        let mut hex = || u64::from_str_radix(words.next_back()?, 16).ok();
        let (source, address) = (hex().ok_or_else(bad)?, hex().ok_or_else(bad)?);
        let thread = turns.number(thread(before))?;
        let kinds = [(LOAD, Kind::Load), (STORE, Kind::Store)];
        for (_, kind) in kinds.into_iter().filter(|(bit, _)| source & bit > 0 && address > 0) {
            let record = Record { thread, size: 8, ..plain(kind, address & !7) };
            sink(turns.placed(record))?;
        }
        Ok(())
    })?;
    if any {
        Ok(())
    } else {
        Err(TraceError::foreign("no line has a data source (perf script -F +addr,+data_src)"))
    }
}

/// The thread: the number before the time, behind a name that may have blanks; 0 where there is none.
fn thread(before: &str) -> u64 {
    let words: Vec<&str> = before.split_whitespace().collect();
    let is_time = |w: &&str| {
        w.strip_suffix(':').and_then(|w| w.split_once('.')).is_some_and(|(s, f)| digits(s) && digits(f))
    };
    let Some(time) = words.iter().position(is_time) else { return 0 };
    let who = words[..time].iter().rev().find(|w| !w.starts_with('['));
    who.and_then(|w| w.rsplit('/').next()?.parse().ok()).unwrap_or(0)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
