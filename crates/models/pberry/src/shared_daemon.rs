//! What stands between a program and its core: translations, page walks, and faults that run the daemon on the core.

use crate::command::Layout;
use crate::daemon::Daemon;
use crate::dirty::DirtyWindows;
use crate::faulting::Faulting;
use crate::faults::{self, Miss};
use crate::local_tier;
use crate::spec::{Kind, Prefetch};
use crate::stats::DaemonStats;
use crate::uses::{UseSpec, Using};
use kernel::{Caller, CoreState, Kernel, Port, Step};
use protocol::{AddressMap, Cpu, Op, OpKind, PAGE_BYTES, PM_BASE, StatSink};
use std::cell::RefCell;
use std::rc::Rc;
use units::{Dur, Time};

/// Times and sizes of the cores' side.
#[derive(Clone, Copy, Debug)]
pub struct SharedDaemonSpec {
    /// Cores.
    pub cores: usize,
    /// Translations that a core keeps.
    pub translations: usize,
    /// From a page fault to the handler and back, with everything that is not loads, stores and the network.
    pub fault: Dur,
    /// The same of a fault at a protected page.
    pub write_fault: Dur,
    /// Dropping a core's own translations.
    pub invalidate: Dur,
    /// Interrupting other cores to drop theirs.
    pub shootdown: Dur,
    /// For each of them.
    pub shootdown_core: Dur,
    /// Between two looks at something that is waited for.
    pub poll: Dur,
    /// How long software waits for the remote host.
    pub give_up: Dur,
    /// Length of a window of tracking.
    pub window: Dur,
    /// Every so often all local pages are protected against writes again; never for zero.
    pub protect: Dur,
    /// Finding and changing the entry of one of them.
    pub protect_page: Dur,
    /// Which addresses of programs are remote, and its place among the machine's memories.
    pub addresses: AddressMap,
    /// See there.
    pub index: usize,
}

/// What the cores share.
pub(crate) struct Shared {
    pub(crate) spec: SharedDaemonSpec,
    pub(crate) layout: Layout,
    pub(crate) daemon: Daemon,
    pub(crate) cores: Vec<CoreState>,
    error: Option<String>,
    dirty: DirtyWindows,
    walks: u64,
    /// Programs that have not ended.
    running: usize,
    /// When pages are protected again; never while they are.
    protects_at: Time,
    /// The same after that.
    protects_next: Time,
    pub(crate) protected: Protected,
    pub(crate) faulting: Faulting,
    uses: Option<Using>,
    use_spec: UseSpec,
}

/// Protecting all pages against writes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Protected {
    pub(crate) times: u64,
    pub(crate) pages: u64,
    pub(crate) time: Dur,
}

impl Kernel for Shared {
    fn cores(&mut self) -> &mut [CoreState] {
        &mut self.cores
    }

    fn error(&mut self) -> &mut Option<String> {
        &mut self.error
    }

    fn before(&mut self, caller: &Caller<Shared>, op: &Op) -> Step {
        let now = caller.cpu.now();
        if now >= self.protects_at && !self.faulting.is_overtaken() {
            self.protects_next = now + self.spec.protect;
            self.protects_at = Time::NEVER;
            return Step::Enter(faults::protect(caller.enter()));
        }
        let has_address = !matches!(op.kind, OpKind::Compute | OpKind::Await | OpKind::Fence(_));
        if !has_address || !self.spec.addresses.is_of(self.spec.index, op.address) {
            return Step::Issue(op.address);
        }
        let wait = self.uses.as_mut().map_or(Dur::ZERO, Using::take_wait);
        if wait > Dur::ZERO {
            return Step::Enter(caller.enter().compute(wait));
        }
        let offset = op.address - PM_BASE;
        let page = match self.page(caller.core, offset) {
            Ok(page) => page,
            Err(error) => return Step::Fail(error),
        };
        let write = op.kind.writes();
        let place = self.cores[caller.core].translations.find(page);
        match place.filter(|place| place & 1 == 1 || !write) {
            Some(place) => {
                self.faulting.end(caller.core);
                let near = (place >> 1).checked_sub(1).map(|frame| local_tier::address(frame, offset));
                Step::Issue(near.unwrap_or(op.address))
            }
            None => {
                self.walks += 1;
                Step::Enter(faults::walk(caller.enter(), Miss { page, write }))
            }
        }
    }

    /// What the operation stored is noted, and where memory is used for more, that it was made.
    fn after(&mut self, core: &Cpu, op: &Op, answer: u64) {
        if !self.spec.addresses.is_of(self.spec.index, op.address) {
            return;
        }
        let offset = op.address - PM_BASE;
        let stored = match op.kind {
            OpKind::Store | OpKind::StoreNonTemporal => Some(op.value),
            OpKind::Rmw(kind) => kind.apply(answer, op.value),
            OpKind::Load | OpKind::Prefetch => None,
            OpKind::Flush(_) | OpKind::Fence(_) | OpKind::Compute | OpKind::Await => return,
        };
        if let Some(uses) = &mut self.uses {
            let (page, index) = (offset / PAGE_BYTES, offset % PAGE_BYTES / 64);
            uses.accessed(core.now(), page as u32, index as u32, stored.is_some());
        }
        if let Some(value) = stored {
            self.dirty.store(core.now(), offset, op.size, value);
        }
    }
}

