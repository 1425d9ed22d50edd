//! An instance of a class of the user's own, and how its methods are called.

use pyo3::prelude::*;
use pyo3::types::PyAny;
use retx_tcp::user::{Fault, Faults};
use retx_units::Time;
use std::sync::Arc;

/// A class with its arguments.
#[derive(Debug)]
pub struct Code {
    /// Its name, for messages.
    pub class: Arc<str>,
    /// Makes an instance.
    pub make: Py<PyAny>,
    /// The methods that it has, or has made its own.
    pub methods: Vec<String>,
}

impl Code {
    /// An instance.
    ///
    /// # Errors
    /// What its constructor raises.
    pub fn instance(&self, py: Python<'_>, faults: &Arc<Faults>) -> PyResult<Instance> {
        Ok(Instance {
            class: Arc::clone(&self.class),
            methods: self.methods.clone(),
            object: self.make.call0(py)?,
            faults: Arc::clone(faults),
            now: Time::ZERO,
        })
    }

    /// The result, or a report of why there is none.
    pub fn or_report<T>(&self, py: Python<'_>, result: PyResult<T>, faults: &Faults) -> Option<T> {
        let report = |error| faults.report(fault(py, &self.class, "as it was made", error));
        result.map_err(report).ok()
    }
}

/// An object of the user's class.
#[derive(Debug)]
pub struct Instance {
    class: Arc<str>,
    methods: Vec<String>,
    object: Py<PyAny>,
    faults: Arc<Faults>,
    /// When it was called last.
    pub now: Time,
}

/// A method of an object; `None` where there is nothing to call.
pub type Method = Option<Py<PyAny>>;

impl Instance {
    /// The method of that name, bound to the object.
    ///
    /// # Errors
    /// Python's, when looking it up fails.
    pub fn method(&self, py: Python<'_>, name: &str) -> PyResult<Method> {
        let wanted = self.methods.iter().any(|method| method == name);
        wanted.then(|| self.object.getattr(py, name)).transpose()
    }

    /// A deep copy, as `copy.deepcopy` makes it.
    pub fn copy(&self, py: Python<'_>) -> Option<Self> {
        let copied =
            py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (&self.object,)));
        Some(Self {
            class: Arc::clone(&self.class),
            methods: self.methods.clone(),
            object: self.or_report("__deepcopy__", py, copied)?.unbind(),
            faults: Arc::clone(&self.faults),
            now: self.now,
        })
    }

    /// The result of a call, or a report of why there is none.
    pub fn or_report<T>(&self, method: &str, py: Python<'_>, result: PyResult<T>) -> Option<T> {
        let report = |error| {
            let place = format!("in {method}, {} s into the run", self.now.as_secs_f64());
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
