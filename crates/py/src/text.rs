//! Results as text.

use pyo3::prelude::*;
use retx_record::write_json;
use serde::Serialize;
use std::io::{self, Write};

/// Bytes passed to Python at once.
const PIECE: usize = 1 << 16;

/// Serializes data as one line of JSON.
///
/// # Panics
/// If the data cannot be serialized.
pub fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("plain data")
}

/// Writes data as JSON and a line break, in pieces, to a Python text file.
///
/// # Errors
/// The exception of the file's `write`; `KeyboardInterrupt`.
pub fn write_text<T: Serialize + ?Sized>(value: &T, file: &Bound<'_, PyAny>) -> PyResult<()> {
    let mut out = Pieces { write: file.getattr("write")?, kept: Vec::new(), raised: None };
    let written =
        write_json(value, &mut out).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
    match out.raised {
        Some(raised) => Err(raised),
        None => Ok(written?),
    }
}

/// Writer that passes text to a Python function.
struct Pieces<'py> {
    write: Bound<'py, PyAny>,
    kept: Vec<u8>,
    raised: Option<PyErr>,
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.kept.extend_from_slice(bytes);
        if self.kept.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    /// Passes the bytes up to the last complete character to the function.
    fn flush(&mut self) -> io::Result<()> {
        let whole = match str::from_utf8(&self.kept) {
            Ok(text) => text,
            Err(error) => {
                str::from_utf8(&self.kept[..error.valid_up_to()]).expect("checked before")
            }
        };
        let done = self.write.call1((whole,)).and_then(|_| self.write.py().check_signals());
        let length = whole.len();
        self.kept.drain(..length);
        done.map_err(|raised| {
            self.raised = Some(raised);
            io::Error::other("Python has raised an exception")
        })
    }
}
