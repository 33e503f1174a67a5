//! What files are called where something happens to them.

use super::Tracker;

impl Tracker<'_> {
    /// The name of a file at an event: the one that it has then, or gets next, or had at first; none where it never has one.
    pub(in crate::crash) fn name_of(&self, file: usize, event: usize) -> Option<String> {
        let mut state = [self.log.files.get(file)?.clone()];
        let durable = self.renamed.iter().map(|(event, change)| (*event, change));
        for (at, change) in durable.chain(self.changes.iter().map(|pending| (pending.event, &pending.change)))
        {
            if at >= event && !state[0].names.is_empty() {
                break;
            }
            change.what.apply((change.file == file).then_some(0), &mut state);
        }
        let [state] = state;
        state.names.into_iter().next().or_else(|| self.log.first_name(file))
    }

    /// The name of the file that an address is in, and where it is there; none where the log has no files.
    pub(in crate::crash) fn place_of(&self, address: u64, event: usize) -> Option<(String, u64)> {
        let file = self.file_at(address)?;
        Some((self.name_of(file, event)?, address - self.durable.get(file)?.base))
    }
}
