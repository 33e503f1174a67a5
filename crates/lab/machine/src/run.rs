//! Running a machine: its programs to their end, then whatever is still under way.

use crate::arenas::within_arenas;
use crate::build::WiredMachine;
use crate::describe::{Description, Source, WorkloadDescription};
use crate::error::{ConfigError, RunError};
use crate::image::{Caches, shared};
use crate::interest::Interest;
use crate::options::RunOptions;
use crate::preload::contents;
use crate::report::Report;
use crate::simulated;
use crate::work::Work;
use cpu::Core;
use engine::{Device, Mode, NodeId, Timeline};
use ordering::models;
use plug::Companion;
use protocol::params::Setting;
use protocol::{Cpu, FenceKind, Msg, Node, Tally};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use trace::{Kind, Replay, ReplayOptions};
use units::{Time, watch};
use workloads::Context;

/// Events after which the references done so far are told.
const LOOK: u64 = 1 << 16;

/// Cores whose first time is kept, where that is asked for.
const OPENING_CORES: usize = 4;

/// Simulates `workload` on `machine`.
///
/// # Errors
/// When the two do not fit together, or the machine stops with programs unfinished (a deadlock, which the
/// message describes).
pub fn run(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
) -> Result<Report, RunError> {
    workload.check_region()?;
    if let Some(simulator) = machine.simulator() {
        return simulated::run(simulator, machine, workload, options);
    }
    within_arenas(workload, || run_lines(machine, workload, options))?
}

/// At line fidelity.
fn run_lines(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
) -> Result<Report, RunError> {
    let mut m = WiredMachine::prepare(machine, workload, options)?;
    // What files hold at the end is to be known, or what comes after the region of interest is of no use.
    m.ends_with_region = options.power_fails_at.is_none() && options.without_images && m.is_bounded();
    let interest = m.run(options.power_fails_at);
    m.check_promises()?;
    if options.power_fails_at.is_none() && !m.is_over() {
        m.check_finished()?;
    }
    m.report(machine, workload, options, interest)
}

impl WiredMachine {
    /// Wired, with its programs at their beginning.
    pub(crate) fn prepare(
        machine: &Description,
        workload: &WorkloadDescription,
        options: &RunOptions,
    ) -> Result<WiredMachine, ConfigError> {
        machine.check()?;
        workload.check_line(&machine.name)?;
        let threads = workload.threads();
        if threads == 0 {
            return Err(ConfigError::new(format!("{}: has no thread", workload.name)));
        }
        workload.check_cores(machine)?;
        let cores = workload.cores_on(machine);
        let mut counts = machine.clone();
        if workload.counts_instructions() {
            // The recording tells the others.
            counts.settings.set("cpu.instructions_per_reference", Setting::Number(1));
        }
        // What one thread says of the region concerns others from that time on: none may be past it.
        let bounds = workload.recording().map_or(0, |recording| recording.counts().kind(Kind::Region));
        let mode = if bounds > 0 && threads > 1 { Mode::Reference } else { options.mode };
        let mut m = WiredMachine::build(&counts, cores, mode)?;
        workload.check(m.pm_bytes, m.pm_cache, m.offload)?;
        m.load(machine, workload, threads, options)?;
        Ok(m)
    }

