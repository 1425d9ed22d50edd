//! Reading Parquet files.

use crate::columns::{Columns, KEY_COLUMN, REPLICATION_COLUMN};
use parquet::basic::Type as Kind;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use retx_record::Column;
use retx_record::table::{NO_INTEGER, NO_NAME};
use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

/// Error of reading a file, with its message.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ReadError(String);

impl ReadError {
    /// Creates an error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl From<ParquetError> for ReadError {
    fn from(error: ParquetError) -> Self {
        Self::new(error.to_string())
    }
}

/// Reader of a file written by [`super::write`], one row group at a time.
pub struct Reader {
    file: Box<dyn FileReader>,
}

impl Reader {
    /// Opens a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a Parquet file.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let named =
            |error: &dyn std::error::Error| ReadError::new(format!("{}: {error}", path.display()));
        let file = File::open(path).map_err(|error| named(&error))?;
        let file = SerializedFileReader::new(file).map_err(|error| named(&error))?;
        Ok(Self { file: Box::new(file) })
    }

    /// Opens a file that is held in memory.
    ///
    /// # Errors
    /// The bytes are not a Parquet file.
    pub fn from_bytes(bytes: Vec<u8>) -> Result<Self, ReadError> {
        Ok(Self { file: Box::new(SerializedFileReader::new(bytes::Bytes::from(bytes))?) })
    }

    /// Number of rows according to the file's metadata.
    pub fn row_count(&self) -> u64 {
        u64::try_from(self.file.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    /// Number of row groups.
    pub fn row_group_count(&self) -> usize {
        self.file.num_row_groups()
    }

    /// The columns, without rows.
    ///
    /// # Panics
    /// If a column has a type that [`super::write`] never produces.
    pub fn empty_columns(&self) -> Columns {
        let schema = self.file.metadata().file_metadata().schema_descr();
        let empty = |kind| match kind {
            Kind::DOUBLE => Column::Float(Vec::new()),
            Kind::INT32 | Kind::INT64 => Column::Integer(Vec::new()),
            Kind::BOOLEAN => Column::Flag(Vec::new()),
            Kind::BYTE_ARRAY => Column::Name { codes: Vec::new(), names: Vec::new() },
            other => panic!("nothing is written as {other}"),
        };
        let columns = schema.columns().iter();
        columns.map(|it| (it.name().to_owned(), empty(it.physical_type()))).collect()
    }

    /// Reads a row group.
    ///
    /// # Errors
    /// The group cannot be read.
    pub fn read_row_group(&self, number: usize) -> Result<Columns, ReadError> {
        self.chosen(number, |_| true)
    }

    /// Reads only the columns `key` and `replication` of a row group.
    ///
    /// # Errors
    /// The group cannot be read.
    pub fn read_run_columns(&self, number: usize) -> Result<Columns, ReadError> {
        self.chosen(number, |name| name == KEY_COLUMN || name == REPLICATION_COLUMN)
    }

    fn chosen(&self, number: usize, wanted: impl Fn(&str) -> bool) -> Result<Columns, ReadError> {
        let schema = self.file.metadata().file_metadata().schema_descr();
        let group = self.file.get_row_group(number)?;
        let rows = usize::try_from(group.metadata().num_rows())
            .map_err(|_| ReadError::new("fewer than no rows"))?;
        let mut columns = Columns::new();
        for (place, column) in schema.columns().iter().enumerate() {
            if wanted(column.name()) {
                let found = read_column(group.get_column_reader(place)?, rows)?;
                columns.push((column.name().to_owned(), found));
            }
        }
        Ok(columns)
    }
}

fn read_column(reader: ColumnReader, rows: usize) -> Result<Column, ReadError> {
    match reader {
        ColumnReader::DoubleColumnReader(reader) => {
            Ok(Column::Float(values(reader, rows, f64::NAN, |value| *value)?))
        }
        ColumnReader::Int64ColumnReader(reader) => {
            let of = |value: &i64| value.cast_unsigned();
            Ok(Column::Integer(values(reader, rows, NO_INTEGER, of)?))
        }
        ColumnReader::Int32ColumnReader(reader) => {
            let of = |value: &i32| value.cast_unsigned().into();
            Ok(Column::Integer(values(reader, rows, NO_INTEGER, of)?))
        }
        ColumnReader::BoolColumnReader(reader) => {
            Ok(Column::Flag(values(reader, rows, false, |value| *value)?))
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            let mut index: HashMap<Vec<u8>, u32> = HashMap::new();
            let mut names = Vec::new();
            let of = |value: &parquet::data_type::ByteArray| {
                index.get(value.data()).copied().unwrap_or_else(|| {
                    let code = names.len() as u32;
                    names.push(String::from_utf8_lossy(value.data()).into_owned());
                    index.insert(value.data().to_vec(), code);
                    code
                })
            };
            let codes = values(reader, rows, NO_NAME, of)?;
            Ok(Column::Name { codes, names })
        }
        _ => Err(ReadError::new("a column of a kind that is never written")),
    }
}

/// All values of a column, with `none` in place of nulls.
fn values<T: DataType, V: Copy>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    none: V,
    mut of: impl FnMut(&T::T) -> V,
) -> Result<Vec<V>, ReadError> {
    let (mut levels, mut there) = (Vec::new(), Vec::with_capacity(rows));
    let mut read = 0;
    while read < rows {
        let (records, _, _) =
            reader.read_records(rows - read, Some(&mut levels), None, &mut there)?;
        if records == 0 {
            return Err(ReadError::new("a column that ends too early"));
        }
        read += records;
    }
    let mut there = there.iter();
    if levels.is_empty() {
        return Ok(there.map(of).collect());
    }
    let value = |level: &i16| match level {
        0 => none,
        _ => there.next().map_or(none, &mut of),
    };
    Ok(levels.iter().map(value).collect())
}
