//! Episodes of recovery, and samples, of an observed sender.

use super::ObservedFlow;
use crate::path::transitions::{DetectedLoss, Finding, Query};
use crate::socket_state::{LossState, SocketState};
use retx_record::flow::EpisodeStart;
use retx_record::reason::{InferredCause, SenderInference, SenderState};
use retx_record::table::NO_INTEGER;
use retx_record::tables::{Sample, Tables};
use retx_record::truth::Trigger;
use retx_units::Time;

impl ObservedFlow {
    /// Position before which everything is acknowledged.
    pub fn snd_una(&self) -> u64 {
        self.open.acknowledged
    }

    /// Handles the queried state of the sender's socket.
    pub fn on_state(&mut self, state: &SocketState, query: &Query, tables: &mut Tables) {
        let cwnd = &mut self.record.counters.cwnd;
        if state.is_closed() {
            cwnd.unset(query.at);
        } else if !state.in_handshake() {
            cwnd.set(query.at, state.cwnd_bytes());
        }
        let mut state = *state;
        if self.models_path {
            // With BBR the slow start threshold is the bandwidth-delay product of the path, not the
            // target of a recovery.
            state.ssthresh = None;
        }
        self.open.watch.evaluate(&state, query, &mut self.findings);
        self.take_findings(tables);
    }

    /// Ends the observation of a connection that is over or cannot be queried any more.
    pub fn end_observation(&mut self, now: Time, tables: &mut Tables) {
        self.record.counters.cwnd.unset(now);
        self.open.watch.end_connection(now, &mut self.findings);
        self.take_findings(tables);
    }

    fn take_findings(&mut self, tables: &mut Tables) {
        let mut findings = std::mem::take(&mut self.findings);
        for finding in findings.drain(..) {
            match finding {
                Finding::Loss(loss) => self.begin_episode(&loss, tables),
                Finding::RecoveryEnd(at) => self.record.end_episode(at, tables),
                Finding::Undo(at) => self.record.note_undo(at),
                Finding::EcnReduction(at) => self.record.note_ecn_reduction(at),
            }
        }
        self.findings = findings;
    }

    fn begin_episode(&mut self, loss: &DetectedLoss, tables: &mut Tables) {
        let start = EpisodeStart {
            at: loss.at,
            // A kernel does not distinguish corruption from congestion.
            inference: SenderInference { kind: loss.kind, inferred: InferredCause::Congestion },
            trigger: Trigger { position: loss.trigger, repaired: loss.repaired_by_probe },
            smss: self.smss,
            cwnd_before_bytes: loss.cwnd_before_bytes,
            cwnd_after_bytes: loss.cwnd_after_bytes,
            rto: loss.rto,
            backoff: loss.backoff,
            backoff_now: loss.backoff_now,
            same_window_of_data: loss.same_window_of_data,
            // Linux restarts the timer at each partial ACK.
            stale_timer: false,
        };
        self.record.begin_episode(start, &self.open.received, tables);
    }

    /// Sample of the sender; `snd_max` is the end of the data observed so far.
    pub fn sample(&self, time: Time, snd_max: u64, state: &SocketState) -> Sample {
        // The socket also counts segments that still wait in the queue of its device.
        let snd_max = snd_max.max(1 + state.unique_bytes_sent);
        Sample {
            flow: self.record.flow(),
            time,
            cwnd_bytes: state.cwnd_bytes(),
            ssthresh_bytes: state.ssthresh.map_or(NO_INTEGER, |segments| segments * state.mss),
            flight_size_bytes: snd_max - self.open.acknowledged.min(snd_max),
            rwnd_bytes: state.snd_wnd.unwrap_or(NO_INTEGER),
            srtt: state.srtt,
            rttvar: state.rttvar,
            rto: state.rto,
            backoff: state.backoff,
            state: if state.loss_state == LossState::Recovery {
                SenderState::FastRecovery
            } else if state.ssthresh.is_none_or(|ssthresh| state.cwnd < ssthresh) {
                SenderState::SlowStart
            } else {
                SenderState::CongestionAvoidance
            },
            ack_bytes: self.earlier_bytes + self.open.acked_bytes(),
        }
    }
}
