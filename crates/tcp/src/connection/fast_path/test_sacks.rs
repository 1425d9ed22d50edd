//! Acknowledgments with SACK blocks that the fast paths of a recovery take.

use super::kept;
use super::segments::expected_by;
use crate::LossState;
use crate::connection::Connection;
use crate::connection::fast_path::Sending;
use crate::connection::testing::{at, config, in_recovery};
use crate::spurious::{self, Detector};
use retx_wire::{Flags, SackBlock, Segment, Timestamps};

/// A duplicate ACK is handled at once if its first block alone is new.
#[test]
fn a_duplicate_ack_with_one_new_block_is_taken() {
    ["sack", "linux"].into_iter().for_each(check_blocks);
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
