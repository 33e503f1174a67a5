//! Published beside ours.

use crate::bands::band::{Band, Effect};
use crate::claims::Claim;
use crate::contradictions::excludes;
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

impl Finding {
    /// Of a claim that nothing here measures.
    pub(crate) fn unknown(id: &str) -> Finding {
        Finding::Open(format!("{id}: no measurement stands beside a claim of this name"))
    }

    /// Whether it is that nothing here measures the claim.
    pub(crate) fn is_unknown(&self, id: &str) -> bool {
        matches!((self, Finding::unknown(id)), (Finding::Open(own), Finding::Open(unknown)) if *own == unknown)
    }

    /// Of a claim that is decided beside other runs, where there are none.
    pub(crate) fn not_run() -> Finding {
        Finding::Open("nothing was run".into())
    }
}

/// The outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Within the claim's tolerance, or the statement holds.
    Reproduced,
    /// Missed by the preset, and within what the open parameters span.
    Inside,
    /// Missed, and excluded by other published numbers.
    Contradicts,
    /// Missed.
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
    /// How far that goes with what nobody has published, where it was found out.
    pub band: Option<Band>,
}

impl Scored {
    /// Without a band.
    pub fn new(claim: Claim, finding: Finding) -> Scored {
        Scored { claim, finding, band: None }
    }

    /// Whether the preset meets it.
    pub fn is_met(&self) -> bool {
        self.verdict() == Verdict::Reproduced
    }

    /// The outcome: of several values the worst.
    pub fn verdict(&self) -> Verdict {
        let published = &self.claim.values;
        match &self.finding {
            Finding::Values(ours) if ours.len() == published.len() => {
                let one = |(n, (o, p)): (usize, (&f64, &f64))| {
                    let near = (o / p - 1.0).abs() <= self.claim.tolerance;
                    if near { Verdict::Reproduced } else { self.beyond(n, *p) }
                };
                ours.iter().zip(published).enumerate().map(one).max().unwrap_or(Verdict::Error)
            }
            Finding::Values(_) | Finding::Open(_) => Verdict::Error,
            Finding::Statement { holds: true, .. } => Verdict::Reproduced,
            Finding::Statement { .. } => self.beyond(0, 1.0),
        }
    }

    /// Of a value that the preset misses.
    fn beyond(&self, value: usize, published: f64) -> Verdict {
        if excludes(&self.claim.id, value) {
            Verdict::Contradicts
        } else if self.band.as_ref().is_some_and(|band| band.has(value, published)) {
            Verdict::Inside
        } else {
            Verdict::Missed
        }
    }

