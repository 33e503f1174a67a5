//! Two masters on one command and data bus: when the device may drive it, what it then sends, and the checker that is
//! always on.

use memory::ddr4::{BANKS, BURST, Command, Kind, LINES_PER_ROW, Legality, Place, Spec};
use std::fmt;

/// The bus and who may use it.
#[derive(Clone, Copy, Debug)]
pub struct BusSpec {
    /// The DRAM as the host has programmed it: its `rfc` is the stretched one.
    pub host: Spec,
    /// What the DRAM itself needs for a refresh (tRFC of its data sheet), in clocks.
    pub dram_rfc: u64,
    /// Fault: clocks by which the detector is late.
    pub detector_late: u64,
}

impl BusSpec {
    /// The proof of concept: DDR4-1600, 8 Gb, tRFC of 1,000 clocks (1.25 us) of which the DRAM needs 350 ns.
    pub const POC: BusSpec =
        BusSpec { host: Spec { rfc: 1000, ..Spec::DDR4_1600 }, dram_rfc: 280, detector_late: 0 };

    /// Whether a window is left, and a burst fits into it.
    ///
    /// # Errors
    /// Which key is impossible, and its bound.
    pub fn check(&self) -> Result<(), String> {
        self.host.check()?;
        let least = self.dram_rfc + Window::overhead(&self.host) + BURST;
        if self.host.rfc < least {
            return Err(format!(
                "trfc = {} clocks: a window in which one burst fits needs at least {least}, of which the DRAM takes {}",
                self.host.rfc, self.dram_rfc
            ));
        }
        Ok(())
    }
}

/// Lines that the device moves in a window: first, number, and whether it writes them.
pub type Move = (u64, u64, bool);

/// When the device owns the bus of a rank, in clocks: from the first, before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The first clock.
    pub opens: u64,
    /// The host may send from here on.
    pub closes: u64,
    /// The rank.
    pub rank: u8,
}

impl Window {
    /// What a refresh at `clock` leaves to the device.
    pub fn after(clock: u64, rank: u8, spec: &BusSpec) -> Window {
        let late = spec.detector_late;
        Window { opens: clock + spec.dram_rfc + late, closes: clock + spec.host.rfc + late, rank }
    }

    /// Clocks of a window that carry no data: opening a row, the last burst's way, and closing the row again.
    fn overhead(s: &Spec) -> u64 {
        s.rcd + Window::to_precharge(s, true).max(Window::to_precharge(s, false)) + s.rp
    }

    /// From a column command to the end of what it moves, as far as the row has to stay open for it.
    fn to_precharge(s: &Spec, write: bool) -> u64 {
        if write { s.cwl + BURST + s.wr } else { s.rtp.max(s.cl + BURST) }
    }

    /// The commands of these moves, in order; none when the window is too short for all of them. A row is opened while
    /// the one before is in use, if it is in another bank, and stays open for a move that goes on in it. Every row is
    /// closed again, tRP before the window closes.
    pub fn transfer(&self, moves: &[Move], s: &Spec) -> Option<Vec<Command>> {
        let mut plan = Plan {
            spec: s,
            commands: Vec::new(),
            column: self.opens,
            closed: vec![self.opens; s.ranks * BANKS],
            open: None,
        };
        for (first, lines, write) in moves {
            plan.lines(*first, *lines, *write);
        }
        plan.close();
        plan.commands.sort_by_key(|c| c.clock);
        let fits = plan.closed.iter().all(|clock| *clock <= self.closes);
        fits.then_some(plan.commands)
    }
}

/// What the device does in a window: it asks before each move, and goes without what does not fit.
pub struct Work<'s> {
    window: Window,
    spec: &'s Spec,
    moves: Vec<Move>,
    commands: Vec<Command>,
}

