//! Diagnosis of a capture, as `retx diagnose --json` prints it.

use crate::between::CaptureComparison;
use crate::time_sequence::TimeSequenceDiagram;
use serde::Serialize;

/// Mechanism that sent a retransmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Kind {
    Fast,
    Recovery,
    TailLossProbe,
    Timeout,
    Syn,
    Fin,
    KeepAlive,
    WindowProbe,
    NetworkDuplicate,
    CaptureDuplicate,
}

impl Kind {
    /// False for packets that repeat data although nothing was lost: keep-alives, window probes and
    /// duplicates.
    pub const fn is_retransmission(self) -> bool {
        let is_other = matches!(self, Self::KeepAlive | Self::WindowProbe);
        !is_other && !matches!(self, Self::NetworkDuplicate | Self::CaptureDuplicate)
    }
}

/// Verdict on a retransmission: needless if an earlier copy of the data reached the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Necessity {
    Yes,
    No,
    Unknown,
}

/// Evidence that a retransmission was needless, or that it was needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// No evidence.
    None,
    /// An ACK had covered the data before they were sent again.
    AcknowledgedBefore,
    /// A SACK block had covered the data before they were sent again.
    SackedBefore,
    /// A DSACK block reports the duplicate.
    Dsack,
    /// The ACK of the data echoes a timestamp older than the retransmission (Eifel).
    OlderTimestamp,
    /// The ACK of the data echoes the retransmission's own timestamp.
    OwnTimestamp,
    /// The ACK was sent before the retransmission can have arrived.
    EarlyAck,
    /// One ACK covers these data together with the retransmission that filled an earlier gap, so an
    /// earlier copy of these data had arrived.
    Jump,
    /// The capture is at the receiver's end, and an earlier copy had arrived there.
    ArrivedBefore,
    /// The original arrived after the retransmission.
    LateOriginal,
    /// No earlier copy passed the capture.
    NotSeen,
    /// The receiver reports duplicates by DSACK, but did not report this retransmission.
    NoDsack,
    /// An earlier copy is in the second capture, at the receiver's end.
    ArrivedThere,
    /// No earlier copy is in the second capture, at the receiver's end.
    LostBetween,
}

/// Evidence for a verdict, and the frame that contains the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Proof {
    /// Kind of evidence.
    pub evidence: Evidence,
    /// Number of the frame in the file; none without such a frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet: Option<u64>,
}

/// Retransmission in a capture.
#[derive(Debug, Clone, Serialize)]
pub struct Retransmission {
    /// Frame of the file, from 1.
    pub packet: u64,
    /// Seconds since the flow's first packet.
    pub time_s: f64,
    /// Relative sequence number; the first data byte is 1.
    pub seq: i64,
    /// Number of payload bytes.
    pub length_bytes: u32,
    /// Endpoint that sent the retransmission.
    pub from: String,
    /// Mechanism that sent the retransmission.
    pub kind: Kind,
    /// Number of consecutive timeouts up to the one that sent the retransmission; none if no
    /// timeout sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Verdict: needless, needed or unknown.
    pub needless: Necessity,
    /// Probability that `kind` and `needless` are both correct.
    pub confidence: f64,
    /// Probability that `kind` is correct.
    #[serde(skip)]
    pub kind_confidence: f64,
    /// Evidence for `needless`.
    pub proof: Proof,
    /// True if the second capture also contains this retransmission; none if there is only one
    /// capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived: Option<bool>,
    /// Frame of the first copy of the data; none if it was not captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<u64>,
}

/// Cause of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A queue overflowed and dropped the segment.
    Congestion,
    /// The channel lost a packet.
    Wireless,
    /// Retransmission without a loss.
    Spurious,
    /// The capture contains no evidence.
    Unknown,
}

