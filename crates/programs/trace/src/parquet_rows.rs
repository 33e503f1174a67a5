//! Reads the rows of a Parquet file a thread at a time. Columns may stand in any order, be nullable or of other widths,
//! as polars, pandas and DuckDB write them; further columns are left alone.

use crate::error::TraceError;
use crate::file::Texts;
use crate::parquet_file::{COLUMNS, WRITER};
use crate::record::{Kind, Record, SIZES};
use crate::source::ReadAt;
use bytes::Bytes;
use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, FileReader, Length, RowGroupReader, SerializedFileReader};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};
use std::io::{BufReader, Read};
use std::panic::resume_unwind;
use std::sync::Arc;

/// Rows that are unpacked at once.
const BATCH: usize = 2048;

const THREAD: usize = 0;
const KIND: usize = 1;
const SIZE: usize = 2;
const STAMP: usize = 5;
/// The columns that may be absent: their values are 0.
const OPTIONAL: [&str; 2] = ["location", "instructions"];

#[derive(Clone)]
struct Chunks(Arc<dyn ReadAt>);

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.0.size()
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<From>;

    fn get_read(&self, start: u64) -> ParquetResult<BufReader<From>> {
        // Page headers are read this way: some dozens of bytes each.
        Ok(BufReader::with_capacity(512, From { source: Arc::clone(&self.0), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let left = self.0.size().saturating_sub(start);
        if length as u64 > left {
            let text = format!("{length} bytes at {start} of {}", self.0.size());
            return Err(parquet::errors::ParquetError::EOF(text));
        }
        let mut bytes = vec![0; length];
        self.0.read_at(start, &mut bytes)?;
        Ok(bytes.into())
    }
}

struct From {
    source: Arc<dyn ReadAt>,
    at: u64,
}

impl Read for From {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.source.size().saturating_sub(self.at).min(into.len() as u64) as usize;
        self.source.read_at(self.at, &mut into[..n])?;
        self.at += n as u64;
        Ok(n)
    }
}

/// Rows of one thread, perhaps with others between them, in one group.
struct Stretch {
    group: usize,
    first: usize,
    rows: usize,
}

/// A Parquet file, its rows found but not read.
pub(crate) struct Rows {
    file: SerializedFileReader<Chunks>,
    /// Which of the file's columns is which of ours.
    columns: [Option<usize>; 8],
    threads: Vec<Vec<Stretch>>,
}

impl Rows {
    /// Finds the rows of each thread.
    ///
    /// # Errors
    /// When the file is damaged, or its columns are not those of a trace.
    pub(crate) fn open(source: Box<dyn ReadAt>) -> Result<Rows, TraceError> {
        let file = SerializedFileReader::new(Chunks(Arc::from(source)))?;
        let columns = columns(file.metadata().file_metadata().schema_descr())?;
        let mut rows = Rows { file, columns, threads: Vec::new() };
        for group in 0..rows.file.num_row_groups() {
            rows.find(group)?;
        }
        Ok(rows)
    }

    /// The texts of a file that this program wrote, and how many rows it has; none where another wrote it.
    ///
    /// # Errors
    /// When its metadata are damaged.
    pub(crate) fn texts_alone(source: Box<dyn ReadAt>) -> Result<Option<(Texts, u64)>, TraceError> {
        let file = SerializedFileReader::new(Chunks(Arc::from(source)))?;
        let about = file.metadata().file_metadata();
        if about.created_by() != Some(WRITER) || columns(about.schema_descr()).is_err() {
            return Ok(None);
        }
        let count = file.metadata().row_groups().iter().map(|group| rows_of(group) as u64).sum();
        let rows = Rows { columns: [None; 8], threads: Vec::new(), file };
        let texts = rows.texts().map(|(key, value)| (key.into(), value.into())).collect();
        Ok(Some((texts, count)))
    }

    /// Keys and values of the metadata that are ours, without prefix and number.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.file.metadata().file_metadata().key_value_metadata().into_iter().flatten();
        pairs.filter_map(|pair| {
            let key = pair.key.strip_prefix("coreplane.")?;
            Some((key.split('.').next().unwrap_or(key), pair.value.as_deref().unwrap_or("")))
        })
    }

    /// How many threads there are: one more than the highest number.
    pub(crate) fn threads(&self) -> usize {
        self.threads.len()
    }

    /// How many records there are.
    pub(crate) fn records(&self) -> u64 {
        self.threads.iter().flatten().map(|stretch| stretch.rows as u64).sum()
    }

    fn find(&mut self, group: usize) -> Result<(), TraceError> {
        let total = rows_of(self.file.metadata().row_group(group));
        let mut column = self.column(&*self.file.get_row_group(group)?, THREAD)?;
        let (mut at, mut values) = (0, Vec::new());
        while at < total {
            values.clear();
            column.read(BATCH.min(total - at), &mut values)?;
            units::watch::check();
            for value in &values {
                let thread = Row(group, at).narrow::<u16>(*value, THREAD)? as usize;
                if thread >= self.threads.len() {
                    self.threads.resize_with(thread + 1, Vec::new);
                }
                match self.threads[thread].last_mut().filter(|s| s.group == group) {
                    Some(stretch) => stretch.rows = at + 1 - stretch.first,
                    None => self.threads[thread].push(Stretch { group, first: at, rows: 1 }),
                }
                at += 1;
            }
        }
        Ok(())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "all that are not of integers are refused alike")]
    fn column(&self, group: &dyn RowGroupReader, column: usize) -> Result<Column, TraceError> {
        let Some(index) = self.columns[column] else { return Ok(Column::Absent) };
        let descriptor = group.metadata().column(index).column_descr_ptr();
        let levels = (descriptor.max_def_level() > 0).then(Vec::new);
        let what = What { levels, signed: is_signed(&descriptor), column };
        match group.get_column_reader(index)? {
            ColumnReader::Int32ColumnReader(r) => Ok(Column::Narrow(what, r, Vec::new())),
            ColumnReader::Int64ColumnReader(r) => Ok(Column::Wide(what, r, Vec::new())),
            _ => Err(TraceError::foreign(format!("its column {} is not of integers", COLUMNS[column]))),
        }
    }
}

