//! The list of a machine's memories: what a description says of each, and which addresses are whose.

use crate::describe::Description;
use crate::error::ConfigError;
use crate::memory_list::{MemoryDescription, kind_called, own_name};
use crate::params::MACHINE;
use crate::registry::memory_kind;
use plug::{Around, MemoryKind, System};
use protocol::params::Kind;
use protocol::{AddressMap, MEMORIES, MemoryPlace, PAGE_BYTES, Settings, TURN};
use units::Dur;

/// One memory, ready to be built.
pub(crate) struct Entry {
    pub(crate) kind: &'static dyn MemoryKind,
    pub(crate) settings: Settings,
    /// Pages of its range.
    pages: Option<u64>,
    share: u64,
}

impl Entry {
    /// Bytes that a program finds in it, where that is fewer than addresses have room for.
    pub(crate) fn capacity(&self) -> Option<u64> {
        self.kind.capacity_key().map(|key| self.settings.number(key) << 20)
    }

    /// Whether its device has all of its range.
    fn check_range(&self) -> Result<(), String> {
        let (Some(pages), Some(key)) = (self.pages, self.kind.capacity_key()) else { return Ok(()) };
        let (range, capacity) = (pages * PAGE_BYTES, self.settings.number(key));
        if range <= capacity << 20 {
            return Ok(());
        }
        let given = if range.is_multiple_of(1 << 20) {
            format!("{} MiB", range >> 20)
        } else {
            format!("{} KiB", range >> 10)
        };
        Err(format!("size = {given}: the device has {capacity} MiB ({key}); give at most that"))
    }

    /// As [`MemoryKind::register_store`], of this one.
    pub(crate) fn register_store(&self) -> Option<Dur> {
        self.kind.register_store(&self.settings)
    }
}

/// What the list says of a memory, under a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryRow {
    /// `memory.N.KEY`.
    pub key: String,
    /// Its value, as text.
    pub value: String,
    /// Its unit.
    pub unit: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// Where its value comes from.
    pub source: String,
    /// What values it takes; none for what the list is made of.
    pub kind: Option<Kind>,
}

/// The source of a share that no list says.
const EQUAL_SHARES: &str = "open 1: what is asked: equal shares, where the list says no others";

/// The number and the parameter of `memory.N.KEY`.
fn numbered(key: &str) -> Option<(usize, &str)> {
    let (number, rest) = key.strip_prefix("memory.")?.split_once('.')?;
    Some((number.parse().ok()?, rest))
}

impl MemoryRow {
    /// Its value for JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        let kind = self.kind.unwrap_or(if self.unit == "-" {
            Kind::Text
        } else {
            Kind::Count { min: 0, max: u64::MAX }
        });
        kind.read(&self.value)
            .map_or_else(|_| self.value.clone().into(), |value| crate::describe::json(&value, &self.value))
    }
}

