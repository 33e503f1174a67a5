//! Files of what changed: Parquet, and the binary log of the artifact that came with the follow-up work (KTracker).

use crate::{Error, Report, Window};
use parquet::basic::Compression;
use parquet::data_type::{DataType, DoubleType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// A file's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One row a dirty page and window.
    Parquet,
    /// For each window its number and its count of dirty pages, then each page's address and line bitmap: all u64.
    KTracker,
}

const SCHEMA: &str = "message track {
  required int32 window (INTEGER(32,false));
  required double start_s;
  required double end_s;
  required int64 address (INTEGER(64,false));
  required int64 lines (INTEGER(64,false));
  required int32 bytes (INTEGER(32,false));
  required int32 process;
}";

/// The bytes of a file with every dirty page of a report.
///
/// # Errors
/// When Parquet cannot be written, for want of memory.
pub fn save(report: &Report, format: Format) -> Result<Vec<u8>, Error> {
    match format {
        Format::KTracker => Ok(ktracker(&report.windows)),
        Format::Parquet => table(report).map_err(|e| Error(format!("Parquet: {e}"))),
    }
}

fn ktracker(windows: &[Window]) -> Vec<u8> {
    let words = windows.iter().zip(0u64..).flat_map(|(window, number)| {
        let head = [number, window.pages_dirty.len() as u64];
        head.into_iter().chain(window.pages_dirty.iter().flat_map(|p| [p.page * 4096, p.lines]))
    });
    words.flat_map(u64::to_le_bytes).collect()
}

fn table(report: &Report) -> Result<Vec<u8>, parquet::errors::ParquetError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let about = vec![
        KeyValue::new("coreplane.dirty".into(), "content difference per window".to_string()),
        KeyValue::new("coreplane.mechanism".into(), report.mechanism.name().to_string()),
    ];
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(Default::default()))
        .set_key_value_metadata(Some(about))
        .build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    for (number, window) in report.windows.iter().enumerate() {
        let pages = &window.pages_dirty;
        let mut group = file.next_row_group()?;
        column::<Int32Type>(&mut group, &vec![number as i32; pages.len()])?;
        column::<DoubleType>(&mut group, &vec![window.start_s; pages.len()])?;
        column::<DoubleType>(&mut group, &vec![window.end_s; pages.len()])?;
        column::<Int64Type>(&mut group, &pages.iter().map(|p| (p.page * 4096) as i64).collect::<Vec<_>>())?;
        column::<Int64Type>(&mut group, &pages.iter().map(|p| p.lines as i64).collect::<Vec<_>>())?;
        column::<Int32Type>(&mut group, &pages.iter().map(|p| p.bytes as i32).collect::<Vec<_>>())?;
        column::<Int32Type>(&mut group, &pages.iter().map(|p| p.process).collect::<Vec<_>>())?;
        group.close()?;
    }
    file.into_inner()
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
) -> Result<(), parquet::errors::ParquetError> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, None, None)?;
        column.close()?;
    }
    Ok(())
}
