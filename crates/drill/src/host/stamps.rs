//! Transmit timestamps (`SO_TIMESTAMPING` with `SOF_TIMESTAMPING_OPT_ID`): when the last byte of
//! each write was sent, and when it was acknowledged.

use super::Host;
use super::calls::Fault;
use crate::script::TimestampEvent;
use retx_units::Time;
use std::collections::VecDeque;

/// Timestamp in the error queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransmitTimestamp {
    /// Time of the event.
    pub at: Time,
    /// Event that the timestamp belongs to.
    pub event: TimestampEvent,
    /// Number of the write's last byte; byte 0 is the first after the option was set.
    pub key: u64,
}

/// Tracked writes, and the socket's error queue.
#[derive(Debug, Clone)]
pub struct TransmitTimestamps {
    base: u64,
    /// Position before which everything has been sent.
    sent: u64,
    /// Ends of writes that have not been sent completely, as positions.
    unsent: VecDeque<u64>,
    /// Ends of writes that have been sent, but not acknowledged.
    unacknowledged: VecDeque<u64>,
    /// Timestamps not read yet.
    pub queue: VecDeque<TransmitTimestamp>,
}

impl TransmitTimestamps {
    /// Starts tracking; bytes are counted from position `base`.
    pub fn new(base: u64) -> Self {
        let (unsent, unacknowledged) = (VecDeque::new(), VecDeque::new());
        Self { base, sent: base, unsent, unacknowledged, queue: VecDeque::new() }
    }

    /// Records a write that ends at a position. Its data may all have been sent already.
    pub fn on_write(&mut self, now: Time, end: u64) {
        self.unsent.push_back(end);
        self.on_sent(now, self.sent);
    }

    /// Records the first transmission of data up to a position.
    pub fn on_sent(&mut self, now: Time, end: u64) {
        self.sent = self.sent.max(end);
        while self.unsent.front().is_some_and(|write| *write <= end) {
            let Some(write) = self.unsent.pop_front() else { return };
            self.unacknowledged.push_back(write);
            for what in [TimestampEvent::Scheduled, TimestampEvent::Sent] {
                self.queue.push_back(TransmitTimestamp {
                    at: now,
                    event: what,
                    key: write - 1 - self.base,
                });
            }
        }
    }

    /// Records the acknowledgment of everything before a position.
    pub fn on_acknowledged(&mut self, now: Time, snd_una: u64) {
        while self.unacknowledged.front().is_some_and(|write| *write <= snd_una) {
            let Some(write) = self.unacknowledged.pop_front() else { return };
            let key = write - 1 - self.base;
            self.queue.push_back(TransmitTimestamp {
                at: now,
                event: TimestampEvent::Acknowledged,
                key,
            });
        }
    }
}

impl Host {
    /// Next transmit timestamp of a socket.
    ///
    /// # Errors
    /// No such descriptor.
    pub fn next_timestamp(&mut self, fd: i32) -> Result<Option<TransmitTimestamp>, Fault> {
        let end = self.end_for_fd(fd)?;
        let stamps = end.and_then(|end| self.ends[end].timestamps.as_mut());
        Ok(stamps.and_then(|stamps| stamps.queue.pop_front()))
    }
}
