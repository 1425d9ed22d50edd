//! The scenario of Fall & Floyd 1996 (CCR 26(3)), with several drops in one window: retransmission
//! times, to the millisecond, and timeouts equal those that ns-2.35 prints for its own validation
//! of that paper.
//!
//! Topology: S1 –(8 Mbit/s, 0 ms)– R1 –(0.8 Mbit/s, 100 ms)– K1, with a queue of 8 packets at R1.
//! Packets have 1040 bytes with 1000 bytes of data, and each is acknowledged; the window is 28
//! packets, the initial window 2 packets, and the minimum RTO 1 s. Packets are numbered as in ns-2:
//! packet 0 is the SYN, sent at 1 s.

use retx_link::{channel, pipe, queue};
use retx_record::reason::EpisodeKind;
use retx_sim::plan::{
    AppPlan, CopyOnWrite, FlowPlan, Hop, PipePlan, Plan, Sampling, Side, TcpPlan,
};
use retx_sim::{Control, Options, run_plan};
use retx_tcp::{Size, congestion_control, loss_detection, presets};
use retx_units::{Duration, Rate, Time};

fn tcp(name: &str, recover_test: bool) -> TcpPlan {
    let mut config = (presets::find(name).expect("a preset").config)();
    if !recover_test {
        let reno = loss_detection::reno::Config { recover_test };
        config.loss_detection = loss_detection::Config::reno(reno);
    }
    assert!(matches!(
        config.congestion_control,
        congestion_control::Config::reno(_) | congestion_control::Config::tahoe(_)
    ));
    config.mss = 1000;
    config.initial_window = Size::Mss(2).into();
    config.advertised_window = Some(Size::Mss(28));
    config.window_scaling = false;
    config.limited_transmit = false;
    config.delayed_ack.segments = 1;
    TcpPlan { name: name.into(), config }
}

fn pipes(drops: &[u64]) -> Vec<PipePlan> {
    // Packet n carries the 1000 bytes from 1000·(n − 1) + 1 on.
    let drop_seq = drops.iter().map(|packet| 1000 * (packet - 1) + 1).collect();
    let script = channel::script::Config {
        drop_seq,
        r#as: channel::script::ScriptedCause::Congestion,
        ..Default::default()
    };
    let pipe = |link: &str, direction, bit_s, delay, channel: Vec<channel::Config>| PipePlan {
        link: link.into(),
        direction,
        ends: ["near".into(), "far".into()],
        config: CopyOnWrite::from(pipe::Config {
            rate: Some(Rate::from_bit_s(bit_s)),
            delay: Duration::from_millis(delay),
            overhead: 0,
            queue: queue::Config::droptail(queue::droptail::Config {
                packets: (bit_s < 1_000_000).then_some(8),
                bytes: None,
            }),
            channel,
            changes: vec![],
            repair: None,
        }),
    };
    vec![
        // As in ns-2, packets are lost on reaching R1, before its queue, so that a lost packet
        // takes no capacity of the second link.
        pipe("access", "forward", 8_000_000, 0, vec![channel::Config::script(script)]),
        pipe("access", "reverse", 8_000_000, 0, vec![]),
        pipe("bottleneck", "forward", 800_000, 100, vec![]),
        pipe("bottleneck", "reverse", 800_000, 100, vec![]),
    ]
}

/// Retransmissions as (milliseconds, packet), and the times (ms) of timeouts.
fn run(tcp: TcpPlan, drops: &[u64]) -> (Vec<(i64, u64)>, Vec<i64>) {
    let plan = Plan {
        seed: 1,
        end: Time::ZERO + Duration::from_secs(6),
        runs_to_end: true,
        warmup: Time::ZERO,
        sampling: Sampling::Off,
        samples_max: u64::MAX,
        pipes: pipes(drops),
        stages: Vec::new(),
        routes: [[0, 2], [3, 1]].map(|way| way.map(Hop::Pipe).to_vec()).to_vec(),
        tcps: vec![tcp],
        relays: vec![],
        proxies: vec![],
        flows: vec![FlowPlan {
            name: "data".into(),
            tcp: 0,
            receiver_tcp: 0,
            app: AppPlan::Bulk.into(),
            start: Time::ZERO + Duration::from_secs(1),
            initiator: Side::Sender,
            routes: [0, 1],
            nodes: [0, 2],
            read_rate: None,
            write_size: 256 << 10,
        }],
        datagrams: vec![],
    };
    let options = Options { record_segments: true, record_episodes: true, ..Options::default() };
    let outcome = run_plan(&plan, &options, &Control::default()).expect("a sound plan");
    let milliseconds = |time: Time| (time.as_secs_f64() * 1e3).round() as i64;
    let segments = outcome.tables.segments.expect("asked for");
    let retransmissions = segments
        .rows()
        .filter(|(row, _)| row.retransmission)
        .map(|(row, _)| (milliseconds(row.sent), row.packet_number))
        .collect();
    let episodes = outcome.tables.episodes.expect("asked for");
    let timeouts = episodes
        .rows()
        .iter()
        .filter(|row| row.kind == EpisodeKind::Rto)
        .map(|row| milliseconds(row.start))
        .collect();
    (retransmissions, timeouts)
}

