//! Batches: the results of some runs, as a thread or another machine returns them.

use crate::columns::{
    Columns, POINT_COLUMN, REPLICATION_COLUMN, append_rows, column, integer_column, text_column,
};
use crate::file::{self, ReadError};
use retx_record::Column;
use retx_record::table::{NO_INTEGER, NO_NAME};

/// Tables of some runs, by name. Each row begins with the `point` and `replication` of its run. The
/// table `runs` has a row for each run. Rows of one run are contiguous and in order; the runs are
/// in no particular order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    tables: Vec<(String, Columns)>,
}

/// Consecutive runs of one point in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PointRuns {
    /// Number of the point.
    pub point: u64,
    /// Number of runs.
    pub runs: u64,
    /// Number of events that the engine handled in the last run.
    pub last_events: u64,
    /// Number of events that the engine handled in all runs.
    pub events: u64,
}

/// A derived quantity of one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// Number of the run's point.
    pub point: u64,
    /// Number of the run's replication.
    pub replication: u64,
    /// Name of the quantity.
    pub name: String,
    /// Value; NaN if undefined.
    pub value: f64,
}

/// Table with one row per run.
const RUNS: &str = "runs";
/// Table of quantities that user code derives from a run.
const DERIVED: &str = "derived";

impl Batch {
    /// Creates a batch from tables by name.
    pub fn new(tables: impl IntoIterator<Item = (String, Columns)>) -> Self {
        Self { tables: tables.into_iter().collect() }
    }

    /// True if the batch has no run.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Names of the tables.
    pub fn table_names(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().map(|(name, _)| name.as_str())
    }

    /// Table of the given name, if the batch has it.
    pub fn table(&self, name: &str) -> Option<&Columns> {
        self.tables.iter().find(|(known, _)| known == name).map(|(_, table)| table)
    }

    /// Sums over each group of consecutive runs of the same point; a point may have several groups.
    pub fn runs_by_point(&self) -> Vec<PointRuns> {
        let Some(table) = self.table(RUNS) else { return Vec::new() };
        let mut found: Vec<PointRuns> = Vec::new();
        for (point, events) in
            integer_column(table, POINT_COLUMN).iter().zip(integer_column(table, "events"))
        {
            let (point, events) = (*point, *events);
            match found.last_mut() {
                Some(last) if last.point == point => {
                    last.runs += 1;
                    last.last_events = events;
                    last.events += events;
                }
                _ => found.push(PointRuns { point, runs: 1, last_events: events, events }),
            }
        }
        found
    }

    /// Values of the column `measure` in the rows of the name `of` and the direction `way` (all
    /// rows for `None`); empty if the table or column does not exist.
    pub fn series(
        &self,
        table: &str,
        measure: &str,
        of: Option<&str>,
        way: Option<&str>,
    ) -> Vec<Value> {
        let Some(table) = self.table(table) else { return Vec::new() };
        let Some(measure) = column(table, measure) else { return Vec::new() };
        let (codes, names) = text_column(table, "name");
        let ways = way.map(|way| (way, text_column(table, "direction")));
        let is = |(codes, names): (&[u32], &[String]), row: usize, text: &str| {
            codes[row] != NO_NAME && names[codes[row] as usize] == text
        };
        let wanted = |row: &usize| {
            of.is_none_or(|name| is((codes, names), *row, name))
                && ways.is_none_or(|(way, column)| is(column, *row, way))
        };
        let (points, replications) =
            (integer_column(table, POINT_COLUMN), integer_column(table, REPLICATION_COLUMN));
        let value = |row: usize| Value {
            point: points[row],
            replication: replications[row],
            name: names.get(codes[row] as usize).cloned().unwrap_or_default(),
            value: number(measure, row),
        };
        (0..points.len()).filter(wanted).map(value).collect()
    }

    /// Copy of the batch that lacks the tables `without`, and has the quantities `values`, which
    /// user code derived from its runs.
    #[must_use]
    pub fn with_derived(&self, without: &[String], values: &[Value]) -> Self {
        let kept = self.tables.iter().filter(|(name, _)| !without.contains(name));
        let mut tables: Vec<_> = kept.cloned().collect();
        if !values.is_empty() {
            tables.push((DERIVED.to_owned(), table_of(values)));
        }
        Self { tables }
    }

    /// Serializes the batch: the name and the Parquet file of each table. Each name and each file
    /// is preceded by its length.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, table) in &self.tables {
            for part in [name.as_bytes(), &file::write(table)] {
                bytes.extend((part.len() as u64).to_le_bytes());
                bytes.extend(part);
            }
        }
        bytes
    }

    /// Reads the output of [`Self::to_bytes`].
    ///
    /// # Errors
    /// The bytes are not a serialized batch.
    pub fn from_bytes(mut bytes: &[u8]) -> Result<Self, ReadError> {
        let mut tables = Vec::new();
        while !bytes.is_empty() {
            let name = String::from_utf8(next(&mut bytes)?.to_vec());
            let name = name.map_err(|_| ReadError::new("a name that is no text"))?;
            let content = file::Reader::from_bytes(next(&mut bytes)?.to_vec())?;
            let mut table = content.empty_columns();
            for group in 0..content.row_group_count() {
                append_rows(&mut table, &content.read_row_group(group)?);
            }
            tables.push((name, table));
        }
        Ok(Self { tables })
    }
}

/// Reads a length and the bytes that follow it.
fn next<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8], ReadError> {
    let cut = || ReadError::new("the bytes end too early");
    let (length, rest) = bytes.split_first_chunk().ok_or_else(cut)?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|_| cut())?;
    let (part, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
    *bytes = rest;
    Ok(part)
}

fn number(column: &Column, row: usize) -> f64 {
    match column {
        Column::Float(values) => values[row],
        Column::Integer(values) if values[row] == NO_INTEGER => f64::NAN,
        Column::Integer(values) => values[row] as f64,
        Column::Flag(values) => f64::from(u8::from(values[row])),
        Column::Name { .. } => f64::NAN,
    }
}

fn table_of(values: &[Value]) -> Columns {
    let mut names: Vec<String> = Vec::new();
    let mut code = |text: &str| {
        names.iter().position(|known| known == text).unwrap_or_else(|| {
            names.push(text.to_owned());
            names.len() - 1
        }) as u32
    };
    let codes = values.iter().map(|value| code(&value.name)).collect();
    let integers = |of: fn(&Value) -> u64| Column::Integer(values.iter().map(of).collect());
    vec![
        (POINT_COLUMN.to_owned(), integers(|value| value.point)),
        (REPLICATION_COLUMN.to_owned(), integers(|value| value.replication)),
        ("quantity".to_owned(), Column::Name { codes, names }),
        ("value".to_owned(), Column::Float(values.iter().map(|value| value.value).collect())),
    ]
}
