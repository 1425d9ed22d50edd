//! TCP over 802.11 cells, from scenario files.

use retx_record::capture::DropReason;
use retx_scenario::{Source, parse};
use retx_sim::{CapturePoint, Control, Options, Outcome, run};

const ONE: &str = include_str!("../../../../scenarios/wifi.toml");
const CHAIN: &str = include_str!("../../../../scenarios/wifi-chain.toml");
const HIDDEN: &str = include_str!("../../../../scenarios/wifi-hidden.toml");

fn outcome(text: &str, set: &[(&str, &str)]) -> Outcome {
    let overrides: Vec<(String, String)> =
        set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let source = Source { name: "wlan.toml", text, overrides: &overrides };
    let scenario = parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let capture = vec![CapturePoint::Stage { stage: 0, place: 0 }];
    let options = Options {
        replication: 0,
        record_segments: true,
        record_drops: true,
        record_episodes: true,
        capture_points: capture,
        ..Options::default()
    };
    run(&scenario, &options, &Control::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn goodput(outcome: &Outcome) -> f64 {
    outcome.flows[0].goodput_bit_s.expect("time")
}

/// The goodput of one flow agrees with a computation by hand. Times are in µs. A segment of 1460
/// bytes is a frame of 1536 bytes, which takes 192 + 1118; a TCP ACK is a frame of 76 bytes, which
/// takes 192 + 56. Each is followed by SIFS, the MAC's ACK and DIFS (10 + 248 + 50), and the
/// propagation of the frame and of the MAC's ACK takes 1 each. One TCP ACK acknowledges two
/// segments. The server always has a packet, so that every idle slot belongs to its backoff, 31
/// slots for two segments on average; the client's backoff passes during the same slots.
///
/// Both stations start their backoff when the MAC acknowledges the second segment. The client has
/// drawn L slots; the server transmits, and draws again, until one of its transmissions would come
/// after the client's. Each draw equals the client's remaining slots with probability 1/32, and
/// then the frames collide. For the expected number of collisions f(L), f(0) = 1/32 and f(L) = (1 +
/// f(1) + … + f(L − 1))/31 = (32/31)^(L−1)/31, whose mean over L is ((32/31)^31 − 31/32)/32
/// collisions per TCP ACK. A collision costs a data frame, the ACK timeout of 222 and a backoff of
/// 31.5 slots.
#[test]
fn one_flow_comes_near_5_mbit_s() {
    let one = outcome(ONE, &[]);
    let around = 10.0 + 248.0 + 50.0 + 2.0;
    let [segment, ack] = [192.0 + 1118.0, 192.0 + 56.0].map(|frame| frame + around);
    let collisions = ((32.0f64 / 31.0).powi(31) - 31.0 / 32.0) / 32.0;
    let collision = 192.0 + 1118.0 + 1.0 + 222.0 + 31.5 * 20.0;
    let cycle = 2.0 * segment + ack + 31.0 * 20.0 + collisions * collision;
    let by_hand = 2.0 * 1460.0 * 8.0 / cycle * 1e6;
    // The result is 5.15 Mbit/s. It leaves out repeated collisions, which cost 0.05² · 2 ms in a
    // cycle of 4.5 ms. Over the 4400 cycles of 20 s, four standard errors of backoffs and
    // collisions are 0.8 %.
    let off = goodput(&one) / by_hand - 1.0;
    assert!(off.abs() < 0.01, "{} for {by_hand}", goodput(&one));
    assert_eq!(one.flows[0].segments_retransmitted, 0);
    let (cell, server) = (&one.wlans[0], &one.wlans[0].stations[0]);
    assert_eq!(server.counts.drops, Default::default());
    assert!(server.queue_max_packets <= 45);
    // Shares of the 20 s that the server's data frames and the client's MAC ACKs take.
    let on_air = |us: f64, frames: u64| us * 1e-6 * frames as f64 / 20.0;
    let data = on_air(192.0 + 1118.0, server.counts.packets_delivered - 1);
    let acks = on_air(248.0, cell.stations[1].counts.packets_delivered);
    let close = |a: Option<f64>, b: f64| (a.expect("time") - b).abs() < 2e-4;
    // The tolerance is for one shorter packet during connection setup, and for a packet still on
    // the air at the end.
    assert!(close(server.counts.airtime.data, data), "{:?} {data}", server.counts.airtime);
    assert!(close(server.counts.airtime.ack, acks), "{:?} {acks}", server.counts.airtime);
    let parts = &cell.counts.airtime;
    let parts = [parts.data, parts.erroneous, parts.collided, parts.ack, parts.rts_cts];
    let sum: f64 = parts.iter().flatten().sum();
    let [whole, idle, busy] =
        [cell.counts.airtime_share, cell.idle_share, cell.utilisation].map(|it| it.expect("time"));
    assert!((sum - whole).abs() < 1e-12 && parts[4] == Some(0.0));
    assert!((idle + busy - 1.0).abs() < 1e-12);
}

/// In a row of stations that all sense each other only one sends at a time, so h hops have 1/h of
/// the goodput of one. With ns-2's ranges, stations three hops apart are hidden from each other,
/// which costs more.
#[test]
fn a_chain_shares_the_air_among_its_hops() {
    let to = |station, set: &[(&'static str, &'static str)]| {
        let set: Vec<_> = set.iter().copied().chain([("flow.transfer.to", station)]).collect();
        goodput(&outcome(CHAIN, &set))
    };
    let far = [("wlan.mesh.carrier_sense_range", "1 km"), ("wlan.mesh.interference_range", "1 km")];
    let [all, hidden] =
        [&far[..], &[]].map(|set| ["b", "c", "d", "e"].map(|station| to(station, set)));
    for hops in 1..4 {
        let times = (hops + 1) as f64;
        let [all, hidden] = [all, hidden].map(|row| row[hops] / row[0] * times);
        // The only collisions are those of stations whose backoffs end in the same slot.
        assert!((0.97..1.03).contains(&all), "{times} hops: {all} of a fair share");
        // Li et al. 2001 find that a long chain with these ranges reaches about 1/4 of one hop's
        // goodput at best, and less with the 802.11 MAC.
        assert!((0.7..1.03).contains(&hidden), "{times} hops: {hidden} of a fair share");
    }
}

/// Hidden senders collide with each other's RTS frames, which are short, instead of long data
/// frames.
#[test]
fn rts_and_cts_help_hidden_stations() {
    let [without, with] = ["2347", "500"].map(|threshold| {
        let outcome = outcome(HIDDEN, &[("wlan.cell.rts_threshold", threshold)]);
        outcome.wlans[0].counts.clone()
    });
    assert!(without.rts_sent == 0 && with.rts_sent > 0 && with.rts_failed > 0);
    let spoilt = [&without, &with].map(|counts| counts.frame_error_rate.expect("frames were sent"));
    assert!(spoilt[1] < spoilt[0] / 3.0, "{spoilt:?}");
}

/// A queue discipline at a station marks packets, the receiver echoes the marks, and the sender
/// reduces its window: the queue stays short, and nothing is lost.
#[test]
fn queues_of_stations_mark() {
    let [marked, full] = [
        "{ discipline = \"codel\", ecn = true, packets = 1000 }",
        "{ discipline = \"droptail\", packets = 1000 }",
    ]
    .map(|queue| {
        let wide = [
            ("wlan.cell.queue", queue),
            ("tcp.download.ecn", "true"),
            ("tcp.download.window_scaling", "true"),
            ("tcp.download.receive_buffer", "400 mss"),
        ];
        outcome(ONE, &wide)
    });
    let server = &marked.wlans[0].stations[0].counts;
    assert_eq!(marked.wlans[0].counts.drops, Default::default());
    assert!(server.packets_marked > 0);
    assert!(marked.flows[0].ecn_reductions > 0);
    assert_eq!(marked.flows[0].segments_retransmitted, 0);
    assert_eq!(full.wlans[0].counts.packets_marked, 0);
    let [short, long] = [&marked, &full]
        .map(|it| it.wlans[0].stations[0].queue_mean_packets.expect("a run longer than nothing"));
    assert!(short < long / 2.0, "{short} {long}");
}

/// Error rates are shares of the frames that end while statistics are taken, even if such a frame
/// began before. Frames here take 13 ms, and statistics cover only 8 ms.
#[test]
fn rates_of_frames_are_shares() {
    const PAIR: &str = r#"
        duration = "1 s"
        stop = "duration"
        [[wlan]]
        name = "cell"
        stations = ["a", "b", "c"]
        rate = "1 Mbit/s"
        channel = { model = "bernoulli", p = 0.3 }
        [[flow]]
        name = "from a"
        from = "a"
        to = "c"
        udp = { packet = 1500 }
        app = "bulk"
        [[flow]]
        name = "from b"
        from = "b"
        to = "c"
        udp = { packet = 1500 }
        app = "bulk""#;
    let mut spoilt = 0;
    for at in (500..1500).step_by(7) {
        let [warmup, duration] = [at, at + 8].map(|ms| format!("{ms} ms"));
        let outcome = outcome(PAIR, &[("warmup", &warmup), ("duration", &duration)]);
        let counts = &outcome.wlans[0].counts;
        for rate in [counts.frame_error_rate, counts.channel_error_rate].into_iter().flatten() {
            assert!((0.0..=1.0).contains(&rate), "{warmup}: {counts:?}");
        }
        if counts.frames_erroneous > counts.frames_collided {
            spoilt += 1;
            assert!(counts.channel_error_rate.is_some_and(|rate| rate > 0.1), "{counts:?}");
        }
    }
    assert!(spoilt > 10, "{spoilt}");
}

/// Packets lost at the retry limit are recorded with this reason, and the episodes that they cause
/// are wireless.
#[test]
fn losses_at_the_retry_limit_are_wireless() {
    let set = [
        ("wlan.cell.channel", "{ model = \"bernoulli\", p = 0.3 }"),
        ("wlan.cell.retry_limit", "4"),
    ];
    let lossy = outcome(ONE, &set);
    let episodes = &lossy.flows[0].episodes;
    assert!(episodes.fast_retransmit.wireless > 0);
    assert_eq!(episodes.fast_retransmit.congestion + episodes.rto.congestion, 0);
    let counts = &lossy.wlans[0].counts;
    // All drops happen at the retry limit, none at a queue.
    let drops = lossy.tables.drops.as_ref().expect("asked for").rows();
    assert_eq!(drops.len() as u64, counts.drops.retry_limit);
    assert!(drops.iter().all(|drop| drop.reason == DropReason::RetryLimit));
    // A packet is lost if four frames in a row are, with probability 0.3^4; the tolerance is four
    // standard deviations.
    let (packets, lost) = (counts.packets_in as f64, counts.drops.retry_limit as f64);
    let p: f64 = 0.3f64.powi(4);
    assert!((lost - packets * p).abs() < 4.0 * (packets * p).sqrt() + 4.0, "{counts:?}");
    let rate = counts.frame_error_rate.expect("frames were sent");
    let collided = counts.frames_collided as f64 / counts.frames_sent as f64;
    let sigma = (0.3 * 0.7 / counts.frames_sent as f64).sqrt();
    // The channel may also hit frames that collide, which are counted only once.
    assert!((rate - collided - 0.3).abs() < 4.0 * sigma + 0.01, "{rate} {collided}");
}

/// Without a retry limit the MAC is reliable: TCP sees no loss, only delay.
#[test]
fn an_unlimited_mac_loses_nothing() {
    let lossy = "{ model = \"bernoulli\", p = 0.5 }";
    let outages = "{ model = \"gilbert_elliott_time\", loss = 0.2, mean_burst = \"100 ms\" }";
    let late = "{ model = \"random_delay\", share = 0.001, delay = \"2 s\" }";
    let clear = outcome(ONE, &[]);
    for channel in [lossy, outages, &format!("[{outages}, {late}]")] {
        let set = [("wlan.cell.channel", channel), ("wlan.cell.retry_limit", "unlimited")];
        let endless = outcome(ONE, &set);
        let counts = &endless.wlans[0].counts;
        assert_eq!(counts.drops, Default::default(), "{channel}");
        assert!(endless.tables.drops.as_ref().expect("asked for").rows().is_empty());
        assert!(counts.error_burst_max > 7 && counts.attempts_max > 7 && counts.acks_lost > 0);
        assert_eq!((counts.loss_burst_max, counts.loss_burst_mean), (0, None));
        let flow = &endless.flows[0];
        let episodes = &flow.episodes;
        assert_eq!(episodes.fast_retransmit.wireless + episodes.rto.wireless, 0, "{channel}");
        assert_eq!(episodes.fast_retransmit.congestion + episodes.rto.congestion, 0, "{channel}");
        assert_eq!(flow.segments_retransmitted, flow.retransmissions_unnecessary, "{channel}");
        assert!(flow.rtt_mean_s > clear.flows[0].rtt_mean_s, "{channel}");
        // A delay of two seconds exceeds every RTO of this run.
        assert!(!channel.contains(late) || episodes.rto.spurious > 0, "{channel}");
    }
}

#[test]
fn a_run_that_ends_in_its_warmup_has_no_shares_of_time() {
    let app = ("flow.download.app", "{ kind = \"transfer\", bytes = 20000 }");
    let early = outcome(ONE, &[app, ("warmup", "15 s")]);
    assert!(early.warning.is_some());
    let (cell, server) = (&early.wlans[0], &early.wlans[0].stations[0]);
    assert_eq!((cell.utilisation, cell.idle_share), (None, None));
    assert_eq!((server.queue_mean_packets, server.counts.airtime_share), (None, None));
    assert_eq!(cell.counts.airtime, Default::default());
    assert_eq!(cell.counts.airtime.data, None);
}
