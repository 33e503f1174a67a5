//! fio with its libpmem engine: blocks of a mapped file, read or written in place, checked as they are read.
//!
//! Every word of a block tells its block, how often that was written, and its place. Each thread has a part of the file
//! of its own, and visits every block once before it comes to one again (fio's random map). The file is laid out first and
//! mapped then: the first touch of a page is a fault where a kernel maps pages one by one. Of a file larger than the cache
//! a share of the accesses may go to blocks that were visited before and are still in it.

use crate::context::Context;
use crate::recovery::{Crashed, Persistent};
use crate::sync;
use crate::words::{DIRECTION, Direction, ORDER, Order};
use crate::workload::{Asked, Bytes, Count, Flag, Multiple, N, Nanoseconds, Workload, params};
use protocol::{PM_BASE, Settings};
use units::{Dur, Random};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "fio",
    meaning: "fio with its libpmem engine: blocks of a mapped file, read and checked or written past the caches",
    source: "fio 3.10; NVDIMM-C (HPCA 2020) §VII-B2",
    params: params! {
        threads "1", "paper: NVDIMM-C §VII-B2";
        "operations" N, "2000", "open 2000: what is asked of the program", "blocks of all threads";
        "block_size" Multiple { of: 64, max: 1 << 20 }, "4096", "paper: NVDIMM-C §VII-B2", "bytes of a block";
        "pattern" ORDER, "random", "paper: NVDIMM-C §VII-B2", "order of the blocks";
        "rw" DIRECTION, "read", "paper: NVDIMM-C §VII-B2", "what is done with a block";
        "resident" Flag, "true", "paper: NVDIMM-C §VII-B2", "true: every access hits a DRAM cache; false: none does, and what goes is changed";
        "file_bytes" Bytes { min: 4096, max: 1 << 28 }, "8 MiB", "open 8 MiB: what is asked of the program", "size of the file where every access hits; at most that of the cache";
        "depth" Count { min: 1, max: 64 }, "1", "paper: NVDIMM-C §VII-B2", "blocks that a thread asks for at once";
        "durable" Flag, "true", "datasheet: fio's libpmem engine, pmem_persist", "each block that is written ends with a dfence";
        "hit_permille" Count { min: 0, max: 900 }, "0", "open 0..125: every block visited once (fio's random map), or a file as large as the device at random (120 GB, 15 GB of slots), with 50 where blocks that miss are evaluated, fitted to them; stands at the first", "where not every access hits: of a thousand, those that visit a block again";
        "software_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "150", "measured: fio 3.33 with its null engine, 125 to 170 ns whatever the block", "time of fio for each block";
        "fill_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "350", "fitted to nvdimmc.baseline.4k: writes", "and to change its buffer before a write";
    },
    check: Some(fits),
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

const PAGE: u64 = 4096;
/// In place of how often a block was written: an I/O error came in between.
const UNKNOWN: u64 = u64::MAX;

/// A file of which every access hits is no larger than the cache.
fn fits(asked: &Asked<'_>) -> Result<(), String> {
    let (file, cache) = (asked.settings.number("workload.file_bytes"), asked.cache_bytes.unwrap_or(u64::MAX));
    if asked.settings.flag("workload.resident") && file > cache {
        return Err(format!("workload.file_bytes = {file}: a cache of {cache} bytes cannot hold all of it"));
    }
    Ok(())
}

/// What a thread does.
struct Job {
    /// Bytes of a block, and from one block to the next.
    block: u64,
    stride: u64,
    /// The thread's part of the file.
    base: u64,
    blocks: u64,
    /// Which it visits, in order, and over again from the first on.
    order: Vec<u32>,
    operations: u64,
    writes: bool,
}

impl Job {
    fn new(s: &Settings, thread: u64, threads: u64, mut random: Random) -> Job {
        let total = s.number("workload.operations");
        let operations = total / threads + u64::from(thread < total % threads);
        let block = s.number("workload.block_size");
        // Where no access may hit, no page is visited twice.
        let (stride, blocks) = if s.flag("workload.resident") {
            (block, (s.number("workload.file_bytes") / threads / block).max(1))
        } else {
            (block.next_multiple_of(PAGE), total.div_ceil(threads))
        };
        let mut order: Vec<u32> = (0..blocks as u32).collect();
        if s.read::<Order>("workload.pattern") == Order::Random {
            for n in (1..order.len()).rev() {
                order.swap(n, random.below(n as u64 + 1) as usize);
            }
        }
        let hit = s.number("workload.hit_permille");
        if !s.flag("workload.resident") && hit > 0 {
            order = with_visits_again(&order, operations, hit, &mut random);
        }
        let part = (blocks * stride).next_multiple_of(PAGE);
        let writes = s.read::<Direction>("workload.rw") == Direction::Write;
        Job { block, stride, base: PM_BASE + thread * part, blocks, order, operations, writes }
    }

    fn block_of(&self, operation: u64) -> u64 {
        self.order[operation as usize % self.order.len()].into()
    }

    fn address(&self, block: u64) -> u64 {
        self.base + block * self.stride
    }

    fn end(&self) -> u64 {
        self.base + (self.blocks * self.stride).next_multiple_of(PAGE)
    }
}

/// `order` with visits of blocks that came before in between, `hit` of a thousand.
fn with_visits_again(order: &[u32], operations: u64, hit: u64, random: &mut Random) -> Vec<u32> {
    let mut new = order.iter();
    let mut visits: Vec<u32> = Vec::with_capacity(operations as usize);
    while (visits.len() as u64) < operations {
        let again = !visits.is_empty() && random.below(1000) < hit;
        let mut before = || visits.get(random.below(visits.len().max(1) as u64) as usize).copied();
        let Some(block) = (if again { before() } else { new.next().copied() }) else { break };
        visits.push(block);
    }
    visits
}

