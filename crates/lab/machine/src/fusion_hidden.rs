//! Hidden memory that is another machine's: what a page costs there, measured at line fidelity.

use crate::describe::{Description, WorkloadDescription};
use crate::error::RunError;
use crate::run::{RunOptions, run};
use pagesim::CacheSpec;
use units::Dur;

/// Blocks of a measuring run.
const BLOCKS: u64 = 300;
/// KiB of a page.
const KIB_OF_PAGE: u64 = 4;

/// The cache in front of hidden memory, when that is an NVDIMM-C or remote: time of a page that misses, read by `fio` a
/// page at a time on that machine, whose own keys (`nvdimm.`, `nand.`, `remote.`) hold.
///
/// # Errors
/// When that machine's description does not hold together.
pub(crate) fn cost(machine: &Description, options: &RunOptions) -> Result<Option<CacheSpec>, RunError> {
    let s = &machine.settings;
    match s.text("fusion.hidden") {
        "nvdimmc" => {
            let pages = s.number("nvdimm.slots_mib") * 1024 / KIB_OF_PAGE;
            let other = part(machine, "nvdimmc-poc", &["nvdimm.", "nand."], &[("nvdimm.slots_mib", "8")])?;
            measured(&other, pages, &[("resident", "false"), ("file_bytes", "33554432")], options).map(Some)
        }
        "remote" => {
            let pages = s.number("remote.local_kib") / KIB_OF_PAGE;
            let other = part(machine, "pberry", &["remote."], &[("remote.local_kib", "1024")])?;
            measured(&other, pages, &[("file_bytes", "33554432")], options).map(Some)
        }
        _ => Ok(None),
    }
}

/// `preset` with what the user has set of its own keys, its cache small enough that a short run misses it.
fn part(
    machine: &Description,
    preset: &str,
    own: &[&str],
    small: &[(&str, &str)],
) -> Result<Description, RunError> {
    let mut other = Description::preset(preset)?;
    for (param, value, _) in machine.rows() {
        let set = machine.sources.contains_key(param.key) && own.iter().any(|o| param.key.starts_with(o));
        if set && small.iter().all(|(key, _)| *key != param.key) {
            other.set(param.key, &value)?;
        }
    }
    for (key, value) in small {
        other.set(key, value)?;
    }
    Ok(other)
}

fn measured(
    other: &Description,
    pages: u64,
    sets: &[(&str, &str)],
    options: &RunOptions,
) -> Result<CacheSpec, RunError> {
    let time = |rw: &str| -> Result<Dur, RunError> {
        let mut fio = WorkloadDescription::named("fio")?;
        let blocks = BLOCKS.to_string();
        let all = [
            ("rw", rw),
            ("pattern", "random"),
            ("threads", "1"),
            ("block_size", "4096"),
            ("operations", &blocks),
            ("software_ns", "0"),
        ];
        for (key, value) in all.iter().chain(sets) {
            fio.set(&format!("workload.{key}"), value)?;
        }
        let options = RunOptions { seed: options.seed, ..RunOptions::default() };
        Ok(Dur::ps(run(other, &fio, &options)?.time.as_ps() / BLOCKS))
    };
    let (fill, with_write_back) = (time("read")?, time("write")?);
    Ok(CacheSpec { pages: pages.max(1), fill, write_back: with_write_back - with_write_back.min(fill) })
}
