//! The pipe compared with a model of a link that handles one event at a time, and its invariants:
//! packets are conserved at all times, and polling more often changes nothing.

use proptest::prelude::*;
use retx_link::channel::{self, Frame, Reason};
use retx_link::pipe::{Config, Departure, Entry, Packet, Pipe, Statistics};
use retx_link::queue;
use retx_units::{Duration, Probability, Rate, StreamKey, Time};
use std::collections::VecDeque;

const KEY: StreamKey = StreamKey { seed: 3, replication: 0 };

fn bernoulli(p: f64) -> channel::Config {
    channel::Config::bernoulli(channel::bernoulli::Config {
        p: Probability::new(p).expect("a probability"),
    })
}

fn droptail(packets: Option<u64>, bytes: Option<u64>) -> queue::Config {
    queue::Config::droptail(queue::droptail::Config { packets, bytes })
}

fn packet(id: u32, bytes: u32) -> Packet {
    let position = u64::from(id) * 1460;
    Packet {
        id,
        ecn_capable: false,
        frame: Frame { bytes, flow: 0, position, payload_bytes: bytes.saturating_sub(40) },
    }
}

fn ns(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// Departures of a pipe with their times.
type Log = Vec<(Time, Departure)>;

/// Arrival times and lengths of packets, given the gaps between them.
fn arrivals(gaps: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let mut now = 0;
    let arrival = |&(gap, bytes): &(u64, u32)| {
        now += gap;
        (now, bytes)
    };
    gaps.iter().map(arrival).collect()
}

/// A link with a limited queue and a channel that may lose frames.
fn losing(packets: u64, channel: Vec<channel::Config>) -> Config {
    Config {
        rate: Some(Rate::from_bit_s(1_000_000_000)),
        delay: Duration::from_micros(50),
        overhead: 0,
        queue: droptail(Some(packets), None),
        channel,
        changes: vec![],
        repair: None,
    }
}

/// Enters the packets, and collects departures up to each arrival and at the `extra` times.
fn drive(pipe: &mut Pipe, arrivals: &[(u64, u32)], extra: &[u64]) -> (Log, Vec<u32>) {
    let mut log = Log::new();
    let mut refused = Vec::new();
    let mut extra: VecDeque<u64> = extra.iter().copied().collect();
    extra.make_contiguous().sort_unstable();
    for (id, &(at, bytes)) in arrivals.iter().enumerate() {
        while let Some(&instant) = extra.front()
            && instant < at
        {
            extra.pop_front();
            drain(pipe, ns(instant), &mut log);
        }
        drain(pipe, ns(at), &mut log);
        let id = id as u32;
        if pipe.handle_packet(ns(at), &packet(id, bytes)) == Entry::QueueFull {
            refused.push(id);
        }
        assert!(pipe.statistics(ns(at)).is_conserved());
    }
    drain(pipe, Time::from_nanos(u64::MAX - 1), &mut log);
    (log, refused)
}

fn drain(pipe: &mut Pipe, until: Time, log: &mut Log) {
    while pipe.poll_timeout() <= until {
        let now = pipe.poll_timeout();
        let statistics = pipe.statistics(now);
        assert!(statistics.is_conserved());
        let departure = pipe.poll_transmit(now).expect("something is due");
        log.push((now, departure));
    }
    assert_eq!(pipe.poll_transmit(until), None);
}

/// Reference model: a transmitter that is idle or sends one packet, handling one event at a time.
struct Plain {
    queue_packets: usize,
    queue_bytes: u64,
    queue: VecDeque<(u32, u32, u64)>,
    sending: Option<(u32, u64)>,
    rate: Rate,
    delay: u64,
    overhead: u32,
    delivered: Vec<(u64, u32)>,
    refused: Vec<u32>,
    waited: u128,
    longest: usize,
}

impl Plain {
    fn advance(&mut self, now: u64) {
        while let Some((id, end)) = self.sending.filter(|(_, end)| *end <= now) {
            self.delivered.push((end + self.delay, id));
            self.sending = None;
            if let Some((id, bytes, since)) = self.queue.pop_front() {
                self.waited += u128::from(end - since);
                self.send(id, bytes, end);
            }
        }
    }

    fn send(&mut self, id: u32, bytes: u32, now: u64) {
        let duration = self.rate.transmission_time(bytes + self.overhead).as_nanos();
        self.sending = Some((id, now + duration));
    }

    fn has_room_for(&self, bytes: u32) -> bool {
        let waiting = self.queue.iter().map(|(_, bytes, _)| u64::from(*bytes)).sum::<u64>();
        waiting + u64::from(bytes) <= self.queue_bytes
    }

    fn arrive(&mut self, now: u64, id: u32, bytes: u32) {
        self.advance(now);
        if self.sending.is_none() {
            self.send(id, bytes, now);
        } else if self.queue.len() < self.queue_packets && self.has_room_for(bytes) {
            self.queue.push_back((id, bytes, now));
            self.longest = self.longest.max(self.queue.len());
        } else {
            self.refused.push(id);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn agrees_with_a_link_taken_one_step_at_a_time(
        gaps in prop::collection::vec((0u64..40_000, 40u32..1500), 1..200),
        packets in 0u64..12,
        room in prop::option::of(0u64..9_000),
        keeps_history: bool,
        rate in 1_000_000_000u64..4_000_000_000,
        delay in 0u64..200_000,
    ) {
        let rate = Rate::from_bit_s(rate);
        let arrivals = arrivals(&gaps);
        let config = Config {
            rate: Some(rate),
            delay: Duration::from_nanos(delay),
            overhead: 38,
            queue: droptail(Some(packets), room),
            channel: vec![],
            changes: vec![],
            repair: None,
        };
        let mut pipe = Pipe::new(&config, KEY, "link");
        if keeps_history {
            pipe.record_history();
        }
        let (log, refused) = drive(&mut pipe, &arrivals, &[]);
        let mut plain = Plain {
            queue_packets: packets as usize,
            queue_bytes: room.unwrap_or(u64::MAX),
            queue: VecDeque::new(),
            sending: None,
            rate,
            delay,
            overhead: 38,
            delivered: vec![],
            refused: vec![],
            waited: 0,
            longest: 0,
        };
        for (id, &(at, bytes)) in arrivals.iter().enumerate() {
            plain.arrive(at, id as u32, bytes);
        }
        plain.advance(u64::MAX);
        let delivered: Vec<(u64, u32)> = log
            .iter()
            .map(|(time, departure)| match departure {
                Departure::Delivered { id } => (time.as_nanos(), *id),
                other => unreachable!("there is no channel, and droptail: {other:?}"),
            })
            .collect();
        prop_assert_eq!(delivered, plain.delivered);
        prop_assert_eq!(refused, plain.refused);
        let end = pipe.statistics(ns(u64::MAX - 1));
        prop_assert_eq!(end.waited, plain.waited);
        prop_assert_eq!(end.queue_max, plain.longest as u64);
        prop_assert_eq!(end.packets_in, arrivals.len() as u64);
    }

    #[test]
    fn asking_more_often_changes_nothing(
        gaps in prop::collection::vec((0u64..40_000, 40u32..1500), 1..200),
        extra in prop::collection::vec(0u64..8_000_000, 0..300),
        loss in 0.0f64..0.5,
        packets in 1u64..12,
    ) {
        let arrivals = arrivals(&gaps);
        let config = losing(packets, vec![bernoulli(loss), bernoulli(loss)]);
        let mut seldom = Pipe::new(&config, KEY, "link");
        let mut often = seldom.clone();
        let one = drive(&mut seldom, &arrivals, &[]);
        let other = drive(&mut often, &arrivals, &extra);
        prop_assert_eq!(one, other);
        let end = ns(u64::MAX - 1);
        prop_assert_eq!(seldom.statistics(end), often.statistics(end));
    }

    /// Channels that only lose frames take a shorter path through the code. Adding a model that
    /// could duplicate frames, but never does, selects the general path, with equal results.
    #[test]
    fn pipes_that_lose_and_do_nothing_else_are_as_others(
        gaps in prop::collection::vec((0u64..40_000, 40u32..1500), 1..200),
        extra in prop::collection::vec(0u64..8_000_000, 0..100),
        loss in 0.0f64..0.5,
        packets in 1u64..12,
    ) {
        let arrivals = arrivals(&gaps);
        let script = channel::script::Config { drop: vec![3, 4, 9], ..Default::default() };
        let channel = vec![bernoulli(loss), channel::Config::script(script)];
        let never = channel::duplicate::Config {
            p: Probability::new(0.0).expect("a probability"),
            after: Duration::ZERO,
        };
        let more = [channel.clone(), vec![channel::Config::duplicate(never)]].concat();
        let [mut short, mut long] =
            [channel, more].map(|channel| Pipe::new(&losing(packets, channel), KEY, "link"));
        prop_assert!(short.is_plain_but_lossy() && !long.is_plain_but_lossy());
        let found = drive(&mut short, &arrivals, &extra);
        prop_assert_eq!(found, drive(&mut long, &arrivals, &extra));
        let end = ns(u64::MAX - 1);
        prop_assert_eq!(short.statistics(end), long.statistics(end));
    }

    /// Waiting and busy times up to any given time equal those added up packet by packet.
    #[test]
    fn statistics_are_clipped_at_the_instant(
        gaps in prop::collection::vec((0u64..20_000, 40u32..1500), 1..60),
        instant in 0u64..1_000_000,
    ) {
        let config = Config {
            rate: Some(Rate::from_bit_s(1_000_000_000)),
            delay: Duration::ZERO,
            overhead: 0,
            queue: droptail(None, None),
            channel: vec![],
            changes: vec![],
            repair: None,
        };
        let mut pipe = Pipe::new(&config, KEY, "link");
        let mut now = 0;
        let mut free = 0;
        let (mut waited, mut busy) = (0, 0);
        for (id, &(gap, bytes)) in gaps.iter().enumerate() {
            now += gap;
            if now > instant {
                break;
            }
            let start = free.max(now);
            free = start + u64::from(bytes) * 8;
            waited += start.min(instant) - now;
            busy += free.min(instant) - start.min(instant);
            let _ = pipe.handle_packet(ns(now), &packet(id as u32, bytes));
        }
        let statistics = pipe.statistics(ns(instant));
        prop_assert_eq!(statistics.waited, u128::from(waited));
        prop_assert_eq!(statistics.busy.as_nanos(), busy);
    }
}

fn slow(channel: Vec<channel::Config>) -> Pipe {
    let config = Config {
        rate: Some(Rate::from_bit_s(8_000_000)),
        delay: Duration::from_millis(100),
        overhead: 0,
        queue: droptail(None, None),
        channel,
        changes: vec![],
        repair: None,
    };
    Pipe::new(&config, KEY, "link")
}

/// A loss is counted when its transmission ends: neither before, nor a propagation delay later.
#[test]
fn a_loss_happens_when_its_transmission_ends() {
    let script = channel::script::Config { drop: vec![1], ..Default::default() };
    let mut pipe = slow(vec![channel::Config::script(script)]);
    for id in 0..3 {
        assert_eq!(pipe.handle_packet(Time::ZERO, &packet(id, 1000)), Entry::Accepted);
    }
    let ms = |ms: u64| Time::ZERO + Duration::from_millis(ms);
    let counts = |pipe: &Pipe, at: Time| -> (u64, u64, u64) {
        let Statistics { queued, in_transit, drops, .. } = pipe.statistics(at);
        (queued, in_transit, drops.script)
    };
    assert_eq!(counts(&pipe, Time::ZERO), (2, 1, 0));
    assert_eq!(pipe.poll_timeout(), ms(2));
    assert_eq!(pipe.poll_transmit(ns(1_999_999)), None);
    let reason = Reason::Script { as_congestion: false };
    assert_eq!(pipe.poll_transmit(ms(2)), Some(Departure::Lost { id: 1, at: ms(2), reason }));
    assert_eq!(counts(&pipe, ms(2)), (0, 2, 1));
    assert_eq!(pipe.poll_timeout(), ms(101));
    assert_eq!(pipe.poll_transmit(ms(101)), Some(Departure::Delivered { id: 0 }));
    assert_eq!(pipe.poll_transmit(ms(103)), Some(Departure::Delivered { id: 2 }));
    assert_eq!(pipe.poll_timeout(), Time::NEVER);
}

/// The packet in transmission takes no room in the queue, and limits in bytes do not count the
/// link's overhead.
#[test]
fn a_queue_holds_what_it_says() {
    let admitted = |queue: queue::Config, sizes: &[u32]| -> Vec<bool> {
        let config = Config {
            rate: Some(Rate::from_bit_s(1_000_000)),
            delay: Duration::ZERO,
            overhead: 38,
            queue,
            channel: vec![],
            changes: vec![],
            repair: None,
        };
        let mut pipe = Pipe::new(&config, KEY, "link");
        let enter = |(id, bytes): (usize, &u32)| {
            pipe.handle_packet(Time::ZERO, &packet(id as u32, *bytes)) == Entry::Accepted
        };
        sizes.iter().enumerate().map(enter).collect()
    };
    assert_eq!(admitted(droptail(Some(2), None), &[100; 5]), [true, true, true, false, false]);
    assert_eq!(admitted(droptail(Some(0), None), &[100; 2]), [true, false]);
    let sizes = [1500, 600, 500, 400, 10];
    assert_eq!(admitted(droptail(None, Some(1000)), &sizes), [true, true, false, true, false]);
}

/// Packets never wait on a link without a rate, whatever its queue.
#[test]
fn without_a_rate_packets_take_no_time() {
    let config = Config {
        rate: None,
        delay: Duration::from_millis(1),
        overhead: 38,
        queue: droptail(Some(0), None),
        channel: vec![],
        changes: vec![],
        repair: None,
    };
    let mut pipe = Pipe::new(&config, KEY, "link");
    for id in 0..100 {
        assert_eq!(pipe.handle_packet(Time::ZERO, &packet(id, 1500)), Entry::Accepted);
    }
    assert_eq!(pipe.poll_timeout(), ns(1_000_000));
    for id in 0..100 {
        assert_eq!(pipe.poll_transmit(ns(1_000_000)), Some(Departure::Delivered { id }));
    }
    let statistics = pipe.statistics(ns(1_000_000));
    assert_eq!((statistics.queue_max, statistics.waited), (0, 0));
}

/// Each model of a list draws from a stream of its own, which depends on its place in the list; it
/// decides only about frames that no earlier model has lost.
#[test]
fn models_of_a_list_have_their_own_streams() {
    let lost = |channel: Vec<channel::Config>| -> Vec<u32> {
        let mut pipe = slow(channel);
        let (log, _) = drive(&mut pipe, &[(0, 100); 2000], &[]);
        log.iter()
            .filter_map(|(_, departure)| match departure {
                Departure::Lost { id, .. } => Some(*id),
                _ => None,
            })
            .collect()
    };
    let first = lost(vec![bernoulli(0.1)]);
    let both = lost(vec![bernoulli(0.1), bernoulli(0.1)]);
    assert!(first.iter().all(|id| both.contains(id)));
    assert!(both.len() > first.len());
    let second = lost(vec![bernoulli(0.0), bernoulli(0.1)]);
    assert_ne!(first, second);
}

/// Times that would lie beyond the representable range do not overflow.
#[test]
fn delays_end_with_time() {
    let config = Config {
        rate: Some(Rate::from_bit_s(1)),
        delay: Duration::from_nanos(u64::MAX - 5),
        overhead: 0,
        queue: droptail(None, None),
        channel: vec![],
        changes: vec![],
        repair: None,
    };
    let mut pipe = Pipe::new(&config, KEY, "link");
    for id in 0..3 {
        assert_eq!(pipe.handle_packet(ns(1 << 62), &packet(id, 1500)), Entry::Accepted);
    }
    assert_eq!(pipe.poll_timeout(), Time::NEVER);
    assert_eq!(pipe.poll_transmit(Time::NEVER), None);
    assert!(pipe.statistics(ns(1 << 63)).is_conserved());
}
