use super::*;
use crate::loss_detection::testing;
use crate::scoreboard::Delivered;

fn state() -> State {
    let tcp = (crate::presets::find("rack").unwrap().config)();
    State::new(&Config::default(), &tcp)
}

fn ack(snd_una: u64, delivered: &Delivered) -> Ack<'_> {
    Ack { selective: Some(delivered), ..testing::ack(1, snd_una, snd_una + 10) }
}

#[test]
fn there_is_no_probe_before_one_is_sent() {
    assert_eq!(state().open_probe(), None);
}

/// §6.2, step 4: one widening per round trip, kept for sixteen recoveries, begun by loss detection
/// or by a timeout; another DSACK restarts the count.
#[test]
fn a_dsack_widens_the_window_for_sixteen_recoveries() {
    let mut state = state();
    let board = &mut Scoreboard::default();
    let twice = |dsack: bool| Delivered { dsack: dsack.then_some((1, 2)), ..Delivered::default() };
    let mut recover = |state: &mut State, una: u64, dsack: bool| {
        if una.is_multiple_of(2) {
            state.enter(Time::ZERO, una);
        } else {
            state.on_timeout(una);
        }
        state.on_ack(&ack(una, &twice(dsack)), board);
    };
    recover(&mut state, 20, true);
    assert_eq!(state.reo_wnd_mult, 2);
    // SND.UNA is still below the SND.NXT of the first DSACK, so this DSACK has no effect.
    state.adapt_to_duplicates(&ack(25, &twice(true)), false);
    assert_eq!(state.reo_wnd_mult, 2);
    state.adapt_to_duplicates(&ack(30, &twice(true)), false);
    assert_eq!(state.reo_wnd_mult, 3);
    for una in 50..60 {
        recover(&mut state, una, false);
    }
    recover(&mut state, 60, true);
    assert_eq!(state.reo_wnd_mult, 4);
    for una in 100..115 {
        recover(&mut state, una, false);
        assert_eq!(state.reo_wnd_mult, 4, "{una}");
    }
    recover(&mut state, 115, false);
    assert_eq!(state.reo_wnd_mult, 1);
}

/// Ten segments of 1000 bytes sent at once, at 0 s, in the variant `linux`.
fn linux() -> (State, Scoreboard) {
    let tcp = (crate::presets::find("linux").unwrap().config)();
    let state = State::new(&Config { variant: Variant::Linux, ..Config::default() }, &tcp);
    let mut board = Scoreboard::default();
    for segment in 0..10 {
        board.push(Time::ZERO, 1 + 1000 * segment, 1000);
    }
    (state, board)
}

fn take(state: &mut State, board: &mut Scoreboard, ms: u64, una: u64, block: (u64, u64)) {
    let mut delivered = Delivered::default();
    board.acknowledge(una, &[block], &mut delivered);
    let now = Time::ZERO + Duration::from_millis(ms);
    let seen = Ack { now, snd_max: 10_001, recovery_point: 10_001, ..ack(una, &delivered) };
    state.on_ack(&seen, board);
}

/// `tcp_check_sack_reordering`: 4000:5000 after 8000:9000 is five segments late.
#[test]
fn linux_measures_reordering_in_segments() {
    let (mut state, mut board) = linux();
    take(&mut state, &mut board, 100, 1, (7001, 8001));
    assert_eq!(state.reordering(), Some(3));
    // The deadline is RACK.rtt, a quarter of the minimum RTT, and 2 ms of slack.
    assert_eq!(state.deadline(), Time::ZERO + Duration::from_millis(127));
    take(&mut state, &mut board, 102, 1, (3001, 4001));
    assert_eq!(state.reordering(), Some(5));
}

