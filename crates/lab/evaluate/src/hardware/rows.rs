//! The published tables, row by row (`validation/hardware`).

/// The machine that stands for the host of the measurements.
pub(super) const MACHINE: &str = "optane";
const BANDWIDTH: &str = include_str!("../../../../../validation/hardware/optane-bandwidth.csv");
const FLUSH: &str = include_str!("../../../../../validation/hardware/optane-flush.csv");
const ALIGNMENT: &str = include_str!("../../../../../validation/hardware/optane-alignment.csv");
const FIGURES: &str = include_str!("../../../../../validation/hardware/optane-figures.csv");

/// Repeated runs of a row that differ by more than this share of their median say little.
const MOST_SPREAD: f64 = 0.25;
/// Rows below, in MiB/s, are of runs that ended at once.
const LEAST_MIB_PER_S: f64 = 50.0;
/// The unit of the tables: every second the program that measured told the bytes of all threads in these. Rates of threads, in
/// whole batches, are multiples of 6.4 for that reason.
pub(super) const MIB: f64 = 1_048_576.0;
/// The unit of the published figures, by which bandwidths stand there that the tables have too: 6,668.8 is 6.51.
pub(super) const GIB: f64 = 1024.0 * MIB;
/// Seconds of a run, as the program's scripts have it.
const RUN_S: f64 = 5.0;
/// Bytes after which a thread looks whether it is to stop. Only then what it has done since it looked last is counted, so that of
/// a run's bytes those of a batch that it did not end are missing.
const BATCH: u64 = 32 << 20;
/// The batches of the flush table are a fourth of that, or an access, and those of which DIMMs a thread has so many accesses.
const FLUSH_SHARE: u64 = 4;
const ALIGNMENT_BATCH: u64 = 4096;
/// Bytes of a thread's region, to whose end strides go.
const REGION: u64 = 2 << 30;
/// Runs of which DIMMs a thread has were fenced after each access where there were more threads: an access of a line took an idle
/// read, and one of four no longer.
const UNFENCED_THREADS: u64 = 6;
/// The same of runs of loads one after the other on six DIMMs with so many threads: 64 bytes took each thread 207 ns there, 128
/// bytes 280 and 256 bytes 397, with ten threads as with 24, and a tenth of that with one more or one less.
const FENCED_THREADS: [u64; 9] = [6, 10, 12, 14, 18, 20, 22, 23, 24];

/// A thread has 2 GiB of its own.
const OWN: &str = "own";

/// What a row may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Fit,
    Test,
}

impl Part {
    pub(super) fn name(self) -> &'static str {
        match self {
            Part::Fit => "fit",
            Part::Test => "test",
        }
    }
}

/// A measured bandwidth.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) operation: &'static str,
    pub(super) pattern: &'static str,
    pub(super) access: u64,
    pub(super) stride: u64,
    pub(super) clwb: u64,
    pub(super) fence: u64,
    /// Which pages a thread has.
    pub(super) region: &'static str,
    pub(super) threads: u64,
    pub(super) dimms: u64,
    pub(super) mib_per_s: f64,
    pub(super) part: Part,
    /// Bytes of a thread that were counted at once; none where a value is no single run's.
    batch: Option<u64>,
}

/// A point of a published figure.
pub(super) struct Point {
    pub(super) series: &'static str,
    pub(super) row: Row,
}

impl Row {
    /// A name of its own.
    pub(super) fn name(&self) -> String {
        let Row { operation, pattern, access, stride, clwb, fence, region, threads, dimms, .. } = self;
        format!(
            "{operation} {pattern} {access}/{stride} clwb {clwb} fence {fence}, {threads} threads, {dimms} DIMMs, pages {region}"
        )
    }

    /// MiB/s that the program tells where memory moves so many bytes in a second: those of whole batches of each thread.
    pub(super) fn told(&self, bytes_per_s: f64) -> f64 {
        let of_run = bytes_per_s * RUN_S / self.threads as f64;
        let counted =
            self.batch.map_or(of_run, |batch| (of_run / batch as f64).floor().max(1.0) * batch as f64);
        counted * self.threads as f64 / RUN_S / MIB
    }

    /// What it sets.
    pub(super) fn sets(&self) -> Vec<(&'static str, String)> {
        vec![
            ("memory.dimms", self.dimms.to_string()),
            ("workload.operation", self.operation.to_string()),
            ("workload.pattern", self.pattern.to_string()),
            ("workload.access_size", self.access.to_string()),
            ("workload.stride", self.stride.to_string()),
            ("workload.clwb_size", self.clwb.to_string()),
            ("workload.fence_size", self.fence.to_string()),
            ("workload.region", self.region.to_string()),
        ]
    }
}

