//! The recorder's C parts, compiled once on the user's machine and kept.

use super::{LIBRARY_WRITERS, WRAPPED, command, env, output, unwritten};
use crate::Failure;
use crate::abandoned;
use crate::interrupt::Temporary;
use crate::lines::remark;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

/// What is compiled on the user's machine, by path; `runtime.c` is one unit of the files before it. Programs see the
/// folder `include` alone.
macro_rules! sources {
    ($($folder:literal as $to:literal: $($name:literal)+;)+) => {
        &[$($((concat!($to, $name), include_str!(concat!("../../../../capture/", $folder, $name))),)+)+]
    };
}

const SOURCES: &[(&str, &str)] = sources! {
    "runtime/" as "runtime/":
        "format.h" "shared.h" "raw.h" "memory.h" "checksum.h" "output.h" "peek.h" "object.h" "objects.h" "work.h" "records.h" "buffers.h" "signals.h" "cancel.h" "libraries.h" "reads.h" "watched.h" "program.h"
        "mapped.h" "region.h" "regions.h" "shadow.h" "elsewhere.h" "files.h" "meetings.h" "accesses.h" "ranges.h" "between.h" "atomics.h" "atomics16.h" "fences.h" "order.h" "threads.h" "changes.h" "ioctl.h" "mappings.h" "naming.h" "passages.h" "calls.h"
        "names.h" "streams.h" "wide.h" "children.h" "descriptors.h" "check_calls.h" "pmem.h" "pmem2.h" "pauses.h" "hosts.h" "waiting.h" "filled.h" "handing.h" "asynchronous.h" "syscalls.h" "lookups.h" "runtime.c";
    "assembler/" as "assembler/": "text.h" "bytes.h" "locked.h" "persist.h" "flow.h" "count.h";
    "" as "": "as.c" "object.c";
    "" as "include/": "coreplane.h" "coreplane_called.h";
};

/// The folder of the compiled parts, by its contents: an old one is never used for new sources.
pub(super) struct Cache {
    folder: PathBuf,
}

fn fingerprint() -> u64 {
    let texts = SOURCES.iter().flat_map(|(name, text)| name.bytes().chain(text.bytes()));
    let bytes = texts.chain(WRAPPED.bytes()).chain(LIBRARY_WRITERS.bytes());
    bytes.fold(0xCBF2_9CE4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3))
}

impl Cache {
    /// Builds what is not there yet.
    pub(super) fn prepare() -> Result<Cache, Failure> {
        let folder = crate::output::cache().join(format!("{:016x}", fingerprint()));
        if !folder.join("done").exists() {
            build(&folder)?;
        }
        Ok(Cache { folder })
    }

    /// A file or folder of it.
    pub(super) fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

/// What to do where the cache cannot be written to.
const ELSEWHERE: &str = "the recorder is built there: name a folder that can be written to in XDG_CACHE_HOME";

/// Makes a folder of the cache, or a file in one.
fn put(path: &Path, text: Option<&str>) -> Result<(), Failure> {
    let folder = if text.is_some() { path.parent().unwrap_or(path) } else { path };
    let made = std::fs::create_dir_all(folder);
    made.and_then(|()| text.map_or(Ok(()), |text| std::fs::write(path, text)))
        .map_err(|e| unwritten(path, &e, ELSEWHERE))
}

/// The process that builds or built in a folder of that name, beside the one that is to be.
fn builder(name: &str) -> Option<u32> {
    let (hash, process) = name.split_once('.')?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    process.parse().ok().filter(|_| is_hash)
}

fn build(folder: &Path) -> Result<(), Failure> {
    abandoned::remove(folder.parent().unwrap_or(folder), builder, Metadata::is_dir);
    let temporary = Temporary::new(folder.with_extension(format!("{}", std::process::id())));
    let fresh = temporary.path();
    put(fresh, None)?;
    // Says that its maker lives. Where there are no locks, the process's number must do.
    let lock = File::open(fresh)?;
    _ = lock.try_lock();
    remark(&format!("building the recorder, once, in {}", folder.display()));
    let file = |name: &str| fresh.join(name);
    for (name, text) in SOURCES {
        put(&file(name), Some(text))?;
    }
    put(&file("bin"), None)?;
    let cc = env("COREPLANE_CC").unwrap_or_else(|| "cc".into());
    let run = |args: &[String], from: &str, to: &str| {
        output(command(&cc).arg(file(from)).args(args).arg("-o").arg(file(to)))
    };
    let flags = |line: &str| line.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    let object = flags("-std=gnu11 -O2 -g0 -fPIC -c");
    let program = flags("-std=gnu11 -O2 -g0 -fPIE -c");
    // In a program, a thread's variables are found with fewer instructions.
    for (flags, name) in [(&program, "runtime.o"), (&object, "library-runtime.o")] {
        run(flags, "runtime/runtime.c", name)?;
        // A section of its own: whether a signal interrupted the recorder is seen by the address.
        let sections =
            [".text", ".text.unlikely", ".text.hot"].map(|s| format!("--rename-section={s}=coreplane_text"));
        output(command("objcopy").args(sections).arg(file(name)))?;
    }
    run(&object, "object.c", "object.o")?;
    run(&flags("-std=gnu11 -O2 -g0"), "as.c", "bin/as")?;
    let names =
        output(command("nm").args(["-g", "--defined-only", "--format=posix"]).arg(file("runtime.o")))?;
    let names: Vec<&str> = names.lines().filter_map(|l| l.split_whitespace().next()).collect();
    // What a library calls by the name that --wrap gives it is what the program finds by its own name.
    let own = |name: &str| ["__", "coreplane_"].iter().any(|start| name.starts_with(start));
    let instead: Vec<&str> = names.iter().copied().filter(|n| !own(n)).collect();
    let wraps = instead.iter().map(|n| format!("-Wl,--defsym=__wrap_{n}={n}")).collect::<Vec<_>>();
    put(&file("aliases"), Some(&wraps.join("\n")))?;
    put(&file("instead"), Some(&instead.join(" ")))?;
    put(&file("exported"), Some(&format!("{{\n__wrap_*;\n{};\n}};\n", names.join(";\n"))))?;
    // Without a name of its own, it is found by its path from every library that was linked with it.
    let library = [flags("-shared -pthread"), super::wraps(), wraps].concat();
    run(&library, "library-runtime.o", "libcoreplane-runtime.so")?;
    put(&file("done"), Some(""))?;
    // Another process may have been faster: its folder is as good.
    match std::fs::rename(fresh, folder) {
        Err(e) if !folder.join("done").exists() => Err(unwritten(folder, &e, ELSEWHERE)),
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::builder;

    #[test]
    fn only_what_is_built_in_part_is_a_leftover() {
        assert_eq!(builder("030b1465417065a6.4711"), Some(4711));
        for name in ["030b1465417065a6", "030b1465417065a6.x", "bands.4711", "x30b1465417065a6.1", "measured"]
        {
            assert_eq!(builder(name), None, "{name}");
        }
    }
}
