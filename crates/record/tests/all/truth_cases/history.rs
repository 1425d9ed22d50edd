//! Short histories of a flow, and the results of [`Truth`] for them.

use Event::{
    AckDropped, Acknowledge, Arrive, Discard, Drop, FastRetransmit, Refuse, Send, Start, Timeout,
};
use retx_record::reason::{Cause, EpisodeKind, InferredCause, SenderInference, SubCause};
use retx_record::truth::{ArrivedData, Correction, Retransmission, SegmentCopy, Trigger, Truth};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event {
    /// A segment of these bytes is sent.
    Send(u64, u64),
    /// The copy with this number is dropped.
    Drop(usize, Cause),
    Arrive(usize),
    /// The receiver discards the copy, and no duplicate of it is left.
    Refuse(usize),
    /// The receiver discards a duplicate of the copy, and another is left.
    Discard(usize),
    /// An acknowledgment of everything before this position is dropped.
    AckDropped(u64),
    /// A timeout at this position; true if the newest copy is a repair, such as a probe.
    Timeout(u64, bool),
    /// A fast retransmit at this position.
    FastRetransmit(u64),
    /// The sender receives an acknowledgment of everything before this position.
    Acknowledge(u64),
    /// Statistics start.
    Start,
}

const TIMEOUT: SenderInference =
    SenderInference { kind: EpisodeKind::Rto, inferred: InferredCause::Congestion };
pub const FAST: SenderInference =
    SenderInference { kind: EpisodeKind::FastRetransmit, inferred: InferredCause::Corruption };

#[derive(Default)]
struct Arrived(Vec<(u64, u64)>);

impl ArrivedData for Arrived {
    fn missing(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        let has = |at: u64| self.0.iter().any(|(from, to)| (*from..*to).contains(&at));
        let start = (from..to).find(|at| !has(*at))?;
        Some((start, (start..to).find(|at| has(*at)).unwrap_or(to)))
    }
}

/// Results of a history.
#[derive(Default)]
pub struct History {
    pub truth: Truth,
    arrived: Arrived,
    copies: Vec<SegmentCopy>,
    /// Numbers of the copies that are retransmissions.
    again: Vec<u64>,
    sent_to: u64,
    /// One value per retransmission, true if it seemed unnecessary when it was sent.
    pub unnecessary: Vec<bool>,
    /// Result of each episode at its start.
    pub episodes: Vec<(Cause, Option<SubCause>)>,
    pub corrections: Vec<Correction>,
}

impl History {
    pub fn of(events: &[Event]) -> Self {
        let mut history = Self::default();
        events.iter().for_each(|event| history.add(*event));
        history
    }

    fn send(&mut self, from: u64, to: u64) {
        let copy = SegmentCopy { number: self.copies.len() as u64, from, to };
        self.copies.push(copy);
        if from < self.sent_to {
            let episode = Some(copy.number as u32 + 100);
            self.again.push(copy.number);
            let again = Retransmission { copy, sent_to: self.sent_to, episode, counted: true };
            self.unnecessary.push(self.truth.on_retransmitted(again, &self.arrived));
        }
        self.sent_to = self.sent_to.max(to);
    }

    pub fn add(&mut self, event: Event) {
        match event {
            Send(from, to) => self.send(from, to),
            Drop(number, cause) => {
                self.truth.on_dropped(self.copies[number], cause, &mut self.corrections);
            }
            Arrive(number) => {
                let copy = self.copies[number];
                self.arrived.0.push((copy.from, copy.to));
                self.truth.on_delivered(copy, self.again.contains(&copy.number));
            }
            Refuse(number) => self.truth.on_discarded(self.copies[number], &mut self.corrections),
            Discard(number) => self.truth.note_discarded_copy(self.copies[number]),
            AckDropped(ack) => self.truth.on_ack_dropped(ack),
            Timeout(position, repaired) => self.episode(TIMEOUT, Trigger { position, repaired }),
            FastRetransmit(position) => self.episode(FAST, Trigger { position, repaired: false }),
            Acknowledge(position) => self.truth.on_acknowledged(position),
            Start => self.truth.exclude_past_verdicts(),
        }
    }

    fn episode(&mut self, inference: SenderInference, trigger: Trigger) {
        let row = Some(self.episodes.len() as u32);
        self.episodes.push(self.truth.record_episode(inference, trigger, row, &self.arrived));
        assert_eq!(self.truth.episode_count(), self.episodes.len() as u64);
    }
}

/// Correction of the retransmission with this number.
pub fn necessary(number: u64) -> Correction {
    Correction::Necessary { number, episode: Some(number as u32 + 100), counted: true }
}

/// Correction of the timeout with this number, counted from 1.
pub fn caused(number: u64, cause: Cause) -> Correction {
    let episode = Some(number as u32 - 1);
    Correction::Cause { episode, number, inference: TIMEOUT, cause, counted: true }
}
