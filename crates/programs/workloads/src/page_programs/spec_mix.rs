//! Nine programs of SPEC CPU2006 with large footprints, as pages see them: memory is filled, then gone over in passes.
//!
//! What a program computes is not here: a pass visits each page (or as many at random), and thinks. Footprints are those
//! of the reference inputs, to a few per cent; a pass's time stands for many.

use super::{PageContext, Script};
use protocol::pages::{Arrival, PageStep, Pattern, Visit};
use units::{Dur, Time};

/// How a program goes over its memory.
#[derive(Clone, Copy)]
enum Way {
    /// Large arrays, one after the other, written too.
    Sweep,
    /// Pointers: pages at random, few lines of each.
    Chase,
    /// Memory grows by a quarter with each pass.
    Grow,
}

struct Row {
    name: &'static str,
    mib: u64,
    way: Way,
    /// The program's own time for a visit.
    work_ns: u64,
}

const fn row(name: &'static str, mib: u64, way: Way, work_ns: u64) -> Row {
    Row { name, mib, way, work_ns }
}

const ROWS: [Row; 9] = [
    row("mcf", 1676, Way::Chase, 4000),
    row("bwaves", 880, Way::Sweep, 8000),
    row("gemsfdtd", 835, Way::Sweep, 8000),
    row("bzip2", 850, Way::Grow, 9000),
    row("gcc", 930, Way::Grow, 7000),
    row("milc", 680, Way::Sweep, 7000),
    row("wrf", 700, Way::Sweep, 10_000),
    row("cactusadm", 650, Way::Sweep, 11_000),
    row("zeusmp", 510, Way::Sweep, 10_000),
];

/// What `workload.program` may be.
pub(super) const CHOICES: &[&str] =
    &["all", "mcf", "bwaves", "gemsfdtd", "bzip2", "gcc", "milc", "wrf", "cactusadm", "zeusmp"];

pub(super) fn programs(context: &PageContext) -> Vec<Arrival> {
    let s = &context.settings;
    let wanted = s.text("workload.program");
    let rows: Vec<&'static Row> = ROWS.iter().filter(|r| wanted == "all" || r.name == wanted).collect();
    let (batch, interval) = (s.number("workload.batch"), s.dur("workload.interval_ns"));
    let (passes, scale) = (s.number("workload.passes"), s.number("workload.scale_percent"));
    let arrival = |nth: u64| {
        let row = rows[(nth % rows.len() as u64) as usize];
        let at = Time::ZERO + interval * (nth / batch);
        let pages = (row.mib * 256 * scale / 100).max(8);
        Arrival { at, program: Box::new(Script(move |step| row.step(step, pages, passes), 0)) }
    };
    (0..s.number("workload.instances")).map(arrival).collect()
}

impl Row {
    /// The operation's beginning is marked; map; fill; passes; its end; the program's end.
    fn step(&self, step: u64, pages: u64, passes: u64) -> PageStep {
        let Some(step) = step.checked_sub(1) else { return PageStep::Operations { kind: 0, count: 0 } };
        let work = Dur::ns(self.work_ns);
        let all = |first, count, write| Visit::sweep(0, first, count, 64, write, work);
        let sweep = |first, count, write| PageStep::Visit(all(first, count, write));
        let last = match self.way {
            Way::Grow => 2 * passes,
            Way::Sweep | Way::Chase => 1 + passes,
        };
        match (step, self.way) {
            (0, _) => PageStep::Map { area: 0, pages },
            (1, Way::Sweep | Way::Chase) => sweep(0, pages, true),
            (s, _) if s == last + 1 => PageStep::Operations { kind: 0, count: 1 },
            (s, _) if s > last + 1 => PageStep::End,
            (s, Way::Sweep) => sweep(0, pages, s % 2 == 0),
            (_, Way::Chase) => {
                PageStep::Visit(Visit { pattern: Pattern::Random, lines: 8, ..all(0, pages, true) })
            }
            (s, Way::Grow) => {
                // In turn: a quarter more, then over what there is.
                let there = |nth: u64| pages * nth.min(4).min(passes) / 4.min(passes);
                let nth = s.div_ceil(2);
                if s % 2 == 1 {
                    sweep(there(nth - 1), there(nth) - there(nth - 1), true)
                } else {
                    sweep(0, there(nth), false)
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_touches_all_of_its_memory_and_ends() {
        for row in &ROWS {
            for passes in [1, 2, 4, 7] {
                let mut touched = [false; 100];
                let mut step = 0;
                loop {
                    match row.step(step, 100, passes) {
                        PageStep::Visit(v) if v.pattern == Pattern::Sweep => {
                            touched[v.first as usize..(v.first + v.count) as usize].fill(true);
                        }
                        PageStep::End => break,
                        PageStep::Map { .. }
                        | PageStep::MapDevice { .. }
                        | PageStep::Unmap { .. }
                        | PageStep::Bound { .. }
                        | PageStep::Visit(_)
                        | PageStep::Operations { .. } => {}
                    }
                    step += 1;
                    assert!(step < 100);
                }
                assert!(touched.iter().all(|t| *t), "{} {passes}", row.name);
            }
        }
        assert!(ROWS.iter().map(|r| r.name).eq(CHOICES[1..].iter().copied()));
    }
}
