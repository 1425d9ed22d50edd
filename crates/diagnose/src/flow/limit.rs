//! What limits the sender, in the order of docs/decisions/0018.

use super::account::Limit;
use super::half::Half;
use super::sender::{Ack, State};

/// Part of the path's product at which the bottleneck counts as the limit.
const FILLED: f64 = 0.95;
/// Shorter waits for an acknowledgment are not put down to the receiver's delay.
const DELAYED_MIN_NS: i64 = 500_000;

impl Half {
    /// Acknowledgments take effect at the sender until this time.
    pub fn settle(&mut self, until_ns: i64) {
        while let Some(ack) = self.sender.pop(until_ns, self.board.end) {
            self.take(&ack);
        }
    }

    fn take(&mut self, ack: &Ack) {
        let (limit, episode) = (self.account.limit(), self.episode_now());
        if let Some(due_ns) = self.due_ns(ack, limit) {
            self.account.until(due_ns, limit, episode);
            self.account.until(ack.effective_ns, Limit::DelayedAck, None);
        } else {
            self.account.until(ack.effective_ns, limit, episode);
        }
        if let Some(episode) = self.episodes.last_mut()
            && episode.end_ns.is_none()
            && self.sender.una >= episode.until
        {
            episode.end_ns = Some(ack.effective_ns);
        }
        if self.payload_end > 0 && ack.ack >= self.payload_end {
            self.account.pause();
        }
        self.account.set(self.limit());
    }

    /// When an acknowledgment of everything should have come, if the receiver has held it back.
    fn due_ns(&self, ack: &Ack, limit: Limit) -> Option<i64> {
        let waits = matches!(limit, Limit::Window | Limit::SlowStart | Limit::Application);
        let least = self.sender.rtt_min_ns?;
        if !waits || ack.ack < self.board.end || ack.is_duplicate {
            return None;
        }
        let due_ns = self.sender.active_ns_sent() + least;
        (ack.effective_ns - due_ns > DELAYED_MIN_NS).then_some(due_ns)
    }

    /// Bytes that are on their way.
    fn pipe(&self) -> i64 {
        let flight = self.board.end - self.sender.una;
        let (highest, duplicates) = self.sender.heard();
        let left = if highest > self.sender.una {
            self.board.end - highest
        } else {
            flight - duplicates * self.largest
        };
        (left + self.resent_bytes).clamp(0, flight)
    }

    /// Bytes that fill the path: rate times least round trip.
    fn product(&self) -> Option<f64> {
        let least = self.sender.rtt_min_ns?;
        Some(self.path.rate()? * least as f64 * 1e-9)
    }

    /// What limits the sender from now on.
    pub(super) fn limit(&self) -> Limit {
        let flight = self.board.end - self.sender.una;
        let product = self.product();
        let is_filled = product.is_some_and(|product| self.pipe() as f64 >= FILLED * product);
        let window = self.sender.window;
        let is_small = product.is_none_or(|product| (window as f64) < product);
        if !self.is_established {
            Limit::Handshake
        } else if flight <= 0 || (self.last_length < self.largest && flight < 2 * self.largest) {
            Limit::Application
        } else if window >= 0 && flight + self.largest > window && is_small {
            Limit::ReceiveWindow
        } else if is_filled {
            Limit::Bottleneck
        } else if matches!(self.sender.state, State::Recovery(_)) {
            Limit::Recovery
        } else if !self.sender.has_reduced {
            Limit::SlowStart
        } else {
            Limit::Window
        }
    }
}
