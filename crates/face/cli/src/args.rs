//! Every command and its arguments.

use crate::bounds::Bounds;
use crate::trimmed::Trimmed;
use clap::builder::StringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// What follows the help of all commands.
const EXAMPLES: &str = include_str!("help_examples.txt");

/// Run real programs on memory that cannot be bought: a simulator of machines with persistent and remote memory
///
/// Simulates machines with persistent, near-data and remote memory, and runs on them the workloads that it brings, and programs
/// of your own that `coreplane record` has made into traces, as they are or faster where `coreplane cc` has compiled them.
/// Compares machines, cuts their power and checks what recovery is left with.
#[derive(Debug, Parser)]
#[command(name = "coreplane", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Simulate a workload on a machine
    Run(RunArgs),
    /// The same work on several machines, side by side
    Compare(CompareArgs),
    /// What differs between two results that `run` or `compare` kept with --out
    Diff(DiffArgs),
    /// A paper's evaluation: published beside ours, and the figures
    Reproduce(ReproduceArgs),
    /// Bandwidth-latency curves of a machine's memory, by share of reads
    Curve(CurveArgs),
    /// Lines that a power failure loses, by the energy that is stored for it
    Holdup(HoldupArgs),
    /// A campaign of runs, on this machine's cores or on a cluster's scheduler
    Sweep(SweepArgs),
    /// What there is, with every parameter, its unit, default and source
    Show(ShowArgs),
    /// Simulation speed on this host
    Bench(BenchArgs),
    /// Run a program, as it is or made by `coreplane cc`, and record its memory behaviour
    Record(RecordArgs),
    /// The C compiler, with the recorder's hooks: same arguments, output is an instrumented program
    #[command(disable_help_flag = true)]
    Cc(CcArgs),
    /// The C++ compiler, with the recorder's hooks
    #[command(name = "c++", disable_help_flag = true)]
    Cxx(CcArgs),
    /// Look into a trace; convert from and to other tools' formats
    Trace(TraceArgs),
    /// Cut the power, recover, check; says which store was not ordered
    Crash(CrashArgs),
    /// Persistency litmus tests: every image that a power failure can leave
    Litmus(LitmusArgs),
    /// Every interleaving of a protocol's messages, with a power failure at every step
    Explore(ExploreArgs),
    /// What is wrong in programs that share memory between hosts without coherence
    Shared(SharedArgs),
    /// Dirty data of a running program, in bytes, lines and pages, window by window
    Track(TrackArgs),
    /// A completion script for a shell, on standard output
    Completions(CompletionsArgs),
    /// Manual pages, one a command
    Man(ManArgs),
    /// The documentation that came with the package, to be read offline
    Docs(DocsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell: `source <(coreplane completions bash)`, or put it where the shell looks
    pub(crate) shell: clap_complete::Shell,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct DocsArgs {
    /// Opens it in the browser, besides saying where it is
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder for the pages (`man -l DIR/coreplane-run.1`)
    #[arg(long, short, default_value = "man")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "coreplane track [OPTIONS] <PID>...\n       coreplane track [OPTIONS] --cgroup <PATH>\n       coreplane track [OPTIONS] -- <COMMAND>..."
)]
pub(crate) struct TrackArgs {
    /// Processes, by number or name (all that are called so), or `-- COMMAND ...` to start one
    #[arg(
        value_name = "PID",
        value_delimiter = ',',
        value_parser = Trimmed(StringValueParser::new()),
        required_unless_present_any = ["command", "cgroup"],
        conflicts_with_all = ["command", "cgroup"]
    )]
    pub(crate) processes: Vec<String>,
    /// Track the processes of a cgroup (v2) and those below, their children and who joins it
    #[arg(long, value_name = "PATH", conflicts_with = "command")]
    pub(crate) cgroup: Option<PathBuf>,
    /// Track the children too, those that there are and those that come
    #[arg(long)]
    pub(crate) children: bool,
    /// Count pages that were read or written too, by mapping: which are hot, which are cold
    #[arg(long)]
    pub(crate) accessed: bool,
    /// Length of a window, seconds
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub(crate) interval: f64,
    /// The most windows; a command that still runs then is ended [default: until the program ends]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) windows: Option<u64>,
    /// What to find out
    #[arg(long, value_enum, default_value_t)]
    pub(crate) mode: TrackMode,
    /// How to find pages that may have changed [default: scan where the kernel offers it]
    #[arg(long, value_enum)]
    pub(crate) mechanism: Option<TrackMechanism>,
    /// A file for every dirty page: NAME.parquet, or NAME.ktracker for that tool's binary log
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
    /// The command to start and track
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// What is found out of a running program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrackMode {
    /// Bytes, lines and pages
    #[default]
    Lines,
    /// Pages alone: what systems pay that protect pages and take a fault at the first write
    WriteProtect,
    /// Nothing: what the others cost is against this
    Nothing,
}

