//! Boundaries of the queue disciplines: limits of the queue, of their parameters, and of their
//! controllers.

use retx_link::channel::Frame;
use retx_link::queue::{self, Environment, Occupancy, Queue, QueueActions, Waiting, droptail, pie};
use retx_units::{Duration, StreamKey, Time};

fn build(text: &str) -> queue::State {
    let random_stream = StreamKey { seed: 5, replication: 0 }.stream("queue");
    let config: queue::Config = serde_json::from_str(text).expect("a queue");
    config.build(Environment { random_stream, rate: None, overhead: 0 })
}

fn packet(flow: u32, bytes: u32) -> Waiting {
    let frame = Frame { bytes, flow, ..Frame::default() };
    Waiting { id: flow, frame, ecn_capable: false, to: 0, since: Time::ZERO }
}

/// A queue limited to three packets admits three, and another one for each that departs.
#[test]
fn a_limit_in_packets_is_the_number_of_packets_that_wait() {
    for discipline in ["droptail", "red", "codel", "pie"] {
        let mut state = build(&format!(r#"{{"discipline": "{discipline}", "packets": 3}}"#));
        let mut actions = QueueActions::default();
        let mut fill = |state: &mut queue::State| {
            (0..9).filter(|_| state.enqueue(Time::ZERO, &packet(0, 100), &mut actions)).count()
        };
        assert_eq!(fill(&mut state), 3, "{discipline}");
        assert_eq!(state.occupancy(), Occupancy { packets: 3, bytes: 300 }, "{discipline}");
        assert!(state.dequeue(Time::ZERO, &mut QueueActions::default()).is_some());
        assert_eq!(fill(&mut state), 1, "{discipline}");
    }
}

/// A droptail queue has a limit in bytes only if one is configured.
#[test]
fn droptail_counts_bytes_only_for_a_limit_in_bytes() {
    let limits = |packets, bytes| droptail::Config { packets, bytes }.limits();
    assert!(!limits(None, None).are_in_bytes());
    assert!(!limits(Some(3), None).are_in_bytes());
    assert!(limits(None, Some(3000)).are_in_bytes());
    assert!(limits(Some(3), Some(3000)).are_in_bytes());
}

/// The packets and bytes of all flows are counted together, from the arrival of each packet to its
/// departure.
#[test]
fn fq_codel_counts_the_bytes_of_all_flows() {
    let mut state = build(r#"{"discipline": "fq_codel"}"#);
    let mut actions = QueueActions::default();
    let sizes = [100, 1500, 40, 700];
    let (mut packets, mut bytes) = (0, 0);
    for (flow, size) in (0..).zip(sizes) {
        assert!(state.enqueue(Time::ZERO, &packet(flow, size), &mut actions));
        packets += 1;
        bytes += u64::from(size);
        assert_eq!(state.occupancy(), Occupancy { packets, bytes });
    }
    while let Some(departing) = state.dequeue(Time::ZERO, &mut actions) {
        packets -= 1;
        bytes -= u64::from(departing.frame.bytes);
        assert_eq!(state.occupancy(), Occupancy { packets, bytes });
    }
    assert_eq!(state.occupancy(), Occupancy::default());
}

/// CoDel's interval may be as short as its target, but not shorter.
#[test]
fn an_interval_may_equal_the_target() {
    for discipline in ["codel", "fq_codel"] {
        let read = |interval: &str| {
            let times = format!(r#""target": "5 ms", "interval": "{interval}""#);
            let text = format!(r#"{{"discipline": "{discipline}", {times}}}"#);
            serde_json::from_str::<queue::Config>(&text)
        };
        assert!(read("5 ms").is_ok(), "{discipline}");
        assert!(read("4999 us").is_err(), "{discipline}");
    }
}

/// PIE restores its burst allowance only if both delays are below half of the target (RFC 8033
/// §4.2).
#[test]
fn half_of_the_target_is_too_long_for_pies_burst_allowance() {
    let config = pie::Config::default();
    let half = Duration::from_nanos(config.target.as_nanos() / 2);
    let below = Duration::from_nanos(half.as_nanos() - 1);
    let spent = config.burst_allowance.saturating_sub(config.update_interval);
    let full = config.burst_allowance;
    for (before, now, burst) in
        [(below, below, full), (half, below, spent), (below, half, spent), (half, half, spent)]
    {
        let mut controller = pie::Controller::new(&config);
        controller.old_delay = before;
        controller.update_probability(&config, now);
        assert_eq!((controller.probability, controller.burst), (0.0, burst), "{before} {now}");
    }
}

/// PIE starts without drops, and a pause of ten years, 21 billion updates, does not change that or
/// take long.
#[test]
fn pies_probability_stays_zero_without_packets() {
    let mut state = build(r#"{"discipline": "pie"}"#);
    let probability = |state: &queue::State| match state {
        queue::State::pie(pie) => pie.drop_probability(),
        _ => panic!("{state:?}"),
    };
    assert!(probability(&state) <= 0.0);
    let later = Time::ZERO + Duration::from_secs(10 * 365 * 86_400);
    assert!(state.dequeue(later, &mut QueueActions::default()).is_none());
    assert!(probability(&state) <= 0.0);
    assert!(state.enqueue(later, &packet(0, 1000), &mut QueueActions::default()));
}
