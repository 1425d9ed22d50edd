//! Throughput under loss, compared with the closed forms of Mathis et al. (1997) and Padhye et al.
//! (1998, "PFTK"): one flow with an RTT of 100 ms over a link that never limits it, so that only
//! the congestion window does.
//!
//! The tests compare segments sent per second, which both formulas predict. PFTK's p is the rate of
//! loss *events* per segment sent, where a sequence of timeouts for one segment is one event, and
//! T0 is the mean length of a sequence's first timeout: both are measured here, as the authors did.
//! b is the number of segments per ACK. The model describes Reno, and assumes that once a segment
//! of a round is lost, all later ones of the round are lost too; losses here are independent.

use crate::plans::{LinkOf, bernoulli, one_flow, tcp};
use retx_link::channel;
use retx_record::reason::EpisodeKind;
use retx_sim::plan::{AppPlan, Plan};
use retx_sim::{Control, Options, Outcome, run_plan};
use retx_units::{Duration, Time};

const RTT_S: f64 = 0.1;
/// Time after which slow start is over.
const WARMUP: Duration = Duration::from_secs(100);

struct Setting {
    preset: &'static str,
    segments_per_ack: u32,
    lossy: channel::Config,
    seconds: u64,
}

fn run(setting: &Setting, seed: u64) -> Outcome {
    let mut link = LinkOf::new("path", ["left", "right"]);
    link.mbit_s = None;
    link.delay = Duration::from_millis(50);
    link.forward = vec![setting.lossy.clone()];
    let mut tcp = tcp(setting.preset);
    tcp.config.delayed_ack.segments = setting.segments_per_ack;
    let warmup = Time::ZERO + WARMUP;
    let end = warmup + Duration::from_secs(setting.seconds);
    let plan = Plan { seed, warmup, end, ..one_flow(&[link], tcp, AppPlan::Bulk) };
    let options = Options { record_episodes: true, ..Options::default() };
    run_plan(&plan, &options, &Control::default()).expect("a sound plan")
}

fn rate(outcome: &Outcome, setting: &Setting) -> f64 {
    outcome.flows[0].segments_sent as f64 / setting.seconds as f64
}

/// PFTK's mean window at the time of a loss, in segments, if only losses limit it.
fn window(p: f64, b: f64) -> f64 {
    let c = (2.0 + b) / (3.0 * b);
    c + (8.0 * (1.0 - p) / (3.0 * b * p) + c * c).sqrt()
}

/// Segments per second by the full PFTK model.
fn pftk(p: f64, b: f64, rtt: f64, t0: f64) -> f64 {
    let w = window(p, b);
    let q = 1.0 - p;
    let f = 1.0 + (1..=6).map(|n| 2_f64.powi(n - 1) * p.powi(n)).sum::<f64>();
    let few = (1.0 - q.powi(3)) * (1.0 + q.powi(3) * (1.0 - q.powf(w - 3.0)));
    let by_timeout = (few / (1.0 - q.powf(w))).min(1.0);
    (q / p + w + by_timeout / q) / (rtt * (b / 2.0 * w + 1.0) + by_timeout * f * t0 / q)
}

/// Segments per second by Mathis et al.: C/(RTT·√p) with C = √(3/2b).
fn mathis(p: f64, b: f64) -> f64 {
    (1.5 / b).sqrt() / (RTT_S * p.sqrt())
}

/// The formula as implemented here gives figures that were computed independently (RTT 0.1 s, T0 1
/// s).
#[test]
fn the_formula() {
    for (p, b, expected) in [
        (1e-4, 2.0, 861.63),
        (1e-4, 1.0, 1219.59),
        (1e-2, 2.0, 69.52),
        (5e-2, 1.0, 26.05),
        (0.1, 2.0, 9.11),
    ] {
        let value = pftk(p, b, RTT_S, 1.0);
        assert!((value - expected).abs() < 0.005, "{p}, {b}: {value}");
    }
}

/// Rate of loss events per segment sent, and the mean length in seconds of a sequence's first
/// timeout, if there was a timeout.
fn loss_events(outcome: &Outcome) -> (f64, Option<f64>) {
    let rows = outcome.tables.episodes.as_ref().expect("asked for").rows();
    let (mut events, mut timeouts, mut total) = (0, 0, 0.0);
    for (index, row) in rows.iter().enumerate().filter(|it| it.1.start > Time::ZERO + WARMUP) {
        let is_timeout = row.kind == EpisodeKind::Rto;
        let before = index.checked_sub(1).map(|before| &rows[before]);
        let again = |it: &retx_record::tables::Episode| {
            it.kind == row.kind && it.trigger_packet == row.trigger_packet
        };
        if is_timeout && before.is_some_and(again) {
            continue;
        }
        events += 1;
        if is_timeout {
            timeouts += 1;
            total += row.rto.as_secs_f64();
        }
    }
    let p = f64::from(events) / outcome.flows[0].segments_sent as f64;
    (p, (timeouts > 0).then(|| total / f64::from(timeouts)))
}

