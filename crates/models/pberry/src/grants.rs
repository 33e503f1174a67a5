//! Stores that a fault let through: pages are not protected under the same store for ever.

/// What a core's fault was answered with.
#[derive(Clone, Copy, Default)]
struct Grant {
    /// A page may be written, and the store is not made yet.
    is_open: bool,
    /// Pages were protected before it was made.
    was_taken_back: bool,
}

/// One for each core. A timer that goes off more often than a fault takes would otherwise keep a store from ever being made.
pub(crate) struct Grants(Vec<Grant>);

impl Grants {
    pub(crate) fn new(cores: usize) -> Grants {
        Grants(vec![Grant::default(); cores])
    }

    /// A core's fault made its page writable.
    pub(crate) fn give(&mut self, core: usize) {
        self.0[core].is_open = true;
    }

    /// A core makes its access. Costs each access a look at one word.
    pub(crate) fn used(&mut self, core: usize) {
        if self.0[core].is_open {
            self.0[core] = Grant::default();
        }
    }

    /// Pages are protected again.
    pub(crate) fn take_back(&mut self) {
        self.0.iter_mut().for_each(|grant| grant.was_taken_back |= grant.is_open);
    }

    /// Whether a core has waited for its store through one protection already.
    pub(crate) fn are_owed(&self) -> bool {
        self.0.iter().any(|grant| grant.was_taken_back)
    }
}
