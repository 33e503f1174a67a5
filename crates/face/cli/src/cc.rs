//! `coreplane cc` and `coreplane c++`: the compiler with the recorder's hooks.
//!
//! Sources are compiled with `-fsanitize=thread` code generation and linked with our runtime instead of the
//! sanitizer's; an assembler wrapper puts hooks before flushes, fences and non-temporal stores. A process has one
//! runtime: the program's own, or that of its libraries, whose names the program's takes over.

#[path = "cc_args.rs"]
mod arguments;
#[path = "cc_cache.rs"]
mod cache;

use crate::Failure;
use crate::args::CcArgs;
use crate::interrupt::{self, Temporary};
use arguments::{Arguments, Source, Stage};
use cache::Cache;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Library functions that write memory, and that compilers like to expand in line.
const LIBRARY_WRITERS: &str =
    "memcpy memmove memset strcpy strncpy strcat sprintf snprintf vsprintf vsnprintf";

/// The same, which the runtime takes the place of.
const LIBRARY_FILLERS: &str = "mempcpy stpcpy stpncpy strncat memccpy bcopy bzero explicit_bzero";

/// The C library's headers would have them expanded in line all the same, or checked under other names: without hooks.
const UNFORTIFIED: &str = "-U_FORTIFY_SOURCE";

/// GCC warns of `atomic_thread_fence` beside the sanitizer's flag, which the user has not given.
const QUIET_OF_FENCES: &str = "-Wno-tsan";

/// Functions whose calls go through the runtime, beside [`LIBRARY_WRITERS`].
const WRAPPED: &str = include_str!("../../../../capture/runtime/wrapped.txt");

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    C,
    Cxx,
}

/// Ends with the compiler's own exit code.
pub(crate) fn cc(args: &CcArgs, language: Language) -> Result<(), Failure> {
    if args.args.first().is_some_and(|a| a == "--help" || a == "-h") {
        crate::lines::say!("{}", include_str!("cc_help.txt").trim_end());
        return Ok(());
    }
    let arguments = Arguments::read(&args.args)?;
    let tools = Tools::prepare(language)?;
    for left in &arguments.left_out {
        let text = format!("{left} is left out: code that is made at link time has no hooks");
        crate::lines::remark(&text);
    }
    let status = tools.compile(&arguments)?;
    match status.code() {
        Some(0) => Ok(()),
        // The compiler has said what is wrong.
        Some(1) => Err(Failure::DoesNotHold("the compiler failed".into())),
        _ => Err(Failure::BadInput("the compiler failed".into())),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the face reads the environment, as every compiler driver does"
)]
fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

/// A command of one or several words, such as `ccache gcc`.
fn command(words: &str) -> Command {
    let mut words = words.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words);
    command
}

/// The number of a GCC's release, of what `--version` prints: `gcc (Debian 12.2.0-14) 12.2.0`.
fn release(version: &str) -> Option<u32> {
    // What is in parentheses may have some, too.
    let after = version.lines().next()?.split(") ").skip(1);
    after.filter_map(|text| text.split('.').next()?.parse().ok()).last()
}

/// Linker options that send calls through the runtime.
fn wraps() -> Vec<String> {
    let wrapped = WRAPPED.split_whitespace().chain(LIBRARY_WRITERS.split_whitespace());
    wrapped.map(|name| format!("-Wl,--wrap={name}")).collect()
}

struct Tools {
    compiler: String,
    clang: bool,
    /// Whether the compiler warns of a fence that the sanitizer does not follow. Ours does.
    warns_of_fences: bool,
    cache: Cache,
    assembler: String,
}

impl Tools {
    fn prepare(language: Language) -> Result<Tools, Failure> {
        let fallback = if language == Language::C { "cc" } else { "c++" };
        let key = if language == Language::C { "COREPLANE_CC" } else { "COREPLANE_CXX" };
        let compiler = env(key).unwrap_or_else(|| fallback.into());
        let version = output(command(&compiler).arg("--version"))?;
        let clang = version.contains("clang");
        let assembler = output(command(&compiler).arg("-print-prog-name=as"))?.trim().to_string();
        let assembler = if assembler.contains('/') { assembler } else { "/usr/bin/as".into() };
        let warns_of_fences = !clang && release(&version).is_some_and(|number| number >= 11);
        Ok(Tools { compiler, clang, warns_of_fences, cache: Cache::prepare()?, assembler })
    }

    fn compile(&self, a: &Arguments) -> Result<ExitStatus, Failure> {
        match a.stage {
            Stage::Nothing => self.run(&a.all, a),
            Stage::Compile => self.run(&[self.instrument(a), a.all.clone(), self.after()].concat(), a),
            Stage::Relocate | Stage::Program | Stage::Library => {
                let folder = std::env::temp_dir().join(format!("coreplane-cc-{}", std::process::id()));
                let temporary = Temporary::new(folder);
                self.compile_and_link(a, temporary.path())
            }
        }
    }

    /// Flags that make the compiler call the hooks.
    fn instrument(&self, a: &Arguments) -> Vec<String> {
        let mut flags = vec!["-fsanitize=thread".to_string(), "-g".into()];
        // Expanded in line, these would write without a hook; called, they go through the runtime.
        let called = LIBRARY_WRITERS.split_whitespace().chain(LIBRARY_FILLERS.split_whitespace());
        flags.extend(called.map(|name| format!("-fno-builtin-{name}")));
        flags.push(format!("-B{}/", self.cache.path("bin")));
        flags.push(format!("-I{}", self.cache.path("include")));
        if self.clang {
            flags.extend(["-no-integrated-as".into(), "-mllvm".into()]);
        } else {
            // GCC gives no hook to what it makes of these: of calls by its own names, and of loops.
            flags.extend(["-include".into(), self.cache.path("include/coreplane_called.h")]);
            flags.extend(["-fno-tree-loop-distribute-patterns".into(), "--param".into()]);
        }
        // Whether each function tells when it begins and ends.
        let dash = if self.clang { "-" } else { "" };
        flags.push(format!("{dash}tsan-instrument-func-entry-exit={}", u8::from(a.callers)));
        // Threads wait for volatile variables.
        flags.push(if self.clang { "-mllvm".into() } else { "--param".into() });
        flags.push(format!("{dash}tsan-distinguish-volatile=1"));
        flags
    }

