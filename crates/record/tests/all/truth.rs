//! Results of [`Truth`] (causes of episodes, unnecessary retransmissions), compared with a plain
//! computation that keeps every copy of every byte.

use proptest::prelude::*;
use retx_record::reason::{Cause, EpisodeKind, InferredCause, SenderInference, SubCause};
use retx_record::truth::{ArrivedData, Correction, Retransmission, SegmentCopy, Trigger, Truth};
use std::collections::{BTreeMap, BTreeSet};

/// Fate of a copy of a segment, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    OnItsWay,
    Delivered,
    Dropped(Cause),
    Refused,
}

/// A list of every copy ever sent, from which the results are computed anew each time.
#[derive(Debug, Default)]
struct Ledger {
    copies: Vec<(SegmentCopy, Fate)>,
    /// Index of each retransmission among the copies.
    retransmissions: Vec<usize>,
    /// For each episode its trigger and the number of copies sent before it, not counting the copy
    /// that repaired it.
    episodes: Vec<(u64, usize)>,
    /// Copies of which the receiver has discarded one that the network made, while another is on
    /// its way.
    discarded: BTreeSet<u64>,
    /// Highest acknowledgment that was dropped.
    lost_ack: u64,
}

impl Ledger {
    fn has(&self, position: u64) -> bool {
        self.copies.iter().any(|(copy, fate)| {
            *fate == Fate::Delivered && (copy.from..copy.to).contains(&position)
        })
    }

    /// True if, for each byte, an earlier copy has reached the receiver or still will.
    fn is_unnecessary(&self, index: usize) -> bool {
        let again = self.copies[index].0;
        (again.from..again.to).all(|position| {
            self.copies[..index].iter().any(|(copy, fate)| {
                (copy.from..copy.to).contains(&position)
                    && matches!(fate, Fate::Delivered | Fate::OnItsWay)
            })
        })
    }

    /// The newest copy of the trigger if it can be a probe, a copy with the same bounds as an
    /// earlier segment.
    fn probe(&self, trigger: u64) -> Option<usize> {
        let covers = |copy: &SegmentCopy| (copy.from..copy.to).contains(&trigger);
        let newest = self.copies.iter().rposition(|(copy, _)| covers(copy))?;
        let SegmentCopy { from, to, .. } = self.copies[newest].0;
        let mut others = self.copies[..newest].iter().map(|(copy, _)| copy);
        let mut overlapping = others.clone().filter(|copy| copy.from < to && from < copy.to);
        let same = overlapping.all(|copy| (copy.from, copy.to) == (from, to));
        (same && others.any(covers)).then_some(newest)
    }

    /// The newest of the first `before` copies that contain `trigger`.
    fn newest(&self, trigger: u64, before: usize) -> &(SegmentCopy, Fate) {
        self.copies[..before]
            .iter()
            .rfind(|(copy, _)| (copy.from..copy.to).contains(&trigger))
            .expect("an episode concerns bytes that have been sent")
    }

    /// The episode's cause, from the fate of the newest copy sent before it.
    fn cause(&self, trigger: u64, before: usize) -> Cause {
        match self.newest(trigger, before).1 {
            Fate::Dropped(cause) => cause,
            Fate::OnItsWay | Fate::Delivered | Fate::Refused => Cause::Spurious,
        }
    }

    /// The reason of a spurious episode: the receiver has discarded the newest copy, an
    /// acknowledgment of the trigger was dropped, or it came too late for this kind of recovery.
    fn sub_cause(&self, trigger: u64, before: usize, kind: EpisodeKind) -> SubCause {
        let (copy, fate) = self.newest(trigger, before);
        match kind {
            _ if *fate == Fate::Refused || self.discarded.contains(&copy.number) => {
                SubCause::Refused
            }
            _ if self.lost_ack > trigger => SubCause::AckLost,
            EpisodeKind::FastRetransmit => SubCause::Reordering,
            EpisodeKind::Rto => SubCause::Delay,
        }
    }
}

impl ArrivedData for Ledger {
    fn missing(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let start = (from..to).find(|position| !self.has(*position))?;
        let end = (start..to).find(|position| self.has(*position)).unwrap_or(to);
        Some((start, end))
    }
}

