use super::*;

/// Numbers from a hundred on are lookahead.
impl Message for u32 {
    fn has_lookahead(&self) -> bool {
        *self >= 100
    }
}

/// Sends every message back after a nanosecond, and notes when it heard what.
struct Echo {
    heard: std::rc::Rc<std::cell::RefCell<Vec<(u64, PortId, u32)>>>,
}

impl Device<u32> for Echo {
    fn on(&mut self, now: Time, port: PortId, &msg: &u32, out: &mut Out<'_, u32>) {
        self.heard.borrow_mut().push((now.ps(), port, msg));
        if msg > 0 && port != PortId::TIMER {
            out.send(PortId(0), Dur::ns(1), msg - 1);
        }
    }
}

fn pair(mode: Mode) -> Engine<u32> {
    pair_with_lookahead(mode, Dur::ZERO)
}

fn pair_with_lookahead(mode: Mode, lookahead: Dur) -> Engine<u32> {
    let to = |n| vec![Link { to: NodeId(n), port: PortId(3), latency: Dur::ns(4) }];
    Engine::new(vec![to(1), to(0)], 2, mode, lookahead)
}

#[test]
fn a_message_takes_think_time_plus_the_wire() {
    let heard = std::rc::Rc::default();
    let mut devices =
        [Echo { heard: std::rc::Rc::clone(&heard) }, Echo { heard: std::rc::Rc::clone(&heard) }];
    let mut engine = pair(Mode::Fast);
    engine.out(NodeId(0), Time::ZERO).send(PortId(0), Dur::ZERO, 2);
    let mut msg = 0;
    while let Some((now, to, port)) = engine.next(&mut msg) {
        devices[to.0 as usize].on(now, port, &msg, &mut engine.out(to, now));
    }
    assert_eq!(*heard.borrow(), [(4_000, PortId(3), 2), (9_000, PortId(3), 1), (14_000, PortId(3), 0)]);
}

#[test]
fn a_timer_comes_after_the_messages_of_its_picosecond() {
    let mut engine = pair(Mode::Fast);
    engine.out(NodeId(1), Time::ZERO).wake(Time::from_ps(4_000), 7);
    engine.out(NodeId(0), Time::ZERO).send(PortId(0), Dur::ZERO, 1);
    let mut msg = 0;
    let order: Vec<u32> = std::iter::from_fn(|| engine.next(&mut msg).map(|_| msg)).collect();
    assert_eq!(order, [1, 7]);
}

#[test]
fn the_safe_time_ends_just_before_a_message_on_the_wire_and_one_wire_after_the_next_event() {
    let mut engine = pair(Mode::Fast);
    assert_eq!(engine.out(NodeId(0), Time::ZERO).safe_time(), Time::NEVER);
    engine.out(NodeId(1), Time::ZERO).wake(Time::from_ps(10_000), 0);
    assert_eq!(engine.out(NodeId(0), Time::ZERO).safe_time(), Time::from_ps(13_999));
    engine.out(NodeId(1), Time::ZERO).send(PortId(0), Dur::ZERO, 1);
    assert_eq!(engine.out(NodeId(0), Time::ZERO).safe_time(), Time::from_ps(3_999));
}

#[test]
fn lookahead_is_added_unless_another_node_has_pending_replies() {
    let mut engine = pair_with_lookahead(Mode::Fast, Dur::ns(20));
    let at = |e: &mut Engine<u32>| e.out(NodeId(0), Time::ZERO).safe_time().ps();
    engine.out(NodeId(1), Time::ZERO).wake(Time::from_ps(10_000), 100);
    assert_eq!(at(&mut engine), 29_999);
    engine.out(NodeId(1), Time::ZERO).pending_reply(true);
    assert_eq!(at(&mut engine), 13_999);
    engine.out(NodeId(1), Time::ZERO).pending_reply(false);
    engine.out(NodeId(1), Time::ZERO).wake(Time::from_ps(12_000), 7);
    assert_eq!(at(&mut engine), 15_999, "that one is without lookahead");
    let mut msg = 0;
    while engine.next(&mut msg).is_some() {}
    assert_eq!(engine.out(NodeId(0), Time::from_ps(12_000)).safe_time(), Time::NEVER);
}

