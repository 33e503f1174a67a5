//! A second reading of JESD79-5: a table of which command waits for which, and a replay of a sub-channel's log against it. It shares
//! with the scheduler commands and numbers, and nothing of how either comes to a decision.

use crate::ddr4::{BANKS, Command, GROUPS, Kind, Spec, Violation};
use std::collections::VecDeque;

/// Which earlier commands a rule looks at, seen from the later one.
#[derive(Clone, Copy, Debug)]
enum Scope {
    /// Those to a bank that this one is to.
    Bank,
    /// Those of the rank to other banks.
    OtherBanks,
    Group,
    OtherGroups,
    Rank,
    OtherRanks,
    Channel,
}

/// After one of `earlier` none of `later` for `wait` clocks; counted from the `nth` last of them.
#[derive(Clone, Debug)]
struct Rule {
    name: &'static str,
    earlier: &'static [Kind],
    later: &'static [Kind],
    scope: Scope,
    wait: u64,
    nth: usize,
}

const ACTIVATE: &[Kind] = &[Kind::Activate];
const READ: &[Kind] = &[Kind::Read];
const WRITE: &[Kind] = &[Kind::Write];
const COLUMN: &[Kind] = &[Kind::Read, Kind::Write];
const LONG: &[Kind] = &[Kind::Activate, Kind::Read, Kind::Write];
const CLOSE: &[Kind] = &[Kind::Precharge, Kind::PrechargeAll, Kind::PrechargeSame];
const REFRESH: &[Kind] = &[Kind::Refresh, Kind::RefreshSame];
const OF_ALL: &[Kind] = &[Kind::Refresh];
const OF_SAME: &[Kind] = &[Kind::RefreshSame];
const ANY: &[Kind] = &[
    Kind::Activate,
    Kind::Read,
    Kind::Write,
    Kind::Precharge,
    Kind::PrechargeAll,
    Kind::PrechargeSame,
    Kind::Refresh,
    Kind::RefreshSame,
];

/// What the standard says, with the numbers of `s`.
fn rules(s: &Spec) -> Vec<Rule> {
    let beside_refresh = s.same_bank.unwrap_or(0);
    let (written, of_rank) = (s.cwl + s.burst, s.burst + s.cs);
    let rows = [
        ("one command a clock", ANY, ANY, Scope::Channel, 1),
        ("two clocks of a command", LONG, ANY, Scope::Channel, 2),
        ("tPPD", CLOSE, CLOSE, Scope::Rank, 2),
        ("tRCD", ACTIVATE, COLUMN, Scope::Bank, s.rcd),
        ("tRAS", ACTIVATE, CLOSE, Scope::Bank, s.ras),
        ("tRC", ACTIVATE, ACTIVATE, Scope::Bank, s.ras + s.rp),
        ("tRP", CLOSE, ACTIVATE, Scope::Bank, s.rp),
        ("tRP before REFRESH", CLOSE, REFRESH, Scope::Bank, s.rp),
        ("tRRD_L", ACTIVATE, ACTIVATE, Scope::Group, s.rrd_l),
        ("tRRD_S", ACTIVATE, ACTIVATE, Scope::OtherGroups, s.rrd_s),
        ("tRRD_L before REFsb", ACTIVATE, OF_SAME, Scope::OtherBanks, s.rrd_l),
        ("tCCD_L", READ, READ, Scope::Group, s.ccd_l),
        ("tCCD_S", READ, READ, Scope::OtherGroups, s.ccd_s),
        ("tCCD_L_WR", WRITE, WRITE, Scope::Group, s.ccd_l_wr),
        ("tCCD_S between WRITEs", WRITE, WRITE, Scope::OtherGroups, s.ccd_s),
        ("tWTR_L", WRITE, READ, Scope::Group, written + s.wtr_l),
        ("tWTR_S", WRITE, READ, Scope::OtherGroups, written + s.wtr_s),
        ("read to write", READ, WRITE, Scope::Rank, (s.cl + s.burst + s.turn).saturating_sub(s.cwl)),
        ("tRTP", READ, CLOSE, Scope::Bank, s.rtp),
        ("tWR", WRITE, CLOSE, Scope::Bank, written + s.wr),
        ("tCS", READ, READ, Scope::OtherRanks, of_rank),
        ("tCS", WRITE, WRITE, Scope::OtherRanks, of_rank),
        ("tCS", READ, WRITE, Scope::OtherRanks, (s.cl + of_rank).saturating_sub(s.cwl)),
        ("tCS", WRITE, READ, Scope::OtherRanks, (s.cwl + of_rank).saturating_sub(s.cl)),
        ("tRFC", OF_ALL, ANY, Scope::Rank, s.rfc),
        ("tRFCsb", OF_SAME, ACTIVATE, Scope::Bank, s.rfc),
        ("tRFCsb between REFsb", OF_SAME, REFRESH, Scope::Rank, s.rfc),
        ("tREFSBRD", OF_SAME, ACTIVATE, Scope::OtherBanks, beside_refresh),
    ];
    let rule = |(name, earlier, later, scope, wait)| Rule { name, earlier, later, scope, wait, nth: 1 };
    let mut rules: Vec<Rule> = rows.into_iter().map(rule).collect();
    rules.push(Rule { nth: 4, ..rule(("tFAW", ACTIVATE, ACTIVATE, Scope::Rank, s.faw)) });
    rules
}

