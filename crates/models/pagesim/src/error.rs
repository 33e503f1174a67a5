//! What goes wrong.

/// Why a run gives no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Bad input.
    Config(String),
    /// A promise was broken.
    Violation(String),
}
