//! Detection of spurious timeouts and retransmissions, and the response.
//!
//! Detector and response are separate choices: any detector works with any response.

use crate::LossState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

retx_units::registry! { $
    /// Detector of spurious timeouts and retransmissions.
    tag = "name", schema = "Spurious", context = &crate::Config;
    none, frto boxed, eifel boxed, dsack boxed, stoder boxed, linux boxed
}

/// Response to a recovery that was not needed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Response {
    /// Revert the reduction completely: `cwnd` and `ssthresh` as before, as Linux does.
    FullUndo,
    /// RFC 4015 §3.2. `ssthresh` becomes the larger of FlightSize and `ssthresh` before the
    /// reduction. `cwnd` becomes the data in flight plus the data just acknowledged, of which at
    /// most an initial window counts. The estimator `rfc6298` does not smooth the first RTT sample
    /// of data sent since (step 9).
    #[default]
    Rfc4015,
    /// Stop retransmitting, but keep the reduced window: `cwnd = ssthresh`.
    Conservative,
}

impl Response {
    /// True if the window from before the reduction is restored.
    pub const fn restores_window(self) -> bool {
        matches!(self, Self::FullUndo | Self::Rfc4015)
    }
}

/// Start of a recovery.
#[derive(Debug, Clone, Copy)]
pub struct NewRecovery {
    /// True if the retransmission timer started the recovery, false if duplicate or selective ACKs
    /// did.
    pub by_timeout: bool,
    /// True if another recovery, for the same window of data, is in progress; also at a repeated
    /// timeout.
    pub in_recovery: bool,
    /// True for a timeout for the same segment as the previous timeout.
    pub repeated: bool,
    /// True if a tail loss probe that retransmitted a segment is not yet acknowledged.
    pub awaits_probe: bool,
    /// Segments retransmitted earlier whose copies are considered in flight.
    pub retransmitted: u64,
    /// True if the first segment in flight was retransmitted earlier.
    pub first_retransmitted: bool,
    /// First unacknowledged position.
    pub snd_una: u64,
    /// Position after the last byte ever sent.
    pub snd_max: u64,
    /// Position whose acknowledgment ends the recovery.
    pub recovery_point: u64,
}

/// Retransmission of a segment.
#[derive(Debug, Clone, Copy)]
pub struct Retransmission {
    /// First position.
    pub position: u64,
    /// Position after the segment.
    pub end: u64,
    /// TSval of the retransmission; `None` without timestamps.
    pub timestamp: Option<u32>,
    /// True for a tail loss probe, which repairs no known loss.
    pub is_probe: bool,
}

/// Acknowledgment after the start of a recovery.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// State of the sender before this ACK; `Disorder` is not distinguished from `Open`.
    pub state: LossState,
    /// First unacknowledged position before this ACK.
    pub previous_una: u64,
    /// First unacknowledged position after this ACK.
    pub snd_una: u64,
    /// Position after the last byte ever sent.
    pub snd_max: u64,
    /// Highest position acknowledged, cumulatively or selectively.
    pub highest: u64,
    /// Retransmitted segments whose copies are considered in flight after this ACK.
    pub retransmitted: u64,
    /// Bytes newly selectively acknowledged; `None` without SACK.
    pub sacked: Option<u64>,
    /// Lowest end of the delivered segments that were sent once, if these are known. Without SACK:
    /// `None` if the ACK also covers retransmitted segments.
    pub lowest_original_end: Option<u64>,
    /// Range that a DSACK reports, if a retransmission may have caused the duplicate.
    pub dsack: Option<(u64, u64)>,
    /// Retransmitted segments within the range of the DSACK that were in flight before this ACK.
    pub dsacked_in_flight: u64,
    /// TSecr; `None` without timestamps.
    pub echo: Option<u32>,
    /// Sender's maximum segment size.
    pub smss: u32,
    /// True if there are new data to send, and the peer's window permits them.
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
    /// No decision, or the decision has been made before.
    Undecided,
    /// F-RTO, step 2b: send up to two new segments instead of retransmissions, and wait for the
    /// result.
    SendNew,
    /// The loss was real: continue with the conventional recovery, with a window of at most this
    /// many segments.
    Genuine {
        /// Upper bound on `cwnd`, in segments.
        cwnd_segments: u64,
    },
    /// Nothing was lost.
    Spurious(UndoScope),
    /// An original has arrived, but copies are in flight: nothing is marked lost or retransmitted
    /// before the next acknowledgment (Linux `tcp_try_undo_partial`).
    Wait,
}

/// Parts of a spurious recovery that an undo reverts in addition to the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoScope {
    /// True to clear all marks of lost segments.
    pub losses: bool,
    /// True to end the recovery. Without SACK Linux continues it until it ends otherwise
    /// (`tcp_is_non_sack_preventing_reopen`).
    pub ends: bool,
}

impl UndoScope {
    /// Revert everything.
    pub const ALL: Self = Self { losses: true, ends: true };
}

