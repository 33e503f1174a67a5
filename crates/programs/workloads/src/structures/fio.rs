//! fio with its libpmem engine: blocks of a mapped file, read or written in place, checked as they are read.
//!
//! Every word of a block tells its block, how often that was written, and its place. Each thread has a part of the file
//! of its own, and visits every block once before it comes to one again (fio's random map). The file is laid out first, in
//! its order, and mapped then: the first touch of a page is a fault where a kernel maps pages one by one. Of a file larger
//! than the cache its last part is in there when the visits begin, and hits until misses have replaced it. Where none is to
//! hit, each block has pages of its own, and what lies behind them goes through the cache before the visits begin.

use crate::context::{Context, PmCache};
use crate::recovery::{Crashed, Persistent};
use crate::sync;
use crate::words::{DIRECTION, Direction, ORDER, Order, RESIDENT, Resident};
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
        "file_bytes" Bytes { min: 4096, max: 1 << 28 }, "8 MiB", "open 8 MiB: what is asked of the program", "size of the file; of one that is larger than a DRAM cache not every access hits", "workload.resident=unset";
        "resident" RESIDENT, "unset", "open unset: what is asked of the program", "in place of workload.file_bytes: true, a file of 8 MiB, or of the DRAM cache where that is smaller, in which every access hits, if a page can be in any place of the cache; false, pages of its own for each operation, of which none is there", "workload.resident!=unset";
        "depth" Count { min: 1, max: 64 }, "1", "paper: NVDIMM-C §VII-B2", "blocks that a thread asks for at once";
        "durable" Flag, "true", "datasheet: fio's libpmem engine, pmem_persist", "each block that is written ends with a dfence";
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

/// A file is no larger than the memory, nor than a cache that is to hold all of it.
fn fits(asked: &Asked<'_>) -> Result<(), String> {
    let s = asked.settings;
    let threads = s.number("workload.threads");
    let file = Parts::of(s, threads, asked.cache).bytes * threads;
    let memory = asked.memory_bytes.unwrap_or(u64::MAX);
    let behind = asked.cache.map_or(0, |cache| cache.span_bytes);
    match (s.read("workload.resident"), asked.cache) {
        (Resident::True, Some(cache)) if file > cache.bytes => Err(format!(
            "workload.resident = true: a block of each thread (workload.block_size, workload.threads) takes {file} bytes in all, and the DRAM cache has {}",
            cache.bytes
        )),
        (Resident::False, _) if file.saturating_add(behind) > memory => Err(format!(
            "workload.resident = false: a page for each operation (workload.operations, workload.block_size) takes {file} bytes, what replaces them {behind}, and the memory has {memory}"
        )),
        (Resident::Unset, _) if file > memory => {
            let given = s.number("workload.file_bytes");
            Err(format!(
                "workload.file_bytes = {given}: the file takes {file} bytes, and the memory has {memory}"
            ))
        }
        (Resident::True, _) if file > memory => Err(format!(
            "workload.resident = true: the file takes {file} bytes, and the memory has {memory}; give workload.file_bytes in its place"
        )),
        (Resident::Unset | Resident::True | Resident::False, _) => Ok(()),
    }
}

/// How a file is divided among threads.
struct Parts {
    /// Blocks of each thread.
    blocks: u64,
    /// From one block to the next.
    stride: u64,
    /// What the blocks of a thread take, in whole pages.
    bytes: u64,
}

impl Parts {
    fn of(s: &Settings, threads: u64, cache: Option<PmCache>) -> Parts {
        let (block, file) = (s.number("workload.block_size"), s.number("workload.file_bytes"));
        let (stride, blocks) = match s.read("workload.resident") {
            Resident::Unset => (block, file / threads / block),
            // Of whole pages, or the last ones of several threads would have no place in the cache.
            Resident::True => {
                let held = cache.map_or(file, |cache| cache.bytes.min(file));
                (block, held / threads / PAGE * PAGE / block)
            }
            // A page that is visited once is never there.
            Resident::False => {
                (block.next_multiple_of(PAGE), s.number("workload.operations").div_ceil(threads))
            }
        };
        let blocks = blocks.max(1);
        Parts { blocks, stride, bytes: (blocks * stride).next_multiple_of(PAGE) }
    }
}

/// What a thread does.
struct Job {
    /// Bytes of a block, and from one to the next.
    block: u64,
    stride: u64,
    /// The thread's part of the file.
    base: u64,
    blocks: u64,
    /// Where the parts of all threads end.
    end: u64,
    /// Which it visits, in order, and over again from the first on.
    order: Vec<u32>,
    operations: u64,
    writes: bool,
}

impl Job {
    fn new(s: &Settings, thread: u64, threads: u64, cache: Option<PmCache>, mut random: Random) -> Job {
        let total = s.number("workload.operations");
        let operations = total / threads + u64::from(thread < total % threads);
        let block = s.number("workload.block_size");
        let Parts { blocks, stride, bytes } = Parts::of(s, threads, cache);
        let mut order: Vec<u32> = (0..blocks as u32).collect();
        if s.read::<Order>("workload.pattern") == Order::Random {
            for n in (1..order.len()).rev() {
                order.swap(n, random.below(n as u64 + 1) as usize);
            }
        }
        let writes = s.read::<Direction>("workload.rw") == Direction::Write;
        let (base, end) = (PM_BASE + thread * bytes, PM_BASE + threads * bytes);
        Job { block, stride, base, blocks, end, order, operations, writes }
    }

