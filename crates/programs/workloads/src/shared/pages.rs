//! A pool of pages with reference counts that are kept host by host, since hosts have no atomic operations between them. The
//! owner retires a page, waits until nobody has it pinned, writes the next generation of it, and makes it ready again.
//!
//! A reader pins before it looks whether the page is retired, the owner retires before it looks at pins: each waits for its own
//! word to be on the device before it reads the other's. Where the owner stops in the midst of it, the first host that is
//! still there and has not left takes the page over.

use super::{Broken, Host, Left, SharedWorkload, fill, line, shared_params, verify, whole};
use crate::recovery::Persistent;

const PAGES: u64 = 2;
const STATES: u64 = 0;
const DATA: u64 = 2;
const LEFT: u64 = 4;
const PINS: u64 = 12;
const SALT: u64 = 4;
const OWNER: usize = 0;

const BUGS: &[&str] = &[
    "none",
    "pin-not-flushed",
    "pins-kept",
    "pins-share-line",
    "unpin-not-flushed",
    "page-not-flushed",
    "page-not-fenced",
    "page-kept",
    "ready-first",
    "state-kept",
    "no-takeover",
    "waits-for-the-gone",
    "relies-on-persistent-flush",
    "recovery-trusts-device",
];

pub(crate) const WORKLOAD: SharedWorkload = SharedWorkload {
    name: "shared-pages",
    meaning: "a pool of pages with reference counts, and their takeover from an owner that stopped",
    source: "ours",
    params: shared_params!("3" to 8, "6", "pages that each host reads, or writes as their owner", BUGS),
    lines: |_| (PINS + 8 * PAGES) as usize,
    locks: |_| Vec::new(),
    program: |host| Box::pin(run(host)),
    check,
};

/// Twice the generation, and one where the page is retired.
fn state(page: u64) -> u64 {
    line(STATES + page)
}

fn data(page: u64) -> u64 {
    line(DATA + page)
}

fn left(id: usize) -> u64 {
    line(LEFT + id as u64)
}

fn pin(host: &Host, id: usize, page: u64) -> u64 {
    if host.has("pins-share-line") {
        line(PINS + page) + id as u64 * 8
    } else {
        line(PINS + id as u64 * PAGES + page)
    }
}

async fn run(host: Host) {
    for n in 0..host.operations() {
        if host.id == OWNER {
            renew(&host, n % PAGES, n / PAGES).await;
        } else {
            read(&host, n % PAGES).await;
        }
        host.operation_done();
    }
    host.publish(left(host.id), 1).await;
}

/// The owner writes the next generation of a page.
async fn renew(host: &Host, page: u64, generation: u64) {
    host.publish(state(page), 2 * generation + 1).await;
    replace(host, page, generation).await;
}

/// Whoever retired the page, or took it over, writes the next generation.
async fn replace(host: &Host, page: u64, generation: u64) {
    for id in (0..host.hosts).filter(|id| *id != host.id) {
        // Nobody asks whether this host itself is gone.
        let of = if host.has("waits-for-the-gone") { host.id } else { id };
        _ = host.await_word(pin(host, id, page), of, !host.has("pins-kept"), |pins| pins == 0).await;
    }
    host.invalidate(data(page)).await;
    fill(host, data(page), SALT, generation + 1).await;
    if host.has("ready-first") {
        host.publish(state(page), 2 * generation + 2).await;
    }
    if !host.has("page-not-flushed") {
        host.flush(data(page)).await;
    }
    if !host.has("page-not-fenced") {
        host.fence().await;
    }
    host.release(state(page), 2 * generation + 2).await;
    host.flush(state(page)).await;
    if !host.has("relies-on-persistent-flush") {
        host.fence().await;
    }
}

async fn read(host: &Host, page: u64) {
    let own = pin(host, host.id, page);
    for tries in 1.. {
        host.release(own, 1).await;
        if !host.has("pin-not-flushed") {
            host.flush(own).await;
        }
        host.fence().await;
        let now = host.look(state(page), !host.has("state-kept")).await;
        if now.is_multiple_of(2) {
            if !host.has("page-kept") {
                host.invalidate(data(page)).await;
            }
            if verify(host, data(page), SALT).await != now / 2 {
                host.found_broken(
                    data(page) + super::VERSION,
                    "the page is not of the generation that is ready",
                );
            }
            return unpin(host, own).await;
        }
        unpin(host, own).await;
        if !host.has("no-takeover") && host.is_gone(OWNER) && is_heir(host).await {
            let now = host.look(state(page), true).await;
            if !now.is_multiple_of(2) {
                replace(host, page, now / 2).await;
            }
        } else {
            // Ever longer: in step with its owner's looks, the page would be found pinned each time.
            for _ in 0..tries {
                host.pause().await;
            }
        }
    }
}

async fn unpin(host: &Host, own: u64) {
    host.release(own, 0).await;
    if !host.has("unpin-not-flushed") {
        host.persist(own).await;
    }
}

/// Whether every host before this one is gone, or has left.
async fn is_heir(host: &Host) -> bool {
    for id in 0..host.id {
        let is_gone = host.is_gone(id);
        if host.look(left(id), true).await == 0 && !is_gone {
            return false;
        }
    }
    true
}

/// A page that is ready is whole, and of the generation that is ready; after a power failure none is of an earlier one than
/// its owner had made ready.
fn check(memory: &mut dyn Persistent, left: &Left<'_>) -> Result<(), Broken> {
    if left.is_given_up() {
        return Ok(());
    }
    for page in 0..PAGES {
        let now = memory.word(state(page));
        let renewed = (left.ended[OWNER] + PAGES - 1 - page) / PAGES;
        if left.power_failed && now / 2 < renewed {
            let text = format!("page {page} is of generation {}, and {renewed} were made ready", now / 2);
            return Err(Broken::new(state(page), text));
        }
        let retired = !now.is_multiple_of(2);
        if retired && left.alive[OWNER] {
            return Err(Broken::new(state(page), format!("page {page} is retired for ever")));
        }
        if !retired {
            let generation = whole(memory, data(page), SALT)?;
            if generation != now / 2 {
                let text = format!("page {page} is of generation {generation}, and {} is ready", now / 2);
                return Err(Broken::new(data(page) + super::VERSION, text));
            }
        }
    }
    Ok(())
}
