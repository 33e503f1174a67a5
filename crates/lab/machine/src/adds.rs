//! What a machine's ordering model adds to it.

use crate::describe::Description;
use ordering::{Around, Hardware, Nature};
use protocol::LINE_BYTES;

impl Description {
    /// What the ordering model adds to this machine with so many cores, `statistic` being what a run counted; nothing is said
    /// of machines without caches and controllers.
    pub fn adds(&self, cores: usize, statistic: impl Fn(&str) -> Option<f64>) -> Option<Hardware> {
        if !self.is_line() {
            return None;
        }
        let lines = |key: &str| self.settings.number(key) / LINE_BYTES;
        let around = Around {
            cores: cores as u64,
            controllers: self.settings.number("memory.controllers"),
            private_lines: lines("l1.size_bytes") + lines("l2.size_bytes"),
            shared_lines: lines("llc.size_bytes"),
        };
        Some(Hardware::of(self.ordering(), &self.settings, &around, statistic))
    }

    /// How the ordering model is seen to keep order, where the machine has one.
    pub fn nature(&self) -> Option<Nature> {
        self.is_line().then(|| Nature::of(self.ordering(), &self.settings))
    }

    /// The energy for so many bytes that a power failure brings to memory, in microjoules.
    pub fn drain_microjoules(&self, bytes: u64) -> f64 {
        (bytes * self.settings.number("memory.drain_line_nj")) as f64 / LINE_BYTES as f64 / 1e3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_machine_of_the_same_kind_has_more_of_the_same() {
        let asap = Description::preset("asap-rp").unwrap();
        let of = |cores| asap.adds(cores, |_| None).unwrap();
        assert!(of(8).bytes() > of(4).bytes());
        assert_eq!(of(8).drained_bytes(), of(4).drained_bytes(), "tables of controllers alone");
        let mut four = asap.clone();
        four.set("memory.controllers", "4").unwrap();
        assert_eq!(four.adds(4, |_| None).unwrap().drained_bytes(), 2 * of(4).drained_bytes());
        assert!((asap.drain_microjoules(64) - 0.757).abs() < 1e-9);
    }

    #[test]
    fn nothing_is_said_of_a_machine_without_caches() {
        let amf = Description::preset("amf").unwrap();
        assert!(amf.adds(4, |_| None).is_none() && amf.nature().is_none());
    }
}
