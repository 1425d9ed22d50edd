//! Definitions of [`Truth`](retx_record::truth::Truth) as tables of short histories: necessity of
//! retransmissions, causes of episodes, reasons of spurious ones, and what changes when a copy in
//! flight is dropped.
//!
//! Segments have 10 bytes unless a case says otherwise. Copies are numbered in the order of their
//! transmission, from 0.

mod history;

use history::Event::{
    self, AckDropped, Acknowledge, Arrive, Discard, Drop, FastRetransmit, Refuse, Send, Start,
    Timeout,
};
use history::{FAST, History, caused, necessary};
use retx_record::reason::Cause::{self, Congestion, Spurious, Wireless};
use retx_record::reason::SubCause;
use retx_record::truth::Correction;

/// A retransmission is unnecessary if an earlier copy of each of its bytes has arrived or is in
/// flight. The last copy of each case is the retransmission in question.
#[test]
fn a_retransmission_is_unnecessary_if_an_earlier_copy_of_each_byte_survives() {
    let two = [Send(0, 10), Send(10, 20)];
    let cases: &[(&[Event], bool)] = &[
        (&[Send(0, 10)], true),
        (&[Arrive(0), Send(0, 10)], true),
        (&[Drop(0, Wireless), Send(0, 10)], false),
        (&[Refuse(0), Send(0, 10)], false),
        // Drops of the neighbours do not matter.
        (&[Drop(0, Wireless), Send(10, 20)], true),
        (&[Drop(1, Wireless), Send(0, 10)], true),
        // A part is enough to need it, wherever it lies.
        (&[Drop(0, Wireless), Send(9, 20)], false),
        (&[Drop(0, Wireless), Send(0, 20)], false),
        (&[Drop(1, Wireless), Send(0, 11)], false),
        (&[Drop(1, Wireless), Send(0, 20)], false),
        // A retransmission stands for the dropped original until it is dropped, too.
        (&[Drop(0, Wireless), Send(0, 10), Send(0, 10)], true),
        (&[Drop(0, Wireless), Send(0, 10), Arrive(2), Send(0, 10)], true),
        (&[Drop(0, Wireless), Send(0, 10), Drop(2, Wireless), Send(0, 10)], false),
        (&[Send(0, 10), Drop(2, Wireless), Send(0, 10)], true),
        (&[Drop(0, Wireless), Send(0, 5), Send(0, 10)], false),
        (&[Drop(0, Wireless), Send(0, 5), Send(5, 10), Send(0, 10)], true),
        (&[Drop(0, Wireless), Send(0, 5), Drop(2, Wireless), Send(5, 10)], false),
        // A second copy of the first segment does not make up for the loss of the second.
        (&[Drop(1, Wireless), Send(0, 10), Send(0, 20)], false),
        // A segment with new bytes is needed for their sake, and is their original.
        (&[Send(0, 21)], false),
        (&[Send(15, 30), Drop(2, Wireless), Send(20, 30)], false),
        (&[Send(15, 30), Drop(2, Wireless), Send(15, 20)], true),
    ];
    for (events, unnecessary) in cases {
        let history = History::of(&[&two, *events].concat());
        assert_eq!(history.unnecessary.last(), Some(unnecessary), "{events:?}");
        assert_eq!(history.corrections, [], "{events:?}");
    }
}

