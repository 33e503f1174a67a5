//! A superblock that hosts change in turn: two copies of two lines each, of which one is active, and a token that tells whose turn
//! it is. A change goes to the other copy, which then becomes the active one. Where the host whose turn it is has stopped,
//! the next one that is still there takes its turn for it.

use super::{Broken, Host, Left, SharedWorkload, fill, line, shared_params, verify, whole};
use crate::recovery::Persistent;
use protocol::Settings;

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
    "relies-on-persistent-flush",
    "recovery-trusts-device",
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
fn copy(settings: &Settings, version: u64, n: u64) -> u64 {
    let other = settings.text("workload.bug") != "in-place" && !version.is_multiple_of(2);
    line(COPIES + u64::from(other) * LINES + n)
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
        let at = copy(&host.settings, version, n);
        if !host.has("copy-kept") {
            host.invalidate(at).await;
        }
        if verify(host, at, SALT).await != version {
            host.found_broken(at + super::VERSION, "the active copy is not of the active version");
        }
    }
    write(host, version + 1).await;
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
    if host.has("relies-on-persistent-flush") {
        host.flush(line(TOKEN)).await;
    } else if !host.has("token-not-flushed") {
        host.persist(line(TOKEN)).await;
    }
}

async fn write(host: &Host, version: u64) {
    for n in 0..LINES {
        let at = copy(&host.settings, version, n);
        host.invalidate(at).await;
        fill(host, at, SALT, version).await;
    }
    if !host.has("active-first") {
        persist_copy(host, version).await;
    }
}

async fn persist_copy(host: &Host, version: u64) {
    for n in 0..LINES {
        if !host.has("copy-not-flushed") {
            host.flush(copy(&host.settings, version, n)).await;
        }
    }
    host.fence().await;
}

/// The active copy is whole and of the active version, and no change is lost; after a power failure nobody's turn comes again.
fn check(memory: &mut dyn Persistent, left: &Left<'_>) -> Result<(), Broken> {
    if left.is_given_up() {
        return Ok(());
    }
    let active = memory.word(line(ACTIVE));
    let ended: u64 = left.ended.iter().sum();
    let stopped = left.stopped();
    if active < ended || active > ended + stopped {
        return Err(Broken::new(
            line(ACTIVE),
            format!("version {active} is active, and {ended} changes were made"),
        ));
    }
    for n in 0..LINES {
        let at = copy(left.settings, active, n);
        let version = whole(memory, at, SALT)?;
        if version != active {
            let text = format!("the active copy is of version {version}, and {active} is active");
            return Err(Broken::new(at + super::VERSION, text));
        }
    }
    let hosts = left.ended.len() as u64;
    let turns = left.ended.iter().zip(0..).filter(|(ended, _)| **ended > 0);
    let next = turns.map(|(ended, id)| (ended - 1) * hosts + id + 1).max().unwrap_or(0);
    let token = memory.word(line(TOKEN));
    if left.power_failed && token < next {
        let text = format!("turn {token} is next, and turn {} had been taken", next - 1);
        return Err(Broken::new(line(TOKEN), text));
    }
    Ok(())
}