/// The ACK of a retransmission also delivers an original: RACK.rtt is the original's 22 ms. The
/// original and SACK show reordering, so the window is a quarter of 10 ms; the timer adds 2 ms of
/// slack.
#[test]
fn linux_goes_by_the_last_segment_in_order() {
    let (mut state, mut board) = linux();
    take(&mut state, &mut board, 10, 1, (1001, 3001));
    take(&mut state, &mut board, 10, 1, (8001, 9001));
    assert_eq!(board.lost_bytes(), 6000, "all but 9001");
    board.mark_retransmitted(Time::ZERO + Duration::from_millis(10), 1);
    take(&mut state, &mut board, 22, 4001, (8001, 9001));
    assert_eq!(state.rtt, Duration::from_millis(22));
    assert_eq!(board.lost_bytes(), 4000, "9001 waits");
    assert_eq!(state.deadline(), Time::ZERO + Duration::from_micros(26_500));
}

/// RFC 5681 §4.3: the loss of a retransmission reduces the window again, but only once for the two
/// retransmissions of one recovery. Linux does not reduce it.
#[test]
fn a_lost_retransmission_is_a_second_indication_of_congestion() {
    let reactions = |mut state: State| {
        let mut board = Scoreboard::default();
        (0..10).for_each(|segment| board.push(Time::ZERO, 1 + 1000 * segment, 1000));
        let mut acked = |board: &mut Scoreboard, ms, sacked: u64| {
            let mut delivered = Delivered::default();
            board.acknowledge(1, &[(2001, 1 + 1000 * sacked)], &mut delivered);
            let seen = Ack { now: MS(ms), recovery_point: 20_001, ..ack(1, &delivered) };
            state.on_ack(&Ack { bytes_acked: 0, ..seen }, board)
        };
        let first = acked(&mut board, 100, 6);
        board.mark_retransmitted(MS(100), 1);
        board.mark_retransmitted(MS(102), 1001);
        let sent = |segment| MS(101 + 2 * (segment - 10));
        (10..13).for_each(|segment| board.push(sent(segment), 1 + 1000 * segment, 1000));
        [first, acked(&mut board, 201, 11), acked(&mut board, 203, 12), acked(&mut board, 205, 13)]
    };
    use Reaction::{NextRecovery, Nothing, SelectiveRecovery};
    assert_eq!(reactions(state()), [SelectiveRecovery, NextRecovery, Nothing, Nothing]);
    assert_eq!(reactions(linux().0), [SelectiveRecovery, Nothing, Nothing, Nothing]);
}

const MS: fn(u64) -> Time = |ms| Time::ZERO + Duration::from_millis(ms);

/// RFC 8985 §7.4.2: the episode of a probe ends with an acknowledgment beyond it, which then shows
/// a repaired loss; or with a sign that both copies arrived, which are a DSACK of the probe, or a
/// duplicate ACK without SACK information. A probe with new data repairs nothing.
#[test]
fn acknowledgments_of_a_probe() {
    let seen = |is_retransmission, snd_una, bytes_acked, has_sack, dsack_end| {
        let probe = Probe { position: 9_001, end: 10_001, is_retransmission };
        let mut state = State { probe: Some(probe), ..state() };
        let delivered = Delivered { has_sack, dsack_end, ..Delivered::default() };
        let seen = Ack { bytes_acked, ..ack(snd_una, &delivered) };
        (state.probe_repaired(&seen), state.probe.is_some())
    };
    assert_eq!(seen(true, 10_000, 1_000, false, None), (None, true), "below its end");
    assert_eq!(seen(true, 10_001, 1_000, false, None), (None, true), "the first copy");
    assert_eq!(seen(true, 10_001, 0, true, None), (None, true), "with other information");
    assert_eq!(seen(true, 10_001, 0, false, None), (None, false), "a duplicate ACK");
    assert_eq!(seen(true, 10_001, 1_000, true, Some(10_001)), (None, false), "a DSACK");
    assert_eq!(seen(true, 10_001, 1_000, true, Some(9_001)), (None, true), "of other data");
    assert_eq!(seen(true, 10_002, 1_001, false, None), (Some(9_001), false));
    assert_eq!(seen(true, 10_002, 1_001, true, Some(10_001)), (None, false));
    assert_eq!(seen(false, 10_001, 1_000, false, None), (None, false), "new data");
    assert_eq!(seen(false, 10_002, 1_001, false, None), (None, false), "new data");
}

