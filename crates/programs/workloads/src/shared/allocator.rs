//! An allocator of blocks that hosts lease from one of them, the manager. A lease ends when its holder gives the block back, or
//! when the fabric manager has fenced the holder off: never by time alone, since a host that was only slow would go on to write.
//!
//! A host's request is odd when it wants a block and even when it gives one back; the reply to it names the block and the
//! version that the block has. Who holds a block writes the next version into it.

use super::{Broken, Host, Left, SharedWorkload, fill, line, shared_params, verify, whole};
use crate::recovery::Persistent;
use protocol::Settings;
use units::{Dur, Time};

const REQUESTS: u64 = 0;
const REPLIES: u64 = 8;
const FIRST_BLOCK: u64 = 16;
const SALT: u64 = 3;
const MANAGER: usize = 0;
/// Words of a reply after the request that it answers.
const BLOCK: u64 = 8;
const VERSION: u64 = 16;
/// How long a lease is, where one ends by time.
const LEASE: Dur = Dur::ns(4_000);

const BUGS: &[&str] = &[
    "none",
    "block-not-flushed",
    "block-not-fenced",
    "return-first",
    "block-kept",
    "request-not-flushed",
    "requests-kept",
    "requests-share-line",
    "reply-not-flushed",
    "reply-kept",
    "lease-by-time",
    "lease-never-ends",
    "relies-on-persistent-flush",
    "recovery-trusts-device",
];

pub(crate) const WORKLOAD: SharedWorkload = SharedWorkload {
    name: "shared-allocator",
    meaning: "blocks that hosts lease from one of them",
    source: "ours",
    params: shared_params!("3" to 8, "6", "leases that each host takes", BUGS),
    lines: |settings: &Settings| (FIRST_BLOCK + blocks(super::programs(settings) as u64)) as usize,
    locks: |_| Vec::new(),
    program: |host| Box::pin(run(host)),
    check,
};

/// Blocks: one fewer than hosts that want one, where there are several.
fn blocks(hosts: u64) -> u64 {
    (hosts - 1).saturating_sub(1).max(1)
}

fn request_at(settings: &Settings, id: usize) -> u64 {
    if settings.text("workload.bug") == "requests-share-line" {
        line(REQUESTS) + id as u64 * 8
    } else {
        line(REQUESTS + id as u64)
    }
}

fn request(host: &Host, id: usize) -> u64 {
    request_at(&host.settings, id)
}

fn reply(id: usize) -> u64 {
    line(REPLIES + id as u64)
}

fn block_at(block: u64) -> u64 {
    line(FIRST_BLOCK + block)
}

async fn run(host: Host) {
    if host.id == MANAGER {
        Manager::new(&host).serve().await;
    } else {
        lease_and_return(&host).await;
    }
}

async fn ask(host: &Host, number: u64) {
    host.release(request(host, host.id), number).await;
    if host.has("relies-on-persistent-flush") {
        host.flush(request(host, host.id)).await;
    } else if !host.has("request-not-flushed") {
        host.persist(request(host, host.id)).await;
    }
}

async fn lease_and_return(host: &Host) {
    let own = reply(host.id);
    for n in 0..host.operations() {
        ask(host, 2 * n + 1).await;
        let fresh = !host.has("reply-kept");
        if host.await_word(own, MANAGER, fresh, |answered| answered == 2 * n + 1).await.is_err() {
            return;
        }
        let block = block_at(host.load(own + BLOCK).await);
        let version = host.load(own + VERSION).await;
        if !host.has("block-kept") {
            host.invalidate(block).await;
        }
        if verify(host, block, SALT).await != version {
            host.found_broken(block, "the block is not of the version that the lease names");
        }
        fill(host, block, SALT, version + 1).await;
        if host.has("return-first") {
            ask(host, 2 * n + 2).await;
        }
        if !host.has("block-not-flushed") {
            host.flush(block).await;
        }
        if !host.has("block-not-fenced") {
            host.fence().await;
        }
        if !host.has("return-first") {
            ask(host, 2 * n + 2).await;
        }
        host.operation_done();
    }
}

/// A block that somebody has.
#[derive(Clone, Copy)]
struct Lease {
    holder: usize,
    since: Time,
}

struct Block {
    version: u64,
    lease: Option<Lease>,
}

struct Manager<'a> {
    host: &'a Host,
    blocks: Vec<Block>,
    /// The request of each host that was served last.
    served: Vec<u64>,
}

