//! Delay spikes: silences of the path during which data in flight wait before the capture.
//!
//! A silence is a delay spike if the sender had more data to send when it began, and if it lasts
//! longer than a round trip after the last acknowledgment. The packets after it show the limit that
//! was in force: its timer has expired if it retransmits data that arrive after the spike; it had
//! sent everything if nothing arrives that an acknowledgment after the spike has released. The
//! data that arrive before the first such data were in flight during the silence: if they fill the
//! path or the peer's window, the bottleneck or this window was the limit.
//!
//! A silence with nothing in flight that lasts as long as the retransmission timer is no delay
//! spike if a single segment ends it, and the next data wait for its acknowledgment: all data sent
//! before were lost before the capture, as were the retransmissions, if any, and the timer has
//! reduced the window to one segment (RFC 5681 §3.1).

use super::account::Limit;
use super::direction::{Direction, PacketContext};
use super::release::is_far;
use super::since_data::IntervalSinceData;

/// A delay spike, and the data after it.
#[derive(Debug)]
pub struct DelaySpike {
    /// Position of the first data that waited.
    position: i64,
    /// Time of the first data after the spike, and of the newest.
    end_ns: i64,
    newest_ns: i64,
    /// Time at which the first acknowledgment after the spike takes effect; none before.
    released_ns: Option<i64>,
    /// True if, in addition to `is_long`, nothing was in flight.
    is_overdue: bool,
    /// True if the silence lasted as long as the retransmission timer.
    is_long: bool,
    /// True while one segment alone has ended the silence.
    is_single: bool,
    /// Cumulative acknowledgment during the silence, and the peer's window.
    una: i64,
    window: Option<i64>,
    /// Time from the last acknowledgment, which released the last data of the sender, to the end.
    silence_ns: i64,
    /// Parts of the time since the last captured data.
    parts: Vec<IntervalSinceData>,
}

impl DelaySpike {
    /// True if the data at this position waited for longer than the retransmission timer lasts.
    pub(super) const fn made_timeout(&self, start: i64) -> bool {
        self.is_long && self.position == start
    }
}

/// True for limits that a silence may have been attributed to before its reason is known.
pub(super) const fn is_provisional(limit: Limit) -> bool {
    matches!(
        limit,
        Limit::Application | Limit::Bottleneck | Limit::SlowStart | Limit::Window | Limit::Recovery
    )
}

impl Direction {
    /// Notes new data, and a delay spike that ends with them.
    pub(super) fn note_delay_spike(&mut self, now: &PacketContext) {
        if let Some(spike) = &mut self.delay_spike {
            let waits = spike.is_single && spike.released_ns.is_some();
            (spike.newest_ns, spike.is_single) = (now.sent_ns, false);
            if waits && spike.is_overdue {
                self.attribute_delay_spike_to_hidden_timeout();
            }
        }
        let since_ns = now.sent_ns - self.sender.last_activity_ns() - now.timestamp_tick_ns;
        let is_long = self.sender.rtt_min_ns.is_some_and(|least| since_ns > least);
        if self.has_more && is_long && self.sender.is_open() && is_far(now) {
            self.continue_busy_period();
            let lasted_timer = since_ns > self.sender.estimator.rto_ns() / 20 * 17;
            self.delay_spike = Some(Box::new(DelaySpike {
                position: self.scoreboard.end,
                end_ns: now.sent_ns,
                newest_ns: now.sent_ns,
                released_ns: None,
                is_single: true,
                is_long: lasted_timer,
                is_overdue: self.sender.snd_una >= self.scoreboard.end && lasted_timer,
                una: self.sender.snd_una,
                window: self.sender.window,
                silence_ns: now.sent_ns - self.sender.last_activity_ns(),
                parts: self.since_data.clone(),
            }));
        }
    }

    /// Attributes a delay spike to the bottleneck, if the data in flight kept the bottleneck busy
    /// until the spike: these data only waited elsewhere.
    fn continue_busy_period(&mut self) {
        if self.limit_at_data != Limit::Bottleneck {
            return;
        }
        for part in self.since_data.iter_mut().filter(|part| is_provisional(part.limit)) {
            let of = (part.limit, part.episode);
            self.account.reassign(part.length_ns, of, (Limit::Bottleneck, None));
            (part.limit, part.episode) = (Limit::Bottleneck, None);
        }
        self.undecided_times.discard(0, is_provisional);
    }

