//! UDP flows from scenario files: their counters, closed forms of queues and of the 802.11 DCF, and
//! UDP beside TCP.

use retx_record::datagrams::DatagramSummary;
use retx_scenario::{Source, parse};
use retx_sim::{CapturePoint, Control, Options, Outcome, run};

fn outcome(text: &str, set: &[(&str, &str)]) -> Outcome {
    let overrides: Vec<(String, String)> =
        set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let source = Source { name: "udp.toml", text, overrides: &overrides };
    let scenario = parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let options = Options { record_drops: true, ..Options::default() };
    run(&scenario, &options, &Control::default()).unwrap_or_else(|error| panic!("{error}"))
}

const ONE: &str = r#"
duration = "100 s"

[[link]]
name = "wire"
ends = ["a", "b"]
rate = "1 Mbit/s"
delay = "10 ms"
overhead = 0

[[flow]]
name = "calls"
from = "a"
to = "b"
udp = { packet = 500, rate = "400 kbit/s" }
app = "cbr"
"#;

fn only(outcome: &Outcome) -> &DatagramSummary {
    assert_eq!((outcome.flows.len(), outcome.datagrams.len()), (0, 1));
    &outcome.datagrams[0]
}

/// The source sends 500 bytes every 10 ms from 0 s until just before 100 s; each packet takes 4 ms
/// to send and 10 ms of propagation.
#[test]
fn a_constant_rate_arrives_as_it_is_sent() {
    let outcome = outcome(ONE, &[]);
    let calls = only(&outcome);
    let counts = calls.datagrams;
    assert_eq!((counts.sent, counts.delivered), (10_000, 9_999));
    assert_eq!((counts.lost, counts.duplicated, counts.reordered), (0, 0, 0));
    assert_eq!((calls.frames_sent, calls.bytes_delivered), (10_000, 9_999 * 472));
    let delay = calls.delay;
    assert_eq!((delay.min_s, delay.max_s), (Some(0.014), Some(0.014)));
    assert_eq!((delay.mean_s, delay.sd_s, delay.p99_s), (Some(0.014), Some(0.0), Some(0.014)));
    assert_eq!(calls.jitter_s, Some(0.0));
    assert_eq!((calls.start_s, calls.finish_s), (Some(0.0), None));
    assert!((calls.goodput_bit_s.expect("time") - 9_999.0 * 472.0 * 8.0 / 100.0).abs() < 1e-6);
    assert_eq!((outcome.links[0].packets_in, outcome.links[0].packets_in_transit), (10_000, 1));
    let warm = self::outcome(ONE, &[("warmup", "50 s")]);
    assert_eq!(only(&warm).datagrams.sent, 5_000);
}

#[test]
fn limits_end_a_flow_and_the_run() {
    let end = |limit: &str| {
        let udp = format!("{{ packet = 500, rate = \"400 kbit/s\", {limit} }}");
        let outcome = outcome(ONE, &[("flow.calls.udp", udp.as_str())]);
        let calls = only(&outcome);
        assert_eq!(calls.finish_s, Some(outcome.engine.simulated_s));
        (calls.datagrams.sent, calls.bytes_delivered, calls.finish_s.expect("it ends"))
    };
    assert_eq!(end("packets = 3"), (3, 1416, 0.034));
    // The last packet carries 56 bytes, 84 with its headers, which take 0.672 ms to send.
    assert_eq!(end("bytes = 1000"), (3, 1000, 0.030672));
    assert_eq!(end("duration = \"25 ms\""), (3, 1416, 0.034));
    let udp = ("flow.calls.udp", "{ packet = 500, duration = \"1 s\" }");
    let bulk = outcome(ONE, &[udp, ("flow.calls.app", "bulk")]);
    // The source keeps five packets in the link. From 14 ms on one leaves every 4 ms, 247 of them
    // before 1 s, and each makes room for another.
    assert_eq!((only(&bulk).datagrams.sent, only(&bulk).finish_s), (252, Some(1.018)));
    // A flow of 1 ns ends before its first packet is due, so it is over as soon as it begins.
    let poisson = outcome(
        ONE,
        &[
            ("flow.calls.udp.duration", "1 ns"),
            ("flow.calls.app", "poisson"),
            ("flow.calls.start", "2 s"),
        ],
    );
    assert_eq!((only(&poisson).datagrams.sent, poisson.engine.simulated_s), (0, 2.0));
}

