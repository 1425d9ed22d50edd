//! Model of the sender, inferred from its packets and from the acknowledgments that reach it:
//! timers, duplicate ACKs, and the current episode of loss recovery.
//!
//! An acknowledgment reaches the sender half a round trip (between capture and sender) after it
//! passes the capture. The data that it releases pass the capture another half round trip later.
//! Until these data can pass the capture, the acknowledgment waits in `coming`.

mod classify;
mod recovery;
mod silence;

use super::cause::RttSamples;
use super::direction::PacketContext;
use super::estimator::Estimator;
use crate::answer::Kind;
use std::collections::VecDeque;

/// Maximum delay of an acknowledgment, which is part of the timer of a tail loss probe (RFC 8985
/// §7.2).
pub const DELAYED_ACK_NS: i64 = 200_000_000;
/// Shortest silence that counts as waiting for a timer.
const SILENCE_MIN_NS: i64 = 4_000_000;
/// A silence longer than this and than 1.5 RTTs can only have been ended by a timer.
const SILENT_NS: i64 = 200_000_000;
/// Maximum number of acknowledgments in flight to the sender. If there are more, the oldest one
/// takes effect early.
const COMING_MAX: usize = 1 << 12;
/// Number of duplicate acknowledgments that begins fast recovery (RFC 5681 §3.2).
const THRESHOLD: u32 = 3;
/// Maximum number of stored gaps.
const DOUBTS_MAX: usize = 64;
/// Longest time that a sender is assumed to take to respond to an acknowledgment.
const AT_ONCE_NS: i64 = 1_000_000;

/// Acknowledgment in flight to the sender.
#[derive(Debug, Clone, Copy, Default)]
pub struct Ack {
    /// Number of the frame in the capture.
    pub packet: u64,
    /// Earliest time at which packets that the acknowledgment releases can pass the capture.
    pub effective_ns: i64,
    /// Cumulative acknowledgment.
    pub ack: i64,
    /// True for a duplicate ACK.
    pub is_duplicate: bool,
    /// True if this ACK advances after the receiver has reported a gap. Such an acknowledgment is
    /// not delayed (RFC 5681 §4.2).
    pub fills_gap: bool,
    /// End of the highest SACK block.
    pub sacked_to: i64,
    /// Lowest end of a segment that was sent only once and that this ACK acknowledges for the first
    /// time; `i64::MAX` without such data.
    pub original_end: i64,
    /// Receive window in bytes, scaled.
    pub window: i64,
    /// Start of the highest SACK block; 0 without one.
    pub sacked_from: i64,
    /// Transmission time of the newest data that the ACK acknowledges.
    pub newest_ns: i64,
    /// RTT sample of the sender from this ACK; none if the ACK yields no sample.
    pub rtt_ns: Option<i64>,
    /// Timestamp value; none without timestamps.
    pub timestamp_value: Option<u32>,
    /// Longest time for which the receiver can have delayed the ACK; none if unknown.
    pub held_ns: Option<i64>,
    /// Bytes of retransmissions that the ACK reports as arrived for the first time.
    pub repaired_bytes: i64,
}

/// State of loss recovery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum State {
    /// No known losses.
    #[default]
    Open,
    /// Fast recovery until this position is acknowledged.
    Recovery(i64),
    /// Recovery after a timeout until this position is acknowledged.
    Loss(i64),
}

/// A retransmission to classify.
#[derive(Debug, Clone, Copy, Default)]
pub struct UnclassifiedRetransmission {
    /// Time of the retransmission.
    pub time_ns: i64,
    /// Position of the first byte.
    pub start: i64,
    /// Position after the last byte.
    pub end: i64,
    /// Time of the previous copy.
    pub previous_ns: i64,
    /// False if no previous copy was captured. `previous_ns` is then the time of later data.
    pub is_previous_known: bool,
    /// Earliest time at which the previous copy can have been sent.
    pub earliest_previous_ns: i64,
    /// Position after everything sent so far.
    pub snd_max: i64,
    /// True if the capture is nearer to the receiver, so that packets may be lost before it.
    pub is_far: bool,
    /// True if queues of unknown length before the capture make the time of sending uncertain.
    pub is_time_unknown: bool,
    /// True if the retransmission follows other data without a gap, behind a busy bottleneck.
    pub is_queued: bool,
    /// True if other data follow before an acknowledgment can have released them.
    pub is_followed: bool,
    /// True if the previous copy waited for longer than the timer lasts.
    pub has_outlasted_timer: bool,
}

