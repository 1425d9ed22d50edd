//! Arrival of a segment: RFC 9293 §3.10.7, in its order.

use super::receive::SegmentData;
use super::{Connection, Event, State};
use crate::RttSamples;
use crate::loss_detection::LossDetection;
use crate::rto::Estimator;
use retx_units::{Duration, SeqNr, Time};
use retx_wire::{Ecn, Flags, Options, Segment, Timestamps};

impl Connection {
    /// Handles a segment that has arrived. Its data are stored until the application reads them.
    /// Afterwards the caller polls for segments and events.
    pub fn handle_segment(&mut self, now: Time, segment: &Segment) {
        self.handle_packet(now, segment, Ecn::NotEct);
    }

    #[inline]
    pub(super) fn process_segment(&mut self, now: Time, segment: &Segment) {
        let taken = if segment.options.sack.is_empty() {
            let timestamps = segment.options.timestamps;
            !segment.loss_notice && self.handle_fast(now, segment.plain(), timestamps)
        } else {
            self.handle_sack_fast(now, segment)
        };
        if !taken {
            self.examine(now, segment);
        }
    }

    /// Handles a segment on the general path, if no fast path has handled it.
    fn examine(&mut self, now: Time, segment: &Segment) {
        match self.state {
            State::Closed => self.refuse(segment),
            State::Listen => self.handle_in_listen(segment),
            State::SynSent => self.handle_in_syn_sent(now, segment),
            _ => self.handle_synchronised(now, segment),
        }
        self.check_send_memory(now);
        self.recompute_fast_paths();
    }

    /// Answers a segment that reaches a closed endpoint with a reset. The reset's sequence number
    /// is the acknowledgment number of the segment, if it has one (RFC 9293 §3.5.2, §3.10.7.1).
    fn refuse(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        self.reply = Some(Box::new(if segment.flags.contains(Flags::ACK) {
            Segment { seq: segment.ack, flags: Flags::RST, ..Segment::default() }
        } else {
            Segment {
                ack: segment.seq.add(segment.seq_len()),
                flags: Flags::RST.with(Flags::ACK),
                ..Segment::default()
            }
        }));
    }

    /// Handles a segment in LISTEN (RFC 9293 §3.10.7.2).
    fn handle_in_listen(&mut self, segment: &Segment) {
        if segment.flags.contains(Flags::RST) {
            return;
        }
        if segment.flags.contains(Flags::ACK) {
            self.refuse(segment);
        } else if segment.flags.contains(Flags::SYN) {
            self.take_syn(segment);
            self.state = State::SynReceived;
        }
    }

    /// Handles a segment in SYN-SENT (RFC 9293 §3.10.7.3).
    fn handle_in_syn_sent(&mut self, now: Time, segment: &Segment) {
        let acceptable = segment.flags.contains(Flags::ACK);
        if acceptable && !self.acknowledges_syn(segment) {
            self.refuse(segment);
            return;
        }
        if segment.flags.contains(Flags::RST) {
            if acceptable {
                self.enter_closed(Event::Reset);
            }
            return;
        }
        if !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.take_syn(segment);
        if acceptable {
            self.finish_handshake(now, segment);
            self.receiver.ack_now = true;
        } else {
            // Simultaneous open: our SYN is sent again, now with an acknowledgment.
            self.state = State::SynReceived;
            self.sender.snd_nxt = 0;
        }
    }

    /// True if the segment has payload beyond the data that have arrived in order.
    fn brings_new_data(&self, segment: &Segment, position: i64) -> bool {
        position + i64::from(segment.payload_bytes) > self.receiver.rcv_nxt as i64
    }

