//! What happens to a run besides what its programs do: hosts stand still, lines are evicted, flushes linger, a host stops.
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
}

/// Something that happens to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Happens {
    /// The host.
    pub host: usize,
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

/// What a host did in a run.
#[derive(Clone, Debug, Default)]
pub struct Accesses {
    /// How many accesses.
    pub all: u64,
    /// Those that tell or write back: releases, flushes, fences. What happens between them matters most.
    pub telling: Vec<u64>,
}

impl Accesses {
    fn draw(&self, random: &mut Random) -> u64 {
        let any = random.below(self.all.max(1));
        if self.telling.is_empty() || random.chance(500) {
            return any;
        }
        self.telling[random.below(self.telling.len() as u64) as usize]
    }
}

/// What happens in run `number` of a search: nothing in the first, something else in each other one. `accesses` are those
/// that each host made when nothing happened.
pub(crate) fn drawn(seed: u64, number: u64, accesses: &[Accesses]) -> Vec<Happens> {
    if number == 0 {
        return Vec::new();
    }
    let mut random = Random::new(seed, number);
    let mut all: Vec<Happens> = Vec::new();
    for _ in 0..=random.below(MOST) {
        // Often soon after something else on that host: many a mistake takes two.
        let (host, access) = match all.last() {
            Some(last) if random.chance(400) => (last.host, last.access + random.below(NEAR)),
            _ => {
                let host = random.below(accesses.len() as u64) as usize;
                (host, accesses[host].draw(&mut random))
            }
        };
        let time = |random: &mut Random, most: Dur| Dur::ps(random.below(most.as_ps()) + 1);
        let stopped = all.iter().any(|h| h.what == What::Crash);
        let what = match random.below(20) {
            0..=6 => What::Pause(time(&mut random, LONGEST_PAUSE)),
            7..=13 => What::Evict(random.next_u64()),
            14 | 15 if !stopped => What::Crash,
            _ => What::Linger(time(&mut random, LONGEST_LINGER)),
        };
        all.push(Happens { host, access, what });
    }
    all
}
