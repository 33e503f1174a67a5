//! A paper's evaluation: which runs it takes, what its figures show, and which of its claims hold.
#![forbid(unsafe_code)]

pub mod amat;
mod amf;
pub mod asap;
pub mod bands;
mod claims;
pub mod contradictions;
pub mod counted;
pub mod curve;
pub mod designs;
mod figure;
pub mod hardware;
pub mod holdup;
mod media;
pub mod nearpm;
pub mod nvdimmc;
pub mod orderings;
mod pberry;
mod power;
mod replacement;
mod runs;
mod tracked;
mod verdict;

pub use bands::band::{Band, Effect, Joint, Spans};
pub use bands::space::Dimension;
pub use claims::{Claim, Claims};
pub use figure::{Cell, Figure, Grid, Row};
pub use pberry::definitions::{Load, Shares};
pub use runs::{Kept, Key, Runs};
pub use verdict::{Finding, Scored, Verdict};

use machine::{ConfigError, RunError};
use runs::Asked;

/// How long the programs of an evaluation are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// For the scoreboard and the figures.
    Whole,
    /// For one of a design's many runs: fewer operations, where results hardly hang on how many there are.
    Design,
}

/// Simulates loads with a seed.
type Loads = fn(u64) -> Result<Vec<Load>, RunError>;

/// How a paper is evaluated.
#[derive(Clone, Copy)]
pub struct Paper {
    /// Its short name.
    pub name: &'static str,
    /// Whether its claims are of several papers or devices, none of which is one of the five systems.
    pub is_collection: bool,
    /// How it is done with a seed, in a sentence.
    about: fn(u64) -> String,
    declare: fn(Effort) -> Result<Runs, ConfigError>,
    finding: fn(&Runs, &Claim, u64) -> Finding,
    figures: fn(&Runs) -> Vec<Figure>,
    tables: fn(&Runs) -> Vec<Grid>,
    /// Runs of a design for bands, unless another number is wanted: such that they end within an hour on two cores.
    runs: usize,
    /// Loads that can be measured on this host too, simulated with a seed.
    live: Option<Loads>,
}

/// Every paper that can be evaluated.
pub const PAPERS: [Paper; 7] = [
    asap::PAPER,
    nearpm::PAPER,
    nvdimmc::PAPER,
    pberry::PAPER,
    amf::PAPER,
    orderings::PAPER,
    hardware::PAPER,
];

/// What most evaluations show beside figures.
pub(crate) fn no_tables(_: &Runs) -> Vec<Grid> {
    Vec::new()
}

impl Paper {
    /// Loads of it that can be measured on this host too, simulated.
    ///
    /// # Errors
    /// When it has none, or a run cannot be done.
    pub fn live(&self, seed: u64) -> Result<Vec<Load>, RunError> {
        let Some(loads) = self.live else {
            let with: Vec<&str> = PAPERS.iter().filter(|p| p.live.is_some()).map(|p| p.name).collect();
            return Err(
                ConfigError(format!("reproduce {} --live: give {}", self.name, with.join(" or "))).into()
            );
        };
        loads(seed)
    }

    /// Whether each of its claims has the name of a measurement.
    ///
    /// # Errors
    /// The first that has not, with the nearest names.
    pub fn measures(&self, claims: &Claims, seed: u64) -> Result<(), ConfigError> {
        let built_in = Claims::built_in().map_err(ConfigError)?;
        let own = || built_in.of(self.name).map(|c| c.id.as_str());
        let new: Vec<&Claim> = claims.of(self.name).filter(|claim| own().all(|id| id != claim.id)).collect();
        if new.is_empty() {
            return Ok(());
        }
        // Nothing is run: a claim is asked what it reads.
        let runs = (self.declare)(Effort::Whole)?;
        let is_unknown = |claim: &&Claim| (self.finding)(&runs, claim, seed).is_unknown(&claim.id);
        let Some(claim) = new.into_iter().find(is_unknown) else { return Ok(()) };
        let near = protocol::params::nearest(&claim.id, own());
        let near = if near.is_empty() {
            "coreplane show claims lists the names".to_string()
        } else {
            format!("did you mean {}?", near.join(", "))
        };
        Err(ConfigError(format!("claim {}: no measurement of {} is called so; {near}", claim.id, self.name)))
    }

    /// Does everything; `begin` gets the number of runs, `step` is called after each. What is `kept` of an earlier call by the
    /// same program, which its name says, is not run again.
    ///
    /// # Errors
    /// When a run cannot be done or kept, or a statistic is wanted that does not exist.
    pub fn evaluate(
        &self,
        claims: &Claims,
        seed: u64,
        kept: Kept<'_>,
        begin: impl FnOnce(usize),
        step: impl Fn() + Sync,
    ) -> Result<Evaluation, RunError> {
        Ok(self.evaluated(claims, seed, kept, begin, step)?.0)
    }

    /// The same, and what each claim asked of the runs.
    fn evaluated(
        &self,
        claims: &Claims,
        seed: u64,
        kept: Kept<'_>,
        begin: impl FnOnce(usize),
        step: impl Fn() + Sync,
    ) -> Result<(Evaluation, Vec<Asked>), RunError> {
        let mut runs = (self.declare)(Effort::Whole)?;
        begin(runs.len());
        runs.run_keeping(seed, kept, step)?;
        let (claims, asked) = self.scored(&runs, claims, seed);
        let (paper, about) = (self.name, (self.about)(seed));
        let done = Evaluation {
            paper,
            about,
            claims,
            figures: (self.figures)(&runs),
            tables: (self.tables)(&runs),
            joint: None,
            open: Vec::new(),
        };
        runs.all_known()?;
        Ok((done, asked))
    }

    /// What `runs` say of each claim, and what it asked of them.
    fn scored(&self, runs: &Runs, claims: &Claims, seed: u64) -> (Vec<Scored>, Vec<Asked>) {
        let score = |claim: &Claim| {
            let scored = Scored::new(claim.clone(), (self.finding)(runs, claim, seed));
            (scored, runs.take_asked())
        };
        claims.of(self.name).map(score).unzip()
    }
}

/// A paper's evaluation, done.
pub struct Evaluation {
    /// The paper's short name.
    pub paper: &'static str,
    /// How it was done, in a sentence.
    pub about: String,
    /// The scoreboard.
    pub claims: Vec<Scored>,
    /// The figures.
    pub figures: Vec<Figure>,
    /// Tables beside them.
    pub tables: Vec<Grid>,
    /// The setting that meets most claims at once, with bands.
    pub joint: Option<Joint>,
    /// What was varied for the bands.
    pub open: Vec<Dimension>,
}

impl Evaluation {
    /// Everything, for the report.
    pub fn to_json(&self) -> serde_json::Value {
        let open = |d: &Dimension| serde_json::json!({"key": d.key, "of": d.of, "value": d.value, "source": d.source()});
        serde_json::json!({
            "paper": self.paper,
            "about": self.about,
            "claims": self.claims.iter().map(|c| c.to_json(true)).collect::<Vec<_>>(),
            "figures": self.figures.iter().map(Figure::to_json).collect::<Vec<_>>(),
            "tables": self.tables.iter().map(Grid::to_json).collect::<Vec<_>>(),
            "joint": self.joint.as_ref().map(Joint::to_json),
            "open": self.open.iter().map(open).collect::<Vec<_>>(),
        })
    }
}
