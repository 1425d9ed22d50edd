//! Congestion control: `cwnd` and `ssthresh` (RFC 5681).

use retx_units::{Duration, Rate, Time};
use retx_wire::Timestamps;

retx_units::registry! { $
    /// Congestion control: how fast data may be sent.
    tag = "name", schema = "CongestionControl", context = &crate::Config;
    reno, reno_linux, tahoe, vegas boxed, vegas_linux boxed, veno boxed, veno_linux boxed,
    westwood boxed, westwood_plus boxed, westwood_linux boxed, westwood_bulk_repeat_like boxed,
    jtcp_like boxed, prairie_like boxed, dynamic boxed, hybla boxed, hybla_linux boxed, cubic boxed,
    bbr, htcp boxed, illinois boxed, bic boxed, highspeed boxed, scalable, yeah boxed,
    dctcp boxed, cdg boxed, lp boxed, nv boxed, python boxed
}

/// Calls `$method` of the algorithm `$state`. CUBIC, Linux's default, is called directly, so that
/// the call can be inlined; any other by dispatch over all algorithms.
macro_rules! call_cubic_directly {
    ($state:expr, $method:ident($($argument:expr),*)) => {
        match $state {
            $crate::congestion_control::State::cubic(cubic) => cubic.$method($($argument),*),
            other => other.$method($($argument),*),
        }
    };
}
pub(crate) use call_cubic_directly;

impl State {
    /// Like `on_sent`, for new data that are sent while other data are in flight. Linux's default
    /// and BBR are called directly, so that the call can be inlined.
    #[inline(always)]
    pub(crate) fn on_next_data(&mut self, sent: &Sent) {
        match self {
            Self::cubic(cubic) => cubic.on_sent(sent),
            Self::bbr(bbr) => bbr.on_next_data(sent),
            other => other.on_sent(sent),
        }
    }
}

impl Config {
    /// Names that need no further parameters: all but `python`, the last.
    pub const BUILT_IN: &'static [&'static str] = Self::NAMES.split_at(Self::NAMES.len() - 1).0;
}

mod ack_samples;
mod bandwidth;
pub(crate) mod delivery_rate;
mod events;
mod jiffies;
mod number;
mod path_model;
mod segments;
pub(crate) mod send_times;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub(crate) mod windowed_filter;

pub use crate::sent::Sent;
pub use events::{Ack, Loss, Start};
pub use number::{Fraction, NotNegative, Positive};
pub use path_model::{Delivery, Phase};

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

    /// Threshold restored by an undo in Linux: the current one, or three quarters of the window if
    /// that is more (`tcp_current_ssthresh`).
    pub(crate) const fn current_ssthresh(&self) -> u64 {
        let smss = self.smss as u64;
        let segments = self.cwnd / smss;
        // The window is counted in whole segments, as in Linux.
        let most = ((segments >> 1) + (segments >> 2)) * smss;
        if most > self.ssthresh { most } else { self.ssthresh }
    }
}

/// Congestion control. It receives raw samples and changes the window; it neither chooses the
/// segments to retransmit nor inflates the window during recovery.
pub trait CongestionControl {
    /// False if [`Self::observe`] and [`Self::on_sent`] do nothing, so the connection may skip
    /// them.
    fn observes(&self) -> bool {
        true
    }

    /// Handles any acknowledgment, including duplicate ACKs and ACKs during recovery, before the
    /// window changes. Estimators use this.
    fn observe(&mut self, ack: &Ack, smss: u32) {
        let _ = (ack, smss);
    }

    /// Receives the RTT of the last segment that an acknowledgment delivers; `None` if that segment
    /// was sent more than once (`pkts_acked`). Called before the other methods for this
    /// acknowledgment, in any state, if RTTs are measured as in Linux and the peer has SACK. May
    /// set `ssthresh`.
    fn on_segments_acked(&mut self, window: &mut Window, ack: &Ack, rtt: Option<Duration>) {
        let _ = (window, ack, rtt);
    }

    /// Handles data that are sent.
    fn on_sent(&mut self, sent: &Sent) {
        let _ = sent;
    }

    /// Handles new data acknowledged outside fast recovery: the window may grow. The connection
    /// reverts the growth if `cwnd_limited` is false.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Handles a loss detected by duplicate or selective ACKs: sets `ssthresh`, and `cwnd` for the
    /// time after recovery.
    fn on_loss(&mut self, window: &mut Window, loss: &Loss);

    /// True if the algorithm works only with explicit congestion notification: the connection then
    /// offers it whatever the configuration says, and its receiver echoes each change of the marks
    /// (RFC 8257 §3.2). Linux: `TCP_CONG_NEEDS_ECN`.
    fn needs_ecn(&self) -> bool {
        false
    }

    /// Handles any acknowledgment if both ends use ECN, before [`Self::observe`]. `echo` is true if
    /// the acknowledgment carries ECN-Echo.
    fn observe_echo(&mut self, ack: &Ack, smss: u32, echo: bool) {
        let _ = (ack, smss, echo);
    }

    /// Handles the first ECN-Echo of a window of data, by default like a loss (RFC 3168 §6.1.2).
    fn on_echo(&mut self, window: &mut Window, loss: &Loss) {
        self.on_loss(window, loss);
    }