#[test]
fn a_lookahead_shorter_than_the_wire_is_the_wire() {
    let mut engine = pair_with_lookahead(Mode::Fast, Dur::ns(1));
    engine.out(NodeId(1), Time::ZERO).wake(Time::from_ps(10_000), 100);
    assert_eq!(engine.out(NodeId(0), Time::ZERO).safe_time(), Time::from_ps(13_999));
}

#[test]
fn what_others_hear_and_timers_leave_what_is_on_a_fronts_wire() {
    let wire = |to, ns| vec![Link { to: NodeId(to), port: PortId(3), latency: Dur::ns(ns) }];
    let mut engine = Engine::new(vec![wire(1, 4), wire(0, 4), wire(1, 1)], 1, Mode::Fast, Dur::ZERO);
    engine.out(NodeId(1), Time::ZERO).send(PortId(0), Dur::ZERO, 1);
    engine.out(NodeId(2), Time::ZERO).send(PortId(0), Dur::ZERO, 2);
    engine.out(NodeId(0), Time::ZERO).wake(Time::from_ps(2_000), 3);
    for (at, node) in [(1_000, 1), (2_000, 0)] {
        assert_eq!(engine.next(&mut 0).map(|(now, to, _)| (now.ps(), to)), Some((at, NodeId(node))));
        assert_eq!(engine.out(NodeId(0), Time::from_ps(at)).safe_time(), Time::from_ps(3_999));
    }
    assert_eq!(engine.next(&mut 0).map(|(now, ..)| now.ps()), Some(4_000));
    assert_eq!(engine.out(NodeId(0), Time::from_ps(4_000)).safe_time(), Time::NEVER);
}

#[test]
fn the_reference_mode_never_runs_ahead() {
    let mut engine = pair(Mode::Reference);
    assert_eq!(engine.out(NodeId(0), Time::from_ps(5)).safe_time(), Time::from_ps(5));
}

#[test]
fn fronts_in_order_run_ahead_to_the_next_event_of_anybody() {
    let mut engine = pair(Mode::InOrder);
    assert_eq!(engine.out(NodeId(0), Time::ZERO).safe_time(), Time::NEVER);
    engine.out(NodeId(1), Time::ZERO).wake(Time::from_ps(10_000), 0);
    assert_eq!(engine.out(NodeId(0), Time::ZERO).safe_time(), Time::from_ps(9_999));
    assert_eq!(engine.out(NodeId(0), Time::from_ps(10_000)).safe_time(), Time::from_ps(10_000));
    engine.out(NodeId(0), Time::ZERO).send(PortId(0), Dur::ZERO, 1);
    assert_eq!(engine.out(NodeId(0), Time::ZERO).safe_time(), Time::from_ps(3_999));
    assert_eq!(engine.out(NodeId(0), Time::ZERO).shortest_wire(), Dur::ZERO);
}

#[test]
fn nothing_is_handed_out_after_the_stop() {
    let mut engine = pair(Mode::Fast);
    engine.out(NodeId(0), Time::ZERO).send(PortId(0), Dur::ZERO, 1);
    engine.stop_after(Time::from_ps(3_999));
    assert!(engine.next(&mut 0).is_none());
    engine.stop_after(Time::from_ps(4_000));
    assert!(engine.next(&mut 0).is_some());
}

#[test]
fn points_in_time_come_in_order_whenever_they_are_added() {
    let mut random = units::Random::new(3, 0);
    for spread in [1, 3, 20, 300] {
        let (mut arrivals, mut sorted, mut now) = (Arrivals::new(), Vec::new(), 0);
        for _ in 0..2_000 {
            if random.chance(520) {
                let at = Time::from_ps(now + random.below(spread));
                arrivals.add(at);
                sorted.push(at);
                sorted.sort_unstable();
            } else if !sorted.is_empty() {
                now = sorted.remove(0).ps();
                arrivals.pass_if(true);
            }
            arrivals.pass_if(false);
            assert_eq!(arrivals.first(), sorted.first().copied().unwrap_or(Time::NEVER));
        }
    }
}

