//! How a program is recorded: by the hooks that `coreplane cc` compiled into it, or, where it has none, by a tool for Valgrind
//! that executes it. The tool is a program of its own with a licence of its own (`capture/valgrind`); it is only started.

use crate::Failure;
use crate::args::{Common, RecordRoute};
use crate::lines::remark;
use crate::output;
use crate::record_region::BY_SIGNAL;
use clap::ValueEnum;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What an object with hooks calls: the name stands in its table of symbols.
const MARK: &[u8] = b"coreplane_object";

/// The tool's file in its folder, as Valgrind looks for it.
const TOOL: &str = "coreplane-amd64-linux";

/// How programs are recorded, as it was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    route: RecordRoute,
    /// Which plain loads and stores are recorded, in the tool's words.
    memory: Option<String>,
    /// Of which instructions, in the tool's words; empty where of all.
    region: Vec<String>,
}

impl Asked {
    /// Reads the options.
    pub(crate) fn new(route: RecordRoute, memory: Option<String>) -> Result<Asked, Failure> {
        if let Some(memory) = memory.as_deref() {
            check_memory(memory)?;
        }
        Ok(Asked { route, memory, region: Vec::new() })
    }

    /// The same, of these instructions alone.
    pub(crate) fn within(self, region: Vec<String>) -> Asked {
        Asked { region, ..self }
    }

    /// The same, with the route by its name.
    pub(crate) fn named(route: &str, memory: Option<String>) -> Result<Asked, Failure> {
        let known = RecordRoute::from_str(route, false);
        let route = known
            .map_err(|_| Failure::BadInput(format!("route {route}: give one of auto, hooks, valgrind")))?;
        Asked::new(route, memory)
    }

    /// Whether nothing was asked for that only the tool can do.
    pub(crate) fn may_be_hooks(&self) -> bool {
        self.route != RecordRoute::Valgrind && self.memory.is_none() && self.region.is_empty()
    }

    /// How this program is recorded, which a person is told.
    pub(crate) fn told(&self, command: &[String], common: &Common) -> Result<Route, Failure> {
        let route = self.of(command)?;
        if !common.quiet {
            route.remark(&command[0]).iter().for_each(|text| remark(text));
        }
        Ok(route)
    }

    /// How this program is recorded.
    pub(crate) fn of(&self, command: &[String]) -> Result<Route, Failure> {
        let program = find(&command[0])?;
        let hooks = match self.route {
            // Of a script nobody knows what it starts.
            RecordRoute::Auto if is_script(&program) => self.memory.is_none() && self.region.is_empty(),
            RecordRoute::Auto => starts_hooks(&program, &command[1..]),
            RecordRoute::Hooks => true,
            RecordRoute::Valgrind => false,
        };
        if hooks && self.memory.is_some() {
            let text =
                "--memory is of programs without hooks; COREPLANE_PM=PREFIX keeps the hooks to some files";
            return Err(Failure::BadInput(text.into()));
        }
        if hooks {
            return Ok(Route::Hooks { region: self.region.join(" ") });
        }
        if takes_rights(&program) {
            let text = "a set-uid or set-gid program is not run under Valgrind: record a copy without the bit (cp makes one)";
            return Err(Failure::BadInput(format!("{}: {text}", command[0])));
        }
        let valgrind = find("valgrind").map_err(|_| {
            let text = "not compiled with coreplane cc, and Valgrind, which executes such programs, is not installed";
            Failure::BadInput(format!("{}: {text}", command[0]))
        })?;
        let memory = self.memory.clone().unwrap_or_else(|| "all".into());
        Ok(Route::Valgrind { valgrind, tool: tool(&command[0])?, memory, region: self.region.clone() })
    }
}

/// How a program is recorded.
#[derive(Debug)]
pub(crate) enum Route {
    /// By itself.
    Hooks {
        /// Of which instructions.
        region: String,
    },
    /// By a tool that executes it.
    Valgrind {
        /// What starts tools.
        valgrind: PathBuf,
        /// The folder of ours.
        tool: PathBuf,
        /// What is recorded.
        memory: String,
        /// Of which instructions.
        region: Vec<String>,
    },
}

