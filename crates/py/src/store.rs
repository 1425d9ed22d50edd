//! Results of runs, to be written to files or read in Python.

use crate::columns::column_to_array;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use retx_store::{Columns, Source, Value, file};
use std::path::PathBuf;

/// Runs by the key of their point, as ranges of replications. A range is given by its first
/// replication and its length.
type Runs = Vec<(String, Vec<(u64, u64)>)>;
/// Value of a run: point, replication, name, value.
type Named = (u64, u64, String, f64);

/// Tables of some runs, whose rows begin with `point` and `replication`.
#[pyclass(frozen, module = "retx._native")]
pub struct Batch {
    inner: retx_store::Batch,
}

impl Batch {
    /// Creates a batch from a thread's results.
    pub fn from_columns(columns: retx_sim::Columns) -> Self {
        let tables = columns.into_tables().map(|(name, table)| (name.to_owned(), table));
        Self { inner: retx_store::Batch::new(tables) }
    }
}

#[pymethods]
impl Batch {
    /// Reads the output of `to_bytes`.
    #[new]
    fn new(py: Python<'_>, content: &[u8]) -> PyResult<Self> {
        let read = py.detach(|| retx_store::Batch::from_bytes(content));
        let inner = read.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { inner })
    }

    /// Serializes the batch for another process.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.inner.to_bytes()))
    }

    /// Support for pickle.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (Bound<'py, PyBytes>,)) {
        (slf.get_type().into_any(), (slf.get().to_bytes(slf.py()),))
    }

    /// Names of the tables.
    fn names(&self) -> Vec<&str> {
        self.inner.table_names().collect()
    }

    /// Table as a dictionary from column to array, as returned by `RawResult.take`; None if the
    /// batch has no such table.
    fn table<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.inner.table(name).map(|table| arrays(py, table)).transpose()
    }

    /// Tuple for each group of consecutive runs of the same point: point, number of runs, events of
    /// the last run, events of all runs. A point may have several groups.
    fn runs(&self) -> Vec<(u64, u64, u64, u64)> {
        let each = self.inner.runs_by_point().into_iter();
        each.map(|it| (it.point, it.runs, it.last_events, it.events)).collect()
    }

    /// Values of a column as tuples: point, replication, name, value. `name` and `direction` select
    /// rows.
    #[pyo3(signature = (table, measure, name = None, direction = None))]
    fn series(
        &self,
        table: &str,
        measure: &str,
        name: Option<&str>,
        direction: Option<&str>,
    ) -> Vec<Named> {
        let found = self.inner.series(table, measure, name, direction).into_iter();
        found.map(|it| (it.point, it.replication, it.name, it.value)).collect()
    }

    /// Copy of the batch without the tables named in `without`, and with a table `derived` that
    /// contains `values`.
    fn derived(&self, without: Vec<String>, values: Vec<Named>) -> Self {
        let value = |(point, replication, name, value)| Value { point, replication, name, value };
        let values: Vec<Value> = values.into_iter().map(value).collect();
        Self { inner: self.inner.with_derived(&without, &values) }
    }
}

/// Table of runs in order, whose rows begin with `key` and `replication`.
#[pyclass(frozen, module = "retx._native")]
pub struct Table {
    columns: Columns,
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Runs in the table, in the order of its rows.
    fn runs(&self) -> Runs {
        let each = retx_store::runs_in(&self.columns).into_iter();
        each.map(|(key, ranges)| {
            (key, ranges.into_iter().map(|range| (range.start, range.end - range.start)).collect())
        })
        .collect()
    }

    /// Dictionary from column to array, as returned by `RawResult.take`.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        arrays(py, &self.columns)
    }

    /// Contents of a Parquet file; tables with equal rows give equal bytes.
    fn parquet<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| file::write(&self.columns)))
    }
}

/// Joins one table of several batches, and sorts its rows by point and replication. `keys` are the
/// keys of the points. Returns None if no batch has the table.
#[pyfunction]
pub fn joined(
    py: Python<'_>,
    batches: Vec<Py<Batch>>,
    keys: Vec<String>,
    name: &str,
) -> Option<Table> {
    let batches: Vec<&retx_store::Batch> = batches.iter().map(|batch| &batch.get().inner).collect();
    let columns = py.detach(|| retx_store::join(&batches, &keys, name))?;
    Some(Table { columns })
}

/// Number of rows of a Parquet file.
///
/// # Errors
/// `OSError` if the file cannot be read or is not a Parquet file.
#[pyfunction]
pub fn parquet_rows(path: PathBuf) -> PyResult<u64> {
    let reader = retx_store::file::Reader::open(&path);
    reader.map(|it| it.row_count()).map_err(|error| PyOSError::new_err(error.to_string()))
}

/// Merges runs of several Parquet files of retx, in the order of `keys`, then of replications.
///
/// # Errors
/// `OSError` if a file cannot be read.
#[pyfunction]
pub fn merged(py: Python<'_>, sources: Vec<(PathBuf, Runs)>, keys: Vec<String>) -> PyResult<Table> {
    let runs = |runs: Runs| {
        let each = runs.into_iter();
        each.map(|(key, ranges)| {
            (key, ranges.into_iter().map(|(first, count)| first..first + count).collect())
        })
        .collect()
    };
    let sources: Vec<Source> =
        sources.into_iter().map(|(path, wanted)| Source { path, runs: runs(wanted) }).collect();
    let merged = py.detach(|| retx_store::merge(&sources, &keys));
    let columns = merged.map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(Table { columns })
}

fn arrays<'py>(py: Python<'py>, table: &Columns) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    for (name, column) in table {
        dictionary.set_item(name, column_to_array(py, column.clone())?)?;
    }
    Ok(dictionary)
}
