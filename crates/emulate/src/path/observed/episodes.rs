//! Episodes of recovery, and samples, of an observed sender.

use super::ObservedFlow;
use crate::path::watch::{Finding, Loss, Wire};
use crate::socket_state::{LossState, SocketState};
use retx_record::flow::EpisodeStart;
use retx_record::reason::{InferredCause, SenderInference, SenderState};
use retx_record::table::NO_INTEGER;
use retx_record::tables::{Sample, Tables};
use retx_record::truth::Trigger;
use retx_units::Time;

impl ObservedFlow {
    /// Position before which everything is acknowledged.
    pub fn acknowledged_to(&self) -> u64 {
        self.open.acknowledged
    }

    /// Handles the queried state of the sender's socket.
    pub fn on_state(&mut self, state: &SocketState, wire: &Wire, tables: &mut Tables) {
        let cwnd = &mut self.record.counters.cwnd;
        if state.is_closed() {
            cwnd.unset(wire.at);
        } else if !state.is_opening() {
            cwnd.set(wire.at, state.cwnd_bytes());
        }
        let mut state = *state;
        if self.models_path {
            // With BBR the threshold is the bandwidth-delay product of the path, not the target of
            // a recovery.
            state.ssthresh = None;
        }
        self.open.watch.query(&state, wire, &mut self.findings);
        self.take_findings(tables);
    }

    /// Ends the observation of a connection that is over or cannot be queried any more.
    pub fn end_watch(&mut self, now: Time, tables: &mut Tables) {
        self.record.counters.cwnd.unset(now);
        self.open.watch.end(now, &mut self.findings);
        self.take_findings(tables);
    }

    fn take_findings(&mut self, tables: &mut Tables) {
        let mut findings = std::mem::take(&mut self.findings);
        for finding in findings.drain(..) {
            match finding {
                Finding::Loss(loss) => self.begin_episode(&loss, tables),
                Finding::Over(at) => self.record.end_episode(at, tables),
                Finding::Undone(at) => self.record.note_undo(at),
                Finding::Echo(at) => self.record.note_ecn_reduction(at),
            }
        }
        self.findings = findings;
    }

    fn begin_episode(&mut self, loss: &Loss, tables: &mut Tables) {
        let start = EpisodeStart {
            at: loss.at,
            // A kernel does not distinguish corruption from congestion.
            inference: SenderInference { kind: loss.kind, inferred: InferredCause::Congestion },
            trigger: Trigger { position: loss.trigger, repaired: loss.repaired },
            smss: self.smss,
            cwnd_before_bytes: loss.cwnd_before,
            cwnd_after_bytes: loss.cwnd_after,
            rto: loss.rto,
            backoff: loss.backoff,
            backoff_now: loss.backoff_now,
            same_window: loss.same_window,
            // Linux restarts the timer at each partial ACK.
            timed_recovery: false,
        };
        self.record.begin_episode(start, &self.open.received, tables);
    }

    /// Sample of the sender; `sent_to` is the end of the data observed so far.
    pub fn sample(&self, time: Time, sent_to: u64, state: &SocketState) -> Sample {
        // The socket also counts segments that still wait in the queue of its device.
        let sent_to = sent_to.max(1 + state.sent_once);
        Sample {
            flow: self.record.flow(),
            time,
            cwnd_bytes: state.cwnd_bytes(),
            ssthresh_bytes: state.ssthresh.map_or(NO_INTEGER, |segments| segments * state.mss),
            flight_size_bytes: sent_to - self.open.acknowledged.min(sent_to),
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