impl<'s> Work<'s> {
    /// Nothing so far.
    pub fn new(window: Window, spec: &'s Spec) -> Work<'s> {
        Work { window, spec, moves: Vec::new(), commands: Vec::new() }
    }

    /// Takes one more move, if the window is long enough for all of them then; whether it is.
    pub fn takes(&mut self, more: Move) -> bool {
        self.moves.push(more);
        match self.window.transfer(&self.moves, self.spec) {
            Some(commands) => {
                self.commands = commands;
                true
            }
            None => {
                self.moves.pop();
                false
            }
        }
    }

    /// A mistake: so many lines more are read, whenever the window ends.
    pub fn overruns(&mut self, lines: u64) {
        self.window.closes = u64::MAX;
        self.takes((0, lines, false));
    }

    /// The moves, in order.
    pub fn moves(&self) -> &[Move] {
        &self.moves
    }

    /// Their commands, in order.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }
}

/// Commands of a window as they are laid out, row by row.
struct Plan<'s> {
    spec: &'s Spec,
    commands: Vec<Command>,
    /// The first clock that the next burst's command may have.
    column: u64,
    /// For each bank of each rank: from when on it can be opened.
    closed: Vec<u64>,
    /// The row that was used last.
    open: Option<OpenRow>,
}

/// A row, and from when on it can be closed.
#[derive(Clone, Copy)]
struct OpenRow {
    place: Place,
    closes: u64,
}

impl Plan<'_> {
    fn lines(&mut self, first: u64, lines: u64, write: bool) {
        let (mut line, end) = (first, first + lines);
        while line < end {
            let place = Place::of(line, self.spec);
            let in_row = (end - line).min(LINES_PER_ROW - u64::from(place.column));
            self.row(place, in_row, write);
            line += in_row;
        }
    }

    /// Moves some lines of a row.
    fn row(&mut self, place: Place, lines: u64, write: bool) {
        let s = self.spec;
        // After what was read is written, and after what was written is read, the bus turns round.
        let turned = match self.commands.iter().rfind(|c| matches!(c.kind, Kind::Read | Kind::Write)) {
            Some(c) if c.kind == Kind::Read && write => c.clock + s.read_to_write(),
            Some(c) if c.kind == Kind::Write && !write => c.clock + s.cwl + BURST + s.wtr_l,
            _ => 0,
        };
        let (ready, closes) = self.opened(place, self.column.max(turned));
        let mut clock = self.slot(ready);
        let mut last = clock;
        for _ in 0..lines {
            clock = self.slot(clock);
            self.send(clock, if write { Kind::Write } else { Kind::Read }, place);
            last = clock;
            clock += s.ccd_l;
        }
        self.column = clock;
        self.open = Some(OpenRow { place, closes: closes.max(last + Window::to_precharge(s, write)) });
    }

    /// Opens a row, if it is not open, for a burst that goes at `wanted` or later; gives from when on that can, and the row be closed.
    fn opened(&mut self, place: Place, wanted: u64) -> (u64, u64) {
        let s = self.spec;
        let is_it = |open: &OpenRow| {
            let Place { rank, bank, row, column: _ } = open.place;
            (rank, bank, row) == (place.rank, place.bank, place.row)
        };
        if let Some(open) = self.open.filter(is_it) {
            return (wanted, open.closes);
        }
        self.close();
        let opened = self.slot(self.closed[Plan::bank(place)].max(wanted.saturating_sub(s.rcd)));
        self.send(opened, Kind::Activate, place);
        ((opened + s.rcd).max(wanted), opened + s.ras)
    }

    /// Closes the row that is open.
    fn close(&mut self) {
        let Some(OpenRow { place, closes }) = self.open.take() else { return };
        let close = self.slot(closes);
        self.send(close, Kind::Precharge, place);
        self.closed[Plan::bank(place)] = close + self.spec.rp;
    }

    /// The number of a place's bank over all ranks.
    fn bank(place: Place) -> usize {
        usize::from(place.rank) * BANKS + usize::from(place.bank)
    }

    /// The first clock from `clock` on at which the command bus is free.
    fn slot(&self, clock: u64) -> u64 {
        let taken = |clock: u64| self.commands.iter().rev().any(|c| c.clock == clock);
        (clock..).find(|clock| !taken(*clock)).unwrap_or(clock)
    }

    fn send(&mut self, clock: u64, kind: Kind, place: Place) {
        self.commands.push(Command { clock, kind, rank: place.rank, bank: place.bank, row: place.row });
    }
}

/// Who drives the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Master {
    /// The processor's memory controller.
    Host,
    /// The DIMM's own.
    Device,
}

