//! Requests of an application besides writing and reading: to hold back short segments (`TCP_CORK`,
//! `MSG_MORE`), to end a record (`MSG_EOR`), to abort after a time (`TCP_USER_TIMEOUT`), to probe
//! an idle peer (`SO_KEEPALIVE`). Also the state of a device that refuses packets.
//!
//! *Reference.* Linux 6.18, `net/ipv4/tcp.c`: `tcp_push`, `__tcp_sock_set_cork`,
//! `__tcp_sock_set_nodelay`, `tcp_skb_entail`; `tcp_output.c`: `tcp_nagle_test`,
//! `tcp_write_xmit`, `tcp_send_probe0`; `tcp_timer.c`: `retransmits_timed_out`,
//! `tcp_clamp_rto_to_user_timeout`, `tcp_probe_timer`, `tcp_keepalive_timer`. RFC 9293 §3.8.3,
//! RFC 1122 §4.2.3.6.
//!
//! *What it does.* The last segment is held back while it is short and
//! - the connection is corked, or
//! - the last write had `MSG_MORE` and no acknowledgment has arrived since.
//!
//! This does not apply if the application has requested a push since, or if a FIN follows. With
//! nothing in flight, the persist timer sends the segment (after 200 ms at least). No segment
//! extends beyond the end of a record if more data follow.
//!
//! *Where we differ.* After any of these requests a connection never uses the fast paths again.

use super::mtu_probe::MtuProbe;
use super::{Connection, Sender, State};
use crate::lazy::LazyDefault;
use retx_units::{Duration, Time};
use std::collections::VecDeque;

/// Time to the next attempt after the device refused a transmission
/// (`TCP_RESOURCE_PROBE_INTERVAL`).
pub(super) const DEVICE_PROBE_INTERVAL: Duration = Duration::from_millis(500);

/// Keep-alive parameters: when a silent peer is probed, and when the connection is aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    /// Silence after which the first probe is sent.
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Number of probes without a response after which the connection is aborted.
    pub count: u32,
}

/// Requests of the application, allocated at the first request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests {
    /// True with `TCP_CORK`.
    cork: bool,
    /// True if the last write announced that more would follow soon.
    more: bool,
    /// Position below which data are sent without waiting for a full segment; 0 for none.
    push: u64,
    /// Positions at which records end, ascending.
    records: VecDeque<u64>,
    pub user_timeout: Option<Duration>,
    /// Time of the first probe of the currently closed window, or of a device that refuses packets.
    pub probing_since: Option<Time>,
    pub device_closed: bool,
    pub keepalive: Option<KeepAlive>,
    /// Time at which the last segment arrived.
    pub last_segment_arrival: Time,
    /// Number of keep-alive probes sent since the last segment arrived.
    pub probes: u32,
    /// True if a keep-alive segment is due.
    keepalive_due: bool,
    /// Search for the largest segment, if enabled.
    pub mtu: Option<MtuProbe>,
}

impl LazyDefault for Requests {
    const DEFAULT: &'static Self = &Self {
        cork: false,
        more: false,
        push: 0,
        records: VecDeque::new(),
        user_timeout: None,
        probing_since: None,
        device_closed: false,
        keepalive: None,
        last_segment_arrival: Time::ZERO,
        probes: 0,
        keepalive_due: false,
        mtu: None,
    };
}

impl Requests {
    /// True if a short segment at the end of all `written` data is held back.
    pub fn holds_back(&self, written: u64) -> bool {
        (self.cork || self.more) && self.push < written
    }

    /// True if the last data were written without `MSG_MORE`.
    pub fn pushes_end(&self) -> bool {
        !self.more
    }

    /// True if a requested push sends all data up to `written`, whatever Nagle's algorithm says.
    pub fn overrides_nagle(&self, written: u64) -> bool {
        self.push >= written
    }

    /// Bytes from `position` to the end of its record; `None` if no data follow that record.
    pub fn to_end_of_record(&self, position: u64, written: u64) -> Option<u64> {
        let next = self.records.iter().find(|end| **end > position)?;
        (*next < written).then(|| next - position)
    }
}

