//! Descriptions: of a machine (preset or TOML file, then `--set`) and of a workload.

use crate::error::{ConfigError, suggestion};
use crate::keyed;
use crate::memory_list::{MemoryDescription, own_name, own_setting};
use crate::params::{MACHINE, read, renamed};
use crate::presets::PRESETS;
use crate::reader::Reader;
use crate::sources::{USER, check_source};
use ordering::OrderingModel;
use protocol::params::Setting;
use protocol::{NearInterface, Param, Persistency, Settings};
use simulator::{Fidelity, Work};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use toml::de::{DeTable, DeValue};
use trace::{Kind, Recording, Survey};
use workloads::{Asked, Crashed, PageStream, Persistent, PmCache, Visits};

/// Where a key was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// In a file, at a line.
    File(String),
    /// By `--set`, or by a program.
    User,
}

/// A machine, fully described.
#[derive(Clone, Debug)]
pub struct Description {
    /// Its name.
    pub name: String,
    /// Every parameter.
    pub settings: Settings,
    /// Where values that differ from the table's defaults come from, by key.
    pub sources: BTreeMap<&'static str, String>,
    /// Its memories, where it has a list of them; otherwise there is one, of kind `memory.kind`.
    pub memories: Vec<MemoryDescription>,
    /// Keys that were given for this machine, not for one that it extends, and where.
    pub(crate) given: BTreeMap<&'static str, Given>,
}

/// A workload, fully described.
#[derive(Clone)]
pub struct WorkloadDescription {
    /// Its name, or `trace:` and a file.
    pub name: String,
    /// Every parameter of it.
    pub settings: Settings,
    /// The table of its parameters.
    pub params: &'static [Param],
    /// Where values come from, where that is not what the table says.
    pub sources: BTreeMap<&'static str, String>,
    /// Keys that were given.
    given: BTreeSet<&'static str>,
    pub(crate) source: Source,
    /// A page stream that the user gave.
    pub(crate) pages: Option<Arc<PageStream>>,
    /// Recorded visits that the user gave.
    pub(crate) visits: Option<Arc<Visits>>,
}

