//! Segments that the fast paths take, with the same effect as on the general path.

use super::kept;
use crate::Size;
use crate::connection::fast_path::{FastPathResult, Receiving};
use crate::connection::outgoing::Outcome;
use crate::connection::testing::{at, config, in_recovery, open, sent_by, with_flight};
use crate::connection::{Connection, Parameters, Transmit};
use retx_units::Time;
use retx_wire::{Flags, PlainSegment, Timestamps};
use std::sync::Arc;

type Change = fn(&mut Connection);

/// Handles a segment on the fast path and on the general path; state and output must be equal.
/// Returns true if the fast path took the segment.
fn both(connection: &Connection, plain: PlainSegment, timestamps: Option<Timestamps>) -> bool {
    let now = at(80);
    let mut fast = connection.clone();
    let mut general = connection.clone();
    general.parameters = Arc::new(Parameters { use_fast_paths: false, ..*general.parameters });
    general.recompute_fast_paths();
    let taken = fast.handle_plain(now, plain, timestamps);
    if !taken {
        assert_eq!(kept(&fast), kept(connection), "a refused segment leaves no trace: {plain:?}");
        fast.handle_packet(now, &plain.segment(timestamps), retx_wire::Ecn::NotEct);
    }
    general.handle_packet(now, &plain.segment(timestamps), retx_wire::Ecn::NotEct);
    for later in [at(80), at(85)] {
        assert_eq!(sent_by(&mut fast, later), sent_by(&mut general, later), "{plain:?}");
        assert_eq!(kept(&fast), kept(&general), "{plain:?} {timestamps:?}");
    }
    taken
}

/// Segment that a connection expects next, without payload, and without an acknowledgment of new
/// data.
pub(super) fn expected_by(it: &Connection) -> (PlainSegment, Option<Timestamps>) {
    let plain = PlainSegment {
        seq: it.rcv_nxt_seq(),
        ack: it.seq_at(it.sender.snd_una),
        window: (it.sender.snd_wnd >> it.sender.snd_wscale) as u16,
        flags: Flags::ACK,
        payload_bytes: 0,
    };
    let echo = it.timestamp(at(40));
    (plain, it.timestamps.then_some(Timestamps { value: it.receiver.ts_recent, echo }))
}

/// A fast path handles an acknowledgment of any part of the data in flight, from one byte (on the
/// detailed path, one segment) to all.
#[test]
fn acknowledgments_of_data_in_flight_are_taken() {
    for name in ["newreno", "sack", "linux"] {
        let near = with_flight(&config(name)).0[0].clone();
        let (plain, timestamps) = expected_by(&near);
        let smss = near.sender.window.smss;
        let flight = near.flight_size() as u32;
        let least = if name == "linux" { smss } else { 1 };
        let with = |acked: u32| PlainSegment { ack: plain.ack.add(acked), ..plain };
        for (acked, expected) in [
            (u32::MAX, false),
            (0, false),
            (least - 1, false),
            (least, true),
            (smss, true),
            (smss + 1, true),
            (flight, true),
            (flight + 1, false),
        ] {
            let taken = both(&near, with(acked), timestamps);
            assert_eq!(taken, expected, "{name}: {acked} bytes");
        }
        for window in [0, 1, plain.window / 2] {
            both(&near, PlainSegment { window, ..with(2 * smss) }, timestamps);
        }
        let pushed = PlainSegment { flags: Flags::ACK.with(Flags::PSH), ..with(smss) };
        assert!(both(&near, pushed, timestamps), "PSH changes nothing");
        for flags in [Flags::FIN, Flags::URG, Flags::ECE, Flags::CWR, Flags::RST, Flags::SYN] {
            let odd = PlainSegment { flags: Flags::ACK.with(flags), ..with(smss) };
            assert!(!both(&near, odd, timestamps), "{flags:?}");
        }
        let late = PlainSegment { seq: plain.seq.add(u32::MAX), ..with(smss) };
        assert!(!both(&near, late, timestamps));
        let with_data = PlainSegment { payload_bytes: 100, ..with(smss) };
        assert!(!both(&near, with_data, timestamps), "data and acknowledgment at once");
    }
}

