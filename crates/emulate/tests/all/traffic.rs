//! Emulations of all kinds of traffic, of relays and of cells with this machine's kernel. Skipped
//! with a message if it does not allow them.

use crate::{allowed, emulate_alone, settings};
use retx_emulate::summary::{EmulatedDatagrams, EmulatedFlow};
use retx_emulate::{Backend, EmulationResult};
use retx_record::reason::SegmentFate;
use retx_scenario::{Scenario, Source, parse};
use retx_sim::{Control, Options, Outcome};

fn scenario(text: &str) -> Scenario {
    parse(&Source { name: "test", text, overrides: &[] }).expect("a sound scenario")
}

/// Emulates; `None`, with the reason on standard error, if the machine does not allow it.
fn emulated(text: &str) -> Option<EmulationResult> {
    let record = Options { record_drops: true, record_segments: true, ..Options::default() };
    allowed(emulate_alone(&scenario(text), &settings(record, Backend::Tun)))
}

fn simulated(text: &str) -> Outcome {
    retx_sim::run(&scenario(text), &Options::default(), &Control::default()).expect("it runs")
}

fn tcp(emulated: &EmulationResult, index: usize) -> &EmulatedFlow {
    let flow = emulated.summary.flows[index].tcp().expect("it is over TCP");
    assert_eq!(flow.fault, None);
    flow
}

fn udp(emulated: &EmulationResult, index: usize) -> &EmulatedDatagrams {
    let flow = emulated.summary.flows[index].udp().expect("it is of UDP");
    assert_eq!(flow.fault, None);
    flow
}

/// Two hosts, 10 Mbit/s and 10 ms each way.
const LINK: &str = r#"
    duration = "8 s"
    [[link]]
    name = "wire"
    ends = ["a", "b"]
    rate = "10 Mbit/s"
    delay = "10 ms"
    overhead = 0
"#;

/// Sources send the packets of a simulation with the same seed.
#[test]
fn sources_send_what_they_would_in_a_simulation() {
    let sources = [
        ("udp = { packet = 500, rate = \"400 kbit/s\", packets = 60 }", "\"cbr\""),
        ("udp = { packet = 500, rate = \"400 kbit/s\", duration = \"700 ms\" }", "\"poisson\""),
        (
            "udp = { packet = { law = \"exponential\", mean = 400 }, rate = \"800 kbit/s\", \
             bytes = 20_000 }",
            "{ kind = \"on_off\", on = \"50 ms\", off = { law = \"exponential\", \
             mean = \"50 ms\" } }",
        ),
        ("udp = { packet = 1500, packets = 300 }", "\"bulk\""),
    ];
    let mut text = LINK.replace(
        "overhead = 0",
        "overhead = 0\nforward.channel = { model = \
        \"script\", drop = [3, 40, 41] }\nqueue = { discipline = \"droptail\", packets = 500 }",
    );
    for (number, (udp, app)) in sources.into_iter().enumerate() {
        text += &format!(
            "[[flow]]\nname = \"f{number}\"\nfrom = \"a\"\nto = \"b\"\nstart = \"{} ms\"\n{udp}\n\
             app = {app}\n",
            10 * number
        );
    }
    let Some(emulated) = emulated(&text) else { return };
    let simulated = simulated(&text);
    let mut lost = 0;
    for (number, expected) in simulated.datagrams.iter().enumerate() {
        let flow = &udp(&emulated, number).summary;
        assert_eq!(flow.frames_sent, expected.frames_sent, "{number}");
        let counts = flow.datagrams;
        assert_eq!(counts.sent, counts.delivered + counts.lost);
        lost += counts.lost;
        // No packet is early, and the last one is on time, except for the lateness of the machine.
        let [took, should] = [flow, expected].map(|flow| flow.response_time_s.expect("it ends"));
        assert!((took - should).abs() < 0.1, "{number}: {took} s, {should} s");
        let [fastest, least] = [flow, expected].map(|flow| flow.delay.min_s.expect("some arrive"));
        assert!((fastest - least).abs() < 0.005, "{number}: {fastest} s, {least} s");
    }
    assert_eq!(lost, 3);
    let drops = emulated.outcome.tables.drops.as_ref().expect("they were asked for");
    assert_eq!(drops.rows().len(), 3);
    assert!(drops.rows().iter().all(|drop| drop.packet_number.is_some()));
}

