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

/// §6.2, step 4: one widening per round trip, kept for sixteen recoveries of either kind;
/// another DSACK restarts the count.
#[test]
fn a_dsack_widens_the_window_for_sixteen_recoveries() {
    let mut state = state();
    let board = &mut Scoreboard::default();
    let twice = |dsack: bool| Delivered { dsack: dsack.then_some((1, 2)), ..Delivered::default() };
    let mut recover = |state: &mut State, una: u64, dsack: bool| {
        if una.is_multiple_of(2) {
            state.enter(una);
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
    // RACK.rtt, a quarter of the minimum RTT, and 2 ms of slack.
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
