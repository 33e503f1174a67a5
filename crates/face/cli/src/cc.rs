//! `coreplane cc` and `coreplane c++`: the compiler with the recorder's hooks.
//!
//! Sources are compiled with `-fsanitize=thread` code generation and linked with our runtime instead of the
//! sanitizer's; an assembler wrapper puts hooks before flushes, fences and non-temporal stores.

use crate::Failure;
use crate::args::CcArgs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// What is compiled on the user's machine, by path; `runtime.c` is one unit of the files before it. Programs see the
/// folder `include` alone.
macro_rules! sources {
    ($($folder:literal as $to:literal: $($name:literal)+;)+) => {
        &[$($((concat!($to, $name), include_str!(concat!("../../../../capture/", $folder, $name))),)+)+]
    };
}

const SOURCES: &[(&str, &str)] = sources! {
    "runtime/" as "runtime/":
        "shared.h" "raw.h" "output.h" "peek.h" "records.h" "buffers.h" "signals.h" "program.h" "shadow.h" "files.h"
        "accesses.h" "ranges.h" "atomics.h" "fences.h" "order.h" "threads.h" "mappings.h" "calls.h" "names.h"
        "descriptors.h" "pmem.h" "pmem2.h" "runtime.c";
    "assembler/" as "assembler/": "text.h" "bytes.h" "persist.h";
    "" as "": "as.c";
    "" as "include/": "coreplane.h";
};

/// Library functions that write memory, and that compilers like to expand in line.
const LIBRARY_WRITERS: &str =
    "memcpy memmove memset strcpy strncpy strcat sprintf snprintf vsprintf vsnprintf";

/// Functions whose calls go through the runtime, beside [`LIBRARY_WRITERS`].
const WRAPPED: &str = include_str!("../../../../capture/runtime/wrapped.txt");

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cxx,
}

/// Ends with the compiler's own exit code.
pub(crate) fn cc(args: &CcArgs, language: Language) -> Result<(), Failure> {
    let tools = Tools::prepare(language)?;
    let status = tools.compile(&args.args)?;
    match status.code() {
        Some(0) => Ok(()),
        // The compiler has said what is wrong.
        Some(1) => Err(Failure::DoesNotHold("the compiler failed".into())),
        _ => Err(Failure::BadInput("the compiler failed".into())),
    }
}

struct Tools {
    compiler: String,
    clang: bool,
    folder: PathBuf,
    assembler: String,
}

#[expect(
    clippy::disallowed_methods,
    reason = "the face reads the environment, as every compiler driver does"
)]
fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

/// A name that changes with the contents: an old cache is never used for new sources.
fn fingerprint() -> u64 {
    let bytes = SOURCES.iter().flat_map(|(name, text)| name.bytes().chain(text.bytes()));
    bytes.fold(0xCBF2_9CE4_8422_2325, |h: u64, b| (h ^ u64::from(b)).wrapping_mul(0x0000_0100_0000_01B3))
}

