//! What each thread does with a store.

use super::{Store, Value, operation};
use crate::context::{Context, Layout};
use crate::pm::{self, Mechanism, Place, Pm};
use crate::sync::{self, Lock};
use crate::workload::Asked;
use protocol::PM_BASE;
use units::Random;

/// Bytes of a pool.
const POOL_BYTES: u64 = 64 << 20;
/// Values of the setting-up name operations of no thread.
pub(super) const PRELOADED: usize = 0xFFFF;

/// Where a thread's pool is.
pub(super) fn place<S: Store>(arena: u64, thread: usize, threads: usize) -> Place {
    if S::SHARED {
        Place { id: 0, base: PM_BASE, bytes: POOL_BYTES, threads: threads as u64 }
    } else {
        Place { id: thread as u8, base: arena, bytes: POOL_BYTES, threads: 1 }
    }
}

/// Whether near-data devices, where there are any, have room for its pools.
pub(crate) fn fits<S: Store>(asked: &Asked<'_>) -> Result<(), String> {
    let layout = Layout::of(asked.settings);
    pm::fits(asked, |thread, threads| {
        place::<S>(layout.arena(PM_BASE, thread).alloc(0, 4096), thread, threads)
    })
}

/// The keys that are there from the beginning.
pub(super) fn preloaded<S: Store>(settings: &protocol::Settings) -> u64 {
    if S::YCSB { settings.number("workload.keys") } else { 0 }
}

/// The key of a preloaded value: every one that can be asked for.
pub(super) fn preloaded_key(n: u64) -> u64 {
    units::mix(n + 1) >> 1 | 1
}

/// Sets a store up, then puts values, a transaction each.
pub(crate) async fn run<S: Store>(c: Context) {
    let arena = c.pm.alloc(0, 4096);
    let place = place::<S>(arena, c.thread, c.threads);
    let (creates, mine) = if S::SHARED { (c.thread == 0, c.thread as u64) } else { (true, 0) };
    let pm = Pm::open(&c, place, mine, Mechanism::of(&c.settings)).await;
    let size = c.settings.number("workload.value_size").next_multiple_of(8);
    if creates {
        pm.create().await;
        pm.begin();
        S::create(&pm, &c.settings).await;
        pm.commit().await;
        for n in 0..preloaded::<S>(&c.settings) {
            pm.begin();
            S::put(&pm, preloaded_key(n), Value { operation: operation(PRELOADED, n), size }).await;
            pm.commit().await;
        }
        pm.close().await;
    }
    sync::start(&c).await;
    let lock = Lock(Context::common_dram().lines(1));
    let think = c.settings.number("workload.think_cycles");
    let mut random: Random = c.random();
    for n in 0..c.share(c.settings.number("workload.operations")) {
        // One pool is one server, which runs one command after the other: what it computes is under the lock.
        if S::SHARED {
            lock.acquire(&c).await;
        }
        c.compute(think).await;
        let key = S::key(&mut random, &c.settings);
        pm.begin();
        S::put(&pm, key, Value { operation: operation(c.thread, n), size }).await;
        pm.commit().await;
        pm.end_operation().await;
        if S::SHARED {
            lock.release(&c).await;
        }
    }
    pm.close().await;
    sync::finish(&c).await;
}
