//! What the daemon and the operating system do on a hart: every load, store and wait is the hart's own.

use crate::command::{Command, Pte, What};
use crate::host::Shared;
use crate::spec::{Kind, Prefetch};
use os::{Entered, Task};
use protocol::FenceKind;
use units::Time;

/// The most commands that the agent may not have carried out yet.
const COMMANDS: u64 = 64;

/// An access without a translation, or without the right to write.
#[derive(Clone, Copy)]
pub(crate) struct Miss {
    pub(crate) page: u32,
    pub(crate) write: bool,
}

/// A page walk, and the fault that may come of it.
pub(crate) fn walk(entered: Entered<Shared>, miss: Miss) -> Task {
    Box::pin(async move { Paging(entered).walk(miss).await })
}

struct Paging(Entered<Shared>);

impl std::ops::Deref for Paging {
    type Target = Entered<Shared>;
    fn deref(&self) -> &Entered<Shared> {
        &self.0
    }
}

impl Paging {
    async fn walk(&self, miss: Miss) {
        match self.entry(miss.page).await {
            Some(pte) if pte.writable || !miss.write => self.keep(miss.page, pte),
            Some(_) => self.write_fault(miss.page).await,
            None => self.fault(miss).await,
        }
    }

    /// The page's entry of the page table, as the hart loads it.
    async fn entry(&self, page: u32) -> Option<Pte> {
        let address = self.shared.borrow().layout.entry(page);
        Pte::from_word(self.cpu.load(address).await)
    }

    fn keep(&self, page: u32, pte: Pte) {
        let mut shared = self.shared.borrow_mut();
        // The page may have gone while the walk was under way.
        if shared.daemon.frame_of(page) == Some(pte.frame) {
            shared.daemon.walked(pte.frame, pte.writable);
            shared.harts[self.hart].translations.keep(page, pte.frame << 1 | u32::from(pte.writable));
        }
    }

    /// Writes an entry past the caches, which forget its line: the next walk comes to the agent.
    async fn set_entry(&self, page: u32, pte: Option<Pte>) {
        let address = self.shared.borrow().layout.entry(page);
        self.cpu.store_nontemporal(address, Pte::to_word(pte)).await;
    }

    async fn write_fault(&self, page: u32) {
        let spec = self.shared.borrow().spec;
        self.enter().await;
        self.cpu.work(spec.write_fault).await;
        self.lock(spec.poll).await;
        let frame = self.shared.borrow().daemon.frame_of(page);
        if let Some(frame) = frame {
            self.shared.borrow_mut().daemon.counts.write += 1;
            self.set_entry(page, Some(Pte { frame, writable: true })).await;
            self.cpu.fence(FenceKind::Sfence).await;
            self.shared.borrow_mut().harts[self.hart].translations.forget(page);
            self.cpu.work(spec.invalidate).await;
        }
        self.unlock().await;
        self.leave();
    }

    async fn fault(&self, miss: Miss) {
        let spec = self.shared.borrow().spec;
        self.enter().await;
        self.cpu.work(spec.fault).await;
        self.lock(spec.poll).await;
        if self.entry(miss.page).await.is_none() && !self.make_present(miss).await {
            self.shared.borrow_mut().give_up(miss.page);
        }
        self.unlock().await;
        self.leave();
    }

    /// Makes a page present; false when the remote host does not answer.
    async fn make_present(&self, miss: Miss) -> bool {
        let begun = self.cpu.now();
        loop {
            let (known, kind) = {
                let shared = self.shared.borrow();
                (shared.daemon.frame_of(miss.page), shared.daemon.spec().kind)
            };
            if let Some(frame) = known {
                // The agent could not fetch it, or another hart is about to.
                return self.bring(frame, miss, kind).await;
            }
            if self.shared.borrow().daemon.is_short() {
                self.reclaim().await;
            }
            let taken = self.shared.borrow_mut().daemon.take_free(miss.page);
            match (taken, kind) {
                (Some(frame), Kind::Pages) => {
                    let there = self.bring(frame, miss, kind).await;
                    self.beside(miss.page, kind).await;
                    return there;
                }
                (Some(frame), Kind::Lines) => {
                    self.map(frame, miss.page).await;
                    self.beside(miss.page, kind).await;
                    return true;
                }
                (None, _) if self.has_waited(begun) => return false,
                (None, _) => self.without_lock(self.look()).await,
            }
        }
    }

    /// Others may enter while this hart waits.
    async fn without_lock<T>(&self, wait: impl Future<Output = T>) -> T {
        let pause = self.shared.borrow().spec.poll;
        self.unlock().await;
        let done = wait.await;
        self.lock(pause).await;
        done
    }

    /// Present, but not fetched: the agent does that when the page is walked to.
    async fn map(&self, frame: u32, page: u32) {
        self.shared.borrow_mut().daemon.counts.minor += 1;
        self.post(Command::Map { frame, page }).await;
        self.set_entry(page, Some(Pte { frame, writable: true })).await;
        self.cpu.fence(FenceKind::Sfence).await;
        self.shared.borrow_mut().daemon.unpin(frame);
    }

