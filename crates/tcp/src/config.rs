//! Configuration of a TCP endpoint: the fields of a scenario's `[tcp.NAME]`.

use crate::{
    CwndValidation, InitialWindow, Size, backoff, congestion_control, loss_cause, loss_detection,
    rto, spurious,
};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A TCP: its algorithms (congestion control, loss detection, loss cause, retransmission timeout,
/// backoff, detection of spurious retransmissions) and the parameters of the endpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Congestion control: how fast data may be sent.
    pub congestion_control: congestion_control::Config,
    /// Loss detection: which segments are lost.
    pub loss_detection: loss_detection::Config,
    /// Cause of a loss: how congestion and corruption are told apart.
    pub loss_cause: loss_cause::Config,
    /// Estimator of the retransmission timeout.
    pub rto: rto::Config,
    /// Growth of the RTO over successive timeouts, and its reset.
    pub backoff: backoff::Config,
    /// Detection of spurious retransmissions and timeouts, and the response.
    pub spurious: spurious::Config,
    /// Send one new segment on each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Largest payload of a segment, in bytes, options not counted (RFC 9293 §3.7.1).
    pub mss: u32,
    /// Congestion window at the start: a size, or `rfc5681` (§3.1: two to four segments) or
    /// `rfc6928` (ten segments, fewer if they are large).
    pub initial_window: InitialWindow,
    /// Condition under which a lost SYN or SYN/ACK reduces the initial window to one segment.
    pub lost_syn: LostSyn,
    /// Slow start threshold at the start; by default as high as possible (RFC 5681 §3.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Size>,
    /// Reduce the window after a pause longer than the RTO (RFC 5681 §4.1).
    pub slow_start_after_idle: bool,
    /// Congestion window after a pause longer than the RTO.
    pub idle_restart: IdleRestart,
    /// Condition under which an acknowledgment may increase the window.
    pub cwnd_validation: CwndValidation,
    /// Largest congestion window; by default only the buffers limit it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cwnd: Option<Size>,
    /// Pace segments evenly over the round trip, as Linux does: at 2·cwnd/SRTT in slow start,
    /// otherwise at 1.2·cwnd/SRTT. A congestion control with a rate of its own is paced in any
    /// case.
    pub pacing: bool,
    /// Unit of buffer sizes: payload, or memory as in Linux.
    pub buffers: Buffers,
    /// Send buffer: bytes that the application may write before they are acknowledged.
    pub send_buffer: Size,
    /// With `buffers = "linux"`: let the send buffer grow up to this many bytes of memory. An
    /// explicit `send_buffer` switches this off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_autotuning: Option<Size>,
    /// Receive buffer: bytes stored until the application reads them; the advertised window is its
    /// free part.
    pub receive_buffer: Size,
    /// Let the receive buffer grow up to this many bytes of memory, and advertise the payload that
    /// it can hold, as Linux does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_autotuning: Option<Size>,
    /// Advertise this fixed window, whatever the receive buffer holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advertised_window: Option<Size>,
    /// Offer window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Offer selective acknowledgments, and send them when the peer offers too (RFC 2018).
    pub sack: bool,
    /// Offer timestamps (RFC 7323 §3); with them every acknowledgment yields an RTT sample.
    pub timestamps: bool,
    /// Offer explicit congestion notification, and use it when the peer offers it too (RFC 3168).
    /// The congestion control `dctcp` offers it in any case.
    pub ecn: bool,
    /// Hold a short segment back while data are unacknowledged (RFC 1122 §4.2.3.4).
    pub nagle: bool,
    /// With `nagle`: hold a short segment back only while another short segment is unacknowledged
    /// (Minshall 1998, Linux).
    pub minshall: bool,
    /// Rule for the PSH flag: the segments of new data that carry it.
    pub push: Push,
    /// Send in bursts of about a millisecond, as Linux does for segmentation offload. The last
    /// segment of a burst carries PSH. A shorter burst is deferred if the next acknowledgment will
    /// soon allow a longer one.
    pub tso: bool,
    /// Delayed acknowledgments (RFC 5681 §4.2).
    pub delayed_ack: DelayedAck,
    /// RTO before the first RTT sample (RFC 6298 §2.1).
    pub initial_rto: Duration,
    /// Smallest RTO (RFC 6298 §2.4).
    pub min_rto: Duration,
    /// Largest RTO, backoff included (RFC 6298 §2.5), and longest wait between probes of a closed
    /// window.
    pub max_rto: Duration,
    /// Tick of the clock by which retransmission and persist timers fire; 0 s if they fire at any
    /// time.
    pub timer_granularity: Duration,
    /// Round expiries of timers up to slots of Linux's timer wheel, so that no timer fires early.
    /// The slots last g = `timer_granularity` for waits under 63 g, 8 g for waits under 504 g, and
    /// so on.
    pub timer_wheel: bool,
    /// Acknowledgments that yield an RTT sample.
    pub rtt_samples: RttSamples,
    /// Unit of RTT measurements; 0 s for exact ones.
    pub rtt_granularity: Duration,
    /// Number of duplicate ACKs that indicate a loss (RFC 5681 §3.2).
    pub dupack_threshold: u32,
    /// Shortest wait before a zero-window probe (RFC 9293 §3.8.6.1).
    pub persist_timeout: Duration,
    /// Number of retransmissions of one segment after which the connection is aborted; unlimited by
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retransmissions: Option<u32>,
    /// Number of retransmissions of an opening SYN after which the connection is aborted; by
    /// default as for other segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_syn_retransmissions: Option<u32>,
    /// Quantity that `max_retransmissions` limits: a number, or a time as in Linux.
    pub give_up: GiveUp,
    /// Time that a closed connection stays in TIME-WAIT: twice the maximum segment lifetime.
    pub time_wait: Duration,
}

