//! Recorded programs, scaled up: a recorded page stands for as many as the operations are more, visited together.
//!
//! Pages that grew with the operations are multiplied; pages that did not (code, stacks, buffers) stay, and their visits'
//! time is multiplied instead. So the footprint, each page's visits and their order at the recording's grain are the
//! recording's; what is not: the order within pages that stand for one, and a tree's one level more.

use super::PageContext;
use super::visits::{PageVisit, Phase, Visits};
use protocol::pages::{Arrival, PageProgram, PageStep, Visit};
use std::sync::{Arc, LazyLock};
use units::{Dur, Time};

static SQLITE: LazyLock<Arc<Visits>> = LazyLock::new(|| read(include_bytes!("../../data/sqlite-mem.visits")));
static REDIS: LazyLock<Arc<Visits>> = LazyLock::new(|| read(include_bytes!("../../data/redis-mem.visits")));

fn read(bytes: &[u8]) -> Arc<Visits> {
    Arc::new(Visits::parse(bytes).expect("a test reads the recordings that come with the project"))
}

pub(super) fn sqlite(context: &PageContext) -> Vec<Arrival> {
    programs(context, &SQLITE)
}

pub(super) fn redis(context: &PageContext) -> Vec<Arrival> {
    programs(context, &REDIS)
}

fn programs(context: &PageContext, recording: &Arc<Visits>) -> Vec<Arrival> {
    let recording = context.visits.as_ref().unwrap_or(recording);
    let wanted = context.settings.number("workload.operations");
    let scale = wanted.div_ceil(recording.phases[0].operations).max(1);
    let arrival = |_| Arrival { at: Time::ZERO, program: Box::new(Player::new(recording, scale)) };
    (0..context.settings.number("workload.instances")).map(arrival).collect()
}

struct Player {
    recording: Arc<Visits>,
    scale: u64,
    steps: u64,
    phase: usize,
    /// The beginning of this phase is marked.
    marked: bool,
    visit: usize,
    /// Operations of this phase that have been told.
    owed: u64,
}

const GROWN: usize = 0;
const FIXED: usize = 1;

impl Player {
    fn new(recording: &Arc<Visits>, scale: u64) -> Player {
        Player {
            recording: Arc::clone(recording),
            scale,
            steps: 0,
            phase: 0,
            marked: false,
            visit: 0,
            owed: 0,
        }
    }
}

impl PageProgram for Player {
    fn next(&mut self) -> PageStep {
        let recording = Arc::clone(&self.recording);
        self.steps += 1;
        match self.steps - 1 {
            0 => return PageStep::Map { area: GROWN, pages: u64::from(recording.grown.max(1)) * self.scale },
            1 => return PageStep::Map { area: FIXED, pages: u64::from(recording.fixed.max(1)) },
            _ => {}
        }
        let Some(phase) = recording.phases.get(self.phase) else { return PageStep::End };
        // Operations are spread evenly over a phase's visits; the first step marks its beginning.
        let kind = self.phase;
        if !std::mem::replace(&mut self.marked, true) {
            return PageStep::Operations { kind, count: 0 };
        }
        let due = phase.operations * self.visit as u64 / phase.visits.len().max(1) as u64;
        if self.visit == phase.visits.len() {
            let count = (phase.operations - self.owed) * self.scale;
            (self.phase, self.marked, self.visit, self.owed) = (self.phase + 1, false, 0, 0);
            return PageStep::Operations { kind, count };
        }
        if due > self.owed {
            let count = (due - self.owed) * self.scale;
            self.owed = due;
            return PageStep::Operations { kind, count };
        }
        let visit = phase.visits[self.visit];
        self.visit += 1;
        self.visit_of(visit, Dur::ns(phase.work_ns), recording.grown)
    }

    fn done(&self) -> f64 {
        let visits = |phases: &[Phase]| phases.iter().map(|phase| phase.visits.len()).sum::<usize>();
        let phases = &self.recording.phases;
        let all = visits(phases).max(1);
        (visits(&phases[..self.phase.min(phases.len())]) + self.visit) as f64 / all as f64
    }
}

impl Player {
    fn visit_of(&self, PageVisit { page, lines, write }: PageVisit, work: Dur, grown: u32) -> PageStep {
        let (area, first, count, work) = match page.checked_sub(grown) {
            None => (GROWN, u64::from(page) * self.scale, self.scale, work),
            Some(fixed) => (FIXED, u64::from(fixed), 1, work * self.scale),
        };
        let lines = u64::from(lines);
        PageStep::Visit(Visit::sweep(area, first, count, lines, write, work))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recordings_that_come_with_the_project_have_four_phases() {
        for (recording, name) in [(&*SQLITE, "sqlite-mem"), (&*REDIS, "redis-mem")] {
            let kinds = super::super::find_pages(name).unwrap().kinds;
            assert!(recording.phases.iter().map(|p| p.name.as_str()).eq(kinds.iter().copied()), "{name}");
            assert!(recording.phases.iter().all(|p| !p.visits.is_empty() && p.work_ns > 0));
            assert!(recording.grown > 100, "{}", recording.grown);
        }
    }

    #[test]
    fn a_recording_is_played_to_its_end_with_all_operations() {
        let recording = Arc::clone(&SQLITE);
        let mut player = Player::new(&recording, 10);
        let mut operations = vec![0; recording.phases.len()];
        let mut before = 0.0;
        loop {
            assert!(player.done() >= before && player.done() <= 1.0);
            before = player.done();
            match player.next() {
                PageStep::Operations { kind, count } => operations[kind] += count,
                PageStep::End => break,
                PageStep::Map { .. }
                | PageStep::MapDevice { .. }
                | PageStep::Unmap { .. }
                | PageStep::Bound { .. }
                | PageStep::Visit(_) => {}
            }
        }
        assert!(recording.phases.iter().map(|p| p.operations * 10).eq(operations));
        assert!(before > 0.999, "all of it was done before it said that it ends");
    }
}