/// Every row that is compared: those that measure the memory, and whose repetitions agree.
pub(super) fn all() -> Vec<Row> {
    let bandwidth = records(BANDWIDTH).filter_map(|r| bandwidth_row(&r));
    let flush = records(FLUSH).filter_map(|r| flush_row(&r));
    bandwidth.chain(flush).filter(|row| row.mib_per_s >= LEAST_MIB_PER_S).collect()
}

/// Every row that says which DIMMs a thread has.
pub(super) fn alignments() -> Vec<Row> {
    records(ALIGNMENT)
        .filter_map(|r| alignment_row(&r))
        .filter(|row| row.mib_per_s >= LEAST_MIB_PER_S)
        .collect()
}

/// Bandwidth of one DIMM by threads.
pub(super) fn by_threads() -> Vec<Point> {
    points("threads-1dimm", |series, threads| {
        let operation = if series == "read" { "load" } else { series };
        let wanted = [1, 2, 3, 4, 6, 8, 12, 16, 24].contains(&threads);
        wanted.then_some((operation, [4096, 0, 0, threads]))
    })
}

/// Bandwidth of one thread on one DIMM by the bytes that it stores between two fences.
pub(super) fn by_fences() -> Vec<Point> {
    points("bandwidth-by-fence-interval", |series, bytes| {
        let (operation, clwb) = match series {
            "ntstore" => ("ntstore", 0),
            "clwb at the end" => ("store+clwb", bytes),
            _ => ("store+clwb", 0),
        };
        let wanted = [64, 128, 256, 512, 4096].contains(&bytes);
        wanted.then_some((operation, [bytes, clwb, bytes, 1]))
    })
}

/// A point of the figure about the two sockets.
#[derive(Clone, Debug)]
pub(super) struct Mixed {
    /// Reads and writes, as the figure has them.
    pub(super) mix: &'static str,
    /// Reads to each write; none where nothing is written.
    pub(super) reads_per_store: Option<u64>,
    pub(super) is_remote: bool,
    pub(super) threads: u64,
    pub(super) gib_per_s: f64,
}

/// Bandwidth of six DIMMs of the own socket and of the other, by reads and writes.
pub(super) fn mixes() -> Vec<Mixed> {
    records(FIGURES).filter(|r| r.text("figure") == Some("numa-mix")).filter_map(|r| mixed(&r)).collect()
}

fn mixed(r: &Record<'static>) -> Option<Mixed> {
    let (socket, threads) = r.text("series")?.split_once('-')?;
    let mix = r.text("x")?;
    let reads_per_store = match mix {
        "R" => None,
        "W" => Some(0),
        both => Some(both.strip_prefix("R:W (")?.strip_suffix(":1)")?.parse().ok()?),
    };
    let (is_remote, threads) = (socket == "remote", threads.parse().ok()?);
    Some(Mixed { mix, reads_per_store, is_remote, threads, gib_per_s: r.real("value")? })
}

/// Values of a figure's series by their places on its axis.
pub(super) fn values(figure: &str, series: &str) -> Vec<(u64, f64)> {
    let wanted = |r: &Record<'_>| r.text("figure") == Some(figure) && r.text("series") == Some(series);
    records(FIGURES).filter(wanted).filter_map(|r| Some((r.number("x")?, r.real("value")?))).collect()
}

/// Points of a figure of one DIMM, one access after the other: what a series and a place on the axis are, operation, and bytes of an
/// access, before a flush and before a fence, and threads.
fn points(figure: &str, of: impl Fn(&'static str, u64) -> Option<(&'static str, [u64; 4])>) -> Vec<Point> {
    let point = |r: Record<'static>| {
        let series = r.text("series")?;
        let (operation, [access, clwb, fence, threads]) = of(series, r.number("x")?)?;
        let (pattern, part) = ("stride", Part::Test);
        let mib_per_s = r.real("value")? * GIB / MIB;
        let region = OWN;
        let row = Row {
            operation,
            pattern,
            access,
            stride: access,
            clwb,
            fence,
            region,
            threads,
            dimms: 1,
            mib_per_s,
            part,
            batch: None,
        };
        Some(Point { series, row })
    };
    records(FIGURES).filter(|r| r.text("figure") == Some(figure)).filter_map(point).collect()
}

fn bandwidth_row(r: &Record<'static>) -> Option<Row> {
    let pattern = r.text("pattern")?;
    let stride = r.number("stride_size")?;
    if pattern == "stride" && stride == 0 {
        // One place again and again: that measures a cache.
        return None;
    }
    let row = r.row(r.operation()?, pattern, stride, [0, 0])?;
    let of_loads = row.operation == "load" && row.dimms == 6 && stride == row.access;
    let is_fenced = of_loads && FENCED_THREADS.contains(&row.threads);
    // A batch ends with the region, too, in which it has the places of its accesses.
    let most = REGION.checked_div(stride).unwrap_or(u64::MAX);
    let batch = Some((BATCH / row.access).min(most) * row.access);
    Some(Row { fence: if is_fenced { row.access } else { 0 }, batch, ..row })
}

