//! A superblock that hosts change in turn: two copies of two lines each, of which one is active, and a token that tells whose turn
//! it is. A change goes to the other copy, which then becomes the active one. Where the host whose turn it is has stopped,
//! the next one that is still there takes its turn for it.

use super::{Broken, Host, Left, SharedWorkload, fill, line, shared_params, verify, whole};
use crate::recovery::Persistent;

const TOKEN: u64 = 0;
const ACTIVE: u64 = 1;
const COPIES: u64 = 2;
/// Lines of a copy.
const LINES: u64 = 2;
const SALT: u64 = 5;

const BUGS: &[&str] = &[
    "none",
    "copy-not-flushed",
    "copy-kept",
    "active-first",
    "active-not-flushed",
    "active-kept",
    "token-not-flushed",
    "token-kept",
    "token-first",
    "in-place",
    "no-takeover",
];

pub(crate) const WORKLOAD: SharedWorkload = SharedWorkload {
    name: "shared-superblock",
    meaning: "a superblock in two copies that hosts change in turn",
    source: "ours",
    params: shared_params!("3" to 8, "4", "changes that each host makes", BUGS),
    lines: |_| (COPIES + 2 * LINES) as usize,
    locks: |_| Vec::new(),
    program: |host| Box::pin(run(host)),
    check,
};

/// Line `n` of the copy that version `version` is in.
fn copy(version: u64, n: u64) -> u64 {
    line(COPIES + version % 2 * LINES + n)
}

async fn run(host: Host) {
    for round in 0..host.operations() {
        let turn = round * host.hosts as u64 + host.id as u64;
        wait_for(&host, turn).await;
        change(&host, turn).await;
        host.operation_done();
    }
}

/// Until the token tells of this turn, or of one of hosts that are all gone up to this one.
async fn wait_for(host: &Host, turn: u64) {
    loop {
        let gone: Vec<bool> = (0..host.hosts).map(|id| host.is_gone(id)).collect();
        let token = host.look(line(TOKEN), !host.has("token-kept")).await;
        let is_gone = |turn: u64| gone[(turn % host.hosts as u64) as usize] && !host.has("no-takeover");
        if (token..turn).all(is_gone) {
            return;
        }
        host.pause().await;
    }
}

async fn change(host: &Host, turn: u64) {
    let version = host.look(line(ACTIVE), !host.has("active-kept")).await;
    for n in 0..LINES {
        if !host.has("copy-kept") {
            host.invalidate(copy(version, n)).await;
        }
        if verify(host, copy(version, n), SALT).await != version {
            host.found_broken(
                copy(version, n) + super::VERSION,
                "the active copy is not of the active version",
            );
        }
    }
    write(host, version, if host.has("in-place") { version } else { version + 1 }).await;
    if host.has("token-first") {
        host.publish(line(TOKEN), turn + 1).await;
    }
    host.release(line(ACTIVE), version + 1).await;
    if !host.has("active-not-flushed") {
        host.persist(line(ACTIVE)).await;
    }
    if host.has("active-first") {
        persist_copy(host, version + 1).await;
    }
    host.release(line(TOKEN), turn + 1).await;
    if !host.has("token-not-flushed") {
        host.persist(line(TOKEN)).await;
    }
}

/// Writes the version after `version` into the copy that version `of` is in.
async fn write(host: &Host, version: u64, of: u64) {
    for n in 0..LINES {
        host.invalidate(copy(of, n)).await;
        fill(host, copy(of, n), SALT, version + 1).await;
    }
    if !host.has("active-first") {
        persist_copy(host, of).await;
    }
}

async fn persist_copy(host: &Host, of: u64) {
    for n in 0..LINES {
        if !host.has("copy-not-flushed") {
            host.flush(copy(of, n)).await;
        }
    }
    host.fence().await;
}

/// The active copy is whole and of the active version, and no change is lost.
fn check(memory: &mut dyn Persistent, left: &Left<'_>) -> Result<(), Broken> {
    let active = memory.word(line(ACTIVE));
    let ended: u64 = left.ended.iter().sum();
    let stopped = left.alive.iter().filter(|alive| !**alive).count() as u64;
    if active < ended || active > ended + stopped {
        return Err(Broken::new(
            line(ACTIVE),
            format!("version {active} is active, and {ended} changes were made"),
        ));
    }
    for n in 0..LINES {
        let version = whole(memory, copy(active, n), SALT)?;
        if version != active {
            let text = format!("the active copy is of version {version}, and {active} is active");
            return Err(Broken::new(copy(active, n) + super::VERSION, text));
        }
    }
    Ok(())
}
