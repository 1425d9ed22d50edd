//! *What it does.* A snoop agent keeps copies of the data segments that pass towards a mobile host.
//! When duplicate ACKs or the agent's own timer show that a segment was lost, the agent sends a
//! copy over the lossy hop and absorbs the duplicate ACKs, so the sender does not learn of the
//! loss.
//!
//! *Reference.* Balakrishnan, Seshan & Katz, Wireless Networks 1(4), 1995; Balakrishnan et al.,
//! IEEE/ACM ToN 5(6), 1997 ("TCP-aware link layer"); ns-2.35 `tcp/snoop.cc`, `tcp/snoop.h` and
//! `tcl/lan/ns-ll.tcl`, whose parameters are the defaults.
//!
//! *Rules.* The agent copies new data while it holds fewer than `packets` copies. It takes a
//! segment that arrives out of order for a retransmission by the sender, and forwards duplicate
//! ACKs that request this segment. A new ACK frees copies and yields an RTT sample. Of the
//! duplicate ACKs that request a segment, the agent forwards the first `dupacks` − 1; upon the next
//! one, it sends a copy of the segment. It then absorbs as many further duplicates as segments
//! passed after the lost one. The timer expires after max(srtt + 4·rttvar, `min_timeout`). The
//! agent then sends a copy of the oldest segment, if the mobile waits for it. After
//! `retransmissions` copies of a segment the agent gives the segment up.
//!
//! *Where we differ.* Positions are numbers of bytes, not of segments. The hop keeps the order of
//! packets, so more duplicates than expected show that the copy was lost as well; the agent absorbs
//! such a duplicate and sends another copy at once, where ns-2 waits for the timer. ns-2 counts
//! forwarded duplicates over all connections together. It makes no copies while the interface queue
//! is full; here the agent frees its copy when the hop's queue drops the segment. In ns-2 a new
//! sample has a weight of 7/8 in srtt; here the weight is 1/8. Copies join the end of the hop's
//! queue, without priority.

use super::{CopyAction, Counters, PassingSegment, Verdict};
use retx_units::{Duration, SeqNr, Time};
use retx_wire::{Flags, Segment};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Parameters of a snoop agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of segments per connection of which the agent holds copies.
    pub packets: u32,
    /// Number of duplicate acknowledgments in a row upon which the agent retransmits; it forwards
    /// all but the last of them.
    pub dupacks: u32,
    /// Maximum number of copies of a segment that are sent.
    pub retransmissions: u32,
    /// Lower bound of the timer.
    pub min_timeout: Duration,
}

impl Default for Config {
    /// Values of ns-2: `SNOOP_MAXWIND`, `RTX_THRESH` + 1, `SNOOP_MAX_RXMIT`, `snoopTick_`.
    fn default() -> Self {
        let min_timeout = Duration::from_millis(100);
        Self { packets: 100, dupacks: 2, retransmissions: 10, min_timeout }
    }
}

/// Environment of an agent.
#[derive(Debug)]
pub struct Context<'a> {
    /// Current time.
    pub now: Time,
    /// Actions to carry out.
    pub actions: &'a mut VecDeque<CopyAction>,
    /// Counters to update.
    pub counters: &'a mut Counters,
}

/// Segment of which the agent holds a copy.
#[derive(Debug, Clone, Copy)]
struct Held {
    from: u64,
    to: u64,
    id: u32,
    bytes: u32,
    /// Time at which the segment, or the last copy of it, was sent over the lossy hop.
    sent: Time,
    /// Number of the segment's last transmission, in the order of all transmissions over the lossy
    /// hop.
    number: u64,
    /// Number of copies sent.
    repeats: u32,
    /// True if the sender has retransmitted the segment itself.
    by_sender: bool,
}

/// Agent of one connection.
#[derive(Debug, Clone)]
pub struct Snoop {
    config: Config,
    /// Sequence number of the flow's SYN, which has position 0; `None` before a SYN has passed.
    origin: Option<SeqNr>,
    /// Highest position acknowledged so far.
    acked: u64,
    /// Window field of the segment that acknowledged the highest position.
    window: u16,
    /// Position after the highest byte that has passed.
    end: u64,
    /// Copies in order of position.
    cache: VecDeque<Held>,
    held_bytes: u64,
    /// Index in `cache` of the copy that the agent has requested; the caller will pass its id to
    /// [`Self::cache_copy`].
    asked: usize,
    /// Number of transmissions of segments and copies over the lossy hop.
    passed: u64,
    /// Number of duplicate ACKs since the segment that they ask for was last sent, not counting
    /// those that were expected and absorbed.
    duplicates: u64,
    /// Number of further duplicate ACKs that are expected, and absorbed.
    expected: u64,
    srtt: Duration,
    rttvar: Duration,
    deadline: Time,
}