/// An unnecessary retransmission becomes necessary at the drop that leaves one of its bytes without
/// any earlier copy.
#[test]
fn a_drop_of_the_last_earlier_copy_makes_a_retransmission_necessary() {
    let three = [Send(0, 10), Send(10, 20), Send(20, 30)];
    let cases: &[(&[Event], &[Correction])] = &[
        (&[Send(0, 10), Drop(0, Wireless)], &[necessary(3)]),
        (&[Send(0, 10), Refuse(0)], &[necessary(3)]),
        // The retransmission's own fate changes nothing, nor does that of later copies.
        (&[Send(0, 10), Drop(3, Wireless), Drop(0, Wireless)], &[necessary(3)]),
        (&[Send(0, 10), Arrive(3), Drop(0, Wireless)], &[necessary(3)]),
        (&[Send(0, 10), Drop(3, Wireless)], &[]),
        // The second retransmission still has the first.
        (&[Send(0, 10), Send(0, 10), Drop(0, Wireless)], &[necessary(3)]),
        (
            &[Send(0, 10), Send(0, 10), Drop(0, Wireless), Drop(3, Congestion)],
            &[necessary(3), necessary(4)],
        ),
        (
            &[Send(0, 10), Send(0, 10), Arrive(4), Drop(3, Congestion), Drop(0, Wireless)],
            &[necessary(3), necessary(4)],
        ),
        // Other segments are of no concern; each byte of its own is.
        (&[Send(10, 20), Drop(0, Wireless), Drop(2, Wireless)], &[]),
        (&[Send(0, 30), Arrive(1), Drop(0, Wireless)], &[necessary(3)]),
        (&[Send(0, 30), Arrive(1), Drop(2, Wireless)], &[necessary(3)]),
        (&[Send(0, 30), Arrive(0), Arrive(2), Drop(1, Wireless)], &[necessary(3)]),
        (&[Send(0, 30), Arrive(1), Arrive(0), Arrive(2)], &[]),
        (&[Send(5, 15), Drop(1, Wireless), Drop(0, Wireless)], &[necessary(3)]),
        // A byte that has arrived needs no other copy.
        (&[Send(0, 10), Arrive(0), Send(0, 10), Drop(3, Wireless)], &[]),
        (&[Arrive(0), Send(0, 30), Drop(1, Wireless)], &[necessary(3)]),
        // One drop can correct several verdicts, in the order of transmission.
        (&[Send(0, 10), Send(0, 5), Send(5, 10), Drop(0, Wireless)], &[necessary(3)]),
        (&[Send(0, 5), Send(5, 10), Drop(0, Wireless)], &[necessary(3), necessary(4)]),
    ];
    for (events, corrections) in cases {
        let history = History::of(&[&three, *events].concat());
        assert_eq!(history.corrections, *corrections, "{events:?}");
    }
}

/// A dropped copy that ends where a retransmission begins does not concern it, even if yet another
/// dropped copy lies across that position.
#[test]
fn a_drop_beside_a_retransmission_does_not_concern_it() {
    let events = [
        Send(0, 10),
        Send(5, 15), // with new bytes
        Send(15, 20),
        Drop(1, Wireless),
        Send(10, 15),
        Send(10, 20),
    ];
    let mut history = History::of(&events);
    assert_eq!(history.unnecessary, [false, false, true]);
    history.add(Drop(0, Wireless));
    assert_eq!(history.corrections, []);
    history.add(Drop(3, Wireless));
    assert_eq!(history.corrections, [necessary(4)]);
}

