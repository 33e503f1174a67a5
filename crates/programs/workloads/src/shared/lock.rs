//! A lock without atomic operations, of which hosts that are not coherent have none: Lamport's bakery. Each host has a
//! ticket in a line of its own; the lock guards two counters, in a line each, that must be equal.
//!
//! Who takes the lock after a host that stopped finds the two unequal where it stopped between them, and mends that.

use super::{Broken, Host, Left, SharedWorkload, line, shared_params};
use crate::recovery::Persistent;
use protocol::Settings;

const TICKETS: u64 = 0;
const CHOOSING: u64 = 8;
const COUNTERS: [u64; 2] = [16, 17];

const BUGS: &[&str] = &[
    "none",
    "release-not-flushed",
    "data-not-flushed",
    "data-not-fenced",
    "release-first",
    "data-kept",
    "ticket-not-flushed",
    "tickets-kept",
    "tickets-share-line",
    "not-mended",
    "waits-for-the-gone",
    "relies-on-persistent-flush",
    "recovery-trusts-device",
];

pub(crate) const WORKLOAD: SharedWorkload = SharedWorkload {
    name: "shared-lock",
    meaning: "a lock of plain loads and stores that guards two counters",
    source: "Lamport's bakery (CACM 1974), with write-backs",
    params: shared_params!("3" to 8, "4", "times that each host takes the lock", BUGS),
    lines: |_| COUNTERS[1] as usize + 1,
    locks: |settings: &Settings| {
        let share = settings.text("workload.bug") == "tickets-share-line";
        (0..super::programs(settings)).map(|id| ticket_at(share, id)).collect()
    },
    program: |host| Box::pin(run(host)),
    check,
};

fn ticket_at(share_a_line: bool, id: usize) -> u64 {
    if share_a_line { line(TICKETS) + id as u64 * 8 } else { line(TICKETS + id as u64) }
}

fn ticket(host: &Host, id: usize) -> u64 {
    ticket_at(host.has("tickets-share-line"), id)
}

fn choosing(id: usize) -> u64 {
    line(CHOOSING + id as u64)
}

async fn run(host: Host) {
    for _ in 0..host.operations() {
        lock(&host).await;
        count(&host).await;
        unlock(&host).await;
        host.operation_done();
    }
}

/// Another host's ticket, none where it has none or is gone.
async fn ticket_of(host: &Host, id: usize) -> u64 {
    let gone = host.is_gone(id) && !host.has("waits-for-the-gone");
    let held = host.look(ticket(host, id), !host.has("tickets-kept")).await;
    if gone { 0 } else { held }
}

async fn lock(host: &Host) {
    host.publish(choosing(host.id), 1).await;
    let mut highest = 0;
    for id in (0..host.hosts).filter(|id| *id != host.id) {
        highest = highest.max(ticket_of(host, id).await);
    }
    let own = highest + 1;
    host.release(ticket(host, host.id), own).await;
    if !host.has("ticket-not-flushed") {
        host.persist(ticket(host, host.id)).await;
    }
    host.publish(choosing(host.id), 0).await;
    for id in (0..host.hosts).filter(|id| *id != host.id) {
        _ = host.await_word(choosing(id), id, true, |choosing| choosing == 0).await;
        let before_own = |held: u64| held != 0 && (held, id) < (own, host.id);
        while before_own(ticket_of(host, id).await) {
            host.pause().await;
        }
    }
}

async fn unlock(host: &Host) {
    if host.has("release-first") {
        return;
    }
    host.release(ticket(host, host.id), 0).await;
    if !host.has("release-not-flushed") {
        host.persist(ticket(host, host.id)).await;
    }
}

/// What the lock guards.
async fn count(host: &Host) {
    let [first, second] = COUNTERS.map(line);
    if !host.has("data-kept") {
        host.invalidate(first).await;
        host.invalidate(second).await;
    }
    let mut count = host.load(first).await;
    let other = host.load(second).await;
    if count != other {
        // Whoever was between the two is gone.
        let somebody_gone = (0..host.hosts).any(|id| host.is_gone(id));
        if !somebody_gone || host.has("not-mended") {
            host.found_broken(second, "the two counters that the lock guards differ");
        }
        count = count.max(other);
    }
    host.store(first, count + 1).await;
    host.flush(first).await;
    if !host.has("relies-on-persistent-flush") {
        host.fence().await;
    }
    host.store(second, count + 1).await;
    if host.has("release-first") {
        host.publish(ticket(host, host.id), 0).await;
    }
    if !host.has("data-not-flushed") {
        host.flush(second).await;
    }
    if !host.has("data-not-fenced") {
        host.fence().await;
    }
}

/// The counters are equal, unless the last who had the lock stopped between them, and nothing that was counted is lost.
fn check(memory: &mut dyn Persistent, left: &Left<'_>) -> Result<(), Broken> {
    if left.is_given_up() {
        return Ok(());
    }
    let [first, second] = COUNTERS.map(|n| memory.word(line(n)));
    let ended: u64 = left.ended.iter().sum();
    let stopped = left.stopped();
    if first < ended || first > ended + stopped {
        return Err(Broken::new(
            line(COUNTERS[0]),
            format!("{first} was counted, and {ended} times the lock was had"),
        ));
    }
    // The first counter is stored first: who counts on after a power failure takes it.
    let behind = left.power_failed && (second..=second + stopped).contains(&first);
    // Of programs that stopped with their host, one at most had the lock.
    let was_between = stopped > 0 && first == second + 1;
    let torn = first != second && !was_between && !behind;
    if torn || (left.alive.iter().all(|alive| *alive) && first != second) {
        return Err(Broken::new(line(COUNTERS[1]), format!("the counters are {first} and {second}")));
    }
    Ok(())
}
