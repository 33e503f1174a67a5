//! Keys of a machine's file in its tables.

use crate::describe::{Description, Given, find, unknown_key};
use crate::error::ConfigError;
use crate::memory_list::kind_called;
use crate::params::{MACHINE, begins, read};
use crate::reader::Reader;
use toml::Spanned;
use toml::de::DeValue;

impl Reader<'_> {
    pub(crate) fn unknown_key(&self, at: usize, key: &str) -> ConfigError {
        if key.split('.').next() == Some("workload") {
            let text = format!(
                "{key}: a machine's file has no keys of workloads; give it with --set, or in a campaign"
            );
            return self.error(at, &text);
        }
        self.error(at, &unknown_key(key, MACHINE.iter().map(|p| p.key)).0)
    }

    /// A value under `prefix`, or all in a table; one with nothing in it has to be where keys could stand.
    pub(crate) fn section(
        &self,
        prefix: &str,
        at: usize,
        value: &Spanned<DeValue<'_>>,
        machine: &mut Description,
    ) -> Result<(), ConfigError> {
        if let DeValue::Table(table) = value.get_ref()
            && (!table.is_empty() || begins(MACHINE.iter().map(|p| p.key), prefix))
        {
            for (name, value) in table {
                self.section(&format!("{prefix}.{}", name.get_ref()), name.span().start, value, machine)?;
            }
            return Ok(());
        }
        let param = find(MACHINE, prefix).ok_or_else(|| self.unknown_key(at, prefix))?;
        let text = self.scalar(value, prefix)?;
        let setting =
            read(param, &text).map_err(|e| self.error(value.span().start, &format!("{prefix}: {e}")))?;
        if param.key == "memory.kind" {
            kind_called(&text).map_err(|e| self.error(value.span().start, &e.0))?;
        }
        machine.set_everywhere(param.key, setting);
        machine.sources.insert(param.key, self.file.to_string());
        machine.given.insert(param.key, Given::File(format!("{}:{}", self.file, self.line(at))));
        Ok(())
    }
}
