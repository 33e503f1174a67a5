//! The family of machines that one comparison sets side by side.

use crate::describe::Description;
use crate::params::MACHINE;
use crate::presets::PRESETS;
use protocol::Settings;

/// The machines of the list that differ in their ordering alone, in its order: those that one comparison sets side by side.
pub fn family() -> Vec<&'static str> {
    let usual = Settings::defaults(MACHINE);
    let keeps = |d: &Description| {
        let others = MACHINE.iter().filter(|p| !p.key.starts_with("ordering."));
        d.memories.is_empty() && others.into_iter().all(|p| d.settings.get(p.key) == usual.get(p.key))
    };
    let names = PRESETS.iter().map(|p| p.name);
    names.filter(|name| Description::preset(name).is_ok_and(|d| keeps(&d))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_family_has_every_ordering_model_once_at_least() {
        let family = family();
        let words: Vec<String> = family
            .iter()
            .map(|name| Description::preset(name).unwrap().settings.text("ordering.model").to_string())
            .collect();
        for model in ordering::MODELS {
            assert!(words.iter().any(|word| word == model.name), "{}: {family:?}", model.name);
        }
        assert!(family.iter().all(|name| !name.contains('@') && !name.starts_with("compose")), "{family:?}");
    }
}
