//! What must hold after a power failure: a store is exactly what its first operations make of it, up to one that had
//! begun, and not fewer than had ended.

use super::drive::{PRELOADED, place, preloaded, preloaded_key};
use super::{Store, Value, operation};
use crate::pm::{Mechanism, Recovered};
use crate::recovery::{Crashed, Persistent};
use std::collections::BTreeMap;

/// Keys with the operation that put them.
type Contents = BTreeMap<u64, u64>;

/// Recovers every pool, and compares with what the program did.
///
/// # Errors
/// What does not hold.
pub(crate) fn recover<S: Store>(memory: &mut dyn Persistent, crashed: &Crashed<'_>) -> Result<(), String> {
    if S::SHARED {
        let held = contents::<S>(memory, crashed, 0)?;
        // Of one thread the order of operations is known, and with checkpoints they end together.
        return if crashed.threads() == 1 {
            alone::<S>(&held, crashed, 0)
        } else {
            shared::<S>(&held, crashed)
        };
    }
    for thread in 0..crashed.threads() {
        let held = contents::<S>(memory, crashed, thread).map_err(|e| format!("thread {thread}: {e}"))?;
        alone::<S>(&held, crashed, thread).map_err(|e| format!("thread {thread}: {e}"))?;
    }
    Ok(())
}

fn contents<S: Store>(
    memory: &mut dyn Persistent,
    crashed: &Crashed<'_>,
    thread: usize,
) -> Result<Contents, String> {
    let place = place::<S>(crashed.arena(thread), thread, crashed.threads());
    let mut pool = Recovered::new(memory, place, Mechanism::of(crashed.settings))?;
    let size = crashed.settings.number("workload.value_size").next_multiple_of(8);
    let places = S::walk(&mut pool, crashed.settings)?;
    places.into_iter().map(|(key, at)| Ok((key, Value::read(&mut pool, at, size)?))).collect()
}

fn at_the_start<S: Store>(crashed: &Crashed<'_>) -> Contents {
    let count = preloaded::<S>(crashed.settings);
    (0..count).map(|n| (preloaded_key(n), operation(PRELOADED, n))).collect()
}

/// A thread's own pool: the contents after some number of its operations.
fn alone<S: Store>(held: &Contents, crashed: &Crashed<'_>, thread: usize) -> Result<(), String> {
    let (_, count) = crashed.share(crashed.settings.number("workload.operations"), thread);
    let least = if crashed.durable() { crashed.ended[thread] } else { 0 };
    // With checkpoints operations end together, long after they were made.
    let most = match Mechanism::of(crashed.settings) {
        Mechanism::Checkpoint => count,
        Mechanism::Logging | Mechanism::Redo | Mechanism::UndoRedo | Mechanism::Shadow => {
            count.min(crashed.ended[thread] + 1)
        }
    };
    let mut wanted = at_the_start::<S>(crashed);
    let mut random = crashed.random(thread);
    let mut first = None;
    for n in 0..=most {
        if n >= least {
            if *held == wanted {
                return Ok(());
            }
            first.get_or_insert_with(|| wanted.clone());
        }
        if n < most {
            wanted.insert(S::key(&mut random, crashed.settings), operation(thread, n));
        }
    }
    Err(difference(&first.unwrap_or(wanted), held, least))
}

fn difference(wanted: &Contents, held: &Contents, ended: u64) -> String {
    for (key, op) in wanted {
        match held.get(key) {
            None => return format!("after {ended} operations key {key:#x} is missing"),
            Some(other) if other != op => {
                return format!(
                    "after {ended} operations key {key:#x} has the value of operation {:#x}, not of {op:#x}",
                    other
                );
            }
            _ => {}
        }
    }
    let extra = held.keys().find(|k| !wanted.contains_key(k)).copied().unwrap_or_default();
    format!(
        "after {ended} operations key {extra:#x} is there and nothing else of its operation, or more than one"
    )
}

/// A shared pool: the order of threads is not known, that of each thread's operations is.
fn shared<S: Store>(held: &Contents, crashed: &Crashed<'_>) -> Result<(), String> {
    let total = crashed.settings.number("workload.operations");
    let mut may: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (key, op) in at_the_start::<S>(crashed) {
        may.entry(key).or_default().push(op);
    }
    for thread in 0..crashed.threads() {
        let (_, count) = crashed.share(total, thread);
        let mut random = crashed.random(thread);
        for n in 0..count.min(crashed.ended[thread] + 1) {
            let key = S::key(&mut random, crashed.settings);
            let ops = may.entry(key).or_default();
            // An operation that had ended hides the thread's earlier ones, and what was there at the start.
            if crashed.durable() && n < crashed.ended[thread] {
                let hidden = |op: u64| [thread, PRELOADED].contains(&((op >> 40) as usize - 1));
                ops.retain(|op| !hidden(*op));
            }
            ops.push(operation(thread, n));
        }
    }
    for (key, ops) in &may {
        let begun = |op: u64| {
            let (thread, n) = ((op >> 40) as usize - 1, (op & 0xFF_FFFF_FFFF) - 1);
            thread != PRELOADED && n >= crashed.ended[thread]
        };
        let may_be_missing = ops.iter().all(|op| begun(*op)) || !crashed.durable();
        match held.get(key) {
            Some(op) if ops.contains(op) => {}
            Some(op) => {
                return Err(format!(
                    "key {key:#x} has the value of operation {op:#x}, one of {ops:x?} was stored last"
                ));
            }
            None if may_be_missing => {}
            None => return Err(format!("key {key:#x} was committed and is missing")),
        }
    }
    match held.keys().find(|k| !may.contains_key(k)) {
        Some(key) => Err(format!("key {key:#x} is there and was never put")),
        None => Ok(()),
    }
}
