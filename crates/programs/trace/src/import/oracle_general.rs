//! libCacheSim's oracleGeneral: requests of 24 bytes, a time (4), an object (8), its bytes (4) and its next request (8).
//! An object is as many pages as its bytes fill, and a request is a load of each. Objects get their pages in the order of
//! their first requests; one that has grown gets others.

use super::{Sink, fixed, plain};
use crate::error::TraceError;
use crate::file::u32_at;
use crate::record::{Kind, Record};
use rustc_hash::FxHashMap;
use std::io::BufRead;

const PAGE: u64 = 4096;
/// All pages: programs have addresses of 47 bits.
const MOST_PAGES: u64 = 1 << 35;

pub(super) fn read(input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let (mut objects, mut next): (FxHashMap<u64, (u64, u64)>, u64) = (FxHashMap::default(), 1);
    let mut last_seconds = 0;
    fixed::<24>(input, "oracleGeneral", &mut |at, request| {
        // Nothing else of the form tells it from other bytes.
        let seconds = u32_at(request, 0);
        if seconds < last_seconds {
            let text = format!("not oracleGeneral: a time of {seconds} s after one of {last_seconds} s");
            return Err(TraceError::damaged(at, text));
        }
        last_seconds = seconds;
        let object = u64::from_le_bytes([
            request[4],
            request[5],
            request[6],
            request[7],
            request[8],
            request[9],
            request[10],
            request[11],
        ]);
        let bytes = u32_at(request, 12);
        let pages = u64::from(bytes).div_ceil(PAGE);
        let (first, has) = objects.get(&object).copied().unwrap_or((0, 0));
        let first = if pages > has {
            let first = next;
            next += pages;
            objects.insert(object, (first, pages));
            first
        } else {
            first
        };
        if next > MOST_PAGES {
            return Err(TraceError::damaged(at, "its objects have more than 128 TiB"));
        }
        (first..first + pages).try_for_each(|page| sink(Record { size: 8, ..plain(Kind::Load, page * PAGE) }))
    })
}
