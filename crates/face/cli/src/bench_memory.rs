//! How much memory of the host a simulation takes: for a core, for lines, for a page.

use crate::Failure;
use crate::lines::say;
use crate::output;
use machine::{Description, RunOptions, WorkloadDescription};
use serde_json::{Value, json};
use std::fs;

/// Something that there is more of the larger a value is.
struct Growth {
    name: &'static str,
    machine: &'static str,
    workload: &'static str,
    /// What is set in any case.
    sets: &'static [(&'static str, &'static str)],
    key: &'static str,
    /// A small value, and a large one.
    values: [u64; 2],
    count: Count,
}

/// How much there is of it.
enum Count {
    /// So much for one of the key.
    Each(f64),
    /// As a run tells.
    Told(&'static str),
}

/// Stores past the caches, one page apart.
const APART: &[(&str, &str)] = &[
    ("workload.operation", "ntstore"),
    ("workload.pattern", "stride"),
    ("workload.access_size", "64"),
    ("workload.stride", "4096"),
    ("workload.threads", "1"),
    ("workload.time_ns", "1000000000"),
    ("workload.warm", "1"),
];

/// STREAM has three arrays, and a line 64 bytes.
const LINES_OF_ARRAYS: f64 = 3.0 / 64.0;

/// What leaves the system's allocator in pieces comes last.
const GROWTHS: [Growth; 4] = [
    Growth {
        name: "bytes_per_visited_page",
        machine: "amf",
        workload: "redis-mem",
        sets: &[],
        key: "workload.operations",
        values: [100_000, 4_000_000],
        count: Count::Told("os.minor_faults"),
    },
    Growth {
        name: "bytes_per_core",
        machine: "asap-rp",
        workload: "mix",
        sets: &[("workload.threads", "1"), ("workload.operations", "200")],
        key: "cpu.cores",
        values: [1, 33],
        count: Count::Each(1.0),
    },
    Growth {
        name: "bytes_per_written_line",
        machine: "intel",
        workload: "stream",
        sets: &[("workload.operations", "1")],
        key: "workload.array_bytes",
        values: [8 << 20, 24 << 20],
        count: Count::Each(LINES_OF_ARRAYS),
    },
    Growth {
        name: "bytes_per_line_alone_in_its_page",
        machine: "intel",
        workload: "lattester",
        sets: APART,
        key: "workload.operations",
        values: [20_000, 220_000],
        count: Count::Each(1.0),
    },
];

/// Bytes for one of each; null where the host's kernel does not tell what a process holds.
pub(crate) fn sizes() -> Result<Value, Failure> {
    let all = GROWTHS.iter().map(|growth| Ok((growth.name.to_string(), json!(growth.size()?))));
    Ok(Value::Object(all.collect::<Result<_, Failure>>()?))
}

impl Growth {
    fn size(&self) -> Result<Option<f64>, Failure> {
        let (Some(small), Some(large)) = (self.most(self.values[0])?, self.most(self.values[1])?) else {
            return Ok(None);
        };
        Ok(Some((large.0 - small.0) / (large.1 - small.1)))
    }

    /// The most that a run holds beyond what the process held before, in bytes, and how many it had of what grows.
    fn most(&self, value: u64) -> Result<Option<(f64, f64)>, Failure> {
        let mut machine = Description::preset(self.machine)?;
        let mut workload = WorkloadDescription::named(self.workload)?;
        let own = [(self.key, value.to_string())];
        let sets = self.sets.iter().map(|(key, value)| (*key, (*value).to_string())).chain(own);
        for (key, value) in sets {
            if key.starts_with("workload.") {
                workload.set(key, &value)?
            } else {
                machine.set(key, &value)?
            };
        }
        let Some(before) = reset() else { return Ok(None) };
        let options = RunOptions { seed: 1, without_images: true, ..RunOptions::default() };
        let report = machine::run(&machine, &workload, &options).map_err(output::failed)?;
        let count = match self.count {
            Count::Each(each) => value as f64 * each,
            Count::Told(name) => report.get(name).unwrap_or(0.0),
        };
        Ok(held("VmHWM:").map(|most| (most - before, count)))
    }
}

/// What the process holds now, in bytes; the most that it held begins anew.
fn reset() -> Option<f64> {
    // What earlier runs have freed would be taken again, and not be seen.
    host::trim();
    fs::write("/proc/self/clear_refs", "5").ok()?;
    held("VmRSS:")
}

/// A line of what the kernel says of this process, in bytes.
fn held(name: &str) -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024.0)
}

/// Prints them.
pub(crate) fn print(sizes: &Value) {
    let size =
        |name: &str| sizes[name].as_f64().map_or_else(|| "?".to_string(), |bytes| format!("{bytes:.0}"));
    say!(
        "memory: {} bytes a core, {} a line that is written among others and {} one alone in its page, {} a visited page at page fidelity",
        size("bytes_per_core"),
        size("bytes_per_written_line"),
        size("bytes_per_line_alone_in_its_page"),
        size("bytes_per_visited_page"),
    );
}
