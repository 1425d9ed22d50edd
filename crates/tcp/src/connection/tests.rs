//! Rules of the whole connection, each at its boundaries.

use super::testing::{at, config, in_recovery, open, pass, sent_by, with_flight};
use super::{Connection, Limit, Parameters, State, fast_path::Sending};
use crate::memory::SMALLEST_PACKET;
use crate::{Config, send_memory};
use retx_units::Duration;
use retx_wire::{Flags, Segment};

/// Connection with these numbers of bytes queued and in flight, and these windows.
fn sender(queued: u64, flight: u64, snd_wnd: u64, cwnd: u64) -> Connection {
    let mut near = open(&config("sack"))[0].clone();
    let sender = &mut near.sender;
    sender.snd_una = 5_001;
    sender.snd_nxt = 5_001 + flight;
    sender.snd_max = sender.snd_nxt;
    sender.written = sender.snd_nxt + queued;
    sender.snd_wnd = snd_wnd;
    sender.window.cwnd = cwnd;
    near
}

/// A window is the limit if it has no room for the next segment: a full one, or the remaining data.
#[test]
fn the_narrower_window_limits() {
    for (queued, snd_wnd, cwnd, expected) in [
        (0, 9_000, 9_000, Limit::Data),
        (0, 5_000, 5_000, Limit::Data),
        (1_000, 5_999, 9_000, Limit::ReceiveWindow),
        (1_000, 5_999, 5_999, Limit::ReceiveWindow),
        (1_000, 6_000, 5_999, Limit::CongestionWindow),
        (1_000, 6_000, 6_000, Limit::Deferral),
        (4_000, 5_999, 9_000, Limit::ReceiveWindow),
        (4_000, 6_000, 5_999, Limit::CongestionWindow),
        (4_000, 6_000, 6_000, Limit::Deferral),
        (400, 5_399, 9_000, Limit::ReceiveWindow),
        (400, 5_400, 5_399, Limit::CongestionWindow),
        (400, 5_400, 5_400, Limit::Nagle),
        (999, 9_000, 9_000, Limit::Nagle),
    ] {
        for path in [Sending::Plain, Sending::Detailed, Sending::DetailedRepair, Sending::General] {
            let mut near = sender(queued, 5_000, snd_wnd, cwnd);
            near.fast_paths.sending = path;
            // A plain sender does not defer bursts: a full segment never waits there.
            let expected = match expected {
                Limit::Deferral if path == Sending::Plain => Limit::Nagle,
                other => other,
            };
            assert_eq!(near.limit(at(90)), expected, "{path:?} {queued} {snd_wnd} {cwnd}");
        }
    }
}

#[test]
fn states_and_recoveries_limit() {
    let limit = |state, queued, change: fn(&mut Connection)| {
        let mut near = sender(queued, 5_000, 9_000, 5_999);
        near.fast_paths.sending = Sending::General;
        near.state = state;
        change(&mut near);
        near.limit(at(90))
    };
    for state in [State::Listen, State::SynSent, State::SynReceived] {
        assert_eq!(limit(state, 1_000, |_| ()), Limit::Handshake);
    }
    assert_eq!(limit(State::Closed, 1_000, |_| ()), Limit::Data);
    assert_eq!(limit(State::CloseWait, 1_000, |_| ()), Limit::CongestionWindow);
    let after_timeout = |it: &mut Connection| it.sender.timeout_recovery_end = 1;
    assert_eq!(limit(State::Established, 0, after_timeout), Limit::CongestionWindow);
    assert_eq!(limit(State::Established, 0, |_| ()), Limit::Data);
    let fin = |it: &mut Connection| {
        it.sender.fin_queued = true;
        it.sender.window.cwnd = 9_000;
    };
    assert_eq!(limit(State::Established, 0, fin), Limit::Nagle, "only the FIN is left");
}