    fn load(
        &mut self,
        machine: &Description,
        workload: &WorkloadDescription,
        threads: usize,
        options: &RunOptions,
    ) -> Result<(), ConfigError> {
        if options.timeline_marks > 0 {
            let timeline = Timeline::new(self.names(), options.timeline_marks);
            self.engine.timeline = Some(Box::new(timeline));
            self.cores.iter_mut().for_each(Core::record_marks);
        }
        if options.opening > 0 {
            self.cores.iter_mut().take(OPENING_CORES).for_each(|core| core.keep_opening(options.opening));
        }
        let settings = Rc::new(workload.settings.clone());
        let replay = match &workload.source {
            Source::BuiltIn(_) | Source::Pages(_) | Source::Shared(_) => None,
            Source::Trace(recorded) => {
                // Who stands beside a memory may look: which bytes a store changed is what some count.
                let keeps_bytes = !options.without_images || !self.companions.is_empty();
                self.preload(&contents(&recorded.recording), keeps_bytes)?;
                let mut told = ReplayOptions::new(
                    &workload.in_memory_of(machine)?.settings,
                    &machine.settings,
                    options.power_fails_at.is_some(),
                    keeps_bytes,
                );
                told.releases_turns = models::registered(&machine.settings).model.capabilities().rolls_back;
                let survey = Arc::clone(recorded.survey());
                let replay = Replay::new(recorded.recording.clone(), survey, told);
                let named = |e| ConfigError::new(format!("{}: {e}", workload.name));
                Some(Rc::new(replay.map_err(named)?))
            }
        };
        self.replay.clone_from(&replay);
        self.work = Work::of(workload);
        let (pm_cache, is_mapped_late, near) = (self.pm_cache, self.is_mapped_late, self.offload);
        let goes_past = models::registered(&machine.settings).model.capabilities().flush_instructions;
        let stays_cached = if goes_past { 0 } else { machine.settings.number("llc.size_bytes") };
        let clock_mhz = machine.settings.number("cpu.clock_mhz");
        let rate = clock_mhz * machine.settings.number("cpu.ipc");
        let companions: Vec<_> = self.companions.iter().map(|(_, c)| Rc::clone(c)).collect();
        let shares = companions.iter().any(|c| c.borrow().is_shared());
        for (thread, core) in self.cores.iter_mut().take(threads).enumerate() {
            let cpu = |core: &Core| {
                companions.iter().fold(core.cpu(), |cpu, companion| companion.borrow().cpu(thread, &cpu))
            };
            let program: cpu::Program = match (&workload.source, &replay) {
                (Source::BuiltIn(built_in), _) => {
                    let settings = Rc::clone(&settings);
                    let mut context = Context::new(cpu(core), thread, threads, settings, options.seed);
                    context.pm_cache = pm_cache;
                    context.stays_cached = stays_cached;
                    context.is_mapped_late = is_mapped_late;
                    context.near = near;
                    context.rate = rate;
                    context.clock_mhz = clock_mhz;
                    context.pages.clone_from(&workload.pages);
                    (built_in.program)(context)
                }
                (Source::Trace(_), Some(replay)) => Box::pin(Rc::clone(replay).run(cpu(core), thread)),
                (Source::Trace(_), None) | (Source::Pages(_) | Source::Shared(_), _) => Box::pin(async {}),
            };
            core.load(if shares {
                leaving(program, core.cpu(), companions.clone(), thread)
            } else {
                program
            });
            self.engine.out(NodeId(thread as u16), Time::ZERO).wake(Time::ZERO, Msg::Wake);
        }
        Ok(())
    }

    /// Runs until nothing is left to do, or the power fails. Gives what is known of the region of interest.
    pub(crate) fn run(&mut self, power_fails_at: Option<Time>) -> Interest {
        if let Some(at) = power_fails_at {
            self.engine.stop_after(at);
        }
        let mut interest = Interest::default();
        let is_bounded = self.is_bounded();
        let mut msg = Msg::Wake;
        while let Some((now, to, port)) = self.engine.next(&mut msg) {
            if now > interest.bound() {
                self.meet_bound(&mut interest);
            }
            if self.ended_before_event(now) {
                break;
            }
            self.dispatch(now, to, port, &msg);
            if !interest.has_begun {
                interest.begins(self.region_began_on(to));
            }
            if is_bounded {
                self.look_for_bound(&mut interest);
            }
            if self.is_broken(to) {
                break;
            }
            if self.engine.events().is_multiple_of(LOOK) {
                let references = self.cores.iter().map(Core::references).sum();
                watch::steps(references);
                match self.work {
                    Work::Records(all) => watch::parts(self.replay.as_ref().map_or(0, |r| r.done()), all),
                    Work::Operations(all) => {
                        watch::parts(self.cores.iter().map(Core::operations).sum(), all);
                    }
                }
            }
        }
        // Nothing reached a shared device after the last bound.
        self.meet_bound(&mut interest);
        interest
    }

    /// Asks shared devices at a bound of the region of interest.
    fn meet_bound(&mut self, interest: &mut Interest) {
        let at = interest.bound();
        if at == Time::NEVER {
            return;
        }
        self.controllers.iter_mut().for_each(|device| device.bound_region(at));
        self.companions.iter().for_each(|(_, companion)| companion.borrow().bound_region(at));
        if !interest.has_begun {
            self.begin_uses(at);
        }
        interest.meet(self.shared_tally(at));
    }

