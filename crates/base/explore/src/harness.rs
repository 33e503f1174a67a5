//! A protocol as a person asks for it: by name, with bounds and perhaps a seeded mistake.

use crate::{Bound, Given, Outcome, Protocol, Replay, explore, replay};

/// Seeded mistakes: name, what the protocol is told, and what each does.
pub type Mutants<M> = &'static [(&'static str, M, &'static str)];

/// Bounds by name, each with its text.
pub type Texts = &'static [(&'static str, &'static str)];

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
    /// Mutants that do not show where every bound has its default, and the bounds with which they do.
    const SHOWN_WITH: &'static [(&'static str, Texts)] = &[];

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
    shown_with: fn(&str) -> Texts,
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
            shown_with: shown_with::<E>,
            explore: |given, mutant, limit| in_memory(explore(&asked::<E>(given, mutant)?, limit)),
            replay: |given, mutant, choices| replay(&asked::<E>(given, mutant)?, choices),
        }
    }

    /// Its seeded mistakes, by name, with what each does.
    pub fn mutants(&self) -> Vec<(&'static str, &'static str)> {
        (self.mutants)()
    }

    /// The bounds that a mutant has unless others are given, where they are not the defaults.
    pub fn shown_with(&self, mutant: &str) -> Texts {
        (self.shown_with)(mutant)
    }

    /// Visits every state, at most `limit`.
    ///
    /// # Errors
    /// No such mutant, or no memory for so many states.
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

/// What was found, unless the host had no memory for more.
fn in_memory(found: Outcome) -> Result<Outcome, String> {
    let n = found.states;
    let ended =
        || format!("the host has no memory for more than {n} states; give smaller bounds, or --states {n}");
    if found.out_of_memory { Err(ended()) } else { Ok(found) }
}

fn shown_with<E: Explored>(mutant: &str) -> Texts {
    E::SHOWN_WITH.iter().find(|(name, _)| *name == mutant).map_or(&[], |(_, bounds)| *bounds)
}

/// The protocol as it was asked for; with a mutant, as large as it takes for that to show.
fn asked<E: Explored>(given: &Given, mutant: Option<&str>) -> Result<E, String> {
    let seeded = named::<E>(mutant)?;
    let larger = mutant.map_or(&[][..], shown_with::<E>);
    let given = Given::read(E::BOUNDS, larger.iter().copied())?.then(given);
    Ok(E::new(&given, seeded))
}

fn named<E: Explored>(name: Option<&str>) -> Result<Option<E::Mutant>, String> {
    let Some(name) = name else { return Ok(None) };
    let names = || E::MUTANTS.iter().map(|(name, ..)| *name).collect::<Vec<_>>().join(", ");
    let unknown = || format!("--mutant: `{name}` is not known; accepted: {}", names());
    E::MUTANTS.iter().find(|(n, ..)| *n == name).map(|(_, mutant, _)| Some(*mutant)).ok_or_else(unknown)
}
