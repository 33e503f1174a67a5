//! What the runs of a design say of a claim: how far it goes, what moves it, and what one setting meets.

use super::design::{Point, Role};
use super::space::Space;
use crate::claims::Claim;
use crate::verdict::Finding;
use serde_json::{Value, json};

/// What open parameters make of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Band {
    /// How far it goes.
    pub spans: Spans,
    /// What each open parameter alone does to it, the strongest first; those that do nothing are left out.
    pub effects: Vec<Effect>,
    /// Runs that had no result.
    pub failed: usize,
}

/// How far a claim goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Spans {
    /// The lowest and the highest of each value.
    Values(Vec<(f64, f64)>),
    /// Whether a statement held in every run, and in any.
    Statement { always: bool, ever: bool },
}

/// What one open parameter does to a claim at its ends, the others as in the preset.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The parameter.
    pub name: String,
    /// Its low end, or its first choice, and the claim's values there; 0 and 1 for a statement.
    pub low: (String, Vec<f64>),
    /// The same of its high end, or its last choice.
    pub high: (String, Vec<f64>),
    /// How much it moves the value that it moves most, as a share of what is published.
    pub swing: f64,
}

/// Each number of a claim in every run: its values, or whether it holds.
pub(super) fn numbers(found: &[Option<Finding>]) -> Vec<Vec<Option<f64>>> {
    let all: Vec<Option<Vec<f64>>> = found.iter().map(|f| f.as_ref().and_then(of_finding)).collect();
    let count = all.iter().flatten().map(Vec::len).next().unwrap_or(0);
    (0..count).map(|n| all.iter().map(|v| v.as_ref()?.get(n).copied()).collect()).collect()
}

/// The numbers of a finding.
fn of_finding(finding: &Finding) -> Option<Vec<f64>> {
    match finding {
        Finding::Values(values) => Some(values.clone()),
        Finding::Statement { holds, .. } => Some(vec![f64::from(*holds)]),
        Finding::Open(_) => None,
    }
}

impl Band {
    /// From what each run of the design found, in the design's order; none where a run has no result.
    pub fn of(claim: &Claim, space: &Space, points: &[Point], found: &[Option<Finding>]) -> Option<Band> {
        let all: Vec<Option<Vec<f64>>> = found.iter().map(|f| f.as_ref().and_then(of_finding)).collect();
        let preset = all.first()?.as_ref()?;
        let there = || all.iter().flatten();
        let end =
            |n: usize, pick: fn(f64, f64) -> f64| there().map(|v| v[n]).reduce(pick).unwrap_or(f64::NAN);
        let ends: Vec<(f64, f64)> = (0..preset.len()).map(|n| (end(n, f64::min), end(n, f64::max))).collect();
        let spans = match found.first()?.as_ref()? {
            Finding::Statement { .. } => Spans::Statement { always: ends[0].0 > 0.0, ever: ends[0].1 > 0.0 },
            Finding::Values(_) | Finding::Open(_) => Spans::Values(ends),
        };
        let mut effects: Vec<Effect> = (0..space.dimensions.len())
            .filter_map(|place| effect(claim, space, points, &all, place))
            .filter(|effect| effect.swing > 0.0)
            .collect();
        effects.sort_by(|a, b| b.swing.total_cmp(&a.swing));
        Some(Band { spans, effects, failed: all.iter().filter(|v| v.is_none()).count() })
    }

    /// Whether the published value with that number lies in it; of a statement, whether it ever held.
    pub fn has(&self, index: usize, published: f64) -> bool {
        match &self.spans {
            Spans::Values(ends) => {
                ends.get(index).is_some_and(|(low, high)| (*low..=*high).contains(&published))
            }
            Spans::Statement { ever, .. } => *ever,
        }
    }

    /// The ends: of one value, of each of several, or of a statement.
    pub fn to_json(&self) -> Value {
        match &self.spans {
            Spans::Values(ends) => match &ends[..] {
                [(low, high)] => json!([low, high]),
                all => json!(all),
            },
            Spans::Statement { always, ever } => json!([always, ever]),
        }
    }
}

/// What a parameter alone does.
fn effect(
    claim: &Claim,
    space: &Space,
    points: &[Point],
    all: &[Option<Vec<f64>>],
    place: usize,
) -> Option<Effect> {
    let ends: Vec<&Option<Vec<f64>>> =
        points.iter().zip(all).filter(|(p, _)| p.role == Role::Alone(place)).map(|(_, v)| v).collect();
    let [Some(low), Some(high)] = ends[..] else { return None };
    let preset = all.first()?.as_ref()?;
    let swing = |n: usize| {
        let three = [preset[n], low[n], high[n]];
        let (least, most) = three.iter().fold((f64::MAX, f64::MIN), |(l, m), v| (v.min(l), v.max(m)));
        let published = claim.values.get(n).map_or(1.0, |v| v.abs());
        (most - least) / if published > 0.0 { published } else { 1.0 }
    };
    let swing = (0..preset.len()).map(swing).fold(0.0, f64::max);
    let dimension = &space.dimensions[place];
    let (low, high) = ((dimension.at(0.0), low.clone()), (dimension.at(1.0), high.clone()));
    Some(Effect { name: space.name(place), low, high, swing })
}

