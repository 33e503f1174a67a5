//! What every ordering model promises: one list of verbs, run on each of [`MODELS`]. A model's halves stand on a bench:
//! two cores that store to lines of their own, caches that keep every line, two controllers, and wires on which a seed
//! decides what moves next.

use ordering::hardware::{Around, Structure};
use ordering::strandweaver::{self, Mutant, StrandCore, StrandSpec};
use ordering::{MODELS, Registered, models};
use protocol::params::Parameters;
use protocol::params::{Kind, Setting, Settings};
use protocol::{
    Accepted, AddressMap, Among, Capabilities, ControllerOrdering, CoreOrdering, EpochTag, FenceKind,
    Flushed, Image, Line, LineWrite, Mask, Msg, Outbox, PM_BASE, Peer, Persistency, Tally, line_of, messages,
};
use std::collections::VecDeque;
use units::{Random, Time};

const CORES: usize = 2;
const CONTROLLERS: usize = 2;
/// Lines of each core.
const LINES: usize = 6;
const OPERATIONS: usize = 120;

fn settings(model: &Registered) -> Settings {
    let mut settings = Settings::defaults(models::SYSTEM.parameters.iter().copied().flatten());
    settings.set("ordering.model", Setting::Text(model.name.into()));
    settings
}

/// Something on its way between a core and a controller.
#[derive(Clone, Copy, Debug)]
enum Sent {
    Msg(Msg),
    /// A line that the caches write back.
    Line(LineWrite),
}

/// What a program does next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Store(usize),
    Flush(usize),
    Fence(FenceKind),
}

struct Core {
    side: Box<dyn CoreOrdering>,
    steps: VecDeque<Step>,
    /// The number of the last store, and what each line has in the caches.
    stores: u64,
    cached: [u64; LINES],
    /// For each line: stores to it, each with the number of fences before.
    history: Vec<Vec<(u64, usize)>>,
    fences: usize,
    /// The store before the last dfence that has ended.
    persisted: u64,
    /// Flushes by the caches that have not been answered, those that the side asked for, and places of its buffer.
    flushes: usize,
    asked: Vec<Line>,
    flying: Vec<u16>,
}

struct Bench {
    model: &'static Registered,
    settings: Settings,
    now: Time,
    cores: Vec<Core>,
    controllers: Vec<(Box<dyn ControllerOrdering>, Image)>,
    /// From each core to each controller, and back.
    there: Vec<VecDeque<Sent>>,
    back: Vec<VecDeque<Msg>>,
    /// From one controller to another.
    clocks: VecDeque<(usize, usize, EpochTag)>,
    random: Random,
}

fn map() -> AddressMap {
    AddressMap::new(CONTROLLERS, 1, 64)
}

fn line(core: usize, n: usize) -> Line {
    line_of(PM_BASE + ((core * LINES + n) * 64) as u64)
}

fn number(line: Line) -> usize {
    (line.0 - line_of(PM_BASE).0) as usize % LINES
}

/// A store of a whole line, by its number.
fn write(line: Line, number: u64) -> LineWrite {
    let mut data = [0; 64];
    data[..8].copy_from_slice(&number.to_le_bytes());
    LineWrite { line, mask: Mask::MAX, data }
}

fn program(random: &mut Random) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    for _ in 0..OPERATIONS {
        let line = random.below(LINES as u64) as usize;
        steps.extend([Step::Store(line), Step::Flush(line)]);
        match random.below(6) {
            0..=2 => steps.push_back(Step::Fence(FenceKind::Ofence)),
            3 => steps.push_back(Step::Fence(FenceKind::Dfence)),
            _ => {}
        }
    }
    steps.push_back(Step::Fence(FenceKind::Dfence));
    steps
}

