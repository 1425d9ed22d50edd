//! Retransmissions of one direction, and the evidence that later packets add to them.

use super::direction::PacketContext;
use super::scoreboard::SendOrder;
use crate::answer::{Evidence, Kind, Necessity, Proof};
use std::collections::BTreeMap;

/// A retransmission.
#[derive(Debug, Clone, Copy)]
pub struct RetransmissionRecord {
    /// Number of the frame in the capture.
    pub packet: u64,
    /// Time since the flow's first packet.
    pub time_ns: i64,
    /// Time at which the retransmission would have passed without queues before the capture.
    pub sent_ns: i64,
    /// Position of the first byte.
    pub start: i64,
    /// Position after the last byte.
    pub end: i64,
    /// Number of payload bytes.
    pub length_bytes: u32,
    /// Timestamp value; none without timestamps.
    pub timestamp_value: Option<u32>,
    /// Evidence for the place of the retransmission in the order of sending.
    pub send_order: SendOrder,
    /// Timestamp value of the previous copy; none if unknown.
    pub previous_timestamp_value: Option<u32>,
    /// Mechanism that caused the retransmission.
    pub kind: Kind,
    /// Number of consecutive timeouts.
    pub consecutive_timeouts: u32,
    /// Probability that `kind` is correct.
    pub kind_confidence: f64,
    /// Frame of the first copy of the data; none if it was not captured.
    pub original: Option<u64>,
    /// Needless, needed or unknown.
    pub needless: Necessity,
    /// Probability that `needless` is correct.
    pub needless_confidence: f64,
    /// Evidence for `needless`.
    pub proof: Proof,
    /// Index of the retransmission's episode, if any.
    pub episode: Option<usize>,
    /// True if a DSACK block has been assigned to the retransmission.
    pub has_dsack: bool,
    /// Frame of the acknowledgment that shows the sender, by a DSACK block or its timestamp, that
    /// the retransmission was needless.
    pub frame_informing_sender: Option<u64>,
    /// Index of the previous retransmission of the same data, if any.
    pub previous_retransmission: Option<u32>,
    /// True once the retransmitted data are acknowledged.
    pub is_acked: bool,
    /// True if their acknowledgment does not show which of the copies arrived.
    pub is_copy_unknown: bool,
}

impl RetransmissionRecord {
    /// Replaces the present evidence if the new one is stronger.
    pub fn add_proof(&mut self, needless: Necessity, confidence: f64, proof: Proof) {
        if self.needless == Necessity::Unknown || confidence > self.needless_confidence {
            (self.needless, self.needless_confidence, self.proof) = (needless, confidence, proof);
        }
    }
}

/// Retransmissions of one direction.
#[derive(Debug, Default)]
pub struct RetransmissionRecords {
    /// Retransmissions in the order of the capture.
    pub all: Vec<RetransmissionRecord>,
    /// Index of the last retransmission that begins at a position.
    by_start: BTreeMap<i64, u32>,
    /// Number of retransmissions that DSACK blocks for earlier ones have been compared with.
    compared: usize,
}

impl RetransmissionRecords {
    /// Adds a retransmission; returns its index.
    pub fn push(&mut self, record: RetransmissionRecord) -> u32 {
        let index = self.all.len() as u32;
        self.by_start.insert(record.start, index);
        self.all.push(record);
        index
    }

    /// Index of the last retransmission that begins at `start`.
    pub fn index_at(&self, start: i64) -> Option<u32> {
        self.by_start.get(&start).copied()
    }

    /// The last retransmission that begins at `start`.
    pub fn last_at(&self, start: i64) -> Option<&RetransmissionRecord> {
        self.index_at(start).map(|index| &self.all[index as usize])
    }

    /// Handles a duplicate ACK without blocks from a receiver that reports gaps by SACK: data
    /// before `ack` have arrived again. A receiver with DSACK does not report them either if their
    /// timestamp is older than one that has arrived (PAWS, RFC 7323 §5.3). If the last
    /// retransmission arrived first, and is the only one of the last `within_ns`, these data are
    /// its late original.
    #[cold]
    pub fn on_answer_to_duplicate(&mut self, ack: i64, within_ns: i64, now: &PacketContext) {
        let Some((last, before)) = self.all.split_last_mut() else { return };
        let is_recent = |it: &RetransmissionRecord| now.time_ns - it.time_ns <= within_ns;
        let is_open = |it: &RetransmissionRecord| it.proof.evidence != Evidence::LateOriginal;
        let is_alone = !before.last().is_some_and(|it| is_recent(it) && is_open(it));
        let is_first = last.is_acked && last.proof.evidence == Evidence::OwnTimestamp;
        if is_alone && is_recent(last) && is_first && last.end <= ack {
            let proof = Proof { evidence: Evidence::LateOriginal, packet: Some(now.packet) };
            last.add_proof(Necessity::Yes, 0.992, proof);
        }
    }

    /// Handles a DSACK block in frame `packet`, which reports that a retransmission arrived as a
    /// duplicate.
    pub fn on_dsack(&mut self, start: i64, end: i64, packet: u64) {
        let mut found = None;
        for (_, index) in self.by_start.range(start..end) {
            let record = &self.all[*index as usize];
            // The block must contain the whole segment. It refers to the oldest retransmission that
            // has not been reported yet.
            if record.end <= end && !record.has_dsack && record.packet < packet {
                found = Some(found.map_or(*index, |other: u32| other.min(*index)));
            }
        }
        // If the sender merged segments, the retransmission is larger than the receiver's block.
        let before = self.by_start.range(..=start).next_back();
        let around = before.filter(|(_, index)| self.all[**index as usize].end >= end);
        let found = found.or(around.map(|(_, index)| *index));
        if let Some(index) = found {
            let record = &mut self.all[index as usize];
            record.has_dsack = true;
            record.frame_informing_sender = record.frame_informing_sender.or(Some(packet));
            let proof = Proof { evidence: Evidence::Dsack, packet: Some(packet) };
            record.add_proof(Necessity::Yes, 0.995, proof);
            self.compare_with_arrived(index as usize, packet);
        }
    }

    /// Handles the arrival of a retransmission, which a DSACK block has reported. Later
    /// retransmissions of data that were acknowledged before cannot have arrived yet, since a path
    /// without reordering keeps the order: earlier copies have arrived.
    fn compare_with_arrived(&mut self, index: usize, packet: u64) {
        self.compared = self.compared.max(index + 1);
        for record in self.all[self.compared..].iter_mut().take_while(|it| it.is_acked) {
            self.compared += 1;
            let proof = Proof { evidence: Evidence::EarlyAck, packet: Some(packet) };
            record.add_proof(Necessity::Yes, 0.97, proof);
        }
    }
}
