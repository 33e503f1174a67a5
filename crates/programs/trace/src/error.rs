//! What is wrong with a trace.

/// A trace that cannot be read: the message says what is wrong and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TraceError(String);

impl TraceError {
    /// Not a trace at all.
    pub(crate) fn foreign(text: impl std::fmt::Display) -> TraceError {
        TraceError(format!("not a trace: {text}"))
    }

    /// A trace that cannot be used for what is asked.
    pub(crate) fn unfit(text: impl std::fmt::Display) -> TraceError {
        TraceError(text.to_string())
    }

    /// Damaged at byte `at`.
    pub(crate) fn damaged(at: usize, text: impl std::fmt::Display) -> TraceError {
        TraceError(format!("damaged at byte {at}: {text}"))
    }

    /// Wrong in line `line` of a text.
    pub(crate) fn line(line: usize, text: impl std::fmt::Display) -> TraceError {
        TraceError(format!("line {line}: {text}"))
    }
}

impl From<parquet::errors::ParquetError> for TraceError {
    fn from(e: parquet::errors::ParquetError) -> TraceError {
        TraceError(format!("Parquet: {e}"))
    }
}

impl From<std::io::Error> for TraceError {
    fn from(e: std::io::Error) -> TraceError {
        TraceError(e.to_string())
    }
}
