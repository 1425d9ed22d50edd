//! Whole connections over a rig: opening, data, closing.

use crate::rig::{self, End, Pair, preset, seconds};
use proptest::prelude::*;
use retx_tcp::presets::PRESETS;
use retx_tcp::{
    Config, Event, Size, State, Transmit, congestion_control, loss_detection, spurious,
};
use retx_units::{Duration, SeqNr, StreamKey, Time};
use retx_wire::Flags;

#[test]
fn a_clean_download() {
    let mut pair = Pair::new(&preset("riverbed_reno"));
    pair.server.to_write = 100_000;
    pair.server.close_when_written = true;
    pair.drive(seconds(200.0));
    assert_eq!(pair.client.bytes_read, 100_000);
    // The client closed second, so the server was in TIME-WAIT, and its 60 s are over.
    assert_eq!(pair.states(), [State::Closed, State::Closed]);
    let flags: Vec<Flags> = pair.sent.iter().map(|sent| sent.transmit.segment.flags).collect();
    assert_eq!(flags[0], Flags::SYN);
    assert_eq!(flags[1], Flags::SYN.with(Flags::ACK));
    assert_eq!(flags.iter().filter(|flags| flags.contains(Flags::FIN)).count(), 2);
    assert!(pair.sent.iter().all(|sent| !sent.transmit.retransmission));
    assert_eq!(pair.data_sent(End::Server).len(), 100_000_usize.div_ceil(1460));
}

#[test]
fn initial_window_then_slow_start() {
    let mut config = preset("reno");
    config.initial_window = Size::Mss(2).into();
    config.delayed_ack.segments = 1;
    let mut pair = Pair::new(&config);
    pair.server.to_write = 1460 * 30;
    pair.drive(seconds(0.15));
    // SYN at 0, SYN/ACK at 20, ACK at 40 ms: the server sends from 60 ms on, 2, 4, 8 … segments per
    // round trip of 40 ms.
    let at = |ms: f64| {
        pair.data_sent(End::Server).iter().filter(|sent| (sent.0 - ms).abs() < 0.5).count()
    };
    assert_eq!([at(60.0), at(100.0), at(140.0)], [2, 4, 8]);
}

#[test]
fn simultaneous_open_and_close() {
    let config = preset("reno");
    let mut pair = Pair::with(&config, &config, [SeqNr(u32::MAX - 3), SeqNr(7)]);
    pair.server.connection = retx_tcp::Connection::connect(&config, SeqNr(7));
    pair.client.to_write = 5_000;
    pair.server.to_write = 7_000;
    pair.client.close_when_written = true;
    pair.server.close_when_written = true;
    pair.drive(seconds(30.0));
    assert_eq!([pair.client.bytes_read, pair.server.bytes_read], [7_000, 5_000]);
    assert_eq!(pair.states(), [State::TimeWait, State::TimeWait]);
    pair.drive(seconds(100.0));
    assert_eq!(pair.states(), [State::Closed, State::Closed]);
}

#[test]
fn lost_syn_and_fin_are_sent_again() {
    let mut config = preset("reno");
    config.initial_rto = Duration::from_secs(1);
    // With limited transmit the second ACK of the handshake, a duplicate, would release a segment.
    config.limited_transmit = false;
    let mut pair = Pair::new(&config);
    pair.lose_copies(End::Server, &[(0, 0), (3_001, 0), (3_001, 1)]);
    pair.server.to_write = 3_000;
    pair.server.close_when_written = true;
    pair.drive(seconds(300.0));
    assert_eq!(pair.client.bytes_read, 3_000);
    assert_eq!(pair.states(), [State::Closed, State::Closed]);
    let syns: Vec<f64> = pair
        .sent
        .iter()
        .filter(|sent| sent.transmit.segment.flags.contains(Flags::SYN))
        .map(|sent| sent.at.as_secs_f64())
        .collect();
    // The SYN is sent at 0, and the first SYN/ACK, sent at 20 ms, is lost. The client's timer
    // expires at 1 s, and the server answers the repeated SYN at 1.02 s, when its own timer
    // expires.
    assert_eq!(syns[..3], [0.0, 0.02, 1.0]);
    // RFC 5681 §3.1: a lost SYN/ACK means an initial window of one segment.
    let first: Vec<f64> = pair.data_sent(End::Server).iter().map(|sent| sent.0).collect();
    assert!(first[1] - first[0] >= 40.0, "{first:?}");
}

