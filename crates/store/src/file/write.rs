//! Writing Parquet files.

use super::GROUP_ROWS;
use crate::columns::REPLICATION_COLUMN;
use parquet::basic::{Compression, ConvertedType, Encoding, LogicalType, Repetition, Type as Kind};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnPath, Type, TypePtr};
use retx_record::Column;
use retx_record::table::{NO_INTEGER, NO_NAME};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Writes a table as a Parquet file. Equal rows give equal bytes.
///
/// # Panics
/// If an integer does not fit into 63 bits, or a `replication` into 32.
pub fn write(columns: &[(String, Column)]) -> Vec<u8> {
    written(columns).expect("the columns fit the schema, and memory takes every byte")
}

fn written(columns: &[(String, Column)]) -> Result<Vec<u8>> {
    let rows = columns.first().map_or(0, |(_, column)| column.len());
    let fields = columns.iter().map(|(name, column)| field(name, column)).collect::<Result<_>>()?;
    let schema = Type::group_type_builder("table").with_fields(fields).build()?;
    let mut bytes = Vec::new();
    let properties = Arc::new(properties(columns));
    let mut file = SerializedFileWriter::new(&mut bytes, Arc::new(schema), properties)?;
    for start in (0..rows).step_by(GROUP_ROWS) {
        let range = start..rows.min(start + GROUP_ROWS);
        let mut group = file.next_row_group()?;
        for (name, column) in columns {
            let mut writer = group.next_column()?.expect("a writer for each column");
            write_column(&mut writer, name, column, range.clone())?;
            writer.close()?;
        }
        group.close()?;
    }
    file.close()?;
    Ok(bytes)
}

fn properties(columns: &[(String, Column)]) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_created_by("retx".to_owned())
        .set_writer_version(WriterVersion::PARQUET_1_0)
        .set_compression(Compression::LZ4_RAW)
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true)
        .set_dictionary_enabled(false);
    for (name, column) in columns {
        let path = ColumnPath::from(name.as_str());
        properties = match column {
            _ if is_repetitive(column) => properties.set_column_dictionary_enabled(path, true),
            Column::Integer(_) => {
                properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED)
            }
            Column::Float(_) => properties.set_column_encoding(path, Encoding::BYTE_STREAM_SPLIT),
            _ => properties.set_column_encoding(path, Encoding::PLAIN),
        };
    }
    properties.build()
}

/// True if a dictionary makes a column smaller. This holds for texts, and for numbers with few
/// distinct values in a sample of rows, but not for constant columns.
fn is_repetitive(column: &Column) -> bool {
    const LOOKED_AT: usize = 1024;
    const FEW: usize = LOOKED_AT / 4;
    let few = |values: &mut dyn Iterator<Item = u64>| {
        let distinct: HashSet<u64> = values.collect();
        (2..=FEW).contains(&distinct.len())
    };
    let step = column.len().div_ceil(LOOKED_AT).max(1);
    match column {
        Column::Float(values) => few(&mut values.iter().step_by(step).map(|it| it.to_bits())),
        Column::Integer(values) => few(&mut values.iter().step_by(step).copied()),
        Column::Flag(_) => false,
        Column::Name { .. } => true,
    }
}

fn field(name: &str, column: &Column) -> Result<TypePtr> {
    let (kind, absent) = match column {
        Column::Float(values) => (Kind::DOUBLE, values.iter().any(|value| value.is_nan())),
        Column::Integer(_) if name == REPLICATION_COLUMN => (Kind::INT32, false),
        Column::Integer(values) => (Kind::INT64, values.contains(&NO_INTEGER)),
        Column::Flag(_) => (Kind::BOOLEAN, false),
        Column::Name { codes, .. } => (Kind::BYTE_ARRAY, codes.contains(&NO_NAME)),
    };
    let repetition = if absent { Repetition::OPTIONAL } else { Repetition::REQUIRED };
    let built = Type::primitive_type_builder(name, kind).with_repetition(repetition);
    let built = match kind {
        Kind::BYTE_ARRAY => built
            .with_logical_type(Some(LogicalType::String))
            .with_converted_type(ConvertedType::UTF8),
        Kind::INT32 => built
            .with_logical_type(Some(LogicalType::integer(32, false)))
            .with_converted_type(ConvertedType::UINT_32),
        _ => built,
    };
    Ok(Arc::new(built.build()?))
}

fn write_column(
    writer: &mut SerializedColumnWriter<'_>,
    name: &str,
    column: &Column,
    range: Range<usize>,
) -> Result<()> {
    match column {
        Column::Float(values) => {
            let values = &values[range];
            put::<DoubleType, _>(writer, values, |value| !value.is_nan(), |value| *value)
        }
        Column::Integer(values) if name == REPLICATION_COLUMN => {
            let bits = |value: &u64| u32::try_from(*value).expect("a replication").cast_signed();
            put::<Int32Type, _>(writer, &values[range], |_| true, bits)
        }
        Column::Integer(values) => {
            let signed = |value: &u64| i64::try_from(*value).expect("no count goes beyond 2^63");
            put::<Int64Type, _>(writer, &values[range], |value| *value != NO_INTEGER, signed)
        }
        Column::Flag(values) => put::<BoolType, _>(writer, &values[range], |_| true, |flag| *flag),
        Column::Name { codes, names } => {
            let texts: Vec<ByteArray> =
                names.iter().map(|name| ByteArray::from(name.as_str())).collect();
            let text = |code: &u32| texts[*code as usize].clone();
            put::<ByteArrayType, _>(writer, &codes[range], |code| *code != NO_NAME, text)
        }
    }
}

/// Writes the non-null values, with definition levels for the nulls.
fn put<T: DataType, V>(
    writer: &mut SerializedColumnWriter<'_>,
    values: &[V],
    is_there: impl Fn(&V) -> bool,
    of: impl Fn(&V) -> T::T,
) -> Result<()> {
    let typed = writer.typed::<T>();
    if typed.get_descriptor().max_def_level() == 0 {
        let all: Vec<T::T> = values.iter().map(of).collect();
        typed.write_batch(&all, None, None)?;
        return Ok(());
    }
    let levels: Vec<i16> = values.iter().map(|value| i16::from(is_there(value))).collect();
    let there: Vec<T::T> = values.iter().filter(|value| is_there(value)).map(of).collect();
    typed.write_batch(&there, Some(&levels), None)?;
    Ok(())
}