/// A lost segment waits for room in the congestion window, not for the peer's window.
#[test]
fn a_repair_waits_for_room() {
    let ([mut near, mut far], sent) = with_flight(&config("sack"));
    for transmit in &sent[1..] {
        far.handle_packet(at(50), &transmit.segment, transmit.ecn);
        pass(at(50), &mut far, at(60), &mut near);
    }
    assert!(near.sender.board.lost_bytes() > 0 && near.in_recovery());
    let pipe = near.pipe();
    assert_eq!(pipe, 0, "one segment is lost, and nine have arrived");
    near.sender.snd_wnd = near.flight_size();
    near.fast_paths.sending = Sending::General;
    let limit = |room, change: fn(&mut Connection)| {
        let mut near = near.clone();
        near.sender.window.cwnd = pipe + room;
        change(&mut near);
        near.limit(at(60))
    };
    assert_eq!(
        [999, 1_000].map(|room| limit(room, |_| ())),
        [Limit::Recovery, Limit::ReceiveWindow]
    );
    let other = |change| limit(999, change);
    assert_eq!(other(|it| it.sender.repair.defers_marking = true), Limit::ReceiveWindow);
    assert_eq!(other(|it| it.sender.board = crate::lazy::Lazy::NONE), Limit::ReceiveWindow);
    assert!(near.is_in_unpaced_recovery() && !open(&config("sack"))[0].is_in_unpaced_recovery());
    near.sender.pacer = Some(Box::default());
    assert!(!near.is_in_unpaced_recovery(), "paced");
}

#[test]
fn a_full_segment_fits() {
    let near = sender(1_000, 5_000, 6_000, 6_000);
    assert!(near.has_full_segment() && !sender(999, 5_000, 6_000, 6_000).has_full_segment());
    assert_eq!(
        [4_999, 5_000, 5_001].map(|flight| near.fits_peer_window(flight)),
        [true, true, false]
    );
    assert_eq!([4_999, 5_000, 5_001].map(|pipe| near.fits_cwnd(pipe)), [true, true, false]);
    assert!(!near.waits_for_cwnd() && sender(1_000, 5_000, 6_000, 5_999).waits_for_cwnd());
    assert!(sender(1_000, 5_000, 6_000, 4_000).waits_for_cwnd());
    let mut recovering = in_recovery(&config("sack"))[0].clone();
    recovering.sender.window.cwnd = 0;
    assert!(!recovering.waits_for_cwnd(), "a recovery is no wait for the window");
}

/// The smoothed RTT is compared with 3/2 of the minimum RTT.
#[test]
fn segments_wait_in_queues_at_one_and_a_half_times_the_least_rtt() {
    let mut near = open(&config("sack"))[0].clone();
    let srtt = near.srtt().expect("a handshake gives a sample").as_nanos();
    assert_eq!(srtt, 20_000_000);
    let waits = [6, 13, 14, 20].map(|ms| {
        near.sender.least_rtt = Duration::from_millis(ms);
        near.waits_in_queues()
    });
    assert_eq!(waits, [true, true, false, false]);
}

#[test]
fn accessors_report_the_state() {
    let ([mut near, mut far], sent) = with_flight(&config("sack"));
    assert_eq!((near.unacknowledged(), near.flight_size(), near.pipe()), (100_000, 10_000, 10_000));
    assert!(
        near.is_established()
            && !Connection::connect(&config("sack"), far.seq_at(0)).is_established()
    );
    assert_eq!(Connection::connect(&config("sack"), far.seq_at(0)).unacknowledged(), 0);
    // The second and third of four segments are missing at the other end.
    for index in [0, 3] {
        far.handle_packet(at(50), &sent[index].segment, sent[index].ecn);
    }
    pass(at(50), &mut far, at(60), &mut near);
    assert_eq!((far.rcv_nxt(), far.last_ack_sent(), far.readable()), (1_001, 1_001, 1_000));
    assert_eq!(far.rcv_wnd(), far.receiver.right_edge - 1_001);
    let received = [(1, 1_001), (1, 1_002), (1_001, 2_001), (3_001, 4_001), (3_000, 4_001)];
    assert_eq!(
        received.map(|(from, to)| far.has_received(from, to)),
        [true, false, false, true, false]
    );
    assert_eq!(far.first_missing(1, 9_001), Some((1_001, 3_001)));
    assert_eq!(far.first_missing(1_500, 9_001), Some((1_500, 3_001)));
    assert_eq!(far.first_missing(3_001, 4_001), None);
    assert_eq!((near.unacknowledged(), near.pipe()), (99_000, 8_000));
    assert!(!near.in_recovery() && !near.uses_ecn());
    assert_eq!(near.open_probe(), None);
    near.close();
    assert_eq!(near.unacknowledged(), 99_000, "a FIN is no byte");
}

