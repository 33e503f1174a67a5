//! Running a machine: its programs to their end, then whatever is still under way.

use crate::build::Machine;
use crate::describe::{Description, Source, WorkloadDescription};
use crate::error::{ConfigError, RunError};
use crate::memories::Memory;
use crate::page;
use crate::pager::Pager;
use crate::preload::contents;
use crate::report::Report;
use cpu::{Core, Directory};
use engine::{Device, Mode, NodeId, Timeline};
use nearpm::CommandPort;
use protocol::params::{Kind, Setting};
use protocol::{
    Cpu, FenceKind, Image, Line, Mask, Msg, Node, PAGE_BYTES, PM_BASE, Param, PostCrash, StatSink, Tally,
    View, line_of,
};
use std::rc::Rc;
use std::sync::Arc;
use trace::{Replay, ReplayOptions};
use units::{Time, watch};
use workloads::{Context, Layout};

/// Events after which the references done so far are told.
const LOOK: u64 = 1 << 16;

/// How to run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions {
    /// Seed of every random stream.
    pub seed: u64,
    /// The fast engine, or the one-event-a-reference engine that it is checked against.
    pub mode: Mode,
    /// The power fails then.
    pub power_fails_at: Option<Time>,
    /// Marks on the timeline, 0 for none.
    pub timeline_marks: usize,
}

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
    if page::is_page(&machine.settings) {
        machine.check()?;
        return page::run(machine, workload, options);
    }
    within_arenas(workload, || run_lines(machine, workload, options))?
}

/// At line fidelity.
fn run_lines(
    machine: &Description,
    workload: &WorkloadDescription,
    options: &RunOptions,
) -> Result<Report, RunError> {
    let mut m = Machine::prepare(machine, workload, options)?;
    let threads = workload.threads();
    let before = m.run(options.power_fails_at);
    m.check_promises()?;
    if options.power_fails_at.is_none() {
        m.check_finished()?;
    }
    Ok(m.report(machine, workload, options, threads, before))
}

/// Does `work`, in which the programs of `workload` run.
///
/// # Errors
/// When one of them needs more memory than a thread's arena has.
pub fn within_arenas<T>(workload: &WorkloadDescription, work: impl FnOnce() -> T) -> Result<T, ConfigError> {
    workloads::within_arenas(work).map_err(|_| {
        let sizes = |p: &&Param| match p.kind {
            Kind::Count { max, .. } => max > 100 || p.key.contains("depth"),
            Kind::Multiple { .. } | Kind::PowerOfTwo { .. } | Kind::Bytes { .. } => true,
            _ => false,
        };
        let keys: Vec<&str> = workload.params.iter().filter(sizes).map(|p| p.key).collect();
        ConfigError::new(format!(
            "workload {}: a thread needs more than the {} MiB of memory that it has; give less of {}",
            workload.name,
            Layout::USUAL.arena_bytes >> 20,
            keys.join(", ")
        ))
    })
}

