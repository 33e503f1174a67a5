//! What the arguments of a compiler mean: which are sources, what is only linked, what cannot be recorded.

use crate::Failure;

/// Options whose value is the next argument.
const WITH_VALUE: &[&str] = &[
    "-o",
    "-x",
    "-I",
    "-L",
    "-D",
    "-U",
    "-l",
    "-B",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-isysroot",
    "-iprefix",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-MF",
    "-MT",
    "-MQ",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "-target",
    "-arch",
    "-u",
    "-T",
    "-z",
    "-e",
    "-h",
    "-G",
    "--param",
    "-aux-info",
    "-dumpdir",
    "-dumpbase",
    "-dumpbase-ext",
    "-wrapper",
    "-gcc-toolchain",
];

/// Our own option, which no compiler gets.
const CALLERS: &str = "--callers";

/// Options without a value that concern the linker alone.
const LINKER_FLAGS: &[&str] = &[
    "-shared",
    "-pie",
    "-no-pie",
    "-rdynamic",
    "-s",
    "-r",
    "-nostartfiles",
    "-nodefaultlibs",
    "-nostdlib",
    "-nolibc",
    "-static-libgcc",
    "-static-libstdc++",
    "-symbolic",
];

const SOURCES: &[&str] = &["c", "i", "ii", "cc", "cp", "cxx", "cpp", "CPP", "c++", "C", "s", "S", "sx"];

/// Endings of languages that other compilers than C's read.
const FOREIGN: &[(&str, &str)] = &[
    ("rs", "Rust"),
    ("go", "Go"),
    ("d", "D"),
    ("f", "Fortran"),
    ("f90", "Fortran"),
    ("f95", "Fortran"),
    ("F90", "Fortran"),
    ("adb", "Ada"),
    ("java", "Java"),
    ("py", "Python"),
    ("zig", "Zig"),
    ("swift", "Swift"),
];

/// How far the compiler goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Prints something about itself, preprocesses, or checks only.
    Nothing,
    /// Makes objects or assembly.
    Compile,
    /// Makes a relocatable object of objects.
    Relocate,
    /// Makes a program.
    Program,
    /// Makes a shared library.
    Library,
}

/// An input that is compiled, with its place among the linker's arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    /// The file, or `-`.
    pub(crate) file: String,
    /// The language that `-x` names.
    pub(crate) language: Option<String>,
    /// Where its object goes in [`Arguments::link`].
    pub(crate) at: usize,
}

/// A compiler's arguments, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// How far it goes.
    pub(crate) stage: Stage,
    /// All of them, without what is left out.
    pub(crate) all: Vec<String>,
    /// What each compilation gets.
    pub(crate) compile: Vec<String>,
    /// What the linker gets; an empty one stands for an object to come.
    pub(crate) link: Vec<String>,
    /// What is compiled.
    pub(crate) sources: Vec<Source>,
    /// The value of `-o`.
    pub(crate) output: Option<String>,
    /// Whether the code may go into a shared library.
    pub(crate) position_independent: bool,
    /// What was left out, for a remark.
    pub(crate) left_out: Vec<String>,
    /// Whether the program tells, in recordings of hosts, where its functions were called.
    pub(crate) callers: bool,
}

