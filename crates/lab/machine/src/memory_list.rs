//! The list of a machine's memories, as a description has it.

use crate::error::{ConfigError, suggestion};
use crate::params::{MACHINE, begins, read};
use crate::reader::Reader;
use crate::registry::{memory_kind, memory_kind_names};
use crate::sources::{USER, check_source};
use plug::MemoryKind;
use protocol::params::Setting;
use protocol::{PAGE_BYTES, Param, TURN};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// One memory of a list, as described.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryDescription {
    /// Its kind.
    pub kind: String,
    /// Bytes of its range; the ranges of a list lie one after the other from the beginning of persistent memory. None
    /// for a memory that shares what is in no range.
    pub bytes: Option<u64>,
    /// Its share of what is in no range, against the others' shares; zero where none was given, which is one.
    pub share: u64,
    /// Parameters of its own, laid over the machine's.
    pub settings: BTreeMap<&'static str, Setting>,
    /// Where its values come from, by its own names for them.
    pub(crate) sources: BTreeMap<String, String>,
}

/// A memory's own name of a parameter: `memory.pm.read_ns` is its `pm.read_ns`.
pub(crate) fn own_name(key: &str) -> &str {
    key.strip_prefix("memory.").unwrap_or(key)
}

/// The kind that `name` names.
pub(crate) fn kind_called(name: &str) -> Result<&'static dyn MemoryKind, ConfigError> {
    memory_kind(name).ok_or_else(|| {
        let names = memory_kind_names();
        let near = suggestion(name, names.iter().copied());
        ConfigError::new(format!("memory.kind = {name}: give one of {}{near}", names.join(", ")))
    })
}

/// What the list is made of.
const LIST: [&str; 3] = ["kind", "size", "share"];

fn known(key: &str) -> Option<&'static Param> {
    let of_memory = format!("memory.{key}");
    let called = |key: &str| MACHINE.iter().find(|p| p.key == key);
    called(&of_memory).or_else(|| called(key)).filter(|p| p.key != "memory.kind")
}

fn unknown(key: &str) -> ConfigError {
    let near = suggestion(key, MACHINE.iter().map(|p| own_name(p.key)));
    ConfigError::new(format!("unknown key \"{key}\" of a memory{near}"))
}

/// Whether keys of one memory stand in a table of this name.
pub(crate) fn is_group(name: &str) -> bool {
    begins(MACHINE.iter().flat_map(|p| [p.key, own_name(p.key)]), name)
}

/// A parameter of one memory by its own name: `pm.read_ns` is `memory.pm.read_ns`.
pub(crate) fn own_setting(key: &str, value: &str) -> Result<(&'static str, Setting), ConfigError> {
    let Some(param) = known(key) else {
        if LIST.contains(&key) {
            let text = format!(
                "\"{key}\" of a memory: is what the list is made of; give it in a file with [[memory]]"
            );
            return Err(ConfigError::new(text));
        }
        return Err(unknown(key));
    };
    if param.key.starts_with("memory.dram.") {
        let text = format!("{key}: DRAM is the machine's, not a memory's; give it beside the list");
        return Err(ConfigError::new(text));
    }
    let setting = read(param, value).map_err(|e| ConfigError::new(format!("{key}: {e}")))?;
    Ok((param.key, setting))
}

impl MemoryDescription {
    /// A memory with the keys of an entry of `[[memory]]`, dotted.
    ///
    /// # Errors
    /// When a key is unknown or its value not accepted, or there is no kind.
    pub fn of<'a>(
        keys: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<MemoryDescription, ConfigError> {
        let mut memory = MemoryDescription::default();
        for (key, value) in keys {
            memory.set(key, value, USER)?;
        }
        memory.whole()
    }

    /// Itself, if nothing is missing and nothing too much.
    fn whole(self) -> Result<MemoryDescription, ConfigError> {
        if self.kind.is_empty() {
            return Err(ConfigError::new(no_kind()));
        }
        if self.bytes.is_some() && self.share > 0 {
            let text = "memory: has a size and a share; a memory with a range of its own shares in nothing, give one of the two";
            return Err(ConfigError::new(text));
        }
        Ok(self)
    }

