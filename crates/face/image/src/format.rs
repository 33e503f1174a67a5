//! What an image's file has: a head, what was in memory, and tables of it.
#![expect(unsafe_code, reason = "plain numbers as the bytes of a file")]

use crate::Told;
use twox_hash::XxHash3_64;

pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"CORPIMG1");
/// Bytes before what was in memory.
pub(crate) const HEAD_BYTES: u64 = 8192;
pub(crate) const PAGE: u64 = 4096;
/// The kernel's signals.
pub(crate) const SIGNALS: usize = 64;
/// Mappings of the kernel's own, at most.
pub(crate) const KERNELS: usize = 8;

/// Numbers and arrays of numbers without anything between: their bytes are what is written.
///
/// # Safety
/// Every pattern of bytes is a value, and no byte of it is padding.
pub(crate) unsafe trait Plain: Copy {
    fn bytes(&self) -> &[u8]
    where
        Self: Sized,
    {
        bytes_of(std::slice::from_ref(self))
    }
}

/// The bytes of `all`.
pub(crate) fn bytes_of<T: Plain>(all: &[T]) -> &[u8] {
    // SAFETY: plain values have no padding.
    unsafe { std::slice::from_raw_parts(all.as_ptr().cast(), size_of_val(all)) }
}

/// The values whose bytes `from` is; none where their number is not whole.
pub(crate) fn of_bytes<T: Plain>(from: &[u8]) -> Option<Vec<T>> {
    let whole = from.len().is_multiple_of(size_of::<T>());
    let one = |bytes: &[u8]| {
        // SAFETY: as many bytes, and every pattern is a value.
        unsafe { bytes.as_ptr().cast::<T>().read_unaligned() }
    };
    whole.then(|| from.chunks_exact(size_of::<T>()).map(one).collect())
}

/// In short, to know damage by.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// A stretch of addresses.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// As `mmap` takes them.
    pub(crate) protection: u64,
    /// `GROWS`, `HUGE`, `NO_HUGE` and `NO_RESERVE`.
    pub(crate) about: u64,
    /// One more than the place among the files of what it is a view of; 0 for memory.
    pub(crate) file: u64,
    pub(crate) offset: u64,
}

impl Region {
    pub(crate) const GROWS: u64 = 1;
    pub(crate) const HUGE: u64 = 2;
    pub(crate) const NO_HUGE: u64 = 4;
    pub(crate) const NO_RESERVE: u64 = 8;
}

/// Bytes of memory and where in the image they are. What no extent has is zero, or as in the file that it is a view of.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) at: u64,
    pub(crate) bytes: u64,
    pub(crate) offset: u64,
    pub(crate) sum: u64,
}

/// A file that was open for reading, or that memory is a view of.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenFile {
    /// [`OpenFile::MAPPED`] where it was not open.
    pub(crate) number: u64,
    pub(crate) flags: u64,
    pub(crate) position: u64,
    pub(crate) bytes: u64,
    /// When it was written last.
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: i64,
    pub(crate) path_bytes: u64,
    pub(crate) path: [u8; OpenFile::PATH],
}

impl OpenFile {
    pub(crate) const PATH: usize = 4096;
    pub(crate) const MAPPED: u64 = u64::MAX;

    pub(crate) fn path(&self) -> &[u8] {
        self.path.get(..self.path_bytes as usize).unwrap_or_default()
    }
}

/// What the kernel knows of the process and its one thread beside its memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Thread {
    pub(crate) stack: u64,
    pub(crate) goes_on: u64,
    pub(crate) fs: u64,
    pub(crate) gs: u64,
    /// Where the kernel tells on which processor it is, and how many bytes; 0 for nowhere.
    pub(crate) rseq: [u64; 2],
    pub(crate) robust_list: [u64; 2],
    pub(crate) thread_id_at: u64,
    /// `stack_t`.
    pub(crate) signal_stack: [u64; 3],
    pub(crate) blocked: u64,
    /// `prctl_mm_map`, the last but the two numbers of half a word.
    pub(crate) bounds: [u64; BOUNDS],
    /// The kernel's `sigaction`.
    pub(crate) actions: [[u64; 4]; SIGNALS],
}

/// Code, data, break, stack, arguments and environment: where they begin and end.
pub(crate) const BOUNDS: usize = 11;

#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Head {
    pub(crate) magic: u64,
    /// All that has to be the same.
    pub(crate) of: u64,
    /// Milliseconds of the host's time that the work had taken.
    pub(crate) spent: u64,
    /// Seconds since 1970.
    pub(crate) taken_at: u64,
    pub(crate) told: Told,
    pub(crate) tables_at: u64,
    pub(crate) regions: u64,
    pub(crate) extents: u64,
    pub(crate) files: u64,
    pub(crate) tables_sum: u64,
    /// The shared page: its descriptor, its address.
    pub(crate) channel: [u64; 2],
    /// The descriptor of the folder.
    pub(crate) folder: u64,
    pub(crate) kernels: [[u64; 2]; KERNELS],
    pub(crate) thread: Thread,
    /// Of everything before.
    pub(crate) sum: u64,
}

const _: () = assert!(size_of::<Head>() as u64 <= HEAD_BYTES);

// SAFETY: a number.
unsafe impl Plain for u8 {}
// SAFETY: a number.
unsafe impl Plain for i32 {}
// SAFETY: a number.
unsafe impl Plain for u64 {}
// SAFETY: numbers of eight bytes alone, and arrays of them or of bytes of a multiple of eight.
unsafe impl Plain for Region {}
// SAFETY: as above.
unsafe impl Plain for Extent {}
// SAFETY: as above.
unsafe impl Plain for OpenFile {}
// SAFETY: as above.
unsafe impl Plain for Head {}

impl Head {
    pub(crate) fn own_sum(&self) -> u64 {
        let bytes = self.bytes();
        sum(&bytes[..bytes.len() - size_of::<u64>()])
    }

    /// The kernel's mappings that there are.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = [u64; 2]> {
        self.kernels.into_iter().filter(|[from, to]| from < to)
    }
}
