//! What a user did wrong, in one message.

/// Bad input: the message names the file or flag, the key, and what is accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub String);

/// Why a run gives no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// Bad input.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The machine or its program broke a promise: two commands met on a bus, wrong data was read, an I/O error.
    #[error("{0}")]
    Violation(String),
}

impl ConfigError {
    pub(crate) fn new(text: impl Into<String>) -> ConfigError {
        ConfigError(text.into())
    }
}

/// "; did you mean a, b?" or nothing.
pub(crate) fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let near = params::nearest(word, known);
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
}
