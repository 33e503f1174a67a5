//! A store is durable once it is in the buffer.

use super::BatteryBuffer;
use crate::spec::{CrossCore, Dependences, PathSpec};
use protocol::{AddressMap, CoreOrdering, FenceKind, LineWrite, Mask, Msg, Outbox, PM_BASE, line_of};
use units::{Dur, Time};

#[test]
fn the_battery_saves_what_no_controller_has_and_a_snooped_line_leaves_at_once() {
    let map = AddressMap::new(1, 1, 64);
    let mut b = BatteryBuffer::new(PathSpec {
        core: 0,
        map,
        persist_buffer: 4,
        epoch_table: 2,
        flush_issue: Dur::ns(1),
        flush_trigger: 4,
        flush_timer: Dur::ns(500),
        cross_core: CrossCore::Acquires,
        dependences: Dependences::Accesses,
    });
    let mut out = Outbox::default();
    let line = line_of(PM_BASE);
    b.store(Time::ZERO, &LineWrite { line, mask: Mask::MAX, data: [5; 64] }, &mut out).unwrap();
    assert_eq!(b.fence(Time::ZERO, FenceKind::Dfence, &mut out), Ok(()));
    let mut saved = Vec::new();
    b.power_fail(&mut |_, w| saved.push(w.data[0]));
    assert_eq!(saved, [5]);
    b.snooped(Time::ZERO, line, 0, 0, &mut out).unwrap();
    assert!(matches!(out.0[..], [(_, _, Msg::Flush(_))]));
}
