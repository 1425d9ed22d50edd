//! Begin and end of loss recoveries.

use crate::build::{Header, tcp};
use crate::needless::ack_with_block;
use crate::script::{SEGMENT, Script};
use retx_diagnose::answer::Kind;

fn kinds(script: &Script) -> Vec<Kind> {
    script.flow().retransmissions.iter().map(|it| it.kind).collect()
}

/// A retransmission is lost. After 220 ms, longer than the RTO, a SACK block shows that data sent
/// later have arrived.
#[test]
fn a_late_sack_block_releases_a_lost_retransmission() {
    let mut script = Script::open(false);
    (0..20).for_each(|number| script.data(40, number));
    ack_with_block(&mut script, 80, 0, [1, 20]);
    script.data(80, 0);
    script.data(81, 20);
    ack_with_block(&mut script, 301, 0, [1, 21]);
    script.data(301, 0);
    script.ack(341, 21);
    assert_eq!(kinds(&script), [Kind::Fast, Kind::Recovery]);
}

/// The RTT of data is 60 ms, that of the SYN 40 ms. A retransmission is repeated after 50 ms, when
/// a SACK block shows that data sent after it have arrived.
#[test]
fn a_retransmission_may_be_repeated_after_the_round_trip_of_a_syn() {
    let mut script = Script::open(false);
    (0..20).for_each(|number| script.data(40, number));
    script.ack(100, 1);
    ack_with_block(&mut script, 100, 1, [2, 20]);
    script.data(100, 1);
    script.data(101, 20);
    ack_with_block(&mut script, 150, 1, [2, 21]);
    script.data(150, 1);
    script.ack(210, 21);
    assert_eq!(kinds(&script), [Kind::Fast, Kind::Recovery]);
}

/// A connection at the receiver's end, over a path whose round trip takes 40 ms.
fn at_receiver() -> Script {
    let mut script = Script::default();
    script.packet(0, true, (0, 0), (0, 2));
    script.packet(0, false, (0, 1), (0, 18));
    script.packet(40, true, (1, 1), (0, 16));
    script
}

/// Segments 10, 11 and 20 to 29 are lost before the capture. After the timeout F-RTO sends
/// segment 30, and the sender then retransmits everything that it had sent before.
#[test]
fn a_recovery_from_a_timeout_lasts_for_data_lost_before_the_capture() {
    let mut script = at_receiver();
    for number in 0..10 {
        script.data(40, number);
        script.ack(40, number + 1);
    }
    for number in 12..20 {
        script.data(80, number);
        ack_with_block(&mut script, 80, 10, [12, number + 1]);
    }
    script.data(420, 10);
    ack_with_block(&mut script, 420, 11, [12, 20]);
    script.data(460, 30);
    ack_with_block(&mut script, 460, 11, [30, 31]);
    script.data(500, 11);
    ack_with_block(&mut script, 500, 20, [30, 31]);
    for number in 20..24 {
        let ms = 520 + u64::from(number);
        script.data(ms, number);
        ack_with_block(&mut script, ms, number + 1, [30, 31]);
    }
    assert_eq!(kinds(&script), [Kind::Timeout; 6]);
}

/// Segments 20 to 29 wait in a delay spike. Their acknowledgments seem to reach the sender before
/// it sends its second retransmission, but no acknowledgment has released it.
#[test]
fn a_second_retransmission_shows_that_a_timeout_was_not_undone() {
    let mut script = at_receiver();
    for number in 0..30 {
        let ms = [40, 80, 1_500][number as usize / 10];
        script.data(ms, number);
        script.ack(ms, number + 1);
    }
    for (ms, number) in [(1_510, 20), (1_540, 21), (1_541, 22), (1_542, 23)] {
        script.data(ms, number);
        script.ack(ms, 30);
    }
    assert_eq!(kinds(&script), [Kind::Timeout; 4]);
}

