//! A child that works, and the parent's side of it.

use crate::channel::Channel;
use crate::context::NOT_RESTORED;
use crate::read::{self, Image};
use crate::{Ended, Place, Told, kernel, restore, taking, write};
use nix::libc;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering::Relaxed;

/// The exit code after a panic, as that of any program.
const PANICKED: i32 = 101;

/// A child that works. It ends with this value, and with the process.
#[derive(Debug)]
pub struct Child {
    process: i32,
    place: Place,
    channel: Channel,
    has_ended: bool,
}

impl Child {
    /// Whether work can be done in a child.
    pub fn is_possible() -> bool {
        kernel::sets_bounds()
    }

    /// Begins `work` in a child, or goes on with it where `image` was taken. The work is one thread's, writes no file, and
    /// calls [`crate::look`] now and then.
    ///
    /// # Errors
    /// When the kernel has no room.
    pub fn start(place: &Place, image: Option<Image>, work: impl FnOnce() -> Vec<u8>) -> io::Result<Child> {
        place.clear_partial();
        let folder = File::open(&place.folder)?;
        let channel = Channel::new(place, read::of(place))?;
        let parent = std::process::id() as i32;
        // How children end is not told to who ignores it, which may be inherited.
        kernel::as_usual(libc::SIGCHLD);
        match kernel::fork().map_err(io::Error::from_raw_os_error)? {
            0 => be_child(parent, channel, &folder, image, work),
            process => Ok(Child { process, place: place.clone(), channel, has_ended: false }),
        }
    }

    /// What the work tells of itself.
    pub fn told(&self) -> Told {
        self.channel.told()
    }

    /// Images that were taken.
    pub fn taken(&self) -> u64 {
        self.channel.page().taken.load(Relaxed)
    }

    /// Why no images are taken any more.
    pub fn trouble(&self) -> Option<io::Error> {
        match self.channel.page().trouble.load(Relaxed) as i32 {
            0 => None,
            write::ODD => Some(io::Error::other("its process has something that no image can have")),
            number => Some(io::Error::from_raw_os_error(number)),
        }
    }

    /// How it ended; none while it works.
    ///
    /// # Errors
    /// When the kernel does not say.
    pub fn ended(&mut self) -> io::Result<Option<Ended>> {
        let Some(status) = kernel::ended(self.process, false).map_err(io::Error::from_raw_os_error)? else {
            return Ok(None);
        };
        self.has_ended = true;
        if libc::WIFSIGNALED(status) {
            return Ok(Some(Ended::Signal(libc::WTERMSIG(status))));
        }
        Ok(Some(match libc::WEXITSTATUS(status) {
            0 => Ended::Said(self.channel.result()?),
            PANICKED => Ended::Panicked,
            NOT_RESTORED => Ended::NotRestored,
            code => Ended::Code(code),
        }))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.has_ended {
            kernel::kill(self.process);
            _ = kernel::ended(self.process, true);
        }
        // Its writer has been ended with it.
        self.place.clear_partial();
    }
}

/// The child's whole life. Nothing of the parent's is dropped or flushed.
fn be_child(
    parent: i32,
    channel: Channel,
    folder: &File,
    image: Option<Image>,
    work: impl FnOnce() -> Vec<u8>,
) -> ! {
    kernel::ends_with(parent);
    // Signals are the parent's business, which ends this process when it is to stop. What writes a file is told that it may not grow.
    [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGXFSZ].into_iter().for_each(kernel::ignore);
    let (page, number, folder) = (channel.lasting(), channel.number(), folder.as_raw_fd());
    if let Some(image) = image {
        restore::restore(image, number, folder, page);
    }
    close_others(&[number, folder]);
    taking::begin(page, number, folder);
    let done = std::panic::catch_unwind(AssertUnwindSafe(work));
    taking::end();
    let said = done.map(|result| Channel::say(page, number, &result));
    kernel::end(match said {
        Ok(Ok(())) => 0,
        Ok(Err(_)) => 1,
        Err(_) => PANICKED,
    })
}

/// Closes what the work does not read: pipes, sockets and terminals of the parent.
fn close_others(keep: &[i32]) {
    for number in all_files() {
        let is_read = || {
            let flags = kernel::flags(number).is_ok_and(|flags| flags & libc::O_ACCMODE == libc::O_RDONLY);
            flags && kernel::state(number).is_ok_and(|about| about.st_mode & libc::S_IFMT == libc::S_IFREG)
        };
        if !keep.contains(&number) && !is_read() {
            kernel::close(number);
        }
    }
}

/// The numbers of all open files beyond the first three.
pub(crate) fn all_files() -> Vec<i32> {
    let (mut room, mut numbers) = (vec![0; 1 << 16], vec![0; 1 << 20]);
    kernel::open_files(&mut room, &mut numbers).map_or_else(|_| Vec::new(), <[i32]>::to_vec)
}
