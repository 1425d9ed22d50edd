//! Pacing: data are sent segment by segment, at the rate of the congestion control, or at the rate
//! that Linux computes for every TCP behind a pacing qdisc.
//!
//! *Reference.* Linux `tcp_output.c`: `tcp_update_skb_after_send` (the gap), `tcp_pacing_check`
//! (the wait); `tcp.h`: `tcp_pacing_delay`; `tcp_input.c`: `tcp_update_pacing_rate`.
//!
//! *Equations.* A segment of L payload bytes that leaves at t closes the gate until t + L/rate −
//! min(L/(2·rate), credit). Credit is the time for which the gate had been open. With `tso`, L is
//! that of a burst, which the kernel hands over as one packet. The first nine segments leave the
//! gate open. If the tenth continues a burst, L also includes the earlier segments of this burst.
//!
//! If the congestion control has no rate of its own, rate = ratio·SMSS·max(cwnd, segments in
//! flight)/SRTT. The ratio is 2 while cwnd < ssthresh/2, else 1.2.
//!
//! *Where we differ.* Without `tso` the gate delays each segment separately. Pure acknowledgments
//! neither wait nor use up credit.

use super::Connection;
use super::sender::first_window;
use crate::Config;
use crate::congestion_control::{self, CongestionControl, Window};
use crate::mul_div::mul_div;
use crate::rto::Estimator;
use retx_units::{Duration, Rate, Time};

/// Number of data segments sent before pacing begins, as in Linux's qdisc `fq`.
const UNPACED_SEGMENTS: u32 = 10;

/// Gate at which data wait.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pacer {
    /// Time at which the gate opens, or has opened if that is in the past; `None` before any data
    /// are sent.
    opens: Option<Time>,
    /// Number of data segments sent, counted up to the first that is paced.
    segments: u32,
    /// Bytes of the current burst sent before pacing began.
    unpaced: u32,
    /// Time for which the gate had been open before the current burst, minus the part that this
    /// burst has used up.
    credit: Duration,
    /// Bytes of the last gap, 0 if there was none, and its length before credit.
    last_gap: (u32, Duration),
    /// True if the next segment passes even a closed gate, because a timeout has occurred.
    ignored_once: bool,
}

impl Config {
    /// True if the sender paces its segments, by choice or by its congestion control.
    pub fn paces(&self) -> bool {
        self.paces_with(&self.congestion_control.build(self), &first_window(self))
    }

    pub(super) fn paces_with(
        &self,
        congestion_control: &congestion_control::State,
        window: &Window,
    ) -> bool {
        self.pacing || congestion_control.pacing_rate(window, None).is_some()
    }
}

impl Pacer {
    /// Time at which the gate opens; `None` if it is open.
    pub fn closed_until(&self, now: Time) -> Option<Time> {
        self.opens.filter(|opens| *opens > now && !self.ignored_once)
    }

    /// Time at which the gate opened or will open; `None` before any data are sent.
    pub fn open_time(&self) -> Option<Time> {
        self.opens
    }

    /// Delay of the next segment.
    pub fn delay(&self, now: Time) -> Duration {
        self.opens.map_or(Duration::ZERO, |opens| opens.max(now).since(now))
    }

    /// Lets the next segment pass regardless of the gate.
    pub fn on_timeout(&mut self) {
        self.ignored_once = true;
    }

    /// Handles a segment with `bytes` of payload; `continues` is true if it belongs to the burst of
    /// the previous segment.
    fn on_sent(&mut self, now: Time, bytes: u32, rate: Option<Rate>, continues: bool) {
        self.ignored_once = false;
        self.segments = (self.segments + 1).min(UNPACED_SEGMENTS);
        let opened = self.opens.unwrap_or(now);
        // A timeout may let a segment pass a closed gate: the gap after that segment then starts at
        // the time at which the gate would have opened.
        let leaves = opened.max(now);
        if !continues {
            self.unpaced = 0;
            self.credit = leaves.since(opened);
        }
        self.unpaced = self.unpaced.saturating_add(bytes);
        // The gap includes the segments of this burst before the tenth, since the kernel paces a
        // burst as one packet.
        self.last_gap = match rate {
            Some(rate) if self.segments == UNPACED_SEGMENTS => {
                let bytes = std::mem::take(&mut self.unpaced);
                (bytes, rate.transmission_time(bytes))
            }
            _ => (0, Duration::ZERO),
        };
        self.close(leaves);
    }

    /// Like [`Self::on_sent`] for the next segment of the same burst, at the same instant and rate.
    /// Returns false, without any effect, if the last gap was that of other bytes.
    #[inline(always)]
    fn on_next_of_train(&mut self, now: Time, bytes: u32) -> bool {
        let applies = self.last_gap.0 == bytes;
        if applies {
            self.close(self.opens.unwrap_or(now).max(now));
        }
        applies
    }

