//! Conversion of tables to numpy arrays, which take over the memory of the columns.

use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use retx_record::{Column, Table};

/// Dictionary from column name to array, in the order of the table.
///
/// # Errors
/// See [`column_to_array`].
pub fn table_to_dict(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    let dictionary = PyDict::new(py);
    for (name, column) in table.columns {
        dictionary.set_item(name, column_to_array(py, column)?)?;
    }
    Ok(dictionary)
}

/// Array of numbers, or for a column of names the array of codes and the list of names.
///
/// # Errors
/// Python's memory error; the error or interrupt that ends the first import of numpy.
pub fn column_to_array(py: Python<'_>, column: Column) -> PyResult<Bound<'_, PyAny>> {
    // `PyArray1` would import numpy, too, but panics if Ctrl-C ends the import.
    py.import("numpy")?;
    Ok(match column {
        Column::Float(values) => PyArray1::from_vec(py, values).into_any(),
        Column::Integer(values) => PyArray1::from_vec(py, values).into_any(),
        Column::Flag(values) => PyArray1::from_vec(py, values).into_any(),
        Column::Name { codes, names } => {
            let codes = PyArray1::from_vec(py, codes).into_any();
            PyTuple::new(py, [codes, names.into_pyobject(py)?.into_any()])?.into_any()
        }
    })
}
