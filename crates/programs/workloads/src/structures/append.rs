//! A log for each thread that records are appended to: the least that a crash-consistent program does.
//!
//! The arena's first line holds how many records are whole; they follow, a line each. A record is durable before the
//! count says that it is there.

use crate::context::Context;
use crate::recovery::{Crashed, Persistent};
use crate::sync;
use crate::workload::{Flag, N, Workload, params};

pub(crate) const WORKLOAD: Workload = Workload {
    name: "append",
    meaning: "records appended to a log for each thread: the least that a crash-consistent program does",
    source: "ours, the example of docs/extend/workload.md",
    params: params! {
        "operations" N, "8000", "open 8000: what is asked of the program", "records appended by all threads";
        "durable" Flag, "true", "open true: what is asked of the program", "each record ends with a dfence";
    },
    check: None,
    program: |c| Box::pin(run(c)),
    recover: Some(recover),
};

/// The words of record `n`: each other, so that a torn one shows.
fn word(n: u64, index: u64) -> u64 {
    units::mix(n << 3 | index)
}

pub(crate) async fn run(c: Context) {
    let log = c.pm.lines(1);
    sync::start(&c).await;
    for n in 0..c.share(c.settings.number("workload.operations")) {
        let record = c.pm.lines(1);
        for index in 0..8 {
            c.cpu.store(record + index * 8, word(n, index)).await;
        }
        c.persist(record, 64).await;
        c.cpu.store(log, n + 1).await;
        c.persist(log, 8).await;
        if c.settings.flag("workload.durable") {
            c.cpu.dfence().await;
        }
        c.cpu.operation_done();
    }
    sync::finish(&c).await;
}

/// Whatever the count says is there is whole, and nothing that was committed lacks.
pub(crate) fn recover(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    let total = crashed.settings.number("workload.operations");
    for thread in 0..crashed.threads() {
        let (log, mut begun, mut persisted) = (crashed.arena(thread), 0, 0);
        for (_, ended) in crashed.begun(crashed.share(total, thread).1, thread) {
            begun += 1;
            persisted += u64::from(ended);
        }
        let count = memory.word(log);
        let late = memory.may_be_older(log);
        if count > begun || count < persisted && !late {
            return Err(format!(
                "thread {thread} has {count} records; {persisted} were committed, {begun} begun"
            ));
        }
        for n in 0..count {
            let record = log + (n + 1) * 64;
            let place = (0..8).find(|index| memory.word(record + index * 8) != word(n, *index));
            if let Some(index) = place.filter(|_| !memory.may_be_older(record)) {
                return Err(format!(
                    "word {index} of record {n} of thread {thread} is not what was appended"
                ));
            }
        }
    }
    Ok(())
}
