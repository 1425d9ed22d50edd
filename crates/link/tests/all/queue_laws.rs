//! Queue disciplines compared with formulas from their papers and RFCs, and waiting times compared
//! with queueing theory.

use retx_link::channel::Frame;
use retx_link::pipe::{Config, Entry, Packet, Pipe};
use retx_link::queue::{self, Environment, Queue, QueueAction, QueueActions, Waiting, pie};
use retx_units::{Duration, Rate, StreamKey, Time};

const KEY: StreamKey = StreamKey { seed: 21, replication: 0 };

fn read(text: &str) -> queue::Config {
    serde_json::from_str(text).expect("a queue")
}

fn build(text: &str) -> queue::State {
    let rate = Some(Rate::from_bit_s(8_000_000));
    read(text).build(Environment { random_stream: KEY.stream("queue"), rate, overhead: 0 })
}

fn us(us: u64) -> Time {
    Time::ZERO + Duration::from_micros(us)
}

fn packet(id: u32, since: Time) -> Waiting {
    let frame = Frame { bytes: 1000, flow: 0, ..Frame::default() };
    Waiting { id, frame, ecn_capable: false, to: 0, since }
}

/// Mean waiting time, in units of the mean service time, of packets that arrive as a Poisson
/// process with the given load. Packet sizes are constant or exponential.
fn mean_wait(queue: &str, load: f64, exponential_sizes: bool) -> f64 {
    const MEAN_BYTES: f64 = 10_000.0;
    const PACKETS: u32 = 2_000_000;
    let mut stream = KEY.stream("arrivals");
    let service = MEAN_BYTES * 8.0;
    let config = Config {
        // At this rate a bit takes one nanosecond.
        rate: Some(Rate::from_bit_s(1_000_000_000)),
        delay: Duration::ZERO,
        overhead: 0,
        queue: read(queue),
        channel: vec![],
        changes: vec![],
        repair: None,
    };
    let mut pipe = Pipe::new(&config, KEY, "link");
    let mut at = 0.0;
    for id in 0..PACKETS {
        at += stream.exponential() * service / load;
        let bytes = if exponential_sizes { stream.exponential() * MEAN_BYTES } else { MEAN_BYTES };
        let now = Time::from_nanos(at as u64);
        while pipe.poll_timeout() <= now {
            let _ = pipe.poll_transmit(pipe.poll_timeout());
        }
        let frame = Frame { bytes: bytes.round() as u32, ..Frame::default() };
        assert_eq!(
            pipe.handle_packet(now, &Packet { id, frame, ecn_capable: false }),
            Entry::Accepted
        );
    }
    let statistics = pipe.statistics(Time::from_nanos(at as u64));
    statistics.waited as f64 / f64::from(PACKETS) / service
}

/// Disciplines configured so that they never drop at these loads: each is then a FIFO queue for the
/// single flow.
const IDLE: [&str; 5] = [
    r#"{"discipline": "droptail"}"#,
    r#"{"discipline": "red", "min_threshold": 1e6, "max_threshold": 2e6}"#,
    r#"{"discipline": "codel", "target": "10 s", "interval": "20 s", "packets": 1000000}"#,
    r#"{"discipline": "fq_codel", "target": "10 s", "interval": "20 s", "packets": 1000000}"#,
    r#"{"discipline": "pie", "target": "10 s", "packets": 1000000}"#,
];

/// The mean wait of an M/D/1 queue is ρ/(2(1 − ρ)) service times (Pollaczek–Khinchine).
#[test]
fn waiting_with_constant_sizes() {
    for (index, load) in [0.3, 0.5, 0.6, 0.7, 0.8].into_iter().enumerate() {
        let theory = load / (2.0 * (1.0 - load));
        let measured = mean_wait(IDLE[index], load, false);
        assert!((measured / theory - 1.0).abs() < 0.02, "{load}: {measured} for {theory}");
    }
}

/// The mean wait of an M/M/1 queue is ρ/(1 − ρ) service times, twice that of M/D/1.
#[test]
fn waiting_with_exponential_sizes() {
    for (index, load) in [0.8, 0.3, 0.5, 0.6, 0.7].into_iter().enumerate() {
        let theory = load / (1.0 - load);
        let measured = mean_wait(IDLE[index], load, true);
        assert!((measured / theory - 1.0).abs() < 0.02, "{load}: {measured} for {theory}");
    }
}