impl Arguments {
    /// Takes `args` apart, response files put in their places.
    pub(crate) fn read(args: &[String]) -> Result<Arguments, Failure> {
        let args = expanded(args, 0)?;
        let mut a = Arguments {
            stage: Stage::Program,
            all: Vec::new(),
            compile: Vec::new(),
            link: Vec::new(),
            sources: Vec::new(),
            output: None,
            position_independent: false,
            left_out: Vec::new(),
            callers: false,
        };
        let mut language = None;
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let value = if WITH_VALUE.contains(&arg.as_str()) { rest.next() } else { None };
            if arg == CALLERS {
                a.callers = true;
            } else if arg.starts_with('-') && arg != "-" {
                refuse(arg)?;
                a.option(arg, value, &mut language);
            } else {
                a.input(arg, language.as_deref())?;
            }
        }
        let inputs = !a.sources.is_empty() || a.link.iter().any(|l| !l.starts_with('-'));
        if !inputs && matches!(a.stage, Stage::Program | Stage::Library) {
            a.stage = Stage::Nothing;
        }
        a.position_independent |= a.stage == Stage::Library;
        Ok(a)
    }

    fn option(&mut self, arg: &str, value: Option<&String>, language: &mut Option<String>) {
        if arg == "-flto" || arg.starts_with("-flto=") || arg == "-fno-ident" {
            if arg != "-fno-ident" {
                self.left_out.push(arg.to_string());
            }
            return;
        }
        self.all.push(arg.to_string());
        self.all.extend(value.cloned());
        let stage = match arg {
            "-E" | "-M" | "-MM" | "-fsyntax-only" | "-###" | "--version" | "-dumpversion"
            | "-dumpmachine" | "-dumpspecs" | "-dumpfullversion" => Some(Stage::Nothing),
            _ if arg.starts_with("-print-") || arg.starts_with("--print-") || arg.starts_with("--help") => {
                Some(Stage::Nothing)
            }
            "-c" | "-S" => Some(Stage::Compile),
            "-r" => Some(Stage::Relocate),
            "-shared" => Some(Stage::Library),
            _ => None,
        };
        if let Some(stage) = stage {
            // The one that ends earlier counts.
            let order = [Stage::Nothing, Stage::Compile, Stage::Relocate, Stage::Library, Stage::Program];
            let place = |s: Stage| order.iter().position(|o| *o == s);
            self.stage = if place(stage) < place(self.stage) { stage } else { self.stage };
        }
        match arg {
            "-fPIC" | "-fpic" => self.position_independent = true,
            "-fno-pic" | "-fno-PIC" | "-fPIE" | "-fpie" | "-fno-pie" => self.position_independent = false,
            _ => {}
        }
        let values = value.cloned();
        match arg {
            "-o" => self.output = values,
            "-x" => *language = values.filter(|v| v != "none"),
            _ if arg.starts_with("-x") && arg.len() > 2 => {
                *language = Some(arg[2..].to_string()).filter(|v| v != "none");
            }
            _ if arg.starts_with("-o") && arg.len() > 2 => self.output = Some(arg[2..].to_string()),
            _ if only_linked(arg) => {
                self.link.push(arg.to_string());
                self.link.extend(values);
            }
            _ => {
                self.compile.push(arg.to_string());
                self.compile.extend(values.clone());
                if !only_compiled(arg) {
                    self.link.push(arg.to_string());
                    self.link.extend(values);
                }
            }
        }
    }

    fn input(&mut self, file: &str, language: Option<&str>) -> Result<(), Failure> {
        self.all.push(file.to_string());
        let ending = file.rsplit_once('.').map_or("", |(_, e)| e);
        let foreign = FOREIGN.iter().find(|(e, _)| *e == ending && language.is_none());
        if let Some((_, name)) = foreign {
            return Err(Failure::BadInput(format!(
                "{file}: {name} cannot be recorded: coreplane cc reads C, coreplane c++ C++ (and assembly)"
            )));
        }
        if language.is_none() && !SOURCES.contains(&ending) && file != "-" {
            self.link.push(file.to_string());
            return Ok(());
        }
        let language = language.map(str::to_string);
        self.sources.push(Source { file: file.to_string(), language, at: self.link.len() });
        self.link.push(String::new());
        Ok(())
    }
}

/// Whether an option concerns the linker alone.
fn only_linked(arg: &str) -> bool {
    LINKER_FLAGS.contains(&arg)
        || ["-l", "-L", "-Wl,"].iter().any(|start| arg.starts_with(start))
        || ["-Xlinker", "-u", "-T", "-z", "-e", "-h"].contains(&arg)
}

/// Whether an option would disturb a linker's call, or says nothing to it.
fn only_compiled(arg: &str) -> bool {
    ["-MF", "-MT", "-MQ", "-MD", "-MMD", "-MP", "-include", "-imacros"].contains(&arg)
        || arg.starts_with("-Wp,")
}

/// What cannot be recorded, with a reason.
fn refuse(arg: &str) -> Result<(), Failure> {
    let why = match arg {
        "-static" | "-static-pie" | "--static" => {
            "a program that holds the C library itself is not recorded: link without it (-static-libgcc and -static-libstdc++ work)"
        }
        "-m32" | "-mx32" | "-m16" => "programs are recorded on x86-64 alone",
        _ => "",
    };
    if !why.is_empty() {
        return Err(Failure::BadInput(format!("{arg}: {why}")));
    }
    let Some(list) = arg.strip_prefix("-fsanitize=") else { return Ok(()) };
    let others = ["address", "thread", "memory", "hwaddress", "leak", "kernel-address", "dataflow"];
    match list.split(',').find(|s| others.contains(s)) {
        Some(s) => Err(Failure::BadInput(format!(
            "-fsanitize={s}: the recorder takes the place of this sanitizer; compile without it (undefined works)"
        ))),
        None => Ok(()),
    }
}