    /// Whether a core has come to a bound of the recording's region. Where the first begins, cores tell.
    fn look_for_bound(&mut self, interest: &mut Interest) {
        let told = self.replay.as_ref().map(|replay| (replay.region(), replay.region_turned()));
        let Some((region, at)) = told.filter(|(region, _)| *region != interest.seen) else { return };
        let is_first = !interest.has_begun && region.is_open();
        interest.seen = region;
        if !is_first {
            self.meet_bound(interest);
            interest.turns(at, region.is_open());
        }
    }

    /// What memory is used for besides begins with the region of interest.
    fn begin_uses(&mut self, now: Time) {
        self.controllers.iter_mut().for_each(|device| device.begin_region(now));
        self.companions.iter().for_each(|(_, companion)| companion.borrow().begin_region(now));
    }

    #[inline]
    pub(crate) fn dispatch(&mut self, now: Time, to: NodeId, port: engine::PortId, msg: &Msg) {
        let WiredMachine { engine, cores, directory, controllers, register, port: commands, links, .. } =
            self;
        let index = to.0 as usize;
        let out = &mut engine.out(to, now);
        if let Some(core) = cores.get_mut(index) {
            return core.on(now, port, msg, out);
        }
        match index - cores.len() {
            0 => directory.on(now, port, msg, out),
            n if n <= controllers.len() => controllers[n - 1].on(now, port, msg, out),
            n if n == controllers.len() + 1 => register.on(now, port, msg, out),
            n if n == controllers.len() + 2 => commands.on(now, port, msg, out),
            n => links[n - controllers.len() - 3].on(now, port, msg, out),
        }
        if self.is_watched && index > self.cores.len() {
            self.watch(now, index);
        }
    }

    /// Tells those who watch devices what node `index` did, which is none of the cores and not the directory.
    fn watch(&mut self, now: Time, index: usize) {
        let WiredMachine { cores, directory, controllers, port, map, companions, has_failed, .. } = self;
        let device = index - cores.len() - 1;
        let (devices, dram) = controllers.split_at_mut(map.pm_controllers);
        let is_port = device == devices.len() + dram.len() + 1;
        if !is_port && device >= devices.len() {
            return;
        }
        let caches = Caches { cores, directory, dram, map };
        for (index, companion) in companions.iter() {
            let memory = map.memory(*index);
            let own = memory.numbers();
            if is_port || own.contains(&device) {
                let acted = (!is_port).then(|| device - memory.first);
                let mut companion = companion.borrow_mut();
                *has_failed |= companion.watch(now, acted, &mut devices[own], port.as_mut(), &caches);
            }
        }
    }

    pub(crate) fn shared_tally(&mut self, now: Time) -> Tally {
        let mut tally = Tally::default();
        self.hand_up_shared(now, &mut tally);
        tally
    }

    fn hand_up_shared(&mut self, now: Time, tally: &mut Tally) {
        let rest: [&mut dyn Node; 2] = [self.register.as_mut(), self.port.as_mut()];
        for node in shared(&mut self.directory, &mut self.controllers, rest) {
            node.stats(now, tally);
        }
        self.links.iter_mut().for_each(|link| link.stats(now, tally));
        self.companions.iter().for_each(|(_, companion)| companion.borrow_mut().stats(now, tally));
    }

    /// Whether a recording bounds the region of interest.
    pub(crate) fn is_bounded(&self) -> bool {
        self.replay.as_ref().is_some_and(|replay| replay.is_bounded())
    }

    /// Whether the region of interest has ended, and the run with it.
    #[inline]
    fn is_over(&self) -> bool {
        self.ends_with_region && self.replay.as_ref().is_some_and(|replay| replay.is_over())
    }

    /// The same, where the next event is after the end: what comes by then is still of the region.
    #[inline]
    fn ended_before_event(&self, at: Time) -> bool {
        self.ends_with_region
            && self.replay.as_ref().is_some_and(|replay| replay.is_over() && at > replay.region_turned())
    }