/// An episode of loss recovery.
#[derive(Debug, Clone, Serialize)]
pub struct Episode {
    /// `fast_retransmit` or `rto`.
    pub kind: &'static str,
    /// Seconds since the flow's first packet.
    pub start_s: f64,
    /// Time at which all data sent before the episode were acknowledged, in seconds since the
    /// flow's first packet; none if that never happened.
    pub end_s: Option<f64>,
    /// Frame of the first retransmission.
    pub trigger: u64,
    /// Cause of the episode, as inferred from the capture.
    pub cause: Cause,
    /// Probability that the cause is congestion, given that a segment was lost; none without
    /// evidence.
    pub congestion_probability: Option<f64>,
    /// Sentences that name the evidence, with frame numbers.
    pub evidence: Vec<String>,
    /// Probability that `cause` is correct.
    pub confidence: f64,
    /// Number of retransmissions in the episode.
    pub retransmitted: u32,
    /// Number of needless retransmissions in the episode.
    pub unnecessary: u32,
}

/// Expiry of the retransmission timer.
#[derive(Debug, Clone, Serialize)]
pub struct Timeout {
    /// Frame of the retransmission.
    pub packet: u64,
    /// Seconds since the flow's first packet.
    pub time_s: f64,
    /// Number of consecutive timeouts, including this one.
    pub number: u32,
    /// Time from setting the timer to the timeout, seconds.
    pub waited_s: f64,
    /// RTO predicted from the captured acknowledgments, including backoff, seconds; at most 120 s,
    /// the maximum in Linux.
    pub rto_s: f64,
}

/// Period in which the sender sent nothing.
#[derive(Debug, Clone, Serialize)]
pub struct Stall {
    /// Seconds since the flow's first packet.
    pub start_s: f64,
    /// Duration, seconds.
    pub duration_s: f64,
    /// Key of `limited_by` to which the duration of the stall is added.
    pub cause: &'static str,
    /// Frame of the packet that ends the silence.
    pub packet: u64,
}

/// Known fault or habit, recognised from the packets of a flow.
#[derive(Debug, Clone, Serialize)]
pub struct Pattern {
    /// Name: `path_mtu_black_hole`, `outage`, `policer`, `standing_queue`, `zero_window`,
    /// `small_receive_window`, `small_send_buffer`, `think_time`, `no_request`, `ecn`,
    /// `options_refused` or `options_removed`.
    pub name: &'static str,
    /// Sentence that names the evidence, with frame numbers.
    pub evidence: String,
    /// Frames that show the pattern.
    pub packets: Vec<u64>,
    /// Probability that the flow really has this pattern.
    pub confidence: f64,
    /// Packets that wait in the queue, for the pattern `standing_queue`; none for other patterns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
}

impl Pattern {
    /// Creates a pattern that is no queue.
    pub(crate) const fn new(
        name: &'static str,
        evidence: String,
        packets: Vec<u64>,
        confidence: f64,
    ) -> Self {
        Self { name, evidence, packets, confidence, waiting: None }
    }
}

/// Packets that wait in a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiting {
    /// The data of the flow.
    Data,
    /// The acknowledgments of the data.
    Acknowledgments,
    /// Both, in two queues.
    Both,
    /// The capture does not show which packets wait.
    Unknown,
}

/// Seconds for which one limit applied, split by the cause of the episode to which they belong.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct ByCause {
    /// Seconds of episodes whose cause is congestion: a full queue, or a policer.
    pub congestion: f64,
    /// Seconds of episodes whose cause is a loss by the channel.
    pub wireless: f64,
    /// Seconds of episodes in which nothing was lost.
    pub spurious: f64,
    /// Seconds of episodes whose cause is unknown.
    pub unknown: f64,
}

