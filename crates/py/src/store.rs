//! What runs found, on its way to files or to Python.

use crate::columns::array;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use retx_store::{Columns, Source, Value, file};
use std::path::PathBuf;

/// Runs by the key of their point: ranges of replications, each as its first one and their number.
type Runs = Vec<(String, Vec<(u64, u64)>)>;
/// A value of a run: point, replication, name, value.
type Named = (u64, u64, String, f64);

/// Tables of some runs, whose rows begin with `point` and `replication`.
#[pyclass(frozen, module = "retx._native")]
pub struct Batch {
    inner: retx_store::Batch,
}

impl Batch {
    /// What a thread has found.
    pub fn of(columns: retx_sim::Columns) -> Self {
        let tables = columns.into_tables().map(|(name, table)| (name.to_owned(), table));
        Self { inner: retx_store::Batch::new(tables) }
    }
}

#[pymethods]
impl Batch {
    /// The reverse of `to_bytes`.
    #[new]
    fn new(py: Python<'_>, content: &[u8]) -> PyResult<Self> {
        let read = py.detach(|| retx_store::Batch::from_bytes(content));
        let inner = read.map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Self { inner })
    }

    /// The batch as bytes, for another process.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.inner.to_bytes()))
    }

    /// For pickle.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> (Bound<'py, PyAny>, (Bound<'py, PyBytes>,)) {
        (slf.get_type().into_any(), (slf.get().to_bytes(slf.py()),))
    }

    /// The names of its tables.
    fn names(&self) -> Vec<&str> {
        self.inner.names().collect()
    }

    /// A table as a dictionary from column to array, as from `RawResult.take`; None without it.
    fn table<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.inner.table(name).map(|table| arrays(py, table)).transpose()
    }

    /// Its runs, summed up by point, which may come several times: point, number of runs, events
    /// of the last one, events of all.
    fn runs(&self) -> Vec<(u64, u64, u64, u64)> {
        let each = self.inner.runs().into_iter();
        each.map(|it| (it.point, it.runs, it.last_events, it.events)).collect()
    }

    /// A measure in the rows of a table that has names: point, replication, name, value. `name` and
    /// `direction` choose rows.
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

    /// The batch without some tables, and with the table `derived` of these values.
    fn derived(&self, without: Vec<String>, values: Vec<Named>) -> Self {
        let value = |(point, replication, name, value)| Value { point, replication, name, value };
        let values: Vec<Value> = values.into_iter().map(value).collect();
        Self { inner: self.inner.derived(&without, &values) }
    }
}

/// A table of runs in order, whose rows begin with `key` and `replication`.
#[pyclass(frozen, module = "retx._native")]
pub struct Table {
    columns: Columns,
}

#[pymethods]
impl Table {
    fn __len__(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// The runs whose rows it has, in order.
    fn runs(&self) -> Runs {
        let each = retx_store::runs_of(&self.columns).into_iter();
        each.map(|(key, ranges)| {
            (key, ranges.into_iter().map(|range| (range.start, range.end - range.start)).collect())
        })
        .collect()
    }

    /// As a dictionary from column to array, as from `RawResult.take`.
    fn arrays<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        arrays(py, &self.columns)
    }

    /// As the content of a Parquet file, which is the same for the same rows.
    fn parquet<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| file::write(&self.columns)))
    }
}

/// A table of some batches together, sorted by point and replication; `keys` name the points. None
/// when no batch has it.
#[pyfunction]
pub fn joined(
    py: Python<'_>,
    batches: Vec<Py<Batch>>,
    keys: Vec<String>,
    name: &str,
) -> Option<Table> {
    let batches: Vec<&retx_store::Batch> = batches.iter().map(|batch| &batch.get().inner).collect();
    let columns = py.detach(|| retx_store::joined(&batches, &keys, name))?;
    Some(Table { columns })
}

/// Number of rows of a Parquet file.
///
/// # Errors
/// `OSError`: it cannot be read, or is no Parquet file.
#[pyfunction]
pub fn parquet_rows(path: PathBuf) -> PyResult<u64> {
    let reader = retx_store::file::Reader::open(&path);
    reader.map(|it| it.rows()).map_err(|error| PyOSError::new_err(error.to_string()))
}

/// A table of runs that are taken out of Parquet files of ours, in the order of `keys`, then of
/// replications.
///
/// # Errors
/// `OSError`: a file cannot be read.
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
    let merged = py.detach(|| retx_store::merged(&sources, &keys));
    let columns = merged.map_err(|error| PyOSError::new_err(error.to_string()))?;
    Ok(Table { columns })
}

fn arrays<'py>(py: Python<'py>, table: &Columns) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    for (name, column) in table {
        dictionary.set_item(name, array(py, column.clone())?)?;
    }
    Ok(dictionary)
}
