//! Drill scripts: text in, verdict out.

use pyo3::prelude::*;
use retx_drill::{Options, Played, Verdict};

/// What came of a script.
#[pyclass(frozen, module = "retx._native")]
pub struct Drilled {
    played: Played,
}

#[pymethods]
impl Drilled {
    /// `passed`, `failed` or `refused`.
    #[getter]
    fn verdict(&self) -> &'static str {
        match &self.played.verdict {
            Verdict::Passed => "passed",
            Verdict::Failed(_) => "failed",
            Verdict::Refused(_) => "refused",
        }
    }

    /// The line of the script that it is about, from 1; `None` when it is about none.
    #[getter]
    fn line(&self) -> Option<u32> {
        match &self.played.verdict {
            Verdict::Passed => None,
            Verdict::Failed(difference) => Some(difference.line),
            Verdict::Refused(refusal) => (refusal.line > 0).then_some(refusal.line),
        }
    }

    /// What is wrong; empty when nothing is.
    #[getter]
    fn message(&self) -> &str {
        match &self.played.verdict {
            Verdict::Passed => "",
            Verdict::Failed(difference) => &difference.message,
            Verdict::Refused(refusal) => &refusal.message,
        }
    }

    /// What the script says there, where that can be shown.
    #[getter]
    fn expected(&self) -> Option<&str> {
        match &self.played.verdict {
            Verdict::Failed(difference) => difference.expected.as_deref(),
            _ => None,
        }
    }

    /// What happened instead, where that can be shown.
    #[getter]
    fn actual(&self) -> Option<&str> {
        match &self.played.verdict {
            Verdict::Failed(difference) => difference.actual.as_deref(),
            _ => None,
        }
    }

    /// What the script's code blocks have printed.
    #[getter]
    fn printed(&self) -> Vec<String> {
        self.played.printed.clone()
    }

    /// Packets and calls with their times, when they were asked for.
    #[getter]
    fn trace(&self) -> Vec<String> {
        self.played.trace.clone()
    }

    /// Virtual time that has passed.
    #[getter]
    fn simulated_s(&self) -> f64 {
        self.played.simulated.as_secs_f64()
    }
}

/// Plays a packetdrill script against retx's TCP.
///
/// `tcp` is the preset for scripts that name none; `settings` are fields of it, as pairs of key and
/// TOML value.
#[pyfunction]
#[pyo3(signature = (text, tcp, settings = Vec::new(), *, trace = false))]
pub fn play_drill(
    py: Python<'_>,
    text: &str,
    tcp: String,
    settings: Vec<(String, String)>,
    trace: bool,
) -> Drilled {
    let options = Options { tcp, settings, trace, ..Options::default() };
    Drilled { played: py.detach(|| retx_drill::play(text, &options)) }
}