impl Description {
    /// Sets keys, as [`Description::set`] does one. What is said of the machine is said of each memory of a list, so that a key of one
    /// memory (`memory.1.pm.read_ns`) comes after all of those: nothing hangs on the order in which they are given.
    ///
    /// # Errors
    /// When a key is unknown or a value not accepted.
    pub fn set_all<'k>(
        &mut self,
        given: impl IntoIterator<Item = (&'k str, &'k str)>,
    ) -> Result<(), ConfigError> {
        let (of_one, of_all): (Vec<_>, Vec<_>) =
            given.into_iter().partition(|(key, _)| numbered(key).is_some());
        of_all.into_iter().chain(of_one).try_for_each(|(key, value)| self.set(key, value))
    }

    /// The memory and the parameter of it that `memory.N.KEY` names; none where it is another key.
    ///
    /// # Errors
    /// When the machine has no such memory.
    pub(crate) fn of_one_memory<'k>(&self, key: &'k str) -> Result<Option<(usize, &'k str)>, ConfigError> {
        let Some((index, rest)) = numbered(key) else { return Ok(None) };
        if index < self.memories.len() {
            return Ok(Some((index, rest)));
        }
        let has = match self.memories.len() {
            0 => "it has no list of memories; give the key without a number".to_string(),
            n => format!("its memories are 0 to {}", n - 1),
        };
        Err(ConfigError::new(format!("{key}: {has}")))
    }

    /// The memories, at least one.
    ///
    /// # Errors
    /// When a kind is unknown, or the list leaves addresses to nobody.
    pub(crate) fn entries(&self) -> Result<Vec<Entry>, ConfigError> {
        if self.memories.is_empty() {
            let kind = kind_called(self.settings.text("memory.kind"))?;
            return Ok(vec![Entry { kind, settings: self.settings.clone(), pages: None, share: 1 }]);
        }
        if self.memories.len() > MEMORIES {
            let text = format!("memory: a machine has at most {MEMORIES}, this one {}", self.memories.len());
            return Err(ConfigError::new(text));
        }
        if self.memories.iter().all(|m| m.bytes.is_some()) {
            let n = self.memories.len();
            let text =
                format!("memory: each of {n} has a size; give one without, which takes what is in no range");
            return Err(ConfigError::new(text));
        }
        let entry = |described: &MemoryDescription| {
            let kind = kind_called(&described.kind)?;
            let mut settings = self.settings.clone();
            described.settings.iter().for_each(|(key, value)| settings.set(key, value.clone()));
            let pages = described.bytes.map(|bytes| bytes / PAGE_BYTES);
            Ok(Entry { kind, settings, pages, share: described.share.max(1) })
        };
        self.memories.iter().map(entry).collect()
    }

    /// What the list says of each memory.
    pub fn memory_rows(&self) -> Vec<MemoryRow> {
        let mut rows = Vec::new();
        for (index, memory) in self.memories.iter().enumerate() {
            let mut row = |own: &str, value: String, unit, meaning, kind| {
                let source = memory.sources.get(own).map_or(EQUAL_SHARES, String::as_str).to_string();
                let key = format!("memory.{index}.{own}");
                rows.push(MemoryRow { key, value, unit, meaning, source, kind });
            };
            let about = memory_kind(&memory.kind).map_or("", |kind| kind.about());
            row("kind", memory.kind.clone(), "-", about, None);
            match memory.bytes {
                Some(bytes) => row("size", bytes.to_string(), "B", "bytes of its range", None),
                None => row("share", memory.share.max(1).to_string(), "1", "of pages in no range", None),
            }
            for (key, value) in &memory.settings {
                let Some(param) = MACHINE.iter().find(|p| p.key == *key) else { continue };
                let (value, kind) = (param.kind.show(value), Some(param.kind));
                row(own_name(key), value, param.kind.unit(), param.meaning, kind);
            }
        }
        rows
    }

    /// Which controller has which address.
    ///
    /// # Errors
    /// As the list's.
    pub fn address_map(&self) -> Result<AddressMap, ConfigError> {
        Ok(address_map(&self.settings, &self.entries()?))
    }

    /// Whether nothing is said of memories where `simulator` has its own: at page fidelity, and between hosts.
    pub(crate) fn check_no_memories(&self, simulator: &System) -> Result<(), ConfigError> {
        let kind = self.settings.text("memory.kind");
        if self.memories.is_empty() && memory::SYSTEM.memory.is_some_and(|plain| plain.name() == kind) {
            return Ok(());
        }
        let given =
            if self.memories.is_empty() { format!("memory.kind = {kind}") } else { "[[memory]]".into() };
        let own: Vec<String> = simulator.groups.iter().map(|(prefix, _)| format!("{prefix}.*")).collect();
        let (fidelity, own) = (self.settings.text("machine.fidelity"), own.join(", "));
        let text = format!(
            "{given}: a machine of machine.fidelity = {fidelity} has its memory from {own}; leave it away"
        );
        Err(ConfigError::new(text))
    }

    /// Whether the memories fit together, and with the ordering model before them.
    pub(crate) fn check_memories(&self) -> Result<(), ConfigError> {
        let entries = self.entries()?;
        let kinds: Vec<&'static str> = entries.iter().map(|e| e.kind.name()).collect();
        let sharing = entries.iter().filter(|e| e.pages.is_none()).count();
        for (index, entry) in entries.iter().enumerate() {
            let around = Around {
                settings: &entry.settings,
                ordering: self.settings.text("ordering.model"),
                capabilities: self.ordering().capabilities(),
                models: &|fits| ordering::models::those(fits),
                index,
                is_rest: entry.pages.is_none() && sharing == 1,
                is_sized: entry.pages.is_some(),
                kinds: &kinds,
            };
            let place = || {
                if kinds.len() == 1 { String::new() } else { format!("memory {index} ({}): ", kinds[index]) }
            };
            let fits = entry.kind.check(&around).and_then(|()| entry.check_range());
            let fits = fits.and_then(|()| check_link(entry, &around));
            fits.map_err(|e| ConfigError::new(format!("{}{e}", place())))?;
        }
        let ports = entries.iter().filter(|e| e.register_store().is_some()).count();
        if ports > 1 {
            let text = format!(
                "memory: {ports} memories have registers of their own; a machine has one port for such"
            );
            return Err(ConfigError::new(text));
        }
        Ok(())
    }
}

