//! Drill scripts: text in, verdict out.

use pyo3::prelude::*;
use retx_drill::{Options, PlayResult, Verdict};

/// Result of a script.
#[pyclass(frozen, module = "retx._native")]
pub struct Drilled {
    played: PlayResult,
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

    /// Line of the script, counted from 1; `None` if the verdict concerns no line.
    #[getter]
    fn line(&self) -> Option<u32> {
        match &self.played.verdict {
            Verdict::Passed => None,
            Verdict::Failed(difference) => Some(difference.line),
            Verdict::Refused(refusal) => (refusal.line > 0).then_some(refusal.line),
        }
    }

    /// Description of the failure; empty if there is none.
    #[getter]
    fn message(&self) -> &str {
        match &self.played.verdict {
            Verdict::Passed => "",
            Verdict::Failed(difference) => &difference.message,
            Verdict::Refused(refusal) => &refusal.message,
        }
    }

    /// Event that the script expects, if it can be printed.
    #[getter]
    fn expected(&self) -> Option<&str> {
        match &self.played.verdict {
            Verdict::Failed(difference) => difference.expected.as_deref(),
            _ => None,
        }
    }

    /// Actual event, if it can be printed.
    #[getter]
    fn actual(&self) -> Option<&str> {
        match &self.played.verdict {
            Verdict::Failed(difference) => difference.actual.as_deref(),
            _ => None,
        }
    }

    /// Output of the script's code blocks.
    #[getter]
    fn printed(&self) -> Vec<String> {
        self.played.printed.clone()
    }

    /// Packets and calls with their times, if requested.
    #[getter]
    fn trace(&self) -> Vec<String> {
        self.played.trace.clone()
    }

    /// Virtual time that has passed.
    #[getter]
    fn simulated_s(&self) -> f64 {
        self.played.simulated_time.as_secs_f64()
    }
}

/// Plays a packetdrill script against retx's TCP.
///
/// `tcp` is the preset for scripts that name none. `settings` changes fields of it, as pairs of key
/// and TOML value.
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
