//! Tests that the cost of an acknowledgment does not grow with the window. The cost is the number
//! of elements visited or moved, counted over a whole window. Binary searches are not counted, nor
//! are parts without state for each segment, such as a windowed filter of three samples or a
//! detection without a scoreboard.

use super::Connection;
use crate::{Config, Size, congestion_control, loss_cause, loss_detection, presets, work};
use retx_units::{Duration, SeqNr, Time};
use retx_wire::{Flags, Options, SackBlock, SackBlocks, Segment};

const SMSS: u64 = 1_000;

/// Sender with a window of `segments` segments in flight, and as many to send after them.
struct Rig {
    sender: Connection,
    now: Time,
    acks: u64,
}

impl Rig {
    /// Creates the sender; each of `parts` names a field of the configuration and its value.
    fn new(parts: &[(&str, &str)], segments: u64) -> Self {
        let mut base = serde_json::to_value((presets::find("sack").expect("a preset").config)())
            .expect("a configuration");
        for (field, choice) in parts {
            assert!(base.get(field).is_some(), "{field}");
            base[field] = (*choice).into();
        }
        let config = Config {
            mss: SMSS as u32,
            initial_window: Size::Mss(segments).into(),
            send_buffer: Size::Bytes(1 << 30),
            ..serde_json::from_value(base).expect("names")
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
        // Some congestion controls, such as Linux's Hybla, set an initial window of their own.
        sender.sender.window.cwnd = segments * SMSS;
        assert_eq!(sender.write(now, 2 * segments * SMSS), 2 * segments * SMSS);
        let mut rig = Self { sender, now, acks: 0 };
        rig.ack(0, &[]);
        // A paced sender, too, sends its whole window before the first segment is acknowledged.
        while rig.sender.flight_size() < segments * SMSS {
            rig.expire();
        }
        rig.now = rig.now.max(now + Duration::from_millis(100));
        rig
    }

    /// Fires the next timer.
    fn expire(&mut self) {
        self.now = self.sender.poll_timeout();
        self.sender.handle_timeout(self.now);
        while self.sender.poll_transmit(self.now).is_some() {}
        while self.sender.poll_event().is_some() {}
    }

    /// Acknowledges the first `segments` segments, with `blocks` (in segments) as SACK blocks, and
    /// sends what this allows.
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

/// Loses every second segment; their retransmissions arrive in the second round.
fn every_second_lost(rig: &mut Rig, segments: u64) {
    let block = |segment: u64| (segment - 1, segment);
    for segment in (6..=segments).step_by(2) {
        rig.ack(0, &[block(segment), block(segment - 2), block(segment - 4)]);
    }
    (2..=segments).step_by(2).for_each(|segment| rig.ack(segment, &[]));
}

/// Swaps each pair of neighbours along the window.
fn reordered(rig: &mut Rig, segments: u64) {
    for segment in (2..=segments).step_by(2) {
        rig.ack(segment - 2, &[(segment - 1, segment)]);
        rig.ack(segment, &[]);
    }
}

/// Delivers the second half of the window before the first, its last segment first.
fn backwards(rig: &mut Rig, segments: u64) {
    let half = segments / 2;
    (half..segments).rev().for_each(|segment| rig.ack(0, &[(segment, segments)]));
    (1..half).for_each(|segment| rig.ack(segment, &[]));
    rig.ack(segments, &[]);
}

/// Lets the timer expire twice in a row; then all segments arrive in order, one at a time.
fn timed_out(rig: &mut Rig, segments: u64) {
    rig.expire();
    rig.expire();
    in_order(rig, segments);
}

type Pattern = (&'static str, fn(&mut Rig, u64));

const PATTERNS: [Pattern; 6] = [
    ("in order", in_order),
    ("first lost", first_lost),
    ("every second lost", every_second_lost),
    ("reordered", reordered),
    ("backwards", backwards),
    ("timed out", timed_out),
];

/// Asserts that an acknowledgment costs the same with a small and a large window, if the
/// configuration has these `parts`.
fn check(parts: &[(&str, &str)]) {
    for (name, pattern) in PATTERNS {
        let [small, large] = [100, 10_000].map(|segments| {
            let mut rig = Rig::new(parts, segments);
            rig.acks = 0;
            work::take();
            pattern(&mut rig, segments);
            work::take() as f64 / rig.acks as f64
        });
        assert!(large <= 2.0 * small, "{parts:?}, {name}: {small:.2}, then {large:.2}");
    }
}

#[test]
fn of_every_loss_detection() {
    for detection in loss_detection::Config::NAMES {
        check(&[("loss_detection", detection)]);
    }
}

/// Each control is tested with several loss detections, which retransmit different segments and
/// thus change the order of transmission times.
#[test]
fn of_every_congestion_control() {
    for congestion_control in congestion_control::Config::BUILT_IN {
        for detection in ["newreno", "sack", "rack"] {
            let congestion_control = ("congestion_control", *congestion_control);
            check(&[congestion_control, ("loss_detection", detection)]);
        }
    }
}

#[test]
fn of_every_loss_cause() {
    for loss_cause in loss_cause::Config::BUILT_IN {
        check(&[("loss_cause", loss_cause)]);
    }
}

#[test]
fn of_every_validation_of_the_window() {
    for validation in ["none", "rfc7661", "linux"] {
        check(&[("cwnd_validation", validation)]);
    }
}