impl Tools {
    /// Builds the runtime and the assembler wrapper, once.
    fn prepare(language: Language) -> Result<Tools, Failure> {
        let fallback = if language == Language::C { "cc" } else { "c++" };
        let key = if language == Language::C { "COREPLANE_CC" } else { "COREPLANE_CXX" };
        let compiler = env(key).unwrap_or_else(|| fallback.into());
        let cache = env("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| env("HOME").map(|h| Path::new(&h).join(".cache")));
        let folder = cache
            .unwrap_or_else(std::env::temp_dir)
            .join("coreplane")
            .join(format!("{:016x}", fingerprint()));
        let version = output(Command::new(&compiler).arg("--version"))?;
        let clang = version.contains("clang");
        let assembler = output(Command::new(&compiler).arg("-print-prog-name=as"))?.trim().to_string();
        let assembler = if assembler.contains('/') { assembler } else { "/usr/bin/as".into() };
        let tools = Tools { compiler, clang, folder, assembler };
        if !tools.folder.join("done").exists() {
            tools.build()?;
        }
        Ok(tools)
    }

    fn build(&self) -> Result<(), Failure> {
        let fresh = self.folder.with_extension(format!("{}", std::process::id()));
        std::fs::create_dir_all(&fresh)?;
        let file = |name: &str| fresh.join(name);
        for (name, text) in SOURCES {
            let path = file(name);
            std::fs::create_dir_all(path.parent().unwrap_or(&fresh))?;
            std::fs::write(path, text)?;
        }
        std::fs::create_dir_all(file("bin"))?;
        let cc = env("COREPLANE_CC").unwrap_or_else(|| "cc".into());
        let run = |args: &[&str], from: &str, to: &str| {
            output(Command::new(&cc).args(args).arg(file(from)).arg("-o").arg(file(to)))
        };
        run(&["-std=gnu11", "-O2", "-g0", "-fPIC", "-c"], "runtime/runtime.c", "runtime.o")?;
        // A section of its own: whether a signal interrupted the recorder is seen by the address.
        let sections =
            [".text", ".text.unlikely", ".text.hot"].map(|s| format!("--rename-section={s}=coreplane_text"));
        output(Command::new("objcopy").args(sections).arg(file("runtime.o")))?;
        run(&["-std=gnu11", "-O2", "-g0"], "as.c", "bin/as")?;
        std::fs::write(file("done"), "")?;
        // Another process may have been faster: its folder is as good.
        if std::fs::rename(&fresh, &self.folder).is_err() {
            std::fs::remove_dir_all(&fresh)?;
        }
        Ok(())
    }

    fn compile(&self, args: &[String]) -> Result<ExitStatus, Failure> {
        let has = |flags: &[&str]| args.iter().any(|a| flags.contains(&a.as_str()));
        if has(&["-c", "-S"]) {
            return self.run(&[&self.instrument()[..], args].concat());
        }
        if has(&["-E", "-M", "-MM", "-fsyntax-only", "--version", "-v", "-###"]) || args.is_empty() {
            return self.run(args);
        }
        self.compile_and_link(args)
    }

    /// Flags that make the compiler call the hooks.
    fn instrument(&self) -> Vec<String> {
        let mut flags = vec!["-fsanitize=thread".to_string(), "-g".into()];
        // Expanded in line, these would write without a hook; called, they go through the runtime.
        flags.extend(LIBRARY_WRITERS.split_whitespace().map(|name| format!("-fno-builtin-{name}")));
        flags.push(format!("-B{}/", self.folder.join("bin").display()));
        flags.push(format!("-I{}", self.folder.join("include").display()));
        let quiet: &[&str] = if self.clang {
            &["-no-integrated-as", "-mllvm", "-tsan-instrument-func-entry-exit=0"]
        } else {
            &["--param", "tsan-instrument-func-entry-exit=0"]
        };
        flags.extend(quiet.iter().map(ToString::to_string));
        flags
    }

    /// Sources become objects first, since the compiler would link its own runtime otherwise.
    fn compile_and_link(&self, args: &[String]) -> Result<ExitStatus, Failure> {
        let is_source = |a: &String| {
            let ends = [".c", ".cc", ".cpp", ".cxx", ".C"].iter().any(|e| a.ends_with(e));
            ends && !a.starts_with('-')
        };
        let temporary = std::env::temp_dir().join(format!("coreplane-cc-{}", std::process::id()));
        let output_at = args.iter().position(|a| a == "-o").map(|i| i + 1);
        let mut linked = Vec::new();
        let mut result = None;
        for (index, arg) in args.iter().enumerate() {
            if !is_source(arg) || Some(index) == output_at {
                linked.push(arg.clone());
                continue;
            }
            std::fs::create_dir_all(&temporary)?;
            let object = temporary.join(format!("{index}.o")).display().to_string();
            let mut flags = self.instrument();
            flags.extend(compile_flags(args, is_source));
            flags.extend(["-c".into(), arg.clone(), "-o".into(), object.clone()]);
            let status = self.run(&flags)?;
            if !status.success() {
                result = Some(status);
                break;
            }
            linked.push(object);
        }
        let status = match result {
            Some(failed) => failed,
            None => self.run(&[linked, self.link()].concat())?,
        };
        if temporary.exists() {
            std::fs::remove_dir_all(&temporary)?;
        }
        Ok(status)
    }

    fn link(&self) -> Vec<String> {
        let wrapped = WRAPPED.split_whitespace().chain(LIBRARY_WRITERS.split_whitespace());
        let wraps = wrapped.map(|name| format!("-Wl,--wrap={name}"));
        let runtime = self.folder.join("runtime.o").display().to_string();
        std::iter::once(runtime).chain(wraps).chain(["-pthread".to_string()]).collect()
    }

    fn run(&self, args: &[String]) -> Result<ExitStatus, Failure> {
        let mut command = Command::new(&self.compiler);
        command.args(args).env("COREPLANE_AS", &self.assembler);
        command.status().map_err(|e| Failure::BadInput(format!("{}: {e}", self.compiler)))
    }
}

/// The arguments of a link command that a compilation needs too: all but inputs, output and libraries.
fn compile_flags(args: &[String], is_source: impl Fn(&String) -> bool) -> Vec<String> {
    let mut flags = Vec::new();
    let mut skip = false;
    for arg in args {
        let output = arg == "-o";
        let input = is_source(arg) || [".o", ".a", ".so"].iter().any(|e| arg.ends_with(e));
        let library = arg.starts_with("-l") || arg.starts_with("-L") || arg.starts_with("-Wl,");
        let dropped = output || library || (input && !arg.starts_with('-'));
        if !skip && !dropped {
            flags.push(arg.clone());
        }
        skip = output;
    }
    flags
}

fn output(command: &mut Command) -> Result<String, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let done = command.output().map_err(|e| Failure::BadInput(format!("{name}: {e}")))?;
    if !done.status.success() {
        let text = String::from_utf8_lossy(&done.stderr).into_owned();
        return Err(Failure::BadInput(format!("{name} failed: {text}")));
    }
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