/// A step of a random history; indices are taken modulo the number of items.
#[derive(Debug, Clone)]
enum Step {
    /// A segment with `bytes` new bytes, preceded by `old` bytes sent before.
    New { bytes: u64, old: u64 },
    /// A retransmission of bytes sent before.
    Again { from: u64, bytes: u64 },
    /// One of the copies in flight meets its fate.
    Resolve { which: usize, fate: u8 },
    /// The sender detects a loss, which begins an episode.
    Episode { trigger: u64, repaired: bool },
    /// The receiver discards one of the copies that the network has made of a copy in flight.
    Discard { which: usize },
    /// The sender receives a cumulative acknowledgment of everything received in order.
    Acknowledge,
    /// An acknowledgment of some of the bytes that the receiver has is lost.
    LoseAck { behind: u64 },
    /// Statistics begin.
    Count,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1u64..6, 0u64..2).prop_map(|(bytes, old)| Step::New { bytes, old }),
        4 => (any::<u64>(), 1u64..9).prop_map(|(from, bytes)| Step::Again { from, bytes }),
        7 => (any::<usize>(), 0u8..10).prop_map(|(which, fate)| Step::Resolve { which, fate }),
        2 => any::<(u64, bool)>()
            .prop_map(|(trigger, repaired)| Step::Episode { trigger, repaired }),
        1 => any::<usize>().prop_map(|which| Step::Discard { which }),
        2 => Just(Step::Acknowledge),
        1 => (0u64..3).prop_map(|behind| Step::LoseAck { behind }),
        1 => Just(Step::Count),
    ];
    prop::collection::vec(step, 0..80)
}

/// Both computations, and the results that [`Truth`] has reported so far.
#[derive(Default)]
struct Run {
    ledger: Ledger,
    truth: Truth,
    sent_to: u64,
    snd_una: u64,
    /// For each retransmission's row, true if it was unnecessary.
    unnecessary: BTreeMap<u32, bool>,
    /// Cause of each episode, by the episode's row.
    causes: BTreeMap<u32, Cause>,
    /// First retransmission and first episode that count in the statistics, by row.
    counted_from: (u32, u32),
}

impl Run {
    fn send(&mut self, from: u64, to: u64) {
        let number = self.ledger.copies.len() as u64;
        let copy = SegmentCopy { number, from, to };
        if from < self.sent_to {
            let row = self.ledger.retransmissions.len() as u32;
            let sent_to = self.sent_to;
            let again = Retransmission { copy, sent_to, episode: Some(row), counted: true };
            let verdict = self.truth.on_retransmitted(again, &self.ledger);
            self.unnecessary.insert(row, verdict);
            self.ledger.retransmissions.push(number as usize);
        }
        self.ledger.copies.push((copy, Fate::OnItsWay));
        self.sent_to = self.sent_to.max(to);
    }

    /// Index of a copy in flight.
    fn in_flight(&self, which: usize) -> Option<usize> {
        let open: Vec<usize> = (0..self.ledger.copies.len())
            .filter(|index| self.ledger.copies[*index].1 == Fate::OnItsWay)
            .collect();
        open.get(which % open.len().max(1)).copied()
    }

    fn resolve(&mut self, which: usize, fate: u8) {
        let Some(index) = self.in_flight(which) else { return };
        let copy = self.ledger.copies[index].0;
        let mut corrections = Vec::new();
        // A copy that has reached the receiver once, and was discarded there, is never lost.
        let discarded = self.ledger.discarded.remove(&copy.number);
        let fate = match fate {
            0..6 if discarded => Fate::Refused,
            0..3 => Fate::Dropped(Cause::Wireless),
            3..6 => Fate::Dropped(Cause::Congestion),
            6 => Fate::Refused,
            _ => Fate::Delivered,
        };
        match fate {
            Fate::Dropped(cause) => self.truth.on_dropped(copy, cause, &mut corrections),
            Fate::Refused => self.truth.on_discarded(copy, &mut corrections),
            _ => self.truth.on_delivered(copy, self.ledger.retransmissions.contains(&index)),
        }
        self.ledger.copies[index].1 = fate;
        self.correct(&corrections);
    }

