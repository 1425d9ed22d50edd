//! Random numbers that a channel takes from its stream, and the values for which something happens.
//! An event of probability p happens if its number, uniform in [0, 1), is below p: then p = 0 never
//! happens, p = 1 always does, and a number equal to p is the first for which it does not.

use retx_link::channel::{self, Channel, DELIVER, Fate, Frame, Model, Reason};
use retx_units::{Duration, StreamKey, Time};
use serde_json::{Value, json};

const KEY: StreamKey = StreamKey { seed: 3, replication: 0 };
/// Distance between the numbers that a stream can yield.
const STEP: f64 = 1.0 / (1u64 << 53) as f64;
/// Parameters of a model with a given probability.
type WithProbability = fn(f64) -> Value;
const LOST: Fate = Fate::Lose(Reason::Channel);

/// First numbers of the stream from which all channels here draw.
fn numbers(count: usize) -> Vec<f64> {
    let mut stream = KEY.stream("channel");
    (0..count).map(|_| stream.uniform()).collect()
}

/// A JSON value keeps every bit of a probability, unlike a text.
fn read(value: Value) -> channel::Config {
    serde_json::from_value(value).expect("a model")
}

fn frame(bytes: u32) -> Frame {
    Frame { bytes, flow: 0, position: 0, payload_bytes: bytes }
}

/// Fates of frames of one byte, one per millisecond.
fn fates(value: Value, count: u64) -> Vec<Fate> {
    let mut state = read(value).build();
    let mut stream = KEY.stream("channel");
    let at = |index| Time::from_nanos(index * 1_000_000);
    (0..count).map(|index| state.fate(at(index), &frame(1), &mut stream)).collect()
}

#[test]
fn an_event_happens_if_its_number_lies_below_its_probability() {
    let first = numbers(1)[0];
    let ms = Duration::from_millis;
    let held = Fate::HoldBack { packets: 3, at_most: Duration::from_secs(1) };
    let cases: [(WithProbability, Fate); 7] = [
        (|p| json!({"model": "bernoulli", "p": p}), LOST),
        // A frame of one byte has eight bits.
        (|p| json!({"model": "ber", "ber": p / 8.0, "form": "linear"}), LOST),
        (|p| json!({"model": "trace", "points": [{"at": "0 s", "loss": p}]}), LOST),
        (|p| json!({"model": "duplicate", "p": p, "after": "2 ms"}), Fate::Twice { after: ms(2) }),
        (|p| json!({"model": "reorder", "p": p, "packets": 3}), held),
        (
            |p| json!({"model": "reorder", "p": p, "delay": "4 ms"}),
            Fate::Stray { extra_delay: ms(4) },
        ),
        (
            |p| json!({"model": "random_delay", "share": p, "law": "constant", "delay": "5 ms"}),
            Fate::Deliver { extra_delay: ms(5) },
        ),
    ];
    for (config, event) in cases {
        for (p, fate) in [(0.0, DELIVER), (first, DELIVER), (first + STEP, event), (1.0, event)] {
            assert_eq!(fates(config(p), 1), [fate], "{} at {first}", config(p));
        }
    }
}

/// The numbers of the chain per frame are those of the first state, of the first frame's loss, and
/// of the first transition.
#[test]
fn the_numbers_of_a_chain_of_two_states() {
    let [start, loss, step] = numbers(3).try_into().expect("three numbers");
    let lost = |p: f64, r: f64, k: f64, h: f64| -> Vec<bool> {
        let config = json!({"model": "gilbert_elliott", "p": p, "r": r, "k": k, "h": h});
        fates(config, 2).into_iter().map(Fate::is_loss).collect()
    };
    // The share of bad frames is p/(p + r). The bad state loses every frame, the good one none.
    assert!(!lost(start, 1.0 - start, 1.0, 0.0)[0]);
    assert!(lost(start + STEP, 1.0 - start - STEP, 1.0, 0.0)[0]);
    // Both states lose frames with the same probability.
    assert!(!lost(0.5, 0.5, 1.0 - loss, 1.0 - loss)[0]);
    assert!(lost(0.5, 0.5, 1.0 - loss - STEP, 1.0 - loss - STEP)[0]);
    // Either state is left with the same probability.
    let stays = lost(step, step, 1.0, 0.0);
    assert_eq!(stays[0], stays[1]);
    let moves = lost(step + STEP, step + STEP, 1.0, 0.0);
    assert_eq!(moves[0], !moves[1]);
}

/// The first number of the chain in time is the seed of its good and bad times, the second one that
/// of the first frame's loss.
#[test]
fn the_numbers_of_a_chain_in_time() {
    let loss = numbers(2)[1];
    for (p, fate) in [(0.0, DELIVER), (loss, DELIVER), (loss + STEP, LOST), (1.0, LOST)] {
        let config = json!({
            "model": "gilbert_elliott_time", "mean_good": "1 s", "mean_bad": "1 s",
            "k": 1.0 - p, "h": 1.0 - p,
        });
        assert_eq!(fates(config, 1), [fate], "{p}");
    }
}