/// SACK blocks show a loss after 40 ms, when the sender has no more data. Its congestion window
/// has room for the retransmission only 50 ms later.
#[test]
fn a_sender_with_a_loss_to_repair_has_not_run_out_of_data() {
    let mut script = Script::open(false);
    (0..9).for_each(|number| script.data(40, number));
    script.packet(40, true, (9_001, 1), (500, 24));
    ack_with_block(&mut script, 80, 0, [1, 9]);
    script.data(130, 0);
    script.packet(170, false, (1, 9_501), (0, 16));
    let of = script.flow().limited_by;
    assert!((of.application - 0.04).abs() < 2e-3, "{of:?}");
}

/// A SACK block of one segment beyond a gap of four is no sign of a loss yet, and the application
/// limits the sender until the tail loss probe.
#[test]
fn one_segment_beyond_a_long_gap_shows_no_loss() {
    let mut script = Script::open(false);
    (0..9).for_each(|number| script.data(40, number));
    script.packet(40, true, (9_001, 1), (500, 24));
    script.ack(80, 4);
    ack_with_block(&mut script, 80, 4, [8, 9]);
    script.data(130, 4);
    script.packet(170, false, (1, 9_501), (0, 16));
    let of = script.flow().limited_by;
    assert!((of.application - 0.09).abs() < 2e-3, "{of:?}");
}

/// Segment 20 is delayed by five others, which arrive 5 ms apart. Three duplicate ACKs reach the
/// sender, and the retransmission waits behind all other data until 260 ms. The application limits
/// the sender only from its last data until then.
#[test]
fn a_retransmission_in_a_queue_was_sent_at_the_third_duplicate_ack() {
    let mut script = at_receiver();
    let late = (0..20).chain(21..25).chain([20]).chain(25..40).chain([20]);
    let mut arrived = [false; 40];
    for (index, number) in late.enumerate() {
        let ms = 60 + 5 * index as u64;
        script.data(ms, number);
        arrived[number as usize] = true;
        script.ack(ms, arrived.iter().take_while(|it| **it).count() as u32);
    }
    let of = script.flow().limited_by;
    assert!(of.application < 0.1, "{of:?}");
}

/// Fast recovery of segment 1 of 21. A partial acknowledgment at 160 ms reports that segments 2 and
/// 3 are lost, too.
fn recover_three(script: &mut Script) {
    script.data(40, 0);
    script.ack(80, 1);
    (1..21).for_each(|number| script.data(80, number));
    ack_with_block(script, 120, 1, [4, 21]);
    script.data(120, 1);
    ack_with_block(script, 160, 2, [4, 21]);
}

/// The path delays two retransmissions for longer than the RTO. A timer would have caused only one
/// before the next acknowledgment.
#[test]
fn two_retransmissions_at_once_are_not_caused_by_a_timer() {
    let mut script = Script::open(false);
    recover_three(&mut script);
    script.data(1_160, 2);
    script.data(1_160, 3);
    script.ack(1_200, 21);
    let flow = script.flow();
    assert_eq!(kinds(&script), [Kind::Fast, Kind::Recovery, Kind::Recovery]);
    assert!(flow.timeouts.is_empty());
    // The second one follows the acknowledgment of the first.
    let mut script = Script::open(false);
    recover_three(&mut script);
    script.data(1_160, 2);
    ack_with_block(&mut script, 1_200, 3, [4, 21]);
    script.data(1_200, 3);
    script.ack(1_240, 21);
    assert_eq!(kinds(&script), [Kind::Fast, Kind::Timeout, Kind::Timeout]);
}

/// The acknowledgment of a retransmission passes the receiver's end before another retransmission,
/// but reaches the sender later.
#[test]
fn acknowledgments_release_nothing_before_they_reach_the_sender() {
    let mut script = at_receiver();
    for (ms, number) in (0..11).map(|it| (40, it)).chain((14..20).map(|it| (80, it))) {
        script.data(ms, number);
        match number {
            0..11 => script.ack(ms, number + 1),
            _ => ack_with_block(&mut script, ms, 11, [14, number + 1]),
        }
    }
    script.data(120, 11);
    ack_with_block(&mut script, 120, 12, [14, 20]);
    script.data(1_160, 12);
    ack_with_block(&mut script, 1_160, 13, [14, 20]);
    script.data(1_161, 13);
    script.ack(1_161, 20);
    assert_eq!(kinds(&script), [Kind::Fast, Kind::Recovery, Kind::Recovery]);
}

