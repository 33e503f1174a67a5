//! The driver's steps as a hart carries them out: every load, store, flush and wait is the hart's own.

use crate::command::{Acknowledgement, CpCommand, cp_line};
use crate::driver::{Begin, FaultId, Step};
use crate::firmware::PAGE_LINES;
use crate::host::{Kernel, Shared, page_address};
use protocol::{Cpu, DRAM_BASE, FenceKind, FlushKind, Op, OpKind, Order, PM_BASE};
use std::cell::RefCell;
use std::rc::Rc;
use units::Dur;

/// The mapping lock: a word of DRAM behind the barrier's.
const LOCK: u64 = DRAM_BASE + 128;

/// An access without a translation.
#[derive(Clone, Copy)]
pub(crate) struct Fault {
    pub(crate) page: u32,
    pub(crate) write: bool,
    /// The page is in no slot.
    pub(crate) missing: bool,
}

/// One hart in the driver.
struct Entered {
    cpu: Cpu,
    hart: usize,
    shared: Rc<RefCell<Shared>>,
}

/// Another hart takes a page away: this hart's stores are done before it goes on.
pub(crate) fn answer(cpu: &Cpu, hart: usize, shared: &Rc<RefCell<Shared>>) -> Kernel {
    let (cpu, shared) = (cpu.clone(), Rc::clone(shared));
    Box::pin(async move {
        cpu.fence(FenceKind::Mfence).await;
        shared.borrow_mut().harts[hart].asked = false;
    })
}

/// How long a hart computes before it looks whether another waits for it.
pub(crate) const INTERRUPTIBLE: Dur = Dur::ns(500);

/// A computation, which is interrupted when another hart takes a page away.
pub(crate) fn compute(cpu: &Cpu, hart: usize, shared: &Rc<RefCell<Shared>>, time: Dur) -> Kernel {
    let (cpu, shared) = (cpu.clone(), Rc::clone(shared));
    Box::pin(async move {
        let mut left = time;
        while left > Dur::ZERO {
            let part = left.min(INTERRUPTIBLE);
            cpu.work(part).await;
            left = left - part;
            let asked = shared.borrow().harts[hart].asked;
            if asked {
                answer(&cpu, hart, &shared).await;
            }
        }
    })
}

/// A page fault, or a page that this hart has no translation of.
pub(crate) fn fault(cpu: &Cpu, hart: usize, shared: &Rc<RefCell<Shared>>, fault: Fault) -> Kernel {
    let entered = Entered { cpu: cpu.clone(), hart, shared: Rc::clone(shared) };
    Box::pin(async move { entered.handle(fault).await })
}

impl Entered {
    async fn handle(&self, fault: Fault) {
        let spec = self.shared.borrow().spec;
        if fault.missing {
            // Entering the kernel drains the store buffer.
            self.cpu.fence(FenceKind::Mfence).await;
            self.quiet(true);
            self.cpu.work(spec.fault).await;
            self.bring(fault.page, fault.write, spec.poll).await;
            self.quiet(false);
            if self.shared.borrow().harts[self.hart].io_error {
                return;
            }
        }
        self.lock(spec.poll).await;
        self.cpu.work(spec.map).await;
        self.shared.borrow_mut().map(self.hart, fault.page);
        self.unlock().await;
    }

    fn quiet(&self, quiet: bool) {
        let state = &mut self.shared.borrow_mut().harts[self.hart];
        (state.quiet, state.asked) = (quiet, state.asked && !quiet);
    }

    async fn lock(&self, pause: Dur) {
        while self.cpu.load_acquire(LOCK).await != 0
            || self.cpu.compare_exchange(LOCK, 0, 1, Order::Acquire).await != 0
        {
            self.cpu.work(pause).await;
        }
    }

    async fn unlock(&self) {
        self.cpu.store_release(LOCK, 0).await;
    }

    /// Puts a page into a slot, unless another hart does.
    async fn bring(&self, page: u32, write: bool, pause: Dur) {
        loop {
            let begun = self.shared.borrow_mut().driver.begin(page, write);
            match begun {
                Begin::Mapped => return,
                Begin::Busy => _ = self.cpu.work(pause).await,
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
                Some(Step::Wait) => _ = self.cpu.work(pause).await,
                Some(Step::Unmap { page }) => self.unmap(page).await,
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
                    self.cpu.work(delay).await;
                }
            }
        }
    }

    fn report(&self) {
        self.shared.borrow_mut().harts[self.hart].io_error = true;
    }

    /// Removes every translation of a page, and waits for the stores of the harts that are not in the driver.
    async fn unmap(&self, page: u32) {
        {
            let harts = &mut self.shared.borrow_mut().harts;
            for (_, hart) in (0..).zip(harts.iter_mut()).filter(|(id, _)| *id != self.hart) {
                hart.asked |= !hart.quiet;
            }
            harts.iter_mut().for_each(|hart| hart.forget(page));
        }
        while self.shared.borrow().harts.iter().any(|hart| hart.asked) {
            self.cpu.work(Dur::ns(50)).await;
        }
    }

    /// Writes a slot's lines back and drops them: x86 has no instruction that only drops.
    async fn flush(&self, slot: u32) {
        for line in 0..PAGE_LINES {
            self.drop_line(page_address(slot) + line * 64).await;
        }
        self.cpu.fence(FenceKind::Sfence).await;
    }

    async fn drop_line(&self, address: u64) {
        let kind = OpKind::Flush(FlushKind::Clflush);
        self.cpu.op(Op { kind, address, size: 1, order: Order::Plain, value: 0 }).await;
    }

    async fn zero(&self, slot: u32) {
        for word in 0..PAGE_LINES * 8 {
            self.cpu.store_nontemporal(page_address(slot) + word * 8, 0).await;
        }
        self.cpu.fence(FenceKind::Sfence).await;
    }

    async fn note(&self, index: u32, word: u64) {
        let address = page_address(1) + u64::from(index) * 8;
        self.cpu.store(address, word).await;
        self.drop_line(address).await;
        self.cpu.fence(FenceKind::Sfence).await;
    }

    /// A command, and its acknowledgement. The device sees nothing of the caches, nor they of it.
    async fn post(&self, place: usize, command: CpCommand, pause: Dur) -> Acknowledgement {
        let at = PM_BASE + cp_line(place) * 64;
        let [first, second] = command.to_words();
        self.cpu.store(at + 8, second).await;
        self.cpu.store(at, first).await;
        self.drop_line(at).await;
        self.cpu.fence(FenceKind::Sfence).await;
        loop {
            self.cpu.work(pause).await;
            self.drop_line(at + 64).await;
            self.cpu.fence(FenceKind::Mfence).await;
            let word = self.cpu.load(at + 64).await;
            let answer = Acknowledgement::from_word(word).filter(|a| a.phase == command.phase);
            if let Some(answer) = answer {
                return answer;
            }
        }
    }
}
