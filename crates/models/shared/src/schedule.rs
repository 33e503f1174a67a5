//! What happens to a run besides what its programs do: hosts stand still, lines are evicted, flushes linger, a host stops, a link
//! fails, the power fails.
//!
//! A run is a function of its settings and of such a list, so that a list can be made small as long as the same is found.

use units::{Dur, Random};

/// What happens to a host before one of its accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It stands still for so long.
    Pause(Dur),
    /// The line that is so many-th among those that its caches hold leaves them.
    Evict(u64),
    /// What it next writes to the device takes so much longer.
    Linger(Dur),
    /// It stops for good.
    Crash,
    /// Its link to the device fails, and is back after so long.
    LinkFails(Dur),
    /// The power fails, of all hosts and of the device; with stored energy for no more than so many lines, where that is said.
    PowerFails(Option<u64>),
}

/// Something that happens to a host as one of its cores is somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happens {
    /// The core, of all hosts' cores.
    pub core: usize,
    /// Before which of its accesses, from zero.
    pub access: u64,
    /// What.
    pub what: What,
}

/// The most that happens in a run.
const MOST: u64 = 8;
/// How soon, in accesses, what belongs together happens.
const NEAR: u64 = 8;
/// The longest time that a host stands still.
const LONGEST_PAUSE: Dur = Dur::ns(20_000);
/// The longest time that a write takes more than usual.
const LONGEST_LINGER: Dur = Dur::ns(5_000);
/// The most lines for which stored energy is left where it is short.
const MOST_LINES: u64 = 4;

/// Accesses of a core that are remembered to choose from: half a megabyte, whatever a run's length.
const TELLING: usize = 1 << 16;

/// What a core did in a run.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    /// How many accesses.
    pub all: u64,
    /// Those that tell or write back: releases, flushes, fences. What happens between them matters most. The first
    /// [`TELLING`] of them.
    telling: Vec<u64>,
}

impl Accesses {
    /// The access that is next tells or writes back.
    pub(crate) fn tells(&mut self) {
        if self.telling.len() < TELLING {
            self.telling.push(self.all);
        }
    }

    fn draw(&self, random: &mut Random) -> u64 {
        let any = random.below(self.all.max(1));
        if self.telling.is_empty() || random.chance(500) {
            return any;
        }
        self.telling[random.below(self.telling.len() as u64) as usize]
    }
}

/// How long a link is lost: mostly not for so long that its host is fenced off.
fn lost(random: &mut Random, timeout: Dur, may_stop: bool) -> Dur {
    let most = LONGEST_PAUSE.min(timeout).as_ps().max(1);
    if random.chance(300) && may_stop { timeout + Dur::ps(1) } else { Dur::ps(random.below(most) + 1) }
}

/// What happens in run `number` of a search: nothing in the first, something else in each other one. `accesses` are those
/// that each core made when nothing happened.
pub(crate) fn drawn(seed: u64, number: u64, accesses: &[Accesses], link_timeout: Dur) -> Vec<Happens> {
    if number == 0 {
        return Vec::new();
    }
    let mut random = Random::new(seed, number);
    let mut all: Vec<Happens> = Vec::new();
    for _ in 0..=random.below(MOST) {
        // Often soon after something else on that host: many a mistake takes two.
        let (core, access) = match all.last() {
            Some(last) if random.chance(400) => (last.core, last.access + random.below(NEAR)),
            _ => {
                let core = random.below(accesses.len() as u64) as usize;
                (core, accesses[core].draw(&mut random))
            }
        };
        let time = |random: &mut Random, most: Dur| Dur::ps(random.below(most.as_ps()) + 1);
        let ends = |h: &Happens| {
            h.what == What::Crash || matches!(h.what, What::LinkFails(time) if time > link_timeout)
        };
        let stopped = all.iter().any(ends);
        let what = match random.below(20) {
            0..=6 => What::Pause(time(&mut random, LONGEST_PAUSE)),
            7..=13 => What::Evict(random.next_u64()),
            14 | 15 if !stopped => What::Crash,
            18 => What::LinkFails(lost(&mut random, link_timeout, !stopped)),
            19 => What::PowerFails(random.chance(500).then(|| random.below(MOST_LINES))),
            _ => What::Linger(time(&mut random, LONGEST_LINGER)),
        };
        all.push(Happens { core, access, what });
    }
    all
}
