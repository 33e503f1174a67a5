//! Every state of a test, whatever it is made of.

use super::{STATE_LIMIT, Unfinished};
use rustc_hash::FxHashSet;
use std::hash::Hash;
use units::watch;

/// Visits each state that `first` leads to once. `settle` brings a state to where it is told from others, `visit` looks at it
/// and says which come next.
pub(super) fn reach<S: Clone + Eq + Hash>(
    first: S,
    settle: impl Fn(&mut S) -> Result<(), Unfinished>,
    mut visit: impl FnMut(&S, &mut Vec<S>) -> Result<(), Unfinished>,
) -> Result<(), Unfinished> {
    let (mut seen, mut todo) = (FxHashSet::default(), vec![first]);
    while let Some(mut state) = todo.pop() {
        watch::check();
        settle(&mut state)?;
        if !seen.insert(state.clone()) {
            continue;
        }
        if seen.len() > STATE_LIMIT {
            return Err(Unfinished::TooManyStates);
        }
        visit(&state, &mut todo)?;
    }
    Ok(())
}