    fn block_of(&self, operation: u64) -> u64 {
        self.order[operation as usize % self.order.len()].into()
    }

    fn address(&self, block: u64) -> u64 {
        self.base + block * self.stride
    }

    /// Of each block whether an operation comes to it.
    fn visited(&self) -> Vec<bool> {
        let mut visited = vec![false; self.blocks as usize];
        self.order.iter().take(self.operations as usize).for_each(|block| visited[*block as usize] = true);
        visited
    }
}

/// The `at`th word of a block that was written `times` times.
fn word(block: u64, times: u64, at: u64) -> u64 {
    block << 40 | (times & 0xF_FFFF) << 20 | at
}

pub(crate) async fn run(c: Context) {
    let s = &c.settings;
    c.cpu.catches_io_errors();
    let job = Job::new(s, c.thread as u64, c.threads as u64, c.pm_cache, c.random());
    let mut times = lay_out(&c, &job).await;
    c.cpu.dfence().await;
    sync::barrier_asleep(&c, 1).await;
    let is_replaced = s.read::<Resident>("workload.resident") == Resident::False;
    if is_replaced {
        replace(&c, job.end).await;
        c.cpu.dfence().await;
        sync::barrier_asleep(&c, 2).await;
    }
    c.cpu.maps_anew();
    sync::start_after(&c, 2 + u64::from(is_replaced)).await;
    let (depth, mut varies) = (s.number("workload.depth"), Random::new(c.thread as u64, 1));
    let mut software = |key: &str| {
        // Half to one and a half times, or the program would fall into step with the refresh.
        let ps = s.dur(key).as_ps();
        Dur::ps(ps / 2 + varies.below(ps + 1))
    };
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
            c.cpu.operation_failed();
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

/// Writes the file in its order: blocks that an operation comes to, and of other pages a line, which brings the page into the
/// cache and changes it as all of its lines would. Of these the ones that have left the cache by the end are as if they had
/// never been written, and are not; nor are lines that the processor's caches have lost by then, where such stores go to these.
/// How often each block was written.
async fn lay_out(c: &Context, job: &Job) -> Vec<u64> {
    let mut times = vec![1; job.blocks as usize];
    let cached = c.pm_cache.map_or(0, |cache| cache.bytes);
    let remains = job.address(job.blocks).saturating_sub(cached / c.threads as u64);
    // Twice as much as there is room for, or sets that few lines fall to would keep earlier ones.
    let stays_cached = match c.stays_cached {
        0 => u64::MAX,
        bytes => job.address(job.blocks).saturating_sub(2 * bytes / c.threads as u64) & !63,
    };
    for (block, visited) in (0..).zip(job.visited()) {
        if visited {
            if !write(c, job, block, 1).await {
                times[block as usize] = UNKNOWN;
            }
            continue;
        }
        let address = job.address(block);
        for line in (address.max(stays_cached)..address + job.block).step_by(64) {
            c.cpu.store_nontemporal(line, word(block, 1, (line - address) / 8)).await;
        }
        for page in (address.next_multiple_of(PAGE)..address + job.block).step_by(PAGE as usize) {
            if page < remains {
                continue;
            }
            change(c, page, block, (page - address) / 8).await;
        }
    }
    times
}

/// Writes the first line of a page that nobody reads.
async fn change(c: &Context, page: u64, block: u64, at: u64) {
    for n in 0..8 {
        c.cpu.store_nontemporal(page + n * 8, word(block, 1, at + n)).await;
    }
    c.cpu.take_io_error();
}

/// Brings as many pages into a cache as it holds, from `first` on, each thread its share: nothing else is in it then.
async fn replace(c: &Context, first: u64) {
    let pages = c.pm_cache.map_or(0, |cache| cache.span_bytes / PAGE);
    for page in (c.thread as u64..pages).step_by(c.threads) {
        change(c, first + page * PAGE, 0, 0).await;
    }
}

/// Every block that an operation comes to holds what was written last; the one under way may hold the time before in some words.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let threads = crashed.threads() as u64;
    for thread in 0..threads {
        let random = crashed.random(thread as usize);
        // A file that is cut is no larger than a cache.
        let job = Job::new(crashed.settings, thread, threads, None, random);
        let ended = crashed.ended[thread as usize];
        let mut times = vec![1; job.blocks as usize];
        let done = |operations: u64| (0..operations).filter(|_| job.writes).map(|o| job.block_of(o));
        done(ended).for_each(|block| times[block as usize] += 1);
        let under_way = done(job.operations).nth(ended as usize);
        let blocks = (0..).zip(times).zip(job.visited());
        for ((block, times), _) in blocks.filter(|(_, visited)| *visited) {
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
