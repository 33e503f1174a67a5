//! Which statistics a run on a machine reports. It follows from what the machine is made of, as the parameters that act on it do.

use crate::describe::Description;
use crate::interest::Sampling;
use crate::memories::Entry;
use crate::throughput::Throughput;
use ::params::{StatisticInfo, Statistics};
use ordering::models::{EVERY_MODEL, registered};
use protocol::Records;

type Tables = Vec<&'static [StatisticInfo]>;

impl Description {
    /// What a run on it reports: every row that is told, and those that [`StatisticInfo::sometimes`] are.
    pub fn statistics(&self) -> Vec<&'static StatisticInfo> {
        let own = match self.simulator() {
            Some(simulator) => {
                let waits: &[_] = &[Throughput::TABLE, EVERY_MODEL, cpu::core::TIMES];
                let waits = if simulator.tells_waits() { waits } else { &[] };
                [waits, &simulator.statistics(&self.settings)].concat()
            }
            None => [self.of_cores(), self.of_memories()].concat(),
        };
        let mut all: Vec<&StatisticInfo> = Vec::new();
        for row in own.into_iter().flatten().filter(|row| row.reported) {
            if all.iter().all(|known| known.name != row.name) {
                all.push(row);
            }
        }
        all
    }

    /// Cores, the shared cache, and the halves of the ordering model.
    fn of_cores(&self) -> Tables {
        let model = registered(&self.settings);
        let asks = model.model.capabilities();
        let path = asks.orders_stores.then_some(cpu::core::OF_PATH);
        let back = asks.rolls_back.then_some(cpu::core::OF_ROLLBACK);
        let every =
            [Throughput::TABLE, Sampling::TABLE, cpu::directory::STATISTICS, EVERY_MODEL, model.statistics];
        let tables = every.into_iter().chain(cpu::core::OF_ALL).chain(path).chain(back);
        tables.chain(model.shared_statistics.iter().copied()).collect()
    }

    /// Memories, their links, and DRAM.
    fn of_memories(&self) -> Tables {
        // What is wrong with the list itself is told by its own check.
        let entries = self.entries().unwrap_or_default();
        let mut tables = memory::plug::dram_statistics(&self.settings);
        entries.iter().for_each(|entry| tables.extend(of_memory(entry, self.records(entry))));
        tables
    }

    /// What the ordering model's half keeps at a controller of `entry`.
    fn records(&self, entry: &Entry) -> Option<Records> {
        registered(&self.settings).model.controller_side(&entry.settings).records()
    }
}

fn of_memory(entry: &Entry, records: Option<Records>) -> Tables {
    let mut tables = entry.kind.statistics(&entry.settings, records);
    tables.extend(memory::link::statistics(&entry.settings));
    tables
}
