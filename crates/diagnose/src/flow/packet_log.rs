//! Recording of all packets of a flow whose path is measured.

use super::direction::{Direction, PacketContext};
use super::relation::Relation;
use super::sender::{Ack, State};
use crate::answer::{Kind, Necessity};
use crate::packet::{Options, Packet};

/// Flows whose packets are recorded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WatchedFlows {
    /// No flow.
    #[default]
    None,
    /// Flow with this number.
    Flow(usize),
    /// All flows.
    All,
}

/// Data, a SYN or a FIN that passed the capture.
#[derive(Debug, Clone, Copy)]
pub struct CapturedData {
    /// Number of the frame in the capture.
    pub packet: u64,
    /// Time since the flow's first packet.
    pub time_ns: i64,
    /// Time at which the packet would have passed the capture if it had not waited in queues before
    /// it.
    pub sent_ns: i64,
    /// Position of the first byte.
    pub start: i64,
    /// Position after the last byte.
    pub end: i64,
    /// Payload length, bytes.
    pub payload_bytes: u32,
    /// Timestamp value; none without timestamps.
    pub timestamp_value: Option<u32>,
    /// Index of the record, if the packet is a retransmission.
    pub retransmission_record: Option<usize>,
    /// True for an original that was captured after data that were sent later.
    pub is_reordered: bool,
}

/// Acknowledgment that passed the capture.
#[derive(Debug, Clone, Copy)]
pub struct ObservedAck {
    /// Time since the flow's first packet.
    pub time_ns: i64,
    /// Cumulative acknowledgment.
    pub ack: i64,
    /// Left and right edges of SACK blocks; unused entries are (0, 0).
    pub blocks: [(i64, i64); 4],
    /// Receive window, bytes.
    pub window: i64,
    /// Timestamp value; none without timestamps.
    pub timestamp_value: Option<u32>,
    /// Payload of the packet.
    pub payload_bytes: u32,
    /// True for a SYN.
    pub is_syn: bool,
}

/// Packets of one direction, and the acknowledgments for them.
#[derive(Debug, Clone, Default)]
pub struct PacketLog {
    /// Data packets.
    pub sent: Vec<CapturedData>,
    /// Acknowledgments for the data.
    pub acks: Vec<ObservedAck>,
    /// State of the sender after each acknowledgment.
    pub samples: Vec<Sample>,
}

/// State of the sender after an acknowledgment.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Earliest time at which packets that the acknowledgment releases can pass the capture.
    pub effective_ns: i64,
    /// Cumulative acknowledgment.
    pub ack: i64,
    /// Bytes in flight.
    pub flight: i64,
    /// Receive window, if its scale is known.
    pub window: Option<i64>,
    /// Smoothed RTT; none before the first sample.
    pub srtt_ns: Option<i64>,
    /// RTO, backoff included.
    pub rto_ns: i64,
    /// Number of consecutive timeouts.
    pub backoff: u32,
    /// Name of the state: `open`, `fast_recovery` or `loss`.
    pub state: &'static str,
}

/// Verdict on a retransmission.
#[derive(Debug, Clone, Copy)]
pub struct Verdict {
    /// Mechanism that caused the retransmission.
    pub kind: Kind,
    /// True if only a timeout caused the retransmission, and no acknowledgment indicated the loss
    /// of these data.
    pub is_by_timeout_alone: bool,
    /// Needless if an earlier copy of the data arrived.
    pub needless: Necessity,
    /// Probability that `needless` is correct.
    pub confidence: f64,
    /// True if a DSACK block reports the retransmission. The retransmission itself has then
    /// arrived.
    pub has_dsack: bool,
}

/// All captured packets of a flow's data direction, and of the acknowledgments for it.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Data packets, and the acknowledgments for them.
    pub packet_log: PacketLog,
    /// Verdicts, by the index in [`CapturedData::retransmission_record`].
    pub verdicts: Vec<Verdict>,
    /// Options of the SYN of the data's sender, and of the SYN of the receiver; none if not
    /// captured.
    pub syns: [Option<Options>; 2],
    /// True if the data's sender opened the connection; none if a SYN was not captured.
    pub sender_opened: Option<bool>,
    /// Times of the SYN of the data's sender, and of the SYN of the receiver, since the flow's
    /// first packet; none if not captured.
    pub syn_ns: [Option<i64>; 2],
    /// Time from the capture to each host and back, as measured in the handshake; none if the
    /// handshake was not captured.
    pub handshake_ns: [Option<i64>; 2],
    /// Data in the packet that completed the handshake, bytes. The opener's acknowledgment has
    /// none, but the first data take its place if it was lost.
    pub completing_bytes: u32,
    /// Least time from the capture to each endpoint and back; none if unknown.
    pub loops_ns: [Option<i64>; 2],
    /// True if the flow uses IPv6, whose header has 40 bytes.
    pub is_ipv6: bool,
    /// True if the data carry timestamps.
    pub has_timestamps: bool,
}

impl Observed {
    /// Bytes of the IP header without options.
    pub const fn ip_header_bytes(&self) -> u32 {
        if self.is_ipv6 { 40 } else { 20 }
    }
}

impl Direction {
    /// Records a packet with data, a SYN or a FIN, if the path of the flow is measured.
    pub(super) fn log_packet(
        &mut self,
        packet: &Packet,
        (start, end): (i64, i64),
        relation: Relation,
        now: &PacketContext,
    ) {
        let Some(log) = &mut self.packet_log else { return };
        // If the packet is a retransmission, its record is the one that was added last.
        let is_again = matches!(relation, Relation::Again(_) | Relation::Copied);
        log.sent.push(CapturedData {
            packet: now.packet,
            time_ns: now.time_ns,
            sent_ns: now.sent_ns,
            start,
            end,
            payload_bytes: packet.payload_bytes,
            timestamp_value: packet.options.timestamps.map(|(value, _)| value),
            retransmission_record: self.records.all.len().checked_sub(1).filter(|_| is_again),
            is_reordered: relation == Relation::Late,
        });
    }

    /// Records the state of the sender after an acknowledgment, if the path of the flow is
    /// measured.
    pub(super) fn log_sender_state(&mut self, ack: &Ack) {
        if let Some(mut log) = self.packet_log.take() {
            log.samples.push(self.sample(ack));
            self.packet_log = Some(log);
        }
    }

    /// State of the sender after an acknowledgment.
    fn sample(&self, ack: &Ack) -> Sample {
        let backoff = self.sender.backoff();
        Sample {
            effective_ns: ack.effective_ns,
            ack: ack.ack.max(self.sender.snd_una),
            flight: self.pipe(),
            window: self.sender.window,
            srtt_ns: self.sender.estimator.srtt_ns(),
            rto_ns: self.sender.estimator.backed_off_rto_ns(backoff),
            backoff,
            state: match self.sender.state {
                State::Open => "open",
                State::Recovery(_) => "fast_recovery",
                State::Loss(_) => "loss",
            },
        }
    }
}
