//! Every message that travels on a wire of a machine.

use crate::{Block, Depth, EpochId, EpochTag, FlushRequest, Line, LineWrite, Mask, NearRefusal, NearRequest};
use engine::Out;
use units::Dur;

/// What a core may do with a line that it is sent (MESI).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Grant {
    /// Read it, as others may.
    Shared,
    /// Read it, and write it without asking: nobody else has it.
    Exclusive,
    /// Write it.
    Modified,
}

/// What the directory wants of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Snoop {
    /// Hand over the data and keep a copy that can be read.
    Share,
    /// Hand over the data and forget the line.
    Invalidate,
}

/// A message. `Copy`, so that none is ever allocated; the line travels inside. `Hash`, so that an explorer tells any two
/// apart.
#[derive(Clone, Copy, Debug, Hash)]
pub enum Msg {
    /// A device's own timer.
    Wake,
    /// A timer that may be told to a core at once.
    Alarm,

    // Core to directory and back.
    /// A core wants to read a line.
    GetS { line: Line },
    /// A core wants to write a line.
    GetM { line: Line },
    /// A core evicts a line that it changed.
    PutM { line: Line, data: Block },
    /// The answer to `GetS` and `GetM`; `tag` names the epoch that last wrote or released the line.
    Data { line: Line, data: Block, grant: Grant, tag: Option<EpochTag> },
    /// The directory asks for a line.
    Snoop { line: Line, kind: Snoop },
    /// The answer to `Snoop`. `held` says that the core's persist buffer still holds writes of the line.
    SnoopReply { line: Line, data: Option<Block>, tag: Option<EpochTag>, held: bool },
    /// The persist buffer no longer holds writes of a line that was `held`.
    Drained { line: Line },
    /// An epoch that a line was tagged with has committed.
    Untag { line: Line, epoch: EpochId },
    /// clwb, clflushopt, clflush: write the line back, wherever it is dirty; `invalidate` drops every copy.
    LineFlush { line: Line, data: Option<Block>, invalidate: bool },
    /// A core side has a line written back whose last bytes are this core's; core to its own caches (the bytes are not
    /// read yet), and then to the directory, where it waits for no request for the line.
    WriteBack { line: Line, data: Block },
    /// A non-temporal store leaves the write-combining buffer.
    NonTemporal { line: Line, data: Block, mask: Mask },
    /// A `LineFlush`, `WriteBack` or `NonTemporal` has reached the persistence domain.
    CleanAck { line: Line },

    // Directory to memory and back.
    /// Read a line.
    Read { line: Line },
    /// The answer to `Read`. `waits` says that some of these bytes wait in the controller's ingress queue: a power failure would
    /// lose them.
    ReadReply { line: Line, data: Block, waits: bool },
    /// Write a line back; where `ack` names a core, it is told once the write is durable. `is_owned`: a cache of the host has had the
    /// line until now, as it has not where a store passes the caches by.
    Write { line: Line, data: Block, mask: Mask, ack: Option<u8>, is_owned: bool },
    /// A `Write` with an `ack` is durable from now on; the core hears of it when its acknowledgement is there.
    Written { line: Line },
    /// A memory agent wants a line out of every cache; what is changed of it is written back first.
    Recall { line: Line },
    /// The answer to `Recall`: no cache holds the line. A controller passes it on to a core that it told `Misread`.
    Recalled { line: Line },

    // Core side of an ordering model to its controller side and back.
    /// A persist buffer flushes a line.
    Flush(FlushRequest),
    /// The flush in persist-buffer place `slot` is durable.
    Ack { slot: u16 },
    /// An early flush found no room in the recovery table.
    Nack { slot: u16 },
    /// An epoch of the sender is safe and complete.
    Commit { epoch: EpochId },
    /// The controller has acted on `Commit`.
    CommitAck { epoch: EpochId },
    /// Everything that an epoch of the sender wrote is at its controllers; it comes after `after`. Answered by `CommitAck` once
    /// what it wrote is durable at the receiver.
    Complete { epoch: EpochId, after: Option<EpochTag> },
    /// One controller tells another: what the core of `tag` wrote up to that epoch is durable at the sender.
    Clock { tag: EpochTag },
    /// The line was read before a store of the receiver that was on its way: the core goes back to its checkpoint. `Recalled`
    /// follows.
    Misread { line: Line },

    // Registers of devices: core to the port that they are behind, and back.
    /// A store to a register.
    UncachedWrite { address: u64, value: u64 },
    /// A load of a register.
    UncachedRead { address: u64 },
    /// The answer to `UncachedRead`.
    UncachedReply { value: u64 },
    /// An `UncachedWrite` is on its way: what is sent later comes later.
    UncachedPassed,
    /// An `UncachedWrite`, and what it completes, will survive a power failure.
    UncachedAck,

    // Near-data devices: from the command port and back, and among themselves.
    /// A request for a device's units.
    Near(NearRequest),
    /// The device keeps the request from now on, or refuses it for good.
    NearTaken { number: u64, refused: Option<NearRefusal> },
    /// A place in the device's request FIFO is free again.
    NearRoom,
    /// The device is done with a request.
    NearDone { number: u64 },
    /// How many requests of `core` is the device not done with?
    NearStatus { core: u8 },
    /// The answer to `NearStatus`.
    NearStatusReply { core: u8, value: u64 },
    /// One device tells another that its part of a duplicated request is done.
    NearComplete { number: u64, device: u8 },

