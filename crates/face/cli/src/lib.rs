//! The command line: reads arguments, calls the lab, prints. Nothing here simulates or decides.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]

mod args;
mod bench;
mod compare;
mod output;
mod run;
mod show;

use args::{Cli, Command};
use clap::Parser;

/// What a command can end with, besides success.
#[derive(Debug)]
pub enum Failure {
    /// What was checked does not hold: exit code 1.
    DoesNotHold(String),
    /// Bad usage or bad input: exit code 2.
    BadInput(String),
}

impl<E: std::fmt::Display> From<E> for Failure {
    fn from(e: E) -> Failure {
        Failure::BadInput(e.to_string())
    }
}

/// Runs the command line `args`, the program's name first, and gives its exit code: 0 for success, 1 when what
/// was checked does not hold, 2 for bad usage or bad input.
pub fn main_from(args: &[String]) -> u8 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(e) => {
            _ = e.print();
            return if e.use_stderr() { 2 } else { 0 };
        }
    };
    match dispatch(&cli) {
        Ok(()) => 0,
        Err(Failure::DoesNotHold(text)) => {
            eprintln!("coreplane: {text}");
            1
        }
        Err(Failure::BadInput(text)) => {
            eprintln!("coreplane: {text}");
            2
        }
    }
}

fn dispatch(cli: &Cli) -> Result<(), Failure> {
    match &cli.command {
        Command::Run(a) => run::run(a),
        Command::Compare(a) => compare::compare(a),
        Command::Show(a) => show::show(a),
        Command::Bench(a) => bench::bench(a),
    }
}