/// Seconds of a flow's life for each limit of the sender.
#[derive(Debug, Clone, Copy, Default, Serialize)]
#[allow(missing_docs)]
pub struct Limits {
    pub handshake: f64,
    pub application: f64,
    pub send_buffer: f64,
    pub receive_window: f64,
    pub bottleneck: f64,
    pub slow_start: f64,
    pub window: ByCause,
    pub recovery: ByCause,
    pub timeout: ByCause,
    pub pacing: f64,
    pub nagle: f64,
    pub delayed_ack: f64,
    pub unknown: f64,
}

impl Limits {
    /// Seconds whose limit, or whose cause, is unknown.
    pub fn unknown_s(&self) -> f64 {
        self.unknown + self.window.unknown + self.recovery.unknown + self.timeout.unknown
    }
}

/// Diagnosis of a flow.
#[derive(Debug, Clone, Serialize)]
pub struct Flow {
    /// Number of the flow, from 1, as for `--flow`.
    pub number: usize,
    /// Both endpoints; the one that sent more data comes first.
    pub name: String,
    /// Place of the capture: `sender` (of the data), `middle`, `receiver` or `unknown`.
    pub place: &'static str,
    /// Round trip between the capture and the data's sender, seconds; none if unknown.
    pub sender_loop_s: Option<f64>,
    /// Round trip between the capture and the data's receiver, seconds; none if unknown.
    pub receiver_loop_s: Option<f64>,
    /// Time from the first packet to the last, seconds.
    pub life_s: f64,
    /// Number of packets in both directions.
    pub packets: u64,
    /// Payload bytes of the direction with more data; each byte counts once.
    pub bytes: i64,
    /// Payload bytes that were acknowledged before the capture ended.
    pub acknowledged_bytes: i64,
    /// Goodput of the direction with more data, from the acknowledged bytes.
    pub goodput_bit_s: f64,
    /// Name of the RTO estimator that best predicts the flow's timeouts.
    pub timer: &'static str,
    /// Seconds for each limit; their sum is the lifetime of the flow.
    pub limited_by: Limits,
    /// True if the acknowledgments wait in a queue for a considerable part of the round trip, as
    /// their timestamps show.
    pub acks_wait: bool,
    /// Probability that no share of `limited_by` is wrong by more than 3 percentage points,
    /// multiplied by the fraction of the life whose limit and cause are known.
    pub certainty: f64,
    /// Episodes of loss recovery of the direction with more data.
    pub episodes: Vec<Episode>,
    /// Timeouts of the direction with more data.
    pub timeouts: Vec<Timeout>,
    /// Silences of the sender.
    pub stalls: Vec<Stall>,
    /// Known faults and habits that the packets show.
    pub patterns: Vec<Pattern>,
    /// Retransmissions of both directions.
    pub retransmissions: Vec<Retransmission>,
    /// True if the sender had more data after the last ones in the capture, and the capture has no
    /// end of the connection.
    pub ends_in_mid_write: bool,
    /// Number of packets that the capture itself duplicated.
    pub capture_duplicates: u64,
    /// Bytes that were acknowledged but are missing from the capture.
    pub not_captured_bytes: i64,
    /// True if the capture has packets of one direction only.
    #[serde(skip)]
    pub is_one_way: bool,
    /// True if the capture truncated the options of a SYN.
    #[serde(skip)]
    pub has_cut_syn: bool,
    /// Number of first transmissions that passed the capture late, and thus look like
    /// retransmissions.
    pub reordered: u64,
    /// Path between two captures; none if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<CaptureComparison>,
    /// Time–sequence diagram; none unless requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<TimeSequenceDiagram>,
}

/// Properties of a capture.
#[derive(Debug, Clone, Serialize)]
pub struct Capture {
    /// Names of the files.
    pub files: Vec<String>,
    /// Number of frames in the files.
    pub packets: u64,
    /// Faults of the capture; each kind is listed once.
    pub findings: Vec<String>,
}

/// Diagnosis of a capture and its flows.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// Properties of the capture.
    pub capture: Capture,
    /// Diagnoses of the flows.
    pub flows: Vec<Flow>,
}
