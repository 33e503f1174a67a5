//! Parameters, and mistakes that the explorer has to find.

use crate::command::{Layout, Pte};
use crate::filter::FilterSpec;
use crate::network::NetworkSpec;
use crate::uses::UseSpec;
use units::{Dur, Time};

/// Who tracks what a program changes, and at which grain pages move.
#[derive(params::Words, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The operating system: page faults, write-protection, whole pages.
    Pages,
    /// The agent: lines.
    Lines,
}

/// What the agent does about a page walk that leads to a page which it has not fetched.
#[derive(params::Words, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Walks {
    /// Answers it when the whole page is here: no access ever waits for the network.
    WholePage,
    /// Answers it when the page's first line is here; the others come by critical line first.
    FirstLine,
    /// Answers it at once.
    Untracked,
}

/// What is fetched beside the page that a program wants.
#[derive(params::Words, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Prefetch {
    /// Nothing.
    None,
    /// The pages that follow.
    Next,
    /// The pages at the distance of the last two faults.
    Stride,
}

/// A mistake in the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mutant {
    /// A reply is written over lines that the program has changed since.
    ReplyOverwrites,
    /// A reply is taken though its request was given up.
    StaleReplyTaken,
    /// A frame is free before the remote host has acknowledged its lines.
    FreeBeforeAcknowledged,
    /// A frame's lines are not recalled from the caches before they are written back.
    NoRecall,
    /// The remote host takes writes that a later one has overtaken.
    OldWritesTaken,
    /// A page walk waits for a host that is gone.
    WalkNeverFails,
}

impl Kind {
    /// What an entry of the page table is before anybody has written it: the agent's pages are all present, though they
    /// are not fetched.
    pub fn initial(self) -> Pte {
        match self {
            Kind::Pages => Pte::Absent,
            Kind::Lines => Pte::Writable,
        }
    }
}

impl Mutant {
    /// Every one, with its name and what is wrong.
    pub const ALL: [(&'static str, Mutant, &'static str); 6] = [
        (
            "reply-overwrites",
            Mutant::ReplyOverwrites,
            "a reply is written over lines that have changed since",
        ),
        ("stale-reply-taken", Mutant::StaleReplyTaken, "a reply is taken though its request was given up"),
        (
            "free-before-acknowledged",
            Mutant::FreeBeforeAcknowledged,
            "a frame is free before its lines are kept",
        ),
        ("no-recall", Mutant::NoRecall, "a page goes while caches hold its lines"),
        (
            "old-writes-taken",
            Mutant::OldWritesTaken,
            "the remote host takes a write that a later one overtook",
        ),
        ("walk-never-fails", Mutant::WalkNeverFails, "a page walk waits for a host that is gone"),
    ];
}

/// The agent's state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AgentStateSpec {
    /// Frames of one page.
    pub frames: u32,
    /// Lines of a page, 1 to 64: an explorer's pages are smaller.
    pub page_lines: u32,
    /// What page walks wait for.
    pub walks: Walks,
    /// The missing line is asked for before the rest of its page.
    pub critical_line_first: bool,
    /// Times that a fetch is sent before a walk that waits for it is told that the page is not there.
    pub attempts: u32,
    /// A mistake, for the explorer.
    pub mutant: Option<Mutant>,
}

/// The agent in simulated time.
#[derive(Clone, Debug)]
pub struct AgentSpec {
    /// Its state machine.
    pub state: AgentStateSpec,
    /// Where things lie in its memory.
    pub layout: Layout,
    /// Write tracking.
    pub filter: FilterSpec,
    /// The way to the remote host.
    pub network: NetworkSpec,
    /// Time until a packet without an answer is sent again.
    pub retry: Dur,
    /// The coherence protocol's limit for an answer.
    pub deadline: Dur,
    /// Length of a window of tracking.
    pub window: Dur,
    /// What the agent is used for besides.
    pub uses: UseSpec,
    /// The remote host goes, and comes back.
    pub host_away: Option<(Time, Time)>,
}

/// The daemon, and the operating system around it.
#[derive(Clone, Copy, Debug)]
pub struct DaemonSpec {
    /// Which system.
    pub kind: Kind,
    /// Pages of 4 KiB that are mapped, moved and protected together: 1, or 512 for pages of 2 MiB. All else counts in these.
    pub span: u32,
    /// Frames.
    pub frames: u32,
    /// Frames of memory attached to the processor.
    pub local_frames: u32,
    /// A page is placed there when it has come from the remote host so often.
    pub local_after: u32,
    /// Pages of remote memory.
    pub pages: u32,
    /// Pages reclaimed together when no frame is free.
    pub batch: u32,
    /// What is fetched beside the page that is wanted.
    pub prefetch: Prefetch,
    /// How many pages that is.
    pub prefetch_pages: u32,
}
