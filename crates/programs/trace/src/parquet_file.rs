//! Traces as Parquet: one row a record, thread after thread; readable with DuckDB, polars and pandas.

use crate::about::About;
use crate::error::TraceError;
use crate::file::SUMMARY;
use crate::record::{KINDS, Kind, Record, Trace};
use crate::tables::column;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::collections::BTreeMap;
use std::io::Write;
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

pub(crate) const COLUMNS: [&str; 8] =
    ["thread", "kind", "size", "address", "value", "stamp", "location", "instructions"];
/// A group is in memory while it is written.
const ROWS_PER_GROUP: usize = 1 << 18;
/// A page of each column is in memory for each thread that is read.
const ROWS_PER_PAGE: usize = 1 << 13;

/// Who wrote the file: where it is another, what is said of the rows may be of others.
pub(crate) const WRITER: &str = "coreplane";

/// Whether the bytes begin as Parquet does.
pub fn is_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PAR1")
}

/// Writes a trace as Parquet, a group of rows in memory at a time.
pub(crate) struct ParquetWriter<W: Write + Send> {
    file: SerializedFileWriter<W>,
    rows: Vec<Record>,
}

impl<W: Write + Send> ParquetWriter<W> {
    /// Begins a file of which `summary` says what it will hold.
    pub(crate) fn new(
        out: W,
        about: &About,
        summary: Option<String>,
    ) -> Result<ParquetWriter<W>, TraceError> {
        let summary = summary.map(|text| KeyValue::new(format!("coreplane.{SUMMARY}"), text));
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(Default::default()))
            .set_dictionary_enabled(false)
            .set_encoding(Encoding::BYTE_STREAM_SPLIT)
            .set_data_page_row_count_limit(ROWS_PER_PAGE)
            .set_write_batch_size(ROWS_PER_PAGE)
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_created_by(WRITER.into())
            .set_key_value_metadata(Some(texts(about).into_iter().chain(summary).collect()))
            .build();
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        let file = SerializedFileWriter::new(out, schema, Arc::new(properties))?;
        Ok(ParquetWriter { file, rows: Vec::new() })
    }

    /// All records of the next thread.
    pub(crate) fn thread(&mut self, records: impl Iterator<Item = Record>) -> Result<(), TraceError> {
        for record in records {
            self.rows.push(record);
            if self.rows.len() == ROWS_PER_GROUP {
                self.group()?;
            }
        }
        Ok(())
    }

    /// Ends the file.
    pub(crate) fn finish(mut self) -> Result<W, TraceError> {
        if !self.rows.is_empty() {
            self.group()?;
        }
        Ok(self.file.into_inner()?)
    }

    fn group(&mut self) -> Result<(), TraceError> {
        units::watch::check();
        let mut group = self.file.next_row_group()?;
        let rows = &self.rows;
        let narrow = |f: &dyn Fn(&Record) -> u32| rows.iter().map(|r| f(r) as i32).collect::<Vec<_>>();
        let wide = |f: &dyn Fn(&Record) -> u64| rows.iter().map(|r| f(r) as i64).collect::<Vec<_>>();
        column::<Int32Type, _>(&mut group, &narrow(&|r| r.thread.into()))?;
        column::<Int32Type, _>(&mut group, &narrow(&|r| r.kind as u32))?;
        column::<Int32Type, _>(&mut group, &narrow(&|r| r.size.into()))?;
        column::<Int64Type, _>(&mut group, &wide(&|r| r.address))?;
        column::<Int64Type, _>(&mut group, &wide(&|r| r.value))?;
        column::<Int32Type, _>(&mut group, &narrow(&|r| r.stamp))?;
        column::<Int32Type, _>(&mut group, &narrow(&|r| r.location))?;
        column::<Int32Type, _>(&mut group, &narrow(&|r| r.instructions))?;
        group.close()?;
        self.rows.clear();
        Ok(())
    }
}

/// Texts as metadata. A key that may come more than once has a number behind it: readers make dictionaries of them.
fn texts(about: &About) -> Vec<KeyValue> {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let numbered = about.texts().into_iter().map(|(key, value)| {
        let nth = seen.entry(key).or_default();
        *nth += 1;
        let name = if matches!(key, "source" | "lacks" | "pages" | "locations" | "program" | "bias") {
            format!("coreplane.{key}")
        } else {
            format!("coreplane.{key}.{nth}")
        };
        KeyValue::new(name, value)
    });
    let kinds = KeyValue::new("coreplane.kinds".into(), KINDS.map(Kind::name).join(" "));
    numbered.chain([kinds]).collect()
}

/// A Parquet file of a trace.
///
/// # Errors
/// When Parquet cannot be written, for want of memory.
pub fn write_parquet(trace: &Trace) -> Result<Vec<u8>, TraceError> {
    let mut writer = ParquetWriter::new(Vec::new(), &trace.about, None)?;
    for records in &trace.threads {
        writer.thread(records.iter().copied())?;
    }
    writer.finish()
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
