//! The access pattern of the speed goal: private data mostly, some shared, epochs of a few stores to persistent
//! memory; about six references in seven hit the first-level cache.

use crate::context::Context;
use crate::sync;
use crate::workload::{N, Workload, params};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "bench",
    meaning: "the access pattern of the speed goal: mostly private, six references in seven hit the first level",
    source: "ours",
    params: params! {
        "operations" N, "200000", "open 200000: what is asked of the program", "groups of twenty references by all threads";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: None,
};

pub(crate) async fn run(c: Context) {
    let (own_pm, own_dram) = (c.pm.lines(4096), c.dram.lines(2048));
    let shared = Context::common_pm().lines(256);
    let operations = c.share(c.settings.number("workload.operations"));
    let mut r = c.random();
    sync::start(&c).await;
    for n in 0..operations {
        // Twenty references around one place, as structures are used.
        let near = own_dram + r.below(2048) * 64;
        for k in 0..16 {
            c.cpu.load(near + k % 8 * 8).await;
        }
        let line = if r.chance(50) { shared + r.below(256) * 64 } else { own_pm + r.below(4096) * 64 };
        c.cpu.load(line).await;
        c.cpu.store(line, n).await;
        c.cpu.store(line + 8, n).await;
        c.cpu.clwb(line).await;
        c.cpu.ofence().await;
        c.cpu.operation_done();
    }
    sync::finish(&c).await;
}
