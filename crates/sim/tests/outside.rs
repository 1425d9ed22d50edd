//! Packets from outside pass the same stages, and what leaves comes out in order.

use retx_scenario::{Source, parse};
use retx_sim::engine::{Arriving, Engine, Left};
use retx_sim::plan::{Plan, Side};
use retx_sim::{Options, Outcome, Transmission, build};
use retx_units::Time;
use retx_wire::{Ecn, Segment};

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
    let source = Source { name: "test", text: &text, overrides: &[] };
    build::plan(&parse(&source).expect("a sound scenario"))
}

fn arriving(segment: &Segment, bytes: u32, flow: u32) -> Arriving<'_> {
    Arriving {
        route: 0,
        flow,
        to: Side::Receiver,
        segment,
        bytes,
        ecn: Ecn::Ect0,
        position: 1,
        copy: 0,
        connection: 1,
        transmission: Transmission::First,
        row: None,
    }
}

fn at_ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// 1250 bytes at 1 Mbit/s take 10 ms each; the second waits, the third finds the queue full.
#[test]
fn a_pipe_keeps_its_rate_delay_and_queue_for_packets_from_outside() {
    let plan = plan(
        r#"rate = "1 Mbit/s"
        delay = "20 ms"
        overhead = 0
        queue = { discipline = "droptail", packets = 1 }"#,
    );
    let options = Options { drops: true, ..Options::default() };
    let mut engine = Engine::for_outside(&plan, &options).expect("a small plan");
    let segment = Segment::default();
    let mut ids = Vec::new();
    let mut left = Vec::new();
    // The third is of none of the plan's flows.
    for flow in [0, 0, 1] {
        ids.push(engine.arrive(at_ms(1), &arriving(&segment, 1250, flow)));
        left.extend(std::iter::from_fn(|| engine.advance(at_ms(1))));
    }
    assert!(matches!(left[..], [Left::Dropped { id, .. }] if id == ids[2]), "{left:?}");
    assert_eq!(engine.next_time(), at_ms(31));
    assert_eq!(engine.advance(at_ms(30)), None);
    assert_eq!(engine.now(), at_ms(30));
    let delivered = |index: usize, ms| Left::Delivered {
        id: ids[index],
        at: at_ms(ms),
        ecn: Ecn::Ect0,
        again: false,
        loss_notice: false,
    };
    assert_eq!(engine.advance(at_ms(60)), Some(delivered(0, 31)));
    assert_eq!(engine.advance(at_ms(60)), Some(delivered(1, 41)));
    assert_eq!(engine.advance(at_ms(60)), None);
    assert_eq!(engine.now(), at_ms(60));
    engine.finish().expect("packets are conserved");
    let outcome = Outcome::of(&plan, &options, engine);
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
    let mut engine = Engine::for_outside(&plan, &Options::default()).expect("a small plan");
    let segment = Segment::default();
    let id = engine.arrive(Time::ZERO, &arriving(&segment, 100, 0));
    let left: Vec<Left> = std::iter::from_fn(|| engine.advance(at_ms(100))).collect();
    let [Left::Copied { from, to }, rest @ ..] = &left[..] else {
        panic!("{left:?}");
    };
    assert_eq!(*from, id);
    let mut arrived: Vec<u32> = rest
        .iter()
        .map(|left| match left {
            Left::Delivered { id, .. } => *id,
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
    let mut engine = Engine::for_outside(&plan, &Options::default()).expect("a small plan");
    assert_eq!(engine.advance(at_ms(9_999)), None);
    assert!(!engine.is_over());
    assert_eq!(engine.advance(at_ms(20_000)), None);
    assert!(engine.is_over());
}
