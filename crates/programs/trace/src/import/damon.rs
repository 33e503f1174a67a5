//! DAMON: regions of memory, and in how many of an interval's samples each was found accessed. Read as `damo record` keeps
//! it (JSON, packed with zlib or not) and as text (`perf script`, the file type `perf_script` of damo).
//!
//! A region of which `n` samples were accesses becomes `n` loads of each of its pages, between those of the other
//! regions: of as many rounds as the busiest region has samples, every region takes its share, evenly.

use super::{Sink, packed, plain, short, text};
use crate::error::TraceError;
use crate::record::{Kind, Record};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use std::io::BufRead;

const PAGE: u64 = 4096;
/// Targets, each with addresses of its own: 52 bits of them.
const MOST_TARGETS: usize = 1 << 10;
const TARGET_SHIFT: u32 = 52;
/// Regions of an interval, and samples of it.
const MOST_REGIONS: usize = 1 << 16;
const MOST_SAMPLES: u64 = 1 << 12;

#[derive(Clone, Copy)]
struct Region {
    start: u64,
    end: u64,
    samples: u64,
}

pub(super) fn read(input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let input = &mut *packed::inflated(input)?;
    if matches!(input.fill_buf()?.iter().find(|b| !b.is_ascii_whitespace()), Some(b'[' | b'{')) {
        return json(input, sink);
    }
    lines(input, sink)
}

/// What one interval says of a target.
fn interval(target: usize, regions: &[Region], sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let bad = |text: String| Err(TraceError::unfit(text));
    if target >= MOST_TARGETS {
        return bad(format!("more than {MOST_TARGETS} targets"));
    }
    if regions.len() > MOST_REGIONS {
        return bad(format!("an interval with {} regions", regions.len()));
    }
    let rounds = regions.iter().filter(|r| r.start < r.end).map(|r| r.samples).max().unwrap_or(0);
    let broken = |r: &&Region| r.end < r.start || r.end >> TARGET_SHIFT > 0 || r.samples > MOST_SAMPLES;
    if let Some(r) = regions.iter().find(broken) {
        return bad(format!("a region from {} to {} with {} accesses", r.start, r.end, r.samples));
    }
    for round in 0..rounds {
        let share = |r: &&Region| (round + 1) * r.samples / rounds > round * r.samples / rounds;
        for region in regions.iter().filter(share) {
            for page in region.start / PAGE..region.end.div_ceil(PAGE) {
                let address = ((target as u64) << TARGET_SHIFT) | (page * PAGE);
                sink(Record { size: 8, thread: target as u16, ..plain(Kind::Load, address) })?;
            }
        }
    }
    Ok(())
}

/// Lines such as `kdamond.0 45 [000] 8.3: damon:damon_aggregated: target_id=1 nr_regions=2 4096-8192: 3 0`, one a region.
fn lines(input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let (mut targets, mut open): (Vec<u64>, Option<Open>) = (Vec::new(), None);
    text::lines(input, &mut |number, line| {
        let Some((_, event)) = line.split_once("damon_aggregated:") else { return Ok(()) };
        let bad = || {
            let text =
                format!("\"{}\" is not `target_id=N nr_regions=N START-END: ACCESSES`", short(event.trim()));
            TraceError::line(number, text)
        };
        let (id, expected, region) = line_fields(event).ok_or_else(bad)?;
        if open.as_ref().is_some_and(|o| o.id != id)
            && let Some(cut) = open.take()
        {
            cut.give(&mut targets, sink)?;
        }
        let interval = open.get_or_insert_with(|| Open { id, expected, regions: Vec::new() });
        interval.regions.push(region);
        if interval.regions.len() >= interval.expected.min(MOST_REGIONS)
            && let Some(whole) = open.take()
        {
            whole.give(&mut targets, sink)?;
        }
        Ok(())
    })?;
    open.map_or(Ok(()), |cut| cut.give(&mut targets, sink))
}

/// An interval of which regions are still to come.
struct Open {
    id: u64,
    expected: usize,
    regions: Vec<Region>,
}

