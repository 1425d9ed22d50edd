//! Scenarios: text in, checked types out.

use crate::errors::{ScenarioError, scenario_error};
use crate::user::PythonLoader;
use pyo3::prelude::*;
use retx_scenario::suggest::{did_you_mean, join_names};
use retx_scenario::{ExternalSources, Hop, LinkDirection, Source};
use retx_sim::CapturePoint;
use std::sync::Arc;

/// Checked scenario with every value written out.
#[pyclass(frozen, module = "retx._native")]
pub struct Scenario {
    pub(crate) inner: Arc<retx_scenario::Scenario>,
}

impl Scenario {
    /// Capture points for pairs of a link and a node; for an empty list, the sender of the first
    /// flow.
    ///
    /// # Errors
    /// The link does not exist, or has no such end.
    pub(crate) fn capture_points(
        &self,
        places: &[(String, String)],
    ) -> PyResult<Vec<CapturePoint>> {
        if places.is_empty() {
            let first = self.inner.flows.first().map(|flow| flow.forward_path[0]);
            let at = |hop: Hop| match hop {
                Hop::Link { link, direction: way } => {
                    CapturePoint::Link { link, right: way == LinkDirection::Reverse }
                }
                Hop::Wlan { wlan, from, .. } => CapturePoint::Stage { stage: wlan, place: from },
            };
            return Ok(first.map(at).into_iter().collect());
        }
        places.iter().map(|(link, node)| self.capture_point(link, node)).collect()
    }

    fn capture_point(&self, link: &str, node: &str) -> PyResult<CapturePoint> {
        if let Some(wlan) = self.inner.wlans.iter().position(|candidate| candidate.name == link) {
            return self.station_point(wlan, node);
        }
        let links = &self.inner.links;
        let Some(index) = links.iter().position(|candidate| candidate.name == link) else {
            let wlans = self.inner.wlans.iter().map(|wlan| wlan.name.as_str());
            let names = links.iter().map(|link| link.name.as_str()).chain(wlans);
            return Err(no_place(&format!("no link \"{link}\""), link, names));
        };
        let [left, right] = &links[index].ends;
        if node != left && node != right {
            let error = format!("\"{node}\" is no end of {link}");
            return Err(no_place(&error, node, [left, right].map(String::as_str).into_iter()));
        }
        Ok(CapturePoint::Link { link: index as u32, right: node == right })
    }

    fn station_point(&self, index: usize, node: &str) -> PyResult<CapturePoint> {
        let wlan = &self.inner.wlans[index];
        let stations = &wlan.config.stations;
        let Some(place) = stations.iter().position(|station| station == node) else {
            let error = format!("\"{node}\" is no station of {}", wlan.name);
            return Err(no_place(&error, node, stations.iter().map(String::as_str)));
        };
        Ok(CapturePoint::Stage { stage: index as u32, place: place as u16 })
    }
}

/// Error about a place of capture that does not exist, with the nearest name and all names.
fn no_place<'a>(error: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> PyErr {
    let near = did_you_mean(name, known.clone());
    let names = join_names(known);
    ScenarioError::new_err(format!(
        "place of capture (--pcap-at, in Python pcap_at): {error}{near} (choose one of {names})"
    ))
}

#[pymethods]
impl Scenario {
    /// JSON text with the keys of the file.
    fn to_json(&self) -> String {
        self.inner.to_json().to_string()
    }

    /// True if the scenario uses user code.
    fn has_user_code(&self) -> bool {
        self.inner.tcps.iter().any(|tcp| tcp.config.has_user_code())
    }

    /// Names of the links whose queue never holds a packet, since they have no rate.
    fn links_with_idle_queue(&self) -> Vec<&str> {
        self.inner.links_with_idle_queue()
    }

    /// Text of a scenario file, which parses to an equal scenario.
    fn to_toml(&self) -> String {
        self.inner.to_toml()
    }
}

/// Reads and checks the text of a scenario file.
///
/// `name` is the name of the file in messages. `overrides` are pairs of key and TOML value, as with
/// `--set`. `find` finds user code and data files; see [`PythonLoader`].
#[pyfunction]
#[pyo3(signature = (text, name, overrides = Vec::new(), find = None))]
pub fn parse(
    py: Python<'_>,
    text: &str,
    name: &str,
    overrides: Vec<(String, String)>,
    find: Option<Py<PyAny>>,
) -> PyResult<Scenario> {
    let source = Source { name, text, overrides: &overrides };
    let loader = PythonLoader::new(find);
    let parsed = py.detach(|| {
        let outside = ExternalSources { files: &|file| loader.data(file), code: &loader };
        retx_scenario::parse_with(&source, outside)
    });
    match parsed {
        Ok(scenario) => Ok(Scenario { inner: Arc::new(scenario) }),
        Err(error) => Err(loader.failure().unwrap_or_else(|| scenario_error(&error))),
    }
}

/// Reads and checks a scenario given as JSON text.
#[pyfunction]
#[pyo3(signature = (text, overrides = Vec::new(), find = None))]
pub fn from_json(
    py: Python<'_>,
    text: &str,
    overrides: Vec<(String, String)>,
    find: Option<Py<PyAny>>,
) -> PyResult<Scenario> {
    let toml =
        py.detach(|| retx_scenario::from_json(text)).map_err(|error| scenario_error(&error))?;
    parse(py, &toml, "", overrides, find)
}

/// Expands the `topology` of a scenario given as JSON text. Returns JSON text with the topology's
/// links and flows in its place, unchecked.
#[pyfunction]
pub fn expand_topology(text: &str) -> PyResult<String> {
    retx_scenario::expand_topology(text).map_err(|error| scenario_error(&error))
}

/// The JSON Schema of scenario files.
#[pyfunction]
pub fn json_schema() -> String {
    retx_scenario::json_schema()
}

/// All choices that a scenario can name, by kind, as JSON text.
#[pyfunction]
pub fn describe() -> String {
    retx_scenario::describe().to_string()
}