impl Bench {
    fn new(model: &'static Registered, seed: u64) -> Bench {
        let (mut random, settings) = (Random::new(seed, 5), settings(model));
        let core = |id: usize, random: &mut Random| Core {
            side: model.model.core_side(&settings, id as u8, map()),
            steps: program(random),
            stores: 0,
            cached: [0; LINES],
            history: vec![Vec::new(); LINES],
            fences: 0,
            persisted: 0,
            flushes: 0,
            asked: Vec::new(),
            flying: Vec::new(),
        };
        let cores = (0..CORES).map(|id| core(id, &mut random)).collect();
        let controller = |own| {
            let mut side = model.model.controller_side(&settings);
            side.among(Among { own, controllers: CONTROLLERS, cores: CORES });
            (side, Image::new(PM_BASE))
        };
        Bench {
            model,
            now: Time::ZERO,
            cores,
            controllers: (0..CONTROLLERS).map(controller).collect(),
            there: vec![VecDeque::new(); CORES * CONTROLLERS],
            back: vec![VecDeque::new(); CORES * CONTROLLERS],
            clocks: VecDeque::new(),
            random,
            settings,
        }
    }

    /// Puts what a core side sends on the wires.
    fn send(&mut self, core: usize, out: Outbox) {
        for (at, to, msg) in out.0 {
            assert!(at >= self.now, "nothing is sent in the past");
            match (to, msg) {
                (Peer::Controller(index), msg) => {
                    if let Msg::Flush(request) = msg {
                        let flying = &mut self.cores[core].flying;
                        assert!(!flying.contains(&request.slot), "a place is sent once at a time");
                        flying.push(request.slot);
                    }
                    self.there[core * CONTROLLERS + index].push_back(Sent::Msg(msg));
                }
                (Peer::Caches, Msg::WriteBack { line, .. }) => {
                    self.cores[core].asked.push(line);
                    self.write_back(core, line);
                }
                // Nobody shares a line: there is nothing to tell the directory, the register or other cores.
                (Peer::Directory | Peer::TimestampRegister, _) => {}
                (to, msg) => panic!("{msg:?} to {to:?}"),
            }
        }
    }

    fn write_back(&mut self, core: usize, line: Line) {
        let line_write = write(line, self.cores[core].cached[number(line)]);
        self.there[core * CONTROLLERS + map().controller(line)].push_back(Sent::Line(line_write));
    }

    /// The next step of a program; it stays where it is when it has to wait.
    fn step(&mut self, id: usize) {
        let asks = self.model.model.capabilities();
        let (now, mut out) = (self.now, Outbox::default());
        let core = &mut self.cores[id];
        let Some(step) = core.steps.front().copied() else { return };
        let done = match step {
            Step::Store(n) => {
                let next = core.stores + 1;
                let stored =
                    !asks.orders_stores || core.side.store(now, &write(line(id, n), next), &mut out).is_ok();
                if stored {
                    core.stores = next;
                    core.cached[n] = next;
                    core.history[n].push((next, core.fences));
                }
                stored
            }
            Step::Flush(n) if asks.takes_flushes => {
                match core.side.flush(now, line(id, n), true, false, &mut out) {
                    Ok(Flushed::Taken | Flushed::Ignored) => true,
                    Ok(Flushed::ByCaches) => panic!("a line that only this core has is the core side's"),
                    Err(_) => false,
                }
            }
            Step::Flush(n) => {
                if asks.flush_instructions {
                    core.flushes += 1;
                    self.write_back(id, line(id, n));
                }
                true
            }
            Step::Fence(kind) => {
                let waits = asks.fences && core.flushes > 0;
                let passed = !waits && (!asks.orders_stores || core.side.fence(now, kind, &mut out).is_ok());
                if passed {
                    core.fences += 1;
                    core.persisted = if kind == FenceKind::Dfence { core.stores } else { core.persisted };
                }
                passed
            }
        };
        if done {
            self.cores[id].steps.pop_front();
        }
        self.send(id, out);
    }

