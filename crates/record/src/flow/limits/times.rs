//! Time of a flow under each limit.

use crate::limit::{COUNT, FlowLimit};
use retx_units::Duration;

/// Total time of a flow under each limit, in the order of [`FlowLimit::KEYS`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitTimes([Duration; COUNT]);

impl LimitTimes {
    /// Time under a limit.
    pub const fn time_under(&self, limit: FlowLimit) -> Duration {
        self.0[limit.index()]
    }

    /// Sum of all times, which is the length of the flow's life.
    pub fn total(&self) -> Duration {
        self.0.iter().fold(Duration::ZERO, |sum, time| sum + *time)
    }

    pub(super) fn add(&mut self, limit: FlowLimit, time: Duration) {
        let place = &mut self.0[limit.index()];
        *place += time;
    }

    pub(super) fn remove(&mut self, limit: FlowLimit, time: Duration) {
        let place = &mut self.0[limit.index()];
        *place = *place - time;
    }
}

impl LimitTimes {
    /// Subtracts the times of the snapshot `start`.
    pub(super) fn subtract(&mut self, start: &Self) {
        for (ours, theirs) in self.0.iter_mut().zip(&start.0) {
            *ours = *ours - *theirs;
        }
    }
}
