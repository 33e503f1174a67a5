//! A page that parent and child share, and behind it what the work came to.
#![expect(unsafe_code, reason = "memory that two processes share")]

use crate::format::PAGE;
use crate::kernel::{self, wrong};
use crate::{NUMBERS, Place, Told};
use nix::libc;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const NAME: usize = 256;

/// What is on the page.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Page {
    /// What the work tells of itself.
    pub(crate) told: [AtomicU64; NUMBERS],
    /// Bytes of the result.
    pub(crate) result: AtomicU64,
    /// Images that were taken.
    pub(crate) taken: AtomicU64,
    /// Why none are taken any more: the kernel's number.
    pub(crate) trouble: AtomicU64,
    /// All that has to be the same for an image to be taken up.
    pub(crate) of: AtomicU64,
    /// Milliseconds between two images.
    pub(crate) every: AtomicU64,
    /// Memory that a restored process does not need any more: where, how much.
    pub(crate) used_up: [AtomicU64; 2],
    /// The name of the image in its folder, with a zero behind it.
    pub(crate) name: [u8; NAME],
}

const _: () = assert!(size_of::<Page>() as u64 <= PAGE);

/// The page of this process, and its file.
#[derive(Debug)]
pub(crate) struct Channel {
    page: *mut Page,
    file: OwnedFd,
}

// SAFETY: what is on the page is atomic, but for the name, which is written before anybody else has it.
unsafe impl Send for Channel {}
// SAFETY: as above.
unsafe impl Sync for Channel {}

impl Channel {
    pub(crate) fn new(place: &Place, of: u64) -> io::Result<Channel> {
        let name = place.name.as_bytes();
        // Room for what the name of one that is not whole has more.
        if name.len() + 64 > NAME || name.contains(&0) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let kernels = |number| io::Error::from_raw_os_error(number);
        // SAFETY: a name that ends with zero; the descriptor is new.
        let file = unsafe {
            match libc::memfd_create(c"coreplane".as_ptr(), libc::MFD_CLOEXEC) {
                -1 => return Err(kernels(wrong())),
                file => OwnedFd::from_raw_fd(file),
            }
        };
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: new addresses; the file gets its length first.
        let page = unsafe {
            if libc::ftruncate(file.as_raw_fd(), PAGE as i64) != 0 {
                return Err(kernels(wrong()));
            }
            let at = libc::mmap(
                std::ptr::null_mut(),
                PAGE as usize,
                rights,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            );
            if at == libc::MAP_FAILED {
                return Err(kernels(wrong()));
            }
            let page = at.cast::<Page>();
            (&mut (*page).name)[..name.len()].copy_from_slice(name);
            page
        };
        let channel = Channel { page, file };
        channel.page().of.store(of, Relaxed);
        channel.page().every.store(place.every.as_millis() as u64, Relaxed);
        Ok(channel)
    }

    pub(crate) fn page(&self) -> &Page {
        // SAFETY: it is mapped as long as this value is there; a page of zeros is one.
        unsafe { &*self.page }
    }

    /// For the whole life of this process: it never ends the mapping.
    pub(crate) fn lasting(&self) -> &'static Page {
        // SAFETY: the child, which alone asks for it, ends without dropping anything.
        unsafe { &*self.page }
    }

    pub(crate) fn number(&self) -> i32 {
        self.file.as_raw_fd()
    }

    pub(crate) fn told(&self) -> Told {
        std::array::from_fn(|n| self.page().told[n].load(Relaxed))
    }

    /// The child says what its work came to.
    pub(crate) fn say(page: &Page, file: i32, result: &[u8]) -> Result<(), i32> {
        kernel::write_at(file, PAGE, result)?;
        page.result.store(result.len() as u64, Relaxed);
        Ok(())
    }

    /// What the child said.
    pub(crate) fn result(&self) -> io::Result<Vec<u8>> {
        let mut result = vec![0; self.page().result.load(Relaxed) as usize];
        let read = kernel::read_at(self.number(), PAGE, &mut result).map_err(io::Error::from_raw_os_error)?;
        if read < result.len() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(result) }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: nobody has the page but through this value.
        unsafe { kernel::unmap(self.page as u64, PAGE) };
    }
}