    /// Handles a loss detected while the window is being reduced by ECN-Echo, as in Linux; by
    /// default the reduction continues unchanged. May set `ssthresh`, the target of the reduction.
    fn on_loss_during_reduction(&mut self, window: &mut Window, loss: &Loss) {
        let _ = (window, loss);
    }

    /// Handles the expiry of the retransmission timer. `repeated` is true if the same segment has
    /// timed out before, so that `ssthresh` has been set already (RFC 5681 §3.1).
    fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool);

    /// Handles the end of fast recovery; `cwnd` is the window to continue with.
    fn on_recovery_end(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
    }

    /// False if the algorithm needs the calls that only the general path through the connection
    /// makes: [`Self::asks_for_reduction`] and [`Self::observe_timestamps`].
    fn takes_fast_paths(&self) -> bool {
        true
    }

    /// Called before an acknowledgment with timestamps is processed, with these timestamps and this
    /// end's timestamp clock. This happens only if [`Self::takes_fast_paths`] is false.
    fn observe_timestamps(&mut self, received: Timestamps, clock: u32) {
        let _ = (received, clock);
    }

    /// Called after an acknowledgment has been processed, if [`Self::takes_fast_paths`] is false.
    /// Returns true to reduce the window as for ECN-Echo, by [`Self::on_echo`] (Linux
    /// `tcp_enter_cwr`).
    fn asks_for_reduction(&mut self) -> bool {
        false
    }

    /// Handles the end of a reduction that [`Self::asks_for_reduction`] or ECN-Echo began.
    fn on_reduction_end(&mut self) {}

    /// Called when the sender has been idle for longer than the RTO, before the window is reduced
    /// (`CA_EVENT_CWND_RESTART`).
    fn on_idle_restart(&mut self, window: &Window) {
        let _ = window;
    }

    /// Handles the undo of the last reduction, which was unnecessary.
    fn on_undo(&mut self, window: &mut Window) {
        let _ = window;
    }

    /// Handles the end of the handshake.
    fn on_connected(&mut self, window: &mut Window, start: &Start) {
        let _ = (window, start);
    }

    /// True for algorithms that model the path: they set cwnd at every acknowledgment, in recovery
    /// too (`cong_control` in Linux). The connection then does not change the window itself. It
    /// calls [`Self::on_app_limited`], [`Self::on_restart`] and [`Self::on_delivery`] only for such
    /// algorithms.
    fn models_path(&self) -> bool {
        false
    }

    /// Handles a shortage of data: the window would allow more data to be sent. `flight` is the
    /// number of segments in flight.
    fn on_app_limited(&mut self, flight: u64) {
        let _ = flight;
    }

    /// Handles the restart after a pause: data are about to be sent while none are in flight.
    fn on_restart(&mut self, window: &mut Window, now: Time) {
        let _ = (window, now);
    }

    /// Handles an acknowledgment, as the last step of its processing.
    fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery) {
        let _ = (window, delivery);
    }

    /// Pacing rate. An algorithm returns either always a rate or always `None`. Without a rate,
    /// segments are clocked by acknowledgments, or paced as the configuration's `pacing` says.
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
    forward! {
        fn observes(&self) -> bool;
        fn observe(&mut self, ack: &Ack, smss: u32);
        fn on_segments_acked(&mut self, window: &mut Window, ack: &Ack, rtt: Option<Duration>);
        fn on_sent(&mut self, sent: &Sent);
        fn on_ack(&mut self, window: &mut Window, ack: &Ack);
        fn on_loss(&mut self, window: &mut Window, loss: &Loss);
        fn needs_ecn(&self) -> bool;
        fn observe_echo(&mut self, ack: &Ack, smss: u32, echo: bool);
        fn on_echo(&mut self, window: &mut Window, loss: &Loss);
        fn on_loss_during_reduction(&mut self, window: &mut Window, loss: &Loss);
        fn on_timeout(&mut self, window: &mut Window, loss: &Loss, repeated: bool);
        fn on_recovery_end(&mut self, window: &mut Window, now: Time);
        fn takes_fast_paths(&self) -> bool;
        fn observe_timestamps(&mut self, received: Timestamps, clock: u32);
        fn asks_for_reduction(&mut self) -> bool;
        fn on_reduction_end(&mut self);
        fn on_idle_restart(&mut self, window: &Window);
        fn on_undo(&mut self, window: &mut Window);
        fn on_connected(&mut self, window: &mut Window, start: &Start);
        fn models_path(&self) -> bool;
        fn on_app_limited(&mut self, flight: u64);
        fn on_restart(&mut self, window: &mut Window, now: Time);
        fn on_delivery(&mut self, window: &mut Window, delivery: &Delivery);
        fn pacing_rate(&self, window: &Window, srtt: Option<Duration>) -> Option<Rate>;
        fn bandwidth_delay_bytes(&self) -> Option<u64>;
        fn is_overdue(&self, now: Time) -> bool;
        fn repeats_window(&self) -> bool;
        fn holds_rto(&self) -> bool;
    }
}

/// Half of the data in flight, at least two segments (RFC 5681 §3.1, eq. 4).
pub(crate) fn half_of_flight(window: &Window, loss: &Loss) -> u64 {
    (loss.flight_size / 2).max(2 * u64::from(window.smss))
}
