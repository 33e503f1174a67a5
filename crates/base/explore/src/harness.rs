//! A protocol as a person asks for it: by name, with bounds and perhaps a seeded mistake.

use crate::{Bound, Given, Outcome, Protocol, Replay, explore, replay};

/// Seeded mistakes: name, what the protocol is told, and what each does.
pub type Mutants<M> = &'static [(&'static str, M, &'static str)];

/// What a model declares, once, beside its state machines.
pub trait Explored: Protocol + Sized {
    /// Its name.
    const NAME: &'static str;
    /// What is explored, in a line.
    const MEANING: &'static str;
    /// How large it may be.
    const BOUNDS: &'static [Bound];
    /// A mistake that can be seeded in its state machines.
    type Mutant: Copy + 'static;
    /// All of them.
    const MUTANTS: Mutants<Self::Mutant>;

    /// As large as was asked for.
    fn new(given: &Given, mutant: Option<Self::Mutant>) -> Self;
}

/// For an [`Explored`] whose fields are its bounds, and a `mutant`: what each field is asked of, and how.
#[macro_export]
macro_rules! bounded {
    ($space:ident { $($field:ident: $asked:ident($bound:ident)),* $(,)? }) => {
        const BOUNDS: &'static [$crate::Bound] = &[$($bound),*];

        fn new(given: &$crate::Given, mutant: Option<Self::Mutant>) -> $space {
            $space { $($field: given.$asked(&$bound),)* mutant }
        }
    };
}

type Replays = fn(&Given, Option<&str>, &[u16]) -> Result<Replay, String>;

/// A declared protocol whose types nobody needs to know.
#[derive(Clone, Copy)]
pub struct Harness {
    /// Its name.
    pub name: &'static str,
    /// What is explored, in a line.
    pub meaning: &'static str,
    /// How large it may be.
    pub bounds: &'static [Bound],
    mutants: fn() -> Vec<(&'static str, &'static str)>,
    explore: fn(&Given, Option<&str>, usize) -> Result<Outcome, String>,
    replay: Replays,
}

impl Harness {
    /// Of what a model declares.
    pub const fn of<E: Explored>() -> Harness {
        Harness {
            name: E::NAME,
            meaning: E::MEANING,
            bounds: E::BOUNDS,
            mutants: || E::MUTANTS.iter().map(|(name, _, meaning)| (*name, *meaning)).collect(),
            explore: |given, mutant, limit| Ok(explore(&E::new(given, named::<E>(mutant)?), limit)),
            replay: |given, mutant, choices| replay(&E::new(given, named::<E>(mutant)?), choices),
        }
    }

    /// Its seeded mistakes, by name, with what each does.
    pub fn mutants(&self) -> Vec<(&'static str, &'static str)> {
        (self.mutants)()
    }

    /// Visits every state, at most `limit`.
    ///
    /// # Errors
    /// No such mutant.
    pub fn explore(&self, given: &Given, mutant: Option<&str>, limit: usize) -> Result<Outcome, String> {
        (self.explore)(given, mutant, limit)
    }

    /// Takes the steps of a trace again.
    ///
    /// # Errors
    /// No such mutant, or a choice that is none of the possible steps.
    pub fn replay(&self, given: &Given, mutant: Option<&str>, choices: &[u16]) -> Result<Replay, String> {
        (self.replay)(given, mutant, choices)
    }
}

fn named<E: Explored>(name: Option<&str>) -> Result<Option<E::Mutant>, String> {
    let Some(name) = name else { return Ok(None) };
    let names = || E::MUTANTS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
    let unknown = || format!("--mutant: `{name}` is not known; accepted: {}", names());
    E::MUTANTS.iter().find(|(n, ..)| *n == name).map(|(_, mutant, _)| Some(*mutant)).ok_or_else(unknown)
}
