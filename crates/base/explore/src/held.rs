//! What a harness says of itself, and whether it holds: for tests of harnesses, so that each says only what is its own.

use crate::{Explored, Outcome, explore, replay};
use std::fmt::Debug;

/// More states than any harness of a test reaches.
const LIMIT: usize = 8_000_000;

/// What a harness says of itself.
pub struct Held<E: Explored> {
    /// Small machines on which nothing goes wrong, and how many states each reaches.
    pub clean: Vec<(E, usize)>,
    /// A machine on which a mistake shows.
    pub seeded: fn(E::Mutant) -> E,
    /// How the message begins that each mistake leads to.
    pub wrong: &'static [&'static str],
}

impl<E: Explored + Debug> Held<E> {
    /// Explores each of the machines: those without a mistake end their work, break no promise and reach as many states as
    /// they say; each mistake is caught, with a trace that leads there again.
    ///
    /// # Panics
    /// With what does not hold.
    pub fn holds(&self) {
        let reached: Vec<(usize, &E)> = self.clean.iter().map(|(space, _)| (clean(space), space)).collect();
        for ((states, space), (_, said)) in reached.iter().zip(&self.clean) {
            assert_eq!(states, said, "{space:?} of {:?}", reached.iter().map(|r| r.0).collect::<Vec<_>>());
        }
        for (name, mutant, _) in E::MUTANTS {
            self.is_caught(name, &(self.seeded)(*mutant));
        }
    }

    fn is_caught(&self, name: &str, space: &E) {
        let Some(violation) = explore(space, LIMIT).violation else {
            panic!("{name} is not caught on {space:?}");
        };
        let begins = self.wrong.iter().any(|wrong| violation.message.starts_with(wrong));
        assert!(begins, "{name}: {violation:?}");
        let again = replay(space, &violation.choices);
        let expected = (violation.trace, Some(violation.message));
        assert_eq!(again.map(|r| (r.trace, r.message)), Ok(expected), "{name}");
    }
}

/// Explores a machine without a mistake; gives the states that it reaches.
fn clean<E: Explored + Debug>(space: &E) -> usize {
    let outcome: Outcome = explore(space, LIMIT);
    assert!(outcome.complete && outcome.violation.is_none(), "{space:?}: {outcome:?}");
    assert!(outcome.finals > 0, "{space:?} never ends its work: {outcome:?}");
    outcome.states
}
