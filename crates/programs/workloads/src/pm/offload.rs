//! The primitives of a near-data device (NearPM, Table 2).

use super::{PAGE, Pm};
use protocol::{NearCommand, NearKind, NearRequest, UNCACHED_BASE};

/// Where pools are in the program's address space: pool `n` at the n-th of these.
const VIRTUAL: u64 = 0x1000_0000_0000;
const POOL_STRIDE: u64 = 1 << 36;

impl Pm {
    /// The pool enters the devices' address mapping tables.
    pub(super) async fn map(&self) {
        if self.near.is_none() {
            return;
        }
        let place = self.parts.place;
        let request = NearRequest {
            source: self.virtual_of(place.base),
            destination: place.base,
            size: (place.bytes / PAGE) as u32,
            ..self.request(NearKind::MapPool)
        };
        self.issue(&request).await;
    }

    fn virtual_of(&self, address: u64) -> u64 {
        let place = self.parts.place;
        address.wrapping_sub(place.base).wrapping_add(VIRTUAL + u64::from(place.id) * POOL_STRIDE)
    }

    fn request(&self, kind: NearKind) -> NearRequest {
        NearRequest {
            number: 0,
            core: self.c.cpu.core(),
            kind,
            pool: self.parts.place.id,
            thread: self.thread as u8,
            devices: 0,
            source: 0,
            destination: 0,
            size: 0,
        }
    }

    /// A command about `size` bytes at `source`; `destination` is an address for what copies, else a number for the log.
    pub(crate) async fn command(&self, kind: NearKind, source: u64, destination: u64, size: u64) {
        if size > NearCommand::MOST_BYTES {
            let most = NearCommand::MOST_BYTES;
            let name = kind.name();
            self.c.cpu.fail(format!("{name} of {size} bytes: a command carries up to {most}"));
            return;
        }
        let source = if source == 0 { 0 } else { self.virtual_of(source) };
        let destination = if kind.copies() { self.virtual_of(destination) } else { destination };
        let request = NearRequest { source, destination, size: size as u32, ..self.request(kind) };
        self.issue(&request).await;
    }

    async fn issue(&self, request: &NearRequest) {
        let Some(near) = self.near else { return };
        for (address, value) in NearCommand::encode(request, self.c.cpu.core(), near.words) {
            assert!(address >= UNCACHED_BASE, "a command is written to the devices' registers");
            self.c.store(address, value).await;
        }
    }

    /// Waits until no device has anything of this core left.
    pub(crate) async fn poll(&self) {
        for device in 0..self.near.map_or(0, |n| n.devices) {
            loop {
                let left = self.c.load(NearCommand::status(device)).await;
                if left == NearCommand::NO_ANSWER {
                    self.c
                        .cpu
                        .fail(format!("device {device} does not answer: its status register gives all ones"));
                    return;
                }
                if left == 0 {
                    break;
                }
            }
        }
    }

    /// Whether this thread waits for the devices by itself before it commits.
    pub(super) fn polls(&self) -> bool {
        self.near.is_some_and(|n| n.polls)
    }
}
