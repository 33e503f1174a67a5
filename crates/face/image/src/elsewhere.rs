//! Where no image can be taken: there is none, and no child.

use crate::{Ended, Place, Told};
use std::io;
use std::time::Duration;

/// An image, of which there are none.
#[derive(Debug)]
pub enum Image {}

impl Image {
    /// None.
    ///
    /// # Errors
    /// Never.
    pub fn find(_: &Place) -> Result<Option<Image>, String> {
        Ok(None)
    }

    /// What the work had told of itself.
    pub fn told(&self) -> Told {
        match *self {}
    }

    /// The host's time that the work had taken.
    pub fn spent(&self) -> Duration {
        match *self {}
    }

    /// How long ago it was taken.
    pub fn age(&self) -> Duration {
        match *self {}
    }
}

/// A child, of which there are none.
#[derive(Debug)]
pub enum Child {}

impl Child {
    /// Whether work can be done in a child.
    pub fn is_possible() -> bool {
        false
    }

    /// Does nothing.
    ///
    /// # Errors
    /// Always.
    pub fn start(_: &Place, _: Option<Image>, _: impl FnOnce() -> Vec<u8>) -> io::Result<Child> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// What the work tells of itself.
    pub fn told(&self) -> Told {
        match *self {}
    }

    /// Images that were taken.
    pub fn taken(&self) -> u64 {
        match *self {}
    }

    /// Why no images are taken any more.
    pub fn trouble(&self) -> Option<io::Error> {
        match *self {}
    }

    /// How it ended; none while it works.
    ///
    /// # Errors
    /// Never.
    pub fn ended(&mut self) -> io::Result<Option<Ended>> {
        match *self {}
    }
}

/// Nothing is kept here.
pub fn look(_: impl FnOnce() -> Told) {}