    /// Closes the gate for the last gap, after a segment that `leaves` at this time.
    #[inline(always)]
    fn close(&mut self, leaves: Time) {
        let gap = self.last_gap.1;
        // A late transmission shortens the gap by at most half, so that a pause is not followed by
        // a burst at line rate.
        let credit = self.credit.min(gap / 2);
        self.credit = self.credit.saturating_sub(credit);
        self.opens = Some(leaves + gap.saturating_sub(credit));
    }
}

impl Connection {
    /// True if pacing delays data; a timer is then set to the end of the delay.
    #[inline]
    pub(super) fn is_delayed_by_pacing(&mut self, now: Time) -> bool {
        let Some(pacer) = &self.sender.pacer else { return false };
        let closed = pacer.closed_until(now);
        self.timers.set(|rare| &mut rare.pacing, closed.unwrap_or(Time::NEVER));
        closed.is_some()
    }

    /// Handles payload that was sent; `is_new` is true if it was sent for the first time.
    #[inline(always)]
    pub(super) fn pace(&mut self, now: Time, bytes: u32, is_new: bool) {
        if self.sender.pacer.is_some() && bytes > 0 {
            self.close_gate(now, bytes, is_new);
        }
    }

    /// Like [`Self::pace`] for the next segment of a train. BBR's rate changes only at an
    /// acknowledgment or a timer, which end a train.
    #[inline(always)]
    pub(super) fn pace_train(&mut self, now: Time, bytes: u32) {
        let sender = &mut self.sender;
        let is_bbr = matches!(sender.congestion_control, congestion_control::State::bbr(_));
        let Some(pacer) = &mut sender.pacer else { return };
        if !(is_bbr && pacer.on_next_of_train(now, bytes)) {
            self.close_gate(now, bytes, true);
        }
    }

    #[inline(never)]
    fn close_gate(&mut self, now: Time, bytes: u32, is_new: bool) {
        let rate = self.pacing_rate();
        let bursts = &self.sender.bursts;
        let continues =
            if is_new { bursts.burst.continues(now) } else { bursts.repeat.continues() };
        if let Some(pacer) = &mut self.sender.pacer {
            pacer.on_sent(now, bytes, rate, continues);
        }
    }

    /// Pacing rate; `None` if segments are not paced.
    pub fn pacing_rate(&self) -> Option<Rate> {
        let sender = &self.sender;
        let srtt = sender.estimator.srtt();
        let window = &sender.window;
        if let Some(rate) = sender.congestion_control.pacing_rate(window, srtt) {
            return Some(Rate::from_bit_s(rate.as_bit_s().max(1)));
        }
        let srtt = srtt.filter(|srtt| !srtt.is_zero())?;
        // The rate exceeds cwnd per SRTT, so that pacing does not keep the window from growing. The
        // excess is smaller in the last doubling of slow start.
        let percent = if window.cwnd < window.ssthresh / 2 { 200 } else { 120 };
        // After a reduction more may be in flight than cwnd allows (`packets_out`).
        let bytes = window.cwnd.max(sender.snd_max - sender.snd_una);
        let bit_s = mul_div(bytes, 8 * percent * 10_000_000, srtt.as_nanos());
        Some(Rate::from_bit_s(bit_s.max(1)))
    }