/// Two commands that collide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collision {
    /// What is broken.
    pub rule: &'static str,
    /// The earlier command, if there is one, and who sent it.
    pub earlier: Option<(Master, Command)>,
    /// The later command.
    pub later: (Master, Command),
}

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |(master, c): (Master, Command)| {
            format!("{master:?}'s {:?} of bank {} at clock {}", c.kind, c.bank, c.clock)
        };
        write!(f, "{}: {}", self.rule, one(self.later))?;
        self.earlier.map_or(Ok(()), |earlier| write!(f, ", after {}", one(earlier)))
    }
}

/// Follows the commands of both masters, in order of time.
#[derive(Clone)]
pub struct Bus {
    spec: BusSpec,
    legality: Legality,
    last: Option<(Master, Command)>,
    /// What the last refresh truly leaves to the device, and that refresh.
    window: Option<(Window, Command)>,
    /// The device's last command in it, and the clock from which the host finds everything closed.
    device: Option<(Command, u64)>,
    open: u32,
}

impl Bus {
    /// An idle bus, every bank closed.
    ///
    /// # Errors
    /// See [`BusSpec::check`].
    pub fn new(spec: BusSpec) -> Result<Bus, String> {
        spec.check()?;
        let dram = Spec { rfc: spec.dram_rfc, ..spec.host };
        Ok(Bus { legality: Legality::new(dram), spec, last: None, window: None, device: None, open: 0 })
    }

    /// A command of either master.
    ///
    /// # Errors
    /// The rule that it breaks, and the other command.
    pub fn take(&mut self, master: Master, c: &Command) -> Result<(), Collision> {
        let broken = match master {
            Master::Host => self.host(c),
            Master::Device => self.in_window(c),
        };
        if let Some((rule, earlier)) = broken {
            return Err(Collision { rule, earlier, later: (master, *c) });
        }
        let legal = self.legality.take(c);
        legal.map_err(|v| Collision { rule: v.rule, earlier: self.last, later: (master, *c) })?;
        self.last = Some((master, *c));
        Ok(())
    }

    /// What a command of the host breaks. A refresh opens the next window.
    fn host(&mut self, c: &Command) -> Option<(&'static str, Option<(Master, Command)>)> {
        let refreshed = self.window.filter(|(w, _)| w.rank == c.rank && c.clock < w.closes);
        if let Some((_, refresh)) = refreshed {
            return Some(("host command inside the device's window", Some((Master::Host, refresh))));
        }
        if let Some((command, idle_from)) = self.device
            && (self.open > 0 || c.clock < idle_from)
        {
            let rule = if self.open > 0 { "row left open by the device" } else { "device not done" };
            return Some((rule, Some((Master::Device, command))));
        }
        if c.kind == Kind::Refresh {
            let exact = BusSpec { detector_late: 0, ..self.spec };
            self.window = Some((Window::after(c.clock, c.rank, &exact), *c));
            self.device = None;
        }
        None
    }

    /// What a command of the device breaks.
    fn in_window(&mut self, c: &Command) -> Option<(&'static str, Option<(Master, Command)>)> {
        let s = &self.spec.host;
        let inside = |(w, _): &(Window, Command)| w.rank == c.rank && (w.opens..w.closes).contains(&c.clock);
        let Some((window, refresh)) = self.window.filter(inside) else {
            return Some(("device command outside its window", self.last));
        };
        let idle_from = match c.kind {
            Kind::Read => c.clock + s.cl + BURST,
            Kind::Write => c.clock + s.cwl + BURST,
            Kind::Precharge | Kind::PrechargeAll => c.clock + s.rp,
            Kind::Activate => c.clock,
            Kind::Refresh
            | Kind::PrechargeSame
            | Kind::RefreshSame
            | Kind::SelfRefreshEntry
            | Kind::SelfRefreshExit => {
                return Some(("the device neither refreshes nor puts to sleep", self.last));
            }
        };
        if idle_from > window.closes {
            return Some(("device not done when its window closes", Some((Master::Host, refresh))));
        }
        match c.kind {
            Kind::Activate => self.open |= 1 << c.bank,
            Kind::Precharge => self.open &= !(1 << c.bank),
            Kind::PrechargeAll => self.open = 0,
            Kind::Read
            | Kind::Write
            | Kind::Refresh
            | Kind::PrechargeSame
            | Kind::RefreshSame
            | Kind::SelfRefreshEntry
            | Kind::SelfRefreshExit => {}
        }
        let before = self.device.map_or(0, |(_, idle_from)| idle_from);
        self.device = Some((*c, before.max(idle_from)));
        None
    }
}
