//! Drops of PIE at a known drop probability: the packets that RFC 8033 exempts, and the random
//! draws.

use retx_link::channel::Frame;
use retx_link::queue::{self, Environment, Queue, QueueActions, Waiting};
use retx_units::{Duration, Rate, StreamKey, Time};

const KEY: StreamKey = StreamKey { seed: 21, replication: 0 };

fn build(text: &str) -> queue::State {
    let rate = Some(Rate::from_bit_s(8_000_000));
    let config: queue::Config = serde_json::from_str(text).expect("a queue");
    config.build(Environment { random_stream: KEY.stream("queue"), rate, overhead: 0 })
}

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_micros(us)
}

fn packet(id: u32, since: Time) -> Waiting {
    let frame = Frame { bytes: 1000, flow: 0, ..Frame::default() };
    Waiting { id, frame, ecn_capable: false, to: 0, since }
}

/// PIE drops nothing within the burst allowance, whatever the probability (RFC 8033 §4.1).
#[test]
fn pie_lets_a_burst_pass() {
    let first_drop = |allowance: &str| {
        let mut state = build(&format!(
            r#"{{"discipline": "pie", "alpha": 1000, "beta": 10000,
                "burst_allowance": "{allowance}"}}"#
        ));
        let mut actions = QueueActions::default();
        let refused = (0..400).find(|ms| {
            let now = us(1000 * ms);
            let pair = [2 * ms, 2 * ms + 1]
                .map(|id| state.enqueue(now, &packet(id as u32, now), &mut actions));
            state.dequeue(now, &mut actions);
            pair.contains(&false)
        });
        refused.expect("the delay grows")
    };
    // The allowance falls by 15 ms with each update, and updates come every 15 ms.
    assert!(first_drop("0 s") < 100);
    assert!((150..180).contains(&first_drop("150 ms")));
    assert!((300..330).contains(&first_drop("300 ms")));
}

/// The drop probabilities of the packets from one drop to the next add up to at least 0.85 and at
/// most 8.5 (RFC 8033 §5.4). If nothing limited the sum, it would exceed 8.5 in one of 2000 gaps;
/// the test has more than 10,000.
#[test]
fn pies_drops_are_spread() {
    let mut state = build(
        r#"{"discipline": "pie", "alpha": 104, "beta": 0, "burst_allowance": "0 s",
            "update_interval": "100 s", "packets": 1000000}"#,
    );
    let mut actions = QueueActions::default();
    for id in 0..4 {
        assert!(state.enqueue(us(0), &packet(id, us(0)), &mut actions));
    }
    // This dequeue measures a delay of 1 s, which determines the probability for the next 100 s.
    state.dequeue(us(1_000_000), &mut actions);
    let probability = 104.0 * (1.0 - 0.015) / 2048.0;
    let packets_until = |sum: f64| {
        let sums = (1..).scan(0.0, |sum, _| {
            *sum += probability;
            Some(*sum)
        });
        1 + sums.take_while(|it| *it < sum).count() as u64
    };
    let (mut gaps, mut gap) = (Vec::new(), 0);
    for n in 0..500_000 {
        let now = us(100_000_000 + n);
        gap += 1;
        if !state.enqueue(now, &packet(n as u32, now), &mut actions) {
            gaps.push(std::mem::take(&mut gap));
        }
    }
    assert!(gaps.len() > 10_000);
    assert_eq!(gaps.iter().min(), Some(&packets_until(0.85)));
    assert_eq!(gaps.iter().max(), Some(&packets_until(8.5)));
}

/// PIE drops nothing as long as the previous delay was below half of the target and the probability
/// is below 0.2 (RFC 8033 §4.1).
#[test]
fn pie_spares_a_short_queue() {
    let mut state = build(
        r#"{"discipline": "pie", "target": "1 ms", "alpha": 60, "beta": 0,
            "burst_allowance": "0 s", "update_interval": "100 s", "packets": 1000000}"#,
    );
    let mut actions = QueueActions::default();
    let mut refused = |state: &mut queue::State, at: u64, count: u32| {
        let enters = |id| state.enqueue(us(at), &packet(id, us(at)), &mut actions);
        (0..count).map(enters).filter(|enters| !enters).count()
    };
    assert_eq!(refused(&mut state, 0, 4), 0);
    let mut leaving = QueueActions::default();
    state.dequeue(us(3_000_000), &mut leaving);
    // The probability is 60·(3 − 0.001)/2048, and the previous delay 3 s.
    assert!(refused(&mut state, 100_000_000, 10_000) > 100);
    while state.dequeue(us(100_000_001), &mut leaving).is_some() {}
    assert_eq!(refused(&mut state, 150_000_000, 3), 0);
    state.dequeue(us(150_000_400), &mut leaving);
    // The probability has fallen by only 60·(0.001 − 0.0004)/2, but the previous delay is 0.4 ms.
    assert_eq!(refused(&mut state, 200_000_000, 10_000), 0);
    let queue::State::pie(pie) = &state else { panic!("{state:?}") };
    assert!(pie.drop_probability() > 0.05);
}
