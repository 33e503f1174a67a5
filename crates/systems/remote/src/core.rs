//! The agent's protocol: a state machine without clock or queue. What it wants done leaves as effects.

use crate::command::{Command, What};
use crate::packet::{Bytes, Packet, bits, line_at};
use crate::spec::{CoreSpec, Mutant, Walks};
use protocol::Line;
use std::collections::{BTreeMap, VecDeque};

const ALL: u64 = u64::MAX;

/// What the state machine wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send this to the remote host, and say when no answer comes.
    Send(Packet),
    /// The line is in its frame: answer the read.
    Serve { line: Line },
    /// Answer the page walk; the entries that lead to these frames are not present any more.
    Walk { line: Line, failed: Vec<u32> },
    /// Take the line out of every cache, and say when that is done.
    Recall { line: Line },
    /// So many more commands are carried out.
    Done { count: u64 },
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Frame {
    page: Option<u32>,
    /// Lines that are here.
    present: u64,
    /// Lines that caches may hold.
    granted: u64,
    /// Lines that were written back by the caches since the page came.
    dirty: u64,
    /// Lines under recall.
    recalls: u64,
    /// What is reclaimed of it.
    reclaim: Option<Reclaim>,
}

/// What is written back, and the number of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Reclaim {
    command: u64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Pending {
    Fetch { frame: u32, lines: u64, sent: u32 },
    Store { frame: u32, lines: u64 },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Walk {
    line: Line,
    waits: Vec<u32>,
    failed: Vec<u32>,
}

/// The agent's state machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Core {
    spec: CoreSpec,
    frames: Vec<Frame>,
    pending: BTreeMap<u64, Pending>,
    next_number: u64,
    /// Reads whose line is not here: frame and line of it.
    reads: Vec<(u32, u32)>,
    walks: Vec<Walk>,
    /// Whether each command from `first_command` on is carried out; they are told in order.
    commands: VecDeque<bool>,
    first_command: u64,
    /// Fetches that a command waits for: frame and command.
    fetches: Vec<(u32, u64)>,
}

impl Core {
    /// With every frame free.
    pub fn new(spec: CoreSpec) -> Core {
        Core {
            frames: vec![Frame::default(); spec.frames as usize],
            pending: BTreeMap::new(),
            next_number: 1,
            reads: Vec::new(),
            walks: Vec::new(),
            commands: VecDeque::new(),
            first_command: 0,
            fetches: Vec::new(),
            spec,
        }
    }

    fn frame(&mut self, frame: u32) -> &mut Frame {
        &mut self.frames[frame as usize]
    }

    /// The page in a frame.
    pub fn page_of(&self, frame: u32) -> Option<u32> {
        self.frames.get(frame as usize)?.page
    }

    /// The lines of a frame that are here.
    pub fn present(&self, frame: u32) -> u64 {
        self.frames.get(frame as usize).map_or(0, |f| f.present)
    }

    /// The lines of a frame's page that were written back by the caches.
    pub fn dirty(&self, frame: u32) -> u64 {
        self.frames.get(frame as usize).map_or(0, |f| f.dirty)
    }

    /// Whether a request still waits for its answer.
    pub fn is_pending(&self, number: u64) -> bool {
        self.pending.contains_key(&number)
    }

    /// Reads that wait.
    pub fn held_reads(&self) -> usize {
        self.reads.len()
    }

    /// Whether nothing waits: no read, no walk, no command.
    pub fn is_idle(&self) -> bool {
        self.reads.is_empty() && self.walks.is_empty() && self.commands.is_empty()
    }

    /// A command of the daemon.
    pub fn command(&mut self, command: Command, out: &mut Vec<Effect>) {
        let number = self.first_command + self.commands.len() as u64;
        self.commands.push_back(false);
        match command {
            Command::Map { frame, page } => {
                self.take(frame, page);
                self.finish(number, out);
            }
            Command::Fetch { frame, page } => {
                if self.page_of(frame) != Some(page) {
                    self.take(frame, page);
                }
                self.fetches.push((frame, number));
                self.fetch(frame, ALL, out);
                self.settle(frame, out);
            }
            Command::Reclaim { frame, what } => self.reclaim(frame, what, number, out),
        }
    }

    fn take(&mut self, frame: u32, page: u32) {
        *self.frame(frame) = Frame { page: Some(page), ..Frame::default() };
    }

    fn reclaim(&mut self, frame: u32, what: What, command: u64, out: &mut Vec<Effect>) {
        if self.spec.mutant != Some(Mutant::StaleReplyTaken) {
            self.pending.retain(|_, p| !matches!(p, Pending::Fetch { frame: f, .. } if *f == frame));
        }
        let recall = self.spec.mutant != Some(Mutant::NoRecall);
        let f = self.frame(frame);
        f.reclaim = Some(Reclaim { command, what });
        f.recalls = if recall { f.granted } else { 0 };
        let recalls = f.recalls;
        out.extend(bits(recalls).map(|index| Effect::Recall { line: line_at(frame, index) }));
        if recalls == 0 {
            self.all_recalled(frame, out);
        }
    }