#[test]
fn events_are_announced() {
    let mut near = open(&config("sack"))[0].clone();
    assert!(!near.has_events());
    near.abort();
    assert!(near.has_events() && near.poll_event().is_some() && !near.has_events());
}

/// RFC 9293 §3.10.7.1: a closed endpoint answers with a reset. Its sequence number is the segment's
/// acknowledgment number; if there is none, the reset acknowledges the segment.
#[test]
fn a_closed_endpoint_refuses() {
    let mut near = open(&config("sack"))[0].clone();
    near.state = State::Closed;
    let seq = near.rcv_nxt_seq();
    let answer = |flags, payload_bytes| {
        let mut near = near.clone();
        let ack = seq.add(77);
        near.handle_segment(
            at(90),
            &Segment { seq, ack, flags, payload_bytes, ..Segment::default() },
        );
        near.poll_transmit(at(90)).map(|it| (it.segment.seq, it.segment.ack, it.segment.flags))
    };
    let none = Segment::default();
    assert_eq!(answer(Flags::ACK, 5), Some((seq.add(77), none.ack, Flags::RST)));
    assert_eq!(answer(Flags::SYN, 5), Some((none.seq, seq.add(6), Flags::RST.with(Flags::ACK))));
    assert_eq!(answer(Flags::RST.with(Flags::ACK), 0), None);
}

/// RFC 9293 §3.10.5: the reset of an abort follows the data sent, and acknowledges what arrived.
#[test]
fn an_abort_sends_a_reset() {
    for state in [State::Established, State::FinWait1, State::FinWait2, State::CloseWait] {
        let ([_, mut far], sent) = with_flight(&config("sack"));
        far.handle_packet(at(50), &sent[0].segment, sent[0].ecn);
        far.state = state;
        far.abort();
        let reset = far.poll_transmit(at(60)).expect("a reset").segment;
        assert_eq!(reset.flags, Flags::RST.with(Flags::ACK));
        assert_eq!((reset.seq, reset.ack), (far.seq_at(1), sent[1].segment.seq));
    }
}

/// A sender is not at rest while data, a FIN or a retransmission are to be sent.
#[test]
fn a_sender_at_rest_has_nothing_to_send() {
    let base = open(&config("sack"))[0].clone();
    let rests = |change: fn(&mut Connection)| {
        let mut near = base.clone();
        change(&mut near);
        near.sender.is_quiescent()
    };
    assert!(rests(|_| ()));
    assert!(rests(|it| it.sender.pacer = Some(Box::default())), "paced, but nothing was sent");
    let changes: [fn(&mut Connection); 5] = [
        |it| it.sender.tail_probe_due = true,
        |it| it.sender.retransmit_first = true,
        |it| (it.sender.tail_probe_due, it.sender.retransmit_first) = (true, true),
        |it| it.sender.written += 1,
        |it| it.sender.fin_queued = true,
    ];
    for (index, change) in changes.into_iter().enumerate() {
        assert!(!rests(change), "{index}");
    }
}

/// RFC 5681 §3.1: a lost SYN reduces the initial window to a segment. Linux (`tcp_init_transfer`)
/// does this from the second timeout of the SYN on.
#[test]
fn a_lost_syn_narrows_the_window() {
    let cwnd = |lost_syn, retransmissions, timed_out| {
        let mut near = open(&config("sack"))[0].clone();
        near.parameters = Parameters { lost_syn, ..*near.parameters }.into();
        near.sender.syn_retransmissions = retransmissions;
        near.sender.repair.syn_timed_out = timed_out;
        near.sender.initialize_cwnd(&near.parameters);
        near.cwnd()
    };
    use crate::LostSyn::{First, Second};
    assert_eq!([0, 1, 2].map(|count| cwnd(First, count, true)), [10_000, 1_000, 1_000]);
    assert_eq!([0, 1, 2, 3].map(|count| cwnd(Second, count, true)), [10_000, 10_000, 1_000, 1_000]);
    assert_eq!(cwnd(Second, 2, false), 10_000, "an echo showed that the SYN was not lost");
}

