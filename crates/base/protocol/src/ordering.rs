//! The two halves of an ordering model: one beside each core, one at each controller. They talk only in
//! messages. Neither has a clock, a queue of events or randomness of its own, so that the timed engine, the
//! crash lab and the explorer can all drive the same state machines.

use crate::{Block, EpochId, EpochTag, FenceKind, FlushRequest, Image, Line, LineWrite, Msg, StatSink};
use units::{Dur, Time};

/// A buffer or table has no room (or a fence is not reached); the same call is made again later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WouldBlock;

/// What a machine with this ordering model asks of its cores and caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Stores to persistent memory also go through the core side (a persist path beside the caches);
    /// then the shared cache drops such lines instead of writing them back.
    pub persist_path: bool,
    /// Flush instructions do something: the caches are volatile and nothing else persists their lines.
    pub flush_instructions: bool,
    /// The caches are inside the persistence domain.
    pub caches_persist: bool,
    /// Persist fences do something.
    pub fences: bool,
    /// The core side is told of stores to persistent memory, fences, releases and acquires, and says when a changed
    /// line may leave the core. A persist path always is.
    pub orders_stores: bool,
    /// Flush instructions are offered to the core side before they go to the caches.
    pub takes_flushes: bool,
    /// A core's persists are ordered within strands.
    pub strands: bool,
    /// Reads may be wrong and are found out later: controllers tell their side of reads and of flushes that arrive, and a
    /// core keeps what it takes to go back to where nothing can be wrong any more. Every locked operation is a release.
    pub rolls_back: bool,
    /// What was stored leaves the core when a region ends, whatever fences a program has in between.
    pub keeps_regions: bool,
}

impl Capabilities {
    /// Flush instructions go to the caches, and fences wait for them there.
    pub fn caches_flush(&self) -> bool {
        self.flush_instructions && !self.takes_flushes
    }

    /// Nothing of all this.
    pub const NONE: Capabilities = Capabilities {
        persist_path: false,
        flush_instructions: false,
        caches_persist: false,
        fences: false,
        orders_stores: false,
        takes_flushes: false,
        strands: false,
        rolls_back: false,
        keeps_regions: false,
    };
}

/// How a core goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkpoints {
    /// Operations that it keeps, at least 1; when they are as many, the program waits for a checkpoint.
    pub operations: usize,
    /// Time from being told until it begins.
    pub interrupt: Dur,
}

/// Whom the core side can address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// A controller of persistent memory.
    Controller(usize),
    /// Another core.
    Core(u8),
    /// The global timestamp register.
    TimestampRegister,
    /// The port that devices' registers are behind.
    Commands,
    /// The directory.
    Directory,
    /// The core's own caches.
    Caches,
}

/// What becomes of a flush instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flushed {
    /// It goes to the caches, and later fences wait for it there.
    ByCaches,
    /// The core side keeps it: it asks the caches for the line when the line's turn has come.
    Taken,
    /// Nothing is to be done.
    Ignored,
}

/// What a core side sends, and when; the core puts it on the wires.
#[derive(Debug, Default)]
pub struct Outbox(pub Vec<(Time, Peer, Msg)>);

impl Outbox {
    /// Sends `msg` at `at`.
    #[inline]
    pub fn send(&mut self, at: Time, to: Peer, msg: Msg) {
        self.0.push((at, to, msg));
    }
}

/// The half beside a core. A model without epochs leaves the calls about them as they are. Calls come in the order of
/// simulated time; a call that answers [`WouldBlock`] changed nothing that matters and is made again after the next
/// message or timer.
pub trait CoreOrdering {
    /// What this model asks of cores and caches.
    fn capabilities(&self) -> Capabilities;

    /// A store to persistent memory becomes visible. Gives the epoch that it belongs to.
    ///
    /// # Errors
    /// [`WouldBlock`] when the persist buffer has no room.
    fn store(&mut self, now: Time, write: &LineWrite, out: &mut Outbox) -> Result<EpochId, WouldBlock>;

    /// Whether a plain store would certainly be refused now, and asking would change nothing: a core does not ask then.
    fn refuses(&self) -> bool {
        false
    }

    /// A flush instruction for `line` reaches the head of the store buffer; `changed` says that this core's caches hold
    /// bytes of it that nobody else has, `drop` that the instruction takes the line out of them. A core side that keeps
    /// the flush sends [`Msg::WriteBack`] to [`Peer::Caches`] once the line may go: the caches give the bytes that the
    /// line has then, and [`Msg::CleanAck`] comes from [`Peer::Caches`] when they have arrived.
    ///
    /// # Errors
    /// [`WouldBlock`] when there is no room for it, or the line must not go yet.
    fn flush(
        &mut self,
        now: Time,
        line: Line,
        changed: bool,
        drop: bool,
        out: &mut Outbox,
    ) -> Result<Flushed, WouldBlock> {
        let _ = (now, line, changed, drop, out);
        Ok(Flushed::ByCaches)
    }

