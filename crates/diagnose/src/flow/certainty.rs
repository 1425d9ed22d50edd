//! Probabilities that statements are correct, where the evidence itself does not give them.
//!
//! The values are fractions of correct statements, measured by `tools/diagnose_truth.py` on its
//! random flows 20000–25199, 26000–27199, 30000–30399 and 33000–33399, except where noted, and
//! rounded. A fifth of these flows have delay spikes. One misjudged timeout makes all
//! retransmissions after it wrong, so fractions of flows count, which are smaller.

use super::record::RetransmissionRecord;
use crate::answer::Kind;

/// Retransmission whose inferred kind is a timeout, far from the sender (145 of 152 flows with
/// timestamps at the receiver's end, 151 of 157 in the middle). A queue may also cause a silence.
const FAR_TIMEOUT: f64 = 0.95;
/// Timeout in the middle of the path without timestamps (178 of 192 flows). A delay spike before
/// the capture may also cause a silence.
const MIDDLE_TIMEOUT: f64 = 0.92;
/// Retransmission whose inferred kind is a tail loss probe, at the sender's end (40 of 40), in the
/// middle (35 of 36) and at the receiver's end (19 of 22).
const PROBE: f64 = 0.97;
const MIDDLE_PROBE: f64 = 0.95;
const RECEIVER_PROBE: f64 = 0.85;
/// Not needless because nothing shows that it was: if the receiver reports no needless data by
/// DSACK (956 of 1,027 flows at the sender's end and in the middle), and if it does (more than 99 %
/// of the retransmissions, but only 158 of 180 flows, which often have few of them).
pub const NO_EVIDENCE: f64 = 0.9;
pub const NO_DSACK: f64 = 0.95;
/// Needless because an earlier copy arrived at the receiver's end before. An echo of the
/// retransmission's own timestamp is stronger evidence: a packet may be lost after the capture.
pub const ARRIVED_BEFORE: f64 = 0.98;

/// Number of bytes below which a flow is short: the smallest of the downloads above.
const SHORT_BYTES: i64 = 160_000;

/// True for a flow of few bytes, or of several responses. A wait is there often the only one of its
/// kind, so it cannot be compared with others.
pub fn is_short(bytes: i64, responses: u64) -> bool {
    bytes < SHORT_BYTES || responses > 1
}

/// Place of a capture, and evidence of a direction that is missing there.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Place of the capture.
    pub place: &'a str,
    /// True if the data have timestamps.
    pub has_timestamps: bool,
}

impl View<'_> {
    /// Largest probability that the inferred kind of a retransmission is correct.
    pub fn kind_max(&self, record: &RetransmissionRecord) -> f64 {
        match (self.place, record.kind, self.has_timestamps) {
            ("sender", Kind::TailLossProbe, _) => PROBE,
            ("receiver", Kind::TailLossProbe, _) => RECEIVER_PROBE,
            (_, Kind::TailLossProbe, _) => MIDDLE_PROBE,
            ("middle" | "unknown", Kind::Timeout, false) => MIDDLE_TIMEOUT,
            ("middle" | "unknown" | "receiver", Kind::Timeout, _) => FAR_TIMEOUT,
            _ => 1.0,
        }
    }

    /// Probability that no share of `limited_by` is wrong by more than 3 percentage points.
    /// Timeouts and needless retransmissions are signs of delay spikes or of hidden losses;
    /// `has_trouble` is true if there are any. [Short](is_short) flows were measured by 320 others
    /// (`--short 160 --first 47000` and `48000`).
    /// Where acknowledgments wait (`acks_wait`), 160 others beside an upload were used (`--uploads
    /// 160`: 15 of 74 flows at the sender's end, 14 of 74 in the middle, 8 of 54 at the receiver's
    /// end).
    pub fn shares(&self, has_trouble: bool, is_short: bool, acks_wait: bool) -> f64 {
        if acks_wait {
            return if self.place == "receiver" { 0.15 } else { 0.2 };
        }
        let [usual, troubled] = match (self.place, self.has_timestamps) {
            ("sender", _) if is_short => [0.94, 0.76],
            ("middle", _) if is_short => [0.93, 0.61],
            _ if is_short => [0.89, 0.41],
            ("sender", _) => [0.99, 0.96],
            ("middle", _) => [0.96, 0.90],
            ("receiver", true) => [0.94, 0.85],
            _ => [0.86, 0.68],
        };
        if has_trouble { troubled } else { usual }
    }
}