fn red(text: &str) -> queue::red::State {
    match build(text) {
        queue::State::red(state) => state,
        other => panic!("{other:?}"),
    }
}

/// RED's average queue at arrivals that find packets, and at one that finds the link idle.
#[test]
fn reds_average() {
    // A packet of 1000 bytes takes 1 ms at the link's 8 Mbit/s.
    let mut state = red(r#"{"discipline": "red", "weight": 0.25, "mean_packet": 1000}"#);
    let mut actions = QueueActions::default();
    let mut average: f64 = 0.0;
    // The first packet finds an idle link, and leaves the queue at once; the next five find 0, 1, …
    // packets.
    for id in 0..6 {
        if id > 0 {
            average += 0.25 * (f64::from(id - 1) - average);
        }
        assert!(state.enqueue(us(id.into()), &packet(id, us(id.into())), &mut actions));
        if id == 0 {
            assert!(state.dequeue(us(0), &mut actions).is_some());
        }
        assert!((state.average_queue() - average).abs() < 1e-12);
    }
    assert!(average > 1.5);
    // All packets leave, and the link is idle from 10 ms on, so that three packets could have
    // passed by 13 ms.
    while state.dequeue(us(10_000), &mut actions).is_some() {}
    state.enqueue(us(13_000), &packet(7, us(13_000)), &mut actions);
    average *= 0.75_f64.powi(3);
    assert!(
        (state.average_queue() - average).abs() < 1e-12,
        "{} for {average}",
        state.average_queue()
    );
}

/// A drop does not end the link's idle time, so that the average continues to fall. ns-2 and Linux
/// do the same: both try to dequeue after every arrival, and find nothing.
#[test]
fn reds_average_after_a_drop_at_an_idle_link() {
    let mut state =
        red(r#"{"discipline": "red", "weight": 0.25, "mean_packet": 1000, "gentle": false,
            "min_threshold": 12, "max_threshold": 15}"#);
    let mut actions = QueueActions::default();
    for id in 0..200 {
        state.enqueue(us(0), &packet(id, us(0)), &mut actions);
    }
    let mut average = state.average_queue();
    assert!(average > 17.0, "{average}: above the upper threshold all are dropped");
    while state.dequeue(us(10_000), &mut actions).is_some() {}
    // One tenth of a packet could have passed until the first of these arrivals, and three packets
    // from then to the second.
    for (at, passed) in [(10_100, 0.1), (13_100, 3.0)] {
        let admitted = state.enqueue(us(at), &packet(200, us(at)), &mut actions);
        average *= 0.75_f64.powf(passed);
        assert!(
            (state.average_queue() - average).abs() < 1e-9,
            "{} for {average}",
            state.average_queue()
        );
        assert_eq!(admitted, average < 15.0);
    }
}

/// Numbers of packets from one drop to the next while the average is constantly `queue` packets.
fn gaps(text: &str, queue: u32, count: usize) -> Vec<u32> {
    // With weight 1 the average equals the current queue length.
    let mut state = red(&text.replace('}', r#", "weight": 1, "discipline": "red"}"#));
    let mut actions = QueueActions::default();
    let mut id = 0;
    let mut next = || {
        id += 1;
        packet(id, us(id.into()))
    };
    // Some packets may be dropped while the queue is filled.
    while state.occupancy().packets <= u64::from(queue) {
        let packet = next();
        state.enqueue(packet.since, &packet, &mut actions);
    }
    state.dequeue(us(0), &mut actions);
    let mut found = Vec::new();
    let mut gap = 0;
    while found.len() <= count {
        let packet = next();
        gap += 1;
        if state.enqueue(packet.since, &packet, &mut actions) {
            state.dequeue(packet.since, &mut actions);
        } else {
            found.push(gap);
            gap = 0;
        }
    }
    // The first number does not start at a drop.
    found.remove(0);
    found
}

/// The probability p_b rises linearly between the thresholds, and in gentle mode above them;
/// distances between drops are uniform in 1 … 1/p_b − 1.
#[test]
fn reds_drop_curve() {
    let text = r#"{"min_threshold": 5, "max_threshold": 15, "max_probability": 0.1}"#;
    // p_b is half of max_probability, all of it, and 0.1 + 0.9/3.
    for (queue, p) in [(10, 0.05), (15, 0.1), (20, 0.4)] {
        let n = 40_000;
        let gaps = gaps(text, queue, n);
        let most = (1.0 / p - 1.0_f64).round();
        let mean = gaps.iter().map(|gap| f64::from(*gap)).sum::<f64>() / n as f64;
        if p < 0.4 {
            // Since 1/p is an integer, distances are uniform over integers.
            let sigma = ((most * most - 1.0) / 12.0 / n as f64).sqrt();
            assert!((mean - (most + 1.0) / 2.0).abs() < 4.0 * sigma, "{queue}: {mean}");
            assert_eq!(gaps.iter().max().copied(), Some(most as u32));
            for gap in 1..=most as u32 {
                let share = gaps.iter().filter(|it| **it == gap).count() as f64;
                let (expected, q) = (n as f64 / most, 1.0 / most);
                let sigma = (expected * (1.0 - q)).sqrt();
                assert!((share - expected).abs() < 4.5 * sigma, "{queue}: {gap} {share}");
            }
        } else {
            // p_a is 0.4/0.6 for the next packet, and then 0.4/0.2, a certain drop: the mean
            // distance is 1·2/3 + 2·1/3.
            let sigma = (2.0_f64 / 9.0 / n as f64).sqrt();
            assert!((mean - 4.0 / 3.0).abs() < 4.0 * sigma, "{queue}: {mean}");
        }
    }
}

/// No packet is dropped below the lower threshold, and every packet above the highest one.
/// ECN-capable packets are marked in between, but dropped above.
#[test]
fn reds_ends() {
    let run = |gentle: bool, queue: u32| {
        let text = format!(
            r#"{{"discipline": "red", "min_threshold": 5, "max_threshold": 15, "weight": 1,
                 "gentle": {gentle}, "ecn": true, "max_probability": 1}}"#
        );
        let mut state = red(&text);
        let mut actions = QueueActions::default();
        let mut since = us(0);
        for id in 0..queue {
            since = us(id.into());
            let capable = Waiting { ecn_capable: true, ..packet(id, since) };
            if !state.enqueue(since, &capable, &mut actions) {
                return (id, actions);
            }
        }
        assert!(state.enqueue(since, &packet(queue, since), &mut actions) || queue > 5);
        (queue, actions)
    };
    let marks = |mut actions: QueueActions| {
        std::iter::from_fn(move || actions.pop())
            .map(|action| match action {
                QueueAction::Marked(id) => id,
                QueueAction::Dropped(id) => panic!("{id} was dropped"),
            })
            .collect::<Vec<_>>()
    };
    // The average is the queue length that an arriving packet finds.
    assert!(marks(run(true, 5).1).is_empty());
    let (dropped_at, actions) = run(false, 100);
    assert_eq!(dropped_at, 15);
    assert!(marks(actions).iter().all(|id| (6..15).contains(id)));
    let (dropped_at, actions) = run(true, 100);
    assert_eq!(dropped_at, 30);
    // With max_probability 1 every packet above the upper threshold is marked.
    assert!((15..30).all(|id| marks(actions.clone()).contains(&id)));
}

/// Enqueues two packets and dequeues one every millisecond from `begin` on; returns the times of
/// drops in ms.
fn overload(state: &mut queue::State, begin: u64, until: u64) -> Vec<u64> {
    let mut actions = QueueActions::default();
    let mut drops = Vec::new();
    for ms in begin..until {
        let now = us(1000 * ms);
        for id in [2 * ms, 2 * ms + 1] {
            assert!(state.enqueue(now, &packet(id as u32, now), &mut actions));
        }
        let first = state.dequeue(now, &mut actions).expect("the queue grows");
        while let Some(action) = actions.pop() {
            match action {
                QueueAction::Dropped(id) => {
                    assert!(id < first.id, "drops are at the head");
                    drops.push(ms);
                }
                QueueAction::Marked(_) => panic!("nothing can be marked"),
            }
        }
    }
    drops
}

/// Times of drops by CoDel's control law, computed in real numbers: t, t + I/√1, t + I/√1 + I/√2,
/// …, each rounded up to the first packet that leaves then or later.
fn law(first: f64, mut count: f64, until: u64) -> Vec<u64> {
    let mut times = vec![first as u64];
    let mut next = first + 100.0 / count.sqrt();
    while next.ceil() < until as f64 {
        times.push(next.ceil() as u64);
        count += 1.0;
        next += 100.0 / count.sqrt();
    }
    times
}

/// Drops follow RFC 8289 §5: the first comes an interval after the delay has risen above the
/// target, and later ones at distances of interval/√count. If the delay falls below the target, the
/// next dropping state begins at the drop rate that the previous one had reached.
#[test]
fn codels_control_law() {
    let mut state = build(r#"{"discipline": "codel", "packets": 100000}"#);
    let drops = overload(&mut state, 0, 1500);
    // With two arrivals and one departure per millisecond, the packet that leaves at t ms arrived
    // at ⌊t/2⌋ ms, so that the delay reaches the target of 5 ms at 9 ms.
    assert_eq!(drops, law(109.0, 1.0, 1500));
    assert!(drops.len() > 30);
    // All packets leave at once, and the delay falls below the target; the next overload is 11
    // intervals later.
    let mut actions = QueueActions::default();
    while state.dequeue(us(1_500_000), &mut actions).is_some() {}
    let again = overload(&mut state, 2500, 3500);
    let count = drops.len() as f64 + std::iter::from_fn(|| actions.pop()).count() as f64;
    assert_eq!(again, law(2609.0, count - 1.0, 3500));
    // The drop rate reached is forgotten after 16 intervals.
    while state.dequeue(us(3_500_000), &mut actions).is_some() {}
    let anew = overload(&mut state, 5100, 5600);
    assert_eq!(anew, law(5209.0, 1.0, 5600));
}

/// With ECN, marks follow the same law as drops, and no packet is dropped.
#[test]
fn codel_marks_by_the_same_law() {
    let mut state = build(r#"{"discipline": "codel", "packets": 100000, "ecn": true}"#);
    let mut actions = QueueActions::default();
    let mut marks = Vec::new();
    for ms in 0..800 {
        let now = us(1000 * ms);
        for id in [2 * ms, 2 * ms + 1] {
            let capable = Waiting { ecn_capable: true, ..packet(id as u32, now) };
            state.enqueue(now, &capable, &mut actions);
        }
        let first = state.dequeue(now, &mut actions).expect("the queue grows");
        assert_eq!(u64::from(first.id), ms);
        while let Some(action) = actions.pop() {
            assert_eq!(action, QueueAction::Marked(first.id));
            marks.push(ms);
        }
    }
    assert_eq!(marks, law(109.0, 1.0, 800));
}

/// CoDel drops nothing as long as at most one packet is left behind each departing one, however
/// long packets wait on a slow link.
#[test]
fn codel_leaves_short_queues_alone() {
    let mut state = build(r#"{"discipline": "codel"}"#);
    let mut actions = QueueActions::default();
    // Each packet waits 79 ms, but never has more than one behind it.
    for ms in (0..10_000).step_by(40) {
        state.enqueue(us(1000 * ms), &packet(0, us(1000 * ms)), &mut actions);
        if ms > 0 {
            state.dequeue(us(1000 * ms + 39_000), &mut actions);
        }
    }
    assert_eq!(state.occupancy().packets, 1);
    assert_eq!(actions.pop(), None);
}

fn of_flow(flow: u32, id: u32, bytes: u32, since: Time) -> Waiting {
    Waiting {
        id,
        frame: Frame { bytes, flow, ..Frame::default() },
        ecn_capable: false,
        to: 0,
        since,
    }
}

/// A flow that sends less than its share does not wait for a flow that sends more, and only packets
/// of the latter are dropped (RFC 8290 §1). The link sends one packet per millisecond.
#[test]
fn fq_codel_isolates_a_sparse_flow() {
    let mut state = build(r#"{"discipline": "fq_codel", "packets": 300}"#);
    let mut actions = QueueActions::default();
    let mut delays = Vec::new();
    for ms in 0..20_000 {
        let now = us(1000 * ms);
        // One flow sends two packets per millisecond, the other one every ten milliseconds.
        for id in [0, 1] {
            state.enqueue(now, &of_flow(1, 1000 + id, 1000, now), &mut actions);
        }
        if ms % 10 == 5 {
            state.enqueue(now, &of_flow(2, 7, 1000, now), &mut actions);
        }
        let out = state.dequeue(now, &mut actions).expect("there is a queue");
        if out.frame.flow == 2 {
            delays.push(now.since(out.since));
        }
    }
    assert_eq!(delays.len(), 2000);
    assert!(
        delays.iter().all(|delay| *delay <= Duration::from_millis(1)),
        "{:?}",
        delays.iter().max()
    );
    let mut dropped = 0;
    while let Some(action) = actions.pop() {
        assert!(matches!(action, QueueAction::Dropped(1000 | 1001)), "{action:?}");
        dropped += 1;
    }
    assert!(dropped > 10_000);
}

/// Flows that always have packets get equal numbers of bytes by deficit round robin, up to a
/// quantum and a packet, whatever their packet sizes.
#[test]
fn fq_codel_shares_bytes() {
    let mut state = build(
        r#"{"discipline": "fq_codel", "target": "10 s", "interval": "20 s", "quantum": 700}"#,
    );
    let mut actions = QueueActions::default();
    let sizes = [1500, 300, 40];
    for _ in 0..2500 {
        for (flow, bytes) in (0u32..).zip(sizes) {
            assert!(state.enqueue(us(0), &of_flow(flow, 0, bytes, us(0)), &mut actions));
        }
    }
    let mut sent = [0_u64; 3];
    for _ in 0..2400 {
        let out = state.dequeue(us(1), &mut actions).expect("there are more");
        sent[out.frame.flow as usize] += u64::from(out.frame.bytes);
        let (least, most) = (sent.iter().min(), sent.iter().max());
        // One flow may be a quantum ahead, which it may exceed by less than a packet.
        assert!(
            most.zip(least).is_some_and(|(most, least)| most - least <= 700 + 1500),
            "{sent:?}"
        );
    }
    assert_eq!(actions.pop(), None);
}

/// A flow whose queue is empty moves to the end of the old flows before it can count as new again
/// (RFC 8290 §4.2). Otherwise a few flows that never have more than one packet would starve all
/// others.
#[test]
fn fq_codel_does_not_let_new_flows_starve_old_ones() {
    let text =
        r#"{"discipline": "fq_codel", "target": "10 s", "interval": "20 s", "quantum": 1500}"#;
    let mut state = build(text);
    let mut actions = QueueActions::default();
    let mut sent = [0; 6];
    for _ in 0..1200 {
        assert!(state.enqueue(us(0), &of_flow(0, 0, 1000, us(0)), &mut actions));
    }
    let mut waits = [false; 6];
    let mut last = 0;
    for _ in 0..1200 {
        for flow in (1..6).filter(|flow| *flow != last) {
            if !std::mem::replace(&mut waits[flow], true) {
                assert!(state.enqueue(us(0), &of_flow(flow as u32, 0, 1000, us(0)), &mut actions));
            }
        }
        last = state.dequeue(us(0), &mut actions).expect("there are more").frame.flow as usize;
        waits[last] = false;
        sent[last] += 1;
    }
    assert!(sent[0] >= 1200 / 6, "{sent:?}");
}

/// Exceeding the total limit costs the flow with the most bytes half of them from the head of its
/// queue, at most 64 packets (RFC 8290 §4.1).
#[test]
fn fq_codel_shortens_the_longest() {
    let mut actions = QueueActions::default();
    let mut overflow = |limit: u32, bytes: [u32; 2]| {
        let mut state = build(&format!(r#"{{"discipline": "fq_codel", "packets": {limit}}}"#));
        for id in 0..=limit {
            let flow = u32::from(id % 3 == 2);
            let one = of_flow(flow, id, bytes[flow as usize], us(0));
            assert!(state.enqueue(us(0), &one, &mut actions));
        }
        std::iter::from_fn(|| actions.pop())
            .map(|action| match action {
                QueueAction::Dropped(id) => id,
                QueueAction::Marked(id) => panic!("{id} was marked"),
            })
            .collect::<Vec<_>>()
    };
    // The first flow has 30 packets (0, 1, 3, 4, …) and the second 15, so 15 packets of the first
    // are dropped.
    let ids = |flow: u32| (0..).filter(move |id| u32::from(id % 3 == 2) == flow);
    assert_eq!(overflow(44, [100, 100]), ids(0).take(15).collect::<Vec<_>>());
    // Here the second flow has fewer packets, but more bytes.
    assert_eq!(overflow(44, [100, 1000]), ids(1).take(8).collect::<Vec<_>>());
    assert_eq!(overflow(599, [100, 100]), ids(0).take(64).collect::<Vec<_>>());
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Updates of PIE's drop probability by RFC 8033 §4.2, compared with values computed by hand (alpha
/// 0.125, beta 1.25, target 15 ms).
#[test]
fn pies_probability() {
    let config = pie::Config::default();
    let after = |probability: f64, before: u64, delay: u64| {
        let mut controller = pie::Controller::new(&config);
        controller.probability = probability;
        controller.old_delay = ms(before);
        controller.update_probability(&config, ms(delay));
        controller.probability
    };
    let holds = |found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
    };
    // The increase is 0.125·15 ms + 1.25·30 ms = 0.039375, divided by a factor that depends on the
    // probability.
    holds(after(0.0, 0, 30), 0.039_375 / 2048.0);
    holds(after(5e-6, 0, 30), 5e-6 + 0.039_375 / 512.0);
    holds(after(5e-5, 0, 30), 5e-5 + 0.039_375 / 128.0);
    holds(after(5e-4, 0, 30), 5e-4 + 0.039_375 / 32.0);
    holds(after(5e-3, 0, 30), 5e-3 + 0.039_375 / 8.0);
    holds(after(5e-2, 0, 30), 5e-2 + 0.039_375 / 2.0);
    // From 0.1 on, the probability rises by at most 0.02 per update, but may fall by any amount.
    holds(after(0.1, 0, 30), 0.12);
    holds(after(0.2, 15, 16), 0.2 + 0.000_125 + 0.001_25);
    holds(after(0.2, 215, 15), 0.0);
    // A constant delay at the target does not change the probability; without a queue it also falls
    // by 2 %.
    holds(after(0.3, 15, 15), 0.3);
    holds(after(0.5, 0, 0), (0.5 - 0.001_875) * 0.98);
    holds(after(0.99, 1000, 1010), 1.0);
}

/// The burst allowance falls with each update, and is restored once there is no congestion.
#[test]
fn pies_burst_allowance() {
    let config = pie::Config::default();
    let mut controller = pie::Controller::new(&config);
    let mut left = Vec::new();
    for delay in [30; 11] {
        controller.update_probability(&config, ms(delay));
        left.push(controller.burst);
    }
    let falls: Vec<Duration> = (0..=10).map(|n| ms(150_u64.saturating_sub(15 * (n + 1)))).collect();
    assert_eq!(left, falls);
    controller.probability = 0.0;
    controller.update_probability(&config, ms(5));
    assert_eq!(controller.burst, ms(0), "the delay before was above half of the target");
    controller.update_probability(&config, ms(5));
    assert_eq!(controller.burst, ms(150));
}

/// Under a lasting overload PIE lets the first burst pass, and then drops the share of packets that
/// keeps the delay at its target, the equilibrium of its controller.
#[test]
fn pie_holds_the_delay_at_its_target() {
    let mut state = build(r#"{"discipline": "pie", "packets": 100000}"#);
    let mut actions = QueueActions::default();
    let mut sum = Duration::ZERO;
    let mut first_drop = None;
    // In 4 ms five packets arrive and four leave, so one in five has to be dropped.
    for ms in 0..300_000_u64 {
        let now = us(1000 * ms);
        for id in 0..1 + u64::from(ms % 4 == 0) {
            if !state.enqueue(now, &packet(id as u32, now), &mut actions) {
                first_drop.get_or_insert(ms);
            }
        }
        let out = state.dequeue(now, &mut actions);
        if ms >= 100_000 {
            sum += out.map_or(Duration::ZERO, |out| now.since(out.since));
        }
    }
    assert!(first_drop >= Some(150), "{first_drop:?}");
    // In equilibrium the probability stays constant. A mean delay off the target by 5 % would
    // change it by 0.125 · 0.75 ms · 13,000 updates = 1.25 over 200 s, which is impossible.
    let mean = sum.as_secs_f64() / 200_000.0;
    assert!((mean / 0.015 - 1.0).abs() < 0.05, "{mean}");
}