/// A source that keeps its first hop full has at most its backlog there, including packets in
/// propagation, and loses nothing.
#[test]
fn a_saturating_source_fills_its_first_hop_and_no_more() {
    let text = LINK.replace("8 s", "1500 ms")
        + r#"
    [[flow]]
    name = "f"
    from = "a"
    to = "b"
    udp = { packet = 1250, backlog = 100 }
    app = "bulk"
    "#;
    let Some(emulated) = emulated(&text) else { return };
    let simulated = simulated(&text);
    let flow = &udp(&emulated, 0).summary;
    assert_eq!(flow.datagrams.lost, 0);
    // A packet each millisecond: ten in propagation, one in transmission, and the others wait;
    // their number bounds how late the machine may be before the link runs idle.
    let [link, expected] = [&emulated.summary.links[0], &simulated.links[0]];
    assert_eq!(expected.queue_max_packets, 99);
    assert!(link.queue_max_packets <= 99, "{}", link.queue_max_packets);
    let [busy, always] =
        [link, expected].map(|link| link.utilisation.expect("it lasted longer than no time"));
    assert!(busy > 0.95 * always && busy < 1.005 * always, "{busy} {always}");
}

/// Over a queue shorter than the backlog, dropped packets are resent a millisecond later, as in a
/// simulation: the link is saturated, and the source does not spin.
#[test]
fn what_the_first_hop_turns_away_waits() {
    let text = LINK.replace("8 s", "1 s").replace(
        "overhead = 0",
        "overhead = 0\nqueue = { discipline = \"droptail\", packets = 100 }",
    ) + r#"
    [[flow]]
    name = "f"
    from = "a"
    to = "b"
    udp = { packet = 1250, backlog = 150 }
    app = "bulk"
    "#;
    let Some(emulated) = emulated(&text) else { return };
    let simulated = simulated(&text);
    let [link, expected] = [&emulated.summary.links[0], &simulated.links[0]];
    assert!(expected.drops.queue > 100, "{}", expected.drops.queue);
    // One each millisecond, plus the packets that a late machine sends before it learns of the
    // first drop, at most the backlog.
    let most = expected.drops.queue + 150;
    assert!((1..=most).contains(&link.drops.queue), "{}", link.drops.queue);
    let least = expected.utilisation.map(|share| 0.95 * share);
    assert!(link.utilisation > least, "{link:?}");
}

/// Requests and responses have the sizes of a simulation; each takes at least one round trip.
#[test]
fn exchanges_are_those_of_a_simulation() {
    for (connection, round_trips) in [("one", 1), ("each", 2)] {
        let text = format!(
            "{LINK}[[flow]]\nname = \"web\"\nfrom = \"a\"\nto = \"b\"\ntcp = \"linux\"\n\
             app = {{ kind = \"request_response\", request = {{ law = \"uniform\", min = 100, \
             max = 900 }}, response = {{ law = \"exponential\", mean = 3000 }}, think = \"5 ms\", \
             exchanges = 12, connection = \"{connection}\" }}\n"
        );
        let Some(emulated) = emulated(&text) else { return };
        let record = Options { record_episodes: true, ..Options::default() };
        let simulated = retx_sim::run(&scenario(&text), &record, &Control::default());
        let simulated = simulated.expect("it runs");
        let rows = |outcome: &Outcome| {
            let table = outcome.tables.exchanges.as_ref().expect("there are some");
            let rows = table.rows().iter();
            rows.map(|row| (row.number, row.request_bytes, row.response_bytes)).collect::<Vec<_>>()
        };
        assert_eq!(rows(&emulated.outcome), rows(&simulated), "{connection}");
        let flow = &tcp(&emulated, 0).summary;
        let expected = &simulated.flows[0];
        assert_eq!(flow.bytes_delivered, expected.bytes_delivered);
        assert_eq!(flow.exchanges.count, Some(12));
        let [least, simulated] =
            [flow.exchanges.times, expected.exchanges.times].map(|times| times.min_s);
        let (least, simulated) = (least.expect("12"), simulated.expect("12"));
        // The first of a connection waits for its handshake.
        let floor = 0.02 * f64::from(round_trips);
        assert!(least >= floor && least < simulated + 0.01, "{connection}: {least} {simulated}");
        let [last, simulated] = [flow, expected].map(|flow| flow.finish_s.expect("it ends"));
        // Neither waits for a close, which would take 40 ms of each connection.
        assert!((last - simulated).abs() < 0.2, "{connection}: {last} {simulated}");
        // Between two requests there is nothing to send.
        let idle = flow.idle;
        assert!(idle.application_s > 0.0 && idle.rto_s + idle.window_s < 0.2, "{idle:?}");
    }
}

/// A wired and a lossy hop, with a relay at the node between them.
fn over_a_relay(relay: &str) -> String {
    format!(
        r#"
        duration = "20 s"
        [[link]]
        name = "wire"
        ends = ["server", "base"]
        rate = "10 Mbit/s"
        delay = "20 ms"
        [[link]]
        name = "air"
        ends = ["base", "mobile"]
        rate = "5 Mbit/s"
        delay = "2 ms"
        forward.channel = {{ model = "periodic", every = 20 }}
        [tcp.plain]
        like = "linux_reno"
        sack = false
        advertised_window = "12 mss"
        [[flow]]
        name = "f"
        from = "server"
        to = "mobile"
        tcp = "plain"
        app = {{ kind = "transfer", bytes = 400_000 }}
        {relay}
        "#
    )
}

