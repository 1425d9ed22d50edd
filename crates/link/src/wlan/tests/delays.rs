//! Channels that delay packets: the MAC acknowledges a frame on time, but the packet is delivered
//! later, and in order.

use super::rig::{Rig, config, packet};
use crate::wlan::{Config, Departure};

const BYTES: u32 = 1464;
/// Time from the start of a data frame to its arrival, in µs. `ROUND` is the time from its start to
/// the start of the next frame, without backoff.
const DATA: u64 = 1284;
const ROUND: u64 = DATA + 10 + 249 + 50;

fn delaying(models: &[&str]) -> Config {
    let mut config = config(3);
    config.channel = models.iter().map(|it| serde_json::from_str(it).expect("a model")).collect();
    (config.parameters.cw_min, config.parameters.cw_max) = (0, 0);
    config
}

/// A channel with a delay of 5 ms for the first 3 ms of the run, and none later.
const FALLING: &str = r#"{"model": "trace", "points": [
    {"at": "0 s", "delay": "5 ms"}, {"at": "3 ms", "delay": "0 s"}]}"#;

#[test]
fn a_late_packet_is_acknowledged_in_time_and_holds_up_those_behind_it() {
    let mut rig = Rig::new(&delaying(&[FALLING]), 1);
    for id in 0..6 {
        let _ = rig.send(1000, (0, 1), &packet(id, BYTES));
    }
    rig.run_to(1000 + ROUND);
    // No packet has been delivered, although the first is acknowledged and the second is in
    // service.
    assert_eq!(rig.left, []);
    let statistics = rig.cell.statistics(rig.now, 0);
    assert_eq!((statistics.delayed, statistics.in_service, statistics.queued), (1, 1, 4));
    assert!(statistics.is_conserved());
    // Packets to another station do not wait for the delayed ones.
    let _ = rig.send(5000, (0, 2), &packet(9, BYTES));
    rig.run_to(20_000);
    let came = |nth: u64| 1000 + nth * ROUND + DATA;
    // Only the first frame ends before 3 ms and is delayed by 5 ms; frames that end later wait for
    // it.
    assert!(came(1) > 3000 && came(0) < 3000);
    let first = came(0) + 5000;
    assert!(came(3) < first && first < came(4));
    let at = [first, first, first, first, came(4), came(5), came(6)];
    let id = [0, 1, 2, 3, 4, 5, 9];
    let left = at.iter().zip(id).map(|(at, id)| (*at, Departure::Delivered { id }));
    assert_eq!(rig.left, left.collect::<Vec<_>>());
    let counters = rig.cell.counters();
    assert_eq!((counters.frames_sent, counters.retries, counters.packets_delivered), (7, 0, 7));
}

#[test]
fn rates_and_channels_change_by_a_schedule() {
    use crate::wlan::Change;
    use retx_units::{Rate, Time};
    let us = |us: u64| Time::from_nanos(us * 1000);
    let model = |text: &str| serde_json::from_str(text).expect("a model");
    let mut config = delaying(&[]);
    let delayed = r#"{"model": "random_delay", "share": 1, "law": "constant", "delay": "1 ms"}"#;
    let losing = r#"{"model": "script", "drop": [0]}"#;
    config.changes = vec![
        Change { at: us(2000), rate: Some(Rate::from_bit_s(1_000_000)), channel: None },
        Change { at: us(30_000), rate: None, channel: Some(vec![model(losing)]) },
        Change { at: us(40_000), rate: None, channel: Some(vec![model(losing), model(delayed)]) },
        Change { at: us(60_000), rate: Some(Rate::from_bit_s(11_000_000)), channel: Some(vec![]) },
    ];
    let mut rig = Rig::new(&config, 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    let _ = rig.send(1000, (0, 1), &packet(1, BYTES));
    rig.run_to(29_000);
    // The first frame began before the change and keeps its rate; its ACK is sent at 1 Mbit/s.
    let slow = 192 + 12_000 + 1;
    let ack = 192 + 112 + 1;
    let second = 1000 + DATA + 10 + ack + 50 + slow;
    // A script that the next change configures again keeps its state: it loses frame 0 only once.
    let _ = rig.send(31_000, (0, 1), &packet(2, BYTES));
    rig.run_to(59_900);
    let third = 31_000 + slow + 222 + slow + 1000;
    let _ = rig.send(70_000, (0, 1), &packet(3, BYTES));
    rig.run_to(80_000);
    let at = [1000 + DATA, second, third, 70_000 + DATA];
    let left = (0..).zip(at).map(|(id, at)| (at, Departure::Delivered { id }));
    assert_eq!(rig.left, left.collect::<Vec<_>>());
}

#[test]
fn delays_of_several_models_add_up_and_answers_have_none() {
    let ms = r#"{"model": "random_delay", "share": 1, "law": "constant", "delay": "1 ms"}"#;
    let mut rig = Rig::new(&delaying(&[ms, ms]), 1);
    let _ = rig.send(1000, (0, 1), &packet(0, BYTES));
    let _ = rig.send(1000, (0, 1), &packet(1, BYTES));
    rig.run_to(20_000);
    let times: Vec<u64> = rig.left.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [1000 + DATA + 2000, 1000 + ROUND + DATA + 2000]);
}
