//! Flows written packet by packet: what is said about their retransmissions.

use crate::build::{Order, Written, enhanced, interface, pcap, section};
use crate::script::{SEGMENT, Script};
use retx_diagnose::answer::{Cause, Evidence, Kind, Necessity};
use retx_diagnose::measure::measure;

/// Ten segments at 40 ms, of which the third is lost: duplicate ACKs from 80 ms on.
fn lost_third(timestamps: bool) -> Script {
    let mut script = Script::open(timestamps);
    (0..10).for_each(|number| script.data(40, number));
    script.ack(80, 2);
    (0..3).for_each(|_| script.ack(81, 2));
    script.data(81, 2);
    (0..4).for_each(|_| script.ack(82, 2));
    script.ack(121, 10);
    script
}

#[test]
fn a_fast_retransmission() {
    for timestamps in [false, true] {
        let flow = lost_third(timestamps).flow();
        assert_eq!(flow.place, "sender");
        let [only] = flow.retransmissions.as_slice() else { panic!("{:?}", flow.retransmissions) };
        assert_eq!((only.packet, only.seq, only.kind), (18, 2_001, Kind::Fast));
        assert_eq!(only.needless, Necessity::No);
        assert_eq!(flow.episodes.len(), 1);
        assert_eq!((flow.episodes[0].kind, flow.episodes[0].trigger), ("fast_retransmit", 18));
        assert!(flow.timeouts.is_empty());
    }
}

/// Silence, then the head again after 1 s and after 3 s; the ACK follows 40 ms after the second.
#[test]
fn timeouts_are_counted() {
    let mut script = Script::open(false);
    (0..3).for_each(|number| script.data(40, number));
    script.data(1_040, 0);
    script.data(3_040, 0);
    script.ack(3_080, 1);
    script.data(3_080, 1);
    script.ack(3_120, 3);
    let flow = script.flow();
    let said: Vec<_> =
        flow.retransmissions.iter().map(|it| (it.packet, it.kind, it.number)).collect();
    let timeout = |packet, number| (packet, Kind::Timeout, Some(number));
    assert_eq!(said[..2], [timeout(7, 1), timeout(8, 2)]);
    assert_eq!(said[2].1, Kind::Timeout, "sent again after the timeout");
    let waited: Vec<f64> = flow.timeouts.iter().map(|it| it.waited_s).collect();
    assert_eq!(waited.len(), 2);
    assert!((waited[0] - 1.0).abs() < 1e-9 && (waited[1] - 2.0).abs() < 1e-9, "{waited:?}");
    assert!(flow.limited_by.timeout.unknown > 2.9, "{:?}", flow.limited_by);
}

/// The ACK comes 5 ms after the retransmission, of a round trip of 40 ms: the original arrived.
#[test]
fn an_ack_that_is_too_early() {
    let mut script = Script::open(false);
    (0..3).for_each(|number| script.data(40, number));
    script.data(1_040, 0);
    script.ack(1_045, 3);
    let flow = script.flow();
    let only = &flow.retransmissions[0];
    assert_eq!((only.kind, only.needless), (Kind::Timeout, Necessity::Yes));
    assert_eq!((only.proof.evidence, only.proof.packet), (Evidence::EarlyAck, Some(8)));
    assert_eq!(flow.episodes[0].cause, Cause::Spurious);
    assert!(flow.limited_by.timeout.spurious > 0.9, "{:?}", flow.limited_by);
}

