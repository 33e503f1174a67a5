//! Power failures at many instants of one run: what recovery makes of what each would leave.

use crate::device::Cut;
use crate::finding::{Finding, Side};
use crate::params::SharedParameters;
use crate::run::Running;
use params::{Parameters, Settings};
use simulator::{Broken, Instants, PowerFailure, Whole};
use std::rc::Rc;
use workloads::SharedWorkload;

/// Runs `workload` on `machine`, nothing happening besides, and shows what a power failure would leave at many instants.
/// `visit` says whether to go on.
pub(crate) fn run_with_cuts(
    machine: &Settings,
    workload: &SharedWorkload,
    settings: &Rc<Settings>,
    instants: Instants,
    visit: &mut dyn FnMut(PowerFailure) -> bool,
) -> Whole {
    let mut running = Running::new(machine, workload, settings, Vec::new());
    running.world.borrow_mut().state.buffer = SharedParameters::from_settings(machine).buffer_lines;
    let mut cut = |running: &Running, at: Side| {
        let world = &mut *running.world.borrow_mut();
        let cut = world.cut(at, None);
        let finding = world.recovered(&cut, workload, settings);
        visit(told(cut, finding))
    };
    let (mut done, mut next, mut goes_on) = (0, 0, true);
    // The number after the last access's is the end, which comes by itself.
    let mut among = match instants {
        Instants::Among { accesses, most } => Some(units::spread(accesses + 1, most)),
        Instants::At(_) | Instants::Writes(_) | Instants::Accesses(_) => None,
    };
    let mut number = among.as_mut().and_then(Iterator::next);
    while let Some(id) = running.next() {
        let at = running.side(id);
        let is_now = match instants {
            Instants::At(time) => at.time > time,
            Instants::Writes(n) => {
                done = running.world.borrow().sent();
                let is_now = done >= next;
                if is_now {
                    next = done - done % n + n;
                }
                is_now
            }
            Instants::Accesses(n) => {
                done += 1;
                (done - 1).is_multiple_of(n)
            }
            Instants::Among { .. } => {
                let is_now = number == Some(done);
                if is_now {
                    number = among.as_mut().and_then(Iterator::next);
                }
                done += 1;
                is_now
            }
        };
        if is_now && goes_on {
            let time = if let Instants::At(time) = instants { time } else { at.time };
            goes_on = cut(&running, Side { time, ..at }) && !matches!(instants, Instants::At(_));
        }
        if !running.act(id) {
            break;
        }
    }
    if let Some(end) = running.ends().filter(|_| goes_on) {
        let time = if let Instants::At(time) = instants { time } else { end.time };
        cut(&running, Side { time, ..end });
    }
    let ran = running.end(workload, settings);
    let accesses = ran.accesses.iter().map(|a| a.all).sum();
    Whole { time: ran.time, accesses, broken: ran.finding.map(|finding| finding.message) }
}

fn told(cut: Cut, finding: Option<Finding>) -> PowerFailure {
    PowerFailure {
        at: cut.at.time,
        ended: cut.ended,
        broken: finding.map(broken),
        lines: (cut.post_crash.accepted.len() + cut.post_crash.unsent) as u64,
        dirty_shutdowns: cut.post_crash.dirty_shutdowns,
    }
}

fn broken(finding: Finding) -> Broken {
    Broken { mark: format!("{:?}", finding.mark()), message: finding.message }
}

/// The energy that draining takes for each line, in nanojoules.
pub(crate) fn drain_line_nj(machine: &Settings) -> u64 {
    SharedParameters::from_settings(machine).drain_line_nj
}
