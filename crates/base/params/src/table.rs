//! Tables of rows, put together from structs.

use crate::{Param, Settings};

/// A struct whose fields are the rows of a table; derived.
///
/// `#[parameters(prefix = "...")]` on the struct says what stands before each name. On a field, `#[param(..)]` takes
/// `default` and `source`, always; `name` where the field's own will not do; and the bounds: `min` and `max` (with
/// `power_of_two`, `bytes` or `thousandths`, where it is one), or `multiple_of` and `max`, of a number; `range`, in
/// picoseconds, of a [`crate::Dur`]. Flags, texts and [`crate::Words`] have none. `#[param(flatten)]` takes another
/// struct's rows.
pub trait Parameters: Sized {
    /// The rows.
    const TABLE: &'static [Param];

    /// Every value, from settings that have the table's rows.
    fn from_settings(settings: &Settings) -> Self;
}

/// Rows of all `parts` together.
pub const fn rows<T>(parts: &[&[T]]) -> usize {
    let (mut count, mut part) = (0, 0);
    while part < parts.len() {
        count += parts[part].len();
        part += 1;
    }
    count
}

const fn first<T: Copy>(parts: &[&[T]]) -> T {
    let mut part = 0;
    while parts[part].is_empty() {
        part += 1;
    }
    parts[part][0]
}

/// The rows of all `parts`, of which there are `N`, one after the other.
///
/// # Panics
/// When there is none.
pub const fn join<T: Copy, const N: usize>(parts: &[&[T]]) -> [T; N] {
    let mut all = [first(parts); N];
    let (mut at, mut part) = (0, 0);
    while part < parts.len() {
        let mut row = 0;
        while row < parts[part].len() {
            all[at] = parts[part][row];
            (at, row) = (at + 1, row + 1);
        }
        part += 1;
    }
    all
}