/// Losses, duplicates and reordered packets are counted, and losses are recorded at the place where
/// they happen.
#[test]
fn losses_copies_and_late_packets_are_counted() {
    let lossy =
        outcome(ONE, &[("link.wire.forward.channel", "{ model = \"bernoulli\", p = 0.2 }")]);
    let counts = only(&lossy).datagrams;
    let sigma = (10_000.0f64 * 0.2 * 0.8).sqrt();
    assert!((counts.lost as f64 - 2_000.0).abs() < 4.0 * sigma, "{counts:?}");
    assert_eq!(counts.sent, counts.delivered + counts.lost + 1);
    let drops = lossy.tables.drops.as_ref().expect("asked for").rows();
    assert_eq!(drops.len() as u64, counts.lost);
    assert!(drops.is_sorted_by(|a, b| a.packet_number < b.packet_number));

    let twice = "{ model = \"duplicate\", p = 0.5, after = \"25 ms\" }";
    let copied = outcome(ONE, &[("link.wire.forward.channel", twice)]);
    let counts = only(&copied).datagrams;
    let made = copied.links[0].packets_duplicated;
    assert!((made as f64 - 5_000.0).abs() < 4.0 * 50.0, "{made}");
    assert!(counts.duplicated <= made && counts.duplicated + 4 >= made, "{counts:?} {made}");
    assert_eq!((counts.delivered, counts.lost, counts.reordered), (9_999, 0, 0));

    // A packet counts as lost only if its copy is lost too, where there is one: half of the packets
    // have a copy, and each of the two frames is lost with probability 0.5.
    let hops = ONE.to_owned()
        + "[[link]]\nname = \"next\"\nends = [\"b\", \"c\"]\n\
           channel = { model = \"bernoulli\", p = 0.5 }\n";
    let set = [("link.wire.forward.channel", twice), ("flow.calls.to", "c")];
    let counts = only(&outcome(&hops, &set)).datagrams;
    let lost = 10_000.0 * (0.5 * 0.5 + 0.5 * 0.25);
    assert!((counts.lost as f64 - lost).abs() < 4.0 * (lost * 0.625f64).sqrt() + 4.0, "{counts:?}");

    let late = "{ model = \"random_delay\", share = 0.1, law = \"constant\", delay = \"15 ms\", \
                reorder = true }";
    let counts = only(&outcome(ONE, &[("link.wire.forward.channel", late)])).datagrams;
    // A delayed packet is overtaken by the next unless that is delayed itself: 0.1 · 0.9 of all.
    assert!((counts.reordered as f64 - 900.0).abs() < 4.0 * 30.0, "{counts:?}");
}

/// Runs one UDP flow over a link of 1 Mbit/s; returns the mean queue length in packets and the mean
/// waiting time.
fn waits(app: &str, packet: &str, load: f64, packets: u64) -> (f64, f64) {
    let udp = format!("{{ packet = {packet}, rate = \"{} bit/s\" }}", load * 1e6);
    let mean = if packet.starts_with('{') { 5_000.0 } else { 500.0 };
    let seconds = packets as f64 * mean * 8.0 / (load * 1e6);
    let set = [
        ("duration", format!("\"{seconds} s\"")),
        ("link.wire.mtu", "65535".to_owned()),
        ("link.wire.delay", "0 s".to_owned()),
        ("flow.calls.udp", udp),
        ("flow.calls.app", app.to_owned()),
    ];
    let set: Vec<(&str, &str)> = set.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let outcome = outcome(ONE, &set);
    let service = mean * 8.0 / 1e6;
    let waiting = only(&outcome).delay.mean_s.expect("packets arrive") - service;
    (waiting / service, outcome.links[0].queue_mean_packets.expect("time"))
}