#[test]
fn reset_and_refusal() {
    let mut pair = Pair::new(&preset("reno"));
    pair.drive(seconds(1.0));
    pair.client.connection.abort();
    pair.drive(seconds(2.0));
    assert_eq!(pair.states(), [State::Closed, State::Closed]);
    assert!(pair.server.events.iter().any(|(_, event)| *event == Event::Reset));

    let mut pair = Pair::new(&preset("reno"));
    pair.server.connection.close();
    pair.drive(seconds(1.0));
    assert!(pair.client.events.iter().any(|(_, event)| *event == Event::Reset));
}

#[test]
fn a_closed_window_is_probed_ever_more_rarely() {
    let mut config = preset("reno");
    config.receive_buffer = Size::Bytes(2_920);
    let mut pair = Pair::new(&config);
    pair.client.reads = 0;
    pair.server.to_write = 10_000;
    pair.drive(seconds(40.0));
    assert_eq!(pair.client.connection.readable(), 2_920);
    let probes: Vec<f64> =
        pair.data_sent(End::Server).iter().skip(2).map(|sent| sent.0 / 1e3).collect();
    // The window closes with the ACK at 100 ms; waits of 1, 2, 4, 8, 16 s (RTO 1 s, doubled).
    for (probe, expected) in probes.iter().zip([1.1, 3.1, 7.1, 15.1, 31.1]) {
        assert!((probe - expected).abs() < 0.001, "{probes:?}");
    }
    assert_eq!(probes.len(), 5);
    pair.client.reads = u64::MAX;
    pair.look_every = Duration::from_millis(10);
    pair.drive(seconds(80.0));
    assert_eq!(pair.client.bytes_read, 10_000);
}

#[test]
fn silly_windows_are_avoided() {
    let mut config = preset("reno");
    config.receive_buffer = Size::Bytes(4_380);
    let mut pair = Pair::new(&config);
    // The application reads 100 bytes every 10 ms.
    pair.client.reads = 100;
    pair.look_every = Duration::from_millis(10);
    pair.server.to_write = 100_000;
    pair.drive(seconds(60.0));
    assert_eq!(pair.client.bytes_read, 100_000);
    let small = pair
        .sent
        .iter()
        .filter(|sent| sent.from == End::Server)
        .filter(|sent| (1..1_460).contains(&sent.transmit.segment.payload_bytes))
        .count();
    // Only the last segment is short: 100,000 = 68 · 1460 + 720.
    assert_eq!(small, 1);
    // RFC 9293 §3.8.6.2.2: the right edge moves by a segment (or half the buffer) or not at all.
    let client = pair.sent.iter().filter(|sent| sent.from == End::Client);
    let edges: Vec<u32> = client
        .map(|sent| sent.transmit.segment.ack.0.wrapping_add(sent.transmit.segment.window.into()))
        .skip(1)
        .collect();
    let moves = edges.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(moves.clone().all(|by| by == 0 || by >= 1_460), "{edges:?}");
    assert!(moves.filter(|by| *by > 0).count() > 20);
}

#[test]
fn nagle_holds_small_segments_back() {
    for (nagle, expected) in [(true, 2), (false, 5)] {
        let mut config = preset("reno");
        config.nagle = nagle;
        config.delayed_ack.segments = 1;
        let mut pair = Pair::new(&config);
        pair.drive(seconds(1.0));
        for _ in 0..5 {
            pair.server.to_write = 100;
            pair.drive(pair.now);
        }
        pair.drive(seconds(2.0));
        assert_eq!(pair.client.bytes_read, 500);
        assert_eq!(pair.data_sent(End::Server).len(), expected, "nagle = {nagle}");
    }
}

