//! Options of `coreplane crash`, as the lab takes them.

use crate::Failure;
use crate::args::CrashArgs;
use check::crash::{Bounds, Replay};
use machine::CrashEvery;
use units::{Time, parse_dur};

/// Different failures that are worth printing.
const FAILURES: usize = 8;

/// Writes between two power failures, unless others are asked for.
pub(crate) const WRITES: u64 = 100;

/// When the power fails: after every so many writes, unless something else is asked for.
pub(crate) fn every(args: &CrashArgs, usual: u64) -> Result<CrashEvery, Failure> {
    if let Some(text) = &args.at {
        let at = parse_dur(text).map_err(|e| Failure::BadInput(format!("--at: {e}")))?;
        return Ok(CrashEvery::At(Time::ZERO + at));
    }
    match args.every {
        Some(0) => Err(Failure::BadInput("--every 0: give at least 1".into())),
        _ if args.all => Ok(CrashEvery::Event),
        n => Ok(CrashEvery::Persists(n.unwrap_or(usual))),
    }
}

/// How far the search goes.
pub(crate) fn bounds(args: &CrashArgs, skip: usize) -> Bounds {
    Bounds { points: args.points, images: args.images, failures: FAILURES, skip }
}

/// The image that a finding named.
pub(crate) fn replay(text: &str) -> Result<Replay, Failure> {
    let wrong = || {
        Failure::BadInput(format!("--replay {text}: not what a finding prints (MODEL@POINT:UNIT=KEPT,...)"))
    };
    Replay::read(text).ok_or_else(wrong)
}