/// Every frame twice, a microsecond apart: no retransmission, and one finding.
#[test]
fn copies_of_the_capture() {
    let mut script = lost_third(false);
    let frames = std::mem::take(&mut script.frames);
    for (index, mut frame) in frames.into_iter().enumerate() {
        // Counters of IP identification tell copies from duplicate ACKs.
        frame.data[18..20].copy_from_slice(&(index as u16 + 1).to_be_bytes());
        let mut copy = Written { data: frame.data.clone(), ..frame };
        copy.time_ns += 1_000;
        script.frames.extend([frame, copy]);
    }
    script.frames.sort_by_key(|frame| frame.time_ns);
    let answer = script.answer();
    assert_eq!(answer.flows[0].retransmissions.len(), 1);
    assert_eq!(answer.flows[0].capture_duplicates, script.frames.len() as u64 / 2);
    assert_eq!(answer.capture.findings.len(), 1, "{:?}", answer.capture.findings);
}

/// Every frame at three interfaces of different link layers, the copies up to 10 ms later, without
/// IP identifications or timestamps: no retransmission, since copies follow within an RTT of 40 ms.
#[test]
fn copies_at_three_interfaces() {
    let script = lost_third(false);
    let mut frames = Vec::new();
    for frame in &script.frames {
        let packet = &frame.data[14..];
        let cooked = [&[0, 4, 0, 1, 0, 6, 2, 2, 2, 2, 2, 2, 2, 2, 8, 0], packet].concat();
        let datas = [frame.data.clone(), cooked, packet.to_vec()];
        for (interface, data) in (0..).zip(datas) {
            let time_ns = frame.time_ns + 5_000_000 * u64::from(interface);
            frames.push(Written { time_ns, interface, original_bytes: data.len() as u32, data });
        }
    }
    frames.sort_by_key(|frame| frame.time_ns);
    let mut file = section(Order::Little);
    [1, 113, 101].iter().for_each(|link| file.extend(interface_of(*link)));
    frames.iter().for_each(|frame| file.extend(enhanced(Order::Little, frame.time_ns, frame)));
    let answer = retx_diagnose::diagnose(file.as_slice(), "script").expect("a capture");
    let flow = &answer.flows[0];
    assert_eq!(flow.retransmissions.len(), 1, "{:?}", flow.retransmissions);
    assert_eq!(flow.capture_duplicates, 2 * script.frames.len() as u64);
    let [finding] = &answer.capture.findings[..] else { panic!("{:?}", answer.capture.findings) };
    assert!(finding.contains("are each another copy of a packet, from another interface"));
    assert!(finding.contains("give a file for each place"));
}

/// Copies that arrive after hundreds of other packets are recognised at another interface.
#[test]
fn copies_after_many_packets() {
    let mut script = Script::open(true);
    (0..300).for_each(|number| script.data(40, number));
    script.ack(80, 300);
    let mut copies: Vec<Written> = script.frames.clone();
    copies
        .iter_mut()
        .for_each(|copy| (copy.interface, copy.time_ns) = (1, copy.time_ns + 1_000_000));
    let mut frames = [script.frames.clone(), copies].concat();
    frames.sort_by_key(|frame| frame.time_ns);
    let mut file = section(Order::Little);
    [1, 1].iter().for_each(|link| file.extend(interface_of(*link)));
    frames.iter().for_each(|frame| file.extend(enhanced(Order::Little, frame.time_ns, frame)));
    let answer = retx_diagnose::diagnose(file.as_slice(), "script").expect("a capture");
    assert!(answer.flows[0].retransmissions.is_empty());
    assert_eq!(answer.flows[0].capture_duplicates, script.frames.len() as u64);
}

/// An interface of this link type with times in nanoseconds.
fn interface_of(link: u16) -> Vec<u8> {
    let mut bytes = interface(Order::Little, Some(9), 0);
    bytes[8..10].copy_from_slice(&link.to_le_bytes());
    bytes
}

/// The backoff of the RTO ends at Linux's maximum of 120 s.
#[test]
fn an_rto_is_at_most_two_minutes() {
    let mut script = Script::open(false);
    script.data(40, 0);
    let mut ms = 40;
    for timeout in 0..12 {
        ms += 1_000 * 120.min(1 << timeout);
        script.data(ms, 0);
    }
    script.ack(ms + 40, 1);
    let rtos: Vec<f64> = script.flow().timeouts.iter().map(|it| it.rto_s).collect();
    assert_eq!((rtos.len(), rtos[11]), (12, 120.0), "{rtos:?}");
    assert!(rtos.is_sorted(), "{rtos:?}");
}

