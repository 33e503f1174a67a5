//! Published numbers that other published numbers exclude: `validation/contradicts.toml`, each with its arithmetic in
//! `validation/DEVIATIONS.md`.

use std::sync::OnceLock;
use toml::{Table, Value};

/// Values of a claim that other published numbers exclude.
#[derive(Clone, Debug)]
pub struct Contradiction {
    /// The claim.
    pub claim: String,
    /// Which of its values, the first being 1.
    pub values: Vec<usize>,
    /// The heading in `DEVIATIONS.md` under which the arithmetic stands.
    pub section: String,
}

/// All of them.
pub fn all() -> &'static [Contradiction] {
    static ALL: OnceLock<Vec<Contradiction>> = OnceLock::new();
    ALL.get_or_init(|| read(include_str!("../../../../validation/contradicts.toml")).unwrap_or_default())
}

/// Whether other published numbers exclude a claim's value, the first being 0; a statement has one.
pub(crate) fn excludes(claim: &str, value: usize) -> bool {
    all().iter().any(|c| c.claim == claim && c.values.contains(&(value + 1)))
}

/// None where something is missing; a test reads the file.
fn read(text: &str) -> Option<Vec<Contradiction>> {
    let table: Table = text.parse().ok()?;
    let one = |record: &Value| {
        let text = |key: &str| Some(record.get(key)?.as_str()?.to_string());
        let place = |v: &Value| usize::try_from(v.as_integer()?).ok();
        let values = record.get("values")?.as_array()?.iter().map(place).collect::<Option<_>>()?;
        Some(Contradiction { claim: text("claim")?, values, section: text("section")? })
    };
    table.get("contradicts")?.as_array()?.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Claims;

    #[test]
    fn every_contradiction_has_a_claim_and_its_arithmetic() {
        let deviations = include_str!("../../../../validation/DEVIATIONS.md");
        let claims = Claims::built_in().unwrap();
        assert!(!all().is_empty(), "the file is not read");
        for c in all() {
            let claim = claims.list.iter().find(|claim| claim.id == c.claim);
            let claim = claim.unwrap_or_else(|| panic!("{}: is no claim", c.claim));
            let most = claim.values.len().max(1);
            assert!(!c.values.is_empty() && c.values.iter().all(|v| (1..=most).contains(v)), "{}", c.claim);
            let heading = format!("\n### {}\n", c.section);
            let (_, after) = deviations.split_once(&heading).unwrap_or_else(|| panic!("no{heading}"));
            let section = after.split("\n#").next().unwrap_or(after);
            assert!(section.contains(&c.claim), "{}: is not named under its heading", c.claim);
            let calculates =
                section.contains('=') && section.matches(|c: char| c.is_ascii_digit()).count() > 10;
            assert!(calculates, "{}: its section calculates nothing", c.claim);
        }
    }
}
