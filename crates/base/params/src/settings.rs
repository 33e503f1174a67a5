//! Values for a table of parameters.

use crate::{FromSetting, Param, Setting};
use std::collections::BTreeMap;
use units::Dur;

/// Values for a table of parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    values: BTreeMap<&'static str, Setting>,
}

/// Another parameter's values with which one acts.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// The other parameter.
    pub key: &'static str,
    /// Its values, between `|`.
    pub values: &'static str,
    /// Whether it has to have one of these, or none.
    pub is_one: bool,
}

impl Condition {
    /// Reads `key=a|b` and `key!=a|b`.
    fn read(text: &'static str) -> Option<Condition> {
        let (key, values) = text.split_once('=')?;
        let other = key.strip_suffix('!');
        Some(Condition { key: other.unwrap_or(key), values, is_one: other.is_none() })
    }

    fn holds(&self, value: &str) -> bool {
        self.values.split('|').any(|v| v == value) == self.is_one
    }
}

/// The conditions of an alternative, all of which have to hold.
fn conditions(alternative: &'static str) -> impl Iterator<Item = Condition> {
    alternative.split(" and ").filter_map(Condition::read)
}

impl Param {
    /// Whether it does anything beside what is set.
    pub fn acts_with(&self, settings: &Settings) -> bool {
        let value = |key: &str| settings.get(key).map(ToString::to_string);
        let holds = |c: Condition| value(c.key).is_some_and(|value| c.holds(&value));
        self.acts.is_empty() || self.alternatives().any(|all| conditions(all).all(holds))
    }

    /// What it hangs on: alternatives, of which one has to hold.
    fn alternatives(&self) -> impl Iterator<Item = &'static str> {
        self.acts.split(" or ")
    }

    /// Every condition of every alternative.
    pub fn conditions(&self) -> impl Iterator<Item = Condition> {
        self.alternatives().flat_map(conditions)
    }
}

impl Settings {
    /// Every parameter at its default.
    ///
    /// # Panics
    /// When a default of the table is not accepted by its own kind; a test reads every table.
    pub fn defaults<'a>(table: impl IntoIterator<Item = &'a Param>) -> Settings {
        let read = |p: &Param| (p.key, p.kind.read(p.default).unwrap_or_else(|e| panic!("{}: {e}", p.key)));
        Settings { values: table.into_iter().map(read).collect() }
    }

    /// Sets one value.
    pub fn set(&mut self, key: &'static str, value: Setting) {
        self.values.insert(key, value);
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.values.get(key)
    }

    /// The value called `key`, as the type that its row has in the struct of its table.
    ///
    /// # Panics
    /// When the table has no such row: a mistake in the program, not in its input.
    pub fn read<T: FromSetting>(&self, key: &str) -> T {
        let setting = self.values.get(key);
        setting.and_then(T::from_setting).unwrap_or_else(|| panic!("no such setting {key}: {setting:?}"))
    }

    /// The number called `key`.
    ///
    /// # Panics
    /// When the table has no such number: a mistake in the program, not in its input.
    pub fn number(&self, key: &str) -> u64 {
        match self.values.get(key) {
            Some(Setting::Number(n)) => *n,
            other => panic!("no number {key}: {other:?}"),
        }
    }

    /// The number called `key` as a count of things in memory.
    pub fn count(&self, key: &str) -> usize {
        self.number(key) as usize
    }

    /// The duration called `key`.
    pub fn dur(&self, key: &str) -> Dur {
        Dur::ps(self.number(key))
    }

    /// The flag called `key`.
    pub fn flag(&self, key: &str) -> bool {
        match self.values.get(key) {
            Some(Setting::Flag(f)) => *f,
            other => panic!("no flag {key}: {other:?}"),
        }
    }

    /// The word called `key`.
    pub fn text(&self, key: &str) -> &str {
        match self.values.get(key) {
            Some(Setting::Text(t)) => t,
            other => panic!("no text {key}: {other:?}"),
        }
    }
}
