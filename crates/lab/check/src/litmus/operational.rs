//! x86 as a machine: store buffers that flushes and fences pass through, and a persistence buffer for each line
//! (or location) that drains in order; a flush leaves its store buffer once its line has drained (Khyzha and
//! Lahav, POPL 2021).

use super::reach::reach;
use super::{FenceKind, Flush, ImageValues, Instruction, Location, Model, Test, Thread, Unfinished};
use std::collections::BTreeSet;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Buffered {
    /// Whether it is non-temporal comes last.
    Write(Location, i64, bool),
    Flush(Flush, usize),
    Fence,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    threads: Vec<Thread>,
    buffers: Vec<Vec<Buffered>>,
    memory: Vec<i64>,
    /// For each unit that persists in order: writes on their way.
    in_flight: Vec<Vec<(Location, i64)>>,
    persistent: Vec<i64>,
}

struct AbstractMachine<'a> {
    test: &'a Test,
    model: Model,
    failed_rmw_fences: bool,
}

pub(super) fn images(
    test: &Test,
    model: Model,
    failed_rmw_fences: bool,
) -> Result<BTreeSet<ImageValues>, Unfinished> {
    let machine = AbstractMachine { test, model, failed_rmw_fences };
    let by_line = matches!(model, Model::Px86Line | Model::Strict);
    let units = if by_line { test.line_count() } else { test.locations.len() };
    let first = State {
        threads: test.start(),
        buffers: vec![Vec::new(); test.threads.len()],
        memory: test.initial.clone(),
        in_flight: vec![Vec::new(); units],
        persistent: test.initial.clone(),
    };
    let mut found = BTreeSet::new();
    let settle = |state: &mut State| {
        for (thread, program) in state.threads.iter_mut().zip(&test.threads) {
            thread.advance(program)?;
        }
        Ok(())
    };
    let visit = |state: &State, todo: &mut Vec<State>| {
        found.insert(state.persistent.clone());
        for t in 0..test.threads.len() {
            machine.execute(state, t, todo)?;
            machine.drain(state, t, todo);
        }
        machine.persist(state, todo);
        Ok(())
    };
    reach(first, settle, visit)?;
    Ok(found)
}

impl AbstractMachine<'_> {
    fn unit(&self, location: Location) -> usize {
        let by_line = matches!(self.model, Model::Px86Line | Model::Strict);
        if by_line { self.test.lines[location.0] } else { location.0 }
    }

    fn execute(&self, state: &State, t: usize, todo: &mut Vec<State>) -> Result<(), Unfinished> {
        let mut next = state.clone();
        let Some(instruction) = next.threads[t].advance(&self.test.threads[t])? else { return Ok(()) };
        next.threads[t].at += 1;
        let empty = next.buffers[t].is_empty();
        match instruction {
            Instruction::Write { to, value, nontemporal } => {
                let value = next.threads[t].value(value);
                next.buffers[t].push(Buffered::Write(to, value, nontemporal));
                if nontemporal {
                    next.buffers[t].push(Buffered::Flush(Flush::Weak, self.test.lines[to.0]));
                }
            }
            Instruction::Read { into, from } => {
                let value = load(&next, t, from);
                next.threads[t].set(Some(into), value);
            }
            Instruction::Rmw { at, kind, operand, old } => {
                if empty {
                    let value = next.memory[at.0];
                    let written = next.threads[t].rmw(kind, operand, value);
                    next.threads[t].set(old, value);
                    if let Some(new) = written {
                        self.write(&mut next, at, new, false);
                    }
                    todo.push(next);
                    return Ok(());
                }
                // One that fails is a load where it does not fence.
                let value = load(&next, t, at);
                if self.failed_rmw_fences || next.threads[t].rmw(kind, operand, value).is_some() {
                    return Ok(());
                }
                next.threads[t].set(old, value);
            }
            Instruction::Flush(kind, location) => {
                next.buffers[t].push(Buffered::Flush(kind, self.test.lines[location.0]));
            }
            Instruction::Fence(FenceKind::Store) => next.buffers[t].push(Buffered::Fence),
            Instruction::Fence(_) if !empty => return Ok(()),
            Instruction::Fence(_)
            | Instruction::Set(..)
            | Instruction::Compare(..)
            | Instruction::Jump(..) => {}
        }
        todo.push(next);
        Ok(())
    }

    fn write(&self, state: &mut State, to: Location, value: i64, nontemporal: bool) {
        state.memory[to.0] = value;
        let unit = self.unit(to);
        state.in_flight[unit].push((to, value));
        if self.model == Model::Strict && !nontemporal {
            // What a write-combining buffer has of the line goes before a store to it.
            for (to, value) in state.in_flight[unit].drain(..) {
                state.persistent[to.0] = value;
            }
        }
    }

    /// Any entry of a store buffer leaves that nothing before it holds back.
    fn drain(&self, state: &State, t: usize, todo: &mut Vec<State>) {
        for index in 0..state.buffers[t].len() {
            let (before, entry) = (&state.buffers[t][..index], state.buffers[t][index]);
            if before.iter().any(|b| self.holds_back(*b, entry)) {
                continue;
            }
            let mut next = state.clone();
            next.buffers[t].remove(index);
            match entry {
                Buffered::Write(to, value, nontemporal) => self.write(&mut next, to, value, nontemporal),
                Buffered::Flush(_, line) if !self.drained(state, line) => continue,
                Buffered::Flush(..) | Buffered::Fence => {}
            }
            todo.push(next);
        }
    }

    fn drained(&self, state: &State, line: usize) -> bool {
        let mut members = (0..self.test.locations.len()).filter(|l| self.test.lines[*l] == line);
        members.all(|l| state.in_flight[self.unit(Location(l))].is_empty())
    }

    fn holds_back(&self, before: Buffered, entry: Buffered) -> bool {
        match (before, entry) {
            (Buffered::Fence, _) | (_, Buffered::Fence) => true,
            (Buffered::Flush(Flush::Weak, _), Buffered::Write(..) | Buffered::Flush(..)) => false,
            (Buffered::Write(to, ..), Buffered::Flush(Flush::Weak, line)) => self.test.lines[to.0] == line,
            (Buffered::Flush(Flush::Ordered, flushed), Buffered::Flush(Flush::Weak, line)) => flushed == line,
            (
                Buffered::Write(..) | Buffered::Flush(Flush::Ordered, _),
                Buffered::Write(..) | Buffered::Flush(Flush::Ordered, _),
            ) => true,
        }
    }

    fn persist(&self, state: &State, todo: &mut Vec<State>) {
        for unit in (0..state.in_flight.len()).filter(|u| !state.in_flight[*u].is_empty()) {
            let mut next = state.clone();
            let (to, value) = next.in_flight[unit].remove(0);
            next.persistent[to.0] = value;
            todo.push(next);
        }
    }
}

fn load(state: &State, t: usize, from: Location) -> i64 {
    let own = state.buffers[t].iter().rev().find_map(|b| match b {
        Buffered::Write(to, value, _) if *to == from => Some(*value),
        Buffered::Write(..) | Buffered::Flush(..) | Buffered::Fence => None,
    });
    own.unwrap_or(state.memory[from.0])
}
