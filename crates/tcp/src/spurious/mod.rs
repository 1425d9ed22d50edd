//! Was the wait wrong? Detectors of spurious timeouts and retransmissions, and what to do then.
//!
//! Detector and response are separate choices: any detector goes with any response.

use crate::LossState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

retx_units::registry! { $
    /// Was the wait wrong?
    tag = "name", schema = "Spurious", context = &crate::Config;
    none, frto boxed, eifel boxed, dsack boxed, stoder boxed, linux boxed
}

/// Response to a recovery that was not needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// Take everything back: `cwnd` and `ssthresh` as before, as Linux does.
    FullUndo,
    /// RFC 4015 §3.2: `ssthresh` as the flight was, `cwnd` what is in flight plus what was
    /// acknowledged, at most the initial window. The first RTT sample of data sent since is not
    /// smoothed by the estimator `rfc6298` (step 9).
    #[default]
    Rfc4015,
    /// Stop retransmitting, but keep the reduced window: `cwnd = ssthresh`.
    Conservative,
}

/// A recovery begins.
#[derive(Debug, Clone, Copy)]
pub struct Begin {
    /// The retransmission timer began it; else duplicate or selective ACKs.
    pub by_timeout: bool,
    /// A timeout for the same segment as the one before, or during a recovery.
    pub in_recovery: bool,
    /// A timeout for the same segment as the one before.
    pub repeated: bool,
    /// A tail loss probe, a segment sent again, is not yet answered.
    pub awaits_probe: bool,
    /// Segments that were sent again before and whose copies are taken to be in flight.
    pub retransmitted: u64,
    /// The first segment in flight was sent again before.
    pub first_retransmitted: bool,
    /// First unacknowledged position.
    pub snd_una: u64,
    /// Position after the last ever sent.
    pub snd_max: u64,
    /// The recovery is over once everything below is acknowledged.
    pub recovery_point: u64,
}

/// A segment is sent again.
#[derive(Debug, Clone, Copy)]
pub struct Retransmission {
    /// Its first position.
    pub position: u64,
    /// The position after it.
    pub end: u64,
    /// The TSval that it carries, where timestamps are in use.
    pub timestamp: Option<u32>,
    /// A tail loss probe, which repairs nothing that is known to be lost.
    pub is_probe: bool,
}

/// An acknowledgment after a recovery has begun.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// Where the sender stood before it; `Disorder` is not told from `Open`.
    pub state: LossState,
    /// First unacknowledged position before it.
    pub previous_una: u64,
    /// First unacknowledged position, this ACK counted.
    pub snd_una: u64,
    /// Position after the last ever sent.
    pub snd_max: u64,
    /// The highest position that it acknowledges, cumulatively or selectively.
    pub highest: u64,
    /// Segments sent again whose copies are taken to be in flight after it.
    pub retransmitted: u64,
    /// Bytes that it selectively acknowledges for the first time; `None` without SACK.
    pub sacked: Option<u64>,
    /// The lowest end of the segments that it delivers and that were sent once, where these are
    /// known; without SACK none if it covers others, too.
    pub lowest_original_end: Option<u64>,
    /// The range that a DSACK says has arrived twice, where the sender may have caused it.
    pub dsack: Option<(u64, u64)>,
    /// Segments in flight before it that lie in that range and had been sent again.
    pub twice_in_flight: u64,
    /// TSecr, where timestamps are in use.
    pub echo: Option<u32>,
    /// The sender's maximum segment size.
    pub smss: u32,
    /// There are new data that the peer's window lets go.
    pub can_send_new: bool,
}

impl Ack {
    /// True if the ACK acknowledges new data cumulatively.
    pub const fn advances(&self) -> bool {
        self.snd_una > self.previous_una
    }
}

/// Verdict of an acknowledgment on the recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing yet, or nothing more.
    Undecided,
    /// Wait for it: send up to two new segments instead of retransmissions (F-RTO, step 2b).
    SendNew,
    /// The loss was real: go on with the conventional recovery, from at most so many segments.
    Genuine {
        /// Upper bound on `cwnd`, in segments.
        cwnd_segments: u64,
    },
    /// Nothing had been lost.
    Spurious(Scope),
    /// An original has arrived, but copies are in flight: nothing is marked lost or sent again
    /// before the next acknowledgment (Linux `tcp_try_undo_partial`).
    Wait,
}

/// Parts of a spurious recovery that an undo takes back, beside the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// Segments taken for lost are so no more.
    pub losses: bool,
    /// The recovery is over. Without SACK Linux goes on until that is known otherwise, too
    /// (`tcp_is_non_sack_preventing_reopen`).
    pub ends: bool,
}

impl Scope {
    /// Everything.
    pub const ALL: Self = Self { losses: true, ends: true };
}

/// A detector of spurious recoveries.
pub trait Detector {
    /// A recovery begins.
    fn on_begin(&mut self, begin: &Begin) {
        let _ = begin;
    }

    /// A segment is sent again.
    fn on_retransmission(&mut self, retransmission: &Retransmission) {
        let _ = retransmission;
    }

    /// An echo of a mark has reduced the window: nothing from before is to be undone.
    fn on_echo(&mut self) {}

    /// An acknowledgment came, duplicates included.
    fn on_ack(&mut self, ack: &Ack) -> Verdict {
        let _ = ack;
        Verdict::Undecided
    }

    /// True if, outside recoveries, an acknowledgment of new data without DSACK changes nothing
    /// here and leads to no verdict.
    fn is_at_rest(&self) -> bool {
        false
    }

    /// The acknowledgment at hand has shown that an original filled a hole in a recovery.
    fn saw_late_original(&self) -> bool {
        false
    }

    /// Retransmissions other than the first wait for the verdict.
    fn is_waiting(&self) -> bool {
        false
    }

    /// The first retransmission after a timeout is to be one byte short.
    fn shortens(&self) -> bool {
        false
    }

    /// Response to a spurious recovery.
    fn response(&self) -> Response {
        Response::default()
    }
}

impl Detector for State {
    fn on_begin(&mut self, begin: &Begin) {
        dispatch!(self, it => it.on_begin(begin));
    }

    fn on_retransmission(&mut self, retransmission: &Retransmission) {
        dispatch!(self, it => it.on_retransmission(retransmission));
    }

    fn on_echo(&mut self) {
        dispatch!(self, it => it.on_echo());
    }

    fn on_ack(&mut self, ack: &Ack) -> Verdict {
        dispatch!(self, it => it.on_ack(ack))
    }

    fn is_at_rest(&self) -> bool {
        dispatch!(self, it => it.is_at_rest())
    }

    fn saw_late_original(&self) -> bool {
        dispatch!(self, it => it.saw_late_original())
    }

    fn is_waiting(&self) -> bool {
        dispatch!(self, it => it.is_waiting())
    }

    fn shortens(&self) -> bool {
        dispatch!(self, it => it.shortens())
    }

    fn response(&self) -> Response {
        dispatch!(self, it => it.response())
    }
}
