//! Segments of the handshake.

use super::{Connection, Sender, State, Transmit};
use retx_units::Time;
use retx_wire::{Options, SackBlocks, Segment, Timestamps};

impl Sender {
    /// Schedules a retransmission of the SYN or SYN/ACK.
    pub fn retransmit_syn(&mut self) {
        let sent = self.last_sent;
        self.repair.first_syn.get_or_insert(sent);
        self.syn_retransmissions = self.syn_retransmissions.saturating_add(1);
        self.snd_nxt = 0;
    }
}

impl Connection {
    /// Checks whether the response to our SYN or SYN/ACK echoes the first one, which then was not
    /// lost (Linux `tcp_try_undo_spurious_syn`).
    pub(super) fn check_spurious_syn(&mut self, answer: &Segment) {
        let echo = answer.options.timestamps.filter(|_| self.timestamps).map(|it| it.echo);
        let first = self.sender.repair.first_syn.map(|sent| self.timestamp(sent));
        if first.is_some() && first == echo {
            self.sender.repair.syn_timed_out = false;
        }
    }

    /// Builds a SYN with the options that this end offers, or in SYN-RECEIVED a SYN/ACK with the
    /// options that both ends offer.
    pub(super) fn send_syn(&mut self, now: Time) -> Transmit {
        let answering = self.state == State::SynReceived;
        let retransmission = self.sender.snd_max > 0;
        self.note_sent(now, 0, 1, retransmission);
        self.sender.snd_nxt = 1;
        let parameters = &self.parameters;
        let timestamps = if answering { self.timestamps } else { parameters.timestamps };
        let scale = if answering { self.receiver.scaling } else { parameters.window_scaling };
        // RFC 7323 §2.2: the window in a SYN is never scaled.
        let window = self.receiver.first_window(parameters, answering && timestamps).min(65_535);
        let edge = self.receiver.rcv_nxt.max(1) + window;
        let segment = Segment {
            seq: self.seq_at(0),
            ack: if answering { self.rcv_nxt_seq() } else { retx_units::SeqNr(0) },
            window: window as u16,
            flags: if answering {
                self.ecn.syn_ack_flags()
            } else {
                self.ecn.syn_flags(retransmission)
            },
            payload_bytes: 0,
            loss_notice: false,
            options: Options {
                mss: Some(parameters.mss as u16),
                window_scale: scale.then_some(self.receiver.rcv_wscale),
                sack_permitted: if answering { self.receiver.sack } else { parameters.sack },
                timestamps: timestamps.then(|| Timestamps {
                    value: self.timestamp(now),
                    echo: if answering { self.receiver.ts_recent } else { 0 },
                }),
                sack: SackBlocks::default(),
            },
        };
        self.receiver.on_ack_sent(&mut self.timers, edge);
        let ecn = if answering { self.ecn.ecn_field() } else { self.ecn.field_of_syn() };
        Transmit { segment, ecn, position: 0, retransmission }
    }
}
