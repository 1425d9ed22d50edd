//! Random links, WLAN cells, channels, queues, repair and scheduled changes.

use super::{once_in, pick};
use crate::plans::{self, LinkOf, bernoulli};
use retx_link::pipe::Change;
use retx_link::pipe::repair::{Config as Repair, arq, fec};
use retx_link::wlan::{self, Geometry};
use retx_link::{channel, queue};
use retx_sim::plan::Plan;
use retx_units::{Duration, RandomStream, Rate, Time};

/// A random link whose channels lose up to the share `worst` in each direction.
pub fn link(stream: &mut RandomStream, worst: f64) -> LinkOf {
    let mut link = LinkOf::new("link", ["left", "right"]);
    link.mbit_s = pick(stream, &[None, Some(1), Some(10), Some(1000)]);
    link.delay = Duration::from_micros(pick(stream, &[0, 100, 10_000, 300_000]));
    link.packets = pick(stream, &[None, Some(0), Some(3), Some(50)]);
    link.forward = channels(stream, worst);
    link.reverse = channels(stream, worst);
    link
}

fn model(text: &str) -> channel::Config {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A random channel that only loses packets, up to the share `worst`.
fn losses(stream: &mut RandomStream, worst: f64) -> channel::Config {
    // At least a small share, so that the channel is random: one that is not can stay in step with
    // a sender for ever.
    let loss = worst * (0.05 + 0.95 * stream.uniform());
    let snr = 10 + stream.below(20);
    let lossy = [
        format!(r#"{{"model":"bernoulli","p":{loss}}}"#),
        format!(r#"{{"model":"gilbert_elliott","loss":{loss},"mean_burst":3}}"#),
        format!(r#"{{"model":"gilbert_elliott_time","loss":{loss},"mean_burst":"50 ms"}}"#),
        format!(r#"{{"model":"ber","ber":{}}}"#, loss / 12_000.0),
        format!(r#"{{"model":"fading","mean_snr_db":{snr},"doppler_hz":20}}"#),
        r#"{"model":"script","drop":[0,7,8,9,40]}"#.to_owned(),
        r#"{"model":"outage","count":3,"within":"10 s","duration":"0.3 s"}"#.to_owned(),
    ];
    model(&pick(stream, &lossy))
}

/// A channel with losses, followed by up to two that duplicate, delay, reorder or periodically lose
/// packets.
fn channels(stream: &mut RandomStream, worst: f64) -> Vec<channel::Config> {
    let strange = [
        r#"{"model":"periodic","every":23}"#,
        r#"{"model":"duplicate","p":0.2,"after":"3 ms"}"#,
        r#"{"model":"duplicate","p":0.5}"#,
        r#"{"model":"reorder","p":0.1,"packets":4}"#,
        r#"{"model":"reorder","p":0.1,"delay":"30 ms"}"#,
        r#"{"model":"jitter","max":"20 ms","reorder":true}"#,
        r#"{"model":"jitter","max":"20 ms"}"#,
        r#"{"model":"random_delay","share":0.05,"delay":"0.5 s"}"#,
    ];
    let mut models = vec![losses(stream, worst)];
    models.extend((0..stream.below(3)).map(|_| model(pick(stream, &strange))));
    models
}

/// A cell of two to four stations in a row, which may or may not hear each other, with or without
/// random frame losses.
pub fn cell(stream: &mut RandomStream, worst: f64) -> wlan::Config {
    let stations = 2 + stream.below(3) as usize;
    let mut config = plans::cell(stations);
    config.short_retry_limit = pick(stream, &[None, Some(7), Some(4)]);
    config.long_retry_limit = pick(stream, &[None, Some(4)]);
    config.rts_threshold = pick(stream, &[0, 500, 2347]);
    let share = stream.uniform();
    if share > 0.3 {
        config.channel.push(bernoulli(share * worst.min(0.3)));
    }
    if once_in(stream, 3) {
        config.channel.push(model(
            r#"{"model":"random_delay","share":0.2,"law":"exponential","delay":"30 ms"}"#,
        ));
    }
    let packets = pick(stream, &[None, Some(0), Some(3), Some(50)]);
    config.queue = if once_in(stream, 2) {
        queue(stream)
    } else {
        queue::Config::droptail(queue::droptail::Config { packets, bytes: None })
    };
    let positions = (0..stations as i64).map(|place| [place * 200_000, 0]).collect();
    let [sense, spoil] = [(); 2].map(|()| pick(stream, &[250_000, 450_000, 1_000_000]));
    let geometry = Geometry {
        positions,
        range: 250_000,
        carrier_sense_range: sense,
        interference_range: spoil,
    };
    config.geometry = pick(stream, &[true, false]).then_some(geometry);
    config
}

/// A random discipline, with parameters that make it act soon on a short queue.
fn queue(stream: &mut RandomStream) -> queue::Config {
    let ecn = once_in(stream, 2);
    let common = pick(
        stream,
        &[
            r#""discipline": "red", "min_threshold": 1, "max_threshold": 4, "weight": 0.1"#,
            r#""discipline": "codel", "target": "1 ms", "interval": "10 ms", "packets": 20"#,
            r#""discipline": "fq_codel", "flows": 4, "packets": 10"#,
            r#""discipline": "fq_codel", "target": "1 ms", "interval": "10 ms""#,
            r#""discipline": "pie", "target": "1 ms", "burst_allowance": "0 s", "packets": 30"#,
        ],
    );
    serde_json::from_str(&format!(r#"{{{common}, "ecn": {ecn}}}"#)).expect("a queue")
}

/// Gives half of the links a queue discipline other than droptail.
pub fn vary_queues(stream: &mut RandomStream, plan: &mut Plan) {
    for pipe in &mut plan.pipes {
        let other = queue(stream);
        if once_in(stream, 2) {
            pipe.config.queue = other;
        }
    }
}

/// Adds ARQ or FEC to some links that have a droptail queue, and replaces their channels by one
/// that only loses packets.
pub fn repair_some(stream: &mut RandomStream, plan: &mut Plan) {
    for pipe in &mut plan.pipes {
        let config = &mut pipe.config;
        let repair = random_repair(stream);
        if !once_in(stream, 3) || config.queue.name() != "droptail" {
            continue;
        }
        config.channel = vec![losses(stream, 0.3)];
        config.repair = Some(repair);
    }
}

fn random_repair(stream: &mut RandomStream) -> Repair {
    let millis = Duration::from_millis(pick(stream, &[0, 2, 30]));
    let in_order = once_in(stream, 2);
    let k = 1 + stream.below(8) as u32;
    if once_in(stream, 2) {
        let n = k + 1 + stream.below(3) as u32;
        return Repair::Fec(fec::Config { k, n, block_time: millis, in_order });
    }
    let mode = pick(stream, &[arq::Mode::StopAndWait, arq::Mode::SelectiveRepeat]);
    Repair::Arq(arq::Config { mode, retries: k % 4, feedback: Some(millis), in_order })
}

/// Adds scheduled changes of rate, delay and losses to some links.
pub fn change_some(stream: &mut RandomStream, plan: &mut Plan) {
    for pipe in &mut plan.pipes {
        let config = &mut pipe.config;
        let count = stream.below(6);
        if !once_in(stream, 3) {
            continue;
        }
        let mut at = Time::ZERO;
        for _ in 0..count {
            at += Duration::from_millis(1 + stream.below(3000));
            let rate = Rate::from_bit_s(pick(stream, &[500_000, 3_000_000, 40_000_000]));
            let delay = Duration::from_millis(pick(stream, &[0, 5, 200, 1500]));
            let channel = losses(stream, 0.2);
            let has_rate = config.rate.is_some();
            config.changes.push(Change {
                at,
                rate: (has_rate && once_in(stream, 2)).then_some(rate),
                delay: once_in(stream, 2).then_some(delay),
                channel: once_in(stream, 2).then(|| vec![channel]),
            });
        }
    }
}