    // Between the core sides.
    /// `dependent` waits for an epoch of the receiver.
    AddDependent { epoch: EpochId, dependent: u8 },
    /// The epoch that the receiver waited for has committed.
    CrossDependencyResolved { tag: EpochTag },

    // HOPS: the global timestamp register.
    /// Every epoch of the sender up to `epoch` is durable.
    Publish { epoch: EpochId },
    /// How far is core `core`?
    Poll { core: u8 },
    /// The answer to `Poll`.
    Timestamp { tag: EpochTag },
}

impl engine::Message for Msg {
    /// The directory looks a line up before it answers a request, controllers take time to read and to acknowledge, and
    /// a core that is told that it may go on only asks for more. Not lookahead: snoops and their answers, data on its way
    /// up, word of commits, and all that devices say to each other.
    #[inline]
    fn has_lookahead(&self) -> bool {
        use Msg::*;
        // One pattern, which is one comparison; in three parts: what asks the directory, a controller, and tells a core.
        matches!(
            self,
            GetS { .. }
                | GetM { .. }
                | PutM { .. }
                | LineFlush { .. }
                | WriteBack { .. }
                | NonTemporal { .. }
                | Drained { .. }
                | Untag { .. }
                | Written { .. }
                | Read { .. }
                | Write { .. }
                | Flush(_)
                | Commit { .. }
                | Complete { .. }
                | Data { .. }
                | CleanAck { .. }
                | Ack { .. }
                | Nack { .. }
                | CommitAck { .. }
                | Wake
        )
    }
}

impl Msg {
    /// The bytes that have left a cache and not reached another, or memory, and how close to the program they are.
    pub fn leaves_a_cache(&self) -> Option<(Depth, LineWrite)> {
        use Msg::*;
        let whole = |line, data| (Depth::OnItsWay, LineWrite { line, mask: Mask::MAX, data });
        if let PutM { line, data }
        | WriteBack { line, data }
        | SnoopReply { line, data: Some(data), .. }
        | LineFlush { line, data: Some(data), .. } = *self
        {
            Some(whole(line, data))
        } else if let NonTemporal { line, data, mask } = *self {
            Some((Depth::NonTemporal, LineWrite { line, mask, data }))
        } else if let Write { line, data, mask, .. } = *self {
            Some((Depth::Evicted, LineWrite { line, mask, data }))
        } else {
            None
        }
    }
}

/// A write that `core` waits for is durable: the directory hears of it at once, the core `after` a while.
pub fn tell_durable(line: Line, core: u8, after: Dur, out: &mut Out<'_, Msg>) {
    out.send(ports::DIRECTORY, Dur::ZERO, Msg::Written { line });
    out.send(ports::from_core(core), after, Msg::CleanAck { line });
}

/// What a device does with a message that it does not know: machines are wired so that none ever comes.
///
/// # Panics
/// Always: a message that is dropped would be found as a wrong number, or never.
#[cold]
pub fn unexpected(device: &str, msg: &Msg) -> ! {
    panic!("{device} knows no such message: {msg:?}")
}

/// Port numbers: the same on every machine, so that a device knows its peers by them.
pub mod ports {
    use engine::PortId;

    /// Core: to and from the directory.
    pub const DIRECTORY: PortId = PortId(0);
    /// Core: to and from the global timestamp register.
    pub const REGISTER: PortId = PortId(1);
    /// Core: to and from the port that devices' registers are behind.
    pub const COMMANDS: PortId = PortId(2);
    /// Core: the first of the controllers of persistent memory.
    pub const CONTROLLERS: u8 = 3;

    /// Core: to and from controller `index` of persistent memory.
    pub fn controller(index: usize) -> PortId {
        PortId(CONTROLLERS + index as u8)
    }

    /// Core: to and from core `index`, on a machine with `controllers` controllers of persistent memory.
    pub fn core(index: u8, controllers: usize) -> PortId {
        PortId(CONTROLLERS + controllers as u8 + index)
    }

    /// Directory: controllers follow the cores.
    pub fn directory_to_controller(index: usize, cores: usize) -> PortId {
        PortId((cores + index) as u8)
    }

    /// Controller of persistent memory: to and from the command port, on a machine with `cores` cores.
    pub fn commands(cores: usize) -> PortId {
        PortId(1 + cores as u8)
    }

    /// Near-data device: to and from device `index`, on a machine with `cores` cores.
    pub fn device(index: usize, cores: usize) -> PortId {
        PortId((2 + cores + index) as u8)
    }

    /// Command port: device `index` follows the cores.
    pub fn command_to_device(index: usize, cores: usize) -> PortId {
        PortId((cores + index) as u8)
    }

    /// Controller and register: core `index`; the directory is port 0.
    pub fn from_core(index: u8) -> PortId {
        PortId(1 + index)
    }
}