    /// No cache holds a line of the frame: what is dirty is known.
    fn all_recalled(&mut self, frame: u32, out: &mut Vec<Effect>) {
        let f = self.frame(frame);
        let Some(reclaim) = f.reclaim else { return };
        let lines = match reclaim.what {
            What::Nothing => 0,
            What::Page => f.present,
            What::Tracked => f.dirty,
        };
        if lines == 0 {
            return self.free(frame, out);
        }
        let number = self.number();
        self.pending.insert(number, Pending::Store { frame, lines });
        out.push(Effect::Send(Packet::Store { number, page: 0, lines, data: Vec::new() }));
        if self.spec.mutant == Some(Mutant::FreeBeforeAcknowledged)
            && let Some(Reclaim { command, .. }) = self.frame(frame).reclaim
        {
            self.finish(command, out);
        }
    }

    fn free(&mut self, frame: u32, out: &mut Vec<Effect>) {
        let reclaim = std::mem::take(self.frame(frame)).reclaim;
        if let Some(Reclaim { command, .. }) = reclaim {
            self.finish(command, out);
        }
    }

    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number - 1
    }

    /// A command is carried out; they are told in the order in which they came.
    fn finish(&mut self, command: u64, out: &mut Vec<Effect>) {
        let Some(index) = command.checked_sub(self.first_command) else { return };
        if let Some(done) = self.commands.get_mut(index as usize) {
            *done = true;
        }
        let mut count = 0;
        while self.commands.front() == Some(&true) {
            self.commands.pop_front();
            count += 1;
        }
        self.first_command += count;
        if count > 0 {
            out.push(Effect::Done { count });
        }
    }

    /// Lines of a frame that are on their way.
    fn under_way(&self, frame: u32) -> u64 {
        let of = |p: &Pending| match p {
            Pending::Fetch { frame: f, lines, .. } if *f == frame => *lines,
            _ => 0,
        };
        self.pending.values().map(of).fold(0, |a, b| a | b)
    }

    /// Asks for those of `lines` that are neither here nor on their way.
    fn fetch(&mut self, frame: u32, lines: u64, out: &mut Vec<Effect>) {
        let wanted = lines & !self.present(frame) & !self.under_way(frame);
        let Some(page) = self.page_of(frame).filter(|_| wanted != 0) else { return };
        let number = self.number();
        self.pending.insert(number, Pending::Fetch { frame, lines: wanted, sent: 1 });
        out.push(Effect::Send(Packet::Fetch { number, page, lines: wanted }));
    }

    /// A cache reads a line of a frame.
    pub fn read(&mut self, frame: u32, index: u32, out: &mut Vec<Effect>) {
        let bit = 1 << index;
        let f = self.frame(frame);
        f.granted |= bit;
        if f.present & bit != 0 || f.page.is_none() {
            out.push(Effect::Serve { line: line_at(frame, index) });
            return;
        }
        self.reads.push((frame, index));
        if self.spec.critical_line_first {
            // Ahead of the page, though the page may be on its way.
            let under_way = self
                .pending
                .values()
                .any(|p| matches!(p, Pending::Fetch { frame: f, lines, .. } if *f == frame && *lines == bit));
            if !under_way && let Some(page) = self.page_of(frame) {
                let number = self.number();
                self.pending.insert(number, Pending::Fetch { frame, lines: bit, sent: 1 });
                out.push(Effect::Send(Packet::Fetch { number, page, lines: bit }));
            }
        }
        self.fetch(frame, ALL, out);
    }

    /// A cache reads a line of the page table whose present entries lead to `frames`.
    pub fn walk(&mut self, line: Line, frames: &[u32], out: &mut Vec<Effect>) {
        let mut walk = Walk { line, waits: Vec::new(), failed: Vec::new() };
        let missing = |f: &u32| self.page_of(*f).is_some() && !self.is_here(*f);
        let missing: Vec<u32> = frames.iter().copied().filter(missing).collect();
        for frame in missing {
            walk.waits.push(frame);
            if self.spec.walks == Walks::FirstLine {
                self.fetch(frame, 1, out);
            }
            self.fetch(frame, ALL, out);
        }
        self.walks.push(walk);
        self.settle_walks(out);
    }

    /// Whether as much of a frame is here as a page walk has to wait for.
    fn is_here(&self, frame: u32) -> bool {
        match self.spec.walks {
            Walks::WholePage => self.present(frame) == ALL,
            Walks::FirstLine => self.present(frame) != 0,
            Walks::Untracked => true,
        }
    }

    fn settle_walks(&mut self, out: &mut Vec<Effect>) {
        let mut walks = std::mem::take(&mut self.walks);
        for walk in &mut walks {
            walk.waits.retain(|f| !self.is_here(*f));
        }
        walks.retain_mut(|walk| {
            let done = walk.waits.is_empty();
            if done {
                out.push(Effect::Walk { line: walk.line, failed: std::mem::take(&mut walk.failed) });
            }
            !done
        });
        self.walks = walks;
    }

    /// An answer of the remote host. Answers of requests that are not pending any more are old, and not taken.
    pub fn answer(&mut self, packet: &Packet, memory: &mut dyn Bytes, out: &mut Vec<Effect>) {
        let Some(pending) = self.pending.remove(&packet.number()) else { return };
        match (pending, packet) {
            (Pending::Fetch { frame, .. }, Packet::Data { lines, data, .. }) => {
                let overwrites = self.spec.mutant == Some(Mutant::ReplyOverwrites);
                let f = self.frame(frame);
                // A line may come twice, alone and with its page: what is here may have been changed since.
                let missing = if overwrites { ALL } else { !f.present };
                f.present |= lines;
                for (index, block) in bits(*lines).zip(data).filter(|(index, _)| missing >> index & 1 == 1) {
                    memory.write(line_at(frame, index), block);
                }
                self.settle(frame, out);
            }
            (Pending::Store { frame, .. }, Packet::Stored { .. }) => self.free(frame, out),
            _ => {}
        }
    }

    /// Lines have come: whoever waits for them is answered.
    fn settle(&mut self, frame: u32, out: &mut Vec<Effect>) {
        let present = self.present(frame);
        self.reads.retain(|(f, index)| {
            let here = *f == frame && present >> index & 1 == 1;
            if here {
                out.push(Effect::Serve { line: line_at(*f, *index) });
            }
            !here
        });
        if present == ALL {
            let mut done = Vec::new();
            self.fetches.retain(|(f, command)| {
                if *f == frame {
                    done.push(*command);
                }
                *f != frame
            });
            done.into_iter().for_each(|command| self.finish(command, out));
        }
        self.settle_walks(out);
    }

    /// No answer has come in time: asks again, or gives up a page that nothing but walks waits for.
    pub fn late(&mut self, number: u64, out: &mut Vec<Effect>) {
        let Some(pending) = self.pending.get(&number).copied() else { return };
        let Pending::Fetch { frame, lines, sent } = pending else {
            if let Pending::Store { lines, .. } = pending {
                out.push(Effect::Send(Packet::Store { number, page: 0, lines, data: Vec::new() }));
            }
            return;
        };
        let wanted =
            self.reads.iter().any(|(f, _)| *f == frame) || self.fetches.iter().any(|(f, _)| *f == frame);
        if sent >= self.spec.attempts && !wanted && self.spec.mutant != Some(Mutant::WalkNeverFails) {
            return self.give_up(frame, out);
        }
        self.pending.insert(
            number,
            Pending::Fetch { frame, lines, sent: sent.saturating_add(1).min(self.spec.attempts) },
        );
        if let Some(page) = self.page_of(frame) {
            out.push(Effect::Send(Packet::Fetch { number, page, lines }));
        }
    }

    fn give_up(&mut self, frame: u32, out: &mut Vec<Effect>) {
        self.pending.retain(|_, p| !matches!(p, Pending::Fetch { frame: f, .. } if *f == frame));
        for walk in self.walks.iter_mut().filter(|w| w.waits.contains(&frame)) {
            walk.waits.retain(|f| *f != frame);
            walk.failed.push(frame);
        }
        self.settle_walks(out);
    }

    /// A cache has written a line of a frame back.
    pub fn written(&mut self, frame: u32, index: u32) {
        self.frame(frame).dirty |= 1 << index;
    }

    /// A line that was to be recalled is in no cache any more.
    pub fn recalled(&mut self, frame: u32, index: u32, out: &mut Vec<Effect>) {
        let f = self.frame(frame);
        let before = f.recalls;
        f.recalls &= !(1 << index);
        if before != 0 && f.recalls == 0 {
            self.all_recalled(frame, out);
        }
    }

    /// The bytes of a request as it is sent: a write's are read from its frame, which nobody changes any more. `sends`
    /// widens what is dirty to what the filters know of it.
    pub fn packet(&self, packet: Packet, memory: &dyn Bytes, sends: impl Fn(u32, u64) -> u64) -> Packet {
        let Packet::Store { number, .. } = packet else { return packet };
        let Some(Pending::Store { frame, lines }) = self.pending.get(&number).copied() else { return packet };
        let lines = (lines | sends(frame, lines)) & self.present(frame);
        let data = bits(lines).map(|index| memory.read(line_at(frame, index))).collect();
        Packet::Store { number, page: self.page_of(frame).unwrap_or(0), lines, data }
    }
}

impl Core {
    /// The lines of a page that caches have written back, wherever it is.
    pub fn dirty_page(&self, page: u32) -> u64 {
        self.frames.iter().find(|f| f.page == Some(page)).map_or(0, |f| f.dirty)
    }
}