/// A fast path handles the next data in order, up to the right edge of the window, at an end with
/// nothing in flight.
#[test]
fn the_next_data_are_taken_up_to_the_edge() {
    for name in ["newreno", "sack", "linux"] {
        let far = open(&config(name))[1].clone();
        let (plain, timestamps) = expected_by(&far);
        let room = far.rcv_wnd() as u32;
        for (payload_bytes, expected) in [(1, true), (1_000, true), (room, true), (room + 1, false)]
        {
            let taken = both(&far, PlainSegment { payload_bytes, ..plain }, timestamps);
            assert_eq!(taken, expected, "{name}: {payload_bytes} bytes");
        }
        let plain = PlainSegment { payload_bytes: 500, ..plain };
        for (seq, ack) in [(1_u32, 0_u32), (u32::MAX, 0), (0, 1), (0, u32::MAX)] {
            let odd = PlainSegment { seq: plain.seq.add(seq), ack: plain.ack.add(ack), ..plain };
            assert!(!both(&far, odd, timestamps), "{name}: {seq} {ack}");
        }
        let mut sending = far.clone();
        sending.write(at(60), 1_000);
        sent_by(&mut sending, at(60));
        assert!(!both(&sending, plain, timestamps), "{name}: data in flight");
    }
}

/// PAWS (RFC 7323 §5): a fast path requires timestamps if they were negotiated, and a value not
/// below the one recorded last.
#[test]
fn timestamps_must_not_be_old() {
    let [near, far] = with_flight(&config("linux")).0;
    for (end, acked, payload_bytes) in [(&near, near.sender.window.smss, 0), (&far, 0, 500)] {
        let (plain, timestamps) = expected_by(end);
        let plain = PlainSegment { ack: plain.ack.add(acked), payload_bytes, ..plain };
        let with = |ahead: u32| {
            timestamps.map(|it| Timestamps { value: it.value.wrapping_add(ahead), ..it })
        };
        let taken = [u32::MAX, 0, 1, 1 << 30].map(|ahead| both(end, plain, with(ahead)));
        assert_eq!(taken, [false, true, true, true]);
        assert!(!both(end, plain, None));
    }
    let mut without = config("linux");
    without.timestamps = false;
    let far = open(&without)[1].clone();
    let plain = PlainSegment { payload_bytes: 500, ..expected_by(&far).0 };
    assert!(both(&far, plain, None));
    assert!(!both(&far, plain, Some(Timestamps { value: 1, echo: 1 })));
}

/// Data beyond a gap take the fast path if they lie above all data received, and within the receive
/// window.
#[test]
fn data_beyond_a_gap_are_taken_above_the_highest() {
    for name in ["newreno", "sack"] {
        let mut far = open(&config(name))[1].clone();
        let (plain, _) = expected_by(&far);
        let data = |ahead: u32, payload_bytes| PlainSegment {
            seq: plain.seq.add(ahead),
            payload_bytes,
            ..plain
        };
        far.handle_packet(at(50), &data(1_000, 1_000).segment(None), retx_wire::Ecn::NotEct);
        sent_by(&mut far, at(50));
        let room = far.rcv_wnd() as u32;
        far.recompute_fast_paths();
        assert_eq!(far.fast_paths.receiving, Receiving::BeyondGap);
        for (ahead, bytes, expected) in [
            (u32::MAX, 500, false),
            (0, 500, false),
            (1, 500, false),
            (1_999, 500, false),
            (2_000, 0, false),
            (2_000, 500, true),
            (2_001, 500, true),
            (2_000, room - 2_000, true),
            (2_000, room - 1_999, false),
        ] {
            let taken = both(&far, data(ahead, bytes), None);
            assert_eq!(taken, expected, "{name}: {bytes} bytes at {ahead}");
        }
        let odd = PlainSegment { ack: plain.ack.add(1), ..data(2_000, 500) };
        assert!(!both(&far, odd, None));
    }
}

/// A duplicate ACK of a recovery without SACK repeats acknowledgment and window, and inflates
/// `cwnd` by a segment (RFC 5681 §3.2, step 4).
#[test]
fn a_duplicate_ack_inflates_the_window() {
    let near = in_recovery(&config("newreno"))[0].clone();
    let (plain, _) = expected_by(&near);
    let mut after = near.clone();
    assert!(after.handle_plain(at(80), plain, None));
    assert_eq!(after.cwnd() - near.cwnd(), 1_000);
    assert_eq!(after.sender.dupacks - near.sender.dupacks, 1);
    assert!(both(&near, plain, None));
    let other_window = PlainSegment { window: plain.window - 1, ..plain };
    assert!(!both(&near, other_window, None), "a window update is no duplicate ACK");
    assert!(!both(&near, PlainSegment { ack: plain.ack.add(1_000), ..plain }, None));
    let with_sack = in_recovery(&config("sack"))[0].clone();
    assert!(!both(&with_sack, expected_by(&with_sack).0, None), "with SACK there are blocks");
}

