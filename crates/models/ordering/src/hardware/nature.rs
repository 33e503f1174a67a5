//! What a model's halves do when they are driven: nothing here is said of a model, all of it is seen.

use crate::plug::OrderingModel;
use protocol::{
    AddressMap, FenceKind, FlushRequest, Image, Line, LineWrite, Mask, Msg, Outbox, PM_BASE, Peer, Settings,
    line_of,
};
use units::Time;

/// How order is kept where it concerns several controllers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Across {
    /// What comes later waits for acknowledgements, whichever controller it goes to.
    Waits,
    /// One controller keeps the order of what it gets; with several, what comes later waits.
    OneKeeps,
    /// What comes later leaves at once, wherever it goes.
    AtOnce,
}

/// What may turn out to be wrong, and who makes up for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speculates {
    /// Nothing.
    Nothing,
    /// Memory, which controllers put back when the power fails.
    Writes,
    /// Reads, for which cores go back while the program runs.
    Reads,
}

/// What is seen of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    /// Order over several controllers.
    pub across: Across,
    /// What may turn out to be wrong.
    pub speculates: Speculates,
}

impl Nature {
    /// Drives the halves of `model`: a write, a fence, and a later write to the same controller, or to another.
    pub fn of(model: &dyn OrderingModel, settings: &Settings) -> Nature {
        let (same, other) = (later(model, settings, 2), later(model, settings, 1));
        let across = match (leaves(model, same), leaves(model, other)) {
            (true, true) => Across::AtOnce,
            (true, false) => Across::OneKeeps,
            (false, _) => Across::Waits,
        };
        let wrong = other.is_some_and(|sent| sent.early && undoes(model, settings, &sent));
        let speculates = match (model.capabilities().rolls_back, wrong) {
            (true, _) => Speculates::Reads,
            (false, true) => Speculates::Writes,
            (false, false) => Speculates::Nothing,
        };
        Nature { across, speculates }
    }
}

fn line(n: u64) -> Line {
    Line(line_of(PM_BASE).0 + n)
}

/// Whether what comes later leaves; where nobody is told of stores, caches that persist order nothing, and others are fenced.
fn leaves(model: &dyn OrderingModel, sent: Option<FlushRequest>) -> bool {
    let asks = model.capabilities();
    sent.is_some() || !asks.orders_stores && asks.caches_persist
}

/// Ticks of a core side that does not come to rest, which is none's.
const TICKS: usize = 10_000;

/// A line is stored to and, after a fence, another one; nothing is acknowledged. Gives the flush of the second, if it leaves.
/// Lines take turns at two controllers.
fn later(model: &dyn OrderingModel, settings: &Settings, second: u64) -> Option<FlushRequest> {
    let asks = model.capabilities();
    if !asks.orders_stores {
        return None;
    }
    let mut core = model.core_side(settings, 0, AddressMap::new(2, 1, 64));
    let (mut now, mut out) = (Time::ZERO, Outbox::default());
    for n in [0, second] {
        let write = LineWrite { line: line(n), mask: Mask::MAX, data: [1; 64] };
        core.store(now, &write, &mut out).ok()?;
        if asks.takes_flushes {
            core.flush(now, write.line, true, false, &mut out).ok()?;
        }
        core.fence(now, FenceKind::Ofence, &mut out).ok()?;
    }
    // Whoever waits until asked is asked; that it has to wait is nothing new.
    _ = core.fence(now, FenceKind::Dfence, &mut out);
    for _ in 0..TICKS {
        if core.next() == Time::NEVER {
            break;
        }
        now = now.max(core.next());
        core.tick(now, &mut out);
    }
    out.0.iter().find_map(|(_, to, msg)| sent(*to, msg).filter(|flush| flush.write.line == line(second)))
}

/// The flush that a message is; all but two carry no line to memory.
fn sent(to: Peer, msg: &Msg) -> Option<FlushRequest> {
    if let (Peer::Controller(_), Msg::Flush(request)) = (to, *msg) {
        return Some(request);
    }
    let (Peer::Caches, Msg::WriteBack { line, data }) = (to, *msg) else { return None };
    let write = LineWrite { line, mask: Mask::MAX, data };
    Some(FlushRequest {
        core: 0,
        slot: 0,
        epoch: 0,
        early: false,
        retry: false,
        after_core: 0,
        after_epoch: 0,
        write,
    })
}

/// Whether a controller writes an early flush, and would have to undo it.
fn undoes(model: &dyn OrderingModel, settings: &Settings, request: &FlushRequest) -> bool {
    let (mut side, mut image) = (model.controller_side(settings), Image::new(PM_BASE));
    side.flush(request, &mut image, &mut Vec::new());
    side.undo_level() > 0
}
