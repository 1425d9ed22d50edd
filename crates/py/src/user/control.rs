//! Congestion controls in Python.

use super::arguments::{Ack, Loss, Sent, Window};
use super::call::{Instance, Method};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyAny;
use retx_tcp::congestion_control::python::UserControl;
use retx_tcp::congestion_control::{self as model, CongestionControl};
use retx_units::{Duration, Rate, Time};

/// Methods of the user class, bound to an instance.
#[derive(Debug)]
struct Methods {
    on_ack: Method,
    on_loss: Method,
    on_timeout: Method,
    observe: Method,
    on_sent: Method,
    on_recovery_end: Method,
    on_undo: Method,
    pacing_rate: Method,
    bandwidth_delay_bytes: Method,
    is_overdue: Method,
    repeats_window: Method,
    holds_rto: Method,
}

/// Congestion control of one connection.
#[derive(Debug)]
pub struct Control {
    instance: Instance,
    methods: Methods,
    window: Py<Window>,
    min_rtt: Option<Duration>,
}

impl Control {
    /// Wraps an instance that has not been called yet.
    ///
    /// # Errors
    /// Python's error, if its methods cannot be looked up.
    pub fn new(py: Python<'_>, instance: Instance) -> PyResult<Self> {
        let method = |name| instance.method(py, name);
        let methods = Methods {
            on_ack: method("on_ack")?,
            on_loss: method("on_loss")?,
            on_timeout: method("on_timeout")?,
            observe: method("observe")?,
            on_sent: method("on_sent")?,
            on_recovery_end: method("on_recovery_end")?,
            on_undo: method("on_undo")?,
            pacing_rate: method("pacing_rate")?,
            bandwidth_delay_bytes: method("bandwidth_delay_bytes")?,
            is_overdue: method("is_overdue")?,
            repeats_window: method("repeats_window")?,
            holds_rto: method("holds_rto")?,
        };
        Ok(Self { instance, methods, window: Py::new(py, Window::default())?, min_rtt: None })
    }

    /// Calls a method with the congestion window, which the method may set, and further arguments.
    fn change<'py, A>(
        &self,
        py: Python<'py>,
        (name, method): (&str, &Method),
        window: &mut model::Window,
        arguments: impl FnOnce(Py<Window>) -> A,
    ) where
        A: pyo3::call::PyCallArgs<'py>,
    {
        let Some(method) = method else { return };
        self.window.borrow_mut(py).lend(*window);
        let result = method.bind(py).call1(arguments(self.window.clone_ref(py)));
        let after = self.window.borrow_mut(py).take_back();
        if self.instance.or_report(name, py, result).is_some() {
            *window = after;
        }
    }

    /// Calls a method that returns a value; `None` if there is no such method.
    fn ask<T>(
        &self,
        (name, method): (&str, &Method),
        ask: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let method = method.as_ref()?;
        Python::attach(|py| self.instance.or_report(name, py, ask(method.bind(py))))
    }
}

impl CongestionControl for Control {
    fn observe(&mut self, ack: &model::Ack, smss: u32) {
        self.min_rtt = match (self.min_rtt, ack.rtt) {
            (Some(least), Some(rtt)) => Some(least.min(rtt)),
            (least, rtt) => least.or(rtt),
        };
        let Some(observe) = &self.methods.observe else { return };
        self.instance.last_call = ack.now;
        Python::attach(|py| {
            let result = observe.bind(py).call1((Ack::new(ack, self.min_rtt), smss));
            self.instance.or_report("observe", py, result);
        });
    }

    fn on_sent(&mut self, sent: &model::Sent) {
        let Some(on_sent) = &self.methods.on_sent else { return };
        self.instance.last_call = sent.now;
        Python::attach(|py| {
            let result = on_sent.bind(py).call1((Sent::from(sent),));
            self.instance.or_report("on_sent", py, result);
        });
    }

    fn on_ack(&mut self, window: &mut model::Window, ack: &model::Ack) {
        self.instance.last_call = ack.now;
        Python::attach(|py| {
            let ack = Ack::new(ack, self.min_rtt);
            self.change(py, ("on_ack", &self.methods.on_ack), window, |window| (window, ack));
        });
    }

