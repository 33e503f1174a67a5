//! Traces as Parquet: one row a record, thread after thread; readable with DuckDB, polars and pandas.

use crate::about::About;
use crate::error::TraceError;
use crate::record::{Kind, Record, Trace};
use crate::tables::column;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{DataType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::collections::BTreeMap;
use std::sync::Arc;

const SCHEMA: &str = "message trace {
  required int32 thread (INTEGER(16,false));
  required int32 kind (INTEGER(8,false));
  required int32 size (INTEGER(8,false));
  required int64 address (INTEGER(64,false));
  required int64 value (INTEGER(64,false));
  required int32 stamp (INTEGER(32,false));
  required int32 location (INTEGER(32,false));
  required int32 instructions (INTEGER(32,false));
}";

const COLUMNS: [&str; 8] =
    ["thread", "kind", "size", "address", "value", "stamp", "location", "instructions"];
const ROWS_PER_GROUP: usize = 1 << 20;

/// Whether the bytes begin as Parquet does.
pub fn is_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PAR1")
}

/// A Parquet file of a trace.
///
/// # Errors
/// When Parquet cannot be written, for want of memory.
pub fn write_parquet(trace: &Trace) -> Result<Vec<u8>, TraceError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let about = texts(&trace.about);
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(Default::default()))
        .set_dictionary_enabled(false)
        .set_encoding(Encoding::BYTE_STREAM_SPLIT)
        .set_key_value_metadata(Some(about))
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let all: Vec<&Record> = trace.records().collect();
    for chunk in all.chunks(ROWS_PER_GROUP) {
        let mut group = file.next_row_group()?;
        let narrow = |f: &dyn Fn(&Record) -> u32| chunk.iter().map(|r| f(r) as i32).collect::<Vec<_>>();
        let wide = |f: &dyn Fn(&Record) -> u64| chunk.iter().map(|r| f(r) as i64).collect::<Vec<_>>();
        column::<Int32Type, _>(&mut group, &narrow(&|r| r.thread.into()))?;
        column::<Int32Type, _>(&mut group, &narrow(&|r| r.kind as u32))?;
        column::<Int32Type, _>(&mut group, &narrow(&|r| r.size.into()))?;
        column::<Int64Type, _>(&mut group, &wide(&|r| r.address))?;
        column::<Int64Type, _>(&mut group, &wide(&|r| r.value))?;
        column::<Int32Type, _>(&mut group, &narrow(&|r| r.stamp))?;
        column::<Int32Type, _>(&mut group, &narrow(&|r| r.location))?;
        column::<Int32Type, _>(&mut group, &narrow(&|r| r.instructions))?;
        group.close()?;
    }
    Ok(file.into_inner()?)
}

/// Texts as metadata. A key that may come more than once has a number behind it: readers make dictionaries of them.
fn texts(about: &About) -> Vec<KeyValue> {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let numbered = about.texts().into_iter().map(|(key, value)| {
        let nth = seen.entry(key).or_default();
        *nth += 1;
        let name = if matches!(key, "source" | "lacks" | "locations") {
            format!("coreplane.{key}")
        } else {
            format!("coreplane.{key}.{nth}")
        };
        KeyValue::new(name, value)
    });
    let kinds = KeyValue::new("coreplane.kinds".into(), crate::record::KINDS.map(Kind::name).join(" "));
    numbered.chain([kinds]).collect()
}

/// Reads a trace from Parquet.
///
/// # Errors
/// When the file is damaged, or its columns are not those of a trace.
pub fn read_parquet(bytes: Vec<u8>) -> Result<Trace, TraceError> {
    // The library asserts what a damaged file can break; nothing of it outlives the call.
    quietly(|| read_checked(bytes))
        .unwrap_or_else(|| Err(TraceError::foreign("its Parquet metadata contradict themselves")))
}

