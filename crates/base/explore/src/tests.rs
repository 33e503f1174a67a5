//! The driver on a protocol small enough to count by hand: two ends that add what arrives.

use super::*;
use std::fmt;

/// One end sends `1` so often; the other adds what comes, and must not get past `most`.
#[derive(Clone, Copy)]
struct Adding {
    sends: u8,
    losses: u8,
    duplicates: u8,
    most: u8,
}

#[derive(Clone, Copy)]
enum Step {
    Send,
    Wire(Event<()>),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Send => write!(f, "send"),
            Step::Wire(event) => write!(f, "{event:?}"),
        }
    }
}

#[derive(Clone, Hash)]
struct State {
    left: u8,
    sum: u8,
    wire: Wires<(), u8>,
    history: Aside<Vec<u8>>,
}

impl Protocol for Adding {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        let wire = Wires::unreliable(self.losses, self.duplicates);
        State { left: self.sends, sum: 0, wire, history: Aside(Vec::new()) }
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        steps.extend((state.left > 0).then_some(Step::Send));
        steps.extend(state.wire.events().map(Step::Wire));
    }

    fn step(&self, state: &State, step: Step) -> State {
        let mut next = state.clone();
        match step {
            Step::Send => {
                next.left -= 1;
                next.wire.scatter((), 1);
            }
            Step::Wire(event) => {
                if let Some(n) = next.wire.happen(event) {
                    next.sum += n;
                    next.history.push(n);
                }
            }
        }
        next
    }

    fn check_power_failure(&self, state: &State) -> Result<(), String> {
        if state.sum > self.most { Err(format!("the sum is {}", state.sum)) } else { Ok(()) }
    }

    fn is_final(&self, state: &State) -> bool {
        state.left == 0 && state.wire.is_empty() && (self.losses > 0 || state.sum >= self.sends)
    }

    fn check_final(&self, _: &State) -> Result<(), String> {
        Ok(())
    }
}

const RELIABLE: Adding = Adding { sends: 2, losses: 0, duplicates: 0, most: 2 };

#[test]
fn every_state_is_visited_once() {
    let outcome = explore(&RELIABLE, 100);
    // (sent, arrived): 00 10 20 11 21 22; of two in the air either can be the first to arrive.
    assert_eq!((outcome.states, outcome.steps, outcome.depth, outcome.finals), (6, 7, 4, 1));
    assert!(outcome.complete && outcome.violation.is_none());
}

#[test]
fn no_more_states_are_visited_than_the_limit_says() {
    for limit in 1..6 {
        let cut = explore(&RELIABLE, limit);
        assert_eq!(cut.states, limit);
        assert!(!cut.complete && cut.violation.is_none(), "{limit}");
    }
}

#[test]
fn a_limit_of_as_many_states_as_there_are_leaves_none() {
    let outcome = explore(&RELIABLE, 6);
    assert_eq!((outcome.states, outcome.steps, outcome.complete), (6, 7, true));
}

#[test]
fn a_doubled_message_is_found_by_the_shortest_way_and_replays() {
    let outcome = explore(&Adding { duplicates: 1, ..RELIABLE }, 100);
    let violation = outcome.violation.unwrap();
    assert_eq!((violation.message.as_str(), violation.trace.len()), ("the sum is 3", 6));
    let again = replay(&Adding { duplicates: 1, ..RELIABLE }, &violation.choices).unwrap();
    assert_eq!((again.trace, again.message), (violation.trace, Some(violation.message)));
    let error = replay(&RELIABLE, &[0, 9]).unwrap_err();
    assert_eq!(error, "step 2: choice 9 of 2 possible ones");
}

#[test]
fn a_state_without_a_way_on_is_a_deadlock() {
    let losing = Adding { losses: 1, ..RELIABLE };
    assert!(explore(&losing, 100).violation.is_none());
    // Nobody may lose, and the receiver waits for more than is sent.
    let waits = Waits(RELIABLE);
    let violation = explore(&waits, 100).violation.unwrap();
    assert!(violation.message.starts_with("deadlock"));
    assert_eq!(replay(&waits, &violation.choices).unwrap().message, Some(violation.message));
}

/// The receiver is never content.
struct Waits(Adding);

impl Protocol for Waits {
    type State = State;
    type Step = Step;

    fn start(&self) -> State {
        self.0.start()
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        self.0.steps(state, steps);
    }

