//! What is generated from the commands themselves: completions of shells, and manual pages.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::{Failure, output, show};
use clap::CommandFactory;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use machine::PRESETS;
use std::collections::BTreeSet;

/// Prints a shell's completion script: commands, options, and names of machines, workloads and keys.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    // Once in a process, which ends then.
    let named = named();
    let mut script = Vec::new();
    let mut command = Cli::command().mut_subcommands(|command| with_names(command, &named));
    clap_complete::generate(args.shell, &mut command, "coreplane", &mut script);
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if args.shell == Shell::Bash {
        script = in_lists(&script, &named);
    }
    if args.shell == Shell::Zsh {
        script = or_files(&script, &named);
    }
    if args.shell == Shell::Fish {
        script = after_commas(&script, &named) + &by_place(&command, &named);
    }
    if output::is_json(&args.common) {
        output::print_json(&serde_json::json!({"shell": args.shell.to_string(), "script": script}));
    } else {
        print!("{script}");
    }
    Ok(())
}

/// Arguments, by their name, and what stands there.
type Named = [(&'static str, Vec<&'static str>)];

/// What is offered where.
fn named() -> [(&'static str, Vec<&'static str>); 8] {
    let keys: Vec<&'static str> = crate::show_keys::names();
    let machines: Vec<&'static str> = PRESETS.iter().map(|p| p.name).collect();
    let workloads = show::plain_workloads();
    let mutants: BTreeSet<&str> =
        machine::protocols().flat_map(|p| p.mutants()).map(|(name, _)| name).collect();
    let shown = show::Topic::ALL
        .map(show::Topic::word)
        .iter()
        .chain(&machines)
        .chain(&workloads)
        .chain(&keys)
        .copied()
        .collect();
    [
        ("machine", machines.clone()),
        ("on", machines),
        ("workload", workloads),
        ("set", keys.iter().map(|key| &*format!("{key}=").leak()).collect()),
        ("what", shown),
        ("paper", evaluate::PAPERS.iter().map(|p| p.name).chain(["all"]).collect()),
        ("mutant", mutants.into_iter().chain(["list"]).collect()),
        ("protocol", machine::protocols().map(|p| p.name).chain(["list"]).collect()),
    ]
}

/// bash offers names for the last one of a list, too: what stands before the comma stays.
fn in_lists(script: &str, named: &Named) -> String {
    let of_lists = named.iter().filter(|(id, _)| *id == "on");
    of_lists.fold(script.to_string(), |script, (_, names)| {
        let names = names.join(" ");
        let [one, each] = ["-- \"${cur}\"", "-P \"${cur%\"${cur##*,}\"}\" -- \"${cur##*,}\""];
        script.replace(&format!("compgen -W \"{names}\" {one}"), &format!("compgen -W \"{names}\" {each}"))
    })
}

/// The command with names offered where it takes them. Only completions see this: a file is taken there too.
fn with_names(command: clap::Command, named: &Named) -> clap::Command {
    // Where `--on` is no list it names what runs a campaign.
    let takes_names = |id: &str| {
        command
            .get_arguments()
            .any(|arg| arg.get_id() == id && (id != "on" || arg.get_value_delimiter().is_some()))
    };
    let here: Vec<_> = named.iter().filter(|(id, _)| takes_names(id)).cloned().collect();
    here.into_iter().fold(command, |command, (id, names)| {
        command.mut_arg(id, |arg| arg.value_parser(PossibleValuesParser::new(names)))
    })
}

/// zsh offers what a list says and nothing else: files are offered beside it, and names after each comma of a list.
fn or_files(script: &str, named: &Named) -> String {
    let with = |script: String, names: &[&str], before: &str, how: &str| {
        let names = names.join(" ");
        script.replace(&format!("{before}({names})'"), &format!("{before}{{{how} {names}; _files}}'"))
    };
    let lists = named.iter().filter(|(id, _)| *id == "on");
    // Lists first: what they name is named alone elsewhere.
    let script = lists
        .fold(script.to_string(), |script, (_, names)| with(script, names, ":ON:", "_sequence compadd -"));
    named.iter().fold(script, |script, (_, names)| with(script, names, ":", "compadd --"))
}

/// fish offers a list's names after each comma, too.
fn after_commas(script: &str, named: &Named) -> String {
    let of_lists = named.iter().filter(|(id, _)| *id == "on");
    of_lists.fold(script.to_string(), |script, (_, names)| {
        let once: Vec<String> = names.iter().map(|name| format!("{name}\\t''")).collect();
        let each = format!("-a \"(__fish_append , {})\"", names.join(" "));
        script.replace(&format!("-f -a \"{}\"", once.join("\n")), &each)
    })
}

/// What fish is to offer for each word that is no option: its generated script knows options alone.
fn by_place(command: &clap::Command, named: &Named) -> String {
    let mut script = String::new();
    for command in command.get_subcommands() {
        let name = command.get_name();
        for (place, arg) in command.get_positionals().enumerate() {
            // Before it stand the program, the command, and the words that come first.
            let before = place + 2;
            let names = named.iter().find(|(id, _)| arg.get_id() == *id);
            script += &names.map_or(String::new(), |(_, names)| {
                let names = names.join(" ");
                format!("complete -c coreplane -n \"__fish_coreplane_using_subcommand {name}; and test (count (commandline -opc)) -eq {before}\" -a \"{names}\"\n")
            });
        }
    }
    script
}

/// Writes a manual page a command into a folder.
pub(crate) fn man(args: &ManArgs) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::BadInput(format!("{}: {e}", args.out.display()));
    output::make_folder(Some(&args.out))?;
    clap_mangen::generate_to(Cli::command(), &args.out).map_err(failed)?;
    if output::is_json(&args.common) {
        output::print_json(&serde_json::json!({"folder": args.out}));
    } else if !args.common.quiet {
        let folder = args.out.display();
        crate::lines::say!("manual pages are in {folder} (man -l {folder}/coreplane.1)");
    }
    Ok(())
}

/// Says where the documentation is: a package that carries it answers for itself, before it comes to this.
pub(crate) fn docs() -> Result<(), Failure> {
    Err(Failure::BadInput(
        "this build carries no documentation (packages that are given away do): its pages are in docs/ of the source, and `mkdocs serve` there shows them as a site".to_string(),
    ))
}
