//! Vacation (STAMP, IISWC 2008) on persistent memory: tables of cars, flights, rooms and customers, each a search
//! tree, changed by transactions with an undo log under one lock, as in its port to a transactional library.
//!
//! A node: key, left, right, free, total, price, at 0 to 40.

use super::log::{UndoLog, Undone};
use crate::context::Context;
use crate::recovery::{Crashed, Persistent, is_place};
use crate::sync::{self, Lock};
use crate::workload::{Count, Flag, N, PERCENT, Workload, params};
use protocol::PM_BASE;
use units::{Random, mix};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "vacation",
    meaning: "a travel agency's tables under transactions and one lock",
    source: "STAMP (IISWC 2008); WHISPER (ASPLOS 2017)",
    params: params! {
        "operations" N, "40000", "artifact: -t40000", "transactions of all threads";
        "relations" N, "4000", "artifact: -r4000", "rows of each table at the start";
        "queries" Count { min: 1, max: 64 }, "1", "artifact: -n1", "queries of a transaction";
        "range_percent" PERCENT, "80", "artifact: -q80", "rows that queries reach";
        "user_percent" PERCENT, "20", "artifact: -u20", "transactions that reserve; the rest change tables";
        "log_instructions" Count { min: 0, max: 100_000 }, "1200", "measured: libpmemobj 1.12, docs/models/workloads.md", "instructions of the logging library for a range that it saves";
        "transaction_instructions" Count { min: 0, max: 100_000 }, "1800", "measured: libpmemobj 1.12: a transaction of one range takes 3036, a further range 1213", "instructions of the logging library for a transaction besides";
        "durable" Flag, "true", "paper: ASAP §IV-A; see docs/models/workloads.md", "each change ends with a dfence";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

/// Instructions of the original without its transactional runtime and allocator (docs/models/workloads.md).
///
/// A client, outside of transactions: it chooses what to do, and draws a customer, a query and a change of a row.
const RESERVING: u64 = 365;
const CHANGING: u64 = 245;
const DRAW_QUERY: u64 = 216;
const DRAW_CHANGE: u64 = 382;
/// A look-up in one of its red-black trees, and a node on the way. A look-up's own are 22: the others stand for the part of a
/// node by which 4,000 rows have more than their whole logarithm.
const LOOK_UP: u64 = 32;
const NODE_VISITED: u64 = 34;
/// And what is done with the rows that were found: a query, the reservation of the best, a change.
const QUERY: u64 = 124;
const RESERVE: u64 = 401;
const CHANGE: u64 = 189;

const TABLES: u64 = 4;
const CUSTOMERS: u64 = 3;
const NODE: u64 = 48;
const FREE: u64 = 24;
const TOTAL: u64 = 32;
const PRICE: u64 = 40;

struct Manager {
    roots: u64,
    lock: Lock,
    relations: u64,
}

impl Manager {
    /// What the original executes for some look-ups. Its trees are balanced, so it visits fewer nodes than are loaded here.
    async fn looks_up(&self, c: &Context, times: u64) {
        let nodes = u64::from(self.relations.max(1).ilog2());
        c.executes(times * (LOOK_UP + nodes * NODE_VISITED)).await;
    }

    /// Where the pointer to a key's node is, or would be.
    async fn place(&self, c: &Context, table: u64, key: u64) -> (u64, u64) {
        // Keys are scattered, so that an unbalanced tree stays shallow.
        let rank = mix(key);
        let mut place = self.roots + table * 64;
        loop {
            let node = c.load(place).await;
            if node == 0 {
                return (place, 0);
            }
            let held = c.load(node).await;
            if held == key {
                return (place, node);
            }
            place = node + if rank < mix(held) { 8 } else { 16 };
        }
    }

    async fn add(&self, c: &Context, log: &UndoLog, table: u64, key: u64, count: u64, price: u64) {
        let (place, node) = self.place(c, table, key).await;
        if node != 0 {
            log.save(c, node + FREE, 24).await;
            let (free, total) = (c.load(node + FREE).await, c.load(node + TOTAL).await);
            c.store(node + FREE, free + count).await;
            c.store(node + TOTAL, total + count).await;
            c.store(node + PRICE, price).await;
            return;
        }
        let new = c.pm.alloc(NODE, 64);
        c.store(new, key).await;
        c.store(new + FREE, count).await;
        c.store(new + TOTAL, count).await;
        c.store(new + PRICE, price).await;
        c.persist(new, NODE).await;
        log.store(c, place, new).await;
    }

    async fn take_away(&self, c: &Context, log: &UndoLog, table: u64, key: u64) {
        let node = self.place(c, table, key).await.1;
        if node == 0 {
            return;
        }
        let (free, total) = (c.load(node + FREE).await, c.load(node + TOTAL).await);
        let count = free.min(100);
        log.save(c, node + FREE, 16).await;
        c.store(node + FREE, free - count).await;
        c.store(node + TOTAL, total - count).await;
    }

    /// Reserves the dearest of the things that were looked at, for a customer.
    async fn reserve(&self, c: &Context, log: &UndoLog, r: &mut Random, queries: u64) {
        let customer = 1 + r.below(self.relations);
        let (mut best, mut best_price) = (0, 0);
        for _ in 0..queries {
            let (table, key) = (r.below(CUSTOMERS), 1 + r.below(self.relations));
            // What is free, then the price, each found by itself.
            self.looks_up(c, 2).await;
            c.executes(QUERY).await;
            let node = self.place(c, table, key).await.1;
            if node != 0 && c.load(node + FREE).await > 0 {
                let price = c.load(node + PRICE).await;
                if price > best_price {
                    (best, best_price) = (node, price);
                }
            }
        }
        if best != 0 {
            // The customer, whether it is new and again, and the thing.
            self.looks_up(c, 3).await;
            c.executes(RESERVE).await;
            self.add(c, log, CUSTOMERS, customer, 1, best_price).await;
            let free = c.load(best + FREE).await;
            log.store(c, best + FREE, free - 1).await;
        }
    }

    /// Adds to rows, or takes away from them.
    async fn change(&self, c: &Context, log: &UndoLog, r: &mut Random, queries: u64) {
        let range = (self.relations * c.settings.number("workload.range_percent") / 100).max(1);
        for _ in 0..queries {
            let (table, key) = (r.below(CUSTOMERS), 1 + r.below(range));
            self.looks_up(c, 1).await;
            c.executes(CHANGE).await;
            if r.chance(500) {
                self.add(c, log, table, key, 100, 50 + r.below(500)).await;
            } else {
                self.take_away(c, log, table, key).await;
            }
        }
    }

    async fn transaction(&self, c: &Context, log: &UndoLog, r: &mut Random) {
        let queries = c.settings.number("workload.queries");
        let user = r.chance(c.settings.number("workload.user_percent") * 10);
        let client = if user { RESERVING + queries * DRAW_QUERY } else { CHANGING + queries * DRAW_CHANGE };
        c.executes(client).await;
        self.lock.acquire(c).await;
        if user {
            self.reserve(c, log, r, queries).await;
        } else {
            self.change(c, log, r, queries).await;
        }
        log.commit(c).await;
        c.end_operation().await;
        self.lock.release(c).await;
    }
}

/// What is reserved of one table, found by a walk through its tree.
struct Walk {
    rows: u64,
    /// Taken, over all rows: the total less what is free.
    taken: u64,
    /// The totals of all rows.
    totals: u64,
}

impl Walk {
    fn through(memory: &mut dyn Persistent, table: u64, relations: u64) -> Result<Walk, String> {
        let mut walk = Walk { rows: 0, taken: 0, totals: 0 };
        // Each with the ranks between which its keys' have to be.
        let mut open = vec![(memory.word(PM_BASE + table * 64), 0, u64::MAX)];
        while let Some((node, low, high)) = open.pop() {
            if node == 0 {
                continue;
            }
            let wrong = || Err(format!("table {table} leads to {node:#x}, which is no row of it"));
            if !is_place(node) {
                return wrong();
            }
            let (key, free, total) = (memory.word(node), memory.word(node + FREE), memory.word(node + TOTAL));
            let rank = mix(key);
            if !(1..=relations).contains(&key) || !(low..=high).contains(&rank) {
                return wrong();
            }
            if free > total {
                return Err(format!("row {key} of table {table} has {free} free of {total}"));
            }
            walk.rows += 1;
            walk.taken += total - free;
            walk.totals += total;
            open.push((memory.word(node + 8), low, rank.saturating_sub(1)));
            open.push((memory.word(node + 16), rank, high));
        }
        Ok(walk)
    }
}

/// Every row is there, and what customers have reserved is what is taken of the things.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let mut memory = Undone::new(memory, crashed)?;
    let relations = crashed.settings.number("workload.relations");
    let mut taken = 0;
    for table in 0..TABLES {
        let walk = Walk::through(&mut memory, table, relations)?;
        if walk.rows != relations {
            return Err(format!("table {table} has {} rows, but {relations} were committed", walk.rows));
        }
        if table == CUSTOMERS {
            let reserved = walk.totals - 100 * relations;
            if reserved != taken {
                return Err(format!("customers have reserved {reserved} things, but {taken} are taken"));
            }
        }
        taken += walk.taken;
    }
    Ok(())
}

pub(crate) async fn run(c: Context) {
    let (pm, dram) = (Context::common_pm(), Context::common_dram());
    let relations = c.settings.number("workload.relations");
    let manager = Manager { roots: pm.lines(TABLES), lock: Lock(dram.lines(1)), relations };
    let log = UndoLog::new(&c);
    let mut random = c.random();
    if c.thread == 0 {
        for key in 1..=relations {
            for table in 0..TABLES {
                manager.add(&c, &log, table, key, 100, 50 + random.below(500)).await;
                log.commit(&c).await;
            }
        }
    }
    sync::start(&c).await;
    for _ in 0..c.share(c.settings.number("workload.operations")) {
        manager.transaction(&c, &log, &mut random).await;
    }
    sync::finish(&c).await;
}