/// Two seconds of silence before the FIN, after the flow's life, which its last acknowledgment
/// ends.
#[test]
fn no_silence_after_the_life() {
    let mut script = Script::open(false);
    (0..3).for_each(|number| script.data(40, number));
    script.ack(80, 3);
    script.packet(2_080, true, (1 + 3 * SEGMENT, 1), (0, 17));
    let flow = script.flow();
    assert!(flow.life_s < 0.1 && flow.stalls.is_empty(), "{} {:?}", flow.life_s, flow.stalls);
}

/// Probes of a closed window, and keep-alives, repeat data, but nothing was lost.
#[test]
fn probes_are_no_retransmissions() {
    let mut script = Script::open(false);
    (0..30).for_each(|number| script.data(40, number));
    script.window = Some(0);
    script.ack(80, 30);
    script.window = None;
    script.data(300, 30);
    script.data(600, 30);
    script.ack(640, 31);
    script.packet(9_000, true, (31 * SEGMENT, 1), (1, 16));
    script.ack(9_040, 31);
    let kinds: Vec<Kind> = script.flow().retransmissions.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [Kind::WindowProbe, Kind::KeepAlive]);
    let file = pcap(Order::Little, 0xa1b2_3c4d, 1, &script.frames);
    let (_, path) = measure(file.as_slice(), "script", 1).expect("a capture");
    assert_eq!(path.expect("a path").figures.retransmissions, 0);
}

/// Acknowledged but never seen: not captured, and no retransmission.
#[test]
fn not_captured_is_not_lost() {
    let mut script = Script::open(false);
    (0..4).filter(|number| *number != 1).for_each(|number| script.data(40, number));
    script.ack(80, 4);
    let answer = script.answer();
    assert_eq!(answer.flows[0].not_captured_bytes, i64::from(SEGMENT));
    assert!(answer.flows[0].retransmissions.is_empty());
}

/// The limit is unknown if most of the data are not in the capture.
#[test]
fn without_most_data_the_limit_is_unknown() {
    let mut script = Script::open(false);
    script.data(40, 0);
    script.ack(80, 4);
    let flow = script.flow();
    assert!((flow.limited_by.unknown - flow.life_s).abs() < 1e-9, "{:?}", flow.limited_by);
    assert!(flow.certainty < 1e-9);
}

/// The shares of every flow sum to its life, whatever happens in it.
#[test]
fn shares_sum_to_the_life() {
    for script in [lost_third(false), lost_third(true), Script::open(true)] {
        let flow = script.flow();
        let limits = serde_json::to_value(flow.limited_by).expect("plain data");
        let sum: f64 = limits.as_object().expect("an object").values().map(total).sum();
        assert!((sum - flow.life_s).abs() < 1e-9, "{sum} of {}", flow.life_s);
    }
}

fn total(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or_else(|| {
        value.as_object().expect("causes").values().filter_map(serde_json::Value::as_f64).sum()
    })
}

/// Two frames of a burst the other way round in the file: put in order, and one finding.
#[test]
fn frames_in_the_wrong_order() {
    let mut script = Script::open(false);
    (0..4).for_each(|number| script.data(40 + u64::from(number), number));
    script.ack(84, 4);
    script.frames.swap(4, 5);
    let answer = script.answer();
    assert!(answer.flows[0].retransmissions.is_empty(), "{:?}", answer.flows[0]);
    assert_eq!(answer.flows[0].reordered, 0);
    assert_eq!(answer.capture.findings.len(), 1, "{:?}", answer.capture.findings);
    assert!(answer.capture.findings[0].contains("put in order"));
}

