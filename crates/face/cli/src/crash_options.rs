//! Options of `coreplane crash`, as the lab takes them.

use crate::Failure;
use crate::args::CrashArgs;
use check::crash::{Bounds, Log, Replay, Tracker};
use machine::CrashEvery;
use std::path::Path;
use units::{Time, parse_dur};

/// Different failures that are worth printing.
const FAILURES: usize = 8;

/// Power failures of a workload's run, unless others are asked for: each is recovered from, in one thread.
pub(crate) const INSTANTS: usize = 100;

/// The result, in the folder of results.
pub(crate) const RESULT: &str = "crash.json";

/// The folder of results; none for an image that is tried again, which is no result of a search.
pub(crate) fn folder(args: &CrashArgs) -> Option<&Path> {
    args.out.as_deref().filter(|_| args.replay.is_none())
}

/// When the power fails, where something of it is asked for.
pub(crate) fn every(args: &CrashArgs) -> Result<Option<CrashEvery>, Failure> {
    if let Some(text) = &args.at {
        let at = parse_dur(text).map_err(|e| Failure::BadInput(format!("--at: {e}")))?;
        return Ok(Some(CrashEvery::At(Time::ZERO + at)));
    }
    match args.every {
        Some(0) => Err(Failure::BadInput("--every 0: give at least 1".into())),
        _ if args.all => Ok(Some(CrashEvery::Event)),
        n => Ok(n.map(CrashEvery::Persists)),
    }
}

/// How far the search goes.
pub(crate) fn bounds(args: &CrashArgs, skip: usize) -> Bounds {
    Bounds { points: args.points, images: args.images, failures: FAILURES, skip }
}

/// The image that a finding named, and `log` at its point.
pub(crate) fn replay<'a>(text: &str, log: &'a Log) -> Result<(Replay, Tracker<'a>), Failure> {
    let wrong = |why: String| Failure::BadInput(format!("--replay {text}: {why}"));
    let unread = || wrong("not what a finding prints (MODEL@POINT:UNIT=KEPT,...)".into());
    let replay = Replay::read(text).ok_or_else(unread)?;
    let tracker = replay.tracker(log).map_err(|why| wrong(format!("not an image of this: {why}")))?;
    Ok((replay, tracker))
}
