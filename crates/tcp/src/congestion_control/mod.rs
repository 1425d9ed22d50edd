//! How fast may I send? Keeps `cwnd` and `ssthresh` (RFC 5681).

use retx_units::{Duration, Time};

retx_units::registry! { $
    /// How fast may I send?
    tag = "name", schema = "CongestionControl", context = &crate::Config;
    reno, tahoe
}

/// The window of a sender, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow start threshold.
    pub ssthresh: u64,
    /// Sender maximum segment size: the payload of a full segment.
    pub smss: u32,
}

impl Window {
    /// Below the threshold a sender is in slow start (RFC 5681 §3.1).
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// An acknowledgment of new data, outside loss recovery.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// When it came.
    pub now: Time,
    /// Bytes that it acknowledges for the first time.
    pub bytes_acked: u64,
    /// Data in flight just before it.
    pub flight_size: u64,
    /// The raw RTT sample that it gives, if it gives one.
    pub rtt: Option<Duration>,
}

/// A loss that is put down to congestion.
#[derive(Debug, Clone, Copy)]
pub struct Loss {
    /// When it was found.
    pub now: Time,
    /// Data in flight when it was found (FlightSize of RFC 5681 §2, without what limited transmit
    /// sent).
    pub flight_size: u64,
}

/// A congestion control. It gets raw samples and changes the window; which segments are
/// retransmitted, and what recovery adds to the window, is not its business.
pub trait CongestionControl {
    /// New data were acknowledged, outside recovery.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Duplicate ACKs found a loss: sets `ssthresh`, and `cwnd` for the time after recovery.
    fn on_loss(&mut self, window: &mut Window, loss: &Loss);

    /// The retransmission timer expired. `repeated`: for the same segment as the time before, in
    /// which case `ssthresh` has been set already (RFC 5681 §3.1).
    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool);
}

impl CongestionControl for State {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        dispatch!(self, it => it.on_ack(window, ack));
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        dispatch!(self, it => it.on_loss(window, loss));
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        dispatch!(self, it => it.on_timeout(window, loss, repeated));
    }
}

/// RFC 5681 §3.1, eq. 4: half of the data in flight, at least two segments.
pub(crate) fn half_of_flight(window: &Window, loss: &Loss) -> u64 {
    (loss.flight_size / 2).max(2 * u64::from(window.smss))
}
