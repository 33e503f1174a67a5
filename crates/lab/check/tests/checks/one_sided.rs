//! One-sided releases: what a power failure may leave by the definition, store by store, and what the crash lab makes.

use check::crash::{Bounds, Event, Kind, Log, Persistency, search};
use check::litmus;
use protocol::{FenceKind, FlushKind, Order, PM_BASE};
use std::collections::BTreeSet;
use units::Random;

const THREADS: u64 = 3;

/// Of each thread two lines of two words, of which it alone stores to: the last is what it releases. Then a word that all exchange.
const WORDS: usize = 4 * THREADS as usize + 1;
const FLAG: u64 = 3;
const SHARED: usize = WORDS - 1;
/// A lock, which is no persistent memory.
const LOCK: usize = WORDS;

type Image = [u64; WORDS];

fn address(word: usize) -> u64 {
    if word == LOCK {
        return 0x4000;
    }
    PM_BASE + (word as u64 / 2) * 64 + (word as u64 % 2) * 8
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Store,
    Release,
    Acquire,
    Exchange,
    /// A locked operation that releases alone.
    Add,
    Unlock,
    Lock,
    Ofence,
    Dfence,
}

/// What a thread does, and to which word.
#[derive(Clone, Copy, Debug)]
struct Did {
    act: Act,
    thread: u64,
    word: usize,
}

impl Did {
    fn stores(&self) -> bool {
        self.word != LOCK && matches!(self.act, Act::Store | Act::Release | Act::Exchange | Act::Add)
    }

    fn releases(&self) -> bool {
        matches!(self.act, Act::Release | Act::Unlock) || self.is_locked()
    }

    fn acquires(&self) -> bool {
        matches!(self.act, Act::Acquire | Act::Exchange | Act::Lock)
    }

    fn is_locked(&self) -> bool {
        matches!(self.act, Act::Exchange | Act::Add)
    }

    fn fences(&self) -> bool {
        matches!(self.act, Act::Ofence | Act::Dfence)
    }
}

fn any(random: &mut Random, length: usize) -> Vec<Did> {
    use Act::{Acquire, Add, Dfence, Exchange, Lock, Ofence, Release, Store, Unlock};
    const ACTS: [Act; 16] = [
        Store, Store, Store, Store, Store, Release, Release, Release, Acquire, Acquire, Exchange, Add,
        Unlock, Lock, Ofence, Dfence,
    ];
    let mut did = || {
        let (act, thread) = (ACTS[random.below(ACTS.len() as u64) as usize], random.below(THREADS));
        let word = match act {
            Store | Ofence | Dfence => (4 * thread + random.below(FLAG)) as usize,
            Release => (4 * thread + FLAG) as usize,
            Acquire => (4 * random.below(THREADS) + FLAG) as usize,
            Exchange => SHARED,
            Add => [SHARED, LOCK][random.below(2) as usize],
            Unlock | Lock => LOCK,
        };
        Did { act, thread, word }
    };
    (0..length).map(|_| did()).collect()
}

/// The log of it; act number `n` stores `n + 1`.
fn log_of(acts: &[Did]) -> Log {
    let values: Vec<(Did, u64)> = acts.iter().copied().zip(1..).collect();
    log_with(&values)
}

/// The same with what each act stores.
fn log_with(acts: &[(Did, u64)]) -> Log {
    let mut log = Log::default();
    (log.threads, log.sites) = (THREADS as usize, vec!["here".into()]);
    for (did, value) in acts.iter().copied() {
        let address = address(did.word);
        let kinds = match did.act {
            Act::Store => vec![Kind::Store],
            Act::Release => vec![Kind::Synchronise(Order::Release), Kind::Store],
            Act::Acquire => vec![Kind::Synchronise(Order::Acquire), Kind::Load],
            Act::Exchange => {
                vec![Kind::Synchronise(Order::AcquireRelease), Kind::Locked { wrote: true }]
            }
            Act::Add => {
                vec![Kind::Synchronise(Order::Release), Kind::Locked { wrote: did.stores() }]
            }
            Act::Unlock => vec![Kind::Synchronise(Order::Release)],
            Act::Lock => vec![Kind::Synchronise(Order::Acquire)],
            Act::Ofence => vec![Kind::Fence(FenceKind::Ofence)],
            Act::Dfence => vec![Kind::Fence(FenceKind::Dfence)],
        };
        let event = |kind| Event { kind, address, value, site: 0, thread: did.thread as u16, size: 8 };
        log.events.extend(kinds.into_iter().map(event));
    }
    log
}