/// Room that `cwnd` leaves. Limited transmit adds segments of new data (RFC 3042 §2), and F-RTO
/// permits at least one segment.
#[test]
fn credit_adds_to_the_window() {
    let room = |change: fn(&mut Connection)| {
        let mut near = sender(9_000, 5_000, 90_000, 5_300);
        change(&mut near);
        near.sender.available_cwnd()
    };
    assert_eq!(room(|_| ()), 300);
    assert_eq!(room(|it| it.sender.limited_credit = 2), 2_300);
    let again = |it: &mut Connection| {
        it.sender.limited_credit = 2;
        it.sender.snd_max += 1;
    };
    assert_eq!(room(again), 300, "only new data have credit");
    assert_eq!(room(|it| it.sender.frto_segments = 1), 1_000);
    assert_eq!(room(|it| (it.sender.frto_segments, it.sender.window.cwnd) = (1, 7_000)), 2_000);
}

/// The buffer holds what is written and not acknowledged; SYN and FIN take no room in it.
#[test]
fn the_send_buffer_is_filled_to_its_size() {
    let mut near = open(&config("sack"))[0].clone();
    let mut fill = |bytes, buffer| near.sender.write(bytes, buffer);
    assert_eq!([fill(3_000, 5_000), fill(3_000, 5_000), fill(1, 5_000)], [3_000, 2_000, 0]);
    assert_eq!([fill(0, 9_000), fill(9_000, 4_000)], [0, 0]);
}

/// Memory: bytes not acknowledged, and the overhead of a packet for each burst in flight and each
/// block that waits.
#[test]
fn blocks_take_memory() {
    let mut near = open(&config("sack"))[0].clone();
    near.sender.max_snd_wnd = 10_000;
    let taken = |near: &Connection, written: u64| {
        let mut sender = near.sender.clone();
        sender.written = 1 + written;
        sender.memory_taken()
    };
    // Half of the peer's window, in whole segments: blocks of 5000 bytes.
    assert_eq!(near.block_bytes(), 5_000);
    assert_eq!(taken(&near, 0), 0);
    assert_eq!(taken(&near, 5_000), 5_000 + SMALLEST_PACKET);
    assert_eq!(taken(&near, 5_001), 5_001 + 2 * SMALLEST_PACKET);
    near.sender.snd_una = 4_001;
    near.sender.snd_nxt = 4_001;
    near.sender.snd_max = 4_001;
    assert_eq!(taken(&near, 9_000), 5_000 + SMALLEST_PACKET);
}

/// `tcp_sndbuf_expand`: room for twice the window (three times with a model), but at least for one
/// segment more than the reordering.
#[test]
fn the_send_buffer_follows_the_window() {
    let wanted = |timestamps, cwnd, model: bool| {
        let mut near = open(&config("sack"))[0].clone();
        near.timestamps = timestamps;
        near.sender.window.cwnd = cwnd;
        near.sender.model_inputs = model.then(Box::default);
        near.wanted_send_memory()
    };
    assert_eq!(wanted(false, 40_999, false), send_memory::sndbuf_target(2, 40, 1_000));
    assert_eq!(wanted(true, 40_000, false), send_memory::sndbuf_target(2, 40, 1_012));
    assert_eq!(wanted(false, 40_000, true), send_memory::sndbuf_target(3, 40, 1_000));
    let mut near = open(&config("sack"))[0].clone();
    near.parameters = Parameters { dupack_threshold: 60, ..*near.parameters }.into();
    assert_eq!(near.wanted_send_memory(), send_memory::sndbuf_target(2, 61, 1_000));
}