fn rows_of(group: &RowGroupMetaData) -> usize {
    usize::try_from(group.num_rows()).unwrap_or(0)
}

fn columns(schema: &SchemaDescriptor) -> Result<[Option<usize>; 8], TraceError> {
    let mut columns = [None; 8];
    for (column, name) in COLUMNS.into_iter().enumerate() {
        let found = schema.columns().iter().position(|c| c.path().string() == name);
        if found.is_none() && !OPTIONAL.contains(&name) {
            let found: Vec<&str> = schema.columns().iter().map(|c| c.name()).collect();
            let text = format!(
                "it has no column {name}: its columns are {}; those of a trace are {}",
                found.join(", "),
                COLUMNS.join(", ")
            );
            return Err(TraceError::foreign(text));
        }
        if let Some(index) = found {
            let descriptor = schema.column(index);
            if descriptor.max_rep_level() > 0
                || descriptor.max_def_level() > 1
                || !matches!(descriptor.physical_type(), Physical::INT32 | Physical::INT64)
            {
                return Err(TraceError::foreign(format!("its column {name} is not of integers")));
            }
        }
        columns[column] = found;
    }
    Ok(columns)
}

fn is_signed(column: &ColumnDescriptor) -> bool {
    use ConvertedType::{UINT_8, UINT_16, UINT_32, UINT_64};
    match column.logical_type_ref() {
        Some(LogicalType::Integer(int)) => int.is_signed,
        _ => !matches!(column.converted_type(), UINT_8 | UINT_16 | UINT_32 | UINT_64),
    }
}

struct What {
    /// Definition levels, where a value may be absent.
    levels: Option<Vec<i16>>,
    signed: bool,
    column: usize,
}

/// A column of a group that is being read; values are extended to 64 bits.
enum Column {
    Absent,
    Narrow(What, ColumnReaderImpl<Int32Type>, Vec<i32>),
    Wide(What, ColumnReaderImpl<Int64Type>, Vec<i64>),
}

impl Column {
    fn read(&mut self, rows: usize, into: &mut Vec<u64>) -> Result<(), TraceError> {
        match self {
            Column::Absent => into.resize(into.len() + rows, 0),
            Column::Narrow(what, reader, values) => {
                what.read(reader, rows, values)?;
                let signed = what.signed;
                into.extend(values.iter().map(|v| if signed { *v as u64 } else { *v as u32 as u64 }));
            }
            Column::Wide(what, reader, values) => {
                what.read(reader, rows, values)?;
                into.extend(values.iter().map(|v| *v as u64));
            }
        }
        Ok(())
    }

    fn skip(&mut self, rows: usize) -> Result<(), TraceError> {
        let skipped = match self {
            Column::Absent => rows,
            Column::Narrow(_, reader, _) => reader.skip_records(rows)?,
            Column::Wide(_, reader, _) => reader.skip_records(rows)?,
        };
        if skipped == rows { Ok(()) } else { Err(TraceError::damaged(skipped, "a column ends early")) }
    }
}

