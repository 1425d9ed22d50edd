//! Relays that inspect TCP segments, tested segment by segment.

use retx_link::relay::eln::Side;
use retx_link::relay::{Config, CopyAction, PassingSegment, Relay, Verdict, snoop};
use retx_units::{Duration, SeqNr, Time};
use retx_wire::{Flags, SackBlock, Segment};

const BYTES: u32 = 1000;
/// Sequence numbers wrap early.
const ORIGIN: SeqNr = SeqNr(u32::MAX - 2500);

/// A relay and its caller, which identifies each copy by the number of its segment.
struct Rig {
    relay: Relay,
    side: Side,
    now: Time,
    actions: Vec<CopyAction>,
}

fn position(number: u32) -> u32 {
    1 + number * BYTES
}

impl Rig {
    fn new(config: &Config, side: Side) -> Self {
        let mut rig =
            Self { relay: Relay::new(config), side, now: Time::ZERO, actions: Vec::new() };
        let syn = Segment { seq: ORIGIN, flags: Flags::SYN, ..Segment::default() };
        assert_eq!(rig.pass(true, &syn), Verdict::Pass);
        rig
    }

    fn snoop(config: snoop::Config) -> Self {
        Self::new(&Config::Snoop(config), Side::Toward)
    }

    fn pass(&mut self, with_data: bool, segment: &Segment) -> Verdict {
        let passing = PassingSegment { flow: 3, side: self.side, with_data, segment };
        let verdict = self.relay.handle_packet(self.now, &passing);
        if verdict == Verdict::Keep {
            self.relay.cache_copy((segment.seq.distance_from(ORIGIN) as u32 - 1) / BYTES);
        }
        self.actions.extend(std::iter::from_fn(|| self.relay.poll_action()));
        verdict
    }

    fn data(&mut self, number: u32) -> Verdict {
        let segment = segment(number);
        self.pass(true, &segment)
    }

    /// Passes an acknowledgment whose next expected segment is `number`.
    fn ack(&mut self, number: u32) -> Verdict {
        self.pass(false, &ack(number))
    }

    fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
        while self.relay.poll_timeout() <= self.now {
            self.relay.handle_timeout(self.now);
        }
        self.actions.extend(std::iter::from_fn(|| self.relay.poll_action()));
    }

    fn actions(&mut self) -> Vec<CopyAction> {
        std::mem::take(&mut self.actions)
    }
}

fn segment(number: u32) -> Segment {
    Segment {
        seq: ORIGIN.add(position(number)),
        flags: Flags::ACK,
        payload_bytes: BYTES,
        ..Segment::default()
    }
}

fn ack(number: u32) -> Segment {
    let ack = ORIGIN.add(position(number));
    Segment { ack, flags: Flags::ACK, window: 100, ..Segment::default() }
}

use CopyAction::{Forget, Send};
use Verdict::{Absorb, Keep, Mark, Pass};

/// Segment 0 is lost, and 1 … 5 arrive. The first duplicate ACK passes, the second causes the copy
/// to be sent, and the three others are expected and absorbed.
#[test]
fn a_loss_is_repaired_and_its_duplicates_absorbed() {
    let mut rig = Rig::snoop(snoop::Config::default());
    let _ = rig.ack(0);
    for number in 0..6 {
        assert_eq!(rig.data(number), Keep);
    }
    let verdicts: Vec<Verdict> = (1..6).map(|_| rig.ack(0)).collect();
    assert_eq!(verdicts, [Pass, Absorb, Absorb, Absorb, Absorb]);
    assert_eq!(rig.actions(), [Send(0)]);
    assert_eq!(rig.ack(6), Pass);
    assert_eq!(rig.actions(), (0..6).map(Forget).collect::<Vec<_>>());
    let counters = rig.relay.counters();
    assert_eq!((counters.repeated_by_acks, counters.acks_suppressed), (1, 4));
    assert!(rig.relay.poll_timeout() > rig.now);
}

/// The copy is lost, too, which a duplicate ACK beyond the expected ones shows: a segment sent
/// after the copy has caused it.
#[test]
fn a_lost_copy_is_sent_again() {
    let mut rig = Rig::snoop(snoop::Config { retransmissions: 2, ..Default::default() });
    let _ = rig.ack(0);
    (0..4).for_each(|number| assert_eq!(rig.data(number), Keep));
    assert_eq!([rig.ack(0), rig.ack(0)], [Pass, Absorb]);
    (4..7).for_each(|number| assert_eq!(rig.data(number), Keep));
    // Duplicates so far: the third one that segments 1 … 3 cause, and then one of segments 4 … 6.
    assert_eq!([rig.ack(0), rig.ack(0)], [Absorb, Absorb]);
    assert_eq!(rig.actions(), [Send(0), Send(0)]);
    assert_eq!([rig.ack(0), rig.ack(0)], [Absorb, Absorb]);
    // No segments were sent after the second copy, so one more duplicate means that it is lost as
    // well, and a third copy is not permitted.
    assert_eq!(rig.ack(0), Pass);
    assert_eq!(rig.actions(), [Forget(0)]);
    assert_eq!(rig.ack(0), Pass);
    assert_eq!(rig.relay.counters().given_up, 1);
}

/// Segments that the sender has retransmitted itself, or that never passed the relay, are left to
/// the sender.
#[test]
fn the_senders_own_losses_are_left_to_it() {
    let mut rig = Rig::snoop(snoop::Config::default());
    let _ = rig.ack(0);
    // Segment 0 is lost before it reaches the relay.
    (1..5).for_each(|number| assert_eq!(rig.data(number), Keep));
    (0..3).for_each(|_| assert_eq!(rig.ack(0), Pass));
    assert_eq!(rig.data(0), Keep);
    (0..3).for_each(|_| assert_eq!(rig.ack(0), Pass));
    assert_eq!(rig.actions(), []);
}