/// The newest copy of the trigger decides the cause; before a repair, it is the copy before.
#[test]
fn the_newest_copy_of_the_trigger_decides_the_cause() {
    let two = [Send(0, 10), Send(10, 20)];
    let cases: &[(&[Event], Event, Cause)] = &[
        (&[Drop(0, Congestion)], Timeout(0, false), Congestion),
        (&[Drop(0, Wireless)], Timeout(0, false), Wireless),
        (&[Refuse(0)], Timeout(0, false), Spurious),
        (&[Arrive(0)], Timeout(0, false), Spurious),
        (&[], Timeout(0, false), Spurious),
        // Losses of neighbours are not the cause.
        (&[Drop(0, Wireless)], Timeout(10, false), Spurious),
        (&[Drop(1, Wireless)], Timeout(0, false), Spurious),
        (&[Drop(0, Wireless)], Timeout(9, false), Wireless),
        (&[Drop(1, Congestion), Send(0, 10)], Timeout(10, false), Congestion),
        // Drops are found in whichever order they happened.
        (&[Drop(1, Congestion), Drop(0, Wireless)], Timeout(0, false), Wireless),
        (&[Drop(1, Congestion), Drop(0, Wireless)], Timeout(10, false), Congestion),
        // The newest copy.
        (&[Drop(1, Wireless), Send(10, 20)], Timeout(10, false), Spurious),
        (&[Drop(1, Wireless), Send(10, 20), Drop(2, Congestion)], Timeout(10, false), Congestion),
        // The copy before the repair.
        (&[Drop(1, Wireless), Send(10, 20)], Timeout(10, true), Wireless),
        (&[Drop(1, Wireless), Send(10, 20), Drop(2, Congestion)], Timeout(10, true), Wireless),
        (&[Send(10, 20), Drop(2, Congestion), Drop(1, Wireless)], Timeout(10, true), Wireless),
        (&[Send(10, 20), Drop(2, Congestion)], Timeout(10, true), Spurious),
        (
            &[Drop(1, Wireless), Send(10, 20), Drop(2, Congestion), Send(10, 20)],
            Timeout(10, true),
            Congestion,
        ),
    ];
    for (events, episode, cause) in cases {
        let history = History::of(&[&two, *events, &[*episode]].concat());
        assert_eq!(history.episodes[0].0, *cause, "{events:?} {episode:?}");
        assert_eq!(history.episodes[0].1.is_some(), *cause == Spurious, "{events:?}");
    }
}

/// An episode counts as spurious while the deciding copy is in flight. The drop of that copy, and
/// of no other, corrects it.
#[test]
fn a_drop_of_the_copy_that_decides_corrects_the_cause() {
    let two = [Send(0, 10), Send(10, 20)];
    let at_10 = Timeout(10, false);
    let cases: &[(&[Event], &[Correction])] = &[
        (&[at_10, Drop(1, Wireless)], &[caused(1, Wireless)]),
        (&[at_10, Drop(1, Congestion)], &[caused(1, Congestion)]),
        (&[at_10, Refuse(1)], &[]),
        (&[at_10, Drop(0, Wireless)], &[]),
        (&[at_10, Arrive(0), Drop(1, Wireless)], &[caused(1, Wireless)]),
        (&[Timeout(9, false), Arrive(1), Drop(0, Wireless)], &[caused(1, Wireless)]),
        // Two episodes of the same copy, and of different ones.
        (&[at_10, at_10, Drop(1, Wireless)], &[caused(1, Wireless), caused(2, Wireless)]),
        (
            &[at_10, Timeout(0, false), Drop(0, Wireless), Drop(1, Congestion)],
            &[caused(2, Wireless), caused(1, Congestion)],
        ),
        // A copy sent after the episode does not decide it, whatever becomes of it.
        (
            &[at_10, Send(10, 20), Arrive(2), Drop(1, Wireless)],
            &[necessary(2), caused(1, Wireless)],
        ),
        (&[at_10, Send(10, 20), Drop(2, Wireless)], &[]),
        // The newest copy is a retransmission.
        (&[Arrive(1), Send(10, 20), at_10, Drop(2, Wireless)], &[caused(1, Wireless)]),
        (&[Send(10, 20), at_10, Arrive(1), Drop(2, Wireless)], &[caused(1, Wireless)]),
        (&[Send(10, 20), at_10, Arrive(2), Drop(1, Wireless)], &[necessary(2)]),
        (
            &[Drop(1, Wireless), Send(10, 20), Send(10, 20), Arrive(2), at_10, Drop(3, Congestion)],
            &[caused(1, Congestion)],
        ),
        // The copy before a probe is the original.
        (
            &[Send(10, 20), Timeout(10, true), Arrive(2), Drop(1, Wireless)],
            &[necessary(2), caused(1, Wireless)],
        ),
        (&[Send(10, 20), Timeout(10, true), Drop(2, Wireless)], &[]),
    ];
    for (events, corrections) in cases {
        let history = History::of(&[&two, *events].concat());
        assert!(history.episodes.iter().all(|(cause, _)| *cause == Spurious));
        assert_eq!(history.corrections, *corrections, "{events:?}");
    }
}