/// The SYN was captured after its answer: no retransmission.
#[test]
fn a_syn_after_its_answer() {
    let mut script = Script::open(false);
    script.frames.swap(0, 1);
    script.frames[0].time_ns = 0;
    script.frames[1].time_ns = 200_000;
    script.data(40, 0);
    script.ack(80, 1);
    assert!(script.flow().retransmissions.is_empty());
}

/// The IP identification counts the packets to everybody: gaps in pauses are no losses.
#[test]
fn a_counter_for_all_connections() {
    let mut script = Script::default();
    // At the receiver's end, where losses before the capture can be seen by the identification.
    script.packet(0, true, (0, 0), (0, 2));
    script.packet(0, false, (0, 1), (0, 18));
    script.packet(40, true, (1, 1), (0, 16));
    let mut number = 0;
    for round in 1..=20 {
        for _ in 0..10 {
            script.data(100 * round, number);
            number += 1;
        }
        script.ack(100 * round, number);
    }
    let mut id = 0_u16;
    let mut last_ns = 0;
    for frame in &mut script.frames {
        if frame.data[29] != 2 {
            // In each pause others get four packets.
            id += if frame.time_ns > last_ns { 5 } else { 1 };
            last_ns = frame.time_ns;
            frame.data[18..20].copy_from_slice(&id.to_be_bytes());
        }
    }
    assert!(script.flow().retransmissions.is_empty());
}

/// The SYN/ACK is lost and retransmitted. The answer to the first repetition passes the second one,
/// so it shows no round trip.
#[test]
fn an_answer_to_a_repeated_syn_is_no_round_trip() {
    let mut script = Script::default();
    script.packet(0, false, (0, 0), (0, 2));
    script.packet(0, true, (0, 1), (0, 18));
    script.packet(1_000, true, (0, 1), (0, 18));
    script.packet(1_030, true, (0, 1), (0, 18));
    script.packet(1_040, false, (1, 1), (0, 16));
    for number in 0..30 {
        let ms = 1_100 + 100 * u64::from(number);
        script.data(ms, number);
        script.ack(ms + 40, number + 1);
    }
    let file = pcap(Order::Little, 0xa1b2_3c4d, 1, &script.frames);
    let (_, path) = measure(file.as_slice(), "script", 1).expect("a capture");
    let path = path.expect("a path");
    let found = path.round_trip_s.value.expect("a round trip");
    assert!((found - 0.04).abs() < 0.001, "{:?}", path.round_trip_s);
}

/// The FINs of a connection are lost. Another one begins with the same ports, and its own numbers.
#[test]
fn another_connection_between_the_same_ports() {
    let mut script = lost_third(false);
    let shift = 1_000_000_000;
    script.packet(5_000, true, (shift, 0), (0, 2));
    script.packet(5_040, false, (shift, shift + 1), (0, 18));
    script.packet(5_040, true, (shift + 1, shift + 1), (0, 16));
    script.packet(5_040, true, (shift + 1, shift + 1), (SEGMENT, 16));
    script.packet(5_080, false, (shift + 1, shift + 1 + SEGMENT), (0, 16));
    let answer = script.answer();
    let sent: Vec<_> = answer.flows.iter().map(|it| (it.bytes, it.not_captured_bytes)).collect();
    assert_eq!(sent, [(10_000, 0), (1_000, 0)]);
}

/// The capture begins within a flight, whose first segments were sent before it.
#[test]
fn data_from_before_the_capture_are_not_acknowledged() {
    let mut script = lost_third(true);
    let all = std::mem::take(&mut script.frames);
    // Without the handshake and the first six segments.
    script.frames.extend(all.into_iter().skip(3 + 6));
    let flow = script.flow();
    let [only] = flow.retransmissions.as_slice() else { panic!("{:?}", flow.retransmissions) };
    assert_ne!(only.needless, Necessity::Yes, "{only:?}");
}
