//! Congestion control: `cwnd` and `ssthresh` (RFC 5681).

use retx_units::{Duration, Rate, Time};

retx_units::registry! { $
    /// Congestion control: how fast data may be sent.
    tag = "name", schema = "CongestionControl", context = &crate::Config;
    reno, reno_linux, tahoe, vegas boxed, vegas_linux boxed, veno boxed, veno_linux boxed,
    westwood boxed, westwood_plus boxed, westwood_linux boxed, westwood_bulk_repeat_like boxed,
    jtcp_like boxed, prairie_like boxed, dynamic boxed, hybla boxed, hybla_linux boxed, cubic boxed,
    bbr, htcp boxed, illinois boxed, bic boxed, highspeed boxed, scalable, yeah boxed, python boxed
}

impl Config {
    /// Names that need no further parameters: all but `python`, the last.
    pub const BUILT_IN: &'static [&'static str] = Self::NAMES.split_at(Self::NAMES.len() - 1).0;
}

mod ack_samples;
mod bandwidth;
pub(crate) mod delivery_rate;
mod jiffies;
mod number;
mod segments;
pub(crate) mod send_times;
#[cfg(test)]
mod testing;
pub(crate) mod windowed;

pub use number::{Fraction, NotNegative, Positive};

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
    /// True below the threshold (RFC 5681 §3.1).
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Threshold restored by an undo in Linux: the present one, or three quarters of the window if
    /// that is more (`tcp_current_ssthresh`).
    pub(crate) const fn current_ssthresh(&self) -> u64 {
        let smss = self.smss as u64;
        let segments = self.cwnd / smss;
        // Whole segments, as in Linux.
        let most = ((segments >> 1) + (segments >> 2)) * smss;
        if most > self.ssthresh { most } else { self.ssthresh }
    }
}

/// An acknowledgment.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// Arrival time.
    pub now: Time,
    /// Bytes acknowledged for the first time; 0 for a duplicate ACK.
    pub bytes_acked: u64,
    /// Bytes newly delivered: acknowledged or selectively acknowledged for the first time. A
    /// duplicate ACK without SACK counts as one SMSS.
    pub delivered: u64,
    /// Bytes in flight just before it arrived.
    pub flight_size: u64,
    /// Raw RTT sample, if any.
    pub rtt: Option<Duration>,
    /// Smoothed RTT, this sample included.
    pub srtt: Option<Duration>,
    /// First unacknowledged position after this ACK.
    pub snd_una: u64,
    /// Next position to send.
    pub snd_nxt: u64,
    /// True if the window is the limit according to `cwnd_validation`; otherwise growth is
    /// reverted.
    pub cwnd_limited: bool,
    /// True in fast recovery and in the recovery after a timeout.
    pub in_recovery: bool,
    /// The receiver's timestamp clock when it acknowledged new data; `None` without timestamps.
    /// Only differences are meaningful, in steps of the clock.
    pub receiver_time: Option<Duration>,
}

/// Loss attributed to congestion.
#[derive(Debug, Clone, Copy)]
pub struct Loss {
    /// Time of detection.
    pub now: Time,
    /// Data in flight at detection (FlightSize of RFC 5681 §2, without data sent by limited
    /// transmit), at most `cwnd`.
    pub flight_size: u64,
    /// First unacknowledged position.
    pub snd_una: u64,
    /// Position after the last one ever sent.
    pub snd_max: u64,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
}

/// Data being sent.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// Time of sending.
    pub now: Time,
    /// Position of the first byte.
    pub position: u64,
    /// Payload bytes.
    pub bytes: u32,
    /// Data in flight including these, bytes.
    pub flight_size: u64,
    /// True for a retransmission.
    pub retransmission: bool,
}

/// End of the handshake.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// Time at which the handshake ended.
    pub now: Time,
    /// RTT of the handshake; `None` if it was not measured.
    pub rtt: Option<Duration>,
    /// True if [`CongestionControl::on_segments_acked`] will be called before each
    /// [`CongestionControl::observe`]: the algorithm then need not time segments itself.
    pub samples_segments: bool,
    /// Both ends' initial sequence numbers, which distinguish a connection from others, for
    /// algorithms that have to differ between connections.
    pub identity: u64,
}

