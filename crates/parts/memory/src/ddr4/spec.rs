//! Timing and shape of a channel.

use units::Dur;

/// Which part of an address names the bank group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBits {
    /// The lowest: neighbouring lines are in different groups.
    Lines,
    /// The same, and group and bank each XOR bits of the row, all of them, so that what is far apart by a power of two is in
    /// different banks.
    HashedLines,
    /// The lowest above a row: neighbouring rows are.
    Rows,
    /// The highest: what is near is in one group.
    Top,
    /// As controllers of Skylake-SP and Cascade Lake have it with open pages: bits above a row's lines, and of banks too, each XOR one
    /// of the row's.
    Skylake,
    /// The same with what they call fine-grained banks: neighbouring lines are in two groups.
    SkylakeFine,
}

/// Timing in memory clocks (tCK), named as in JESD79-4; shape of one channel of 64 data bits, or of a sub-channel of DDR5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Picoseconds of one memory clock (tCK).
    pub clock_ps: u64,
    /// READ to its data (CL).
    pub cl: u64,
    /// WRITE to its data (CWL).
    pub cwl: u64,
    /// ACTIVATE to READ or WRITE (tRCD).
    pub rcd: u64,
    /// PRECHARGE to ACTIVATE or REFRESH (tRP).
    pub rp: u64,
    /// ACTIVATE to PRECHARGE (tRAS).
    pub ras: u64,
    /// Column command to column command, other bank group (tCCD_S).
    pub ccd_s: u64,
    /// Column command to column command, same bank group (tCCD_L).
    pub ccd_l: u64,
    /// WRITE to WRITE, same bank group: more than tCCD_L on DDR5 (tCCD_L_WR).
    pub ccd_l_wr: u64,
    /// ACTIVATE to ACTIVATE, other bank group (tRRD_S).
    pub rrd_s: u64,
    /// ACTIVATE to ACTIVATE, same bank group (tRRD_L).
    pub rrd_l: u64,
    /// In which there are at most four ACTIVATEs (tFAW).
    pub faw: u64,
    /// End of write data to PRECHARGE (tWR).
    pub wr: u64,
    /// End of write data to READ, other bank group (tWTR_S).
    pub wtr_s: u64,
    /// End of write data to READ, same bank group (tWTR_L).
    pub wtr_l: u64,
    /// READ to PRECHARGE (tRTP).
    pub rtp: u64,
    /// Data of one rank to data of another (tCS).
    pub cs: u64,
    /// Clocks between a read's data and a write's: the pins turn round.
    pub turn: u64,
    /// Data clocks of a burst.
    pub burst: u64,
    /// Clocks that a command takes of the command bus.
    pub command: u64,
    /// Average time between REFRESH commands (tREFI).
    pub refi: u64,
    /// REFRESH to the next command (tRFC).
    pub rfc: u64,
    /// Where a REFRESH takes the same bank of every group: clocks until the others may open a row (tREFSBRD).
    pub same_bank: Option<u64>,
    /// REFRESH commands that may be put off while requests wait: 0 to 8 (JESD79-4 §4.26).
    pub postponed: u64,
    /// Clocks that the controller adds to a read: queueing the request and handing the data up.
    pub controller: u64,
    /// Ranks: 1, 2 or 4; of DDR5 1 or 2.
    pub ranks: usize,
    /// Sets of 16 banks in four groups that a rank has: DDR5 has two.
    pub sets: usize,
    /// Lines of a row, a power of two.
    pub lines_per_row: u64,
    /// Rows of a bank, a power of two.
    pub rows: u64,
    /// Requests that wait to be read, and as many to be written.
    pub queue: usize,
    /// Where an address has its bank group.
    pub groups: GroupBits,
}

/// Data clocks of DDR4's burst of eight.
pub const BURST: u64 = 4;
/// Bank groups of a set, which a rank of DDR4 (x4 and x8 devices) has one of.
pub(crate) const GROUPS: usize = 4;
/// Banks of a set.
pub const BANKS: usize = 16;
/// Banks of a channel's ranks at most: they are bits of a word.
const MOST_BANKS: usize = 64;
/// The shortest self-refresh (tCKESR): tCKE of 5 ns or 3 clocks, and one.
pub(super) const SHORTEST_SLEEP: u64 = 8;
/// Lines of a row of DDR4: 1,024 columns of eight bytes.
pub const LINES_PER_ROW: u64 = 128;

impl Spec {
    /// The most clocks that a controller may add to a read.
    pub const MOST_CONTROLLER: u64 = 1000;

