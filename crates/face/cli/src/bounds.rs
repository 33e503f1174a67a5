//! Options of `coreplane explore`: whatever the protocols declare.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use explore::{Bound, Harness, Kind};

/// Bounds that were given, by name, with their texts; a flag's is empty.
#[derive(Debug, Default)]
pub(crate) struct Bounds(pub(crate) Vec<(&'static str, String)>);

/// Every name that some protocol declares, in the order of the protocols.
fn names() -> Vec<&'static str> {
    let mut names = Vec::new();
    for bound in machine::protocols().flat_map(|p| p.bounds) {
        if !names.contains(&bound.name) {
            names.push(bound.name);
        }
    }
    names
}

/// The protocols that declare a name, with what each makes of it.
pub(crate) fn declare(name: &str) -> impl Iterator<Item = (&'static Harness, &'static Bound)> {
    machine::protocols().filter_map(move |p| Some((p, p.bounds.iter().find(|b| b.name == name)?)))
}

/// What a name means to each protocol; those to which it means the same together.
fn help(name: &str) -> String {
    let mut meanings: Vec<(String, Vec<&str>)> = Vec::new();
    for (protocol, bound) in declare(name) {
        let meaning = bound.to_string();
        match meanings.iter_mut().find(|(m, _)| *m == meaning) {
            Some((_, protocols)) => protocols.push(protocol.name),
            None => meanings.push((meaning, vec![protocol.name])),
        }
    }
    let one = |(meaning, protocols): &(String, Vec<&str>)| format!("{meaning} ({})", protocols.join(", "));
    meanings.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl Args for Bounds {
    fn augment_args(command: Command) -> Command {
        names().into_iter().fold(command, |command, name| {
            let arg = Arg::new(name).long(name).help(help(name));
            let flag = declare(name).all(|(_, b)| b.kind == Kind::Flag);
            command.arg(if flag { arg.action(ArgAction::SetTrue) } else { arg.value_name("VALUE") })
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Bounds::augment_args(command)
    }
}

impl FromArgMatches for Bounds {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Bounds, clap::Error> {
        let given = |name: &&str| matches.value_source(name) == Some(ValueSource::CommandLine);
        let text = |name: &str| matches.try_get_one::<String>(name).ok().flatten().cloned();
        Ok(Bounds(names().into_iter().filter(given).map(|n| (n, text(n).unwrap_or_default())).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Bounds::from_arg_matches(matches)?;
        Ok(())
    }
}
