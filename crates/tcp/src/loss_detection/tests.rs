use super::*;

/// Algorithm with its default parameters, on a connection with DupThresh 3.
fn detector(name: &str) -> State {
    let config: Config = serde_json::from_value(name.into()).expect("a registered name");
    config.build(&(crate::presets::find("reno").expect("a preset").config)())
}

/// Passes duplicate ACKs of this position to an algorithm, on a connection without SACK, with
/// 10,000 bytes sent.
fn duplicates<const N: usize>(state: &mut State, snd_una: u64) -> [Reaction; N] {
    let board = &mut Scoreboard::default();
    [(); N].map(|()| state.on_ack(&testing::ack(0, snd_una, 10_001), board))
}

/// Names of the algorithms for which `test` returns true.
fn all(test: impl Fn(&str) -> bool) -> Vec<&'static str> {
    Config::NAMES.iter().copied().filter(|name| test(name)).collect()
}

/// Parts that the papers and RFCs give to each algorithm: SACK belongs to `sack` and `rack`; the
/// order of transmission and proportional rate reduction to `rack` (RFC 8985, RFC 9937), `NextSeg`
/// rules 3 and 4 to `sack` (RFC 6675 §4); only `rack` measures reordering and has timers of its
/// own.
#[test]
fn each_algorithm_has_the_parts_of_its_source() {
    assert_eq!(all(|name| detector(name).is_selective()), ["sack", "rack"]);
    assert_eq!(all(|name| detector(name).reads_times()), ["rack"]);
    assert_eq!(all(|name| detector(name).proportional_rate_reduction()), ["rack"]);
    assert_eq!(all(|name| detector(name).guesses()), ["sack"]);
    assert_eq!(all(|name| detector(name).counts_duplicate(1, 10_001)), ["rack"]);
    assert_eq!(all(|name| detector(name).reordering() == Some(3)), ["rack"]);
    assert_eq!(all(|name| detector(name).reordering().is_some()), ["rack"]);
    assert!(all(|name| detector(name).as_linux()).is_empty());
    assert!(all(|name| detector(name).is_tolerant()).is_empty());
    assert!(all(|name| detector(name).deadline() != Time::NEVER).is_empty());
    let flight = Flight { segments: 5, sacked: false, srtt: None };
    assert_eq!(all(|name| detector(name).probe_timeout(&flight).is_some()), ["rack"]);
    let probe = Probe { position: 9_001, end: 10_001, is_retransmission: true };
    let open = |name: &str, probe| {
        let mut state = detector(name);
        assert_eq!(state.open_probe(), None);
        state.on_probe_sent(probe);
        state.open_probe()
    };
    assert_eq!(all(|name| open(name, probe) == Some(9_001)), ["rack"]);
    let of_new_data = Probe { is_retransmission: false, ..probe };
    assert!(all(|name| open(name, of_new_data).is_some()).is_empty());
}

/// A new connection has nothing to repair. The general path is needed always by `rack`, and by the
/// others while duplicate ACKs are counted.
#[test]
fn an_algorithm_rests_while_no_duplicate_is_counted() {
    let without_rack = ["timeout_only", "tahoe", "reno", "newreno", "sack"];
    assert_eq!(all(|name| detector(name).ignores_new_data_ack()), without_rack);
    assert_eq!(all(|name| detector(name).ignores_data_acked_in_order()), Config::NAMES);
    assert!(all(|name| detector(name).in_recovery()).is_empty());
    assert!(all(|name| detector(name).left_timer_running()).is_empty());
    for selective in [false, true] {
        assert!(all(|name| detector(name).only_repairs(selective)).is_empty());
    }
    let after_one = |name: &str| {
        let mut state = detector(name);
        _ = duplicates::<1>(&mut state, 1);
        state
    };
    assert_eq!(all(|name| after_one(name).ignores_new_data_ack()), ["timeout_only"]);
    // `rack` without SACK has a state of NewReno, but the fast path is for connections with SACK.
    let in_order = all(|name| name != "rack" && after_one(name).ignores_data_acked_in_order());
    assert_eq!(in_order, ["timeout_only"]);
}