    /// A fence reaches the head of the store buffer. Besides epochs (ofence, dfence) it may draw strands: a new strand
    /// comes after nothing that is under way but what was joined, an ofence orders within its strand alone, and
    /// joining waits for all of them.
    ///
    /// # Errors
    /// [`WouldBlock`] while the fence has to wait.
    fn fence(&mut self, now: Time, kind: FenceKind, out: &mut Outbox) -> Result<(), WouldBlock>;

    /// A release becomes visible on `line`: closes the epoch. Gives the epoch that the release publishes, 0
    /// when it publishes none.
    ///
    /// # Errors
    /// [`WouldBlock`] when the epoch table has no room.
    fn release(&mut self, now: Time, line: Line, out: &mut Outbox) -> Result<EpochId, WouldBlock> {
        let _ = (now, line, out);
        Ok(0)
    }

    /// An acquire of `line` has its value.
    ///
    /// # Errors
    /// [`WouldBlock`] when the epoch table has no room.
    fn acquire(&mut self, now: Time, line: Line, out: &mut Outbox) -> Result<(), WouldBlock> {
        let _ = (now, line, out);
        Ok(())
    }

    /// A line arrived, to be modified or only read, that epoch `tag` of another core wrote or released last.
    ///
    /// # Errors
    /// [`WouldBlock`] when the epoch table has no room.
    fn received(
        &mut self,
        now: Time,
        line: Line,
        tag: EpochTag,
        modify: bool,
        out: &mut Outbox,
    ) -> Result<(), WouldBlock> {
        let _ = (now, line, tag, modify, out);
        Ok(())
    }

    /// Another core asks for a line that this core's epoch `written` wrote last and epoch `released` released
    /// last (0: none). Gives the epoch that the other has to wait for.
    ///
    /// # Errors
    /// [`WouldBlock`] when the open epoch has to be closed first and the epoch table has no room.
    fn snooped(
        &mut self,
        now: Time,
        line: Line,
        written: EpochId,
        released: EpochId,
        out: &mut Outbox,
    ) -> Result<Option<EpochTag>, WouldBlock> {
        let _ = (now, line, written, released, out);
        Ok(None)
    }

    /// A line of `epoch` has to leave the caches once its writes have committed: closes the epoch if it is the
    /// open one and the table has room. Splitting an epoch orders more, never less (ASAP §IV-E).
    fn split(&mut self, now: Time, epoch: EpochId, out: &mut Outbox) {
        let _ = (now, epoch, out);
    }

    /// How the core goes back, where it can.
    fn checkpoints(&self) -> Option<Checkpoints> {
        None
    }

    /// This core goes back to its last checkpoint, or (`on` being false) has made up for it. In between nothing may be found
    /// wrong again, or a core could go back for ever. A checkpoint follows what [`CoreOrdering::release`] and waiting fences
    /// let pass: by then nothing that this core has read or stored can turn out to be wrong.
    fn goes_back(&mut self, now: Time, on: bool) {
        let _ = (now, on);
    }

    /// Whether the persist buffer holds unacknowledged writes of `line`, or a flush of it has still to be sent.
    fn holds(&self, line: Line) -> bool;

    /// The last epoch of this core of which every write is durable and no predecessor can be undone.
    fn committed(&self) -> EpochId;

    /// A message from a controller, another core or the register.
    fn on(&mut self, now: Time, from: Peer, msg: &Msg, out: &mut Outbox);

    /// When [`CoreOrdering::tick`] has something to do, [`Time::NEVER`] when nothing.
    fn next(&self) -> Time;

    /// Time has come to `now`: issues what is due.
    fn tick(&mut self, now: Time, out: &mut Outbox);

    /// Whether another core waits to be told that an epoch of this one has committed.
    fn has_pending_replies(&self) -> bool {
        false
    }

    /// How full the persist buffer is.
    fn level(&self) -> usize;

    /// The power fails: gives the writes that this half saves, with when they became visible.
    fn power_fail(&self, save: &mut dyn FnMut(Time, &LineWrite));

    /// Hands up statistics, closing running intervals at `now`.
    fn stats(&mut self, now: Time, sink: &mut dyn StatSink);
}

/// What a controller does with a flush that it accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    /// Write the media.
    Write,
    /// Read the old value first, then write the media.
    ReadThenWrite,
    /// Nothing reaches the media now.
    Absorbed,
    /// No room: refused.
    Refused,
}