/// Where a workload's programs come from.
#[derive(Clone)]
pub(crate) enum Source {
    BuiltIn(&'static workloads::Workload),
    Trace(Arc<Recorded>),
    /// At page fidelity only.
    Pages(&'static workloads::PageWorkload),
    /// On several hosts only.
    Shared(&'static workloads::SharedWorkload),
}

/// A recording, and what a replay has to know of it, found out once.
pub(crate) struct Recorded {
    pub(crate) recording: Recording,
    survey: OnceLock<Arc<Survey>>,
}

impl Recorded {
    /// What one look at all of it found.
    pub(crate) fn survey(&self) -> &Arc<Survey> {
        self.survey.get_or_init(|| Arc::new(Survey::of(&self.recording)))
    }
}

/// A key that is given a source, and where.
pub(crate) type Sourced = (&'static str, String);

impl Description {
    /// The keys that the user set, beside those of the file.
    pub fn set_by_user(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.sources.iter().filter(|(_, source)| *source == USER).map(|(key, _)| *key)
    }

    /// The machine that comes with the project under `name`.
    ///
    /// # Errors
    /// When there is none; the nearest names are offered.
    pub fn preset(name: &str) -> Result<Description, ConfigError> {
        let Some(place) = PRESETS.iter().position(|p| p.name == name) else {
            let near = suggestion(name, PRESETS.iter().map(|p| p.name));
            let text = format!("no machine is called \"{name}\" and no file has that name{near}");
            return Err(ConfigError::new(format!("{text} (coreplane show machines lists them)")));
        };
        // Read once: most extend others, and sweeps and suggestions ask for all of them again and again.
        static READ: [OnceLock<Result<Description, ConfigError>>; PRESETS.len()] =
            [const { OnceLock::new() }; PRESETS.len()];
        let read = || Description::parse(name, &format!("machines/{name}.toml"), PRESETS[place].text);
        READ[place].get_or_init(read).clone()
    }

    /// A machine from the text of a TOML file called `file`.
    ///
    /// # Errors
    /// When the text is no TOML, names an unknown key or parent, or gives a value that is not accepted: the
    /// message names file, line, key and what is accepted.
    pub fn parse(name: &str, file: &str, text: &str) -> Result<Description, ConfigError> {
        Description::parse_above(name, file, text, &Description::preset)
    }

    /// The same, where `parent` gives the machine that is extended by what the file calls it.
    ///
    /// # Errors
    /// As [`Description::parse`], and what `parent` says.
    pub fn parse_above(
        name: &str,
        file: &str,
        text: &str,
        parent: &dyn Fn(&str) -> Result<Description, ConfigError>,
    ) -> Result<Description, ConfigError> {
        let reader = Reader { file, text };
        let root = reader.parse()?;
        let table = root.get_ref();
        if table.is_empty() {
            let first = PRESETS[0].name;
            return Err(ConfigError::new(format!(
                "{file}: says nothing; name a machine to begin with (extends = \"{first}\"), then what differs"
            )));
        }
        let mut machine = match table.get("extends") {
            Some(given) => {
                let parent_name = reader.string(given, "extends")?;
                if parent_name == name {
                    return Err(reader.error(given.span().start, "extends: a machine cannot extend itself"));
                }
                parent(parent_name).map_err(|e| reader.error(given.span().start, &format!("extends: {e}")))?
            }
            None => Description {
                name: String::new(),
                settings: Settings::defaults(MACHINE),
                sources: BTreeMap::new(),
                memories: Vec::new(),
                given: BTreeMap::new(),
            },
        };
        machine.name = name.to_string();
        machine.given.clear();
        let parents = machine.settings.clone();
        let sourced = reader.apply(table, &mut machine)?;
        machine.check().map_err(|e| machine.placed(&reader, table, &parents, e))?;
        machine.check_given(true)?;
        machine.check_sourced(&sourced)?;
        Ok(machine)
    }

    /// Sets one key; keys under `workload.` are not the machine's. Several at once are [`Description::set_all`]'s.
    ///
    /// # Errors
    /// When the key is unknown or the value not accepted.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        if let Some((index, key)) = self.of_one_memory(key)? {
            own_setting(key, value)?;
            return self.memories[index].set(key, value, USER);
        }
        let param = find(MACHINE, key).ok_or_else(|| unknown_key(key, settable()))?;
        let setting = read(param, value).map_err(|e| ConfigError::new(format!("{key}: {e}")))?;
        self.set_everywhere(param.key, setting);
        self.sources.insert(param.key, USER.into());
        self.given.insert(param.key, Given::User);
        Ok(())
    }

    /// What is said of the machine is said of each of its memories; where each on which it acts has its own, of none.
    pub(crate) fn set_everywhere(&mut self, key: &'static str, setting: Setting) {
        let is_own = self.memories.iter().any(|memory| memory.settings.contains_key(key));
        if is_own && self.acting().contains(key) {
            self.memories.iter_mut().for_each(|memory| _ = memory.settings.remove(key));
        }
        self.settings.set(key, setting);
    }

    /// The same with so many cores: those of a run, which a program with more threads raises.
    pub(crate) fn with_cores(&self, cores: u64) -> Description {
        let mut raised = self.clone();
        raised.settings.set(CORES, Setting::Number(cores));
        raised
    }

    /// Its persist-ordering model.
    pub fn ordering(&self) -> &'static dyn OrderingModel {
        ordering::models::of(&self.settings)
    }

    /// What programs may rely on when they recover on it.
    pub fn persistency(&self) -> Persistency {
        self.ordering().persistency(&self.settings)
    }

    /// Whether the sizes fit together, and what the user has given acts.
    ///
    /// # Errors
    /// What does not, in words.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_given(false)?;
        let s = &self.settings;
        cpu::params::check(s).map_err(ConfigError::new)?;
        ordering::models::of(s).check(s).map_err(ConfigError::new)?;
        match self.registered() {
            None => self.check_memories()?,
            Some(registered) => {
                self.check_no_memories(registered.system)?;
                registered.simulator.check(s).map_err(ConfigError::new)?;
            }
        }
        let (threshold, queue) =
            (s.number("memory.pm.drain_threshold"), s.number("ordering.write_pending_queue"));
        if threshold > queue
            && self.sources.contains_key("memory.pm.drain_threshold")
            && self.acts("memory.pm.drain_threshold")
        {
            return Err(ConfigError::new(format!(
                "memory.pm.drain_threshold: {threshold} is above ordering.write_pending_queue = {queue} and would never be reached"
            )));
        }
        Ok(())
    }
}

/// How many cores a machine has.
pub(crate) const CORES: &str = "cpu.cores";
/// How many threads a program has.
const THREADS: &str = "workload.threads";

/// The parameter of programs that work for a given time, and do as much as they can in it.
const LASTS: &str = "workload.time_ns";

