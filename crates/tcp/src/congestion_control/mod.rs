//! How fast may I send? Keeps `cwnd` and `ssthresh` (RFC 5681).

use retx_units::{Duration, Rate, Time};

retx_units::registry! { $
    /// How fast may I send?
    tag = "name", schema = "CongestionControl", context = &crate::Config;
    reno, reno_linux, tahoe, vegas boxed, vegas_linux boxed, veno boxed, veno_linux boxed,
    westwood boxed, westwood_plus boxed, westwood_linux boxed, westwood_bulk_repeat_like boxed,
    jtcp_like boxed, prairie_like boxed, dynamic boxed, hybla boxed, hybla_linux boxed, cubic boxed,
    bbr, python boxed
}

impl Config {
    /// Those that need nothing but their name: all but `python`, the last.
    pub const BUILT_IN: &'static [&'static str] = Self::NAMES.split_at(Self::NAMES.len() - 1).0;
}

mod bandwidth;
pub(crate) mod delivery_rate;
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
    /// Below the threshold a sender is in slow start (RFC 5681 §3.1).
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The threshold that an undo restores in Linux: three quarters of the window, where that is
    /// more (`tcp_current_ssthresh`).
    pub(crate) const fn current_ssthresh(&self) -> u64 {
        let smss = self.smss as u64;
        let segments = self.cwnd / smss;
        let most = ((segments >> 1) + (segments >> 2)) * smss;
        if most > self.ssthresh { most } else { self.ssthresh }
    }
}

/// An acknowledgment.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// When it came.
    pub now: Time,
    /// Bytes that it acknowledges for the first time; 0 for a duplicate.
    pub bytes_acked: u64,
    /// Bytes that it says have left the network: acknowledged or selectively acknowledged for the
    /// first time. A duplicate without SACK stands for one SMSS.
    pub delivered: u64,
    /// Data in flight just before it.
    pub flight_size: u64,
    /// The raw RTT sample that it gives, if it gives one.
    pub rtt: Option<Duration>,
    /// Smoothed RTT, this sample included.
    pub srtt: Option<Duration>,
    /// First unacknowledged position, this ACK counted.
    pub snd_una: u64,
    /// Next position to send.
    pub snd_nxt: u64,
    /// The window limits, as far as `cwnd_validation` looks. Where it does not, growth is taken
    /// back.
    pub cwnd_limited: bool,
    /// In fast recovery, or repairing what a timeout found.
    pub in_recovery: bool,
    /// The receiver's clock when it acknowledged new data, where timestamps are in use: differences
    /// between two of them have a meaning, in steps of the timestamp clock.
    pub receiver_time: Option<Duration>,
}

/// A loss that is put down to congestion.
#[derive(Debug, Clone, Copy)]
pub struct Loss {
    /// When it was found.
    pub now: Time,
    /// Data in flight when it was found (FlightSize of RFC 5681 §2, without what limited transmit
    /// sent), at most `cwnd`.
    pub flight_size: u64,
    /// First unacknowledged position.
    pub snd_una: u64,
    /// Position after the last ever sent.
    pub snd_max: u64,
    /// Smoothed RTT, if there is one.
    pub srtt: Option<Duration>,
}

/// Data that leave.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// When.
    pub now: Time,
    /// Position of the first byte.
    pub position: u64,
    /// Payload bytes.
    pub bytes: u32,
    /// Data in flight, these included.
    pub flight_size: u64,
    /// They had been sent before.
    pub retransmission: bool,
}

/// The handshake is over.
#[derive(Debug, Clone, Copy)]
pub struct Start {
    /// When.
    pub now: Time,
    /// RTT of the handshake, where it was measured.
    pub rtt: Option<Duration>,
    /// Both ends' initial sequence numbers: what tells a connection from others, for those who
    /// have to differ from their like.
    pub identity: u64,
}

/// Where a sender stands with its losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Nothing is being repaired.
    Open,
    /// Fast recovery.
    Recovery,
    /// Repairing what a timeout found.
    Loss,
}

