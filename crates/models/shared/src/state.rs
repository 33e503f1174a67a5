//! Hosts' caches, what is on its way to the device, and the device: no clock, no choice. The timed run, the explorer and
//! litmus tests drive this same code.

use crate::mutant::Mutant;

/// A line of `N` words.
pub(crate) type Block<W, const N: usize> = [W; N];

/// A host's copy of a line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Copied<W, const N: usize> {
    /// What loads of this host give.
    pub words: Block<W, N>,
    /// It has been stored to since it was fetched or written back.
    pub dirty: bool,
}

/// A write that is on its way to the device.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Write<W, const N: usize> {
    /// Which line.
    pub line: usize,
    /// What it is to hold.
    pub words: Block<W, N>,
    /// One word alone, for a store past the caches; a line that is written back overwrites all of them.
    pub only: Option<usize>,
    /// When it arrives, for who has a clock.
    pub stamp: u64,
    /// Which cores flushed it, a bit each, for who tells cores of a host apart.
    pub cores: u8,
}

/// A line that the device has accepted and its media has not.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Accepted<W, const N: usize> {
    pub(crate) line: usize,
    /// What the media holds.
    pub(crate) media: Block<W, N>,
    /// When it was accepted, for who has a clock.
    pub(crate) stamp: u64,
}

/// What a flush does to a host's copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Keep {
    /// It stays, clean (clwb).
    Copy,
    /// It goes (clflush, clflushopt).
    Nothing,
}

/// Where everything is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State<W, const N: usize> {
    /// For each host, for each line.
    copies: Vec<Vec<Option<Copied<W, N>>>>,
    /// For each host, oldest first.
    in_flight: Vec<Vec<Write<W, N>>>,
    /// The device's lines.
    memory: Vec<Block<W, N>>,
    /// Which lines hardware keeps coherent between hosts.
    coherent: Vec<bool>,
    /// Hosts whose links are down.
    pub(crate) down: Vec<bool>,
    /// Lines that the device has accepted and its media has not, oldest first.
    pub(crate) accepted: Vec<Accepted<W, N>>,
    /// How many of them there may be.
    pub(crate) buffer: usize,
    /// For who has a clock: what is accepted is accepted then.
    pub(crate) clock: u64,
    mutant: Option<Mutant>,
}

impl<W: Copy + Eq, const N: usize> State<W, N> {
    /// Empty caches in front of `memory`; `coherent` says of each line whether hardware keeps it coherent.
    pub fn new(hosts: usize, memory: Vec<Block<W, N>>, coherent: Vec<bool>) -> State<W, N> {
        State {
            copies: vec![vec![None; memory.len()]; hosts],
            in_flight: vec![Vec::new(); hosts],
            memory,
            coherent,
            down: vec![false; hosts],
            accepted: Vec::new(),
            buffer: 0,
            clock: 0,
            mutant: None,
        }
    }

    /// The same with a mistake seeded.
    #[must_use]
    pub fn with(self, mutant: Option<Mutant>) -> State<W, N> {
        State { mutant, ..self }
    }

    /// The same with a buffer of so many lines between what the device accepts and its media.
    #[must_use]
    pub fn buffered(self, lines: usize) -> State<W, N> {
        State { buffer: lines, ..self }
    }

