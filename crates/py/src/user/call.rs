//! Instances of user classes, and calls of their methods.

use pyo3::prelude::*;
use pyo3::types::PyAny;
use retx_tcp::user::{Fault, Faults};
use retx_units::Time;
use std::sync::Arc;

/// User class with its arguments.
#[derive(Debug)]
pub struct UserClass {
    /// Name of the class, for messages.
    pub class: Arc<str>,
    /// Callable that creates an instance.
    pub constructor: Py<PyAny>,
    /// Names of the methods that the class implements or inherits.
    pub methods: Vec<String>,
}

impl UserClass {
    /// Creates an instance.
    ///
    /// # Errors
    /// The exception of the constructor.
    pub fn instance(&self, py: Python<'_>, faults: &Arc<Faults>) -> PyResult<Instance> {
        Ok(Instance {
            class: Arc::clone(&self.class),
            methods: self.methods.clone(),
            object: self.constructor.call0(py)?,
            faults: Arc::clone(faults),
            last_call: Time::ZERO,
        })
    }

    /// Value of the result; `None` after an exception, which is reported to `faults`.
    pub fn or_report<T>(&self, py: Python<'_>, result: PyResult<T>, faults: &Faults) -> Option<T> {
        let report = |error| faults.report(fault(py, &self.class, "as it was made", error));
        result.map_err(report).ok()
    }
}

/// Instance of a user class.
#[derive(Debug)]
pub struct Instance {
    class: Arc<str>,
    methods: Vec<String>,
    object: Py<PyAny>,
    faults: Arc<Faults>,
    /// Time of the instance's last call.
    pub last_call: Time,
}

/// Bound method; `None` if the class does not implement it.
pub type Method = Option<Py<PyAny>>;

impl Instance {
    /// Looks up a method and binds it to the object.
    ///
    /// # Errors
    /// Python's error, if the look-up fails.
    pub fn method(&self, py: Python<'_>, name: &str) -> PyResult<Method> {
        let wanted = self.methods.iter().any(|method| method == name);
        wanted.then(|| self.object.getattr(py, name)).transpose()
    }

    /// Deep copy by `copy.deepcopy`; `None` after an exception.
    pub fn copy(&self, py: Python<'_>) -> Option<Self> {
        let copied =
            py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (&self.object,)));
        Some(Self {
            class: Arc::clone(&self.class),
            methods: self.methods.clone(),
            object: self.or_report("__deepcopy__", py, copied)?.unbind(),
            faults: Arc::clone(&self.faults),
            last_call: self.last_call,
        })
    }

    /// Value of the result of a call; `None` after an exception, which is reported.
    pub fn or_report<T>(&self, method: &str, py: Python<'_>, result: PyResult<T>) -> Option<T> {
        let report = |error| {
            let place = format!("in {method}, {} s into the run", self.last_call.as_secs_f64());
            self.faults.report(fault(py, &self.class, &place, error));
        };
        result.map_err(report).ok()
    }
}

fn fault(py: Python<'_>, class: &str, place: &str, error: PyErr) -> Fault {
    let kind = error.get_type(py);
    let kind = kind.name().map_or_else(|_| "an exception".into(), |name| name.to_string());
    let text = error.value(py).str().map(|text| text.to_string()).unwrap_or_default();
    let line = text.lines().next().unwrap_or_default();
    let colon = if line.is_empty() { "" } else { ": " };
    Fault {
        message: format!("{class} failed {place}: {kind}{colon}{line}"),
        cause: Arc::new(error),
    }
}