    /// A message arrives at a controller.
    fn arrives(&mut self, wire: usize) {
        let (side, image) = &mut self.controllers[wire % CONTROLLERS];
        let Some(sent) = self.there[wire].pop_front() else { return };
        let answer = match sent {
            Sent::Line(write) => {
                side.evict(&write, image);
                Msg::CleanAck { line: write.line }
            }
            Sent::Msg(Msg::Flush(request)) => match side.flush(&request, image, &mut Vec::new()) {
                Accepted::Refused => Msg::Nack { slot: request.slot },
                Accepted::Write | Accepted::ReadThenWrite | Accepted::Absorbed => {
                    Msg::Ack { slot: request.slot }
                }
            },
            Sent::Msg(Msg::Commit { epoch }) => {
                side.commit((wire / CONTROLLERS) as u8, epoch, image, &mut Vec::new());
                Msg::CommitAck { epoch }
            }
            Sent::Msg(Msg::Complete { epoch, after }) => {
                let tag = EpochTag { core: (wire / CONTROLLERS) as u8, epoch };
                let clocks = side.clocks().expect("clocks");
                clocks.complete(tag, after, image, &mut Vec::new());
                return self.moved(wire % CONTROLLERS);
            }
            Sent::Msg(other) => panic!("{other:?} to a controller"),
        };
        self.back[wire].push_back(answer);
    }

    /// Clocks of a controller have moved.
    fn moved(&mut self, own: usize) {
        let Some(clocks) = self.controllers[own].0.clocks() else { return };
        while let Some(EpochTag { core, epoch }) = clocks.durable() {
            self.back[usize::from(core) * CONTROLLERS + own].push_back(Msg::CommitAck { epoch });
        }
        while let Some(tag) = clocks.untold() {
            let others = (0..CONTROLLERS).filter(|other| *other != own);
            self.clocks.extend(others.map(|other| (own, other, tag)));
        }
    }

    /// A controller hears of another's clock.
    fn hears(&mut self) {
        let Some((from, to, tag)) = self.clocks.pop_front() else { return };
        let (side, image) = &mut self.controllers[to];
        side.clocks().expect("clocks").hears(from, tag, image, &mut Vec::new());
        self.moved(to);
    }

    /// An answer arrives at a core.
    fn returns(&mut self, wire: usize) {
        let Some(msg) = self.back[wire].pop_front() else { return };
        let (id, mut out) = (wire / CONTROLLERS, Outbox::default());
        let core = &mut self.cores[id];
        let from = match msg {
            Msg::CleanAck { line } => match core.asked.iter().position(|l| *l == line) {
                Some(index) => {
                    core.asked.remove(index);
                    Peer::Caches
                }
                None => {
                    core.flushes = core.flushes.checked_sub(1).expect("an answer to a flush");
                    return;
                }
            },
            Msg::Ack { slot } | Msg::Nack { slot } => {
                let index = core.flying.iter().position(|s| *s == slot).expect("one answer to each flush");
                core.flying.remove(index);
                Peer::Controller(wire % CONTROLLERS)
            }
            Msg::CommitAck { .. } | Msg::CrossDependencyResolved { .. } => {
                Peer::Controller(wire % CONTROLLERS)
            }
            Msg::Data { .. }
            | Msg::Snoop { .. }
            | Msg::AddDependent { .. }
            | messages!(timers | requests | memory | persists | timestamps | uncached | near) => {
                panic!("no answer to a core side: {msg:?}")
            }
        };
        core.side.on(self.now, from, &msg, &mut out);
        self.send(id, out);
    }

    /// Time passes to the next timer of a core side.
    fn tick(&mut self) {
        let next = self.cores.iter().map(|c| c.side.next()).min().unwrap_or(Time::NEVER);
        if next == Time::NEVER {
            return;
        }
        self.now = self.now.max(next);
        for id in 0..CORES {
            if self.cores[id].side.next() <= self.now {
                let mut out = Outbox::default();
                self.cores[id].side.tick(self.now, &mut out);
                self.send(id, out);
            }
        }
    }

    fn is_idle(&self) -> bool {
        let idle = |c: &Core| c.steps.is_empty() && c.side.next() == Time::NEVER;
        let empty = self.there.iter().all(VecDeque::is_empty) && self.back.iter().all(VecDeque::is_empty);
        empty && self.clocks.is_empty() && self.cores.iter().all(idle)
    }

