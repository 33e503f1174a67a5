//! Cores between a fault and the access that it was for: pages are not protected twice before that is made.

/// Where a core is.
#[derive(Clone, Copy, Default)]
struct Fault {
    /// It took a fault, and its access is not made yet.
    is_open: bool,
    /// Pages were protected meanwhile: perhaps what the fault made writable, perhaps while it waited for the lock.
    was_overtaken: bool,
}

/// One for each core. A timer that goes off more often than a fault takes would otherwise keep its store from ever being made.
pub(crate) struct Faulting(Vec<Fault>);

impl Faulting {
    pub(crate) fn new(cores: usize) -> Faulting {
        Faulting(vec![Fault::default(); cores])
    }

    /// A core takes a fault.
    pub(crate) fn begin(&mut self, core: usize) {
        self.0[core].is_open = true;
    }

    /// A core makes its access. Costs each access a look at one word.
    pub(crate) fn end(&mut self, core: usize) {
        if self.0[core].is_open {
            self.0[core] = Fault::default();
        }
    }

    /// Pages are protected again.
    pub(crate) fn overtake(&mut self) {
        self.0.iter_mut().for_each(|fault| fault.was_overtaken |= fault.is_open);
    }

    /// Whether that was done before a core could make the access that it waits with.
    pub(crate) fn is_overtaken(&self) -> bool {
        self.0.iter().any(|fault| fault.was_overtaken)
    }
}