impl<'a> Manager<'a> {
    fn new(host: &'a Host) -> Manager<'a> {
        let free = |_| Block { version: 0, lease: None };
        let blocks = (0..blocks(host.hosts as u64)).map(free).collect();
        Manager { host, blocks, served: vec![0; host.hosts] }
    }

    async fn serve(&mut self) {
        let last = 2 * self.host.operations();
        let mut gone = vec![false; self.host.hosts];
        while (1..self.host.hosts).any(|id| !gone[id] && self.served[id] < last) {
            for id in (1..self.host.hosts).filter(|id| !gone[*id]).collect::<Vec<_>>() {
                let is_gone = self.host.is_gone(id);
                let asked = self.host.look(request(self.host, id), !self.host.has("requests-kept")).await;
                if asked != self.served[id] {
                    self.answer(id, asked).await;
                }
                if is_gone {
                    gone[id] = true;
                    self.end_leases(id).await;
                }
            }
            self.host.pause().await;
        }
    }

    async fn answer(&mut self, id: usize, asked: u64) {
        if !self.served[id].is_multiple_of(2) {
            // Whoever asks anew has given back what it had.
            let returned = self.blocks.iter_mut().find(|b| b.lease.is_some_and(|l| l.holder == id));
            returned.into_iter().for_each(|block| (block.lease, block.version) = (None, block.version + 1));
            self.served[id] += 1;
        }
        if asked == self.served[id] {
            return;
        }
        let (now, by_time) = (self.host.now(), self.host.has("lease-by-time"));
        let is_over = |lease: &Lease| by_time && now.since(lease.since) > LEASE;
        let Some(free) = self.blocks.iter().position(|b| b.lease.as_ref().is_none_or(is_over)) else {
            return;
        };
        let block = &mut self.blocks[free];
        block.lease = Some(Lease { holder: id, since: now });
        self.served[id] = asked;
        let (at, version) = (reply(id), block.version);
        self.host.store(at + BLOCK, free as u64).await;
        self.host.store(at + VERSION, version).await;
        self.host.release(at, asked).await;
        if !self.host.has("reply-not-flushed") {
            self.host.persist(at).await;
        }
    }

    /// What a host that is gone had is free again, and whole.
    async fn end_leases(&mut self, id: usize) {
        if self.host.has("lease-never-ends") {
            return;
        }
        let had = |block: &Block| block.lease.is_some_and(|l| l.holder == id);
        for n in 0..self.blocks.len() {
            if had(&self.blocks[n]) {
                let (at, version) = (block_at(n as u64), self.blocks[n].version + 1);
                self.host.invalidate(at).await;
                fill(self.host, at, SALT, version).await;
                self.host.persist(at).await;
                self.blocks[n] = Block { version, lease: None };
            }
        }
    }
}

/// A lease as recovery finds it.
struct Recovered {
    block: u64,
    version: u64,
    is_held: bool,
}

/// After a power failure every lease that had ended is known to have, and what was given back is whole, unless somebody has it
/// again.
fn check_leases(memory: &mut dyn Persistent, left: &Left<'_>) -> Result<(), Broken> {
    let hosts = 1..left.ended.len();
    for id in hosts.clone() {
        let (at, ended) = (request_at(left.settings, id), left.ended[id]);
        let asked = memory.word(at);
        if asked < 2 * ended {
            let text = format!("host {id} has given back {} leases, and {ended} had ended", asked / 2);
            return Err(Broken::new(at, text));
        }
    }
    // Of who asks anew the reply may be half of the next one.
    let leases: Vec<Recovered> = hosts
        .filter_map(|id| {
            let (asked, answered) = (memory.word(request_at(left.settings, id)), memory.word(reply(id)));
            let [block, version] = [BLOCK, VERSION].map(|word| memory.word(reply(id) + word));
            let is_whole = answered > 0 && asked.saturating_sub(answered) < 2;
            // A manager on the same host sees what was asked, and answers, before it is on the device.
            is_whole.then_some(Recovered { block, version, is_held: asked <= answered })
        })
        .collect();
    for block in 0..blocks(left.ended.len() as u64) {
        let of_block = leases.iter().filter(|lease| lease.block == block);
        if of_block.clone().any(|lease| lease.is_held) {
            continue;
        }
        let returned = of_block.map(|lease| lease.version + 1).max().unwrap_or(0);
        let version = whole(memory, block_at(block), SALT)?;
        if version < returned {
            let text =
                format!("block {block} is of version {version}, and version {returned} was given back");
            return Err(Broken::new(block_at(block) + super::VERSION, text));
        }
    }
    Ok(())
}

/// Blocks are whole where nobody stopped in the midst of writing one, and of as many versions as leases were given back.
fn check(memory: &mut dyn Persistent, left: &Left<'_>) -> Result<(), Broken> {
    if left.is_given_up() {
        return Ok(());
    }
    if left.power_failed {
        return check_leases(memory, left);
    }
    if left.stopped() > 0 {
        return Ok(());
    }
    let returned: u64 = left.ended[1..].iter().sum();
    let mut versions = 0;
    for block in 0..blocks(left.ended.len() as u64) {
        versions += whole(memory, block_at(block), SALT)?;
    }
    if versions == returned {
        return Ok(());
    }
    Err(Broken::new(
        block_at(0) + super::VERSION,
        format!("{returned} leases were given back, and blocks are of {versions} versions"),
    ))
}
