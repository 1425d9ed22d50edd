//! Limits of a flow over several legs, which proxies connect.

use super::{LimitTimes, Limits};
use crate::limit::FlowLimit;
use retx_units::{Duration, Time};

impl Limits {
    /// Adds the time of a handshake on other legs, before the life of this flow.
    pub fn add_handshake(&mut self, time: Duration) {
        self.times.add(FlowLimit::Handshake, time);
    }

    /// Extends the recorded history back to `start`, with the handshake on other legs.
    pub fn begin_history_at(&mut self, start: Time) {
        self.history.iter_mut().for_each(|history| history.prepend(start, FlowLimit::Handshake));
    }

    /// Assigns the whole life to the handshake, because the last leg of the path was never opened.
    pub fn count_all_as_handshake(&mut self) {
        let life = self.times.total();
        self.times = LimitTimes::default();
        self.add_handshake(life);
        self.history.iter_mut().for_each(|history| history.relabel_all(FlowLimit::Handshake));
    }
}
