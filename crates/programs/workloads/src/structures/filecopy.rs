//! A file copied from a slower disk onto persistent memory: blocks come at the disk's rate and are written in order.

use crate::context::Context;
use crate::sync;
use crate::workload::{Count, Multiple, Workload, params};
use protocol::PM_BASE;
use units::{Dur, Time};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "filecopy",
    meaning: "a file copied from a disk onto persistent memory, block by block",
    source: "NVDIMM-C (HPCA 2020) §VII-B1",
    params: params! {
        threads "1", "paper: NVDIMM-C §VII-B1";
        "file_bytes" Multiple { of: 4096, max: 1 << 28 }, "20971520", "paper: NVDIMM-C §VII-B1, 20 GB, scaled by 1024", "size of the file";
        "source_mb_per_second" Count { min: 1, max: 1_000_000 }, "520", "paper: NVDIMM-C Table I (PM863)", "rate of the disk, in 10^6 bytes a second";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: None,
};

const BLOCK: u64 = 4096;

pub(crate) async fn run(c: Context) {
    let s = &c.settings;
    let blocks = s.number("workload.file_bytes") / BLOCK;
    // Megabytes a second are bytes a microsecond.
    let each = Dur::ps(BLOCK * 1_000_000 / s.number("workload.source_mb_per_second"));
    sync::start(&c).await;
    let began = c.cpu.now();
    for block in (c.thread as u64..blocks).step_by(c.threads) {
        wait_until(&c, began + each * (block + 1)).await;
        for at in 0..BLOCK / 8 {
            c.cpu.store_nontemporal(PM_BASE + block * BLOCK + at * 8, block << 16 | at).await;
        }
        c.cpu.moved(BLOCK);
        c.cpu.operation_done();
    }
    sync::finish(&c).await;
}

/// The disk reads ahead: a block that has come already costs no wait.
async fn wait_until(c: &Context, at: Time) {
    let now = c.cpu.now();
    if at > now {
        c.cpu.compute(at.since(now)).await;
    }
}