    /// Runs to the end, `each` after every move.
    fn run(&mut self, each: &mut dyn FnMut(&Bench)) {
        for _ in 0..2_000_000 {
            if self.is_idle() {
                return;
            }
            match self.random.below(5) {
                0 => {
                    let core = self.random.below(CORES as u64) as usize;
                    self.step(core);
                }
                1 => {
                    let wire = self.random.below((CORES * CONTROLLERS) as u64) as usize;
                    self.arrives(wire);
                }
                2 => {
                    let wire = self.random.below((CORES * CONTROLLERS) as u64) as usize;
                    self.returns(wire);
                }
                3 => self.hears(),
                _ => self.tick(),
            }
            each(self);
        }
        panic!("{}: something waits for ever", self.model.name);
    }

    /// The number of the store that a power failure leaves in each line of a core.
    fn left(&self, id: usize) -> [u64; LINES] {
        let mut images: Vec<Image> = self.controllers.iter().map(|(_, image)| image.clone()).collect();
        for ((side, _), image) in self.controllers.iter().zip(&mut images) {
            side.power_fail(image);
        }
        let mut left = [0; LINES];
        for (n, value) in left.iter_mut().enumerate() {
            *value = images[map().controller(line(id, n))].number(line(id, n).address(), 8);
        }
        let core = &self.cores[id];
        let mut saved: Vec<(Time, LineWrite)> = Vec::new();
        core.side.power_fail(&mut |at, write| saved.push((at, *write)));
        saved.sort_by_key(|(at, _)| *at);
        for (_, write) in saved {
            let value = u64::from_le_bytes(write.data[..8].try_into().expect("eight bytes"));
            left[number(write.line)] = left[number(write.line)].max(value);
        }
        if self.model.model.capabilities().caches_persist { core.cached } else { left }
    }

    /// Whether what a power failure leaves now is what programs may rely on.
    fn check_power_failure(&self) {
        let name = self.model.name;
        for (id, core) in self.cores.iter().enumerate() {
            let left = self.left(id);
            if self.model.model.persistency(&self.settings) == Persistency::Strict {
                assert_eq!(left, core.cached, "{name}: a store that is visible is durable");
                continue;
            }
            let fences = |n: usize, value: u64| {
                core.history[n].iter().find(|(store, _)| *store == value).map_or(0, |(_, fences)| *fences)
            };
            let newest = (0..LINES).map(|n| fences(n, left[n])).max().unwrap_or(0);
            for n in 0..LINES {
                let needed =
                    core.history[n].iter().rfind(|(store, f)| *f < newest || *store <= core.persisted);
                let needed = needed.map_or(0, |(store, _)| *store);
                assert!(left[n] >= needed, "{name}: store {needed} of line {n} is missing, {:?} left", left);
            }
        }
    }

    fn counted(&mut self) -> Tally {
        let mut tally = Tally::default();
        let now = self.now;
        self.cores.iter_mut().for_each(|c| c.side.stats(now, &mut tally));
        self.controllers.iter().for_each(|(side, _)| side.stats(&mut tally));
        if let Some(mut node) = self.model.model.shared_node(&self.settings, CORES) {
            node.stats(now, &mut tally);
        }
        tally
    }
}

