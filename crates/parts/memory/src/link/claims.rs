//! Lines that are claimed from the other socket before they are written.

use super::line_of;
use protocol::{Line, Msg};
use std::collections::VecDeque;
use units::Time;

/// A write that waits for its line.
#[derive(Clone, Copy)]
pub(super) struct Claim {
    /// When it came.
    pub(super) since: Time,
    pub(super) port: u8,
    pub(super) write: Msg,
}

/// Claims on their way: each direction keeps their order, since all take the same ports.
#[derive(Default)]
pub(super) struct Claims {
    /// With when they reach the other socket.
    asked: VecDeque<(Time, Claim)>,
    /// With when the answer is back.
    granted: VecDeque<(Time, Claim)>,
}

impl Claims {
    /// One that will be at the other socket at `there`.
    pub(super) fn ask(&mut self, there: Time, claim: Claim) {
        self.asked.push_back((there, claim));
    }

    /// One whose answer will be back at `here`.
    pub(super) fn grant(&mut self, here: Time, claim: Claim) {
        self.granted.push_back((here, claim));
    }

    /// The next that is at the other socket by now.
    pub(super) fn at_home(&mut self, now: Time) -> Option<Claim> {
        due(&mut self.asked, now)
    }

    /// The next whose answer is back by now.
    pub(super) fn back(&mut self, now: Time) -> Option<Claim> {
        due(&mut self.granted, now)
    }

    /// All that are on their way.
    pub(super) fn all(&self) -> impl Iterator<Item = &Claim> {
        self.asked.iter().chain(&self.granted).map(|(_, claim)| claim)
    }

    /// Whether a line is among them.
    pub(super) fn has(&self, line: Line) -> bool {
        self.all().any(|claim| line_of(&claim.write) == Some(line))
    }
}

fn due(queue: &mut VecDeque<(Time, Claim)>, now: Time) -> Option<Claim> {
    let is_due = queue.front().is_some_and(|(at, _)| *at <= now);
    if is_due { queue.pop_front().map(|(_, claim)| claim) } else { None }
}