impl Sender {
    /// Requests of the application; `None` before the first.
    pub fn allocated_requests(&mut self) -> Option<&mut Requests> {
        self.repair.allocated_mut()?.requests.allocated_mut()
    }

    /// True if a keep-alive segment is due.
    pub fn keepalive_due(&self) -> bool {
        self.repair
            .get()
            .and_then(|repair| repair.requests.get())
            .is_some_and(|it| it.keepalive_due)
    }

    /// Returns true if a keep-alive segment is due, and clears this request.
    pub fn take_keepalive(&mut self) -> bool {
        self.allocated_requests()
            .is_some_and(|requests| std::mem::take(&mut requests.keepalive_due))
    }

    /// Called when the application writes: cancels the `MSG_MORE` of an earlier write.
    #[inline]
    pub fn clear_msg_more(&mut self) {
        if let Some(requests) = self.allocated_requests() {
            requests.more = false;
        }
    }
}

impl Connection {
    /// Mutable reference to the requests of the application. Closes the fast paths, which do not
    /// handle requests.
    pub(super) fn requests_mut(&mut self) -> &mut Requests {
        self.fast_paths.plain = false;
        self.fast_paths.detailed = false;
        self.recompute_fast_paths();
        &mut self.sender.repair.requests
    }

    /// Turns `TCP_CORK` on or off. While it is on, only full segments are sent, unless a FIN
    /// follows.
    pub fn set_cork(&mut self, on: bool) {
        let written = self.sender.written;
        let nagle = self.parameters.nagle;
        let requests = self.requests_mut();
        requests.cork = on;
        // `__tcp_sock_set_cork`: the end of the cork pushes a short segment only with
        // `TCP_NODELAY`; otherwise Nagle's algorithm applies to it.
        if !on && !nagle {
            requests.push = written;
        }
        requests.more &= on;
    }

    /// Sends data written so far without waiting for a full segment, as after setting
    /// `TCP_NODELAY`.
    pub fn push(&mut self) {
        let written = self.sender.written;
        if let Some(requests) = self.sender.allocated_requests() {
            requests.push = written;
        }
    }

    /// [`Self::write`] by an application that will write more soon (`MSG_MORE`).
    pub fn write_with_more(&mut self, now: Time, bytes: u64) -> u64 {
        // Set after `write`, which clears it.
        let taken = self.write(now, bytes);
        self.requests_mut().more = true;
        taken
    }

    /// Ends a record: no later byte shares a segment with data written so far (`MSG_EOR`).
    pub fn end_record(&mut self) {
        let (written, snd_una) = (self.sender.written, self.sender.snd_una);
        let records = &mut self.requests_mut().records;
        while records.front().is_some_and(|end| *end <= snd_una) {
            records.pop_front();
        }
        if records.back() != Some(&written) {
            records.push_back(written);
        }
    }

    /// Sets the user timeout: the connection is aborted when data have waited this long for an
    /// acknowledgment, or the window has been closed this long (RFC 9293 §3.8.3, RFC 5482;
    /// `TCP_USER_TIMEOUT`).
    pub fn set_user_timeout(&mut self, timeout: Option<Duration>) {
        self.requests_mut().user_timeout = timeout;
    }

    /// Sets whether the device refuses transmissions.
    pub fn set_device_closed(&mut self, closed: bool) {
        if closed || self.sender.repair.requests.get().is_some() {
            self.requests_mut().device_closed = closed;
        }
    }

    /// Size of the blocks that hold the application's data: whole segments, up to 64 KiB and to
    /// half of the peer's largest window.
    pub fn block_bytes(&self) -> u64 {
        self.sender.block_size()
    }

    /// Handles the arrival of a segment: an acknowledgment releases data held back by `MSG_MORE`.
    pub(super) fn note_arrival(&mut self, now: Time) {
        if let Some(requests) = self.sender.allocated_requests() {
            requests.more = false;
            requests.last_segment_arrival = now;
            requests.probes = 0;
            self.evaluate_mtu_probe();
        }
    }

    /// True if the user timeout has passed since `since`, the time of the first retransmission
    /// without progress or of the first probe; `None` without a user timeout.
    pub(super) fn is_past_user_timeout(&self, now: Time, since: Time) -> Option<bool> {
        let limit = self.sender.repair.requests.get()?.user_timeout?;
        Some(now.since(since) >= limit)
    }

