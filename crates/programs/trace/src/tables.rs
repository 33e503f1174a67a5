//! Results as Parquet: one row a statistic; and the text form of source places.

use crate::error::TraceError;
use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
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

/// A column that holds one value in every row: what a campaign varied.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// Whole numbers.
    Integer(i64),
    /// Numbers.
    Number(f64),
    /// Anything else.
    Text(String),
}

/// Whether a Parquet file is there to its end, where it says what it holds.
pub fn is_whole(bytes: Vec<u8>) -> bool {
    SerializedFileReader::new(Bytes::from(bytes)).is_ok_and(|file| file.metadata().num_row_groups() > 0)
}

/// A Parquet file with a row for every statistic, and after its columns those of `constants`.
///
/// # Errors
/// When Parquet cannot be written, for want of memory, or for two columns of one name.
pub fn statistics(rows: &[StatisticRow], constants: &[(String, Constant)]) -> Result<Vec<u8>, TraceError> {
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema(constants)?), Arc::new(properties))?;
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
    for (_, constant) in constants {
        match constant {
            Constant::Integer(i) => column::<Int64Type, _>(&mut group, &vec![*i; rows.len()])?,
            Constant::Number(n) => column::<DoubleType, _>(&mut group, &vec![*n; rows.len()])?,
            Constant::Text(t) => {
                column::<ByteArrayType, _>(&mut group, &vec![ByteArray::from(t.as_str()); rows.len()])?;
            }
        }
    }
    group.close()?;
    Ok(file.into_inner()?)
}

fn schema(constants: &[(String, Constant)]) -> Result<Type, TraceError> {
    let field = |name: &str, physical: Physical, logical: Option<LogicalType>| {
        let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::REQUIRED);
        builder.with_logical_type(logical).build().map(Arc::new)
    };
    let text = |name: &str| field(name, Physical::BYTE_ARRAY, Some(LogicalType::String));
    let unsigned = LogicalType::integer(64, false);
    let mut fields = vec![
        text("machine")?,
        text("workload")?,
        field("seed", Physical::INT64, Some(unsigned))?,
        text("name")?,
        field("value", Physical::DOUBLE, None)?,
        text("unit")?,
        text("description")?,
    ];
    for (name, constant) in constants {
        fields.push(match constant {
            Constant::Integer(_) => field(name, Physical::INT64, None)?,
            Constant::Number(_) => field(name, Physical::DOUBLE, None)?,
            Constant::Text(_) => text(name)?,
        });
    }
    Ok(Type::group_type_builder("statistics").with_fields(fields).build()?)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_that_was_cut_off_is_not_whole() {
        let row = StatisticRow {
            machine: "intel".into(),
            workload: "queue".into(),
            seed: 1,
            name: "time_ns".into(),
            value: 1.0,
            unit: "ns",
            description: "",
        };
        let table = statistics(&[row], &[("cpu.ipc".into(), Constant::Number(2.5))]).unwrap();
        assert!(is_whole(table.clone()));
        for length in [0, 4, 100, table.len() / 2, table.len() - 1] {
            assert!(!is_whole(table[..length].to_vec()), "{length} bytes of {}", table.len());
        }
    }
}
