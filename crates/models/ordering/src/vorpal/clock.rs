//! What a controller knows of how far each core is.

use super::Mutant;
use protocol::{Among, EpochId, EpochTag};
use std::collections::VecDeque;
use units::bits;

/// For each core, the last epoch that is durable.
type Vector = Vec<EpochId>;

fn number(vector: &Vector, core: u8) -> EpochId {
    vector.get(usize::from(core)).copied().unwrap_or(0)
}

/// Raises a core's number.
fn raise(vector: &mut Vector, tag: EpochTag) {
    let core = usize::from(tag.core);
    if core >= vector.len() {
        vector.resize(core + 1, 0);
    }
    vector[core] = vector[core].max(tag.epoch);
}

/// An epoch whose writes have all come, and the one of another core that it comes after.
type Complete = (EpochId, Option<EpochTag>);

/// A vector for each controller: its own, and what others have told.
#[derive(Clone, Hash)]
pub(super) struct Clock {
    mutant: Option<Mutant>,
    among: Among,
    known: Vec<Vector>,
    /// The least of these, and whether one of its numbers has risen since anybody asked.
    everywhere: Vector,
    has_risen: bool,
    /// For each core its epochs that are complete and not durable here, oldest first.
    complete: Vec<VecDeque<Complete>>,
    /// Cores whose number others have still to be told; bit `i` is core `i`.
    untold: u64,
    /// What the cores themselves have still to be told.
    durable: VecDeque<EpochTag>,
}

impl Clock {
    pub(super) fn new(mutant: Option<Mutant>) -> Clock {
        let among = Among { own: 0, controllers: 1, cores: 0 };
        let mut clock = Clock {
            mutant,
            among,
            known: Vec::new(),
            everywhere: Vec::new(),
            has_risen: false,
            complete: Vec::new(),
            untold: 0,
            durable: VecDeque::new(),
        };
        clock.join(among);
        clock
    }

    pub(super) fn join(&mut self, among: Among) {
        self.among = among;
        self.known = vec![Vec::new(); among.controllers];
    }

    pub(super) fn among(&self) -> Among {
        self.among
    }

    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// A controller's number of a core is that of `tag` at least.
    fn raise(&mut self, controller: usize, tag: EpochTag) {
        raise(&mut self.known[controller], tag);
        let counts = |c: &usize| !self.is(Mutant::HearsNobody) || *c == self.among.own;
        let each = (0..self.known.len()).filter(counts).map(|c| number(&self.known[c], tag.core));
        let epoch = each.min().unwrap_or(0);
        if epoch > number(&self.everywhere, tag.core) {
            raise(&mut self.everywhere, EpochTag { epoch, ..tag });
            self.has_risen = true;
        }
    }

    /// Whether more is durable everywhere than when this was asked last.
    pub(super) fn risen(&mut self) -> bool {
        std::mem::take(&mut self.has_risen)
    }

    /// Whether an epoch is durable wherever it wrote, as far as is known here.
    fn is_durable(&self, tag: EpochTag) -> bool {
        number(&self.everywhere, tag.core) >= tag.epoch
    }

    fn is_after(&self, after: Option<EpochTag>) -> bool {
        self.is(Mutant::ForgetsDependence) || after.is_none_or(|tag| self.is_durable(tag))
    }

    /// Whether everything that an epoch comes after is durable.
    pub(super) fn allows(&self, tag: EpochTag, after: Option<EpochTag>) -> bool {
        let before = EpochTag { epoch: tag.epoch - 1, ..tag };
        self.is(Mutant::IgnoresClocks) || self.is_durable(before) && self.is_after(after)
    }

    /// All that an epoch wrote is at its controllers.
    pub(super) fn complete(&mut self, tag: EpochTag, after: Option<EpochTag>) {
        let core = usize::from(tag.core);
        if core >= self.complete.len() {
            self.complete.resize(core + 1, VecDeque::new());
        }
        self.complete[core].push_back((tag.epoch, after));
    }

    /// Another controller tells.
    pub(super) fn hears(&mut self, from: usize, tag: EpochTag) {
        self.raise(from, tag);
    }

    /// Passes complete epochs of which nothing is kept here, `oldest` being asked for the oldest of a core that is.
    pub(super) fn advance(&mut self, oldest: impl Fn(u8) -> Option<EpochId>) {
        for core in 0..self.complete.len() {
            if self.complete[core].is_empty() {
                continue;
            }
            let kept = if self.is(Mutant::TellsEarly) { None } else { oldest(core as u8) };
            while let Some(&(epoch, after)) = self.complete[core].front() {
                let tag = EpochTag { core: core as u8, epoch };
                if kept.is_some_and(|kept| kept <= epoch) || !self.is_after(after) {
                    break;
                }
                self.complete[core].pop_front();
                self.raise(self.among.own, tag);
                self.untold |= 1 << core;
                self.durable.push_back(tag);
            }
        }
    }

    /// The next epoch that has become durable here.
    pub(super) fn durable(&mut self) -> Option<EpochTag> {
        self.durable.pop_front()
    }

    /// Whether other controllers have something to hear.
    pub(super) fn has_news(&self) -> bool {
        self.untold != 0 && self.among.controllers > 1
    }

    /// A number that others have not been told.
    pub(super) fn untold(&mut self) -> Option<EpochTag> {
        let core = bits(self.untold).next()? as u8;
        self.untold &= self.untold - 1;
        Some(EpochTag { core, epoch: number(&self.known[self.among.own], core) })
    }
}
