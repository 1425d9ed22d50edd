//! Queue disciplines of a station, compared with the same disciplines driven by a model of the
//! station.
//!
//! Without backoff and errors a packet of 1464 bytes is in service for 1284 + 10 + 249 µs from the
//! start of its frame, which begins DIFS after the previous packet's service, or at once if the
//! medium has been idle that long.

use super::rig::{Rig, config, packet};
use crate::queue::{Config as QueueConfig, Environment, Queue, QueueAction, QueueActions, Waiting};
use crate::stage::{Departure, Entry};
use crate::wlan::{Config, Packet, line};
use retx_units::{RandomStream, StreamKey, Time};

const BYTES: u32 = 1464;
const SERVICE: u64 = 1284 + 10 + 249;
const DIFS: u64 = 50;

fn queue(text: &str) -> QueueConfig {
    serde_json::from_str(text).expect("a queue")
}

fn cell(queue: QueueConfig) -> Config {
    let mut config = Config { queue, ..config(2) };
    config.parameters.cw_min = 0;
    config.parameters.cw_max = 0;
    config
}

/// Packets and their arrival times in µs, a random load close to the station's capacity.
fn arrivals(seed: u64) -> Vec<(u64, Packet)> {
    let mut stream = StreamKey { seed, replication: 1 }.stream("arrivals");
    let mut at = 1000;
    let mut arrival = |id: u32, stream: &mut RandomStream| {
        at += stream.below(2 * SERVICE);
        let mut packet = packet(id, BYTES);
        packet.frame.flow = stream.below(3) as u32;
        packet.ecn_capable = stream.below(2) == 0;
        (at, packet)
    };
    let mut heavy = Vec::new();
    for id in 0..2000 {
        let (at, packet) = arrival(id, &mut stream);
        // Many packets arrive in bursts, for disciplines that depend on long waiting times.
        heavy.push((if id % 100 < 60 { at - at % (8 * SERVICE) } else { at }, packet));
    }
    heavy.sort_by_key(|(at, packet)| (*at, packet.id));
    heavy
}