/// Numbers of a chain with any number of states, which all have the same transitions here. The loss
/// is that of the present state, and is drawn before the transition.
#[test]
fn the_numbers_of_a_chain_of_any_number_of_states() {
    let [start, loss, step] = numbers(3).try_into().expect("three numbers");
    let lost = |stay: f64, loss: [f64; 2]| -> Vec<bool> {
        let row = [stay, 1.0 - stay];
        let config = json!({"model": "markov", "transitions": [row, row], "loss": loss});
        fates(config, 2).into_iter().map(Fate::is_loss).collect()
    };
    assert!(lost(start - 1e-9, [0.0, 1.0])[0]);
    assert!(!lost(start + 1e-9, [0.0, 1.0])[0]);
    assert!(!lost(0.5, [loss, loss])[0]);
    assert!(lost(0.5, [loss + STEP, loss + STEP])[0]);
    assert!(lost(step, [0.0, 1.0])[1]);
    assert!(!lost(step + STEP, [0.0, 1.0])[1]);
}

/// Runs that differ only in a parameter can be compared in pairs, because the count of numbers
/// that a frame takes does not depend on the parameters: here of the first frame, and of each later
/// one.
#[test]
fn each_frame_takes_the_same_count_of_numbers() {
    let constant = json!({"model": "random_delay", "share": 0, "law": "constant", "delay": "1 s"});
    for (config, first, later) in [
        (json!({"model": "bernoulli", "p": 0}), 1, 1),
        (json!({"model": "bernoulli", "p": 1}), 1, 1),
        (json!({"model": "ber", "ber": 0}), 1, 1),
        (json!({"model": "duplicate", "p": 0}), 1, 1),
        (json!({"model": "reorder", "p": 0, "packets": 1}), 1, 1),
        (json!({"model": "jitter", "law": "constant", "delay": "1 s"}), 1, 1),
        (json!({"model": "jitter", "law": "pareto", "min": "1 s", "shape": 2}), 1, 1),
        (constant, 2, 2),
        (json!({"model": "trace", "points": [{"at": "0 s", "loss": 0}]}), 1, 1),
        (json!({"model": "trace", "points": [{"at": "0 s", "delay": "1 s"}]}), 0, 0),
        (json!({"model": "gilbert_elliott", "loss": 0, "mean_burst": 1}), 3, 2),
        (json!({"model": "gilbert_elliott", "p": 1, "r": 1}), 3, 2),
        (json!({"model": "markov", "transitions": [[1]], "loss": [0]}), 3, 2),
        // The first number is the seed of a stream that depends on time alone.
        (json!({"model": "gilbert_elliott_time", "loss": 0.5, "mean_burst": "1 ms"}), 2, 1),
        (json!({"model": "outage", "count": 1, "within": "1 s", "duration": "0.5 s"}), 1, 0),
        (json!({"model": "fading", "mean_snr_db": 9, "doppler_hz": 1, "process": "markov"}), 2, 1),
        // One direct path, and the direction and phase of each of 32 sinusoids.
        (json!({"model": "fading", "mean_snr_db": 9, "doppler_hz": 1}), 66, 1),
        (json!({"model": "outage", "times": [{"start": "0 s", "duration": "1 s"}]}), 0, 0),
        (json!({"model": "periodic", "every": 2}), 0, 0),
        (json!({"model": "script", "drop": [1]}), 0, 0),
        (json!({"model": "policer", "rate": "1 bit/s", "bucket_bytes": 1}), 0, 0),
    ] {
        let numbers = numbers(100);
        let mut state = read(config.clone()).build();
        let mut stream = KEY.stream("channel");
        for index in 0..5 {
            state.fate(Time::from_nanos(index * 1_000_000), &frame(1), &mut stream);
            let taken = first + later * index as usize;
            let next = stream.clone().uniform();
            assert!(next.total_cmp(&numbers[taken]).is_eq(), "{config}, frame {index}");
        }
    }
}

/// A frame of L bits is lost with probability BER·L in the linear form, whatever the lengths of the
/// frames before it.
#[test]
fn bit_errors_depend_on_the_length_of_each_frame() {
    const BER: f64 = 1e-4;
    let mut state = read(json!({"model": "ber", "ber": BER, "form": "linear"})).build();
    let mut stream = KEY.stream("channel");
    let lengths = [40, 1500, 40, 1500, 1000, 1500, 40, 40, 0, 1000, 1000, 40, 1200];
    for (index, number) in numbers(2000).into_iter().enumerate() {
        let bytes = lengths[index % lengths.len()];
        let lost = state.fate(Time::ZERO, &frame(bytes), &mut stream).is_loss();
        assert_eq!(lost, number < 8.0 * f64::from(bytes) * BER, "frame {index} of {bytes} bytes");
    }
}