/// Loss recovery phase of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// No loss is being repaired.
    Open,
    /// Fast recovery.
    Recovery,
    /// Recovery after a timeout.
    Loss,
}

/// Acknowledgment for congestion controls that model the path. Counts are in segments.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    /// Arrival time.
    pub now: Time,
    /// First unacknowledged position after this ACK.
    pub snd_una: u64,
    /// Segments newly delivered.
    pub segments: u64,
    /// True if both ends use SACK.
    pub is_selective: bool,
    /// End of the segment that was sent last among those newly delivered; known with SACK only.
    pub newest: Option<u64>,
    /// True if this ACK acknowledges less than a full segment.
    pub is_short: bool,
    /// Segments that this ACK marks lost.
    pub lost: u64,
    /// Segments marked lost since the start of the connection.
    pub lost_total: u64,
    /// Segments in flight before this ACK.
    pub flight_before: u64,
    /// Segments in flight after this ACK.
    pub flight: u64,
    /// Phase of the sender after this ACK.
    pub phase: Phase,
    /// Raw RTT sample of the connection.
    pub rtt: Option<Duration>,
    /// Smoothed RTT.
    pub srtt: Option<Duration>,
    /// Time for which pacing delays the next segment.
    pub pacing_delay: Duration,
}

/// Congestion control. It receives raw samples and changes the window; it neither chooses the
/// segments to retransmit nor inflates the window during recovery.
pub trait CongestionControl {
    /// False if [`Self::observe`] and [`Self::on_sent`] do nothing, and need not be called.
    fn observes(&self) -> bool {
        true
    }

    /// Handles any acknowledgment, including duplicate ACKs and ACKs during recovery, before it
    /// changes the window. Estimators use this.
    fn observe(&mut self, ack: &Ack, smss: u32) {
        let _ = (ack, smss);
    }

    /// Receives the RTT of the last segment that an acknowledgment delivers; `None` if that was
    /// sent more than once (`pkts_acked`). Called before the other methods for this acknowledgment,
    /// in any state, if RTTs are measured as in Linux and the peer has SACK. May set `ssthresh`.
    fn on_segments_acked(&mut self, window: &mut Window, ack: &Ack, rtt: Option<Duration>) {
        let _ = (window, ack, rtt);
    }

    /// Handles data that are sent.
    fn on_sent(&mut self, sent: &Sent) {
        let _ = sent;
    }

    /// Handles new data acknowledged outside fast recovery: the window may grow, but growth is
    /// reverted unless `cwnd_limited`.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Handles a loss detected by duplicate or selective ACKs: sets `ssthresh`, and `cwnd` for the
    /// time after recovery.
    fn on_loss(&mut self, window: &mut Window, loss: &Loss);