/// A path that reorders packets has delayed segment 5 until the timeout.
#[test]
fn a_late_original_does_not_show_that_a_timeout_was_none() {
    let mut script = Script::open(false);
    [0, 2, 1].into_iter().for_each(|number| script.data(40, number));
    script.ack(80, 3);
    [3, 4, 6, 7, 8].into_iter().for_each(|number| script.data(80, number));
    script.ack(120, 4);
    (0..3).for_each(|_| script.ack(121, 4));
    script.data(1_120, 4);
    script.data(1_120, 5);
    script.ack(1_160, 9);
    assert_eq!(script.flow().retransmissions[0].kind, Kind::Timeout);
}

/// A delay spike lets two retransmissions pass the receiver's end at once, but their timestamps
/// show that the second one was sent a second later.
#[test]
fn data_sent_later_do_not_show_that_no_timer_has_expired() {
    let mut script = Script { timestamps: true, ..at_receiver() };
    for (ms, number) in (0..11).map(|it| (60, it)).chain((14..20).map(|it| (100, it))) {
        script.data(ms, number);
        script.ack(ms, if number < 11 { number + 1 } else { 11 });
    }
    script.data(140, 11);
    script.ack(140, 12);
    for (value, number, ack) in [(1_161, 12, 13), (2_161, 13, 20)] {
        let (seq, timestamps) = (1 + number * SEGMENT, Some((value, 140)));
        let header = Header { seq, ack: 1, payload: SEGMENT as u16, flags: 16, timestamps };
        script.frame(2_180, true, &tcp(header));
        script.ack(2_180, ack);
    }
    assert_eq!(kinds(&script)[1], Kind::Timeout);
}

/// A timeout is needless: its retransmission is acknowledged after half a round trip. A sender with
/// a small initial window, unlike Linux, goes on to retransmit what is missing.
#[test]
fn only_linux_undoes_a_timeout() {
    let mut script = Script::open(false);
    (0..4).for_each(|number| script.data(40, number));
    script.ack(80, 4);
    (4..10).for_each(|number| script.data(80, number));
    script.data(400, 4);
    ack_with_block(&mut script, 420, 6, [7, 10]);
    script.data(420, 6);
    script.ack(460, 10);
    assert_eq!(kinds(&script), [Kind::Timeout, Kind::Timeout]);
}

/// A SACK block shows the loss of segment 10, which was sent after the timeout. The data before it
/// are not yet acknowledged, so its retransmission begins no other recovery.
#[test]
fn a_recovery_from_a_timeout_repairs_later_losses_too() {
    let mut script = Script::open(false);
    (0..4).for_each(|number| script.data(40, number));
    script.ack(80, 4);
    (4..10).for_each(|number| script.data(80, number));
    script.data(400, 4);
    script.ack(440, 5);
    for number in [5, 10] {
        script.data(440, number);
    }
    script.ack(480, 6);
    for number in [6, 11, 12, 13] {
        script.data(480, number);
    }
    ack_with_block(&mut script, 520, 6, [11, 14]);
    script.data(520, 10);
    assert_eq!(kinds(&script), [Kind::Timeout; 4]);
}

/// Linux undoes a timeout whose retransmission was acknowledged after 180 ms. Segment 14 was sent
/// before this retransmission, so the timer of RACK expires, and begins a recovery.
#[test]
fn the_timer_of_rack_does_not_refute_an_undone_timeout() {
    let mut script = Script::open(false);
    (0..10).for_each(|number| script.data(40, number));
    script.ack(80, 10);
    (10..30).for_each(|number| script.data(80, number));
    script.data(320, 10);
    for number in 11..15 {
        script.ack(490 + u64::from(number), number);
        script.data(490 + u64::from(number), number + 19);
    }
    script.data(562, 14);
    script.ack(630, 15);
    script.data(630, 15);
    assert_eq!(kinds(&script), [Kind::Timeout, Kind::Fast, Kind::Recovery]);
}

