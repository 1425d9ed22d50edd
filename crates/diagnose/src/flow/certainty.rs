//! Probabilities that statements are correct, where the evidence itself does not give them.
//!
//! The values are fractions of correct statements, measured by `tools/diagnose_truth.py` on its
//! random flows 20000–20199, 30000–30399 and 33000–33399, except where noted, and rounded. A
//! fifth of these flows have delay spikes. One misjudged timeout makes all retransmissions
//! after it wrong, so fractions of flows count, where they are smaller.

use super::record::RetransmissionRecord;
use crate::answer::Kind;

/// Kind of a retransmission of a flow without SACK blocks: at the receiver's end, and in the middle
/// of the path.
const RECEIVER_WITHOUT_SACK: f64 = 0.5;
const MIDDLE_WITHOUT_SACK: f64 = 0.7;
/// Retransmission whose inferred kind is a timeout, at the receiver's end of a flow with timestamps
/// (61 of 91 in the flows 1000–1199, 3000–3199 and 5000–5199). A queue may also cause a silence.
const RECEIVER_TIMEOUT: f64 = 0.7;
/// Retransmission whose inferred kind is a timeout, in the middle of the path without timestamps
/// (56 of 65 flows). A delay spike before the capture may also cause a silence.
const MIDDLE_TIMEOUT: f64 = 0.85;
/// Retransmission whose inferred kind is a tail loss probe (18 of 27): the timer may have expired
/// early.
const TAIL_LOSS_PROBE: f64 = 0.65;
/// Needless because an earlier copy arrived at the receiver's end before. An echo of the
/// retransmission's own timestamp is stronger evidence: a packet may be lost after the capture.
pub const ARRIVED_BEFORE: f64 = 0.98;

/// Number of bytes below which a flow is small: the smallest of the downloads above. In a small
/// flow a wait is often the only one of its kind, so it cannot be compared with others.
const SMALL_BYTES: i64 = 160_000;

/// Place of a capture, and evidence of a direction that is missing there.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Place of the capture.
    pub place: &'a str,
    /// True if the receiver has sent SACK blocks.
    pub has_sack: bool,
    /// True if the data have timestamps.
    pub has_timestamps: bool,
}

impl View<'_> {
    /// Largest probability that the inferred kind of a retransmission is correct.
    pub fn kind_max(&self, record: &RetransmissionRecord) -> f64 {
        let is_timeout = record.kind == Kind::Timeout;
        let without_sack = !self.has_sack && record.length_bytes > 0;
        match (self.place, self.has_timestamps) {
            _ if record.kind == Kind::TailLossProbe => TAIL_LOSS_PROBE,
            ("receiver", _) if without_sack => RECEIVER_WITHOUT_SACK,
            ("receiver", false) if is_timeout => RECEIVER_WITHOUT_SACK,
            ("receiver", true) if is_timeout => RECEIVER_TIMEOUT,
            ("middle" | "unknown", _) if without_sack => MIDDLE_WITHOUT_SACK,
            ("middle", false) if is_timeout => MIDDLE_TIMEOUT,
            _ => 1.0,
        }
    }

    /// Probability that no share of `limited_by` is wrong by more than 3 percentage points.
    /// Timeouts and needless retransmissions are signs of delay spikes or of hidden losses;
    /// `has_trouble` is true if there are any. Flows of few bytes were measured by 297 short
    /// transfers and series of requests (of `--short 400 --first 42000`).
    pub fn shares(&self, has_trouble: bool, bytes: i64) -> f64 {
        let [usual, troubled] = match (self.place, self.has_timestamps) {
            ("sender", _) if bytes < SMALL_BYTES => [0.90, 0.79],
            ("middle", _) if bytes < SMALL_BYTES => [0.89, 0.68],
            _ if bytes < SMALL_BYTES => [0.85, 0.48],
            ("sender", _) => [0.99, 0.94],
            ("middle", _) => [0.95, 0.86],
            ("receiver", true) => [0.94, 0.83],
            _ => [0.81, 0.63],
        };
        if has_trouble { troubled } else { usual }
    }
}