impl Route {
    /// The name in JSON.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Route::Hooks { .. } => "hooks",
            Route::Valgrind { .. } => "valgrind",
        }
    }

    /// Whether signals bound the region that is recorded.
    pub(crate) fn takes_signals(&self) -> bool {
        match self {
            Route::Hooks { region } => region.contains(BY_SIGNAL),
            Route::Valgrind { region, .. } => region.iter().any(|word| word == BY_SIGNAL),
        }
    }

    /// What a person should know before the program runs.
    pub(crate) fn remark(&self, program: &str) -> Option<String> {
        matches!(self, Route::Valgrind { .. }).then(|| {
            format!("{program} was not compiled with coreplane cc: Valgrind executes it, one thread at a time, tens of times slower")
        })
    }

    /// The command that runs and records the program.
    pub(crate) fn command(&self, command: &[String], trace: &Path) -> Command {
        self.command_into(command, trace, ("COREPLANE_TRACE", "--trace"))
    }

    /// The same, with all processes that it starts, each into the folder.
    pub(crate) fn command_of_each(&self, command: &[String], folder: &Path) -> Command {
        self.command_into(command, folder, ("COREPLANE_EACH", "--trace-each"))
    }

    /// The same; hooks and tool know by different words where to.
    fn command_into(&self, command: &[String], to: &Path, (variable, option): (&str, &str)) -> Command {
        match self {
            Route::Hooks { region } => {
                let mut program = Command::new(&command[0]);
                program.args(&command[1..]).env_remove("COREPLANE_TRACE").env_remove("COREPLANE_EACH");
                program.env(variable, to);
                if region.is_empty() {
                    program.env_remove("COREPLANE_REGION");
                } else {
                    program.env("COREPLANE_REGION", region);
                }
                program
            }
            Route::Valgrind { valgrind, tool, memory, region } => {
                let mut program = Command::new(valgrind);
                // A program with hooks, which this one becomes by exec, is recorded by the tool alone.
                program.env("VALGRIND_LIB", tool).env_remove("COREPLANE_TRACE").env_remove("COREPLANE_EACH");
                program.args([
                    "--tool=coreplane",
                    "-q",
                    "--vgdb=no",
                    "--fair-sched=try",
                    "--trace-children=yes",
                ]);
                program.args(["--sigill-diagnostics=no", &format!("--memory={memory}")]);
                let (by_signal, of_tool): (Vec<_>, Vec<_>) =
                    region.iter().partition(|word| *word == BY_SIGNAL);
                program.args(of_tool);
                if !by_signal.is_empty() {
                    program.env("COREPLANE_REGION_SIGNAL", "1");
                }
                program.arg(format!("{option}={}", to.display())).arg("--").args(command);
                program
            }
        }
    }
}

/// `all`, `pm`, or addresses as /proc/PID/maps has them.
fn check_memory(word: &str) -> Result<(), Failure> {
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let range = word.split_once('-').and_then(|(from, to)| Some((number(from)?, number(to)?)));
    if ["all", "pm"].contains(&word) || range.is_some_and(|(from, to)| from < to) {
        return Ok(());
    }
    let text = format!("--memory {word}: give all, pm, or FROM-TO with two addresses in hexadecimal");
    Err(Failure::BadInput(text))
}

/// The program's file, as a shell finds it.
fn find(name: &str) -> Result<PathBuf, Failure> {
    let bad = |e: std::io::Error| Failure::BadInput(format!("{name}: {e}"));
    if name.contains('/') {
        std::fs::metadata(name).map_err(bad)?;
        return Ok(name.into());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| is_program(path));
    let text = "there is no such program in PATH; of one that lies elsewhere give the path";
    found.ok_or_else(|| Failure::BadInput(format!("{name}: {text}")))
}

fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.is_file() && about.mode() & 0o111 != 0)
}

/// Whether a program runs with the rights of its file's user or group.
fn takes_rights(program: &Path) -> bool {
    std::fs::metadata(program).is_ok_and(|about| about.mode() & 0o6000 != 0)
}

