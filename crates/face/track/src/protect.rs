//! Asynchronous write-protection of another process's memory: the kernel notes which pages are written.

use crate::inject::userfaultfd;
use crate::kernel;
use crate::maps::Mapping;
use nix::errno::Errno;
use nix::libc;
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs::File;
use std::ops::Range;
use std::os::fd::OwnedFd;

/// The kernel's notes on one address space. Dropping it takes every protection away.
pub(crate) struct Protection {
    faults: OwnedFd,
    /// Mappings whose writes cannot be noted: they are compared whole.
    refused: BTreeSet<u64>,
}

impl Protection {
    /// Over the stopped process `pid`, with nothing protected yet.
    ///
    /// # Errors
    /// When the kernel lacks the facility, or the process may not have it.
    pub(crate) fn new(pid: Pid) -> Result<Protection, Errno> {
        // 1: faults of user code alone, which needs no privilege; faults that are noted are no such faults.
        let open = |flags| userfaultfd(pid, flags);
        let faults = open(libc::O_CLOEXEC).or_else(|_| open(libc::O_CLOEXEC | 1))?;
        kernel::ask_asynchronous(&faults)?;
        Ok(Protection { faults, refused: BTreeSet::new() })
    }

    /// Notes writes of these mappings, old ones again: a mapping may have grown.
    ///
    /// # Errors
    /// `ESRCH` when the address space is gone.
    pub(crate) fn cover(&mut self, mappings: &[Mapping]) -> Result<(), Errno> {
        for mapping in mappings {
            match kernel::register(&self.faults, &mapping.range) {
                Ok(()) => _ = self.refused.remove(&mapping.range.start),
                Err(Errno::ESRCH) => return Err(Errno::ESRCH),
                Err(_) => _ = self.refused.insert(mapping.range.start),
            }
        }
        Ok(())
    }

    /// Adds the pages of `mapping` that were written since the last call, and protects them again.
    pub(crate) fn take(&self, pagemap: &File, mapping: &Mapping, found: &mut Vec<Range<u64>>) {
        let kept = found.len();
        let refused = self.refused.contains(&mapping.range.start);
        if refused || kernel::take_written(pagemap, mapping.range.clone(), found).is_err() {
            found.truncate(kept);
            found.push(mapping.range.clone());
        }
    }
}