    /// What no flag of the user's undoes.
    fn after(&self) -> Vec<String> {
        let quiet = self.warns_of_fences.then_some(QUIET_OF_FENCES);
        [UNFORTIFIED].into_iter().chain(quiet).map(str::to_string).collect()
    }

    /// Sources become objects first, since the compiler would link its own runtime otherwise.
    fn compile_and_link(&self, a: &Arguments, temporary: &Path) -> Result<ExitStatus, Failure> {
        let mut linked = a.link.clone();
        for (index, source) in a.sources.iter().enumerate() {
            let elsewhere = "objects are made there: name a folder that can be written to in TMPDIR";
            std::fs::create_dir_all(temporary).map_err(|e| unwritten(temporary, &e, elsewhere))?;
            let object = temporary.join(format!("{index}.o")).display().to_string();
            let mut flags = self.instrument(a);
            flags.extend(a.compile.iter().cloned());
            flags.extend(self.after());
            flags.extend(self.dependencies(a, source));
            flags.extend(source.language.iter().flat_map(|l| ["-x".to_string(), l.clone()]));
            flags.extend(["-c".into(), source.file.clone(), "-o".into(), object.clone()]);
            let status = self.run(&flags, a)?;
            if !status.success() {
                return Ok(status);
            }
            linked[source.at] = object;
        }
        linked.extend(a.output.iter().flat_map(|o| ["-o".to_string(), o.clone()]));
        linked.extend(self.runtime(a.stage)?);
        self.run(&linked, a)
    }

    /// Where `-MD` writes and what it names, as if the object were not a temporary one.
    fn dependencies(&self, a: &Arguments, source: &Source) -> Vec<String> {
        let has = |flags: &[&str]| a.compile.iter().any(|f| flags.contains(&f.as_str()));
        let mut flags = Vec::new();
        if !has(&["-MD", "-MMD"]) {
            return flags;
        }
        let stem = Path::new(&source.file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let target = a.output.clone().unwrap_or_else(|| "a.out".into());
        if !has(&["-MF"]) {
            let program = Path::new(&target).with_extension("");
            let prefix = if a.output.is_some() { program } else { PathBuf::from("a") };
            let name =
                if self.clang { format!("{stem}.d") } else { format!("{}-{stem}.d", prefix.display()) };
            flags.extend(["-MF".into(), name]);
        }
        if !has(&["-MT", "-MQ"]) {
            flags.extend(["-MQ".into(), target]);
        }
        flags
    }

    /// What the recorder adds to a link.
    fn runtime(&self, stage: Stage) -> Result<Vec<String>, Failure> {
        let list = |name: &str| std::fs::read_to_string(self.cache.path(name));
        let mut flags = Vec::new();
        match stage {
            Stage::Program => {
                flags.extend([self.cache.path("object.o"), self.cache.path("runtime.o")]);
                // Libraries, also those that are loaded later, find this runtime before their own.
                flags.push(format!("-Wl,--dynamic-list={}", self.cache.path("exported")));
                flags.extend(list("aliases")?.lines().map(str::to_string));
                flags.extend(wraps());
            }
            Stage::Library => {
                flags.extend([self.cache.path("object.o"), "-Wl,--push-state,--no-as-needed".into()]);
                flags.extend([self.cache.path("libcoreplane-runtime.so"), "-Wl,--pop-state".into()]);
                // In a program without hooks the C library comes before the runtime.
                flags.extend(list("instead")?.split_whitespace().map(|n| format!("-Wl,--wrap={n}")));
                flags.extend(wraps());
            }
            Stage::Nothing | Stage::Compile | Stage::Relocate => return Ok(flags),
        }
        flags.push("-pthread".into());
        Ok(flags)
    }

    fn run(&self, args: &[String], a: &Arguments) -> Result<ExitStatus, Failure> {
        let mut command = command(&self.compiler);
        command.args(args).env("COREPLANE_AS", &self.assembler);
        command.env("COREPLANE_PIC", if a.position_independent { "1" } else { "" });
        let failed = |e| Failure::BadInput(format!("{}: {e}", self.compiler));
        let mut child = command.spawn().map_err(failed)?;
        interrupt::wait(&mut child).map_err(failed)
    }
}

/// Why a folder, or what is in it, cannot be written, and what to do.
fn unwritten(path: &Path, why: &std::io::Error, what_to_do: &str) -> Failure {
    Failure::BadInput(format!("{}: {why}; {what_to_do}", path.display()))
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

#[cfg(test)]
mod tests {
    use super::release;

    #[test]
    fn the_release_of_a_compiler_is_read_of_its_version() {
        assert_eq!(release("gcc (Debian 12.2.0-14+deb12u1) 12.2.0\nCopyright"), Some(12));
        assert_eq!(release("g++ (GCC) 9.4.1 20230605 (Red Hat 9.4.1-2)"), Some(9));
        assert_eq!(release("cc (tools (own) 3) 14.1"), Some(14));
        assert_eq!(release("tcc version 0.9"), None);
    }
}
