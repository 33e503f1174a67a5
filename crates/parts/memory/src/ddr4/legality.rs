//! A second reading of JESD79-4: replays a command log and names the first rule that is broken. It keeps what was sent
//! last and compares; nothing is shared with the scheduler but the numbers.

use super::command::{Command, Kind, group};
use super::spec::{BANKS, BURST, GROUPS, SHORTEST_SLEEP, Spec};
use std::collections::VecDeque;
use std::fmt;

/// Two commands that are too close, or one that finds its bank in the wrong state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule, as the standard names it.
    pub rule: &'static str,
    /// The command that set the bound; none when the state alone is wrong.
    pub earlier: Option<Command>,
    /// The command that broke it.
    pub later: Command,
    /// The first clock at which it would have been legal, zero when none would.
    pub legal_from: u64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Violation { rule, later, legal_from, .. } = self;
        write!(f, "{rule}: {:?} of bank {} at clock {}", later.kind, later.bank, later.clock)?;
        if let Some(e) = self.earlier {
            write!(
                f,
                " after {:?} of bank {} at clock {}, legal from {legal_from}",
                e.kind, e.bank, e.clock
            )?;
        }
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Bank {
    open: Option<u32>,
    activate: Option<Command>,
    precharge: Option<Command>,
    read: Option<Command>,
    write: Option<Command>,
}

#[derive(Clone, Default)]
struct Rank {
    banks: Vec<Bank>,
    /// The last ones of each bank group.
    reads: [Option<Command>; GROUPS],
    writes: [Option<Command>; GROUPS],
    activates: VecDeque<Command>,
    refresh: Option<Command>,
    /// Asleep since, or awake since.
    entry: Option<Command>,
    exit: Option<Command>,
}

/// Follows a channel's commands.
#[derive(Clone)]
pub struct Legality {
    spec: Spec,
    ranks: Vec<Rank>,
    last: Option<Command>,
    last_column: Option<Command>,
}

impl Legality {
    /// Every bank closed.
    pub fn new(spec: Spec) -> Legality {
        let rank = Rank { banks: vec![Bank::default(); BANKS], ..Rank::default() };
        Legality { spec, ranks: vec![rank; spec.ranks], last: None, last_column: None }
    }