impl Snoop {
    /// Creates an agent that has seen no segment.
    pub fn new(config: &Config) -> Self {
        Self {
            config: *config,
            origin: None,
            acked: 1,
            window: 0,
            end: 1,
            cache: VecDeque::new(),
            held_bytes: 0,
            asked: 0,
            passed: 0,
            duplicates: 0,
            expected: 0,
            // Initial values of ns-2's `srtt_` and `rttvar_`.
            srtt: Duration::from_millis(100),
            rttvar: Duration::from_millis(250),
            deadline: Time::NEVER,
        }
    }

    /// Bytes of all copies held.
    pub const fn held_bytes(&self) -> u64 {
        self.held_bytes
    }

    /// Expiry of the timer; [`Time::NEVER`] if it is not running.
    pub const fn deadline(&self) -> Time {
        self.deadline
    }

    /// Stores the id of the copy that the agent requested.
    pub fn cache_copy(&mut self, id: u32) {
        self.cache[self.asked].id = id;
    }

    /// Handles a passing segment.
    pub fn on_segment(
        &mut self,
        passing: &PassingSegment<'_>,
        context: &mut Context<'_>,
    ) -> Verdict {
        let segment = passing.segment;
        if segment.flags.contains(Flags::RST) {
            self.forget_first(self.cache.len(), context);
            self.deadline = Time::NEVER;
            return Verdict::Pass;
        }
        if passing.with_data {
            self.on_data(segment, context)
        } else {
            self.on_ack(segment, context)
        }
    }

    fn on_data(&mut self, segment: &Segment, context: &mut Context<'_>) -> Verdict {
        if segment.flags.contains(Flags::SYN) {
            self.forget_first(self.cache.len(), context);
            let (srtt, rttvar, cache) = (self.srtt, self.rttvar, std::mem::take(&mut self.cache));
            let origin = Some(segment.seq);
            *self = Self { origin, srtt, rttvar, cache, ..Self::new(&self.config) };
            return Verdict::Pass;
        }
        let Some((from, to)) = self.span(segment).filter(|(_, to)| *to > self.acked) else {
            return Verdict::Pass;
        };
        self.passed += 1;
        let by_sender = from < self.end;
        self.end = self.end.max(to);
        let at = self.cache.partition_point(|held| held.from < from);
        if self.cache.get(at).is_some_and(|held| held.from == from) {
            self.forget_at(at, context);
        } else if self.cache.len() >= self.config.packets as usize {
            return Verdict::Pass;
        }
        let bytes = segment.packet_bytes();
        self.held_bytes += u64::from(bytes);
        let (sent, number) = (context.now, self.passed);
        let held = Held { from, to, id: u32::MAX, bytes, sent, number, repeats: 0, by_sender };
        self.cache.insert(at, held);
        self.asked = at;
        if by_sender || self.deadline == Time::NEVER {
            self.restart_timer(context.now);
        }
        Verdict::Keep
    }

    /// Range of positions, counted from the SYN, that a segment occupies; `None` if it occupies
    /// none, or if no SYN has passed.
    fn span(&self, segment: &Segment) -> Option<(u64, u64)> {
        let from = segment.seq.unwrap_near(self.origin?, self.end);
        let to = from + i64::from(segment.seq_len());
        (to > from && from > 0).then_some((from as u64, to as u64))
    }

    fn on_ack(&mut self, segment: &Segment, context: &mut Context<'_>) -> Verdict {
        let Some(origin) = self.origin.filter(|_| segment.flags.contains(Flags::ACK)) else {
            return Verdict::Pass;
        };
        let ack = segment.ack.unwrap_near(origin, self.acked);
        if ack < self.acked as i64 || ack > self.end as i64 {
            return Verdict::Pass;
        }
        let ack = ack as u64;
        let same_advertised_window =
            std::mem::replace(&mut self.window, segment.window) == segment.window;
        if ack > self.acked {
            self.on_new_ack(ack, context);
            return Verdict::Pass;
        }
        // Duplicate ACK as defined in RFC 5681 §2: the advertised window must not have changed.
        // (ns-2 does not check it, because ns-2 has no window updates.)
        let duplicate = segment.seq_len() == 0 && same_advertised_window && self.end > ack;
        if duplicate { self.on_duplicate(context) } else { Verdict::Pass }
    }

