//! Division of a flow's life among the limits of its sender.

use crate::answer::{ByCause, Cause, Limits, Stall};
use std::collections::VecDeque;

/// Limit of a sender between two events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The connection is not established.
    #[default]
    Handshake,
    /// The application has no data to send.
    Application,
    /// A send buffer, or a clamp of the congestion window, bounds the bytes in flight.
    SendBuffer,
    /// The data in flight fill the receiver's advertised window.
    ReceiveWindow,
    /// The data in flight suffice to keep the bottleneck's queue from emptying.
    Bottleneck,
    /// The congestion window is still growing from its initial value.
    SlowStart,
    /// The congestion window has been small since a reduction after a loss.
    Window,
    /// The congestion window has been small since a reduction because of ECN.
    EcnWindow,
    /// Fast recovery.
    Recovery,
    /// Silence before a timeout.
    Timeout,
    /// The receiver delays its acknowledgment.
    DelayedAck,
    /// The sender paces its segments.
    Pacing,
    /// A partial segment waits until all data sent are acknowledged.
    Nagle,
    /// The capture contains no evidence.
    Unknown,
}

impl Limit {
    /// Key of the limit in `limited_by`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::Application => "application",
            Self::SendBuffer => "send_buffer",
            Self::ReceiveWindow => "receive_window",
            Self::Bottleneck => "bottleneck",
            Self::SlowStart => "slow_start",
            Self::Window | Self::EcnWindow => "window",
            Self::Recovery => "recovery",
            Self::Timeout => "timeout",
            Self::DelayedAck => "delayed_ack",
            Self::Pacing => "pacing",
            Self::Nagle => "nagle",
            Self::Unknown => "unknown",
        }
    }
}

/// Number of limits.
const LIMITS: usize = Limit::Unknown as usize + 1;

/// Nanoseconds of an episode, by limit.
#[derive(Debug, Clone, Copy, Default)]
struct OfEpisode {
    window: i64,
    recovery: i64,
    timeout: i64,
}

/// Account of the time of one direction, by limit.
#[derive(Debug, Default)]
pub struct Account {
    last_event_ns: i64,
    changed_ns: i64,
    limit: Limit,
    plain: [i64; LIMITS],
    episodes: Vec<OfEpisode>,
    stalls: Vec<Stall>,
    /// State of the account when all data were last acknowledged; none while data are in flight.
    paused: Option<(i64, [i64; LIMITS], Vec<OfEpisode>)>,
    /// The most recent intervals, at most `RECENT_MAX`.
    recent: VecDeque<Piece>,
}

/// Maximum number of stored intervals. Time that was counted after the end of the flow's life is
/// subtracted by means of these intervals.
const RECENT_MAX: usize = 256;

/// An interval of the account.
#[derive(Debug, Clone, Copy)]
struct Piece {
    limit: Limit,
    episode: Option<usize>,
    from_ns: i64,
    to_ns: i64,
}

const NS: f64 = 1e-9;

/// Counter to which time under `limit` is added. A limit that belongs to an episode has a counter
/// in that episode.
fn place<'a>(
    plain: &'a mut [i64; LIMITS],
    episodes: &'a mut [OfEpisode],
    limit: Limit,
    episode: Option<usize>,
) -> &'a mut i64 {
    match (limit, episode.and_then(|index| episodes.get_mut(index))) {
        (Limit::Window, Some(episode)) => &mut episode.window,
        (Limit::Recovery, Some(episode)) => &mut episode.recovery,
        (Limit::Timeout, Some(episode)) => &mut episode.timeout,
        _ => &mut plain[limit as usize],
    }
}

impl Account {
    /// Records that all data are acknowledged. The flow's life ends at this time unless more data
    /// are sent.
    pub fn on_all_acked(&mut self, end_ns: i64) {
        // Later acknowledgments of the same data do not move the end.
        if self.paused.is_none() {
            self.paused = Some((self.last_event_ns, self.plain, self.episodes.clone()));
            self.take_back(end_ns);
        }
    }

    /// Subtracts from the stored account the time after `end_ns` that it already contains.
    fn take_back(&mut self, end_ns: i64) {
        let Some((since_ns, plain, episodes)) = &mut self.paused else { return };
        for piece in self.recent.iter().rev().take_while(|piece| piece.to_ns > end_ns) {
            let length = piece.to_ns - piece.from_ns.max(end_ns);
            let place = place(plain, episodes, piece.limit, piece.episode);
            // A part of the interval may have been reassigned to another limit in the meantime.
            let taken = length.min(*place);
            *place -= taken;
            *since_ns -= taken;
        }
    }

    /// Handles data sent after a pause: the flow's life did not end when the pause began.
    pub fn on_data_after_pause(&mut self) {
        self.paused = None;
    }

    /// Adds `length` before the first packet: the time that the opener's SYN took to reach the
    /// capture.
    pub fn add_syn_time(&mut self, length: i64) {
        self.plain[Limit::Handshake as usize] += length;
    }

    /// Ends the account at the time when all data were acknowledged; if this did not happen, at
    /// `end_ns`. Silences after this time do not belong to the flow's life. Returns the time of the
    /// end.
    pub fn close(&mut self, end_ns: i64, episode: Option<usize>) -> i64 {
        if let Some((end_ns, plain, episodes)) = self.paused.take() {
            (self.last_event_ns, self.plain, self.episodes) = (end_ns, plain, episodes);
            self.stalls.retain(|stall| stall.start_s + stall.duration_s <= end_ns as f64 * NS);
            return end_ns;
        }
        self.end_interval_at(end_ns, self.limit, episode);
        self.last_event_ns
    }