/// Whether store `a` persists before act `b` would, were it a store (`releases`: a release), for one reason alone: a fence or
/// the release itself, or an acquire that met a release of the other thread, or one that a locked operation went on from.
fn is_before(acts: &[Did], a: usize, b: usize, releases: bool) -> bool {
    let (x, y) = (&acts[a], &acts[b]);
    if x.thread == y.thread {
        return releases || acts[a..b].iter().any(|did| did.thread == x.thread && did.fences());
    }
    let of_x = |release: &usize| *release >= a && acts[*release].thread == x.thread;
    let continued = y.is_locked() && met(acts, b, y.word).iter().any(of_x);
    continued
        || (a..=b).any(|at| {
            let acquire = &acts[at];
            let is_own = acquire.acquires() && acquire.thread == y.thread;
            is_own && met(acts, at, acquire.word).iter().any(of_x)
        })
}

/// The last release of a word before act `at`, and those before it which locked operations went on from.
fn met(acts: &[Did], at: usize, word: usize) -> Vec<usize> {
    let last = |to: usize| acts[..to].iter().rposition(|did| did.releases() && did.word == word);
    let before = |release: &usize| acts[*release].is_locked().then(|| last(*release)).flatten();
    std::iter::successors(last(at), before).collect()
}

/// For each act the stores that persist before it: of a store those that do, of a dfence those that it waits for. By number.
fn orders(acts: &[Did]) -> Vec<u64> {
    let mut before = vec![0u64; acts.len()];
    for b in 0..acts.len() {
        let did = acts[b];
        for a in (0..b).filter(|a| acts[*a].stores() || acts[*a].releases()) {
            let one_line =
                did.stores() && acts[a].stores() && address(acts[a].word) / 64 == address(did.word) / 64;
            if one_line || is_before(acts, a, b, did.releases() || did.act == Act::Dfence) {
                before[b] |= 1 << a | before[a];
            }
        }
    }
    // What stores nothing has handed on what comes before it.
    let stores: u64 = (0..acts.len()).filter(|n| acts[*n].stores()).map(|n| 1 << n).sum();
    before.iter_mut().for_each(|set| *set &= stores);
    before
}

/// What a power failure may leave while this goes on.
fn defined(acts: &[Did]) -> BTreeSet<Image> {
    let before = orders(acts);
    let mut images = BTreeSet::new();
    for end in 0..=acts.len() {
        let dfences = (0..end).filter(|n| acts[*n].act == Act::Dfence);
        let durable = dfences.fold(0, |all, n| all | before[n]);
        let stores: Vec<usize> = (0..end).filter(|n| acts[*n].stores()).collect();
        for choice in 0..1u64 << stores.len() {
            let kept: u64 = stores.iter().enumerate().map(|(i, n)| (choice >> i & 1) << n).sum();
            let is_closed = stores.iter().all(|n| kept >> n & 1 == 0 || before[*n] & !kept == 0);
            if is_closed && durable & !kept == 0 {
                images.insert(image(acts, kept));
            }
        }
    }
    images
}

fn image(acts: &[Did], kept: u64) -> Image {
    let mut image = Image::default();
    for (n, did) in acts.iter().enumerate().filter(|(n, _)| kept >> n & 1 == 1) {
        image[did.word] = n as u64 + 1;
    }
    image
}

fn made(log: &Log, model: Persistency) -> BTreeSet<Image> {
    let mut seen = BTreeSet::new();
    let bounds = Bounds { points: 1000, images: 100_000, failures: 1, skip: 0 };
    search(
        log,
        model,
        bounds,
        &mut |memory, _| {
            seen.insert(std::array::from_fn(|word| memory.word(address(word))));
            Ok(())
        },
        &mut |_| {},
    );
    seen
}

