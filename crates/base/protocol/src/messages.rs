//! Messages by who hears them, as patterns: who knows few refuses the rest in a line, and still names every message there is.

use crate::Msg;

/// A pattern of all messages of these groups (`messages!(timers | near)`). Each message is in exactly one group, and each group in one
/// family at most. A new message that is in no group compiles nowhere; one that joins a group compiles wherever that group's messages
/// are named one by one.
#[macro_export]
macro_rules! messages {
    // A device's own.
    (timers) => { $crate::Msg::Wake | $crate::Msg::Alarm };

    // Between cores and their directory.
    (caches) => { $crate::messages!(requests | grants) };
    // Core to directory.
    (requests) => {
        $crate::Msg::GetS { .. }
            | $crate::Msg::GetM { .. }
            | $crate::Msg::PutM { .. }
            | $crate::Msg::SnoopReply { .. }
            | $crate::Msg::Drained { .. }
            | $crate::Msg::Untag { .. }
            | $crate::Msg::LineFlush { .. }
            | $crate::Msg::WriteBack { .. }
            | $crate::Msg::NonTemporal { .. }
    };
    // Directory to core.
    (grants) => { $crate::Msg::Data { .. } | $crate::Msg::Snoop { .. } | $crate::Msg::CleanAck { .. } };

    // Between the directory, or cores, and memory.
    (memory) => { $crate::messages!(accesses | answers | recalls) };
    // Directory to memory.
    (accesses) => { $crate::Msg::Read { .. } | $crate::Msg::Write { .. } };
    // Memory to directory.
    (answers) => { $crate::Msg::ReadReply { .. } | $crate::Msg::Written { .. } | $crate::Msg::Recall { .. } };
    // To the memory that wanted a line out of every cache, and from there to the core that misread it.
    (recalls) => { $crate::Msg::Recalled { .. } | $crate::Msg::Misread { .. } };

    // Between the halves of an ordering model.
    (ordering) => { $crate::messages!(persists | acknowledgements | dependences | timestamps) };
    // To a controller side.
    (persists) => {
        $crate::Msg::Flush(_)
            | $crate::Msg::Commit { .. }
            | $crate::Msg::Complete { .. }
            | $crate::Msg::Clock { .. }
    };
    // Controller side to core side.
    (acknowledgements) => {
        $crate::Msg::Ack { .. } | $crate::Msg::Nack { .. } | $crate::Msg::CommitAck { .. }
    };
    // To a core side, of other cores' epochs.
    (dependences) => { $crate::Msg::AddDependent { .. } | $crate::Msg::CrossDependencyResolved { .. } };
    // To the global timestamp register and back.
    (timestamps) => { $crate::Msg::Publish { .. } | $crate::Msg::Poll { .. } | $crate::Msg::Timestamp { .. } };

    // Between cores and devices' registers.
    (uncached) => { $crate::messages!(register_accesses | register_answers) };
    // Core to the port that they are behind.
    (register_accesses) => { $crate::Msg::UncachedWrite { .. } | $crate::Msg::UncachedRead { .. } };
    // And back.
    (register_answers) => {
        $crate::Msg::UncachedReply { .. } | $crate::Msg::UncachedPassed | $crate::Msg::UncachedAck
    };

    // Between the command port and near-data devices.
    (near) => { $crate::messages!(near_requests | near_answers) };
    // To a device.
    (near_requests) => {
        $crate::Msg::Near(_) | $crate::Msg::NearStatus { .. } | $crate::Msg::NearComplete { .. }
    };
    // To the port.
    (near_answers) => {
        $crate::Msg::NearTaken { .. }
            | $crate::Msg::NearRoom
            | $crate::Msg::NearDone { .. }
            | $crate::Msg::NearStatusReply { .. }
    };

    ($group:ident $(| $more:ident)+) => { $crate::messages!($group) $(| $crate::messages!($more))+ };
}

/// Every message is in one group, and in one alone: this does not compile otherwise.
#[deny(unreachable_patterns)]
const _: fn(&Msg) = |msg| match msg {
    messages!(timers) => {}
    messages!(requests) => {}
    messages!(grants) => {}
    messages!(accesses) => {}
    messages!(answers) => {}
    messages!(recalls) => {}
    messages!(persists) => {}
    messages!(acknowledgements) => {}
    messages!(dependences) => {}
    messages!(timestamps) => {}
    messages!(register_accesses) => {}
    messages!(register_answers) => {}
    messages!(near_requests) => {}
    messages!(near_answers) => {}
};

/// And every group in one family, timers aside.
#[deny(unreachable_patterns)]
const _: fn(&Msg) = |msg| match msg {
    messages!(timers | caches | memory | ordering | uncached | near) => {}
};
