//! Acknowledgments as evidence on whether retransmissions were needed.

use crate::build::{Header, tcp};
use crate::script::{SEGMENT, Script};
use retx_diagnose::answer::{Evidence, Necessity};

/// Words of a TCP header whose only option is one SACK block, after two bytes of padding.
const WORDS_WITH_BLOCK: u8 = 8;

/// Acknowledgment of everything before a segment, which echoes this timestamp.
fn ack_with_echo(script: &mut Script, ms: u64, number: u32, echo: u32) {
    let ack = 1 + number * SEGMENT;
    let timestamps = Some((ms as u32, echo));
    script.frame(ms, false, &tcp(Header { seq: 1, ack, payload: 0, flags: 16, timestamps }));
}

/// Acknowledgment of everything before a segment, with a SACK block of these segments.
pub fn ack_with_block(script: &mut Script, ms: u64, number: u32, block: [u32; 2]) {
    let ack = 1 + number * SEGMENT;
    let mut bytes = tcp(Header { seq: 1, ack, payload: 0, flags: 16, timestamps: None });
    bytes[12] = WORDS_WITH_BLOCK << 4;
    bytes.extend([1, 1, 5, 10]);
    block.iter().for_each(|number| bytes.extend((1 + number * SEGMENT).to_be_bytes()));
    script.frame(ms, false, &bytes);
}

fn verdicts(script: &Script) -> Vec<(u32, Necessity, Evidence)> {
    let flow = script.flow();
    let number = |seq: i64| (seq - 1) as u32 / SEGMENT;
    let one = |it: &retx_diagnose::answer::Retransmission| {
        (number(it.seq), it.needless, it.proof.evidence)
    };
    flow.retransmissions.iter().map(one).collect()
}

/// Originals arrive a second late. A delayed ACK of two of them echoes the original of the first.
#[test]
fn a_delayed_ack_with_an_older_timestamp_covers_two_originals() {
    let mut script = Script::open(true);
    (0..8).for_each(|number| script.data(40, number));
    script.data(1_040, 0);
    ack_with_echo(&mut script, 1_045, 2, 40);
    (2..4).for_each(|number| script.data(1_045, number));
    ack_with_echo(&mut script, 1_090, 4, 40);
    let older = |number| (number, Necessity::Yes, Evidence::OlderTimestamp);
    let early = (0, Necessity::Yes, Evidence::EarlyAck);
    assert_eq!(verdicts(&script), [early, older(2), older(3)]);
}

/// The retransmission of the first segment arrives, so its own timestamp is echoed: nothing shows
/// which copy of the second one arrived.
#[test]
fn a_delayed_ack_of_a_needed_retransmission_proves_nothing_about_the_next() {
    for timestamps in [false, true] {
        let mut script = Script::open(timestamps);
        (0..8).for_each(|number| script.data(40, number));
        script.data(1_040, 0);
        ack_with_echo(&mut script, 1_080, 1, 1_040);
        (1..3).for_each(|number| script.data(1_080 + u64::from(number), number));
        ack_with_echo(&mut script, 1_125, 3, 1_081);
        let said = verdicts(&script);
        assert_eq!(said[1].1, Necessity::No, "{said:?}");
        assert_eq!(said[2], (2, Necessity::Unknown, Evidence::None));
    }
}

/// Two lost segments are sent again, after 60 others. The receiver reports neither of them before
/// the ACK of all data, so no earlier copy of the second one had arrived: the ACKs were merged.
#[test]
fn with_sack_an_ack_of_many_segments_shows_no_earlier_copy() {
    let mut script = Script::open(false);
    for pair in 0..30 {
        let ms = 40 + u64::from(pair) * 40;
        (0..2).for_each(|index| script.data(ms, 2 * pair + index));
        script.ack(ms + 40, 2 * pair + 2);
    }
    (60..70).for_each(|number| script.data(1_240, number));
    (65..70).for_each(|to| ack_with_block(&mut script, 1_281, 60, [64, to]));
    script.data(1_282, 60);
    script.data(1_283, 61);
    ack_with_block(&mut script, 1_284, 60, [64, 70]);
    script.ack(1_326, 70);
    let said = verdicts(&script);
    assert!(said.iter().all(|it| it.1 == Necessity::No), "{said:?}");
    assert_eq!(said.len(), 2);
}

/// The retransmission of segment 1 arrives before the late original, which is older than what the
/// receiver has seen. The receiver answers it with a duplicate ACK without blocks.
#[test]
fn a_plain_duplicate_ack_after_a_retransmission_answers_the_late_original() {
    let late = |has_answer: bool| {
        let mut script = Script::open(true);
        (0..6).for_each(|number| script.data(40, number));
        ack_with_echo(&mut script, 80, 1, 40);
        (3..6).for_each(|number| ack_with_block(&mut script, 80, 1, [2, number]));
        script.data(80, 1);
        ack_with_echo(&mut script, 120, 6, 80);
        script.data(120, 6);
        if has_answer {
            ack_with_echo(&mut script, 121, 6, 80);
        }
        ack_with_echo(&mut script, 160, 7, 120);
        verdicts(&script)
    };
    assert_eq!(late(false), [(1, Necessity::No, Evidence::OwnTimestamp)]);
    assert_eq!(late(true), [(1, Necessity::Yes, Evidence::LateOriginal)]);
}

/// Two needless retransmissions arrive, and the two sent after them are lost in a queue. The data
/// of these were acknowledged before the first ones arrived.
#[test]
fn data_acknowledged_before_an_earlier_retransmission_arrives_need_none() {
    let mut script = Script::open(false);
    (0..4).for_each(|number| script.data(40, number));
    script.ack(80, 4);
    (4..12).for_each(|number| script.data(80, number));
    script.data(400, 4);
    script.ack(440, 5);
    (5..9).for_each(|number| script.data(440, number));
    script.ack(485, 12);
    for number in 5..7 {
        ack_with_block(&mut script, 490, 12, [number, number + 1]);
    }
    script.data(490, 12);
    script.ack(530, 13);
    let found = script.flow().retransmissions;
    let needless: Vec<_> = found.iter().map(|it| (it.needless, it.proof.evidence)).collect();
    let early = (Necessity::Yes, Evidence::EarlyAck);
    assert_eq!(needless[1..3], [(Necessity::Yes, Evidence::Dsack); 2]);
    assert_eq!(needless[3..], [early; 2]);
}
