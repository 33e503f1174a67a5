//! Where a file says what does not fit together.

use crate::describe::{Description, Given};
use crate::error::ConfigError;
use crate::reader::Reader;
use protocol::Settings;
use toml::de::{DeTable, DeValue};

impl Description {
    /// An error of [`Description::check`] with the line of the file that makes it so, where one does: that of the key of which it
    /// speaks, or of one without which, as in `parents`, it would not be; or that of the memory.
    pub(crate) fn placed(
        &self,
        reader: &Reader<'_>,
        root: &DeTable<'_>,
        parents: &Settings,
        error: ConfigError,
    ) -> ConfigError {
        let speaks_of = |key: &str| {
            error.0.strip_prefix(key).is_some_and(|rest| rest.starts_with(':') || rest.starts_with(" = "))
        };
        let is_why = |key: &'static str| {
            let mut other = self.clone();
            parents.get(key).is_some_and(|value| {
                other.settings.set(key, value.clone());
                other.check().err().as_ref() != Some(&error)
            })
        };
        let place = |(_, given): (_, &Given)| match given {
            Given::File(place) => Some(place.clone()),
            Given::User => None,
        };
        let of_key = self.given.iter().find(|(key, _)| speaks_of(key));
        let of_key = of_key.or_else(|| self.given.iter().find(|(key, _)| is_why(key)));
        match of_key.and_then(place).or_else(|| of_memory(reader, root, &error.0)) {
            Some(place) => ConfigError::new(format!("{place}: {error}")),
            None => ConfigError::new(format!("{}: {error}", reader.file)),
        }
    }
}

/// Where the memory of a list begins of which a message speaks, or the list.
fn of_memory(reader: &Reader<'_>, root: &DeTable<'_>, text: &str) -> Option<String> {
    let rest = text.strip_prefix("memory")?;
    let (name, value) = root.get_key_value("memory")?;
    let DeValue::Array(list) = value.get_ref() else { return None };
    let number = rest.strip_prefix(' ').and_then(|rest| rest.split(' ').next()?.parse::<usize>().ok());
    let one = number.and_then(|number| list.get(number));
    let at = one.map_or(name.span().start, |one| one.span().start);
    Some(format!("{}:{}", reader.file, reader.line(at)))
}
