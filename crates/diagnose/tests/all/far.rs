//! Captures far from the sender, where the times of sending are uncertain.

use crate::needless::ack_with_block;
use crate::script::Script;
use retx_diagnose::answer::Kind;

/// A connection after its handshake, at 40 ms, whose packets take `half_ms` from the sender to the
/// capture.
fn open(half_ms: u64) -> Script {
    let mut script = Script::default();
    script.packet(0, true, (0, 0), (0, 2));
    script.packet(40 - 2 * half_ms, false, (0, 1), (0, 18));
    script.packet(40, true, (1, 1), (0, 16));
    script
}

/// Three duplicate ACKs and the acknowledgment of all data reach the sender in one millisecond.
#[test]
fn a_retransmission_is_sent_before_the_acknowledgment_of_its_data_arrives() {
    let mut script = open(10);
    (0..10).for_each(|number| script.data(40, number));
    for number in [2, 2, 2, 2, 10] {
        script.ack(60, number);
    }
    script.data(80, 2);
    (10..14).for_each(|number| script.data(80, number));
    script.ack(100, 14);
    let flow = script.flow();
    assert_eq!(flow.retransmissions[0].kind, Kind::Fast);
    let recovery_s = flow.limited_by.recovery.unknown + flow.limited_by.recovery.spurious;
    assert!(recovery_s < 1e-3, "{:?}", flow.limited_by);
}

/// Arrival of a segment, 10 ms after the previous one, and its acknowledgment.
fn arrive(script: &mut Script, number: u32, ack: u32) {
    let ms = script.frames.len() as u64 * 5 + 60;
    script.data(ms, number);
    script.ack(ms, ack);
}

/// Segment 2 is delayed. Until its acknowledgment reaches the sender, this one has retransmitted
/// segments that wait in a queue.
#[test]
fn retransmissions_that_wait_behind_those_of_a_recovery_belong_to_it() {
    let mut script = open(20);
    let mut arrive = |number: u32, ack: u32| arrive(&mut script, number, ack);
    (0..20).for_each(|number| arrive(number, number + 1));
    (21..24).for_each(|number| arrive(number, 20));
    arrive(20, 24);
    (24..40).for_each(|number| arrive(number, number + 1));
    for number in [20, 21, 30, 32] {
        arrive(number, 40);
    }
    let kinds: Vec<_> = script.flow().retransmissions.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [Kind::Fast, Kind::Recovery, Kind::Recovery, Kind::Recovery]);
}

/// A sender whose window has room for all of its 42 segments by 180 ms. The last two and segment 30
/// are lost, which the sender learns at 260 ms.
#[test]
fn a_sender_whose_last_data_are_lost_has_no_more() {
    let mut script = open(20);
    for number in (0..30).chain(31..40) {
        let ms = 60 + 5 * u64::from(number);
        script.data(ms, number);
        script.ack(ms, if number < 30 { number + 1 } else { 30 });
    }
    for (ms, number, ack) in [(265, 30, 40), (270, 40, 41), (275, 41, 42)] {
        script.data(ms, number);
        script.ack(ms, ack);
    }
    let of = script.flow().limited_by;
    assert!((of.handshake - 0.04).abs() < 0.001, "{of:?}");
    assert!((of.application - 0.1).abs() < 0.01, "{of:?}");
}

/// Losses as in the test above, after an initial window of four segments. Nagle's algorithm holds
/// back the partial segment at the end until all data before it are acknowledged.
#[test]
fn nagle_holds_back_a_partial_segment_after_lost_data() {
    let mut script = open(20);
    for number in (0..30).chain(31..40) {
        let ms = if number < 4 { 60 } else { 80 } + 5 * u64::from(number);
        script.data(ms, number);
        script.ack(ms, if number < 30 { number + 1 } else { 30 });
    }
    for (ms, number, ack) in [(285, 30, 40), (290, 40, 41), (295, 41, 42)] {
        script.data(ms, number);
        script.ack(ms, ack);
    }
    script.packet(335, true, (1 + 42_000, 1), (300, 24));
    script.packet(335, false, (1, 1 + 42_300), (0, 16));
    let of = script.flow().limited_by;
    // From when the last full segment was sent until the recovery, and at the end.
    assert!((of.nagle - 0.073).abs() < 1e-3, "{of:?}");
}

