//! What stands between a program and its hart: translations, page walks, and faults that run the daemon on the hart.

use crate::command::Layout;
use crate::daemon::Daemon;
use crate::dirty::DirtyWindows;
use crate::kernel::{self, Miss};
use crate::near;
use crate::spec::Kind;
use crate::uses::{UseSpec, Using};
use os::{Entered, HartState, Harts, INTERRUPTIBLE, Task};
use protocol::{Cpu, Op, OpKind, Order, PAGE_BYTES, PM_BASE, Site, StatSink, Translated, Translator};
use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use units::{Dur, Time};

/// Times and sizes of the harts' side.
#[derive(Clone, Copy, Debug)]
pub struct HostSpec {
    /// Harts.
    pub harts: usize,
    /// Translations that a hart keeps.
    pub translations: usize,
    /// From a page fault to the handler and back, with everything that is not loads, stores and the network.
    pub fault: Dur,
    /// The same of a fault at a protected page.
    pub write_fault: Dur,
    /// Dropping a hart's own translations.
    pub invalidate: Dur,
    /// Interrupting other harts to drop theirs.
    pub shootdown: Dur,
    /// For each of them.
    pub shootdown_hart: Dur,
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
}

/// What the harts share.
pub(crate) struct Shared {
    pub(crate) spec: HostSpec,
    pub(crate) layout: Layout,
    pub(crate) daemon: Daemon,
    pub(crate) harts: Vec<HartState>,
    error: Option<String>,
    dirty: DirtyWindows,
    walks: u64,
    /// Programs that have not ended.
    running: usize,
    /// When pages are protected again.
    protects_at: Time,
    pub(crate) protected: Protected,
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

impl Harts for Shared {
    fn harts(&mut self) -> &mut [HartState] {
        &mut self.harts
    }
}

impl Shared {
    /// The remote host does not answer.
    pub(crate) fn give_up(&mut self, page: u32) {
        let waited = self.spec.give_up.as_ns();
        self.error.get_or_insert(format!(
            "I/O error: the remote host has not answered for {waited} ns (remote.give_up_ns); page {page} cannot be reached"
        ));
    }
}

/// The daemon with its tables, as a machine's harts share it.
#[derive(Clone)]
pub struct Host(Rc<RefCell<Shared>>);

impl Host {
    /// Over `daemon`, with nothing mapped.
    pub fn new(spec: HostSpec, layout: Layout, daemon: Daemon, uses: &UseSpec) -> Host {
        let kind = daemon.spec().kind;
        Host(Rc::new(RefCell::new(Shared {
            harts: vec![HartState::new(spec.translations); spec.harts],
            error: None,
            dirty: DirtyWindows::new(spec.window),
            walks: 0,
            running: 0,
            protects_at: if spec.protect == Dur::ZERO { Time::NEVER } else { Time::ZERO + spec.protect },
            protected: Protected::default(),
            uses: Some(kind).filter(|k| *k == Kind::Pages).and_then(|k| Using::new(uses, k)),
            use_spec: uses.clone(),
            spec,
            layout,
            daemon,
        })))
    }

    /// The handle for a program on hart `hart`, whose own handle is `cpu`.
    pub fn cpu(&self, hart: usize, cpu: &Cpu) -> Cpu {
        let mut shared = self.0.borrow_mut();
        shared.harts[hart].quiet = false;
        shared.running += 1;
        drop(shared);
        let port = Port { id: hart, shared: Rc::clone(&self.0), state: RefCell::default() };
        Translated::cpu(cpu.clone(), port)
    }

    /// A program has ended, its stores being done: nobody needs to ask its hart.
    pub fn leave(&self, hart: usize) {
        let mut shared = self.0.borrow_mut();
        shared.harts[hart].leave();
        shared.running -= 1;
        if shared.running == 0 {
            shared.dirty.finish();
        }
    }

    /// The part that counts begins.
    pub fn begin_uses(&self, now: Time) {
        let shared = &mut *self.0.borrow_mut();
        shared.dirty.begin();
        shared.uses.iter_mut().for_each(|u| u.begin(&shared.use_spec, now));
    }

    /// Whether [`Host::error`] has something to tell.
    pub fn has_failed(&self) -> bool {
        self.0.borrow().error.is_some()
    }

    /// What ended a program: an access beyond remote memory, or a host that does not answer.
    pub fn error(&self) -> Option<String> {
        self.0.borrow().error.clone()
    }

    /// Pages by how many of their lines were stored to in a window, 0 to 64.
    pub fn lines_a_page(&self) -> [u64; 65] {
        *self.0.borrow().dirty.lines_a_page()
    }

    /// Pages in the processor's memory: their number, and where each lies.
    pub fn near(&self) -> Vec<(u32, u64)> {
        let pages = self.0.borrow().daemon.near.pages();
        pages.into_iter().map(|(page, frame)| (page, near::address(frame, 0))).collect()
    }