/// An acknowledgment as those see it that model the path. Counts are of segments.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    /// When it came.
    pub now: Time,
    /// First unacknowledged position, this ACK counted.
    pub snd_una: u64,
    /// Delivered by it for the first time.
    pub segments: u64,
    /// Both ends use SACK, …
    pub is_selective: bool,
    /// … and this is the position after the segment sent last of those it has delivered.
    pub newest: Option<u64>,
    /// It acknowledges less than a full segment.
    pub is_short: bool,
    /// Newly taken for lost on its account.
    pub lost: u64,
    /// Taken for lost since the connection began.
    pub lost_total: u64,
    /// Taken to be in flight before it, …
    pub flight_before: u64,
    /// … and after it.
    pub flight: u64,
    /// Where the sender stands after it.
    pub phase: Phase,
    /// The connection's own raw RTT sample.
    pub rtt: Option<Duration>,
    /// Smoothed RTT.
    pub srtt: Option<Duration>,
    /// How long pacing holds the next segment back.
    pub pacing_delay: Duration,
}

/// A congestion control. It gets raw samples and changes the window; which segments are
/// retransmitted, and what recovery adds to the window, is not its business.
pub trait CongestionControl {
    /// False for those whom neither [`Self::observe`] nor [`Self::on_sent`] tells anything: they
    /// need not be told.
    fn observes(&self) -> bool {
        true
    }

    /// Any acknowledgment, duplicates and those during recovery included, before what follows from
    /// it: for those that estimate something.
    fn observe(&mut self, ack: &Ack, smss: u32) {
        let _ = (ack, smss);
    }

    /// Before the rest of an acknowledgment, in any state, where RTTs are measured as Linux does
    /// and the peer has SACK: the RTT of the last segment that it delivers, if that was sent once
    /// (`pkts_acked`). It may set `ssthresh`.
    fn on_segments_acked(&mut self, window: &mut Window, ack: &Ack, rtt: Option<Duration>) {
        let _ = (window, ack, rtt);
    }

    /// Data were sent.
    fn on_sent(&mut self, sent: &Sent) {
        let _ = sent;
    }

    /// New data were acknowledged, outside fast recovery: the window may grow, and does so only
    /// while `cwnd_limited`, whatever this asks for.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Duplicate or selective ACKs found a loss: sets `ssthresh`, and `cwnd` for the time after
    /// recovery.
    fn on_loss(&mut self, window: &mut Window, loss: &Loss);

    /// The retransmission timer expired. `repeated`: for the same segment as the time before, in
    /// which case `ssthresh` has been set already (RFC 5681 §3.1).
    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool);

    /// Fast recovery is over; `cwnd` is as it will go on.
    fn on_recovery_end(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
    }

    /// The last reduction was wrong and has been taken back.
    fn on_undo(&mut self, window: &mut Window) {
        let _ = window;
    }

    /// The handshake is over.
    fn on_connected(&mut self, window: &mut Window, start: &Start) {
        let _ = (window, start);
    }

    /// True for those that model the path: they set cwnd at every acknowledgment, in recovery too
    /// (`cong_control` in Linux). The connection then adds nothing to the window, and takes nothing
    /// from it; and such a congestion control gets the calls that follow.
    fn models_path(&self) -> bool {
        false
    }

    /// For models: the application has left the sender without data, with so many segments in
    /// flight, although the window had room.
    fn on_app_limited(&mut self, flight: u64) {
        let _ = flight;
    }

    /// For models: data are about to leave while none are in flight.
    fn on_restart(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
    }

    /// For models: an acknowledgment has been taken in, with all that follows from it.
    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
        let _ = (window, delivery);
    }

    /// The rate at which segments are to leave: always, or never (`None`), in which case
    /// acknowledgments clock them, or `pacing` of the configuration.
    fn pacing_rate(&self, window: &Window, srtt: Option<Duration>) -> Option<Rate> {
        let _ = (window, srtt);
        None
    }

    /// Bandwidth-delay product in bytes, where the algorithm estimates it (for `reset_if_bdp`).
    fn bandwidth_delay_bytes(&self) -> Option<u64> {
        None
    }

    /// Asked on a duplicate ACK, and on the first two ACKs after a retransmission: the first
    /// segment in flight has been out too long, and is to be sent again (Vegas's fine-grained
    /// timeout).
    fn is_overdue(&self, now: Time) -> bool {
        let _ = now;
        false
    }

    /// Asked after a loss that duplicate or selective ACKs found: send everything that is
    /// unacknowledged once more, as far as the window lets it (Westwood's bulk retransmission).
    fn repeats_window(&self) -> bool {
        false
    }

    /// Asked when the retransmission timer expires: do not back it off (Westwood's fixed RTO).
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

/// RFC 5681 §3.1, eq. 4: half of the data in flight, at least two segments.
pub(crate) fn half_of_flight(window: &Window, loss: &Loss) -> u64 {
    (loss.flight_size / 2).max(2 * u64::from(window.smss))
}