/// Mean waiting times follow the formula of Pollaczek and Khinchine, and mean queue lengths
/// Little's law. The standard error of the mean waiting time of n packets of an M/M/1 queue is
/// sqrt(ρ(2 + 5ρ − 4ρ² + ρ³)/n)/(1 − ρ)² service times (Daley 1968, summing the correlations of
/// stationary waiting times), and that of an M/D/1 queue is smaller. At ρ = 0.8 and 6 million
/// packets it is 0.45 % of the mean, so the tolerance of 2 % is more than four standard errors.
#[test]
fn waiting_times_are_those_of_m_d_1_and_m_m_1() {
    for (load, packets) in [(0.3, 1_000_000), (0.6, 2_000_000), (0.8, 6_000_000)] {
        for (packet, variability) in [("500", 0.0), ("{ law = \"exponential\", mean = 5000 }", 1.0)]
        {
            let expected = load * (1.0 + variability) / (2.0 * (1.0 - load));
            let (waiting, queued) = waits("poisson", packet, load, packets);
            let off = [waiting / expected - 1.0, queued / (load * expected) - 1.0];
            assert!(off.iter().all(|off| off.abs() < 0.02), "{load} {packet}: {off:?}");
        }
    }
}

/// Packets at constant intervals never wait for each other.
#[test]
fn a_constant_rate_alone_does_not_wait() {
    let (waiting, queued) = waits("cbr", "500", 0.8, 10_000);
    assert!(waiting.abs() < 1e-9 && queued == 0.0, "{waiting} {queued}");
}

const CELL: &str = r#"
duration = "60 s"

[[wlan]]
name = "cell"
stations = ["sink"]
eifs = "50 us"
ack_timeout = "50 us"
queue = { discipline = "droptail", packets = 10 }
"#;

/// Throughput agrees with Bianchi's closed form for 802.11b with packets of 1500 bytes, 11 Mbit/s
/// and the long preamble. The comparison with Bianchi's model in the tests of `retx-link` explains
/// the tolerance of 3 %.
#[test]
fn saturated_stations_share_what_bianchi_says() {
    for (n, expected) in [(1, 6.22), (2, 6.57), (5, 6.51), (10, 6.20)] {
        let names: Vec<String> = (0..n).map(|station| format!("s{station}")).collect();
        let all = format!("stations = [\"sink\", \"{}\"]", names.join("\", \""));
        let flow = |name: &String| {
            format!(
                "[[flow]]\nname = \"{name}\"\nfrom = \"{name}\"\nto = \"sink\"\n\
                 udp = {{ packet = 1500 }}\napp = \"bulk\"\n"
            )
        };
        let flows: String = names.iter().map(flow).collect();
        let text = CELL.replace("stations = [\"sink\"]", &all) + &flows;
        let outcome = outcome(&text, &[]);
        let delivered: u64 = outcome.datagrams.iter().map(|flow| flow.datagrams.delivered).sum();
        let mbit_s = delivered as f64 * 1500.0 * 8.0 / 60.0 / 1e6;
        assert!((mbit_s / expected - 1.0).abs() < 0.03, "{n} stations: {mbit_s}");
        // The source offers a packet only when the queue has room, so that none is dropped.
        let counts = &outcome.wlans[0].counts;
        assert_eq!(counts.drops.queue, 0);
        let stations = outcome.wlans[0].stations.iter().filter(|it| it.name != "sink");
        // The queue holds the packet in service, whose ACK is outstanding, and the next one.
        stations.for_each(|it| assert_eq!(it.queue_max_packets, 2));
    }
}

/// A saturating source keeps a link busy whatever its delay, and the link's queue short.
#[test]
fn bulk_keeps_a_link_busy() {
    let set = [
        ("link.wire.delay", "300 ms"),
        ("flow.calls.udp", "{ packet = 500 }"),
        ("flow.calls.app", "bulk"),
    ];
    let outcome = outcome(ONE, &set);
    let wire = &outcome.links[0];
    assert!(wire.utilisation.expect("time") > 0.9999 && wire.queue_max_packets <= 76, "{wire:?}");
    assert_eq!(wire.drops.queue, 0);
    let two = ONE.replace("\"400 kbit/s\" }", "\"400 kbit/s\" }\ncount = 2");
    let queue = ("link.wire.queue", "{ discipline = \"red\", packets = 20 }");
    let outcome = self::outcome(&two, &[set[0], set[1], set[2], queue]);
    // Sources whose packets the queue drops try again, so the link is always busy, and each source
    // gets a share of it.
    let wire = &outcome.links[0];
    assert!(wire.utilisation.expect("time") > 0.99 && wire.drops.queue > 1000, "{wire:?}");
    assert!(outcome.datagrams.iter().all(|flow| flow.datagrams.delivered > 5000));
}

