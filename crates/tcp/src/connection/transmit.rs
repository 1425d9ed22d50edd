//! Choice of the next segment to send.

use super::sender::Timed;
use super::timeout::ProbeRestart;
use super::{Connection, State, Transmit};
use crate::Push;
use crate::congestion_control::Sent;
use crate::loss_detection::LossDetection;
use crate::spurious::{self, Detector};
use retx_units::Time;
use retx_wire::{Flags, Options, Segment};

/// Part of the stream to send: payload, and possibly the FIN.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk {
    pub position: u64,
    pub length: u32,
    pub fin: bool,
}

impl Chunk {
    /// Part without data, for a pure acknowledgment.
    const fn nothing_at(position: u64) -> Self {
        Self { position, length: 0, fin: false }
    }
}

impl Connection {
    /// Writes the next segment, on the general path; false if there is none.
    pub(super) fn next_transmit(&mut self, now: Time, to: &mut Transmit) -> bool {
        if let Some(mut segment) = self.reply.take() {
            if let Some(timestamps) = &mut segment.options.timestamps {
                timestamps.value = self.timestamp(now);
            }
            *to = Transmit {
                segment: *segment,
                ecn: self.ecn.ecn_field(),
                position: self.sender.ack_position(),
                retransmission: false,
            };
            return true;
        }
        match self.state {
            State::Closed | State::Listen => return false,
            State::SynSent | State::SynReceived => {
                let due = self.sender.snd_nxt == 0;
                if due {
                    *to = self.send_syn(now);
                }
                return due;
            }
            State::TimeWait | State::FinWait2 if !self.sender.keepalive_due() => {}
            _ if self.sender.is_quiescent() || self.receiver.ack_goes_first() => {}
            _ => {
                if self.send_data(now, to) {
                    return true;
                }
            }
        }
        let due = self.receiver.ack_now;
        if due {
            self.send(now, Chunk::nothing_at(self.sender.ack_position()), to);
        }
        due
    }

    fn send_data(&mut self, now: Time, to: &mut Transmit) -> bool {
        let goes_on = self.sender.bursts.burst.is_open(now) || self.continues_repeat(now);
        if !goes_on && self.is_delayed_by_pacing(now) {
            return false;
        }
        if self.sender.repair.requests.device_closed {
            self.wait_for_device(now);
            return false;
        }
        if self.sender.take_keepalive() {
            self.send(now, Chunk::nothing_at(self.sender.snd_una.wrapping_sub(1)), to);
            return true;
        }
        if let Some(chunk) = self.next_retransmission() {
            self.assign_repeat(now, &chunk);
            self.send(now, chunk, to);
            self.sender.bursts.repeat.end_segment();
            return true;
        }
        if std::mem::take(&mut self.sender.tail_probe_due) && self.send_tail_probe(now, to) {
            return true;
        }
        if let Some(size) = self.mtu_probe_size() {
            self.send_next(now, size, to);
            self.on_mtu_probe_sent(to.position, size);
            return true;
        }
        if self.sender.snd_nxt < self.sender.write_seq() {
            if let Some(length) = self.sendable_after_idle(now)
                && !self.defers_transmission(now, length)
            {
                self.send_next(now, length, to);
                return true;
            }
            if self.timers.retransmit == Time::NEVER {
                return self.probe_or_wait(now, to);
            }
        }
        let (high_rxt, rescue_rxt) = (self.sender.repair.high_rxt, self.sender.repair.rescue_rxt);
        let Some(chunk) = self.speculative_retransmission() else { return false };
        self.send(now, chunk, to);
        if self.sender.repair.rescue_rxt != rescue_rxt {
            // RFC 6675 §4, rule 4: a rescue retransmission does not advance HighRxt.
            self.sender.repair.high_rxt = high_rxt;
        }
        true
    }

    /// Payload that can be sent now; after a pause, with the restart window. The congestion window
    /// is reduced only when the peer's window allows data to be sent.
    fn sendable_after_idle(&mut self, now: Time) -> Option<u32> {
        let length = self.sendable(now);
        let (parameters, sender) = (&self.parameters, &mut self.sender);
        let stays = !parameters.slow_start_after_idle || sender.snd_una < sender.snd_max;
        if length.is_some() && !stays {
            sender.restart_after_idle(now, parameters);
            return self.sendable(now);
        }
        length
    }

