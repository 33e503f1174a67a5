//! Reads TOML files of the user; errors name file, line and what is accepted.

use crate::error::ConfigError;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads a TOML file; errors name file and line.
pub struct Reader<'a> {
    /// Its name.
    pub file: &'a str,
    /// What is in it.
    pub text: &'a str,
}

impl<'a> Reader<'a> {
    /// The file's table.
    ///
    /// # Errors
    /// When it is not TOML.
    pub fn parse(&self) -> Result<Spanned<DeTable<'a>>, ConfigError> {
        DeTable::parse(self.text).map_err(|e| {
            let place = e.span().unwrap_or_default();
            let said = match (e.message(), self.text.get(place.clone())) {
                ("duplicate key", Some(key)) if !key.is_empty() => format!("{key} is there twice"),
                (message, _) => message.to_string(),
            };
            self.error(place.start, &format!("not TOML: {said}"))
        })
    }

    /// Says what is wrong at a place in the text.
    pub fn error(&self, at: usize, text: &str) -> ConfigError {
        ConfigError::new(format!("{}:{}: {text}", self.file, self.line(at)))
    }

    /// The line of a place in the text, the first being 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|b| **b == b'\n').count() + 1
    }

    pub(crate) fn string<'v>(
        &self,
        value: &'v Spanned<DeValue<'_>>,
        key: &str,
    ) -> Result<&'v str, ConfigError> {
        let DeValue::String(s) = value.get_ref() else {
            return Err(self.error(value.span().start, &format!("{key}: give a text in quotes")));
        };
        Ok(s)
    }

    pub(crate) fn scalar(&self, value: &Spanned<DeValue<'_>>, key: &str) -> Result<String, ConfigError> {
        match value.get_ref() {
            DeValue::String(s) => Ok(s.to_string()),
            DeValue::Integer(i) if i.radix() == 10 => Ok(i.as_str().to_string()),
            DeValue::Float(f) => Ok(f.as_str().to_string()),
            DeValue::Boolean(b) => Ok(b.to_string()),
            DeValue::Integer(i) => {
                let text = format!("{key}: {} is not decimal; give a decimal number", i.as_str());
                Err(self.error(value.span().start, &text))
            }
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                Err(self.error(value.span().start, &format!("{key}: give a number, a text or true or false")))
            }
        }
    }
}