impl WorkloadDescription {
    /// Whether the user has given one of its keys.
    pub fn is_given(&self, key: &str) -> bool {
        self.given.contains(key)
    }

    /// Whether its programs work for a given time, so that a faster machine does more in it.
    pub fn lasts_a_given_time(&self) -> bool {
        self.params.iter().any(|p| p.key == LASTS)
    }

    /// The workload called `name` with its defaults.
    ///
    /// # Errors
    /// When there is none; the nearest names are offered.
    pub fn named(name: &str) -> Result<WorkloadDescription, ConfigError> {
        let of_kind = |params: &'static [Param], source: Source| {
            let settings = Settings::defaults(params);
            WorkloadDescription {
                name: name.into(),
                settings,
                params,
                sources: BTreeMap::new(),
                given: BTreeSet::new(),
                source,
                pages: None,
                visits: None,
            }
        };
        if let Some(shared) = workloads::find_shared(name) {
            return Ok(of_kind(shared.params, Source::Shared(shared)));
        }
        if let (Some(pages), None) = (workloads::find_pages(name), workloads::find(name)) {
            return Ok(of_kind(pages.params, Source::Pages(pages)));
        }
        let Some((workload, changes)) = workloads::find_variant(name) else {
            let variants = workloads::VARIANTS.iter().map(|(variant, _)| *variant);
            let pages = workloads::PAGE_WORKLOADS.iter().map(|w| w.name);
            let shared = workloads::SHARED_WORKLOADS.iter().map(|w| w.name);
            let all = workloads::WORKLOADS.iter().map(|w| w.name).chain(variants).chain(pages).chain(shared);
            let near = suggestion(name, all);
            let text = format!("no workload is called \"{name}\"{near}");
            return Err(ConfigError::new(format!("{text} (coreplane show workloads lists them)")));
        };
        let mut described = of_kind(workload.params, Source::BuiltIn(workload));
        for (key, value) in changes {
            described.set(&format!("workload.{key}"), value)?;
        }
        Ok(described)
    }

    /// A recorded program, called `name`.
    pub fn replay(name: &str, recording: Recording) -> WorkloadDescription {
        let params = trace::REPLAY_PARAMS;
        let source = Source::Trace(Arc::new(Recorded { recording, survey: OnceLock::new() }));
        WorkloadDescription {
            name: name.into(),
            settings: Settings::defaults(params),
            params,
            sources: BTreeMap::new(),
            given: BTreeSet::new(),
            source,
            pages: None,
            visits: None,
        }
    }

    /// TPC-H on a recorded page stream, called `name`.
    ///
    /// # Errors
    /// Never, as long as `tpch` is a workload.
    pub fn page_stream(name: &str, pages: PageStream) -> Result<WorkloadDescription, ConfigError> {
        let tpch = WorkloadDescription::named("tpch")?;
        Ok(WorkloadDescription { name: name.into(), pages: Some(Arc::new(pages)), ..tpch })
    }

    /// A recorded program's visits of pages, called `name`: scaled up as `redis-mem` is.
    ///
    /// # Errors
    /// Never, as long as `redis-mem` is a workload.
    pub fn visits(name: &str, visits: Visits) -> Result<WorkloadDescription, ConfigError> {
        let recorded = visits.phases[0].operations.to_string();
        let mut described = WorkloadDescription::named("redis-mem")?;
        described.set("workload.operations", &recorded)?;
        Ok(WorkloadDescription { name: name.into(), visits: Some(Arc::new(visits)), ..described })
    }

    /// Whether the program can do what its parameters ask for, with a memory of `size` bytes, where that ends, a cache, and
    /// devices that take crash consistency over.
    pub(crate) fn check(
        &self,
        size: Option<u64>,
        cache: Option<PmCache>,
        near: Option<NearInterface>,
    ) -> Result<(), ConfigError> {
        let Some(check) = self.built_in().and_then(|workload| workload.check) else { return Ok(()) };
        let (settings, pages) = (&self.settings, self.pages.as_deref());
        let asked = Asked { settings, memory_bytes: size, cache, pages, near };
        check(&asked).map_err(ConfigError::new)
    }

    /// Whether `machine` can run it, as far as that is known before.
    ///
    /// # Errors
    /// Why not, in words.
    pub fn check_on(&self, machine: &Description) -> Result<(), ConfigError> {
        if !machine.is_line() {
            return Ok(());
        }
        self.check_line(&machine.name)?;
        self.check_cores(machine)
    }

    /// Cores that a run on `machine` has: one for each of its threads at least.
    pub(crate) fn cores_on(&self, machine: &Description) -> usize {
        self.threads().max(machine.settings.count(CORES))
    }

    /// Whether there is a core for each thread where the user said how many there are. Those that a machine has from its file are
    /// raised.
    pub(crate) fn check_cores(&self, machine: &Description) -> Result<(), ConfigError> {
        let (cores, threads) = (machine.settings.count(CORES), self.threads());
        if threads <= cores || machine.given.get(CORES) != Some(&Given::User) {
            return Ok(());
        }
        let or = if self.is_key(THREADS) { format!(", or {THREADS}={cores}") } else { String::new() };
        Err(ConfigError::new(format!(
            "{CORES}={cores}: {} has {threads} threads, and each takes a core; give at least {threads}{or}",
            self.name
        )))
    }

    fn is_key(&self, key: &str) -> bool {
        find(self.params, key).is_some()
    }

    /// Its programs, for a simulator.
    pub(crate) fn work(&self) -> Work<'_> {
        match &self.source {
            Source::BuiltIn(workload) => Work::Lines(workload),
            Source::Trace(recorded) => Work::Recording(&recorded.recording),
            Source::Pages(pages) => Work::Pages(pages),
            Source::Shared(shared) => Work::Hosts(shared),
        }
    }

    /// Whether a machine at line fidelity can run it.
    pub(crate) fn check_line(&self, machine: &str) -> Result<(), ConfigError> {
        if matches!(self.source, Source::Shared(_)) {
            return Err(ConfigError::new(format!(
                "{}: runs on several hosts; {machine} is one (give a machine with machine.fidelity = hosts, such as {})",
                self.name,
                first_preset(Fidelity::Hosts)
            )));
        }
        let passes_through = self.settings.get("workload.passthrough") == Some(&Setting::Flag(true));
        if !matches!(self.source, Source::Pages(_)) && !passes_through {
            return Ok(());
        }
        let name = if passes_through { "workload.passthrough = true" } else { &self.name };
        Err(ConfigError::new(format!(
            "{name}: runs at page fidelity; {machine} is a machine at line fidelity (give one with machine.fidelity = page, such as {})",
            first_preset(Fidelity::Page)
        )))
    }

    /// The programs, where it runs at page fidelity only.
    pub fn page_workload(&self) -> Option<&'static workloads::PageWorkload> {
        match &self.source {
            Source::Pages(pages) => Some(pages),
            Source::BuiltIn(_) | Source::Trace(_) | Source::Shared(_) => None,
        }
    }

    /// The program, where it comes with the project and runs at line fidelity.
    pub fn built_in(&self) -> Option<&'static workloads::Workload> {
        match &self.source {
            Source::BuiltIn(workload) => Some(workload),
            Source::Trace(_) | Source::Pages(_) | Source::Shared(_) => None,
        }
    }

    /// The program's own recovery after a power failure in a run with `seed`, on memory and on how many operations each
    /// thread had ended; none where it keeps nothing that could be recovered.
    pub fn recovery(
        &self,
        seed: u64,
    ) -> Option<impl Fn(&mut dyn Persistent, &[u64]) -> Result<(), String> + use<'_>> {
        let recover = self.built_in()?.recover?;
        Some(move |memory: &mut dyn Persistent, ended: &[u64]| {
            recover(memory, &Crashed { settings: &self.settings, seed, ended })
        })
    }

    /// The recording, where it is one.
    pub fn recording(&self) -> Option<&Recording> {
        match &self.source {
            Source::BuiltIn(_) | Source::Pages(_) | Source::Shared(_) => None,
            Source::Trace(recorded) => Some(&recorded.recording),
        }
    }

    /// Threads of the recorded program; none where it is no recording.
    pub fn recorded_threads(&self) -> Option<usize> {
        let threads = &self.recording()?.counts().threads;
        Some(threads.iter().filter(|records| **records > 0).count())
    }

    /// Whether it is a recording that tells of accesses of lines, and not of pages alone.
    pub fn tells_of_lines(&self) -> bool {
        self.recording().is_some_and(|recording| !recording.about().pages)
    }

    /// Whether something of it counts: a recording of a region that never began holds what is done to files, fences and locks of all of
    /// the program, and nothing that a time or a statistic could be of.
    ///
    /// # Errors
    /// When nothing does.
    pub fn check_region(&self) -> Result<(), ConfigError> {
        let Some(recording) = self.recording() else { return Ok(()) };
        if !recording.about().lacks.contains(OUTSIDE) || recording.counts().kind(Kind::Region) > 0 {
            return Ok(());
        }
        let noted = recording.about().notes.iter().find(|note| note.starts_with(NEVER_BEGAN));
        let what = noted.map_or(NEVER_BEGAN, String::as_str);
        Err(ConfigError::new(format!(
            "{}: {what}, and nothing of it counts; record it again with a shorter --skip, or with a call of coreplane_roi_begin",
            self.name
        )))
    }

    /// Whether it is a recording that has the instructions between its references.
    pub fn counts_instructions(&self) -> bool {
        self.recording().is_some_and(|recording| recording.counts().instructions > 0)
    }

    /// The same; a recording's locks go round as they were recorded, unless something else is asked for. Its stores have
    /// the values of that order.
    pub(crate) fn in_recorded_order(&self) -> WorkloadDescription {
        let mut kept = self.clone();
        if self.recording().is_some() && self.settings.text("workload.schedule") == "auto" {
            kept.settings.set("workload.schedule", Setting::Text("recorded".into()));
        }
        kept
    }

    /// Cores that it takes.
    pub fn threads(&self) -> usize {
        match &self.source {
            Source::BuiltIn(_) => self.settings.count("workload.threads"),
            Source::Trace(recorded) => recorded.survey().lanes.len(),
            Source::Pages(_) => 1,
            Source::Shared(_) => workloads::programs(&self.settings),
        }
    }

    /// Sets one key under `workload.`.
    ///
    /// # Errors
    /// When the key is unknown to this workload, the value not accepted, or a key that was given does nothing any more.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let key = self.presume(key, value)?;
        self.given.insert(key);
        let idle = |p: &&Param| self.given.contains(p.key) && !p.acts_with(&self.settings);
        let others =
            |p: &'static Param| p.conditions().map(move |c| (p.key, c.key)).find(|(own, other)| own != other);
        let Some((idle, other)) = self.params.iter().filter(idle).find_map(others) else { return Ok(()) };
        let value = self.settings.get(other).map(ToString::to_string).unwrap_or_default();
        Err(ConfigError::new(format!("{idle}: does nothing beside {other}={value}; give one of the two")))
    }

    /// Sets one key under `workload.` to what it is unless it is given. The key as the table has it.
    ///
    /// # Errors
    /// When the key is unknown to this workload or the value not accepted.
    pub fn presume(&mut self, key: &str, value: &str) -> Result<&'static str, ConfigError> {
        let param = find(self.params, key).ok_or_else(|| {
            ConfigError::new(format!("{key}: workload {}: {}", self.name, self.has_no(key)))
        })?;
        let setting = param.kind.read(value).map_err(|e| ConfigError::new(format!("{key}: {e}")))?;
        self.settings.set(param.key, setting);
        Ok(param.key)
    }

    /// That it has no such key: what it has, and who has the key, unless another is meant.
    fn has_no(&self, key: &str) -> String {
        let unknown = format!("unknown key \"{key}\"");
        let said = unknown_key(key, self.params.iter().map(|p| p.key)).0;
        if said == unknown || keyed::is_known(key) {
            unknown + &keyed::instead(key, self.params)
        } else {
            said
        }
    }

    /// The parameters that act, with their values.
    pub fn acting(&self) -> impl Iterator<Item = (&'static Param, &Setting)> {
        let acts = |p: &&Param| p.acts_with(&self.settings);
        self.params.iter().filter(acts).filter_map(|p| Some((p, self.settings.get(p.key)?)))
    }
}