/// Acknowledgment of in-order data by the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayedAck {
    /// Number of segments of any size after which an acknowledgment is sent; 1 acknowledges each.
    pub segments: u32,
    /// Longest delay after the first unacknowledged segment.
    pub timeout: Duration,
    /// Policy for the delay.
    pub policy: AckPolicy,
}

/// Policies for the delay of an acknowledgment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AckPolicy {
    /// The delay is always `timeout`, and `segments` counts segments of any size.
    #[default]
    Fixed,
    /// As in Linux. The first ACKs are sent at once. Their number is that of the segments in half a
    /// receive window, but at most 16; more ACKs are sent at once while this window grows. Later
    /// ACKs are delayed by 40 ms up to `timeout`, depending on the intervals between the peer's
    /// segments. Such a delay ends early when more than `segments` − 1 full segments are
    /// unacknowledged.
    Linux,
}

/// Units of buffer sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Buffers {
    /// Bytes of payload.
    #[default]
    Payload,
    /// Bytes of memory, as in Linux: the size is doubled, as by `SO_SNDBUF` and `SO_RCVBUF`, and a
    /// packet takes more memory than its payload.
    Linux,
}

/// Segments of new data that carry PSH.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Push {
    /// Segments with the last byte written so far (RFC 9293 §3.9.1.2).
    #[default]
    End,
    /// As `end`. In addition, PSH is set when more than half of the peer's largest window has been
    /// sent since the last PSH: on the last segment of the memory block with which this happens
    /// (Linux `forced_push`). A Linux receiver acknowledges such a segment as soon as the
    /// application has read it.
    HalfWindow,
}

/// Congestion windows after a pause longer than the RTO.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleRestart {
    /// The initial window (RFC 5681 §4.1).
    #[default]
    InitialWindow,
    /// The window before the pause, halved for each RTO that the pause lasted, but at least the
    /// initial window. If the slow start threshold is lower than 3/4 of the window before the
    /// pause, it is raised to that value (RFC 2861; Linux `tcp_cwnd_restart`).
    HalvePerRto,
}

/// Conditions under which a lost SYN or SYN/ACK reduces the initial window to one segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LostSyn {
    /// The first loss (RFC 5681 §3.1).
    #[default]
    First,
    /// The second timeout, unless the response echoes the timestamp of the first SYN (Linux
    /// `tcp_init_transfer`, `tcp_try_undo_spurious_syn`).
    Second,
}

