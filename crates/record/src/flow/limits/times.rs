//! Time of a flow under each limit.

use crate::reason::Cause;
use retx_units::Duration;

/// Limit of a flow. The order is that of the shares in a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum FlowLimit {
    /// Connection not established yet.
    Handshake,
    /// No data to send.
    #[default]
    Application,
    /// Send buffer full, and all of it sent.
    SendBuffer,
    /// Peer's window full or closed.
    ReceiveWindow,
    /// Link: the data in flight kept its queue from emptying.
    Bottleneck,
    /// Congestion window that was never reduced.
    SlowStart,
    /// Congestion window after a reduction with this cause.
    Window(Cause),
    /// Fast recovery with this cause.
    Recovery(Cause),
    /// Silence until the retransmission timer, with this cause.
    Timeout(Cause),
    /// Pacing delay of the next segment.
    Pacing,
    /// Nagle's algorithm or a cork.
    Nagle,
    /// Acknowledgment delayed by the peer.
    DelayedAck,
}

/// Number of limits, with each cause counted.
const COUNT: usize = 18;

impl FlowLimit {
    const fn index(self) -> usize {
        match self {
            Self::Handshake => 0,
            Self::Application => 1,
            Self::SendBuffer => 2,
            Self::ReceiveWindow => 3,
            Self::Bottleneck => 4,
            Self::SlowStart => 5,
            Self::Window(cause) => 6 + cause as usize,
            Self::Recovery(cause) => 9 + cause as usize,
            Self::Timeout(cause) => 12 + cause as usize,
            Self::Pacing => 15,
            Self::Nagle => 16,
            Self::DelayedAck => 17,
        }
    }

    /// True for the congestion window, reduced or not, and in a recovery.
    pub(super) const fn is_congestion_window(self) -> bool {
        matches!(self, Self::SlowStart | Self::Window(_) | Self::Recovery(_))
    }

    /// True if an acknowledgment can end it.
    pub(super) const fn waits_for_ack(self) -> bool {
        matches!(self, Self::SlowStart | Self::Window(_) | Self::Recovery(_) | Self::Nagle)
    }
}

/// Time by limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitTimes([Duration; COUNT]);

impl LimitTimes {
    /// Time under a limit.
    pub const fn of(&self, limit: FlowLimit) -> Duration {
        self.0[limit.index()]
    }

    /// Sum of all times: the life of the flow.
    pub fn total(&self) -> Duration {
        self.0.iter().fold(Duration::ZERO, |sum, time| sum + *time)
    }

    pub(super) fn add(&mut self, limit: FlowLimit, time: Duration) {
        let place = &mut self.0[limit.index()];
        *place += time;
    }

    pub(super) fn take(&mut self, limit: FlowLimit, time: Duration) {
        let place = &mut self.0[limit.index()];
        *place = *place - time;
    }
}

impl LimitTimes {
    /// Subtracts the times of an earlier state.
    pub(super) fn subtract(&mut self, start: &Self) {
        for (ours, theirs) in self.0.iter_mut().zip(&start.0) {
            *ours = *ours - *theirs;
        }
    }
}
