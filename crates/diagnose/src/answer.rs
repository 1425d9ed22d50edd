//! The answer for a capture, in the form of the contract (`retx diagnose --json`).

use crate::between::Between;
use crate::picture::Picture;
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

/// Whether an earlier copy of the data reaches the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Needless {
    Yes,
    No,
    Unknown,
}

/// Evidence for needless or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// Nothing tells.
    None,
    /// An ACK had covered the data before they were sent again.
    AcknowledgedBefore,
    /// A SACK block had covered the data before they were sent again.
    SackedBefore,
    /// A DSACK block reports the duplicate.
    Dsack,
    /// The ACK that covers it echoes a timestamp older than the retransmission (Eifel).
    OlderTimestamp,
    /// The ACK that covers it echoes the retransmission's own timestamp.
    OwnTimestamp,
    /// Its ACK came sooner than a round trip permits.
    EarlyAck,
    /// The ACK of data sent again before it covers it, too.
    Jump,
    /// Captured at the receiver's end, where an earlier copy had arrived.
    ArrivedBefore,
    /// The original arrived after the retransmission.
    LateOriginal,
    /// No earlier copy passed the capture.
    NotSeen,
    /// The receiver reports duplicates by DSACK, and has not reported this one.
    NoDsack,
    /// An earlier copy is in the second capture, at the receiver's end.
    ArrivedThere,
    /// No earlier copy is in the second capture, at the receiver's end.
    LostBetween,
}

/// Proof: the evidence, and the frame in which it is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Proof {
    /// Kind of evidence.
    pub evidence: Evidence,
    /// Frame of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet: Option<u64>,
}

/// A retransmission.
#[derive(Debug, Clone, Serialize)]
pub struct Retransmission {
    /// Frame of the file, from 1.
    pub packet: u64,
    /// Seconds since the flow's first packet.
    pub time_s: f64,
    /// Relative sequence number; the first data byte is 1.
    pub seq: i64,
    /// Payload.
    pub length_bytes: u32,
    /// The end that sent it.
    pub from: String,
    /// Mechanism.
    pub kind: Kind,
    /// Timeouts in a row, this one included; none unless a timeout sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// Needless or not.
    pub needless: Needless,
    /// Probability that kind and needless are both right.
    pub confidence: f64,
    /// Probability that the kind is right.
    #[serde(skip)]
    pub kind_confidence: f64,
    /// Why `needless` is what it is.
    pub proof: Proof,
    /// True where a second capture has it, too; none with one capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arrived: Option<bool>,
    /// Frame with the first copy, where it is in the capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<u64>,
}

/// Cause of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// A queue overflowed.
    Congestion,
    /// The channel lost a packet.
    Wireless,
    /// Nothing was lost.
    Spurious,
    /// The capture does not tell.
    Unknown,
}

/// An episode of loss recovery.
#[derive(Debug, Clone, Serialize)]
pub struct Episode {
    /// `fast_retransmit` or `rto`.
    pub kind: &'static str,
    /// Seconds since the flow's first packet.
    pub start_s: f64,
    /// Time at which everything sent before it was acknowledged; none when that never came.
    pub end_s: Option<f64>,
    /// Frame of the first retransmission.
    pub trigger: u64,
    /// The cause.
    pub cause: Cause,
    /// Probability of congestion, if something was lost; none where nothing tells.
    pub congestion_probability: Option<f64>,
    /// Sentences with frames.
    pub evidence: Vec<String>,
    /// Probability that the cause is right.
    pub confidence: f64,
    /// Retransmissions in it.
    pub retransmitted: u32,
    /// Retransmissions in it that were needless.
    pub unnecessary: u32,
}

/// A timeout.
#[derive(Debug, Clone, Serialize)]
pub struct Timeout {
    /// Frame of the retransmission.
    pub packet: u64,
    /// Seconds since the flow's first packet.
    pub time_s: f64,
    /// How many in a row.
    pub number: u32,
    /// Time waited since the timer was set.
    pub waited_s: f64,
    /// RTO that the captured acknowledgments predict, backoff included.
    pub rto_s: f64,
}

/// A silence of the sender.
#[derive(Debug, Clone, Serialize)]
pub struct Stall {
    /// Seconds since the flow's first packet.
    pub start_s: f64,
    /// Its length.
    pub duration_s: f64,
    /// Key of `limited_by` that it counts for.
    pub cause: &'static str,
    /// Frame that ends it.
    pub packet: u64,
}

/// Shares of a key that depends on the cause of a loss.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct ByCause {
    /// A queue overflowed.
    pub congestion: f64,
    /// The channel lost it.
    pub wireless: f64,
    /// Nothing was lost.
    pub spurious: f64,
    /// The capture does not tell.
    pub unknown: f64,
}

/// Seconds of a flow's life by what limited it.
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

/// A flow.
#[derive(Debug, Clone, Serialize)]
pub struct Flow {
    /// Number, from 1, for `--flow`.
    pub number: usize,
    /// Its ends, the one that sent most data first.
    pub name: String,
    /// `sender`, `middle`, `receiver` or `unknown`: the end of the data's sender.
    pub place: &'static str,
    /// Least time between a packet towards the data's sender and its answer, at the capture.
    pub sender_loop_s: Option<f64>,
    /// Round trip between the capture and the data's receiver, seconds.
    pub receiver_loop_s: Option<f64>,
    /// Time from the first packet to the last, seconds.
    pub life_s: f64,
    /// Packets of both directions.
    pub packets: u64,
    /// Payload that the larger direction sent, each byte once.
    pub bytes: i64,
    /// Goodput of the larger direction.
    pub goodput_bit_s: f64,
    /// Estimator of the RTO that fits the flow best.
    pub timer: &'static str,
    /// Seconds by what limited it; they sum to the life.
    pub limited_by: Limits,
    /// Part of the life whose limit and cause are stated.
    pub certainty: f64,
    /// Episodes of loss recovery of the larger direction.
    pub episodes: Vec<Episode>,
    /// Timeouts of the larger direction.
    pub timeouts: Vec<Timeout>,
    /// Silences.
    pub stalls: Vec<Stall>,
    /// Retransmissions of both directions.
    pub retransmissions: Vec<Retransmission>,
    /// Copies of a packet made by the capture.
    pub capture_duplicates: u64,
    /// Bytes acknowledged that the capture has not seen.
    pub not_captured_bytes: i64,
    /// Originals that passed late, so that they look like retransmissions.
    pub reordered: u64,
    /// The way between two captures; none with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<Between>,
    /// The time–sequence picture, where it is wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<Picture>,
}

/// The capture itself.
#[derive(Debug, Clone, Serialize)]
pub struct Capture {
    /// Names of the files.
    pub files: Vec<String>,
    /// Frames.
    pub packets: u64,
    /// Faults of the capture, each once.
    pub findings: Vec<String>,
}

/// The whole answer.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// The capture.
    pub capture: Capture,
    /// The flows.
    pub flows: Vec<Flow>,
}
