use crate::build::WiredMachine;
use crate::describe::{Description, WorkloadDescription};
use crate::error::RunError;
use crate::options::RunOptions;
use engine::{Device, Out, PortId};
use plug::MemoryDevice;
use protocol::{Block, Line, Msg, Node, PAGE_BYTES, PostCrash, StatSink, View, ports, tell_durable};
use units::{Dur, Time};

/// What a memory does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    Past,
    Twice,
    AnotherLine,
    Unasked,
    DurableTwice,
    AcknowledgedTwice,
    UnknownCore,
    Silent,
    Images(usize),
}

/// A controller that makes one mistake.
struct Wrong(Box<dyn MemoryDevice>, Mistake);

impl Device<Msg> for Wrong {
    fn on(&mut self, now: Time, port: PortId, msg: &Msg, out: &mut Out<'_, Msg>) {
        let Wrong(right, mistake) = self;
        match (*mistake, *msg) {
            (Mistake::Past, Msg::Read { line }) => {
                _ = out.send_at(Time::ZERO, ports::DIRECTORY, answer(line));
            }
            (Mistake::AnotherLine, Msg::Read { line }) => {
                out.send(ports::DIRECTORY, Dur::ns(1), answer(Line(line.0 + 1)));
            }
            (Mistake::Silent, Msg::Read { .. }) => {}
            (mistake, msg) => {
                right.on(now, port, &msg, out);
                besides(mistake, msg, out);
            }
        }
    }
}

fn answer(line: Line) -> Msg {
    Msg::ReadReply { line, data: [0; 64], waits: false }
}

/// What it sends besides.
fn besides(mistake: Mistake, msg: Msg, out: &mut Out<'_, Msg>) {
    if let Msg::Read { line } = msg {
        if mistake == Mistake::Twice {
            out.send(ports::DIRECTORY, Dur::ns(2_000), answer(line));
        }
        if mistake == Mistake::Unasked {
            out.send(ports::DIRECTORY, Dur::ZERO, answer(Line(line.0 + (1 << 20))));
        }
    }
    if let Msg::Write { line, ack: Some(core), .. } = msg {
        if mistake == Mistake::DurableTwice {
            tell_durable(line, core, Dur::ns(1_000), out);
        }
        if mistake == Mistake::AcknowledgedTwice {
            out.send(ports::from_core(core), Dur::ns(1_000), Msg::CleanAck { line });
        }
        if mistake == Mistake::UnknownCore {
            out.send(ports::from_core(200), Dur::ZERO, Msg::CleanAck { line });
        }
    }
}

impl Node for Wrong {
    fn post_crash(&self, view: View, post_crash: &mut PostCrash) {
        let Mistake::Images(n) = self.1 else { return self.0.post_crash(view, post_crash) };
        let before = post_crash.parts.len();
        self.0.post_crash(view, post_crash);
        let image = post_crash.parts[before].clone();
        post_crash.parts.resize(before + n, image);
    }

    fn stats(&mut self, now: Time, sink: &mut dyn StatSink) {
        self.0.stats(now, sink);
    }
}

impl MemoryDevice for Wrong {
    fn preload(
        &mut self,
        address: u64,
        page: &[u8; PAGE_BYTES as usize],
        owns: &dyn Fn(Line) -> bool,
    ) -> Result<(), String> {
        self.0.preload(address, page, owns)
    }

    fn latest(&self, line: Line) -> Option<Block> {
        self.0.latest(line)
    }
}

const LINKED: &str = "cxl-expander";

/// A machine whose first controller makes a mistake, at the end of its run.
fn run(machine: &str, mistake: Mistake) -> WiredMachine {
    let machine = Description::preset(machine).unwrap();
    let mut workload = WorkloadDescription::named("queue").unwrap();
    workload.set("workload.operations", "200").unwrap();
    // Others would wait for its lock for ever.
    workload.set("workload.threads", "1").unwrap();
    let mut m = WiredMachine::prepare(&machine, &workload, &RunOptions::default()).unwrap();
    let right = m.controllers.remove(0);
    m.controllers.insert(0, Box::new(Wrong(right, mistake)));
    m.run(None);
    m
}

fn told(found: Result<(), RunError>) -> String {
    match found {
        Err(RunError::Violation(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_memory_that_answers_in_the_past_is_named() {
    for machine in ["intel", LINKED] {
        let text = told(run(machine, Mistake::Past).check_promises());
        assert!(text.contains("(pm 0) sent ReadReply at 0.000 ns, when it was "), "{text}");
        assert!(text.ends_with("nothing leaves in the past; this is a fault of the model"), "{text}");
    }
}

#[test]
fn a_memory_that_sends_to_a_core_that_is_not_there_is_named() {
    let text = told(run("intel", Mistake::UnknownCore).check_promises());
    assert!(text.starts_with("memory pm (pm 0) sent CleanAck at "), "{text}");
    assert!(text.contains(" on port 201: it has "), "{text}");
}

#[test]
fn an_answer_that_nobody_asked_for_is_refused_and_who_gave_it_is_named() {
    for mistake in [Mistake::Twice, Mistake::AnotherLine, Mistake::Unasked] {
        for machine in ["intel", LINKED] {
            let text = told(run(machine, mistake).check_promises());
            assert!(text.contains("(pm 0) answered a read of the line at 0x1"), "{mistake:?}: {text}");
            assert!(text.ends_with(" that nobody asked it for; this is a fault of the model"), "{text}");
        }
    }
}

#[test]
fn a_write_is_durable_once_and_acknowledged_once() {
    let text = told(run("intel", Mistake::DurableTwice).check_promises());
    assert!(text.starts_with("memory pm (pm 0) said that a write of the line at 0x1"), "{text}");
    let text = told(run("intel", Mistake::AcknowledgedTwice).check_promises());
    assert!(text.starts_with("pm 0 acknowledged a write of core 0, which waits for none;"), "{text}");
}

#[test]
fn a_deadlock_names_who_owes_what() {
    let text = match run("intel", Mistake::Silent).check_finished() {
        Err(RunError::Config(text)) => text.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(text.contains("  core 0 waits for its store buffer to be empty since "), "{text}");
    assert!(text.contains("  memory pm (pm 0) owes the bytes of the line at 0x1"), "{text}");
    assert!(text.contains(", of a read that was sent to it at "), "{text}");
}

#[test]
fn each_controller_gives_one_image() {
    for images in [0, 2] {
        let mut m = run("intel", Mistake::Images(images));
        assert!(m.check_promises().is_ok());
        assert_eq!(m.power_fails(Time::from_ps(1)).0.len(), m.map.pm_controllers);
        let text = told(m.check_models());
        let of = format!("memory pm (pm 0) gave {images} images of what a power failure leaves: 1 is right");
        assert!(text.starts_with(&of), "{text}");
    }
}

#[test]
fn a_wrong_number_of_images_ends_a_run_that_asks_for_them() {
    let (machine, workload) =
        (Description::preset("intel").unwrap(), WorkloadDescription::named("queue").unwrap());
    for without_images in [false, true] {
        let mut m = run("intel", Mistake::Images(2));
        let options = RunOptions { without_images, ..RunOptions::default() };
        let interest = m.run(None);
        assert_eq!(m.report(&machine, &workload, &options, interest).is_ok(), without_images);
    }
}