/// RFC 5681 §3.2: the third duplicate starts a fast recovery, which an undo ends. Tahoe has none.
#[test]
fn the_third_duplicate_starts_a_recovery_that_an_undo_ends() {
    let after_three = |name: &str| {
        let mut state = detector(name);
        _ = duplicates::<3>(&mut state, 1);
        state
    };
    let recovering = ["reno", "newreno", "sack", "rack"];
    assert_eq!(all(|name| after_three(name).in_recovery()), recovering);
    assert_eq!(all(|name| after_three(name).only_repairs(false)), ["reno", "newreno", "sack"]);
    let after_undo = |name: &str| {
        let mut state = after_three(name);
        state.on_undo();
        state.in_recovery()
    };
    assert!(all(after_undo).is_empty());
}

/// RFC 6582 §3.2, step 1, also for Tahoe (as in ns-2) and Reno (`recover_test`): duplicate ACKs of
/// data sent before a timeout show no loss.
#[test]
fn duplicates_of_data_sent_before_a_timeout_show_no_loss() {
    for name in Config::NAMES {
        let mut state = detector(name);
        _ = duplicates::<2>(&mut state, 5_001);
        state.on_timeout(10_001);
        let reactions = duplicates::<4>(&mut state, 5_001);
        assert_eq!(reactions[2..], [Reaction::Nothing; 2], "{name}");
        assert!(!state.in_recovery(), "{name}");
    }
}

/// RFC 6582 §4: the impatient variant restarts the timer only for the first partial ACK, the slow
/// but steady one for each. `sack` and `rack` are the impatient NewReno if the peer has no SACK;
/// Reno's recovery ends with the first partial ACK.
#[test]
fn only_the_first_partial_ack_restarts_the_timer() {
    let partial = |state: &mut State, snd_una| {
        let ack = testing::ack(1_000, snd_una, 10_001);
        let reaction = state.on_ack(&ack, &mut Scoreboard::default());
        (reaction, state.left_timer_running())
    };
    let of_partial = |restart_timer| (Reaction::PartialAck { restart_timer }, !restart_timer);
    for name in ["newreno", "sack", "rack"] {
        let mut state = detector(name);
        _ = duplicates::<3>(&mut state, 1);
        let seen = [1_001, 2_001, 3_001].map(|snd_una| partial(&mut state, snd_una));
        assert_eq!(seen, [true, false, false].map(of_partial), "{name}");
        assert_eq!(partial(&mut state, 10_001), (Reaction::EndRecovery, false), "{name}");
    }
    let steady = serde_json::json!({ "name": "newreno", "timer": "slow_but_steady" });
    let config: Config = serde_json::from_value(steady).expect("a variant");
    let mut state = config.build(&(crate::presets::find("reno").expect("a preset").config)());
    _ = duplicates::<3>(&mut state, 1);
    let seen = [1_001, 2_001].map(|snd_una| partial(&mut state, snd_una));
    assert_eq!(seen, [true, true].map(of_partial));
    let mut state = detector("reno");
    _ = duplicates::<3>(&mut state, 1);
    assert_eq!(partial(&mut state, 1_001), (Reaction::EndRecovery, false));
}

/// RACK.rtt is the age at which segments are lost at a timeout in Linux (`tcp_timeout_mark_lost`).
#[test]
fn linux_is_a_variant_of_rack() {
    let linux = serde_json::json!({ "name": "rack", "variant": "linux" });
    let config: Config = serde_json::from_value(linux).expect("a variant");
    let mut state = config.build(&(crate::presets::find("reno").expect("a preset").config)());
    assert!(state.as_linux());
    assert_eq!(state.loss_age_at_timeout(), Duration::ZERO);
    let rtt = Duration::from_millis(100);
    state.on_next_ack(&NextAck {
        now: Time::ZERO + rtt,
        srtt: None,
        least_rtt: Duration::MAX,
        has_rtt_sample: false,
        sent: Time::ZERO,
        end: 1_001,
    });
    assert_eq!(state.loss_age_at_timeout(), rtt);
}
