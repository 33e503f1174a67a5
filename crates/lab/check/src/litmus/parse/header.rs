//! `Key=Value` lines: some say something here, others are those of other tools.

use super::super::MODELS;
use super::{Piece, SyntaxError};
use protocol::params::nearest;

/// What is read here; and `Expect.MODEL`.
const KEYS: [&str; 8] = ["Expect", "Lines", "Coherent", "Stops", "Links", "Power", "Energy", "Dirty"];

/// The keys of herd7 and of the generators of its tests, which say nothing here.
const OTHERS: [&str; 20] = [
    "Align",
    "Arch",
    "Com",
    "Cycle",
    "Generator",
    "Hash",
    "Info",
    "Kind",
    "Loop",
    "Mapping",
    "Memory",
    "Name",
    "Orig",
    "Prefetch",
    "Relax",
    "Result",
    "Safe",
    "Stride",
    "Tags",
    "Variant",
];

/// Whether a key is one of these, or at least not one of ours that was misspelt, which would do nothing.
pub(super) fn check(key: Piece<'_>) -> Result<(), SyntaxError> {
    let (word, model) =
        key.text.split_once('.').map_or((key.text, None), |(word, model)| (word, Some(model)));
    if word == "Expect" {
        return model.map_or(Ok(()), |model| expected_of(key, model));
    }
    if KEYS.contains(&key.text) || OTHERS.contains(&key.text) {
        return Ok(());
    }
    match nearest_key(word) {
        Some(meant) => Err(key.error(format!("unknown key `{}`; did you mean {meant}?", key.text))),
        None => Ok(()),
    }
}

fn expected_of(key: Piece<'_>, model: &str) -> Result<(), SyntaxError> {
    if MODELS.iter().any(|(name, _)| *name == model) {
        return Ok(());
    }
    let names = MODELS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    Err(key.error(format!("Expect.{model}: `{model}` is no model; accepted: {names}")))
}

/// Our key that was meant, however its letters are written.
fn nearest_key(word: &str) -> Option<&'static str> {
    let known = KEYS.map(str::to_ascii_lowercase);
    let meant = nearest(word, known.iter().map(String::as_str));
    let place = known.iter().position(|known| meant.first().is_some_and(|meant| meant == known))?;
    KEYS.get(place).copied()
}
