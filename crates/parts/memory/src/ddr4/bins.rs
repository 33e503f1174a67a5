//! DDR4's speed bins, 8 Gb x8 devices (JESD79-4, timing parameters by speed grade, page size of 1 KB).

use super::{BURST, GroupBits, LINES_PER_ROW, Spec};

/// What a speed grade sets: tCK, tRAS, tCCD_L, tRRD_S, tRRD_L and tFAW in picoseconds, CL (which tRCD and tRP are, too) and CWL in
/// clocks, and the clocks of an average tREFI.
struct Bin {
    clock: u64,
    cl: u64,
    cwl: u64,
    ras: u64,
    ccd_l: u64,
    rrd_s: u64,
    rrd_l: u64,
    faw: u64,
    refi: u64,
}

impl Bin {
    /// Clocks of `ps`, of which up to 26 thousandths of one are a rounding of tCK (JESD79-4, rounding algorithms).
    const fn clocks(&self, ps: u64) -> u64 {
        (ps * 1000 / self.clock + 974) / 1000
    }

    /// Clocks of `ps`, and so many at least.
    const fn least(&self, clocks: u64, ps: u64) -> u64 {
        let needed = self.clocks(ps);
        if needed > clocks { needed } else { clocks }
    }

    const fn spec(&self) -> Spec {
        let ccd_l = self.least(5, self.ccd_l);
        Spec {
            clock_ps: self.clock,
            cl: self.cl,
            cwl: self.cwl,
            rcd: self.cl,
            rp: self.cl,
            ras: self.clocks(self.ras),
            ccd_s: 4,
            ccd_l,
            ccd_l_wr: ccd_l,
            rrd_s: self.least(4, self.rrd_s),
            rrd_l: self.least(4, self.rrd_l),
            faw: self.least(20, self.faw),
            wr: self.clocks(15_000),
            wtr_s: self.least(2, 2_500),
            wtr_l: self.least(4, 7_500),
            rtp: self.least(4, 7_500),
            cs: 2,
            turn: 2,
            burst: BURST,
            command: 1,
            refi: self.refi,
            // Not rounded as the others are: a refresh takes 350 ns of the host's time.
            rfc: 350_000_u64.div_ceil(self.clock),
            same_bank: None,
            postponed: 0,
            controller: 1,
            ranks: 1,
            sets: 1,
            lines_per_row: LINES_PER_ROW,
            rows: 1 << 16,
            queue: 32,
            groups: GroupBits::Rows,
        }
    }
}

#[rustfmt::skip]
impl Spec {
    /// DDR4-1600K (11-11-11), tRFC 350 ns.
    pub const DDR4_1600: Spec =
        Bin { clock: 1250, cl: 11, cwl: 9, ras: 35_000, ccd_l: 6250, rrd_s: 5000, rrd_l: 6000, faw: 25_000, refi: 6240 }.spec();
    /// DDR4-1866M (13-13-13), tRFC 350 ns.
    pub const DDR4_1866: Spec =
        Bin { clock: 1071, cl: 13, cwl: 10, ras: 34_000, ccd_l: 5355, rrd_s: 4200, rrd_l: 5300, faw: 23_000, refi: 7280 }.spec();
    /// DDR4-2133P (15-15-15), tRFC 350 ns.
    pub const DDR4_2133: Spec =
        Bin { clock: 937, cl: 15, cwl: 11, ras: 33_000, ccd_l: 5355, rrd_s: 3700, rrd_l: 5300, faw: 21_000, refi: 8320 }.spec();
    /// DDR4-2400T (17-17-17), tRFC 350 ns.
    pub const DDR4_2400: Spec =
        Bin { clock: 833, cl: 17, cwl: 12, ras: 32_000, ccd_l: 5000, rrd_s: 3300, rrd_l: 4900, faw: 21_000, refi: 9360 }.spec();
    /// DDR4-2666V (19-19-19), tRFC 350 ns.
    pub const DDR4_2666: Spec =
        Bin { clock: 750, cl: 19, cwl: 14, ras: 32_000, ccd_l: 5000, rrd_s: 3000, rrd_l: 4900, faw: 21_000, refi: 10_400 }.spec();
    /// DDR4-2933Y (21-21-21), tRFC 350 ns.
    pub const DDR4_2933: Spec =
        Bin { clock: 682, cl: 21, cwl: 16, ras: 32_000, ccd_l: 5000, rrd_s: 2700, rrd_l: 4900, faw: 21_000, refi: 11_437 }.spec();
    /// DDR4-3200AA (22-22-22), tRFC 350 ns.
    pub const DDR4_3200: Spec =
        Bin { clock: 625, cl: 22, cwl: 16, ras: 32_000, ccd_l: 5000, rrd_s: 2500, rrd_l: 4900, faw: 21_000, refi: 12_480 }.spec();
}

#[cfg(test)]
mod tests {
    use super::Spec;

    /// tRAS, tCCD_L, tRRD_L, tFAW, tWR, tWTR_S, tWTR_L, tRTP and tRFC of every speed, as data sheets print them in clocks.
    #[test]
    fn bins_have_the_clocks_of_data_sheets() {
        let of = |s: Spec| [s.ras, s.ccd_l, s.rrd_l, s.faw, s.wr, s.wtr_s, s.wtr_l, s.rtp, s.rfc];
        let expected = [
            (Spec::DDR4_1600, [28, 5, 5, 20, 12, 2, 6, 6, 280]),
            (Spec::DDR4_1866, [32, 5, 5, 22, 14, 3, 7, 7, 327]),
            (Spec::DDR4_2133, [36, 6, 6, 23, 16, 3, 8, 8, 374]),
            (Spec::DDR4_2400, [39, 6, 6, 26, 18, 3, 9, 9, 421]),
            (Spec::DDR4_2666, [43, 7, 7, 28, 20, 4, 10, 10, 467]),
            (Spec::DDR4_2933, [47, 8, 8, 31, 22, 4, 11, 11, 514]),
            (Spec::DDR4_3200, [52, 8, 8, 34, 24, 4, 12, 12, 560]),
        ];
        for (spec, clocks) in expected {
            assert_eq!(of(spec), clocks, "{} ps", spec.clock_ps);
            assert_eq!((spec.rcd, spec.rp, spec.rrd_s), (spec.cl, spec.cl, 4));
            // The pins' rate, and what a cell needs, differ from grade to grade by what a clock rounds.
            let ns = |clocks: u64| (clocks * spec.clock_ps) as f64 / 1e3;
            assert!(
                (13.7..14.4).contains(&ns(spec.cl)) && (7.79e3..7.81e3).contains(&ns(spec.refi)),
                "{spec:?}"
            );
        }
    }
}
