//! What can stand between programs and their cores: a driver, or a paging daemon, with its tables.

use protocol::{Cpu, StatSink};

/// Translates a program's addresses, and runs the kernel where it has to.
#[derive(Clone)]
pub(crate) enum Pager {
    /// NVDIMM-C's driver.
    Nvdimm(nvdimmc::Host),
    /// The daemon of remote memory.
    Remote(pberry::Host),
}

impl Pager {
    /// The handle for a program on core `core`, whose own handle is `cpu`.
    pub(crate) fn cpu(&self, core: usize, cpu: &Cpu) -> Cpu {
        match self {
            Pager::Nvdimm(host) => host.cpu(core, cpu),
            Pager::Remote(host) => host.cpu(core, cpu),
        }
    }

    /// The program of a core has ended.
    pub(crate) fn leave(&self, core: usize) {
        match self {
            Pager::Nvdimm(host) => host.leave(core),
            Pager::Remote(host) => host.leave(core),
        }
    }

    /// Whether [`Pager::error`] has something to tell. Asked after every event.
    #[inline]
    pub(crate) fn has_failed(&self) -> bool {
        match self {
            Pager::Nvdimm(host) => host.has_failed(),
            Pager::Remote(host) => host.has_failed(),
        }
    }

    /// What ended a program.
    pub(crate) fn error(&self) -> Option<String> {
        match self {
            Pager::Nvdimm(host) => host.error(),
            Pager::Remote(host) => host.error(),
        }
    }

    pub(crate) fn stats(&self, sink: &mut dyn StatSink) {
        match self {
            Pager::Nvdimm(host) => host.stats(sink),
            Pager::Remote(host) => host.stats(sink),
        }
    }

    /// Pages by how many of their lines were stored to in a window, where somebody counts.
    pub(crate) fn lines_per_page(&self) -> Option<Vec<u64>> {
        match self {
            Pager::Nvdimm(_) => None,
            Pager::Remote(host) => Some(host.lines_per_page().to_vec()),
        }
    }
}
