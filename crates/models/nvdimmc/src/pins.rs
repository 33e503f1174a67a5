//! The six command pins that reach the device, and the detector behind them.

use memory::ddr4::Kind;

/// Levels of the pins at one clock edge, as they are driven: most are active when low.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pins {
    /// Clock enable; falls on entry into power-down and self-refresh.
    pub cke: bool,
    /// Chip select, active low.
    pub cs_n: bool,
    /// ACTIVATE, active low; the next three carry row bits then.
    pub act_n: bool,
    /// RAS_n, or A16.
    pub ras_n: bool,
    /// CAS_n, or A15.
    pub cas_n: bool,
    /// WE_n, or A14.
    pub we_n: bool,
}

impl Pins {
    /// Nothing is asked of this rank.
    pub const DESELECT: Pins =
        Pins { cke: true, cs_n: true, act_n: true, ras_n: true, cas_n: true, we_n: true };
    /// What a command looks like (JESD79-4 command truth table). Entry into self-refresh is REFRESH, but CKE falls
    /// with it. `row` shows on the pins of an ACTIVATE: its bits 14, 15 and 16.
    pub const fn of(kind: Kind, row: u32) -> Pins {
        let (act_n, ras_n, cas_n, we_n) = match kind {
            Kind::Activate => (false, row >> 16 & 1 == 1, row >> 15 & 1 == 1, row >> 14 & 1 == 1),
            Kind::Read => (true, true, false, true),
            Kind::Write => (true, true, false, false),
            Kind::Precharge | Kind::PrechargeAll => (true, false, true, false),
            Kind::Refresh | Kind::SelfRefreshEntry => (true, false, false, true),
            // DDR4 has no command for one bank of every group.
            Kind::SelfRefreshExit | Kind::PrechargeSame | Kind::RefreshSame => return Pins::DESELECT,
        };
        let cke = !matches!(kind, Kind::SelfRefreshEntry);
        Pins { cke, cs_n: false, act_n, ras_n, cas_n, we_n }
    }
}

/// Tells REFRESH from everything else (§IV-A, Fig. 4).
#[derive(Clone, Copy, Debug)]
pub struct RefreshDetector {
    cke_was: bool,
    /// Fault: takes entry into self-refresh for a REFRESH, by not looking at CKE.
    pub ignores_cke: bool,
    /// Fault: sees nothing.
    pub blind: bool,
}

impl RefreshDetector {
    /// One that works.
    pub fn new() -> RefreshDetector {
        RefreshDetector { cke_was: true, ignores_cke: false, blind: false }
    }

    /// Looks at the pins of a clock: whether this is a REFRESH. CKE has to be high before and at it.
    pub fn look(&mut self, pins: Pins) -> bool {
        let was = std::mem::replace(&mut self.cke_was, pins.cke);
        let refresh = !pins.cs_n && pins.act_n && !pins.ras_n && !pins.cas_n && pins.we_n;
        refresh && !self.blind && (self.ignores_cke || (was && pins.cke))
    }
}

impl Default for RefreshDetector {
    fn default() -> RefreshDetector {
        RefreshDetector::new()
    }
}