/// What a device did that none may, and whether anything comes after it.
fn fault_of(act: impl FnOnce(&mut Out<'_, u32>)) -> (String, bool) {
    let mut engine = pair(Mode::Fast);
    engine.out(NodeId(0), Time::from_ps(9_000)).wake(Time::from_ps(20_000), 1);
    act(&mut engine.out(NodeId(1), Time::from_ps(9_000)));
    let fault = engine.fault().cloned().expect("a fault");
    assert_eq!((fault.node, fault.heard_on), (NodeId(1), None));
    (fault.what, engine.next(&mut 0).is_some())
}

#[test]
fn nothing_leaves_in_the_past_and_what_was_sent_there_ends_the_run() {
    let (what, goes_on) = fault_of(|out| _ = out.send_at(Time::from_ps(8_999), PortId(0), 7));
    assert_eq!(what, "sent 7 at 8.999 ns, when it was 9.000 ns already: nothing leaves in the past");
    assert!(!goes_on);
}

#[test]
fn nobody_wakes_in_the_past() {
    let (what, goes_on) = fault_of(|out| out.wake(Time::ZERO, 7));
    assert_eq!(what, "set a timer, 7, to 0.000 ns, when it was 9.000 ns already: nobody wakes in the past");
    assert!(!goes_on);
}

#[test]
fn nothing_is_sent_where_no_wire_is() {
    let (what, goes_on) = fault_of(|out| out.send(PortId(201), Dur::ZERO, 7));
    assert_eq!(what, "sent 7 at 9.000 ns on port 201: it has 1 wires, from port 0 on");
    assert!(!goes_on);
}

#[test]
fn what_is_sent_now_and_heard_at_once_is_right() {
    let mut engine = pair(Mode::Fast);
    let mut out = engine.out(NodeId(1), Time::from_ps(9_000));
    out.send_at(Time::from_ps(9_000), PortId(0), 7);
    out.wake(Time::from_ps(9_000), 7);
    assert!(engine.fault().is_none() && engine.next(&mut 0).is_some() && engine.next(&mut 0).is_some());
}

#[test]
fn the_first_fault_is_told_and_who_is_refused_sends_where_it_was_heard() {
    let mut engine = pair(Mode::Fast);
    engine.out(NodeId(0), Time::ZERO).refuse(PortId(3), "said too much".into());
    engine.out(NodeId(1), Time::from_ps(1)).wake(Time::ZERO, 7);
    let what = "said too much".to_string();
    assert_eq!(engine.fault(), Some(&Fault { node: NodeId(0), heard_on: Some(PortId(3)), what }));
}

/// Node 1 does nothing but wake itself `step` later; gives the fault, and events until then.
fn woken_for_ever(begins: u64, step: u64) -> (Option<Fault>, u64) {
    let mut engine = pair(Mode::Fast);
    engine.still.most = 1_000_000;
    engine.out(NodeId(1), Time::ZERO).wake(Time::from_ps(begins), 7);
    let (mut msg, mut events) = (0, 0_u64);
    while let Some((now, to, _)) = engine.next(&mut msg)
        && events < 1_100_000
    {
        events += 1;
        engine.out(to, now).wake(now + Dur::ps(step), msg);
    }
    (engine.fault().cloned(), events)
}

#[test]
fn a_run_whose_time_does_not_pass_ends() {
    for begins in [0, 5_000] {
        let (fault, events) = woken_for_ever(begins, 0);
        let fault = fault.expect("a fault");
        assert_eq!(fault.node, NodeId(1));
        assert!(fault.what.starts_with("does not let time pass: more than 1000000 events are at "));
        assert!((990_000..1_010_000).contains(&events), "{events}");
    }
    assert_eq!(woken_for_ever(5_000, 1).0, None);
}
