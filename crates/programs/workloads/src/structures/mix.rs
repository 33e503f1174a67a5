//! Random accesses of every kind, to shared and private lines of both memories: the workload on which engines
//! and ordering models are compared.

use crate::context::Context;
use crate::sync::{self, Lock};
use crate::workload::{Count, Flag, N, PERCENT, Workload, params};
use protocol::{FenceKind, FlushKind, Op, OpKind, Order};
use units::Random;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "mix",
    meaning: "random accesses of every kind to shared and private lines; on it engines and models are compared",
    source: "ours",
    params: params! {
        "operations" N, "20000", "open 20000: what is asked of the program", "accesses by all threads";
        "lines" Count { min: 1, max: 4096 }, "64", "open 64: what is asked of the program", "lines of each shared and private range";
        "shared_percent" PERCENT, "30", "open 30: what is asked of the program", "accesses to shared lines";
        "racy" Flag, "false", "open false: what is asked of the program", "threads write the same bytes of shared lines without synchronising";
        "strands" Flag, "false", "open false: what is asked of the program", "threads begin and join strands, one access in ten";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: None,
};

struct Mix {
    shared_pm: u64,
    shared_dram: u64,
    lock: Lock,
    own: u64,
    lines: u64,
    shared: u64,
    racy: bool,
    strands: bool,
}

/// In lines that threads share without racing, the first words belong to one thread each (thread numbers modulo
/// this), the rest to whoever holds the lock.
const OWN_WORDS: u64 = 5;

pub(crate) async fn run(c: Context) {
    let (pm, dram) = (Context::common_pm(), Context::common_dram());
    let lines = c.settings.number("workload.lines");
    let mix = Mix {
        shared_pm: pm.lines(lines),
        shared_dram: dram.lines(lines),
        lock: Lock(dram.lines(1)),
        own: c.pm.lines(lines),
        lines,
        shared: c.settings.number("workload.shared_percent") * 10,
        racy: c.settings.flag("workload.racy"),
        strands: c.settings.flag("workload.strands"),
    };
    let operations = c.share(c.settings.number("workload.operations"));
    let mut random = c.random();
    sync::start(&c).await;
    for n in 0..operations {
        mix.step(&c, &mut random, n).await;
        c.cpu.operation_done();
    }
    sync::finish(&c).await;
}

impl Mix {
    fn address(&self, c: &Context, r: &mut Random) -> u64 {
        let base = match r.chance(self.shared) {
            true if r.chance(700) => self.shared_pm,
            true => self.shared_dram,
            false => self.own,
        };
        let line = base + r.below(self.lines) * 64;
        let any = r.below(8);
        let word = if self.racy || base == self.own { any } else { c.thread as u64 % OWN_WORDS };
        line + word * 8
    }

    async fn step(&self, c: &Context, r: &mut Random, n: u64) {
        let address = self.address(c, r);
        let value = n << 8 | c.thread as u64;
        if self.strands {
            match r.below(20) {
                0 => _ = c.cpu.new_strand().await,
                1 => _ = c.cpu.join_strand().await,
                _ => {}
            }
        }
        match r.below(100) {
            0..30 => _ = c.cpu.load(address).await,
            30..65 => _ = c.cpu.store(address, value).await,
            65..70 => _ = c.cpu.prefetch(address).await,
            70..78 => _ = c.cpu.clwb(address).await,
            78..80 => self.flush(c, address, r).await,
            80..83 => _ = c.cpu.store_nontemporal(address, value).await,
            83..86 => _ = c.cpu.fetch_add(address, 1, Order::AcquireRelease).await,
            86..92 => _ = c.cpu.ofence().await,
            92 => _ = c.cpu.dfence().await,
            93 => _ = c.cpu.fence(FenceKind::Sfence).await,
            94 => _ = c.cpu.fence(FenceKind::Mfence).await,
            95 => _ = c.cpu.store_sized(address, 3, value).await,
            _ => self.critical_section(c, r, value).await,
        }
    }

    async fn flush(&self, c: &Context, address: u64, r: &mut Random) {
        let kind = if r.chance(500) { FlushKind::Clflush } else { FlushKind::Clflushopt };
        c.cpu.op(Op { kind: OpKind::Flush(kind), address, size: 1, order: Order::Plain, value: 0 }).await;
    }

    async fn critical_section(&self, c: &Context, r: &mut Random, value: u64) {
        self.lock.acquire(c).await;
        for _ in 0..r.below(4) {
            let address = self.shared_pm + r.below(self.lines) * 64 + (OWN_WORDS + r.below(3)) * 8;
            let old = c.cpu.load(address).await;
            c.cpu.store(address, old ^ value).await;
            c.cpu.clwb(address).await;
        }
        c.cpu.ofence().await;
        self.lock.release(c).await;
    }
}
