//! What stands between a program and its core: everything that the kernel does before an operation.

use crate::{CoreState, Entered, INTERRUPTIBLE, Task};
use protocol::{Activity, Cpu, Op, OpKind, Order, Site, Translated, Translator};
use std::cell::RefCell;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use units::Dur;

/// Tables of a kernel that all cores share, and what it does before an operation of a program.
pub trait Kernel: Sized + 'static {
    /// The cores' states, by number.
    fn cores(&mut self) -> &mut [CoreState];

    /// Where a message goes that ends the machine.
    fn error(&mut self) -> &mut Option<String>;

    /// What comes before `op`; asked again after each [`Step::Enter`].
    fn before(&mut self, caller: &Caller<Self>, op: &Op) -> Step;

    /// The core has carried `op` out, as the program said it, with this answer.
    fn after(&mut self, _core: &Cpu, _op: &Op, _answer: u64) {}

    /// The program on a core looks for I/O errors.
    fn catches_io_errors(&mut self, _core: usize) {}

    /// A program maps its memory anew: no page of it is in the page table.
    fn maps_anew(&mut self) {}

    /// Whether a core has met one since it was asked last.
    fn take_io_error(&mut self, _core: usize) -> bool {
        false
    }
}

/// A program's core, which may enter the kernel. Asking before an operation costs nothing that only entering needs.
pub struct Caller<'a, K> {
    /// The core.
    pub cpu: &'a Cpu,
    /// Its number.
    pub core: usize,
    shared: &'a Rc<RefCell<K>>,
}

impl<K> Caller<'_, K> {
    /// The core in the kernel.
    pub fn enter(&self) -> Entered<K> {
        Entered { cpu: self.cpu.clone(), core: self.core, shared: Rc::clone(self.shared) }
    }
}

/// What comes before an operation of a program.
pub enum Step {
    /// The kernel does something on the core.
    Enter(Task),
    /// Nothing: the core carries the operation out at this address.
    Issue(u64),
    /// Nothing, and nothing is left of the operation.
    Done,
    /// The machine ends with this message.
    Fail(String),
}

#[derive(Default)]
struct PortState {
    /// The core has this operation, translated, and has not ended it.
    under_way: Option<Op>,
    kernel: Option<Task>,
    /// The kernel has carried out the computation that the program asks for.
    computed: bool,
    /// What the program's time is charged to when the kernel is done, while it is not.
    charged: Option<Option<Activity>>,
}

/// A program's handle: the kernel before the core.
pub struct Port<K> {
    id: usize,
    shared: Rc<RefCell<K>>,
    state: RefCell<PortState>,
}

impl<K: Kernel> Port<K> {
    /// The handle for a program on core `id`, whose own handle is `core`.
    pub fn cpu(core: &Cpu, id: usize, shared: &Rc<RefCell<K>>) -> Cpu {
        shared.borrow_mut().cores()[id].stores_done = false;
        Translated::cpu(core.clone(), Port { id, shared: Rc::clone(shared), state: RefCell::default() })
    }

    /// The machine ends: this core does nothing any more.
    fn halt(core: &Cpu) {
        let (kind, value) = (OpKind::Compute, Dur::ns(1_000_000_000).as_ps());
        let sleep = Op { kind, address: 0, size: 1, order: Order::Plain, value };
        _ = core.port().poll(&sleep);
    }

    /// The operation as the core has to carry it out, once everything that comes before is done; none where nothing is
    /// left of it.
    fn prepare(&self, core: &Cpu, op: &Op, state: &mut PortState) -> Poll<Option<Op>> {
        loop {
            if let Some(kernel) = &mut state.kernel {
                if kernel.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                    return Poll::Pending;
                }
                state.kernel = None;
                if let Some(before) = state.charged.take() {
                    core.port().charge(before);
                }
            }
            let mut shared = self.shared.borrow_mut();
            if shared.error().is_some() {
                Self::halt(core);
                return Poll::Pending;
            }
            match self.step(core, op, state, &mut shared) {
                Step::Enter(task) => {
                    // What the program asked for itself stays its own.
                    if !state.computed {
                        state.charged = Some(core.port().charge(Some(Activity::Kernel)));
                    }
                    state.kernel = Some(task);
                }
                Step::Issue(address) => return Poll::Ready(Some(Op { address, ..*op })),
                Step::Done => return Poll::Ready(None),
                Step::Fail(error) => *shared.error() = Some(error),
            }
        }
    }

    /// Another core's question comes first, then what the kernel has to do; a long computation can be interrupted.
    fn step(&self, core: &Cpu, op: &Op, state: &mut PortState, shared: &mut K) -> Step {
        let caller = Caller { cpu: core, core: self.id, shared: &self.shared };
        if shared.cores()[self.id].asked {
            return Step::Enter(caller.enter().answer());
        }
        if op.kind == OpKind::Compute && op.value > INTERRUPTIBLE.as_ps() {
            if std::mem::take(&mut state.computed) {
                return Step::Done;
            }
            state.computed = true;
            return Step::Enter(caller.enter().compute(Dur::ps(op.value)));
        }
        shared.before(&caller, op)
    }
}

impl<K: Kernel> Translator for Port<K> {
    fn poll_at(&self, core: &Cpu, op: &Op, site: Site) -> Poll<u64> {
        let mut state = self.state.borrow_mut();
        let translated = match state.under_way {
            Some(op) => op,
            None => match self.prepare(core, op, &mut state) {
                Poll::Ready(Some(op)) => op,
                Poll::Ready(None) => return Poll::Ready(0),
                Poll::Pending => return Poll::Pending,
            },
        };
        let answer = core.port().poll_at(&translated, site);
        state.under_way = answer.is_pending().then_some(translated);
        if let Poll::Ready(answer) = answer {
            self.shared.borrow_mut().after(core, op, answer);
        }
        answer
    }

    fn catches_io_errors(&self) {
        self.shared.borrow_mut().catches_io_errors(self.id);
    }

    fn take_io_error(&self) -> bool {
        self.shared.borrow_mut().take_io_error(self.id)
    }

    fn maps_anew(&self) {
        self.shared.borrow_mut().maps_anew();
    }
}
