//! The driver's steps as a core carries them out: every load, store, flush and wait is the core's own.

use crate::command::{Acknowledgement, CpCommand, cp_line};
use crate::driver::{Begin, Driver, FaultId, Step};
use crate::firmware::PAGE_LINES;
use crate::shared_driver::{Shared, SharedDriverSpec};
use kernel::{Entered, Task};
use protocol::{FenceKind, FlushKind, Op, OpKind, Order};
use units::Dur;

/// An access without a translation.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) page: u32,
    pub(crate) write: bool,
    pub(crate) why: Why,
}

/// Why there is none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// The page is in the page table.
    Walk,
    /// It is in a slot, and not in the page table.
    FirstTouch,
    /// It is in no slot.
    Missing,
}

/// How long a core that waits for the lock computes before it looks again.
const SPIN: Dur = Dur::ns(50);

/// A page fault, or a page that this core has no translation of.
pub(crate) fn fault(entered: Entered<Shared>, fault: Fault) -> Task {
    Box::pin(async move { Driving(entered).handle(fault).await })
}

/// One core in the driver.
struct Driving(Entered<Shared>);

impl std::ops::Deref for Driving {
    type Target = Entered<Shared>;
    fn deref(&self) -> &Entered<Shared> {
        &self.0
    }
}

impl Driving {
    async fn handle(&self, fault: Fault) {
        let spec = self.shared.borrow().spec;
        if fault.why == Why::Walk {
            self.cpu.compute(spec.walk).await;
            self.shared.borrow_mut().map(self.core, fault.page);
            return;
        }
        self.enter().await;
        let time = self.shared.borrow_mut().fault_time();
        self.cpu.compute(time).await;
        if fault.why == Why::Missing {
            self.cpu.compute(spec.replace).await;
            self.bring(fault.page, fault.write, spec.poll).await;
        }
        self.leave();
        if self.shared.borrow().io_errors[self.core].failed {
            return;
        }
        self.map(fault.page, &spec).await;
    }

    /// Puts a page into the page table, under the lock where there is a driver.
    async fn map(&self, page: u32, spec: &SharedDriverSpec) {
        if self.shared.borrow().driver.is_none() {
            self.shared.borrow_mut().map(self.core, page);
            return;
        }
        if self.lock(SPIN).await {
            self.cpu.compute(spec.handoff).await;
        }
        self.cpu.compute(spec.map).await;
        self.shared.borrow_mut().map(self.core, page);
        self.unlock().await;
    }

    /// Puts a page into a slot, unless another core does.
    async fn bring(&self, page: u32, write: bool, pause: Dur) {
        loop {
            let begun = self.driver(|driver| driver.begin(page, write));
            match begun {
                None | Some(Begin::Mapped) => return,
                Some(Begin::Busy) => _ = self.cpu.compute(pause).await,
                Some(Begin::Fault(id)) => return self.lead(id, pause).await,
            }
        }
    }

    async fn lead(&self, id: FaultId, pause: Dur) {
        loop {
            let step = self.driver(|driver| driver.next(id)).flatten();
            match step {
                None | Some(Step::Mapped { .. }) => return,
                Some(Step::Failed) => return self.report(),
                Some(Step::Wait) => _ = self.cpu.compute(pause).await,
                Some(Step::Unmap { page }) => {
                    self.shared.borrow_mut().unmap(page);
                    self.unmap(&[page]).await;
                }
                Some(Step::Flush { slot } | Step::Invalidate { slot }) => self.flush(slot).await,
                Some(Step::Zero { slot }) => self.zero(slot).await,
                Some(Step::Note { index, word }) => self.note(index, word).await,
                Some(Step::Post { place, command }) => {
                    let answer = self.post(place, command, pause).await;
                    if answer.failed {
                        self.driver(|driver| driver.failed(id, answer.written_back));
                    }
                }
                Some(Step::Delay) => {
                    let delay = self.shared.borrow().spec.delay;
                    self.cpu.compute(delay).await;
                }
            }
        }
    }

    /// Asks the driver; only a page that is in no slot leads to it, and so there is one.
    fn driver<T>(&self, ask: impl FnOnce(&mut Driver) -> T) -> Option<T> {
        self.shared.borrow_mut().driver.as_mut().map(ask)
    }

    fn report(&self) {
        self.shared.borrow_mut().io_errors[self.core].failed = true;
    }

    /// Writes a slot's lines back and drops them: x86 has no instruction that only drops.
    async fn flush(&self, slot: u32) {
        let first = self.slot_address(slot);
        for line in 0..PAGE_LINES {
            self.drop_line(first + line * 64).await;
        }
        self.cpu.fence(FenceKind::Sfence).await;
    }

    fn slot_address(&self, slot: u32) -> u64 {
        self.shared.borrow().slot_address(slot)
    }

    async fn drop_line(&self, address: u64) {
        let kind = OpKind::Flush(FlushKind::Clflush);
        self.cpu.op(Op { kind, address, size: 1, order: Order::Plain, value: 0 }).await;
    }

    async fn zero(&self, slot: u32) {
        let first = self.slot_address(slot);
        for word in 0..PAGE_LINES * 8 {
            self.cpu.store_nontemporal(first + word * 8, 0).await;
        }
        self.cpu.fence(FenceKind::Sfence).await;
    }

    async fn note(&self, index: u32, word: u64) {
        let address = self.slot_address(1) + u64::from(index) * 8;
        self.cpu.store(address, word).await;
        self.drop_line(address).await;
        self.cpu.fence(FenceKind::Sfence).await;
    }

    /// A command, and its acknowledgement. The device sees nothing of the caches, nor they of it.
    async fn post(&self, place: usize, command: CpCommand, pause: Dur) -> Acknowledgement {
        let at = self.slot_address(0) + cp_line(place) * 64;
        let [first, second] = command.to_words();
        self.cpu.store(at + 8, second).await;
        self.cpu.store(at, first).await;
        self.drop_line(at).await;
        self.cpu.fence(FenceKind::Sfence).await;
        loop {
            self.cpu.compute(pause).await;
            self.drop_line(at + 64).await;
            self.cpu.fence(FenceKind::Mfence).await;
            let word = self.cpu.load(at + 64).await;
            if let Some(answer) = command.answer(word) {
                return answer;
            }
        }
    }
}
