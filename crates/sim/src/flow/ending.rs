//! Close and reset of connections, and their consequences for a flow.

use super::{Flow, Phase, RECEIVER};
use crate::plan::{AppPlan, Side};
use crate::recorder::Recorder;
use retx_tcp::Event;
use retx_units::Time;

impl Flow {
    /// Handles an event of the receiver's connection. Only the completed handshake, the peer's
    /// close, and the close or reset of the connection have an effect.
    #[inline(never)]
    pub(super) fn handle_receiver_event(
        &mut self,
        now: Time,
        event: &Event,
        recorder: &mut Recorder,
    ) {
        match event {
            Event::PeerClosed => self.handle_peer_close(now, recorder),
            Event::Closed => self.handle_close(now, recorder),
            Event::Reset => self.handle_reset(now, Side::Receiver, recorder),
            Event::Connected => self.note_client_connected(now),
            // Events that concern data sent by the receiver, such as requests, affect no result.
            Event::LossFound(_)
            | Event::TimedOut(_)
            | Event::Recovered { .. }
            | Event::Undone
            | Event::EchoTaken { .. }
            | Event::Rtt(_)
            | Event::EchoedRtt(_) => {}
        }
    }

    /// Closes the receiver's endpoint after its program has read all data.
    pub(super) fn close_after_peer(&mut self, now: Time, recorder: &mut Recorder) {
        if self.is_complete() {
            self.record.note_finish(now);
        }
        if !self.note_peer_close(Side::Receiver) {
            self.ends[RECEIVER].close();
        }
        // A client sends its next request without waiting until both endpoints have closed the
        // connection; the rest of this connection is not simulated.
        if self.asks_again() {
            self.record.set_drained(true);
            self.end_connection(now, recorder);
        }
    }

    /// True if the client has received a whole response and another follows.
    fn asks_again(&self) -> bool {
        self.app.has_read_file() && self.exchanges.as_ref().is_some_and(|all| !all.are_done())
    }

    /// Handles the close of one endpoint. Once both have closed, the next file follows.
    pub(super) fn handle_close(&mut self, now: Time, recorder: &mut Recorder) {
        self.closed += 1;
        if self.closed == 2 {
            self.end_connection(now, recorder);
        }
    }

    /// Handles a reset of the connection. Once the file in transfer has been read, a reset does not
    /// count as a failure: a FIN that is retransmitted after the peer has left TIME-WAIT is
    /// answered by a reset.
    pub(super) fn handle_reset(&mut self, now: Time, side: Side, recorder: &mut Recorder) {
        if self.leg.as_ref().is_some_and(|leg| leg.is_aborted(side)) {
            // The proxy has reset this endpoint itself. Its peer learns of that by the RST.
            return;
        }
        let cannot_arrive = self.leg.as_ref().is_some_and(|leg| leg.data_cannot_arrive());
        self.reset = cannot_arrive || !(self.connected && self.app.has_read_file());
        self.end_connection(now, recorder);
    }

    /// True if the flow cannot end within the shortest propagation delay unless a timer expires:
    /// its data are not complete, and its endpoints can close only after a round trip from then.
    fn has_much_to_do(&self) -> bool {
        self.phase != Phase::Done && self.closed == 0 && self.is_finite() && !self.is_complete()
    }

    /// True if no timer of the flow expires before `end`.
    fn is_asleep_until(&self, end: Time) -> bool {
        [Side::Sender, Side::Receiver].into_iter().all(|side| self.poll_timeout(side) >= end)
    }

    fn end_connection(&mut self, now: Time, recorder: &mut Recorder) {
        if self.phase != Phase::Open {
            return;
        }
        self.has_closed = true;
        self.path.iter_mut().for_each(|path| path.end_connection());
        self.record.end_episode(now, &mut recorder.tables);
        self.record.counters.cwnd.unset(now);
        self.connected = false;
        self.earlier_bytes = match self.app.plan() {
            // All data that were read count as delivered, even if the last acknowledgment was lost.
            work @ AppPlan::Files { .. } if !self.reset => {
                self.earlier_bytes + work.file_bytes(self.app.file_number()).unwrap_or(0)
            }
            AppPlan::Exchanges(_) if !self.reset && self.app.has_read_file() => {
                self.earlier_bytes
                    + self.exchanges.as_ref().map_or(0, |all| all.response_bytes_written)
            }
            _ => self.acked_bytes(),
        };
        let next = !self.reset && self.app.next_file();
        let opened_by_proxy = self.leg.as_ref().is_some_and(|leg| leg.opened_by_proxy());
        let opens = match self.app.plan() {
            AppPlan::Files { .. } if next && opened_by_proxy => Some(Time::NEVER),
            AppPlan::Files { pause, .. } if next => Some(now + *pause),
            AppPlan::Exchanges(_) if next => {
                let think = self.exchanges.as_mut().map(|exchanges| exchanges.draw_think_time());
                Some(now + think.unwrap_or_default())
            }
            _ => None,
        };
        if self.reset {
            self.record.note_failure(now);
        }
        self.phase = if opens.is_some() { Phase::Waiting } else { Phase::Done };
        self.opens = opens.unwrap_or(Time::NEVER);
    }
}

/// True if a flow is known not to end before `end`. Its number is kept in `lasting`.
pub fn one_lasts(flows: &[Flow], lasting: &mut usize, end: Time) -> bool {
    if *lasting >= flows.len() {
        return false;
    }
    if !flows[*lasting].has_much_to_do() {
        let (before, after) = flows.split_at(*lasting);
        let mut others = after.iter().chain(before);
        match others.position(Flow::has_much_to_do) {
            Some(place) => *lasting = (*lasting + place) % flows.len(),
            None => *lasting = flows.len(),
        }
    }
    flows.get(*lasting).is_some_and(|flow| flow.is_asleep_until(end))
}
