//! What persistent memory holds when a machine starts.

use crate::build::Machine;
use crate::error::ConfigError;
use protocol::{Image, PAGE_BYTES};

impl Machine {
    /// Puts the touched pages of `image` into persistent memory. Takes no simulated time.
    ///
    /// # Errors
    /// When there is no room for them.
    pub(crate) fn preload(&mut self, image: &Image) -> Result<(), ConfigError> {
        let end = image.base() + image.len();
        for address in (image.base()..end).step_by(PAGE_BYTES as usize) {
            let Some(page) = image.page(address) else { continue };
            for (index, memory) in self.controllers.iter_mut().enumerate().take(self.map.pm_controllers) {
                memory
                    .preload(address, &page, |line| self.map.controller(line) == index)
                    .map_err(|e| ConfigError::new(format!("first contents of persistent memory: {e}")))?;
            }
        }
        Ok(())
    }
}