/// Whether what a command starts tells the recorder what it does: the program, a library that is linked with it, or a program
/// that one such as `env` gets as an argument.
fn starts_hooks(program: &Path, arguments: &[String]) -> bool {
    let of_argument = |word: &String| is_program(Path::new(word)) && is_marked(Path::new(word));
    is_marked(program)
        || linked(program).iter().any(|library| is_marked(library))
        || arguments.iter().any(of_argument)
}

fn is_script(program: &Path) -> bool {
    let mut begin = [0; 2];
    let read = std::fs::File::open(program).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *b"#!"
}

fn is_marked(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| bytes.windows(MARK.len()).any(|at| at == MARK))
}

/// The libraries that are linked with a program, as its loader finds them; none where it has no loader. The system's own
/// are left out.
fn linked(program: &Path) -> Vec<PathBuf> {
    let Some(loader) = loader(program) else { return Vec::new() };
    let list = Command::new(loader).arg("--list").arg(program).stderr(Stdio::null()).output();
    let text = list.map(|done| String::from_utf8_lossy(&done.stdout).into_owned()).unwrap_or_default();
    let paths =
        text.lines().filter_map(|line| line.split_once("=> ")?.1.split(" (0x").next().map(PathBuf::from));
    paths.filter(|path| !["/lib", "/usr/lib"].iter().any(|system| path.starts_with(system))).collect()
}

/// The loader that an ELF program of 64 bits asks for.
fn loader(program: &Path) -> Option<String> {
    const INTERPRETER: u32 = 3;
    let mut bytes = Vec::new();
    std::fs::File::open(program).ok()?.take(1 << 16).read_to_end(&mut bytes).ok()?;
    let number = |at: usize, n: usize| {
        let field = bytes.get(at..at + n)?;
        Some(field.iter().rev().fold(0usize, |v, byte| v << 8 | usize::from(*byte)))
    };
    if !bytes.starts_with(b"\x7fELF\x02") {
        return None;
    }
    let (headers, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let at =
        (0..count).map(|i| headers + i * size).find(|at| number(*at, 4) == Some(INTERPRETER as usize))?;
    let (from, length) = (number(at + 8, 8)?, number(at + 32, 8)?);
    let name = bytes.get(from..from.checked_add(length)?)?;
    Some(String::from_utf8_lossy(name).trim_end_matches('\0').to_string())
}

/// The tool's folder: named in the environment, beside this program, or where `capture/valgrind/build` puts it.
fn tool(program: &str) -> Result<PathBuf, Failure> {
    const NAME: &str = "coreplane-valgrind";
    if let Some(named) = std::env::var_os("COREPLANE_VALGRIND").filter(|name| !name.is_empty()) {
        let named = std::path::absolute(named)?;
        return if named.join(TOOL).is_file() {
            Ok(named)
        } else {
            let text = format!("COREPLANE_VALGRIND={}: there is no {TOOL}", named.display());
            Err(Failure::BadInput(text))
        };
    }
    let own = std::env::current_exe().ok().and_then(|own| own.parent().map(|folder| folder.join(NAME)));
    let folders = own.into_iter().chain([output::cache().join(NAME)]);
    let found = folders.into_iter().find(|folder| folder.join(TOOL).is_file());
    found.ok_or_else(|| {
        Failure::BadInput(format!(
            "{program}: not compiled with coreplane cc, and the tool for such programs is not there: build it with capture/valgrind/build of the source (it needs Valgrind), or name its folder in COREPLANE_VALGRIND"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_all_files_or_a_range() {
        for good in ["all", "pm", "4000000-5000000", "0x10-0x20"] {
            assert!(check_memory(good).is_ok(), "{good}");
        }
        for bad in ["", "none", "20-10", "10-10", "-", "x-y", "10"] {
            assert!(
                matches!(check_memory(bad), Err(Failure::BadInput(said)) if said.contains("FROM-TO")),
                "{bad}"
            );
        }
    }

    #[test]
    fn programs_are_found_and_their_loaders() {
        let own = std::env::current_exe().unwrap();
        assert!(loader(&own).unwrap().contains("ld-linux"), "a test is linked dynamically");
        assert_eq!(loader(Path::new("/proc/self/maps")), None);
        assert!(find("sh").is_ok_and(|path| path.is_file()));
        assert!(find("no-program-has-this-name").is_err() && find("./nor-this").is_err());
    }
}
