//! Links that repair losses, compared with closed forms (within four standard deviations) and with
//! timelines computed by hand, and their invariants: packets are conserved, order holds, and
//! polling more often changes nothing.

use proptest::prelude::*;
use retx_link::channel::{self, Frame, Reason};
use retx_link::pipe::repair::arq::{self, Mode};
use retx_link::pipe::repair::{self, fec};
use retx_link::pipe::{Config, Departure, Entry, Packet, Pipe};
use retx_link::queue;
use retx_units::{Duration, Rate, StreamKey, Time};

const KEY: StreamKey = StreamKey { seed: 11, replication: 0 };

fn channel(text: &str) -> channel::Config {
    serde_json::from_str(text).expect("a model")
}

/// A link on which a packet of 1000 bytes takes 1 ms to send and 10 ms to propagate.
fn link(channel: Option<channel::Config>, repair: repair::Config) -> Config {
    Config {
        rate: Some(Rate::from_bit_s(8_000_000)),
        delay: Duration::from_millis(10),
        overhead: 0,
        queue: queue::Config::droptail(queue::droptail::Config::default()),
        channel: channel.into_iter().collect(),
        repair: Some(repair),
        changes: vec![],
    }
}

fn arq(mode: Mode, retries: u32, in_order: bool) -> repair::Config {
    let feedback = Some(Duration::from_millis(20));
    repair::Config::Arq(arq::Config { mode, retries, feedback, in_order })
}

fn fec(k: u32, n: u32, in_order: bool) -> repair::Config {
    let block_time = Duration::from_millis(100);
    repair::Config::Fec(fec::Config { k, n, block_time, in_order })
}

fn packet(id: u32) -> Packet {
    Packet {
        id,
        ecn_capable: false,
        frame: Frame { bytes: 1000, flow: 0, position: u64::from(id), payload_bytes: 960 },
    }
}