impl Machine {
    /// Wired, with its programs at their beginning.
    pub(crate) fn prepare(
        machine: &Description,
        workload: &WorkloadDescription,
        options: &RunOptions,
    ) -> Result<Machine, ConfigError> {
        machine.check()?;
        workload.check_line(&machine.name)?;
        let threads = workload.threads();
        if threads == 0 {
            return Err(ConfigError::new(format!("{}: has no thread", workload.name)));
        }
        let cores = threads.max(machine.settings.count("cpu.cores"));
        let mut counts = machine.clone();
        if workload.counts_instructions() {
            // The recording tells the others.
            counts.settings.set("cpu.instructions_per_reference", Setting::Number(1));
        }
        let mut m = Machine::build(&counts, cores, options.mode)?;
        workload.check(m.pm_cache_bytes)?;
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
        let settings = Rc::new(workload.settings.clone());
        let replay = match &workload.source {
            Source::BuiltIn(_) | Source::Pages(_) => None,
            Source::Trace(recorded) => {
                self.preload(&contents(&recorded.recording))?;
                let told = ReplayOptions::new(
                    &workload.settings,
                    &machine.settings,
                    options.power_fails_at.is_some(),
                );
                let survey = Arc::clone(recorded.survey());
                let replay = Replay::new(recorded.recording.clone(), survey, told);
                let named = |e| ConfigError::new(format!("{}: {e}", workload.name));
                Some(Rc::new(replay.map_err(named)?))
            }
        };
        self.replay.clone_from(&replay);
        let (pm_cache_bytes, near) = (self.pm_cache_bytes, self.near);
        for (thread, core) in self.cores.iter_mut().take(threads).enumerate() {
            let cpu = |core: &Core| match &self.host {
                Some(host) => host.cpu(thread, &core.cpu()),
                None => core.cpu(),
            };
            let program: cpu::Program = match (&workload.source, &replay) {
                (Source::BuiltIn(built_in), _) => {
                    let settings = Rc::clone(&settings);
                    let mut context = Context::new(cpu(core), thread, threads, settings, options.seed);
                    context.pm_cache_bytes = pm_cache_bytes;
                    context.near = near;
                    context.pages.clone_from(&workload.pages);
                    (built_in.program)(context)
                }
                (Source::Trace(_), Some(replay)) => Box::pin(Rc::clone(replay).run(cpu(core), thread)),
                (Source::Trace(_), None) | (Source::Pages(_), _) => Box::pin(async {}),
            };
            core.load(match &self.host {
                Some(host) => leaving(program, core.cpu(), host.clone(), thread),
                None => program,
            });
            self.engine.out(NodeId(thread as u16), Time::ZERO).wake(Time::ZERO, Msg::Wake);
        }
        Ok(())
    }

    /// Runs until nothing is left to do, or the power fails. Gives what the shared devices had counted when
    /// the region of interest began.
    fn run(&mut self, power_fails_at: Option<Time>) -> Tally {
        if let Some(at) = power_fails_at {
            self.engine.stop_after(at);
        }
        let (mut before, mut began) = (None, Time::NEVER);
        let mut msg = Msg::Wake;
        while let Some((now, to, port)) = self.engine.next(&mut msg) {
            if before.is_none() && now > began {
                self.begin_uses(began);
                before = Some(self.shared_tally(began));
            }
            self.dispatch(now, to, port, &msg);
            if before.is_none() {
                began = began.min(self.region_began_on(to));
            }
            if self.is_broken() {
                break;
            }
            if self.engine.events().is_multiple_of(LOOK) {
                watch::steps(self.cores.iter().map(Core::references).sum());
            }
        }
        match before {
            Some(before) => before,
            None if began == Time::NEVER => Tally::default(),
            // Nothing reached a shared device after the beginning.
            None => self.shared_tally(began),
        }
    }

    /// What memory is used for besides begins with the region of interest.
    fn begin_uses(&mut self, now: Time) {
        self.controllers.iter_mut().filter_map(Memory::remote_mut).for_each(|agent| agent.begin_uses(now));
        if let Some(Pager::Remote(host)) = &self.host {
            host.begin_uses(now);
        }
    }

    #[inline]
    pub(crate) fn dispatch(&mut self, now: Time, to: NodeId, port: engine::PortId, msg: &Msg) {
        let Machine { engine, cores, directory, controllers, register, commands, .. } = self;
        let index = to.0 as usize;
        let out = &mut engine.out(to, now);
        if let Some(core) = cores.get_mut(index) {
            return core.on(now, port, msg, out);
        }
        match index - cores.len() {
            0 => directory.on(now, port, msg, out),
            n if n <= controllers.len() => controllers[n - 1].on(now, port, msg, out),
            n if n == controllers.len() + 1 => {
                register.as_mut().expect("only its own model addresses it").on(now, port, msg, out);
            }
            _ => commands.on(now, port, msg, out),
        }
        if self.checker.is_some() {
            self.watch(now, index);
        }
    }

