//! Packets that enter the engine from outside, not from simulated hosts, pass the same links and
//! relays, and leave in order of time.

use retx_scenario::{Source, parse};
use retx_sim::engine::{Engine, ExternalEvent, ExternalPacket};
use retx_sim::plan::{Plan, Side};
use retx_sim::{Options, Outcome, Transmission, build};
use retx_units::{SeqNr, Time};
use retx_wire::{Ecn, Flags, Segment};

fn plan(link: &str) -> Plan {
    let text = format!(
        r#"
        duration = "10 s"
        [[link]]
        name = "wire"
        ends = ["a", "b"]
        {link}
        [[flow]]
        name = "f"
        from = "a"
        to = "b"
        tcp = "reno"
        app = {{ kind = "bulk" }}
        "#
    );
    plan_of(&text)
}

fn plan_of(text: &str) -> Plan {
    build::plan_from_scenario(
        &parse(&Source { name: "test", text, overrides: &[] }).expect("a sound scenario"),
    )
}

fn engine<'p>(plan: &'p Plan, options: &Options) -> Engine<'p> {
    Engine::for_external_packets(plan, options).expect("a small plan")
}

/// All events up to a time.
fn advance(engine: &mut Engine, until: Time) -> Vec<ExternalEvent> {
    std::iter::from_fn(|| engine.advance(until)).collect()
}

fn arriving(segment: &Segment, bytes: u32, flow: u32) -> ExternalPacket<'_> {
    ExternalPacket {
        route: 0,
        flow,
        destination: Side::Receiver,
        segment,
        bytes,
        ecn: Ecn::Ect0,
        position: 1,
        copy_number: 0,
        connection: 1,
        transmission: Transmission::First,
        table_row: None,
    }
}

fn at_ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// Three packets arrive at once, and each takes 10 ms (1250 bytes at 1 Mbit/s): the second waits,
/// and the third finds the queue full.
#[test]
fn a_pipe_keeps_its_rate_delay_and_queue_for_packets_from_outside() {
    let plan = plan(
        r#"rate = "1 Mbit/s"
        delay = "20 ms"
        overhead = 0
        queue = { discipline = "droptail", packets = 1 }"#,
    );
    let options = Options { record_drops: true, ..Options::default() };
    let mut engine = engine(&plan, &options);
    let segment = Segment::default();
    let mut ids = Vec::new();
    let mut left = Vec::new();
    // The third packet belongs to no flow of the plan.
    for flow in [0, 0, 1] {
        ids.push(engine.enter_external(at_ms(1), &arriving(&segment, 1250, flow)));
        left.extend(advance(&mut engine, at_ms(1)));
    }
    assert!(matches!(left[..], [ExternalEvent::Dropped { id, .. }] if id == ids[2]), "{left:?}");
    assert_eq!(engine.next_time(), at_ms(31));
    assert_eq!(engine.advance(at_ms(30)), None);
    assert_eq!(engine.now(), at_ms(30));
    let delivered = |index: usize, ms| ExternalEvent::Delivered {
        id: ids[index],
        at: at_ms(ms),
        ecn: Ecn::Ect0,
        duplicate: false,
        loss_notice: false,
    };
    assert_eq!(engine.advance(at_ms(60)), Some(delivered(0, 31)));
    assert_eq!(engine.advance(at_ms(60)), Some(delivered(1, 41)));
    assert_eq!(engine.advance(at_ms(60)), None);
    assert_eq!(engine.now(), at_ms(60));
    engine.finish().expect("packets are conserved");
    let outcome = Outcome::from_engine(&plan, &options, engine);
    assert_eq!(outcome.links[0].packets_in, 3);
    assert_eq!(outcome.links[0].packets_delivered, 2);
    assert_eq!(outcome.links[0].drops.queue, 1);
    let drops = outcome.tables.drops.expect("it was asked for");
    assert_eq!(drops.rows().iter().map(|drop| drop.flow).collect::<Vec<_>>(), [1]);
}

#[test]
fn copies_are_told_before_they_arrive() {
    let plan = plan(
        r#"delay = "1 ms"
        forward.channel = { model = "duplicate", p = 1.0 }"#,
    );
    let mut engine = engine(&plan, &Options::default());
    let segment = Segment::default();
    let id = engine.enter_external(Time::ZERO, &arriving(&segment, 100, 0));
    let left = advance(&mut engine, at_ms(100));
    let [ExternalEvent::Copied { from, to }, rest @ ..] = &left[..] else {
        panic!("{left:?}");
    };
    assert_eq!(*from, id);
    let mut arrived: Vec<u32> = rest
        .iter()
        .map(|left| match left {
            ExternalEvent::Delivered { id, .. } => *id,
            other => panic!("{other:?}"),
        })
        .collect();
    arrived.sort_unstable();
    let mut both = vec![id, *to];
    both.sort_unstable();
    assert_eq!(arrived, both);
    engine.finish().expect("packets are conserved");
}

