//! Several recordings are averaged where they are of one program.

use crate::Failure;
use machine::WorkloadDescription;
use std::collections::BTreeSet;
use std::path::Path;
use trace::About;
use trace::import::Format;

/// Refuses recordings of different programs. Traces of other tools do not say what they are of.
pub(crate) fn check(name: &str, recordings: &[WorkloadDescription]) -> Result<(), Failure> {
    let mut known = recordings.iter().filter_map(|w| Some((w, programs(w.recording()?.about())?)));
    let Some((first, programs)) = known.next() else { return Ok(()) };
    let Some((other, _)) = known.find(|(_, others)| others.is_disjoint(&programs)) else { return Ok(()) };
    Err(Failure::BadInput(format!(
        "{name}: {} was recorded from `{}`, {} from `{}`: recordings of one program are averaged, not of several; give each alone",
        file(first),
        source(first),
        file(other),
        source(other)
    )))
}

/// That recordings of one program are of different arguments, where they are.
pub(crate) fn asked_otherwise(recordings: &[WorkloadDescription]) -> Option<String> {
    let known = || recordings.iter().filter(|w| w.recording().is_some_and(|r| programs(r.about()).is_some()));
    let arguments = |w: &WorkloadDescription| source(w).split_once(' ').map(|(_, rest)| rest.to_string());
    let first = known().next()?;
    let other = known().find(|w| arguments(w) != arguments(first))?;
    Some(format!(
        "the recordings are of different arguments (`{}`, `{}`): what differs between their times is that too",
        source(first),
        source(other)
    ))
}

fn file(workload: &WorkloadDescription) -> &str {
    workload.name.strip_prefix("trace:").unwrap_or(&workload.name)
}

fn source(workload: &WorkloadDescription) -> &str {
    workload.recording().map_or("", |recording| recording.about().source.as_str())
}

/// What the program is called: by its file, and in the command, which is a link where the two differ. None where nothing is said.
fn programs(about: &About) -> Option<BTreeSet<String>> {
    let command = about.source.split(' ').next().unwrap_or_default();
    if Format::ALL.iter().any(|(format, _)| *format == command) {
        return None;
    }
    let names = [command, &about.program.path].into_iter().filter_map(|path| Path::new(path).file_name());
    let names: BTreeSet<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    (!names.is_empty()).then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str, program: &str) -> WorkloadDescription {
        let mut about = About { source: source.into(), ..About::default() };
        about.program.path = program.into();
        let trace = trace::Trace { threads: Vec::new(), about };
        WorkloadDescription::replay("trace:x.cpt", trace::Recording::of_trace(trace).unwrap())
    }

    #[test]
    fn recordings_of_one_program_are_averaged_and_of_several_refused() {
        let fits = |a, b| check("trace:a,b", &[a, b]).is_ok();
        assert!(fits(of("./kv 3", "/x/kv"), of("/x/kv 4", "")), "by the path of its file");
        assert!(fits(of("redis-server", "/usr/bin/redis-check-rdb"), of("redis-server a", "")), "a link");
        assert!(fits(of("env A=1 ./kv", "/x/kv"), of("./kv", "/x/kv")), "a program that becomes it");
        assert!(fits(of("lackey kv.txt", ""), of("./kv", "/x/kv")), "another tool's trace says nothing");
        assert!(fits(of("", ""), of("./kv", "/x/kv")));
        assert!(!fits(of("./kv 3", "/x/kv"), of("./chase 3", "/x/chase")));
        assert!(!fits(of("./kv 3", ""), of("./chase 3", "")), "without the runtime's word");
    }

    #[test]
    fn other_arguments_are_told() {
        assert_eq!(asked_otherwise(&[of("./kv 3", ""), of("/x/kv 3", "")]), None);
        let told = asked_otherwise(&[of("./kv 3", ""), of("./kv 4", "")]).unwrap();
        assert!(told.contains("(`./kv 3`, `./kv 4`)"), "{told}");
        assert_eq!(asked_otherwise(&[of("lackey a", ""), of("lackey b", "")]), None);
    }
}