    fn on_new_ack(&mut self, ack: u64, context: &mut Context<'_>) {
        self.acked = ack;
        let covered = self.cache.partition_point(|held| held.to <= ack);
        if let Some(last) = covered.checked_sub(1) {
            self.take_sample(context.now.since(self.cache[last].sent));
            self.forget_first(covered, context);
        }
        self.duplicates = 0;
        self.expected = 0;
        self.restart_timer(context.now);
    }

    fn take_sample(&mut self, rtt: Duration) {
        let [srtt, rttvar, rtt] = [self.srtt, self.rttvar, rtt].map(Duration::as_nanos);
        let srtt = srtt - srtt / 8 + rtt / 8;
        self.srtt = Duration::from_nanos(srtt);
        self.rttvar = Duration::from_nanos(rttvar - rttvar / 8 + srtt.abs_diff(rtt) / 8);
    }

    fn on_duplicate(&mut self, context: &mut Context<'_>) -> Verdict {
        let head = self.cache.front().filter(|head| head.from <= self.acked && !head.by_sender);
        let Some(head) = head.copied() else { return Verdict::Pass };
        if self.expected > 0 {
            self.expected -= 1;
            return Verdict::Absorb;
        }
        self.duplicates += 1;
        if head.repeats == 0 && self.duplicates < u64::from(self.config.dupacks) {
            return Verdict::Pass;
        }
        if self.repeat(context) {
            context.counters.repeated_by_acks += 1;
            Verdict::Absorb
        } else {
            Verdict::Pass
        }
    }

    /// Sends a copy of the oldest segment. If the maximum number of copies of this segment has been
    /// sent, gives the segment up instead, and returns false.
    fn repeat(&mut self, context: &mut Context<'_>) -> bool {
        let most = self.config.retransmissions;
        let Some(head) = self.cache.front_mut() else { return false };
        if head.repeats >= most {
            context.counters.given_up += 1;
            self.forget_first(1, context);
            self.restart_timer(context.now);
            return false;
        }
        self.expected = (self.passed - head.number).saturating_sub(self.duplicates);
        self.duplicates = 0;
        self.passed += 1;
        head.number = self.passed;
        head.repeats += 1;
        head.sent = context.now;
        context.actions.push_back(CopyAction::Send(head.id));
        self.restart_timer(context.now);
        true
    }

    /// Handles the expiry of the timer; does nothing if the timer has not expired yet.
    pub fn on_timer(&mut self, context: &mut Context<'_>) {
        if self.deadline > context.now {
            return;
        }
        self.deadline = Time::NEVER;
        let is_awaited = self.cache.front().is_some_and(|head| head.from <= self.acked);
        if is_awaited && self.repeat(context) {
            context.counters.repeated_by_timer += 1;
        }
    }

    fn restart_timer(&mut self, now: Time) {
        self.deadline = if self.cache.is_empty() {
            Time::NEVER
        } else {
            now + (self.srtt + self.rttvar * 4).max(self.config.min_timeout)
        };
    }

    /// Frees the copy of a segment that the queue of the lossy hop has dropped: the sender has to
    /// repair the loss, and reduce its congestion window.
    pub fn on_queue_drop(&mut self, segment: &Segment, context: &mut Context<'_>) {
        let Some((from, _)) = self.span(segment) else { return };
        let at = self.cache.partition_point(|held| held.from < from);
        if self.cache.get(at).is_some_and(|held| held.from == from) {
            self.forget_at(at, context);
        }
    }

    fn forget_first(&mut self, count: usize, context: &mut Context<'_>) {
        for _ in 0..count {
            self.forget_at(0, context);
        }
    }

    fn forget_at(&mut self, at: usize, context: &mut Context<'_>) {
        let held = self.cache.remove(at).expect("a copy that is there");
        self.held_bytes -= u64::from(held.bytes);
        context.counters.forgotten += 1;
        context.actions.push_back(CopyAction::Forget(held.id));
    }
}
