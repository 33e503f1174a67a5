//! The one table of machine parameters. Files, `--set`, `show`, the JSON Schema and the wiring all follow it. Each
//! system says its own in its folder.

use crate::registry::{PARAMETERS, SYSTEMS};
use ::params::{Param, Setting};

/// Every parameter of a machine.
pub const MACHINE: &[Param] = PARAMETERS;

/// The interval of `cpu.ipc`, which no recording tells.
pub const IPC_INTERVAL: [&str; 2] = ["0.5", "3"];

/// The present name of a key that had another one, or of a value's word (`KEY = WORD`).
pub fn renamed(key: &str) -> Option<&'static str> {
    let mut all = SYSTEMS.iter().flat_map(|system| system.renamed);
    all.find(|(old, _)| *old == key).map(|(_, new)| *new)
}

/// Whether some of `keys` stand in a table of this name: a typing error makes a name in which none does.
pub(crate) fn begins(mut keys: impl Iterator<Item = &'static str>, name: &str) -> bool {
    keys.any(|key| key.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

/// Reads a value of a key.
///
/// # Errors
/// What is accepted instead, or the present name of what was given.
pub(crate) fn read(param: &Param, text: &str) -> Result<Setting, String> {
    param.kind.read(text).map_err(|refused| match renamed(&format!("{} = {}", param.key, text.trim())) {
        Some(new) => format!("\"{text}\" has a new name: give {new}"),
        None => refused,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_new_name_is_gone_and_the_new_name_is_there() {
        let find = |key: &str| MACHINE.iter().find(|p| p.key == key);
        let (mut keys, mut words) = (0, 0);
        for (old, new) in SYSTEMS.iter().flat_map(|system| system.renamed) {
            let new_key = new.split(' ').next().and_then(find).unwrap_or_else(|| panic!("{new} is no key"));
            if let Some((_, word)) = new.split_once(" = ") {
                assert!(read(new_key, word).is_ok(), "{new} is not accepted");
            }
            if let Some((key, word)) = old.split_once(" = ") {
                let refused = read(find(key).unwrap_or_else(|| panic!("{key} is no key")), word).unwrap_err();
                assert_eq!(refused, format!("\"{word}\" has a new name: give {new}"));
                words += 1;
            } else {
                assert!(find(old).is_none(), "{old} is a key");
                keys += 1;
            }
        }
        assert!(keys > 0 && words > 0);
    }
}