/// Kind of a retransmission, with its confidence.
#[derive(Debug, Clone, Copy)]
pub struct Classification {
    /// Kind of the retransmission.
    pub kind: Kind,
    /// Number of consecutive timeouts.
    pub number: u32,
    /// Probability that `kind` is correct.
    pub confidence: f64,
    /// True for the first retransmission of an episode.
    pub begins_episode: bool,
    /// True if the retransmission shows that the last timeout was not undone.
    pub refutes_undo: bool,
    /// Time since the timer was set.
    pub waited_ns: i64,
    /// RTO predicted, backoff included.
    pub rto_ns: i64,
}

/// The sender of one direction.
#[derive(Default)]
pub struct Sender {
    /// Estimator of the RTO.
    pub estimator: Estimator,
    /// Highest cumulative acknowledgment that has reached the sender.
    pub snd_una: i64,
    /// Latest receive window that has reached the sender, if its scale is known.
    pub window: Option<i64>,
    /// State of loss recovery.
    pub state: State,
    /// True once the sender has reduced its congestion window.
    pub has_reduced: bool,
    /// True if the sender has undone the reduction of a timeout and the episode does not record
    /// this yet.
    pub has_undone: bool,
    /// Position at which the recovery from a timeout would have ended, if it was undone.
    undone_until: Option<i64>,
    /// True if the last reduction came from ECN.
    pub is_reduced_by_ecn: bool,
    /// RTT samples.
    pub rtts: RttSamples,
    /// Minimum RTT sample; none before the first.
    pub rtt_min_ns: Option<i64>,
    /// RTT of the SYN; none if unknown.
    syn_rtt_ns: Option<i64>,
    timer_ns: i64,
    timer_before_ns: i64,
    ack_ns: i64,
    sent_ns: i64,
    duplicates: u32,
    /// Time at which the third duplicate of an acknowledgment took effect, if it did.
    pub(super) third_ns: Option<i64>,
    /// Time from `third_ns` to the first retransmission: the delay in queues before the capture.
    pub(super) queue_ns: i64,
    sacked_to: i64,
    /// Length of the highest SACK block of the last acknowledgment; 0 without one.
    sacked_bytes: i64,
    /// Most recent ranges that duplicate ACKs and SACK blocks reported as missing.
    doubts: VecDeque<(i64, i64)>,
    /// Transmission time of the newest acknowledged data (RACK).
    newest_ns: i64,
    /// Earlier value of `newest_ns`, and the time at which it was last exceeded.
    newest_before: (i64, i64),
    /// Time at which recovery began.
    recovery_ns: i64,
    /// Time at which the third duplicate ACK began this recovery.
    trigger_ns: i64,
    /// True if acknowledgments have shown that the last timeout was needless.
    pub last_timeout_was_needless: bool,
    /// False if the last timeout occurred in fast recovery. The timeout then inherits the undo
    /// state of that recovery, and Linux uses neither F-RTO nor timestamps to detect that the
    /// timeout was needless (`tcp_enter_loss`).
    may_undo: bool,
    /// Time of the last timeout.
    timeout_ns: i64,
    /// True once SACK blocks have arrived.
    pub(super) has_sack: bool,
    /// True if the sender retransmits the next lost segment at a partial ACK; `None` if unknown.
    repairs_next: Option<bool>,
    /// True if the end of a fast recovery began the next one, which has retransmitted nothing yet.
    continues_recovery: bool,
    /// Position at which the last fast recovery would have ended if a partial acknowledgment had
    /// not ended it.
    left_before: i64,
    /// True if a partial acknowledgment has arrived and no retransmission has followed yet.
    has_partial: bool,
    /// Numbers of new segments between the last two retransmissions, and since the last one.
    new_segments: [u32; 2],
    /// End of the last retransmission, and its time.
    resent_to: i64,
    resent_ns: i64,
    /// True if fast recovery has sent the last retransmission.
    has_repaired: bool,
    timeouts: u32,
    /// True once the sender has sent Linux's initial window before the first acknowledgment.
    has_first_of_linux: bool,
    has_probed: bool,
    /// Balance of first expiries of a timer: the number of those that retransmitted the last
    /// segment (tail loss probes), minus the number of those that retransmitted the first
    /// unacknowledged segment (timeouts).
    probes: i32,
    coming: VecDeque<Ack>,
    /// Timestamp value of the last acknowledgment that has reached the sender.
    last_value: Option<u32>,
}