    /// Handles a segment in SYN-RECEIVED and all later states (§3.10.7.4).
    fn handle_synchronised(&mut self, now: Time, segment: &Segment) {
        let position = segment.seq.unwrap_near(self.receiver.irs, self.receiver.rcv_nxt);
        if !self.check_sequence(now, segment, position) {
            return;
        }
        if segment.flags.contains(Flags::RST) {
            // RFC 1337 §3: not even an exact reset ends TIME-WAIT.
            if self.state == State::TimeWait {
                return;
            }
            // RFC 5961 §3.2: only a reset with exactly the expected number is accepted; others are
            // answered by a challenge ACK.
            if position == self.receiver.rcv_nxt as i64 {
                self.enter_closed(Event::Reset);
            } else {
                self.receiver.ack_now = true;
            }
            return;
        }
        if segment.flags.contains(Flags::SYN) {
            self.handle_repeated_syn();
            return;
        }
        if !segment.flags.contains(Flags::ACK) {
            return;
        }
        // In other states Linux takes no RTT for the receive buffer (`tcp_rcv_state_process`).
        let established = self.state == State::Established;
        if self.state == State::SynReceived {
            if !self.acknowledges_syn(segment) {
                self.refuse(segment);
                return;
            }
            self.finish_handshake(now, segment);
        }
        if !self.process_ack(now, segment, position) {
            return;
        }
        if established && self.timestamps {
            let echo = segment.options.timestamps.map(|it| it.echo);
            self.update_receive_rtt(now, segment.seq_len(), echo);
        }
        self.note_arrival(now);
        self.advance_close(now);
        if segment.seq_len() > 0 {
            if self.receives_data() {
                if self.receiver.detached && self.brings_new_data(segment, position) {
                    self.refuse(segment);
                    self.enter_closed(Event::Reset);
                    return;
                }
                self.process_ecn_field(now, segment);
                let Segment { payload_bytes, flags, .. } = *segment;
                self.process_data_and_fin(now, &SegmentData { position, payload_bytes, flags });
            } else {
                self.receiver.ack_now = true;
            }
        }
    }

    /// First check of §3.10.7.4, after PAWS (RFC 7323 §5.3): true if any part of the segment lies
    /// inside the receive window. A segment that fails is answered by an ACK.
    fn check_sequence(&mut self, now: Time, segment: &Segment, position: i64) -> bool {
        if self.timestamps && !segment.flags.contains(Flags::RST) {
            match segment.options.timestamps {
                // RFC 7323 §3.2: once negotiated, segments without the option should be dropped;
                // Linux accepts them (`tcp_validate_incoming` asks for `saw_tstamp`).
                None if !self.sender.loss_detection.as_linux() => return false,
                Some(it) if self.is_too_old(segment, it.value, position) => {
                    self.answer_old_timestamp(now, segment, position);
                    return false;
                }
                _ => {}
            }
        }
        let receiver = &mut self.receiver;
        let next = receiver.rcv_nxt as i64;
        let edge = receiver.right_edge.max(receiver.rcv_nxt) as i64;
        let end = position + i64::from(segment.seq_len());
        // Without data, the position at the right edge is accepted as well: otherwise no
        // acknowledgment or reset could arrive while the receive window is closed.
        let inside = if segment.seq_len() == 0 {
            (next..=edge).contains(&position)
        } else {
            position < edge && end > next
        };
        if let Some(timestamps) = segment.options.timestamps.filter(|_| self.timestamps) {
            receiver.take_timestamp(timestamps.value, (position, end), inside);
        }
        if inside {
            return true;
        }
        let repeated_syn = segment.flags.contains(Flags::SYN) && position == 0;
        if repeated_syn && self.state == State::SynReceived {
            // In a simultaneous open the peer's SYN is repeated with the ACK of ours.
            if segment.flags.contains(Flags::ACK) && self.acknowledges_syn(segment) {
                self.finish_handshake(now, segment);
                self.receiver.ack_now = true;
            } else {
                self.handle_repeated_syn();
            }
        } else if !segment.flags.contains(Flags::RST) {
            self.answer_unacceptable(now, segment, position);
            // RFC 9293 §3.10.7.4 restarts TIME-WAIT at a repeated FIN; data before it also show
            // that the peer lacks our acknowledgment (Linux: `tcp_timewait_state_process`).
            if self.state == State::TimeWait && segment.seq_len() > 0 {
                self.timers.set(|rare| &mut rare.time_wait, now + self.parameters.time_wait);
            }
            // The ACK field of a probe of this end's closed window is still valid.
            if segment.flags.contains(Flags::ACK) && position == edge {
                self.process_ack(now, segment, position);
                self.advance_close(now);
            }
        }
        false
    }

