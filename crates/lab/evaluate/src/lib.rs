//! A paper's evaluation: which runs it takes, what its figures show, and which of its claims hold.
#![forbid(unsafe_code)]

pub mod asap;
mod claims;
mod figure;
pub mod nvdimmc;
mod runs;
mod verdict;

pub use claims::{Claim, Claims};
pub use figure::{Figure, Row};
pub use runs::{Key, Runs};
pub use verdict::{Finding, Scored, Verdict};

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