impl Shared {
    /// The page that a core accesses, in pages of the tables.
    fn page(&self, core: usize, offset: u64) -> Result<u32, String> {
        let pages = u64::from(self.layout.pages);
        if offset / PAGE_BYTES < pages {
            return Ok((offset / PAGE_BYTES) as u32 / self.daemon.spec().span);
        }
        let mib = (pages * PAGE_BYTES) >> 20;
        Err(format!("core {core} accesses byte {offset} of {mib} MiB of remote memory (remote.capacity_mib)"))
    }

    /// Pages have been protected. What fell due meanwhile is left out, or cores would do nothing else.
    pub(crate) fn is_protected(&mut self, now: Time) {
        self.protects_at =
            if self.protects_next > now { self.protects_next } else { now + self.spec.protect };
    }

    /// The remote host does not answer.
    pub(crate) fn give_up(&mut self, page: u32) {
        let waited = self.spec.give_up.as_ns();
        self.error.get_or_insert(format!(
            "I/O error: the remote host has not answered for {waited} ns (remote.give_up_ns); page {page} cannot be reached"
        ));
    }
}

/// The daemon with its tables, as a machine's cores share it.
#[derive(Clone)]
pub struct SharedDaemon(Rc<RefCell<Shared>>);

impl SharedDaemon {
    /// Over `daemon`, with nothing mapped.
    pub fn new(spec: SharedDaemonSpec, layout: Layout, daemon: Daemon, uses: &UseSpec) -> SharedDaemon {
        let kind = daemon.spec().kind;
        SharedDaemon(Rc::new(RefCell::new(Shared {
            cores: vec![CoreState::new(spec.translations); spec.cores],
            error: None,
            dirty: DirtyWindows::new(spec.window),
            walks: 0,
            running: 0,
            protects_at: if spec.protect == Dur::ZERO { Time::NEVER } else { Time::ZERO + spec.protect },
            protects_next: Time::NEVER,
            protected: Protected::default(),
            faulting: Faulting::new(spec.cores),
            uses: Some(kind).filter(|k| *k == Kind::Pages).and_then(|k| Using::new(uses, k)),
            use_spec: uses.clone(),
            spec,
            layout,
            daemon,
        })))
    }

    /// The handle for a program on core `core`, whose own handle is `cpu`.
    pub fn cpu(&self, core: usize, cpu: &Cpu) -> Cpu {
        let mut shared = self.0.borrow_mut();
        shared.running += 1;
        drop(shared);
        Port::cpu(cpu, core, &self.0)
    }

    /// A program has ended, its stores being done: nobody needs to ask its core.
    pub fn leave(&self, core: usize) {
        let mut shared = self.0.borrow_mut();
        shared.cores[core].leave();
        shared.running -= 1;
        if shared.running == 0 {
            shared.dirty.finish();
        }
    }

    /// The region of interest begins.
    pub fn begin_uses(&self, now: Time) {
        let shared = &mut *self.0.borrow_mut();
        shared.dirty.begin();
        shared.uses.iter_mut().for_each(|u| u.begin(&shared.use_spec, now));
    }

    /// A part of the region of interest begins or ends, and with it a window.
    pub(crate) fn next_window(&self, now: Time) {
        self.0.borrow_mut().dirty.next_window(now);
    }

    /// Whether [`SharedDaemon::error`] has something to tell.
    pub fn has_failed(&self) -> bool {
        self.0.borrow().error.is_some()
    }

    /// What ended a program: an access beyond remote memory, or a host that does not answer.
    pub fn error(&self) -> Option<String> {
        self.0.borrow().error.clone()
    }

    /// Pages by how many of their lines were stored to in a window, 0 to 64.
    pub fn lines_per_page(&self) -> [u64; 65] {
        *self.0.borrow().dirty.lines_per_page()
    }

    /// Pages in the processor's memory: their number, and where each lies.
    pub fn local_pages(&self) -> Vec<(u32, u64)> {
        let pages = self.0.borrow().daemon.local_tier.pages();
        pages.into_iter().map(|(page, frame)| (page, local_tier::address(frame, 0))).collect()
    }

    /// Hands up what the daemon counted, and what programs changed by `now`.
    pub fn stats(&self, now: Time, sink: &mut dyn StatSink) {
        let shared = &mut *self.0.borrow_mut();
        let (counts, near) = (shared.daemon.counts, &shared.daemon.local_tier);
        let protected = Some(shared.protected).filter(|_| shared.spec.protect > Dur::ZERO);
        let spec = shared.daemon.spec();
        let (places, prefetches) = (spec.local_frames > 0, spec.prefetch != Prefetch::None);
        let counted = DaemonStats {
            major_faults: counts.major,
            write_faults: counts.write,
            shootdowns: counts.shootdowns,
            page_walks: shared.walks,
            protections: protected.map(|p| p.times),
            protected_pages: protected.map(|p| p.pages),
            protect_time: protected.map(|p| p.time),
            reclaimed: counts.reclaimed,
            placed: places.then_some(near.placements),
            returned: places.then_some(near.returns),
            prefetched: prefetches.then_some(counts.prefetched),
        };
        counted.hand_up(sink);
        shared.dirty.stats(now, sink);
        shared.uses.iter().for_each(|u| u.stats(sink));
    }
}
