//! The machines that come with the project: `machines/*.toml`.

use crate::describe::Description;
use crate::params::MACHINE;
use protocol::Settings;

/// A machine description that comes with the project.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Name, as in `coreplane run NAME ...`.
    pub name: &'static str,
    /// The description.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        /// Every machine that comes with the project.
        pub const PRESETS: &[Preset] = &[$(Preset {
            name: $name,
            text: include_str!(concat!("../../../../machines/", $name, ".toml")),
        }),*];
    };
}

presets!(
    "intel",
    "hops-ep",
    "hops-rp",
    "asap-ep",
    "asap-rp",
    "bbb",
    "eadr",
    "strandweaver",
    "dpo",
    "nvdimmc-baseline",
    "nvdimmc-poc",
    "nvdimmc-hypothetical",
    "nearpm-cpu",
    "nearpm-sd",
    "nearpm-md-swsync",
    "nearpm-md",
    "remote-pages",
    "pberry",
    "unified",
    "amf",
    "dram-swap",
    "pm-block",
    "dram-cache",
    "hotplug",
    "tiering",
    "nvdimmc-poc@pram",
    "nvdimmc-poc@stt-mram",
    "intel@artifact",
    "hops-ep@artifact",
    "hops-rp@artifact",
    "asap-ep@artifact",
    "asap-rp@artifact",
    "eadr@artifact",
    "nearpm-md@artifact",
    "nearpm-md@cxl",
    "nearpm-md@asap",
    "pberry@cxl",
    "remote-pages@2m",
    "unified@pm",
    "amf@pm",
    "compose-nvdimmc-x2",
    "compose-nvdimmc-pm",
    "compose-nearpm-remote",
    "compose-asap-pm-nearpm",
    "compose-hops-nearpm-pm",
    "compose-bbb-two-media",
    "amf@curve",
    "amf@nvdimmc",
    "interleave",
);

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