pub(crate) fn find(table: &'static [Param], key: &str) -> Option<&'static Param> {
    table.iter().find(|p| p.key == key)
}

/// What a recording of a region lacks, in the recorder's words.
const OUTSIDE: &str = "outside of its region";

/// How the recorder's remark begins on a region that the program never came to.
pub const NEVER_BEGAN: &str = "the region never began";

/// Words that other tools' files have for the machine that a file begins with.
const PARENTS: [&str; 6] = ["base", "inherit", "inherits", "parent", "preset", "from"];

/// Keys that a message offers at most.
const SUGGESTED: usize = 3;

/// The keys that `--set` knows.
pub(crate) fn settable() -> impl Iterator<Item = &'static str> {
    MACHINE.iter().chain(workloads::all_params()).map(|p| p.key)
}

pub(crate) fn unknown_key(key: &str, keys: impl Iterator<Item = &'static str>) -> ConfigError {
    if let Some(new) = renamed(key) {
        return ConfigError::new(format!("key \"{key}\" has a new name: give {new}"));
    }
    let known: BTreeSet<&str> = keys.collect();
    if let Some(one) = known.iter().find(|k| k.split_once('.').is_some_and(|(group, _)| group == key)) {
        return ConfigError::new(format!("\"{key}\" is a group of keys; give one of them, such as {one}"));
    }
    if known.contains(key) {
        return ConfigError::new(format!("\"{key}\" is a key of the workload, not of the machine"));
    }
    if PARENTS.contains(&key) {
        return ConfigError::new(format!("unknown key \"{key}\"; a machine's file says extends = \"NAME\""));
    }
    let end = format!(".{}", key.rsplit('.').next().unwrap_or(key));
    // Its last word is known, as `show` finds keys: what comes before it was left out, or is another.
    let same: Vec<&str> = known.iter().copied().filter(|k| k.ends_with(&end)).take(SUGGESTED).collect();
    let near = match same.is_empty() {
        true => suggestion(key, known),
        false => format!("; did you mean {}?", same.join(", ")),
    };
    ConfigError::new(format!("unknown key \"{key}\"{near}"))
}

