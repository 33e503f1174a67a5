//! TATP's update_location: one record of a table of subscribers changes.
//!
//! A record of 128 bytes: 64 bytes of a subscriber, then where it is: the operation's value.

use super::{Store, Value};
use crate::pm::{Pm, Recovered};
use crate::workload::{Count, N, Workload, params};
use protocol::Settings;
use std::collections::BTreeMap;
use units::Random;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "tatp",
    meaning: "TATP's update_location transactions on the persistent-memory library",
    source: "TATP 1.0; NearPM (EuroSys 2023) Table 4",
    params: params! {
        library "13700";
        "operations" N, "10000", "artifact: 30000, scaled by 3", "transactions of all threads";
        "subscribers" Count { min: 1, max: 150_000 }, "100000", "artifact: 100,000 subscribers", "records of the table";
    },
    check: Some(super::fits::<Tatp>),
    program: |c| Box::pin(super::run::<Tatp>(c)),
    recover: Some(super::recover::<Tatp>),
};

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