/// A capture at the receiver's end, where segments from `first` on arrive together at 1,500 ms,
/// after a delay spike.
fn delay_spike(initial: u32, first: u32, end: u32) -> Script {
    let mut script = Script::default();
    script.packet(0, true, (0, 0), (0, 2));
    script.packet(0, false, (0, 1), (0, 18));
    script.packet(40, true, (1, 1), (0, 16));
    for number in 0..end {
        let round = if number < initial { 0 } else { 1 };
        let ms = if number < first { 40 + 40 * round } else { 1_500 };
        script.data(ms, number);
        script.ack(ms, number + 1);
    }
    script
}

/// A sender without F-RTO sends everything again after its timeout, although the acknowledgments of
/// the originals arrive.
#[test]
fn only_linux_is_assumed_to_stop_after_a_needless_timeout() {
    let mut script = delay_spike(3, 9, 15);
    script.data(1_510, 9);
    script.ack(1_510, 15);
    for number in 10..15 {
        script.data(1_500 + u64::from(number) * 4, number);
        script.ack(1_500 + u64::from(number) * 4, 15);
    }
    let kinds: Vec<_> = script.flow().retransmissions.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [Kind::Timeout; 6]);
}

/// The last segment is sent again while the first one is unacknowledged, and nothing shows a loss.
#[test]
fn a_tail_loss_probe_is_recognised_although_the_silence_before_it_is_hidden() {
    let mut script = delay_spike(10, 20, 30);
    script.data(1_510, 29);
    script.ack(1_510, 30);
    let kinds: Vec<_> = script.flow().retransmissions.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [Kind::TailLossProbe]);
}

/// Segments 20 and 22 are lost, and a queue delays the retransmission of the first one by 0.7 s.
/// Nothing arrives for 0.5 s before that of the second one, so it has not waited in the queue.
#[test]
fn a_retransmission_after_a_silence_has_not_waited_in_a_queue() {
    let mut script = open(20);
    let mut arrive = |number: u32, ack: u32| arrive(&mut script, number, ack);
    (0..20).for_each(|number| arrive(number, number + 1));
    (21..100).filter(|number| *number != 22).for_each(|number| arrive(number, 20));
    arrive(20, 22);
    (100..150).for_each(|number| arrive(number, 22));
    script.data(2_090, 22);
    script.ack(2_090, 150);
    let kinds: Vec<_> = script.flow().retransmissions.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [Kind::Fast, Kind::Timeout]);
}

/// Segments 20, 22, 24 and 26 are lost, then the retransmission of 22. All others arrive back to
/// back, so that the bottleneck is busy until the end.
#[test]
fn a_lost_retransmission_does_not_end_the_busy_period_of_the_bottleneck() {
    let mut script = open(20);
    let mut ms = 55;
    let mut arrive = |number: u32, ack: u32, sacked: [u32; 2]| {
        // The lost retransmission comes before segment 24.
        ms += if number == 24 { 10 } else { 5 };
        script.data(ms, number);
        match sacked {
            [_, 0] => script.ack(ms, ack),
            _ => ack_with_block(&mut script, ms, ack, sacked),
        }
    };
    (0..20).for_each(|number| arrive(number, number + 1, [0, 0]));
    for number in (21..60).filter(|number| ![22, 24, 26].contains(number)) {
        arrive(number, 20, [number, number + 1]);
    }
    arrive(20, 22, [27, 60]);
    arrive(24, 22, [23, 26]);
    arrive(26, 22, [23, 60]);
    (60..68).for_each(|number| arrive(number, 22, [23, number + 1]));
    arrive(22, 68, [0, 0]);
    let of = script.flow().limited_by;
    let recovery_s = of.recovery.congestion + of.recovery.wireless + of.recovery.unknown;
    // The gap itself is no longer than two segments take.
    assert!(recovery_s < 0.015, "{of:?}");
}