/// RFC 8985 §7.2 and §7.3: PTO = 2·SRTT plus the allowance, or 1 s without an RTT; no probe in a
/// recovery, with selectively acknowledged data, or after another probe without a new sample.
#[test]
fn the_timeout_of_a_probe() {
    let flight = |segments, srtt_ms: Option<u64>| Flight {
        segments,
        sacked: false,
        srtt: srtt_ms.map(Duration::from_millis),
    };
    let ms = |count| Some(Duration::from_millis(count));
    assert_eq!(state().probe_timeout(&flight(5, Some(100))), ms(200));
    assert_eq!(linux().0.probe_timeout(&flight(5, Some(100))), ms(202), "two ticks");
    assert_eq!(state().probe_timeout(&flight(1, Some(100))), ms(400), "the delayed ACK");
    assert_eq!(state().probe_timeout(&flight(5, None)), ms(1_000));
    let none = |state: State| state.probe_timeout(&flight(5, Some(100))).is_none();
    assert!(none(State { in_recovery: true, ..state() }));
    assert!(none(State { sampled_since_probe: false, ..state() }));
    let probe = Some(Probe { position: 1, end: 2, is_retransmission: false });
    assert!(none(State { probe, ..state() }));
    let sacked = Flight { sacked: true, ..flight(5, Some(100)) };
    assert_eq!(state().probe_timeout(&sacked), None);
}

/// A duplicate ACK stands for an arrival: in a recovery below `recover`; after a timeout only if
/// data were sent since (F-RTO, RFC 5682 §2.1); otherwise always.
#[test]
fn duplicates_that_stand_for_an_arrival() {
    let at = |in_recovery, in_timeout_recovery, snd_una, snd_max| {
        let state = State { in_recovery, in_timeout_recovery, recover: 5_001, ..state() };
        state.dupack_is_arrival(snd_una, snd_max)
    };
    let in_recovery = [5_000, 5_001, 5_002].map(|snd_una| at(true, false, snd_una, 9_001));
    assert_eq!(in_recovery, [true, false, false]);
    let after_timeout = [(5_000, 5_001), (5_000, 5_002), (5_001, 5_002), (5_002, 5_002)];
    let after_timeout = after_timeout.map(|(snd_una, snd_max)| at(false, true, snd_una, snd_max));
    assert_eq!(after_timeout, [false, true, false, true]);
    assert_eq!([5_000, 5_001].map(|snd_una| at(false, false, snd_una, 5_001)), [true; 2]);
}

/// RFC 8985 §6.2, step 4: the window is 0 until reordering was seen, in a recovery, after a
/// timeout, or with DupThresh segments selectively acknowledged. Otherwise it is a quarter of the
/// minimum RTT, but at most SRTT.
#[test]
fn the_window_without_reordering() {
    let window = |in_recovery, in_timeout_recovery, sacked: u64, reordering_seen, srtt| {
        let mut state = State {
            in_recovery,
            in_timeout_recovery,
            reordering_seen,
            min_rtt: Duration::from_millis(100),
            ..state()
        };
        let mut board = Scoreboard::default();
        (0..10).for_each(|n| board.push(Time::ZERO, 1 + 1_000 * n, 1_000));
        let end = 5_001 + 1_000 * sacked;
        board.acknowledge(1, &[(5_001, end)], &mut Delivered::default());
        let srtt = Some(Duration::from_millis(srtt));
        state.look_for_losses(&Ack { srtt, ..testing::ack(0, 1, 10_001) }, &mut board);
        state.window.as_nanos() / 1_000_000
    };
    assert_eq!(window(false, false, 2, false, 100), 25);
    assert_eq!(window(false, false, 2, false, 20), 20, "at most SRTT");
    assert_eq!(window(false, false, 3, false, 100), 0);
    assert_eq!(window(true, false, 2, false, 100), 0);
    assert_eq!(window(false, true, 2, false, 100), 0);
    assert_eq!(window(true, true, 3, true, 100), 25, "reordering was seen");
}

