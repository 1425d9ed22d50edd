//! Decision to abort a connection whose peer does not respond (RFC 9293 §3.8.3).
//!
//! *Reference.* RFC 9293 §3.8.3 (R2); Linux 6.18, `net/ipv4/tcp_timer.c`: `tcp_write_timeout`,
//! `tcp_model_timeout`, `tcp_probe_timer`, `tcp_rtx_probe0_timed_out`.
//!
//! *Equations.* Let n be the number of retransmissions, b = 200 ms, m the largest RTO, and k =
//! ⌊log2(m/b)⌋. Linux waits (2^(n+1) − 1)·b for n ≤ k, else (2^(k+1) − 1)·b + (n − k)·m; with n =
//! 15 and m = 120 s this is 924.6 s.
//!
//! *Where we differ.* Linux counts the time from the first retransmission of a recovery, even
//! across timeouts with progress between them; here it counts from the first retransmission since
//! the last progress. Linux limits a SYN by the number of retransmissions, and by a time that is
//! shorter only if `tcp_syn_retries` is below 3; here only the number counts. The limit of a
//! listener's SYN/ACK is that of other segments.

use super::{Connection, State};
use crate::{Config, GiveUp};
use retx_units::{Duration, Time};

/// Initial RTO of Linux's limits (`TCP_RTO_MIN`).
const BASE: Duration = Duration::from_millis(200);

/// Limits after which the connection is aborted.
#[derive(Debug, Clone, Copy)]
pub(super) struct AbortLimits {
    retransmissions: u32,
    syn_retransmissions: u32,
    /// Linux's time limits: for retransmissions, and for retransmissions into a closed window.
    /// `None` if only their number is limited.
    linux: Option<(Duration, Duration)>,
}

/// State of a peer that does not respond.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct UnresponsivePeer {
    /// Time of the first retransmission since the last progress.
    pub first_retransmission: Time,
    /// Time of the last acknowledgment that arrived after a retransmission, or while a closed
    /// window was probed.
    last_response: Time,
    /// Number of probes of a closed window since the last response.
    probes: u32,
    /// `RCV.NXT` at the last response.
    rcv_nxt: u64,
}

impl UnresponsivePeer {
    pub const NONE: Self =
        Self { first_retransmission: Time::ZERO, last_response: Time::ZERO, probes: 0, rcv_nxt: 0 };
}

impl AbortLimits {
    pub fn from_config(config: &Config) -> Self {
        let retransmissions = config.max_retransmissions.unwrap_or(u32::MAX);
        let as_linux = config.give_up == GiveUp::Linux;
        Self {
            retransmissions,
            syn_retransmissions: config.max_syn_retransmissions.unwrap_or(retransmissions),
            linux: as_linux.then(|| match config.max_retransmissions {
                Some(most) => {
                    (model_timeout(most, config.max_rto), config.max_rto.saturating_mul(2))
                }
                None => (Duration::MAX, Duration::MAX),
            }),
        }
    }

    /// Number of retransmissions allowed in a state.
    fn count_in(&self, state: State) -> u32 {
        if state == State::SynSent { self.syn_retransmissions } else { self.retransmissions }
    }

    /// Largest number of doublings of the wait between probes of a closed window.
    pub fn probe_doublings(&self) -> u32 {
        let most = if self.linux.is_some() { self.retransmissions } else { u32::MAX };
        // A larger shift could overflow, and the longest RTO bounds the wait much earlier.
        most.min(30)
    }
}

/// Time that this many retransmissions take (`tcp_model_timeout`).
fn model_timeout(retransmissions: u32, max_rto: Duration) -> Duration {
    let doublings = (max_rto.as_nanos() / BASE.as_nanos()).checked_ilog2().unwrap_or(0);
    let growing = BASE.saturating_mul((2 << retransmissions.min(doublings)) - 1);
    let level = max_rto.saturating_mul(retransmissions.saturating_sub(doublings).into());
    (growing + level).min(Duration::MAX)
}

