//! Time since data were last sent, whose limit the next packet may correct.

use super::account::Limit;
use super::half::Half;

/// Interval since data were last sent. The next packet may show that another limit kept the sender
/// from sending: a timer, or the application if no more data follow.
#[derive(Debug, Clone, Copy)]
pub struct Tail {
    /// Limit in force.
    pub limit: Limit,
    /// Index of its episode.
    pub episode: Option<usize>,
    /// Length in nanoseconds.
    pub length: i64,
    /// True outside loss recovery.
    pub is_open: bool,
    /// True if a retransmission has followed it, which the timer measures from.
    pub is_before_repair: bool,
}

impl Half {
    pub(super) fn extend_tail(&mut self, piece: Tail) {
        let key = |it: &Tail| (it.limit, it.episode, it.is_open, it.is_before_repair);
        match self.tail.last_mut() {
            Some(last) if key(last) == key(&piece) => last.length += piece.length,
            _ => self.tail.push(piece),
        }
    }

    /// Removes from the intervals since the last data the time that counts for the receiver's
    /// delay, so that it is not reassigned twice.
    pub(super) fn shorten_tail(&mut self, mut length: i64, of: (Limit, Option<usize>)) {
        for piece in self.tail.iter_mut().rev().filter(|it| (it.limit, it.episode) == of) {
            let removed = length.min(piece.length);
            piece.length -= removed;
            length -= removed;
        }
    }

    /// Reassigns the time since the last data to the limit that alone kept the sender from sending.
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
                // With a full bottleneck the data would wait there if they did not wait at the
                // sender.
                continue;
            }
            self.account.shift(tail.length, (tail.limit, tail.episode), (limit, None));
        }
    }

    /// Handles a retransmission: if the timer has sent it, the time since the last data belongs to
    /// the timeout.
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