    /// Hands up what the daemon counted, and what programs changed.
    pub fn stats(&self, sink: &mut dyn StatSink) {
        let shared = self.0.borrow();
        let counts = shared.daemon.counts;
        for (name, value) in [
            ("os.major_faults", counts.major),
            ("os.write_faults", counts.write),
            ("os.shootdowns", counts.shootdowns),
            ("os.page_walks", shared.walks),
            ("os.protections", shared.protected.times),
            ("os.protected_pages", shared.protected.pages),
            ("remote.pages_reclaimed", counts.reclaimed),
            ("remote.pages_placed", shared.daemon.near.placements),
            ("remote.pages_returned", shared.daemon.near.returns),
            ("remote.pages_prefetched", counts.prefetched),
        ] {
            sink.count(name, value);
        }
        sink.time("os.protect_time", shared.protected.time);
        shared.dirty.stats(sink);
        shared.uses.iter().for_each(|u| u.stats(sink));
    }
}

#[derive(Default)]
struct PortState {
    /// The hart has this operation, and has not ended it.
    under_way: bool,
    kernel: Option<Task>,
    /// The kernel has carried out the computation that the program asks for.
    computed: bool,
    /// Where the operation goes instead: a page in the processor's memory.
    moved: Option<u64>,
}

/// A program's handle: translation before the hart.
struct Port {
    id: usize,
    shared: Rc<RefCell<Shared>>,
    state: RefCell<PortState>,
}

fn writes(op: &Op) -> bool {
    matches!(op.kind, OpKind::Store | OpKind::StoreNonTemporal | OpKind::Rmw(_))
}

impl Port {
    /// The machine ends: this hart does nothing any more.
    fn halt(hart: &Cpu) {
        let (kind, value) = (OpKind::Work, Dur::ns(1_000_000_000).as_ps());
        let sleep = Op { kind, address: 0, size: 1, order: Order::Plain, value };
        _ = hart.port().poll(&sleep);
    }

    /// Does everything that comes before the operation; whether anything is left of it.
    fn prepare(&self, hart: &Cpu, op: &Op, state: &mut PortState) -> Poll<bool> {
        let entered = || Entered::new(hart, self.id, &self.shared);
        loop {
            if let Some(kernel) = &mut state.kernel {
                if kernel.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                    return Poll::Pending;
                }
                state.kernel = None;
            }
            let mut shared = self.shared.borrow_mut();
            if shared.error.is_some() {
                Self::halt(hart);
                return Poll::Pending;
            }
            if shared.harts[self.id].asked {
                state.kernel = Some(entered().answer());
                continue;
            }
            if op.kind == OpKind::Work && op.value > INTERRUPTIBLE.as_ps() {
                if std::mem::take(&mut state.computed) {
                    return Poll::Ready(false);
                }
                state.computed = true;
                state.kernel = Some(entered().compute(Dur::ps(op.value)));
                continue;
            }
            if hart.now() >= shared.protects_at {
                shared.protects_at = hart.now() + shared.spec.protect;
                state.kernel = Some(kernel::protect(entered()));
                continue;
            }
            if matches!(op.kind, OpKind::Work | OpKind::Fence(_)) || op.address < PM_BASE {
                return Poll::Ready(true);
            }
            let wait = shared.uses.as_mut().map_or(Dur::ZERO, Using::take_wait);
            if wait > Dur::ZERO {
                state.kernel = Some(entered().compute(wait));
                continue;
            }
            let offset = op.address - PM_BASE;
            let Some(page) = self.page(offset, &mut shared) else { continue };
            let place = shared.harts[self.id].translations.find(page);
            match place.filter(|place| place & 1 == 1 || !writes(op)) {
                Some(place) => {
                    state.moved = (place >> 1).checked_sub(1).map(|frame| near::address(frame, offset));
                    return Poll::Ready(true);
                }
                None => {
                    shared.walks += 1;
                    state.kernel = Some(kernel::walk(entered(), Miss { page, write: writes(op) }));
                }
            }
        }
    }

    fn page(&self, offset: u64, shared: &mut Shared) -> Option<u32> {
        let pages = shared.layout.pages;
        if offset / PAGE_BYTES < pages.into() {
            return Some((offset / PAGE_BYTES) as u32 / shared.daemon.spec().span);
        }
        shared.error = Some(format!(
            "hart {} accesses byte {offset} of {} MiB of remote memory (remote.capacity_mib)",
            self.id,
            (u64::from(pages) * PAGE_BYTES) >> 20
        ));
        None
    }

    /// The operation is done: what it stored is noted, and where memory is used for more, that it was made.
    fn note(&self, hart: &Cpu, op: &Op, answer: u64) {
        let Some(offset) = op.address.checked_sub(PM_BASE) else { return };
        let mut shared = self.shared.borrow_mut();
        let stored = match op.kind {
            OpKind::Store | OpKind::StoreNonTemporal => Some(op.value),
            OpKind::Rmw(kind) => kind.apply(answer, op.value),
            OpKind::Load | OpKind::Touch => None,
            _ => return,
        };
        if let Some(uses) = &mut shared.uses {
            let (page, index) = (offset / PAGE_BYTES, offset % PAGE_BYTES / 64);
            uses.accessed(hart.now(), page as u32, index as u32, stored.is_some());
        }
        if let Some(value) = stored {
            shared.dirty.store(hart.now(), offset, op.size, value);
        }
    }
}

impl Translator for Port {
    fn poll_at(&self, hart: &Cpu, op: &Op, site: Site) -> Poll<u64> {
        let mut state = self.state.borrow_mut();
        if !state.under_way {
            state.moved = None;
            match self.prepare(hart, op, &mut state) {
                Poll::Ready(true) => {}
                Poll::Ready(false) => return Poll::Ready(0),
                Poll::Pending => return Poll::Pending,
            }
        }
        let there = Op { address: state.moved.unwrap_or(op.address), ..*op };
        let answer = hart.port().poll_at(&there, site);
        state.under_way = answer.is_pending();
        if let Poll::Ready(answer) = answer {
            self.note(hart, op, answer);
        }
        answer
    }

    fn catches_io_errors(&self) {}

    fn take_io_error(&self) -> bool {
        false
    }
}