#[test]
fn the_run_ends_for_packets_from_outside_too() {
    let plan = plan(r#"delay = "1 ms""#);
    let mut engine = engine(&plan, &Options::default());
    assert_eq!(engine.advance(at_ms(9_999)), None);
    assert!(!engine.is_over());
    assert_eq!(engine.advance(at_ms(20_000)), None);
    assert!(engine.is_over());
}

/// A snoop agent reports the copy that it keeps before it forwards the original packet; a dropped
/// original does not count as lost as long as the copy exists.
#[test]
fn a_relay_keeps_a_copy_and_gives_it_up() {
    let plan = plan_of(
        r#"
        duration = "10 s"
        [[link]]
        name = "wire"
        ends = ["a", "b"]
        delay = "1 ms"
        [[link]]
        name = "air"
        ends = ["b", "c"]
        delay = "1 ms"
        forward.channel = { model = "script", drop = [1] }
        [[relay]]
        kind = "snoop"
        name = "agent"
        node = "b"
        link = "air"
        [[flow]]
        name = "f"
        from = "a"
        to = "c"
        tcp = "reno"
        app = "bulk"
        "#,
    );
    let mut engine = engine(&plan, &Options::default());
    let mut pass = |seq: u32, payload_bytes: u32, flags: Flags, ms: u64| {
        let segment = Segment { seq: SeqNr(seq), payload_bytes, flags, ..Segment::default() };
        let position = u64::from(seq - 100);
        let packet = ExternalPacket { position, ..arriving(&segment, 40 + payload_bytes, 0) };
        let id = engine.enter_external(at_ms(ms), &packet);
        (id, advance(&mut engine, at_ms(ms + 4)))
    };
    let (_, left) = pass(100, 0, Flags::SYN, 0);
    assert!(matches!(left[..], [ExternalEvent::Delivered { duplicate: false, .. }]), "{left:?}");
    let (data, left) = pass(101, 1000, Flags::ACK, 5);
    let [ExternalEvent::Copied { from, to }, dropped] = left[..] else {
        panic!("{left:?}");
    };
    let ExternalEvent::Dropped { id, lost, in_first_hop, .. } = dropped else {
        panic!("{left:?}");
    };
    assert_eq!((from, id, lost, in_first_hop), (data, data, false, false));
    // A reset ends the connection, so the agent discards its copy.
    let (_, left) = pass(1101, 0, Flags::RST, 10);
    let given_up =
        left.iter().any(|it| matches!(it, ExternalEvent::GivenUp { id, .. } if *id == to));
    assert!(given_up, "{left:?}");
    engine.finish().expect("packets are conserved");
}

/// For a source that keeps its first hop full, the engine reports which packets have passed this
/// hop and which its queue dropped.
#[test]
fn the_first_hop_of_a_source_that_fills_it_is_told_of() {
    let plan = plan_of(
        r#"
        duration = "10 s"
        [[link]]
        name = "first"
        ends = ["a", "b"]
        rate = "1 Mbit/s"
        overhead = 0
        queue = { discipline = "droptail", packets = 1 }
        [[link]]
        name = "second"
        ends = ["b", "c"]
        delay = "5 ms"
        [[flow]]
        name = "u"
        from = "a"
        to = "c"
        udp = { packet = 1250, backlog = 3 }
        app = "bulk"
        "#,
    );
    let options = Options { record_drops: true, ..Options::default() };
    let mut engine = engine(&plan, &options);
    let segment = Segment { payload_bytes: 1222, ..Segment::default() };
    let mut left = Vec::new();
    for number in 1..=3 {
        let packet = ExternalPacket {
            route: plan.datagrams[0].route,
            position: number,
            connection: 0,
            ..arriving(&segment, 1250, 0)
        };
        engine.enter_external(Time::ZERO, &packet);
        left.extend(advance(&mut engine, Time::ZERO));
    }
    left.extend(advance(&mut engine, at_ms(30)));
    let departures: Vec<String> = left
        .iter()
        .map(|left| match left {
            ExternalEvent::Dropped { id, lost: true, in_first_hop: true, .. } => {
                format!("{id} turned away")
            }
            ExternalEvent::PassedFirstHop { id } => format!("{id} through"),
            ExternalEvent::Delivered { id, at, .. } => {
                format!("{id} at {} ms", at.as_nanos() / 1_000_000)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    // Each packet takes 10 ms on the first link and 5 ms on the second.
    let expected =
        ["2 turned away", "0 through", "0 at 15 ms", "1 through", "1 at 25 ms"].map(str::to_owned);
    assert_eq!(departures, expected);
    engine.finish().expect("packets are conserved");
    // The drop is recorded under the packet's number, as for simulated UDP flows.
    let drops =
        Outcome::from_engine(&plan, &options, engine).tables.drops.expect("they were asked for");
    assert_eq!(drops.rows()[0].packet_number, Some(3));
}

/// A run never lasts beyond its planned end, even when it is told of a later time; packets still in
/// flight then stay in the network.
#[test]
fn time_stands_still_when_the_run_is_over() {
    let plan = plan(r#"delay = "20 ms""#);
    let mut engine = engine(&plan, &Options::default());
    let segment = Segment::default();
    assert_eq!(engine.advance(at_ms(9_990)), None);
    engine.enter_external(at_ms(9_990), &arriving(&segment, 100, 0));
    assert_eq!(engine.advance(at_ms(10_400)), None);
    assert!(engine.is_over());
    assert_eq!(engine.now(), at_ms(10_000));
    engine.finish().expect("packets are conserved");
}