/// Segments 20 and 22 are lost. The retransmission of 22 waits in a delay spike of 0.15 s, and the
/// segments after it, which fill the path, wait with it.
#[test]
fn data_that_arrive_after_a_delay_spike_in_a_recovery_were_in_flight_during_it() {
    let mut script = open(20);
    let mut ms = 55;
    let mut arrive = |number: u32, ack: u32, sacked_to: u32| {
        ms += if number == 22 { 155 } else { 5 };
        script.data(ms, number);
        match sacked_to {
            0 => script.ack(ms, ack),
            _ => ack_with_block(&mut script, ms, ack, [23, sacked_to]),
        }
    };
    (0..20).for_each(|number| arrive(number, number + 1, 0));
    (23..60).for_each(|number| arrive(number, 20, number + 1));
    arrive(20, 21, 60);
    arrive(21, 22, 60);
    arrive(22, 60, 0);
    (60..80).for_each(|number| arrive(number, number + 1, 0));
    let of = script.flow().limited_by;
    let recovery_s = of.recovery.congestion + of.recovery.wireless + of.recovery.unknown;
    assert!(recovery_s < 0.015, "{of:?}");
}

/// A full window of data waits in a delay spike: that of the peer, of five segments, and that of
/// the path. Their acknowledgments are not delayed, and the last one waits for them.
#[test]
fn data_that_arrive_after_a_delay_spike_were_in_flight_during_it() {
    let mut script = delay_spike(3, 9, 14);
    script.frames.clear();
    script.window = Some(5_000);
    script.packet(0, true, (0, 0), (0, 2));
    script.packet(0, false, (0, 1), (0, 18));
    script.packet(40, true, (1, 1), (0, 16));
    for number in 0..30 {
        let ms = 40 * u64::from(number / 5) + if number < 15 { 80 } else { 1_500 };
        script.data(ms, number);
        script.ack(ms, number + 1);
    }
    let of = script.flow().limited_by;
    assert!(of.receive_window > 1.3, "{of:?}");
}

/// The initial window of four segments has room for three more when one waits for its
/// acknowledgment, which comes late. The next one has been lost before the capture.
#[test]
fn an_acknowledgment_that_waits_for_lost_data_is_not_delayed() {
    let mut script = open(10);
    script.data(60, 0);
    script.ack(280, 1);
    (2..5).for_each(|number| {
        script.data(300, number);
        script.ack(300, 1);
    });
    script.data(330, 1);
    script.ack(330, 5);
    let of = script.flow().limited_by;
    assert!(of.delayed_ack < 1e-3, "{of:?}");
}

/// A path that reorders packets delays the second retransmission of a recovery until the
/// acknowledgment of its data has reached the sender. The timer has just been restarted.
#[test]
fn a_retransmission_that_is_late_was_not_caused_by_a_timer_that_runs() {
    let mut script = open(10);
    (0..10).for_each(|number| script.data(40, number));
    [2, 2, 2, 2].into_iter().for_each(|number| script.ack(60, number));
    script.data(80, 2);
    script.ack(100, 4);
    script.ack(104, 10);
    script.data(130, 4);
    script.ack(160, 10);
    let kinds: Vec<_> = script.flow().retransmissions.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [Kind::Fast, Kind::Recovery]);
}

/// A capture in the middle. The acknowledgments of the second round pass 10 ms apart, until 60 ms
/// after its data; the data that they release wait in a delay spike, and a timeout follows.
fn timeout_in_delay_spike(initial: u32) -> retx_diagnose::answer::Flow {
    let mut script = open(15);
    (0..initial).for_each(|number| script.data(55, number));
    script.ack(65, initial);
    let second = initial..initial + 6;
    second.clone().for_each(|number| script.data(95, number));
    for (index, number) in second.enumerate() {
        script.ack(105 + 10 * index as u64, number + 1);
    }
    (initial + 6..initial + 18).for_each(|number| script.data(1_500, number));
    script.data(1_510, initial + 6);
    for number in initial + 7..initial + 19 {
        script.ack(1_520, number);
    }
    (initial + 18..initial + 20).for_each(|number| script.data(1_540, number));
    script.ack(1_560, initial + 20);
    script.flow()
}

/// The acknowledgments released data until the last of them, at 170 ms. Only then could the timer
/// run until it expired.
#[test]
fn a_timer_expires_in_a_delay_spike_after_the_last_acknowledgment() {
    let of = timeout_in_delay_spike(3).limited_by;
    let before_s = of.slow_start + of.bottleneck;
    assert!((before_s - 0.13).abs() < 5e-3, "{of:?}");
}

/// Linux sends a tail loss probe after two smoothed RTTs of 40 to 90 ms, and restarts its timer.
#[test]
fn a_tail_loss_probe_precedes_a_timeout_in_a_delay_spike() {
    let [of, other] = [10, 3].map(|initial| timeout_in_delay_spike(initial).limited_by);
    let probe_s = (of.slow_start + of.bottleneck) - (other.slow_start + other.bottleneck);
    assert!((0.08..0.18).contains(&probe_s), "{of:?} {other:?}");
}

