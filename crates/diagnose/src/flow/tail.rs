//! Time since data were last sent. The next packet may change the limit of this time.

use super::account::Limit;
use super::half::Half;

/// Part of the time since data were last sent. The next packet may show that another limit was in
/// force: a timer, or, if the next data came late, the application.
#[derive(Debug, Clone, Copy)]
pub struct Tail {
    /// Limit in force.
    pub limit: Limit,
    /// Index of the limit's episode.
    pub episode: Option<usize>,
    /// Length in nanoseconds.
    pub length: i64,
    /// True outside loss recovery.
    pub is_open: bool,
    /// True if a retransmission followed this interval and restarted the timer.
    pub is_before_repair: bool,
}

impl Half {
    pub(super) fn extend_time_since_data(&mut self, piece: Tail) {
        let key = |it: &Tail| (it.limit, it.episode, it.is_open, it.is_before_repair);
        match self.tail.last_mut() {
            Some(last) if key(last) == key(&piece) => last.length += piece.length,
            _ => self.tail.push(piece),
        }
    }

    /// Shortens the intervals since the last data by time that was reassigned to the receiver's
    /// delay of an acknowledgment, so that this time is not reassigned twice.
    pub(super) fn shorten_tail(&mut self, mut length: i64, of: (Limit, Option<usize>)) {
        for piece in self.tail.iter_mut().rev().filter(|it| (it.limit, it.episode) == of) {
            let removed = length.min(piece.length);
            piece.length -= removed;
            length -= removed;
        }
    }

    /// Reassigns the time since the last data to this limit, which turns out to have been in force.
    pub(super) fn tail_was(&mut self, limit: Limit) {
        for tail in std::mem::take(&mut self.tail) {
            let is_counted = matches!(
                tail.limit,
                Limit::Bottleneck | Limit::SlowStart | Limit::Window | Limit::EcnWindow
            );
            if !tail.is_open || !is_counted {
                continue;
            }
            if limit == Limit::Pacing && tail.limit == Limit::Bottleneck {
                // Pacing was not the limit if the bottleneck was busy: without pacing the data
                // would have waited there.
                continue;
            }
            self.account.shift(tail.length, (tail.limit, tail.episode), (limit, None));
        }
    }

    /// Handles a retransmission. If a timer has triggered it, the time since the last data is
    /// reassigned to the timeout.
    pub(super) fn tail_was_repaired(&mut self, by_timer: bool) {
        let episode = self.episode_now();
        for tail in &mut self.tail {
            let may_claim = !matches!(tail.limit, Limit::Handshake | Limit::Timeout);
            if by_timer && may_claim && !tail.is_before_repair {
                let of = (tail.limit, tail.episode);
                self.account.shift(tail.length, of, (Limit::Timeout, episode));
                tail.limit = Limit::Timeout;
            }
            tail.is_before_repair = true;
        }
    }
}
