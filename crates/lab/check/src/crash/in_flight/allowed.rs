//! Which choices are of an image that the model allows.

use super::Tracker;
use crate::crash::grouped::InFlight;
use crate::crash::unit::Unit;
use protocol::Persistency;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

impl Tracker<'_> {
    /// Whether a choice (so many of each unit's stores in flight) is of an image that the model allows, whatever the units
    /// keep that it does not name: nothing that is there comes after anything that is not.
    pub(in crate::crash) fn allows(&self, choice: &BTreeMap<Unit, usize>) -> bool {
        match self.model {
            Persistency::Px86 | Persistency::Px86Line | Persistency::Strand | Persistency::Strict => true,
            Persistency::Epoch | Persistency::Release | Persistency::OneSided => {
                self.is_closed(choice, Unit::MIN..=Unit::MAX)
            }
            // Order on the way to memory holds within a line alone.
            Persistency::Armv8 => {
                let mut lines: Vec<u64> = choice.keys().map(|unit| unit / 64).collect();
                lines.dedup();
                lines.into_iter().all(|line| self.is_closed(choice, line * 64..=line * 64 + 63))
            }
        }
    }

    /// Whether what a choice keeps of these units comes after nothing that it loses of them.
    fn is_closed(&self, choice: &BTreeMap<Unit, usize>, within: RangeInclusive<Unit>) -> bool {
        let chosen = || choice.range(within.clone());
        let mut needed = vec![0; self.log.threads];
        for (unit, kept) in chosen() {
            self.need(&mut needed, self.stores(*unit).iter().take(*kept));
        }
        self.need_of_others(&mut needed, choice, within.clone());
        chosen().all(|(unit, kept)| {
            let mut lost = self.stores(*unit).iter().skip(*kept);
            lost.all(|s| s.epoch > needed[s.store.thread as usize])
        })
    }

    /// These stores are there: the last epoch of each thread that has to be. Whether that is more than before.
    fn need<'s>(&self, needed: &mut [u32], stores: impl Iterator<Item = &'s InFlight>) -> bool {
        let mut more = false;
        for (thread, epoch) in stores.flat_map(|store| self.before(store)) {
            let n = &mut needed[*thread as usize];
            more |= *epoch > *n;
            *n = (*n).max(*epoch);
        }
        more
    }

    /// A store that has to be there, in a unit that the choice does not name, brings the older ones of its unit, and what comes
    /// before these. Cost: the stores of tangled units, some times over.
    fn need_of_others(
        &self,
        needed: &mut [u32],
        choice: &BTreeMap<Unit, usize>,
        within: RangeInclusive<Unit>,
    ) {
        let tangled = self.tangled.get_or_init(|| self.find_tangled());
        let first = tangled.partition_point(|unit| unit < within.start());
        let others = || {
            let inside = tangled[first..].iter().take_while(|unit| *unit <= within.end());
            inside.filter(|unit| !choice.contains_key(unit)).map(|unit| self.stores(*unit))
        };
        let mut more = true;
        while more {
            more = false;
            for stores in others() {
                let last = stores.iter().rposition(|s| s.epoch <= needed[s.store.thread as usize]);
                more |= last.is_some_and(|last| self.need(needed, stores[..=last].iter()));
            }
        }
    }

    /// Units with a store that does not come after an older one of the unit, whose order the older one's thread gives.
    fn find_tangled(&self) -> Vec<Unit> {
        let ordered = |older: &InFlight, newer: &InFlight| {
            let before = self.before(newer);
            let brings =
                |(thread, epoch): &(u16, u32)| !before.iter().any(|b| b.0 == *thread && b.1 >= *epoch);
            !self.before(older).iter().any(brings)
        };
        let is_tangled = |stores: &[InFlight]| stores.windows(2).any(|pair| !ordered(&pair[0], &pair[1]));
        self.in_flight.iter().filter(|(_, stores)| is_tangled(stores)).map(|(unit, _)| *unit).collect()
    }
}
