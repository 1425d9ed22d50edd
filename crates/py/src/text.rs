//! Results as text.

use pyo3::prelude::*;
use retx_record::write_json;
use serde::Serialize;
use std::io::{self, Write};

/// Bytes that are handed to Python at once.
const PIECE: usize = 1 << 16;

/// Plain data as JSON on one line.
///
/// # Panics
/// When it is none.
pub fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("plain data")
}

/// Writes plain data as JSON in pieces to a file of Python's that takes texts, and a line break.
///
/// # Errors
/// What the file's `write` raises; `KeyboardInterrupt`.
pub fn write_text<T: Serialize + ?Sized>(value: &T, file: &Bound<'_, PyAny>) -> PyResult<()> {
    let mut out = Pieces { write: file.getattr("write")?, kept: Vec::new(), raised: None };
    let written =
        write_json(value, &mut out).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
    match out.raised {
        Some(raised) => Err(raised),
        None => Ok(written?),
    }
}

/// Gathers text for a function of Python's.
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

    /// Hands on what ends with a whole character.
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