/// The reason of a spurious episode: a discarded copy, then a dropped acknowledgment of the
/// trigger, then the kind of the detection.
#[test]
fn the_reason_of_a_spurious_episode_follows_a_fixed_order() {
    let two = [Send(0, 10), Send(10, 20)];
    let at_10 = Timeout(10, false);
    let cases: &[(&[Event], Event, SubCause)] = &[
        (&[], at_10, SubCause::Delay),
        (&[], FastRetransmit(10), SubCause::Reordering),
        (&[AckDropped(10)], at_10, SubCause::Delay),
        (&[AckDropped(11)], at_10, SubCause::AckLost),
        (&[AckDropped(20), AckDropped(10)], FastRetransmit(10), SubCause::AckLost),
        (&[Refuse(1)], at_10, SubCause::Refused),
        (&[Refuse(1), AckDropped(20)], FastRetransmit(10), SubCause::Refused),
        (&[Refuse(0)], at_10, SubCause::Delay),
        (&[Discard(1)], at_10, SubCause::Refused),
        (&[Discard(1), AckDropped(20)], FastRetransmit(10), SubCause::Refused),
        (&[Discard(0)], at_10, SubCause::Delay),
        (&[Discard(1)], Timeout(0, false), SubCause::Delay),
        (&[Discard(1), Arrive(1)], at_10, SubCause::Delay),
        (&[Discard(1), Arrive(0)], at_10, SubCause::Refused),
        (&[Discard(0), Discard(1), Refuse(0)], at_10, SubCause::Refused),
        // Only the newest copy matters.
        (&[Refuse(1), Send(10, 20)], at_10, SubCause::Delay),
        (&[Discard(1), Send(10, 20)], at_10, SubCause::Delay),
        (&[Send(10, 20), Discard(2)], at_10, SubCause::Refused),
        (&[Send(10, 20), Refuse(2)], at_10, SubCause::Refused),
        (&[Send(10, 20), Discard(2)], Timeout(10, true), SubCause::Delay),
    ];
    for (events, episode, sub_cause) in cases {
        let history = History::of(&[&two, *events, &[*episode]].concat());
        assert_eq!(history.episodes, [(Spurious, Some(*sub_cause))], "{events:?} {episode:?}");
    }
}

/// A verdict is kept only as long as a copy in flight can change it.
#[test]
fn a_verdict_that_nothing_can_change_is_not_kept() {
    let two = [Send(0, 10), Send(10, 20)];
    let at_10 = Timeout(10, false);
    // The numbers of exceptions before and after the last event.
    let cases: &[(&[Event], usize, usize)] = &[
        (&[at_10, Arrive(1)], 1, 0),
        (&[at_10, Arrive(0)], 1, 1),
        (&[at_10, Refuse(1)], 1, 1),
        (&[Arrive(1), at_10], 0, 0),
        (&[Refuse(1), at_10], 1, 1),
        (&[Discard(1), Arrive(1)], 1, 0),
        (&[Discard(1), Discard(1)], 1, 1),
        (&[Discard(1), Refuse(1)], 1, 1),
        // A retransmission and its verdict are kept.
        (&[Arrive(1), Send(10, 20)], 0, 1),
        (&[Send(10, 20), Arrive(1)], 2, 1),
        (&[Send(10, 20), Arrive(2)], 2, 2),
        (&[Send(0, 20), Arrive(1)], 2, 2),
        (&[Drop(1, Wireless), Send(10, 20), Arrive(2), at_10], 2, 2),
        (&[Drop(1, Wireless), Send(10, 20), at_10], 2, 3),
        (&[Drop(1, Wireless), Send(10, 20), at_10, Arrive(2)], 3, 2),
        (&[at_10, Arrive(0), Send(0, 10), Arrive(1)], 2, 1),
        (&[Arrive(1), Send(10, 20), Timeout(10, true)], 1, 1),
        (&[Send(10, 20), Timeout(10, true)], 2, 3),
    ];
    for (events, before, after) in cases {
        let (last, first) = events.split_last().unwrap();
        let mut history = History::of(&[&two, first].concat());
        assert_eq!(history.truth.exception_count(), *before, "before the end of {events:?}");
        history.add(*last);
        assert_eq!(history.truth.exception_count(), *after, "{events:?}");
    }
}

