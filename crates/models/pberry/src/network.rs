//! The network in simulated time, both ways, and what goes wrong on it.

use crate::packet::Packet;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
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
    /// Delivered twice, the second time later by `late`.
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
    flying: BinaryHeap<Reverse<Flying>>,
    /// When each direction can begin with the next packet.
    free: [Time; 2],
    sent: u64,
    order: u64,
    bytes: [u64; 2],
    lost: u64,
}

impl Network {
    /// An idle network.
    pub fn new(spec: NetworkSpec) -> Network {
        Network {
            flying: BinaryHeap::new(),
            free: [Time::ZERO; 2],
            sent: 0,
            order: 0,
            bytes: [0; 2],
            lost: 0,
            spec,
        }
    }

    /// Sends a packet: a request to the remote host, an answer from it.
    pub fn send(&mut self, now: Time, packet: Packet) {
        let way = usize::from(matches!(packet, Packet::Data { .. } | Packet::Stored { .. }));
        let begins = now.max(self.free[way]);
        self.free[way] = begins + self.spec.byte * packet.bytes();
        self.bytes[way] += packet.bytes();
        self.sent += 1;
        let faults = self.spec.faults;
        let hits = |one_in: u64| one_in > 0 && self.sent.is_multiple_of(one_in);
        if hits(faults.lose_one_in) {
            self.lost += 1;
            return;
        }
        let arrives = self.free[way] + self.spec.latency;
        let late = if hits(faults.late_one_in) { faults.late } else { Dur::ZERO };
        if hits(faults.duplicate_one_in) {
            self.put(arrives + faults.late, packet.clone());
        }
        self.put(arrives + late, packet);
    }

    /// So many bytes go to the remote host beside packets, whose answers nobody waits for.
    pub fn occupy(&mut self, now: Time, bytes: u64) {
        self.free[0] = self.free[0].max(now) + self.spec.byte * bytes;
        self.bytes[0] += bytes;
    }

    fn put(&mut self, arrives: Time, packet: Packet) {
        self.order += 1;
        self.flying.push(Reverse(Flying { arrives, order: self.order, packet }));
    }

    /// When the next packet arrives.
    pub fn next(&self) -> Time {
        self.flying.peek().map_or(Time::NEVER, |f| f.0.arrives)
    }

    /// The next packet that has arrived by `now`.
    pub fn take(&mut self, now: Time) -> Option<Packet> {
        (self.next() <= now).then(|| self.flying.pop().map(|f| f.0.packet)).flatten()
    }

    /// Bytes to the remote host, bytes from it, packets, packets lost.
    pub fn counts(&self) -> (u64, u64, u64, u64) {
        (self.bytes[0], self.bytes[1], self.sent, self.lost)
    }
}
