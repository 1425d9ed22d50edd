//! Acknowledgments with SACK blocks that the fast paths of a recovery take.

use super::kept;
use super::segments::expected_by;
use crate::connection::fast_path::Sending;
use crate::connection::testing::{at, config, in_recovery, open, pass, sent_by};
use crate::connection::{Connection, Event};
use crate::loss_detection::LossDetection;
use crate::spurious::{self, Detector};
use crate::{LossState, Size};
use retx_wire::{Flags, SackBlock, Segment, Timestamps};

/// A duplicate ACK is handled at once if its first block alone is new.
#[test]
fn a_duplicate_ack_with_one_new_block_is_taken() {
    ["sack", "linux", "linux_bbr"].into_iter().for_each(check_blocks);
}

fn check_blocks(name: &str) {
    let near = in_recovery(&config(name))[0].clone();
    let (plain, timestamps) = expected_by(&near);
    let (smss, max) = (near.sender.window.smss, near.flight_size() as u32);
    let block = |left: u32, right: u32| SackBlock {
        left: plain.ack.add(left),
        right: plain.ack.add(right),
    };
    let known = near.sender.board.last_sack.as_ref().expect("blocks").as_slice()[0];
    let end = known.right.0.wrapping_sub(plain.ack.0);
    let with = |blocks: &[SackBlock]| {
        let mut segment: Segment = plain.segment(timestamps);
        blocks.iter().for_each(|block| segment.options.sack.push(*block));
        segment
    };
    let fresh = block(max - smss, max);
    let base = with(&[fresh, known]);
    let takes = |segment: &Segment| after_sack(&near, segment).is_some();
    assert!(max > end && end > 3 * smss && takes(&base), "{name}: {max} {end}");
    assert!(takes(&Segment { flags: Flags::ACK.with(Flags::PSH), ..base }));
    assert!(!takes(&Segment { flags: Flags::ACK.with(Flags::ECE), ..base }));
    assert!(!takes(&Segment { payload_bytes: 1, ..base }));
    assert!(!takes(&Segment { loss_notice: true, ..base }));
    assert!(!takes(&Segment { seq: base.seq.add(1), ..base }));
    assert!(!takes(&Segment { ack: base.ack.add(1), ..base }));
    assert!(!takes(&with(&[fresh, block(smss, end - smss)])), "unknown second block");
    let inside = block(2 * smss, 3 * smss);
    assert!(!takes(&with(&[inside, known])), "a DSACK lies within the second block");
    assert!(!takes(&with(&[block(max, max), known])), "empty block");
    assert!(!takes(&with(&[block(max - smss, max + 1), known])), "never sent");
    assert!(!takes(&with(&[block(u32::MAX, max), known])), "acknowledged already");
    assert!(!takes(&with(&[])));
    if let Some(Timestamps { value, echo }) = timestamps {
        let mut probing = near.clone();
        probing.sender.probes_in_row = 1;
        assert!(after_sack(&probing, &base).is_some(), "a response to probes");
        let mut old = base;
        old.options.timestamps = Some(Timestamps { value: value.wrapping_sub(1), echo });
        assert!(!takes(&old), "PAWS");
    }
}

/// State after a SACK on the fast path, which must be that after the general path; `None` if the
/// fast path refuses it.
fn after_sack(near: &Connection, segment: &Segment) -> Option<Connection> {
    let mut after = near.clone();
    if !after.handle_sack_fast(at(80), segment) {
        assert_eq!(kept(&after), kept(near), "a refused segment leaves no trace");
        return None;
    }
    let mut general = near.clone();
    general.fast_paths.sending = Sending::General;
    general.handle_packet(at(80), segment, retx_wire::Ecn::NotEct);
    assert_eq!(kept(&after), kept(&general));
    assert_eq!(after.sender.dupacks - near.sender.dupacks, 1);
    Some(after)
}