/// Detector of spurious recoveries.
pub trait Detector {
    /// Handles the start of a recovery.
    fn on_begin(&mut self, begin: &NewRecovery) {
        let _ = begin;
    }

    /// Handles a retransmission.
    fn on_retransmission(&mut self, retransmission: &Retransmission) {
        let _ = retransmission;
    }

    /// Handles a window reduction by an ECN echo: earlier reductions must not be undone.
    fn on_echo(&mut self) {}

    /// Handles an acknowledgment, including duplicates.
    fn on_ack(&mut self, ack: &Ack) -> Verdict {
        let _ = ack;
        Verdict::Undecided
    }

    /// True if, outside recoveries, an acknowledgment of new data without DSACK neither changes the
    /// state nor leads to a verdict.
    fn ignores_new_data_ack(&self) -> bool {
        false
    }

    /// True if, except in the loss state, the detector ignores an acknowledgment that advances
    /// nothing and reports no duplicate.
    fn ignores_sack(&self, snd_una: u64) -> bool {
        let _ = snd_una;
        false
    }

    /// True if the current acknowledgment has shown that an original filled a hole in a recovery.
    fn saw_late_original(&self) -> bool {
        false
    }

    /// True if retransmissions other than the first wait for the verdict.
    fn is_waiting(&self) -> bool {
        false
    }

    /// True if the first retransmission after a timeout must be one byte shorter.
    fn shortens(&self) -> bool {
        false
    }

    /// Response to a spurious recovery.
    fn response(&self) -> Response {
        Response::default()
    }
}

impl Detector for State {
    forward! {
        fn on_begin(&mut self, begin: &NewRecovery);
        fn on_retransmission(&mut self, retransmission: &Retransmission);
        fn on_echo(&mut self);
        fn on_ack(&mut self, ack: &Ack) -> Verdict;
        fn ignores_new_data_ack(&self) -> bool;
        fn ignores_sack(&self, snd_una: u64) -> bool;
        fn saw_late_original(&self) -> bool;
        fn is_waiting(&self) -> bool;
        fn shortens(&self) -> bool;
        fn response(&self) -> Response;
    }
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp() -> crate::Config {
        (crate::presets::find("linux").expect("a preset").config)()
    }

    fn detector(name: &str) -> State {
        let config: Config = serde_json::from_value(name.into()).expect("a registered name");
        config.build(&tcp())
    }

    /// Fast recovery of ten segments of 1000 bytes, the first of which is retransmitted with TSval
    /// 100.
    fn begin(detector: &mut State) {
        detector.on_begin(&testing::new_recovery(false, false));
        detector.on_retransmission(&testing::retransmission(1, Some(100)));
    }

    /// ACK that advances `snd_una` by a segment, to `snd_una`, and echoes this timestamp.
    fn ack(snd_una: u64, echo: u32) -> Ack {
        Ack {
            state: LossState::Recovery,
            highest: 10_001,
            sacked: Some(0),
            echo: Some(echo),
            can_send_new: false,
            ..testing::ack(snd_una - 1_000, snd_una)
        }
    }

    /// `tcp_try_undo_partial`: in Linux a partial ACK shows reordering if it echoes a timestamp
    /// from before the retransmission, and only that ACK does. No other detector reports
    /// reordering.
    #[test]
    fn only_an_echo_from_before_the_retransmission_shows_a_late_original() {
        for name in Config::NAMES {
            let mut detector = detector(name);
            assert!(!detector.saw_late_original(), "{name}: nothing has arrived");
            begin(&mut detector);
            let seen = [(1_001, 100), (2_001, 99), (3_001, 100)].map(|(snd_una, echo)| {
                detector.on_ack(&ack(snd_una, echo));
                detector.saw_late_original()
            });
            assert_eq!(seen, [false, *name == "linux", false], "{name}");
        }
    }

    /// RFC 4015 §3.2 and Linux restore the window; `conservative` does not.
    #[test]
    fn what_restores_the_window() {
        let responses = [Response::FullUndo, Response::Rfc4015, Response::Conservative];
        assert_eq!(responses.map(Response::restores_window), [true, true, false]);
    }

    /// Linux's undo is at rest between recoveries, and ECN-Echo prevents an undo (`tcp_enter_cwr`).
    #[test]
    fn an_echo_ends_only_the_undo_of_linux() {
        for name in Config::NAMES {
            let rests = matches!(*name, "none" | "linux");
            assert_eq!(detector(name).ignores_new_data_ack(), rests, "{name}");
            let undoes = |echo: bool| {
                let mut detector = detector(name);
                begin(&mut detector);
                if echo {
                    detector.on_echo();
                }
                let partial = Ack { retransmitted: 0, ..ack(1_001, 99) };
                matches!(detector.on_ack(&partial), Verdict::Spurious(_))
            };
            let by_time = matches!(*name, "linux" | "eifel");
            assert_eq!([undoes(false), undoes(true)], [by_time, *name == "eifel"], "{name}");
        }
    }
}
