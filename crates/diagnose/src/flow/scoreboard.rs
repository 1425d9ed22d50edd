//! Scoreboard of one direction, as far as the capture shows it: transmissions, retransmissions and
//! acknowledgments.

use super::direction::PacketContext;
use std::collections::VecDeque;

/// Maximum number of spans. It is reached only if the acknowledgments are not in the capture.
const SPANS_MAX: usize = 1 << 16;

/// Evidence for the order in which packets were sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SendOrder {
    /// Timestamp value of the TCP option.
    pub timestamp_value: Option<u32>,
    /// IP identification; none if it does not count packets.
    pub ip_id: Option<u16>,
}

impl SendOrder {
    /// True if this packet was sent after the other, false if before it; none without evidence.
    pub fn is_after(self, other: Self) -> Option<bool> {
        let by_value = self
            .timestamp_value
            .zip(other.timestamp_value)
            .map(|(own, other)| own.wrapping_sub(other));
        match by_value {
            // Serial numbers wrap: up to half of their range counts as later. Packets of one tick
            // have equal values, which the IP identification may still order.
            Some(difference) if difference != 0 => return Some((difference as i32) > 0),
            _ => {}
        }
        let by_id = self.ip_id.zip(other.ip_id).map(|(own, other)| own.wrapping_sub(other));
        by_id.filter(|difference| *difference != 0).map(|difference| (difference as i16) > 0)
    }
}

/// Contiguous range of sequence numbers whose bytes were transmitted and acknowledged together.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// Position of the first byte.
    pub start: i64,
    /// Position after the last byte.
    pub end: i64,
    /// Time of the first copy; for a hole, the time of the packet that revealed the hole.
    pub first_ns: i64,
    /// Time of the last copy.
    pub last_ns: i64,
    /// Time at which the last copy would have passed without queues before the capture.
    pub sent_ns: i64,
    /// Copies captured; 0 for a hole.
    pub copies: u32,
    /// Frame of the first copy, or the frame that revealed the hole.
    pub packet: u64,
    /// Evidence for the sending order of the last copy, or of the packet that revealed the hole.
    pub send_order: SendOrder,
    /// True if a SACK block covers the span.
    pub sacked: bool,
    /// Index of the span's last retransmission; none if there was none.
    pub retransmission: Option<u32>,
    /// Bytes that the sender had sent in total, up to and including the last copy, with headers.
    pub sent_bytes: i64,
    /// Bytes that were not acknowledged when the last copy passed the capture, with this copy.
    pub flight: i64,
}

impl Span {
    /// Transmission time of the copy that an acknowledgment reports; 0 if unknown. That is the last
    /// copy, unless the last copy is a retransmission that was sent less than a round trip ago.
    pub fn newest_delivered(&self, now: &PacketContext) -> i64 {
        let is_soon = now.receiver_loop.is_some_and(|least| now.time_ns - self.last_ns < least);
        if self.copies == 0 || (self.retransmission.is_some() && is_soon) {
            0
        } else {
            self.sent_ns
        }
    }
}

/// Spans from the cumulative acknowledgment to the highest position sent.
#[derive(Debug, Default)]
pub struct Scoreboard {
    spans: VecDeque<Span>,
    /// Position after all captured data.
    pub end: i64,
    /// Position up to which everything is acknowledged or forgotten.
    pub start: i64,
}

impl Scoreboard {
    /// Creates an empty scoreboard that starts at this position.
    pub fn starting_at(position: i64) -> Self {
        Self { spans: VecDeque::new(), start: position, end: position }
    }

    /// Appends a span at the end.
    pub fn append(&mut self, span: Span) {
        debug_assert!(span.start == self.end && span.end > span.start);
        self.end = span.end;
        // Without captured acknowledgments nothing else removes spans.
        if self.spans.len() == SPANS_MAX
            && let Some(first) = self.spans.pop_front()
        {
            self.start = first.end;
        }
        self.spans.push_back(span);
    }

    /// Spans within a range. Spans that extend beyond the range are divided at its ends.
    pub fn range_mut(&mut self, start: i64, end: i64) -> impl Iterator<Item = &mut Span> {
        // Both spans are divided before the indices are computed, because a division changes the
        // indices.
        self.cut(start);
        self.cut(end);
        let from = self.index(start);
        let to = self.index(end).max(from);
        self.spans.range_mut(from..to)
    }

    /// Spans that touch a range.
    pub fn range(&self, start: i64, end: i64) -> impl Iterator<Item = &Span> {
        let from = self.spans.partition_point(|span| span.end <= start);
        let to = self.index(end).max(from);
        self.spans.range(from..to)
    }

    /// Index of the first span that starts at or after a position.
    fn index(&self, position: i64) -> usize {
        if position >= self.end {
            return self.spans.len();
        }
        self.spans.partition_point(|span| span.start < position)
    }

    fn cut(&mut self, position: i64) {
        let index = self.spans.partition_point(|span| span.end <= position);
        if let Some(span) = self.spans.get_mut(index)
            && span.start < position
        {
            let rest = Span { start: position, ..*span };
            span.end = position;
            self.spans.insert(index + 1, rest);
        }
    }

    /// Removes and returns the first span, cut off at the cumulative acknowledgment `ack`; `None`
    /// if the span begins at or after `ack`.
    pub fn pop_acked(&mut self, ack: i64) -> Option<Span> {
        let first = self.spans.front()?;
        if first.start >= ack {
            return None;
        }
        if first.end > ack {
            self.cut(ack);
        }
        let span = self.spans.pop_front();
        self.start = self.start.max(span.map_or(ack, |span| span.end));
        span
    }

    /// The first span that is not acknowledged.
    pub fn first_span(&self) -> Option<&Span> {
        self.spans.front()
    }

    /// Bytes from `start` to `end` that are missing in the capture.
    pub fn missing(&self, start: i64, end: i64) -> i64 {
        let holes = self.range(start, end.max(start)).filter(|span| span.copies == 0);
        holes.map(|span| span.end.min(end) - span.start.max(start)).sum()
    }

    /// True if data before the end are missing in the capture.
    pub fn has_hole(&self) -> bool {
        self.spans.iter().any(|span| span.copies == 0)
    }

    /// Discards all spans before a position that was acknowledged although the data before it were
    /// not captured.
    pub fn skip_to(&mut self, position: i64) {
        self.start = self.start.max(position);
        if position > self.end {
            self.end = position;
        }
    }
}