    /// Handles the expiry of the retransmission timer. `repeated` is true if the same segment has
    /// timed out before, so that `ssthresh` has been set already (RFC 5681 §3.1).
    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool);

    /// Handles the end of fast recovery; `cwnd` is the window to continue with.
    fn on_recovery_end(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
    }

    /// Handles the undo of the last reduction, which was wrong.
    fn on_undo(&mut self, window: &mut Window) {
        let _ = window;
    }

    /// Handles the end of the handshake.
    fn on_connected(&mut self, window: &mut Window, start: &Start) {
        let _ = (window, start);
    }

    /// True for algorithms that model the path: they set cwnd at every acknowledgment, in recovery
    /// too (`cong_control` in Linux). The connection then does not change the window itself. Only
    /// such algorithms receive the next three calls.
    fn models_path(&self) -> bool {
        false
    }

    /// Handles a shortage of data: the window would allow more to be sent. `flight` segments are in
    /// flight.
    fn on_app_limited(&mut self, flight: u64) {
        let _ = flight;
    }

    /// Handles the restart after a pause: data are about to be sent while none are in flight.
    fn on_restart(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
    }

    /// Handles an acknowledgment after everything else has been done for it.
    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
        let _ = (window, delivery);
    }

    /// Pacing rate. An algorithm returns a rate always or never (`None`); without a rate, segments
    /// are clocked by acknowledgments, or paced as the configuration's `pacing` says.
    fn pacing_rate(&self, window: &Window, srtt: Option<Duration>) -> Option<Rate> {
        let _ = (window, srtt);
        None
    }

    /// Bandwidth-delay product in bytes, if the algorithm estimates it (for `reset_if_bdp`).
    fn bandwidth_delay_bytes(&self) -> Option<u64> {
        None
    }

    /// Called on a duplicate ACK, and on the first two ACKs after a retransmission: true if the
    /// first segment in flight is overdue, and has to be retransmitted (Vegas's fine-grained
    /// timeout).
    fn is_overdue(&self, now: Time) -> bool {
        let _ = now;
        false
    }

    /// Called after a loss detected by duplicate or selective ACKs: true to retransmit all
    /// unacknowledged data, as far as the window allows (Westwood's bulk retransmission).
    fn repeats_window(&self) -> bool {
        false
    }

    /// Called when the retransmission timer expires: true to suppress the backoff (Westwood's fixed
    /// RTO).
    fn holds_rto(&self) -> bool {
        false
    }
}

impl CongestionControl for State {
    fn observes(&self) -> bool {
        dispatch!(self, it => it.observes())
    }

    fn observe(&mut self, ack: &Ack, smss: u32) {
        dispatch!(self, it => it.observe(ack, smss));
    }

    fn on_segments_acked(&mut self, window: &mut Window, ack: &Ack, rtt: Option<Duration>) {
        dispatch!(self, it => it.on_segments_acked(window, ack, rtt));
    }

    fn on_sent(&mut self, sent: &Sent) {
        dispatch!(self, it => it.on_sent(sent));
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        dispatch!(self, it => it.on_ack(window, ack));
    }

    fn on_loss(&mut self, window: &mut Window, loss: &Loss) {
        dispatch!(self, it => it.on_loss(window, loss));
    }

    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool) {
        dispatch!(self, it => it.on_timeout(window, loss, repeated));
    }

    fn on_recovery_end(&mut self, window: &mut Window, now: Time) {
        dispatch!(self, it => it.on_recovery_end(window, now));
    }

    fn on_undo(&mut self, window: &mut Window) {
        dispatch!(self, it => it.on_undo(window));
    }

    fn on_connected(&mut self, window: &mut Window, start: &Start) {
        dispatch!(self, it => it.on_connected(window, start));
    }

    fn models_path(&self) -> bool {
        dispatch!(self, it => it.models_path())
    }

    fn on_app_limited(&mut self, flight: u64) {
        dispatch!(self, it => it.on_app_limited(flight));
    }

    fn on_restart(&mut self, window: &mut Window, now: Time) {
        dispatch!(self, it => it.on_restart(window, now));
    }

    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
        dispatch!(self, it => it.on_delivery(window, delivery));
    }

    fn pacing_rate(&self, window: &Window, srtt: Option<Duration>) -> Option<Rate> {
        dispatch!(self, it => it.pacing_rate(window, srtt))
    }

    fn bandwidth_delay_bytes(&self) -> Option<u64> {
        dispatch!(self, it => it.bandwidth_delay_bytes())
    }

    fn is_overdue(&self, now: Time) -> bool {
        dispatch!(self, it => it.is_overdue(now))
    }

    fn repeats_window(&self) -> bool {
        dispatch!(self, it => it.repeats_window())
    }

    fn holds_rto(&self) -> bool {
        dispatch!(self, it => it.holds_rto())
    }
}

/// Half of the data in flight, at least two segments (RFC 5681 §3.1, eq. 4).
pub(crate) fn half_of_flight(window: &Window, loss: &Loss) -> u64 {
    (loss.flight_size / 2).max(2 * u64::from(window.smss))
}