    /// Payload that the windows, silly window avoidance and Nagle's algorithm allow now; `Some(0)`
    /// for a FIN alone.
    pub(super) fn sendable(&self, now: Time) -> Option<u32> {
        let sender = &self.sender;
        if sender.withholds_new_data() || self.ecn.waits_for_rto() {
            return None;
        }
        let (most, requests) = (self.max_payload(), &*sender.repair.requests);
        // A segment does not extend beyond the end of a record.
        let record = requests.to_end_of_record(sender.snd_nxt, sender.written);
        let most = record.map_or(most, |bytes| most.min(bytes));
        let offered = (sender.snd_una + sender.snd_wnd).saturating_sub(sender.snd_nxt);
        let usable = sender.available_cwnd().min(offered);
        let queued = sender.written.saturating_sub(sender.snd_nxt);
        let length = queued.min(usable).min(most);
        // RFC 9293 §3.8.6.2.1 (SWS avoidance of the sender). Case (1): a full segment.
        if length == most {
            return Some(length as u32);
        }
        let idle = sender.snd_nxt == sender.snd_una;
        if length == queued {
            // Cases (2) and (3): the last data, unless Nagle's algorithm holds them back; a FIN
            // goes with or after them.
            let short = !self.parameters.minshall || sender.bursts.short_end > sender.snd_una;
            let held = self.parameters.nagle && short;
            let held = held && !idle && !requests.overrides_nagle(sender.written)
                || requests.holds_back(sender.written);
            let allowed = !held || sender.fin_queued;
            return (allowed && usable > 0).then_some(length as u32);
        }
        // The last segment of a burst may be short, as in Linux: the peer's window may cut a burst
        // off within a segment.
        if let Some(end) = sender.bursts.burst.short_end(now, length) {
            return Some(end);
        }
        // Case (3): half of the peer's largest window, unless Nagle's algorithm holds it back.
        // Linux treats a segment of this length as a full one (`tcp_bound_to_half_wnd`).
        let held = self.parameters.nagle && !self.parameters.minshall && !idle;
        (length > 0 && length >= sender.max_snd_wnd / 2 && !held).then_some(length as u32)
    }

    /// Waits for the persist timer while nothing can be sent; after the timer has expired, sends as
    /// little as the peer's window allows, or one byte beyond a closed window.
    fn probe_or_wait(&mut self, now: Time, to: &mut Transmit) -> bool {
        if !std::mem::take(&mut self.sender.zero_window_probe_due) {
            if self.timers.rare.persist == Time::NEVER {
                self.start_persist_timer(now);
            }
            return false;
        }
        let sender = &self.sender;
        let queued = sender.written.saturating_sub(sender.snd_nxt);
        let allowed = sender.snd_wnd.min(sender.window.cwnd).min(sender.window.smss.into());
        if sender.snd_wnd > 0 && queued > 0 {
            self.send_next(now, queued.min(allowed) as u32, to);
            return true;
        }
        self.note_probe();
        let sender = &self.sender;
        if sender.uses_scoreboard {
            // As in Linux, the probe has a sequence number before the peer's window, to which the
            // peer responds with an ACK.
            let position = sender.snd_una - 1;
            self.start_persist_timer(now);
            self.send(now, Chunk::nothing_at(position), to);
            return true;
        }
        // The byte of the probe remains to be sent: SND.NXT does not move, and only the persist
        // timer runs.
        let chunk = Chunk {
            position: sender.snd_nxt,
            length: queued.min(1) as u32,
            fin: queued == 0 || queued == 1 && sender.fin_queued,
        };
        self.start_persist_timer(now);
        self.send(now, chunk, to);
        self.timers.retransmit = Time::NEVER;
        true
    }

    /// Sends from `SND.NXT` and advances it. A FIN goes with the last data if the peer's window
    /// permits it.
    pub(super) fn send_next(&mut self, now: Time, length: u32, to: &mut Transmit) {
        let sender = &mut self.sender;
        let position = sender.snd_nxt;
        let again =
            position == sender.snd_una && position < sender.snd_max && !sender.uses_scoreboard;
        let short = again && length > 1 && sender.spurious.shortens();
        let length = length - u32::from(short);
        sender.restart_model(now);
        if position == sender.snd_max {
            sender.frto_segments = sender.frto_segments.saturating_sub(1);
        }
        let sender = &self.sender;
        let fin = sender.fin_queued
            && position + u64::from(length) == sender.written
            && sender.snd_una + sender.snd_wnd > sender.written;
        self.send(now, Chunk { position, length, fin }, to);
        let is_short = self.parameters.minshall && u64::from(length) < self.segment_size();
        let sender = &mut self.sender;
        if is_short {
            sender.bursts.short_end = position + u64::from(length);
        }
        sender.snd_nxt = position + u64::from(to.segment.seq_len());
        if sender.limited_credit > 0 && sender.snd_nxt > sender.snd_una + sender.window.cwnd {
            sender.limited_bytes += u64::from(length);
        }
        sender.zero_window_probe_due = false;
        self.timers.set(|rare| &mut rare.persist, Time::NEVER);
    }

