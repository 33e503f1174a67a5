//! Energy of memory: what is in use, what is online and idle, what wakes (§6.2). Hidden memory draws none.

use crate::memory::Elapsed;
use crate::spec::PowerSpec;

/// Pages of a GiB.
const PAGES_OF_GIB: f64 = (1 << 18) as f64;

/// What memory that is online, and of that in use, has drawn, in joules: each page for the time that it was so, and for the
/// time of waking whenever it came into use. Sums of milliwatts times pages times picoseconds: exact, whatever the order.
pub(crate) fn joules(power: &PowerSpec, online: &[Elapsed], used: &[Elapsed]) -> f64 {
    let time = |all: &[Elapsed]| all.iter().map(|e| e.time).sum::<i128>();
    let woken: u64 = used.iter().map(|e| e.added).sum();
    let sum = i128::from(power.active) * time(used)
        + i128::from(power.idle) * (time(online) - time(used)).max(0)
        + i128::from(power.transition) * i128::from(woken) * i128::from(power.wakes.as_ps());
    sum as f64 / PAGES_OF_GIB * 1e-15
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Level;
    use units::{Dur, Time};

    #[test]
    fn the_papers_figures_for_one_gib_and_a_second() {
        let wakes = Dur::ns(500_000_000);
        let power = PowerSpec { idle: 230, active: 1340, transition: 760, wakes };
        let second = |n: u64| Time::ZERO + Dur::ns(1_000_000_000) * n;
        let (online, mut used) = (Level::of(3 << 18), Level::default());
        used.change(second(1), 1 << 18);
        let by = |n| joules(&power, &[online.until(second(n))], &[used.until(second(n))]);
        assert!((by(0)).abs() < 1e-9);
        assert!((by(1) - (0.69 + 0.38)).abs() < 1e-9, "waking costs the same whenever it is");
        assert!((by(2) - (0.69 + 0.46 + 1.34 + 0.38)).abs() < 1e-9);
    }
}
