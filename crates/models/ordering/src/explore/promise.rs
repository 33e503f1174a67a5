//! What a model promises of memory after a power failure.

use super::Member;
use super::state::{State, Written};
use protocol::CoreOrdering;

/// What must hold at every power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promise {
    /// Every write of a committed epoch is in memory, and no write without all that came before it in epochs (ASAP
    /// §VI-B, Theorem 2).
    Epochs,
    /// Every write of a committed epoch is in memory, and no write without those that release persistency puts before it.
    Releases,
    /// As epochs, and of each epoch every write or none.
    Regions,
    /// Every visible write is in memory.
    Stores,
}

impl Promise {
    pub(super) fn check<M: Member>(self, state: &State<M>) -> Result<(), String> {
        let memory = state.after_power_failure();
        for (line, writes) in state.log.iter().enumerate() {
            for (n, w) in writes.iter().enumerate().skip(memory[line]) {
                self.may_lose(state, &memory, (line, n, w))?;
            }
        }
        Ok(())
    }

    /// Whether write `n` of a line may be missing.
    fn may_lose<M: Member>(
        self,
        state: &State<M>,
        memory: &[usize],
        (line, n, w): (usize, usize, &Written),
    ) -> Result<(), String> {
        let lost = || name(n, w, line);
        if self == Promise::Stores {
            return Err(format!("a power failure loses {}, which is visible", lost()));
        }
        if w.epoch <= state.cores[w.core].committed() {
            return Err(format!("a power failure loses {}, whose epoch has committed", lost()));
        }
        if self == Promise::Releases {
            return may_lose_released(state, memory, w, lost);
        }
        for (kept_line, kept) in memory.iter().enumerate().filter(|(_, kept)| **kept > 0) {
            let v = &state.log[kept_line][kept - 1];
            if self == Promise::Regions && (v.core, v.epoch) == (w.core, w.epoch) {
                let kept = name(kept - 1, v, kept_line);
                return Err(format!("a power failure keeps {kept} and loses {}, of the same region", lost()));
            }
            if state.follows((v.core, v.epoch), (w.core, w.epoch), &mut Vec::new()) {
                let kept = name(kept - 1, v, kept_line);
                return Err(format!(
                    "a power failure keeps {kept} and loses {}, which comes before it",
                    lost()
                ));
            }
        }
        Ok(())
    }
}

/// Whether none of the writes that are there needs `w`, which is lost; those that others went over have been there.
fn may_lose_released<M: Member>(
    state: &State<M>,
    memory: &[usize],
    w: &Written,
    lost: impl Fn() -> String,
) -> Result<(), String> {
    for (line, writes) in state.log.iter().enumerate() {
        let mut kept = writes[..memory[line]].iter().enumerate();
        if let Some((n, v)) = kept.find(|(_, v)| w.place < v.after[w.core]) {
            let kept = name(n, v, line);
            return Err(format!("a power failure keeps {kept} and loses {}, which comes before it", lost()));
        }
    }
    Ok(())
}

fn name(n: usize, w: &Written, line: usize) -> String {
    format!("write {} of line {line} (core {}, epoch {})", n + 1, w.core, w.epoch)
}