/// RFC 9293 §3.8.6.2.1, silly window avoidance of the sender, and Nagle's algorithm.
#[test]
fn short_segments_wait() {
    let sendable = |(queued, flight, window), change: fn(&mut Connection)| {
        let mut near = sender(queued, flight, flight + window, 90_000);
        near.sender.max_snd_wnd = 1_600;
        change(&mut near);
        near.sendable(at(90))
    };
    let nothing: fn(&mut Connection) = |_| ();
    assert_eq!(sendable((1_000, 5_000, 9_000), nothing), Some(1_000), "full");
    assert_eq!(sendable((999, 5_000, 9_000), nothing), None, "Nagle");
    assert_eq!(sendable((999, 0, 9_000), nothing), Some(999), "nothing in flight");
    assert_eq!(sendable((999, 0, 0), nothing), None);
    assert_eq!(sendable((0, 0, 0), |it| it.sender.fin_queued = true), None, "no window");
    assert_eq!(sendable((0, 0, 1), |it| it.sender.fin_queued = true), Some(0), "a FIN alone");
    let fin = |it: &mut Connection| it.sender.fin_queued = true;
    assert_eq!(sendable((999, 5_000, 9_000), fin), Some(999), "the last data, with a FIN");
    let no_nagle = |it: &mut Connection| it.set_nagle(false);
    assert_eq!(sendable((999, 5_000, 9_000), no_nagle), Some(999));
    // A segment of half of the largest window (800 bytes) is sent; with Nagle's algorithm only if
    // nothing is in flight.
    assert_eq!(sendable((5_000, 0, 799), nothing), None);
    assert_eq!(sendable((5_000, 0, 800), nothing), Some(800));
    assert_eq!(sendable((5_000, 5_000, 800), nothing), None);
    assert_eq!(sendable((5_000, 5_000, 800), no_nagle), Some(800));
    assert_eq!(sendable((5_000, 5_000, 799), no_nagle), None);
    // Minshall: a short segment waits only for another short one.
    let minshall = |it: &mut Connection| {
        it.parameters = Parameters { minshall: true, ..*it.parameters }.into();
        it.sender.bursts.short_end = it.sender.snd_una;
    };
    assert_eq!(sendable((999, 5_000, 9_000), minshall), Some(999));
    assert_eq!(sendable((5_000, 5_000, 800), minshall), Some(800));
    let short = |it: &mut Connection| {
        it.parameters = Parameters { minshall: true, ..*it.parameters }.into();
        it.sender.bursts.short_end = it.sender.snd_una + 1;
    };
    assert_eq!(sendable((999, 5_000, 9_000), short), None);
    // Requests of the application.
    assert_eq!(sendable((999, 0, 9_000), |it| it.set_cork(true)), None, "corked");
    let uncorked = |it: &mut Connection| {
        it.set_cork(true);
        it.push();
    };
    assert_eq!(sendable((999, 5_000, 9_000), uncorked), Some(999), "pushed");
    assert_eq!(sendable((999, 0, 9_000), uncorked), Some(999));
    let record = |it: &mut Connection| {
        it.end_record();
        it.sender.written += 5_000;
    };
    assert_eq!(sendable((300, 5_000, 9_000), record), Some(300), "a record ends a segment");
}

/// RFC 9293 §3.9.1.2: PSH on the last data written, unless the application has announced more.
#[test]
fn the_last_data_are_pushed() {
    let pushed = |write: fn(&mut Connection)| {
        let mut near = open(&Config { nagle: false, ..config("sack") })[0].clone();
        write(&mut near);
        let sent = sent_by(&mut near, at(40));
        sent.iter().map(|it| it.segment.flags.contains(Flags::PSH)).collect::<Vec<_>>()
    };
    assert_eq!(pushed(|it| assert_eq!(it.write(at(40), 2_500), 2_500)), [false, false, true]);
    assert_eq!(pushed(|it| assert_eq!(it.write_with_more(at(40), 2_000), 2_000)), [false, false]);
    assert_eq!(pushed(|it| assert_eq!(it.write_with_more(at(40), 2_500), 2_500)), [false, false]);
}

/// The timestamp clock ticks every millisecond, and never shows 0. An echo of 0, or one from the
/// future, gives no sample.
#[test]
fn echoes_are_measured_on_the_clock() {
    let near = open(&config("linux"))[0].clone();
    assert_eq!([0, 1, 70].map(|ms| near.timestamp(at(ms))), [1, 2, 71]);
    let rtt = |echo| near.rtt_of_echo(at(70), echo).map(|rtt| rtt.as_nanos() / 1_000_000);
    assert_eq!([0, 1, 61, 71, 72].map(rtt), [None, Some(70), Some(10), Some(0), None]);
}
