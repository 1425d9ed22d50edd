//! Everything that can be set on a TCP endpoint: the fields of a scenario's `[tcp.NAME]`.

use crate::{
    CwndValidation, Size, backoff, congestion_control, loss_cause, loss_detection, rto, spurious,
};
use retx_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A TCP: four decisions and the parameters of the endpoint around them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How fast may I send?
    pub congestion_control: congestion_control::Config,
    /// What is lost?
    pub loss_detection: loss_detection::Config,
    /// Why was it lost?
    pub loss_cause: loss_cause::Config,
    /// How long to wait for an acknowledgment.
    pub rto: rto::Config,
    /// How the wait grows over successive timeouts, and when it stops being grown.
    pub backoff: backoff::Config,
    /// Was the wait wrong?
    pub spurious: spurious::Config,
    /// Send one new segment on each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// Largest payload of a segment, in bytes, options not counted (RFC 9293 §3.7.1).
    pub mss: u32,
    /// Congestion window at the start (RFC 5681 §3.1, RFC 6928).
    pub initial_window: Size,
    /// When losses of the SYN or SYN/ACK narrow it to one segment.
    pub lost_syn: LostSyn,
    /// Slow start threshold at the start; without it as high as it can be (RFC 5681 §3.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Size>,
    /// Reduce the window after a pause longer than the RTO (RFC 5681 §4.1).
    pub slow_start_after_idle: bool,
    /// What it is reduced to.
    pub idle_restart: IdleRestart,
    /// When an acknowledgment may grow the window.
    pub cwnd_validation: CwndValidation,
    /// Largest congestion window; without it only the buffers limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cwnd: Option<Size>,
    /// Let data leave evenly over the round trip, at twice (in slow start) or 1.2 times cwnd/SRTT,
    /// as Linux does. A congestion control with a rate of its own is paced in any case.
    pub pacing: bool,
    /// How the sizes of buffers count.
    pub buffers: Buffers,
    /// Bytes that the application may write ahead of their acknowledgment.
    pub send_buffer: Size,
    /// With `buffers = "linux"`: let the send buffer grow up to so many bytes of memory. A
    /// `send_buffer` of one's own ends that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_autotuning: Option<Size>,
    /// Bytes held for the application; the advertised window is its free part.
    pub receive_buffer: Size,
    /// Let the buffer grow up to so many bytes of memory, and advertise what it is worth, as Linux
    /// does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_autotuning: Option<Size>,
    /// Advertise this window whatever the buffer holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advertised_window: Option<Size>,
    /// Offer window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Offer selective acknowledgments, and send them when the peer offers too (RFC 2018).
    pub sack: bool,
    /// Offer timestamps (RFC 7323 §3); with them every acknowledgment yields an RTT sample.
    pub timestamps: bool,
    /// Offer explicit congestion notification, and use it when the peer offers it too (RFC 3168).
    pub ecn: bool,
    /// Hold a short segment back while data are unacknowledged (RFC 1122 §4.2.3.4).
    pub nagle: bool,
    /// With `nagle`: only while another short segment is unacknowledged (Minshall 1998, Linux).
    pub minshall: bool,
    /// Which segments of new data carry PSH.
    pub push: Push,
    /// Send as Linux does for segmentation offload, whether or not there is any: in bursts of about
    /// a millisecond, with PSH on the last segment of each; and wait with less where the next
    /// acknowledgment will soon let more go.
    pub tso: bool,
    /// When an acknowledgment is sent (RFC 5681 §4.2).
    pub delayed_ack: DelayedAck,
    /// RTO before the first RTT sample (RFC 6298 §2.1).
    pub initial_rto: Duration,
    /// Smallest RTO (RFC 6298 §2.4).
    pub min_rto: Duration,
    /// Largest RTO, backoff included (RFC 6298 §2.5), and longest wait between probes of a closed
    /// window.
    pub max_rto: Duration,
    /// Retransmission and persist timers fire on this grid; 0 s for none.
    pub timer_granularity: Duration,
    /// Timers fire on the grid of Linux's timer wheel, whose steps are `timer_granularity` for
    /// waits under 63 of them, 8 times that for waits under 504, and so on; never early.
    pub timer_wheel: bool,
    /// Which acknowledgments yield an RTT sample.
    pub rtt_samples: RttSamples,
    /// RTTs are measured in these ticks; 0 s for exact.
    pub rtt_granularity: Duration,
    /// Duplicate ACKs that announce a loss (RFC 5681 §3.2).
    pub dupack_threshold: u32,
    /// Shortest wait before a zero-window probe (RFC 9293 §3.8.6.1).
    pub persist_timeout: Duration,
    /// Give up after so many retransmissions of one segment; without it never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retransmissions: Option<u32>,
    /// The same for an opening SYN; without it as for other segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_syn_retransmissions: Option<u32>,
    /// What `max_retransmissions` counts.
    pub give_up: GiveUp,
    /// How long a closed connection lingers, twice the maximum segment lifetime.
    pub time_wait: Duration,
}

