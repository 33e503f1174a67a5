//! A host as its program sees it: where several of its cores take part, each is one.

use protocol::{Access, Cpu, FenceKind, Settings, Site};
use std::rc::Rc;
use units::{Dur, Time};

/// Who knows which hosts are still there: a fabric manager, who fences a host off before he says that it is gone.
pub trait Membership {
    /// Whether `host` is gone, as far as `asker` is told by now.
    fn is_gone(&self, asker: usize, host: usize) -> bool;

    /// The program of `host` has seen at `site` that a word is not what it must be.
    fn found_broken(&self, host: usize, address: u64, what: &str, site: Site);
}

/// A host: its core behind caches of its own, and who the others are.
#[derive(Clone)]
pub struct Host {
    cpu: Cpu,
    /// Its number, from zero.
    pub id: usize,
    /// How many there are.
    pub hosts: usize,
    /// The parameters of the workload.
    pub settings: Rc<Settings>,
    members: Rc<dyn Membership>,
    /// Read at every step of a program.
    bug: Rc<str>,
    operations: u64,
}

/// A host that a program waits for is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// How long a program waits before it looks again.
const PAUSE: Dur = Dur::ns(200);

impl Host {
    /// Host `id` of `hosts`.
    pub fn new(
        cpu: Cpu,
        (id, hosts): (usize, usize),
        settings: Rc<Settings>,
        members: Rc<dyn Membership>,
    ) -> Host {
        let (bug, operations) =
            (settings.text("workload.bug").into(), settings.number("workload.operations"));
        Host { cpu, id, hosts, settings, members, bug, operations }
    }

    /// Whether the mistake called `bug` is seeded.
    pub(crate) fn has(&self, bug: &str) -> bool {
        *self.bug == *bug
    }

    /// What was asked for.
    pub(crate) fn operations(&self) -> u64 {
        self.operations
    }

    /// Loads a word of data.
    #[track_caller]
    pub(crate) fn load(&self, address: u64) -> Access<'_> {
        self.cpu.load(address)
    }

    /// Stores a word of data.
    #[track_caller]
    pub(crate) fn store(&self, address: u64, value: u64) -> Access<'_> {
        self.cpu.store(address, value)
    }

    /// Loads a word that tells of others.
    #[track_caller]
    pub(crate) fn acquire(&self, address: u64) -> Access<'_> {
        self.cpu.load_acquire(address)
    }

    /// Stores a word that tells of others.
    #[track_caller]
    pub(crate) fn release(&self, address: u64, value: u64) -> Access<'_> {
        self.cpu.store_release(address, value)
    }

    /// Begins to write a line back (clwb).
    #[track_caller]
    pub(crate) fn flush(&self, address: u64) -> Access<'_> {
        self.cpu.clwb(address)
    }

    /// Drops the host's copy of a line, written back where it is dirty (clflushopt).
    #[track_caller]
    pub(crate) fn invalidate(&self, address: u64) -> Access<'_> {
        self.cpu.write_back_invalidate(address)
    }

    /// Waits until what was flushed is on the device.
    #[track_caller]
    pub(crate) fn fence(&self) -> Access<'_> {
        self.cpu.fence(FenceKind::Sfence)
    }

    /// Waits a little before another look.
    #[track_caller]
    pub(crate) fn pause(&self) -> Access<'_> {
        self.cpu.compute(PAUSE)
    }

    /// Writes a line back and waits for it.
    #[track_caller]
    pub(crate) fn persist(&self, address: u64) -> impl Future<Output = ()> + '_ {
        let (flush, fence) = (self.flush(address), self.fence());
        async move {
            flush.await;
            fence.await;
        }
    }

    /// Stores a word that tells of others, and waits until it is on the device.
    #[track_caller]
    pub(crate) fn publish(&self, address: u64, value: u64) -> impl Future<Output = ()> + '_ {
        let (store, persist) = (self.release(address, value), self.persist(address));
        async move {
            store.await;
            persist.await;
        }
    }

    /// Loads a word that tells of others, as the device has it where `fresh`.
    #[track_caller]
    pub(crate) fn look(&self, address: u64, fresh: bool) -> impl Future<Output = u64> + '_ {
        let (drop, load) = (self.invalidate(address), self.acquire(address));
        async move {
            if fresh {
                drop.await;
            }
            load.await
        }
    }

    /// Looks until the word is as wanted, or `of` is gone and it will not change any more.
    #[track_caller]
    pub(crate) fn await_word<'a>(
        &'a self,
        address: u64,
        of: usize,
        fresh: bool,
        wanted: impl Fn(u64) -> bool + 'a,
    ) -> impl Future<Output = Result<u64, Gone>> + 'a {
        let site = std::panic::Location::caller();
        async move {
            loop {
                // Asked first: what a host that is gone has stored is there by now, or lost.
                let gone = self.is_gone(of);
                if fresh {
                    self.invalidate(address).at(site).await;
                }
                let value = self.acquire(address).at(site).await;
                if wanted(value) {
                    return Ok(value);
                }
                if gone {
                    return Err(Gone);
                }
                self.pause().at(site).await;
            }
        }
    }

    /// Whether another host is gone.
    pub(crate) fn is_gone(&self, host: usize) -> bool {
        self.members.is_gone(self.id, host)
    }

    /// The host's clock.
    pub(crate) fn now(&self) -> Time {
        self.cpu.now()
    }

    /// An operation of the program has ended.
    pub(crate) fn operation_done(&self) {
        self.cpu.operation_done();
    }

    /// The program has seen that a word is not what it must be.
    #[track_caller]
    pub(crate) fn found_broken(&self, address: u64, what: &str) {
        self.members.found_broken(self.id, address, what, std::panic::Location::caller());
    }
}