fn us(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

type Log = Vec<(Time, Departure)>;

fn drain(pipe: &mut Pipe, until: Time, log: &mut Log) {
    while pipe.poll_timeout() <= until {
        let now = pipe.poll_timeout();
        log.extend(pipe.poll_transmit(now).map(|departure| (now, departure)));
    }
}

/// Enters packets at the given times, in µs, and runs until all have left.
fn drive(pipe: &mut Pipe, arrivals: impl Iterator<Item = u64>) -> Log {
    let mut log = Log::new();
    for (id, at) in arrivals.enumerate() {
        drain(pipe, us(at), &mut log);
        assert_eq!(pipe.handle_packet(us(at), &packet(id as u32)), Entry::Accepted);
    }
    drain(pipe, us(u64::MAX / 2000), &mut log);
    log
}

fn delivered(log: &Log) -> Vec<(u64, u32)> {
    let one = |(at, departure): &(Time, Departure)| match departure {
        Departure::Delivered { id } => Some((at.as_nanos() / 1000, *id)),
        _ => None,
    };
    log.iter().filter_map(one).collect()
}

fn lost(log: &Log) -> Vec<(u64, u32, Reason)> {
    let one = |(_, departure): &(Time, Departure)| match departure {
        Departure::Lost { id, at, reason } => Some((at.as_nanos() / 1000, *id, *reason)),
        _ => None,
    };
    log.iter().filter_map(one).collect()
}

fn run(config: &Config, arrivals: &[u64]) -> Log {
    drive(&mut Pipe::new(config, KEY, "link"), arrivals.iter().copied())
}

/// Loses frames 1 and 3 in the order of transmission.
fn two_lost() -> Option<channel::Config> {
    Some(channel(r#"{"model":"script","drop":[1,3]}"#))
}

#[test]
fn selective_repeat_goes_on_meanwhile() {
    // Packets 0 to 3 are sent by 4 ms, and 1 and 3 are lost; 1 is repeated at 2 + 20 ms, and 3 at 4
    // + 20 ms.
    let config = link(two_lost(), arq(Mode::SelectiveRepeat, 1, false));
    let log = run(&config, &[0, 0, 0, 0]);
    assert_eq!(delivered(&log), [(11_000, 0), (13_000, 2), (33_000, 1), (35_000, 3)]);
    let config = link(two_lost(), arq(Mode::SelectiveRepeat, 1, true));
    let log = run(&config, &[0, 0, 0, 0]);
    assert_eq!(delivered(&log), [(11_000, 0), (33_000, 1), (33_000, 2), (35_000, 3)]);
}

#[test]
fn what_is_sent_again_goes_before_what_is_new() {
    let config = link(two_lost(), arq(Mode::SelectiveRepeat, 1, false));
    // Packets 4 and 5 arrive at 21.5 ms: 4 is sent at once, and then 1 is repeated before 5.
    let log = run(&config, &[0, 0, 0, 0, 21_500, 21_500]);
    let rest = &delivered(&log)[2..];
    assert_eq!(rest, [(32_500, 4), (33_500, 1), (34_500, 5), (35_500, 3)]);
}

#[test]
fn stop_and_wait_waits() {
    let config = link(two_lost(), arq(Mode::StopAndWait, 1, true));
    // One frame is sent every 21 ms: 0, 1 (lost), 1, 2 (lost), 2, 3.
    let log = run(&config, &[0, 0, 0, 0]);
    assert_eq!(delivered(&log), [(11_000, 0), (53_000, 1), (95_000, 2), (116_000, 3)]);
}

#[test]
fn the_far_end_waits_until_it_knows_of_a_loss_for_good() {
    let all = Some(channel(r#"{"model":"script","drop":[0,2]}"#));
    let config = link(all, arq(Mode::SelectiveRepeat, 1, true));
    // Packet 0 is lost at 1 ms, packet 1 sent by 2 ms. Packet 0 is repeated at 21 ms and lost for
    // good at 22 ms, which the far end knows 20 + 10 ms later.
    let log = run(&config, &[0, 0]);
    assert_eq!(lost(&log), [(22_000, 0, Reason::RetryLimit)]);
    assert_eq!(delivered(&log), [(52_000, 1)]);
}

#[test]
fn a_block_is_worked_out_from_any_k_frames() {
    // Blocks of k = 2 packets and n − k = 1 parity frame, of which one frame may be lost: packet 1
    // is.
    let config = link(Some(channel(r#"{"model":"script","drop":[1]}"#)), fec(2, 3, false));
    let log = run(&config, &[0, 0, 0, 0]);
    // Frames are sent in the order 0 1 P 2 3 P; packet 1 is recovered when the first P arrives.
    assert_eq!(delivered(&log), [(11_000, 0), (13_000, 1), (14_000, 2), (15_000, 3)]);
    let config = link(two_lost(), fec(4, 5, true));
    let log = run(&config, &[0, 0, 0, 0]);
    let script = Reason::Script { as_congestion: false };
    assert_eq!(lost(&log), [(5_000, 1, script), (5_000, 3, script)]);
    assert_eq!(delivered(&log), [(11_000, 0), (15_000, 2)]);
}

#[test]
fn a_block_that_does_not_fill_is_closed_by_time() {
    let config = link(Some(channel(r#"{"model":"script","drop":[1]}"#)), fec(4, 6, true));
    // The block of two packets is closed at 100 ms with two parity frames, of which the first is
    // sufficient.
    let mut pipe = Pipe::new(&config, KEY, "link");
    let log = drive(&mut pipe, [0, 50_000, 150_000].into_iter());
    assert_eq!(delivered(&log), [(11_000, 0), (111_000, 1), (161_000, 2)]);
    assert_eq!(pipe.statistics(us(1_000_000)).frames_parity, 4);
}

fn bernoulli(p: f64) -> Option<channel::Config> {
    Some(channel(&format!(r#"{{"model":"bernoulli","p":{p}}}"#)))
}

/// Asserts that a count of successes in `n` independent trials of probability `p` is within four
/// standard deviations.
fn agrees(count: u64, n: u64, p: f64) {
    let sigma = (n as f64 * p * (1.0 - p)).sqrt();
    let expected = n as f64 * p;
    assert!((count as f64 - expected).abs() < 4.0 * sigma, "{count} of {n}, expected {expected}");
}

#[test]
fn residual_loss_and_cost_of_retries() {
    const PACKETS: u64 = 50_000;
    for (p, retries) in [(0.3, 0), (0.3, 1), (0.3, 3), (0.5, 7)] {
        for mode in [Mode::StopAndWait, Mode::SelectiveRepeat] {
            let config = link(bernoulli(p), arq(mode, retries, true));
            let mut pipe = Pipe::new(&config, KEY, "link");
            // All packets arrive at once, so the sender is idle only while it waits for feedback.
            let log = drive(&mut pipe, (0..PACKETS).map(|_| 0));
            let residual = p.powi(retries as i32 + 1);
            agrees(lost(&log).len() as u64, PACKETS, residual);
            let end = log.last().expect("packets").0;
            let statistics = pipe.statistics(end);
            assert_eq!(statistics.drops.retry_limit, lost(&log).len() as u64);
            assert_eq!(statistics.in_transit + statistics.queued, 0);
            let frames = PACKETS + statistics.frames_repeated;
            let each = (1.0 - residual) / (1.0 - p);
            assert!((frames as f64 / PACKETS as f64 - each).abs() < 0.02, "{frames}, {each} each");
            // A share p of all frames is lost; each lost frame is repeated, except where the retry
            // limit is reached.
            agrees(statistics.bursts.frames, frames, p);
            let repeated_or_dropped = statistics.frames_repeated + statistics.drops.retry_limit;
            assert_eq!(repeated_or_dropped, statistics.bursts.frames);
            assert_eq!(statistics.busy, Duration::from_millis(frames));
            // Between frames the saturated sender only waits for feedback. At the end, feedback for
            // the last frame may be missing, or the last packet may need all its retries.
            let each = if mode == Mode::StopAndWait { 21 } else { 1 };
            let span = end.as_nanos() / 1_000_000;
            assert!(
                (each * frames - 20..=each * frames + 8 * 52).contains(&span),
                "{span} {frames}"
            );
        }
    }
}

#[test]
fn each_retry_costs_a_frame_and_its_feedback() {
    const PACKETS: u64 = 50_000;
    let p = 0.4;
    let config = link(bernoulli(p), arq(Mode::SelectiveRepeat, 2, true));
    let mut pipe = Pipe::new(&config, KEY, "link");
    // Each alone.
    let log = drive(&mut pipe, (0..PACKETS).map(|n| n * 1_000_000));
    let arrivals = delivered(&log);
    for tries in 0..3 {
        let after = 11_000 + tries * 21_000;
        let so_late = |(at, id): &&(u64, u32)| at - u64::from(*id) * 1_000_000 == after;
        let count = arrivals.iter().filter(so_late).count();
        agrees(count as u64, PACKETS, p.powi(tries as i32) * (1.0 - p));
    }
}

/// Probability of at least `least` successes in `n` trials.
fn binomial_tail(n: u32, p: f64, least: u32) -> f64 {
    let choose = |k: u32| (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
    (least..=n).map(|k| choose(k) * p.powi(k as i32) * (1.0 - p).powi((n - k) as i32)).sum()
}

#[test]
fn residual_loss_of_blocks() {
    const BLOCKS: u64 = 10_000;
    for (k, n, p) in [(1, 2, 0.3), (4, 5, 0.1), (8, 10, 0.1), (8, 12, 0.2), (3, 6, 0.4)] {
        let config = link(bernoulli(p), fec(k, n, true));
        let mut pipe = Pipe::new(&config, KEY, "link");
        let packets = BLOCKS * u64::from(k);
        let log = drive(&mut pipe, (0..packets).map(|_| 0));
        let mut broken = vec![false; BLOCKS as usize];
        let mut held = 0;
        for (_, id, reason) in lost(&log) {
            assert_eq!(reason, Reason::Channel);
            broken[(id / k) as usize] = true;
            held += 1;
        }
        // Losses of different blocks are independent.
        let damaged = broken.iter().filter(|broken| **broken).count() as u64;
        // A block is damaged if it loses more frames than it has parity frames, so that a packet is
        // among them.
        agrees(damaged, BLOCKS, binomial_tail(n, p, n - k + 1));
        // Losses of a block's packets are not independent: their mean is the formula's, and their
        // spread at most that of blocks lost as a whole.
        let loss = p * binomial_tail(n - 1, p, n - k);
        let sigma = f64::from(k) * (BLOCKS as f64 * loss * (1.0 - loss)).sqrt();
        assert!((held as f64 - packets as f64 * loss).abs() < 4.0 * sigma, "{held} {loss}");
        let statistics = pipe.statistics(log.last().expect("packets").0);
        assert_eq!(statistics.frames_parity, BLOCKS * u64::from(n - k));
        // The cost: n/k.
        assert_eq!(statistics.busy, Duration::from_millis(BLOCKS * u64::from(n)));
    }
}

/// The queue limit applies only to packets that have not been sent yet.
#[test]
fn who_has_been_sent_takes_no_room() {
    let mut config = link(two_lost(), arq(Mode::SelectiveRepeat, 3, true));
    config.queue =
        queue::Config::droptail(queue::droptail::Config { packets: Some(2), bytes: None });
    let mut pipe = Pipe::new(&config, KEY, "link");
    let mut offer = |at: u64, id: u32| {
        let mut log = Log::new();
        drain(&mut pipe, us(at), &mut log);
        let entry = pipe.handle_packet(us(at), &packet(id));
        (entry, pipe.statistics(us(at)).queued)
    };
    assert_eq!(offer(0, 0), (Entry::Accepted, 0));
    assert_eq!(offer(0, 1), (Entry::Accepted, 1));
    assert_eq!(offer(0, 2), (Entry::Accepted, 2));
    assert_eq!(offer(500, 3), (Entry::QueueFull, 2));
    // Frame 1 is lost at 2 ms; it waits for feedback, but not in the queue.
    assert_eq!(offer(2_500, 4), (Entry::Accepted, 1));
    assert_eq!(offer(2_500, 5), (Entry::Accepted, 2));
    assert_eq!(offer(2_500, 6), (Entry::QueueFull, 2));
}

fn any_repair() -> impl Strategy<Value = repair::Config> {
    let mode = prop_oneof![Just(Mode::StopAndWait), Just(Mode::SelectiveRepeat)];
    let arq = (mode, 0u32..4, 0u64..30, any::<bool>()).prop_map(|(mode, retries, ms, in_order)| {
        let feedback = Some(Duration::from_millis(ms));
        repair::Config::Arq(arq::Config { mode, retries, feedback, in_order })
    });
    let fec = (1u32..5, 1u32..4, 0u64..30, any::<bool>()).prop_map(|(k, parity, ms, in_order)| {
        let block_time = Duration::from_millis(ms);
        repair::Config::Fec(fec::Config { k, n: k + parity, block_time, in_order })
    });
    prop_oneof![arq, fec]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn whatever_comes(
        repair in any_repair(),
        p in 0.0f64..0.9,
        has_rate in any::<bool>(),
        gaps in prop::collection::vec(0u64..6_000, 1..80),
        extra in prop::collection::vec(0u64..300_000, 0..60),
        room in 0u64..8,
    ) {
        let mut config = link(bernoulli(p), repair);
        config.rate = config.rate.filter(|_| has_rate);
        config.queue =
            queue::Config::droptail(queue::droptail::Config { packets: Some(room), bytes: None });
        let mut outcomes = vec![];
        for extra in [&[][..], &extra[..]] {
            let mut pipe = Pipe::new(&config, KEY, "link");
            let (mut log, mut refused, mut now) = (Log::new(), vec![], 0);
            let mut instants: Vec<u64> = extra.to_vec();
            instants.sort_unstable();
            for (id, gap) in gaps.iter().enumerate() {
                let until = now + gap;
                for at in instants.iter().filter(|at| (now..until).contains(at)) {
                    drain(&mut pipe, us(*at), &mut log);
                    prop_assert!(pipe.statistics(us(*at)).is_conserved());
                    prop_assert_eq!(pipe.poll_transmit(us(*at)), None);
                }
                now = until;
                drain(&mut pipe, us(now), &mut log);
                if pipe.handle_packet(us(now), &packet(id as u32)) == Entry::QueueFull {
                    refused.push(id as u32);
                }
                prop_assert!(pipe.statistics(us(now)).is_conserved());
            }
            drain(&mut pipe, us(u64::MAX / 2000), &mut log);
            let end = pipe.statistics(us(u64::MAX / 2000));
            prop_assert!(end.is_conserved());
            prop_assert_eq!(end.queued + end.in_transit, 0);
            prop_assert!(end.queue_max <= room);
            let mut all: Vec<u32> = delivered(&log).into_iter().map(|(_, id)| id).collect();
            let in_order = match repair {
                repair::Config::Arq(arq) => arq.in_order,
                repair::Config::Fec(fec) => fec.in_order,
            };
            prop_assert!(!in_order || all.is_sorted());
            all.extend(lost(&log).into_iter().map(|(_, id, _)| id));
            all.extend(&refused);
            all.sort_unstable();
            prop_assert!(all.iter().copied().eq(0..gaps.len() as u32));
            outcomes.push((log, refused));
        }
        prop_assert_eq!(&outcomes[0], &outcomes[1]);
    }
}
