//! Px86-view: one list of messages, and how far into it each thread must or may look (Cho et al., PLDI 2021).

use super::reach::reach;
use super::{Flush, ImageValues, Instruction, Location, Model, Test, Thread, Unfinished};
use crate::litmus::FenceKind;
use std::collections::BTreeSet;

/// A place in the list of messages; 0 is before the first.
type Stamp = usize;

#[derive(Clone, PartialEq, Eq, Hash)]
struct View {
    thread: Thread,
    /// The newest message of each location that the thread knows.
    coherence: Vec<Stamp>,
    read_new: Stamp,
    ready: Stamp,
    /// Flushed, and waiting for a fence.
    flushed: Vec<Stamp>,
    /// Persistent.
    committed: Vec<Stamp>,
}

impl View {
    fn newest(&self) -> Stamp {
        self.coherence.iter().copied().max().unwrap_or(0)
    }

    fn commit(&mut self) {
        for (c, f) in self.committed.iter_mut().zip(&self.flushed) {
            *c = (*c).max(*f);
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    messages: Vec<(Location, i64)>,
    views: Vec<View>,
}

impl State {
    fn new(test: &Test) -> State {
        let zeros = vec![0; test.locations.len()];
        let view = |thread| View {
            thread,
            coherence: zeros.clone(),
            read_new: 0,
            ready: 0,
            flushed: zeros.clone(),
            committed: zeros.clone(),
        };
        State { messages: Vec::new(), views: test.start().into_iter().map(view).collect() }
    }

    fn append(&mut self, location: Location, value: i64) -> Stamp {
        self.messages.push((location, value));
        self.messages.len()
    }

    /// The newest message of `location` at or before `limit`, 0 for the initial value.
    fn newest(&self, location: Location, limit: Stamp) -> Stamp {
        (1..=limit).rev().find(|s| self.messages[s - 1].0 == location).unwrap_or(0)
    }

    fn value(&self, test: &Test, location: Location, stamp: Stamp) -> i64 {
        if stamp == 0 { test.initial[location.0] } else { self.messages[stamp - 1].1 }
    }
}

pub(super) fn images(
    test: &Test,
    model: Model,
    failed_rmw_fences: bool,
) -> Result<BTreeSet<ImageValues>, Unfinished> {
    let explorer = Explorer { test, model, failed_rmw_fences };
    let mut found = BTreeSet::new();
    let settle = |state: &mut State| {
        for (view, program) in state.views.iter_mut().zip(&test.threads) {
            view.thread.advance(program)?;
        }
        Ok(())
    };
    let visit = |state: &State, todo: &mut Vec<State>| {
        explorer.collect(state, &mut found);
        for t in 0..test.threads.len() {
            explorer.step(state, t, todo)?;
        }
        Ok(())
    };
    reach(State::new(test), settle, visit)?;
    Ok(found)
}

struct Explorer<'a> {
    test: &'a Test,
    model: Model,
    failed_rmw_fences: bool,
}

impl Explorer<'_> {
    /// Every state after the next instruction of thread `t`.
    fn step(&self, state: &State, t: usize, todo: &mut Vec<State>) -> Result<(), Unfinished> {
        let mut next = state.clone();
        let Some(instruction) = next.views[t].thread.advance(&self.test.threads[t])? else { return Ok(()) };
        next.views[t].thread.at += 1;
        match instruction {
            Instruction::Write { to, value, nontemporal } => {
                let value = next.views[t].thread.value(value);
                let stamp = next.append(to, value);
                next.views[t].coherence[to.0] = stamp;
                if nontemporal {
                    self.flush(&mut next.views[t], Flush::Weak, to);
                }
                todo.push(next);
            }
            Instruction::Read { into, from } => self.read(&next, t, from, Some(into), todo),
            Instruction::Rmw { at, kind, operand, old } => {
                let newest = next.newest(at, next.messages.len());
                let value = next.value(self.test, at, newest);
                if let Some(new) = next.views[t].thread.rmw(kind, operand, value) {
                    let stamp = next.append(at, new);
                    let view = &mut next.views[t];
                    view.thread.set(old, value);
                    view.coherence[at.0] = stamp;
                    view.read_new = view.read_new.max(stamp);
                    view.ready = view.ready.max(stamp);
                    view.commit();
                    todo.push(next.clone());
                }
                self.failed_rmw(state, t, at, instruction, todo);
            }
            Instruction::Flush(kind, location) => {
                self.flush(&mut next.views[t], kind, location);
                todo.push(next);
            }
            Instruction::Fence(kind) => {
                fence(&mut next.views[t], kind);
                todo.push(next);
            }
            Instruction::Set(..) | Instruction::Compare(..) | Instruction::Jump(..) => {}
        }
        Ok(())
    }

    /// A load may see any message that is not older than what the thread knows.
    fn read(
        &self,
        state: &State,
        t: usize,
        from: Location,
        into: Option<super::Register>,
        todo: &mut Vec<State>,
    ) {
        for stamp in self.readable(state, t, from) {
            let mut next = state.clone();
            self.see(&mut next, t, from, stamp);
            let value = next.value(self.test, from, stamp);
            next.views[t].thread.set(into, value);
            todo.push(next);
        }
    }

