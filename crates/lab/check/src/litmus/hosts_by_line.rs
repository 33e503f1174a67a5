//! The same, decided another way: not hosts with caches, but lines with those who have them.
//!
//! A line that nothing keeps coherent is, for each host, what the host saw of it and what it has stored over that since. A copy
//! that is clean goes unseen, so that a host may take the line anew wherever it uses it, and evictions of such copies are no
//! steps. A line that hardware keeps coherent has one value for all, perhaps an owner whose device write is outstanding, and
//! what the device has.

use super::reach::reach;
use super::{Flush, ImageValues, Instruction, Test, Thread, Unfinished};
use shared::PersistentFlush;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Values by location.
type Values = BTreeMap<usize, i64>;

/// What a host has of a line.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Held {
    /// What it saw, none where it has no copy.
    seen: Option<Values>,
    /// What it stored over that and has not sent.
    own: Values,
    /// What it has sent and the device has not.
    sent: VecDeque<Values>,
}

/// A line that hardware keeps coherent.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Agreed {
    now: Values,
    /// Who has to write it to the device, whether that one has a copy, and whether it has sent all.
    owner: Option<(usize, bool, bool)>,
    sent: VecDeque<Values>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Line {
    Apart(Vec<Held>),
    Agreed(Agreed),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    threads: Vec<Option<Thread>>,
    lines: Vec<Line>,
    device: Vec<Values>,
    /// What the media holds of a line, where the device has accepted another and is not sure to save it.
    older: Vec<Option<Values>>,
    /// Whether the device may lose what it has accepted.
    loses: bool,
}

pub(super) fn images(test: &Test) -> Result<BTreeSet<ImageValues>, Unfinished> {
    let mut found = BTreeSet::new();
    let settle = |state: &mut State| {
        for (thread, program) in state.threads.iter_mut().zip(&test.threads) {
            thread.as_mut().map(|thread| thread.advance(program)).transpose()?;
        }
        Ok(())
    };
    let visit = |state: &State, todo: &mut Vec<State>| {
        state.post_crash_states(test, &mut found);
        state.drains(todo);
        for host in 0..test.threads.len() {
            state.execute(test, host, todo)?;
            state.goes_out(host, todo);
            if test.may_stop(host) && state.threads[host].is_some() {
                todo.push(state.stopped(host));
            }
        }
        Ok(())
    };
    reach(State::new(test), settle, visit)?;
    Ok(found)
}

impl State {
    fn new(test: &Test) -> State {
        let device: Vec<Values> = (0..test.line_count())
            .map(|line| {
                let own = (0..test.locations.len()).filter(|l| test.lines[*l] == line);
                own.map(|l| (l, test.initial[l])).collect()
            })
            .collect();
        let lines = test.coherent_lines().into_iter().zip(&device).map(|(coherent, values)| {
            if coherent {
                Line::Agreed(Agreed { now: values.clone(), owner: None, sent: VecDeque::new() })
            } else {
                Line::Apart(vec![Held::default(); test.threads.len()])
            }
        });
        State {
            threads: test.start().into_iter().map(Some).collect(),
            lines: lines.collect(),
            older: vec![None; device.len()],
            loses: test.is_short() || test.flush() == PersistentFlush::None,
            device,
        }
    }

    fn execute(&self, test: &Test, host: usize, todo: &mut Vec<State>) -> Result<(), Unfinished> {
        let mut next = self.clone();
        let Some(thread) = &mut next.threads[host] else { return Ok(()) };
        let Some(instruction) = thread.advance(&test.threads[host])? else { return Ok(()) };
        thread.at += 1;
        match instruction {
            Instruction::Write { to, value, nontemporal } => {
                let value = thread.value(value);
                for mut state in next.ready(host, test.lines[to.0], nontemporal) {
                    state.write(host, (test.lines[to.0], to.0), value, nontemporal);
                    todo.push(state);
                }
            }
            Instruction::Read { into, from } => {
                for mut state in next.ready(host, test.lines[from.0], false) {
                    let value = state.value(host, test.lines[from.0], from.0);
                    if let Some(thread) = &mut state.threads[host] {
                        thread.set(Some(into), value);
                    }
                    todo.push(state);
                }
            }
            Instruction::Flush(kind, location) => {
                next.flush(host, test.lines[location.0], kind == Flush::Weak);
                todo.push(next);
            }
            Instruction::Fence(_) => {
                (0..next.lines.len()).for_each(|line| next.arrive(host, line));
                todo.push(next);
            }
            Instruction::Rmw { .. } => return Err(Unfinished::WrongModel),
            Instruction::Set(..) | Instruction::Compare(..) | Instruction::Jump(..) => {}
        }
        Ok(())
    }

