//! Contract of every queue discipline: packets are conserved at all times, those of a flow stay in
//! order, limits hold, only ECN-capable packets are marked, equal random streams give equal runs,
//! and polling more often changes nothing.

use proptest::prelude::*;
use retx_link::channel::Frame;
use retx_link::pipe::{Config, Departure, Entry, Packet, Pipe};
use retx_link::queue;
use retx_units::{Duration, Rate, StreamKey, Time};
use std::collections::BTreeMap;

const KEY: StreamKey = StreamKey { seed: 11, replication: 0 };

/// Every discipline, configured with a small limit and early action, with the number of packets
/// that it can hold.
fn disciplines() -> Vec<(queue::Config, u64)> {
    let all = [
        (r#"{"discipline": "droptail", "packets": 9}"#, 9),
        (
            r#"{"discipline": "red", "min_threshold": 1, "max_threshold": 3, "weight": 0.2,
             "ecn": true, "packets": 12}"#,
            12,
        ),
        (
            r#"{"discipline": "codel", "target": "20 us", "interval": "200 us", "ecn": true,
             "packets": 30}"#,
            30,
        ),
        (
            r#"{"discipline": "fq_codel", "target": "20 us", "interval": "200 us", "quantum": 600,
             "flows": 8, "packets": 20}"#,
            20,
        ),
        (
            r#"{"discipline": "pie", "target": "20 us", "update_interval": "30 us", "alpha": 300,
             "beta": 3000, "burst_allowance": "100 us", "ecn": true,
             "ecn_threshold": 1, "packets": 25}"#,
            25,
        ),
    ];
    all.iter().map(|(text, room)| (serde_json::from_str(text).expect("a queue"), *room)).collect()
}

fn pipe(queue: &queue::Config) -> Pipe {
    let config = Config {
        rate: Some(Rate::from_bit_s(1_000_000_000)),
        delay: Duration::from_micros(3),
        overhead: 38,
        queue: queue.clone(),
        channel: vec![],
        changes: vec![],
        repair: None,
    };
    Pipe::new(&config, KEY, "link")
}

/// Log of packets admitted, delivered, dropped and marked.
#[derive(Debug, Default, PartialEq, Eq)]
struct Log {
    lines: Vec<String>,
    delivered: Vec<u32>,
    dropped: Vec<u32>,
    marked: Vec<u32>,
}

struct Drive {
    pipe: Pipe,
    log: Log,
    room: u64,
}

impl Drive {
    fn new(queue: &queue::Config, room: u64) -> Self {
        Self { pipe: pipe(queue), log: Log::default(), room }
    }

    fn check(&self, now: Time) {
        let statistics = self.pipe.statistics(now);
        assert!(statistics.is_conserved(), "{statistics:?}");
    }

    fn until(&mut self, until: Time) {
        while self.pipe.poll_timeout() <= until {
            let now = self.pipe.poll_timeout();
            self.check(now);
            let Some(departure) = self.pipe.poll_transmit(now) else { continue };
            self.check(now);
            self.log.lines.push(format!("{now:?} {departure:?}"));
            match departure {
                Departure::Delivered { id } => self.log.delivered.push(id),
                Departure::Dropped { id, at } => {
                    assert_eq!(at, now);
                    self.log.dropped.push(id);
                }
                Departure::Marked { id } => self.log.marked.push(id),
                other => panic!("{other:?} without a channel"),
            }
        }
        assert_eq!(self.pipe.poll_transmit(until), None);
    }

    fn enter(&mut self, now: Time, packet: &Packet) {
        if self.pipe.handle_packet(now, packet) == Entry::QueueFull {
            self.log.lines.push(format!("{now:?} refused {}", packet.id));
            self.log.dropped.push(packet.id);
        }
        self.check(now);
        // Drops that this arrival has caused are reported by the next polls.
        self.until(now);
        assert!(self.pipe.statistics(now).queued <= self.room);
    }
}

/// A packet's time since the previous one in ns, its size, its flow, and true if it is ECN-capable.
type Arrival = (u64, u32, u32, bool);

