//! Enumerations of states, kinds and reasons in a record.

pub use crate::capture::DropReason;
use crate::table::names;

names! {
    /// Kind of an episode: how the sender detected the loss.
    EpisodeKind {
        /// Fast retransmit, triggered by duplicate ACKs.
        FastRetransmit = "fast_retransmit",
        /// Retransmission timeout.
        Rto = "rto",
    }
}

names! {
    /// True cause of an episode.
    Cause {
        /// The segment was dropped by a queue or a policer, or by a script in their place.
        Congestion = "congestion",
        /// The segment was lost to the medium, or by a script in its place, or dropped at the
        /// link's retry limit.
        Wireless = "wireless",
        /// The segment was not lost: it had arrived, or was still in flight.
        Spurious = "spurious",
    }
}

names! {
    /// Reason why an episode was spurious.
    SubCause {
        /// An acknowledgment that covered the segment was dropped.
        AckLost = "ack_lost",
        /// The segment or its acknowledgment took longer than the timeout.
        Delay = "delay",
        /// Later segments, or copies of earlier ones, arrived before the segment.
        Reordering = "reordering",
        /// The segment arrived, and the receiver discarded it.
        Refused = "refused",
    }
}

names! {
    /// Cause that the sender inferred for a loss.
    InferredCause {
        /// Congestion: a full queue.
        Congestion = "congestion",
        /// Corruption: errors of the channel.
        Corruption = "corruption",
    }
}

names! {
    /// Fate of a segment, as in the tables `segments` and `acks`.
    SegmentFate {
        /// Received.
        Delivered = "delivered",
        /// Dropped by a queue.
        Queue = "queue",
        /// Lost to errors of the medium, or dropped by a policer.
        Channel = "channel",
        /// Dropped at the link's retry limit.
        RetryLimit = "retry_limit",
        /// Dropped by a script.
        Script = "script",
        /// Discarded by the receiver, for lack of buffer space or because of an old timestamp.
        Refused = "refused",
        /// Absorbed by a relay, as a duplicate acknowledgment that the sender should not see.
        Suppressed = "suppressed",
        /// Still in flight at the end of the run.
        OnItsWay = "on_its_way",
    }
}

names! {
    /// State of a sender's congestion control, as in the table `samples`.
    SenderState {
        /// `cwnd` is below `ssthresh`.
        SlowStart = "slow_start",
        /// `cwnd` has reached `ssthresh`.
        CongestionAvoidance = "congestion_avoidance",
        /// Fast recovery.
        FastRecovery = "fast_recovery",
    }
}

/// Inference of a sender about an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderInference {
    /// Kind of detection.
    pub kind: EpisodeKind,
    /// Cause that the sender inferred.
    pub inferred: InferredCause,
}

impl SegmentFate {
    /// Fate of a segment dropped for this reason.
    pub const fn from_drop(reason: DropReason) -> Self {
        match reason {
            DropReason::Queue => Self::Queue,
            DropReason::Channel => Self::Channel,
            DropReason::RetryLimit => Self::RetryLimit,
            DropReason::Script => Self::Script,
            DropReason::Suppressed => Self::Suppressed,
        }
    }
}
