//! The driver's steps as a core carries them out: every load, store, flush and wait is the core's own.

use crate::command::{Acknowledgement, CpCommand, cp_line};
use crate::driver::{Begin, FaultId, Step};
use crate::firmware::PAGE_LINES;
use crate::shared_driver::Shared;
use kernel::{Entered, Task};
use protocol::{FenceKind, FlushKind, Op, OpKind, Order};
use units::Dur;

/// An access without a translation.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) page: u32,
    pub(crate) write: bool,
    /// The page is in no slot.
    pub(crate) missing: bool,
}

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
        if fault.missing {
            self.enter().await;
            self.cpu.compute(spec.fault).await;
            self.bring(fault.page, fault.write, spec.poll).await;
            self.leave();
            if self.shared.borrow().io_errors[self.core].failed {
                return;
            }
        }
        self.lock(spec.poll).await;
        self.cpu.compute(spec.map).await;
        self.shared.borrow_mut().map(self.core, fault.page);
        self.unlock().await;
    }

    /// Puts a page into a slot, unless another core does.
    async fn bring(&self, page: u32, write: bool, pause: Dur) {
        loop {
            let begun = self.shared.borrow_mut().driver.begin(page, write);
            match begun {
                Begin::Mapped => return,
                Begin::Busy => _ = self.cpu.compute(pause).await,
                Begin::Fault(id) => return self.lead(id, pause).await,
            }
        }
    }

    async fn lead(&self, id: FaultId, pause: Dur) {
        loop {
            let step = self.shared.borrow_mut().driver.next(id);
            match step {
                None | Some(Step::Mapped { .. }) => return,
                Some(Step::Failed) => return self.report(),
                Some(Step::Wait) => _ = self.cpu.compute(pause).await,
                Some(Step::Unmap { page }) => _ = self.unmap(&[page]).await,
                Some(Step::Flush { slot } | Step::Invalidate { slot }) => self.flush(slot).await,
                Some(Step::Zero { slot }) => self.zero(slot).await,
                Some(Step::Note { index, word }) => self.note(index, word).await,
                Some(Step::Post { place, command }) => {
                    let answer = self.post(place, command, pause).await;
                    if answer.failed {
                        self.shared.borrow_mut().driver.failed(id, answer.written_back);
                    }
                }
                Some(Step::Delay) => {
                    let delay = self.shared.borrow().spec.delay;
                    self.cpu.compute(delay).await;
                }
            }
        }
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
