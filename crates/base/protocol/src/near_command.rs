//! Commands to near-data devices as stores to registers: what a library writes and the command port reads.

use crate::{NearKind, NearRequest, UNCACHED_BASE};

/// The form of a command: 128 bits over all words but the last, which is the doorbell. From the lowest bit on: operation
/// code 4, pool 6, thread 6, bytes 16, source 48, destination 48.
#[derive(Clone, Copy, Debug)]
pub struct NearCommand;

/// Bytes of registers that each core has for itself.
const WINDOW: u64 = 256;
/// Where the status registers begin: eight bytes for each device.
const STATUS: u64 = 0x10_0000;
/// Bits of a command.
const BITS: u32 = 128;

impl NearCommand {
    /// What a load of a register gives when nobody answers.
    pub const NO_ANSWER: u64 = u64::MAX;
    /// The most bytes that a command carries.
    pub const MOST_BYTES: u64 = 0xFFFF;

    /// The register that says how many requests of the reading core a device is not done with.
    pub fn status(device: u64) -> u64 {
        UNCACHED_BASE + STATUS + device * 8
    }

    /// The device whose status register is at `address`; a number that no device has for other registers.
    pub fn device_of_status(address: u64) -> usize {
        ((address - UNCACHED_BASE).wrapping_sub(STATUS) / 8) as usize
    }

    /// Which word of a command the register at `address` takes.
    pub fn word(address: u64) -> usize {
        ((address - UNCACHED_BASE) % WINDOW / 8) as usize
    }

    /// A command of `core` in `words` stores, 3 to 16: addresses and values, the doorbell last.
    pub fn encode(request: &NearRequest, core: u8, words: usize) -> impl Iterator<Item = (u64, u64)> + use<> {
        let mut bits = u128::from(request.kind as u8)
            | u128::from(request.pool & 0x3F) << 4
            | u128::from(request.thread & 0x3F) << 10
            | u128::from(request.size as u16) << 16
            | u128::from(request.source & 0xFFFF_FFFF_FFFF) << 32
            | u128::from(request.destination & 0xFFFF_FFFF_FFFF) << 80;
        let each = BITS.div_ceil(words as u32 - 1);
        let window = UNCACHED_BASE + u64::from(core) * WINDOW;
        (0..words as u64).map(move |i| {
            let value = if i + 1 == words as u64 { 1 } else { (bits & ((1 << each) - 1)) as u64 };
            bits = bits.checked_shr(each).unwrap_or(0);
            (window + i * 8, value)
        })
    }

    /// The command that `core` has written, its doorbell left out; none when it has no known operation code.
    pub fn decode(words: &[u64], core: u8) -> Option<NearRequest> {
        let each = BITS.div_ceil(words.len().max(1) as u32);
        let mut bits = 0_u128;
        for (i, word) in words.iter().enumerate() {
            bits |= u128::from(*word).checked_shl(each * i as u32).unwrap_or(0);
        }
        let field = |at: u32, size: u32| (bits >> at & ((1 << size) - 1)) as u64;
        Some(NearRequest {
            number: 0,
            core,
            kind: NearKind::of_code(field(0, 4))?,
            pool: field(4, 6) as u8,
            thread: field(10, 6) as u8,
            devices: 0,
            source: field(32, 48),
            destination: field(80, 48),
            size: field(16, 16) as u32,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_survives_its_way_through_stores() {
        let request = NearRequest {
            number: 0,
            core: 3,
            kind: NearKind::ShadowCopy,
            pool: 59,
            thread: 40,
            devices: 0,
            source: 0x1234_5678_9ABC,
            destination: 0xFEDC_BA98_7654,
            size: 65535,
        };
        for words in [4, 5, 7] {
            let stores: Vec<(u64, u64)> = NearCommand::encode(&request, 3, words).collect();
            assert_eq!(stores.len(), words);
            let values: Vec<u64> = stores.iter().map(|s| s.1).take(words - 1).collect();
            assert!(values.iter().all(|v| words == 4 || *v < 1 << 32));
            assert_eq!(NearCommand::decode(&values, 3), Some(request), "{words}");
        }
        assert_eq!(NearCommand::decode(&[0, 0], 0), None);
    }
    #[test]
    fn any_words_are_a_command_or_none() {
        let mut random = units::Random::new(1, 0);
        for _ in 0..10_000 {
            let count = random.below(17);
            let words: Vec<u64> = (0..count).map(|_| random.next_u64() >> random.below(64)).collect();
            if let Some(request) = NearCommand::decode(&words, 0) {
                assert!(u64::from(request.size) <= NearCommand::MOST_BYTES);
                let again: Vec<u64> = NearCommand::encode(&request, 0, 5).map(|w| w.1).take(4).collect();
                assert_eq!(NearCommand::decode(&again, 0), Some(request));
            }
        }
    }
}