fn drive(queue: &queue::Config, room: u64, arrivals: &[Arrival], extra: u64) -> Log {
    let mut drive = Drive::new(queue, room);
    let mut now = 0;
    for (id, &(gap, bytes, flow, ecn_capable)) in (0u32..).zip(arrivals) {
        if extra > 0 {
            for instant in (now..now + gap).step_by(extra as usize) {
                drive.until(Time::from_nanos(instant));
            }
        }
        now += gap;
        drive.until(Time::from_nanos(now));
        let frame = Frame { bytes, flow, ..Frame::default() };
        drive.enter(Time::from_nanos(now), &Packet { id, frame, ecn_capable });
    }
    drive.until(Time::from_nanos(u64::MAX - 1));
    drive.log
}

fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    // Short gaps overload the link, and rare long ones let its queue empty.
    let gap = prop_oneof![8 => 0u64..9_000, 1 => 100_000u64..2_000_000];
    prop::collection::vec((gap, 40u32..1500, 0u32..6, any::<bool>()), 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_contract(arrivals in arrivals(), extra in 500u64..20_000) {
        for (queue, room) in disciplines() {
            let log = drive(&queue, room, &arrivals, 0);
            prop_assert_eq!(&log, &drive(&queue, room, &arrivals, 0));
            prop_assert_eq!(&log, &drive(&queue, room, &arrivals, extra));

            let mut all: Vec<u32> = log.delivered.iter().chain(&log.dropped).copied().collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..arrivals.len() as u32).collect::<Vec<_>>());
            let mut last = BTreeMap::new();
            for id in &log.delivered {
                let flow = arrivals[*id as usize].2;
                prop_assert!(last.insert(flow, *id).is_none_or(|before| before < *id));
            }
            for id in &log.marked {
                prop_assert!(arrivals[*id as usize].3, "it cannot carry a mark");
                prop_assert!(log.delivered.contains(id));
            }
        }
    }
}

/// The list of disciplines above has all that are registered, and each of them drops packets, and
/// marks some with ECN, in such a run.
#[test]
fn every_discipline_is_held_to_it() {
    let names: Vec<&str> = disciplines().iter().map(|(queue, _)| queue.name()).collect();
    assert_eq!(names, queue::Config::NAMES);
    let arrivals: Vec<Arrival> =
        (0..2000).map(|id| (6_000 + id % 7 * 900, 1200, (id % 6) as u32, id % 2 == 0)).collect();
    for (queue, room) in disciplines() {
        let log = drive(&queue, room, &arrivals, 0);
        assert!(!log.dropped.is_empty(), "{}", queue.name());
        let text = serde_json::to_string(&queue).expect("plain data");
        let marks = text.contains(r#""ecn":true"#);
        assert_eq!(log.marked.is_empty(), !marks, "{text}");
        assert!(log.delivered.len() > 1000, "{}", queue.name());
    }
}

/// Impossible parameters are refused with a message that says what is wrong, and what to use
/// instead.
#[test]
fn refusals() {
    for (text, says) in [
        (r#"{"discipline": "red", "max_threshold": 5}"#, "5 is not above min_threshold, 5"),
        (r#"{"discipline": "red", "weight": 0}"#, "the paper takes 0.002"),
        (r#"{"discipline": "red", "max_probability": 2}"#, "2 is not a probability"),
        (r#"{"discipline": "codel", "target": "0 s"}"#, "RFC 8289 takes 5 ms"),
        (r#"{"discipline": "codel", "interval": "1 ms"}"#, "1 ms is less than target, 5 ms"),
        (r#"{"discipline": "fq_codel", "flows": 0}"#, "0 lies outside 1 … 65536 lines"),
        (r#"{"discipline": "fq_codel", "quantum": 0}"#, "0 lies outside 1 … 1000000 bytes"),
        (r#"{"discipline": "pie", "alpha": -1}"#, "-1 is no weight"),
        (r#"{"discipline": "pie", "packets": 0}"#, "not a single packet would get through"),
        (r#"{"discipline": "codel", "limit": 3}"#, "unknown field `limit`"),
    ] {
        let error = serde_json::from_str::<queue::Config>(text).expect_err(text).to_string();
        assert!(error.contains(says), "{text}: {error}");
    }
}
