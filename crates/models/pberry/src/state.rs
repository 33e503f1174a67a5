//! The agent's protocol: a state machine without clock or queue. What it wants done leaves as effects.

use crate::by_page::ByPage;
use crate::command::{Command, What};
use crate::packet::{Bytes, Lines, Packet};
use crate::requests::{Pending, Requests};
use crate::spec::{AgentStateSpec, Mutant, Walks};
use std::collections::VecDeque;
use units::bits;

/// What the state machine wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Send this to the remote host, and say when no answer comes.
    Send(Packet),
    /// The line is local: answer the read.
    Serve { page: u32, index: u32 },
    /// Answer the page walk; where it has failed, the page is not present any more.
    Walk { page: u32, failed: bool },
    /// Take the line out of every cache, and say when that is done.
    Recall { page: u32, index: u32 },
    /// So many more commands are carried out.
    Done { count: u64 },
}

/// A local page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Frame {
    /// Lines that are here.
    present: u64,
    /// Lines that caches may hold.
    granted: u64,
    /// Lines that were written back by the caches since the page came.
    dirty: u64,
    /// Lines under recall.
    recalls: u64,
    /// It goes.
    reclaim: Option<Reclaim>,
}

/// What is written back, and the number of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Reclaim {
    command: u64,
    what: What,
}

/// The agent's state machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AgentState {
    spec: AgentStateSpec,
    /// The local pages: as many as there are frames.
    frames: ByPage<Frame>,
    pending: Requests,
    next_number: u64,
    /// Reads whose line is not here: page and line of it.
    reads: Vec<(u32, u32)>,
    /// Pages whose walks wait.
    walks: Vec<u32>,
    /// Pages that commands fetch, with the command's number.
    fetches: VecDeque<(u32, u64)>,
    /// Pages that wait for a frame, or until they themselves are gone.
    homeless: VecDeque<u32>,
    /// Whether each command from `first_command` on is carried out; they are told in order.
    commands: VecDeque<bool>,
    first_command: u64,
}

impl AgentState {
    /// With every frame free.
    pub fn new(spec: AgentStateSpec) -> AgentState {
        AgentState {
            frames: ByPage::default(),
            pending: Requests::default(),
            next_number: 1,
            reads: Vec::new(),
            walks: Vec::new(),
            fetches: VecDeque::new(),
            homeless: VecDeque::new(),
            commands: VecDeque::new(),
            first_command: 0,
            spec,
        }
    }

    /// The lines of a whole page.
    fn all(&self) -> u64 {
        u64::MAX >> (64 - self.spec.page_lines)
    }

    /// The lines of a page that are here.
    pub fn present(&self, page: u32) -> u64 {
        self.frames.get(page).map_or(0, |f| f.present)
    }

    /// The lines of a page that caches have written back since it came.
    pub fn dirty(&self, page: u32) -> u64 {
        self.frames.get(page).map_or(0, |f| f.dirty)
    }

    /// Lines that caches may hold, of pages that stay.
    pub fn granted(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let staying = self.frames.iter().filter(|(_, frame)| frame.reclaim.is_none());
        staying.flat_map(|(page, frame)| bits(frame.granted).map(move |index| (page, index)))
    }

