//! Path-MTU black hole: large segments vanish without an ICMP message, whereas smaller ones pass
//! (RFC 2923 §2.1, RFC 4821).

use super::SentPacket;
use crate::answer::Pattern;

/// Payload of the largest IPv4 packet that every path passes (RFC 791: 576 bytes), without headers.
const ALWAYS_PASSES: i64 = 536;
/// Number of consecutive copies of a large segment that must vanish. The fourth copy vanishes after
/// three timeouts, which is unlikely to happen by chance.
const COPIES_MIN: u32 = 4;
/// Number of copies that suffice if a smaller segment with the same data then passes.
const COPIES_BEFORE_SMALLER: u32 = 3;

/// Segment that is retransmitted repeatedly.
#[derive(Debug, Clone, Copy)]
struct Stuck {
    start: i64,
    length: i64,
    copies: u32,
    /// Frame and time of the first retransmission.
    first: (u64, i64),
    last_ns: i64,
    /// Payload and frame of a smaller segment with the same data.
    smaller: Option<(i64, u64)>,
    /// True if packets of the receiver arrived while the segment remained unacknowledged.
    is_heard: bool,
}

/// Search for a black hole.
#[derive(Debug, Default)]
pub struct BlackHoleDetector {
    stuck: Option<Stuck>,
    largest_passed: i64,
    found: Option<Pattern>,
}

impl BlackHoleDetector {
    /// Handles data that pass the capture. On the path, a segment has up to `segment` bytes of
    /// payload.
    pub fn on_data(&mut self, sent: &SentPacket, segment: i64) {
        // A super-segment, which the network card will split, is longer than the segments on the
        // path.
        let length = sent.payload_bytes.min(segment);
        match &mut self.stuck {
            // The sender retransmits the first unacknowledged segment until it is acknowledged. A
            // sender that probes for the path MTU retransmits a smaller piece of it (RFC 4821,
            // `tcp_mtu_probing`).
            Some(stuck) if stuck.start == sent.start => {
                if length >= stuck.length {
                    stuck.copies += 1;
                    stuck.last_ns = sent.time_ns;
                } else if stuck.smaller.is_none() {
                    stuck.smaller = Some((length, sent.packet));
                }
            }
            _ if sent.is_retransmission && length > ALWAYS_PASSES => {
                self.keep(false);
                let (start, first) = (sent.start, (sent.packet, sent.time_ns));
                let last_ns = sent.time_ns;
                // Two copies so far: the original and this retransmission.
                let (copies, smaller, is_heard) = (2, None, false);
                self.stuck =
                    Some(Stuck { start, length, copies, first, last_ns, smaller, is_heard });
            }
            _ => {}
        }
    }

    /// Handles an acknowledgment up to `ack`; the longest segment that it newly covers has
    /// `passed_length` bytes.
    pub fn on_ack(&mut self, ack: i64, passed_length: i64, time_ns: i64) {
        self.largest_passed = self.largest_passed.max(passed_length);
        let Some(stuck) = &mut self.stuck else { return };
        // On an interrupted path nothing arrives, whereas a black hole lets ACKs and small segments
        // pass.
        if ack <= stuck.start {
            // Other packets of the receiver show that the path is not interrupted.
            stuck.is_heard |= time_ns > stuck.first.1;
        } else {
            self.keep(true);
        }
    }

    /// Stores the repeatedly retransmitted segment as the finding, if a black hole explains it.
    fn keep(&mut self, is_acked: bool) {
        let Some(stuck) = self.stuck.take() else { return };
        // If a segment of this length has arrived, the size cannot be the reason.
        if self.found.is_some() || stuck.length <= self.largest_passed {
            return;
        }
        let seconds = (stuck.last_ns - stuck.first.1) as f64 * 1e-9;
        let vanished = format!(
            "{} bytes were sent {} times in a segment, over {seconds:.1} s, and were not \
             acknowledged (again from frame {} on)",
            stuck.length, stuck.copies, stuck.first.0
        );
        let confirms = |_: &(i64, u64)| is_acked && stuck.copies >= COPIES_BEFORE_SMALLER;
        let (confidence, evidence) = if let Some((length, packet)) = stuck.smaller.filter(confirms)
        {
            let then = format!("the first {length} of them were, in the segment of frame");
            (0.95, format!("{vanished}; {then} {packet}"))
        } else if !is_acked && stuck.copies >= COPIES_MIN && stuck.is_heard {
            let then = "packets of the other end arrived meanwhile, and no segment of this size \
                        was ever acknowledged";
            (0.7, format!("{vanished}; {then}"))
        } else {
            return;
        };
        let packets = vec![stuck.first.0];
        self.found = Some(Pattern::new("path_mtu_black_hole", evidence, packets, confidence));
    }

    /// Pattern of a black hole, if the flow shows one; called after the last packet of the flow.
    pub fn finish(mut self) -> Option<Pattern> {
        self.keep(false);
        self.found
    }
}
