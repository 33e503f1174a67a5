//! What states have in common.

use crate::Fingerprint;
use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// A part of a state, which most steps leave alone: states share it until one of them changes it, and its fingerprint is
/// taken once. Cost: a counter where a state is copied, a copy of the part where a step asks to change it.
#[derive(Clone, Debug)]
pub struct Part<T>(Rc<Shared<T>>);

#[derive(Clone, Debug)]
struct Shared<T> {
    value: T,
    /// None before somebody asks.
    fingerprint: Cell<Option<u128>>,
}

impl<T> Part<T> {
    /// Of a state alone.
    pub fn new(value: T) -> Part<T> {
        Part(Rc::new(Shared { value, fingerprint: Cell::new(None) }))
    }
}

impl<T: Hash> Hash for Part<T> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let fingerprint = self.0.fingerprint.get().unwrap_or_else(|| Fingerprint::of(&self.0.value));
        self.0.fingerprint.set(Some(fingerprint));
        hasher.write_u64(fingerprint as u64);
        hasher.write_u64((fingerprint >> 64) as u64);
    }
}

impl<T> Deref for Part<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T: Clone> DerefMut for Part<T> {
    fn deref_mut(&mut self) -> &mut T {
        let own = Rc::make_mut(&mut self.0);
        own.fingerprint.set(None);
        &mut own.value
    }
}