    /// Limits a wait to the rest of the user timeout, or to a millisecond if less is left.
    pub(super) fn limit_to_user_timeout(&self, now: Time, wait: Duration, since: Time) -> Duration {
        let Some(limit) = self.sender.repair.requests.get().and_then(|it| it.user_timeout) else {
            return wait;
        };
        let left = limit.saturating_sub(now.since(since));
        wait.min(left.max(Duration::from_millis(1)))
    }

    /// Schedules the next attempt while the device refuses packets. Unsent data are retried as a
    /// closed window is probed. Data in flight are retransmitted as soon as the device may accept
    /// them.
    pub(super) fn wait_for_device(&mut self, now: Time) {
        let sender = &self.sender;
        if sender.snd_una < sender.snd_max {
            if self.timers.retransmit == Time::NEVER {
                self.timers.retransmit = now + DEVICE_PROBE_INTERVAL;
            }
            return;
        }
        if sender.snd_nxt >= sender.write_seq() {
            return;
        }
        if std::mem::take(&mut self.sender.zero_window_probe_due) {
            self.note_probe();
            let since = self.sender.repair.requests.probing_since.unwrap_or(now);
            let wait = self.limit_to_user_timeout(now, DEVICE_PROBE_INTERVAL, since);
            self.timers.set(|rare| &mut rare.persist, now + wait);
        } else if self.timers.rare.persist == Time::NEVER {
            self.start_persist_timer(now);
        }
    }

    /// Handles a due probe. Returns true if the user timeout has passed.
    pub(super) fn is_probe_past_user_timeout(&mut self, now: Time) -> bool {
        let Some(requests) = self.sender.allocated_requests() else { return false };
        match requests.probing_since {
            None => {
                requests.probing_since = Some(now);
                false
            }
            Some(since) => requests.user_timeout.is_some_and(|limit| now.since(since) >= limit),
        }
    }
}

impl Connection {
    /// Sets keep-alive probes of a peer from which no segment has come for a time; `None` turns
    /// them off (`SO_KEEPALIVE`, RFC 9293 §3.8.4).
    pub fn set_keepalive(&mut self, now: Time, keepalive: Option<KeepAlive>) {
        if keepalive.is_none() && self.sender.repair.requests.get().is_none() {
            return;
        }
        let heard = &mut self.requests_mut().last_segment_arrival;
        *heard = (*heard).max(now);
        self.requests_mut().keepalive = keepalive;
        let deadline = keepalive.map_or(Time::NEVER, |it| now + it.idle);
        self.timers.set(|rare| &mut rare.keepalive, deadline);
    }

    /// Handles the expiry of the keep-alive timer (`tcp_keepalive_timer`).
    pub(super) fn on_keepalive_timer(&mut self, now: Time) {
        let Some(keepalive) = self.sender.repair.requests.keepalive else { return };
        if matches!(self.state, State::Closed | State::Listen) {
            return;
        }
        let busy = self.sender.snd_una < self.sender.write_seq();
        let opens = matches!(self.state, State::SynSent | State::SynReceived);
        let silent = now.since(self.sender.repair.requests.last_segment_arrival);
        // With data or a SYN outstanding, another timer already probes the peer.
        let wait = if busy || opens {
            keepalive.idle
        } else if silent < keepalive.idle {
            keepalive.idle - silent
        } else {
            let requests = &mut *self.sender.repair.requests;
            // With a user timeout, the silence decides instead of the number of probes, but at
            // least one probe is sent.
            let over = match requests.user_timeout {
                Some(limit) => silent >= limit && requests.probes > 0,
                None => requests.probes >= keepalive.count,
            };
            if over {
                self.abort();
                return;
            }
            // A probe that the device refuses does not count, and is repeated soon.
            requests.keepalive_due = !requests.device_closed;
            requests.probes += u32::from(requests.keepalive_due);
            if requests.keepalive_due { keepalive.interval } else { DEVICE_PROBE_INTERVAL }
        };
        self.timers.set(|rare| &mut rare.keepalive, now + wait);
    }
}

#[cfg(test)]
mod tests;
