//! What was meant by arguments that are not accepted.

use crate::args::Cli;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Arg, Command, CommandFactory, FromArgMatches};
use machine::PRESETS;
use machine::params::MACHINE;
use std::error::Error as _;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

/// The command line. A negative number is the value of its option, which says what it takes, and no option.
pub(crate) fn read(args: &[String]) -> Result<Cli, Error> {
    let matches = with_negative_numbers(Cli::command()).try_get_matches_from(args)?;
    Cli::from_arg_matches(&matches)
}

fn with_negative_numbers(command: Command) -> Command {
    let taken = |arg: Arg| {
        let number = !arg.is_positional() && arg.get_action().takes_values();
        if number || arg.get_id() == "processes" { arg.allow_negative_numbers(true) } else { arg }
    };
    command.mut_args(taken).mut_subcommands(with_negative_numbers)
}

/// The error, with what may have been meant.
pub(crate) fn with_hint(args: &[String], mut error: Error) -> Error {
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg)
        && let Some(hint) = hint(args, given)
    {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    match accepted(&error) {
        Some(text) => Error::raw(error.kind(), text + "\n\nFor more information, try '--help'.\n"),
        None => error,
    }
}

/// What is accepted instead of a text that is no number: the standard library says only what is wrong with it.
fn accepted(error: &Error) -> Option<String> {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (argument, given) = (text(ContextKind::InvalidArg)?, text(ContextKind::InvalidValue)?);
    let why = error.source()?;
    let wanted = if let Some(e) = why.downcast_ref::<ParseIntError>() {
        if *e.kind() == IntErrorKind::PosOverflow { "a smaller whole number" } else { "a whole number" }
    } else if why.is::<ParseFloatError>() && argument.ends_with("<S>") {
        "seconds as a number without a unit, such as 0.5"
    } else if why.is::<ParseFloatError>() {
        "a number"
    } else {
        return None;
    };
    Some(format!("invalid value '{given}' for '{argument}': give {wanted}"))
}

fn hint(args: &[String], given: &str) -> Option<String> {
    let command = args.get(1).map_or("", String::as_str);
    let Some(option) = given.strip_prefix("--") else {
        let [first, second] = [PRESETS[0].name, PRESETS[4].name];
        let text = format!("machines are given with --on, separated by commas: --on {first},{second}");
        return (command == "compare" && !given.starts_with('-')).then_some(text);
    };
    if !["run", "compare", "crash"].contains(&command) {
        return None;
    }
    let word = option.split('=').next().unwrap_or(option).replace('-', "_");
    let value = value_of(args, given).unwrap_or_else(|| "VALUE".into());
    let key = keys().find(|key| *key == word || key.rsplit('.').next() == Some(&word))?;
    Some(format!("a parameter is set with --set {key}={value}"))
}

/// Parameters of workloads before those of machines.
fn keys() -> impl Iterator<Item = &'static str> {
    let workloads = workloads::WORKLOADS.iter().flat_map(|w| w.params).map(|p| p.key);
    workloads.chain(MACHINE.iter().map(|p| p.key))
}

fn value_of(args: &[String], given: &str) -> Option<String> {
    let at = args.iter().position(|a| a.split('=').next() == given.split('=').next())?;
    let (same, next) = (args[at].split_once('=').map(|(_, v)| v), args.get(at + 1).map(String::as_str));
    same.or(next.filter(|v| !v.starts_with('-'))).map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str, given: &str) -> Option<String> {
        let args: Vec<String> = line.split_whitespace().map(String::from).collect();
        hint(&args, given)
    }

    #[test]
    fn what_was_meant_is_told() {
        let set = |text: &str| Some(format!("a parameter is set with --set {text}"));
        assert_eq!(of("coreplane run intel cceh --threads 8", "--threads"), set("workload.threads=8"));
        assert_eq!(of("coreplane run intel cceh --threads=8", "--threads"), set("workload.threads=8"));
        assert_eq!(
            of("coreplane run asap-rp cceh --persist-buffer 4", "--persist-buffer"),
            set("ordering.persist_buffer=4")
        );
        assert_eq!(of("coreplane run intel cceh --threads", "--threads"), set("workload.threads=VALUE"));
        assert_eq!(of("coreplane run intel cceh --nonsense", "--nonsense"), None);
        assert!(of("coreplane compare cceh intel asap-rp", "intel").is_some_and(|t| t.contains("--on")));
        assert_eq!(of("coreplane run intel cceh more", "more"), None);
    }
}
