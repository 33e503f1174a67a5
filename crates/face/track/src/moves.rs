//! Memory that a tracked program moves (`mremap`, as `realloc` does): its pages are compared with what they held at their old
//! place.
//!
//! The kernel tells each move through the userfaultfd, and the program waits in its call until it is heard: a thread of its own
//! listens, so that it waits for little, also while the tracker copies or compares.

use crate::kernel::{self, Move};
use nix::errno::Errno;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The moves within one address space. Dropping it ends the listening.
pub(crate) struct Moves {
    faults: Arc<OwnedFd>,
    heard: Arc<Mutex<Vec<Move>>>,
    end: Arc<OwnedFd>,
    listener: Option<JoinHandle<()>>,
}

impl Moves {
    /// Listens to a userfaultfd that tells moves.
    ///
    /// # Errors
    /// When there is no thread or descriptor for it.
    pub(crate) fn new(faults: &Arc<OwnedFd>) -> Result<Moves, Errno> {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let end = Arc::new(kernel::bell()?);
        let (of_faults, of_heard, of_end) = (Arc::clone(faults), Arc::clone(&heard), Arc::clone(&end));
        let listen = move || {
            while kernel::is_told(&of_faults, &of_end) {
                hear(&of_faults, &of_heard);
            }
        };
        let thread = std::thread::Builder::new().name("moves".into()).spawn(listen);
        let listener = Some(thread.map_err(|_| Errno::EAGAIN)?);
        Ok(Moves { faults: Arc::clone(faults), heard, end, listener })
    }

    /// The moves since the last call, in order.
    pub(crate) fn take(&self) -> Vec<Move> {
        // The listener may not have run yet.
        hear(&self.faults, &self.heard);
        std::mem::take(&mut *self.heard.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn hear(faults: &OwnedFd, heard: &Mutex<Vec<Move>>) {
    // Whoever hears a move notes it before another is heard.
    let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
    heard.extend(std::iter::from_fn(|| kernel::next_move(faults)));
}

impl Drop for Moves {
    fn drop(&mut self) {
        kernel::ring(&self.end);
        _ = self.listener.take().map(JoinHandle::join);
    }
}
