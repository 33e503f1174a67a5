//! Shadow paging: each page of data has two frames, and a word that says which one counts.

use super::{Bug, PAGE, Pm};
use crate::words::CopiedPages;
use protocol::{LogChecksum, NearKind, Share};

impl Pm {
    /// Pages that are about to change get a copy in their other frame.
    pub(super) async fn shadow_pages(&self, address: u64, size: u64) {
        let parts = self.parts;
        for page in parts.page(address)..=parts.page(address + size - 1) {
            if self.state.borrow().pages.contains_key(&page) || self.leaves_page() {
                continue;
            }
            let old = self.c.load(parts.table(page)).await & 1;
            self.fault().await;
            let from = parts.frame(page, old);
            let is_fixed = self.copied == Some(CopiedPages::Fixed);
            let to = if is_fixed { parts.fixed_frame(page) } else { parts.frame(page, 1 - old) };
            if self.near.is_some() {
                self.command(NearKind::ShadowCopy, from, to, PAGE).await;
            } else {
                let began = self.c.cpu.now();
                self.copy(from, to, PAGE, &mut LogChecksum::new(0, 0, 0)).await;
                self.c.cpu.ofence().await;
                self.c.cpu.spent(Share::Movement, self.c.cpu.now() - began);
            }
            // What was copied to one place is changed where it lies.
            if !is_fixed {
                self.state.borrow_mut().pages.insert(page, 1 - old);
            }
        }
    }

    /// A copy to one place has nothing to switch, but a program that looks after its devices itself waits for it.
    async fn await_fixed_copy(&self) {
        let began = self.c.cpu.now();
        if self.copied == Some(CopiedPages::Fixed) && self.state.borrow().copied && self.polls() {
            self.poll().await;
            self.c.cpu.spent(Share::Consistency, self.c.cpu.now() - began);
        }
    }

    /// The new frames persist; then all pages of the transaction change over at once: by one word, or by a journal.
    pub(super) async fn switch(&self) {
        self.flush_changes().await;
        let pages = std::mem::take(&mut self.state.borrow_mut().pages);
        if pages.is_empty() {
            self.await_fixed_copy().await;
            return;
        }
        let (c, began) = (&self.c, self.c.cpu.now());
        if self.polls() {
            self.poll().await;
        }
        let alone = pages.len() == 1;
        let count = self.parts.thread_words(self.thread) + 8;
        if !alone {
            let journal = |i: u64| self.parts.layout.address(self.parts.area(self.thread), 0, i * 8);
            for (i, (page, frame)) in (0..).zip(&pages) {
                c.store(journal(i), page << 1 | frame).await;
            }
            for line in (0..pages.len() as u64).step_by(8) {
                c.cpu.clwb(journal(line)).await;
            }
            c.cpu.ofence().await;
            c.publish(count, pages.len() as u64).await;
        }
        for (page, frame) in &pages {
            c.store(self.parts.table(*page), *frame).await;
            c.cpu.clwb(self.parts.table(*page)).await;
        }
        if self.near.is_some() {
            // The old frames are what a device will write next: no cache may keep them.
            for (page, frame) in pages.iter().filter(|_| self.bug != Bug::FrameKept) {
                self.write_back_invalidate(self.parts.frame(*page, 1 - frame), PAGE).await;
            }
            self.durable().await;
        } else {
            c.cpu.ofence().await;
        }
        if !alone {
            c.publish(count, 0).await;
        }
        c.cpu.spent(Share::Consistency, c.cpu.now() - began);
    }
}
