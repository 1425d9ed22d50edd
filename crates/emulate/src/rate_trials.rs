//! Trials of the rates at which this machine can emulate.

use crate::error::EmulateError;
use crate::launch::LaunchOptions;
use crate::protocol::Backend;
use crate::run::{LATENESS_BOUND, Settings, emulate};
use retx_scenario::{Source, parse};
use retx_sim::{Control, Options};
use serde::Serialize;

/// Rates tried, in Mbit/s.
const RATES: [u32; 8] = [10, 20, 50, 100, 200, 500, 1000, 2000];
/// Duration of each trial, in seconds.
const SPAN_S: u32 = 2;

/// Result of the trial at one rate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Trial {
    pub rate_bit_s: f64,
    pub goodput_bit_s: f64,
    pub lateness_p99_s: Option<f64>,
    pub lateness_max_s: Option<f64>,
    pub device_drops: u64,
    /// True if the link was saturated, packets were on time, and no packet was dropped except by a
    /// model.
    #[serde(rename = "held")]
    pub sustained: bool,
}

/// Sends one flow over links of increasing rate until a rate is not sustained. Returns the result
/// of each rate.
///
/// # Errors
/// As for [`emulate`].
pub fn run_rate_trials(
    launch: &LaunchOptions,
    backend: Backend,
    control: &Control,
) -> Result<Vec<Trial>, EmulateError> {
    let mut trials = Vec::new();
    for rate in RATES {
        let trial = attempt((launch, backend), rate, control)?;
        let held = trial.sustained;
        trials.push(trial);
        if !held {
            break;
        }
    }
    Ok(trials)
}

fn attempt(
    (launch, backend): (&LaunchOptions, Backend),
    rate: u32,
    control: &Control,
) -> Result<Trial, EmulateError> {
    // The first second is the warm-up, because the flow is in slow start.
    let text = format!(
        r#"
        duration = "{} s"
        warmup = "1 s"
        [[link]]
        name = "wire"
        ends = ["a", "b"]
        rate = "{rate} Mbit/s"
        delay = "2 ms"
        overhead = 0
        queue = {{ discipline = "droptail", packets = 1000 }}
        [[flow]]
        name = "flow"
        from = "a"
        to = "b"
        tcp = "linux"
        app = {{ kind = "bulk" }}
        "#,
        1 + SPAN_S
    );
    let source = Source { name: "calibration", text: &text, overrides: &[] };
    let scenario = parse(&source).expect("a sound scenario");
    let settings = Settings {
        run_options: Options::default(),
        backend,
        programs: Vec::new(),
        lateness_bound: LATENESS_BOUND,
        max_rate_bit_s: None,
        launch: launch.clone(),
    };
    let summary = emulate(&scenario, &settings, control)?.summary;
    let rate_bit_s = f64::from(rate) * 1e6;
    let goodput_bit_s = summary.flows[0].goodput_bit_s().unwrap_or(0.0);
    // Headers take 52 of 1500 bytes; the remaining tolerance allows for the recovery after slow
    // start.
    let full = goodput_bit_s >= 0.9 * rate_bit_s;
    let lateness = &summary.emulation.lateness;
    Ok(Trial {
        rate_bit_s,
        goodput_bit_s,
        lateness_p99_s: lateness.p99_s,
        lateness_max_s: lateness.max_s,
        device_drops: summary.emulation.device_drops,
        sustained: full && summary.emulation.valid,
    })
}