/// Ten segments fill the peer's window and are retransmitted one after the other. Until the last of
/// them, the congestion window is the limit, since the peer's window has room for them.
#[test]
fn the_peers_window_does_not_limit_retransmissions() {
    let mut script = Script { window: Some(10_000), ..Script::default() };
    script.packet(0, true, (0, 0), (0, 2));
    script.packet(40, false, (0, 1), (0, 18));
    script.packet(40, true, (1, 1), (0, 16));
    (0..4).for_each(|number| script.data(40, number));
    script.ack(80, 4);
    (4..14).for_each(|number| script.data(80, number));
    for (index, number) in (4..14).enumerate() {
        let ms = 400 + 40 * index as u64;
        script.data(ms, number);
        script.ack(ms + 40, number + 1);
    }
    let of = script.flow().limited_by;
    assert!((of.window.unknown - 0.38).abs() < 2e-3, "{of:?}");
    assert!(of.receive_window < 1e-9, "{of:?}");
}

/// The retransmission of segment 4 is lost, too. Acknowledgments show this from 200 ms on, but the
/// sender goes on with new data, so that only its timer can have caused the next retransmission.
#[test]
fn a_sender_without_rack_retransmits_again_after_a_timeout() {
    let mut script = Script::open(false);
    (0..4).for_each(|number| script.data(40, number));
    script.ack(80, 4);
    (4..14).for_each(|number| script.data(80, number));
    ack_with_block(&mut script, 120, 4, [5, 14]);
    script.data(120, 4);
    script.data(120, 14);
    for number in 15..19 {
        let ms = 160 + 40 * u64::from(number - 15);
        ack_with_block(&mut script, ms, 4, [5, number]);
        script.data(ms, number);
    }
    script.data(282, 4);
    assert_eq!(kinds(&script), [Kind::Fast, Kind::Timeout]);
}

/// Nothing but segment 10 was lost, but the timeout retransmits all. Duplicate ACKs answer the
/// needless retransmissions, and the receiver delays the acknowledgment of the last full segment.
#[test]
fn an_acknowledgment_is_delayed_after_needless_retransmissions() {
    let mut script = Script::open(false);
    (0..4).for_each(|number| script.data(40, number));
    script.ack(80, 4);
    (4..11).for_each(|number| script.data(80, number));
    script.data(400, 4);
    for number in 5..8 {
        let ms = 435 + u64::from(number);
        script.ack(ms, number);
        script.data(ms, 2 * number - 5);
        script.data(ms, 2 * number - 4);
    }
    (8..11).for_each(|number| script.ack(435 + u64::from(number), number));
    (0..6).for_each(|_| script.ack(480, 10));
    script.ack(682, 11);
    script.packet(682, true, (11_001, 1), (500, 24));
    script.packet(722, false, (1, 11_501), (0, 16));
    let of = script.flow().limited_by;
    assert!((of.delayed_ack - 0.2).abs() < 2e-3, "{of:?}");
}

/// SACK blocks after a timeout show that only segments 4 and 10 are missing. The acknowledgment of
/// segment 4 opens the congestion window by two segments, but Nagle's algorithm holds the last one.
#[test]
fn nagle_is_the_limit_once_all_gaps_are_filled() {
    let mut script = Script::open(false);
    (0..4).for_each(|number| script.data(40, number));
    script.ack(80, 4);
    (4..12).for_each(|number| script.data(80, number));
    script.data(400, 4);
    ack_with_block(&mut script, 440, 10, [11, 12]);
    script.data(440, 10);
    script.ack(480, 12);
    script.packet(480, true, (12_001, 1), (500, 24));
    script.packet(520, false, (1, 12_501), (0, 16));
    let of = script.flow().limited_by;
    assert!((of.nagle - 0.04).abs() < 2e-3, "{of:?}");
}
