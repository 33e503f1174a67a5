//! Accesses within a line: what crosses the end of one is several.

use crate::record::Record;

/// Whether the record is an access that crosses the end of its line.
#[inline]
pub(crate) fn crosses(r: &Record) -> bool {
    (r.address & 63) + u64::from(r.size) > 64 && r.kind.is_access()
}

/// The first piece of an access, a power of two of bytes within eight, and what is left of it.
pub(crate) fn cut(r: Record) -> (Record, Option<Record>) {
    let left = (8 - r.address % 8).min(r.size.into());
    let size = 1u8 << (7 - (left as u8).leading_zeros());
    let (bits, rest) = (8 * u32::from(size), r.size - size);
    let value = if bits < 64 { r.value & ((1 << bits) - 1) } else { r.value };
    let piece = Record { size, value, ..r };
    // The instructions were executed once.
    let later = (rest > 0).then(|| Record {
        address: r.address + u64::from(size),
        value: r.value.checked_shr(bits).unwrap_or(0),
        size: rest,
        instructions: 0,
        ..r
    });
    (piece, later)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Kind;

    fn pieces(kind: Kind, address: u64, value: u64, size: u8) -> Vec<(u64, u64, u8, u32)> {
        let mut next =
            Some(Record { address, value, stamp: 5, location: 1, instructions: 9, thread: 2, kind, size });
        std::iter::from_fn(|| {
            let (piece, rest) = cut(next?);
            next = rest;
            assert!(!crosses(&piece));
            Some((piece.address, piece.value, piece.size, piece.instructions))
        })
        .collect()
    }

    #[test]
    fn an_access_over_a_lines_end_is_several_with_the_same_bytes() {
        assert_eq!(
            pieces(Kind::Store, 61, 0x0807_0605_0403_0201, 8),
            [(61, 0x0201, 2, 9), (63, 0x03, 1, 0), (64, 0x0706_0504, 4, 0), (68, 0x08, 1, 0)]
        );
        assert_eq!(pieces(Kind::Rmw, 0x103f, 0xABCD, 2), [(0x103f, 0xCD, 1, 9), (0x1040, 0xAB, 1, 0)]);
    }
}
