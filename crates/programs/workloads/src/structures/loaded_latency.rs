//! Loaded latency: threads visit pages of a working set at random, or each its own pages in order, and touch some lines of
//! each, with a pause between.
//!
//! More threads, or shorter pauses, load the memory more; what a visit takes then is its latency under that load. The
//! lines of a visit follow each other from a random one on (in order from the first), and reads ask for all of them first, as a processor that
//! looks ahead does.

use crate::context::Context;
use crate::sync;
use crate::words::{DIRECTION, Direction, ORDER, Order};
use crate::workload::{Count, N, Nanoseconds, Workload, params};
use protocol::{PAGE_BYTES, PM_BASE};
use units::Random;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "loaded-latency",
    meaning: "pages of a working set visited at random or in order, some lines of each, by as many threads as load the memory",
    source: "after Intel's Memory Latency Checker, its loaded latencies",
    params: params! {
        threads "1", "open 1: what is asked of the program";
        "operations" N, "1000", "open 1000: what is asked of the program", "visits of all threads";
        "pattern" ORDER, "random", "open random: what is asked of the program", "which page is visited next: any, or of a thread's own share the one behind";
        "pages" Count { min: 1, max: 1 << 20 }, "1024", "open 1024: what is asked of the program", "pages of the working set";
        "lines" Count { min: 1, max: 64 }, "1", "open 1: what is asked of the program", "lines of 64 B that a visit touches";
        "rw" DIRECTION, "read", "open read: what is asked of the program", "what is done with them";
        "pause_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "0", "open 0: what is asked of the program", "time between visits of a thread";
        "warm" N, "1000", "open 1000: what is asked of the program", "visits before the region of interest";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: None,
};

const LINES_OF_PAGE: u64 = 64;

/// What each visit does.
struct Visits {
    pages: u64,
    /// The first page of this thread's share and how many it has, where it goes through them in order.
    own: Option<(u64, u64)>,
    lines: u64,
    writes: bool,
}

pub(crate) async fn run(c: Context) {
    let s = &c.settings;
    let writes = s.read::<Direction>("workload.rw") == Direction::Write;
    let pages = s.number("workload.pages");
    let in_order = s.read::<Order>("workload.pattern") == Order::Sequential;
    let own = in_order.then(|| (c.share_start(pages), c.share(pages).max(1)));
    let visits = Visits { pages, own, lines: s.number("workload.lines"), writes };
    let pause = s.dur("workload.pause_ns");
    // Every page holds something, or a read of it would not need the media.
    let first = c.share_start(visits.pages);
    for page in first..first + c.share(visits.pages) {
        c.cpu.store_nontemporal(PM_BASE + page * PAGE_BYTES, page).await;
    }
    c.cpu.dfence().await;
    let mut random = c.random();
    // What caches hold is then what they hold after visits like these.
    for n in 0..c.share(s.number("workload.warm")) {
        visit(&c, &visits, &mut random, n).await;
    }
    sync::start(&c).await;
    for n in 0..c.share(s.number("workload.operations")) {
        c.cpu.compute(pause).await;
        let begins = c.cpu.now();
        visit(&c, &visits, &mut random, n).await;
        c.cpu.took(c.cpu.now().since(begins));
        c.cpu.moved(visits.lines * 64);
        c.cpu.operation_done();
    }
    sync::finish(&c).await;
}

async fn visit(c: &Context, visits: &Visits, random: &mut Random, value: u64) {
    let (page, first) = match visits.own {
        Some((first, pages)) => ((first + value % pages) % visits.pages, 0),
        None => (random.below(visits.pages), random.below(LINES_OF_PAGE)),
    };
    let page = PM_BASE + page * PAGE_BYTES;
    let line = |n: u64| page + (first + n) % LINES_OF_PAGE * 64;
    for n in 0..visits.lines {
        if visits.writes {
            c.cpu.store(line(n), value).await;
        } else {
            c.cpu.prefetch(line(n)).await;
        }
    }
    for n in (0..visits.lines).filter(|_| !visits.writes) {
        c.load(line(n)).await;
    }
}