    /// True if the ACK covers our SYN, and acknowledges only sequence numbers that were sent.
    fn acknowledges_syn(&self, segment: &Segment) -> bool {
        let ack = segment.ack.unwrap_near(self.sender.iss, self.sender.snd_una);
        ack > 0 && ack as u64 <= self.sender.snd_max
    }

    /// Handles a repeated SYN. In SYN-RECEIVED it means that our SYN/ACK was lost, which is sent
    /// again. In later states a SYN is answered by a challenge ACK (RFC 5961 §4.2).
    fn handle_repeated_syn(&mut self) {
        if self.state == State::SynReceived {
            self.sender.retransmit_syn();
        } else {
            self.receiver.ack_now = true;
        }
    }

    /// Evaluates the peer's SYN: its sequence number and its options.
    fn take_syn(&mut self, segment: &Segment) {
        let options = &segment.options;
        let parameters = &self.parameters;
        // RFC 9293 §3.7.1: 536 if the peer does not send the option.
        let peer_mss = options.mss.map_or(536, u32::from).max(1);
        self.timestamps = parameters.timestamps && options.timestamps.is_some();
        // RFC 6691: the MSS does not count options, so they reduce the payload.
        let option_bytes = if self.timestamps { 12 } else { 0 };
        let smss = parameters.mss.min(peer_mss).saturating_sub(option_bytes).max(1);
        self.sender.window.smss = smss;
        self.receiver.peer_smss = smss;
        self.ecn.negotiate(segment.flags);
        if self.sender.syn_retransmissions > 0 && self.sender.loss_detection.as_linux() {
            // In Linux a lost SYN reduces the congestion window, too: the next new data carry CWR
            // (`tcp_enter_loss`).
            self.ecn.on_lost_syn();
        }
        self.receiver.sack = parameters.sack && options.sack_permitted;
        let detection = &self.sender.loss_detection;
        self.sender.selective = self.receiver.sack && detection.is_selective();
        self.sender.uses_scoreboard = self.sender.selective || detection.as_linux();
        self.sender.without_times = !detection.reads_times();
        self.sender.counts_as_linux = detection.as_linux();
        self.receiver.scaling = parameters.window_scaling && options.window_scale.is_some();
        if self.receiver.scaling {
            // RFC 7323 §2.3: at most 14.
            self.sender.snd_wscale = options.window_scale.unwrap_or(0).min(14);
        } else {
            self.receiver.rcv_wscale = 0;
        }
        if let Some(timestamps) = options.timestamps.filter(|_| self.timestamps) {
            self.receiver.ts_recent = timestamps.value;
        }
        self.receiver.irs = segment.seq;
        self.receiver.rcv_nxt = 1;
        self.receiver.right_edge = self.receiver.right_edge.max(1);
        // The window in a SYN is never scaled.
        self.sender.snd_wnd = u64::from(segment.window);
        self.sender.max_snd_wnd = self.sender.snd_wnd;
        self.bound_mtu_probe(peer_mss, option_bytes);
    }