const BESIDE: &str = r#"
duration = "60 s"
warmup = "5 s"

[[link]]
name = "wire"
ends = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
queue = { discipline = "droptail", packets = 200 }

[[flow]]
name = "downloads"
from = "a"
to = "b"
tcp = "newreno"
app = "bulk"
count = 4
stagger = "100 ms"

[[flow]]
name = "call"
from = "a"
to = "b"
udp = { packet = 200, rate = "80 kbit/s" }
app = "cbr"
"#;

/// Behind a droptail queue a sparse flow waits for the packets of all other flows. Under FQ-CoDel
/// it waits at most for one packet of each of the four others, if they are new flows too (RFC 8290
/// §4.2), and for the packet in transmission.
#[test]
fn fq_codel_isolates_a_sparse_flow() {
    let call = |queue: &str| {
        let outcome = outcome(BESIDE, &[("link.wire.queue", queue)]);
        assert_eq!(outcome.flows.len(), 4);
        outcome.datagrams[0].clone()
    };
    let [one, full] = [238.0, 1538.0].map(|frame| frame * 8.0 / 1e7);
    let alone = 0.01 + one;
    let isolated = call("fq_codel");
    assert_eq!(isolated.datagrams.lost, 0);
    let longest = isolated.delay.max_s.expect("packets arrive");
    assert!(longest <= alone + 5.0 * full + 1e-9, "{isolated:?}");
    assert!(isolated.delay.p50_s.expect("packets arrive") < alone + full, "{isolated:?}");
    let behind = call("{ discipline = \"droptail\", packets = 200 }");
    let median = behind.delay.p50_s.expect("packets arrive");
    assert!(median > alone + 50.0 * full, "{behind:?}");
}

/// Each source draws random numbers from a stream of its own, so that adding a flow changes no
/// packet of another.
#[test]
fn another_flow_shifts_no_draws() {
    let set = [("flow.calls.app", "poisson"), ("link.wire.rate", "100 Mbit/s")];
    let other = ONE[ONE.find("[[flow]]").expect("a flow")..].replace("calls", "others");
    let alone = outcome(ONE, &set);
    let beside = outcome(&(ONE.to_owned() + &other.replace("\"cbr\"", "\"poisson\"")), &set);
    assert_eq!(alone.datagrams[0].datagrams.sent, beside.datagrams[0].datagrams.sent);
    assert_ne!(beside.datagrams[0].datagrams.sent, beside.datagrams[1].datagrams.sent);
}

/// UDP packets follow a route that the scenario specifies, over a link and a cell, and are captured
/// in the cell.
#[test]
fn datagrams_pass_cells_and_written_routes() {
    let text = r#"
duration = "10 s"
[[link]]
name = "short"
ends = ["a", "c"]
[[link]]
name = "long"
ends = ["a", "b"]
[[wlan]]
name = "cell"
stations = ["b", "c"]
[[route]]
from = "a"
to = "c"
via = ["long", "cell"]
[[flow]]
name = "calls"
from = "a"
to = "c"
udp = { packet = 500, rate = "400 kbit/s", packets = 100 }
app = "cbr"
"#;
    let source = Source { name: "udp.toml", text, overrides: &[] };
    let scenario = parse(&source).unwrap_or_else(|error| panic!("{error}"));
    let capture = vec![CapturePoint::Stage { stage: 0, place: 1 }];
    let options = Options { capture_points: capture, ..Options::default() };
    let outcome = run(&scenario, &options, &Control::default()).expect("it runs");
    assert_eq!(only(&outcome).datagrams.delivered, 100);
    assert_eq!(outcome.wlans[0].counts.packets_delivered, 100);
    assert_eq!(outcome.capture.expect("asked for").sighting_count(), 100);
}