    fn correct(&mut self, corrections: &[Correction]) {
        for correction in corrections {
            match *correction {
                Correction::Necessary { number, episode, counted } => {
                    let row = episode.expect("given above");
                    assert_eq!(self.unnecessary.insert(row, false), Some(true));
                    assert_eq!(self.ledger.retransmissions[row as usize] as u64, number);
                    assert_eq!(counted, row >= self.counted_from.0);
                }
                Correction::Cause { episode, number, inference, cause, counted } => {
                    let row = episode.expect("given above");
                    let old = self.causes.insert(row, cause);
                    assert_eq!(old, Some(Cause::Spurious));
                    assert_eq!((number, inference), (u64::from(row) + 1, inference_of(row)));
                    assert_eq!(counted, row >= self.counted_from.1);
                }
            }
        }
    }

    /// Records SND.UNA. `may_forget_before` is false only if that changes nothing.
    fn acknowledge(&mut self) {
        let (may_forget, before) =
            (self.truth.may_forget_before(self.snd_una), format!("{:?}", self.truth));
        self.truth.on_acknowledged(self.snd_una);
        let same = self.truth.exception_count() > 0 && format!("{:?}", self.truth) == before;
        assert!(may_forget || same, "{before}");
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::New { bytes, old } => {
                let from = self.sent_to.saturating_sub(old).max(self.snd_una);
                self.send(from, self.sent_to + bytes);
            }
            Step::Again { from, bytes } => {
                let outstanding = self.sent_to - self.snd_una;
                if outstanding > 0 {
                    let from = self.snd_una + from % outstanding;
                    self.send(from, (from + bytes).min(self.sent_to));
                }
            }
            Step::Resolve { which, fate } => self.resolve(which, fate),
            Step::Discard { which } => {
                if let Some(index) = self.in_flight(which) {
                    let copy = self.ledger.copies[index].0;
                    self.truth.note_discarded_copy(copy);
                    self.ledger.discarded.insert(copy.number);
                }
            }
            Step::Episode { trigger, repaired } => {
                let outstanding = self.sent_to - self.snd_una;
                if outstanding > 0 {
                    let trigger = self.snd_una + trigger % outstanding;
                    let row = self.ledger.episodes.len() as u32;
                    let inference = inference_of(row);
                    let probe = self.ledger.probe(trigger).filter(|_| repaired);
                    let of = Trigger { position: trigger, repaired: probe.is_some() };
                    let verdict = self.truth.record_episode(inference, of, Some(row), &self.ledger);
                    let before = probe.unwrap_or(self.ledger.copies.len());
                    let sub_cause = self.ledger.sub_cause(trigger, before, inference.kind);
                    let is_spurious = verdict.0 == Cause::Spurious;
                    assert_eq!(verdict.1, is_spurious.then_some(sub_cause));
                    self.causes.insert(row, verdict.0);
                    self.ledger.episodes.push((trigger, before));
                    assert_eq!(self.truth.episode_count(), self.ledger.episodes.len() as u64);
                }
            }
            Step::Acknowledge => {
                while self.snd_una < self.sent_to && self.ledger.has(self.snd_una) {
                    self.snd_una += 1;
                }
                self.acknowledge();
            }
            Step::LoseAck { behind } => {
                let received = (0..).find(|position| !self.ledger.has(*position));
                let ack = received.expect("the stream ends").saturating_sub(behind);
                self.truth.on_ack_dropped(ack);
                self.ledger.lost_ack = self.ledger.lost_ack.max(ack);
            }
            Step::Count => {
                self.truth.exclude_past_verdicts();
                let rows = (self.ledger.retransmissions.len(), self.ledger.episodes.len());
                self.counted_from = (rows.0 as u32, rows.1 as u32);
            }
        }
    }

    /// Asserts that the results of both computations are equal.
    fn check(&self) -> Result<(), TestCaseError> {
        for (copy, _) in &self.ledger.copies {
            prop_assert_eq!(
                self.truth.has_discarded_copy(copy.number),
                self.ledger.discarded.contains(&copy.number)
            );
        }
        for (row, &index) in self.ledger.retransmissions.iter().enumerate() {
            prop_assert_eq!(
                self.unnecessary[&(row as u32)],
                self.ledger.is_unnecessary(index),
                "retransmission {} of {:?}",
                row,
                self.ledger.copies
            );
        }
        for (row, &(trigger, before)) in self.ledger.episodes.iter().enumerate() {
            prop_assert_eq!(
                self.causes[&(row as u32)],
                self.ledger.cause(trigger, before),
                "episode {} at {} of {:?}",
                row,
                trigger,
                self.ledger.copies
            );
        }
        Ok(())
    }
}

