//! A hart in the kernel.

use crate::Kernel;
use protocol::{Cpu, DRAM_BASE, FenceKind, Order};
use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use units::Dur;

/// The mapping lock: a word of DRAM behind the barrier's.
const LOCK: u64 = DRAM_BASE + 128;

/// How long a hart computes before it looks whether another waits for it.
pub(crate) const INTERRUPTIBLE: Dur = Dur::ns(500);

/// What the kernel does on a hart.
pub type Task = Pin<Box<dyn Future<Output = ()>>>;

/// One hart in the kernel, with the tables that all share.
pub struct Entered<S> {
    /// The hart.
    pub cpu: Cpu,
    /// Its number.
    pub hart: usize,
    /// The tables.
    pub shared: Rc<RefCell<S>>,
}

impl<S: Kernel> Entered<S> {
    /// Another hart takes a page away: this hart's stores are done before it goes on.
    pub fn answer(self) -> Task {
        Box::pin(async move { self.finish_stores().await })
    }

    async fn finish_stores(&self) {
        self.cpu.fence(FenceKind::Mfence).await;
        self.shared.borrow_mut().harts()[self.hart].asked = false;
    }

    /// A computation, which is interrupted when another hart takes a page away.
    pub fn compute(self, time: Dur) -> Task {
        Box::pin(async move {
            let mut left = time;
            while left > Dur::ZERO {
                let part = left.min(INTERRUPTIBLE);
                self.cpu.work(part).await;
                left = left - part;
                let asked = self.shared.borrow_mut().harts()[self.hart].asked;
                if asked {
                    self.finish_stores().await;
                }
            }
        })
    }

    /// Enters the kernel: the store buffer is drained, and nobody needs to ask this hart.
    pub async fn enter(&self) {
        self.cpu.fence(FenceKind::Mfence).await;
        self.quiet(true);
    }

    /// Leaves it.
    pub fn leave(&self) {
        self.quiet(false);
    }

    fn quiet(&self, quiet: bool) {
        let mut shared = self.shared.borrow_mut();
        let state = &mut shared.harts()[self.hart];
        (state.quiet, state.asked) = (quiet, state.asked && !quiet);
    }

    /// Takes the mapping lock, looking again after each `pause`.
    pub async fn lock(&self, pause: Dur) {
        while self.cpu.load_acquire(LOCK).await != 0
            || self.cpu.compare_exchange(LOCK, 0, 1, Order::Acquire).await != 0
        {
            self.cpu.work(pause).await;
        }
    }

    /// Gives it back.
    pub async fn unlock(&self) {
        self.cpu.store_release(LOCK, 0).await;
    }

    /// Removes every translation of `pages`, and waits for the stores of the harts that are not in the kernel. Gives how
    /// many harts had to be asked.
    pub async fn unmap(&self, pages: &[u32]) -> usize {
        let asked = {
            let mut shared = self.shared.borrow_mut();
            let harts = shared.harts();
            for (_, hart) in (0..).zip(harts.iter_mut()).filter(|(id, _)| *id != self.hart) {
                hart.asked |= !hart.quiet;
            }
            for hart in harts.iter_mut() {
                pages.iter().for_each(|page| hart.translations.forget(*page));
            }
            harts.iter().filter(|hart| hart.asked).count()
        };
        while self.shared.borrow_mut().harts().iter().any(|hart| hart.asked) {
            self.cpu.work(Dur::ns(50)).await;
        }
        asked
    }
}