fn label(outcome: Option<Outcome>) -> &'static str {
    match outcome {
        Some(Outcome::Plain | Outcome::LastPlain | Outcome::PlainBeforeTrain) => "sent",
        Some(Outcome::Written) => "written",
        Some(Outcome::Nothing) => "nothing",
        None => "unknown",
    }
}

/// The fast path of a recovery sends full segments of new data, unless something has to be repaired
/// first.
#[test]
fn new_data_in_a_recovery() {
    let base = in_recovery(&config("sack"))[0].clone();
    let flight = base.flight_size();
    let pipe = base.sender.pipe_of(flight);
    let answer = |room: u64, queued: u64, change: Change| {
        let mut near = base.clone();
        near.sender.window.cwnd = pipe + room;
        near.sender.written = near.sender.snd_nxt + queued;
        change(&mut near);
        label(near.send_in_repair(at(70), &mut Transmit::default()))
    };
    assert_eq!(answer(1_000, 5_000, |_| ()), "sent");
    assert_eq!(answer(1_000, 1_000, |_| ()), "sent");
    assert_eq!(answer(1_000, 999, |_| ()), "unknown", "Nagle's algorithm decides");
    assert_eq!(answer(999, 5_000, |_| ()), "nothing");
    assert_eq!(answer(999, 0, |_| ()), "nothing");
    assert_eq!(answer(300, 300, |_| ()), "unknown", "all data fit");
    assert_eq!(answer(299, 300, |_| ()), "nothing");
    assert_eq!(answer(600, 5_000, |it| it.sender.max_snd_wnd = 1_200), "unknown", "half a window");
    assert_eq!(answer(599, 5_000, |it| it.sender.max_snd_wnd = 1_200), "nothing");
    assert_eq!(answer(1_000, 5_000, |it| it.sender.retransmit_first = true), "unknown");
    assert_eq!(answer(1_000, 5_000, |it| it.receiver.ack_now = true), "unknown");
    assert_eq!(answer(999, 5_000, |it| it.receiver.ack_now = true), "unknown");
    assert_eq!(answer(999, 5_000, |it| it.timers.retransmit = Time::NEVER), "unknown");
    let full = |it: &mut Connection| it.sender.snd_wnd = it.sender.flight_size() + 999;
    assert_eq!(answer(1_000, 5_000, full), "unknown", "the peer's window");
}

/// The path of `detailed_repair` sends full segments of new data while nothing has to be
/// retransmitted, or the congestion window has no room for a segment.
#[test]
fn new_data_beyond_losses() {
    let base = in_recovery(&config("linux"))[0].clone();
    let smss = u64::from(base.sender.window.smss);
    let pipe = base.sender.pipe();
    assert!(base.sender.board.lost_bytes() == 0 && base.sender.board.sacked_bytes() > 0);
    let answer = |room: u64, queued: u64, change: Change| {
        let mut near = base.clone();
        near.sender.window.cwnd = pipe + room;
        near.sender.written = near.sender.snd_nxt + queued;
        change(&mut near);
        label(near.send_beyond_losses(at(70), &mut Transmit::default()))
    };
    let lost: Change = |it| it.sender.board.mark_all_lost();
    assert_eq!(answer(smss, 5 * smss, |_| ()), "sent");
    assert_eq!(answer(smss, smss, |_| ()), "sent");
    assert_eq!(answer(smss, smss - 1, |_| ()), "unknown", "Nagle's algorithm decides");
    assert_eq!(answer(smss - 1, 5 * smss, |_| ()), "nothing");
    assert_eq!(answer(smss - 1, 0, |_| ()), "nothing");
    assert_eq!(answer(smss, 5 * smss, lost), "unknown", "lost segments come first");
    assert_eq!(answer(smss, 5 * smss, |it| it.sender.retransmit_first = true), "unknown");
    assert_eq!(answer(smss, 5 * smss, |it| it.sender.tail_probe_due = true), "unknown");
    assert_eq!(answer(smss, 5 * smss, |it| it.sender.zero_window_probe_due = true), "unknown");
    assert_eq!(answer(smss, 5 * smss, |it| it.timers.retransmit = Time::NEVER), "unknown");
    assert_eq!(answer(smss - 1, 0, |it| it.receiver.ack_now = true), "sent", "an ACK");
    assert_eq!(answer(smss, 5 * smss, |it| it.sender.snd_wnd = it.sender.flight_size()), "nothing");
}