    /// Delay that pacing of the next segment adds to timers (`tcp_pacing_delay`).
    #[inline]
    pub(super) fn pacing_delay(&self, now: Time) -> Duration {
        self.sender.pacer.as_ref().map_or(Duration::ZERO, |pacer| pacer.delay(now))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::config;
    use super::*;
    use retx_units::SeqNr;
    use retx_wire::{Flags, Options, Segment};

    const MS: Duration = Duration::from_millis(1);

    /// 1000 bytes a millisecond.
    const RATE: Rate = Rate::from_bit_s(8_000_000);

    fn at(ms: u64) -> Time {
        Time::ZERO + MS * ms
    }

    fn warm() -> Pacer {
        let mut pacer = Pacer::default();
        for _ in 0..UNPACED_SEGMENTS - 1 {
            pacer.on_sent(at(5), 1000, Some(RATE), false);
            assert_eq!(pacer.closed_until(at(5)), None);
        }
        pacer
    }

    #[test]
    fn senders_pace_by_choice_or_by_their_congestion_control() {
        let paces = |pacing| Config { pacing, ..config("newreno") }.paces();
        assert_eq!([false, true].map(paces), [false, true]);
        assert!(config("linux_bbr").paces() && !config("linux").paces());
    }

    #[test]
    fn the_tenth_segment_is_the_first_to_close_the_gate() {
        let mut pacer = warm();
        pacer.on_sent(at(5), 1000, Some(RATE), false);
        assert_eq!(pacer.closed_until(at(5)), Some(at(6)));
        assert_eq!(pacer.closed_until(at(6)), None);
        assert_eq!(pacer.delay(at(5)), MS);
        pacer.on_sent(at(6), 500, Some(RATE), false);
        assert_eq!(pacer.closed_until(at(6)), Some(at(6) + MS / 2));
    }

    /// Credit for unused time shortens a gap by at most half.
    #[test]
    fn credit_shortens_a_gap_by_half_at_most() {
        let mut pacer = warm();
        pacer.on_sent(at(5), 1000, Some(RATE), false);
        pacer.on_sent(at(6) + MS / 4, 1000, Some(RATE), false);
        assert_eq!(pacer.closed_until(at(6) + MS / 4), Some(at(7)));
        pacer.on_sent(at(50), 1000, Some(RATE), false);
        assert_eq!(pacer.closed_until(at(50)), Some(at(50) + MS / 2));
    }

    /// The kernel paces a burst as one packet: up to half of its whole gap can be offset.
    #[test]
    fn credit_shortens_the_gap_of_a_whole_burst() {
        let mut pacer = warm();
        pacer.on_sent(at(5), 1000, Some(RATE), false);
        pacer.on_sent(at(50), 1000, Some(RATE), false);
        pacer.on_sent(at(50), 1000, Some(RATE), true);
        assert_eq!(pacer.closed_until(at(50)), Some(at(51)));
        // A quarter of a millisecond is the whole credit here.
        pacer.on_sent(at(51) + MS / 4, 1000, Some(RATE), false);
        pacer.on_sent(at(51) + MS / 4, 1000, Some(RATE), true);
        assert_eq!(pacer.closed_until(at(52)), Some(at(53)));
    }

    /// The next segments of a train close the gate as other segments of the burst do.
    #[test]
    fn a_train_is_paced_like_its_segments() {
        let mut pacer = warm();
        let mut unpaced = pacer;
        assert!(!unpaced.on_next_of_train(at(5), 1000), "not paced yet");
        pacer.on_sent(at(5), 1000, Some(RATE), false);
        pacer.on_sent(at(50), 1000, Some(RATE), false);
        let mut train = pacer;
        assert!(!train.on_next_of_train(at(50), 999), "another length");
        for _ in 0..3 {
            pacer.on_sent(at(50), 1000, Some(RATE), true);
            assert!(train.on_next_of_train(at(50), 1000));
            assert_eq!(format!("{train:?}"), format!("{pacer:?}"));
        }
        assert_eq!(train.closed_until(at(50)), Some(at(52)));
    }

    /// The gap after a burst that ends with the tenth segment is that of all bytes of the burst.
    #[test]
    fn the_burst_of_the_tenth_segment_is_paced_as_one() {
        let mut pacer = warm();
        pacer.on_sent(at(5), 1000, Some(RATE), true);
        assert_eq!(pacer.closed_until(at(5)), Some(at(7)));
    }

    #[test]
    fn a_timeout_lets_one_segment_through() {
        let mut pacer = warm();
        pacer.on_sent(at(5), 8000, Some(RATE), false);
        pacer.on_timeout();
        assert_eq!(pacer.closed_until(at(6)), None);
        pacer.on_sent(at(6), 1000, Some(RATE), false);
        assert_eq!(pacer.closed_until(at(6)), Some(at(14)));
    }

    #[test]
    fn without_a_rate_the_gate_stays_open() {
        let mut pacer = warm();
        pacer.on_sent(at(5), 1000, None, false);
        assert_eq!(pacer.closed_until(at(5)), None);
    }

    /// A connection that has sent 1000 bytes.
    fn with_data_out() -> Connection {
        let config = (crate::presets::find("rack").unwrap().config)();
        let mut connection = Connection::connect(&config, SeqNr(0));
        connection.poll_transmit(at(0)).unwrap();
        let window = u16::MAX;
        let options = Options { mss: Some(1460), sack_permitted: true, ..Options::default() };
        let flags = Flags::SYN.with(Flags::ACK);
        let answer = Segment { ack: SeqNr(1), window, flags, options, ..Segment::default() };
        connection.handle_segment(at(100), &answer);
        assert_eq!(connection.write(at(100), 1000), 1000);
        while connection.poll_transmit(at(100)).is_some() {}
        assert_eq!(connection.flight_size(), 1000);
        connection
    }

    fn acknowledge(connection: &mut Connection) {
        let (seq, ack) = (SeqNr(1), SeqNr(1001));
        let answer = Segment { seq, ack, window: 9000, flags: Flags::ACK, ..Segment::default() };
        connection.handle_segment(at(200), &answer);
    }

    /// A tail loss probe that waits at the gate is cancelled by an acknowledgment.
    #[test]
    fn an_acknowledgment_calls_a_probe_off_that_waits_at_the_gate() {
        let mut connection = with_data_out();
        connection.sender.tail_probe_due = true;
        connection.recompute_fast_paths();
        acknowledge(&mut connection);
        assert!(!connection.sender.tail_probe_due);
    }

    /// A tail loss probe that is due when all data are acknowledged does not block the FIN.
    #[test]
    fn a_probe_of_nothing_keeps_nothing_from_being_sent() {
        let mut connection = with_data_out();
        acknowledge(&mut connection);
        connection.sender.tail_probe_due = true;
        connection.close();
        let fin = connection.poll_transmit(at(200)).unwrap();
        assert!(fin.segment.flags.contains(Flags::FIN));
    }
}