/// The kernel at the other end never learns of losses that a snoop agent repairs; the transfer
/// takes at least as long as the losses require.
#[test]
fn a_snoop_agent_repairs_for_the_kernel() {
    let snoop = r#"
        [[relay]]
        kind = "snoop"
        name = "agent"
        node = "base"
        link = "air"
        min_timeout = "20 ms"
    "#;
    let Some(plain) = emulated(&over_a_relay("")) else { return };
    let snooped = emulated(&over_a_relay(snoop)).expect("as before");
    let [plain_flow, flow] = [&plain, &snooped].map(|it| &tcp(it, 0).summary);
    for flow in [plain_flow, flow] {
        assert_eq!(flow.bytes_delivered, 400_000);
    }
    let relay = &snooped.summary.relays[0];
    let repeated = relay.retransmissions_by_acks + relay.retransmissions_by_timer;
    // 277 segments, of which one in twenty is lost.
    assert!(relay.segments_cached >= 270 && repeated >= 10, "{relay:?}");
    assert!(relay.acks_suppressed > 0, "{relay:?}");
    assert!(
        2 * flow.segments_retransmitted < plain_flow.segments_retransmitted,
        "{} {}",
        flow.segments_retransmitted,
        plain_flow.segments_retransmitted
    );
    assert!(flow.response_time_s < plain_flow.response_time_s);
    assert_eq!(plain_flow.retransmissions_unnecessary, 0);
    let acks = snooped.outcome.tables.acks.as_ref().expect("they were asked for");
    let suppressed = acks.rows().filter(|(_, fate)| *fate == SegmentFate::Suppressed).count();
    assert_eq!(suppressed as u64, relay.acks_suppressed);
}

/// The relay sets the mark, although the kernel does not evaluate it.
#[test]
fn losses_are_marked_for_whoever_reads_the_mark() {
    let eln = r#"
        [[relay]]
        kind = "eln"
        name = "teller"
        node = "base"
        link = "air"
    "#;
    let Some(emulated) = emulated(&over_a_relay(eln)) else { return };
    assert_eq!(tcp(&emulated, 0).summary.bytes_delivered, 400_000);
    assert!(emulated.summary.relays[0].acks_marked >= 10, "{:?}", emulated.summary.relays);
}

/// A proxy is a program between two kernel connections: it never holds more than its buffer, and
/// forwards everything, whichever end opens.
#[test]
fn a_proxy_splits_the_kernels_connection() {
    let split = r#"
        [[relay]]
        kind = "split"
        name = "proxy"
        node = "base"
        buffer = 20_000
    "#;
    let text = over_a_relay(split).replace(
        "kind = \"transfer\", bytes = 400_000",
        "kind = \"ftp\", files = [150_000, 250_000], pause = \"10 ms\"",
    );
    for opener in ["from", "to"] {
        let text = text.replace("tcp =", &format!("initiator = \"{opener}\"\ntcp ="));
        let Some(emulated) = emulated(&text) else { return };
        let both = [tcp(&emulated, 0), tcp(&emulated, 1)];
        for flow in both {
            let delivered = flow.summary.bytes_delivered;
            assert_eq!((delivered, flow.kernel.connections), (400_000, 2), "{opener}");
            assert!(flow.is_split);
        }
        let [whole, second] = both.map(|flow| &flow.summary);
        assert_eq!((whole.name.as_str(), second.name.as_str()), ("f", "f@proxy"));
        // Losses affect only the second connection.
        assert_eq!(whole.segments_retransmitted, 0);
        assert!(second.segments_retransmitted >= 10, "{}", second.segments_retransmitted);
        let relay = &emulated.summary.relays[0];
        assert_eq!((relay.bytes_relayed, relay.buffer_end_bytes), (400_000, 0));
        assert!((10_000..=20_000).contains(&relay.buffer_max_bytes), "{relay:?}");
        assert!(relay.buffer_mean_bytes > Some(0.0));
        assert_eq!(whole.finish_s, second.finish_s);
        assert!(whole.start_s <= second.start_s && whole.finish_s.is_some());
    }
}

/// Packets of a station that keeps its queue full pass a cell as in a simulation. A hundred of them
/// last for as long as a machine may be late.
#[test]
fn a_saturated_cell_carries_what_it_does_in_a_simulation() {
    let text = r#"
        duration = "2 s"
        [[wlan]]
        name = "cell"
        stations = ["a", "b"]
        rate = "11 Mbit/s"
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        udp = { packet = 1500, backlog = 100 }
        app = "bulk"
    "#;
    let Some(emulated) = emulated(text) else { return };
    let simulated = simulated(text);
    let [here, there] =
        [udp(&emulated, 0).summary.goodput_bit_s, simulated.datagrams[0].goodput_bit_s]
            .map(|goodput| goodput.expect("it lasted longer than no time"));
    assert!((here / there - 1.0).abs() < 0.03, "{here} {there}");
}