/// The banks of its rank that a command is to, as bits.
fn banks(c: &Command) -> u64 {
    let all = (1 << (2 * BANKS)) - 1;
    match c.kind {
        Kind::Activate | Kind::Read | Kind::Write | Kind::Precharge => 1 << c.bank,
        Kind::PrechargeSame | Kind::RefreshSame => {
            let nth = |bank: usize| bank % BANKS / GROUPS;
            let same = |bank: &usize| nth(*bank) == nth(c.bank.into());
            (0..2 * BANKS).filter(same).fold(0, |set, bank| set | 1 << bank)
        }
        Kind::PrechargeAll | Kind::Refresh | Kind::SelfRefreshEntry | Kind::SelfRefreshExit => all,
    }
}

fn group(c: &Command) -> (usize, usize) {
    (c.bank as usize / BANKS, c.bank as usize % GROUPS)
}

impl Rule {
    fn is_about(&self, e: &Command, c: &Command) -> bool {
        let (same_rank, same_banks) = (e.rank == c.rank, banks(e) & banks(c) != 0);
        let in_scope = match self.scope {
            Scope::Bank => same_rank && same_banks,
            Scope::OtherBanks => same_rank && !same_banks,
            Scope::Group => same_rank && group(e) == group(c),
            Scope::OtherGroups => same_rank && group(e) != group(c),
            Scope::Rank => same_rank,
            Scope::OtherRanks => !same_rank,
            Scope::Channel => true,
        };
        in_scope && self.earlier.contains(&e.kind)
    }

    /// What `c` breaks of this, after `recent`.
    fn broken(&self, recent: &VecDeque<Command>, c: &Command) -> Option<Violation> {
        if !self.later.contains(&c.kind) {
            return None;
        }
        let near = recent.iter().rev().take_while(|e| c.clock < e.clock + self.wait);
        let earlier = *near.filter(|e| self.is_about(e, c)).nth(self.nth - 1)?;
        let legal_from = earlier.clock + self.wait;
        Some(Violation { rule: self.name, earlier: Some(earlier), later: *c, legal_from })
    }
}

/// What is kept of a rank.
#[derive(Clone, Copy, Default)]
struct Rank {
    /// Banks with an open row, as bits.
    open: u64,
    /// Those that same-bank refreshes have taken since each had its last.
    refreshed: u64,
}

/// Follows a sub-channel's commands.
#[derive(Clone)]
pub struct Legality {
    rules: Vec<Rule>,
    same_bank: bool,
    /// What is further back than this breaks nothing.
    longest: u64,
    recent: VecDeque<Command>,
    ranks: Vec<Rank>,
}

impl Legality {
    /// Every bank closed.
    pub fn new(spec: Spec) -> Legality {
        let rules = rules(&spec);
        Legality {
            longest: rules.iter().map(|rule| rule.wait).max().unwrap_or(0),
            same_bank: spec.same_bank.is_some(),
            recent: VecDeque::new(),
            ranks: vec![Rank::default(); spec.ranks],
            rules,
        }
    }

    /// Takes the next command.
    ///
    /// # Errors
    /// The rule that it breaks; of several that for which it would have to wait longest.
    pub fn take(&mut self, c: &Command) -> Result<(), Violation> {
        if let Some(rule) = self.state(c) {
            return Err(Violation { rule, earlier: None, later: *c, legal_from: 0 });
        }
        let broken = self.rules.iter().filter_map(|rule| rule.broken(&self.recent, c));
        if let Some(violation) = broken.max_by_key(|violation| violation.legal_from) {
            return Err(violation);
        }
        self.note(c);
        Ok(())
    }

    /// What is wrong with `c` whenever it comes, its banks being as they are.
    fn state(&self, c: &Command) -> Option<&'static str> {
        let rank = &self.ranks[c.rank as usize];
        let is_open = rank.open & banks(c) != 0;
        match c.kind {
            Kind::Activate if is_open => Some("ACTIVATE of an open bank"),
            Kind::Read | Kind::Write if !is_open => Some("column command to a closed bank"),
            Kind::Refresh | Kind::RefreshSame if is_open => Some("REFRESH with an open bank"),
            Kind::RefreshSame if !self.same_bank => Some("REFsb without fine granularity"),
            Kind::Refresh if self.same_bank => Some("REFab among REFsb"),
            Kind::RefreshSame if rank.refreshed & banks(c) != 0 => Some("REFsb of a bank before the others'"),
            Kind::SelfRefreshEntry | Kind::SelfRefreshExit => Some("self-refresh"),
            Kind::Activate
            | Kind::Read
            | Kind::Write
            | Kind::Precharge
            | Kind::PrechargeAll
            | Kind::PrechargeSame
            | Kind::Refresh
            | Kind::RefreshSame => None,
        }
    }

    fn note(&mut self, c: &Command) {
        let rank = &mut self.ranks[c.rank as usize];
        if c.kind == Kind::Activate {
            rank.open |= banks(c);
        } else if CLOSE.contains(&c.kind) {
            rank.open &= !banks(c);
        } else if c.kind == Kind::RefreshSame {
            rank.refreshed |= banks(c);
            // The last of a round: all have had theirs.
            if rank.refreshed == banks(&Command { kind: Kind::Refresh, ..*c }) {
                rank.refreshed = 0;
            }
        }
        self.recent.push_back(*c);
        while self.recent.front().is_some_and(|e| e.clock + self.longest <= c.clock) {
            self.recent.pop_front();
        }
    }
}
