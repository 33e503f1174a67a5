//! The network in simulated time, both ways, and what goes wrong on it.

use crate::packet::Packet;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::{Dur, Time};

/// What goes wrong: one in so many packets, none for 0. Which ones is a count, so that every run is the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// Lost.
    pub lose_one_in: u64,
    /// Later by `late`.
    pub late_one_in: u64,
    /// See `late_one_in`.
    pub late: Dur,
    /// Sent twice by the network, the second time right after the first and later by `late`.
    pub duplicate_one_in: u64,
}

/// A network.
#[derive(Clone, Copy, Debug)]
pub struct NetworkSpec {
    /// One way, of an empty packet.
    pub latency: Dur,
    /// For each byte, in which nothing else is sent in the same direction.
    pub byte: Dur,
    /// What goes wrong.
    pub faults: Faults,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Flying {
    arrives: Time,
    order: u64,
    packet: Packet,
}

/// Packets in the air.
#[derive(Clone, Debug)]
pub struct Network {
    spec: NetworkSpec,
    /// By direction: each arrives after those before it.
    flying: [VecDeque<Flying>; 2],
    /// Those that come late or twice.
    apart: BinaryHeap<Reverse<Flying>>,
    /// When each direction can begin with the next packet.
    free: [Time; 2],
    /// Packets that were sent, by which faults are counted.
    sent: u64,
    /// Those and their duplicates.
    packets: u64,
    order: u64,
    bytes: [u64; 2],
    lost: u64,
}

impl Network {
    /// An idle network.
    pub fn new(spec: NetworkSpec) -> Network {
        Network {
            flying: [VecDeque::new(), VecDeque::new()],
            apart: BinaryHeap::new(),
            free: [Time::ZERO; 2],
            sent: 0,
            packets: 0,
            order: 0,
            bytes: [0; 2],
            lost: 0,
            spec,
        }
    }

    /// Sends a packet: a request to the remote host, an answer from it.
    pub fn send(&mut self, now: Time, packet: Packet) {
        let way = usize::from(matches!(packet, Packet::Data { .. } | Packet::Stored { .. }));
        let arrives = self.wire(now, way, &packet);
        self.sent += 1;
        let faults = self.spec.faults;
        let sent = self.sent;
        let hits = |one_in: u64| one_in > 0 && sent.is_multiple_of(one_in);
        if hits(faults.lose_one_in) {
            self.lost += 1;
            return;
        }
        if hits(faults.duplicate_one_in) {
            // Both are on the wire, one after the other.
            let again = self.wire(now, way, &packet);
            self.put_apart(again + faults.late, packet.clone());
        }
        if hits(faults.late_one_in) {
            self.put_apart(arrives + faults.late, packet);
        } else {
            let flying = self.flies(arrives, packet);
            self.flying[way].push_back(flying);
        }
    }

    /// A packet takes its time of the wire in a direction. Gives when it arrives.
    fn wire(&mut self, now: Time, way: usize, packet: &Packet) -> Time {
        self.free[way] = now.max(self.free[way]) + self.spec.byte * packet.bytes();
        self.bytes[way] += packet.bytes();
        self.packets += 1;
        self.free[way] + self.spec.latency
    }

    /// So many bytes go to the remote host beside packets, whose answers nobody waits for.
    pub fn occupy(&mut self, now: Time, bytes: u64) {
        self.free[0] = self.free[0].max(now) + self.spec.byte * bytes;
        self.bytes[0] += bytes;
    }

    fn flies(&mut self, arrives: Time, packet: Packet) -> Flying {
        self.order += 1;
        Flying { arrives, order: self.order, packet }
    }

    fn put_apart(&mut self, arrives: Time, packet: Packet) {
        let flying = self.flies(arrives, packet);
        self.apart.push(Reverse(flying));
    }

    /// When the next packet of each kind arrives, and its place among all that were sent.
    fn heads(&self) -> [(Time, u64); 3] {
        let head = |flying: Option<&Flying>| flying.map_or((Time::NEVER, 0), |f| (f.arrives, f.order));
        let [there, back] = &self.flying;
        [head(there.front()), head(back.front()), head(self.apart.peek().map(|f| &f.0))]
    }

    /// When the next packet arrives.
    pub fn next(&self) -> Time {
        let [there, back, apart] = self.heads();
        there.min(back).min(apart).0
    }

    /// The next packet that has arrived by `now`.
    pub fn take(&mut self, now: Time) -> Option<Packet> {
        let [there, back, apart] = self.heads();
        let first = there.min(back).min(apart);
        if first.0 > now || first.0 == Time::NEVER {
            return None;
        }
        let flying = if first == apart {
            self.apart.pop().map(|f| f.0)
        } else {
            self.flying[usize::from(first == back)].pop_front()
        };
        flying.map(|f| f.packet)
    }

    /// Bytes to the remote host, bytes from it, packets, packets lost.
    pub fn counts(&self) -> (u64, u64, u64, u64) {
        (self.bytes[0], self.bytes[1], self.packets, self.lost)
    }
}
