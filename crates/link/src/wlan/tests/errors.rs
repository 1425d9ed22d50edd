//! Frame error rates of a cell compared with the modulation's curve, at each rate.

use super::rig::{Rig, config_of, packet};
use crate::modulation::Modulation;
use crate::wlan::{Counters, Standard, parameters};
use retx_units::Rate;

/// A short packet, so that the error rate of ACKs (14 bytes) is measurable at the same
/// signal-to-noise ratio.
const BYTES: u32 = 40;

/// Counters of a cell whose channel has this signal-to-noise ratio and practically no fading: the
/// direct path is a million times stronger than all others together.
fn counters(bit_s: u64, snr_db: f64, given: &str) -> Counters {
    let mut parameters = Standard::B.parameters();
    parameters.rate = Rate::from_bit_s(bit_s);
    parameters.derive();
    let mut config = config_of(parameters, 2);
    let values = format!(r#""mean_snr_db": {snr_db}, "doppler_hz": 1, "rician_k": 1e6 {given}"#);
    let model = format!(r#"{{"model": "fading", {values}}}"#);
    config.channel = vec![serde_json::from_str(&model).expect("a model")];
    let mut rig = Rig::new(&config, 7);
    let _ = rig.send(0, (0, 1), &packet(0, BYTES));
    while rig.cell.counters().frames_sent < 4000 {
        rig.step();
        rig.left.clear();
        if rig.cell.statistics(rig.now, 0).queued == 0 {
            let at = rig.now.as_nanos() / 1000;
            let _ = rig.send(at, (0, 1), &packet(0, BYTES));
        }
    }
    rig.cell.counters()
}

/// Tolerance for the remaining fading: a millionth of the power is scattered, so the
/// signal-to-noise ratio varies by 0.02 dB, and the error rates by less than 0.01.
const SCATTER: f64 = 0.01;

/// Signal-to-noise ratio in dB at which about 30 % of the data frames are lost.
fn middle(modulation: Modulation) -> f64 {
    let error = |db: &f64| modulation.frame_error_rate(ratio(*db), BYTES + 36);
    let mut grid = (-2000..2000).map(|it| f64::from(it) / 100.0);
    grid.find(|db| error(db) < 0.3).expect("the curve falls")
}

fn ratio(db: f64) -> f64 {
    10f64.powf(db / 10.0)
}

fn check(what: &str, (bad, of): (u64, u64), stated: f64) {
    let (measured, of) = (bad as f64 / of as f64, of as f64);
    let sigma = (stated * (1.0 - stated) / of).sqrt();
    assert!((measured - stated).abs() < 4.0 * sigma + SCATTER, "{what}: {measured} for {stated}");
}

#[test]
fn each_frame_has_the_errors_of_its_own_rate() {
    use Modulation::{Cck5, Cck11, Dbpsk, Dqpsk};
    for (bit_s, modulation, control) in [
        (1_000_000, Dbpsk, Dbpsk),
        (2_000_000, Dqpsk, Dqpsk),
        (5_500_000, Cck5, Dqpsk),
        (11_000_000, Cck11, Dqpsk),
    ] {
        let error = |db: f64| modulation.frame_error_rate(ratio(db), BYTES + 36);
        let middle = middle(modulation);
        for db in [middle - 0.5, middle, middle + 0.5] {
            let counters = counters(bit_s, db, "");
            let data = (counters.frames_erroneous, counters.frames_sent);
            check(&format!("{bit_s} bit/s at {db} dB"), data, error(db));
            let arrived = counters.frames_sent - counters.frames_erroneous;
            let acks = control.frame_error_rate(ratio(db), parameters::ACK_BYTES);
            check("ACKs", (counters.acks_lost, arrived), acks);
        }
    }
}

#[test]
fn a_rate_that_is_given_holds_for_all_frames() {
    let db = middle(Modulation::Cck11);
    let counters = counters(1_000_000, db, r#", "rate": "11 Mbit/s""#);
    let error = |bytes| Modulation::Cck11.frame_error_rate(ratio(db), bytes);
    check("data", (counters.frames_erroneous, counters.frames_sent), error(BYTES + 36));
    let arrived = counters.frames_sent - counters.frames_erroneous;
    check("ACKs", (counters.acks_lost, arrived), error(parameters::ACK_BYTES));
}
