//! KTracker's log, which `coreplane track` writes too: what of a process was dirty, window by window. All u64: a window's
//! number and its count of pages, then each page's address and the bitmap of its lines.
//!
//! A dirty line becomes a store to it. Within a window lines come in the order of the log, which is that of addresses;
//! each window ends with a mark.

use super::{Sink, fixed, plain};
use crate::error::TraceError;
use crate::record::{Kind, Record};
use std::io::BufRead;

const PAGE: u64 = 4096;
const LINE: u64 = 64;
/// Programs have addresses of 47 bits.
const MOST: u64 = 1 << 47;

/// What the next number is.
#[derive(Clone, Copy)]
enum Next {
    Window,
    Pages,
    Page { left: u64 },
    Lines { page: u64, left: u64 },
}

pub(super) fn read(input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let (mut next, mut windows, mut end) = (Next::Window, 0u64, 0);
    fixed::<8>(input, "KTracker", &mut |at, word| {
        let word = u64::from_le_bytes(*word);
        let broken = |text: String| Err(TraceError::damaged(at, text));
        end = at + 8;
        next = match next {
            Next::Window if word != windows => {
                return broken(format!("not KTracker's log: window {word} where {windows} is next"));
            }
            Next::Window => Next::Pages,
            Next::Pages if word > MOST / PAGE => return broken(format!("a window of {word} pages")),
            Next::Pages => Next::Page { left: word },
            Next::Page { .. } if word % PAGE != 0 || word >= MOST => {
                return broken(format!("{word:#x} is no page's address"));
            }
            Next::Page { left } => Next::Lines { page: word, left },
            Next::Lines { page, left } => {
                for line in (0..64).filter(|line| word >> line & 1 == 1) {
                    sink(Record { size: 8, ..plain(Kind::Store, page + line * LINE) })?;
                }
                Next::Page { left: left - 1 }
            }
        };
        if let Next::Page { left: 0 } = next {
            windows += 1;
            sink(Record { value: windows, ..plain(Kind::Mark, 0) })?;
            next = Next::Window;
        }
        Ok(())
    })?;
    match next {
        Next::Window => Ok(()),
        Next::Pages | Next::Page { .. } | Next::Lines { .. } => {
            Err(TraceError::damaged(end, format!("it ends in the midst of window {windows}")))
        }
    }
}