    /// The local pages.
    pub fn local(&self) -> impl Iterator<Item = u32> + '_ {
        self.frames.iter().map(|(page, _)| page)
    }

    /// Whether a request still waits for its answer.
    pub fn is_pending(&self, number: u64) -> bool {
        self.pending.get(number).is_some()
    }

    /// Requests without an answer.
    pub fn pending(&self) -> impl Iterator<Item = u64> + '_ {
        self.pending.numbers()
    }

    /// Whether nothing waits: no read, no walk, no command.
    pub fn is_idle(&self) -> bool {
        self.reads.is_empty() && self.walks.is_empty() && self.commands.is_empty()
    }

    /// Whether the page has a frame, and keeps it; one is taken where one is free.
    fn house(&mut self, page: u32) -> bool {
        if let Some(frame) = self.frames.get(page) {
            return frame.reclaim.is_none();
        }
        let room = self.frames.len() < self.spec.frames as usize;
        if room {
            self.frames.insert(page, Frame::default());
        }
        room
    }

    /// Asks for lines of a page as soon as it has a frame.
    fn want(&mut self, page: u32, first: u64, out: &mut Vec<Effect>) {
        if self.house(page) {
            self.fetch(page, first, out);
            self.fetch(page, self.all(), out);
        } else if !self.homeless.contains(&page) {
            self.homeless.push_back(page);
        }
    }

    /// A command of the daemon.
    pub fn command(&mut self, command: Command, out: &mut Vec<Effect>) {
        let number = self.first_command + self.commands.len() as u64;
        self.commands.push_back(false);
        match command {
            Command::Fetch { page } => {
                self.fetches.push_back((page, number));
                self.want(page, 0, out);
                self.settle(page, out);
            }
            Command::Reclaim { page, what } => self.reclaim(page, what, number, out),
        }
    }

    fn reclaim(&mut self, page: u32, what: What, command: u64, out: &mut Vec<Effect>) {
        if self.spec.mutant != Some(Mutant::StaleReplyTaken) {
            self.pending.give_up(page);
        }
        let recall = self.spec.mutant != Some(Mutant::NoRecall);
        let Some(frame) = self.frames.get_mut(page) else { return self.finish(command, out) };
        frame.reclaim = Some(Reclaim { command, what });
        frame.recalls = if recall { frame.granted } else { 0 };
        let recalls = frame.recalls;
        out.extend(bits(recalls).map(|index| Effect::Recall { page, index }));
        if recalls == 0 {
            self.all_recalled(page, out);
        }
    }

    /// No cache holds a line of the page: what is dirty is known.
    fn all_recalled(&mut self, page: u32, out: &mut Vec<Effect>) {
        let Some(frame) = self.frames.get(page) else { return };
        let Some(Reclaim { command, what }) = frame.reclaim else { return };
        let lines = match what {
            What::Nothing => 0,
            What::Page => frame.present,
            What::Tracked => frame.dirty,
        };
        if lines == 0 {
            return self.free(page, out);
        }
        let number = self.number();
        self.pending.push(number, Pending::Store { page, lines });
        out.push(Effect::Send(Packet::Store { number, page, lines, data: Lines::NONE }));
        if self.spec.mutant == Some(Mutant::FreeBeforeAcknowledged) {
            self.frames.remove(page);
            self.finish(command, out);
            self.house_next(out);
        }
    }

    fn free(&mut self, page: u32, out: &mut Vec<Effect>) {
        if let Some(Frame { reclaim: Some(Reclaim { command, .. }), .. }) = self.frames.remove(page) {
            self.finish(command, out);
        }
        self.house_next(out);
    }

    /// Frames are free: pages that wait get them, in the order in which they came.
    fn house_next(&mut self, out: &mut Vec<Effect>) {
        for page in std::mem::take(&mut self.homeless) {
            let first = self.reads.iter().filter(|(p, _)| *p == page).fold(0, |m, (_, index)| m | 1 << index);
            self.want(page, first, out);
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

    /// Asks for those of `lines` that are neither here nor on their way.
    fn fetch(&mut self, page: u32, lines: u64, out: &mut Vec<Effect>) {
        let missing = lines & !self.present(page);
        if missing != 0 {
            let under_way = self.pending.fetches(page).fold(0, |all, lines| all | lines);
            self.request(page, missing & !under_way, out);
        }
    }

    fn request(&mut self, page: u32, lines: u64, out: &mut Vec<Effect>) {
        if lines != 0 {
            let number = self.number();
            self.pending.push(number, Pending::Fetch { page, lines, sent: 1 });
            out.push(Effect::Send(Packet::Fetch { number, page, lines }));
        }
    }

    /// A cache reads a line.
    pub fn read(&mut self, page: u32, index: u32, out: &mut Vec<Effect>) {
        let bit = 1 << index;
        if let Some(frame) = self.frames.get_mut(page)
            && frame.reclaim.is_none()
            && frame.present & bit != 0
        {
            frame.granted |= bit;
            out.push(Effect::Serve { page, index });
            return;
        }
        self.reads.push((page, index));
        if self.spec.critical_line_first && self.house(page) {
            // Ahead of its page, which may be on its way.
            let alone = self.pending.fetches(page).any(|lines| lines == bit);
            self.request(page, if alone { 0 } else { bit }, out);
        }
        self.want(page, 0, out);
    }

    /// A processor walks to a page: its entry of the page table is read.
    pub fn walk(&mut self, page: u32, out: &mut Vec<Effect>) {
        self.walks.push(page);
        if self.spec.walks != Walks::Untracked {
            self.want(page, u64::from(self.spec.walks == Walks::FirstLine), out);
        }
        self.settle_walks(page, false, out);
    }

    /// Whether as much of a page is here as a walk has to wait for.
    fn is_here(&self, page: u32) -> bool {
        let staying = self.frames.get(page).is_some_and(|f| f.reclaim.is_none());
        match self.spec.walks {
            Walks::WholePage => staying && self.present(page) == self.all(),
            Walks::FirstLine => staying && self.present(page) != 0,
            Walks::Untracked => true,
        }
    }

    fn settle_walks(&mut self, page: u32, failed: bool, out: &mut Vec<Effect>) {
        if !self.walks.is_empty() && (failed || self.is_here(page)) {
            let before = self.walks.len();
            self.walks.retain(|p| *p != page);
            out.extend((self.walks.len()..before).map(|_| Effect::Walk { page, failed }));
        }
    }

    /// An answer of the remote host. Answers of requests that are not pending any more are old, and not taken.
    pub fn answer(&mut self, packet: &Packet, memory: &mut dyn Bytes, out: &mut Vec<Effect>) {
        let Some(pending) = self.pending.remove(packet.number()) else { return };
        match (pending, packet) {
            (Pending::Fetch { page, .. }, Packet::Data { lines, data, .. }) => {
                let overwrites = self.spec.mutant == Some(Mutant::ReplyOverwrites);
                let Some(frame) = self.frames.get_mut(page) else { return };
                // A line may come twice, alone and with its page: what is here may have been changed since.
                let missing = if overwrites { u64::MAX } else { !frame.present };
                frame.present |= lines;
                data.write(memory, page, *lines, missing & *lines);
                self.settle(page, out);
            }
            (Pending::Store { page, .. }, Packet::Stored { .. }) => self.free(page, out),
            (pending, packet) => panic!("{packet:?} answers {pending:?}"),
        }
    }

    /// Lines have come: whoever waits for them is answered.
    fn settle(&mut self, page: u32, out: &mut Vec<Effect>) {
        let Some(frame) = self.frames.get_mut(page) else { return };
        let present = frame.present;
        self.reads.retain(|(p, index)| {
            let here = *p == page && present >> index & 1 == 1;
            if here {
                frame.granted |= 1 << index;
                out.push(Effect::Serve { page, index: *index });
            }
            !here
        });
        if present == self.all() {
            while let Some(at) = self.fetches.iter().position(|(p, _)| *p == page) {
                if let Some((_, command)) = self.fetches.remove(at) {
                    self.finish(command, out);
                }
            }
        }
        self.settle_walks(page, false, out);
    }

    /// No answer has come in time: asks again, or gives up a page that nothing but walks waits for.
    pub fn late(&mut self, number: u64, out: &mut Vec<Effect>) {
        match self.pending.get(number) {
            Some(Pending::Fetch { page, lines, sent }) => {
                let wanted = self.reads.iter().any(|(p, _)| *p == page)
                    || self.fetches.iter().any(|(p, _)| *p == page);
                if sent >= self.spec.attempts && !wanted && self.spec.mutant != Some(Mutant::WalkNeverFails) {
                    self.pending.give_up(page);
                    return self.settle_walks(page, true, out);
                }
                let sent = (sent + 1).min(self.spec.attempts);
                self.pending.sent_again(number, sent);
                out.push(Effect::Send(Packet::Fetch { number, page, lines }));
            }
            Some(Pending::Store { page, lines }) => {
                out.push(Effect::Send(Packet::Store { number, page, lines, data: Lines::NONE }));
            }
            None => {}
        }
    }

    /// A cache has written a line back.
    pub fn written(&mut self, page: u32, index: u32) {
        if let Some(frame) = self.frames.get_mut(page) {
            frame.dirty |= 1 << index;
        }
    }

    /// A line that was to be recalled is in no cache any more.
    pub fn recalled(&mut self, page: u32, index: u32, out: &mut Vec<Effect>) {
        let Some(frame) = self.frames.get_mut(page) else { return };
        let before = frame.recalls;
        frame.recalls &= !(1 << index);
        frame.granted &= !(1 << index);
        if before != 0 && frame.recalls == 0 {
            self.all_recalled(page, out);
        }
    }

    /// A request as it is sent: a write gets its bytes, which nobody changes any more. What is dirty is widened to
    /// what filters `know` of the page, as far as it is here.
    pub fn packet(&self, packet: Packet, memory: &dyn Bytes, know: impl Fn(u32) -> u64) -> Packet {
        let Packet::Store { number, page, lines, .. } = packet else { return packet };
        let lines =
            if self.frames.get(page).is_some() { (lines | know(page)) & self.present(page) } else { lines };
        let data = Lines::read(memory, page, lines);
        Packet::Store { number, page, lines, data }
    }
}
