//! TPC-C's new_order: a district counts an order, the order is written, and five to fifteen stocks change.
//!
//! The root object: stocks (320 bytes each: number taken, orders that took, the last order), orders (64 bytes each: the
//! value's operation; the rest of the value is in its new_order row), new orders (64 bytes), district (128 bytes).

use super::{Store, Value};
use crate::pm::{Pm, Recovered};
use crate::workload::{Count, N, Workload, params};
use protocol::Settings;
use std::collections::BTreeMap;
use units::{Random, mix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "tpcc",
    meaning: "TPC-C's new_order transactions on the persistent-memory library",
    source: "TPC-C 5.11; NearPM (EuroSys 2023) Table 4",
    params: params! {
        library "146000";
        "operations" N, "1000", "artifact: NUM_ORDERS", "transactions of all threads";
        "items" Count { min: 1, max: 50_000 }, "10000", "artifact: 10,000 items", "items in stock";
    },
    check: Some(super::fits::<Tpcc>),
    program: |c| Box::pin(super::run::<Tpcc>(c)),
    recover: Some(super::recover::<Tpcc>),
};

const STOCK: u64 = 320;
const ORDER: u64 = 64;
const DISTRICT: u64 = 128;
/// Words of the root object.
const STOCKS: u64 = 0;
const ORDERS: u64 = 8;
const NEW_ORDERS: u64 = 16;
const DISTRICTS: u64 = 24;
const ITEMS: u64 = 32;

pub(crate) struct Tpcc;

/// What an order takes: items, each once, and how many of each.
fn lines(key: u64, items: u64) -> BTreeMap<u64, u64> {
    let count = 5 + mix(key) % 11;
    (0..count).map(|i| (mix(key ^ (i + 1) << 56) % items, 1 + mix(key ^ (i + 1) << 48) % 10)).collect()
}

impl Store for Tpcc {
    async fn create(pm: &Pm, settings: &Settings) {
        let (items, orders) = (settings.number("workload.items"), settings.number("workload.operations"));
        let size = settings.number("workload.value_size").next_multiple_of(64);
        let root = pm.root();
        for (at, bytes) in [
            (STOCKS, items * STOCK),
            (ORDERS, orders * ORDER),
            (NEW_ORDERS, orders * size),
            (DISTRICTS, DISTRICT),
        ] {
            let table = pm.reserve(bytes).await;
            pm.put(root + at, table).await;
        }
        pm.put(root + ITEMS, items).await;
    }

    async fn put(pm: &Pm, key: u64, new: Value) {
        let root = pm.root();
        let district = pm.get(root + DISTRICTS).await;
        let n = pm.get(district).await;
        pm.add(district, DISTRICT).await;
        pm.set(district, n + 1).await;
        let order = pm.get(root + ORDERS).await + n * ORDER;
        pm.add(order, ORDER).await;
        pm.set(order, key).await;
        let row = pm.get(root + NEW_ORDERS).await + n * new.size.next_multiple_of(64);
        new.replace(pm, row).await;
        let (stocks, items) = (pm.get(root + STOCKS).await, pm.get(root + ITEMS).await);
        for (item, taken) in lines(key, items) {
            let stock = stocks + item * STOCK;
            pm.add(stock, STOCK).await;
            let (sum, times) = (pm.get(stock).await, pm.get(stock + 8).await);
            pm.set(stock, sum + taken).await;
            pm.set(stock + 8, times + 1).await;
            pm.set(stock + STOCK - 8, key).await;
        }
    }

    fn walk(m: &mut Recovered<'_>, settings: &Settings) -> Result<BTreeMap<u64, u64>, String> {
        let root = m.root();
        let [stocks, orders, rows, district] =
            [STOCKS, ORDERS, NEW_ORDERS, DISTRICTS].map(|at| m.get(root + at).unwrap_or(0));
        let items = settings.number("workload.items");
        let size = settings.number("workload.value_size").next_multiple_of(64);
        let count = m.get(district)?;
        if count > settings.number("workload.operations") {
            return Err(format!("the district has counted {count} orders"));
        }
        let (mut all, mut wanted) = (BTreeMap::new(), BTreeMap::new());
        for n in 0..count {
            let key = m.get(orders + n * ORDER)?;
            all.insert(key, rows + n * size);
            for (item, taken) in lines(key, items) {
                let stock: &mut (u64, u64, u64) = wanted.entry(item).or_default();
                *stock = (stock.0 + taken, stock.1 + 1, key);
            }
        }
        for item in 0..items {
            let stock = stocks + item * STOCK;
            let held = (m.get(stock)?, m.get(stock + 8)?, m.get(stock + STOCK - 8)?);
            if held != wanted.get(&item).copied().unwrap_or_default() {
                return Err(format!("the stock of item {item} does not agree with the orders"));
            }
        }
        Ok(all)
    }

    fn key(random: &mut Random, _: &Settings) -> u64 {
        random.next_u64() >> 1 | 1
    }
}
