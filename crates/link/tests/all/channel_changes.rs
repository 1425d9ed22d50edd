//! Memory of a channel that a scheduled change of its parameters keeps.

use retx_link::channel::{self, Channel, Fate, Frame, Model};
use retx_units::{RandomStream, StreamKey, Time};

fn config(text: &str) -> channel::Config {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn build(text: &str) -> channel::State {
    config(text).build()
}

fn stream(seed: u64) -> RandomStream {
    StreamKey { seed, replication: 0 }.stream("channel")
}

fn frame(bytes: u32) -> Frame {
    Frame { bytes, flow: 0, position: 0, payload_bytes: bytes }
}

/// True for each frame of 1 byte that is lost, at these times in nanoseconds.
fn losses(
    state: &mut channel::State,
    times: impl IntoIterator<Item = u64>,
    stream: &mut RandomStream,
) -> Vec<bool> {
    let fate = |at| state.fate(Time::from_nanos(at), &frame(1), stream).is_loss();
    times.into_iter().map(fate).collect()
}

/// Runs that differ only before a change at `from`: one has the parameters `new` all along.
fn agree_after_a_change(old: &str, new: &str, step: u64, from: u64) {
    for seed in 0..20 {
        let [mut changed, mut always] = [old, new].map(build);
        let [mut one, mut other] = [stream(seed), stream(seed)];
        losses(&mut changed, (0..from).map(|index| index * step), &mut one);
        losses(&mut always, (0..from).map(|index| index * step), &mut other);
        changed.adopt(build(new));
        let later = || (from..from + 2000).map(|index| index * step);
        assert_eq!(
            losses(&mut changed, later(), &mut one),
            losses(&mut always, later(), &mut other),
            "{old} {new}"
        );
    }
}

/// The good and bad times of the chain in time, the random outages and the trajectory of a chain
/// that fades depend on time, seed and parameters alone. A change leads to the same course as if
/// the new parameters had been there from the start.
#[test]
fn courses_that_depend_on_time_alone() {
    let chain = |good, bad| {
        format!(
            r#"{{"model":"gilbert_elliott_time","mean_good":"{good} ms","mean_bad":"{bad} ms"}}"#
        )
    };
    agree_after_a_change(&chain(30, 10), &chain(5, 5), 1_000_000, 100);
    agree_after_a_change(&chain(5, 5), &chain(100, 300), 1_000_000, 333);
    // The sum of both rates is the same, and with it the instants of the Poisson process.
    agree_after_a_change(&chain(10, 30), &chain(30, 10), 1_000_000, 100);
    let outages = |count, ms| {
        let times = format!(r#""count":{count},"within":"0.1 s","duration":"{ms} ms""#);
        format!(r#"{{"model":"outage",{times}}}"#)
    };
    agree_after_a_change(&outages(3, 10), &outages(5, 4), 1_000_000, 250);
    let fading = |doppler| {
        format!(
            r#"{{"model":"fading","mean_snr_db":15,"doppler_hz":{doppler},"process":"markov"}}"#
        )
    };
    for seed in 0..20 {
        let [mut changed, mut always] = [fading(10), fading(30)].map(|text| ratios(&text));
        let [mut one, mut other] = [stream(seed), stream(seed)];
        for at in 0..2000 {
            if at == 100 {
                changed.adopt(ratios(&fading(30)));
            }
            let now = Time::from_nanos(at * 1_000_000);
            let [one, other] = [changed.snr_db(now, &mut one), always.snr_db(now, &mut other)];
            assert!(at < 100 || one.total_cmp(&other).is_eq(), "{at} ms");
        }
    }
}

fn ratios(text: &str) -> channel::fading::State {
    let channel::Config::fading(config) = config(text) else { unreachable!("{text}") };
    config.build()
}

/// A change of the mean ratio by 7 dB moves the ratio by 7 dB at every later time: the sinusoids
/// keep directions and phases, and the chain its trajectory.
#[test]
fn fading_goes_on_at_a_new_mean() {
    for process in ["sinusoids", "markov"] {
        let text = |db| {
            format!(
                r#"{{"model":"fading","mean_snr_db":{db},"doppler_hz":20,"process":"{process}"}}"#
            )
        };
        let [mut changed, mut always] = [ratios(&text(3)), ratios(&text(3))];
        let [mut one, mut other] = [stream(1), stream(1)];
        for at in 0..2000 {
            if at == 500 {
                changed.adopt(ratios(&text(10)));
            }
            let now = Time::from_nanos(at * 1_000_000);
            let shift = changed.snr_db(now, &mut one) - always.snr_db(now, &mut other);
            let expected = if at < 500 { 0.0 } else { 7.0 };
            assert!((shift - expected).abs() < 1e-9, "{process}: {shift} dB at {at} ms");
        }
    }
}

/// Processes of different kinds have nothing in common: the new one starts.
#[test]
fn another_process_starts_anew() {
    let text = |process| {
        format!(r#"{{"model":"fading","mean_snr_db":3,"doppler_hz":20,"process":"{process}"}}"#)
    };
    for (old, new) in [("sinusoids", "markov"), ("markov", "sinusoids")] {
        let [mut changed, mut fresh] = [ratios(&text(old)), ratios(&text(new))];
        let mut one = stream(1);
        changed.snr_db(Time::ZERO, &mut one);
        changed.adopt(ratios(&text(new)));
        let mut other = one.clone();
        for at in 0..500 {
            let now = Time::from_nanos(at * 1_000_000);
            let [one, other] = [changed.snr_db(now, &mut one), fresh.snr_db(now, &mut other)];
            assert!(one.total_cmp(&other).is_eq(), "{new}: {one} and {other} dB at {at} ms");
        }
    }
}

/// A chain that alternates between its states goes on alternating; after the change the other state
/// loses frames.
#[test]
fn a_chain_of_two_states_keeps_its_state() {
    for seed in 0..10 {
        let mut stream = stream(seed);
        let mut state = build(r#"{"model":"gilbert_elliott","p":1,"r":1}"#);
        let before = losses(&mut state, 0..7, &mut stream);
        assert!(before.windows(2).all(|pair| pair[0] != pair[1]));
        state.adopt(build(r#"{"model":"gilbert_elliott","p":1,"r":1,"k":0,"h":1}"#));
        let after = losses(&mut state, 0..7, &mut stream);
        assert_eq!(before, after);
    }
}

/// A chain that runs through its states in a cycle goes on from its state if the new chain has it;
/// otherwise it starts in the stationary distribution.
#[test]
fn a_chain_of_any_number_of_states_keeps_a_state_that_still_exists() {
    let cycle = |count: usize, lossy: usize| {
        let row = |from: usize| -> Vec<u8> {
            (0..count).map(|to| u8::from(to == (from + 1) % count)).collect()
        };
        let transitions: Vec<Vec<u8>> = (0..count).map(row).collect();
        let loss: Vec<u8> = (0..count).map(|state| u8::from(state == lossy)).collect();
        build(&format!(r#"{{"model":"markov","transitions":{transitions:?},"loss":{loss:?}}}"#))
    };
    let mut starts = [0_u32; 2];
    for seed in 0..60 {
        for frames in 1..4 {
            let mut stream = stream(seed);
            let mut state = cycle(3, 0);
            let seen = losses(&mut state, 0..3, &mut stream);
            let first = (3 - seen.iter().position(|lost| *lost).expect("a cycle")) % 3;
            losses(&mut state, 0..frames, &mut stream);
            let present = (first + frames as usize) % 3;
            state.adopt(cycle(2, 1));
            let lost = losses(&mut state, 0..4, &mut stream);
            assert!(lost.windows(2).all(|pair| pair[0] != pair[1]));
            if present < 2 {
                assert_eq!(lost[0], present == 1, "seed {seed}");
            } else {
                starts[usize::from(lost[0])] += 1;
            }
        }
    }
    // One of three successive counts of frames ends in the state that is missing. Both states then
    // have probability 1/2, and the difference of the counts has a standard deviation of √60.
    assert_eq!(starts[0] + starts[1], 60);
    assert!(starts[0].abs_diff(starts[1]) < 32, "{starts:?}");
}

/// A shorter period applies to the frames that were counted under a longer one.
#[test]
fn a_periodic_loss_keeps_its_count() {
    let mut state = build(r#"{"model":"periodic","every":8}"#);
    let mut stream = stream(1);
    assert_eq!(losses(&mut state, 0..5, &mut stream), [false; 5]);
    state.adopt(build(r#"{"model":"periodic","every":3}"#));
    assert_eq!(losses(&mut state, 0..4, &mut stream), [true, false, false, true]);
}

/// RFC 2697: the bucket starts full, and a token is a byte. At 8 Mbit/s one arrives per
/// microsecond. A frame passes at the nanosecond at which its last token is there.
#[test]
fn a_bucket_fills_at_its_rate_up_to_its_size() {
    let passes = |state: &mut channel::State, at: u64, bytes: u32| {
        state.fate(Time::from_nanos(at), &frame(bytes), &mut stream(1))
            != Fate::Lose(channel::Reason::Policer)
    };
    let policer = r#"{"model":"policer","rate":"8 Mbit/s","bucket_bytes":3000}"#;
    let mut state = build(policer);
    // Full at the start; a frame that is dropped takes no tokens.
    assert!(!passes(&mut state, 0, 3001));
    assert!(passes(&mut state, 0, 1000));
    assert!(passes(&mut state, 0, 2000));
    assert!(!passes(&mut state, 0, 1));
    // 1000 tokens after 1 ms.
    assert!(!passes(&mut state, 999_999, 1000));
    assert!(passes(&mut state, 1_000_000, 1000));
    assert!(!passes(&mut state, 1_500_000, 501));
    assert!(passes(&mut state, 1_500_000, 500));
    // No more than the bucket holds, however long nothing is sent.
    assert!(!passes(&mut state, 10_000_000_000, 3001));
    assert!(passes(&mut state, 10_000_000_000, 3000));
    assert!(!passes(&mut state, 10_000_000_999, 1));
    assert!(passes(&mut state, 10_000_001_000, 1));
}

/// A change keeps the tokens, as many as fit into the new bucket, and the time of the last frame.
#[test]
fn a_bucket_keeps_its_tokens() {
    let policer = |mbit: u32, bytes: u32| {
        build(&format!(r#"{{"model":"policer","rate":"{mbit} Mbit/s","bucket_bytes":{bytes}}}"#))
    };
    let passes = |state: &mut channel::State, at: u64, bytes: u32| {
        !state.fate(Time::from_nanos(at), &frame(bytes), &mut stream(1)).is_loss()
    };
    // 500 of 3000 tokens are left; the new rate of 2 bytes per microsecond counts from the last
    // frame on.
    let mut state = policer(8, 3000);
    assert!(passes(&mut state, 7_000_000, 2500));
    state.adopt(policer(16, 6000));
    assert!(!passes(&mut state, 7_000_000, 501));
    assert!(!passes(&mut state, 7_100_000, 701));
    assert!(passes(&mut state, 7_100_000, 700));
    // 3000 tokens do not fit into a bucket of 1000.
    let mut state = policer(8, 3000);
    state.adopt(policer(8, 1000));
    assert!(!passes(&mut state, 0, 1001));
    assert!(passes(&mut state, 0, 1000));
}
