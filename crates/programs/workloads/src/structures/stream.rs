//! STREAM's four kernels on arrays in persistent memory, every element checked after every round.
//!
//! Element `i` of each array is a multiple of `i + 1`, so that what it must be follows from three factors.

use crate::context::Context;
use crate::sync;
use crate::workload::{Flag, Multiple, N, Workload, params};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "stream",
    meaning: "STREAM's copy, scale, add and triad on arrays in persistent memory; every element is checked",
    source: "McCalpin (1995); NVDIMM-C (HPCA 2020) §VII-A",
    params: params! {
        "operations" N, "2", "open 2: what is asked of the program", "rounds of the four kernels";
        "array_bytes" Multiple { of: 4096, max: 1 << 30 }, "1048576", "open 1048576: what is asked of the program", "size of each of the three arrays, for all threads";
        "passthrough" Flag, "false", "paper: AMF §6.3", "arrays in device files of hidden persistent memory (machines at page fidelity)";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: None,
};

/// The scalar of SCALE and TRIAD.
const SCALAR: u64 = 3;
/// Lines that the hardware's prefetcher is ahead of a loop.
const AHEAD: u64 = 8;

/// A thread's arrays.
struct Arrays {
    a: u64,
    b: u64,
    c: u64,
    elements: u64,
}

pub(crate) async fn run(c: Context) {
    let bytes = c.settings.number("workload.array_bytes") / c.threads as u64 / 64 * 64;
    let own = |array: u64| protocol::PM_BASE + (array * c.threads as u64 + c.thread as u64) * bytes;
    let x = Arrays { a: own(0), b: own(1), c: own(2), elements: bytes / 8 };
    for i in 0..x.elements {
        c.store(x.a + i * 8, i + 1).await;
    }
    sync::start(&c).await;
    let mut ka = 1_u64;
    for _ in 0..c.settings.number("workload.operations") {
        kernel(&c, &x, (x.a, None, x.c), |a, _| a).await;
        kernel(&c, &x, (x.c, None, x.b), |c, _| SCALAR.wrapping_mul(c)).await;
        let kb = SCALAR.wrapping_mul(ka);
        kernel(&c, &x, (x.a, Some(x.b), x.c), u64::wrapping_add).await;
        let kc = ka.wrapping_add(kb);
        kernel(&c, &x, (x.b, Some(x.c), x.a), |b, c| b.wrapping_add(SCALAR.wrapping_mul(c))).await;
        ka = kb.wrapping_add(SCALAR.wrapping_mul(kc));
        for (name, array, factor) in [("a", x.a, ka), ("b", x.b, kb), ("c", x.c, kc)] {
            check(&c, &x, name, array, factor).await;
        }
        // As STREAM counts: 2, 2, 3 and 3 elements for each index.
        c.cpu.moved(x.elements * 80);
        c.cpu.operation_done();
    }
    sync::finish(&c).await;
}

/// One loop: from one array or two into a third.
async fn kernel(c: &Context, x: &Arrays, arrays: (u64, Option<u64>, u64), f: fn(u64, u64) -> u64) {
    let (from, with, to) = arrays;
    for i in 0..x.elements {
        fetch_ahead(c, x, from, i).await;
        let first = c.load(from + i * 8).await;
        let second = match with {
            Some(with) => {
                fetch_ahead(c, x, with, i).await;
                c.load(with + i * 8).await
            }
            None => 0,
        };
        c.store(to + i * 8, f(first, second)).await;
    }
}

async fn fetch_ahead(c: &Context, x: &Arrays, array: u64, i: u64) {
    if i.is_multiple_of(8) && i + AHEAD * 8 < x.elements {
        c.cpu.prefetch(array + (i + AHEAD * 8) * 8).await;
    }
}

async fn check(c: &Context, x: &Arrays, name: &str, array: u64, factor: u64) {
    for i in 0..x.elements {
        fetch_ahead(c, x, array, i).await;
        let (got, wanted) = (c.load(array + i * 8).await, factor.wrapping_mul(i + 1));
        if got != wanted {
            let thread = c.thread;
            c.cpu.fail(format!("stream: {name}[{i}] of thread {thread} is {got:#x}, not {wanted:#x}"));
            return;
        }
    }
}
