//! The command line: reads arguments, calls the lab, prints. Nothing here simulates or decides.
#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line prints")]

/// Of the command line and of the Python module alike.
#[global_allocator]
static MEMORY: host::LargePages = host::LargePages;

mod abandoned;
mod accounts;
mod apart;
mod args;
mod bands;
mod bench;
mod bench_against;
mod bench_ddr4;
mod bench_ftl;
mod bench_lab;
mod bench_memory;
mod bench_pages;
mod bench_real;
mod bench_recorder;
mod bench_requests;
mod bench_track;
mod bounds;
pub mod calls;
mod cc;
mod columns;
mod compare;
mod compared_machines;
mod crash;
mod crash_asked;
mod crash_beside;
mod crash_check;
mod crash_files;
mod crash_found;
mod crash_hosts;
mod crash_lab;
mod crash_left;
mod crash_limit;
mod crash_names;
mod crash_options;
mod crash_quoted;
mod crash_reads;
mod crash_recorded;
mod crash_refused;
mod crash_so_far;
mod crash_time;
mod crash_turns;
mod curve;
mod designs;
mod diff;
mod explore;
mod hints;
mod holdup;
mod interrupt;
mod kept;
mod lines;
mod litmus;
mod live;
mod machine_files;
mod manual;
mod markdown;
mod no_memory;
mod output;
mod progress;
mod quantity;
mod races;
mod record;
mod record_check;
mod record_folders;
mod record_gone;
mod record_hosts;
mod record_own;
mod record_places;
mod record_processes;
mod record_region;
mod record_route;
mod record_run;
mod record_symbols;
mod record_title;
mod recordings;
mod reproduce;
mod results;
mod run;
mod same_program;
mod shared_command;
mod show;
mod show_keys;
mod spread;
mod sweep;
mod sweep_column;
mod sweep_folder;
mod sweep_sources;
mod table;
mod trace_command;
mod trace_info;
mod track_command;
mod trimmed;
mod whole;

use args::{Cli, Command};
pub use kept::keep_measured_times;

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
/// was checked does not hold, 2 for bad usage or bad input, 128 and the signal's number when it was interrupted.
pub fn main_from(args: &[String]) -> u8 {
    end_quietly_when_nobody_reads();
    interrupt::outlives_limits_of_files();
    no_memory::is_told();
    output::given(args);
    keep_measured_times();
    let cli = match hints::read(args).map_err(|e| hints::with_hint(args, e)) {
        Ok(cli) => cli,
        Err(e) => return explained(&e),
    };
    match interrupt::guarded(|| dispatch(&cli)) {
        Ok(Ok(())) => 0,
        Ok(Err(Failure::DoesNotHold(text))) => {
            lines::remark(&text);
            1
        }
        Ok(Err(Failure::BadInput(text))) => {
            lines::remark(&text);
            2
        }
        Err(code) => code,
    }
}

/// Prints help, or what is wrong with the arguments; gives the exit code.
fn explained(e: &clap::Error) -> u8 {
    let printed = e.print();
    if e.use_stderr() {
        return 2;
    }
    printed.map_or_else(|why| unwritten(&why.to_string()), |()| 0)
}

/// What the kernel says where the reader of a pipe has gone.
const NOBODY_READS: &str = "Broken pipe";

/// The exit code where standard output could not be written: when its reader has gone, that is no mistake.
fn unwritten(why: &str) -> u8 {
    if why.contains(NOBODY_READS) {
        return 141;
    }
    lines::remark(&format!("standard output cannot be written: {why}"));
    2
}

/// `coreplane ... | head`: when the reader has gone, printing ends the program, and that is no mistake.
#[expect(clippy::exit, reason = "there is nobody left to tell")]
fn end_quietly_when_nobody_reads() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let text = info.payload().downcast_ref::<String>().map(String::as_str).unwrap_or_default();
        if text.starts_with("failed printing to") && text.contains(NOBODY_READS) {
            std::process::exit(141);
        }
        if let Some((_, why)) = text.split_once("failed printing to stdout: ") {
            std::process::exit(unwritten(why).into());
        }
        usual(info);
    }));
}

fn dispatch(cli: &Cli) -> Result<(), Failure> {
    match &cli.command {
        Command::Run(a) => run::run(a),
        Command::Compare(a) => compare::compare(a),
        Command::Diff(a) => diff::diff(a),
        Command::Reproduce(a) => reproduce::reproduce(a),
        Command::Curve(a) => curve::curve(a),
        Command::Holdup(a) => holdup::holdup(a),
        Command::Sweep(a) => sweep::sweep(a),
        Command::Show(a) => show::show(a),
        Command::Bench(a) => bench::bench(a),
        Command::Record(a) => record::record(a),
        Command::Cc(a) => cc::cc(a, cc::Language::C),
        Command::Cxx(a) => cc::cc(a, cc::Language::Cxx),
        Command::Trace(a) => trace_command::trace(a),
        Command::Crash(a) => crash::crash(a),
        Command::Litmus(a) => litmus::litmus(a),
        Command::Explore(a) => explore::explore(a),
        Command::Shared(a) => shared_command::shared(a),
        Command::Track(a) => track_command::track(a),
        Command::Completions(a) => manual::completions(a),
        Command::Man(a) => manual::man(a),
        Command::Docs(_) => manual::docs(),
    }
}