impl Reader<'_> {
    /// Gives the keys that are given a source, and where.
    fn apply(&self, root: &DeTable<'_>, machine: &mut Description) -> Result<Vec<Sourced>, ConfigError> {
        let sources = root.get("sources");
        for (name, value) in root {
            match &**name.get_ref() {
                "extends" | "sources" => {}
                "about" => {
                    self.string(value, "about")?;
                }
                "memory" if matches!(value.get_ref(), DeValue::Array(_)) => {
                    machine.memories = self.memories(value)?;
                }
                section => self.section(section, name.span().start, value, machine)?,
            }
        }
        match sources.map(|s| (s, s.get_ref())) {
            None => Ok(Vec::new()),
            Some((_, DeValue::Table(table))) => self.sources(table, machine),
            Some((s, _)) => {
                Err(self.error(s.span().start, "sources: give a table of key = \"where it comes from\""))
            }
        }
    }

    /// What is said of one memory (`memory.1.pm.read_ns`) comes after what is said of all.
    fn sources(&self, table: &DeTable<'_>, machine: &mut Description) -> Result<Vec<Sourced>, ConfigError> {
        let mut sourced = Vec::new();
        let mut of_one = Vec::new();
        for (key, value) in table {
            let (name, at) = (key.get_ref(), key.span().start);
            let text = self.string(value, name)?;
            let wrong = |e: String| self.error(value.span().start, &format!("sources: {name}: {e}"));
            if let Some((index, own)) = machine.of_one_memory(name).map_err(|e| self.error(at, &e.0))? {
                of_one.push((index, own, text, value.span().start, name));
                continue;
            }
            let param = find(MACHINE, name).ok_or_else(|| self.unknown_key(at, name))?;
            let own: Vec<_> =
                machine.memories.iter().filter_map(|memory| memory.settings.get(param.key)).collect();
            let given =
                if own.is_empty() { machine.settings.get(param.key).into_iter().collect() } else { own };
            check_source(param, text, &given).map_err(wrong)?;
            for memory in machine.memories.iter_mut().filter(|m| m.settings.contains_key(param.key)) {
                memory.source(own_name(param.key), text).map_err(wrong)?;
            }
            machine.sources.insert(param.key, text.to_string());
            sourced.push((param.key, format!("{}:{}", self.file, self.line(at))));
        }
        for (index, own, text, at, name) in of_one {
            let wrong = |e: String| self.error(at, &format!("sources: {name}: {e}"));
            machine.memories[index].source(own, text).map_err(wrong)?;
        }
        Ok(sourced)
    }
}

/// The first machine that comes with the project and has a fidelity.
fn first_preset(fidelity: Fidelity) -> &'static str {
    let fits = |name: &&str| Description::preset(name).is_ok_and(|machine| machine.fidelity() == fidelity);
    PRESETS.iter().map(|p| p.name).find(fits).unwrap_or_default()
}

/// The value of a setting for JSON.
pub(crate) fn json(value: &Setting, shown: &str) -> serde_json::Value {
    match value {
        Setting::Flag(f) => (*f).into(),
        Setting::Text(t) => t.clone().into(),
        Setting::Number(n) => match shown.parse::<f64>() {
            Ok(f) if f.fract() != 0.0 => f.into(),
            Ok(f) => (f as u64).into(),
            Err(_) => (*n).into(),
        },
    }
}
