//! History of a flow's limits over time.
//!
//! A history is a list of parts, each with one limit, which cover the flow's life without gaps.
//! When time is moved from one limit to another, the parts that cover this time are relabelled. So
//! the total length of the parts with a limit equals the time of this limit in the flow's
//! [`LimitTimes`](super::LimitTimes).

use super::{Claim, Span};
use crate::limit::{FlowLimit, LimitedSpan};
use crate::reason::Cause;
use retx_units::Time;

/// Part of a flow's life under one limit; it starts at the end of the part before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    end: Time,
    limit: FlowLimit,
    /// Number of the reduction in force ([`Claim::number`]); 0 if there is none.
    reduction: u32,
}

/// Limits of a flow in order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LimitHistory {
    start: Time,
    parts: Vec<Part>,
}

impl LimitHistory {
    /// Creates the history of a flow whose life starts at `start`.
    pub const fn new(start: Time) -> Self {
        Self { start, parts: Vec::new() }
    }

    /// Index that the next part will have.
    pub(super) const fn next_part(&self) -> usize {
        self.parts.len()
    }

    fn end(&self) -> Time {
        self.parts.last().map_or(self.start, |part| part.end)
    }

    /// Extends the history to `end`, under this limit.
    pub fn extend(&mut self, end: Time, limit: FlowLimit, reduction: u32) {
        if end <= self.end() {
            return;
        }
        match self.parts.last_mut() {
            Some(part) if (part.limit, part.reduction) == (limit, reduction) => part.end = end,
            _ => self.parts.push(Part { end, limit, reduction }),
        }
    }

    /// Inserts the time from `start` to the present start of the history, under this limit.
    pub(super) fn prepend(&mut self, start: Time, limit: FlowLimit) {
        if start < self.start {
            self.parts.insert(0, Part { end: self.start, limit, reduction: 0 });
            self.start = start;
        }
    }

    /// Assigns the time of these spans after `from` to the limit `to`, because the retransmission
    /// timer has expired. Returns the index of the first part that may have changed.
    pub(super) fn relabel_after_timeout(
        &mut self,
        silence: &[Span],
        from: Time,
        to: (FlowLimit, u32),
    ) -> usize {
        // The spans lie at the end of the history, so only parts after `from`, when data were last
        // sent, are examined.
        let first = self.parts.iter().rposition(|part| part.end <= from).map_or(0, |it| it + 1);
        let tail = self.parts.split_off(first);
        for part in tail {
            for span in silence.iter().filter(|span| span.to > from) {
                let begin = span.from.max(from).min(part.end);
                if part.limit != FlowLimit::DelayedAck && begin < span.to.min(part.end) {
                    self.extend(begin, part.limit, part.reduction);
                    self.extend(span.to.min(part.end), to.0, to.1);
                }
            }
            self.extend(part.end, part.limit, part.reduction);
        }
        first
    }

    /// Corrects the cause of the parts that belong to a reduction.
    pub(super) fn correct(&mut self, before: &Claim, cause: Cause) {
        for part in self.parts.iter_mut().skip(before.first_part) {
            if part.reduction == before.number {
                part.limit = part.limit.with_corrected_cause(before.cause, cause);
            }
        }
    }

    /// Assigns the whole history to one limit.
    pub(super) fn relabel_all(&mut self, limit: FlowLimit) {
        self.parts.iter_mut().for_each(|part| *part = Part { limit, reduction: 0, ..*part });
    }

    /// Spans of time, each under one limit, in order of time.
    pub fn spans(&self) -> impl Iterator<Item = LimitedSpan> + '_ {
        let mut start = self.start;
        let mut parts = self.parts.iter().peekable();
        std::iter::from_fn(move || {
            let limit = parts.peek()?.limit;
            let mut end = start;
            while let Some(part) = parts.next_if(|part| part.limit == limit) {
                end = part.end;
            }
            Some(LimitedSpan { start: std::mem::replace(&mut start, end), end, limit })
        })
    }
}