/// When the receiver acknowledges in-order data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayedAck {
    /// After so many segments, whatever their size; 1 acknowledges each.
    pub segments: u32,
    /// And at the latest so long after the first unacknowledged one.
    pub timeout: Duration,
    /// How the wait is chosen.
    pub policy: AckPolicy,
}

/// How an acknowledgment's wait is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AckPolicy {
    /// Always `timeout`, and `segments` counts segments.
    #[default]
    Fixed,
    /// As Linux does: the first ACKs at once, up to 16 or half a window of segments, and more while
    /// the window grows; later waits of 40 ms up to `timeout` that follow the peer's rhythm;
    /// `segments` counts full segments, the last of which need not be full.
    Linux,
}

/// How the sizes of buffers count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Buffers {
    /// As bytes of payload.
    #[default]
    Payload,
    /// As `SO_SNDBUF` and `SO_RCVBUF` of Linux: doubled, as bytes of memory, which packets take
    /// more of than they have payload.
    Linux,
}

/// Which segments of new data carry PSH.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Push {
    /// Those with the last byte written so far (RFC 9293 §3.9.1.2).
    #[default]
    End,
    /// And one for each half of the peer's largest window, at the end of the memory block that
    /// passes it (Linux `forced_push`): a Linux receiver acknowledges it once it is read.
    HalfWindow,
}

/// What a pause does to the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleRestart {
    /// To the initial window (RFC 5681 §4.1).
    #[default]
    InitialWindow,
    /// To half for each RTO of the pause, but not below the initial window; the threshold to 3/4 of
    /// the window if it is lower (RFC 2861; Linux `tcp_cwnd_restart`).
    HalvePerRto,
}

/// When losses of the SYN or SYN/ACK narrow the initial window to one segment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LostSyn {
    /// With the first (RFC 5681 §3.1).
    #[default]
    First,
    /// With the second timeout, unless the answer echoes the timestamp of the first (Linux
    /// `tcp_init_transfer`, `tcp_try_undo_spurious_syn`).
    Second,
}

/// What counts until a sender gives up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GiveUp {
    /// Retransmissions. A closed window is probed for ever (RFC 9293 §3.8.6.1).
    #[default]
    Count,
    /// The time that so many retransmissions take with a first RTO of 200 ms, from the first of
    /// them on; and probes of a closed window without an answer (Linux `retransmits_timed_out`,
    /// `tcp_probe_timer`).
    Linux,
}

/// Which acknowledgments yield an RTT sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RttSamples {
    /// That of one segment timed at a time (RFC 6298 §3); with timestamps each that acknowledges
    /// new data, too.
    #[default]
    Timed,
    /// Each that acknowledges new data, selectively too: of the earliest segment among them that
    /// was never retransmitted; else of the timestamp (Linux `tcp_ack_update_rtt`).
    EveryAck,
}

/// What is wrong with a configuration, and in which field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The field, as a path below `[tcp.NAME]`.
    pub field: &'static str,
    /// What is wrong, and what instead.
    pub message: String,
}

impl Config {
    /// Checks what the types alone cannot.
    ///
    /// # Errors
    /// The first field whose value no endpoint could run with.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |field, message: String| Err(ConfigError { field, message });
        if !(1..=65_495).contains(&self.mss) {
            return refuse("mss", format!("{} lies outside 1 … 65495 bytes", self.mss));
        }
        for (field, size) in [
            ("initial_window", Some(self.initial_window)),
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
