//! Captures at the receiver's end, whose IP identification counts the sender's packets.

use crate::script::Script;
use retx_diagnose::answer::Kind;

/// A connection after its handshake, at 40 ms. A round trip to the sender takes 40 ms.
fn open(timestamps: bool) -> Numbered {
    let mut script = Script { timestamps, ..Script::default() };
    script.packet(0, false, (0, 0), (0, 2));
    script.packet(40, true, (0, 1), (0, 18));
    script.packet(40, false, (1, 1), (0, 16));
    Numbered { script }
}

/// A script that gives each data packet a number.
struct Numbered {
    script: Script,
}

impl Numbered {
    fn data(&mut self, ms: u64, number: u32, id: u16) {
        self.script.data(ms, number);
        let frame = self.script.frames.last_mut().expect("it was just added");
        frame.data[18..20].copy_from_slice(&id.to_be_bytes());
    }
}

/// Segment 1 is overtaken for more than a round trip, and is the eighth packet of its sender.
#[test]
fn an_early_packet_whose_number_was_skipped_is_late() {
    let mut it = open(false);
    it.data(80, 0, 100);
    it.data(81, 2, 102);
    it.data(82, 3, 103);
    it.script.ack(82, 1);
    (4..7).for_each(|number| it.data(122, number, 100 + number as u16));
    it.data(122, 1, 101);
    it.script.ack(122, 7);
    let flow = it.script.flow();
    assert!(flow.retransmissions.is_empty(), "{:?}", flow.retransmissions);
    assert_eq!(flow.reordered, 1);
}

/// The only segment of an answer is lost before the capture, and so are three retransmissions of it
/// by the timer. The numbers of the four packets do not stand for four segments.
#[test]
fn numbers_of_lost_retransmissions_stand_for_no_data() {
    let mut it = open(true);
    let (mut ms, mut id) = (80, 100);
    for number in 0..24 {
        it.data(ms, number, id);
        it.script.ack(ms, number + 1);
        (ms, id) = (ms + 100, id + 1);
    }
    // The RTO is a second: its timer expires after 1, 3, 7 and 15 seconds.
    it.data(ms + 15_000, 24, id + 4);
    it.script.ack(ms + 15_000, 25);
    for number in 25..30 {
        ms += 100;
        it.data(ms + 15_000, number, id + number as u16 - 20);
        it.script.ack(ms + 15_000, number + 1);
    }
    let found = it.script.flow().retransmissions;
    let kinds: Vec<_> = found.iter().map(|it| (it.seq, it.kind)).collect();
    assert_eq!(kinds, [(24_001, Kind::Timeout)]);
}
