//! Flash whose operations take the media's time.

use super::{Array, Block, Flash, FlashError, Media, MediaSpec, PageNumber, Spare};
use units::Time;

/// Bytes and time together. What the translation layer does in one call begins when that call does; collection
/// keeps dies and channels busy as host pages do.
#[derive(Clone, Debug)]
pub struct Timed {
    array: Array,
    media: Media,
    now: Time,
    done: Time,
}

impl Timed {
    /// `array` behind idle media.
    ///
    /// # Errors
    /// See [`MediaSpec::check`].
    pub fn new(array: Array, spec: MediaSpec) -> Result<Timed, String> {
        Ok(Timed { array, media: Media::new(spec)?, now: Time::ZERO, done: Time::ZERO })
    }

    /// What follows is asked for at `now`.
    pub fn begin(&mut self, now: Time) {
        (self.now, self.done) = (now, now);
    }

    /// When everything since [`Timed::begin`] is done.
    pub fn done(&self) -> Time {
        self.done
    }

    /// A page is read of which nobody keeps bytes: the media are as busy with it.
    pub fn read_blank(&mut self, page: PageNumber) {
        let done = self.media.read(self.now, page);
        self.until(done);
    }

    /// The bytes.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// Whatever was done so far took no time.
    pub(super) fn rest(&mut self) {
        self.media.rest();
        (self.now, self.done) = (Time::ZERO, Time::ZERO);
    }

    fn until(&mut self, done: Time) {
        self.done = self.done.max(done);
    }

    /// The array is read by `read`, which may try several times: each senses the page anew and sends it over its channel, where
    /// its bits are found to be wrong. Gives when the last has come.
    fn sensed<T>(&mut self, page: PageNumber, read: impl FnOnce(&mut Array) -> T) -> (Time, T) {
        let before = self.array.retried;
        let result = read(&mut self.array);
        let mut done = self.now;
        for _ in 0..=self.array.retried - before {
            done = self.media.read(done, page);
        }
        (done, result)
    }
}

impl Flash for Timed {
    fn program(&mut self, page: PageNumber, spare: Spare, data: &[u8]) -> Result<(), FlashError> {
        let done = self.media.program(self.now, page);
        self.until(done);
        self.array.program(page, spare, data)
    }

    fn copy(&mut self, from: PageNumber, to: PageNumber) -> Result<(), FlashError> {
        let (read, result) = self.sensed(from, |array| array.copy(from, to));
        let done = self.media.program(read, to);
        self.until(done);
        result
    }

    fn erase(&mut self, block: Block) -> Result<(), FlashError> {
        let done = self.media.erase(self.now);
        self.until(done);
        self.array.erase(block)
    }

    fn read(&mut self, page: PageNumber, data: &mut [u8]) -> Result<(), FlashError> {
        let (done, result) = self.sensed(page, |array| array.read(page, data));
        self.until(done);
        result
    }
}