/// What happens to a changed line that the shared cache evicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evicted {
    /// Written to the media.
    Written,
    /// Dropped: the persist path has carried its writes.
    Dropped,
    /// Kept back: its last writes have not reached the media.
    Held,
}

/// Lines that a commit sends to the media. Reused between calls.
pub type Retired = Vec<Line>;

/// What a controller keeps of flushes that came before they were safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Records {
    /// Undo and delay records.
    RecoveryTable,
    /// What was there before, for regions that have not committed.
    UndoLog,
    /// Writes that are not written yet.
    Held,
}

impl Records {
    /// Their name on a timeline.
    pub fn name(self) -> &'static str {
        match self {
            Records::RecoveryTable => "recovery table",
            Records::UndoLog => "undo log",
            Records::Held => "held writes",
        }
    }
}

/// A place among the controllers of persistent memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Among {
    /// Which it is.
    pub own: usize,
    /// How many there are.
    pub controllers: usize,
    /// Cores of the machine.
    pub cores: usize,
}

/// A half at a controller that writes what comes once clocks allow it: for each core and controller, up to which epoch everything is
/// durable. Lines that must then be written to the media go to `retired`.
pub trait Clocks {
    /// Other controllers are told at whole multiples of this; at once where it is zero.
    fn interval(&self) -> Dur;

    /// Where it stands.
    fn place(&self) -> Among;

    /// Everything that an epoch wrote is at its controllers; it comes after `after`.
    fn complete(&mut self, tag: EpochTag, after: Option<EpochTag>, image: &mut Image, retired: &mut Retired);

    /// Controller `from` tells up to which epoch everything of a core is durable there.
    fn hears(&mut self, from: usize, tag: EpochTag, image: &mut Image, retired: &mut Retired);

    /// The next epoch that has become durable here, of which its core is to hear.
    fn durable(&mut self) -> Option<EpochTag>;

    /// Whether other controllers have something to hear.
    fn has_news(&self) -> bool;

    /// How far a core is here, which other controllers have not heard.
    fn untold(&mut self) -> Option<EpochTag>;
}

/// The half at a controller. It changes the functional image at once; the controller adds time.
pub trait ControllerOrdering {
    /// Whether it is told of time, reads and arrivals, as models are whose cores can go back.
    fn watches_reads(&self) -> bool {
        false
    }

    /// Time has come to `now`, before any other call: what is remembered for a while may be forgotten.
    fn passes(&mut self, now: Time) {
        let _ = now;
    }

    /// A line is read for the caches, which are given what is [held](ControllerOrdering::held) or the image.
    fn read(&mut self, line: Line, image: &Image) {
        let _ = (line, image);
    }

    /// A flush has arrived; it may have to wait before it is at the head of the queue. Whether what was read of its line
    /// before is wrong: then its core is told, and the line is taken out of every cache.
    fn arrives(&mut self, request: &FlushRequest) -> bool {
        let _ = request;
        false
    }

    /// Told before anything else which of the machine's controllers it stands at.
    fn among(&mut self, among: Among) {
        let _ = among;
    }

    /// What it compares with other controllers, where it does: it then hears of complete epochs and not of commits.
    fn clocks(&mut self) -> Option<&mut dyn Clocks> {
        None
    }

    /// A flush is at the head of the controller's queue; lines besides its own that must now be written to the media go to `retired`.
    fn flush(&mut self, request: &FlushRequest, image: &mut Image, retired: &mut Retired) -> Accepted;

    /// Epoch `epoch` of `core` has committed; the lines that must now be written to the media go to
    /// `retired`.
    fn commit(&mut self, core: u8, epoch: EpochId, image: &mut Image, retired: &mut Retired);

    /// The shared cache evicts a changed line.
    fn evict(&mut self, write: &LineWrite, image: &mut Image) -> Evicted;

    /// The latest value of a line whose eviction is held; of one that holds none, this and what follows stay as they are.
    fn held(&self, line: Line) -> Option<Block> {
        let _ = line;
        None
    }

    /// Every held eviction.
    fn each_held(&self, visit: &mut dyn FnMut(&LineWrite)) {
        let _ = visit;
    }

    /// Filling of the recovery table.
    fn level(&self) -> usize {
        0
    }

    /// Undo records, which a power failure writes back.
    fn undo_level(&self) -> usize {
        0
    }

    /// The power fails: puts the image into the state that this controller leaves.
    fn power_fail(&self, image: &mut Image) {
        let _ = image;
    }

    /// The records that it keeps, where it keeps any.
    fn records(&self) -> Option<Records> {
        None
    }

    /// Hands up statistics.
    fn stats(&self, sink: &mut dyn StatSink);
}
