//! Hosts that share memory without coherence, a thread each: the caches that a run of `shared` has, driven through every order
//! of instructions, evictions, arrivals and stops.

use super::reach::reach;
use super::{Flush, ImageValues, Instruction, Location, Test, Thread, Unfinished};
use shared::{Keep, Mutant, State as Caches};
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
        caches: Caches::new(hosts, memory, test.coherent_lines()).with(mutant),
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
        let memory = state.caches.memory();
        found.insert(places.0.iter().map(|(line, word)| memory[*line][*word]).collect());
        for host in (0..hosts).filter(|host| !state.stopped[*host]) {
            execute(test, &places, state, host, todo)?;
            happen(test, state, host, todo);
        }
        Ok(())
    };
    reach(first, settle, visit)?;
    Ok(found)
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
    for line in state.caches.cached(host) {
        let mut next = state.clone();
        next.caches.evict(host, line);
        todo.push(next);
    }
    for index in 0..state.caches.in_flight(host).len() {
        let mut next = state.clone();
        next.caches.land(host, index);
        todo.push(next);
    }
    if test.may_stop(host) {
        let mut next = state.clone();
        next.caches.crash(host);
        next.stopped[host] = true;
        todo.push(next);
    }
}