/// An acknowledgment ends the exceptions of the bytes that it covers, unless a verdict depends on
/// them.
#[test]
fn an_acknowledgment_ends_the_exceptions_that_no_verdict_depends_on() {
    let two = [Send(0, 10), Send(10, 20)];
    let at_10 = Timeout(10, false);
    // The number of exceptions after the acknowledgment.
    let cases: &[(&[Event], u64, usize)] = &[
        (&[Drop(0, Wireless)], 9, 1),
        (&[Drop(0, Wireless)], 10, 0),
        (&[Drop(1, Wireless), Drop(0, Wireless)], 10, 1),
        (&[Drop(1, Wireless), Drop(0, Wireless)], 20, 0),
        (&[Drop(0, Wireless), Send(0, 10)], 9, 2),
        (&[Drop(0, Wireless), Send(0, 10), Arrive(2)], 10, 0),
        // The original in flight may still make the retransmission necessary.
        (&[Send(10, 20)], 20, 2),
        (&[Drop(0, Wireless), Send(0, 10), Send(10, 20)], 20, 2),
        // The episode at 10 depends on the retransmission that precedes it.
        (&[Arrive(1), Send(10, 20), at_10], 20, 2),
        (&[Drop(0, Wireless), at_10], 20, 1),
    ];
    for (events, position, left) in cases {
        let history = History::of(&[&two, *events, &[Acknowledge(*position)]].concat());
        assert_eq!(history.truth.exception_count(), *left, "{events:?} {position}");
    }
}

/// Corrections of verdicts given before the start of the statistics are marked as not counted.
#[test]
fn statistics_exclude_the_verdicts_before_their_start() {
    let events = [
        Send(0, 10),
        Send(0, 10),
        FastRetransmit(0),
        Start,
        Send(0, 10),
        FastRetransmit(0),
        Drop(0, Wireless),
        Drop(1, Wireless),
        Drop(2, Wireless),
    ];
    let counted = History::of(&events).corrections.into_iter().map(|correction| match correction {
        Correction::Necessary { number, counted, .. } => ("retransmission", number, counted),
        Correction::Cause { number, inference, counted, .. } => {
            assert_eq!(inference, FAST);
            ("episode", number, counted)
        }
    });
    let expected = [
        ("retransmission", 1, false),
        ("retransmission", 2, true),
        ("episode", 1, false),
        ("episode", 2, true),
    ];
    assert_eq!(counted.collect::<Vec<_>>(), expected);
}

/// Causes do not depend on the order in which the copies were dropped or retransmitted.
#[test]
fn the_order_of_drops_changes_no_cause() {
    let causes = [Wireless, Congestion, Wireless, Congestion];
    for seed in 0..24_usize {
        let mut left: Vec<usize> = (0..4).collect();
        let order = [seed % 4, seed / 4 % 3, seed / 12, 0].map(|pick| left.remove(pick));
        let sent = (0..4).map(|index| Send(10 * index, 10 * index + 10));
        let drops = order.map(|index| Drop(index, causes[index]));
        let repairs = order.map(|index| Send(10 * index as u64, 10 * index as u64 + 10));
        let mut history = History::of(&sent.chain(drops).chain(repairs).collect::<Vec<_>>());
        assert_eq!(history.unnecessary, [false; 4]);
        for number in order {
            history.add(Timeout(10 * number as u64, true));
        }
        let expected = order.map(|index| (causes[index], None));
        assert_eq!(history.episodes, expected, "{order:?}");
    }
}