    /// The states in which the host can use a line: with the copy that it has, where it is still there, and with a new one.
    fn ready(mut self, host: usize, line: usize, past: bool) -> Vec<State> {
        match &self.lines[line] {
            Line::Agreed(agreed) => {
                let is_others = agreed.owner.is_some_and(|(owner, ..)| owner != host);
                let has_none = agreed.owner.is_some_and(|(_, has_copy, _)| !has_copy);
                if is_others || has_none && !past {
                    self.give_up(line);
                }
                vec![self]
            }
            Line::Apart(held) => {
                let held = &held[host];
                let (has, is_clean) = (held.seen.is_some(), held.own.is_empty());
                if past || has && !is_clean {
                    return vec![self];
                }
                let mut anew = self.clone();
                anew.arrive(host, line);
                let seen = anew.device[line].clone();
                if let Line::Apart(held) = &mut anew.lines[line] {
                    held[host].seen = Some(seen);
                }
                if has { vec![self, anew] } else { vec![anew] }
            }
        }
    }

    fn value(&self, host: usize, line: usize, location: usize) -> i64 {
        match &self.lines[line] {
            Line::Agreed(agreed) => agreed.now[&location],
            Line::Apart(held) => {
                let own = held[host].own.get(&location);
                let seen = held[host].seen.as_ref().and_then(|seen| seen.get(&location));
                own.or(seen).copied().unwrap_or_default()
            }
        }
    }

    fn write(&mut self, host: usize, (line, location): (usize, usize), value: i64, past: bool) {
        if past {
            self.send(host, line, false);
        }
        match &mut self.lines[line] {
            Line::Agreed(agreed) => {
                agreed.now.insert(location, value);
                agreed.owner = Some((host, !past, past));
                if past {
                    agreed.sent.push_back(agreed.now.clone());
                }
            }
            Line::Apart(held) if past => held[host].sent.push_back([(location, value)].into()),
            Line::Apart(held) => _ = held[host].own.insert(location, value),
        }
    }

    /// What the host stored to a line goes out; it keeps its copy, or not.
    fn send(&mut self, host: usize, line: usize, keeps: bool) {
        match &mut self.lines[line] {
            Line::Agreed(agreed) => {
                let Some((_, has_copy, has_sent)) = agreed.owner.as_mut().filter(|o| o.0 == host) else {
                    return;
                };
                if !std::mem::replace(has_sent, true) {
                    agreed.sent.push_back(agreed.now.clone());
                }
                *has_copy &= keeps;
            }
            Line::Apart(held) => {
                let held = &mut held[host];
                let own = std::mem::take(&mut held.own);
                if !own.is_empty()
                    && let Some(seen) = &mut held.seen
                {
                    seen.extend(own);
                    held.sent.push_back(seen.clone());
                }
                held.seen = held.seen.take().filter(|_| keeps);
            }
        }
    }

    fn flush(&mut self, host: usize, line: usize, weak: bool) {
        self.send(host, line, weak);
        if !weak {
            self.arrive(host, line);
        }
    }

    /// The device gets the next of what a host sent of a line; whether there was any.
    fn arrives(&mut self, host: usize, line: usize) -> bool {
        let sent = match &mut self.lines[line] {
            Line::Agreed(agreed) if agreed.owner.is_some_and(|(owner, ..)| owner == host) => {
                let sent = agreed.sent.pop_front();
                let is_done = agreed.sent.is_empty() && agreed.owner.is_some_and(|(_, _, has_sent)| has_sent);
                agreed.owner = agreed.owner.filter(|_| !is_done);
                sent
            }
            Line::Agreed(_) => None,
            Line::Apart(held) => held[host].sent.pop_front(),
        };
        let is_there = sent.is_some();
        if is_there {
            self.accepts(line);
        }
        self.device[line].extend(sent.into_iter().flatten());
        is_there
    }

    /// The device is about to have something else of a line.
    fn accepts(&mut self, line: usize) {
        if self.loses && self.older[line].is_none() {
            self.older[line] = Some(self.device[line].clone());
        }
    }

    /// The media gets a line that the device has accepted.
    fn drains(&self, todo: &mut Vec<State>) {
        for line in (0..self.older.len()).filter(|line| self.older[*line].is_some()) {
            let mut next = self.clone();
            next.older[line] = None;
            todo.push(next);
        }
    }

