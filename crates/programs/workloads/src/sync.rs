//! Locks and barriers in simulated memory.

use crate::context::Context;
use protocol::words::BARRIER;
use protocol::{Activity, Order};
use units::Dur;

/// A spinlock: one word, 0 free, 1 taken.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock(pub(crate) u64);

/// Time between two looks at a taken lock: at first, and at most.
const BACKOFF: (Dur, Dur) = (Dur::ns(16), Dur::ns(256));

impl Lock {
    pub(crate) async fn acquire(self, c: &Context) {
        c.cpu.charged(Activity::Locks, self.take(c)).await;
    }

    async fn take(self, c: &Context) {
        let mut pause = BACKOFF.0;
        loop {
            if c.cpu.load_acquire(self.0).await == 0
                && c.cpu.compare_exchange(self.0, 0, 1, Order::Acquire).await == 0
            {
                return;
            }
            c.cpu.compute(pause).await;
            pause = (pause * 2).min(BACKOFF.1);
        }
    }

    pub(crate) async fn release(self, c: &Context) {
        c.cpu.store_release(self.0, 0).await;
    }
}

/// A word that counts who is inside, and that one thread can close: a reader-writer lock whose writer does not
/// starve. Who closes holds a lock that keeps others from closing too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gate(pub(crate) u64);

const CLOSED: u64 = 1 << 32;

impl Gate {
    /// Goes in; false, after a pause, when the gate is closed. Looks before it counts itself in: who closes waits
    /// for the count to fall, and many cores that count themselves in and out again would keep it up for ever.
    pub(crate) async fn enter(self, c: &Context) -> bool {
        c.cpu.charged(Activity::Locks, self.try_enter(c)).await
    }

    async fn try_enter(self, c: &Context) -> bool {
        if c.cpu.load_acquire(self.0).await < CLOSED {
            if c.cpu.fetch_add(self.0, 1, Order::Acquire).await < CLOSED {
                return true;
            }
            self.leave(c).await;
        }
        c.cpu.compute(Dur::ns(64)).await;
        false
    }

    pub(crate) async fn leave(self, c: &Context) {
        c.cpu.fetch_add(self.0, u64::MAX, Order::Release).await;
    }

    /// Keeps others out and waits for those inside.
    pub(crate) async fn close(self, c: &Context) {
        let alone = async {
            c.cpu.fetch_add(self.0, CLOSED, Order::AcquireRelease).await;
            while c.cpu.load_acquire(self.0).await != CLOSED {
                c.cpu.compute(Dur::ns(32)).await;
            }
        };
        c.cpu.charged(Activity::Locks, alone).await;
    }

    /// Closes the gate of something that nobody sees yet. Who finds it waits for [`Gate::open`], and so comes after
    /// what made it reachable.
    pub(crate) async fn make_closed(self, c: &Context) {
        c.store(self.0, CLOSED).await;
    }

    /// Lets others in again. An addition, since some may be trying to enter.
    pub(crate) async fn open(self, c: &Context) {
        c.cpu.fetch_add(self.0, CLOSED.wrapping_neg(), Order::Release).await;
    }
}

/// Waits until every thread has called this for the `round`th time, counted from 1.
pub(crate) async fn barrier(c: &Context, round: u64) {
    meet(c, round, Dur::ns(50)).await;
}

/// The same of threads that wait long and are in no hurry: they sleep, and look again after 10 us or so.
pub(crate) async fn barrier_asleep(c: &Context, round: u64) {
    meet(c, round, Dur::ns(10_000)).await;
}

/// The same with `pause` between two looks.
async fn meet(c: &Context, round: u64, pause: Dur) {
    let met = async {
        c.cpu.fetch_add(BARRIER, 1, Order::AcquireRelease).await;
        while c.cpu.load_acquire(BARRIER).await < round * c.threads as u64 {
            c.cpu.compute(pause).await;
        }
    };
    c.cpu.charged(Activity::Locks, met).await;
}

/// The end of the setting-up: what is in the persist path drains, all threads meet, and counting begins.
pub(crate) async fn start(c: &Context) {
    start_after(c, 1).await;
}

/// The same, as the `round`th barrier.
pub(crate) async fn start_after(c: &Context, round: u64) {
    c.cpu.dfence().await;
    barrier(c, round).await;
    c.cpu.region_begins();
}

/// The end of the region of interest.
pub(crate) async fn finish(c: &Context) {
    c.cpu.dfence().await;
    c.cpu.region_ends();
}
