//! Published beside ours.

use crate::claims::Claim;
use serde_json::{Value, json};

/// What the simulation says about a claim.
#[derive(Clone, Debug)]
pub enum Finding {
    /// Numbers, as many as were published.
    Values(Vec<f64>),
    /// A statement that holds or not, with what it hangs on.
    Statement { holds: bool, because: String },
    /// It could not be decided.
    Open(String),
}

/// The outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the claim's tolerance, or the statement holds.
    Reproduced,
    /// Outside.
    Missed,
    /// Not decided.
    Error,
}

/// A line of the scoreboard.
#[derive(Clone, Debug)]
pub struct Scored {
    /// The claim.
    pub claim: Claim,
    /// What the simulation says.
    pub finding: Finding,
}

impl Scored {
    /// The outcome.
    pub fn verdict(&self) -> Verdict {
        match &self.finding {
            Finding::Values(ours) if ours.len() == self.claim.values.len() => {
                let near = |(o, p): (&f64, &f64)| (o / p - 1.0).abs() <= self.claim.tolerance;
                if ours.iter().zip(&self.claim.values).all(near) {
                    Verdict::Reproduced
                } else {
                    Verdict::Missed
                }
            }
            Finding::Values(_) | Finding::Open(_) => Verdict::Error,
            Finding::Statement { holds: true, .. } => Verdict::Reproduced,
            Finding::Statement { .. } => Verdict::Missed,
        }
    }

    /// The verdict's word.
    pub fn word(&self) -> &'static str {
        match self.verdict() {
            Verdict::Reproduced => "reproduced",
            Verdict::Missed => "missed",
            Verdict::Error => "error",
        }
    }

    /// The line as JSON; `long` adds what the claim says and what a statement hangs on.
    pub fn to_json(&self, long: bool) -> Value {
        let one_or_all = |v: &[f64]| match v {
            [one] => json!(one),
            all => json!(all),
        };
        let (published, ours, ratio) = match &self.finding {
            Finding::Values(ours) => {
                let ratios: Vec<f64> = ours.iter().zip(&self.claim.values).map(|(o, p)| o / p).collect();
                (one_or_all(&self.claim.values), one_or_all(ours), one_or_all(&ratios))
            }
            Finding::Statement { holds, .. } => (json!(true), json!(holds), Value::Null),
            Finding::Open(_) if self.claim.values.is_empty() => (json!(true), Value::Null, Value::Null),
            Finding::Open(_) => (one_or_all(&self.claim.values), Value::Null, Value::Null),
        };
        let mut line = json!({
            "id": self.claim.id, "published": published, "ours": ours, "ratio": ratio, "verdict": self.word(),
        });
        match &self.finding {
            Finding::Statement { because, .. } => line["because"] = because.clone().into(),
            Finding::Open(why) => line["because"] = why.clone().into(),
            Finding::Values(_) => {}
        }
        if long {
            line["says"] = format!("{} ({})", self.claim.says, self.claim.place).into();
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Claims;

    fn scored(values: Vec<f64>) -> Scored {
        let claim = Claims::built_in().unwrap().list.into_iter().find(|c| c.id == "asap.speedup.rp").unwrap();
        Scored { claim, finding: Finding::Values(values) }
    }

    #[test]
    fn the_tolerance_decides() {
        assert_eq!(scored(vec![2.29 * 1.149]).verdict(), Verdict::Reproduced);
        assert_eq!(scored(vec![2.29 * 1.151]).verdict(), Verdict::Missed);
        assert_eq!(scored(vec![1.0, 2.0]).verdict(), Verdict::Error);
    }
}