#[track_caller]
fn check(tcp: &TcpPlan, drops: &[u64], retransmissions: &[(i64, u64)], timeouts: &[i64]) {
    let (mut sent, expired) = run(tcp.clone(), drops);
    assert_eq!(sent.remove(0), (2069, 14), "{} {drops:?}", tcp.name);
    assert_eq!(sent, retransmissions, "{} {drops:?}", tcp.name);
    assert_eq!(expired, timeouts, "{} {drops:?}", tcp.name);
}

#[test]
fn tahoe() {
    let tcp = tcp("tahoe", true);
    check(&tcp, &[14], &[], &[]);
    check(&tcp, &[14, 28], &[(2281, 28)], &[]);
    check(&tcp, &[14, 26, 28], &[(2281, 26), (2281, 27), (2493, 28)], &[]);
    let four = [(2281, 24), (2281, 25), (2493, 26), (2493, 27), (2493, 28)];
    check(&tcp, &[14, 24, 26, 28], &four, &[]);
}

#[test]
fn reno() {
    let tcp = tcp("reno", true);
    check(&tcp, &[14], &[], &[]);
    check(&tcp, &[14, 28], &[(3281, 28)], &[3281]);
    check(&tcp, &[14, 26, 28], &[(3281, 26), (3493, 28), (3493, 29)], &[3281]);
    let four = [(3281, 24), (3493, 26), (3493, 27), (3705, 28), (3705, 29), (3705, 30)];
    check(&tcp, &[14, 24, 26, 28], &four, &[3281]);
}

#[test]
fn reno_without_the_recover_test() {
    let tcp = tcp("reno", false);
    check(&tcp, &[14, 28], &[(2364, 28)], &[]);
    // These expected values are only the first three retransmissions and the timeout.
    for (drops, first) in [
        (&[14, 26, 28][..], [(2069, 14), (2364, 26), (3576, 28)]),
        (&[14, 24, 26, 28], [(2069, 14), (2364, 24), (3576, 26)]),
    ] {
        let (sent, timeouts) = run(tcp.clone(), drops);
        assert_eq!(sent[..3], first, "{drops:?}");
        assert_eq!(timeouts, [3576], "{drops:?}");
    }
}

#[test]
fn newreno() {
    let tcp = tcp("newreno", true);
    check(&tcp, &[14], &[], &[]);
    check(&tcp, &[14, 28], &[(2281, 28)], &[]);
    check(&tcp, &[14, 26, 28], &[(2281, 26), (2493, 28)], &[]);
    check(&tcp, &[14, 24, 26, 28], &[(2281, 24), (2493, 26), (2705, 28)], &[]);
}

/// RFC 6675 retransmits a segment only once `IsLost` holds, so times differ from those of the SACK
/// sender of 1996; but no drop causes a timeout, and each lost segment is retransmitted once.
#[test]
fn sack() {
    let tcp = tcp("sack", true);
    for drops in [&[14][..], &[14, 28], &[14, 26, 28], &[14, 24, 26, 28]] {
        let (sent, timeouts) = run(tcp.clone(), drops);
        let mut packets: Vec<u64> = sent.iter().map(|(_, packet)| *packet).collect();
        packets.sort_unstable();
        assert_eq!(packets, drops, "{sent:?}");
        // ns-2 prints 2069; the SACK options of earlier ACKs add a fraction of a millisecond here.
        assert_eq!(sent[0], (2070, 14));
        assert!(timeouts.is_empty(), "{timeouts:?}");
    }
}