    pub(crate) fn has(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Whether hardware keeps a line coherent.
    pub fn is_coherent(&self, line: usize) -> bool {
        self.coherent[line]
    }

    /// A host's copy of a line.
    pub fn copy(&self, host: usize, line: usize) -> Option<&Copied<W, N>> {
        self.copies[host][line].as_ref()
    }

    /// What the device holds.
    pub fn memory(&self) -> &[Block<W, N>] {
        &self.memory
    }

    /// What a host has on its way to the device, oldest first.
    pub fn in_flight(&self, host: usize) -> &[Write<W, N>] {
        &self.in_flight[host]
    }

    /// Where hardware keeps a line coherent, what other hosts have of it is asked back before anybody reads the device.
    #[inline]
    fn snoop(&mut self, host: usize, line: usize) {
        if self.coherent[line] {
            self.ask_back(host, line);
        }
    }

    fn ask_back(&mut self, host: usize, line: usize) {
        for other in 0..self.copies.len() {
            if other == host || self.down[other] {
                continue;
            }
            self.write_back(other, line);
            self.settle(other, line);
        }
    }

    /// The line is in the host's caches: fetched from the device, behind what the host itself has on its way there.
    #[inline]
    fn fetch(&mut self, host: usize, line: usize) {
        if self.copies[host][line].is_none() {
            self.fetch_anew(host, line);
        }
    }

    fn fetch_anew(&mut self, host: usize, line: usize) {
        self.settle(host, line);
        self.snoop(host, line);
        self.copies[host][line] = Some(Copied { words: self.memory[line], dirty: false });
    }

    /// Loads a word.
    pub fn load(&mut self, host: usize, line: usize, word: usize) -> W {
        self.fetch(host, line);
        self.copies[host][line].as_ref().map_or(self.memory[line][word], |c| c.words[word])
    }

    /// Stores a word into the host's caches.
    pub fn store(&mut self, host: usize, line: usize, word: usize, value: W) {
        self.fetch(host, line);
        self.take_from_others(host, line);
        if let Some(copy) = &mut self.copies[host][line] {
            copy.words[word] = value;
            copy.dirty = true;
        }
    }

    /// Where hardware keeps a line coherent, who writes it is the only one to have it.
    fn take_from_others(&mut self, host: usize, line: usize) {
        if self.has(Mutant::SnoopLeavesCopies) || !self.coherent[line] {
            return;
        }
        self.snoop(host, line);
        for other in (0..self.copies.len()).filter(|other| *other != host) {
            self.copies[other][line] = None;
        }
    }

    /// Stores a word past the caches: the host's own copy is written back and goes first.
    pub fn store_past(&mut self, host: usize, line: usize, word: usize, value: W) {
        self.flush(host, line, Keep::Nothing);
        self.take_from_others(host, line);
        let mut words = self.memory[line];
        words[word] = value;
        self.in_flight[host].push(Write { line, words, only: Some(word), stamp: 0, cores: 0 });
    }

    /// The line leaves for the device where it is dirty; the copy stays, clean.
    pub(crate) fn write_back(&mut self, host: usize, line: usize) -> bool {
        let Some(copy) = &mut self.copies[host][line] else { return false };
        if !std::mem::take(&mut copy.dirty) {
            return false;
        }
        let words = copy.words;
        self.in_flight[host].push(Write { line, words, only: None, stamp: 0, cores: 0 });
        true
    }

    /// A flush instruction begins: the line is on its way, and nothing has waited for it. Tells whether there was
    /// anything to write.
    pub fn flush(&mut self, host: usize, line: usize, keep: Keep) -> bool {
        let wrote = if self.has(Mutant::FlushForgets) {
            self.copies[host][line].as_mut().is_some_and(|copy| std::mem::take(&mut copy.dirty))
        } else {
            self.write_back(host, line)
        };
        if keep == Keep::Nothing && !self.has(Mutant::InvalidateKeepsCopy) {
            self.copies[host][line] = None;
        }
        wrote
    }

    /// The cache needs the room: the line goes, and what was stored to it is on the device. Tells whether it was dirty.
    pub fn evict(&mut self, host: usize, line: usize) -> bool {
        let wrote = !self.has(Mutant::EvictionForgets) && self.write_back(host, line);
        self.copies[host][line] = None;
        self.settle(host, line);
        wrote
    }

    /// The host's last write is a core's, and arrives then.
    pub fn stamp(&mut self, host: usize, stamp: u64, core: usize) {
        if let Some(write) = self.in_flight[host].last_mut() {
            (write.stamp, write.cores) = (stamp, 1 << core);
        }
    }

    /// A core flushes a line that its host has on its way by then: it is behind that.
    pub(crate) fn flushed_too(&mut self, host: usize, line: usize, core: usize) {
        let on_its_way = self.in_flight[host].iter_mut().filter(|write| write.line == line);
        on_its_way.for_each(|write| write.cores |= 1 << core);
    }

    /// What the host has on its way and is due after `now` takes so much longer.
    pub(crate) fn delay(&mut self, host: usize, now: u64, longer: u64) {
        self.in_flight[host].iter_mut().filter(|w| w.stamp > now).for_each(|w| w.stamp += longer);
    }

    /// Write number `index` of a host reaches the device: one line's go in order, others overtake. The write, where there was one.
    pub fn land(&mut self, host: usize, index: usize) -> Option<Write<W, N>> {
        let line = self.in_flight[host].get(index)?.line;
        let first = self.in_flight[host].iter().position(|write| write.line == line)?;
        let write = self.in_flight[host].remove(first);
        self.accept(line);
        match write.only {
            Some(word) => self.memory[line][word] = write.words[word],
            None => self.memory[line] = write.words,
        }
        Some(write)
    }

    /// Everything that a host has on its way to one line is there.
    pub fn settle(&mut self, host: usize, line: usize) {
        while let Some(index) = self.in_flight[host].iter().position(|write| write.line == line) {
            self.land(host, index);
        }
    }

    /// A fence: everything that the host has on its way is there.
    pub fn fence(&mut self, host: usize) {
        while !self.has(Mutant::FenceForgets) && self.land(host, 0).is_some() {}
    }

    /// The host stops: its caches and what it had on its way are lost, the device stays.
    pub fn crash(&mut self, host: usize) {
        if self.has(Mutant::CrashWritesBack) {
            (0..self.memory.len()).for_each(|line| _ = self.evict(host, line));
        }
        self.copies[host].fill(None);
        self.forget_in_flight(host);
        self.down[host] = false;
    }

    /// What a host has on its way is lost.
    pub(crate) fn forget_in_flight(&mut self, host: usize) {
        self.in_flight[host].clear();
    }

    /// Every word that there is of any line, wherever it is: its line, its place there, and the word.
    pub(crate) fn each_word(&mut self, mut visit: impl FnMut((usize, usize), &mut W)) {
        let mut block = |line: usize, words: &mut Block<W, N>| {
            words.iter_mut().enumerate().for_each(|(word, held)| visit((line, word), held));
        };
        self.memory.iter_mut().enumerate().for_each(|(line, words)| block(line, words));
        for copies in &mut self.copies {
            let copies = copies.iter_mut().enumerate();
            copies
                .filter_map(|(line, copy)| Some((line, copy.as_mut()?)))
                .for_each(|(line, copy)| block(line, &mut copy.words));
        }
        self.in_flight.iter_mut().flatten().for_each(|write| block(write.line, &mut write.words));
        self.accepted.iter_mut().for_each(|a| block(a.line, &mut a.media));
    }

    /// The lines of which a host has a copy.
    pub fn cached(&self, host: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.memory.len()).filter(move |line| self.copies[host][*line].is_some())
    }
}