/// The loss of a retransmission, in a recovery by RACK, is a second indication of congestion (RFC
/// 5681 §4.3), also for BBR. Linux does not react to it.
#[test]
fn a_lost_retransmission_begins_another_recovery() {
    for (name, begins) in [("bbr", true), ("linux_bbr", false)] {
        let mut near = in_recovery(&config(name))[0].clone();
        while near.poll_event().is_some() {}
        near.sender.window.cwnd = 30_000;
        let later = sent_by(&mut near, at(79));
        assert!(later.last().is_some_and(|it| !it.retransmission), "{name}");
        let (plain, timestamps) = expected_by(&near);
        let max = near.flight_size() as u32;
        let (left, right) = (plain.ack.add(max - near.sender.window.smss), plain.ack.add(max));
        let mut segment: Segment = plain.segment(timestamps);
        segment.options.sack.push(SackBlock { left, right });
        let losses = near.sender.board.losses;
        let mut after = after_sack(&near, &segment).expect("a new block");
        assert!(after.sender.board.losses > losses, "{name}");
        let mut events = std::iter::from_fn(|| after.poll_event());
        assert_eq!(events.any(|it| matches!(it, Event::LossFound(_))), begins, "{name}");
    }
}

/// A SACK undoes a recovery whose retransmissions were all reported as duplicates.
#[test]
fn a_sack_may_undo_a_recovery() {
    let mut near = in_recovery(&config("linux"))[0].clone();
    let (plain, timestamps) = expected_by(&near);
    let (smss, max) = (near.sender.window.smss, near.flight_size() as u32);
    let mut segment: Segment = plain.segment(timestamps);
    let (left, right) = (plain.ack.add(max - smss), plain.ack.add(max));
    segment.options.sack.push(SackBlock { left, right });
    let (una, snd_max) = (near.sender.snd_una, near.sender.snd_max);
    near.sender.spurious.on_ack(&spurious::Ack {
        state: LossState::Cwr,
        previous_una: una,
        snd_una: una,
        snd_max,
        highest: una,
        retransmitted: 1,
        sacked: Some(0),
        lowest_original_end: None,
        dsack: Some((una, una + u64::from(smss))),
        dsacked_in_flight: 1,
        echo: None,
        smss,
        can_send_new: false,
    });
    assert!(after_sack(&near, &segment).is_some());
}

/// Reordering enlarges the send buffer that is wanted (`tcp_sndbuf_expand`). Whether the buffer
/// suffices is therefore evaluated anew, although the congestion window has not grown. The
/// reordering is seen by the fast path, or earlier, by the general path.
#[test]
fn reordering_may_expand_the_send_buffer() {
    for is_seen_before in [false, true] {
        let mut near = with_waiting_write();
        let smss = near.sender.window.smss;
        let flight = near.flight_size() as u32;
        if is_seen_before {
            near.sender.loss_detection.on_late_original(u64::from(28 * smss), smss);
            near.recompute_fast_paths();
        }
        let (plain, timestamps) = expected_by(&near);
        let mut segment: Segment = plain.segment(timestamps);
        let from = if is_seen_before { 2 } else { 1 };
        let (left, right) = (plain.ack.add(from * smss), plain.ack.add(flight));
        segment.options.sack.push(SackBlock { left, right });
        let after = after_sack(&near, &segment).expect("one new block");
        assert!(after.cwnd() <= near.cwnd() && after.in_recovery());
        let state = |it: &Connection| {
            let memory = it.sender.bursts.memory.expect("a buffer of Linux");
            (memory.would_expand(after.wanted_send_memory()), memory.write_blocked)
        };
        let expected = [(true, true), (false, false)];
        assert_eq!([&near, &after].map(state), expected, "{is_seen_before}");
    }
}

/// Sender in a recovery whose buffer suffices for its congestion window, while a write waits. Of
/// thirty segments the first two are marked lost, of which one was retransmitted; the last one is
/// in flight, and the others are selectively acknowledged.
fn with_waiting_write() -> Connection {
    let mut config = config("linux");
    config.send_buffer = Size::Bytes(2 * 16 * 2_304);
    let [mut near, mut far] = open(&config);
    near.sender.window.cwnd = 30_000;
    near.write(at(40), 100_000);
    let sent = sent_by(&mut near, at(40));
    assert_eq!(sent.len(), 30);
    for transmit in &sent[2..29] {
        far.handle_packet(at(50), &transmit.segment, transmit.ecn);
        pass(at(50), &mut far, at(60), &mut near);
    }
    assert_eq!(near.poll_transmit(at(60)).map(|it| it.retransmission), Some(true));
    let target = u64::from(12 * near.sender.window.smss);
    near.sender.repair.cwnd_after_recovery = target;
    near.sender.window.cwnd = target;
    near.sender.snd_wnd = near.flight_size();
    near.recompute_fast_paths();
    near.check_send_memory(at(60));
    near
}