    /// Attributes a silence to timeouts whose retransmissions were lost before the capture.
    fn attribute_delay_spike_to_hidden_timeout(&mut self) {
        let Some(spike) = self.delay_spike.take() else { return };
        for part in spike.parts.iter().filter(|part| is_provisional(part.limit)) {
            let of = (part.limit, part.episode);
            self.account.reassign(part.length_ns, of, (Limit::Timeout, None));
        }
        self.sender.has_reduced = true;
        self.clock_loss(self.sender.snd_una, true);
    }

    /// Notes that an acknowledgment takes effect at the sender.
    pub(super) fn note_release(&mut self, effective_ns: i64) {
        if let Some(spike) = &mut self.delay_spike
            && effective_ns > spike.end_ns
            && spike.released_ns.is_none()
        {
            spike.released_ns = Some(effective_ns);
            self.attribute_delay_spike_to_flight();
        }
    }

    /// Attributes a delay spike to the limit that the data in flight show: everything that has
    /// arrived since the spike without an acknowledgment that could have released it. A single
    /// segment shows nothing, since it may be a tail loss probe (RFC 8985 §7.3).
    fn attribute_delay_spike_to_flight(&mut self) {
        let Some(mut spike) = self.delay_spike.take_if(|spike| !spike.is_single) else { return };
        let flight = self.scoreboard.end - spike.una;
        let limit = if self.is_filled(false, flight) {
            Some(Limit::Bottleneck)
        } else if spike.window.is_some_and(|window| flight + self.largest_payload > window) {
            Some(Limit::ReceiveWindow)
        } else {
            None
        };
        // The receiver had no more data to acknowledge, because those in flight waited.
        let is_other = |part: &IntervalSinceData| {
            is_provisional(part.limit) || part.limit == Limit::DelayedAck
        };
        let is_window = |part: &&IntervalSinceData| {
            matches!(part.limit, Limit::SlowStart | Limit::Window | Limit::Recovery)
        };
        let window = spike.parts.iter().find(is_window).map(|part| (part.limit, part.episode));
        for part in spike.parts.iter_mut().filter(|part| is_other(part)) {
            let of = (part.limit, part.episode);
            let delayed_by = window.filter(|_| part.limit == Limit::DelayedAck);
            if let Some(known) = limit.map(|limit| (limit, None)).or(delayed_by) {
                self.account.reassign(part.length_ns, of, known);
                (part.limit, part.episode) = known;
            }
        }
        self.delay_spike = Some(spike);
    }

    /// Handles the first retransmission after a timeout, of data from the position `start`. If the
    /// data waited in a delay spike, the timer expired in it. Until the last acknowledgment before
    /// the silence, the sender went on with data that waited in the spike, too. In Linux, a tail
    /// loss probe with new data comes before the timeout, and restarts the timer (RFC 8985 §7.3).
    pub(super) fn attribute_delay_spike_to_timeout(&mut self, start: i64) {
        let Some(spike) = self.delay_spike.take_if(|spike| spike.position <= start) else { return };
        let episode = self.current_episode();
        let is_filled = self.is_filled(false, self.scoreboard.end - spike.una);
        let length_ns: i64 = spike.parts.iter().map(|part| part.length_ns).sum();
        let probe_ns = self.sender.time_to_probe_within(spike.silence_ns);
        let mut active_ns = length_ns - spike.silence_ns + probe_ns;
        let mut left_ns = self.sender.timeouts_within(spike.silence_ns - probe_ns);
        for part in spike.parts {
            let before_ns = part.length_ns.min(active_ns).max(0);
            active_ns -= before_ns;
            let silent_ns = (part.length_ns - before_ns).min(left_ns);
            if !is_provisional(part.limit) {
                continue;
            }
            left_ns -= silent_ns;
            let of = (part.limit, part.episode);
            if is_filled {
                self.account.reassign(before_ns, of, (Limit::Bottleneck, None));
            }
            self.account.reassign(silent_ns, of, (Limit::Timeout, episode));
            let rest_ns = part.length_ns - before_ns - silent_ns;
            self.account.reassign(rest_ns, of, (Limit::Window, episode));
        }
    }

    /// Attributes a delay spike at the end of the flow to the application, if all data had been
    /// sent before.
    pub(super) fn attribute_last_delay_spike(&mut self) {
        let Some(spike) = self.delay_spike.take() else { return };
        if spike.released_ns.is_none_or(|released_ns| spike.newest_ns < released_ns) {
            for part in spike.parts.iter().filter(|part| is_provisional(part.limit)) {
                let of = (part.limit, part.episode);
                self.account.reassign(part.length_ns, of, (Limit::Application, None));
            }
        }
    }
}
