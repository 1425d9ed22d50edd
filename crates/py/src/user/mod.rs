//! User code in Python. `retx.plugins.user_code` finds it, and the models call it. The models run
//! without the interpreter's lock, and take the lock for each call.

pub mod arguments;
mod call;
mod cause;
mod control;

use crate::errors::CodeRefusedError;
use call::UserClass;
use cause::Cause;
use control::Control;
use pyo3::prelude::*;
use pyo3::types::PyAny;
use retx_tcp::congestion_control::python::UserControl;
use retx_tcp::loss_cause::python::UserCause;
use retx_tcp::user::{Faults, Loaded, Program, Refusal};
use retx_tcp::{Loader, NoLoader};
use retx_tcp::{congestion_control, loss_cause};
use serde_json::{Map, Value};
use std::sync::{Arc, Mutex, PoisonError};

/// Loader that finds code by a Python object `find`:
///
/// - `find(kind, file, class, parameters)` returns the full path of the file, a function that
///   creates instances, and the names of the methods to be called. It raises `CodeRefusedError` to
///   refuse the code.
/// - `find.data(file)` returns the text of a data file, or raises an exception.
pub struct PythonLoader {
    find: Option<Py<PyAny>>,
    /// First exception in user code.
    failure: Mutex<Option<PyErr>>,
}

/// File, function, and methods.
type Found = (Option<String>, Py<PyAny>, Vec<String>);

impl PythonLoader {
    /// Creates a loader with this function; without one, all code is refused.
    pub const fn new(find: Option<Py<PyAny>>) -> Self {
        Self { find, failure: Mutex::new(None) }
    }

    /// Exception that stopped the loading; `None` if there was none, or if it was a refusal.
    pub fn failure(self) -> Option<PyErr> {
        self.failure.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Text of a data file that the scenario names.
    ///
    /// # Errors
    /// Reason why the file cannot be read.
    pub fn data(&self, file: &str) -> Result<String, String> {
        let Some(find) = &self.find else {
            return Err("no files can be read here: write the values into the scenario".into());
        };
        Python::attach(|py| {
            let text = find.call_method1(py, "data", (file,));
            text.and_then(|text| text.extract(py))
                .map_err(|error: PyErr| error.value(py).to_string())
        })
    }

    fn find(
        &self,
        kind: &str,
        (file, class): (Option<&str>, &str),
        parameters: &Map<String, Value>,
    ) -> Result<(Option<String>, UserClass), Refusal> {
        let parameters = Value::Object(parameters.clone()).to_string();
        Python::attach(|py| {
            let find = self.find.as_ref().ok_or_else(NoLoader::refusal)?;
            let found = find.call1(py, (kind, file, class, parameters));
            let (file, make, methods): Found = found
                .and_then(|found| found.extract(py))
                .map_err(|error| self.refusal(py, error))?;
            Ok((file, UserClass { class: class.into(), constructor: make, methods }))
        })
    }

    fn refusal(&self, py: Python<'_>, error: PyErr) -> Refusal {
        let refused = error.is_instance_of::<CodeRefusedError>(py);
        match error.value(py).getattr("args").and_then(|args| args.extract()) {
            Ok((key, message)) if refused => Refusal { key, message },
            _ => {
                let message = error.to_string();
                let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.get_or_insert(error);
                Refusal { key: String::new(), message }
            }
        }
    }
}

impl Loader for PythonLoader {
    fn congestion_control(
        &self,
        wanted: &mut congestion_control::python::Config,
    ) -> Result<(), Refusal> {
        let place = (wanted.file.as_deref(), &*wanted.class);
        let (file, code) = self.find("congestion_control", place, &wanted.parameters)?;
        wanted.file = file;
        wanted.program = Loaded::new(Arc::new(code));
        Ok(())
    }

    fn loss_cause(&self, wanted: &mut loss_cause::python::Config) -> Result<(), Refusal> {
        let place = (wanted.file.as_deref(), &*wanted.class);
        let (file, code) = self.find("loss_cause", place, &wanted.parameters)?;
        wanted.file = file;
        wanted.program = Loaded::new(Arc::new(code));
        Ok(())
    }
}

impl Program<dyn UserControl> for UserClass {
    fn start(&self, faults: &Arc<Faults>) -> Option<Box<dyn UserControl>> {
        Python::attach(|py| {
            let control = self.instance(py, faults).and_then(|it| Control::new(py, it));
            Some(Box::new(self.or_report(py, control, faults)?) as Box<dyn UserControl>)
        })
    }

    fn paces(&self) -> bool {
        self.methods.iter().any(|method| method == "pacing_rate")
    }
}

impl Program<dyn UserCause> for UserClass {
    fn start(&self, faults: &Arc<Faults>) -> Option<Box<dyn UserCause>> {
        Python::attach(|py| {
            let cause = self.instance(py, faults).and_then(|it| Cause::new(py, it));
            Some(Box::new(self.or_report(py, cause, faults)?) as Box<dyn UserCause>)
        })
    }
}