impl Sender {
    /// Handles an acknowledgment that passes the capture.
    pub fn enqueue_ack(&mut self, ack: Ack) {
        // Acknowledgments do not overtake each other, so the round trip assumed for earlier ones
        // was too long.
        for earlier in self.coming.iter_mut().rev() {
            if earlier.effective_ns <= ack.effective_ns {
                break;
            }
            earlier.effective_ns = ack.effective_ns;
        }
        self.coming.push_back(ack);
        if self.coming.len() > COMING_MAX {
            let first = self.coming.front().map_or(0, |ack| ack.effective_ns);
            while self.pop_effective_ack(first, i64::MAX).is_some() {}
        }
    }

    /// Removes and returns the next acknowledgment that takes effect by this time.
    pub fn pop_effective_ack(&mut self, until_ns: i64, sent_to: i64) -> Option<Ack> {
        let ack = *self.coming.front()?;
        if ack.effective_ns > until_ns {
            return None;
        }
        self.coming.pop_front();
        self.take(&ack, sent_to);
        Some(ack)
    }

    /// Removes and returns the next acknowledgment if the sender had received it when it sent a
    /// packet, as the timestamp that the packet echoes proves, or else its time and `may_have`.
    pub fn pop_received_ack(
        &mut self,
        now: &PacketContext,
        sent_to: i64,
        may_have: impl Fn(&Ack) -> bool,
    ) -> Option<Ack> {
        let (mut ack, sent_ns) = (*self.coming.front()?, now.sent_ns);
        let value = ack.timestamp_value;
        let age = now.echo.zip(value).map(|(echo, value)| value.wrapping_sub(echo) as i32);
        // Acknowledgments of one tick have equal timestamps, and the sender echoes that of the
        // first one already.
        let is_other = self.last_value != value;
        let is_proven = age.is_some_and(|newer| newer < 0 || is_other);
        if age > Some(0) || (!is_proven && (ack.effective_ns > sent_ns || !may_have(&ack))) {
            return None;
        }
        self.coming.pop_front();
        ack.effective_ns = ack.effective_ns.min(sent_ns);
        self.take(&ack, sent_to);
        Some(ack)
    }

    /// Delays acknowledgments that the sender had not received when it sent a packet at this time.
    pub fn delay_acks(&mut self, sent_ns: i64) {
        for ack in self.coming.iter_mut().take_while(|ack| ack.effective_ns < sent_ns) {
            ack.effective_ns = sent_ns;
        }
    }

    /// True if the next acknowledgment takes effect by this time.
    pub fn awaits_ack_until(&self, time_ns: i64) -> bool {
        self.coming.front().is_some_and(|ack| ack.effective_ns <= time_ns)
    }

    /// Acknowledgments on their way.
    pub fn coming(&self) -> impl Iterator<Item = &Ack> {
        self.coming.iter()
    }

    /// Frame of the acknowledgment in flight to the sender that covers the data before `end`.
    pub fn frame_acking(&self, end: i64) -> Option<u64> {
        self.coming.iter().find(|ack| ack.ack >= end).map(|ack| ack.packet)
    }

    /// Number of consecutive timeouts.
    pub fn backoff(&self) -> u32 {
        self.timeouts
    }