#[test]
fn the_lab_makes_what_the_definition_allows_and_nothing_else() {
    let mut random = Random::new(7, 1);
    let (mut more, mut fewer) = (0, 0);
    for n in 0..1500 {
        let acts = any(&mut random, 4 + n % 8);
        let log = log_of(&acts);
        let (wanted, found) = (defined(&acts), made(&log, Persistency::OneSided));
        let missing: Vec<_> = wanted.difference(&found).take(2).collect();
        let extra: Vec<_> = found.difference(&wanted).take(2).collect();
        assert!(found == wanted, "{acts:#?}: missing {missing:?}, too many {extra:?}");
        let two_sided = made(&log, Persistency::Release);
        assert!(
            two_sided.is_subset(&found),
            "what releases order both ways they order one way, too: {acts:?}"
        );
        more += usize::from(found.len() > two_sided.len());
        fewer += usize::from(found.len() == two_sided.len());
    }
    assert!(more > 100 && fewer > 100, "{more} programs show the difference, {fewer} do not");
}

/// Stores to two lines with a release between, and what may be there of the three.
#[test]
fn a_release_orders_what_came_before_it_alone() {
    let did = |act, word| Did { act, thread: 0, word };
    let acts = [did(Act::Store, 0), did(Act::Release, SHARED), did(Act::Store, 2)];
    let left = |model| -> BTreeSet<(u64, u64, u64)> {
        made(&log_of(&acts), model).into_iter().map(|image| (image[0], image[SHARED], image[2])).collect()
    };
    let (one, both) = (left(Persistency::OneSided), left(Persistency::Release));
    assert_eq!(one, [(0, 0, 0), (1, 0, 0), (1, 2, 0), (0, 0, 3), (1, 0, 3), (1, 2, 3)].into());
    assert!(!both.contains(&(0, 0, 3)) && both.is_subset(&one));
}

/// A recorded program's locked operation waits for what its thread flushed, and releases then.
#[test]
fn who_acquires_comes_after_a_locked_operation_that_waited_for_flushes() {
    let mut log = log_of(&[]);
    log.sfence_settles = true;
    let mut event = |thread, kind, word, value| {
        log.events.push(Event { kind, address: address(word), value, site: 0, thread, size: 8 });
    };
    event(0, Kind::Store, 0, 1);
    event(0, Kind::Flush(FlushKind::Clwb), 0, 0);
    event(0, Kind::Synchronise(Order::AcquireRelease), SHARED, 0);
    event(0, Kind::Locked { wrote: true }, SHARED, 2);
    event(1, Kind::Synchronise(Order::Acquire), SHARED, 0);
    event(1, Kind::Store, 4, 3);
    let images = made(&log, Persistency::OneSided);
    let seen: BTreeSet<(u64, u64)> = images.iter().map(|image| (image[SHARED], image[4])).collect();
    assert_eq!(seen, [(0, 0), (2, 0), (2, 3)].into());
}

/// Recovery that takes what was stored after a release for a sign of what came before it.
#[test]
fn a_recovery_that_relies_on_a_release_both_ways_is_wrong_and_told_why() {
    let did = |act, word| Did { act, thread: 0, word };
    let acts = [did(Act::Store, 0), did(Act::Release, SHARED), did(Act::Store, 2)];
    let bounds = Bounds { points: 100, images: 100, failures: 1, skip: 0 };
    let failures = |acts: &[Did], model| {
        let mut recover = |memory: &mut dyn workloads::Persistent, _: &[u64]| {
            let wrong = memory.word(address(2)) != 0 && memory.word(address(0)) == 0;
            if wrong { Err("the first is lost".to_string()) } else { Ok(()) }
        };
        search(&log_of(acts), model, bounds, &mut recover, &mut |_| {}).failures
    };
    assert!(failures(&acts, Persistency::Release).is_empty());
    let found = failures(&acts, Persistency::OneSided);
    let text = "a release between orders what came before it alone";
    assert!(found.len() == 1 && found[0].why.text.contains(text), "{found:?}");
    let fenced = [acts[0], did(Act::Ofence, 0), acts[1], acts[2]];
    assert!(failures(&fenced, Persistency::OneSided).is_empty());
}

/// What two threads of a litmus test store to, each word on a line of its own.
const LOCATIONS: [usize; 5] = [0, FLAG as usize, 4, 4 + FLAG as usize, SHARED];

