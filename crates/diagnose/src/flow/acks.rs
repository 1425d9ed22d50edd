//! Acknowledgments of one direction's data: what they say about retransmissions.

use super::half::{Half, Now};
use super::sender::Ack;
use crate::answer::{Evidence, Needless, Proof};
use crate::packet::{Control, Packet};

/// Cumulative acknowledgment, and what it echoes.
struct Echo {
    before: i64,
    echoed: Option<u32>,
}

impl Half {
    /// An acknowledgment of this direction's data passes; returns the time since the newest data
    /// that it acknowledges for the first time.
    pub fn on_ack(&mut self, packet: &Packet, now: &Now) -> Option<i64> {
        if !packet.control.any(Control::ACK) {
            return None;
        }
        let ack = self.position(packet.ack, false);
        let is_syn = packet.control.any(Control::SYN);
        let scale = if is_syn { 0 } else { self.scale.unwrap_or(0) };
        let window = i64::from(packet.window) << scale;
        let is_known = self.scale.is_some() || is_syn;
        let is_duplicate = packet.payload_bytes == 0
            && !packet.control.any(Control::SYN | Control::FIN | Control::RST)
            && ack == self.passed_ack
            && self.board.first().is_some()
            && (window == self.window || !packet.options.sack.as_slice().is_empty());
        let sacked_to = self.selective(packet, ack, now);
        let sample = self.cumulative(packet, ack, now);
        let rtt_ns = sample.map(|ns| ns + now.sender_loop.unwrap_or(0));
        self.passed_ack = self.passed_ack.max(ack);
        self.window = window;
        let effective_ns = now.time_ns + now.sender_loop.unwrap_or(0);
        let window = if is_known { window } else { -1 };
        self.sender.push(Ack { effective_ns, ack, is_duplicate, sacked_to, window, rtt_ns });
        sample
    }

    /// SACK blocks; returns the highest position in them.
    fn selective(&mut self, packet: &Packet, ack: i64, now: &Now) -> i64 {
        let blocks = packet.options.sack.as_slice();
        let mut highest = ack;
        for (index, (left, right)) in blocks.iter().enumerate() {
            let (left, right) = (self.position(*left, false), self.position(*right, false));
            if left >= right || right > self.board.end || right - left > 1 << 30 {
                continue;
            }
            let outer = blocks.get(1).map(|(left, right)| {
                (self.position(*left, false), self.position(*right, false))
            });
            let is_within = outer.is_some_and(|(from, to)| from <= left && right <= to);
            if index == 0 && (right <= ack || is_within) {
                self.has_dsack = true;
                self.records.duplicate(left, right, now.packet);
                continue;
            }
            highest = highest.max(right);
            let mut news = Vec::new();
            let has_news = self.board.range(left, right).any(|span| !span.sacked);
            if has_news {
                for span in self.board.range_mut(left, right) {
                    if !span.sacked {
                        span.sacked = true;
                        news.extend(span.retransmission);
                    }
                }
            }
            for index in news {
                self.acknowledged(index, None, now);
            }
        }
        highest
    }

    /// Cumulative acknowledgment; returns the time since the newest data sent once.
    fn cumulative(&mut self, packet: &Packet, ack: i64, now: &Now) -> Option<i64> {
        let before = self.passed_ack;
        if ack <= before {
            return None;
        }
        let echoed = packet.options.timestamps.map(|(_, echo)| echo);
        let mut rtt = None;
        while let Some(span) = self.board.pop_acked(ack) {
            if span.copies == 0 {
                self.not_captured += span.end - span.start;
            } else if span.retransmission.is_none() && !span.sacked && span.copies == 1 {
                rtt = Some(now.time_ns - span.last_ns);
            }
            // What was selectively acknowledged has been judged then.
            if let Some(index) = span.retransmission.filter(|_| !span.sacked) {
                let echo = Echo { before, echoed };
                self.acknowledged(index, Some(&echo), now);
            }
        }
        if ack > self.board.end {
            self.not_captured += ack - self.board.end;
            self.board.skip_to(ack);
        }
        rtt
    }

    /// The data of a retransmission are acknowledged for the first time.
    fn acknowledged(&mut self, index: u32, echo: Option<&Echo>, now: &Now) {
        let record = &mut self.records.all[index as usize];
        record.is_acked = true;
        let elapsed = now.time_ns - record.time_ns;
        let proof = |evidence| Proof { evidence, packet: Some(now.packet) };
        let is_head = echo.is_some_and(|echo| record.start <= echo.before);
        let echoed = echo.and_then(|echo| echo.echoed).zip(record.value);
        if now.receiver_loop.is_some_and(|least| elapsed < least / 20 * 19) {
            record.prove(Needless::Yes, 0.98, proof(Evidence::EarlyAck));
        } else if let Some((echoed, value)) = echoed.filter(|_| is_head)
            && record.previous_value.is_some_and(|previous| previous != value)
        {
            if (echoed.wrapping_sub(value) as i32) < 0 {
                record.prove(Needless::Yes, 0.99, proof(Evidence::OlderTimestamp));
            } else {
                record.prove(Needless::No, 0.99, proof(Evidence::OwnTimestamp));
            }
        }
    }
}
