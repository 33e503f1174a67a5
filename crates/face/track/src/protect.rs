//! Asynchronous write-protection of another process's memory: the kernel notes which pages are written.

use crate::inject::userfaultfd;
use crate::kernel::{self, Move, Which};
use crate::maps::Mapping;
use crate::moves::Moves;
use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;
use std::fs::File;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;

/// The kernel's notes on one address space. Dropping it takes every protection away.
pub(crate) struct Protection {
    faults: Arc<OwnedFd>,
    /// None where moved memory is not followed.
    moves: Option<Moves>,
}

impl Protection {
    /// Over the stopped process of thread `pid`, with nothing protected yet; with `moves`, memory that it moves is followed.
    ///
    /// # Errors
    /// When the kernel lacks the facility, or the process may not have it.
    pub(crate) fn new(pid: Pid, moves: bool) -> Result<Protection, Errno> {
        const FLAGS: i32 = libc::O_CLOEXEC | libc::O_NONBLOCK;
        // 1: faults of user code alone, which needs no privilege; faults that are noted are no such faults.
        let open = |flags| userfaultfd(pid, flags);
        let faults = open(FLAGS).or_else(|_| open(FLAGS | 1))?;
        kernel::ask_asynchronous(&faults, moves)?;
        let faults = Arc::new(faults);
        let moves = if moves { Some(Moves::new(&faults)?) } else { None };
        Ok(Protection { faults, moves })
    }

    /// Where the program has moved memory since the last call, in order.
    pub(crate) fn moves(&self) -> Vec<Move> {
        self.moves.as_ref().map(Moves::take).unwrap_or_default()
    }

    /// Adds the pages of `mapping` that were written since the last call, and protects them again. Of a mapping that is new
    /// they are those that are there.
    ///
    /// # Errors
    /// `ESRCH` when the address space is gone.
    pub(crate) fn take(
        &self,
        pagemap: &File,
        mapping: &Mapping,
        found: &mut Vec<Range<u64>>,
    ) -> Result<(), Errno> {
        let kept = found.len();
        let (own, all) = (mapping.shared.is_none(), mapping.range.clone());
        let which = if own { Which::OwnWritten } else { Which::Written };
        let mut take = |which| {
            found.truncate(kept);
            kernel::list(pagemap, all.clone(), which, found)
        };
        if take(which).is_ok() {
            return Ok(());
        }
        let registered = kernel::register(&self.faults, &mapping.range);
        if registered == Err(Errno::ESRCH) {
            return registered;
        }
        let is_noted = registered.is_ok() && take(which).is_ok();
        // Where writes cannot be noted, whatever may have been written is compared.
        let is_listed = is_noted || (own && take(Which::Own).is_ok());
        if !is_listed {
            found.truncate(kept);
            found.extend(mapping.was_writable.then_some(all));
        }
        Ok(())
    }
}
