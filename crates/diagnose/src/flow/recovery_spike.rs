//! Delay spikes in a fast recovery, where queues are invisible.
//!
//! *Rule.* A silence that is longer than a round trip after the last acknowledgment, and that no
//! timeout has ended, is a delay on the path. The data that arrive after it, before an
//! acknowledgment can have released any, were in flight during the silence. If they reach the
//! bandwidth-delay product, or if no gap separates them from the next data, they fill the path, and
//! the bottleneck was the limit.

use super::account::Limit;
use super::direction::{Direction, PacketContext};
use super::release::is_far;
use super::sender::State;

/// A silence in a fast recovery.
#[derive(Debug, Clone, Copy)]
pub struct RecoverySpike {
    /// Time of the last data before the silence, and of the first data after it.
    start_ns: i64,
    end_ns: i64,
    /// Bytes that have arrived since.
    bytes: i64,
    /// True once an acknowledgment has taken effect that passed the capture after the silence.
    is_released: bool,
}

impl Direction {
    /// Notes data of `bytes` bytes in a fast recovery, and a silence that ends with them.
    pub(super) fn note_recovery_spike(&mut self, bytes: i64, now: &PacketContext) {
        let Some(run) = &mut self.busy_period else { return };
        if let Some(spike) = run.spike.as_mut().filter(|spike| !spike.is_released) {
            spike.bytes += bytes;
        }
        let silence_ns = now.sent_ns - self.sender.last_activity_ns();
        let is_long = self.sender.rtt_min_ns.is_some_and(|least| silence_ns > least);
        if is_long && matches!(self.sender.state, State::Recovery(_)) && is_far(now) {
            let start_ns = now.sent_ns - self.sender.idle_ns(now.sent_ns)[1];
            let end_ns = now.sent_ns;
            run.spike = Some(RecoverySpike { start_ns, end_ns, bytes, is_released: false });
        }
    }

    /// Notes an acknowledgment that takes effect.
    pub(super) fn release_recovery_spike(&mut self, effective_ns: i64) {
        let spike = self.busy_period.as_mut().and_then(|run| run.spike.as_mut());
        if let Some(spike) = spike.filter(|spike| spike.end_ns < effective_ns) {
            spike.is_released = true;
        }
    }

    /// Attributes a silence, and the time since, to the limit that the data after it show, once the
    /// first data have arrived that an acknowledgment may have released.
    pub(super) fn attribute_recovery_spike(&mut self, now: &PacketContext) {
        let Some(run) = &mut self.busy_period else { return };
        let Some(spike) = run.spike.take_if(|spike| spike.is_released) else { return };
        let has_gap = run.length_ns(now.time_ns) < now.time_ns - spike.end_ns;
        let is_filled = !has_gap || self.fills_path(spike.bytes);
        if is_filled && !matches!(self.sender.state, State::Loss(_)) {
            let is_moved = |limit: Limit| limit == Limit::Recovery;
            let time = (spike.start_ns, now.sent_ns);
            self.account.reassign_between(time, is_moved, (Limit::Bottleneck, None));
        }
    }
}
