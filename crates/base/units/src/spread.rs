//! Some of many, without falling into step with them.

use crate::Random;

/// At most `most` of `n` things by number, in order, the last one among them: one of each of as many stretches, at a
/// place that differs from stretch to stretch. Even steps would meet the same place of each turn of a loop.
pub fn spread(n: u64, most: u64) -> impl Iterator<Item = u64> {
    let most = most.clamp(1, n.max(1)).min(n);
    let end = move |i: u64| (u128::from(i) * u128::from(n) / u128::from(most)) as u64;
    (1..=most).map(move |i| {
        let (first, end) = (end(i - 1), end(i));
        let apart = if i < most { Random::new(i, 17).below(end - first) } else { 0 };
        end - 1 - apart
    })
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn things_of_a_bound_meet_every_place_of_a_loops_turn() {
        for (n, most, turn) in
            [(2001, 1000, 2), (201, 100, 2), (3001, 1000, 3), (501, 100, 5), (1000, 100, 10)]
        {
            let numbers: Vec<u64> = spread(n, most).collect();
            assert_eq!((numbers.len() as u64, numbers.last()), (most, Some(&(n - 1))));
            assert!(numbers.is_sorted_by(|a, b| a < b));
            let met: Vec<usize> =
                (0..turn).map(|at| numbers.iter().filter(|p| *p % turn == at).count()).collect();
            assert!(met.iter().all(|times| *times as u64 > most / turn / 3), "{n}, {most}: {met:?}");
        }
    }

    #[test]
    fn all_are_taken_where_there_are_no_more() {
        for (n, most) in [(0, 5), (1, 1), (7, 7), (7, 100)] {
            assert!(spread(n, most).eq(0..n), "{n} {most}");
        }
        assert!(spread(9, 0).eq([8]));
    }
}