/// A retransmission that is acknowledged sooner than the minimum RTT does not count (RFC 8985 §6.2,
/// step 2). In Linux the ACK's own sample does not count yet for that minimum
/// (`tcp_rack_advance`), unless it is the first. The retransmission took 60 ms here, the sample of
/// the same ACK is 50 ms.
#[test]
fn a_retransmission_acknowledged_too_soon_does_not_count() {
    let counts = |variant, known_ms: Option<u64>| {
        let min_rtt = known_ms.map_or(Duration::MAX, Duration::from_millis);
        let config = Config { variant, ..Config::default() };
        let mut state = State { config, min_rtt, ..state() };
        let newest = Newest { sent: MS(40), end: 1_001, retransmitted: true };
        let delivered = Delivered { newest: Some(newest), ..Delivered::default() };
        let least_rtt = Duration::from_millis(50);
        let seen = Ack { now: MS(100), least_rtt, ..ack(1_001, &delivered) };
        state.note_delivery(&seen, &Scoreboard::default());
        state.newest.is_some()
    };
    let known = [None, Some(60), Some(61)];
    assert_eq!(known.map(|ms| counts(Variant::Linux, ms)), [true, true, false]);
    assert_eq!(known.map(|ms| counts(Variant::Rfc8985, ms)), [true; 3]);
}

/// `tcp_set_xmit_timer`: without a delivery, an ACK of new data replaces the reordering timer; a
/// duplicate leaves it.
#[test]
fn linux_keeps_the_reordering_timer_at_a_duplicate() {
    let deadline = |bytes_acked| {
        let (mut state, mut board) = linux();
        state.reordering_deadline = MS(50);
        state.look_for_losses(&testing::ack(bytes_acked, 1, 10_001), &mut board);
        state.reordering_deadline
    };
    assert_eq!([0, 1].map(deadline), [MS(50), Time::NEVER]);
}

/// The fast path for arrivals in order is open only if such an arrival changes nothing except the
/// record of the newest delivery.
#[test]
fn only_a_quiet_state_takes_arrivals_in_order() {
    let probe = Some(Probe { position: 1, end: 2, is_retransmission: false });
    assert!(state().only_records_delivery());
    assert!(!State { in_recovery: true, ..state() }.only_records_delivery());
    assert!(!State { in_timeout_recovery: true, ..state() }.only_records_delivery());
    assert!(!State { probe, ..state() }.only_records_delivery());
    assert!(!State { reordering_deadline: MS(1), ..state() }.only_records_delivery());
    let (mut state, _) = linux();
    assert!(state.only_records_delivery());
    // A DSACK waits for an ACK that delivers data.
    let delivered = Delivered { dsack: Some((1, 2)), ..Delivered::default() };
    state.adapt_as_linux(&ack(1, &delivered), true, false);
    assert!(!state.only_records_delivery());
}

