//! What is said of one memory of a list and does nothing there, and what is said of the machine where each memory has its own.

use crate::acting::{acts_on, controllers_of, keys_of};
use crate::describe::{Description, Given};
use crate::error::ConfigError;
use crate::memories::Entry;
use crate::params::MACHINE;
use crate::registry::memory_kinds;
use ::params::{Kind, Parameters};
use memory::params::{ControllersParameters, InterleaveParameters};
use plug::MemoryKind;
use protocol::params::Setting;
use std::collections::BTreeSet;

impl Description {
    /// Whether what is said of the memories of a list acts there.
    ///
    /// # Errors
    /// The first key that does nothing: what makes it so, or on what it would act.
    pub(crate) fn check_given_of_memories(&self) -> Result<(), ConfigError> {
        if self.memories.is_empty() {
            return Ok(());
        }
        let entries = self.entries()?;
        for (index, entry) in entries.iter().enumerate() {
            let idle = self.idle(&entries, index);
            if let Some(key) = idle.first() {
                let text = self.blamed(entry.kind.name(), index, &idle).unwrap_or_else(|| {
                    let (kind, why) = (entry.kind.name(), why_not_on_one(key, entry, entries.len() > 1));
                    format!("memory {index} ({kind}): {key}: does nothing {why}")
                });
                return Err(ConfigError::new(text));
            }
        }
        Ok(())
    }

    /// Keys of memory `index` that do nothing there.
    fn idle(&self, entries: &[Entry], index: usize) -> Vec<&'static str> {
        let (entry, waits) = (&entries[index], self.waits_for_writes(entries));
        let mut acting: BTreeSet<&str> = keys_of(entry, waits, entries.len() > 1).collect();
        if controllers_of(entry) > 1 {
            acting.extend(InterleaveParameters::TABLE.iter().map(|p| p.key));
        }
        self.memories[index].settings.keys().copied().filter(|key| !acting.contains(key)).collect()
    }

    /// The choice, given of the machine or of memory `index`, that makes keys of that memory useless: whoever changed it need not
    /// know of them.
    fn blamed(&self, kind: &str, index: usize, idle: &[&'static str]) -> Option<String> {
        let own = &self.memories[index].settings;
        let plain = Description::preset(&self.name).ok();
        for other in self.given.keys().chain(own.keys()) {
            let param = MACHINE.iter().find(|p| p.key == *other)?;
            let Kind::Choice(words) = param.kind else { continue };
            let here = own.get(other).or_else(|| self.settings.get(other))?;
            let as_it_comes = plain.as_ref().and_then(|plain| plain.settings.get(other)).cloned();
            let words = words.iter().map(|word| Setting::Text((*word).into()));
            let acts = |there: &Setting| {
                let still = self.with(index, other, there).map(|(machine, e)| machine.idle(&e, index));
                still.is_some_and(|still| !still.contains(&idle[0]))
            };
            let Some(there) = as_it_comes.into_iter().chain(words).find(acts) else { continue };
            let (here, there) = (
                format!("{other} = {}", param.kind.show(here)),
                format!("{other} = {}", param.kind.show(&there)),
            );
            if own.contains_key(other) || self.given.get(other) != Some(&Given::User) {
                let key = idle[0];
                return Some(format!(
                    "memory {index} ({kind}): {key}: does nothing with {here}; it acts with {there}"
                ));
            }
            let keys: Vec<&str> = idle.iter().map(|key| of_memory(key)).collect();
            let (keys, acts) = (keys.join(", "), if keys.len() == 1 { "acts" } else { "act" });
            let one = other.strip_prefix("memory.").map_or_else(String::new, |rest| {
                format!("say it of other memories alone (memory.N.{rest}), or ")
            });
            return Some(format!(
                "{here}: memory {index} ({kind}) has {keys} of its own, which {acts} with {there}; {one}take a file whose [[memory]] leaves that away"
            ));
        }
        None
    }

    /// The same machine with another value of a choice, of memory `index` where that has its own; none where it is no machine then.
    fn with(&self, index: usize, key: &'static str, value: &Setting) -> Option<(Description, Vec<Entry>)> {
        let mut other = self.clone();
        let own = &mut other.memories[index].settings;
        match own.get_mut(key) {
            Some(own) => *own = value.clone(),
            None => other.settings.set(key, value.clone()),
        }
        let entries = other.entries().ok()?;
        Some((other, entries))
    }

    /// That `key` says nothing of this machine, since each memory on which it acts has its own.
    pub(crate) fn has_its_own(&self, key: &str) -> Option<String> {
        let own = self.memories.iter().zip(0..).filter(|(memory, _)| memory.settings.contains_key(key));
        let own: Vec<String> =
            own.map(|(_, index): (_, usize)| format!("memory.{index}.{}", of_memory(key))).collect();
        let (name, own, acts) = (&self.name, own.join(", "), acts_on(key, &[&self.name]));
        (!own.is_empty()).then(|| {
            format!("{key}: does nothing on {name}, where memories have their own: give {own}; {acts}")
        })
    }
}

/// A key as a memory of a list has it.
pub(crate) fn of_memory(key: &str) -> &str {
    key.strip_prefix("memory.").unwrap_or(key)
}

/// Why `key` does nothing on one memory, `listed` among several, and on what it would.
fn why_not_on_one(key: &str, entry: &Entry, listed: bool) -> String {
    let is_of = |table: &[params::Param]| table.iter().any(|p| p.key == key);
    if is_of(InterleaveParameters::TABLE) {
        return "on a memory of one controller; it acts on those of several".into();
    }
    if entry.kind.needs_the_host(&entry.settings).is_none()
        && memory::link::TABLES.iter().any(|table| is_of(table))
    {
        return format!("here; it acts with memory.link={}", memory::link::acts_with(key));
    }
    let has =
        |kind: &dyn MemoryKind| kind.tables(&entry.settings).into_iter().flatten().find(|p| p.key == key);
    if let Some(param) = has(entry.kind).filter(|p| !p.acts.is_empty()) {
        return format!("here; it acts with {}", param.acts);
    }
    let is_fixed =
        |kind: &dyn MemoryKind| listed && !kind.counts_controllers() && is_of(ControllersParameters::TABLE);
    if is_fixed(entry.kind) && has(entry.kind).is_some() {
        return format!("on one of several memories of this kind; {}", acts_on(key, &[]));
    }
    let kinds = memory_kinds().filter(|kind| has(*kind).is_some() && !is_fixed(*kind));
    let kinds: Vec<&str> = kinds.map(MemoryKind::name).collect();
    match kinds[..] {
        [] => "on one memory; it is the machine's, give it beside the list".into(),
        _ if kinds.contains(&entry.kind.name()) => format!("on this machine; {}", acts_on(key, &[])),
        _ => {
            let of_kinds = format!("it acts on {}", kinds.join(", "));
            format!("on a memory of this kind; {of_kinds}; of machines {}", acts_on(key, &[]))
        }
    }
}
