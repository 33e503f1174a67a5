//! Two versions of a page, compared line by line.

/// Bytes of a line.
pub const LINE: usize = 64;

/// Bytes of a page.
pub const PAGE: usize = 4096;

/// A page's bytes.
pub type PageBytes = [u8; PAGE];

/// The lines that differ, a bit each, and how many bytes do. Cost: a read of both pages; bytes are counted in lines that
/// differ alone.
pub fn page_difference(old: &PageBytes, new: &PageBytes) -> (u64, u32) {
    let (old, new) = (old.as_chunks::<LINE>().0, new.as_chunks::<LINE>().0);
    let (mut lines, mut bytes) = (0, 0);
    for (index, (a, b)) in old.iter().zip(new).enumerate() {
        if a != b {
            lines |= 1 << index;
            bytes += a.iter().zip(b).map(|(a, b)| u8::from(a != b)).sum::<u8>() as u32;
        }
    }
    (lines, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_single_bytes_at_every_place() {
        let old: PageBytes = std::array::from_fn(|i| (i % 251) as u8);
        for at in 0..PAGE {
            let mut new = old;
            new[at] ^= 0x80;
            assert_eq!(page_difference(&old, &new), (1 << (at / LINE), 1), "at {at}");
        }
        assert_eq!(page_difference(&old, &old), (0, 0));
        assert_eq!(page_difference(&[0; PAGE], &[1; PAGE]), (u64::MAX, PAGE as u32));
    }
}