/// The `at`th word of a block that was written `times` times.
fn word(block: u64, times: u64, at: u64) -> u64 {
    block << 40 | (times & 0xF_FFFF) << 20 | at
}

pub(crate) async fn run(c: Context) {
    let s = &c.settings;
    c.cpu.catches_io_errors();
    let job = Job::new(s, c.thread as u64, c.threads as u64, c.random());
    for block in 0..job.blocks {
        write(&c, &job, block, 1).await;
    }
    c.cpu.dfence().await;
    sync::barrier(&c, 1).await;
    if !s.flag("workload.resident") && c.thread + 1 == c.threads {
        push_out(&c, job.end(), c.pm_cache_bytes.unwrap_or(0)).await;
    }
    c.cpu.maps_anew();
    sync::barrier_asleep(&c, 2).await;
    sync::start_after(&c, 3).await;
    let (depth, mut varies) = (s.number("workload.depth"), Random::new(c.thread as u64, 1));
    let mut software = |key: &str| {
        // Half to one and a half times, or the program would fall into step with the refresh.
        let ps = s.dur(key).as_ps();
        Dur::ps(ps / 2 + varies.below(ps + 1))
    };
    let mut times = vec![1_u64; job.blocks as usize];
    for operation in 0..job.operations {
        if operation % depth == 0 && !job.writes {
            for ahead in operation..(operation + depth).min(job.operations) {
                // What cannot be asked for is told when it is read.
                fetch(&c, &job, job.block_of(ahead), 0).await;
            }
        }
        c.cpu.compute(software("workload.software_ns")).await;
        let block = job.block_of(operation);
        let times = &mut times[block as usize];
        let done = if job.writes {
            *times = times.wrapping_add(1);
            c.cpu.compute(software("workload.fill_ns")).await;
            let done = write(&c, &job, block, *times).await;
            if s.flag("workload.durable") {
                c.cpu.dfence().await;
            }
            done
        } else {
            read(&c, &job, block, *times).await
        };
        if done {
            c.cpu.moved(job.block);
        } else {
            // Nobody knows what is there now.
            *times = UNKNOWN;
        }
        c.cpu.operation_done();
    }
    sync::finish(&c).await;
}

/// As libpmem copies: past the caches. False after an I/O error, behind which nothing is written.
async fn write(c: &Context, job: &Job, block: u64, times: u64) -> bool {
    let address = job.address(block);
    for at in 0..job.block / 8 {
        c.cpu.store_nontemporal(address + at * 8, word(block, times, at)).await;
        if at % 8 == 0 && c.cpu.take_io_error() {
            return false;
        }
    }
    true
}

/// Asks for the lines of a block from `from` on, as many as the processor looks ahead. False after an I/O error.
async fn fetch(c: &Context, job: &Job, block: u64, from: u64) -> bool {
    let address = job.address(block);
    for line in (from..job.block.min(from + PAGE)).step_by(64) {
        c.cpu.prefetch(address + line).await;
        if c.cpu.take_io_error() {
            return false;
        }
    }
    true
}

/// The lines of a block, of which the first have been asked for; the first word of each is checked. False after an I/O
/// error.
async fn read(c: &Context, job: &Job, block: u64, times: u64) -> bool {
    let address = job.address(block);
    for line in (0..job.block).step_by(64) {
        if line % PAGE == 0 && !fetch(c, job, block, line + PAGE).await {
            return false;
        }
        let (got, wanted) = (c.load(address + line).await, word(block, times, line / 8));
        if c.cpu.take_io_error() {
            return false;
        }
        if got != wanted && times != UNKNOWN {
            let at = address + line - PM_BASE;
            c.cpu.fail(format!("fio: byte {at} of the file holds {got:#x}, and {wanted:#x} was written"));
            return false;
        }
    }
    true
}

/// Writes a line of each page of another file, as large as the cache, so that nothing else is in it and every page has
/// to be written back.
async fn push_out(c: &Context, from: u64, bytes: u64) {
    for page in (0..bytes).step_by(PAGE as usize) {
        for at in 0..8 {
            c.cpu.store_nontemporal(from + page + at * 8, at).await;
        }
    }
}

/// Every block holds what was written last; the one under way may hold the time before in some words.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let threads = crashed.threads() as u64;
    for thread in 0..threads {
        let random = crashed.random(thread as usize);
        let job = Job::new(crashed.settings, thread, threads, random);
        let ended = crashed.ended[thread as usize];
        let mut times = vec![1; job.blocks as usize];
        let done = |operations: u64| (0..operations).filter(|_| job.writes).map(|o| job.block_of(o));
        done(ended).for_each(|block| times[block as usize] += 1);
        let under_way = done(job.operations).nth(ended as usize);
        for (block, times) in (0..).zip(times) {
            let newest = times + u64::from(under_way == Some(block));
            // What was laid out at first is durable in any case.
            let oldest = if crashed.durable() { times } else { 1 };
            check(memory, &job, block, oldest..=newest)?;
        }
    }
    Ok(())
}

fn check(
    memory: &mut dyn Persistent,
    job: &Job,
    block: u64,
    times: std::ops::RangeInclusive<u64>,
) -> Result<(), String> {
    for at in 0..job.block / 8 {
        let address = job.address(block) + at * 8;
        let got = memory.word(address);
        if !times.clone().any(|t| got == word(block, t, at)) && !memory.may_be_older(address) {
            let (byte, wanted) = (address - PM_BASE, word(block, *times.start(), at));
            return Err(format!("byte {byte} of the file holds {got:#x}, and {wanted:#x} was durable"));
        }
    }
    Ok(())
}
