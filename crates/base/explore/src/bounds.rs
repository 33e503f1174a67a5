//! How large what is explored is: each harness declares its bounds once, and whoever asks for values reads them there.

use std::fmt;

/// What a bound takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number {
        /// Where nobody gives one.
        default: u64,
        /// The least.
        least: u64,
        /// The most.
        most: u64,
    },
    /// One of a few numbers.
    Among {
        /// Where nobody gives one.
        default: u64,
        /// All.
        accepted: &'static [u64],
    },
    /// A word.
    Word {
        /// Where nobody gives one: its place among them.
        default: usize,
        /// All.
        accepted: &'static [&'static str],
    },
    /// Said, or not.
    Flag,
}

/// One bound of a harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Its name, as an option's.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What it means.
    pub meaning: &'static str,
}

impl Bound {
    /// A number from `least` to `most`.
    pub const fn number(
        name: &'static str,
        default: u64,
        least: u64,
        most: u64,
        meaning: &'static str,
    ) -> Bound {
        Bound { name, kind: Kind::Number { default, least, most }, meaning }
    }

    /// One of a few numbers.
    pub const fn among(
        name: &'static str,
        default: u64,
        accepted: &'static [u64],
        meaning: &'static str,
    ) -> Bound {
        Bound { name, kind: Kind::Among { default, accepted }, meaning }
    }

    /// One of a few words; `default` is a place among them.
    pub const fn word(
        name: &'static str,
        default: usize,
        accepted: &'static [&'static str],
        meaning: &'static str,
    ) -> Bound {
        Bound { name, kind: Kind::Word { default, accepted }, meaning }
    }

    /// Said, or not.
    pub const fn flag(name: &'static str, meaning: &'static str) -> Bound {
        Bound { name, kind: Kind::Flag, meaning }
    }

    /// What is accepted, in words.
    pub fn accepted(&self) -> String {
        match self.kind {
            Kind::Number { least, most, .. } => format!("{least} to {most}"),
            Kind::Among { accepted, .. } => {
                accepted.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
            }
            Kind::Word { accepted, .. } => accepted.join(", "),
            Kind::Flag => "no value".into(),
        }
    }

    /// What a text means here.
    fn read(&self, text: &str) -> Result<Value, String> {
        let given = if text.is_empty() { ": no value was given;".into() } else { format!(" {text}:") };
        let refused = || format!("--{}{given} accepted are {}", self.name, self.accepted());
        let number = |fits: &dyn Fn(u64) -> bool| {
            text.parse().ok().filter(|n| fits(*n)).map(Value::Number).ok_or_else(refused)
        };
        match self.kind {
            Kind::Number { least, most, .. } => number(&|n| (least..=most).contains(&n)),
            Kind::Among { accepted, .. } => number(&|n| accepted.contains(&n)),
            Kind::Word { accepted, .. } => {
                accepted.iter().position(|w| *w == text).map(Value::Place).ok_or_else(refused)
            }
            Kind::Flag => text.is_empty().then_some(Value::Said).ok_or_else(refused),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (meaning, accepted) = (self.meaning, self.accepted());
        match self.kind {
            Kind::Number { default, .. } | Kind::Among { default, .. } => {
                write!(f, "{meaning}: {accepted} [default: {default}]")
            }
            Kind::Word { default, accepted: words } => {
                write!(f, "{meaning}: {accepted} [default: {}]", words[default])
            }
            Kind::Flag => write!(f, "{meaning}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Number(u64),
    Place(usize),
    Said,
}

/// What was asked for; every other bound has its default.
#[derive(Clone, Debug, Default)]
pub struct Given(Vec<(&'static str, Value)>);

impl Given {
    /// Reads values by name, each with its text, empty for a flag.
    ///
    /// # Errors
    /// A name that none of `bounds` has, or a value that is not accepted.
    pub fn read<'t>(
        bounds: &'static [Bound],
        values: impl IntoIterator<Item = (&'t str, &'t str)>,
    ) -> Result<Given, String> {
        let mut given = Given::default();
        for (name, text) in values {
            let names = || bounds.iter().map(|b| format!("--{}", b.name)).collect::<Vec<_>>().join(", ");
            let unknown = || format!("--{name}: not known here; accepted are {}", names());
            let bound = bounds.iter().find(|b| b.name == name).ok_or_else(unknown)?;
            given.0.push((bound.name, bound.read(text)?));
        }
        Ok(given)
    }

    /// The same, and `later`, which counts where both say something.
    #[must_use]
    pub fn then(mut self, later: &Given) -> Given {
        self.0.extend(&later.0);
        self
    }

    fn value(&self, bound: &Bound) -> Option<Value> {
        self.0.iter().rev().find(|(name, _)| *name == bound.name).map(|(_, value)| *value)
    }

    /// The value of a bound in words, also where nobody gave one.
    pub fn told(&self, bound: &Bound) -> String {
        match bound.kind {
            Kind::Number { .. } | Kind::Among { .. } => self.number::<u64>(bound).to_string(),
            Kind::Word { accepted, .. } => accepted[self.place(bound)].into(),
            Kind::Flag => if self.said(bound) { "yes" } else { "no" }.into(),
        }
    }

    /// A number. All that are accepted fit into any type that a harness counts in.
    pub fn number<N: TryFrom<u64> + Default>(&self, bound: &Bound) -> N {
        let number = match (self.value(bound), bound.kind) {
            (Some(Value::Number(n)), _) => n,
            (_, Kind::Number { default, .. } | Kind::Among { default, .. }) => default,
            (_, Kind::Word { .. } | Kind::Flag) => 0,
        };
        debug_assert!(N::try_from(number).is_ok(), "--{} accepts more than its type holds", bound.name);
        N::try_from(number).unwrap_or_default()
    }

    /// The place of a word among those that are accepted.
    pub fn place(&self, bound: &Bound) -> usize {
        match (self.value(bound), bound.kind) {
            (Some(Value::Place(place)), _) => place,
            (_, Kind::Word { default, .. }) => default,
            (_, Kind::Number { .. } | Kind::Among { .. } | Kind::Flag) => 0,
        }
    }

    /// Whether a flag was said.
    pub fn said(&self, bound: &Bound) -> bool {
        self.value(bound) == Some(Value::Said)
    }
}
