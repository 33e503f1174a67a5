//! Results as Parquet: one row a statistic; and the text form of source places.

use crate::error::TraceError;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

/// One statistic of one run.
#[derive(Clone, Debug)]
pub struct StatisticRow {
    /// The machine.
    pub machine: String,
    /// The workload.
    pub workload: String,
    /// The seed.
    pub seed: u64,
    /// The statistic.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// What it says.
    pub description: &'static str,
}

const SCHEMA: &str = "message statistics {
  required binary machine (UTF8);
  required binary workload (UTF8);
  required int64 seed (INTEGER(64,false));
  required binary name (UTF8);
  required double value;
  required binary unit (UTF8);
  required binary description (UTF8);
}";

/// A Parquet file with a row for every statistic.
///
/// # Errors
/// When Parquet cannot be written, for want of memory.
pub fn statistics(rows: &[StatisticRow]) -> Result<Vec<u8>, TraceError> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
    let mut file = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    let text =
        |f: &dyn Fn(&StatisticRow) -> &str| rows.iter().map(|r| ByteArray::from(f(r))).collect::<Vec<_>>();
    column::<ByteArrayType, _>(&mut group, &text(&|r| &r.machine))?;
    column::<ByteArrayType, _>(&mut group, &text(&|r| &r.workload))?;
    column::<Int64Type, _>(&mut group, &rows.iter().map(|r| r.seed as i64).collect::<Vec<_>>())?;
    column::<ByteArrayType, _>(&mut group, &text(&|r| &r.name))?;
    column::<DoubleType, _>(&mut group, &rows.iter().map(|r| r.value).collect::<Vec<_>>())?;
    column::<ByteArrayType, _>(&mut group, &text(&|r| r.unit))?;
    column::<ByteArrayType, _>(&mut group, &text(&|r| r.description))?;
    group.close()?;
    Ok(file.into_inner()?)
}

pub(crate) fn column<T: DataType, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    values: &[T::T],
) -> Result<(), TraceError> {
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(values, None, None)?;
        column.close()?;
    }
    Ok(())
}

/// Source places as lines: code offset in hexadecimal, a space, the place.
pub(crate) fn write_locations(locations: &BTreeMap<u32, String>) -> String {
    locations.iter().map(|(offset, place)| format!("{offset:x} {place}\n")).collect()
}

/// The opposite of [`write_locations`]; lines that are not understood are left out.
pub(crate) fn parse_locations(text: &str) -> BTreeMap<u32, String> {
    let parse = |line: &str| {
        let (offset, place) = line.split_once(' ')?;
        Some((u32::from_str_radix(offset, 16).ok()?, place.to_string()))
    };
    text.lines().filter_map(parse).collect()
}