#[test]
fn delayed_acks() {
    let mut config = preset("reno");
    config.initial_window = Size::Mss(3).into();
    let mut pair = Pair::new(&config);
    pair.server.to_write = 3 * 1460;
    pair.drive(seconds(1.0));
    let acks: Vec<f64> = pair
        .sent
        .iter()
        .filter(|sent| sent.from == End::Client && sent.transmit.segment.payload_bytes == 0)
        .map(|sent| sent.at.as_secs_f64() * 1e3)
        .collect();
    // The SYN, the handshake's ACK, one ACK for two segments, and after 200 ms one for the third.
    assert_eq!(acks, [0.0, 40.0, 80.0, 280.0]);
}

/// Karn's rule, and the delay of cumulative ACKs: even in a recovery of several round trips, all
/// measured RTTs are 40 ms.
#[test]
fn recovery_does_not_spoil_rtt_samples() {
    for name in ["tahoe", "reno", "newreno"] {
        let mut config = preset(name);
        config.delayed_ack.segments = 1;
        config.initial_window = Size::Mss(20).into();
        let mut pair = Pair::new(&config);
        pair.server.to_write = 400_000;
        let lost = [1_461, 4_381, 5_841, 10_221, 14_601].map(|position| (position, 0));
        pair.lose_copies(End::Server, &lost);
        pair.drive(seconds(60.0));
        assert_eq!(pair.client.bytes_read, 400_000);
        let samples = pair.server.events.iter().filter_map(|(_, event)| match event {
            Event::Rtt(rtt) => Some(*rtt),
            _ => None,
        });
        let samples: Vec<Duration> = samples.collect();
        assert!(samples.len() > 10);
        assert!(samples.iter().all(|rtt| *rtt == Duration::from_millis(40)), "{name} {samples:?}");
    }
}

/// Probabilities of what a channel does to a frame, per direction.
#[derive(Debug, Clone, Copy)]
struct Trouble {
    loss: f64,
    duplication: f64,
    reordering: f64,
}

fn trouble() -> impl Strategy<Value = Trouble> {
    (0.0..0.4, 0.0..0.4, 0.0..0.4).prop_map(|(loss, duplication, reordering)| Trouble {
        loss,
        duplication,
        reordering,
    })
}

#[derive(Debug, Clone)]
struct Case {
    seed: u64,
    trouble: Trouble,
    /// Index of a preset, used unchanged; an index after the last means NewReno with the following
    /// settings.
    preset: usize,
    detection: usize,
    spurious: usize,
    control: usize,
    mss: u32,
    buffer: u64,
    bytes: [u64; 2],
    reads: u64,
    iss: [u32; 2],
    switches: u8,
}

fn case() -> impl Strategy<Value = Case> {
    (
        (
            any::<u64>(),
            trouble(),
            0..2 * PRESETS.len(),
            0..loss_detection::Config::NAMES.len(),
            0..spurious::Config::NAMES.len(),
            0..congestion_control::Config::BUILT_IN.len(),
        ),
        (prop_oneof![Just(536u32), Just(1460), 1u32..3_000], 1u64..200_000),
        ([0u64..60_000, 0u64..8_000], prop_oneof![Just(u64::MAX), 100u64..20_000]),
        // Half of the initial sequence numbers are close to the wrap.
        ((any::<u32>(), u32::MAX - 30_000..=u32::MAX), any::<u8>()),
    )
        .prop_map(|(a, b, c, d)| Case {
            seed: a.0,
            trouble: a.1,
            preset: a.2,
            detection: a.3,
            spurious: a.4,
            control: a.5,
            mss: b.0.max(40),
            buffer: b.1.max(200),
            bytes: c.0,
            reads: c.1,
            iss: [d.0.0, d.0.1],
            switches: d.1,
        })
}