/// Ratio of the measured rate to PFTK's, the mean over `seeds` runs.
fn over_pftk(preset: &'static str, b: u32, p: f64, seeds: u64) -> f64 {
    let b_f = f64::from(b);
    // Long enough for 600 loss events in all runs together.
    let seconds = 600.0 / seeds as f64 / (p * pftk(p, b_f, RTT_S, 1.0));
    let setting = Setting {
        preset,
        segments_per_ack: b,
        lossy: bernoulli(p),
        seconds: seconds.ceil() as u64,
    };
    let ratio = |seed| {
        let outcome = run(&setting, seed);
        let (events, t0) = loss_events(&outcome);
        let rtt = outcome.flows[0].rtt_mean_s.expect("there are samples");
        rate(&outcome, &setting) / pftk(events, b_f, rtt, t0.unwrap_or(1.0))
    };
    (1..=seeds).map(ratio).sum::<f64>() / seeds as f64
}

/// The tolerance is the known accuracy of the model: 20 %, and 30 % at p = 0.1, where the window is
/// four segments and half of the losses are repaired by a timeout. Chance accounts for 8 % of it:
/// the rate is proportional to the square root of the mean distance of 600 loss events, so four
/// standard errors are 4·½/√600.
fn agrees_with_pftk(preset: &'static str) {
    for b in [1, 2] {
        for p in [1e-3, 1e-2, 3e-2, 0.1] {
            let ratio = over_pftk(preset, b, p, 4);
            let tolerance = if p < 0.1 { 0.2 } else { 0.3 };
            assert!((ratio - 1.0).abs() < tolerance, "{preset}, b = {b}, p = {p}: {ratio}");
        }
    }
}

#[test]
fn reno_sends_as_pftk_says() {
    agrees_with_pftk("reno");
}

#[test]
fn sack_sends_as_pftk_says() {
    agrees_with_pftk("sack");
}

/// At p = 10⁻⁴ windows exceed a hundred segments, and timeouts are rare.
#[test]
fn rare_losses() {
    for preset in ["reno", "sack"] {
        let ratio = over_pftk(preset, 2, 1e-4, 3);
        assert!((ratio - 1.0).abs() < 0.2, "{preset}: {ratio}");
    }
}

/// Losing exactly every n-th segment is what the formula of Mathis et al. assumes. The formula
/// leaves out the round trip of the recovery, one in b·W/2 for a window of W segments, and the
/// rounding of windows down to whole segments, which costs up to 1/W both before and after the
/// loss. The measured rate is therefore lower, by at most 4/W.
#[test]
fn periodic_loss_is_mathis() {
    for preset in ["reno", "sack"] {
        for (b, every) in [(1, 10_000), (1, 1000), (1, 100), (2, 10_000), (2, 1000), (2, 100)] {
            let lossy = serde_json::json!({ "model": "periodic", "every": every, "after": 0 });
            let setting = Setting {
                preset,
                segments_per_ack: b,
                lossy: serde_json::from_value(lossy).expect("a channel"),
                seconds: 1000,
            };
            let (p, b) = (1.0 / f64::from(every), f64::from(b));
            let outcome = run(&setting, 1);
            let ratio = rate(&outcome, &setting) / mathis(p, b);
            let least = 1.0 - 4.0 / (8.0 / (3.0 * b * p)).sqrt();
            assert!(ratio > least && ratio < 1.0, "{preset}, b = {b}, every {every}: {ratio}");
            assert_eq!(outcome.flows[0].rto_count, 0);
        }
    }
}

/// Independent losses give C = 1.31 for one segment per ACK, where periodic losses give √(3/2)
/// (Mathis et al. 1997, table 1; Ott, Kemperman & Mathis 1996). The ratio of the two is the same
/// for any b, and the recovery's round trip and the rounding to whole segments, which the model
/// leaves out, reduce both alike. Chance: the rate is proportional to the square root of the mean
/// distance of losses, so four standard errors of 4000 events are 4·½/√4000 = 3.2 %, less than half
/// of the difference between the two constants.
#[test]
fn random_loss_is_mathis_with_a_constant_of_its_own() {
    let constant = |lossy: &channel::Config, b: u32, seeds: u64| {
        let seconds = (4000.0 / seeds as f64 / (1e-3 * mathis(1e-3, b.into()))).ceil() as u64;
        let setting =
            Setting { preset: "sack", segments_per_ack: b, lossy: lossy.clone(), seconds };
        let one = |seed| {
            let outcome = run(&setting, seed);
            let rtt = outcome.flows[0].rtt_mean_s.expect("there are samples");
            rate(&outcome, &setting) * rtt * loss_events(&outcome).0.sqrt()
        };
        (1..=seeds).map(one).sum::<f64>() / seeds as f64
    };
    let periodic = serde_json::json!({ "model": "periodic", "every": 1000, "after": 0 });
    let periodic = serde_json::from_value(periodic).expect("a channel");
    for b in [1, 2] {
        let ratio = constant(&bernoulli(1e-3), b, 4) / constant(&periodic, b, 1);
        let expected = 1.31 / 1.5_f64.sqrt();
        assert!((ratio / expected - 1.0).abs() < 0.032, "b = {b}: {ratio}, not {expected}");
    }
}
