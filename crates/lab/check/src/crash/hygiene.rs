//! What can be told from the log alone, without trying any image.

use super::log::{Kind, Log, SiteId};
use protocol::FenceKind;
use std::collections::BTreeMap;

/// A remark about a place in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// `never-flushed`, `flushed-twice` or `idle-fence`.
    pub kind: &'static str,
    /// Where.
    pub site: String,
    /// How often.
    pub times: usize,
}

/// How a line stands: the last store to it, and whether it was flushed since.
#[derive(Clone, Copy)]
struct LineState {
    store: SiteId,
    flushed: bool,
}

/// Stores that nothing flushes up to the end, flushes of lines without a new store, and fences with nothing to
/// wait for. Only of the part that counts. For machines whose caches are volatile and that have no persist path.
pub fn hygiene(log: &Log) -> Vec<Finding> {
    let mut found: BTreeMap<(&'static str, SiteId), usize> = BTreeMap::new();
    let mut lines: BTreeMap<u64, LineState> = BTreeMap::new();
    let mut to_fence = vec![false; log.threads];
    let begins = log.begins();
    for (index, event) in log.events.iter().enumerate() {
        let (thread, line) = (event.thread as usize, event.address / 64);
        let mut count = |kind| {
            if index >= begins {
                *found.entry((kind, event.site)).or_default() += 1;
            }
        };
        match event.kind {
            Kind::Store | Kind::Locked { wrote: true } => {
                lines.insert(line, LineState { store: event.site, flushed: false });
                to_fence[thread] |= event.kind != Kind::Store;
            }
            Kind::NonTemporal => to_fence[thread] = true,
            Kind::Flush(_) => {
                to_fence[thread] = true;
                match lines.get_mut(&line) {
                    Some(state) if !state.flushed => state.flushed = true,
                    _ => count("flushed-twice"),
                }
            }
            Kind::Fence(kind) => {
                // An ofence or dfence means more on other machines.
                let x86 = matches!(kind, FenceKind::Sfence | FenceKind::Mfence);
                if x86 && !to_fence[thread] {
                    count("idle-fence");
                }
                to_fence[thread] = false;
            }
            _ => {}
        }
    }
    for state in lines.values().filter(|s| !s.flushed) {
        *found.entry(("never-flushed", state.store)).or_default() += 1;
    }
    let name = |site: SiteId| log.sites.get(site as usize).cloned().unwrap_or_else(|| "?".into());
    found.into_iter().map(|((kind, site), times)| Finding { kind, site: name(site), times }).collect()
}