    /// Builds the segment of a chunk and records that it has been sent.
    pub(super) fn send(&mut self, now: Time, chunk: Chunk, to: &mut Transmit) {
        let Chunk { position, length, fin } = chunk;
        let mut flags = Flags::ACK.with(self.ecn.echo_flags());
        if fin {
            flags = flags.with(Flags::FIN);
            match self.state {
                State::Established => self.state = State::FinWait1,
                State::CloseWait => self.state = State::LastAck,
                _ => {}
            }
        }
        let end = position + u64::from(length);
        let is_new = length > 0 && position == self.sender.snd_max;
        let forced =
            self.parameters.push == Push::HalfWindow && is_new && self.sender.forced_push(now, end);
        let bursts = &self.sender.bursts;
        let ends_burst = if is_new { bursts.burst.ends(now) } else { bursts.repeat.ends() };
        let ends_write = length > 0 && end == self.sender.written;
        if forced || ends_burst || ends_write && self.sender.repair.requests.pushes_end() {
            flags = flags.with(Flags::PSH);
        }
        let right = end + u64::from(fin);
        let retransmission = right > position && position < self.sender.snd_max;
        let mut ecn = self.ecn.ecn_field();
        let inside = end <= self.sender.snd_una + self.sender.snd_wnd;
        if self.ecn.is_enabled() && length > 0 && !retransmission && inside {
            let (bits, field) = self.ecn.on_new_data();
            flags = flags.with(bits);
            ecn = field;
        }
        if right > position {
            self.note_on_board(now, position, (right - position) as u32);
            self.note_sent(now, position, right, retransmission);
            self.pace(now, length, is_new);
        }
        let receiver = &self.receiver;
        let is_in_order = receiver.fin.is_none() && !receiver.has_sack_blocks();
        let (window, edge) = if self.parameters.use_fast_paths && is_in_order {
            self.window_to_send()
        } else {
            let (field, edge) = self.window_field_and_shortage();
            (field, Some(edge))
        };
        *to = Transmit {
            segment: Segment {
                seq: self.seq_at(position),
                ack: self.rcv_nxt_seq(),
                window,
                flags,
                payload_bytes: length,
                loss_notice: false,
                options: Options { timestamps: self.timestamps_at(now), ..Options::default() },
            },
            ecn,
            position,
            retransmission,
        };
        if self.sends_sack_blocks() {
            to.segment.options.sack = self.blocks();
        }
        if let Some(edge) = edge {
            self.receiver.pending.on_ack_sent(now, length > 0);
            self.receiver.on_ack_sent(&mut self.timers, edge);
        }
    }

    /// Records a transmission on the scoreboard.
    fn note_on_board(&mut self, now: Time, position: u64, space: u32) {
        let sender = &mut self.sender;
        if !sender.uses_scoreboard {
            return;
        }
        if let Some(reduction) = sender.reduction() {
            reduction.prr_out += u64::from(space);
        }
        if position < sender.snd_max {
            sender.board.mark_retransmitted(now, position);
            let repair = &mut *sender.repair;
            repair.high_rxt = repair.high_rxt.max(position + u64::from(space));
        } else {
            if sender.board.sacked_bytes() > 0 && !sender.loss_detection.in_recovery() {
                // RFC 6675 §5, step 4.2: data of limited transmit do not count in FlightSize.
                sender.limited_bytes += u64::from(space);
            }
            sender.push_to_scoreboard(now, position, space);
            if sender.bursts.memory.is_some() && !sender.bursts.burst.continues(now) {
                sender.board.mark_burst_start();
            }
        }
    }

    /// Records that sequence space is sent, informs the algorithms, and starts the timers.
    pub(super) fn note_sent(&mut self, now: Time, position: u64, right: u64, retransmission: bool) {
        if retransmission {
            let timestamp = self.timestamps.then(|| self.timestamp(now));
            let sender = &mut self.sender;
            sender.repair.retransmissions += 1;
            sender.spurious.on_retransmission(&spurious::Retransmission {
                position,
                end: right,
                timestamp,
                is_probe: sender.repair.probing,
            });
            // Karn: the acknowledgment would be ambiguous.
            sender.timed = None;
        } else if self.sender.timed.is_none() {
            self.sender.timed = Timed::new(right, now);
        }
        let sender = &mut self.sender;
        sender.snd_max = sender.snd_max.max(right);
        sender.last_sent = now;
        let sent = Sent {
            now,
            position,
            bytes: (right - position) as u32,
            flight_size: right.max(sender.snd_nxt) - sender.snd_una,
            retransmission,
        };
        self.notify_sent(&sent);
        let sender = &mut self.sender;
        // Linux calls `tcp_cwnd_validate` after new data were sent, and after a retransmission only
        // if new data wait.
        let only_again = retransmission && sender.written <= sender.snd_max;
        if !(only_again && sender.loss_detection.as_linux()) {
            let flight_state = sender.flight_state(sent.flight_size);
            sender.validation.on_flight(&flight_state, &sender.window, true);
        }
        // The timer is started if it is not running (RFC 6298 §5.1). Linux restarts it when the
        // first segment in flight is retransmitted, too (`tcp_xmit_retransmit_queue`).
        let head_again = retransmission && position == sender.snd_una;
        if self.timers.retransmit == Time::NEVER || head_again && sender.loss_detection.as_linux() {
            let mut wait = self.rto();
            if head_again {
                let since = self.sender.repair.unresponsive_peer.first_retransmission;
                wait = self.limit_to_user_timeout(now, wait, since);
            }
            self.timers.retransmit = self.deadline(now, wait);
        }
        let restart = if retransmission { ProbeRestart::None } else { ProbeRestart::Sent };
        self.schedule_loss_detection(now, restart);
        if !retransmission {
            self.note_idle_window(now, right);
        }
    }
}
