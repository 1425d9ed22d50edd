//! Recoveries of a sender, and how it is doing, in its flow's books.

use super::{Books, Open};
use crate::path::watch::{Finding, Loss, Wire};
use crate::socket_state::{LossState, SocketState};
use retx_record::counters::IdleEnd;
use retx_record::reason::{Belief, EpisodeKind, SaidCause, SenderState};
use retx_record::table::NO_INTEGER;
use retx_record::tables::{self, Sample, Segments, Tables, packet_number};
use retx_record::truth::{Correction, Row, Trigger};
use retx_units::Time;

/// The last recovery.
#[derive(Debug, Clone, Copy)]
pub struct Last {
    pub kind: EpisodeKind,
    pub row: Row,
    over: bool,
}

impl Books {
    /// What the sender has heard of.
    pub fn acknowledged_to(&self) -> u64 {
        self.open.acknowledged
    }

    /// The sender's socket has been looked at.
    pub fn looked(&mut self, state: &SocketState, wire: &Wire, tables: &mut Tables) {
        let cwnd = &mut self.counters.cwnd;
        if state.is_closed() {
            cwnd.unset(wire.at);
        } else if !state.is_opening() {
            cwnd.set(wire.at, state.cwnd_bytes());
        }
        self.open.watch.look(state, wire, &mut self.findings);
        self.take_findings(tables);
    }

    /// The connection is over, or nobody looks any more.
    pub fn end_watch(&mut self, now: Time, tables: &mut Tables) {
        self.counters.cwnd.unset(now);
        self.open.watch.end(now, &mut self.findings);
        self.take_findings(tables);
    }

    fn take_findings(&mut self, tables: &mut Tables) {
        let mut findings = std::mem::take(&mut self.findings);
        for finding in findings.drain(..) {
            match finding {
                Finding::Loss(loss) => self.begin_episode(&loss, tables),
                Finding::Over(at) => self.end_episode(at, tables),
                Finding::Echo => self.counters.ecn_reductions += 1,
            }
        }
        self.findings = findings;
    }

    fn begin_episode(&mut self, loss: &Loss, tables: &mut Tables) {
        self.end_episode(loss.at, tables);
        let row = tables.episodes.as_ref().map(tables::Episodes::next_row);
        // No kernel tells corruption from congestion.
        let belief = Belief { kind: loss.kind, said: SaidCause::Congestion };
        let trigger = Trigger { position: loss.trigger, repaired: loss.repaired };
        let Open { truth, received, .. } = &mut self.open;
        let (cause, sub_cause) = truth.episode(belief, trigger, row, received);
        self.counters.episodes.add(belief, cause);
        if loss.kind == EpisodeKind::Rto {
            self.impulse = IdleEnd::Rto;
            self.counters.max_backoff = self.counters.max_backoff.max(loss.backoff_now);
        }
        if let Some(episodes) = &mut tables.episodes {
            episodes.push(tables::Episode {
                flow: self.flow,
                kind: loss.kind,
                start: loss.at,
                end: Time::NEVER,
                trigger_packet: packet_number(loss.trigger, self.smss),
                cause,
                sub_cause,
                said_cause: belief.said,
                cwnd_before_bytes: loss.cwnd_before,
                cwnd_after_bytes: loss.cwnd_after,
                rto: loss.rto,
                backoff: loss.backoff,
                trigger: loss.trigger,
                repaired: loss.repaired,
                next_segment: tables.segments.as_ref().map_or(0, Segments::next_row),
                retransmitted: 0,
                unnecessary: 0,
            });
        }
        self.open.episode = Some(Last { kind: loss.kind, row, over: false });
    }

    fn end_episode(&mut self, at: Time, tables: &mut Tables) {
        if let Some(Last { row, over: over @ false, .. }) = &mut self.open.episode {
            *over = true;
            if let (Some(row), Some(episodes)) = (row, &mut tables.episodes) {
                episodes.row_mut(*row).end = at;
            }
        }
    }

    /// Takes back verdicts that a drop has changed.
    pub(super) fn correct(&mut self, tables: &mut Tables, necessary: &mut Vec<(u32, u64)>) {
        for correction in self.corrections.drain(..) {
            match correction {
                Correction::Necessary { number, episode, counted } => {
                    self.counters.retransmissions_unnecessary -= u64::from(counted);
                    if let (Some(row), Some(episodes)) = (episode, &mut tables.episodes) {
                        episodes.row_mut(row).unnecessary -= 1;
                    }
                    necessary.push((self.flow, number));
                }
                Correction::Cause { episode, belief, cause, counted } => {
                    if counted {
                        self.counters.episodes.correct(belief, cause);
                    }
                    if let (Some(row), Some(episodes)) = (episode, &mut tables.episodes) {
                        let row = episodes.row_mut(row);
                        row.cause = cause;
                        row.sub_cause = None;
                    }
                }
            }
        }
    }

    /// How the sender is doing, having sent up to `sent_to` as far as has been seen.
    pub fn sample(&self, time: Time, sent_to: u64, state: &SocketState) -> Sample {
        let sent_to = sent_to.max(1 + state.sent_once);
        Sample {
            flow: self.flow,
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
