//! A ring between two hosts: one puts messages in, the other takes them out; each tells the other how far it is.

use super::{Broken, Host, Left, SharedWorkload, fill, line, shared_params, verify, whole};
use crate::recovery::Persistent;
use protocol::Settings;

const SLOTS: u64 = 4;
const TAIL: u64 = 0;
const HEAD: u64 = 1;
const FIRST_SLOT: u64 = 2;
const SALT: u64 = 2;
const PRODUCER: usize = 0;
const CONSUMER: usize = 1;

const BUGS: &[&str] = &[
    "none",
    "message-not-flushed",
    "message-not-fenced",
    "tail-first",
    "tail-not-flushed",
    "head-not-flushed",
    "consumer-keeps-message",
    "consumer-keeps-tail",
    "producer-keeps-head",
    "head-first",
    "ends-share-line",
    "relies-on-persistent-flush",
    "recovery-trusts-device",
];

pub(crate) const WORKLOAD: SharedWorkload = SharedWorkload {
    name: "shared-ring",
    meaning: "a ring of messages from one host to another",
    source: "Lamport's queue of one producer and one consumer (1983), with write-backs",
    params: shared_params!("2" to 2, "16", "messages", BUGS),
    lines: |_| (FIRST_SLOT + SLOTS) as usize,
    locks: |_| Vec::new(),
    program: |host| Box::pin(run(host)),
    check,
};

fn slot(n: u64) -> u64 {
    line(FIRST_SLOT + n % SLOTS)
}

fn head_at(settings: &Settings) -> u64 {
    if settings.text("workload.bug") == "ends-share-line" { line(TAIL) + 8 } else { line(HEAD) }
}

fn head(host: &Host) -> u64 {
    head_at(&host.settings)
}

async fn run(host: Host) {
    if host.id == PRODUCER {
        produce(&host).await;
    } else {
        consume(&host).await;
    }
}

async fn produce(host: &Host) {
    let fresh = !host.has("producer-keeps-head");
    for n in 0..host.operations() {
        if host.await_word(head(host), CONSUMER, fresh, |head| head + SLOTS > n).await.is_err() {
            return;
        }
        fill(host, slot(n), SALT, n + 1).await;
        if host.has("tail-first") {
            host.publish(line(TAIL), n + 1).await;
        }
        if !host.has("message-not-flushed") {
            host.flush(slot(n)).await;
        }
        if !host.has("message-not-fenced") {
            host.fence().await;
        }
        host.release(line(TAIL), n + 1).await;
        if !host.has("tail-not-flushed") {
            host.persist(line(TAIL)).await;
        }
        host.operation_done();
    }
}

async fn consume(host: &Host) {
    let fresh = !host.has("consumer-keeps-tail");
    for n in 0..host.operations() {
        if host.await_word(line(TAIL), PRODUCER, fresh, |tail| tail > n).await.is_err() {
            return;
        }
        if host.has("head-first") {
            host.publish(head(host), n + 1).await;
        }
        if !host.has("consumer-keeps-message") {
            host.invalidate(slot(n)).await;
        }
        if verify(host, slot(n), SALT).await != n + 1 {
            host.found_broken(slot(n), "the slot does not hold the message that the tail tells of");
        }
        host.release(head(host), n + 1).await;
        if host.has("relies-on-persistent-flush") {
            host.flush(head(host)).await;
        } else if !host.has("head-not-flushed") {
            host.persist(head(host)).await;
        }
        host.operation_done();
    }
}

/// The tail tells of every message that was sent, the head of no more than were taken; what lies between is whole.
fn check(memory: &mut dyn Persistent, left: &Left<'_>) -> Result<(), Broken> {
    if left.is_given_up() {
        return Ok(());
    }
    let (tail, sent) = (memory.word(line(TAIL)), left.ended[PRODUCER]);
    if tail < sent || tail > sent + 1 {
        return Err(Broken::new(
            line(TAIL),
            format!("the tail tells of {tail} messages, and {sent} were sent"),
        ));
    }
    let at = head_at(left.settings);
    let (head, taken) = (memory.word(at), left.ended[CONSUMER]);
    if head < taken || head > taken + 1 {
        return Err(Broken::new(at, format!("the head tells of {head} messages, and {taken} were taken")));
    }
    for n in head..tail {
        let version = whole(memory, slot(n), SALT)?;
        if version != n + 1 {
            return Err(Broken::new(
                slot(n),
                format!("message {n} is lost: its slot is of version {version}"),
            ));
        }
    }
    Ok(())
}
