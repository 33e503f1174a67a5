//! The machines on which a contract is held, taken from the registry and from what comes with the project; and small caches.
use machine::{Description, PRESETS, Report, RunError, RunOptions, WorkloadDescription, memory_kinds, run};
use params::{Kind, Param};
use plug::MemoryKind;

/// Caches so small that lines move between them, and to memory, all the time.
pub(crate) const SMALL_CACHES: [(&str, &str); 6] = [
    ("l1.size_bytes", "1024"),
    ("l1.ways", "2"),
    ("l2.size_bytes", "2048"),
    ("l2.ways", "2"),
    ("llc.size_bytes", "8192"),
    ("llc.ways", "4"),
];

/// A machine, and the kinds of its memories.
pub(crate) struct Machine {
    pub(crate) description: Description,
    pub(crate) kinds: Vec<&'static dyn MemoryKind>,
}

fn called(name: &str) -> &'static dyn MemoryKind {
    memory_kinds().find(|k| k.name() == name).unwrap()
}

/// Every preset that is one memory of a kind and nothing else new; each line of the registry has one.
pub(crate) fn singles() -> impl Iterator<Item = Machine> {
    let plain = |d: &Description| {
        d.memories.is_empty() && d.is_line() && d.settings.text("ordering.model") == "intel"
    };
    let presets = PRESETS.iter().filter(|p| !p.name.contains('@'));
    presets.map(|p| Description::preset(p.name).unwrap()).filter(plain).map(|description| {
        let kinds = vec![called(description.settings.text("memory.kind"))];
        Machine { description, kinds }
    })
}

/// Two memories beside each other: a machine that accepts them, or why none does. They share all pages in turns where they can, else
/// the first has a range of few pages.
pub(crate) fn pair(first: &str, second: &str) -> Result<Machine, String> {
    let list = |like: &str, size: &str| {
        let preset = singles().find(|m| m.kinds[0].name() == like).unwrap().description.name;
        let text = format!(
            "extends = \"{preset}\"\n[[memory]]\nkind = \"{first}\"\n{size}[[memory]]\nkind = \"{second}\"\n"
        );
        let description = Description::parse(&format!("{first}+{second}"), "pair.toml", &text);
        let description = description.map_err(|e| e.to_string())?;
        description.check().map_err(|e| e.to_string())?;
        Ok(Machine { description, kinds: vec![called(first), called(second)] })
    };
    let ranged = "size = \"12 KiB\"\n";
    let tried = [(first, ""), (second, ""), (first, ranged)].map(|(like, size)| list(like, size));
    let [alike, other, ranged] = tried;
    alike.or(other).or(ranged)
}

/// Every kind beside every kind.
pub(crate) fn pairs() -> impl Iterator<Item = Result<Machine, String>> {
    memory_kinds().flat_map(|first| memory_kinds().map(|second| pair(first.name(), second.name())))
}

/// All of them, and the lists that come with the project.
pub(crate) fn machines() -> impl Iterator<Item = Machine> {
    let lists = PRESETS.iter().map(|p| Description::preset(p.name).unwrap());
    let lists = lists.filter(|d| !d.memories.is_empty()).map(|description| {
        let kinds = description.memories.iter().map(|m| called(&m.kind)).collect();
        Machine { description, kinds }
    });
    singles().chain(pairs().filter_map(Result::ok)).chain(lists)
}

pub(crate) fn work(name: &str, operations: &str) -> WorkloadDescription {
    let mut work = WorkloadDescription::named(name).unwrap();
    work.set("workload.operations", operations).unwrap();
    // A file of few pages, of which every memory has some.
    let has_file = work.params.iter().any(|p| p.key == "workload.file_bytes");
    if has_file {
        work.set("workload.file_bytes", "131072").unwrap();
    }
    work
}

impl Machine {
    pub(crate) fn name(&self) -> &str {
        &self.description.name
    }

    /// The parameters of memory `index`, those of its own laid over the machine's.
    pub(crate) fn settings(&self, index: usize) -> protocol::Settings {
        let mut settings = self.description.settings.clone();
        if let Some(own) = self.description.memories.get(index) {
            own.settings.iter().for_each(|(key, value)| settings.set(key, value.clone()));
        }
        settings
    }

    /// For which of the memories something holds.
    pub(crate) fn are(&self, holds: impl Fn(&dyn MemoryKind, &protocol::Settings) -> bool) -> Vec<bool> {
        let each = self.kinds.iter().enumerate();
        each.map(|(index, kind)| holds(*kind, &self.settings(index))).collect()
    }

    pub(crate) fn ran(&self, work: &WorkloadDescription, mode: engine::Mode) -> Result<Report, RunError> {
        run(&self.description, work, &RunOptions { seed: 11, mode, ..RunOptions::default() })
    }
}

/// A machine at page fidelity with little memory. What is measured at line fidelity is left out: that takes long, and is another
/// machine's.
pub(crate) fn with_little_memory(mut machine: Description) -> Description {
    for (key, value) in [
        ("fusion.dram_gib", "1"),
        ("fusion.pm_gib", "3"),
        ("fusion.device_gib", "1"),
        ("os.cores", "2"),
        ("fusion.cost", "constant"),
    ] {
        if machine.acts(key) {
            machine.set(key, value).unwrap();
        }
    }
    machine
}

/// What a parameter does not accept; none where it accepts any text.
pub(crate) fn bad_value(param: &Param) -> Option<&'static str> {
    match param.kind {
        Kind::Text => None,
        Kind::Flag => Some("perhaps"),
        Kind::Count { .. }
        | Kind::PowerOfTwo { .. }
        | Kind::Multiple { .. }
        | Kind::MultipleOrZero { .. }
        | Kind::Thousandths { .. }
        | Kind::Nanoseconds { .. }
        | Kind::Bytes { .. }
        | Kind::Choice(_) => Some("-1"),
    }
}