/// A thread's acts, each with what it stores.
fn thread(random: &mut Random, thread: u64, length: usize) -> Vec<(Did, u64)> {
    use Act::{Acquire, Dfence, Exchange, Ofence, Release, Store};
    const ACTS: [Act; 8] = [Store, Store, Release, Release, Acquire, Exchange, Ofence, Dfence];
    let mut did = || {
        let act = ACTS[random.below(ACTS.len() as u64) as usize];
        let flag = |thread: u64| (4 * thread + FLAG) as usize;
        let word = match act {
            Store | Ofence | Dfence => 4 * thread as usize,
            Release => flag(thread),
            Acquire => flag(1 - thread),
            Exchange => SHARED,
            Act::Add | Act::Unlock | Act::Lock => unreachable!("none is drawn"),
        };
        Did { act, thread, word }
    };
    (0..length).map(|n| (did(), 10 * (thread + 1) + n as u64)).collect()
}

/// Both threads' acts in every order.
fn interleaved(first: &[(Did, u64)], second: &[(Did, u64)]) -> Vec<Vec<(Did, u64)>> {
    let (Some((a, rest_a)), Some((b, rest_b))) = (first.split_first(), second.split_first()) else {
        return vec![[first, second].concat()];
    };
    let after = |head: &(Did, u64), rest: Vec<Vec<(Did, u64)>>| {
        rest.into_iter().map(|r| [&[*head], &r[..]].concat()).collect::<Vec<_>>()
    };
    [after(a, interleaved(rest_a, second)), after(b, interleaved(first, rest_b))].concat()
}

fn litmus_text(threads: &[Vec<(Did, u64)>; 2]) -> String {
    let code = |acts: &Vec<(Did, u64)>| -> Vec<String> {
        let one = |(did, value): &(Did, u64)| {
            let (load, at) = (format!("MOV W0,#{value}"), format!("[at{}]", did.word));
            match did.act {
                Act::Store => vec![load, format!("STR W0,{at}")],
                Act::Release => vec![load, format!("STLR W0,{at}")],
                Act::Acquire => vec![format!("LDAR W1,{at}")],
                Act::Exchange => vec![load, format!("SWPAL W0,W1,{at}")],
                Act::Add | Act::Unlock | Act::Lock => unreachable!("none is drawn"),
                Act::Ofence => vec!["DMB SY".into()],
                Act::Dfence => vec!["DSB SY".into()],
            }
        };
        acts.iter().flat_map(one).collect()
    };
    let (first, second) = (code(&threads[0]), code(&threads[1]));
    let line = |code: &Vec<String>, n: usize| code.get(n).cloned().unwrap_or_default();
    let rows = (0..first.len().max(second.len()))
        .map(|n| format!(" {} | {} ;\n", line(&first, n), line(&second, n)));
    let state: String = LOCATIONS.iter().map(|word| format!("at{word}=0; ")).collect();
    format!("RELEASE random\n{{ {state}}}\n P0 | P1 ;\n{}exists (at0=0)\n", rows.collect::<String>())
}

/// Whatever Armv8 lets threads see, a power failure leaves what it leaves of some interleaving.
#[test]
fn litmus_tests_and_the_lab_agree() {
    let mut random = Random::new(11, 2);
    let mut ordered = 0;
    for n in 0..600 {
        let threads = [0, 1].map(|t| thread(&mut random, t, 2 + n % 3));
        let text = litmus_text(&threads);
        let test = litmus::parse(&text).unwrap_or_else(|e| panic!("{e} in\n{text}"));
        let by_litmus = litmus::images(&test, litmus::Model::OneSided, litmus::Options::default()).unwrap();
        let mut by_lab: BTreeSet<Vec<i64>> = BTreeSet::new();
        for acts in interleaved(&threads[0], &threads[1]) {
            let images = made(&log_with(&acts), Persistency::OneSided);
            by_lab.extend(images.iter().map(|image| LOCATIONS.map(|word| image[word] as i64).to_vec()));
        }
        let only = |a: &BTreeSet<Vec<i64>>, b| a.difference(b).take(2).cloned().collect::<Vec<_>>();
        let (more, fewer) = (only(&by_litmus, &by_lab), only(&by_lab, &by_litmus));
        assert!(more.is_empty() && fewer.is_empty(), "{text}only litmus {more:?}, only lab {fewer:?}");
        let both = litmus::images(&test, litmus::Model::Release, litmus::Options::default()).unwrap();
        assert!(both.is_subset(&by_litmus), "{text}");
        ordered += usize::from(both.len() < by_litmus.len());
    }
    assert!(ordered > 10, "{ordered} programs tell the models apart");
}
