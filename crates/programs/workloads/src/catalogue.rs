//! Every workload: its name, what it does, its parameters, its program.

use crate::Program;
use crate::context::Context;
use crate::recovery::Recover;
use crate::stores;
use crate::structures as s;
use protocol::params::Kind::{Bytes, Choice, Count, Flag, Multiple, Nanoseconds, Text};
use protocol::{Param, Settings};

/// A program that comes with the project.
pub struct Workload {
    /// Name, as in `coreplane run MACHINE NAME`.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its parameters, all under `workload.`.
    pub params: &'static [Param],
    /// The program of one thread.
    pub program: fn(Context) -> Program,
    /// Recovery on what a power failure left, and its invariants; none where nothing is kept.
    pub recover: Option<Recover>,
}

impl std::fmt::Debug for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// The workload called `name`.
pub fn find(name: &str) -> Option<&'static Workload> {
    WORKLOADS.iter().find(|w| w.name == name)
}

macro_rules! params {
    ($($key:literal $kind:expr, $default:literal, $source:literal, $meaning:literal;)*) => {
        params! { threads "4", "artifact"; $($key $kind, $default, $source, $meaning;)* }
    };
    (threads $threads:literal, $from:literal; $($key:literal $kind:expr, $default:literal, $source:literal, $meaning:literal;)*) => {
        &[
            Param {
                key: "workload.threads",
                kind: Count { min: 1, max: 64 },
                default: $threads,
                source: $from,
                meaning: "threads, one a core",
            },
            $(Param {
                key: concat!("workload.", $key),
                kind: $kind,
                default: $default,
                source: $source,
                meaning: $meaning,
            }),*
        ]
    };
}

const N: protocol::params::Kind = Count { min: 1, max: 10_000_000 };
const PERCENT: protocol::params::Kind = Count { min: 0, max: 100 };

const MECHANISM: protocol::params::Kind = Choice(&["logging", "redo", "undo-redo", "checkpoint", "shadow"]);

/// Whether the hash table is the one with a way of its own to be crash consistent.
fn has_own_way(settings: &Settings) -> bool {
    match settings.text("workload.mechanism") {
        "own" => true,
        "auto" => settings.text("workload.bug") != "none",
        _ => false,
    }
}

