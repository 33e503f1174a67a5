//! Traces that were packed: gzip, zstd and zip are unpacked as they are read; of others it is said what unpacks them.

use crate::error::TraceError;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use std::io::{self, BufRead, BufReader, Read};

/// What others begin with, and what unpacks them.
const OTHERS: [(&[u8], &str); 4] = [
    (&[0xFD, b'7', b'z', b'X', b'Z'], "xz-packed; unpack it first (xz -d)"),
    (&[0x04, 0x22, 0x4D, 0x18], "lz4-packed; unpack it first (lz4 -d)"),
    (b"BZh", "bzip2-packed; unpack it first (bzip2 -d)"),
    (b"\xFF\x06\x00\x00sNaPpY", "snappy-packed; unpack it first"),
];

/// The trace, whatever it is packed with.
pub(super) fn unpacked<'i>(input: &'i mut dyn BufRead) -> Result<Box<dyn BufRead + 'i>, TraceError> {
    let head = input.fill_buf()?;
    if let Some((_, text)) = OTHERS.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Err(TraceError::foreign(text));
    }
    Ok(match head {
        [0x1F, 0x8B, ..] => Box::new(BufReader::new(MultiGzDecoder::new(input))),
        [0x28, 0xB5, 0x2F, 0xFD, ..] => Box::new(BufReader::new(zstd::Decoder::with_buffer(input)?)),
        [b'P', b'K', 3, 4, ..] => Box::new(BufReader::new(Zip::Between(Some(input)))),
        _ => Box::new(input),
    })
}

/// The trace, where it may be a zlib stream, which has no mark of its own.
pub(super) fn inflated<'i>(input: &'i mut dyn BufRead) -> Result<Box<dyn BufRead + 'i>, TraceError> {
    let packed = matches!(input.fill_buf()?, [0x78, 0x01 | 0x5E | 0x9C | 0xDA, ..]);
    Ok(if packed { Box::new(BufReader::new(ZlibDecoder::new(input))) } else { Box::new(input) })
}

/// The members of a zip archive, one after the other.
enum Zip<'i> {
    Between(Option<&'i mut dyn BufRead>),
    Inside(DeflateDecoder<&'i mut dyn BufRead>),
}

impl Read for Zip<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self {
                Zip::Inside(member) => {
                    let read = member.read(into)?;
                    if read > 0 || into.is_empty() {
                        return Ok(read);
                    }
                    let Zip::Inside(member) = std::mem::replace(self, Zip::Between(None)) else {
                        return Ok(0);
                    };
                    *self = Zip::Between(Some(member.into_inner()));
                }
                Zip::Between(input) => {
                    let Some(input) = input.take() else { return Ok(0) };
                    if !begins(&mut *input)? {
                        return Ok(0);
                    }
                    *self = Zip::Inside(DeflateDecoder::new(input));
                }
            }
        }
    }
}

/// Whether another member begins; its head is read.
fn begins(input: &mut dyn BufRead) -> io::Result<bool> {
    let mut head = [0; 30];
    input.read_exact(&mut head[..4])?;
    if &head[..4] != b"PK\x03\x04" {
        return Ok(false);
    }
    input.read_exact(&mut head[4..])?;
    let word = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
    let (flags, method, rest) = (word(6), word(8), u64::from(word(26)) + u64::from(word(28)));
    if flags & 9 != 0 || method != 8 {
        return Err(io::Error::other("a zip archive of an unusual kind; unpack it first (unzip -p)"));
    }
    io::copy(&mut input.take(rest), &mut io::sink())?;
    Ok(true)
}
