//! A paper's evaluation: which runs it takes, what its figures show, and which of its claims hold.
#![forbid(unsafe_code)]

pub mod amat;
mod amf;
pub mod asap;
mod claims;
mod figure;
pub mod nearpm;
pub mod nvdimmc;
pub mod pberry;
mod power;
mod runs;
mod verdict;

pub use claims::{Claim, Claims};
pub use figure::{Figure, Row};
pub use runs::{Key, Runs};
pub use verdict::{Finding, Scored, Verdict};

use machine::{ConfigError, RunError};

/// How a paper is evaluated.
#[derive(Clone, Copy)]
pub struct Paper {
    /// Its short name.
    pub name: &'static str,
    /// How it is done with a seed, in a sentence.
    about: fn(u64) -> String,
    declare: fn() -> Result<Runs, ConfigError>,
    finding: fn(&Runs, &Claim, u64) -> Finding,
    figures: fn(&Runs) -> Vec<Figure>,
}

/// Every paper that can be evaluated.
pub const PAPERS: [Paper; 5] = [asap::PAPER, nearpm::PAPER, nvdimmc::PAPER, pberry::PAPER, amf::PAPER];

impl Paper {
    /// Does everything; `begin` gets the number of runs, `step` is called after each.
    ///
    /// # Errors
    /// When a run cannot be done, or a statistic is wanted that does not exist.
    pub fn evaluate(
        &self,
        claims: &Claims,
        seed: u64,
        begin: impl FnOnce(usize),
        step: impl Fn() + Sync,
    ) -> Result<Evaluation, RunError> {
        let mut runs = (self.declare)()?;
        begin(runs.len());
        runs.run(seed, step)?;
        let score =
            |claim: &Claim| Scored { claim: claim.clone(), finding: (self.finding)(&runs, claim, seed) };
        let done = Evaluation {
            paper: self.name,
            about: (self.about)(seed),
            claims: claims.of(self.name).map(score).collect(),
            figures: (self.figures)(&runs),
        };
        runs.all_known()?;
        Ok(done)
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
}

impl Evaluation {
    /// Everything, for the report.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "paper": self.paper,
            "about": self.about,
            "claims": self.claims.iter().map(|c| c.to_json(true)).collect::<Vec<_>>(),
            "figures": self.figures.iter().map(Figure::to_json).collect::<Vec<_>>(),
        })
    }
}