/// Segment 20 is lost, and so is segment 30, the last one before the retransmission.
#[test]
fn a_hole_at_the_recovery_point_belongs_to_the_recovery() {
    let mut script = open(20);
    (0..20).for_each(|number| arrive(&mut script, number, number + 1));
    let mut ms = 270;
    let mut arrive = |number: u32, ack: u32, sacked: [u32; 2]| {
        ms += 5;
        script.data(ms, number);
        match sacked {
            [_, 0] => script.ack(ms, ack),
            _ => ack_with_block(&mut script, ms, ack, sacked),
        }
    };
    (21..30).for_each(|number| arrive(number, 20, [21, number + 1]));
    arrive(20, 30, [0, 0]);
    (31..45).for_each(|number| arrive(number, 30, [31, number + 1]));
    arrive(30, 45, [0, 0]);
    let kinds: Vec<_> = script.flow().retransmissions.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [Kind::Fast, Kind::Recovery]);
}

/// Segments 20 and 22 are lost. The retransmission of the first one waits in a queue for 0.7 s, and
/// no other packet follows it until the timer expires.
#[test]
fn a_timeout_is_the_limit_from_when_the_last_packet_was_sent() {
    let mut script = open(20);
    let mut arrive = |number: u32, ack: u32| arrive(&mut script, number, ack);
    (0..20).for_each(|number| arrive(number, number + 1));
    (21..100).filter(|number| *number != 22).for_each(|number| arrive(number, 20));
    arrive(20, 22);
    script.data(2_400, 22);
    script.ack(2_400, 100);
    let flow = script.flow();
    assert_eq!(flow.retransmissions[1].kind, Kind::Timeout);
    // The third duplicate ACK reaches the sender at 335 ms.
    assert!((flow.limited_by.timeout.unknown - 2.065).abs() < 0.01, "{:?}", flow.limited_by);
}

/// The receiver delays the acknowledgment of a single segment, since those after it wait in a delay
/// spike: the sender had sent them before.
#[test]
fn an_acknowledgment_is_not_delayed_while_later_data_wait_in_a_delay_spike() {
    let mut script = open(20);
    for number in 0..8 {
        let ms = 60 + 40 * u64::from(number / 2);
        script.data(ms, number);
        script.ack(ms, number + 1);
    }
    script.data(220, 8);
    script.ack(420, 9);
    for number in 9..20 {
        let ms = if number < 14 { 1_500 } else { 1_540 };
        script.data(ms, number);
        script.ack(ms, number + 1);
    }
    let of = script.flow().limited_by;
    assert!(of.delayed_ack < 0.01, "{of:?}");
}

/// Reno, as its first recovery shows. Segment 40 is late, and the acknowledgment of the data up to
/// segment 44 reaches the sender just after its retransmission.
#[test]
fn an_acknowledgment_ends_the_recovery_of_reno_although_the_retransmission_comes_later() {
    let mut script = open(20);
    let rounds: [&[(u32, u32)]; 9] = [
        &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 9), (9, 10)],
        &[(10, 11), (11, 12), (12, 13), (13, 14), (14, 15), (15, 16), (16, 17), (17, 18), (18, 19)],
        &[(19, 20), (21, 20), (22, 20), (23, 20), (24, 20), (26, 20), (27, 20), (28, 20), (29, 20)],
        &[(20, 25), (30, 25), (31, 25), (32, 25)],
        &[(25, 33)],
        &[(33, 34), (34, 35), (35, 36), (36, 37), (37, 38), (38, 39), (39, 40)],
        &[(41, 40), (42, 40), (43, 40), (44, 40), (40, 45)],
        &[(45, 46), (40, 46), (46, 47), (47, 48), (48, 49)],
        &[(49, 50), (50, 51), (51, 52), (52, 53)],
    ];
    for (round, packets) in rounds.iter().enumerate() {
        for (index, (number, ack)) in packets.iter().enumerate() {
            let ms = 60 + 50 * round as u64 + index as u64;
            script.data(ms, *number);
            script.ack(ms, *ack);
        }
    }
    let of = script.flow().limited_by.recovery;
    assert!(of.spurious < 5e-3, "{of:?}");
}