    /// Tells the checker of persist ordering what node `index` did.
    fn watch(&mut self, now: Time, index: usize) {
        let Machine {
            cores, directory, controllers, commands, checker: Some(checker), at_work: levels, ..
        } = self
        else {
            return;
        };
        let device = index.wrapping_sub(cores.len() + 1);
        if let Some(Memory::Near(near)) = controllers.get_mut(device) {
            near.take_seen().for_each(|seen| checker.saw(device, &seen));
            let at_work =
                controllers.iter().filter(|c| c.near().is_some_and(|d| d.dispatcher().busy() > 0)).count();
            levels.set(now, at_work);
        } else if device == controllers.len() + 1 {
            let (sent, refused) = commands.take_seen();
            refused.for_each(|(number, device)| checker.refused(number, device));
            for request in sent {
                checker.sent(&request);
                let core = &cores[usize::from(request.core)];
                let shared = |l: Line| !core.has_persist_path() && directory.has_changed(l);
                let changed = |l: &Line| core.has_changed(*l) || shared(*l);
                if let Some(line) = request.reads().map(Line).find(changed) {
                    checker.not_written_back(&request, line);
                }
                if let Some(line) = request.writes().map(Line).find(|l| directory.holds(*l)) {
                    checker.still_cached(&request, line);
                }
            }
        }
    }

    pub(crate) fn nodes(&mut self) -> impl Iterator<Item = &mut dyn Node> {
        let cores = self.cores.iter_mut().map(|h| h as &mut dyn Node);
        cores.chain(shared(
            &mut self.directory,
            &mut self.controllers,
            &mut self.register,
            &mut self.commands,
        ))
    }

    fn shared_tally(&mut self, now: Time) -> Tally {
        let mut tally = Tally::default();
        self.hand_up_shared(now, &mut tally);
        tally
    }

