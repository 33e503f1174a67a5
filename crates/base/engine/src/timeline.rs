//! What happened when, for people: spans and counters, written as a Perfetto trace.

use crate::NodeId;
use units::{Dur, Time};

/// The line of the picture that a mark belongs to, within its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Track(pub &'static str);

/// Something worth seeing.
#[derive(Clone, Copy, Debug)]
pub enum Mark {
    /// A stretch of time, such as a stall.
    Span { track: Track, name: &'static str, from: Time, lasts: Dur },
    /// A level that changed, such as the filling of a buffer.
    Level { track: Track, at: Time, value: u64 },
}

/// A bounded recording; what did not fit is counted, not kept.
pub struct Timeline {
    names: Vec<String>,
    marks: Vec<(NodeId, Mark)>,
    limit: usize,
    /// Marks that did not fit.
    pub left_out: u64,
}

impl Timeline {
    /// A recording of at most `limit` marks for nodes called `names`.
    pub fn new(names: Vec<String>, limit: usize) -> Timeline {
        Timeline { names, marks: Vec::new(), limit, left_out: 0 }
    }

    pub(crate) fn add(&mut self, node: NodeId, mark: Mark) {
        if self.marks.len() < self.limit {
            self.marks.push((node, mark));
        } else {
            self.left_out += 1;
        }
    }

    /// All marks, in the order in which they were made.
    pub fn marks(&self) -> &[(NodeId, Mark)] {
        &self.marks
    }

    /// The recording as lines of text, sorted by time: for snapshot tests.
    pub fn to_text(&self) -> String {
        let mut lines: Vec<(Time, String)> = self.marks.iter().map(|(n, m)| self.line(*n, m)).collect();
        lines.sort_by_key(|(at, _)| *at);
        lines.into_iter().map(|(_, l)| l + "\n").collect()
    }

    fn line(&self, node: NodeId, mark: &Mark) -> (Time, String) {
        let who = &self.names[node.0 as usize];
        match *mark {
            Mark::Span { track, name, from, lasts } => {
                (from, format!("{:>10.3}  {who}/{}: {name} for {:.3}", from.as_ns(), track.0, lasts.as_ns()))
            }
            Mark::Level { track, at, value } => {
                (at, format!("{:>10.3}  {who}/{} = {value}", at.as_ns(), track.0))
            }
        }
    }

    /// The recording in Perfetto's protobuf format. Perfetto counts nanoseconds and simulated time is in
    /// picoseconds: one displayed nanosecond is one simulated picosecond, as the root track's name says.
    pub fn to_perfetto(&self) -> Vec<u8> {
        let mut writer = Perfetto { trace: Vec::new(), tracks: Vec::new() };
        writer.descriptor(1, None, "Coreplane: 1 ns shown is 1 ps simulated", false);
        for (i, name) in self.names.iter().enumerate() {
            writer.descriptor(node_uuid(i), Some(1), name, false);
        }
        for (node, mark) in &self.marks {
            writer.mark(*node, mark);
        }
        writer.trace
    }
}

fn node_uuid(node: usize) -> u64 {
    0x100 + node as u64
}

/// A writer for the few messages of Perfetto's track-event format that are used here
/// (perfetto.dev/docs/reference/synthetic-track-event).
struct Perfetto {
    trace: Vec<u8>,
    tracks: Vec<(NodeId, Track)>,
}

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const COUNTER: u64 = 4;
const SEQUENCE: u64 = 1;

impl Perfetto {
    fn mark(&mut self, node: NodeId, mark: &Mark) {
        match *mark {
            Mark::Span { track, name, from, lasts } => {
                let uuid = self.track(node, track, false);
                self.event(from, SLICE_BEGIN, uuid, |e| bytes_field(e, 23, name.as_bytes()));
                self.event(from + lasts, SLICE_END, uuid, |_| {});
            }
            Mark::Level { track, at, value } => {
                let uuid = self.track(node, track, true);
                self.event(at, COUNTER, uuid, |e| varint_field(e, 30, value));
            }
        }
    }

    fn track(&mut self, node: NodeId, track: Track, counter: bool) -> u64 {
        let known = self.tracks.iter().position(|t| *t == (node, track));
        let index = known.unwrap_or_else(|| {
            self.tracks.push((node, track));
            let index = self.tracks.len() - 1;
            self.descriptor(0x1_0000 + index as u64, Some(node_uuid(node.0 as usize)), track.0, counter);
            index
        });
        0x1_0000 + index as u64
    }

    fn descriptor(&mut self, uuid: u64, parent: Option<u64>, name: &str, counter: bool) {
        let mut d = Vec::new();
        varint_field(&mut d, 1, uuid);
        bytes_field(&mut d, 2, name.as_bytes());
        if let Some(parent) = parent {
            varint_field(&mut d, 5, parent);
        }
        if counter {
            bytes_field(&mut d, 8, &[]);
        }
        let mut packet = Vec::new();
        bytes_field(&mut packet, 60, &d);
        bytes_field(&mut self.trace, 1, &packet);
    }

    fn event(&mut self, at: Time, kind: u64, track: u64, more: impl FnOnce(&mut Vec<u8>)) {
        let mut e = Vec::new();
        varint_field(&mut e, 9, kind);
        varint_field(&mut e, 11, track);
        more(&mut e);
        let mut packet = Vec::new();
        varint_field(&mut packet, 8, at.ps());
        varint_field(&mut packet, 10, SEQUENCE);
        bytes_field(&mut packet, 11, &e);
        bytes_field(&mut self.trace, 1, &packet);
    }
}

fn varint(out: &mut Vec<u8>, mut v: u64) {
    while v >= 0x80 {
        out.push(v as u8 | 0x80);
        v >>= 7;
    }
    out.push(v as u8);
}

fn varint_field(out: &mut Vec<u8>, field: u64, v: u64) {
    varint(out, field << 3);
    varint(out, v);
}

fn bytes_field(out: &mut Vec<u8>, field: u64, bytes: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}