    /// Fetches a whole page by software, and waits for it; false when the remote host does not answer.
    async fn bring(&self, frame: u32, miss: Miss, kind: Kind) -> bool {
        self.shared.borrow_mut().daemon.counts.major += 1;
        let ticket = self.post(Command::Fetch { frame, page: miss.page }).await;
        let there = self.without_lock(self.wait(ticket)).await;
        // While this hart waited, another may have mapped the page, and a third have taken it away again.
        let still = self.shared.borrow().daemon.frame_of(miss.page) == Some(frame);
        if there && still {
            // Protected against writes, so that the first one is seen.
            let writable = kind == Kind::Lines || miss.write;
            self.set_entry(miss.page, Some(Pte { frame, writable })).await;
            self.cpu.fence(FenceKind::Sfence).await;
            self.shared.borrow_mut().daemon.unpin(frame);
        }
        there
    }

    /// Pages that are likely to be wanted next: mapped, or fetched, into frames that are idle.
    async fn beside(&self, page: u32, kind: Kind) {
        let pages = self.shared.borrow_mut().daemon.beside(page);
        let fetches = self.shared.borrow().daemon.spec().prefetch != Prefetch::None;
        for page in pages {
            let taken = self.shared.borrow_mut().daemon.take_free(page);
            let Some(frame) = taken else { return };
            self.shared.borrow_mut().daemon.counts.prefetched += 1;
            let command = if fetches { Command::Fetch { frame, page } } else { Command::Map { frame, page } };
            let ticket = self.post(command).await;
            // What software fetches is mapped once it is there; the agent's pages at once.
            if kind == Kind::Lines || self.wait(ticket).await {
                self.set_entry(page, Some(Pte { frame, writable: kind == Kind::Lines })).await;
                self.cpu.fence(FenceKind::Sfence).await;
                self.shared.borrow_mut().daemon.unpin(frame);
            }
        }
    }

    async fn reclaim(&self) {
        let spec = self.shared.borrow().spec;
        let (victims, kind) = {
            let mut shared = self.shared.borrow_mut();
            (shared.daemon.choose_victims(), shared.daemon.spec().kind)
        };
        if victims.is_empty() {
            return;
        }
        for (page, _, _) in &victims {
            self.set_entry(*page, None).await;
        }
        self.cpu.fence(FenceKind::Sfence).await;
        let pages: Vec<u32> = victims.iter().map(|(page, _, _)| *page).collect();
        let asked = self.unmap(&pages).await as u64;
        let shootdown =
            if asked == 0 { spec.invalidate } else { spec.shootdown + spec.shootdown_hart * asked };
        self.cpu.work(shootdown).await;
        self.shared.borrow_mut().daemon.counts.shootdowns += u64::from(asked > 0);
        for (_, frame, dirty) in victims {
            let what = match kind {
                Kind::Lines => What::Tracked,
                Kind::Pages if dirty => What::Page,
                Kind::Pages => What::Nothing,
            };
            let ticket = self.post(Command::Reclaim { frame, what }).await;
            self.shared.borrow_mut().daemon.give_back(frame, ticket);
        }
    }

    /// Stores a command into the mailbox; gives the number of commands after which it is carried out.
    async fn post(&self, command: Command) -> u64 {
        loop {
            let (posted, completed) = {
                let daemon = &self.shared.borrow().daemon;
                (daemon.posted, daemon.completed)
            };
            if posted - completed < COMMANDS {
                break;
            }
            self.look().await;
        }
        let mailbox = self.shared.borrow().layout.mailbox();
        self.cpu.store_nontemporal(mailbox, command.to_word()).await;
        self.cpu.fence(FenceKind::Sfence).await;
        let daemon = &mut self.shared.borrow_mut().daemon;
        daemon.posted += 1;
        daemon.posted
    }

    /// Loads how many commands are carried out.
    async fn look(&self) {
        let (status, poll) = {
            let shared = self.shared.borrow();
            (shared.layout.status(), shared.spec.poll)
        };
        self.cpu.work(poll).await;
        self.cpu.forget(status).await;
        self.cpu.fence(FenceKind::Mfence).await;
        let completed = self.cpu.load(status).await;
        let daemon = &mut self.shared.borrow_mut().daemon;
        daemon.completed = daemon.completed.max(completed);
    }

    /// Waits until so many commands are carried out; false when that takes too long.
    async fn wait(&self, ticket: u64) -> bool {
        let begun = self.cpu.now();
        loop {
            if self.shared.borrow().daemon.completed >= ticket {
                return true;
            }
            if self.has_waited(begun) {
                return false;
            }
            self.look().await;
        }
    }

    /// Whether software has waited for the remote host as long as it does.
    fn has_waited(&self, begun: Time) -> bool {
        self.cpu.now().since(begun) > self.shared.borrow().spec.give_up
    }
}