/// How pages that may have changed are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrackMechanism {
    /// The kernel notes writes and lists them (Linux 6.7)
    Scan,
    /// Every page is read and compared
    Read,
}

#[derive(Debug, Args)]
pub(crate) struct CrashArgs {
    /// A machine's name or a TOML file
    pub(crate) machine: String,
    /// A workload's name, or trace:FILE with --check
    pub(crate) workload: String,
    /// Cut the power at this time from power-on, set-up included ("12.5 us")
    #[arg(long, value_name = "TIME", conflicts_with_all = ["every", "all"])]
    pub(crate) at: Option<String>,
    /// Cut the power after every N writes that reach the controllers, or that hosts send [default: hosts that share memory 1; others as many as cut the run 100 times; recordings: --points, spread over the run]
    #[arg(long, value_name = "N", conflicts_with = "all")]
    pub(crate) every: Option<u64>,
    /// Cut the power at every event
    #[arg(long)]
    pub(crate) all: bool,
    /// Recovery of a recorded program: a command that decides by its exit status. {image} is the file's path,
    /// {folder} that of all files, {acknowledged} the number of the last mark, {marks} a file with each thread's
    #[arg(long, value_name = "CMD")]
    pub(crate) check: Option<String>,
    /// Which file of a recorded program is {image}: its path or its name
    #[arg(long, value_name = "NAME")]
    pub(crate) file: Option<String>,
    /// Only power failures after the recorded program's mark N
    #[arg(long, value_name = "N")]
    pub(crate) after: Option<u64>,
    /// Power failures from the recorded program's start on, also where it makes the file anew or empties it
    #[arg(long, conflicts_with = "after")]
    pub(crate) from_start: bool,
    /// Copy into {folder} what DIR has beside the recorded files: what the program only read
    #[arg(long, value_name = "DIR")]
    pub(crate) beside: Option<PathBuf>,
    /// Go on although a recording does not explain all that happened to its files
    #[arg(long)]
    pub(crate) accept_unseen: bool,
    /// px86-line, px86, armv8, strand, epoch, release, one-sided or strict; the machine's own unless given
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// The most crash points, of the run and of the model each
    #[arg(long, default_value_t = 1000)]
    pub(crate) points: usize,
    /// The most images of the model at each crash point
    #[arg(long, default_value_t = 64)]
    pub(crate) images: usize,
    /// Seconds of its own that the check may take: on a processor, or waiting for anything else
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = seconds)]
    pub(crate) time_limit: f64,
    /// Seconds of checks that making failures small may take
    #[arg(long, value_name = "S", default_value_t = 20.0, value_parser = seconds)]
    pub(crate) minimise_seconds: f64,
    /// A folder for the result (crash.json), and for what was found so far; --replay keeps nothing
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
    /// Go on where an interrupted search with the same arguments stopped (needs --out)
    #[arg(long, requires = "out")]
    pub(crate) resume: bool,
    /// Recover on one image again, as a finding names it
    #[arg(long, value_name = "STRING")]
    pub(crate) replay: Option<String>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct LitmusArgs {
    /// herd7-style litmus files, or Markdown with litmus blocks, or `-` for standard input; the project's own specifications unless given
    pub(crate) files: Vec<PathBuf>,
    /// px86, px86-line, armv8, release, one-sided, strict or shared; every model of the test's instruction set unless given
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// How the images of x86 tests and of hosts are found
    #[arg(long, value_enum, default_value_t)]
    pub(crate) method: MethodChoice,
    /// Locked operations that write nothing fence too, as LOCK CMPXCHG does on processors
    #[arg(long)]
    pub(crate) failed_rmw_fences: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Two implementations of one model, to be checked against each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum MethodChoice {
    /// Views into one list of messages
    #[default]
    View,
    /// Store buffers and persistence buffers
    Operational,
}

#[derive(Debug, Args)]
pub(crate) struct ExploreArgs {
    /// The protocol, or `list`
    pub(crate) protocol: String,
    #[command(flatten)]
    pub(crate) bounds: Bounds,
    /// The most states to visit (default 5000000)
    #[arg(long, value_name = "N")]
    pub(crate) states: Option<usize>,
    /// A seeded mistake in the protocol, to see it caught; `list` names them
    #[arg(long, value_name = "NAME")]
    pub(crate) mutant: Option<String>,
    /// Take the steps of a trace again instead: the `choices` of a violation's JSON, separated by commas
    #[arg(long, value_name = "CHOICES", value_delimiter = ',', value_parser = Trimmed(clap::value_parser!(u16)))]
    pub(crate) replay: Option<Vec<u16>>,
    /// A folder for the result: explore.json, report.html, PNG and SVG of the way to a violation
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct SharedArgs {
    /// A machine of several hosts: its name or a TOML file
    pub(crate) machine: String,
    /// A workload's name (shared-log, ...), or trace:FILE of coreplane record --host-per-process
    pub(crate) workload: String,
    /// Runs of a workload, each with other pauses, evictions, slow flushes and stops of a host (default 500)
    #[arg(long, value_name = "N")]
    pub(crate) schedules: Option<u64>,
    /// A folder for the result: shared.json, report.html, PNG and SVG of smallest schedules
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct CcArgs {
    /// The compiler's arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,
}

/// The part of a program whose loads and stores of ordinary memory are recorded.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RegionArgs {
    /// Leave out the loads and stores of so many instructions at the program's beginning (100M); files and fences are recorded always
    #[arg(long)]
    pub(crate) skip: Option<String>,
    /// So many instructions, and no more
    #[arg(long)]
    pub(crate) count: Option<String>,
    /// So many instructions before those that --skip leads to, or before each window, are recorded too, and simulated without being counted
    #[arg(long)]
    pub(crate) warm_up: Option<String>,
    /// A window each so many instructions; how far windows stand for the rest is said
    #[arg(long)]
    pub(crate) every: Option<String>,
    /// The instructions of each window of --every
    #[arg(long)]
    pub(crate) window: Option<String>,
    /// From coreplane_roi_begin to coreplane_roi_end
    #[arg(long)]
    pub(crate) region: bool,
    /// From one signal SIGUSR2 to the next, sent to the program or to coreplane record
    #[arg(long)]
    pub(crate) region_signal: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// Where the trace goes: .parquet, or .cpt for the recorder's own block file
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
    /// Record so many times, into NAME.1.parquet and so on: a program with threads has many schedules
    #[arg(long)]
    pub(crate) times: Option<u32>,
    /// How to record: by the hooks that coreplane cc compiles in, or, where there are none, while Valgrind executes the program
    #[arg(long, value_enum, default_value_t)]
    pub(crate) route: RecordRoute,
    /// Of a program without hooks, which loads and stores: all, pm (files that are mapped shared), or addresses FROM-TO [default: all]
    #[arg(long)]
    pub(crate) memory: Option<String>,
    #[command(flatten)]
    pub(crate) region: RegionArgs,
    /// Each process that uses shared memory which another one uses too (MAP_SHARED, shmget) is a host: one trace of all, for coreplane shared
    #[arg(long)]
    pub(crate) host_per_process: bool,
    /// A recording of each process that the program starts too, by fork and exec: NAME.1-PROGRAM.cpt and so on
    #[arg(long)]
    pub(crate) trace_per_process: bool,
    #[command(flatten)]
    pub(crate) common: Common,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<String>,
}

/// How a program is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordRoute {
    /// By its hooks, where it has some
    #[default]
    Auto,
    /// By its hooks
    Hooks,
    /// As a binary, by Valgrind
    Valgrind,
}

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub(crate) command: TraceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// What a trace holds, as it was counted when it was written
    Info {
        file: PathBuf,
        /// Read all of it, and count anew
        #[arg(long)]
        full: bool,
        #[command(flatten)]
        common: Common,
    },
    /// The first records
    Head {
        file: PathBuf,
        /// How many
        #[arg(short = 'n', long, default_value_t = 20)]
        records: usize,
        #[command(flatten)]
        common: Common,
    },
    /// Between .parquet and .cpt, from other tools' traces, and to those that others read
    Convert {
        input: PathBuf,
        output: PathBuf,
        /// The input's format: lackey, champsim, ramulator, ramulator-data, dramsim3, pmemcheck, drmemtrace, gem5, damon, perf-mem,
        /// oracle-general or ktracker (what track --out NAME.ktracker keeps); packed with gzip, zstd or zip as it is
        #[arg(long)]
        from: Option<String>,
        /// The format to write: ramulator, ramulator-data, pmemcheck or gem5; packed with gzip where the output ends in .gz
        #[arg(long = "to")]
        export: Option<String>,
        /// Keep the whole blocks of a recording that was cut short
        #[arg(long)]
        salvage: bool,
        #[command(flatten)]
        common: Common,
    },
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Table,
    Json,
}