    /// The same with devices of 4, 8 or 16 Gb: rows, and tRFC (260, 350, 550 ns).
    ///
    /// # Errors
    /// Another density.
    pub fn with_density(self, gigabits: u64) -> Result<Spec, String> {
        let (rows, rfc_ns) = match gigabits {
            4 => (1 << 15, 260),
            8 => (1 << 16, 350),
            16 => (1 << 17, 550),
            _ => return Err(format!("a density of {gigabits} Gb: 4, 8 or 16 are known")),
        };
        Ok(Spec { rows, rfc: self.clocks(Dur::ns(rfc_ns)), ..self })
    }

    /// The rank of a set, all ranks' being counted through: a rank has one or two, and a shift is no division.
    #[inline]
    pub(super) fn rank_of(&self, set: usize) -> usize {
        set >> (self.sets - 1)
    }

    /// A stretch of time in clocks, rounded up as JESD79-4 does.
    pub fn clocks(&self, time: Dur) -> u64 {
        time.as_ps().div_ceil(self.clock_ps)
    }

    /// Lines of the channel.
    pub fn lines(&self) -> u64 {
        (self.ranks * self.sets * BANKS) as u64 * self.rows * self.lines_per_row
    }

    /// Exit from self-refresh to the next command (tXS): tRFC and 10 ns.
    pub(super) fn xs(&self) -> u64 {
        self.rfc + self.clocks(Dur::ns(10))
    }

    /// READ to WRITE: the bus turns round.
    pub fn read_to_write(&self) -> u64 {
        self.cl + self.burst + self.turn - self.cwl
    }

    /// A REFRESH waits for PRECHARGE, something has to fit between two of them, and waits are counted in 15 bits.
    pub(crate) fn longest_refresh(&self) -> u64 {
        self.refi.saturating_sub(self.around_refresh()).min(16_384)
    }

    /// Clocks between refreshes beside the refresh.
    fn around_refresh(&self) -> u64 {
        self.ras + 2 * self.rp + self.wr + self.cl
    }

    /// The least clocks between refreshes that leave room for everything else.
    pub(crate) fn least_refresh_interval(&self) -> u64 {
        self.rfc + self.around_refresh()
    }

    fn most_ranks(&self) -> usize {
        MOST_BANKS / (BANKS * self.sets)
    }

    /// Whether the numbers can be those of a device.
    ///
    /// # Errors
    /// Which key is impossible, and its bound.
    pub fn check(&self) -> Result<(), String> {
        let bounds = [
            ("tck_ps", self.clock_ps, 1, 10_000),
            ("cl", self.cl, self.cwl.saturating_sub(self.burst + self.turn).max(1), 64),
            ("cwl", self.cwl, 1, 64),
            ("trcd", self.rcd, 1, 64),
            ("trp", self.rp, 1, 64),
            ("tras", self.ras, self.rcd, 255),
            ("tccd_s", self.ccd_s, self.burst, 64),
            ("tccd_l", self.ccd_l, self.ccd_s, 64),
            ("tccd_l_wr", self.ccd_l_wr, self.ccd_l, 64),
            ("trrd_s", self.rrd_s, 1, 64),
            ("trrd_l", self.rrd_l, self.rrd_s, 64),
            ("tfaw", self.faw, self.rrd_s, 255),
            ("twr", self.wr, 1, 255),
            ("twtr_s", self.wtr_s, 1, 64),
            ("twtr_l", self.wtr_l, self.wtr_s, 64),
            ("trtp", self.rtp, 1, 64),
            ("tcs", self.cs, 0, 64),
            ("trefi", self.refi, 1, 1 << 24),
            ("trfc", self.rfc, 1, self.longest_refresh()),
            ("postponed", self.postponed, 0, 8),
            ("controller", self.controller, 0, Spec::MOST_CONTROLLER),
            ("sets", self.sets as u64, 1, 2),
            ("ranks", self.ranks as u64, 1, self.most_ranks() as u64),
            ("rows", self.rows, 1, 1 << 20),
            ("queue", self.queue as u64, 1, 64),
        ];
        match bounds.into_iter().find(|(_, value, low, high)| value < low || value > high) {
            Some((key, value, low, high)) if low > high => {
                Err(format!("{key} = {value} clocks: tREFI of {} leaves no room for it", self.refi))
            }
            Some((key, value, low, high)) => Err(format!("{key} = {value}: accepted are {low} to {high}")),
            None if !self.ranks.is_power_of_two() => {
                let known = if self.most_ranks() > 2 { "1, 2, 4" } else { "1, 2" };
                Err(format!("ranks = {}: accepted are {known}", self.ranks))
            }
            None if !self.rows.is_power_of_two() => {
                Err(format!("rows = {}: accepted are powers of two", self.rows))
            }
            None => Ok(()),
        }
    }
}
