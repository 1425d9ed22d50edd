//! The few words in which a record tells what happened and why.

pub use crate::capture::DropReason;
use crate::table::names;

names! {
    /// How a sender found a loss.
    EpisodeKind {
        /// Fast retransmit: duplicate ACKs.
        Frr = "frr",
        /// Retransmission timeout.
        Rto = "rto",
    }
}

names! {
    /// What truly was behind an episode.
    Cause {
        /// A queue dropped the segment.
        Congestion = "congestion",
        /// The medium, or the link's retry limit, did.
        Wireless = "wireless",
        /// Nothing did: the segment had arrived, or was still on its way.
        Spurious = "spurious",
    }
}

names! {
    /// What made a sender believe in a loss that there was not.
    SubCause {
        /// An acknowledgment that covered the segment was dropped.
        AckLost = "ack_lost",
        /// The segment or its acknowledgment took longer than the timeout.
        Delay = "delay",
        /// Later segments, or copies of earlier ones, came before it.
        Reordering = "reordering",
        /// It came, and the receiver threw it away.
        Refused = "refused",
    }
}

names! {
    /// What the sender took a loss to be.
    SaidCause {
        /// A full queue.
        Congestion = "congestion",
        /// A bad channel.
        Corruption = "corruption",
    }
}

names! {
    /// What became of a segment.
    SegmentFate {
        /// It reached the receiver.
        Delivered = "delivered",
        /// Dropped by a queue.
        Queue = "queue",
        /// Dropped by errors of the medium.
        Channel = "channel",
        /// Dropped by a link that gave up.
        RetryLimit = "retry_limit",
        /// Dropped by a script.
        Script = "script",
        /// It reached the receiver, which threw it away: no room, or an old timestamp.
        Refused = "refused",
        /// A relay absorbed it: an acknowledgment that was of no use any more.
        Suppressed = "suppressed",
        /// Still on its way when the run ended.
        OnItsWay = "on_its_way",
    }
}

names! {
    /// What a sender is doing.
    SenderState {
        /// `cwnd` is below `ssthresh`.
        SlowStart = "slow_start",
        /// It is not.
        CongestionAvoidance = "congestion_avoidance",
        /// Fast recovery.
        FastRecovery = "fast_recovery",
    }
}

/// What a sender holds an episode to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Belief {
    /// How it found the loss.
    pub kind: EpisodeKind,
    /// What it took it for.
    pub said: SaidCause,
}

impl SegmentFate {
    /// The fate of a segment dropped for this reason.
    pub const fn dropped(reason: DropReason) -> Self {
        match reason {
            DropReason::Queue => Self::Queue,
            DropReason::Channel => Self::Channel,
            DropReason::RetryLimit => Self::RetryLimit,
            DropReason::Script => Self::Script,
            DropReason::Suppressed => Self::Suppressed,
        }
    }
}