    /// What may be left when the power fails now: with each set of links that may be down then, and of what is flushed all, or
    /// any part that stored energy leaves.
    fn post_crash_states(&self, test: &Test, found: &mut BTreeSet<ImageValues>) {
        let hosts = 0..test.threads.len();
        let is_global = test.flush() == PersistentFlush::Global;
        for down in 0..1usize << test.threads.len() {
            let is_down = |host: &usize| down >> host & 1 == 1;
            let fails = |host: &usize| test.may_lose_link(*host) && self.threads[*host].is_some();
            if hosts.clone().any(|host| is_down(&host) && !fails(&host)) {
                continue;
            }
            let mut last = self.clone();
            let sends: Vec<usize> = hosts.clone().filter(|host| is_global && !is_down(host)).collect();
            for (host, line) in sends.iter().flat_map(|host| (0..self.lines.len()).map(move |l| (*host, l))) {
                last.flush(host, line, false);
            }
            let left_behind =
                is_global && hosts.clone().filter(|host| is_down(host)).any(|host| self.has_something(host));
            last.saved(test, left_behind, found);
            // Hosts whose time is up in the midst of it are those that were cut off then: what they had sent is there.
            if is_global && test.is_short() && hosts.clone().any(|host| self.has_something(host)) {
                self.clone().saved(test, true, found);
            }
        }
    }

    /// Whether a host has anything that the device has not.
    fn has_something(&self, host: usize) -> bool {
        self.lines.iter().any(|line| match line {
            Line::Agreed(agreed) => agreed.owner.is_some_and(|(owner, ..)| owner == host),
            Line::Apart(held) => !held[host].own.is_empty() || !held[host].sent.is_empty(),
        })
    }

    /// What the media holds when the device has drained what it can.
    fn saved(&self, test: &Test, is_dirty: bool, found: &mut BTreeSet<ImageValues>) {
        let undrained: Vec<usize> = (0..self.older.len()).filter(|l| self.older[*l].is_some()).collect();
        for kept in 0..1usize << undrained.len() {
            let loses = test.flush() == PersistentFlush::None;
            let lost: Vec<usize> =
                undrained.iter().enumerate().filter(|(n, _)| kept >> n & 1 == 0).map(|(_, l)| *l).collect();
            let is_all = lost.is_empty();
            if loses && lost.len() < undrained.len() || !loses && !test.is_short() && !is_all {
                continue;
            }
            let of = |l: usize| {
                let line = test.lines[l];
                match &self.older[line] {
                    Some(older) if lost.contains(&line) => older[&l],
                    _ => self.device[line][&l],
                }
            };
            let mut image: ImageValues = (0..test.locations.len()).map(of).collect();
            if let Some(count) = test.count_of_dirty_shutdowns() {
                image[count] += i64::from(is_dirty || !is_all);
            }
            found.insert(image);
        }
    }

    fn arrive(&mut self, host: usize, line: usize) {
        while self.arrives(host, line) {}
    }

    /// Whoever owns a line that hardware keeps coherent writes it to the device.
    fn give_up(&mut self, line: usize) {
        if let Line::Agreed(agreed) = &mut self.lines[line]
            && agreed.owner.take().is_some()
        {
            agreed.sent.clear();
            let now = agreed.now.clone();
            self.accepts(line);
            self.device[line] = now;
        }
    }

    /// What leaves the host by itself: lines that it stored to, and what it has sent.
    fn goes_out(&self, host: usize, todo: &mut Vec<State>) {
        for line in 0..self.lines.len() {
            let mut next = self.clone();
            if next.arrives(host, line) {
                todo.push(next);
            }
            let mut next = self.clone();
            next.flush(host, line, false);
            let is_clean = match &self.lines[line] {
                Line::Agreed(agreed) => agreed.owner.is_none_or(|(owner, ..)| owner != host),
                Line::Apart(held) => held[host].own.is_empty(),
            };
            if !is_clean {
                todo.push(next);
            }
        }
    }

    fn stopped(&self, host: usize) -> State {
        let mut next = self.clone();
        next.threads[host] = None;
        for (line, device) in next.lines.iter_mut().zip(&self.device) {
            match line {
                Line::Agreed(agreed) if agreed.owner.is_some_and(|(owner, ..)| owner == host) => {
                    *agreed = Agreed { now: device.clone(), owner: None, sent: VecDeque::new() };
                }
                Line::Agreed(_) => {}
                Line::Apart(held) => held[host] = Held::default(),
            }
        }
        next
    }
}