impl Open {
    fn give(self, targets: &mut Vec<u64>, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        let known = targets.iter().position(|id| *id == self.id);
        let target = known.unwrap_or(targets.len());
        if known.is_none() {
            targets.push(self.id);
        }
        interval(target, &self.regions, sink)
    }
}

fn line_fields(event: &str) -> Option<(u64, usize, Region)> {
    let mut words = event.split_whitespace();
    let id = words.next()?.strip_prefix("target_id=")?.parse().ok()?;
    let expected = words.next()?.strip_prefix("nr_regions=")?.parse().ok()?;
    let (start, end) = words.next()?.strip_suffix(':')?.split_once('-')?;
    let accesses: i64 = words.next()?.parse().ok()?;
    let region = Region {
        start: start.parse().ok()?,
        end: end.parse().ok()?,
        samples: accesses.try_into().unwrap_or(0),
    };
    Some((id, expected, region))
}

/// A list of targets, an interval of one in memory at a time.
fn json(input: &mut dyn BufRead, sink: &mut Sink<'_>) -> Result<(), TraceError> {
    let mut out = Out { sink, target: 0, failed: None };
    let mut reader = serde_json::Deserializer::from_reader(input);
    let done = reader.deserialize_seq(List(&mut out)).and_then(|()| reader.end());
    match (out.failed, done) {
        (Some(failed), _) => Err(failed),
        (None, Err(e)) => Err(TraceError::foreign(format!("not what damo record keeps: {e}"))),
        (None, Ok(())) => Ok(()),
    }
}

struct Out<'o, 's> {
    sink: &'o mut Sink<'s>,
    target: usize,
    failed: Option<TraceError>,
}

/// The targets.
struct List<'a, 'o, 's>(&'a mut Out<'o, 's>);
/// One of them.
struct Target<'a, 'o, 's>(&'a mut Out<'o, 's>);
/// Its intervals.
struct Intervals<'a, 'o, 's>(&'a mut Out<'o, 's>);

impl<'de> Visitor<'de> for List<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of targets")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Target(&mut *self.0))?.is_some() {
            self.0.target += 1;
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Target<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Target<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a target with snapshots")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut any = false;
        while let Some(key) = map.next_key::<String>()? {
            if key == "snapshots" {
                any = true;
                map.next_value_seed(Intervals(&mut *self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if any { Ok(()) } else { Err(Error::missing_field("snapshots")) }
    }
}

impl<'de> DeserializeSeed<'de> for Intervals<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Intervals<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of snapshots")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some(snapshot) = seq.next_element::<Snapshot>()? {
            let regions: Vec<Region> = snapshot.regions.into_iter().map(RegionText::region).collect();
            if let Err(e) = interval(self.0.target, &regions, self.0.sink) {
                self.0.failed = Some(e);
                return Err(A::Error::custom("an interval"));
            }
        }
        Ok(())
    }
}

#[derive(Deserialize)]
struct Snapshot {
    regions: Vec<RegionText>,
}

#[derive(Deserialize)]
struct RegionText {
    #[serde(deserialize_with = "number")]
    start: u64,
    #[serde(deserialize_with = "number")]
    end: u64,
    nr_accesses: Accesses,
}

#[derive(Deserialize)]
struct Accesses {
    samples: Option<i64>,
}

impl RegionText {
    fn region(self) -> Region {
        let samples = self.nr_accesses.samples.unwrap_or(0).try_into().unwrap_or(0);
        Region { start: self.start, end: self.end, samples }
    }
}

/// A number, or a text of one with commas between thousands.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    struct Number;
    impl Visitor<'_> for Number {
        type Value = u64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number")
        }

        fn visit_u64<E: Error>(self, value: u64) -> Result<u64, E> {
            Ok(value)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
            text.replace(',', "").parse().map_err(|_| E::custom(format!("\"{}\" is no number", short(text))))
        }
    }
    from.deserialize_any(Number)
}