/// The segment after which the windows have no room for another is reported as the last one. If no
/// data are left instead, only the next poll shows that there is no further segment.
#[test]
fn the_last_segment_is_reported() {
    for (written, cwnd, expected) in [
        (2_000, 9_000, [true, true]),
        (2_500, 9_000, [true, true]),
        (9_000, 2_000, [true, false]),
        (9_000, 2_600, [true, false]),
    ] {
        let mut near = open(&config("sack"))[0].clone();
        near.recompute_fast_paths();
        near.sender.window.cwnd = cwnd;
        near.write(at(40), written);
        let reports = [(); 2].map(|()| match near.send_fast(at(40)) {
            FastPathResult::Sent(plain) => plain.may_send_more,
            _ => panic!("a full segment can be sent"),
        });
        assert_eq!(reports, expected, "{written} bytes, cwnd {cwnd}");
    }
}

/// RFC 9293 §3.9.1.2: the segment with the last byte written carries PSH.
#[test]
fn the_last_segment_is_pushed() {
    for name in ["sack", "linux"] {
        let mut near = open(&config(name))[0].clone();
        let smss = u64::from(near.sender.window.smss);
        near.write(at(40), 3 * smss);
        let sent = sent_by(&mut near, at(40));
        let pushed: Vec<bool> =
            sent.iter().map(|it| it.segment.flags.contains(Flags::PSH)).collect();
        assert_eq!(pushed.last(), Some(&true), "{name}");
        assert!(name == "linux" || pushed == [false, false, true], "{pushed:?}");
    }
}

/// A sender that has sent all written data, while a write waits and the congestion window is not
/// full, is limited by its buffer (`tcp_cwnd_validate`).
#[test]
fn a_waiting_write_limits_the_sender() {
    let mut near = open(&config("linux"))[0].clone();
    near.sender.window.cwnd = 1 << 20;
    (near.sender.snd_wnd, near.sender.max_snd_wnd) = (1 << 20, 1 << 20);
    near.write(at(40), 1 << 20);
    near.recompute_fast_paths();
    let mut general = near.clone();
    general.parameters = Arc::new(Parameters { use_fast_paths: false, ..*general.parameters });
    general.recompute_fast_paths();
    let sent = [&mut near, &mut general].map(|it| sent_by(it, at(40)));
    assert!(sent[0] == sent[1] && near.sender.snd_nxt == near.sender.written);
    assert_eq!(kept(&near), kept(&general));
    let limited = [&near, &general].map(|it| it.send_buffer_limited(at(45)));
    assert_eq!(limited, [retx_units::Duration::from_millis(5); 2]);
}

/// A waiting write continues when a third of the buffer is free (`sk_stream_is_writeable`),
/// although the congestion window does not grow.
#[test]
fn an_acknowledgment_lets_a_write_continue() {
    let mut config = config("linux");
    config.send_buffer = Size::Bytes(2 * 16 * 2_304);
    config.max_cwnd = Some(Size::Bytes(12_000));
    let mut near = open(&config)[0].clone();
    near.sender.window.cwnd = 30_000;
    near.write(at(40), 100_000);
    assert_eq!(sent_by(&mut near, at(40)).len(), 30);
    near.sender.window.cwnd = 12_000;
    near.recompute_fast_paths();
    near.check_send_memory(at(60));
    let waits = |it: &Connection| it.sender.bursts.memory.expect("a buffer of Linux").write_blocked;
    assert!(waits(&near));
    let (plain, timestamps) = expected_by(&near);
    let acked = near.flight_size() as u32;
    let all = PlainSegment { ack: plain.ack.add(acked), ..plain };
    assert!(both(&near, all, timestamps));
    assert!(near.handle_plain(at(80), all, timestamps) && !waits(&near));
}
