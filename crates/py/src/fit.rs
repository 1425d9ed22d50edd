//! Fits of loss models, and draws from channels.

use crate::text::json;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use retx_fit::loss::{Options, Series, fit, names};
use retx_link::channel::{Channel, Config, Frame, Model};
use retx_units::{StreamKey, Time};

/// Fits loss models to the transmissions of packets; returns JSON.
#[pyfunction]
#[pyo3(signature = (
    times_s, sizes_bytes, lost_probability, *, tested=Vec::new(), laws=Vec::new(),
    drawn_series=199
))]
pub fn fit_losses(
    py: Python<'_>,
    times_s: PyReadonlyArray1<'_, f64>,
    sizes_bytes: PyReadonlyArray1<'_, f64>,
    lost_probability: PyReadonlyArray1<'_, f64>,
    tested: Vec<String>,
    laws: Vec<String>,
    drawn_series: usize,
) -> PyResult<String> {
    let [times, sizes, lost] =
        [&times_s, &sizes_bytes, &lost_probability].map(|it| it.as_array().to_vec());
    let known = names();
    if let Some(wrong) = laws.iter().chain(&tested).find(|it| !known.contains(&it.as_str())) {
        let message = format!("there is no model {wrong}: there are {}", known.join(", "));
        return Err(PyValueError::new_err(message));
    }
    let options = Options { drawn_series: drawn_series.max(1), tested, laws };
    let series = Series::new(times, sizes, lost)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    match py.detach(|| fit(&series, &options)) {
        Some(answer) => Ok(json(&answer)),
        None => Err(PyValueError::new_err("the series can follow none of these models")),
    }
}

/// Draws the fates of packets on a list of channels (JSON): true if one of them loses the packet.
#[pyfunction]
#[pyo3(signature = (channels, times_s, sizes_bytes, *, seed=1, replication=0))]
pub fn channel_losses<'py>(
    py: Python<'py>,
    channels: &str,
    times_s: PyReadonlyArray1<'py, f64>,
    sizes_bytes: PyReadonlyArray1<'py, f64>,
    seed: u64,
    replication: u64,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let configs: Vec<Config> = serde_json::from_str(channels)
        .map_err(|error| PyValueError::new_err(format!("channel: {error}")))?;
    let key = StreamKey { seed, replication };
    let mut running: Vec<_> = configs
        .iter()
        .enumerate()
        .map(|(index, config)| (config.build(), key.stream(&format!("channel.{index}"))))
        .collect();
    let each = times_s.as_array().to_vec().into_iter().zip(sizes_bytes.as_array().to_vec());
    let fates: Vec<bool> = each
        .map(|(time, bytes)| {
            let bytes = bytes as u32;
            let frame = Frame { bytes, payload_bytes: bytes, ..Frame::default() };
            let now = Time::from_nanos((time * 1e9) as u64);
            running.iter_mut().any(|(state, stream)| state.fate(now, &frame, stream).is_loss())
        })
        .collect();
    Ok(fates.into_pyarray(py))
}