/// RFC 8985 §5.2: of two segments sent at the same time, the higher one counts as sent later.
#[test]
fn in_order_the_last_segment_sent_is_the_newest() {
    let next = |sent: u64, end| NextAck {
        now: MS(100),
        srtt: None,
        least_rtt: Duration::MAX,
        has_rtt_sample: false,
        sent: MS(sent),
        end,
    };
    let mut state = state();
    let newest = [(10, 1_001), (10, 2_001), (9, 3_001), (11, 1_501)].map(|(sent, end)| {
        state.note_next(&next(sent, end));
        state.newest.map(|newest| newest.end)
    });
    assert_eq!(newest, [Some(1_001), Some(2_001), Some(2_001), Some(1_501)]);
    // `tcp_rack_update_reo_wnd`: a widened window is kept until the count of recoveries is 0.
    let mult = |reo_wnd_persist| {
        let (state, _) = linux();
        let mut state = State { reo_wnd_mult: 5, reo_wnd_persist, ..state };
        state.note_next(&next(10, 1_001));
        state.reo_wnd_mult
    };
    assert_eq!([0, 1].map(mult), [1, 5]);
}

/// Reordering is tolerated once `tp->reordering` exceeds its initial value, 3.
#[test]
fn more_reordering_than_the_first_dupthresh_is_tolerated() {
    let tolerant = |reordering| State { reordering, ..state() }.is_tolerant();
    assert_eq!([2, 3, 4].map(tolerant), [false, false, true]);
}

/// The reordering timer starts a recovery, unless one is in progress.
#[test]
fn the_reordering_timer_starts_a_recovery() {
    let reaction = |in_recovery| {
        let (mut state, mut board) = linux();
        take(&mut state, &mut board, 100, 1, (7_001, 8_001));
        state.in_recovery = in_recovery;
        let reaction = state.on_deadline(state.deadline(), 10_001, &mut board);
        assert_eq!((board.lost_bytes(), state.deadline()), (7_000, Time::NEVER));
        reaction
    };
    assert_eq!([false, true].map(reaction), [Reaction::SelectiveRecovery, Reaction::Nothing]);
}

fn reaction(state: &mut State, board: &mut Scoreboard, ms: u64, block: (u64, u64)) -> Reaction {
    let mut delivered = Delivered::default();
    board.acknowledge(1, &[block], &mut delivered);
    let seen = Ack { now: MS(ms), snd_max: 10_001, recovery_point: 10_001, ..ack(1, &delivered) };
    state.on_ack(&seen, board)
}

/// After a timeout, new losses of data sent before it belong to its repair; a lost retransmission
/// (`FLAG_LOST_RETRANS`) begins a recovery.
#[test]
fn a_lost_retransmission_ends_the_repair_after_a_timeout() {
    let (mut state, mut board) = linux();
    state.on_timeout(10_001);
    let first = reaction(&mut state, &mut board, 100, (7_001, 8_001));
    assert_eq!((first, board.lost_bytes()), (Reaction::Nothing, 7_000));
    board.mark_retransmitted(MS(100), 1);
    board.push(MS(150), 10_001, 1_000);
    let second = reaction(&mut state, &mut board, 250, (10_001, 11_001));
    assert_eq!(second, Reaction::SelectiveRecovery);
}

/// `tcp_time_to_recover`: outside recoveries, a segment that is already marked lost suffices to
/// begin one.
#[test]
fn a_marked_segment_starts_a_recovery_in_linux() {
    let begins = |marked: bool| {
        let (mut state, mut board) = linux();
        if marked {
            board.mark_first_lost();
        }
        reaction(&mut state, &mut board, 100, (9_001, 10_001))
    };
    assert_eq!([false, true].map(begins), [Reaction::Nothing, Reaction::SelectiveRecovery]);
}

/// RFC 8985 §6.3: after a timeout the segments older than RACK.rtt plus the window are lost; in
/// Linux (`tcp_timeout_mark_lost`) those older than RACK.rtt.
#[test]
fn the_age_of_lost_segments_at_a_timeout() {
    let age = |variant| {
        let (rtt, window) = (Duration::from_millis(100), Duration::from_millis(25));
        let config = Config { variant, ..Config::default() };
        State { config, rtt, window, ..state() }.loss_age_at_timeout()
    };
    let ages = [Variant::Rfc8985, Variant::Linux].map(age);
    assert_eq!(ages, [125, 100].map(Duration::from_millis));
}