#[test]
fn the_timer_repeats_what_is_awaited() {
    let mut rig = Rig::snoop(snoop::Config { retransmissions: 2, ..Default::default() });
    let _ = rig.ack(0);
    let _ = rig.data(0);
    // The first timeout is ns-2's: 0.1 s + 4 · 0.25 s.
    rig.wait(1099);
    assert_eq!(rig.actions(), []);
    rig.wait(1);
    assert_eq!(rig.actions(), [Send(0)]);
    rig.wait(1100);
    assert_eq!(rig.actions(), [Send(0)]);
    rig.wait(1100);
    assert_eq!(rig.actions(), [Forget(0)]);
    assert_eq!(rig.relay.poll_timeout(), Time::NEVER);
}

/// The timeout falls to its minimum when round trips are short.
#[test]
fn the_timer_follows_the_round_trip() {
    let mut rig = Rig::snoop(snoop::Config::default());
    for number in 0..200 {
        let _ = rig.data(number);
        rig.wait(5);
        let _ = rig.ack(number + 1);
    }
    let _ = rig.data(200);
    rig.actions();
    rig.wait(99);
    assert_eq!(rig.actions(), []);
    rig.wait(1);
    assert_eq!(rig.actions(), [Send(200)]);
}

#[test]
fn the_cache_is_bounded() {
    let mut rig = Rig::snoop(snoop::Config { packets: 3, ..Default::default() });
    let _ = rig.ack(0);
    let verdicts: Vec<Verdict> = (0..5).map(|number| rig.data(number)).collect();
    assert_eq!(verdicts, [Keep, Keep, Keep, Pass, Pass]);
    assert_eq!((rig.relay.copies_held(), rig.relay.occupancy(rig.now).bytes), (3, 3 * 1040));
    let _ = rig.ack(2);
    assert_eq!(rig.data(5), Keep);
    // A retransmission of a segment that is kept replaces the copy; a segment already acknowledged
    // is not kept.
    assert_eq!(rig.data(2), Keep);
    assert_eq!(rig.data(1), Pass);
    assert_eq!(rig.actions(), [Forget(0), Forget(1), Forget(2)]);
}

/// A drop by a queue is congestion, which the sender has to react to: the relay discards its copy,
/// and duplicate ACKs pass.
#[test]
fn a_queues_drop_is_left_to_the_sender() {
    let mut rig = Rig::snoop(snoop::Config::default());
    let _ = rig.ack(0);
    (0..4).for_each(|number| assert_eq!(rig.data(number), Keep));
    let dropped = segment(0);
    let passing =
        PassingSegment { flow: 3, side: Side::Toward, with_data: true, segment: &dropped };
    rig.relay.on_queue_drop(rig.now, &passing);
    (0..3).for_each(|_| assert_eq!(rig.ack(0), Pass));
    assert_eq!(rig.actions(), [Forget(0)]);
}

/// A reset and the SYN of the next connection clear the relay's state.
#[test]
fn connections_end() {
    let reset = Segment { flags: Flags::RST, ..Segment::default() };
    let syn = Segment { seq: SeqNr(7), flags: Flags::SYN, ..Segment::default() };
    for last in [reset, syn] {
        let mut rig = Rig::snoop(snoop::Config::default());
        let _ = rig.data(0);
        let _ = rig.data(1);
        assert_eq!(rig.pass(true, &last), Pass);
        assert_eq!(rig.actions(), [Forget(0), Forget(1)]);
        assert_eq!(rig.relay.copies_held(), 0);
    }
}

/// For data towards the mobile, the relay marks acknowledgments that show a loss between itself and
/// the mobile, and no others.
#[test]
fn notices_of_what_was_lost_behind_the_relay() {
    let mut rig = Rig::new(&Config::Eln, Side::Toward);
    let _ = rig.ack(0);
    // Segment 2 is lost before it reaches the relay.
    for number in [0, 1, 3, 4] {
        assert_eq!(rig.data(number), Pass);
    }
    assert_eq!([rig.ack(0), rig.ack(0)], [Mark, Mark]);
    assert_eq!([rig.ack(2), rig.ack(2), rig.ack(2)], [Pass, Pass, Pass]);
    let _ = rig.data(2);
    // A SACK block above segment 3 reveals its loss at once, without a duplicate ACK.
    let mut blocks = ack(3);
    let [left, right] = [4, 5].map(|number| ORIGIN.add(position(number)));
    blocks.options.push_sack(SackBlock { left, right });
    assert_eq!(rig.pass(false, &blocks), Mark);
    let dropped = segment(3);
    let passing =
        PassingSegment { flow: 3, side: Side::Toward, with_data: true, segment: &dropped };
    rig.relay.on_queue_drop(rig.now, &passing);
    assert_eq!(rig.pass(false, &blocks), Pass);
}

/// For data from the mobile, the relay marks acknowledgments of segments that never reached it
/// although later ones did, new acknowledgments as well as duplicates.
#[test]
fn notices_of_what_was_lost_before_the_relay() {
    for config in [Config::Eln, Config::Snoop(snoop::Config::default())] {
        let mut rig = Rig::new(&config, Side::From);
        let _ = rig.ack(0);
        for number in [0, 2, 4, 5] {
            assert_eq!(rig.data(number), Pass);
        }
        assert_eq!([rig.ack(1), rig.ack(1)], [Mark, Mark]);
        let _ = rig.data(1);
        assert_eq!(rig.ack(3), Mark);
        let _ = rig.data(3);
        // Segment 4 has passed the relay, so it was lost behind it.
        assert_eq!([rig.ack(4), rig.ack(4), rig.ack(6), rig.ack(6)], [Pass; 4]);
    }
}