    /// Handles the acknowledgment of our SYN: data may be sent.
    fn finish_handshake(&mut self, now: Time, segment: &Segment) {
        let sender = &mut self.sender;
        sender.snd_una = 1;
        sender.last_una = 1;
        sender.snd_nxt = sender.snd_nxt.max(1);
        sender.snd_wl1 = 0;
        sender.snd_wl2 = 1;
        let scaled = !segment.flags.contains(Flags::SYN);
        sender.snd_wnd = u64::from(segment.window) << if scaled { sender.snd_wscale } else { 0 };
        sender.max_snd_wnd = sender.snd_wnd;
        self.check_spurious_syn(segment);
        let sender = &mut self.sender;
        sender.initialize_cwnd(&self.parameters);
        sender.consecutive_timeouts = 0;
        sender.timeout_recovery_end = 0;
        sender.reset_backoff();
        self.timers.retransmit = Time::NEVER;
        sender.send_times.allocated_mut().map(|times| times.take_acked(1));
        let timed = sender.timed.take().map(|timed| self.measured_rtt(now, timed.sent));
        // Linux `tcp_ack_update_rtt`: a SYN that was sent twice is timed by the echoed timestamp.
        let every = self.parameters.rtt_samples == RttSamples::EveryAck;
        let echo = segment.options.timestamps.filter(|_| self.timestamps && every);
        let rtt = timed.or_else(|| self.rtt_of_echo(now, echo?.echo));
        match rtt {
            Some(rtt) if timed.is_some() => self.apply_rtt_sample(rtt),
            Some(rtt) => self.apply_echoed_rtt(rtt),
            // RFC 6298 §5.7: after a lost SYN, the RTO is 3 s when the first data are sent.
            None => {
                let limits = &self.parameters.limits;
                self.sender.estimator.on_lost_syn(Duration::from_secs(3), limits);
            }
        }
        self.start_congestion_control(now, rtt);
        let known = self.receiver.advertised_window();
        self.receiver.pending.on_open(self.sender.window.smss, known);
        if let Some(memory) = &mut self.receiver.memory {
            memory.on_open(now, self.timestamps, known);
        }
        self.open_send_memory();
        self.state = State::Established;
        self.choose_fast_paths();
        self.events.push_back(Event::Connected);
    }

    /// Handles the peer's FIN, once everything before it has arrived (§3.10.7.4, eighth step).
    pub(super) fn on_fin(&mut self, now: Time) {
        self.events.push_back(Event::PeerClosed);
        match self.state {
            State::Established => self.state = State::CloseWait,
            State::FinWait1 if self.sender.fin_acknowledged() => self.enter_time_wait(now),
            State::FinWait1 => self.state = State::Closing,
            State::FinWait2 => self.enter_time_wait(now),
            _ => {}
        }
    }

    /// Advances the state if our FIN is acknowledged (§3.10.7.4, fifth step).
    fn advance_close(&mut self, now: Time) {
        if !self.sender.fin_acknowledged() {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => self.enter_time_wait(now),
            State::LastAck => self.enter_closed(Event::Closed),
            _ => {}
        }
    }

    fn enter_time_wait(&mut self, now: Time) {
        self.state = State::TimeWait;
        self.timers = crate::timers::Timers::ALL_OFF;
        self.timers.set(|rare| &mut rare.time_wait, now + self.parameters.time_wait);
        self.events.push_back(Event::Closed);
    }

    /// Reset sent by `abort`; the timestamp is filled in when it is sent (RFC 7323 §3.2: a reset
    /// should carry timestamps, too).
    pub(super) fn reset_segment(&self) -> Segment {
        let echo = self.receiver.ts_recent;
        let timestamps = self.timestamps.then_some(Timestamps { value: 0, echo });
        Segment {
            seq: self.seq_at(self.sender.snd_nxt),
            ack: self.rcv_nxt_seq(),
            flags: Flags::RST.with(Flags::ACK),
            options: Options { timestamps, ..Options::default() },
            ..Segment::default()
        }
    }

    /// Sequence number of a position in the stream of this end.
    pub(super) fn seq_at(&self, position: u64) -> SeqNr {
        self.sender.iss.add(position as u32)
    }

    /// Sequence number of `RCV.NXT`.
    pub(super) fn rcv_nxt_seq(&self) -> SeqNr {
        self.receiver.irs.add(self.receiver.rcv_nxt as u32)
    }
}