/// Accesses at random within what a thread has; DIMMs that do not take turns are a page's too, since no access is longer.
fn alignment_row(r: &Record<'static>) -> Option<Row> {
    let kind = r.number("alloc_type")?;
    let region = match kind {
        0 | 5 => "shared",
        1 => OWN,
        2 | 6 => "dimm",
        3 => "controller",
        4 => "channels",
        _ => return None,
    };
    let is_fenced = kind < 5 && r.number("threads")? > UNFENCED_THREADS;
    let fence = if is_fenced { r.number("access_size")? } else { 0 };
    let row = r.row_on(6, r.operation()?, "random", 0, [0, fence])?;
    Some(Row { region, batch: Some(ALIGNMENT_BATCH * row.access), ..row })
}

/// Rows of `op` 1 are the same stores and flushes in accesses at random, as the program that measured says.
fn flush_row(r: &Record<'static>) -> Option<Row> {
    let sizes = [r.number("clwb_size")?, r.number("fence_size")?];
    let (pattern, stride) =
        if r.number("op")? == 1 { ("random", 0) } else { ("stride", r.number("access_size")?) };
    let row = r.row("store+clwb", pattern, stride, sizes)?;
    let batch = (BATCH / FLUSH_SHARE / row.access).max(1) * row.access;
    Some(Row { batch: Some(batch), ..row })
}

/// A line of a table, by its columns.
struct Record<'a>(Vec<(&'a str, &'a str)>);

fn records(table: &'static str) -> impl Iterator<Item = Record<'static>> {
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    lines.map(move |line| Record(columns.iter().copied().zip(line.split(',')).collect()))
}

impl<'a> Record<'a> {
    fn text(&self, column: &str) -> Option<&'a str> {
        self.0.iter().find(|(name, _)| *name == column).map(|(_, value)| *value)
    }

    fn number(&self, column: &str) -> Option<u64> {
        self.text(column)?.parse().ok()
    }

    fn real(&self, column: &str) -> Option<f64> {
        self.text(column)?.parse().ok()
    }

    fn operation(&self) -> Option<&'static str> {
        Some(match self.text("operation")? {
            "Load" => "load",
            "NTStore" => "ntstore",
            "Store" => "store",
            "Store+Flush" => "store+clwb",
            _ => return None,
        })
    }

    fn row(
        &self,
        operation: &'static str,
        pattern: &'static str,
        stride: u64,
        sizes: [u64; 2],
    ) -> Option<Row> {
        let dimms = if self.number("interleaving")? == 1 { 6 } else { 1 };
        self.row_on(dimms, operation, pattern, stride, sizes)
    }

    /// What the columns of all tables say; none where repetitions differ.
    fn row_on(
        &self,
        dimms: u64,
        operation: &'static str,
        pattern: &'static str,
        stride: u64,
        [clwb, fence]: [u64; 2],
    ) -> Option<Row> {
        let row = Row {
            operation,
            pattern,
            access: self.number("access_size")?,
            stride,
            clwb,
            fence,
            region: OWN,
            threads: self.number("threads")?,
            dimms,
            mib_per_s: self.real("mb_per_s")?,
            part: if self.text("part")? == "fit" { Part::Fit } else { Part::Test },
            batch: None,
        };
        (self.real("spread")? <= MOST_SPREAD).then_some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_does_of_a_batch_that_it_does_not_end_is_not_told() {
        let of = |batch| Row { batch, threads: 2, ..all().remove(0) };
        let [short, whole, more] = [31.0, 32.0, 47.9].map(|mib| 2.0 * mib * MIB / RUN_S);
        let told = |row: &Row| [short, whole, more].map(|rate| (row.told(rate) * 10.0).round() as u64);
        assert_eq!(told(&of(Some(BATCH))), [128; 3]);
        assert_eq!(told(&of(Some(BATCH / 2))), [64, 128, 128]);
        assert_eq!(told(&of(None)), [124, 128, 192]);
    }

    #[test]
    fn runs_of_many_slow_threads_are_of_few_batches() {
        let slow = |row: &&Row| row.threads > 22 && row.mib_per_s < 30.0 * row.threads as f64;
        let rows = all();
        let of_batches = |row: &Row| row.mib_per_s / row.threads as f64 * RUN_S * MIB / BATCH as f64;
        let all: Vec<f64> = rows.iter().filter(slow).map(of_batches).collect();
        let whole = all.iter().filter(|n| (*n - n.round()).abs() < 0.02).count();
        assert!(whole * 5 > all.len() * 3, "{whole} of {}", all.len());
    }
}