fn each_model(mut verb: impl FnMut(&'static Registered, u64)) {
    for model in MODELS {
        (0..8).for_each(|seed| verb(model, seed));
    }
}

#[test]
fn it_conserves_bytes_answers_every_request_once_and_is_idle_when_idle() {
    each_model(|model, seed| {
        let mut bench = Bench::new(model, seed);
        bench.run(&mut |_| {});
        for (id, core) in bench.cores.iter().enumerate() {
            let name = model.name;
            assert_eq!(bench.left(id), core.cached, "{name}: a dfence ends the program");
            assert!(core.flying.is_empty() && core.asked.is_empty() && core.flushes == 0, "{name}");
            assert_eq!((core.side.level(), core.side.has_pending_replies()), (0, false), "{name}");
            assert!((0..LINES).all(|n| !core.side.holds(line(id, n))), "{name}");
        }
        assert!(bench.controllers.iter().all(|(side, _)| side.level() == 0 && side.undo_level() == 0));
    });
}

#[test]
fn it_survives_a_power_failure_at_every_message() {
    each_model(|model, seed| Bench::new(model, seed).run(&mut Bench::check_power_failure));
}

#[test]
fn it_is_deterministic() {
    each_model(|model, seed| {
        let once = || {
            let (mut bench, mut seen) = (Bench::new(model, seed), Vec::new());
            bench.run(&mut |b| seen.push((b.now, b.left(0), b.cores[1].side.level())));
            (seen, format!("{:?}", bench.counted()))
        };
        assert!(once() == once(), "{}", model.name);
    });
}

#[test]
fn it_reports_every_statistic_that_it_declares() {
    each_model(|model, seed| {
        let mut bench = Bench::new(model, seed);
        bench.run(&mut |_| {});
        let counted = bench.counted();
        for row in model.statistics {
            let level = |end| row.name.strip_suffix(end);
            let name = level(".mean").or(level(".p99")).or(level(".max")).unwrap_or(row.name);
            assert!(counted.get(name).is_some(), "{}: {} is not reported", model.name, row.name);
        }
    });
}

#[test]
fn it_refuses_bad_parameters_and_says_what_is_accepted() {
    for param in MODELS.iter().flat_map(|model| model.own) {
        for bad in ["-1", "18446744073709551616", "", "no such word"] {
            if param.kind == Kind::Text {
                continue;
            }
            let refused = param.kind.read(bad).expect_err(param.key);
            assert!(refused.contains(&param.kind.accepts()), "{}: {refused}", param.key);
        }
    }
}

/// The kit itself can fail: a core side that lets go of stores too late for its promise is caught.
#[test]
#[should_panic(expected = "is missing")]
fn a_model_that_promises_more_than_it_keeps_is_caught() {
    struct Liar;
    impl ordering::OrderingModel for Liar {
        fn capabilities(&self) -> Capabilities {
            // Flush instructions go to the caches, and fences wait for nothing.
            Capabilities { flush_instructions: true, ..Capabilities::NONE }
        }
        fn persistency(&self, _: &Settings) -> Persistency {
            Persistency::Px86Line
        }
        fn structures(&self, _: &Settings, _: &Around) -> Vec<Structure> {
            Vec::new()
        }
        fn core_side(&self, _: &Settings, _: u8, _: AddressMap) -> Box<dyn CoreOrdering> {
            Box::new(ordering::NoPath::new(self.capabilities()))
        }
        fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
            Box::new(memory::PassThrough)
        }
    }
    static MODEL: Registered = Registered { model: &Liar, ..MODELS[0] };
    Bench::new(&MODEL, 1).run(&mut Bench::check_power_failure);
}

/// StrandWeaver with a mistake.
struct Mutated(Mutant);

impl ordering::OrderingModel for Mutated {
    fn capabilities(&self) -> Capabilities {
        strandweaver::MODEL.model.capabilities()
    }
    fn persistency(&self, settings: &Settings) -> Persistency {
        strandweaver::MODEL.model.persistency(settings)
    }
    fn structures(&self, settings: &Settings, around: &Around) -> Vec<Structure> {
        strandweaver::MODEL.model.structures(settings, around)
    }
    fn core_side(&self, settings: &Settings, _: u8, _: AddressMap) -> Box<dyn CoreOrdering> {
        Box::new(StrandCore::new(&StrandSpec::from_settings(settings), Some(self.0)))
    }
    fn controller_side(&self, _: &Settings) -> Box<dyn ControllerOrdering> {
        Box::new(memory::PassThrough)
    }
}

#[test]
fn a_power_failure_shows_every_mistake_that_concerns_one_core() {
    for (name, mutant, _) in Mutant::ALL {
        let model = Registered { name, model: Box::leak(Box::new(Mutated(mutant))), ..strandweaver::MODEL };
        let model = Box::leak(Box::new(model));
        let fails = |seed| {
            let cut = || Bench::new(model, seed).run(&mut Bench::check_power_failure);
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(cut)).is_err()
        };
        // Who takes a line too early is another core, and programs here draw one strand: the model's exploration has more.
        let shows = !matches!(mutant, Mutant::LeaveEarly | Mutant::PassOldStore);
        assert_eq!((0..8).any(fails), shows, "{name}");
    }
}