impl What {
    fn read<T: DataType>(
        &mut self,
        reader: &mut ColumnReaderImpl<T>,
        rows: usize,
        values: &mut Vec<T::T>,
    ) -> Result<(), TraceError> {
        values.clear();
        if let Some(levels) = &mut self.levels {
            levels.clear();
        }
        let mut done = 0;
        while done < rows {
            let (read, ..) = reader.read_records(rows - done, self.levels.as_mut(), None, values)?;
            if read == 0 {
                return Err(TraceError::damaged(done, "a column ends early"));
            }
            done += read;
        }
        if values.len() != rows {
            return Err(TraceError::foreign(format!("its column {} has nulls", COLUMNS[self.column])));
        }
        Ok(())
    }
}

/// A group and one of its rows.
#[derive(Clone, Copy)]
struct Row(usize, usize);

impl Row {
    fn narrow<T: TryFrom<u64>>(self, value: u64, column: usize) -> Result<T, TraceError> {
        T::try_from(value).map_err(|_| self.unfit(value, column))
    }

    fn unfit(self, value: u64, column: usize) -> TraceError {
        let Row(group, row) = self;
        TraceError::unfit(format!("row {row} of group {group}: {} is {value}", COLUMNS[column]))
    }

    fn of_no_size(self, bytes: u64, kind: Kind) -> TraceError {
        let (Row(group, row), kind) = (self, kind.name());
        TraceError::unfit(format!("row {row} of group {group}: the size of a {kind} is {bytes}; {SIZES}"))
    }
}

/// Reads the records of one thread, a batch in memory at a time.
#[derive(Default)]
pub(crate) struct RowCursor {
    thread: u16,
    next: usize,
    columns: Vec<Column>,
    /// Rows of the stretch that are not read.
    left: usize,
    /// The batch: its group and rows, which row of its group is the first, and which is next.
    group: usize,
    batch: [Vec<u64>; 8],
    first: usize,
    at: usize,
}

impl RowCursor {
    pub(crate) fn new(thread: u16) -> RowCursor {
        RowCursor { thread, ..RowCursor::default() }
    }

    pub(crate) fn next(&mut self, file: &Rows) -> Result<Option<Record>, TraceError> {
        loop {
            while self.at < self.batch[THREAD].len() {
                self.at += 1;
                if self.batch[THREAD][self.at - 1] == u64::from(self.thread) {
                    return self.record(self.at - 1).map(Some);
                }
            }
            if self.left > 0 {
                self.load()?;
                continue;
            }
            let Some(stretch) = file.threads.get(self.thread as usize).and_then(|t| t.get(self.next)) else {
                *self = RowCursor { next: usize::MAX, ..RowCursor::new(self.thread) };
                return Ok(None);
            };
            self.next += 1;
            self.open(file, stretch)?;
        }
    }

    fn open(&mut self, file: &Rows, stretch: &Stretch) -> Result<(), TraceError> {
        let group = file.file.get_row_group(stretch.group)?;
        self.columns.clear();
        for column in 0..COLUMNS.len() {
            let mut column = file.column(&*group, column)?;
            column.skip(stretch.first)?;
            self.columns.push(column);
        }
        self.batch.iter_mut().for_each(Vec::clear);
        (self.group, self.left) = (stretch.group, stretch.rows);
        (self.first, self.at) = (stretch.first, 0);
        Ok(())
    }

    fn load(&mut self) -> Result<(), TraceError> {
        let rows = self.left.min(BATCH);
        self.first += self.batch[THREAD].len();
        for (column, values) in self.columns.iter_mut().zip(&mut self.batch) {
            values.clear();
            column.read(rows, values)?;
        }
        self.left -= rows;
        self.at = 0;
        Ok(())
    }

    fn record(&self, i: usize) -> Result<Record, TraceError> {
        let row = Row(self.group, self.first + i);
        let value = |column: usize| self.batch[column][i];
        let kind = u8::try_from(value(KIND)).ok().and_then(Kind::from_number);
        let kind = kind.ok_or_else(|| row.unfit(value(KIND), KIND))?;
        // Where nothing is read or written, a table may say so.
        let bytes = if kind.is_access() { value(SIZE) } else { value(SIZE).max(1) };
        let size = u8::try_from(bytes).ok().filter(|s| matches!(s, 1 | 2 | 4 | 8));
        Ok(Record {
            address: value(3),
            value: value(4),
            stamp: row.narrow(value(STAMP), STAMP)?,
            location: row.narrow(value(6), 6)?,
            instructions: row.narrow(value(7), 7)?,
            thread: self.thread,
            kind,
            size: size.ok_or_else(|| row.of_no_size(bytes, kind))?,
        })
    }
}

thread_local! {
    static QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs `work`; none when it panics, about which nothing is printed. The library asserts what a damaged file can
/// break; nothing of it outlives the call.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: std::sync::Once = std::sync::Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
    QUIET.set(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    QUIET.set(false);
    // Work that was asked to stop unwinds too.
    result
        .map_err(|payload| {
            if units::watch::stopped_by(&*payload) {
                resume_unwind(payload)
            }
        })
        .ok()
}
