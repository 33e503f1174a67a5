//! Hosts that share memory without coherence, a thread each: the caches that a run of `shared` has, driven through every order
//! of instructions, evictions, arrivals and stops.

use super::reach::reach;
use super::{Flush, ImageValues, Instruction, Location, Test, Thread, Unfinished};
use shared::{Keep, Mutant, PersistentFlush, Reach, State as Caches, Use};
use std::collections::BTreeSet;

/// Words of a line: locations that a test may put into one.
pub(super) const WORDS: usize = 8;

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    threads: Vec<Thread>,
    caches: Caches<i64, WORDS>,
    stopped: Vec<bool>,
}

/// Where each location is.
struct Places(Vec<(usize, usize)>);

impl Places {
    fn new(test: &Test) -> Places {
        let lines = test.lines.iter().enumerate();
        let word = |(index, line): (usize, &usize)| {
            (*line, test.lines[..index].iter().filter(|other| *other == line).count())
        };
        Places(lines.map(word).collect())
    }

    fn of(&self, location: Location) -> (usize, usize) {
        self.0[location.0]
    }
}

/// Every content of the device; `mutant` is a mistake of the caches, to see that it shows.
pub(super) fn images(test: &Test, mutant: Option<Mutant>) -> Result<BTreeSet<ImageValues>, Unfinished> {
    let places = Places::new(test);
    let mut memory = vec![[0; WORDS]; test.line_count()];
    test.initial.iter().zip(&places.0).for_each(|(value, (line, word))| memory[*line][*word] = *value);
    let hosts = test.threads.len();
    let first = State {
        threads: test.start(),
        caches: Caches::new(hosts, memory, test.coherent_lines()).with(mutant).buffered(buffer(test)),
        stopped: vec![false; hosts],
    };
    let mut found = BTreeSet::new();
    let settle = |state: &mut State| {
        for (thread, program) in state.threads.iter_mut().zip(&test.threads) {
            thread.advance(program)?;
        }
        Ok(())
    };
    let visit = |state: &State, todo: &mut Vec<State>| {
        post_crash_states(test, &places, &state.caches, &mut found);
        for index in 0..state.caches.accepted().count() {
            let mut next = state.clone();
            next.caches.drain(index);
            todo.push(next);
        }
        for host in (0..hosts).filter(|host| !state.stopped[*host]) {
            execute(test, &places, state, host, todo)?;
            happen(test, state, host, todo);
        }
        Ok(())
    };
    reach(first, settle, visit)?;
    Ok(found)
}

/// Lines of the device's buffer: without one where all of it is drained.
fn buffer(test: &Test) -> usize {
    let is_seen = test.is_short() || test.flush() == PersistentFlush::None;
    if is_seen { test.line_count() } else { 0 }
}

/// What the power leaves when it fails now.
fn post_crash_states(
    test: &Test,
    places: &Places,
    caches: &Caches<i64, WORDS>,
    found: &mut BTreeSet<ImageValues>,
) {
    let flush = test.flush();
    let all = Reach { flush, host_lines: usize::MAX, device_lines: usize::MAX };
    let most = if test.is_short() { caches.power_fails(all).accepted.len() } else { 0 };
    let some =
        |host_lines: usize| (0..most).map(move |device_lines| Reach { flush, host_lines, device_lines });
    let fewer = (0..most).flat_map(some);
    let unsent = (0..most).map(|host_lines| Reach { host_lines, ..all });
    for reach in std::iter::once(all).chain(some(usize::MAX)).chain(fewer).chain(unsent) {
        let left = caches.power_fails(reach);
        let mut image: ImageValues = places.0.iter().map(|(line, word)| left.memory[*line][*word]).collect();
        if let Some(count) = test.count_of_dirty_shutdowns() {
            image[count] += left.dirty_shutdowns as i64;
        }
        found.insert(image);
    }
}

/// Whether an instruction waits for a link that is down.
fn waits(places: &Places, caches: &Caches<i64, WORDS>, host: usize, instruction: &Instruction) -> bool {
    let has_sent = || !caches.in_flight(host).is_empty();
    let (location, uses) = match instruction {
        Instruction::Write { to, nontemporal: true, .. } => (*to, Use::StorePast),
        Instruction::Write { to, .. } => (*to, Use::Store),
        Instruction::Read { from, .. } => (*from, Use::Load),
        Instruction::Flush(Flush::Ordered, _) => return caches.is_cut_off(host),
        Instruction::Fence(_) => return caches.is_cut_off(host) && has_sent(),
        Instruction::Flush(Flush::Weak, _)
        | Instruction::Rmw { .. }
        | Instruction::Set(..)
        | Instruction::Compare(..)
        | Instruction::Jump(..) => return false,
    };
    caches.waits_for(host, places.of(location).0, uses).is_some()
}

/// The host's next instruction.
fn execute(
    test: &Test,
    places: &Places,
    state: &State,
    host: usize,
    todo: &mut Vec<State>,
) -> Result<(), Unfinished> {
    let mut next = state.clone();
    let Some(instruction) = next.threads[host].advance(&test.threads[host])? else { return Ok(()) };
    if waits(places, &next.caches, host, &instruction) {
        return Ok(());
    }
    next.threads[host].at += 1;
    let State { threads, caches, .. } = &mut next;
    let thread = &mut threads[host];
    match instruction {
        Instruction::Write { to, value, nontemporal } => {
            let (line, word) = places.of(to);
            let value = thread.value(value);
            if nontemporal {
                caches.store_past(host, line, word, value);
            } else {
                caches.store(host, line, word, value);
            }
        }
        Instruction::Read { into, from } => {
            let (line, word) = places.of(from);
            thread.set(Some(into), caches.load(host, line, word));
        }
        Instruction::Flush(Flush::Weak, location) => {
            caches.flush(host, places.of(location).0, Keep::Copy);
        }
        Instruction::Flush(Flush::Ordered, location) => {
            let (line, _) = places.of(location);
            caches.flush(host, line, Keep::Nothing);
            caches.settle(host, line);
        }
        Instruction::Fence(_) => caches.fence(host),
        Instruction::Rmw { .. } => return Err(Unfinished::WrongModel),
        Instruction::Set(..) | Instruction::Compare(..) | Instruction::Jump(..) => {}
    }
    todo.push(next);
    Ok(())
}

/// What happens to the host by itself.
fn happen(test: &Test, state: &State, host: usize, todo: &mut Vec<State>) {
    let mut with = |change: &dyn Fn(&mut Caches<i64, WORDS>)| {
        let mut next = state.clone();
        change(&mut next.caches);
        todo.push(next);
    };
    if state.caches.is_cut_off(host) {
        with(&|caches| caches.link_returns(host));
    } else {
        for line in state.caches.cached(host) {
            with(&|caches| _ = caches.evict(host, line));
        }
        for index in 0..state.caches.in_flight(host).len() {
            with(&|caches| _ = caches.land(host, index));
        }
        if test.may_lose_link(host) {
            with(&|caches| caches.link_fails(host));
        }
    }
    if test.may_stop(host) {
        let mut next = state.clone();
        next.caches.crash(host);
        next.stopped[host] = true;
        todo.push(next);
    }
}
