//! What the daemon and the operating system do on a core: every load, store and wait is the core's own.

use crate::command::{Command, Pte, What};
use crate::local_tier;
use crate::shared_daemon::Shared;
use crate::spec::Kind;
use kernel::{Entered, Task};
use protocol::{FenceKind, PAGE_BYTES, PM_BASE};
use units::{Dur, Time};

/// The most commands that the agent may not have carried out yet.
const COMMANDS: u64 = 64;

/// The most polling times between two looks.
const LOOKS_APART: u64 = 32;

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

/// All local pages are protected against writes again, so that each one's next write is seen.
pub(crate) fn protect(entered: Entered<Shared>) -> Task {
    Box::pin(async move { Paging(entered).protect().await })
}

/// Where a page of remote memory lies in the agent's addresses.
fn page_address(page: u32) -> u64 {
    PM_BASE + u64::from(page) * PAGE_BYTES
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
        let (kind, spec) = (self.kind(), self.shared.borrow().spec);
        let placed = self.shared.borrow().daemon.local_tier.frame(miss.page);
        if let Some((frame, writable)) = placed {
            return self.walk_near(miss, frame, writable).await;
        }
        if kind == Kind::Lines && self.is_elsewhere(miss.page) && !self.in_kernel(self.admit(miss.page)).await
        {
            return;
        }
        match self.entry(miss.page).await {
            Pte::Absent => self.trap(spec.fault, self.fault(miss, kind)).await,
            Pte::Protected if miss.write => self.trap(spec.write_fault, self.write_fault(miss.page)).await,
            pte @ (Pte::Protected | Pte::Writable) => self.keep(miss.page, pte),
        }
        if kind == Kind::Lines {
            self.shared.borrow_mut().daemon.unpin(miss.page);
            let wants = self.shared.borrow_mut().daemon.wants_near(miss.page);
            if wants {
                self.in_kernel(self.place_near(miss.page)).await;
            }
        }
    }

    /// Not local, or about to be something else.
    fn is_elsewhere(&self, page: u32) -> bool {
        let daemon = &self.shared.borrow().daemon;
        !daemon.is_local(page) || daemon.local_tier.moving == Some(page)
    }

    /// A walk to a page in the processor's memory, which no agent sees; its first write takes a fault.
    async fn walk_near(&self, miss: Miss, frame: u32, mut writable: bool) {
        let spec = self.shared.borrow().spec;
        self.cpu.load(local_tier::entry(miss.page)).await;
        if miss.write && !writable {
            let note = async {
                self.shared.borrow_mut().daemon.local_tier.written(miss.page);
                self.cpu.store(local_tier::entry(miss.page), 2).await;
            };
            self.trap(spec.write_fault, note).await;
            writable = true;
        }
        let mut shared = self.shared.borrow_mut();
        // The page may have gone while the walk was under way.
        if shared.daemon.local_tier.frame(miss.page).is_some_and(|(f, w)| f == frame && w == writable) {
            shared.daemon.local_tier.walked(miss.page);
            let place = (frame + 1) << 1 | u32::from(writable);
            shared.cores[self.core].translations.keep(miss.page, place);
        }
    }

    /// Moves a local page to the processor's memory. The agent's copy goes to the remote host: a page that is only read
    /// from then on can be dropped. Under the lock.
    async fn place_near(&self, page: u32) {
        let room = self.shared.borrow().daemon.local_tier.has_room() || self.displace().await;
        // The lock may have been given back meanwhile.
        let frame = match room && !self.is_elsewhere(page) {
            true => self.shared.borrow_mut().daemon.local_tier.take(),
            false => None,
        };
        if let Some(frame) = frame {
            self.shared.borrow_mut().daemon.local_tier.moving = Some(page);
            self.shared.borrow_mut().daemon.detach(page);
            self.shoot_down(&[page]).await;
            self.copy(page_address(page), local_tier::address(frame, 0)).await;
            self.cpu.store(local_tier::entry(page), 1).await;
            self.set_entry(page, Kind::Lines.initial()).await;
            let ticket = self.post(Command::Reclaim { page, what: What::Tracked }).await;
            let daemon = &mut self.shared.borrow_mut().daemon;
            daemon.give_back(ticket);
            let refaults = daemon.refaults(page);
            daemon.local_tier.place(page, frame, refaults);
            daemon.local_tier.moving = None;
        }
    }

    /// A page leaves the processor's memory; false where none can.
    async fn displace(&self) -> bool {
        let busy = self.shared.borrow().daemon.local_tier.moving.is_some();
        let chosen = if busy { None } else { self.shared.borrow_mut().daemon.local_tier.choose() };
        let Some((page, frame, written)) = chosen else { return false };
        self.shared.borrow_mut().daemon.local_tier.moving = Some(page);
        self.shoot_down(&[page]).await;
        if written {
            if self.take_frame(page).await {
                // The walk brings the page; then it is written over.
                self.entry(page).await;
                self.copy(local_tier::address(frame, 0), page_address(page)).await;
                self.shared.borrow_mut().daemon.unpin(page);
            } else {
                self.shared.borrow_mut().give_up(page);
            }
        }
        let near = &mut self.shared.borrow_mut().daemon.local_tier;
        near.give(frame);
        near.moving = None;
        true
    }

    /// Copies a page by loads and stores, and waits until they are done.
    async fn copy(&self, from: u64, to: u64) {
        // Misses overlap: nothing waits for these values.
        for at in (0..PAGE_BYTES).step_by(64) {
            self.cpu.prefetch(from + at).await;
        }
        for at in (0..PAGE_BYTES).step_by(8) {
            let word = self.cpu.load(from + at).await;
            self.cpu.store(to + at, word).await;
        }
        self.cpu.fence(FenceKind::Mfence).await;
    }

    fn kind(&self) -> Kind {
        self.shared.borrow().daemon.spec().kind
    }

    /// The daemon makes room for a page that the walk is going to bring, under the lock: no fault, but its own work.
    /// False where the remote host takes nothing.
    async fn admit(&self, page: u32) -> bool {
        let pause = self.shared.borrow().spec.poll;
        while self.shared.borrow().daemon.local_tier.moving == Some(page) {
            self.without_lock(self.cpu.compute(pause)).await;
        }
        if self.shared.borrow().daemon.local_tier.frame(page).is_some() {
            // It has been placed meanwhile: the next walk finds it.
            return false;
        }
        let there = self.take_frame(page).await;
        if there {
            self.beside(page, Kind::Lines).await;
        } else {
            self.shared.borrow_mut().give_up(page);
        }
        there
    }

    /// Gives a page a frame, under the lock; false when the remote host does not take what was in it.
    async fn take_frame(&self, page: u32) -> bool {
        let begun = self.cpu.now();
        loop {
            if self.shared.borrow().daemon.is_local(page) {
                return true;
            }
            if self.shared.borrow().daemon.is_short() {
                self.reclaim().await;
            }
            if self.shared.borrow_mut().daemon.take_frame(page) {
                return true;
            }
            if self.has_waited(begun) {
                return false;
            }
            self.without_lock(self.look()).await;
        }
    }

    /// The page's entry of the page table, as the core loads it.
    async fn entry(&self, page: u32) -> Pte {
        let (address, initial) = self.entry_of(page);
        Pte::from_word(self.cpu.load(address).await, initial)
    }

    fn entry_of(&self, page: u32) -> (u64, Pte) {
        let shared = self.shared.borrow();
        (shared.layout.entry(page), shared.daemon.spec().kind.initial())
    }

    fn keep(&self, page: u32, pte: Pte) {
        let mut shared = self.shared.borrow_mut();
        // The page may have gone while the walk was under way.
        if shared.daemon.is_local(page) {
            let writable = pte == Pte::Writable;
            shared.daemon.walked(page, writable);
            shared.cores[self.core].translations.keep(page, u32::from(writable));
        }
    }

    /// Writes an entry; the agent's past the caches, which forget its line: the next walk comes to it.
    async fn set_entry(&self, page: u32, pte: Pte) {
        let (address, initial) = self.entry_of(page);
        if self.kind() == Kind::Pages {
            self.cpu.store(address, pte.to_word(initial)).await;
            return;
        }
        self.cpu.store_nontemporal(address, pte.to_word(initial)).await;
        self.cpu.fence(FenceKind::Sfence).await;
    }

    /// Under the lock: the first write to a protected page.
    async fn write_fault(&self, page: u32) {
        let spec = self.shared.borrow().spec;
        if self.shared.borrow().daemon.is_local(page) {
            self.shared.borrow_mut().daemon.counts.write += 1;
            self.set_entry(page, Pte::Writable).await;
            self.shared.borrow_mut().cores[self.core].translations.forget(page);
            self.cpu.compute(spec.invalidate).await;
        }
    }

    async fn protect(&self) {
        let each = self.shared.borrow().spec.protect_page;
        let begun = self.cpu.now();
        let protect = async {
            self.shared.borrow_mut().faulting.overtake();
            let (local, written) = self.shared.borrow_mut().daemon.protect();
            self.cpu.compute(each * local as u64).await;
            for page in &written {
                self.set_entry(*page, Pte::Protected).await;
            }
            self.shoot_down(&written).await;
            local
        };
        let local = self.in_kernel(protect).await;
        let now = self.cpu.now();
        let mut shared = self.shared.borrow_mut();
        shared.is_protected(now);
        shared.protected.times += 1;
        shared.protected.pages += local as u64;
        shared.protected.time += now.since(begun);
    }

    /// No core has a translation of these pages any more.
    async fn shoot_down(&self, pages: &[u32]) {
        let spec = self.shared.borrow().spec;
        let asked = self.unmap(pages).await as u64;
        let time = if asked == 0 { spec.invalidate } else { spec.shootdown + spec.shootdown_core * asked };
        self.cpu.compute(time).await;
        self.shared.borrow_mut().daemon.counts.shootdowns += u64::from(asked > 0);
    }

    /// A page fault, under the lock: software fetches the page, and waits for it.
    async fn fault(&self, miss: Miss, kind: Kind) {
        // Another core may have been faster.
        if self.entry_is_absent(miss.page, kind).await {
            let there = self.take_frame(miss.page).await && self.bring(miss, kind).await;
            if there {
                self.beside(miss.page, kind).await;
            } else {
                self.shared.borrow_mut().give_up(miss.page);
            }
        }
    }

    /// Under the lock. The agent would take a load of the entry for a walk: its own tables tell the daemon enough.
    async fn entry_is_absent(&self, page: u32, kind: Kind) -> bool {
        kind == Kind::Lines || self.entry(page).await == Pte::Absent
    }

    /// Does `work` in the kernel, under the lock.
    async fn in_kernel<T>(&self, work: impl Future<Output = T>) -> T {
        self.enter().await;
        self.locked(work).await
    }

    /// The same after a fault, which takes `time` to come to its handler and back.
    async fn trap<T>(&self, time: Dur, work: impl Future<Output = T>) -> T {
        self.shared.borrow_mut().faulting.begin(self.core);
        self.enter().await;
        self.cpu.compute(time).await;
        self.locked(work).await
    }

    async fn locked<T>(&self, work: impl Future<Output = T>) -> T {
        let pause = self.shared.borrow().spec.poll;
        self.lock(pause).await;
        let done = work.await;
        self.unlock().await;
        self.leave();
        done
    }

    /// Others may enter while this core waits.
    async fn without_lock<T>(&self, wait: impl Future<Output = T>) -> T {
        let pause = self.shared.borrow().spec.poll;
        self.unlock().await;
        let done = wait.await;
        self.lock(pause).await;
        done
    }

    /// False when the remote host does not answer.
    async fn bring(&self, miss: Miss, kind: Kind) -> bool {
        self.shared.borrow_mut().daemon.counts.major += 1;
        let ticket = self.post_all(miss.page, |page| Command::Fetch { page }).await;
        let there = self.without_lock(self.wait(ticket)).await;
        if there {
            self.present(miss.page, miss.write, kind).await;
        }
        there
    }

    /// The page is here: maps it, unless it has gone again. Protected against writes where the operating system tracks
    /// them, so that the first one is seen.
    async fn present(&self, page: u32, write: bool, kind: Kind) {
        if self.shared.borrow().daemon.is_local(page) {
            let writable = write || kind == Kind::Lines;
            self.set_entry(page, if writable { Pte::Writable } else { Pte::Protected }).await;
            self.shared.borrow_mut().daemon.unpin(page);
        }
    }

    /// Pages that are likely to be wanted next are fetched into frames that are idle.
    async fn beside(&self, page: u32, kind: Kind) {
        let pages = self.shared.borrow_mut().daemon.beside(page);
        for page in pages {
            if !self.shared.borrow_mut().daemon.take_frame(page) {
                return;
            }
            self.shared.borrow_mut().daemon.counts.prefetched += 1;
            let ticket = self.post_all(page, |page| Command::Fetch { page }).await;
            // What software fetches is mapped once it is there; the agent's pages are mapped already.
            if kind == Kind::Lines {
                self.shared.borrow_mut().daemon.unpin(page);
            } else if self.wait(ticket).await {
                self.present(page, false, kind).await;
            }
        }
    }

    async fn reclaim(&self) {
        let victims = self.shared.borrow_mut().daemon.choose_victims();
        if victims.is_empty() {
            return;
        }
        let kind = self.kind();
        let pages: Vec<u32> = victims.iter().map(|(page, _)| *page).collect();
        for page in &pages {
            // The agent's pages stay present; their entries leave the caches, so that it sees the next walk.
            self.set_entry(*page, kind.initial()).await;
        }
        self.shoot_down(&pages).await;
        for (page, dirty) in victims {
            let what = match kind {
                Kind::Lines => What::Tracked,
                Kind::Pages if dirty => What::Page,
                Kind::Pages => What::Nothing,
            };
            let ticket = self.post_all(page, |page| Command::Reclaim { page, what }).await;
            self.shared.borrow_mut().daemon.give_back(ticket);
        }
    }

    /// A command for each 4 KiB of a page; gives the number of commands after which all are carried out.
    async fn post_all(&self, page: u32, command: impl Fn(u32) -> Command) -> u64 {
        let span = self.shared.borrow().daemon.spec().span;
        let mut ticket = 0;
        for small in page * span..(page + 1) * span {
            ticket = self.post(command(small)).await;
        }
        ticket
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

    /// Loads how many commands are carried out. A page of several small ones takes as many times as long to come: software
    /// that waits for it looks as often in all, up to a point.
    async fn look(&self) {
        let (status, poll) = {
            let shared = self.shared.borrow();
            let times = u64::from(shared.daemon.spec().span).min(LOOKS_APART);
            (shared.layout.status(), shared.spec.poll * times)
        };
        self.cpu.compute(poll).await;
        self.cpu.write_back_invalidate(status).await;
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
