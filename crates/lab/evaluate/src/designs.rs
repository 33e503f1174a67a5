//! What designs cost and need, beside how fast they are: what ordering models say of themselves and what is seen of them.

use crate::figure::{Cell, Grid};
use machine::Description;
use ordering::hardware::{Across, Place, Speculates};
use ordering::{Hardware, Nature};

/// A machine's part of the tables.
pub struct Design<'a> {
    name: &'a str,
    machine: &'a Description,
    cores: usize,
    hardware: Hardware,
    nature: Nature,
}

impl<'a> Design<'a> {
    /// The machine called `name` with so many cores, `statistic` being what its runs counted; none where it has no ordering
    /// model.
    pub fn of(
        name: &'a str,
        machine: &'a Description,
        cores: usize,
        statistic: impl Fn(&str) -> Option<f64>,
    ) -> Option<Design<'a>> {
        let (hardware, nature) = (machine.adds(cores, statistic)?, machine.nature()?);
        Some(Design { name, machine, cores, hardware, nature })
    }

    /// What the power failure brings to memory at most, beyond what queues of controllers hold, in bytes.
    pub fn drained_bytes(&self) -> u64 {
        self.hardware.drained_bytes()
    }

    /// Whether that takes a battery or capacitor of its own.
    pub fn needs_battery(&self) -> bool {
        self.hardware.needs_battery()
    }

    /// What is seen of it.
    pub fn nature(&self) -> Nature {
        self.nature
    }

    /// Bytes added beside each core.
    pub fn core_bytes(&self) -> u64 {
        self.hardware.bytes_at(Place::Core)
    }

    fn state(&self) -> Vec<Cell> {
        let at = |place| Cell::Number(self.hardware.bytes_at(place) as f64);
        let drained = self.hardware.drained_bytes();
        vec![
            text(self.name),
            at(Place::Core),
            at(Place::Controller),
            at(Place::Machine),
            Cell::Number(self.hardware.bytes() as f64),
            Cell::Number(drained as f64),
            Cell::Number(self.machine.drain_microjoules(drained)),
            text(&listed(self.hardware.structures.iter().map(|s| s.structure.name).filter(|n| {
                let added = |s: &ordering::hardware::Sized| s.structure.entry_bits > 0;
                self.hardware.structures.iter().any(|s| s.structure.name == *n && added(s))
            }))),
        ]
    }

    fn needs(&self) -> Vec<Cell> {
        vec![
            text(self.name),
            text(across(self.nature.across)),
            text(self.machine.persistency().across_threads()),
            text(speculates(self.nature.speculates)),
            text(&listed(self.hardware.drained().into_iter())),
            text(self.recovery()),
        ]
    }

    /// Who has to do what before programs go on.
    fn recovery(&self) -> &'static str {
        // Programs that know of no persistence go on from a region that hardware draws.
        match (self.machine.acts("ordering.region_stores"), self.nature.speculates) {
            (true, Speculates::Writes) => "undone, from its region",
            (true, Speculates::Nothing | Speculates::Reads) => "from its region",
            (false, Speculates::Writes) => "undone, its own",
            (false, Speculates::Nothing | Speculates::Reads) => "its own",
        }
    }
}

fn text(words: &str) -> Cell {
    Cell::Text(words.into())
}

fn listed(names: impl Iterator<Item = &'static str>) -> String {
    let all: Vec<&str> = names.collect();
    if all.is_empty() { "nothing".into() } else { all.join(", ") }
}

fn across(across: Across) -> &'static str {
    match across {
        Across::Waits => "waits",
        Across::OneKeeps => "one only",
        Across::AtOnce => "at once",
    }
}

fn speculates(speculates: Speculates) -> &'static str {
    match speculates {
        Speculates::Nothing => "no",
        Speculates::Writes => "writes",
        Speculates::Reads => "reads",
    }
}

/// The cores that they have.
fn cores(designs: &[Design]) -> String {
    let (least, most) = (designs.iter().map(|d| d.cores).min(), designs.iter().map(|d| d.cores).max());
    match (least.unwrap_or(0), most.unwrap_or(0)) {
        (1, 1) => "1 core".into(),
        (least, most) if least == most => format!("{most} cores"),
        (least, most) => format!("its cores, {least} to {most}"),
    }
}

/// What machines add in bytes, and what of that a power failure has to bring to memory.
pub fn state(designs: &[Design]) -> Grid {
    let head = ["machine", "core B", "controller B", "shared B", "all B", "drains B", "drains uJ", "adds"];
    Grid {
        title: "Hardware state".into(),
        caption: format!(
            "Bytes that each ordering adds to a machine with {}, by its parameters; what a power failure has to bring to memory at most beyond controllers' write pending queues, and the energy for that (memory.drain_line_nj).",
            cores(designs)
        ),
        head: head.map(String::from).to_vec(),
        rows: designs.iter().map(Design::state).collect(),
    }
}

/// How they keep order, and what is left and to be done after a power failure.
pub fn needs(designs: &[Design]) -> Grid {
    let head = ["machine", "controllers", "threads", "speculates", "saved", "recovery"];
    Grid {
        title: "What each needs".into(),
        caption: "As the models' halves do it when they are driven: whether a later write waits for an earlier one that goes to another controller, leaves at once, or leaves at once to the same controller only; and whether writes, which controllers undo, or reads, for which cores go back, may turn out wrong. By what they declare: what orders one thread's persists after another's; what a power failure saves beside controllers' queues; and whether the program recovers by itself or goes on from its region, once controllers have undone what they have to.".into(),
        head: head.map(String::from).to_vec(),
        rows: designs.iter().map(Design::needs).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_says_how_many_cores_its_machines_have() {
        let said = |cores: &[usize]| {
            let bbb = Description::preset("bbb").unwrap();
            let designs = cores.iter().map(|n| Design::of("bbb", &bbb, *n, |_| None).unwrap());
            state(&designs.collect::<Vec<_>>()).caption
        };
        for (cores, words) in
            [(&[1][..], "with 1 core,"), (&[4, 4], "with 4 cores,"), (&[2, 8], "with its cores, 2 to 8,")]
        {
            assert!(said(cores).contains(words), "{}", said(cores));
        }
    }
}
