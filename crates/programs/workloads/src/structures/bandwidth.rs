//! ASAP's bandwidth micro-benchmark (§VII-C): blocks ordered by ofence, alternating between controllers.

use crate::context::Context;
use crate::sync;
use crate::workload::{Multiple, N, Workload, params};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "bandwidth",
    meaning: "blocks written one after the other, ordered by ofence; blocks alternate between controllers",
    source: "ASAP (HPCA 2022) §VII-C",
    params: params! {
        "operations" N, "20000", "open 20000: what is asked of the program", "blocks written by all threads";
        "block_size" Multiple { of: 64, max: 4096 }, "256", "paper: ASAP §VII-C", "bytes of a block";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: None,
};

pub(crate) async fn run(c: Context) {
    let block = c.settings.number("workload.block_size");
    let operations = c.share(c.settings.number("workload.operations"));
    // A window of 64 blocks a thread, so that the benchmark writes lines that its caches hold.
    let window = c.pm.alloc(64 * block, 4096);
    for line in (0..64 * block).step_by(64) {
        c.cpu.store(window + line, 0).await;
        c.cpu.clwb(window + line).await;
    }
    sync::start(&c).await;
    for n in 0..operations {
        let to = window + n % 64 * block;
        for line in (0..block).step_by(64) {
            for word in 0..8 {
                c.cpu.store(to + line + word * 8, n * 8 + word).await;
            }
            c.cpu.clwb(to + line).await;
        }
        c.cpu.ofence().await;
        c.cpu.operation_done();
    }
    sync::finish(&c).await;
}
