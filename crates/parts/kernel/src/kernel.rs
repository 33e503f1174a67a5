//! A core in the kernel.

use crate::Kernel;
use protocol::words::MAPPING_LOCK;
use protocol::{Cpu, FenceKind, Order};
use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use units::Dur;

/// How long a core computes before it looks whether another waits for it.
pub(crate) const INTERRUPTIBLE: Dur = Dur::ns(500);

/// What the kernel does on a core.
pub type Task = Pin<Box<dyn Future<Output = ()>>>;

/// One core in the kernel, with the tables that all share.
pub struct Entered<S> {
    /// The core.
    pub cpu: Cpu,
    /// Its number.
    pub core: usize,
    /// The tables.
    pub shared: Rc<RefCell<S>>,
}

impl<S: Kernel> Entered<S> {
    /// Another core takes a page away: this core's stores are done before it goes on.
    pub fn answer(self) -> Task {
        Box::pin(async move { self.finish_stores().await })
    }

    async fn finish_stores(&self) {
        self.cpu.fence(FenceKind::Mfence).await;
        self.shared.borrow_mut().cores()[self.core].asked = false;
    }

    /// A computation, which is interrupted when another core takes a page away.
    pub fn compute(self, time: Dur) -> Task {
        Box::pin(async move {
            let mut left = time;
            while left > Dur::ZERO {
                let part = left.min(INTERRUPTIBLE);
                self.cpu.compute(part).await;
                left = left - part;
                let asked = self.shared.borrow_mut().cores()[self.core].asked;
                if asked {
                    self.finish_stores().await;
                }
            }
        })
    }

    /// Enters the kernel: the store buffer is drained, and nobody needs to ask this core.
    pub async fn enter(&self) {
        self.cpu.fence(FenceKind::Mfence).await;
        self.stores_done(true);
    }

    /// Leaves it.
    pub fn leave(&self) {
        self.stores_done(false);
    }

    fn stores_done(&self, done: bool) {
        let mut shared = self.shared.borrow_mut();
        let state = &mut shared.cores()[self.core];
        (state.stores_done, state.asked) = (done, state.asked && !done);
    }

    /// Takes the mapping lock, looking again after each `pause`. Gives whether it had to wait for another core.
    pub async fn lock(&self, pause: Dur) -> bool {
        let mut waited = false;
        while self.cpu.load_acquire(MAPPING_LOCK).await != 0
            || self.cpu.compare_exchange(MAPPING_LOCK, 0, 1, Order::Acquire).await != 0
        {
            waited = true;
            self.cpu.compute(pause).await;
        }
        waited
    }

    /// Gives it back.
    pub async fn unlock(&self) {
        self.cpu.store_release(MAPPING_LOCK, 0).await;
    }

    /// Removes every translation of `pages`, and waits for the stores of the cores that are not in the kernel. Gives how
    /// many cores had to be asked.
    pub async fn unmap(&self, pages: &[u32]) -> usize {
        let asked = {
            let mut shared = self.shared.borrow_mut();
            let cores = shared.cores();
            for (_, core) in (0..).zip(cores.iter_mut()).filter(|(id, _)| *id != self.core) {
                core.asked |= !core.stores_done;
            }
            for core in cores.iter_mut() {
                pages.iter().for_each(|page| core.translations.forget(*page));
            }
            cores.iter().filter(|core| core.asked).count()
        };
        while self.shared.borrow_mut().cores().iter().any(|core| core.asked) {
            self.cpu.compute(Dur::ns(50)).await;
        }
        asked
    }
}
