//! Arrival of in-order data under Linux's ACK policy.

use super::Connection;
use crate::delayed_ack::{AckTiming, Arrival};
use crate::receive_memory::ReceiverState;
use crate::rto::Estimator;
use retx_units::{Duration, Time};
use retx_wire::Flags;

/// Length of a TCP header without options, and of timestamps with their alignment, bytes.
const BARE_HEADER: u32 = 20;
const TIMESTAMPS: u32 = 12;

impl Connection {
    /// Handles new in-order data under Linux's ACK policy: delayed-ACK state, window, ACK.
    pub(in crate::connection) fn receive_as_linux(
        &mut self,
        now: Time,
        payload_bytes: u32,
        flags: Flags,
        in_order: bool,
    ) {
        let arrival = self.arrival(now, payload_bytes, flags);
        let position = self.receiver.position();
        let receiver = &mut self.receiver;
        if receiver.pending.on_data(&arrival)
            && let Some(memory) = &mut receiver.memory
        {
            memory.on_larger_segment(payload_bytes, &position);
        }
        self.grow_window(payload_bytes, true, 0, now);
        // Data that fill a gap are acknowledged at once by `acknowledge_gap`, so only data in order
        // count here.
        if in_order {
            self.schedule_ack_as_linux(&arrival);
        } else if self.receiver.has_gap() {
            self.count_ack_of_fill(&arrival);
        }
    }

    /// Counts the ACK of data that fill a gap while another is left: it is the first of the
    /// duplicate ACKs that are sent at once, unless an early ACK or a quick ACK is due anyway
    /// (`__tcp_ack_snd_check`).
    fn count_ack_of_fill(&mut self, arrival: &Arrival) {
        let receiver = &self.receiver;
        let full = receiver.rcv_nxt - receiver.last_ack_sent > u64::from(receiver.pending.mss());
        let is_due = !receiver.sack
            || !receiver.pending.may_compress_acks()
            || full && self.offers_as_much(arrival);
        if !is_due {
            let receiver = &mut self.receiver;
            // The first ACK of a position is always sent.
            receiver.compression.on_gap(arrival.now, receiver.rcv_nxt, || None);
        }
    }

    /// True if an ACK sent now would advertise at least the window in force, before its right edge
    /// is kept from moving left (`__tcp_select_window`).
    fn offers_as_much(&self, arrival: &Arrival) -> bool {
        let receiver = &self.receiver;
        receiver.memory.as_ref().is_none_or(|memory| {
            let (waiting, unit) = (receiver.buffered_bytes(), 1 << receiver.rcv_wscale);
            let (window, _) = memory.window(waiting, unit, &receiver.position());
            self.parameters.has_constant_window || window >= arrival.window
        })
    }

    fn arrival(&self, now: Time, payload_bytes: u32, flags: Flags) -> Arrival {
        Arrival {
            now,
            bytes: payload_bytes,
            header: BARE_HEADER + if self.timestamps { TIMESTAMPS } else { 0 },
            psh: flags.contains(Flags::PSH),
            fin: flags.contains(Flags::FIN),
            window: self.receiver.position().rcv_wnd,
            rto: if self.receiver.pending.is_after_gap(now) { self.rto() } else { Duration::ZERO },
            srtt: self.srtt(),
        }
    }

    fn schedule_ack_as_linux(&mut self, arrival: &Arrival) {
        let receiver = &mut self.receiver;
        if arrival.fin {
            receiver.pending.on_fin();
        }
        if !receiver.ack_now {
            // `__tcp_ack_snd_check`: an early ACK must not advertise less than the window in force.
            let verdict =
                self.receiver.pending.verdict(arrival, &self.parameters.delayed_ack, || {
                    self.offers_as_much(arrival)
                });
            self.schedule_ack(arrival.now, verdict);
        }
    }

    /// Like [`Self::receive_as_linux`] for data in order. Nothing is out of order, and there is no
    /// FIN.
    #[inline(always)]
    pub(in crate::connection) fn receive_next_as_linux(
        &mut self,
        now: Time,
        payload_bytes: u32,
        flags: Flags,
    ) {
        let receiver = &mut self.receiver;
        let (unit, parameters) = (1 << receiver.rcv_wscale, &self.parameters);
        let scaled = unit > 1 && !parameters.has_constant_window;
        let push = flags.contains(Flags::PSH);
        if !scaled
            || receiver.memory.is_none()
            || !receiver.pending.take_usual(now, payload_bytes, push)
        {
            return self.receive_as_linux(now, payload_bytes, flags, true);
        }
        // The segment has the size that delayed ACKs have measured.
        let position = ReceiverState { rcv_mss: payload_bytes, ..receiver.position_in_order() };
        let waiting = receiver.rcv_nxt - receiver.read;
        let Some(memory) = &mut receiver.memory else { return };
        memory.on_data_in_order(now, &position);
        let waiting = waiting + memory.beyond_gap;
        if memory.grow_unless_known(payload_bytes, waiting, &position) {
            receiver.pending.on_window_growth();
        }
        if !receiver.ack_now {
            let config = &parameters.delayed_ack;
            let srtt = || self.sender.estimator.srtt();
            let verdict = receiver.pending.timing(config, srtt, || {
                let (window, _) = memory.known_window(waiting, unit, &position);
                window >= position.rcv_wnd
            });
            match verdict {
                AckTiming::Now => receiver.ack_now = true,
                AckTiming::Within(wait) => self.schedule_known_ack(now, wait),
            }
        }
    }

    /// Like [`Self::schedule_ack`] of an acknowledgment within this time, on Linux's timer wheel.
    #[inline(always)]
    fn schedule_known_ack(&mut self, now: Time, wait: Duration) {
        let tick = self.parameters.timer_granularity;
        let known = self.receiver.pending.known_deadline().and_then(|it| it.find(now, wait, tick));
        let deadline = known.unwrap_or_else(|| self.learn_ack_deadline(now, wait));
        self.timers.delayed_ack = self.timers.delayed_ack.min(deadline);
    }

    #[inline(never)]
    fn learn_ack_deadline(&mut self, now: Time, wait: Duration) -> Time {
        let deadline = self.ack_deadline(now, wait);
        let tick = self.parameters.timer_granularity;
        if self.parameters.timer_wheel
            && !tick.is_zero()
            && let Some(known) = self.receiver.pending.known_deadline()
        {
            known.record(now, wait, tick, deadline);
        }
        deadline
    }
}