    fn hand_up_shared(&mut self, now: Time, tally: &mut Tally) {
        for node in shared(&mut self.directory, &mut self.controllers, &mut self.register, &mut self.commands)
        {
            node.stats(now, tally);
        }
        self.host.iter().for_each(|host| host.stats(tally));
        if self.checker.is_some() {
            self.at_work.pass(now);
            tally.occupancy("neardata.at_work", &self.at_work);
        }
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

    /// Persistent memory under `view`, as the program addresses it.
    pub(crate) fn image(&mut self, view: View) -> Image {
        let mut post_crash = PostCrash::new();
        for node in self.nodes() {
            node.post_crash(view, &mut post_crash);
        }
        if view == View::Durable && self.checker.is_some() {
            let mut parts = std::mem::take(&mut post_crash.parts);
            self.recover_near(&mut parts);
            post_crash.parts = parts;
        }
        let image = post_crash.settle(&self.map);
        if let Some(agent) = self.controllers.iter().find_map(Memory::remote) {
            // Local memory loses its contents with its power; the remote host keeps what it has acknowledged.
            let mut image = if view == View::Visible { agent.seen(&image) } else { agent.kept() };
            if let (View::Visible, Some(Pager::Remote(host))) = (view, &self.host) {
                self.lay_near(host, &mut image);
            }
            return image;
        }
        match &self.host {
            Some(Pager::Nvdimm(host)) if view == View::Visible => {
                let mut nand = PostCrash::new();
                self.controllers.iter().for_each(|c| c.post_crash(View::Durable, &mut nand));
                host.seen_through_slots(nand.settle(&self.map), &image)
            }
            _ => image,
        }
    }

    /// Pages of remote memory that lie in the processor's, as loads see them.
    fn lay_near(&self, host: &pberry::Host, image: &mut Image) {
        for (page, place) in host.near() {
            for at in (0..PAGE_BYTES).step_by(64) {
                let (from, to) = (line_of(place + at), line_of(PM_BASE + u64::from(page) * PAGE_BYTES + at));
                let changed = self.cores.iter().find_map(|h| h.changed(from));
                let dram =
                    || self.controllers[self.map.controller(from)].controller().map(|c| c.latest(from));
                let block = changed.or_else(|| self.directory.changed(from)).or_else(dram);
                // A page of which nothing was ever written is not in the image at all.
                if let Some(block) = block.filter(|b| *b != image.read(to)) {
                    image.write(to, &block, Mask::MAX);
                }
            }
        }
    }

    /// Whether going on is of no use: the memory or the driver has stopped. Asked after every event, so that it looks at
    /// no core; what programs found is told at the end.
    #[inline]
    pub(crate) fn is_broken(&self) -> bool {
        if let Some(checker) = &self.checker {
            return checker.broken().is_some() || self.commands.failure().is_some();
        }
        let Some(host) = &self.host else { return false };
        host.has_failed() || self.controllers.iter().any(Memory::has_stopped)
    }

    /// What the machine or a program found that must not be.
    pub(crate) fn check_promises(&self) -> Result<(), RunError> {
        if let Some(met) = self.controllers.iter().find_map(Memory::collision) {
            return Err(RunError::Violation(format!("collision on the memory bus: {met}")));
        }
        if let Some(late) = self.controllers.iter().find_map(|c| c.remote()?.failure()) {
            return Err(RunError::Violation(late.into()));
        }
        if let Some(text) = self.host.as_ref().and_then(|h| h.error()) {
            return Err(RunError::Violation(text));
        }
        // A program's own complaint comes first: devices and their checker stop the run at once.
        let failure = self.cores.iter().find_map(Core::failure);
        let broken = || self.checker.as_ref().and_then(|c| c.broken()).map(ToString::to_string);
        let refused = || self.commands.failure().map(ToString::to_string);
        failure.or_else(broken).or_else(refused).map_or(Ok(()), |what| Err(RunError::Violation(what)))
    }

    pub(crate) fn check_finished(&self) -> Result<(), RunError> {
        if self.cores.iter().all(Core::finished) {
            return Ok(());
        }
        let dark = |c: &Memory| c.near().and_then(|d| d.power_off_from());
        if let Some((index, at)) =
            self.controllers.iter().map(dark).enumerate().find_map(|(i, d)| Some((i, d?)))
        {
            let text = format!(
                "device {index} does not answer: it has no power since {at} (neardata.fault.power_off_ns)"
            );
            return Err(RunError::Violation(text));
        }
        let waiting = self.cores.iter().filter(|h| !h.finished()).map(|h| format!("\n  {}", h.waits_for()));
        let state: String = waiting.chain([format!("\n  {}", self.directory.waits_for())]).collect();
        Err(RunError::from(ConfigError::new(format!(
            "the simulated machine stopped with programs unfinished:{state}"
        ))))
    }
}

/// A program of a machine with a driver: when it ends, its stores are done, and nobody asks its core any more.
fn leaving(program: cpu::Program, cpu: Cpu, host: Pager, thread: usize) -> cpu::Program {
    Box::pin(async move {
        program.await;
        cpu.fence(FenceKind::Mfence).await;
        host.leave(thread);
    })
}

fn shared<'a>(
    directory: &'a mut Directory,
    controllers: &'a mut [Memory],
    register: &'a mut Option<Box<dyn Node>>,
    commands: &'a mut CommandPort,
) -> impl Iterator<Item = &'a mut dyn Node> {
    let controllers = controllers.iter_mut().map(|c| c as &mut dyn Node);
    let register = register.iter_mut().map(|node| &mut **node as &mut dyn Node);
    std::iter::once(directory as &mut dyn Node)
        .chain(controllers)
        .chain(register)
        .chain([commands as &mut dyn Node])
}
