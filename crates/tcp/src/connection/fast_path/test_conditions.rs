//! Conditions under which the fast paths are open.

use super::chosen;
use crate::connection::fast_path::{Receiving, Sending};
use crate::connection::reduction::Reduction;
use crate::connection::testing::{at, config, in_recovery, open, with_flight};
use crate::connection::{Connection, Parameters, State};
use crate::timers::Timers;
use crate::{Config, Push, RttSamples};
use retx_units::Duration;

type Change = fn(&mut Connection);
type Trouble = (&'static str, Change);

/// Changes that give a sender work which no fast path for sending does.
const TROUBLES: &[Trouble] = &[
    ("zero-window probe", |it| it.sender.zero_window_probe_due = true),
    ("tail loss probe", |it| it.sender.tail_probe_due = true),
    ("FIN", |it| it.sender.fin_queued = true),
    ("recovery from a timeout", |it| it.sender.timeout_recovery_end = 1),
    ("F-RTO", |it| it.sender.frto_segments = 1),
    ("limited transmit", |it| it.sender.limited_credit = 1),
    ("data sent again after a timeout", |it| it.sender.snd_max += 1),
    ("reply", |it| it.reply = Some(Box::default())),
    ("closing", |it| it.state = State::CloseWait),
];

/// Changes that give a sender work which only the path of `detailed_repair` does.
const SLIGHT_TROUBLES: &[Trouble] = &[
    ("checks of Vegas", |it| it.sender.overdue_checks = 1),
    ("rate reduction", |it| {
        it.sender.repair.reduction = Some(Reduction::whole_segments(5_000, 1_000));
    }),
    ("persist timer", |it| it.timers.set(|rare| &mut rare.persist, at(9_000))),
];

/// Changes that give a sender work which the fast paths outside a recovery do not do.
const FURTHER_TROUBLES: &[Trouble] = &[
    ("limited transmit in flight", |it| it.sender.limited_bytes = 1),
    ("duplicate ACK", |it| it.sender.dupacks = 1),
    ("timeout", |it| it.sender.consecutive_timeouts = 1),
    ("closed window", |it| it.sender.probes_in_row = 1),
    ("retransmission", |it| it.sender.retransmit_first = true),
    ("deferred marking", |it| it.sender.repair.defers_marking = true),
];

fn sending_after(connection: &Connection, changes: &[Change]) -> Sending {
    let mut connection = connection.clone();
    changes.iter().for_each(|change| change(&mut connection));
    connection.recompute_fast_paths();
    connection.fast_paths.sending
}

/// Each of the troubles alone, and any two together, close the fast paths for sending; some leave
/// the path of `detailed_repair` open.
#[test]
fn trouble_closes_the_fast_paths_for_sending() {
    let all = [TROUBLES, SLIGHT_TROUBLES, FURTHER_TROUBLES].concat();
    for (name, path, left) in [
        ("newreno", Sending::Plain, Sending::General),
        ("sack", Sending::Plain, Sending::General),
        ("linux", Sending::Detailed, Sending::DetailedRepair),
    ] {
        let near = with_flight(&config(name)).0[0].clone();
        assert_eq!(sending_after(&near, &[]), path, "{name}");
        check_all(name, &near, &all, left);
    }
    for name in ["newreno", "sack"] {
        let near = in_recovery(&config(name))[0].clone();
        assert_eq!(sending_after(&near, &[]), Sending::Repair, "{name}");
        check_all(name, &near, &[TROUBLES, SLIGHT_TROUBLES].concat(), Sending::General);
        let observed: Change = |it| it.fast_paths.observed = true;
        assert_eq!(sending_after(&near, &[observed]), Sending::General, "observed");
    }
    let near = in_recovery(&config("linux"))[0].clone();
    assert_eq!(sending_after(&near, &[]), Sending::DetailedRepair);
    check_all("linux", &near, &all, Sending::DetailedRepair);
    // Segments are then shorter than SMSS (`tcp_bound_to_half_wnd`).
    let narrow: Change = |it| it.sender.max_snd_wnd = 2 * u64::from(it.sender.window.smss) - 1;
    for near in [&near, &with_flight(&config("linux")).0[0]] {
        assert_eq!(sending_after(near, &[narrow]), Sending::General, "a narrow window");
    }
    let guessing: Change =
        |it| it.sender.loss_detection = config("sack").loss_detection.build(&config("sack"));
    assert_eq!(sending_after(&near, &[guessing]), Sending::General, "rules 3 and 4 of NextSeg");
}

/// Checks that troubles which no fast path handles close all of them, and the others leave `left`.
fn check_all(name: &str, near: &Connection, troubles: &[Trouble], left: Sending) {
    for (index, first) in troubles.iter().enumerate() {
        for second in &troubles[index..] {
            let sending = sending_after(near, &[first.1, second.1]);
            let closes = |it: &Trouble| TROUBLES.iter().any(|trouble| trouble.0 == it.0);
            let expected = if closes(first) || closes(second) { Sending::General } else { left };
            assert_eq!(sending, expected, "{name}: {} and {}", first.0, second.0);
        }
    }
}

/// The fast paths of a recovery require that no detector of spurious recoveries is chosen, that the
/// scoreboard is used exactly if SACK is, and that it stores no order of transmission.
#[test]
fn only_a_simple_recovery_takes_the_fast_path() {
    for name in ["newreno", "sack"] {
        let near = in_recovery(&config(name))[0].clone();
        let turned: Change = |it| it.sender.uses_scoreboard ^= true;
        assert_eq!(sending_after(&near, &[turned]), Sending::General, "{name}");
        let timed: Change = |it| it.sender.without_times = false;
        let expected = if name == "sack" { Sending::General } else { Sending::Repair };
        assert_eq!(sending_after(&near, &[timed]), expected, "{name}");
        let mut detecting = config(name);
        detecting.spurious = chosen("it = \"dsack\"");
        let near = in_recovery(&detecting)[0].clone();
        assert_eq!(sending_after(&near, &[]), Sending::General, "{name}");
    }
}

/// Paths that the options permit: (plain, detailed).
#[test]
fn options_permit_the_paths() {
    let permitted = |name: &str, change: fn(&mut Config)| {
        let mut config = config(name);
        change(&mut config);
        let [near, _] = open(&config);
        (near.fast_paths.plain, near.fast_paths.detailed)
    };
    assert_eq!(permitted("sack", |_| ()), (true, false));
    assert_eq!(permitted("newreno", |_| ()), (true, false));
    assert_eq!(permitted("sack", |it| it.timestamps = true), (false, true));
    assert_eq!(permitted("sack", |it| it.pacing = true), (false, true));
    assert_eq!(permitted("sack", |it| it.tso = true), (false, true));
    assert_eq!(permitted("sack", |it| it.push = Push::HalfWindow), (false, true));
    assert_eq!(permitted("sack", |it| it.ecn = true), (false, false));
    // Without SACK there is no detailed path.
    assert_eq!(permitted("newreno", |it| it.timestamps = true), (false, false));
    assert_eq!(permitted("newreno", |it| it.pacing = true), (false, false));
    assert_eq!(permitted("rack", |_| ()), (true, true), "RACK reads times");
    let [mut near, _] = open(&config("rack"));
    near.set_cork(true);
    near.choose_fast_paths();
    assert_eq!((near.fast_paths.plain, near.fast_paths.detailed), (false, false), "requests");
}

/// Components that have to see each acknowledgment.
#[test]
fn observers_are_noted() {
    let observed = |change: fn(&mut Config)| {
        let mut config = config("newreno");
        change(&mut config);
        let [near, _] = open(&config);
        (near.fast_paths.observed, near.fast_paths.loss_cause_observes)
    };
    assert_eq!(observed(|_| ()), (false, false));
    assert_eq!(observed(|it| it.rtt_samples = RttSamples::EveryAck), (true, false));
    let selective = observed(|it| {
        it.rtt_samples = RttSamples::EveryAck;
        *it = Config { rtt_samples: RttSamples::EveryAck, ..config("sack") };
    });
    assert_eq!(selective, (false, false), "with SACK the scoreboard has the times");
    assert_eq!(observed(|it| it.loss_cause = config("threshold_reno").loss_cause), (true, true));
}

#[test]
fn states_of_the_receiver_choose_its_path() {
    let receiving = |name: &str, change: Change| {
        let mut far = open(&config(name))[1].clone();
        change(&mut far);
        far.recompute_fast_paths();
        far.fast_paths.receiving
    };
    assert_eq!(receiving("sack", |_| ()), Receiving::Next);
    assert_eq!(receiving("sack", |it| it.detach()), Receiving::General);
    let gap: Change = |it| it.receiver.out_of_order.insert(2_001, 3_001);
    assert_eq!(receiving("sack", gap), Receiving::BeyondGap);
    assert_eq!(receiving("linux", |_| ()), Receiving::Detailed);
    assert_eq!(receiving("linux", gap), Receiving::DetailedGap);
    assert_eq!(receiving("linux", |it| it.detach()), Receiving::General);
    let fin: Change = |it| it.receiver.fin = std::num::NonZeroU64::new(9_001);
    assert_eq!(["linux", "sack"].map(|name| receiving(name, fin)), [Receiving::General; 2]);
    let general: Change = |it| {
        it.parameters = Parameters { use_fast_paths: false, ..*it.parameters }.into();
    };
    assert_eq!(["linux", "sack"].map(|name| receiving(name, general)), [Receiving::General; 2]);
    // `rack` permits both paths for arriving data; recomputing the detailed one leaves the plain
    // one open.
    assert_eq!(receiving("rack", |_| ()), Receiving::Next);
}

#[test]
fn only_paths_outside_a_recovery_send_nothing_but_new_data() {
    use Sending::{Detailed, DetailedRepair, General, Plain, Repair};
    let paths = [General, Repair, DetailedRepair, Plain, Detailed];
    assert_eq!(paths.map(Sending::sends_new_data), [false, false, false, true, true]);
    let mut near = open(&config("sack"))[0].clone();
    let of_connection = paths.map(|path| {
        near.fast_paths.sending = path;
        near.sends_new_data()
    });
    assert_eq!(of_connection, [false, false, false, true, true]);
    let closed = (Sending::General, Receiving::General);
    for (sending, receiving, open) in [
        (closed.0, closed.1, false),
        (Sending::Plain, closed.1, true),
        (closed.0, Receiving::Next, true),
    ] {
        (near.fast_paths.sending, near.fast_paths.receiving) = (sending, receiving);
        assert_eq!(near.fast_paths.is_open(), open);
    }
}

/// A timer only opens the pacing gate if no other timer is due, no tail loss probe waits at the
/// gate, and no recovery from a timeout goes on: the record judges what those send.
#[test]
fn a_gate_alone_opens() {
    let mut near = with_flight(&config("linux_bbr")).0[0].clone();
    near.timers = Timers::ALL_OFF;
    near.timers.set(|rare| &mut rare.pacing, at(50));
    let opens = |now, change: Change| {
        let mut near = near.clone();
        change(&mut near);
        near.only_opens_gate(at(now))
    };
    assert_eq!([49, 50, 51].map(|now| opens(now, |_| ())), [false, true, true]);
    assert!(!opens(50, |it| it.sender.tail_probe_due = true));
    assert!(!opens(50, |it| it.sender.timeout_recovery_end = 1));
    assert!(!opens(50, |it| it.timers.retransmit = at(50)));
    assert!(opens(50, |it| it.timers.retransmit = at(51)));
    assert!(!opens(50, |it| it.timers.delayed_ack = at(50)));
    assert!(!opens(50, |it| it.timers.set(|rare| &mut rare.tail_loss_probe, at(50))));
}

/// Data wait if the windows permit less than a segment, unless they permit all data or half of the
/// peer's largest window (RFC 9293 §3.8.6.2.1).
#[test]
fn a_small_window_waits() {
    let mut sender = open(&config("sack"))[0].sender.clone();
    sender.max_snd_wnd = 1_600;
    let waits = |room, queued| sender.waits_with(room, queued);
    assert_eq!([799, 800, 999, 1_000].map(|room| waits(room, 5_000)), [true, false, false, false]);
    assert_eq!([299, 300, 301].map(|room| waits(room, 300)), [true, false, false]);
    sender.max_snd_wnd = 1 << 20;
    let waits = |room, queued| sender.waits_with(room, queued);
    assert_eq!([799, 800, 999, 1_000].map(|room| waits(room, 5_000)), [true, true, true, false]);
}

/// RFC 5681 §4.1: the congestion window is reduced after a pause longer than the RTO.
#[test]
fn a_pause_of_one_rto_goes_on() {
    let mut near = open(&config("sack"))[0].clone();
    near.sender.last_sent = at(1_000);
    let end = at(1_000) + near.rto();
    let tick = Duration::from_nanos(1);
    assert_eq!([end, end + tick].map(|now| near.goes_on_after_pause(now)), [true, false]);
    near.parameters = Parameters { slow_start_after_idle: false, ..*near.parameters }.into();
    assert!(near.goes_on_after_pause(end + tick));
}