    /// The verdict's word.
    pub fn word(&self) -> &'static str {
        match self.verdict() {
            Verdict::Reproduced => "reproduced",
            Verdict::Inside => "inside",
            Verdict::Contradicts => "contradicts",
            Verdict::Missed => "missed",
            Verdict::Error => "error",
        }
    }

    /// The open parameter that moves it most, where there is a band.
    pub fn decided_by(&self) -> Option<&Effect> {
        self.band.as_ref()?.effects.first()
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
            "id": self.claim.id, "kind": self.claim.kind, "published": published, "ours": ours, "ratio": ratio,
            "band": self.band.as_ref().map(Band::to_json), "verdict": self.word(),
        });
        if self.band.is_some() {
            line["moved_by"] = self.decided_by().map(|effect| effect.name.clone()).into();
        }
        match &self.finding {
            Finding::Statement { because, .. } => line["because"] = because.clone().into(),
            Finding::Open(why) => line["because"] = why.clone().into(),
            Finding::Values(_) => {}
        }
        if let (true, Some(band)) = (long, &self.band) {
            line["effects"] = band.effects.iter().map(Effect::to_json).collect();
            line["failed_runs"] = band.failed.into();
        }
        if long {
            line["tolerance"] = self.claim.tolerance.into();
            line["use"] = self.claim.purpose.clone().into();
            line["says"] = format!("{} ({})", self.claim.says, self.claim.place).into();
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bands::band::Spans;
    use crate::{PAPERS, Runs};

    #[test]
    fn a_claim_that_nothing_measures_is_an_error_that_names_it() {
        let parts =
            ["ddr4", "cxl", "cmmh", "optane", "optane.load"].map(|part| format!("hardware.{part}.nothing"));
        for id in PAPERS.map(|paper| format!("{}.nothing", paper.name)).into_iter().chain(parts) {
            let paper = PAPERS.iter().find(|paper| id.starts_with(paper.name)).unwrap();
            let claim = Claim::new(&id, &[1.0, 2.0, 3.0], 0.1);
            let scored = Scored::new(claim.clone(), (paper.finding)(&Runs::default(), &claim, 1));
            assert_eq!(scored.verdict(), Verdict::Error, "{id}");
            let Finding::Open(why) = scored.finding else { panic!("{id} is measured") };
            assert!(why.contains(&id), "{why}");
        }
    }

    fn scored(values: Vec<f64>) -> Scored {
        Scored::new(Claim::new("a.b", &[2.29], 0.15), Finding::Values(values))
    }

    fn band(ends: &[(f64, f64)]) -> Option<Band> {
        Some(Band { spans: Spans::Values(ends.to_vec()), effects: Vec::new(), failed: 0 })
    }

    #[test]
    fn the_tolerance_decides() {
        assert_eq!(scored(vec![2.29 * 1.149]).verdict(), Verdict::Reproduced);
        assert_eq!(scored(vec![2.29 * 1.151]).verdict(), Verdict::Missed);
        assert_eq!(scored(vec![1.0, 2.0]).verdict(), Verdict::Error);
    }

    #[test]
    fn what_the_preset_misses_is_inside_where_the_band_has_what_is_published() {
        let with = |value, ends: &[_]| Scored { band: band(ends), ..scored(vec![value]) }.verdict();
        assert_eq!(with(1.6, &[(1.5, 2.3)]), Verdict::Inside);
        assert_eq!(with(1.6, &[(1.5, 2.2)]), Verdict::Missed);
        assert_eq!(with(2.2, &[(1.5, 2.2)]), Verdict::Reproduced, "the band takes nothing away");
        let statement = |holds, ever| {
            let finding = Finding::Statement { holds, because: String::new() };
            let band =
                Some(Band { spans: Spans::Statement { always: false, ever }, effects: vec![], failed: 0 });
            Scored { band, ..Scored::new(Claim::new("a.c", &[], 0.0), finding) }.verdict()
        };
        let all = [(true, true), (false, true), (false, false)].map(|(holds, ever)| statement(holds, ever));
        assert_eq!(all, [Verdict::Reproduced, Verdict::Inside, Verdict::Missed]);
    }

    #[test]
    fn of_several_values_the_worst_decides_and_excluded_ones_contradict() {
        let listed = &crate::contradictions::all()[0];
        let n = *listed.values.last().unwrap();
        let claim = Claim::new(&listed.claim, &vec![1.0; n + 1], 0.1);
        let ours =
            |missed: &[usize]| (1..=n + 1).map(|v| if missed.contains(&v) { 2.0 } else { 1.0 }).collect();
        let of = |missed: &[usize], ends: (f64, f64)| {
            let band = band(&vec![ends; n + 1]);
            Scored { band, ..Scored::new(claim.clone(), Finding::Values(ours(missed))) }.verdict()
        };
        assert_eq!(of(&[], (2.0, 2.0)), Verdict::Reproduced);
        assert_eq!(of(&[n], (1.0, 2.0)), Verdict::Contradicts, "also where the band has it");
        assert_eq!(of(&[n + 1], (1.0, 2.0)), Verdict::Inside);
        assert_eq!(of(&[n, n + 1], (1.0, 2.0)), Verdict::Contradicts);
        assert_eq!(of(&[n, n + 1], (1.5, 2.0)), Verdict::Missed);
    }

    #[test]
    fn a_line_says_what_the_contract_asks_for() {
        let line = Scored { band: band(&[(1.5, 2.3)]), ..scored(vec![1.6]) }.to_json(false);
        let expected = json!({"id": "a.b", "kind": "ratio", "published": 2.29, "ours": 1.6, "ratio": 1.6 / 2.29,
            "band": [1.5, 2.3], "verdict": "inside", "moved_by": null});
        assert_eq!(line, expected);
        assert_eq!(scored(vec![1.6]).to_json(false)["band"], Value::Null);
    }
}
