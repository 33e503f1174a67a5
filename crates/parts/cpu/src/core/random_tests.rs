//! Random programs of one core: what they read, under both engines and on shorter ways.

use super::*;

/// A step of a random program: what, to which word of which line.
#[derive(Clone, Copy, Debug)]
enum Step {
    Load,
    Store,
    Prefetch,
    NonTemporal,
    WholeLine,
    LineByWords,
    Clwb,
    Clflush,
    Locked,
    Fence,
    Compute,
}

fn steps() -> impl Strategy<Value = Vec<(Step, u64, u64)>> {
    let step = prop::sample::select(vec![
        Step::Load,
        Step::Store,
        Step::Prefetch,
        Step::NonTemporal,
        Step::WholeLine,
        Step::LineByWords,
        Step::Clwb,
        Step::Clflush,
        Step::Locked,
        Step::Fence,
        Step::Compute,
    ]);
    prop::collection::vec((step, 0..9_u64, 0..8_u64), 1..120)
}

/// What came of a program.
struct Outcome {
    /// The values that were read, with their times.
    read: Vec<(u64, u64)>,
    /// What the directory heard, and what was counted, in words.
    heard: String,
    counted: String,
}

/// Runs it; with `is_general` on the general ways alone.
fn outcome(spec: CoreSpec, program: &[(Step, u64, u64)], mode: Mode, is_general: bool) -> Outcome {
    let mut bench = Bench::new(spec, mode);
    bench.core.port.0.borrow_mut().is_general = is_general;
    let (cpu, read) = (bench.core.cpu(), Rc::new(RefCell::new(Vec::new())));
    let (steps, noted) = (program.to_vec(), Rc::clone(&read));
    bench.run(Box::pin(async move {
        for (n, (step, at, word)) in steps.into_iter().enumerate() {
            let (address, value) = (line(at) + 8 * word, n as u64 + 1);
            match step {
                Step::Load => {
                    let value = cpu.load(address).await;
                    noted.borrow_mut().push((cpu.now().ps(), value));
                }
                Step::Store => drop(cpu.store(address, value).await),
                Step::Prefetch => drop(cpu.prefetch(address).await),
                Step::NonTemporal => drop(cpu.store_nontemporal(address, value).await),
                Step::WholeLine => cpu.store_line_nontemporal(line(at), value).await,
                Step::LineByWords => by_words(&cpu, at, value).await,
                Step::Clwb => drop(cpu.clwb(address).await),
                Step::Clflush => drop(cpu.write_back_invalidate(address).await),
                Step::Locked => {
                    let value = cpu.fetch_add(address, 1, Order::AcquireRelease).await;
                    noted.borrow_mut().push((cpu.now().ps(), value));
                }
                Step::Fence => drop(cpu.fence(FenceKind::Mfence).await),
                Step::Compute => drop(cpu.compute(Dur::ps(700 * value)).await),
            }
        }
    }));
    let (read, mut tally) = (read.borrow().clone(), Tally::default());
    let now = bench.core.now();
    bench.core.stats(now, &mut tally);
    Outcome { read, heard: format!("{:?}", bench.heard), counted: format!("{tally:?}") }
}

/// The values alone, one after the other.
fn values(program: &[(Step, u64, u64)]) -> Vec<u64> {
    let mut memory: BTreeMap<u64, u64> = BTreeMap::new();
    let mut read = Vec::new();
    for (n, (step, at, word)) in program.iter().enumerate() {
        let address = line(*at) + 8 * word;
        if matches!(step, Step::WholeLine | Step::LineByWords) {
            memory.extend((0..8).map(|word| (line(*at) + 8 * word, n as u64 + 1)));
            continue;
        }
        let old = *memory.entry(address).or_insert(u64::from_le_bytes([(address / 64) as u8; 8]));
        match step {
            Step::Load => read.push(old),
            Step::Store | Step::NonTemporal => drop(memory.insert(address, n as u64 + 1)),
            Step::Locked => {
                read.push(old);
                memory.insert(address, old.wrapping_add(1));
            }
            Step::Prefetch
            | Step::WholeLine
            | Step::LineByWords
            | Step::Clwb
            | Step::Clflush
            | Step::Fence
            | Step::Compute => {}
        }
    }
    read
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_random_program_reads_what_it_wrote_and_both_engines_agree(program in steps(), is_held_up in any::<bool>()) {
        let spec = || if is_held_up { held_up() } else { spec() };
        let fast = outcome(spec(), &program, Mode::Fast, false);
        prop_assert_eq!(fast.read.iter().map(|(_, value)| *value).collect::<Vec<_>>(), values(&program));
        let slow = outcome(spec(), &program, Mode::Reference, false);
        prop_assert_eq!(&fast.read, &slow.read);
        prop_assert_eq!(fast.heard, slow.heard);
    }

    #[test]
    fn what_goes_a_shorter_way_comes_to_the_same(program in steps()) {
        let [short, general] = [false, true].map(|is_general| outcome(spec(), &program, Mode::Fast, is_general));
        prop_assert_eq!(short.read, general.read);
        prop_assert_eq!(short.heard, general.heard);
        prop_assert_eq!(short.counted, general.counted);
    }
}