/// Events: `(time in µs, packet, kind)`.
type Log = Vec<(u64, u32, &'static str)>;

/// Reference model: a station reduced to its discipline and the packet in service.
struct Hand {
    queue: crate::queue::State,
    actions: QueueActions,
    log: Log,
    /// End of the current service, in µs, and the packet in service.
    served: Option<(u64, u32)>,
    free: u64,
}

impl Hand {
    fn note(&mut self, at: u64) {
        while let Some(action) = self.actions.pop() {
            self.log.push(match action {
                QueueAction::Dropped(id) => (at, id, "dropped"),
                QueueAction::Marked(id) => (at, id, "marked"),
            });
        }
    }

    fn next(&mut self, at: u64) {
        let next = self.queue.dequeue(Time::from_nanos(at * 1000), &mut self.actions);
        self.note(at);
        self.served = next.map(|waiting| {
            let end = at.max(self.free) + SERVICE;
            self.free = end + DIFS;
            (end, waiting.id)
        });
    }

    fn arrive(&mut self, at: u64, packet: &Packet) {
        let Packet { id, frame, ecn_capable } = *packet;
        let since = Time::from_nanos(at * 1000);
        let waiting = Waiting { id, frame, ecn_capable, to: 1, since };
        let admitted = self.queue.enqueue(since, &waiting, &mut self.actions);
        self.note(at);
        if !admitted {
            self.log.push((at, id, "refused"));
        } else if self.served.is_none() {
            self.next(at);
        }
    }

    /// Completes every service that ends before `at`.
    fn run(&mut self, at: u64) {
        while let Some((end, id)) = self.served.filter(|(end, _)| *end < at) {
            self.log.push((end - 10 - 249, id, "delivered"));
            self.next(end);
        }
    }
}

fn by_hand(config: &Config, arrivals: &[(u64, Packet)]) -> Log {
    let stream = StreamKey { seed: 1, replication: 0 }.stream("wlan.test.s0.queue");
    let environment: Environment = line::environment(&config.parameters, stream);
    let queue = config.queue.build(environment);
    let mut hand =
        Hand { queue, actions: QueueActions::default(), log: vec![], served: None, free: DIFS };
    for (at, packet) in arrivals {
        hand.run(*at);
        hand.arrive(*at, packet);
    }
    hand.run(u64::MAX);
    hand.log
}

fn in_a_cell(config: &Config, arrivals: &[(u64, Packet)]) -> Log {
    let mut rig = Rig::new(config, 1);
    let mut log = Log::new();
    for (at, packet) in arrivals {
        if rig.send(*at, (0, 1), packet) == Entry::QueueFull {
            log.push((*at, packet.id, "refused"));
        }
        assert!(rig.cell.statistics(rig.now, 0).is_conserved());
    }
    rig.run_to(10_000_000);
    let reports = rig.left.iter().map(|(at, departure)| match *departure {
        Departure::Delivered { id } => (*at, id, "delivered"),
        Departure::Dropped { id, at: dropped } => {
            assert_eq!(dropped.as_nanos(), at * 1000, "reported when it happens");
            (*at, id, "dropped")
        }
        Departure::Marked { id } => (*at, id, "marked"),
        ref other => panic!("{other:?} on a clear channel"),
    });
    log.extend(reports);
    let (statistics, count) = (rig.cell.statistics(rig.now, 0), |what| {
        log.iter().filter(|(_, _, is)| *is == what).count() as u64
    });
    assert_eq!(statistics.counters.packets_marked, count("marked"));
    assert_eq!(statistics.counters.dropped_by_queue, count("dropped") + count("refused"));
    assert_eq!((statistics.queued, statistics.in_service), (0, 0));
    log
}

#[test]
fn a_station_asks_its_discipline_when_a_packet_comes_and_when_one_is_done() {
    let disciplines = [
        ("red", r#""min_threshold": 2, "max_threshold": 9, "weight": 0.1"#),
        ("codel", r#""target": "3 ms", "interval": "20 ms", "packets": 30"#),
        ("fq_codel", r#""target": "3 ms", "interval": "20 ms", "packets": 20"#),
        ("pie", r#""target": "3 ms", "burst_allowance": "0 s", "packets": 30"#),
    ];
    let mut seen = std::collections::BTreeSet::new();
    for (name, parameters) in disciplines {
        for seed in 0..20 {
            let ecn = seed % 2 == 0;
            let text = format!(r#"{{"discipline": "{name}", {parameters}, "ecn": {ecn}}}"#);
            let config = cell(queue(&text));
            let arrivals = arrivals(seed);
            let [mut hand, mut cell] = [by_hand, in_a_cell].map(|run| run(&config, &arrivals));
            // The order of simultaneous events is not compared.
            hand.sort_unstable();
            cell.sort_unstable();
            assert_eq!(hand, cell, "{name}, seed {seed}");
            seen.extend(cell.iter().map(|(_, _, what)| (name, *what)));
            assert!(ecn || cell.iter().all(|(_, _, what)| *what != "marked"));
        }
    }
    for (name, _) in disciplines {
        let lost = if matches!(name, "red" | "pie") { "refused" } else { "dropped" };
        assert!(seen.contains(&(name, lost)) && seen.contains(&(name, "marked")), "{name}");
    }
}

/// A flow that sends little does not wait behind one that sends much, unless the queue is droptail.
#[test]
fn fq_codel_lets_a_sparse_flow_pass() {
    let mut config = cell(queue(r#""fq_codel""#));
    for (queue, place) in [(queue(r#""fq_codel""#), 2), (queue(r#""droptail""#), 20)] {
        config.queue = queue;
        let mut rig = Rig::new(&config, 1);
        for id in 0..20 {
            let _ = rig.send(1000, (0, 1), &packet(id, BYTES));
        }
        let mut sparse = packet(99, BYTES);
        sparse.frame.flow = 7;
        let _ = rig.send(1500 + SERVICE, (0, 1), &sparse);
        rig.run_to(100_000);
        let found = rig.left.iter().position(|(_, left)| left.id() == 99);
        assert_eq!(found, Some(place));
    }
}