/// All workloads.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "bandwidth",
        meaning: "blocks written one after the other, ordered by ofence; blocks alternate between controllers",
        source: "ASAP (HPCA 2022) §VII-C",
        params: params! {
            "operations" N, "20000", "estimate", "blocks written by all threads";
            "block_size" Count { min: 64, max: 4096 }, "256", "paper: ASAP §VII-C", "bytes of a block, a multiple of 64";
        },
        program: |c| Box::pin(s::bandwidth::run(c)),
        recover: None,
    },
    Workload {
        name: "append",
        meaning: "records appended to a log for each thread: the least that a crash-consistent program does",
        source: "ours, the example of docs/extend/workload.md",
        params: params! {
            "operations" N, "8000", "estimate", "records appended by all threads";
            "durable" Flag, "true", "estimate", "each record ends with a dfence";
        },
        program: |c| Box::pin(s::append::run(c)),
        recover: Some(s::append::recover),
    },
    Workload {
        name: "hashmap",
        meaning: "a hash table for each thread with slots, a persistent allocator and logged transfers; its bugs can be chosen",
        source: "Level Hashing (OSDI 2018), reduced; bugs after Witcher (SOSP 2021) and PMTest (ASPLOS 2019)",
        params: params! {
            "operations" N, "10000", "estimate", "insertions, updates, removals and transfers of all threads";
            "durable" Flag, "true", "estimate", "each operation ends with a dfence";
            "mechanism" Choice(&["auto", "own", "logging", "redo", "undo-redo", "checkpoint", "shadow"]), "auto", "-", "own: a table with its own way, which bugs are seeded in; others: PMDK's hashmap_tx on the persistent-memory library; auto: own with a bug, logging without";
            "value_size" Count { min: 8, max: 4096 }, "64", "paper: NearPM Table 4", "bytes of a value, on the library";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "21100", "fitted to nearpm.overhead-share", "cycles of computation around each operation, on the library";
            "library_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "1000", "fitted to nearpm.overhead-share", "instructions of the library for a logged range, where the core logs";
            "epoch_faults" Count { min: 1, max: 28 }, "5", "artifact: a checkpoint ends with five page faults", "pages of an epoch, with checkpoints";
            "fault_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "2500", "estimate: a protection fault, its signal, and mprotect", "time of a write to a protected page";
            "bug" Choice(s::hashmap::BUGS), "none", "Witcher, PMTest, XFDetector bug lists", "a seeded bug; see docs/models/crash.md";
        },
        program: |c| {
            if has_own_way(&c.settings) {
                Box::pin(s::hashmap::run(c))
            } else {
                Box::pin(stores::run::<stores::Chained>(c))
            }
        },
        recover: Some(|m, c| {
            let own = has_own_way(c.settings);
            if own { s::hashmap::recover(m, c) } else { stores::recover::<stores::Chained>(m, c) }
        }),
    },
    Workload {
        name: "nstore",
        meaning: "N-Store's write-ahead-logging engine running YCSB; tuples are partitioned among threads",
        source: "Arulraj et al., SIGMOD 2015; WHISPER (ASPLOS 2017)",
        params: params! {
            "operations" N, "40000", "artifact: -x40000", "transactions of all threads";
            "keys" N, "4000", "artifact: -k4000", "tuples of all threads";
            "fields" Count { min: 1, max: 64 }, "5", "artifact: ycsb_benchmark", "fields of a tuple";
            "value_size" Count { min: 8, max: 4096 }, "100", "artifact: ycsb_benchmark", "bytes of a field";
            "update_percent" PERCENT, "80", "artifact: -p0.8", "transactions that update";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "2000", "estimate: a transaction's planning and dispatch", "cycles of computation around each operation";
            "durable" Flag, "true", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::nstore::run(c)),
        recover: Some(s::nstore::recover),
    },
    Workload {
        name: "echo",
        meaning: "Echo: workers put into stores of their own and merge into a master store of versions",
        source: "Bailey et al., INFLOW 2013; WHISPER (ASPLOS 2017)",
        params: params! {
            "operations" N, "10000", "artifact: 10000 operations", "operations of all threads";
            "keys" N, "10000", "artifact: PREPOP", "different keys";
            "key_size" Count { min: 8, max: 1024 }, "128", "artifact", "bytes of a key";
            "value_size" Count { min: 8, max: 4096 }, "1024", "artifact", "bytes of a value";
            "put_percent" PERCENT, "80", "artifact: put probability 0.8", "operations that put";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "1000", "estimate: request handling", "cycles of computation around each operation";
            "durable" Flag, "true", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::echo::run(c)),
        recover: Some(s::echo::recover),
    },
    Workload {
        name: "vacation",
        meaning: "a travel agency's tables under transactions and one lock",
        source: "STAMP (IISWC 2008); WHISPER (ASPLOS 2017)",
        params: params! {
            "operations" N, "40000", "artifact: -t40000", "transactions of all threads";
            "relations" N, "4000", "artifact: -r4000", "rows of each table at the start";
            "queries" Count { min: 1, max: 64 }, "1", "artifact: -n1", "queries of a transaction";
            "range_percent" PERCENT, "80", "artifact: -q80", "rows that queries reach";
            "user_percent" PERCENT, "20", "artifact: -u20", "transactions that reserve; the rest change tables";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "500", "estimate: bookkeeping in volatile memory", "cycles of computation around each operation";
            "durable" Flag, "true", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::vacation::run(c)),
        recover: Some(s::vacation::recover),
    },
    Workload {
        name: "memcached",
        meaning: "a hash table of items with grouped locks, changed by transactions",
        source: "Memcached; WHISPER (ASPLOS 2017)",
        params: params! {
            "operations" N, "8000", "artifact: memslap -x 8000", "requests of all threads";
            "keys" N, "8000", "estimate", "different keys";
            "key_size" Count { min: 8, max: 1024 }, "16", "artifact: run.cnf", "bytes of a key";
            "value_size" Count { min: 8, max: 4096 }, "64", "artifact: memslap -X 64", "bytes of a value";
            "set_percent" PERCENT, "80", "estimate: update-intensive (ASAP §VII); WHISPER has 5", "requests that set";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "4000", "estimate: parsing a request and answering it", "cycles of computation around each operation";
            "durable" Flag, "true", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::memcached::run(c)),
        recover: Some(s::memcached::recover),
    },
    Workload {
        name: "heap",
        meaning: "a binary heap under one lock with an undo log",
        source: "ASAP's atlas_heap",
        params: params! {
            "operations" N, "8000", "artifact: heap_nvm 4 8000 0.5", "insertions and removals of all threads";
            "insert_percent" PERCENT, "50", "artifact: heap_nvm 4 8000 0.5", "operations that insert";
            "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::heap::run(c)),
        recover: Some(s::heap::recover),
    },
    Workload {
        name: "queue",
        meaning: "a FIFO queue with one lock for each end and an undo log",
        source: "Michael and Scott (PODC 1996); ASAP's atlas_queue",
        params: params! {
            "operations" N, "8000", "artifact: queue_nvm 4 8000 0.5", "insertions and removals of all threads";
            "insert_percent" PERCENT, "50", "artifact: queue_nvm 4 8000 0.5", "operations that insert";
            "value_size" Count { min: 8, max: 4096 }, "64", "paper: ASAP §VII (16 to 128 B)", "bytes of an element";
            "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::queue::run(c)),
        recover: Some(s::queue::recover),
    },
    Workload {
        name: "skiplist",
        meaning: "a skip list under one lock with an undo log",
        source: "Pugh (CACM 1990); ASAP's atlas_skiplist",
        params: params! {
            "operations" N, "2000", "artifact: skiplist_nvm 4 2000 0.8", "insertions and removals of all threads";
            "insert_percent" PERCENT, "80", "artifact: skiplist_nvm 4 2000 0.8", "operations that insert";
            "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::skiplist::run(c)),
        recover: Some(s::skiplist::recover),
    },
    Workload {
        name: "cceh",
        meaning: "CCEH: cacheline-conscious extendible hashing",
        source: "Nam et al., FAST 2019",
        params: params! {
            "operations" N, "100000", "artifact: 100000 keys", "keys inserted by all threads";
            "search_percent" PERCENT, "100", "artifact: insert phase, then search phase", "searches for each hundred insertions, afterwards";
            "initial_depth" Count { min: 0, max: 16 }, "4", "artifact: 16384 pairs at the start", "depth of the directory at the start";
            "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::cceh::run(c)),
        recover: Some(s::cceh::recover),
    },
    Workload {
        name: "fast-fair",
        meaning: "FAST & FAIR: a B+-tree with always readable shifts",
        source: "Hwang et al., FAST 2018",
        params: params! {
            "operations" N, "24000", "artifact: -n 24000", "keys; the first half is inserted beforehand";
            "searches" Count { min: 0, max: 64 }, "4", "artifact: mixed mode", "searches after each insertion; every fourth key is deleted";
            "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::fast_fair::run(c)),
        recover: Some(s::fast_fair::recover),
    },
    Workload {
        name: "dash-lh",
        meaning: "Dash with linear hashing",
        source: "Lu et al., VLDB 2020",
        params: params! {
            "operations" N, "40000", "artifact: -p 40000", "keys inserted by all threads";
            "preload" Count { min: 0, max: 10_000_000 }, "4000", "artifact: -n 4000", "keys inserted beforehand";
            "initial_depth" Count { min: 0, max: 12 }, "2", "estimate", "logarithm of the segments at the start";
            "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::dash::run(c, true)),
        recover: Some(|m, c| s::dash::recover(m, c, true)),
    },
    Workload {
        name: "dash-eh",
        meaning: "Dash with extendible hashing",
        source: "Lu et al., VLDB 2020",
        params: params! {
            "operations" N, "40000", "artifact: -p 40000", "keys inserted by all threads";
            "preload" Count { min: 0, max: 10_000_000 }, "4000", "artifact: -n 4000", "keys inserted beforehand";
            "initial_depth" Count { min: 0, max: 12 }, "2", "estimate", "depth of the directory at the start";
            "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::dash::run(c, false)),
        recover: Some(|m, c| s::dash::recover(m, c, false)),
    },
    Workload {
        name: "p-art",
        meaning: "P-ART: an adaptive radix tree",
        source: "Leis et al., ICDE 2013; RECIPE (SOSP 2019)",
        params: params! {
            "operations" N, "100000", "artifact: 100000 records", "keys of all threads";
            "read_percent" PERCENT, "0", "paper: ASAP Table III (insert elements)", "operations that look a key up";
            "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::art::run(c)),
        recover: Some(s::art::recover),
    },
    Workload {
        name: "p-clht",
        meaning: "P-CLHT: a hash table whose buckets are cache lines",
        source: "David et al., ASPLOS 2015; RECIPE (SOSP 2019)",
        params: params! {
            "operations" N, "100000", "artifact: 100000 records", "keys of all threads";
            "read_percent" PERCENT, "0", "paper: ASAP Table III (insert elements)", "operations that look a key up";
            "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::clht::run(c)),
        recover: Some(s::clht::recover),
    },
    Workload {
        name: "p-masstree",
        meaning: "P-Masstree: a B+-tree with permutation words",
        source: "Mao et al., EuroSys 2012; RECIPE (SOSP 2019)",
        params: params! {
            "operations" N, "100000", "artifact: 100000 records", "keys of all threads";
            "read_percent" PERCENT, "0", "paper: ASAP Table III (insert elements)", "operations that look a key up";
            "durable" Flag, "false", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
        },
        program: |c| Box::pin(s::masstree::run(c)),
        recover: Some(s::masstree::recover),
    },
    Workload {
        name: "fio",
        meaning: "fio with its libpmem engine: blocks of a mapped file, read and checked or written past the caches",
        source: "fio 3.10; NVDIMM-C (HPCA 2020) §VII-B2",
        params: params! {
            threads "1", "paper: NVDIMM-C §VII-B2";
            "operations" N, "2000", "estimate", "blocks of all threads";
            "block_size" Multiple { of: 64, max: 1 << 20 }, "4096", "paper: NVDIMM-C §VII-B2", "bytes of a block";
            "pattern" Choice(&["random", "sequential"]), "random", "paper: NVDIMM-C §VII-B2", "order of the blocks";
            "rw" Choice(&["read", "write"]), "read", "paper: NVDIMM-C §VII-B2", "what is done with a block";
            "resident" Flag, "true", "paper: NVDIMM-C §VII-B2", "true: every access hits a DRAM cache; false: none does, and what goes is changed";
            "file_bytes" Bytes { min: 4096, max: 1 << 28 }, "8 MiB", "estimate", "size of the file where every access hits; at most that of the cache";
            "depth" Count { min: 1, max: 64 }, "1", "paper: NVDIMM-C §VII-B2", "blocks that a thread asks for at once";
            "durable" Flag, "true", "fio's libpmem engine: pmem_persist", "each block that is written ends with a dfence";
            "software_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "970", "fitted to nvdimmc.baseline.4k", "time of fio and libpmem for each block";
            "fill_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "310", "fitted to nvdimmc.baseline.4k", "and to change its buffer before a write";
        },
        program: |c| Box::pin(s::fio::run(c)),
        recover: Some(s::fio::recover),
    },
    Workload {
        name: "loaded-latency",
        meaning: "pages of a working set visited at random, some lines of each, by as many threads as load the memory",
        source: "after Intel's Memory Latency Checker, its loaded latencies",
        params: params! {
            threads "1", "-";
            "operations" N, "1000", "estimate", "visits of all threads";
            "pages" Count { min: 1, max: 1 << 20 }, "1024", "estimate", "pages of the working set";
            "lines" Count { min: 1, max: 64 }, "1", "-", "lines of 64 B that a visit touches";
            "rw" Choice(&["read", "write"]), "read", "-", "what is done with them";
            "pause_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "0", "-", "time between visits of a thread";
            "warm" N, "1000", "estimate", "visits before the region of interest";
        },
        program: |c| Box::pin(s::loaded_latency::run(c)),
        recover: None,
    },
    Workload {
        name: "filecopy",
        meaning: "a file copied from a disk onto persistent memory, block by block",
        source: "NVDIMM-C (HPCA 2020) §VII-B1",
        params: params! {
            threads "1", "paper: NVDIMM-C §VII-B1";
            "file_bytes" Multiple { of: 4096, max: 1 << 28 }, "20971520", "paper: NVDIMM-C §VII-B1, 20 GB, scaled by 1024", "size of the file";
            "source_mb_per_second" Count { min: 1, max: 1_000_000 }, "520", "paper: NVDIMM-C Table I (PM863)", "rate of the disk, in 10^6 bytes a second";
        },
        program: |c| Box::pin(s::filecopy::run(c)),
        recover: None,
    },
    Workload {
        name: "stream",
        meaning: "STREAM's copy, scale, add and triad on arrays in persistent memory; every element is checked",
        source: "McCalpin (1995); NVDIMM-C (HPCA 2020) §VII-A",
        params: params! {
            "operations" N, "2", "estimate", "rounds of the four kernels";
            "array_bytes" Multiple { of: 4096, max: 1 << 30 }, "1048576", "estimate", "size of each of the three arrays, for all threads";
            "passthrough" Flag, "false", "paper: AMF §6.3", "arrays in device files of hidden persistent memory (machines at page fidelity)";
        },
        program: |c| Box::pin(s::stream::run(c)),
        recover: None,
    },
    Workload {
        name: "redis-random",
        meaning: "a Redis-like dictionary under memtier's load, keys at random; nothing is persistent, every value read is checked",
        source: "Redis 7.0, by what it writes; PBerry (HotOS 2019) §2, §7",
        params: params! {
            threads "1", "Redis serves from one thread";
            "keys" Count { min: 1, max: 1_000_000 }, "40000", "estimate", "keys, set before the region of interest";
            "operations" N, "20000", "estimate", "requests of all threads";
            "value_size" Count { min: 8, max: 4096 }, "300", "artifact: memtier -d 300 (KCacheSim)", "bytes of a value";
            "set_percent" PERCENT, "50", "paper: PBerry §7, memtier 1:1", "share of requests that set, in random order";
            "pattern" Choice(&["random", "sequential"]), "random", "paper: PBerry §7", "order of keys";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "8000", "estimate: a request of Redis takes about 5 us, most of it in the kernel", "cycles of computation before each request";
        },
        program: |c| Box::pin(s::dict::run(c)),
        recover: None,
    },
    Workload {
        name: "redis-seq",
        meaning: "a Redis-like dictionary under memtier's load, keys in order; nothing is persistent, every value read is checked",
        source: "Redis 7.0, by what it writes; PBerry (HotOS 2019) §2, §7",
        params: params! {
            threads "1", "Redis serves from one thread";
            "keys" Count { min: 1, max: 1_000_000 }, "40000", "estimate", "keys, set before the region of interest";
            "operations" N, "20000", "estimate", "requests of all threads";
            "value_size" Count { min: 8, max: 4096 }, "300", "artifact: memtier -d 300 (KCacheSim)", "bytes of a value";
            "set_percent" PERCENT, "50", "paper: PBerry §7, memtier 1:1", "share of requests that set, in random order";
            "pattern" Choice(&["random", "sequential"]), "sequential", "paper: PBerry §7", "order of keys";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "8000", "estimate: a request of Redis takes about 5 us, most of it in the kernel", "cycles of computation before each request";
        },
        program: |c| Box::pin(s::dict::run(c)),
        recover: None,
    },
    Workload {
        name: "linreg",
        meaning: "the map phase of MapReduce's linear regression: the input is read, pairs are added to a list for each key",
        source: "Phoenix and Metis, by what they emit; PBerry (HotOS 2019) §2, §7",
        params: params! {
            "input_bytes" Multiple { of: 4096, max: 1 << 30 }, "16777216", "estimate", "bytes of input of all threads";
            "split_bytes" Multiple { of: 8, max: 1 << 30 }, "16384", "estimate", "bytes of input for which pairs are emitted";
        },
        program: |c| Box::pin(s::map_reduce::regression(c)),
        recover: None,
    },
    Workload {
        name: "histogram",
        meaning: "the map phase of MapReduce's histogram of colours: the input is read, pairs are added to a list for each key",
        source: "Phoenix and Metis, by what they emit; PBerry (HotOS 2019) §2, §7",
        params: params! {
            "input_bytes" Multiple { of: 4096, max: 1 << 30 }, "2097152", "estimate", "bytes of input of all threads";
            "split_bytes" Multiple { of: 8, max: 1 << 30 }, "16384", "estimate", "bytes of input for which pairs are emitted";
        },
        program: |c| Box::pin(s::map_reduce::histogram(c)),
        recover: None,
    },
    Workload {
        name: "tpch",
        meaning: "TPC-H's queries as SQLite reads their pages; tpch:FILE takes a stream of python -m coreplane.tpch",
        source: "TPC-H at scale factor 0.01 on SQLite 3.54, recorded; NVDIMM-C (HPCA 2020) §VII-B5",
        params: params! {
            threads "1", "estimate";
            "query" Text, "Q1", "-", "the query, or all";
            "operations" N, "4000", "estimate", "pages read of each query, from its beginning";
        },
        program: |c| Box::pin(s::tpch::run(c)),
        recover: None,
    },
    Workload {
        name: "tpcc",
        meaning: "TPC-C's new_order transactions on the persistent-memory library",
        source: "TPC-C 5.11; NearPM (EuroSys 2023) Table 4",
        params: params! {
            threads "1", "paper: NearPM §8.2";
            "operations" N, "1000", "artifact: NUM_ORDERS", "transactions of all threads";
            "items" Count { min: 1, max: 50_000 }, "10000", "artifact: 10,000 items", "items in stock";
            "value_size" Count { min: 8, max: 4096 }, "64", "paper: NearPM Table 4", "bytes of a value";
            "mechanism" MECHANISM, "logging", "paper: NearPM §8.1", "how transactions are made crash consistent";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "146000", "fitted to nearpm.overhead-share", "cycles of computation around each operation";
            "library_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "1000", "fitted to nearpm.overhead-share", "instructions of the library for a logged range, where the core logs";
            "epoch_faults" Count { min: 1, max: 28 }, "5", "artifact: a checkpoint ends with five page faults", "pages of an epoch, with checkpoints";
            "fault_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "2500", "estimate: a protection fault, its signal, and mprotect", "time of a write to a protected page";
            "durable" Flag, "true", "PMDK: a transaction that has ended is durable", "each transaction ends with a dfence";
            "bug" Choice(crate::pm::BUGS), "none", "-", "a mistake seeded in the library; see docs/models/nearpm.md";
        },
        program: |c| Box::pin(stores::run::<stores::Tpcc>(c)),
        recover: Some(stores::recover::<stores::Tpcc>),
    },
    Workload {
        name: "tatp",
        meaning: "TATP's update_location transactions on the persistent-memory library",
        source: "TATP 1.0; NearPM (EuroSys 2023) Table 4",
        params: params! {
            threads "1", "paper: NearPM §8.2";
            "operations" N, "10000", "artifact: 30000, scaled by 3", "transactions of all threads";
            "subscribers" Count { min: 1, max: 150_000 }, "100000", "artifact: 100,000 subscribers", "records of the table";
            "value_size" Count { min: 8, max: 4096 }, "64", "paper: NearPM Table 4", "bytes of a value";
            "mechanism" MECHANISM, "logging", "paper: NearPM §8.1", "how transactions are made crash consistent";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "13700", "fitted to nearpm.overhead-share", "cycles of computation around each operation";
            "library_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "1000", "fitted to nearpm.overhead-share", "instructions of the library for a logged range, where the core logs";
            "epoch_faults" Count { min: 1, max: 28 }, "5", "artifact: a checkpoint ends with five page faults", "pages of an epoch, with checkpoints";
            "fault_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "2500", "estimate: a protection fault, its signal, and mprotect", "time of a write to a protected page";
            "durable" Flag, "true", "PMDK: a transaction that has ended is durable", "each transaction ends with a dfence";
            "bug" Choice(crate::pm::BUGS), "none", "-", "a mistake seeded in the library; see docs/models/nearpm.md";
        },
        program: |c| Box::pin(stores::run::<stores::Tatp>(c)),
        recover: Some(stores::recover::<stores::Tatp>),
    },
    Workload {
        name: "btree",
        meaning: "PMDK's B-tree map: random keys are inserted",
        source: "PMDK btree_map; NearPM (EuroSys 2023) Table 4",
        params: params! {
            threads "1", "paper: NearPM §8.2";
            "operations" N, "10000", "artifact: 10,000 inserts", "transactions of all threads";
            "value_size" Count { min: 8, max: 4096 }, "64", "paper: NearPM Table 4", "bytes of a value";
            "mechanism" MECHANISM, "logging", "paper: NearPM §8.1", "how transactions are made crash consistent";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "21200", "fitted to nearpm.overhead-share", "cycles of computation around each operation";
            "library_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "1000", "fitted to nearpm.overhead-share", "instructions of the library for a logged range, where the core logs";
            "epoch_faults" Count { min: 1, max: 28 }, "5", "artifact: a checkpoint ends with five page faults", "pages of an epoch, with checkpoints";
            "fault_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "2500", "estimate: a protection fault, its signal, and mprotect", "time of a write to a protected page";
            "durable" Flag, "true", "PMDK: a transaction that has ended is durable", "each transaction ends with a dfence";
            "bug" Choice(crate::pm::BUGS), "none", "-", "a mistake seeded in the library; see docs/models/nearpm.md";
        },
        program: |c| Box::pin(stores::run::<stores::BTree>(c)),
        recover: Some(stores::recover::<stores::BTree>),
    },
    Workload {
        name: "rbtree",
        meaning: "PMDK's red-black tree map: random keys are inserted",
        source: "PMDK rbtree_map; NearPM (EuroSys 2023) Table 4",
        params: params! {
            threads "1", "paper: NearPM §8.2";
            "operations" N, "10000", "artifact: 10,000 inserts", "transactions of all threads";
            "value_size" Count { min: 8, max: 4096 }, "64", "paper: NearPM Table 4", "bytes of a value";
            "mechanism" MECHANISM, "logging", "paper: NearPM §8.1", "how transactions are made crash consistent";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "29000", "fitted to nearpm.overhead-share", "cycles of computation around each operation";
            "library_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "1000", "fitted to nearpm.overhead-share", "instructions of the library for a logged range, where the core logs";
            "epoch_faults" Count { min: 1, max: 28 }, "5", "artifact: a checkpoint ends with five page faults", "pages of an epoch, with checkpoints";
            "fault_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "2500", "estimate: a protection fault, its signal, and mprotect", "time of a write to a protected page";
            "durable" Flag, "true", "PMDK: a transaction that has ended is durable", "each transaction ends with a dfence";
            "bug" Choice(crate::pm::BUGS), "none", "-", "a mistake seeded in the library; see docs/models/nearpm.md";
        },
        program: |c| Box::pin(stores::run::<stores::RbTree>(c)),
        recover: Some(stores::recover::<stores::RbTree>),
    },
    Workload {
        name: "pm-skiplist",
        meaning: "PMDK's skip list map: random keys are inserted",
        source: "PMDK skiplist_map; NearPM (EuroSys 2023) Table 4",
        params: params! {
            threads "1", "paper: NearPM §8.2";
            "operations" N, "10000", "artifact: 10,000 inserts", "transactions of all threads";
            "value_size" Count { min: 8, max: 4096 }, "64", "paper: NearPM Table 4", "bytes of a value";
            "mechanism" MECHANISM, "logging", "paper: NearPM §8.1", "how transactions are made crash consistent";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "16700", "fitted to nearpm.overhead-share", "cycles of computation around each operation";
            "library_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "1000", "fitted to nearpm.overhead-share", "instructions of the library for a logged range, where the core logs";
            "epoch_faults" Count { min: 1, max: 28 }, "5", "artifact: a checkpoint ends with five page faults", "pages of an epoch, with checkpoints";
            "fault_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "2500", "estimate: a protection fault, its signal, and mprotect", "time of a write to a protected page";
            "durable" Flag, "true", "PMDK: a transaction that has ended is durable", "each transaction ends with a dfence";
            "bug" Choice(crate::pm::BUGS), "none", "-", "a mistake seeded in the library; see docs/models/nearpm.md";
        },
        program: |c| Box::pin(stores::run::<stores::SkipList>(c)),
        recover: Some(stores::recover::<stores::SkipList>),
    },
    Workload {
        name: "pm-memcached",
        meaning: "memcached on persistent memory under YCSB's writes; each thread has a pool",
        source: "memcached-pmem; NearPM (EuroSys 2023) Table 4",
        params: params! {
            threads "1", "paper: NearPM §8.2";
            "operations" N, "10000", "artifact: operationcount", "transactions of all threads";
            "keys" Count { min: 1, max: 20_000 }, "1000", "artifact: recordcount", "different keys, all there from the beginning";
            "value_size" Count { min: 8, max: 4096 }, "64", "paper: NearPM Table 4", "bytes of a value";
            "mechanism" MECHANISM, "logging", "paper: NearPM §8.1", "how transactions are made crash consistent";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "28400", "fitted to nearpm.overhead-share", "cycles of computation around each operation";
            "library_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "1000", "fitted to nearpm.overhead-share", "instructions of the library for a logged range, where the core logs";
            "epoch_faults" Count { min: 1, max: 28 }, "5", "artifact: a checkpoint ends with five page faults", "pages of an epoch, with checkpoints";
            "fault_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "2500", "estimate: a protection fault, its signal, and mprotect", "time of a write to a protected page";
            "durable" Flag, "true", "PMDK: a transaction that has ended is durable", "each transaction ends with a dfence";
            "bug" Choice(crate::pm::BUGS), "none", "-", "a mistake seeded in the library; see docs/models/nearpm.md";
        },
        program: |c| Box::pin(stores::run::<stores::Memcached>(c)),
        recover: Some(stores::recover::<stores::Memcached>),
    },
    Workload {
        name: "redis",
        meaning: "Redis on persistent memory under YCSB's writes; all threads share a pool",
        source: "Redis 3.2 with PMDK; NearPM (EuroSys 2023) Table 4",
        params: params! {
            threads "1", "paper: NearPM §8.2";
            "operations" N, "10000", "artifact: operationcount", "transactions of all threads";
            "keys" Count { min: 1, max: 20_000 }, "1000", "artifact: recordcount", "different keys, all there from the beginning";
            "value_size" Count { min: 8, max: 4096 }, "64", "paper: NearPM Table 4", "bytes of a value";
            "mechanism" MECHANISM, "logging", "paper: NearPM §8.1", "how transactions are made crash consistent";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "30600", "fitted to nearpm.overhead-share", "cycles of computation around each operation";
            "library_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "1000", "fitted to nearpm.overhead-share", "instructions of the library for a logged range, where the core logs";
            "epoch_faults" Count { min: 1, max: 28 }, "5", "artifact: a checkpoint ends with five page faults", "pages of an epoch, with checkpoints";
            "fault_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "2500", "estimate: a protection fault, its signal, and mprotect", "time of a write to a protected page";
            "durable" Flag, "true", "PMDK: a transaction that has ended is durable", "each transaction ends with a dfence";
            "bug" Choice(crate::pm::BUGS), "none", "-", "a mistake seeded in the library; see docs/models/nearpm.md";
        },
        program: |c| Box::pin(stores::run::<stores::Redis>(c)),
        recover: Some(stores::recover::<stores::Redis>),
    },
    Workload {
        name: "pmemkv",
        meaning: "pmemkv's B+-tree filled with random keys",
        source: "pmemkv; NearPM (EuroSys 2023) Table 4",
        params: params! {
            threads "1", "paper: NearPM §8.2";
            "operations" N, "10000", "artifact: fillrandom num=10,000", "transactions of all threads";
            "value_size" Count { min: 8, max: 4096 }, "64", "paper: NearPM Table 4", "bytes of a value";
            "mechanism" MECHANISM, "logging", "paper: NearPM §8.1", "how transactions are made crash consistent";
            "think_cycles" Count { min: 0, max: 1_000_000 }, "17200", "fitted to nearpm.overhead-share", "cycles of computation around each operation";
            "library_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "1000", "fitted to nearpm.overhead-share", "instructions of the library for a logged range, where the core logs";
            "epoch_faults" Count { min: 1, max: 28 }, "5", "artifact: a checkpoint ends with five page faults", "pages of an epoch, with checkpoints";
            "fault_ns" Nanoseconds { min_ps: 0, max_ps: 1_000_000_000 }, "2500", "estimate: a protection fault, its signal, and mprotect", "time of a write to a protected page";
            "durable" Flag, "true", "PMDK: a transaction that has ended is durable", "each transaction ends with a dfence";
            "bug" Choice(crate::pm::BUGS), "none", "-", "a mistake seeded in the library; see docs/models/nearpm.md";
        },
        program: |c| Box::pin(stores::run::<stores::BPlus>(c)),
        recover: Some(stores::recover::<stores::BPlus>),
    },
    Workload {
        name: "copy",
        meaning: "persistent copies, one after the other, by the core or by a near-data device",
        source: "NearPM (EuroSys 2023) §8.2.1",
        params: params! {
            threads "1", "paper: NearPM §8.2.1";
            "operations" N, "200", "estimate", "copies of all threads";
            "block_size" Multiple { of: 64, max: 1 << 20 }, "4096", "paper: NearPM Fig. 17", "bytes of a copy; a command carries up to 65535";
        },
        program: |c| Box::pin(stores::copy(c)),
        recover: None,
    },
    Workload {
        name: "mix",
        meaning: "random accesses of every kind to shared and private lines; on it engines and models are compared",
        source: "ours",
        params: params! {
            "operations" N, "20000", "estimate", "accesses by all threads";
            "lines" Count { min: 1, max: 4096 }, "64", "estimate", "lines of each shared and private range";
            "shared_percent" PERCENT, "30", "estimate", "accesses to shared lines";
            "racy" Flag, "false", "estimate", "threads write the same bytes of shared lines without synchronising";
            "strands" Flag, "false", "estimate", "threads begin and join strands, one access in ten";
        },
        program: |c| Box::pin(s::mix::run(c)),
        recover: None,
    },
    Workload {
        name: "bench",
        meaning: "the access pattern of the speed goal: mostly private, six references in seven hit the first level",
        source: "ours",
        params: params! {
            "operations" N, "200000", "estimate", "groups of twenty references by all threads";
        },
        program: |c| Box::pin(s::bench::run(c)),
        recover: None,
    },
];