    /// Sets a key to what somebody says, who is the value's source.
    pub(crate) fn set(&mut self, key: &str, text: &str, source: &str) -> Result<(), ConfigError> {
        let mut own = key;
        match key {
            "kind" => self.kind = kind_called(text)?.name().to_string(),
            "size" => self.bytes = Some(size(text)?),
            "share" => self.share = share(text)?,
            _ => {
                let (key, setting) = own_setting(key, text)?;
                self.settings.insert(key, setting);
                own = own_name(key);
            }
        }
        self.sources.insert(own.into(), source.into());
        Ok(())
    }

    /// Gives one of its values a source.
    pub(crate) fn source(&mut self, key: &str, text: &str) -> Result<(), String> {
        let own = match key {
            "kind" => true,
            "size" => self.bytes.is_some(),
            "share" => self.share > 0,
            _ => return self.source_of_setting(key, text),
        };
        if !own {
            return Err("the list says nothing of it; give a source to what it says".into());
        }
        let varies = ::params::Source::read(text)?.open().is_some_and(|open| open.among.varies());
        if varies {
            return Err(format!(
                "\"{text}\": is what the list is made of and never varied; give open VALUE: why"
            ));
        }
        self.sources.insert(key.into(), text.into());
        Ok(())
    }

    fn source_of_setting(&mut self, key: &str, text: &str) -> Result<(), String> {
        let of_memory = format!("memory.{key}");
        let own = self.settings.iter().find(|(name, _)| **name == of_memory || **name == key);
        let Some((name, value)) = own else {
            return Err(format!(
                "this memory has no value of its own; give the source of the machine's {key}"
            ));
        };
        let Some(param) = MACHINE.iter().find(|p| p.key == *name) else { return Ok(()) };
        check_source(param, text, &[value])?;
        self.sources.insert(own_name(name).into(), text.into());
        Ok(())
    }
}

fn no_kind() -> String {
    let names = memory_kind_names();
    format!("memory: has no kind; give kind = one of {}", names.join(", "))
}

impl Reader<'_> {
    /// The entries of `[[memory]]`.
    pub(crate) fn memories(
        &self,
        value: &Spanned<DeValue<'_>>,
    ) -> Result<Vec<MemoryDescription>, ConfigError> {
        let DeValue::Array(entries) = value.get_ref() else { return Ok(Vec::new()) };
        if entries.is_empty() {
            let text = "memory: the list is empty; give [[memory]] tables, or leave it away";
            return Err(self.error(value.span().start, text));
        }
        let memory = |entry: &Spanned<DeValue<'_>>| {
            let DeValue::Table(table) = entry.get_ref() else {
                return Err(self.error(entry.span().start, "memory: give [[memory]] tables"));
            };
            let mut memory = MemoryDescription::default();
            self.memory_keys("", table, &mut memory)?;
            memory.whole().map_err(|e| self.error(entry.span().start, &e.0))
        };
        entries.iter().map(memory).collect()
    }

    fn memory_keys(
        &self,
        prefix: &str,
        table: &DeTable<'_>,
        memory: &mut MemoryDescription,
    ) -> Result<(), ConfigError> {
        for (name, value) in table {
            let key = format!("{prefix}{}", name.get_ref());
            if let DeValue::Table(inner) = value.get_ref()
                && (!inner.is_empty() || is_group(&key))
            {
                self.memory_keys(&format!("{key}."), inner, memory)?;
                continue;
            }
            if !LIST.contains(&&*key) && known(&key).is_none() {
                return Err(self.error(name.span().start, &unknown(&key).0));
            }
            let text = self.scalar(value, &key)?;
            let at = |e: ConfigError| self.error(value.span().start, &e.0);
            memory.set(&key, &text, self.file).map_err(at)?;
        }
        Ok(())
    }
}

fn size(text: &str) -> Result<u64, ConfigError> {
    let bytes =
        units::parse_bytes(text).ok().filter(|b| *b > 0 && b.is_multiple_of(PAGE_BYTES) && *b <= 1 << 39);
    bytes.ok_or_else(|| {
        ConfigError::new(format!("size = {text}: give a multiple of 4 KiB up to 512 GiB (\"64 MiB\")"))
    })
}

fn share(text: &str) -> Result<u64, ConfigError> {
    let share = text.parse().ok().filter(|n| (1..=TURN as u64).contains(n));
    share.ok_or_else(|| {
        ConfigError::new(format!(
            "share = {text}: give a whole number from 1 to {TURN}, against the others' shares"
        ))
    })
}
