//! The map phase of two MapReduce programs on one machine, by what they read and write: a thread's part of the input in
//! splits; for each split, pairs of key and value are added to the thread's lists, one list a key, which grow by doubling.
//! The result is reduced at the end and checked against the input.
//!
//! Source: the Phoenix and Metis programs linear_regression and histogram, by what they emit.

use crate::context::Context;
use crate::sync;
use crate::workload::{Multiple, Workload, params};

/// The parameters of both, which differ in the bytes of input.
macro_rules! input {
    ($bytes:literal) => {
        params! {
            "input_bytes" Multiple { of: 4096, max: 1 << 30 }, $bytes, concat!("open ", $bytes, ": what is asked of the program"), "bytes of input of all threads";
            "split_bytes" Multiple { of: 8, max: 1 << 30 }, "16384", "open 16384: what is asked of the program", "bytes of input for which pairs are emitted";
        }
    };
}

pub(crate) const LINREG: Workload = Workload {
    name: "linreg",
    meaning: "the map phase of MapReduce's linear regression: the input is read, pairs are added to a list for each key",
    source: "Phoenix and Metis, by what they emit; PBerry (HotOS 2019) §2, §7",
    params: input!("16777216"),
    check: None,
    program: |c| Box::pin(regression(c)),
    recover: None,
};

pub(crate) const HISTOGRAM: Workload = Workload {
    name: "histogram",
    meaning: "the map phase of MapReduce's histogram of colours: the input is read, pairs are added to a list for each key",
    source: "Phoenix and Metis, by what they emit; PBerry (HotOS 2019) §2, §7",
    params: input!("2097152"),
    check: None,
    program: |c| Box::pin(histogram(c)),
    recover: None,
};

/// Bytes of a pair: key, value, and the hash that sorts it.
const PAIR: u64 = 24;

/// A list of pairs: its address and length stand in memory, as the runtime keeps them.
struct List {
    head: u64,
    at: u64,
    length: u64,
    room: u64,
}

impl List {
    fn new(head: u64) -> List {
        List { head, at: 0, length: 0, room: 0 }
    }

    async fn push(&mut self, c: &Context, key: u64, value: u64) {
        if self.length == self.room {
            self.grow(c).await;
        }
        let pair = self.at + self.length * PAIR;
        c.store(pair, key).await;
        c.store(pair + 8, value).await;
        c.store(pair + 16, units::mix(key)).await;
        self.length += 1;
        c.store(self.head + 8, self.length).await;
    }

    async fn grow(&mut self, c: &Context) {
        let room = (self.room * 2).max(8);
        let new = c.pm.alloc(room * PAIR, 16);
        for word in 0..self.length * PAIR / 8 {
            let value = c.load(self.at + word * 8).await;
            c.store(new + word * 8, value).await;
        }
        (self.at, self.room) = (new, room);
        c.store(self.head, new).await;
    }

    async fn sum(&self, c: &Context) -> u64 {
        let mut sum = 0;
        for n in 0..self.length {
            sum += c.load(self.at + n * PAIR + 8).await;
        }
        sum
    }
}

/// A map function.
trait Job {
    /// Keys.
    const KEYS: u64;
    /// What eight bytes of input add to which keys.
    fn adds(&mut self, word: u64) -> impl Iterator<Item = (u64, u64)>;
    /// Whether the sums of a split are kept in memory, a word each, while it is read: there are too many for registers.
    const IN_MEMORY: bool;
}

/// Sums over points of two coordinates of a byte each.
struct Regression;

impl Job for Regression {
    const KEYS: u64 = 5;
    const IN_MEMORY: bool = false;

    fn adds(&mut self, word: u64) -> impl Iterator<Item = (u64, u64)> {
        let points = word.to_le_bytes();
        (0..4).flat_map(move |n| {
            let [x, y] = [points[2 * n], points[2 * n + 1]].map(u64::from);
            (0..5).zip([x, y, x * x, y * y, x * y])
        })
    }
}

/// How often each value of each of three colours occurs.
struct Histogram {
    colour: u64,
}

impl Job for Histogram {
    const KEYS: u64 = 768;
    const IN_MEMORY: bool = true;

    fn adds(&mut self, word: u64) -> impl Iterator<Item = (u64, u64)> {
        let first = self.colour;
        self.colour = (first + 8) % 3;
        word.to_le_bytes()
            .into_iter()
            .zip(0..)
            .map(move |(byte, n)| ((first + n) % 3 * 256 + u64::from(byte), 1))
    }
}

/// A thread's part, and what it adds up to by the host's own count.
struct Part {
    input: u64,
    bytes: u64,
    sums: u64,
    wanted: Vec<u64>,
}

async fn prepare<J: Job>(c: &Context, job: &mut J) -> Part {
    let bytes = c.share(c.settings.number("workload.input_bytes") / 8) * 8;
    let (input, sums) = (c.pm.alloc(bytes.max(8), 4096), c.pm.alloc(J::KEYS * 8, 4096));
    let mut wanted = vec![0; J::KEYS as usize];
    let mut random = c.random();
    for at in (0..bytes).step_by(8) {
        let word = random.next_u64();
        job.adds(word).for_each(|(key, add)| wanted[key as usize] += add);
        c.store(input + at, word).await;
    }
    Part { input, bytes, sums, wanted }
}

/// Sums over one split, by key.
async fn map<J: Job>(c: &Context, job: &mut J, part: &Part, split: std::ops::Range<u64>) -> Vec<u64> {
    let mut sums = vec![0; J::KEYS as usize];
    for at in split.step_by(8) {
        let word = c.load(part.input + at).await;
        for (key, add) in job.adds(word) {
            if J::IN_MEMORY {
                let sum = c.load(part.sums + key * 8).await;
                c.store(part.sums + key * 8, sum + add).await;
            } else {
                sums[key as usize] += add;
            }
        }
    }
    if J::IN_MEMORY {
        for (key, sum) in (0..).zip(&mut sums) {
            *sum = c.load(part.sums + key * 8).await;
            c.store(part.sums + key * 8, 0).await;
        }
    }
    sums
}

async fn run<J: Job>(c: Context, mut job: J, mut counting: J) {
    let split = c.settings.number("workload.split_bytes");
    let part = prepare(&c, &mut counting).await;
    let heads = c.pm.alloc(J::KEYS * 16, 4096);
    sync::start(&c).await;
    let mut lists: Vec<List> = (0..J::KEYS).map(|key| List::new(heads + key * 16)).collect();
    for start in (0..part.bytes).step_by(split as usize) {
        let sums = map(&c, &mut job, &part, start..part.bytes.min(start + split)).await;
        for ((key, list), sum) in (0..).zip(&mut lists).zip(sums).filter(|(_, sum)| *sum > 0) {
            list.push(&c, key, sum).await;
        }
        c.cpu.operation_done();
    }
    sync::finish(&c).await;
    for ((key, list), wanted) in (0..).zip(&lists).zip(&part.wanted) {
        let sum = list.sum(&c).await;
        if sum != *wanted {
            c.cpu.fail(format!("key {key} has the sum {sum}, not {wanted}"));
        }
    }
}

pub(crate) async fn regression(c: Context) {
    run(c, Regression, Regression).await;
}

pub(crate) async fn histogram(c: Context) {
    run(c, Histogram { colour: 0 }, Histogram { colour: 0 }).await;
}