    /// Takes the next command.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn take(&mut self, c: &Command) -> Result<(), Violation> {
        self.bus(c)?;
        self.sleep(c)?;
        self.state(c)?;
        match c.kind {
            Kind::Activate => self.activate(c)?,
            Kind::Read | Kind::Write => self.column(c)?,
            Kind::Precharge => self.precharge(c, c.bank)?,
            Kind::PrechargeAll => (0..BANKS as u8).try_for_each(|bank| self.precharge(c, bank))?,
            Kind::Refresh | Kind::SelfRefreshEntry => self.refresh(c)?,
            Kind::PrechargeSame | Kind::RefreshSame | Kind::SelfRefreshExit => {}
        }
        self.note(c);
        Ok(())
    }

    fn after(c: &Command, rule: &'static str, earlier: Option<Command>, wait: u64) -> Result<(), Violation> {
        match earlier {
            Some(e) if c.clock < e.clock + wait => {
                Err(Violation { rule, earlier, later: *c, legal_from: e.clock + wait })
            }
            _ => Ok(()),
        }
    }

    fn bus(&self, c: &Command) -> Result<(), Violation> {
        Self::after(c, "one command a clock", self.last, 1)?;
        Self::after(c, "tRFC", self.ranks[c.rank as usize].refresh, self.spec.rfc)
    }

    /// A rank that refreshes itself hears of nothing but the exit.
    fn sleep(&self, c: &Command) -> Result<(), Violation> {
        let rank = &self.ranks[c.rank as usize];
        Self::after(c, "tXS", rank.exit, self.spec.xs())?;
        if c.kind == Kind::SelfRefreshExit {
            return Self::after(c, "tCKESR", rank.entry, SHORTEST_SLEEP);
        }
        let later = *c;
        match rank.entry {
            Some(_) => {
                Err(Violation { rule: "command in self-refresh", earlier: rank.entry, later, legal_from: 0 })
            }
            None => Ok(()),
        }
    }

    fn state(&self, c: &Command) -> Result<(), Violation> {
        let rank = &self.ranks[c.rank as usize];
        let open = rank.banks[c.bank as usize].open.is_some();
        let rule = match c.kind {
            Kind::Activate if open => "ACTIVATE of an open bank",
            Kind::Read | Kind::Write if !open => "column command to a closed bank",
            Kind::SelfRefreshExit if rank.entry.is_none() => "exit from no self-refresh",
            Kind::PrechargeSame | Kind::RefreshSame => "a command that DDR4 does not have",
            Kind::Refresh | Kind::SelfRefreshEntry if rank.banks.iter().any(|b| b.open.is_some()) => {
                "REFRESH with an open bank"
            }
            Kind::Activate
            | Kind::Read
            | Kind::Write
            | Kind::Precharge
            | Kind::PrechargeAll
            | Kind::Refresh
            | Kind::SelfRefreshEntry
            | Kind::SelfRefreshExit => return Ok(()),
        };
        Err(Violation { rule, earlier: None, later: *c, legal_from: 0 })
    }

    fn activate(&self, c: &Command) -> Result<(), Violation> {
        let (s, rank) = (&self.spec, &self.ranks[c.rank as usize]);
        let bank = &rank.banks[c.bank as usize];
        Self::after(c, "tRP", bank.precharge, s.rp)?;
        Self::after(c, "tRC", bank.activate, s.ras + s.rp)?;
        for other in &rank.activates {
            let same = group(other.bank) == group(c.bank);
            Self::after(
                c,
                if same { "tRRD_L" } else { "tRRD_S" },
                Some(*other),
                if same { s.rrd_l } else { s.rrd_s },
            )?;
        }
        let fourth = rank.activates.len().checked_sub(4).map(|i| rank.activates[i]);
        Self::after(c, "tFAW", fourth, s.faw)
    }

    fn column(&self, c: &Command) -> Result<(), Violation> {
        let (s, rank) = (&self.spec, &self.ranks[c.rank as usize]);
        Self::after(c, "tRCD", rank.banks[c.bank as usize].activate, s.rcd)?;
        for (index, (read, write)) in rank.reads.iter().zip(&rank.writes).enumerate() {
            let same = index == group(c.bank);
            let (ccd, rule) = if same { (s.ccd_l, "tCCD_L") } else { (s.ccd_s, "tCCD_S") };
            let (wtr, wtr_rule) = if same { (s.wtr_l, "tWTR_L") } else { (s.wtr_s, "tWTR_S") };
            if c.kind == Kind::Read {
                Self::after(c, rule, *read, ccd)?;
                Self::after(c, wtr_rule, *write, s.cwl + BURST + wtr)?;
            } else {
                Self::after(c, rule, *write, ccd)?;
                Self::after(c, "read to write", *read, s.cl + BURST + 2 - s.cwl)?;
            }
        }
        self.data_bus(c)
    }

    /// Bursts of two ranks neither overlap nor follow at once.
    fn data_bus(&self, c: &Command) -> Result<(), Violation> {
        let starts = |c: &Command| c.clock + if c.kind == Kind::Read { self.spec.cl } else { self.spec.cwl };
        match self.last_column {
            Some(e) if e.rank != c.rank => {
                let free = starts(&e) + BURST + self.spec.cs;
                if starts(c) >= free {
                    return Ok(());
                }
                let legal_from = c.clock + free - starts(c);
                Err(Violation { rule: "tCS", earlier: Some(e), later: *c, legal_from })
            }
            _ => Ok(()),
        }
    }

    fn precharge(&self, c: &Command, bank: u8) -> Result<(), Violation> {
        let (s, bank) = (&self.spec, &self.ranks[c.rank as usize].banks[bank as usize]);
        if bank.open.is_none() {
            return Ok(());
        }
        Self::after(c, "tRAS", bank.activate, s.ras)?;
        Self::after(c, "tRTP", bank.read, s.rtp)?;
        Self::after(c, "tWR", bank.write, s.cwl + BURST + s.wr)
    }

    fn refresh(&self, c: &Command) -> Result<(), Violation> {
        let rank = &self.ranks[c.rank as usize];
        rank.banks
            .iter()
            .try_for_each(|bank| Self::after(c, "tRP before REFRESH", bank.precharge, self.spec.rp))
    }

    fn note(&mut self, c: &Command) {
        let rank = &mut self.ranks[c.rank as usize];
        let bank = &mut rank.banks[c.bank as usize];
        match c.kind {
            Kind::Activate => {
                (bank.open, bank.activate) = (Some(c.row), Some(*c));
                rank.activates.push_back(*c);
                if rank.activates.len() > 4 {
                    rank.activates.pop_front();
                }
            }
            Kind::Read => (bank.read, rank.reads[group(c.bank)]) = (Some(*c), Some(*c)),
            Kind::Write => (bank.write, rank.writes[group(c.bank)]) = (Some(*c), Some(*c)),
            Kind::Precharge => (bank.open, bank.precharge) = (None, Some(*c)),
            Kind::PrechargeAll => {
                for bank in &mut rank.banks {
                    (bank.open, bank.precharge) = (None, Some(*c));
                }
            }
            Kind::Refresh => rank.refresh = Some(*c),
            Kind::PrechargeSame | Kind::RefreshSame => {}
            Kind::SelfRefreshEntry => rank.entry = Some(*c),
            Kind::SelfRefreshExit => (rank.entry, rank.exit) = (None, Some(*c)),
        }
        if matches!(c.kind, Kind::Read | Kind::Write) {
            self.last_column = Some(*c);
        }
        self.last = Some(*c);
    }
}
