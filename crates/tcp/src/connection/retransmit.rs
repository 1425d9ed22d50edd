//! Choice of the next retransmission, and tail loss probes.

use super::transmit::Chunk;
use super::{Connection, Transmit};
use crate::loss_detection::{self, LossDetection};
use crate::spurious::Detector;
use retx_units::Time;

impl Connection {
    /// Next retransmission, which is sent before any new data.
    pub(super) fn next_retransmission(&mut self) -> Option<Chunk> {
        let sender = &mut self.sender;
        let forced = std::mem::take(&mut sender.retransmit_first);
        if sender.board.lost_bytes() == 0 && (sender.uses_scoreboard || !forced) {
            return None;
        }
        if sender.uses_scoreboard {
            // F-RTO waits for the acknowledgments of two new segments; after `tcp_try_undo_partial`
            // the sender waits for the next ACK.
            if !forced && (sender.spurious.is_waiting() || sender.repair.defers_marking) {
                return None;
            }
            // RFC 6675 §5, step C: one segment, if the pipe is at least a segment below cwnd.
            if !forced && sender.available_cwnd() < u64::from(sender.window.smss) {
                return None;
            }
            // RFC 6675 §4, `NextSeg`, rule 1: lost segments come first.
            let (position, length) = sender.board.next_to_retransmit()?;
            if forced {
                // RFC 6675 §5, step 4.3: no rescue retransmission before data beyond this segment
                // are acknowledged.
                sender.repair.rescue_rxt = position + u64::from(length);
            }
            return Some(self.make_retransmission(position, length));
        }
        let outstanding = sender.snd_max - sender.snd_una;
        let data = outstanding - u64::from(sender.snd_max > sender.written);
        let length = data.min(sender.window.smss.into());
        let fin = u64::from(length == data) * (outstanding - data);
        let position = sender.snd_una;
        Some(self.make_retransmission(position, (length + fin) as u32))
    }

    /// Retransmission of the segment with `space` sequence numbers at `position`: as much of the
    /// segment as fits next to SACK blocks (Linux `__tcp_retransmit_skb`).
    pub(super) fn make_retransmission(&mut self, position: u64, space: u32) -> Chunk {
        let fin = position + u64::from(space) > self.sender.written;
        let length = space - u32::from(fin);
        let most = self.max_payload() as u32;
        if length <= most {
            return Chunk { position, length, fin };
        }
        if let Some(board) = self.sender.board.allocated_mut() {
            board.split(position, most);
        }
        Chunk { position, length: most, fin: false }
    }

    /// Start of the segment that a tail loss probe has retransmitted, until it is known whether the
    /// probe has repaired a loss.
    pub fn open_probe(&self) -> Option<u64> {
        self.sender.loss_detection.open_probe()
    }

    /// Sends a tail loss probe (RFC 8985 §7.3): new data if there are any and the peer's window
    /// permits them, otherwise the last segment again. Restarts the retransmission timer.
    pub(super) fn send_tail_probe(&mut self, now: Time, to: &mut Transmit) -> bool {
        let sender = &self.sender;
        let queued = sender.written.saturating_sub(sender.snd_nxt);
        let room = (sender.snd_una + sender.snd_wnd).saturating_sub(sender.snd_nxt);
        let record = sender.repair.requests.to_end_of_record(sender.snd_nxt, sender.written);
        let fresh = queued.min(room).min(self.max_payload()).min(record.unwrap_or(u64::MAX));
        if fresh > 0 {
            self.send_next(now, fresh as u32, to);
        } else {
            let Some((position, space)) = sender.board.last_unsacked() else { return false };
            let chunk = self.make_retransmission(position, space);
            self.sender.repair.probing = true;
            self.send(now, chunk, to);
            self.sender.repair.probing = false;
        }
        let sender = &mut self.sender;
        sender.loss_detection.on_probe_sent(loss_detection::Probe {
            position: to.position,
            end: sender.snd_max,
            is_retransmission: to.retransmission,
        });
        self.timers.set(|rare| &mut rare.tail_loss_probe, Time::NEVER);
        self.restart_retransmit_timer(now);
        true
    }

    /// Speculative retransmission in recovery (RFC 6675 §4, `NextSeg`), when the window is not full
    /// and nothing lost or new can be sent. Rule 3 chooses a segment that may be lost. Rule 4
    /// chooses the last segment, once per recovery and after an acknowledgment beyond the first
    /// retransmission.
    pub(super) fn speculative_retransmission(&mut self) -> Option<Chunk> {
        let sender = &mut self.sender;
        let possible = sender.selective
            && sender.loss_detection.in_recovery()
            && sender.loss_detection.guesses()
            && sender.available_cwnd() >= u64::from(sender.window.smss);
        if !possible {
            return None;
        }
        let above = sender.repair.high_rxt.max(sender.snd_una);
        if let Some((position, space)) = sender.board.next_below_highest_sacked(above) {
            return Some(self.make_retransmission(position, space));
        }
        if sender.snd_una <= sender.repair.rescue_rxt {
            return None;
        }
        let (position, space) = sender.board.last_unsacked()?;
        // This position is at or above RecoveryPoint, so that a recovery sends one rescue
        // retransmission at most.
        sender.repair.rescue_rxt = sender.snd_max;
        Some(self.make_retransmission(position, space))
    }
}
