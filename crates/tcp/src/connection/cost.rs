//! The cost of an acknowledgment does not grow with the window: elements visited or moved, counted
//! over a whole window. A look-up by binary search counts for nothing, and so does whoever has no
//! scoreboard.

use super::Connection;
use crate::{Config, Size, loss_detection, presets, work};
use retx_units::{Duration, SeqNr, Time};
use retx_wire::{Flags, Options, SackBlock, SackBlocks, Segment};

const SMSS: u64 = 1_000;

/// A sender with a window of so many segments in flight, and as many to send after them.
struct Rig {
    sender: Connection,
    now: Time,
    acks: u64,
}

impl Rig {
    fn new(detection: &str, segments: u64) -> Self {
        let base = (presets::find("sack").expect("a preset").config)();
        let config = Config {
            loss_detection: serde_json::from_value(detection.into()).expect("a name"),
            mss: SMSS as u32,
            initial_window: Size::Mss(segments),
            send_buffer: Size::Bytes(1 << 30),
            ..base
        };
        let mut sender = Connection::connect(&config, SeqNr(0));
        sender.poll_transmit(Time::ZERO).expect("a SYN");
        let answer = Segment {
            ack: SeqNr(1),
            window: u16::MAX,
            flags: Flags::SYN.with(Flags::ACK),
            options: Options {
                mss: Some(SMSS as u16),
                window_scale: Some(14),
                sack_permitted: true,
                ..Options::default()
            },
            ..Segment::default()
        };
        let now = Time::ZERO + Duration::from_millis(100);
        sender.handle_segment(now, &answer);
        assert_eq!(sender.write(2 * segments * SMSS), 2 * segments * SMSS);
        let mut rig = Self { sender, now, acks: 0 };
        rig.ack(0, &[]);
        assert_eq!(rig.sender.flight_size(), segments * SMSS);
        rig.now = now + Duration::from_millis(100);
        rig
    }

    /// An ACK of so many segments, with blocks of segments; what it lets go is sent.
    fn ack(&mut self, segments: u64, blocks: &[(u64, u64)]) {
        let position = |segment: u64| SeqNr((1 + segment * SMSS) as u32);
        let mut sack = SackBlocks::default();
        for (left, right) in blocks {
            sack.push(SackBlock { left: position(*left), right: position(*right) });
        }
        let segment = Segment {
            seq: SeqNr(1),
            ack: position(segments),
            window: u16::MAX,
            flags: Flags::ACK,
            options: Options { sack, ..Options::default() },
            ..Segment::default()
        };
        self.now += Duration::from_nanos(500);
        self.sender.handle_timeout(self.now);
        self.sender.handle_segment(self.now, &segment);
        while self.sender.poll_transmit(self.now).is_some() {}
        while self.sender.poll_event().is_some() {}
        self.acks += 1;
    }
}

fn in_order(rig: &mut Rig, segments: u64) {
    (1..=segments).for_each(|segment| rig.ack(segment, &[]));
}

fn first_lost(rig: &mut Rig, segments: u64) {
    (2..=segments).for_each(|segment| rig.ack(0, &[(1, segment)]));
    rig.ack(segments, &[]);
}

/// Every second one is lost, and arrives in the second round.
fn every_second_lost(rig: &mut Rig, segments: u64) {
    let block = |segment: u64| (segment - 1, segment);
    for segment in (6..=segments).step_by(2) {
        rig.ack(0, &[block(segment), block(segment - 2), block(segment - 4)]);
    }
    (2..=segments).step_by(2).for_each(|segment| rig.ack(segment, &[]));
}

/// Two neighbours change places, all along the window.
fn reordered(rig: &mut Rig, segments: u64) {
    for segment in (2..=segments).step_by(2) {
        rig.ack(segment - 2, &[(segment - 1, segment)]);
        rig.ack(segment, &[]);
    }
}

/// The second half overtakes the first, from its end on.
fn backwards(rig: &mut Rig, segments: u64) {
    let half = segments / 2;
    (half..segments).rev().for_each(|segment| rig.ack(0, &[(segment, segments)]));
    (1..half).for_each(|segment| rig.ack(segment, &[]));
    rig.ack(segments, &[]);
}

type Pattern = (&'static str, fn(&mut Rig, u64));

#[test]
fn an_ack_costs_the_same_whatever_the_window() {
    let patterns: [Pattern; 5] = [
        ("in order", in_order),
        ("first lost", first_lost),
        ("every second lost", every_second_lost),
        ("reordered", reordered),
        ("backwards", backwards),
    ];
    for detection in loss_detection::Config::NAMES {
        for (name, pattern) in patterns {
            let [small, large] = [100, 100_000].map(|segments| {
                let mut rig = Rig::new(detection, segments);
                rig.acks = 0;
                work::take();
                pattern(&mut rig, segments);
                work::take() as f64 / rig.acks as f64
            });
            assert!(large <= 2.0 * small, "{detection}, {name}: {small:.2}, then {large:.2}");
        }
    }
}