/// The fast engine, or the one-event-a-reference engine that it is checked against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineChoice {
    #[default]
    Fast,
    Reference,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Common {
    /// How to print
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// No progress and no remarks
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Settings {
    /// A key of the machine or the workload (repeatable)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Seed of every random stream
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Which engine
    #[arg(long, value_enum, default_value_t)]
    pub(crate) engine: EngineChoice,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// A machine's name or a TOML file
    pub(crate) machine: String,
    /// A workload's name, or trace:FILE; trace:A,B,... are recordings of one program
    pub(crate) workload: String,
    /// Only the time at the set cpu.ipc, not those at its interval's ends (recordings)
    #[arg(long, conflicts_with = "bands")]
    pub(crate) no_bands: bool,
    /// How far results go when what nobody has published is varied within its intervals (docs/bands.md)
    #[arg(long)]
    pub(crate) bands: bool,
    /// Runs for --bands, at most 200 [default: 60, or as many as there have to be]
    #[arg(long, value_name = "N", requires = "bands")]
    pub(crate) runs: Option<usize>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) common: Common,
    /// A folder for the results: run.json, stats.parquet, timeline.pftrace
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
    /// Record a timeline for ui.perfetto.dev (needs --out)
    #[arg(long, requires = "out")]
    pub(crate) timeline: bool,
    /// Cut the power at this time from power-on, set-up included ("12.5 us"), and keep the image that is left (needs --out)
    #[arg(long, value_name = "TIME", requires = "out")]
    pub(crate) power_fails_at: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// A workload's name, or trace:FILE; trace:A,B,... are recordings of one program
    pub(crate) workload: String,
    /// Only the time at the set cpu.ipc, not those at its interval's ends (recordings)
    #[arg(long, conflicts_with = "bands")]
    pub(crate) no_bands: bool,
    /// How far results go when what nobody has published is varied within its intervals (docs/bands.md)
    #[arg(long)]
    pub(crate) bands: bool,
    /// Runs for --bands, at most 200 [default: 60, or as many as there have to be]
    #[arg(long, value_name = "N", requires = "bands")]
    pub(crate) runs: Option<usize>,
    /// Machines, by name or file, separated by commas; family: all that differ in their ordering alone, intel first
    #[arg(long, value_delimiter = ',', value_parser = Trimmed(StringValueParser::new()), required = true)]
    pub(crate) on: Vec<String>,
    /// What speedups are against; the first machine unless said
    #[arg(long)]
    pub(crate) baseline: Option<String>,
    /// The largest reasons why each machine takes another time than the baseline, from where the cores' time went
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) common: Common,
    /// A folder for the report: report.html, PNG and SVG of each figure, results as Parquet
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CurveArgs {
    /// A machine's name or a TOML file
    pub(crate) machine: String,
    /// Shares of reads in per cent, 50 to 100, a curve each
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', value_parser = Trimmed(clap::value_parser!(u64)), default_values_t = evaluate::curve::READS)]
    pub(crate) reads: Vec<u64>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) common: Common,
    /// A folder for the result: curve.csv, curve.json, report.html, PNG and SVG of the figure
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A folder that `run` or `compare` kept its result in, or a file of its JSON
    pub(crate) before: PathBuf,
    /// Another; machines of several are told apart by their names
    pub(crate) after: PathBuf,
    /// Statistics that move by less are left out of the table
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    pub(crate) at_least: f64,
    /// Every statistic that differs, and not the twenty that move most
    #[arg(long)]
    pub(crate) all: bool,
    /// Exit code 1 when the second is slower by more than this
    #[arg(long, value_name = "PERCENT")]
    pub(crate) slower_than: Option<f64>,
    /// A folder for the result: diff.json, report.html, PNG and SVG of each figure
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct HoldupArgs {
    /// A machine's name or a TOML file
    pub(crate) machine: String,
    /// A workload's name, or trace:FILE (default hashmap; of several hosts shared-log)
    pub(crate) workload: Option<String>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) common: Common,
    /// A folder for the result: holdup.csv, holdup.json, report.html, PNG and SVG of the figure
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// The campaign: a TOML file with machines, workloads, seeds, [set] and [vary]
    pub(crate) campaign: PathBuf,
    /// Where the runs are made: local, or a Dask scheduler's address (tcp://HOST:8786)
    #[arg(long, value_name = "local|URL", default_value = "local")]
    pub(crate) on: String,
    /// Go on where an earlier sweep ended: runs whose results are there are not made again
    #[arg(long)]
    pub(crate) resume: bool,
    /// The folder of results, a Parquet file each run [default: the campaign's name and .sweep]
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
    /// Runs at a time [default: one a core]
    #[arg(long, short, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Only the runs whose number leaves I when divided by N: for an array of jobs that share a folder (with --resume)
    #[arg(long, value_name = "I/N", conflicts_with = "only")]
    pub(crate) share: Option<String>,
    /// Only the run with this name (repeatable; --plan lists them)
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,
    /// Check everything and say as JSON what would be run; run nothing
    #[arg(long)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// machines, workloads, parameters, stats, protocols, claims, deviations, schema, or the name of a machine, workload,
    /// parameter, system or statistic;
    /// what there is to show unless given
    pub(crate) what: Option<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Another build to compare with on real programs, run by run in turns: a folder where it is installed
    #[arg(long, value_name = "DIR")]
    pub(crate) against: Option<PathBuf>,
    /// How often each program is run in either build
    #[arg(long, value_name = "N", requires = "against", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) turns: u16,
    /// Only real programs on this machine, or requests of `optane`, and nothing else
    #[arg(long, value_name = "MACHINE")]
    pub(crate) on: Option<String>,
    /// Only how much memory a core, a line and a page take
    #[arg(long, conflicts_with_all = ["against", "on"])]
    pub(crate) memory: bool,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    #[arg(help = papers())]
    pub(crate) paper: String,
    /// pberry: table 1 measured on a real Redis on this machine, beside published and simulated
    #[arg(long, conflicts_with_all = ["out", "bands"])]
    pub(crate) live: bool,
    /// Claims from another file
    #[arg(long)]
    pub(crate) claims: Option<PathBuf>,
    /// How far claims go when what nobody has published is varied within its intervals (docs/bands.md)
    #[arg(long)]
    pub(crate) bands: bool,
    /// Runs for --bands, at most 200 [default: by paper]
    #[arg(long, value_name = "N", requires = "bands")]
    pub(crate) runs: Option<usize>,
    /// A folder for the report: report.html, PNG and SVG of each figure; with --bands, runs that are done
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
    /// Seed of every random stream
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What can be reproduced, for the help.
fn papers() -> String {
    let names: Vec<&str> = evaluate::PAPERS.iter().map(|p| p.name).collect();
    format!("What to evaluate: {}, or all", names.join(", "))
}

/// A length of time, which ends.
fn seconds(text: &str) -> Result<f64, String> {
    let given = text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
    given.ok_or_else(|| "give a number of seconds, zero or more".into())
}
