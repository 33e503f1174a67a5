//! Energy of memory: what is in use, what is online and idle, what wakes (§6.2). Hidden memory draws none.

use crate::spec::PowerSpec;
use units::Dur;

/// Sums milliwatts times bytes times picoseconds: exact, whatever the order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Energy {
    sum: u128,
    used: u64,
}

impl Energy {
    /// `online` bytes, of which `used` are in use, over the last `time`.
    pub(crate) fn pass(&mut self, power: &PowerSpec, online: u64, used: u64, time: Dur) {
        let woken = used.saturating_sub(self.used);
        self.used = used;
        let milliwatts = u128::from(power.active) * u128::from(used)
            + u128::from(power.idle) * u128::from(online.saturating_sub(used))
            + u128::from(power.transition) * u128::from(woken);
        self.sum += milliwatts * u128::from(time.as_ps());
    }

    pub(crate) fn joules(&self) -> f64 {
        self.sum as f64 / f64::from(1 << 30) * 1e-15
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_figures_for_one_gib_and_a_second() {
        let power = PowerSpec { idle: 230, active: 1340, transition: 760 };
        let second = Dur::ns(1_000_000_000);
        let mut e = Energy::default();
        e.pass(&power, 3 << 30, 0, second);
        assert!((e.joules() - 0.69).abs() < 1e-9);
        e.pass(&power, 3 << 30, 1 << 30, second);
        assert!((e.joules() - (0.69 + 0.46 + 1.34 + 0.76)).abs() < 1e-9);
    }
}