/// The most controllers behind each link: its ports are numbered in a byte, and each has one for every core.
const MOST_BEHIND_A_LINK: usize = 3;

/// Whether the memory can be behind the link that it is said to be behind.
fn check_link(entry: &Entry, around: &Around<'_>) -> Result<(), String> {
    if !memory::link::is_linked(&entry.settings) {
        return Ok(());
    }
    let word = memory::link::name(&entry.settings);
    if let Some(reason) = entry.kind.needs_the_host(&entry.settings) {
        return Err(format!(
            "memory.link = {word}: a link cannot carry this {} memory: {reason}",
            entry.kind.name()
        ));
    }
    if around.capabilities.persist_path {
        return Err(format!(
            "ordering.model = {}: a persist path ends at a controller of the host, not behind memory.link = {word}; give {}",
            around.ordering,
            (around.models)(&|asks| !asks.persist_path)
        ));
    }
    let controllers = entry.kind.controllers(&entry.settings);
    let links = memory::link::spec(&entry.settings).links;
    let most = MOST_BEHIND_A_LINK * links;
    if controllers > most {
        let behind = if links == 1 { "one link".into() } else { format!("{links} links") };
        let more = if word == "socket" { ", or more links (memory.socket.links)" } else { "" };
        return Err(format!(
            "memory.link = {word}: {controllers} controllers behind {behind}; give 1 to {most}{more}"
        ));
    }
    Ok(())
}

/// Which controller has which address.
pub(crate) fn address_map(machine: &Settings, entries: &[Entry]) -> AddressMap {
    let shares = shares(entries);
    let mut next = 0;
    let several = entries.len() > 1;
    let memory = |(entry, share): (&Entry, usize)| {
        let range = entry.pages.map(|pages| (next, pages));
        next += entry.pages.unwrap_or(0);
        MemoryPlace {
            first: 0,
            controllers: entry.kind.controllers(&entry.settings),
            interleave_bytes: entry.settings.number("memory.interleave_bytes"),
            range,
            share,
            has_window: several && entry.kind.translates(&entry.settings),
        }
    };
    let memories: Vec<MemoryPlace> = entries.iter().zip(shares).map(memory).collect();
    AddressMap::of(
        &memories,
        machine.count("memory.dram.controllers"),
        machine.number("memory.interleave_bytes"),
    )
}

/// Pages of a turn for each memory without a range: by largest remainder, each at least one.
fn shares(entries: &[Entry]) -> Vec<usize> {
    let weight = |e: &Entry| if e.pages.is_some() { 0 } else { e.share };
    let total: u64 = entries.iter().map(weight).sum();
    let part = |e: &Entry| (weight(e) * TURN as u64, total);
    let mut pages: Vec<usize> = entries
        .iter()
        .map(|e| if weight(e) == 0 { 0 } else { ((part(e).0 / part(e).1) as usize).max(1) })
        .collect();
    while pages.iter().sum::<usize>() < TURN {
        let behind =
            |i: &usize| (part(&entries[*i]).0 as i64 - (pages[*i] as u64 * total) as i64, usize::MAX - i);
        let next = (0..pages.len()).filter(|i| pages[*i] > 0).max_by_key(behind).unwrap_or(0);
        pages[next] += 1;
    }
    while pages.iter().sum::<usize>() > TURN {
        let next = (0..pages.len()).max_by_key(|i| pages[*i]).unwrap_or(0);
        pages[next] -= 1;
    }
    pages
}
