//! Key-value stores and transactions on the persistent-memory library, as NearPM (EuroSys 2023, Table 4) runs them.
//!
//! Each is a structure with one kind of change; what drives it, and what checks it after a power failure, is the same
//! for all: operation `n` of a thread puts a value that names it under a key that follows from the seed.

pub(crate) mod bplus;
pub(crate) mod btree;
mod check;
pub(crate) mod copy;
mod drive;
pub(crate) mod hash;
pub(crate) mod rbtree;
pub(crate) mod skiplist;
pub(crate) mod tatp;
pub(crate) mod tpcc;

pub(crate) use check::recover;
pub(crate) use drive::{fits, run};

use crate::pm::{Pm, Recovered};
use protocol::Settings;
use std::collections::BTreeMap;
use units::{Random, mix};

/// A structure in a pool.
pub(crate) trait Store {
    /// All threads share one pool, one after the other.
    const SHARED: bool = false;
    /// Keys come from a few, some much more often, as YCSB asks for them; otherwise from very many.
    const YCSB: bool = false;

    /// Makes the empty structure.
    async fn create(pm: &Pm, settings: &Settings);

    /// Puts `value` under `key`, within a transaction.
    async fn put(pm: &Pm, key: u64, value: Value);

    /// Every key with where its value is.
    ///
    /// # Errors
    /// What is wrong with the structure.
    fn walk(m: &mut Recovered<'_>, settings: &Settings) -> Result<BTreeMap<u64, u64>, String>;

    /// The key of an operation.
    fn key(random: &mut Random, settings: &Settings) -> u64 {
        if Self::YCSB {
            ycsb_key(random, settings.number("workload.keys"))
        } else {
            random.next_u64() >> 1 | 1
        }
    }
}

/// The bytes of a value: its first word names the operation, the others follow from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) operation: u64,
    pub(crate) size: u64,
}

impl Value {
    fn word(self, i: u64) -> u64 {
        if i == 0 { self.operation } else { mix(self.operation ^ i << 48) }
    }

    /// Stores it where it fits.
    async fn write(self, pm: &Pm, address: u64) {
        for i in 0..self.size / 8 {
            pm.set(address + i * 8, self.word(i)).await;
        }
    }

    /// A new object with this value.
    async fn alloc(self, pm: &Pm) -> u64 {
        let address = pm.alloc(self.size).await;
        self.write(pm, address).await;
        address
    }

    /// Replaces the value at `address`.
    async fn replace(self, pm: &Pm, address: u64) {
        pm.add(address, self.size).await;
        self.write(pm, address).await;
    }

    /// The operation whose value is at `address`.
    fn read(m: &mut Recovered<'_>, address: u64, size: u64) -> Result<u64, String> {
        let value = Value { operation: m.get(address)?, size };
        for i in 0..size / 8 {
            if m.get(address + i * 8)? != value.word(i) {
                return Err(format!("the value at {address:#x} is not one that was stored: it is torn"));
            }
        }
        Ok(value.operation)
    }
}

/// The number of an operation, as values name it: its thread above, one more than its number below.
fn operation(thread: usize, n: u64) -> u64 {
    (thread as u64 + 1) << 40 | (n + 1)
}

/// One of `keys` keys, the first ones much more often: in proportion to one over their rank (Zipf).
fn ycsb_key(random: &mut Random, keys: u64) -> u64 {
    // The harmonic series summed in blocks that double: each block weighs about the same.
    let blocks = u64::from(64 - keys.leading_zeros());
    let block = random.below(blocks);
    let first = 1_u64 << block;
    let rank = first + random.below(first);
    // What lies behind the last key falls back into the first half.
    let rank = if rank > keys { 1 + random.below(keys) } else { rank };
    mix(rank) >> 1 | 1
}

/// What a walk may visit: more is a loop.
const MOST_NODES: u64 = 20_000_000;

/// Counts the nodes of a walk.
///
/// # Errors
/// When there are too many.
fn visit(visited: &mut u64) -> Result<(), String> {
    *visited += 1;
    if *visited > MOST_NODES { Err("the structure has a loop".into()) } else { Ok(()) }
}
