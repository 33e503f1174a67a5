//! What is generated from the commands themselves: completions of shells, and manual pages.

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::{Failure, output};
use clap::CommandFactory;
use std::io::Write;

/// Prints a shell's completion script.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "coreplane", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(())
}

/// Writes a manual page a command into a folder.
pub(crate) fn man(args: &ManArgs) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::BadInput(format!("{}: {e}", args.out.display()));
    std::fs::create_dir_all(&args.out).map_err(failed)?;
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
