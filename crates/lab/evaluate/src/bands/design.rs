//! Which settings of the open parameters are run: a few hundred at most, whatever their number.

/// Seeds that the preset is run with, and among which other runs take turns.
pub const SEEDS: u64 = 5;

/// What a run of the design is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The preset, with one of its seeds.
    Preset,
    /// One parameter at an end, the others as in the preset.
    Alone(usize),
    /// Every parameter at an end.
    Corner,
    /// Every parameter anywhere.
    Between,
    /// Every parameter where it alone moves some result furthest.
    Steered,
}

/// One setting of every open parameter, and a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// Where each parameter stands, from 0, its low end, to 1, its high end; none: as in the preset.
    pub levels: Vec<Option<f64>>,
    /// The seed.
    pub seed: u64,
    /// What it is there for.
    pub role: Role,
}

/// The fewest runs that tell which parameter moves a result most.
pub fn least(dimensions: usize) -> usize {
    1 + 2 * dimensions
}

/// The runs for so many open parameters: the preset with `seed`, each parameter alone at either end, the preset with
/// other seeds, corners, and a Latin hypercube. Of what is left after the first two the seeds come first; corners and
/// hypercube share the rest. Nothing hangs on anything but the arguments.
pub fn design(dimensions: usize, runs: usize, seed: u64) -> Vec<Point> {
    let preset = |seed| Point { levels: vec![None; dimensions], seed, role: Role::Preset };
    let mut points = vec![preset(seed)];
    for dimension in 0..dimensions {
        for end in [0.0, 1.0] {
            let mut levels = vec![None; dimensions];
            levels[dimension] = Some(end);
            points.push(Point { levels, seed, role: Role::Alone(dimension) });
        }
    }
    points.extend((1..SEEDS).map(|n| preset(seed.wrapping_add(n))));
    if dimensions > 0 && points.len() < runs {
        let rest = runs - points.len();
        let corners = corners(dimensions, rest / 2);
        let between = hypercube(dimensions, rest - corners.len(), seed);
        let of = |role| move |levels: Vec<f64>| (role, levels);
        let all = corners.into_iter().map(of(Role::Corner)).chain(between.into_iter().map(of(Role::Between)));
        points.extend(all.enumerate().map(|(n, (role, levels))| Point {
            levels: levels.into_iter().map(Some).collect(),
            seed: seed.wrapping_add(n as u64 % SEEDS),
            role,
        }));
    }
    points.truncate(runs.max(1));
    points
}

/// Rows of a Hadamard matrix and their opposites, so that each parameter, and each pair of them, stands as often at one
/// end as at the other; no more than `most`.
fn corners(dimensions: usize, most: usize) -> Vec<Vec<f64>> {
    let size = (dimensions + 1).next_power_of_two();
    let row = |row: usize, high: bool| {
        (1..=dimensions)
            .map(|column| f64::from((row & column).count_ones().is_multiple_of(2) == high))
            .collect()
    };
    (0..size).flat_map(|n| [row(n, false), row(n, true)]).take(most).collect()
}

/// So many points, each parameter once in each of as many strips of its interval, in an order that hangs on `seed`.
fn hypercube(dimensions: usize, points: usize, seed: u64) -> Vec<Vec<f64>> {
    let mut random = SplitMix(seed);
    let mut all = vec![Vec::with_capacity(dimensions); points];
    for _ in 0..dimensions {
        let mut strips: Vec<usize> = (0..points).collect();
        for last in (1..points).rev() {
            strips.swap(last, (random.next() % (last as u64 + 1)) as usize);
        }
        for (point, strip) in all.iter_mut().zip(strips) {
            point.push((strip as f64 + 0.5) / points as f64);
        }
    }
    all
}

/// Steele, Lea and Flood's generator.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        units::mix(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_design_has_as_many_runs_as_are_wanted_and_every_parameter_alone(
            dimensions in 1_usize..24, more in 0_usize..180, seed in 0_u64..1000,
        ) {
            let runs = least(dimensions) + more;
            let points = design(dimensions, runs, seed);
            prop_assert_eq!(points.len(), runs);
            prop_assert_eq!(&points[0], &Point { levels: vec![None; dimensions], seed, role: Role::Preset });
            for point in &points {
                prop_assert_eq!(point.levels.len(), dimensions);
                prop_assert!(point.levels.iter().flatten().all(|l| (0.0..=1.0).contains(l)));
                prop_assert!((seed..seed + SEEDS).contains(&point.seed));
            }
            for dimension in 0..dimensions {
                let alone = |p: &&Point| p.role == Role::Alone(dimension);
                let ends: Vec<_> = points.iter().filter(alone).map(|p| p.levels[dimension]).collect();
                prop_assert_eq!(ends, [Some(0.0), Some(1.0)]);
            }
            prop_assert_eq!(&points, &design(dimensions, runs, seed));
        }

        #[test]
        fn a_hypercube_has_every_parameter_once_in_every_strip(
            dimensions in 1_usize..20, points in 1_usize..100, seed in any::<u64>(),
        ) {
            let all = hypercube(dimensions, points, seed);
            for dimension in 0..dimensions {
                let mut strips: Vec<_> = all.iter().map(|p| (p[dimension] * points as f64) as usize).collect();
                strips.sort_unstable();
                prop_assert_eq!(strips, (0..points).collect::<Vec<_>>());
            }
        }

        #[test]
        fn corners_have_every_pair_of_ends_equally_often(dimensions in 2_usize..24) {
            let all = corners(dimensions, usize::MAX);
            for a in 0..dimensions {
                for b in (0..dimensions).filter(|b| *b != a) {
                    let count = |x: f64, y: f64| all.iter().filter(|c| [c[a], c[b]].map(f64::to_bits) == [x, y].map(f64::to_bits)).count();
                    let quarter = all.len() / 4;
                    prop_assert_eq!([count(0., 0.), count(0., 1.), count(1., 0.), count(1., 1.)], [quarter; 4]);
                }
            }
        }
    }

    #[test]
    fn with_nothing_open_there_are_only_seeds() {
        let seeds: Vec<_> = design(0, 200, 7).iter().map(|p| (p.role, p.seed)).collect();
        assert_eq!(seeds, [7, 8, 9, 10, 11].map(|seed| (Role::Preset, seed)));
    }
}