impl Effect {
    /// For the report.
    pub fn to_json(&self) -> Value {
        json!({
            "parameter": self.name, "swing": self.swing,
            "low": self.low.0, "at_low": self.low.1, "high": self.high.0, "at_high": self.high.1,
        })
    }
}

/// The setting of a design that meets most claims at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// The claims that it meets.
    pub claims: Vec<String>,
    /// Of how many.
    pub of: usize,
    /// How many the preset meets.
    pub preset: usize,
    /// What differs from the presets.
    pub setting: Vec<(String, String)>,
    /// The run's seed.
    pub seed: u64,
    /// Settings that were tried.
    pub tried: usize,
}

impl Joint {
    /// The best run: the first of those that meet most. `met` has the claims that each run meets.
    pub fn of(space: &Space, points: &[Point], met: &[Vec<String>], claims: usize) -> Option<Joint> {
        let most = met.iter().map(Vec::len).max()?;
        let best = met.iter().position(|claims| claims.len() == most)?;
        Some(Joint {
            claims: met[best].clone(),
            of: claims,
            preset: met[0].len(),
            setting: space.setting(&points[best].levels),
            seed: points[best].seed,
            tried: points.len(),
        })
    }

    /// For the report.
    pub fn to_json(&self) -> Value {
        let setting: serde_json::Map<_, _> =
            self.setting.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
        json!({
            "claims": self.claims, "of": self.of, "preset": self.preset, "setting": setting,
            "seed": self.seed, "tried": self.tried,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::design::design;
    use super::*;
    use machine::{Description, WorkloadDescription};

    fn space() -> Space {
        let machine = Description::preset("asap-rp").unwrap();
        let workload = WorkloadDescription::named("queue").unwrap();
        Space::of([(&machine, &workload)], &std::collections::BTreeSet::new())
    }

    fn claim(values: &[f64]) -> Claim {
        Claim::new("a.b", values, 0.1)
    }

    #[test]
    fn a_band_goes_from_the_lowest_to_the_highest_and_knows_what_moves_it() {
        let space = space();
        // Enough for corners, where both of two parameters stand at an end.
        let points = design(space.dimensions.len(), 120, 1);
        let commit = space.dimensions.iter().position(|d| d.key == "ordering.commit_ns").unwrap();
        // The result hangs on one parameter strongly, on another weakly, and has a run that failed.
        let other = usize::from(commit == 0);
        let value = |p: &Point| 2.0 - p.levels[commit].unwrap_or(1.0) + 0.1 * p.levels[other].unwrap_or(0.0);
        let mut found: Vec<_> = points.iter().map(|p| Some(Finding::Values(vec![value(p), 5.0]))).collect();
        found[7] = None;
        let band = Band::of(&claim(&[2.0, 5.0]), &space, &points, &found).unwrap();
        let Spans::Values(ends) = &band.spans else { panic!("{band:?}") };
        assert!((1.0..1.01).contains(&ends[0].0) && ends[0].1 > 2.0 && ends[1] == (5.0, 5.0), "{ends:?}");
        assert_eq!((band.effects.len(), band.failed), (2, 1));
        assert_eq!((band.effects[0].name.as_str(), band.effects[0].swing), ("ordering.commit_ns", 0.5));
        assert_eq!(band.effects[0].low, ("5".to_string(), vec![2.0, 5.0]));
        assert!(band.has(0, 1.9) && !band.has(0, 2.3) && band.has(1, 5.0) && !band.has(2, 1.0));
    }

    #[test]
    fn a_statement_that_held_once_is_inside_its_band() {
        let space = space();
        let points = design(space.dimensions.len(), 60, 1);
        let found: Vec<_> = (0..points.len())
            .map(|n| Some(Finding::Statement { holds: n == 50, because: String::new() }))
            .collect();
        let band = Band::of(&claim(&[]), &space, &points, &found).unwrap();
        assert_eq!(band.spans, Spans::Statement { always: false, ever: true });
        assert!(band.has(0, 1.0) && band.effects.is_empty());
        assert_eq!(band.to_json(), json!([false, true]));
    }

    #[test]
    fn the_first_setting_that_meets_most_claims_is_the_joint_one() {
        let space = space();
        let points = design(space.dimensions.len(), 40, 1);
        let mut met = vec![vec!["a".to_string()]; 40];
        met[2] = vec!["b".into(), "c".into()];
        met[3] = vec!["a".into(), "b".into()];
        let joint = Joint::of(&space, &points, &met, 4).unwrap();
        assert_eq!((joint.claims, joint.of, joint.preset, joint.tried), (met[2].clone(), 4, 1, 40));
        assert_eq!(joint.setting, space.setting(&points[2].levels));
    }
}
