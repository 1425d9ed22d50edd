//! Every congestion control is combined with every loss detection over a path with random losses. A
//! pair must not be slower than both the congestion control with its usual loss detection and Reno
//! with the pair's loss detection; exceptions are listed in a table with the reason.
//!
//! `cargo test -p retx-sim --test all pairs -- --nocapture` prints the mean times.

use crate::plans::{LinkOf, bernoulli, one_flow, tcp};
use retx_sim::plan::AppPlan;
use retx_sim::{Control, Options, run_plan};
use retx_tcp::{Config, Size, congestion_control, loss_detection, presets};
use retx_units::{Duration, Time};
use std::collections::HashMap;

/// Probabilities of random loss towards the client.
const LOSSES: [f64; 2] = [0.01, 0.05];
const RUNS: u64 = 20;
/// Quantile of Student's t distribution for 19 degrees of freedom, two-sided 95 %.
const T: f64 = 2.093;
/// A pair counts as slower only if it is slower by more than this share, so that a change elsewhere
/// does not make the test fail by chance.
const MARGIN: f64 = 0.05;

/// The preset `linux` as a further loss detection: RACK-TLP with Linux's details, together with the
/// preset's timers, acknowledgments and options.
const LINUX: &str = "linux";

/// With other loss detections than its own, Tahoe's window stays at one segment until recovery is
/// over, and the ACK of the single segment sent then is delayed by 200 ms. With Tahoe's own
/// go-back-N, slow start begins with the ACK of the retransmission, and two segments are sent at
/// once. (Example of `sack` at 1 % loss: 4.73 s instead of 3.25 s, and 3.43 s instead of 2.64 s if
/// every segment is acknowledged.)
const ONE_SEGMENT: &str = "a window of one segment through recovery, then a delayed ACK";

/// After a loss NV does not grow before it has taken 20 samples, and each timeout halves growth.
/// With delayed ACKs from the first segment on there are fewer samples than with `linux`, and other
/// loss detections than RACK end in more timeouts. (Examples at 5 % loss: 16.4 s on `rack`, and
/// 8.3 s if every segment is acknowledged; 6.2 timeouts per transfer on `sack`, 0.5 on `linux`.)
const FEW_SAMPLES: &str = "no growth before 20 samples after a loss, and less after timeouts";

/// The exceptions: congestion control, loss detection, and the reason why the pair is slow.
const SLOW: [(&str, &str, &str); 10] = [
    ("tahoe", "reno", ONE_SEGMENT),
    ("tahoe", "newreno", ONE_SEGMENT),
    ("tahoe", "sack", ONE_SEGMENT),
    ("tahoe", "rack", ONE_SEGMENT),
    ("nv", "timeout_only", FEW_SAMPLES),
    ("nv", "tahoe", FEW_SAMPLES),
    ("nv", "reno", FEW_SAMPLES),
    ("nv", "newreno", FEW_SAMPLES),
    ("nv", "sack", FEW_SAMPLES),
    ("nv", "rack", FEW_SAMPLES),
];

/// The columns of the printed table, one per loss detection; all except `linux` share one
/// configuration otherwise.
fn columns() -> Vec<&'static str> {
    loss_detection::Config::NAMES.iter().copied().chain([LINUX]).collect()
}

fn config(control: &str, column: &str) -> Config {
    let mut config = if column == LINUX {
        tcp(LINUX).config
    } else {
        let detection = serde_json::from_value(column.into()).expect("a name from the list");
        let sack = matches!(column, "sack" | "rack");
        let initial_window = Size::Mss(10).into();
        Config { loss_detection: detection, sack, initial_window, ..tcp("sack").config }
    };
    config.congestion_control = serde_json::from_value(control.into()).expect("a registered name");
    config
}

/// The loss detection that a congestion control is normally used with: that of its preset, or
/// `linux` if it has no preset of its own.
fn own_column(control: &str) -> &'static str {
    presets::find(control).map_or(LINUX, |preset| (preset.config)().loss_detection.name())
}

/// The congestion control with which a pair's loss detection is measured for comparison.
fn reference(column: &str) -> &'static str {
    if column == LINUX { "reno_linux" } else { "reno" }
}

/// Response times in seconds of transfers of 1 MB over 10 Mbit/s with an RTT of 40 ms.
fn times(control: &str, column: &str, p: f64) -> Vec<f64> {
    let mut link = LinkOf::new("path", ["server", "client"]);
    link.delay = Duration::from_millis(20);
    link.packets = Some(100);
    link.forward = vec![bernoulli(p)];
    let mut plan = one_flow(&[link], tcp("sack"), AppPlan::transfer(1_000_000));
    plan.end = Time::ZERO + Duration::from_secs(3600);
    plan.tcps[0].config = config(control, column);
    let seconds = |replication| {
        let options = Options { replication, ..Options::default() };
        let outcome = run_plan(&plan, &options, &Control::default()).expect("a sound plan");
        outcome.flows[0].response_time_s.unwrap_or_else(|| panic!("{control} on {column} ends"))
    };
    (0..RUNS).map(seconds).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// True if the pair is slower by more than the margin, and significantly so in a paired test over
/// runs with the same random losses.
fn is_slower(pair: &[f64], part: &[f64]) -> bool {
    let excess: Vec<f64> =
        pair.iter().zip(part).map(|(pair, part)| pair - part * (1.0 + MARGIN)).collect();
    let middle = mean(&excess);
    let variance = excess.iter().map(|it| (it - middle).powi(2)).sum::<f64>() / (RUNS - 1) as f64;
    middle > T * (variance / RUNS as f64).sqrt()
}

#[test]
fn no_pair_is_slower_than_both_its_parts() {
    let mut slow: Vec<(&str, &str, String)> = Vec::new();
    for p in LOSSES {
        let mut all: HashMap<(&str, &str), Vec<f64>> = HashMap::new();
        println!("loss {p}: {}", columns().join(", "));
        for control in congestion_control::Config::BUILT_IN {
            let mut row = String::new();
            for column in columns() {
                let times = times(control, column, p);
                row += &format!(" {:7.2}", mean(&times));
                all.insert((control, column), times);
            }
            println!("{control:26}{row}");
        }
        for ((control, column), pair) in &all {
            let parts = [(*control, own_column(control)), (reference(column), *column)];
            if parts.iter().all(|part| is_slower(pair, &all[part])) {
                let [own, other] = parts.map(|part| mean(&all[&part]));
                let figures = format!("{:.2} s, alone {own:.2} and {other:.2} s", mean(pair));
                slow.push((control, column, format!("with {p} loss {figures}")));
            }
        }
    }
    let is_named = |slow: &(&str, &str, String)| {
        SLOW.iter().any(|(control, column, _)| (*control, *column) == (slow.0, slow.1))
    };
    let unnamed: Vec<_> = slow.iter().filter(|slow| !is_named(slow)).collect();
    assert!(unnamed.is_empty(), "slower than both parts, and not in the table: {unnamed:#?}");
    for (control, column, why) in SLOW {
        let found = slow.iter().any(|slow| (slow.0, slow.1) == (control, column));
        assert!(found, "{control} on {column} is not slow any more ({why}): take it out");
    }
}