    /// How many records of a recording were replayed, of how many.
    pub(crate) fn replayed(&self, options: &RunOptions) -> Option<(u64, u64)> {
        let (Some(replay), Work::Records(all)) = (&self.replay, &self.work) else { return None };
        let is_whole = options.power_fails_at.is_none() && !self.is_over();
        Some((if is_whole { *all } else { replay.done().min(*all) }, *all))
    }

    /// When the region of interest began on a node that is a core; never elsewhere. The first of these is the machine's:
    /// asking the one core that an event went to is cheaper than all of them.
    pub(crate) fn region_began_on(&self, node: NodeId) -> Time {
        self.cores.get(node.0 as usize).and_then(|core| core.region().0).unwrap_or(Time::NEVER)
    }

    pub(crate) fn region_began(&self) -> Option<Time> {
        self.cores.iter().filter_map(|h| h.region().0).min()
    }

    pub(crate) fn region_ended(&self) -> Option<Time> {
        self.cores.iter().filter_map(|h| h.region().1).max()
    }

    pub(crate) fn tally(&mut self, now: Time) -> Tally {
        let mut tally = Tally::default();
        self.cores.iter_mut().for_each(|core| core.stats(now, &mut tally));
        self.hand_up_shared(now, &mut tally);
        tally
    }

    /// Whether going on is of no use: the memory or the driver has stopped. Asked after every event, so that it looks at
    /// no core; what programs found is told at the end.
    #[inline]
    pub(crate) fn is_broken(&self, acted: NodeId) -> bool {
        if !self.may_break {
            return false;
        }
        // A driver runs on cores; who watches devices has seen nothing new when a core or the directory acts.
        let device = usize::from(acted.0).checked_sub(self.cores.len() + 1);
        if device.is_none() && !self.is_shared {
            return false;
        }
        let asks = self.is_shared || !self.is_watched;
        let stopped = |index: usize| match self.controllers.get(index) {
            Some(device) => device.has_failed(),
            None => self.port.has_failed(),
        };
        self.has_failed
            || asks && self.companions.iter().any(|(_, companion)| companion.borrow().has_failed())
            || device.is_some_and(stopped)
    }

    /// What the machine or a program found that must not be.
    pub(crate) fn check_promises(&self) -> Result<(), RunError> {
        self.check_models()?;
        let told = |programs_first: bool| {
            let companions = self.companions.iter().map(|(_, c)| c.borrow());
            companions.filter(|c| c.programs_first() == programs_first).find_map(|c| c.failure())
        };
        let devices = self.controllers.iter().find_map(|device| device.failure());
        let found = devices
            .or_else(|| told(false))
            .or_else(|| self.cores.iter().find_map(Core::failure))
            .or_else(|| told(true))
            .or_else(|| self.port.failure());
        found.map_or(Ok(()), |what| Err(RunError::Violation(what)))
    }

    /// When everything had come to its end, if that was before `at`.
    pub(crate) fn ended_before(&self, at: Time) -> Option<Time> {
        let last = self.cores.iter().map(Core::now).max()?;
        let has_ended = self.cores.iter().all(Core::finished) && self.engine.on_their_way().next().is_none();
        (has_ended && last < at).then_some(last)
    }

    pub(crate) fn check_finished(&self) -> Result<(), RunError> {
        if self.cores.iter().all(Core::finished) {
            return Ok(());
        }
        if let Some(text) = self.controllers.iter().find_map(|device| device.silence()) {
            return Err(RunError::Violation(text));
        }
        let waiting = self.cores.iter().filter(|h| !h.finished()).map(Core::waits_for);
        let state: String = waiting.chain(self.owed()).map(|text| format!("\n  {text}")).collect();
        Err(RunError::from(ConfigError::new(format!(
            "the simulated machine stopped with programs unfinished:{state}"
        ))))
    }
}

/// A program of a machine with a driver: when it ends, its stores are done, and nobody asks its core any more.
fn leaving(
    program: cpu::Program,
    cpu: Cpu,
    companions: Vec<Rc<RefCell<dyn Companion>>>,
    thread: usize,
) -> cpu::Program {
    Box::pin(async move {
        program.await;
        cpu.fence(FenceKind::Mfence).await;
        companions.iter().for_each(|companion| companion.borrow().leave(thread));
    })
}