thread_local! {
    static QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Runs `work`; none when it panics, about which nothing is printed.
fn quietly<T>(work: impl FnOnce() -> T) -> Option<T> {
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
    result.ok()
}

fn read_checked(bytes: Vec<u8>) -> Result<Trace, TraceError> {
    let file = SerializedFileReader::new(Bytes::from(bytes))?;
    let about = file.metadata().file_metadata();
    let found: Vec<&str> = about.schema_descr().columns().iter().map(|c| c.name()).collect();
    if found != COLUMNS {
        let text =
            format!("its columns are {}; those of a trace are {}", found.join(", "), COLUMNS.join(", "));
        return Err(TraceError::foreign(text));
    }
    let mut trace = Trace::default();
    for pair in about.key_value_metadata().into_iter().flatten() {
        let value = pair.value.clone().unwrap_or_default();
        if let Some(key) = pair.key.strip_prefix("coreplane.") {
            trace.about.read(key.split('.').next().unwrap_or(key), &value)?;
        }
    }
    for index in 0..file.num_row_groups() {
        read_group(&*file.get_row_group(index)?, &mut trace)?;
    }
    Ok(trace)
}

fn read_group(group: &dyn RowGroupReader, trace: &mut Trace) -> Result<(), TraceError> {
    let rows = group.metadata().num_rows() as usize;
    let narrow = |index: usize| match group.get_column_reader(index)? {
        ColumnReader::Int32ColumnReader(r) => values(r, rows),
        _ => Err(TraceError::foreign(format!("column {} is not of 32 bits", COLUMNS[index]))),
    };
    let wide = |index: usize| match group.get_column_reader(index)? {
        ColumnReader::Int64ColumnReader(r) => values(r, rows),
        _ => Err(TraceError::foreign(format!("column {} is not of 64 bits", COLUMNS[index]))),
    };
    let (thread, kind, size) = (narrow(0)?, narrow(1)?, narrow(2)?);
    let (address, value) = (wide(3)?, wide(4)?);
    let (stamp, location, instructions) = (narrow(5)?, narrow(6)?, narrow(7)?);
    for i in 0..rows {
        let kind = u8::try_from(kind[i]).ok().and_then(Kind::from_number);
        let thread = u16::try_from(thread[i]).ok().filter(|t| *t < 4096);
        let size = u8::try_from(size[i]).ok().filter(|s| matches!(s, 1 | 2 | 4 | 8));
        let (Some(kind), Some(thread), Some(size)) = (kind, thread, size) else {
            return Err(TraceError::damaged(i, "a row with an unknown kind, thread or size"));
        };
        let (address, value) = (address[i] as u64, value[i] as u64);
        trace.push(Record {
            address,
            value,
            stamp: stamp[i] as u32,
            location: location[i] as u32,
            instructions: instructions[i] as u32,
            thread,
            kind,
            size,
        });
    }
    Ok(())
}

fn values<T: DataType>(mut reader: ColumnReaderImpl<T>, rows: usize) -> Result<Vec<T::T>, TraceError> {
    let mut all = Vec::new();
    while all.len() < rows {
        let (read, ..) = reader.read_records(rows - all.len(), None, None, &mut all)?;
        if read == 0 {
            return Err(TraceError::damaged(all.len(), "a column ends early"));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::any_record;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn parquet_comes_back_as_it_was(records in prop::collection::vec(any_record(2), 1..100)) {
            let mut t = Trace { about: crate::about::tests::sample(), ..Trace::default() };
            records.into_iter().for_each(|r| t.push(r));
            prop_assert_eq!(crate::read(write_parquet(&t).unwrap()).unwrap(), t);
        }

        #[test]
        fn damaged_parquet_is_refused_or_read(place in 0.0f64..1.0, byte: u8) {
            let mut t = Trace::default();
            t.push(Record { address: 1, value: 2, stamp: 0, location: 0, instructions: 0, thread: 0, kind: Kind::Store, size: 8 });
            let mut bytes = write_parquet(&t).unwrap();
            let at = (bytes.len() as f64 * place) as usize;
            bytes[at] = byte;
            _ = crate::read(bytes);
        }
    }
}