/// Configuration of a case.
fn config(case: &Case) -> Config {
    let mut config = preset("newreno");
    if let Some(preset) = PRESETS.get(case.preset) {
        config = (preset.config)();
    } else {
        let name = loss_detection::Config::NAMES[case.detection];
        config.loss_detection = serde_json::from_value(name.into()).expect("a registered name");
        let name = spurious::Config::NAMES[case.spurious];
        config.spurious = serde_json::from_value(name.into()).expect("a registered name");
        let name = congestion_control::Config::BUILT_IN[case.control];
        config.congestion_control = serde_json::from_value(name.into()).expect("a registered name");
        config.sack = case.switches & 4 != 0;
        config.pacing = case.switches & 128 != 0;
    }
    config.mss = case.mss;
    config.receive_buffer = Size::Bytes(case.buffer);
    config.send_buffer = Size::Bytes(case.buffer.max(1000));
    config.window_scaling = case.switches & 1 != 0;
    config.timestamps = case.switches & 2 != 0 && case.mss > 60;
    config.nagle = case.switches & 8 != 0;
    config.limited_transmit = case.switches & 16 != 0;
    config.delayed_ack.segments = 1 + u32::from(case.switches >> 5 & 3);
    config.max_rto = Duration::from_secs(8);
    // No end gives up while losses last. Linux does, into a closed window, after twice the largest
    // RTO.
    config.max_retransmissions = None;
    config.max_syn_retransmissions = None;
    config
}

fn run(case: &Case) -> Pair {
    let config = config(case);
    let mut pair = Pair::with(&config, &config, case.iss.map(SeqNr));
    let mut stream = StreamKey { seed: case.seed, replication: 0 }.stream("wire");
    let trouble = case.trouble;
    // A FIN that is repeated every 8 s must arrive before the peer leaves TIME-WAIT, which takes 60
    // s and may begin at once: a closed peer would answer with a reset.
    let loss_ends = seconds(45.0);
    pair.channel = Box::new(move |sent| {
        if sent.at >= loss_ends {
            return vec![Duration::ZERO];
        }
        let mut copies = vec![];
        let count = if stream.uniform() < trouble.duplication { 2 } else { 1 };
        for _ in 0..count {
            let late = stream.uniform() < trouble.reordering;
            let extra = Duration::from_nanos(if late { stream.below(100_000_000) } else { 0 });
            if stream.uniform() >= trouble.loss {
                copies.push(extra);
            }
        }
        copies
    });
    pair.server.to_write = case.bytes[0];
    pair.client.to_write = case.bytes[1];
    pair.server.close_when_written = true;
    pair.client.reads = case.reads;
    pair.server.reads = case.reads;
    pair.look_every = Duration::from_millis(50);
    pair
}

