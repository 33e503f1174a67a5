//! The machines that come with the project: `machines/*.toml`.

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
    "pmem-spec",
    "lb++",
    "lrp",
    "vorpal",
    "ppa",
    "capri",
    "cwsp",
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
    "shared",
    "nvdimmc-poc@pram",
    "nvdimmc-poc@stt-mram",
    "intel@artifact",
    "hops-ep@artifact",
    "hops-rp@artifact",
    "asap-ep@artifact",
    "asap-rp@artifact",
    "eadr@artifact",
    "nearpm-cpu@artifact",
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
    "optane",
    "optane-memory-mode",
    "optane@remote",
    "cascade-lake",
    "ddr5",
    "cxl-expander",
    "cmmh",
    "intel@optane",
    "hops-rp@optane",
    "asap-rp@optane",
    "eadr@optane",
    "nearpm-cpu@optane",
    "nearpm-sd@optane",
    "nearpm-md@optane",
    "nearpm-md-swsync@optane",
);
