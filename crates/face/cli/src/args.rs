//! Every command and its arguments.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Run real programs on memory that cannot be bought.
#[derive(Debug, Parser)]
#[command(name = "coreplane", version, about)]
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
    /// What there is, with every parameter, its unit, default and source
    Show(ShowArgs),
    /// Simulation speed on this host
    Bench(BenchArgs),
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
    /// A workload's name, or trace:FILE
    pub(crate) workload: String,
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
    /// Cut the power at this time ("12.5 us") and keep the image that is left (needs --out)
    #[arg(long, value_name = "TIME", requires = "out")]
    pub(crate) power_fails_at: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// A workload's name, or trace:FILE
    pub(crate) workload: String,
    /// Machines, by name or file, separated by commas
    #[arg(long, value_delimiter = ',', required = true)]
    pub(crate) on: Vec<String>,
    /// What speedups are against; the first machine unless said
    #[arg(long)]
    pub(crate) baseline: Option<String>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) common: Common,
    /// A folder for the report: report.html, PNG and SVG of each figure, results as Parquet
    #[arg(long, short)]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// machines, workloads, claims, stats, schema, or a name
    pub(crate) what: String,
    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) common: Common,
}