fn cases() -> u32 {
    std::env::var("RETX_PROPERTY_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// Under any behaviour of the wire all bytes arrive once, in order (which the rig asserts at
    /// each read), and both ends close once the losses have ended.
    #[test]
    fn everything_arrives(case in case()) {
        let mut pair = run(&case);
        pair.drive(seconds(3_600.0));
        prop_assert_eq!(pair.client.bytes_read, case.bytes[0], "at {:?}", pair.states());
        prop_assert_eq!(pair.server.bytes_read, case.bytes[1], "at {:?}", pair.states());
        prop_assert_eq!(pair.states(), [State::Closed, State::Closed]);
        let reset = |end: &rig::Host| end.events.iter().any(|(_, event)| *event == Event::Reset);
        prop_assert!(!reset(&pair.client) && !reset(&pair.server));
    }
}

/// RFC 5681 §4.1: after a pause longer than the RTO the ACK clock is lost, and at most the initial
/// window may be sent at once.
#[test]
fn a_pause_takes_the_window_back() {
    let mut pair = Pair::new(&preset("linux"));
    pair.server.to_write = 1460 * 200;
    pair.drive(seconds(5.0));
    let grown = pair.server.connection.cwnd();
    assert!(grown > 60 * 1460, "{grown}");
    pair.now = seconds(5.0);
    pair.server.to_write = 1460 * 100;
    let before = pair.sent.len();
    pair.drive(pair.now + Duration::from_millis(1));
    let at_once = pair.sent[before..].iter().filter(|sent| sent.from == End::Server);
    let burst: u32 = at_once.map(|sent| sent.transmit.segment.payload_bytes).sum();
    assert!((1..=10 * 1460).contains(&burst), "{burst}");
}

/// Only data that were sent before count as retransmissions, and no pure acknowledgment does.
#[test]
fn retransmissions_are_marked() {
    let mut pair = Pair::new(&preset("newreno"));
    pair.server.to_write = 200_000;
    pair.lose_copies(End::Server, &[(14_601, 0), (29_201, 0)]);
    pair.drive(seconds(20.0));
    let mut sent_to = [0, 0];
    for sent in &pair.sent {
        let Transmit { segment, position, retransmission, .. } = &sent.transmit;
        let to = &mut sent_to[sent.from as usize];
        let is_data = segment.payload_bytes > 0;
        assert_eq!(*retransmission, is_data && *position < *to, "{sent:?}");
        *to = (*to).max(position + u64::from(segment.payload_bytes));
    }
    assert!(pair.sent.iter().any(|sent| sent.transmit.retransmission));
}

#[test]
fn sequence_numbers_wrap_with_scaled_windows() {
    let mut config = preset("newreno");
    config.receive_buffer = Size::Bytes(1 << 20);
    let mut pair = Pair::with(&config, &config, [SeqNr(1), SeqNr(u32::MAX - 500_000)]);
    pair.server.to_write = 3_000_000;
    pair.lose_copies(End::Server, &[(499_000, 0), (500_900, 0), (502_001, 0)]);
    pair.drive(seconds(60.0));
    assert_eq!(pair.client.bytes_read, 3_000_000);
    assert!(pair.sent.iter().all(|sent| sent.at < Time::ZERO + Duration::from_secs(5)));
    // Without scaling the window could not exceed 65,535 bytes.
    assert!(pair.server.connection.snd_wnd() > 1_000_000);
}

/// Once, RACK's timer withdrew in a paced recovery the room that an ACK had given: cwnd became 0,
/// and Vegas left it at 0 after the timeout.
#[test]
fn a_timer_takes_no_room_back() {
    let trouble = Trouble {
        loss: 0.2529140570361007,
        duplication: 0.0315021536946062,
        reordering: 0.3071442980923378,
    };
    let case = Case {
        seed: 11285082597441715683,
        trouble,
        preset: usize::MAX,
        detection: position(loss_detection::Config::NAMES, "rack"),
        spurious: 0,
        control: position(congestion_control::Config::BUILT_IN, "vegas"),
        mss: 536,
        buffer: 2680,
        bytes: [35377, 537],
        reads: u64::MAX,
        iss: [0, 4294937295],
        switches: 164,
    };
    let mut pair = run(&case);
    pair.drive(seconds(3_600.0));
    assert_eq!(pair.client.bytes_read, 35377);
}

/// Once, a train went on after a segment that another way had sent, and took more than was left of
/// the burst.
#[test]
fn a_train_ends_where_another_way_sends() {
    let mut pair = run(&Case {
        seed: 16_035_173_509_910_085_467,
        trouble: Trouble {
            loss: 0.323_616_976_102_639_6,
            duplication: 0.252_592_830_953_013_2,
            reordering: 0.362_168_899_236_920_5,
        },
        preset: PRESETS.iter().position(|preset| preset.name == "linux").expect("a preset"),
        detection: 0,
        spurious: 0,
        control: 0,
        mss: 536,
        buffer: 25_728,
        bytes: [537, 6_433],
        reads: u64::MAX,
        iss: [0, u32::MAX - 30_000],
        switches: 65,
    });
    pair.drive(seconds(3_600.0));
    assert_eq!(pair.server.bytes_read, 6_433);
}

fn position(names: &[&str], name: &str) -> usize {
    names.iter().position(|it| *it == name).expect("a registered name")
}

/// An ACK that was held back lies at the end of the peer's window if data were sent beyond it, like
/// every other ACK (the rig compares the position of each segment with its sequence number).
#[test]
fn a_held_ack_lies_in_the_window() {
    let mut pair = run(&Case {
        seed: 18_258_535_171_790_377_826,
        trouble: Trouble { loss: 0.324_594_233, duplication: 0.0, reordering: 0.150_489_657 },
        preset: PRESETS.iter().position(|preset| preset.name == "linux").expect("a preset"),
        detection: 0,
        spurious: 0,
        control: 0,
        mss: 40,
        buffer: 664,
        bytes: [2_305, 2_169],
        reads: u64::MAX,
        iss: [0, u32::MAX - 30_000],
        switches: 32,
    });
    pair.drive(seconds(3_600.0));
}