/// Quantities whose excess makes a sender abort the connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GiveUp {
    /// Number of retransmissions. A closed window is probed without limit (RFC 9293 §3.8.6.1).
    #[default]
    Count,
    /// Time since the first retransmission. The maximum is the time that the permitted number of
    /// retransmissions takes with an initial RTO of 200 ms. While the window is closed, the number
    /// of probes without a response is limited instead (Linux `retransmits_timed_out`,
    /// `tcp_probe_timer`).
    Linux,
}

/// Acknowledgments that yield an RTT sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RttSamples {
    /// ACK of one timed segment at a time (RFC 6298 §3); with timestamps also each ACK of new data.
    #[default]
    Timed,
    /// Each ACK of new data, cumulative or selective. The sample is the RTT of the earliest newly
    /// acknowledged segment that was never retransmitted, otherwise that of the timestamp echo
    /// (Linux `tcp_ack_update_rtt`).
    EveryAck,
}

/// Error of a configuration, and its field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// Path of the field below `[tcp.NAME]`.
    pub field: &'static str,
    /// Problem and remedy.
    pub message: String,
}

impl Config {
    /// Checks the constraints that the types do not express.
    ///
    /// # Errors
    /// The first field with a value that no endpoint can use.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |field, message: String| Err(ConfigError { field, message });
        if !(1..=65_495).contains(&self.mss) {
            return refuse("mss", format!("{} lies outside 1 … 65495 bytes", self.mss));
        }
        for (field, size) in [
            ("initial_window", Some(self.initial_window.size(self.mss))),
            ("initial_ssthresh", self.initial_ssthresh),
            ("max_cwnd", self.max_cwnd),
            ("send_buffer", Some(self.send_buffer)),
            ("send_autotuning", self.send_autotuning),
            ("receive_buffer", Some(self.receive_buffer)),
            ("receive_autotuning", self.receive_autotuning),
            ("advertised_window", self.advertised_window),
        ] {
            let Some(size) = size else { continue };
            let bytes = size.bytes(self.mss);
            if bytes == 0 {
                return refuse(field, "0 bytes: nothing could ever be sent".into());
            }
            if bytes > 1 << 30 {
                return refuse(field, format!("{bytes} bytes: TCP's windows end at 2^30 bytes"));
            }
        }
        if self.delayed_ack.segments == 0 {
            return refuse(
                "delayed_ack.segments",
                "0: write 1 to acknowledge every segment".into(),
            );
        }
        if self.dupack_threshold == 0 {
            return refuse("dupack_threshold", "0: RFC 5681 takes 3".into());
        }
        for (field, value) in [
            ("initial_rto", self.initial_rto),
            ("max_rto", self.max_rto),
            ("persist_timeout", self.persist_timeout),
        ] {
            if value.is_zero() {
                return refuse(field, "0 s: a timer cannot be".into());
            }
        }
        if self.min_rto > self.max_rto {
            return refuse(
                "min_rto",
                format!("{} is more than max_rto, {}", self.min_rto, self.max_rto),
            );
        }
        self.check_user_code()?;
        self.loss_cause.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reno() -> Config {
        (crate::presets::find("reno").expect("a preset").config)()
    }

    /// `min_rto` may equal `max_rto`, and a window may have 2^30 bytes.
    #[test]
    fn the_bounds_themselves_are_permitted() {
        let refused = |config: &Config| config.check().err().map(|error| error.field);
        let max_rto = Duration::from_secs(2);
        let lowest = |min_rto| refused(&Config { min_rto, max_rto, ..reno() });
        assert_eq!(lowest(max_rto), None);
        assert_eq!(lowest(max_rto + Duration::from_nanos(1)), Some("min_rto"));
        let window = |bytes| Config { max_cwnd: Some(Size::Bytes(bytes)), ..reno() };
        let windows = [1, 1 << 30, (1 << 30) + 1].map(|bytes| refused(&window(bytes)));
        assert_eq!(windows, [None, None, Some("max_cwnd")]);
    }
}
