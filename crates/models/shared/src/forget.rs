//! What is remembered of stores does not grow with a run.

use crate::shadow::Version;
use crate::world::World;

impl World {
    /// Forgets stores that nobody can be found to miss any more: older ones than any that a cache, the device or what is on
    /// its way there still has of their word.
    pub(crate) fn forget(&mut self) {
        let mut held = self.shadow.newest();
        self.state.each_word(|(line, word), has| held[line][word] = held[line][word].min(has.version));
        let mut others: Vec<Version> = self.found.iter().map(|found| found.1).collect();
        others.extend(self.hosts.iter().flat_map(|host| &host.looks).map(|look| look.version));
        self.state.each_word(|_, has| others.push(has.version));
        let numbers = self.shadow.forget(&held, &others);
        let number = |version: &mut Version| *version = numbers[*version as usize];
        self.state.each_word(|_, has| number(&mut has.version));
        self.hosts.iter_mut().flat_map(|host| &mut host.looks).for_each(|look| number(&mut look.version));
        self.found.iter_mut().for_each(|found| number(&mut found.1));
    }
}
