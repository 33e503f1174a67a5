//! What becomes of a paper's claims on other media than its own.

use crate::figure::{Cell, Grid};

/// How a preset on Optane DIMMs is called.
pub(crate) const OPTANE: &str = "@optane";

/// A claim's numbers where the presets' names have this ending: none for the paper's own media.
pub(crate) type OnMedia<'a> = &'a dyn Fn(&str, &str) -> Option<Vec<f64>>;

/// A row for each of these claims: its numbers on the paper's media, and on Optane DIMMs.
pub(crate) fn on_optane(claims: &[&str], numbers: OnMedia<'_>, caption: &str) -> Grid {
    let said = |id: &str, ending: &str| {
        let all = numbers(id, ending).unwrap_or_default();
        Cell::Text(all.iter().map(|n| format!("{n:.3}")).collect::<Vec<_>>().join(", "))
    };
    let row = |id: &&str| vec![Cell::Text((*id).into()), said(id, ""), said(id, OPTANE)];
    Grid {
        title: "The same on Optane DIMMs".into(),
        caption: caption.into(),
        head: ["claim", "on the paper's media", "on Optane DIMMs"].map(String::from).to_vec(),
        rows: claims.iter().map(row).collect(),
    }
}
