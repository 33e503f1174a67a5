//! TATP's update_location: one record of a table of subscribers changes.
//!
//! A record of 128 bytes: 64 bytes of a subscriber, then where it is: the operation's value.

use super::{Store, Value};
use crate::pm::{Pm, Recovered};
use protocol::Settings;
use std::collections::BTreeMap;
use units::Random;

const RECORD: u64 = 128;
/// Bytes of a record that say where the subscriber is.
const PLACE: u64 = 64;

pub(crate) struct Tatp;

impl Store for Tatp {
    async fn create(pm: &Pm, settings: &Settings) {
        let table = pm.reserve(settings.number("workload.subscribers") * RECORD).await;
        pm.put(pm.root(), table).await;
    }

    async fn put(pm: &Pm, key: u64, new: Value) {
        let record = pm.get(pm.root()).await + (key - 1) * RECORD;
        pm.add(record, RECORD).await;
        pm.set(record, key).await;
        new.write(pm, record + PLACE).await;
    }

    fn walk(m: &mut Recovered<'_>, settings: &Settings) -> Result<BTreeMap<u64, u64>, String> {
        let table = m.get(m.root())?;
        let mut all = BTreeMap::new();
        for i in 0..settings.number("workload.subscribers") {
            let record = table + i * RECORD;
            let (key, placed) = (m.get(record)?, m.get(record + PLACE)? != 0);
            match (key, placed) {
                (0, false) => {}
                (key, true) if key == i + 1 => _ = all.insert(key, record + PLACE),
                _ => return Err(format!("the record at {record:#x} is half written")),
            }
        }
        Ok(all)
    }

    fn key(random: &mut Random, settings: &Settings) -> u64 {
        random.below(settings.number("workload.subscribers")) + 1
    }
}
