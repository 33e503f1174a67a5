//! A log with one writer and many readers: records in a circle of slots, a tail that tells of them, and for each reader how
//! far it has read, so that the writer knows which slots are free.

use super::{Broken, Host, Left, SharedWorkload, fill, line, shared_params, verify, whole};
use crate::recovery::Persistent;
use protocol::Settings;

const SLOTS: u64 = 4;
const TAIL: u64 = 0;
const FIRST_SLOT: u64 = 8;
const SALT: u64 = 1;
const WRITER: usize = 0;

const BUGS: &[&str] = &[
    "none",
    "record-not-flushed",
    "record-not-fenced",
    "tail-first",
    "tail-not-flushed",
    "reader-keeps-record",
    "reader-keeps-tail",
    "ack-not-flushed",
    "writer-keeps-acks",
    "acks-share-line",
    "relies-on-persistent-flush",
    "recovery-trusts-device",
];

pub(crate) const WORKLOAD: SharedWorkload = SharedWorkload {
    name: "shared-log",
    meaning: "a log with one writer and many readers, in a circle of slots",
    source: "ours",
    params: shared_params!("3" to 8, "12", "records that the writer appends", BUGS),
    lines: |_| (FIRST_SLOT + SLOTS) as usize,
    locks: |_| Vec::new(),
    program: |host| Box::pin(run(host)),
    check,
};

fn slot(n: u64) -> u64 {
    line(FIRST_SLOT + n % SLOTS)
}

/// How far reader `id` has read: a word in a line of its own.
fn ack_at(settings: &Settings, id: usize) -> u64 {
    if settings.text("workload.bug") == "acks-share-line" { line(1) + id as u64 * 8 } else { line(id as u64) }
}

fn ack(host: &Host, id: usize) -> u64 {
    ack_at(&host.settings, id)
}

async fn run(host: Host) {
    if host.id == WRITER {
        write(&host).await;
    } else {
        read(&host).await;
    }
}

async fn write(host: &Host) {
    for n in 0..host.operations() {
        wait_for_room(host, n).await;
        append(host, n).await;
        host.operation_done();
    }
}

/// Every reader that is still there has read what the slot of record `n` holds.
async fn wait_for_room(host: &Host, n: u64) {
    let fresh = !host.has("writer-keeps-acks");
    for reader in 1..host.hosts {
        _ = host.await_word(ack(host, reader), reader, fresh, |read| read + SLOTS > n).await;
    }
}

async fn append(host: &Host, n: u64) {
    fill(host, slot(n), SALT, n + 1).await;
    if host.has("tail-first") {
        host.publish(line(TAIL), n + 1).await;
    }
    if !host.has("record-not-flushed") {
        host.flush(slot(n)).await;
    }
    if !host.has("record-not-fenced") {
        host.fence().await;
    }
    if host.has("tail-not-flushed") {
        host.release(line(TAIL), n + 1).await;
    } else {
        host.publish(line(TAIL), n + 1).await;
    }
}

async fn read(host: &Host) {
    let (mut read, fresh) = (0, !host.has("reader-keeps-tail"));
    while read < host.operations() {
        let Ok(tail) = host.await_word(line(TAIL), WRITER, fresh, |tail| tail > read).await else { return };
        for n in read..tail {
            if !host.has("reader-keeps-record") {
                host.invalidate(slot(n)).await;
            }
            if verify(host, slot(n), SALT).await != n + 1 {
                host.found_broken(slot(n), "the slot does not hold the record that the tail tells of");
            }
        }
        acknowledge(host, tail).await;
        (read..tail).for_each(|_| host.operation_done());
        read = tail;
    }
}

/// A record is read once that is on the device: after a power failure its reader goes on from there.
async fn acknowledge(host: &Host, read: u64) {
    let own = ack(host, host.id);
    host.release(own, read).await;
    if host.has("relies-on-persistent-flush") {
        host.flush(own).await;
    } else if !host.has("ack-not-flushed") {
        host.persist(own).await;
    }
}

/// The tail tells of every append that had ended and of none that had not begun; slots hold whole records of their own; where
/// readers come back, what they had read is acknowledged.
fn check(memory: &mut dyn Persistent, left: &Left<'_>) -> Result<(), Broken> {
    if left.is_given_up() {
        return Ok(());
    }
    let (tail, ended) = (memory.word(line(TAIL)), left.ended[WRITER]);
    if tail < ended || tail > ended + 1 {
        return Err(Broken::new(
            line(TAIL),
            format!("the tail tells of {tail} records, and {ended} were appended"),
        ));
    }
    // The oldest may be half overwritten.
    for n in (tail + 1).saturating_sub(SLOTS)..tail {
        let version = whole(memory, slot(n), SALT)?;
        if version != n + 1 {
            return Err(Broken::new(
                slot(n),
                format!("record {n} is lost: its slot is of version {version}"),
            ));
        }
    }
    check_readers(memory, left)
}

fn check_readers(memory: &mut dyn Persistent, left: &Left<'_>) -> Result<(), Broken> {
    for id in (1..left.ended.len()).filter(|_| left.power_failed) {
        let (at, ended) = (ack_at(left.settings, id), left.ended[id]);
        let read = memory.word(at);
        if read < ended {
            return Err(Broken::new(
                at,
                format!("reader {id} goes on from record {read}, and it had read {ended}"),
            ));
        }
    }
    Ok(())
}