/// Arguments with `@file` replaced by what the file says.
fn expanded(args: &[String], depth: u32) -> Result<Vec<String>, Failure> {
    let mut all = Vec::new();
    for arg in args {
        let file = arg.strip_prefix('@').filter(|f| std::path::Path::new(f).is_file());
        let Some(file) = file else {
            all.push(arg.clone());
            continue;
        };
        if depth > 20 {
            return Err(Failure::BadInput(format!("{arg}: response files name each other without end")));
        }
        let text = std::fs::read_to_string(file).map_err(|e| Failure::BadInput(format!("{file}: {e}")))?;
        all.extend(expanded(&words(&text), depth + 1)?);
    }
    Ok(all)
}

/// Words of a response file: blanks part them, quotes and backslashes keep.
fn words(text: &str) -> Vec<String> {
    let (mut all, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => word.get_or_insert_default().extend(chars.next()),
            (_, Some(q)) if c == q => quote = None,
            (_, Some(_)) => word.get_or_insert_default().push(c),
            ('"' | '\'', None) => {
                quote = Some(c);
                _ = word.get_or_insert_default();
            }
            (_, None) if c.is_whitespace() => all.extend(word.take()),
            (_, None) => word.get_or_insert_default().push(c),
        }
    }
    all.extend(word);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Arguments {
        Arguments::read(&words(line)).unwrap_or_else(|e| panic!("{line}: {e:?}"))
    }

    #[test]
    fn sources_objects_and_options_go_their_ways() {
        let a = read("-O2 a.c b.o -x c++ d.txt -x none -lm -Wl,-z,now -std=c11 -MD -MF a.d -DX=1 -o out");
        assert_eq!(a.stage, Stage::Program);
        assert_eq!(a.compile, words("-O2 -std=c11 -MD -MF a.d -DX=1"));
        assert_eq!(a.link, ["-O2", "", "b.o", "", "-lm", "-Wl,-z,now", "-std=c11", "-DX=1"]);
        assert_eq!(a.sources[1].language.as_deref(), Some("c++"));
        assert_eq!((a.sources[1].at, a.output.as_deref()), (3, Some("out")));
    }

    #[test]
    fn the_earliest_stage_counts() {
        assert_eq!(read("-shared -c a.c").stage, Stage::Compile);
        assert_eq!(read("-shared a.c").stage, Stage::Library);
        assert!(read("-shared a.c").position_independent);
        assert_eq!(read("-v").stage, Stage::Nothing);
        assert_eq!(read("-v a.o").stage, Stage::Program);
        assert_eq!(read("-print-file-name=x a.c").stage, Stage::Nothing);
    }

    #[test]
    fn our_own_option_goes_to_no_compiler() {
        let a = read("--callers -O2 a.c -o a");
        assert!(a.callers && !read("-O2 a.c").callers);
        assert_eq!((a.all, a.compile), (words("-O2 a.c -o a"), words("-O2")));
    }

    #[test]
    fn link_time_optimisation_is_left_out() {
        let a = read("-flto=auto -O2 a.c");
        assert_eq!((a.left_out, a.compile), (vec!["-flto=auto".to_string()], words("-O2")));
    }

    #[test]
    fn what_cannot_be_recorded_is_refused() {
        for line in ["-static a.c", "-m32 a.c", "-fsanitize=undefined,address a.c", "a.rs"] {
            let Err(Failure::BadInput(text)) = Arguments::read(&words(line)) else { panic!("{line}") };
            assert!(text.contains(": "), "{text}");
        }
        assert!(Arguments::read(&words("-fsanitize=undefined a.c")).is_ok());
    }

    #[test]
    fn quotes_keep_blanks() {
        assert_eq!(words("a 'b c' \"d\\\"e\"\nf\\ g ''"), ["a", "b c", "d\"e", "f g", ""]);
    }
}
