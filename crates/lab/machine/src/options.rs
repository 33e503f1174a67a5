//! How a run is done.

use engine::Mode;
use units::Time;

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Seed of every random stream.
    pub seed: u64,
    /// The fast engine, or the one-event-a-reference engine that it is checked against.
    pub mode: Mode,
    /// The power fails then.
    pub power_fails_at: Option<Time>,
    /// Marks on the timeline, 0 for none.
    pub timeline_marks: usize,
    /// Stretches of the first cores' time by cause that are kept from the beginning of the region of interest on, 0 for
    /// none.
    pub opening: usize,
    /// Nobody looks at what memory holds in the end: the report's images stay empty, which are as large as what the
    /// program stored to.
    pub without_images: bool,
}
