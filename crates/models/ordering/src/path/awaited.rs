//! Cores that wait for epochs of this one, and are told by message when these have committed.

use super::Path;
use protocol::{EpochId, EpochTag, Msg, Outbox, Peer, messages};
use units::{Time, bits};

/// How many epochs other cores wait for; which, and who, stands in the epochs.
#[derive(Clone, Default)]
pub(crate) struct Awaited(usize);

impl Awaited {
    /// Whether anybody waits.
    pub(crate) fn is_any(&self) -> bool {
        self.0 > 0
    }

    /// Core `dependent` waits for an epoch: it is told once that has committed, which may be now.
    pub(crate) fn add(
        &mut self,
        path: &mut Path,
        now: Time,
        epoch: EpochId,
        dependent: u8,
        out: &mut Outbox,
    ) {
        match path.tracker.epochs.get_mut(epoch) {
            Some(e) => {
                self.0 += usize::from(e.dependents == 0);
                e.dependents |= 1 << dependent;
            }
            None => tell(path, now, dependent, epoch, out),
        }
    }

    /// What a core hears whose controllers refuse flushes and acknowledge epochs; gives the epoch of a flush that has to be sent
    /// again. With `forgets`, a mistake, it is taken for done.
    pub(crate) fn hears(
        &mut self,
        path: &mut Path,
        forgets: bool,
        now: Time,
        msg: &Msg,
        out: &mut Outbox,
    ) -> Option<EpochId> {
        match *msg {
            Msg::Nack { slot } if forgets => {
                let epoch = path.buffer.acknowledge(now, slot);
                if let Some(e) = path.tracker.epochs.get_mut(epoch) {
                    e.pending -= 1;
                }
            }
            Msg::Nack { slot } => return Some(path.buffer.refuse(slot)),
            Msg::CommitAck { epoch } => {
                if let Some(e) = path.tracker.epochs.get_mut(epoch) {
                    e.commits_left -= 1;
                }
            }
            Msg::CrossDependencyResolved { tag } => path.tracker.epochs.resolve(tag),
            Msg::AddDependent { epoch, dependent } => self.add(path, now, epoch, dependent, out),
            Msg::Ack { .. }
            | messages!(timers | caches | memory | persists | timestamps | uncached | near) => {
                protocol::unexpected("a persist buffer", msg)
            }
        }
        None
    }

    /// The oldest epoch has committed: whoever waits for it is told. False where only the open one is left.
    pub(crate) fn commit(&mut self, path: &mut Path, now: Time, out: &mut Outbox) -> bool {
        let Some(epoch) = path.tracker.epochs.pop() else { return false };
        self.0 -= usize::from(epoch.dependents != 0);
        bits(epoch.dependents).for_each(|core| tell(path, now, core as u8, epoch.id, out));
        path.tracker.untag(now, epoch.id, out);
        true
    }
}

fn tell(path: &Path, now: Time, dependent: u8, epoch: EpochId, out: &mut Outbox) {
    let tag = EpochTag { core: path.spec.core, epoch };
    out.send(now, Peer::Core(dependent), Msg::CrossDependencyResolved { tag });
}