    /// True outside loss recovery.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    fn take(&mut self, ack: &Ack, sent_to: i64) {
        self.on_packet_after_partial_ack(false);
        self.window = (ack.window >= 0).then_some(ack.window);
        self.ack_ns = ack.effective_ns;
        self.last_value = ack.timestamp_value;
        self.sacked_to = self.sacked_to.max(ack.sacked_to);
        self.sacked_bytes = if ack.sacked_from > 0 { ack.sacked_to - ack.sacked_from } else { 0 };
        if ack.newest_ns > self.newest_ns {
            self.note_newest(ack);
        }
        self.has_sack |= ack.sacked_from > 0;
        if let Some(rtt) = ack.rtt_ns {
            // An ACK with SACK blocks yields no RTT sample: the data that it acknowledges may have
            // waited for a gap to be filled.
            if self.snd_una > 0 && ack.sacked_from == 0 {
                self.rtts.push(rtt);
            }
            // A SYN is excluded from the minimum, because it is transmitted faster than a full
            // segment.
            if self.snd_una > 0 {
                self.rtt_min_ns = Some(self.rtt_min_ns.map_or(rtt, |least| least.min(rtt)));
            } else {
                self.syn_rtt_ns = Some(rtt);
            }
            self.estimator.on_rtt(rtt, ack.ack, sent_to.min(i64::MAX - 1));
        }
        if self.detects_by_frto(ack.original_end) {
            self.undo_timeout();
        }
        self.note_doubt(ack);
        if ack.ack > self.snd_una {
            self.snd_una = ack.ack;
            self.timer_before_ns = std::mem::replace(&mut self.timer_ns, ack.effective_ns);
            (self.duplicates, self.timeouts, self.has_probed) = (0, 0, false);
            self.end_recovery(ack.ack, sent_to);
        } else if ack.is_duplicate {
            self.duplicates += 1;
            if self.duplicates == THRESHOLD {
                self.third_ns = Some(ack.effective_ns);
            }
        }
    }

    /// Handles new data or a SYN.
    pub fn on_new_data(&mut self, time_ns: i64, was_idle: bool) {
        if was_idle {
            self.timer_ns = time_ns;
        }
        self.sent_ns = time_ns;
        self.new_segments[1] += 1;
    }

    /// Classifies a retransmission, and updates the state of the sender.
    pub fn on_retransmission(&mut self, attempt: &UnclassifiedRetransmission) -> Classification {
        let timeouts = self.timeouts;
        let silence = attempt.time_ns - self.ack_ns.max(self.sent_ns);
        self.on_packet_after_partial_ack(silence < AT_ONCE_NS);
        self.resume_recovery(attempt);
        let refutes_undo = self.refutes_undo(attempt);
        let (kind, confidence) = self.classify(attempt);
        self.has_repaired = matches!(kind, Kind::Fast | Kind::Recovery);
        let waited_ns = attempt.time_ns - self.timer_ns;
        let begins = match kind {
            Kind::Timeout => self.timeouts > timeouts,
            Kind::Fast | Kind::TailLossProbe => true,
            _ => false,
        };
        let is_first = kind == Kind::Timeout && begins && self.timeouts == 1;
        // Queues of unknown length change the measured wait. With SACK blocks, new data may follow
        // while the sender waits.
        let is_measured = silence > waited_ns / 5 * 4 || self.estimator.predicts(waited_ns);
        if is_first && !attempt.is_time_unknown && is_measured {
            let (is_linux, is_far) = (self.has_first_of_linux, attempt.is_far);
            self.estimator.compare_with_timeout(waited_ns, is_linux, is_far && !self.has_probed);
        }
        // The timer is that of the first unacknowledged segment; other retransmissions do not
        // restart it.
        if attempt.start <= self.snd_una || kind == Kind::TailLossProbe {
            self.timer_ns = attempt.time_ns;
        }
        self.sent_ns = attempt.time_ns;
        (self.resent_to, self.resent_ns) = (attempt.end, attempt.time_ns);
        self.new_segments = [self.new_segments[1], 0];
        Classification {
            kind,
            number: self.timeouts,
            confidence,
            begins_episode: begins,
            refutes_undo,
            waited_ns,
            rto_ns: self.estimator.backed_off_rto_ns(timeouts),
        }
    }

    /// End of the highest SACK block, and number of duplicate ACKs, that have reached the sender.
    pub fn reported_arrivals(&self) -> (i64, i64) {
        (self.sacked_to, i64::from(self.duplicates))
    }
}