    fn on_loss(&mut self, window: &mut model::Window, loss: &model::Loss) {
        self.instance.last_call = loss.now;
        Python::attach(|py| {
            let loss = Loss::from(loss);
            self.change(py, ("on_loss", &self.methods.on_loss), window, |window| (window, loss));
        });
    }

    fn on_timeout(&mut self, window: &mut model::Window, loss: &model::Loss, repeated: bool) {
        self.instance.last_call = loss.now;
        Python::attach(|py| {
            let loss = Loss::from(loss);
            let method = ("on_timeout", &self.methods.on_timeout);
            self.change(py, method, window, |window| (window, loss, repeated));
        });
    }

    fn on_recovery_end(&mut self, window: &mut model::Window, now: Time) {
        self.instance.last_call = now;
        if self.methods.on_recovery_end.is_some() {
            let method = ("on_recovery_end", &self.methods.on_recovery_end);
            let now = now.as_secs_f64();
            Python::attach(|py| self.change(py, method, window, |window| (window, now)));
        }
    }

    fn on_undo(&mut self, window: &mut model::Window) {
        if self.methods.on_undo.is_some() {
            let method = ("on_undo", &self.methods.on_undo);
            Python::attach(|py| self.change(py, method, window, |window| (window,)));
        }
    }

    fn pacing_rate(&self, window: &model::Window, srtt: Option<Duration>) -> Option<Rate> {
        self.ask(("pacing_rate", &self.methods.pacing_rate), |method| {
            let py = method.py();
            self.window.borrow_mut(py).lend_read_only(*window);
            let srtt = srtt.map(Duration::as_secs_f64);
            let answer = method.call1((&self.window, srtt))?;
            number(&answer, "bit/s, 1 or more", |rate| rate >= 1.0)
        })?
        .map(|rate| Rate::from_bit_s(rate as u64))
    }

    fn bandwidth_delay_bytes(&self) -> Option<u64> {
        let method = ("bandwidth_delay_bytes", &self.methods.bandwidth_delay_bytes);
        self.ask(method, |method| {
            number(&method.call0()?, "bytes, 0 or more", |bytes| bytes >= 0.0)
        })?
        .map(|bytes| bytes as u64)
    }

    fn is_overdue(&self, now: Time) -> bool {
        let method = ("is_overdue", &self.methods.is_overdue);
        let now = now.as_secs_f64();
        self.ask(method, |method| method.call1((now,))?.extract()).unwrap_or(false)
    }

    fn repeats_window(&self) -> bool {
        let method = ("repeats_window", &self.methods.repeats_window);
        self.ask(method, |method| method.call0()?.extract()).unwrap_or(false)
    }

    fn holds_rto(&self) -> bool {
        let method = ("holds_rto", &self.methods.holds_rto);
        self.ask(method, |method| method.call0()?.extract()).unwrap_or(false)
    }
}

/// Return value of a method as a finite number, or `None`.
fn number(
    answer: &Bound<'_, PyAny>,
    what: &str,
    holds: impl FnOnce(f64) -> bool,
) -> PyResult<Option<f64>> {
    if answer.is_none() {
        return Ok(None);
    }
    let value = answer.extract().ok().filter(|value: &f64| value.is_finite() && holds(*value));
    value.map(Some).ok_or_else(|| {
        let shown = answer.repr().map_or_else(|_| "something else".into(), |it| it.to_string());
        PyTypeError::new_err(format!("returned {shown}: a number of {what}, or None, is expected"))
    })
}

impl UserControl for Control {
    fn copy(&self) -> Option<Box<dyn UserControl>> {
        Python::attach(|py| {
            let instance = self.instance.copy(py)?;
            let copy = Self::new(py, instance);
            let copy = self.instance.or_report("__deepcopy__", py, copy)?;
            Some(Box::new(Self { min_rtt: self.min_rtt, ..copy }) as Box<dyn UserControl>)
        })
    }
}