    /// The limit since the last event.
    pub fn limit(&self) -> Limit {
        self.limit
    }

    /// Ends the current interval at this time, and counts it for this limit and episode.
    pub fn end_interval_at(&mut self, time_ns: i64, limit: Limit, episode: Option<usize>) -> i64 {
        // Times at the sender are estimates, so a later call may have an earlier time. The time of
        // the account never decreases.
        let length = (time_ns - self.last_event_ns).max(0);
        self.last_event_ns = self.last_event_ns.max(time_ns);
        if let Some(index) = episode.filter(|index| self.episodes.len() <= *index) {
            self.episodes.resize(index + 1, OfEpisode::default());
        }
        *place(&mut self.plain, &mut self.episodes, limit, episode) += length;
        if length > 0 {
            let from_ns = self.last_event_ns - length;
            self.remember(Piece { limit, episode, from_ns, to_ns: self.last_event_ns });
        }
        length
    }

    fn remember(&mut self, piece: Piece) {
        let key = |piece: &Piece| (piece.limit, piece.episode);
        match self.recent.back_mut() {
            // Consecutive intervals with equal keys are merged, so that `RECENT_MAX` intervals
            // cover more time.
            Some(last) if key(last) == key(&piece) => last.to_ns = piece.to_ns,
            _ => {
                self.recent.push_back(piece);
                if self.recent.len() > RECENT_MAX {
                    self.recent.pop_front();
                }
            }
        }
    }

    /// Moves up to `length` of the time that is attributed to one limit and episode to another.
    /// Returns the time moved, which is shorter if less time was attributed.
    pub fn reassign(
        &mut self,
        length: i64,
        (from, episode): (Limit, Option<usize>),
        (to, of): (Limit, Option<usize>),
    ) -> i64 {
        let from = place(&mut self.plain, &mut self.episodes, from, episode);
        let length = length.min(*from);
        *from -= length;
        *place(&mut self.plain, &mut self.episodes, to, of) += length;
        length
    }

    /// Moves recent time between `from_ns` and `to_ns`, as far as `is_moved` selects it by its
    /// limit, to another limit.
    pub fn reassign_between(
        &mut self,
        (from_ns, to_ns): (i64, i64),
        is_moved: impl Fn(Limit) -> bool,
        to: (Limit, Option<usize>),
    ) {
        for index in 0..self.recent.len() {
            let piece = self.recent[index];
            let length = piece.to_ns.min(to_ns) - piece.from_ns.max(from_ns);
            if length > 0 && is_moved(piece.limit) {
                self.reassign(length, (piece.limit, piece.episode), to);
            }
        }
    }

    /// Time at which the current limit began.
    pub fn limit_start_ns(&self) -> i64 {
        self.changed_ns
    }

    /// Time of the last event; the current limit has held at least since then.
    pub fn last_event_ns(&self) -> i64 {
        self.last_event_ns
    }

    /// Sets the current limit.
    pub fn set_limit(&mut self, limit: Limit) {
        if limit != self.limit {
            self.changed_ns = self.last_event_ns;
        }
        self.limit = limit;
    }

    /// Records a silence that ended with this packet.
    pub fn add_stall(&mut self, start_ns: i64, length: i64, limit: Limit, packet: u64) {
        let (start_s, duration_s) = (start_ns as f64 * NS, length as f64 * NS);
        self.stalls.push(Stall { start_s, duration_s, cause: limit.key(), packet });
    }

    /// Seconds for each limit; `cause` returns the cause of an episode.
    pub fn limits(&self, cause: impl Fn(usize) -> Cause) -> Limits {
        let plain = |limit: Limit| self.plain[limit as usize] as f64 * NS;
        let unknown = |limit| ByCause { unknown: plain(limit), ..ByCause::default() };
        let mut limits = Limits {
            handshake: plain(Limit::Handshake),
            application: plain(Limit::Application),
            send_buffer: plain(Limit::SendBuffer),
            receive_window: plain(Limit::ReceiveWindow),
            bottleneck: plain(Limit::Bottleneck),
            slow_start: plain(Limit::SlowStart),
            window: unknown(Limit::Window),
            recovery: unknown(Limit::Recovery),
            timeout: unknown(Limit::Timeout),
            delayed_ack: plain(Limit::DelayedAck),
            pacing: plain(Limit::Pacing),
            nagle: plain(Limit::Nagle),
            unknown: plain(Limit::Unknown),
        };
        limits.window.congestion = plain(Limit::EcnWindow);
        for (index, episode) in self.episodes.iter().enumerate() {
            let cause = cause(index);
            let add = |share: &mut ByCause, ns: i64| {
                let part = match cause {
                    Cause::Congestion => &mut share.congestion,
                    Cause::Wireless => &mut share.wireless,
                    Cause::Spurious => &mut share.spurious,
                    Cause::Unknown => &mut share.unknown,
                };
                *part += ns as f64 * NS;
            };
            add(&mut limits.window, episode.window);
            add(&mut limits.recovery, episode.recovery);
            add(&mut limits.timeout, episode.timeout);
        }
        limits
    }

    /// Silences of the sender, in the order of time.
    pub fn into_stalls(self) -> Vec<Stall> {
        self.stalls
    }
}
