//! Loss causes in Python: rules that distinguish corruption from congestion.

use super::arguments::{Ack, Sent, UnexplainedLoss, Window};
use super::call::{Instance, Method};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyAny;
use retx_tcp::congestion_control as model;
use retx_tcp::loss_cause::python::UserCause;
use retx_tcp::loss_cause::{Cause as Said, Loss, LossCause};
use retx_units::Duration;

/// Loss cause of one connection.
#[derive(Debug)]
pub struct Cause {
    instance: Instance,
    on_sent: Method,
    on_ack: Method,
    cause: Method,
    window: Py<Window>,
    min_rtt: Option<Duration>,
}

impl Cause {
    /// Wraps an instance that has not been called yet.
    ///
    /// # Errors
    /// Python's error, if its methods cannot be looked up.
    pub fn new(py: Python<'_>, instance: Instance) -> PyResult<Self> {
        Ok(Self {
            on_sent: instance.method(py, "on_sent")?,
            on_ack: instance.method(py, "on_ack")?,
            cause: instance.method(py, "cause")?,
            instance,
            window: Py::new(py, Window::default())?,
            min_rtt: None,
        })
    }
}

impl LossCause for Cause {
    fn on_sent(&mut self, sent: &model::Sent) {
        let Some(on_sent) = &self.on_sent else { return };
        self.instance.last_call = sent.now;
        Python::attach(|py| {
            let result = on_sent.bind(py).call1((Sent::from(sent),));
            self.instance.or_report("on_sent", py, result);
        });
    }

    fn on_ack(&mut self, ack: &model::Ack, window: &model::Window) {
        self.min_rtt = match (self.min_rtt, ack.rtt) {
            (Some(least), Some(rtt)) => Some(least.min(rtt)),
            (least, rtt) => least.or(rtt),
        };
        let Some(on_ack) = &self.on_ack else { return };
        self.instance.last_call = ack.now;
        Python::attach(|py| {
            self.window.borrow_mut(py).lend_read_only(*window);
            let result = on_ack.bind(py).call1((Ack::new(ack, self.min_rtt), &self.window));
            self.instance.or_report("on_ack", py, result);
        });
    }

    fn cause(&mut self, loss: &Loss) -> Said {
        let Some(cause) = &self.cause else { return Said::Congestion };
        self.instance.last_call = loss.now;
        Python::attach(|py| {
            let loss = UnexplainedLoss::from(loss);
            let result = cause.bind(py).call1((loss,)).and_then(|said| verdict(&said));
            self.instance.or_report("cause", py, result).unwrap_or(Said::Congestion)
        })
    }
}

fn verdict(said: &Bound<'_, PyAny>) -> PyResult<Said> {
    match said.extract::<&str>() {
        Ok("congestion") => Ok(Said::Congestion),
        Ok("corruption") => Ok(Said::Corruption),
        _ => {
            let shown = said.repr().map_or_else(|_| "something else".into(), |it| it.to_string());
            let message = format!("returned {shown}: \"congestion\" or \"corruption\" is expected");
            Err(PyTypeError::new_err(message))
        }
    }
}

impl UserCause for Cause {
    fn copy(&self) -> Option<Box<dyn UserCause>> {
        Python::attach(|py| {
            let instance = self.instance.copy(py)?;
            let copy = Self::new(py, instance);
            let copy = self.instance.or_report("__deepcopy__", py, copy)?;
            Some(Box::new(Self { min_rtt: self.min_rtt, ..copy }) as Box<dyn UserCause>)
        })
    }
}