impl Connection {
    /// True if the expired retransmission timer ends the connection, by number or by time.
    pub(super) fn gives_up_retransmitting(&mut self, now: Time) -> bool {
        let abort_limits = self.parameters.abort_limits;
        let again = self.sender.consecutive_timeouts;
        let opens = matches!(self.state, State::SynSent | State::SynReceived);
        let since = self.sender.repair.unresponsive_peer.first_retransmission;
        if let Some(over) = self.is_past_user_timeout(now, since).filter(|_| again > 0) {
            return over;
        }
        let Some((limit, closed)) = abort_limits.linux.filter(|_| !opens) else {
            return again >= abort_limits.count_in(self.state);
        };
        // As in Linux (`retransmits_timed_out`), no time limit applies before the first
        // retransmission.
        if again == 0 {
            return false;
        }
        let closed_window = self.sender.snd_wnd == 0;
        let peer = self.note_received_data(now);
        if closed_window {
            // Into a closed window, retransmissions act as probes: the time counts from the peer's
            // last response.
            return now.since(peer.first_retransmission.max(peer.last_response)) > closed;
        }
        now.since(peer.first_retransmission) >= limit
    }

    /// True if the connection is aborted instead of sending another probe of a closed window.
    pub(super) fn gives_up_probing(&mut self, now: Time) -> bool {
        let abort_limits = self.parameters.abort_limits;
        abort_limits.linux.is_some()
            && self.note_received_data(now).probes >= abort_limits.retransmissions
    }

    /// Treats new data from the peer as a response. Fast paths do not record such arrivals here, so
    /// `RCV.NXT` is compared with its value at the last response.
    fn note_received_data(&mut self, now: Time) -> &UnresponsivePeer {
        let received = self.receiver.rcv_nxt;
        let peer = &mut self.sender.repair.unresponsive_peer;
        if peer.rcv_nxt != received {
            *peer = UnresponsivePeer { last_response: now, probes: 0, rcv_nxt: received, ..*peer };
        }
        peer
    }

    /// Counts a probe of a closed window.
    pub(super) fn note_probe(&mut self) {
        if self.parameters.abort_limits.linux.is_some() {
            self.sender.repair.unresponsive_peer.probes += 1;
        }
    }

    /// Number of probes of a closed window without a response.
    pub(super) fn unanswered_probes(&self) -> u32 {
        let sender = &self.sender;
        if self.parameters.abort_limits.linux.is_some() {
            return sender.repair.get().map_or(0, |repair| repair.unresponsive_peer.probes);
        }
        sender.probes_in_row
    }

