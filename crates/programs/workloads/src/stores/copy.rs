//! The micro-benchmark: one persistent copy after the other, by the core or by a device, waited for each time.

use crate::context::{Arena, Context, Layout};
use crate::pm::{self, Mechanism, Place, Pm};
use crate::sync;
use crate::workload::{Asked, Multiple, N, Workload, params};
use protocol::{LogChecksum, NearKind, PM_BASE, Share};
use std::collections::BTreeMap;
use units::mix;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "copy",
    meaning: "persistent copies, one after the other, by the core or by a near-data device",
    source: "NearPM (EuroSys 2023) §8.2.1",
    params: params! {
        threads "1", "paper: NearPM §8.2.1";
        "operations" N, "200", "open 200: what is asked of the program", "copies of all threads";
        "block_size" Multiple { of: 64, max: 1 << 20 }, "4096", "paper: NearPM Fig. 17", "bytes of a copy; a command carries up to 65535";
    },
    check: Some(fits),
    program: |c| Box::pin(run(c)),
    recover: None,
};

/// Bytes of blocks, behind which the first comes again.
const BLOCKS: u64 = 8 << 20;
/// Distance between source and destination: both are on the same device.
const AWAY: u64 = 16 << 20;

/// Where a thread's pool is: its arena.
fn place(arena: &Arena, thread: usize) -> Place {
    Place { id: thread as u8, base: arena.alloc(0, 4096), bytes: 64 << 20, threads: 1 }
}

fn fits(asked: &Asked<'_>) -> Result<(), String> {
    let layout = Layout::of(asked.settings);
    pm::fits(asked, |thread, _| place(&layout.arena(PM_BASE, thread), thread))
}

pub(crate) async fn run(c: Context) {
    let place = place(&c.pm, c.thread);
    let base = place.base;
    let pm = Pm::open(&c, place, 0, Mechanism::Logging).await;
    pm.create().await;
    let size = c.settings.number("workload.block_size");
    let count = c.share(c.settings.number("workload.operations"));
    let source = base + (8 << 20);
    // No block comes again before all others, so that the core's private caches do not hold it. Threads begin at blocks of their own:
    // pools lie alike over the devices, and threads in step would ask one device after the other.
    let first = c.thread as u64;
    let block = |n: u64| source + (first + n) * size % BLOCKS / 64 * 64;
    let mut newest = BTreeMap::new();
    for n in 0..count {
        newest.insert(block(n), mix(n));
        c.store(block(n), mix(n)).await;
        c.cpu.write_back_invalidate(block(n)).await;
    }
    sync::start(&c).await;
    for n in 0..count {
        let (from, began) = (block(n), c.cpu.now());
        if pm.has_devices() {
            pm.command(NearKind::Copy, from, from + AWAY, size).await;
            pm.poll().await;
        } else {
            pm.copy(from, from + AWAY, size, &mut LogChecksum::new(0, 0, 0)).await;
            c.cpu.dfence().await;
        }
        c.cpu.spent(Share::Consistency, c.cpu.now() - began);
        c.cpu.moved(size);
        c.cpu.operation_done();
    }
    sync::finish(&c).await;
    for (from, value) in newest {
        let to = from + AWAY;
        if c.load(to).await != value {
            c.cpu.fail(format!("the copy at {to:#x} is not its source"));
        }
    }
}
