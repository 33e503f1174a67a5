//! Watermarks of zones, by the kernel's rules (`mm/page_alloc.c`).

/// Which kernel's rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Before Linux 4.6: gaps of a quarter; `min_free_kbytes` up to 65536.
    Before46,
    /// Today's: gaps of at least `scale` ten-thousandths of the zone; `min_free_kbytes` up to 262144.
    Today {
        /// `vm.watermark_scale_factor`.
        scale: u64,
    },
}

/// Pages of a zone that must be free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watermarks {
    /// Below it only the kernel's own allocations succeed.
    pub min: u64,
    /// Below it kswapd wakes.
    pub low: u64,
    /// Above it kswapd sleeps.
    pub high: u64,
    /// Above it a tier takes pages from slower ones (today's kernels).
    pub promo: u64,
}

impl Rule {
    /// `min_free_kbytes` of a machine with so many KiB of low memory.
    pub fn min_free_kib(self, low_memory_kib: u64) -> u64 {
        let most = if self == Rule::Before46 { 65_536 } else { 262_144 };
        (16 * low_memory_kib).isqrt().clamp(128, most)
    }

    /// The marks of a zone that manages `managed` of the machine's `all` pages.
    pub fn zone(self, min_free_kib: u64, managed: u64, all: u64) -> Watermarks {
        let min = (u128::from(min_free_kib / 4) * u128::from(managed) / u128::from(all.max(1))) as u64;
        match self {
            Rule::Before46 => {
                let (low, high) = (min + min / 4, min + min / 2);
                Watermarks { min, low, high, promo: high }
            }
            Rule::Today { scale } => {
                let gap = (min / 4).max((u128::from(managed) * u128::from(scale) / 10_000) as u64);
                Watermarks { min, low: min + gap, high: min + 2 * gap, promo: min + 3 * gap }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_platform_has_4097_5121_and_6145() {
        // Four nodes of 128 GiB at 56 B a descriptor; the first has lost 160 MiB to the kernel and its crash reserve.
        let node = (128 << 18) - (128_u64 << 18) * 56 / 4096;
        let all = 4 * node - (160 << 8);
        let marks = Rule::Before46.zone(Rule::Before46.min_free_kib(all * 4), node, all);
        assert_eq!(marks, Watermarks { min: 4097, low: 5121, high: 6145, promo: 6145 });
    }

    #[test]
    fn sixty_four_gib_by_both_rules() {
        let pages = 64 << 18;
        let kib = Rule::Before46.min_free_kib(64 << 20);
        assert_eq!(kib, 32_768);
        let old = Rule::Before46.zone(kib, pages, pages);
        assert_eq!((old.min, old.low, old.high), (8192, 10_240, 12_288));
        let now = Rule::Today { scale: 10 }.zone(kib, pages, pages);
        assert_eq!((now.min, now.low, now.high, now.promo), (8192, 24_969, 41_746, 58_523));
    }

    /// Numbers of a zone in `/proc/zoneinfo`: min, low, high, managed.
    fn zone(text: &str) -> Option<[u64; 4]> {
        let number = |name: &str| {
            let words = text.lines().filter_map(|l| l.trim().split_once(' '));
            words.filter(|(key, _)| *key == name).find_map(|(_, value)| value.trim().parse().ok())
        };
        Some([number("min")?, number("low")?, number("high")?, number("managed")?])
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "the rule is held against the kernel that runs the test")]
    fn todays_rule_is_the_running_kernels() {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{name}")).unwrap_or_default();
        let number = |name: &str| read(name).trim().parse::<u64>();
        let (Ok(kib), Ok(scale)) =
            (number("sys/vm/min_free_kbytes"), number("sys/vm/watermark_scale_factor"))
        else {
            return;
        };
        let text = read("zoneinfo");
        let blocks =
            text.split("Node ").filter(|b| !b.contains("zone  Movable") && !b.contains("zone   Device"));
        let zones: Vec<[u64; 4]> = blocks.filter_map(zone).filter(|z| z[3] > 0).collect();
        let all = zones.iter().map(|z| z[3]).sum();
        for [min, low, high, managed] in zones {
            let ours = Rule::Today { scale }.zone(kib, managed, all);
            assert_eq!((ours.min, ours.low, ours.high), (min, low, high), "a zone of {managed} pages");
        }
    }
}