/// Beliefs that differ between the rows of episodes.
fn inference_of(row: u32) -> SenderInference {
    let kind = if row.is_multiple_of(2) { EpisodeKind::Rto } else { EpisodeKind::FastRetransmit };
    let inferred =
        if row.is_multiple_of(3) { InferredCause::Congestion } else { InferredCause::Corruption };
    SenderInference { kind, inferred }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn verdicts_are_those_of_the_definition(steps in steps()) {
        let mut run = Run::default();
        for step in &steps {
            run.step(step);
            run.check()?;
        }
        // Once nothing is in flight and everything is acknowledged, `Truth` must keep nothing.
        while run.ledger.copies.iter().any(|(_, fate)| *fate == Fate::OnItsWay) {
            run.resolve(0, 9);
            run.check()?;
        }
        run.truth.on_acknowledged(run.sent_to);
        prop_assert_eq!(run.truth.exception_count(), 0);
    }
}

/// A lost ACK explains a timeout only if its number is above the byte that timed out, because an
/// ACK acknowledges the bytes before its number.
#[test]
fn a_lost_ack_explains_a_timeout_only_of_what_it_acknowledged() {
    for (lost_ack, sub_cause) in
        [(1_000, SubCause::Delay), (1_001, SubCause::AckLost), (2_000, SubCause::AckLost)]
    {
        let mut run = Run::default();
        run.send(0, 1_000);
        run.send(1_000, 2_000);
        run.resolve(0, 9);
        run.resolve(0, 9);
        run.truth.on_ack_dropped(lost_ack);
        let inference =
            SenderInference { kind: EpisodeKind::Rto, inferred: InferredCause::Congestion };
        let trigger = Trigger { position: 1_000, repaired: false };
        let verdict = run.truth.record_episode(inference, trigger, Some(0), &run.ledger);
        assert_eq!(verdict, (Cause::Spurious, Some(sub_cause)), "{lost_ack}");
    }
}

/// Each drop, each retransmission, each verdict that depends on a copy in flight and each discarded
/// copy is one exception; an acknowledgment of their bytes ends those that nothing depends on.
#[test]
fn every_exception_is_kept_until_it_is_acknowledged() {
    let mut run = Run::default();
    let kept = |run: &Run| run.truth.exception_count();
    run.send(0, 1_000);
    run.send(1_000, 2_000);
    run.send(2_000, 3_000);
    run.truth.on_acknowledged(0);
    assert_eq!(kept(&run), 0);
    // The original is dropped; its repair is not in doubt.
    run.resolve(0, 0);
    assert_eq!(kept(&run), 1);
    run.send(0, 1_000);
    assert_eq!(kept(&run), 2);
    // A retransmission, and its verdict, which depends on the original in flight.
    run.send(1_000, 2_000);
    assert_eq!(kept(&run), 4);
    run.step(&Step::Episode { trigger: 2_000, repaired: false });
    assert_eq!(kept(&run), 5);
    run.step(&Step::Discard { which: 1 });
    run.step(&Step::Discard { which: 1 });
    assert_eq!(kept(&run), 6);
    // The discarded copy of `2_000 … 3_000` and the verdict on the episode end with its arrival.
    run.resolve(1, 9);
    assert_eq!(kept(&run), 4);
    run.resolve(1, 9);
    run.truth.on_acknowledged(1_000);
    assert_eq!(kept(&run), 2, "of 1_000 … 2_000");
    run.resolve(0, 9);
    assert_eq!(kept(&run), 1, "a retransmission");
    run.truth.on_acknowledged(2_000);
    assert_eq!(kept(&run), 0);
}
