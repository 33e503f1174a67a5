//! How far each core is, where controllers compare clocks: what they tell cores and each other.

use super::Controller;
use engine::{Out, PortId};
use protocol::{Among, EpochTag, Msg, ports};
use units::{Dur, Time};

impl Controller {
    /// Clocks have moved: cores hear at once of what is durable here, other controllers when it is time.
    pub(super) fn moved(&mut self, out: &mut Out<'_, Msg>) {
        let Some(clocks) = self.ordering.clocks() else { return };
        while let Some(EpochTag { core, epoch }) = clocks.durable() {
            out.send(ports::from_core(core), self.spec.commit, Msg::CommitAck { epoch });
        }
        if clocks.has_news() && self.tells_at == Time::NEVER {
            let (now, interval) = (out.now(), clocks.interval().as_ps().max(1));
            self.tells_at = Time::from_ps(now.ps().next_multiple_of(interval));
            if self.tells_at > now {
                out.wake(self.tells_at, Msg::Wake);
            } else {
                self.tell(out);
            }
        }
        self.note_table(out);
    }

    /// Tells the other controllers how far each core is here.
    pub(super) fn tell(&mut self, out: &mut Out<'_, Msg>) {
        self.tells_at = Time::NEVER;
        let Some(clocks) = self.ordering.clocks() else { return };
        let Among { own, controllers, cores } = clocks.place();
        while let Some(tag) = clocks.untold() {
            for other in (0..controllers).filter(|c| *c != own) {
                out.send(ports::device(other, cores), Dur::ZERO, Msg::Clock { tag });
            }
        }
    }

    pub(super) fn complete(&mut self, tag: EpochTag, after: Option<EpochTag>, out: &mut Out<'_, Msg>) {
        let clocks = self.ordering.clocks().expect("cores tell of complete epochs where clocks are compared");
        clocks.complete(tag, after, &mut self.image, &mut self.retired);
        self.moved(out);
    }

    pub(super) fn hears(&mut self, port: PortId, tag: EpochTag, out: &mut Out<'_, Msg>) {
        let clocks = self.ordering.clocks().expect("controllers tell each other where clocks are compared");
        let from = usize::from(port.0 - ports::device(0, clocks.place().cores).0);
        clocks.hears(from, tag, &mut self.image, &mut self.retired);
        self.moved(out);
    }
}