    fn step(&self, state: &State, step: Step) -> State {
        self.0.step(state, step)
    }

    fn check_power_failure(&self, _: &State) -> Result<(), String> {
        Ok(())
    }

    fn is_final(&self, _: &State) -> bool {
        false
    }

    fn check_final(&self, _: &State) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn wires_keep_their_order_and_do_not_see_each_other() {
    let mut wires: Wires<u8, u32> = Wires::new();
    for (wire, message) in [(2, 20), (1, 10), (2, 21), (1, 11)] {
        wires.send(wire, message);
    }
    assert_eq!(wires.ends().collect::<Vec<_>>(), [1, 2]);
    assert_eq!(
        [wires.take(2), wires.take(2), wires.take(2), wires.take(1)],
        [Some(20), Some(21), None, Some(10)]
    );
    assert!(wires.is_waiting(1) && !wires.is_waiting(2));
}

#[test]
fn what_scattered_messages_are_does_not_depend_on_when_they_came() {
    let scattered = |messages: [u32; 3]| {
        let mut wires: Wires<(), u32> = Wires::new();
        messages.iter().for_each(|m| wires.scatter((), *m));
        Fingerprint::of(&wires)
    };
    assert_eq!(scattered([1, 2, 3]), scattered([3, 1, 2]));
    assert_ne!(scattered([1, 2, 3]), scattered([1, 2, 2]));
}

#[test]
fn bounds_say_what_they_accept() {
    const SIZE: Bound = Bound::number("size", 2, 1, 4, "Size");
    const PARTS: Bound = Bound::among("parts", 2, &[1, 2, 4], "Parts");
    const HOW: Bound = Bound::word("how", 1, &["slow", "fast"], "How");
    const TWICE: Bound = Bound::flag("twice", "Twice");
    const ALL: &[Bound] = &[SIZE, PARTS, HOW, TWICE];
    let none = Given::read(ALL, []).unwrap();
    assert_eq!((none.number::<u8>(&SIZE), none.place(&HOW), none.said(&TWICE)), (2, 1, false));
    let some = Given::read(ALL, [("size", "4"), ("how", "slow"), ("twice", "")]).unwrap();
    assert_eq!((some.number::<usize>(&SIZE), some.place(&HOW), some.said(&TWICE)), (4, 0, true));
    let refused = |name, text| Given::read(ALL, [(name, text)]).unwrap_err();
    assert_eq!(refused("size", "5"), "--size 5: accepted are 1 to 4");
    assert_eq!(refused("parts", "3"), "--parts 3: accepted are 1, 2, 4");
    assert_eq!(refused("how", "well"), "--how well: accepted are slow, fast");
    assert!(refused("depth", "1").contains("accepted are --size, --parts"));
}

#[test]
fn a_part_is_its_own_as_soon_as_it_changes() {
    let first = Part::new(vec![1, 2]);
    let same = Fingerprint::of(&first);
    let mut second = first.clone();
    assert_eq!(Fingerprint::of(&second), same);
    second.push(3);
    assert_eq!((&*first, &*second), (&vec![1, 2], &vec![1, 2, 3]));
    assert_eq!(Fingerprint::of(&first), same);
    assert_ne!(Fingerprint::of(&second), same, "what was taken before the change is forgotten");
    second.pop();
    assert_eq!(Fingerprint::of(&second), same, "the value counts, not how it came about");
}

/// A step of which there may be any number in no memory at all.
#[derive(Clone, Copy)]
struct Nothing;

impl fmt::Display for Nothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing")
    }
}

/// From its start it may go on in more ways than any host has memory for.
struct Endless;

impl Protocol for Endless {
    type State = u64;
    type Step = Nothing;

    fn start(&self) -> u64 {
        0
    }

    fn steps(&self, _: &u64, steps: &mut Vec<Nothing>) {
        *steps = [Nothing; 1 << 60].to_vec();
    }

    fn step(&self, state: &u64, _: Nothing) -> u64 {
        state + 1
    }

    fn check_power_failure(&self, _: &u64) -> Result<(), String> {
        Ok(())
    }

    fn is_final(&self, _: &u64) -> bool {
        false
    }

    fn check_final(&self, _: &u64) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn an_exploration_ends_where_there_is_no_memory_for_more_states() {
    let outcome = explore(&Endless, 1000);
    assert!(outcome.out_of_memory && !outcome.complete && outcome.violation.is_none());
    assert_eq!(outcome.states, 1);
}
