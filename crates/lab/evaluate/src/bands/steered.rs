//! Corners that results themselves point to: every parameter where it alone moves a number furthest.
//!
//! Corners that are balanced over all parameters hardly ever have the few that move one number all on its side.

use super::design::{Point, Role, SEEDS, least};

/// The most runs of a design of `runs` that are left for these: a third of what is over when each parameter was alone and
/// the seeds had their turns.
pub fn most(dimensions: usize, runs: usize) -> usize {
    runs.saturating_sub(least(dimensions) + SEEDS as usize - 1) / 3
}

/// For each number the setting that should make it lowest and the one that should make it highest, both or neither, at most
/// `most` in all, none twice and none that `points` has; numbers that come first are served first. `found` has each number's
/// value in every run, in the order of `points`; a run without a result moves nothing. Costs no run.
pub fn steered(points: &[Point], found: &[Vec<Option<f64>>], most: usize) -> Vec<Point> {
    let mut all: Vec<Point> = Vec::new();
    let is_lower: fn(f64, f64) -> bool = |a, b| a < b;
    for values in found {
        let both = [is_lower, |a, b| a > b].map(|better| furthest(points, values, better));
        let is_new = |point: &Point| {
            !points.iter().chain(&all).any(|other| other.levels == point.levels && other.seed == point.seed)
        };
        let new: Vec<Point> = both.into_iter().flatten().filter(is_new).collect();
        if all.len() + new.len() > most {
            break;
        }
        all.extend(new);
    }
    all
}

/// Every parameter at the end at which it alone is `better` than the preset, and better than at its other end.
fn furthest(points: &[Point], values: &[Option<f64>], better: fn(f64, f64) -> bool) -> Option<Point> {
    let (preset, start) = (points.first()?, (*values.first()?)?);
    let mut levels = vec![None; preset.levels.len()];
    let mut best = vec![start; levels.len()];
    for (point, value) in points.iter().zip(values) {
        if let (Role::Alone(place), Some(value)) = (point.role, *value)
            && better(value, best[place])
        {
            (best[place], levels[place]) = (value, point.levels[place]);
        }
    }
    Some(Point { levels, seed: preset.seed, role: Role::Steered })
}

#[cfg(test)]
mod tests {
    use super::super::design::design;
    use super::*;

    /// What a number is in every run of a design.
    fn of(points: &[Point], f: impl Fn(&[Option<f64>]) -> f64) -> Vec<Option<f64>> {
        points.iter().map(|p| Some(f(&p.levels))).collect()
    }

    #[test]
    fn a_number_is_furthest_where_all_that_move_it_are_on_its_side() {
        let points = design(9, 60, 3);
        let at = |l: &[Option<f64>], n: usize| l[n].unwrap_or(0.4);
        // Six parameters move it, one of them down; two do not; one is worst at both ends.
        let number = |l: &[Option<f64>]| {
            let rising: f64 = (0..5).map(|n| at(l, n)).sum();
            rising - 2.0 * at(l, 5) - (at(l, 8) - 0.4).abs()
        };
        let mut found = of(&points, number);
        let more = steered(&points, std::slice::from_ref(&found), 10);
        let ends: Vec<f64> = more.iter().map(|p| number(&p.levels)).collect();
        let [low, high] = ends[..] else { panic!("{more:?}") };
        let seen = found.iter().flatten();
        assert!(seen.clone().all(|v| low <= *v && *v <= high), "{low} {high}");
        assert!(seen.clone().all(|v| low < *v), "the design had it already, and this shows nothing");
        assert_eq!((low, high), (-2.6, 5.0));
        assert!(more.iter().all(|p| p.role == Role::Steered && p.seed == 3 && p.levels[6].is_none()));
        // A parameter whose run failed stays as it is in the preset.
        let alone = points.iter().position(|p| p.role == Role::Alone(0) && p.levels[0] == Some(1.0)).unwrap();
        found[alone] = None;
        assert_eq!(steered(&points, &[found], 10)[1].levels[0], None);
    }

    #[test]
    fn none_is_twice_and_there_are_no_more_than_asked_for() {
        let points = design(4, 40, 1);
        let (a, b) = (of(&points, |l| l[0].unwrap_or(0.5)), of(&points, |l| l[1].unwrap_or(0.5)));
        let both = of(&points, |l| l[0].unwrap_or(0.5) + l[1].unwrap_or(0.5));
        // One parameter alone is in the design.
        assert_eq!(steered(&points, &[a.clone(), b, vec![Some(1.0); 40]], 10), []);
        let two = steered(&points, &[both.clone(), a, both.clone()], 3);
        assert_eq!(two.len(), 2);
        assert_eq!(steered(&points, &[both], 1), [], "both ends or neither");
        assert_eq!((most(14, 200), most(14, 29), most(0, 5), most(4, 16)), (55, 0, 0, 1));
    }
}