    fn readable(&self, state: &State, t: usize, from: Location) -> Vec<Stamp> {
        let view = &state.views[t];
        let oldest = view.coherence[from.0].max(state.newest(from, view.read_new));
        let later = (oldest + 1..=state.messages.len()).filter(|s| state.messages[s - 1].0 == from);
        std::iter::once(oldest).chain(later).collect()
    }

    fn see(&self, state: &mut State, t: usize, from: Location, stamp: Stamp) {
        let view = &mut state.views[t];
        if stamp != view.coherence[from.0] {
            view.read_new = view.read_new.max(stamp);
            view.ready = view.ready.max(stamp);
            view.coherence[from.0] = stamp;
        }
    }

    /// A locked operation that writes nothing is a load; on processors it fences as well, and sees the newest.
    fn failed_rmw(
        &self,
        state: &State,
        t: usize,
        at: Location,
        instruction: Instruction,
        todo: &mut Vec<State>,
    ) {
        let Instruction::Rmw { kind, operand, old, .. } = instruction else { return };
        for stamp in self.readable(state, t, at) {
            let value = state.value(self.test, at, stamp);
            let newest = stamp == state.newest(at, state.messages.len());
            let writes = state.views[t].thread.rmw(kind, operand, value).is_some();
            if writes || (self.failed_rmw_fences && !newest) {
                continue;
            }
            let mut next = state.clone();
            next.views[t].thread.at += 1;
            self.see(&mut next, t, at, stamp);
            next.views[t].thread.set(old, value);
            if self.failed_rmw_fences {
                fence(&mut next.views[t], FenceKind::Full);
            }
            todo.push(next);
        }
    }

    fn flush(&self, view: &mut View, kind: Flush, location: Location) {
        let line = self.test.lines[location.0];
        let in_line = |l: &usize| self.test.lines[*l] == line;
        let all = 0..self.test.locations.len();
        let up_to = match kind {
            Flush::Ordered => view.newest(),
            Flush::Weak => {
                let known = all.clone().filter(in_line).map(|l| view.coherence[l]).max();
                known.unwrap_or(0).max(view.ready)
            }
        };
        for l in all.filter(in_line) {
            view.flushed[l] = view.flushed[l].max(up_to);
            if kind == Flush::Ordered {
                view.committed[l] = view.committed[l].max(up_to);
            }
        }
    }

    /// The images that a power failure leaves now.
    fn collect(&self, state: &State, found: &mut BTreeSet<ImageValues>) {
        let count = self.test.locations.len();
        let end = state.messages.len();
        let oldest: Vec<Stamp> = (0..count)
            .map(|l| {
                let each = state.views.iter().map(|v| state.newest(Location(l), v.committed[l].min(end)));
                each.max().unwrap_or(0)
            })
            .collect();
        if self.model == Model::Px86 {
            let choices = (0..count).map(|l| {
                let later = (oldest[l] + 1..=end).filter(|s| state.messages[s - 1].0.0 == l);
                let stamps = std::iter::once(oldest[l]).chain(later);
                let values: Vec<i64> = stamps.map(|s| state.value(self.test, Location(l), s)).collect();
                values.into_iter().map(|v| vec![(l, v)]).collect::<Vec<_>>()
            });
            return product(count, &choices.collect::<Vec<_>>(), found);
        }
        let choices = (0..self.test.line_count()).map(|line| {
            let members: Vec<usize> = (0..count).filter(|l| self.test.lines[*l] == line).collect();
            let from = members.iter().map(|l| oldest[*l]).max().unwrap_or(0);
            let at = |cut: Stamp| {
                let value = |l: usize| state.value(self.test, Location(l), state.newest(Location(l), cut));
                members.iter().map(|l| (*l, value(*l))).collect::<Vec<_>>()
            };
            (from..=end).map(at).collect::<BTreeSet<_>>().into_iter().collect()
        });
        product(count, &choices.collect::<Vec<_>>(), found);
    }
}

fn fence(view: &mut View, kind: FenceKind) {
    let newest = view.newest();
    view.ready = view.ready.max(newest);
    if kind != FenceKind::Store {
        view.read_new = view.read_new.max(newest);
    }
    view.commit();
}

/// Every combination of one choice from each list; a choice gives some locations their values.
pub(super) fn product(count: usize, choices: &[Vec<Vec<(usize, i64)>>], found: &mut BTreeSet<ImageValues>) {
    let mut images = vec![vec![0; count]];
    for options in choices {
        let mut next = Vec::with_capacity(images.len() * options.len());
        for image in &images {
            for option in options {
                let mut image: ImageValues = image.clone();
                option.iter().for_each(|(l, v)| image[*l] = *v);
                next.push(image);
            }
        }
        images = next;
    }
    found.extend(images);
}