    /// Handles an acknowledgment without data: it is a response if one was awaited, after a timeout
    /// or a probe.
    pub(super) fn note_response(&mut self, now: Time) {
        let sender = &mut self.sender;
        let waits = sender.consecutive_timeouts | sender.probes_in_row > 0;
        if waits && let Some(repair) = sender.repair.allocated_mut() {
            repair.unresponsive_peer.last_response = now;
            repair.unresponsive_peer.probes = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::testing::{at, config, open};

    /// Agrees with `ip-sysctl.rst` on `tcp_retries2`: "a hypothetical timeout of 924.6 seconds".
    #[test]
    fn the_model_of_linux() {
        let seconds = |retransmissions, max_rto| {
            model_timeout(retransmissions, Duration::from_secs(max_rto)).as_secs_f64()
        };
        for (retransmissions, expected) in [(0, 0.2), (5, 12.6), (9, 204.6), (15, 924.6)] {
            assert!((seconds(retransmissions, 120) - expected).abs() < 1e-9, "{retransmissions}");
        }
        // ⌊log2(1 s/200 ms)⌋ = 2: 0.2 + 0.4 + 0.8 s, then 1 s for each further retransmission.
        assert!((seconds(5, 1) - 4.4).abs() < 1e-9);
        assert_eq!(model_timeout(3, Duration::MAX), BASE * 15);
    }

    /// Connection that is aborted by Linux's time limit (`linux`) or after `count` retransmissions;
    /// its first retransmission was at 1 s.
    fn limited(linux: bool, count: u32) -> Connection {
        let mut config = config("sack");
        config.give_up = if linux { GiveUp::Linux } else { GiveUp::Count };
        config.max_retransmissions = Some(count);
        let mut near = open(&config)[0].clone();
        near.sender.repair.unresponsive_peer.first_retransmission = at(1_000);
        near.sender.repair.unresponsive_peer.rcv_nxt = near.rcv_nxt();
        near
    }

    /// The connection ends with the first timeout after as many retransmissions as the limit
    /// allows. A SYN has a limit of its own.
    #[test]
    fn the_count_ends_a_connection() {
        let ends = |state, again| {
            let mut near = limited(false, 3);
            near.state = state;
            near.sender.consecutive_timeouts = again;
            near.gives_up_retransmitting(at(1_000))
        };
        assert_eq!([0, 2, 3, 4].map(|it| ends(State::Established, it)), [false, false, true, true]);
    }

    /// `retransmits_timed_out`: 200 ms doubled three times give 0.2 · 15 = 3 s from the first
    /// retransmission; into a closed window, more than 2 · 120 s since the last response.
    #[test]
    fn time_ends_a_connection_in_linux() {
        let ends = |now: Time, again, change: fn(&mut Connection)| {
            let mut near = limited(true, 3);
            near.sender.consecutive_timeouts = again;
            change(&mut near);
            near.gives_up_retransmitting(now)
        };
        let tick = Duration::from_nanos(1);
        let max_rto = limited(true, 3).parameters.max_rto;
        let end = at(1_000) + model_timeout(3, max_rto);
        let before = Time::from_nanos(end.as_nanos() - 1);
        assert_eq!([before, end].map(|now| ends(now, 1, |_| ())), [false, true]);
        assert!(ends(end, 2, |_| ()) && !ends(end, 0, |_| ()), "none before the first");
        let closed = at(1_000) + max_rto * 2;
        let shut = |it: &mut Connection| it.sender.snd_wnd = 0;
        assert_eq!([closed, closed + tick].map(|now| ends(now, 1, shut)), [false, true]);
        let responded = |it: &mut Connection| {
            it.sender.snd_wnd = 0;
            it.sender.repair.unresponsive_peer.last_response = at(1_500);
        };
        let closed = at(1_500) + max_rto * 2;
        assert_eq!([closed, closed + tick].map(|now| ends(now, 1, responded)), [false, true]);
        let data = |it: &mut Connection| {
            it.sender.snd_wnd = 0;
            it.receiver.rcv_nxt += 1;
        };
        assert!(!ends(closed + tick, 1, data), "new data are a response");
    }

    /// The user timeout counts from the first retransmission (RFC 5482), whatever the limits.
    #[test]
    fn the_user_timeout_ends_a_connection() {
        for linux in [false, true] {
            let ends = |ms, again| {
                let mut near = limited(linux, 9);
                near.set_user_timeout(Some(Duration::from_millis(500)));
                near.sender.consecutive_timeouts = again;
                near.gives_up_retransmitting(at(ms))
            };
            assert_eq!([1_499, 1_500, 1_501].map(|ms| ends(ms, 1)), [false, true, true]);
            assert_eq!([0, 2].map(|again| ends(1_500, again)), [false, true]);
        }
    }

    /// `tcp_probe_timer` counts probes without a response; RFC 9293 §3.8.6.1 sets no limit.
    #[test]
    fn the_count_of_probes_ends_a_connection_in_linux() {
        let mut near = limited(true, 2);
        assert_eq!((near.unanswered_probes(), near.gives_up_probing(at(1))), (0, false));
        near.note_probe();
        assert_eq!((near.unanswered_probes(), near.gives_up_probing(at(1))), (1, false));
        near.note_probe();
        assert_eq!((near.unanswered_probes(), near.gives_up_probing(at(1))), (2, true));
        near.receiver.rcv_nxt += 1;
        assert!(!near.gives_up_probing(at(7)), "new data are a response");
        let peer = near.sender.repair.unresponsive_peer;
        assert_eq!((peer.probes, peer.last_response), (0, at(7)));
        assert_eq!(peer.rcv_nxt, near.rcv_nxt());
        near.note_probe();
        assert!(!near.gives_up_probing(at(9)));
        assert_eq!(near.unanswered_probes(), 1, "the same data are one response only");
        let mut near = limited(false, 0);
        near.note_probe();
        assert_eq!((near.unanswered_probes(), near.gives_up_probing(at(1))), (0, false));
    }

    /// An acknowledgment counts as a response only after a timeout or a zero-window probe.
    #[test]
    fn an_awaited_acknowledgment_is_a_response() {
        let after = |timeouts, probes| {
            let mut near = limited(true, 2);
            near.note_probe();
            near.sender.consecutive_timeouts = timeouts;
            near.sender.probes_in_row = probes;
            near.note_response(at(5));
            let peer = near.sender.repair.unresponsive_peer;
            (peer.probes, peer.last_response)
        };
        assert_eq!(after(0, 0), (1, Time::ZERO));
        for (timeouts, probes) in [(1, 0), (0, 1), (1, 1), (2, 1)] {
            assert_eq!(after(timeouts, probes), (0, at(5)));
        }
    }
}
