//! Merging several batches or files into one table.

use crate::batch::Batch;
use crate::columns::{
    Columns, KEY_COLUMN, POINT_COLUMN, REPLICATION_COLUMN, append_rows, integer_column,
    select_rows, text_column,
};
use crate::file::{ReadError, Reader};
use retx_record::Column;
use std::collections::HashMap;
use std::path::PathBuf;

/// Half-open range of replications.
pub type ReplicationRange = std::ops::Range<u64>;
/// Runs by the key of their point.
pub type Runs = Vec<(String, Vec<ReplicationRange>)>;

/// File, and the runs to copy from it.
#[derive(Debug, Clone)]
pub struct Source {
    /// Path of the file.
    pub path: PathBuf,
    /// Runs to copy from the file.
    pub runs: Runs,
}

/// Joins one table of several batches, sorted by point and replication; `None` if no batch has it.
///
/// `keys` are the keys of the points. The column `key` replaces `point`.
///
/// # Panics
/// If a batch has a point without a key.
pub fn join(batches: &[&Batch], keys: &[String], name: &str) -> Option<Columns> {
    let mut table = Columns::new();
    for part in batches.iter().filter_map(|batch| batch.table(name)) {
        append_rows(&mut table, part);
    }
    if table.is_empty() {
        return None;
    }
    let points: Vec<u32> =
        integer_column(&table, POINT_COLUMN).iter().map(|point| *point as u32).collect();
    let known = keys.len() as u32;
    assert!(points.iter().all(|point| *point < known), "a point that nobody knows");
    let key = Column::Name { codes: points, names: keys.to_vec() };
    table.retain(|(column, _)| column != POINT_COLUMN);
    table.insert(0, (KEY_COLUMN.to_owned(), key));
    Some(sorted(&table, &|key| key))
}

/// Merges the selected runs of several files, sorted by the order of `keys`, then by replication;
/// empty without files. Memory holds at most the result and one row group.
///
/// # Errors
/// A file cannot be read.
pub fn merge(sources: &[Source], keys: &[String]) -> Result<Columns, ReadError> {
    let mut table = Columns::new();
    for Source { path, runs } in sources {
        let wanted: HashMap<&str, &[ReplicationRange]> =
            runs.iter().map(|(key, ranges)| (key.as_str(), ranges.as_slice())).collect();
        let file = Reader::open(path)?;
        append_rows(&mut table, &file.empty_columns());
        for group in 0..file.row_group_count() {
            let rows = rows_of(&file.read_run_columns(group)?, &wanted);
            if !rows.is_empty() {
                append_rows(&mut table, &all_picked(&file.read_row_group(group)?, &rows));
            }
        }
    }
    if table.is_empty() {
        return Ok(table);
    }
    let place: HashMap<&str, u32> = keys.iter().map(String::as_str).zip(0..).collect();
    let names = text_column(&table, KEY_COLUMN).1;
    let order: Vec<u32> = names.iter().map(|key| place[key.as_str()]).collect();
    Ok(sorted(&table, &|key| order[key as usize]))
}

/// Runs in a table that has the columns `key` and `replication`, in the order of the table.
pub fn runs_in(table: &Columns) -> Runs {
    let (codes, names) = text_column(table, KEY_COLUMN);
    let mut found: Vec<(u32, Vec<ReplicationRange>)> = Vec::new();
    for (key, replication) in codes.iter().zip(integer_column(table, REPLICATION_COLUMN)) {
        let next = *replication..*replication + 1;
        match found.last_mut() {
            Some((last, ranges)) if last == key => match ranges.last_mut() {
                Some(range) if range.end == next.start => range.end = next.end,
                Some(range) if range.end == next.end => {} // another row of the same run
                _ => ranges.push(next),
            },
            _ => found.push((*key, vec![next])),
        }
    }
    found.into_iter().map(|(key, ranges)| (names[key as usize].clone(), ranges)).collect()
}

/// Row numbers of the wanted runs.
fn rows_of(runs: &Columns, wanted: &HashMap<&str, &[ReplicationRange]>) -> Vec<u32> {
    let (codes, names) = text_column(runs, KEY_COLUMN);
    let ranges: Vec<&[ReplicationRange]> =
        names.iter().map(|key| wanted.get(key.as_str()).copied().unwrap_or_default()).collect();
    let replications = integer_column(runs, REPLICATION_COLUMN);
    let is_wanted = |row: &u32| {
        let row = *row as usize;
        ranges[codes[row] as usize].iter().any(|range| range.contains(&replications[row]))
    };
    (0..codes.len() as u32).filter(is_wanted).collect()
}

fn all_picked(table: &Columns, rows: &[u32]) -> Columns {
    table.iter().map(|(name, column)| (name.clone(), select_rows(column, rows))).collect()
}

/// Sorts the rows by the rank of their point, then by replication; rows of one run keep their
/// order.
fn sorted(table: &Columns, place: &dyn Fn(u32) -> u32) -> Columns {
    let codes = text_column(table, KEY_COLUMN).0;
    let replications = integer_column(table, REPLICATION_COLUMN);
    let mut rows: Vec<(u32, u64, u32)> = codes
        .iter()
        .zip(replications)
        .zip(0..)
        .map(|((key, replication), row)| (place(*key), *replication, row))
        .collect();
    rows.sort();
    let rows: Vec<u32> = rows.into_iter().map(|(_, _, row)| row).collect();
    all_picked(table, &rows)
}

#[cfg(test)]
mod tests;
