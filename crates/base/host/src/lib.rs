//! What the simulator asks of the machine that it runs on: memory in large pages.
//!
//! Caches, directories and page tables are arrays of megabytes that are read anywhere. In pages of 4 KiB most of these reads
//! miss in the host's TLB too. Linux gives pages of 2 MiB to those who ask (`madvise`, "transparent huge pages"); who does not
//! have them loses nothing but the time. What is not large is the system's allocator's.
#![expect(unsafe_code, reason = "an allocator: pointers are those that the kernel gave for as many bytes")]

use nix::sys::mman::{MRemapFlags, MapFlags, MmapAdvise, ProtFlags, madvise, mmap_anonymous, mremap, munmap};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::OnceLock;

/// Gives back to the kernel what was freed, as far as the system's allocator keeps it. Does nothing where that is not glibc's.
pub fn trim() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: it touches nothing that anybody has.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}

/// Ends the process where there is no memory.
static ENDS: OnceLock<fn() -> !> = OnceLock::new();

thread_local! {
    /// Whether what is asked for may be refused.
    static TRIES: Cell<bool> = const { Cell::new(false) };
}

/// From here on `end` is called where the host has no memory for what is asked for, instead of Rust's own words and SIGABRT. It
/// may ask for memory itself, which is refused then as ever.
pub fn without_memory(end: fn() -> !) {
    _ = ENDS.set(end);
}

/// Does `work` that asks whether there is memory (`try_reserve`), and copes where there is none.
pub fn tries<T>(work: impl FnOnce() -> T) -> T {
    let before = TRIES.replace(true);
    let done = work();
    TRIES.set(before);
    done
}

/// What is given; where that is nothing, whoever ends the process does.
fn given(at: *mut u8) -> *mut u8 {
    if at.is_null() {
        refused();
    }
    at
}

#[cold]
fn refused() {
    let Some(end) = ENDS.get() else { return };
    if !TRIES.replace(true) {
        end();
    }
}

/// Bytes of a large page.
const PAGE: usize = 2 << 20;
/// Bytes from which on something is given pages of its own. Less than one is lost behind each.
const LARGE: usize = PAGE / 2;

/// The allocator: what is large lies in large pages, begins with one, and is zero without anybody having written it.
#[derive(Clone, Copy, Debug)]
pub struct LargePages;

fn is_large(layout: Layout) -> bool {
    layout.size() >= LARGE && layout.align() <= PAGE
}

/// Whole pages for so many bytes; none beyond the address space.
fn whole_pages(size: usize) -> Option<usize> {
    size.checked_next_multiple_of(PAGE)
}

/// Addresses for `size` bytes, whole pages, from the beginning of a page on; what is not touched takes no memory.
fn map(size: usize) -> Option<NonNull<c_void>> {
    let wanted = NonZeroUsize::new(size.checked_add(PAGE)?)?;
    let rights = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
    // SAFETY: new addresses; those that are given back are ours and nobody's yet.
    unsafe {
        let given = mmap_anonymous(None, wanted, rights, MapFlags::MAP_PRIVATE).ok()?;
        let before = given.align_offset(PAGE);
        let first = given.byte_add(before);
        unmap(given, before);
        unmap(first.byte_add(size), PAGE - before);
        // A kernel without large pages says no, and gives small ones.
        let _ = madvise(first, size, MmapAdvise::MADV_HUGEPAGE);
        Some(first)
    }
}

/// Gives addresses back. Should the kernel refuse, they stay taken, which is all that can be done.
///
/// # Safety
/// They came from [`map`], and nobody uses them.
unsafe fn unmap(from: NonNull<c_void>, size: usize) {
    if size > 0 {
        // SAFETY: the caller's.
        let _ = unsafe { munmap(from, size) };
    }
}

/// Makes room for more behind what is mapped, or moves it to where there is, without copying.
///
/// # Safety
/// `from` came from [`map`] with `old` bytes, fewer than `new`, and nobody uses it any more when something is given.
unsafe fn grow(from: NonNull<c_void>, old: usize, new: usize) -> Option<NonNull<c_void>> {
    // SAFETY: the caller's.
    if let Ok(same) = unsafe { mremap(from, old, new, MRemapFlags::empty(), None) } {
        return Some(same);
    }
    let to = map(new)?;
    let flags = MRemapFlags::MREMAP_MAYMOVE | MRemapFlags::MREMAP_FIXED;
    // SAFETY: both are ours, and what is at `to` has not been given to anybody. Should it fail late, the kernel may have
    // given `to` to others, and so it is left alone; `from` is as it was.
    unsafe { mremap(from, old, new, flags, Some(to)) }.ok()
}

fn or_null(pages: Option<NonNull<c_void>>) -> *mut u8 {
    pages.map_or(std::ptr::null_mut(), |p| p.as_ptr().cast())
}

// SAFETY: what is large comes from `map` and goes back by `unmap`, of the same layout; everything else is the system's.
unsafe impl GlobalAlloc for LargePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            return given(or_null(whole_pages(layout.size()).and_then(map)));
        }
        // SAFETY: the caller's.
        given(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout) {
            // SAFETY: the caller's. New pages are zero.
            return unsafe { self.alloc(layout) };
        }
        // SAFETY: the caller's.
        given(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        match (is_large(layout), NonNull::new(at.cast()), whole_pages(layout.size())) {
            // SAFETY: it came from `map`, whole pages.
            (true, Some(at), Some(size)) => unsafe { unmap(at, size) },
            // SAFETY: the caller's.
            _ => unsafe { System.dealloc(at, layout) },
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's: the alignment is one, and the size is not too large for it.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (is_large(layout), is_large(wanted)) {
            // SAFETY: the caller's.
            (false, false) => given(unsafe { System.realloc(at, layout, size) }),
            (true, true) => {
                let pages = (NonNull::new(at.cast()), whole_pages(layout.size()), whole_pages(size));
                let (Some(from), Some(old), Some(new)) = pages else { return given(std::ptr::null_mut()) };
                if new <= old {
                    // SAFETY: whole pages behind those that stay.
                    unsafe { unmap(from.byte_add(new), old - new) };
                    return at;
                }
                // SAFETY: it came from `map`; the caller forgets it when it is given another.
                given(or_null(unsafe { grow(from, old, new) }))
            }
            // SAFETY: two that do not overlap, each of at least so many bytes; the old one is forgotten.
            _ => unsafe {
                let to = self.alloc(wanted);
                if !to.is_null() {
                    std::ptr::copy_nonoverlapping(at, to, layout.size().min(size));
                    self.dealloc(at, layout);
                }
                to
            },
        }
    }
}
