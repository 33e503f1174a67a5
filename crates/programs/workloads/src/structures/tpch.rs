//! TPC-H's queries on a database larger than its cache: recorded page reads, each with the work that came before it.

use crate::context::Context;
use crate::pages::{PageStream, Query};
use crate::sync;
use crate::workload::{Asked, Count, N, Text, Workload, params};
use params::{Plain, Settings, Words};
use protocol::PM_BASE;
use std::sync::Arc;
use units::Dur;

pub(crate) const WORKLOAD: Workload = Workload {
    name: "tpch",
    meaning: "TPC-H's queries as SQLite or DuckDB reads their pages; tpch:FILE takes a stream of python -m coreplane.tpch",
    source: "TPC-H at scale factor 0.01 on SQLite 3.54 and 0.1 on DuckDB 1.2.2, recorded; NVDIMM-C (HPCA 2020) §VII-B5",
    params: params! {
        threads "1", "open 1: what is asked of the program";
        "query" Text, "Q1", "open Q1: what is asked of the program", "the query, or all";
        "store" Pages::KIND, "rows", "open rows|columns: the paper's store keeps columns, and its plans are not published", "whose page reads: SQLite's at scale factor 0.01, or DuckDB's at 0.1";
        "work_percent" Count { min: 0, max: 1000 }, "100", "open 35..100: Q1 takes 10.6 us a page on an idle host and 30 on the busy one where it was recorded; stands at what was recorded", "processor time between pages, of what was recorded with them";
        "operations" N, "4000", "open 4000: what is asked of the program", "pages read of each query, from its beginning";
    },
    check: Some(check),
    program: |c| Box::pin(run(c)),
    recover: None,
};

/// Whose page reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Words)]
enum Pages {
    Rows,
    Columns,
}

const PAGE: u64 = 4096;

/// The recorded pages that it runs on where none are given.
fn own(settings: &Settings) -> Arc<PageStream> {
    match settings.read("workload.store") {
        Pages::Rows => PageStream::small(),
        Pages::Columns => PageStream::columns(),
    }
}

fn check(asked: &Asked<'_>) -> Result<(), String> {
    let wanted = asked.settings.text("workload.query");
    let own = own(asked.settings);
    let names: Vec<&str> = asked.pages.unwrap_or(&own).queries.iter().map(|q| q.name.as_str()).collect();
    if wanted == "all" || names.contains(&wanted) {
        return Ok(());
    }
    Err(format!("workload.query = {wanted}: give one of {}, all", names.join(", ")))
}

pub(crate) async fn run(c: Context) {
    let stream: Arc<PageStream> = c.pages.clone().unwrap_or_else(|| own(&c.settings));
    let wanted = c.settings.text("workload.query");
    let most = c.settings.number("workload.operations") as usize;
    for page in (c.thread as u64..stream.pages.into()).step_by(c.threads) {
        // The whole first line: a page that was never written need not be read.
        for word in 0..8 {
            c.cpu.store_nontemporal(PM_BASE + page * PAGE + word * 8, page).await;
        }
    }
    sync::start(&c).await;
    for query in stream.queries.iter().filter(|q| wanted == "all" || q.name == wanted) {
        read(&c, query, most).await;
    }
    sync::finish(&c).await;
}

/// A thread's share of a query: every so manieth reference.
async fn read(c: &Context, query: &Query, most: usize) {
    let work = Dur::ps(query.work_ns * 10 * c.settings.number("workload.work_percent"));
    for page in query.pages.iter().take(most).skip(c.thread).step_by(c.threads) {
        c.cpu.compute(work).await;
        let address = PM_BASE + u64::from(*page) * PAGE;
        for line in (0..PAGE).step_by(64) {
            c.cpu.prefetch(address + line).await;
        }
        for line in (0..PAGE).step_by(64) {
            let word = c.load(address + line).await;
            if line == 0 && word != u64::from(*page) {
                c.cpu.fail(format!("tpch: page {page} holds {word:#x}"));
                return;
            }
        }
        c.cpu.moved(PAGE);
        c.cpu.operation_done();
    }
}
