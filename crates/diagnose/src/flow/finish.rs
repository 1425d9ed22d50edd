//! Diagnosis of a flow after its last packet.

use super::cause::{self, LossEvidence};
use super::certainty::{self, View};
use super::direction::{Direction, EpisodeRecord};
use super::evidence::{before, spurious, unknown};
use super::packet_log::{Observed, Verdict};
use super::record::RetransmissionRecord;
use super::{Flow, Loop};
use crate::answer::{self, Cause, Evidence, Kind, Necessity, Proof};
use std::collections::HashSet;

const NS: f64 = 1e-9;
/// The capture counts as being at an endpoint if the round trip to this endpoint is less than this
/// share of the whole round trip.
const AT_END: f64 = 0.12;

/// Number of round trips within which two episodes count as recovery from the same losses (an
/// arbitrary choice).
const SAME_RTTS: i64 = 2;
/// Maximum of the reported confidence in congestion as a cause. The value is the measured fraction
/// of these verdicts that are correct: 1,201 of 1,602 in 2,400 downloads, captured at three places
/// (tools/diagnose_truth.py).
const CONGESTION_MAX: f64 = 0.75;
/// Congestion is named as the cause only if its estimated probability is at least this. The
/// confidence that is then reported is limited by `CONGESTION_MAX`.
const SURE_CONGESTION: f64 = 0.87;
/// Probability that the policer caused a loss, for a flow that passes a policer.
const POLICED: f64 = 0.9;
/// A loss of the channel is named as the cause only if its estimated probability is at least this.
const SURE: f64 = 0.7;

/// Numbers of retransmissions in an episode.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    sent: u32,
    unnecessary: u32,
}

/// Place of the capture relative to the sender of the data.
fn place(sender: &Loop, receiver: &Loop) -> &'static str {
    let (Some(sender), Some(receiver)) = (sender.least_ns, receiver.least_ns) else {
        return "unknown";
    };
    let share = sender as f64 / (sender + receiver).max(1) as f64;
    match share {
        // A whole round trip of less than a microsecond is too short to determine the place of the
        // capture.
        _ if sender + receiver < 1_000 => "unknown",
        share if share < AT_END => "sender",
        share if share > 1.0 - AT_END => "receiver",
        _ => "middle",
    }
}

impl Flow {
    /// All observed packets of the flow, if they were recorded.
    fn observed(&mut self, data: usize) -> Option<Observed> {
        let half = &mut self.halves[data];
        let packet_log = *half.packet_log.take()?;
        let heads: HashSet<usize> = half.timeouts.iter().map(|it| it.index as usize).collect();
        let verdict = |(index, record): (usize, &RetransmissionRecord)| Verdict {
            kind: record.kind,
            is_by_timeout_alone: record.kind == Kind::Timeout
                && !heads.contains(&index)
                && record.proof.evidence == Evidence::None,
            needless: record.needless,
            confidence: record.needless_confidence,
            has_dsack: record.has_dsack,
        };
        Some(Observed {
            packet_log,
            verdicts: half.records.all.iter().enumerate().map(verdict).collect(),
            syns: [self.syns[data], self.syns[1 - data]],
            sender_opened: self.opener_of_handshake().map(|opener| opener == data),
            syn_ns: [self.syn_ns[data], self.syn_ns[1 - data]],
            handshake_ns: [self.handshake_ns[data], self.handshake_ns[1 - data]],
            completing_bytes: self.completing_bytes,
            loops_ns: [self.loops[data].least_ns, self.loops[1 - data].least_ns],
            is_ipv6: self.ends[0].is_ipv6(),
            has_timestamps: self.has_stamps,
        })
    }

    /// Index of the side that sent more data; and true if the capture contains packets of only one
    /// direction.
    fn data_side(&self) -> (usize, bool) {
        let missing = [self.halves[0].not_captured, self.halves[1].not_captured];
        let is_unseen = self.payload == [0; 2] && missing != [0; 2];
        let is_one_way = self.packets.contains(&0) || is_unseen;
        // Without captured data, the acknowledged bytes show which side sent them.
        let [one, other] = if is_unseen { missing } else { self.payload };
        (usize::from(other > one), is_one_way)
    }

    /// Pattern of handshake options that the other end refused or the path removed.
    fn negotiation(&self) -> Option<answer::Pattern> {
        let opener = self.opener_of_handshake()?;
        let [Some(one), Some(other)] = &self.syns else { return None };
        let syns = if opener == 0 { [one, other] } else { [other, one] };
        self.negotiation.finish(syns, opener)
    }

    /// Place of the capture, and the options, seen from the side that sent the data.
    fn view(&self, data: usize) -> View<'static> {
        let place = place(&self.loops[data], &self.loops[1 - data]);
        View { place, has_timestamps: self.has_stamps }
    }

    /// Diagnosis of the flow, and all packets if they were recorded.
    pub(super) fn finish(mut self, number: usize) -> (answer::Flow, Option<Observed>) {
        let end_ns = self.elapsed_ns(self.last_ns);
        let (data, is_one_way) = self.data_side();
        let ends = self.close(end_ns);
        let picture = self.recorders.take().map(|recorders| {
            let [one, other] = *recorders;
            if data == 0 { one.finish() } else { other.finish() }
        });
        let mut retransmissions = Vec::new();
        for side in [data, 1 - data] {
            self.halves[side].judge(place(&self.loops[side], &self.loops[1 - side]));
            let from = self.ends[side].to_string();
            let records = &self.halves[side].records.all;
            retransmissions.extend(records.iter().map(|record| answer_of(record, &from)));
        }
        // Retransmissions of both directions are listed in the order of the capture.
        retransmissions.sort_by_key(|record| record.packet);
        let observed = self.observed(data);
        let (life_s, bytes) = (ends[data] as f64 * NS, self.payload[data]);
        let seconds = |of: &Loop| of.least_ns.map(|ns| ns as f64 * NS);
        let [one, other] = &mut self.halves;
        let mut half = std::mem::take(if data == 0 { one } else { other });
        let acknowledged_bytes = if is_one_way { bytes } else { bytes - half.pending(bytes) };
        let is_short = certainty::is_short(bytes, half.detectors.pauses.response_count());
        let acks_wait = half.detectors.queueing.acks_wait();
        let mut patterns = half.patterns(ends[data]);
        patterns.extend(self.negotiation());
        let episodes = half.answers();
        let mut limits = half.account.limits(|index| limiting_cause(&episodes, index));
        // With packets of only one direction, it is unknown which acknowledgments the sender had
        // received. Without most of the data, it is unknown when they were sent.
        if is_one_way || 2 * half.not_captured > bytes {
            limits = answer::Limits { unknown: life_s, ..answer::Limits::default() };
        }
        half.add_small_buffer(&mut patterns, &limits, life_s);
        let view = self.view(data);
        let flow = answer::Flow {
            number,
            picture,
            between: None,
            name: format!("{} > {}", self.ends[data], self.ends[1 - data]),
            place: view.place,
            sender_loop_s: seconds(&self.loops[data]),
            receiver_loop_s: seconds(&self.loops[1 - data]),
            life_s,
            packets: self.packets.iter().sum(),
            is_one_way,
            has_cut_syn: self.syns.iter().flatten().any(|syn| syn.is_truncated),
            bytes,
            acknowledged_bytes,
            goodput_bit_s: rate_bit_s(acknowledged_bytes, life_s),
            timer: half.sender.estimator.profile(),
            limited_by: limits,
            acks_wait,
            certainty: view.shares(half.has_trouble(), is_short, acks_wait)
                * (1.0 - limits.unknown_s() / life_s.max(1e-9)).clamp(0.0, 1.0),
            episodes,
            timeouts: half.history(),
            retransmissions,
            capture_duplicates: self.copies.iter().map(|copies| copies.copies_found).sum(),
            not_captured_bytes: half.not_captured
                + self.halves.iter().map(|half| half.not_captured).sum::<i64>(),
            reordered: half.reordered + self.halves.iter().map(|half| half.reordered).sum::<u64>(),
            ends_in_mid_write: half.has_more && !self.is_over && !self.fins[data],
            stalls: half.account.into_stalls(),
            patterns,
        };
        (flow, observed)
    }
}

fn rate_bit_s(bytes: i64, seconds: f64) -> f64 {
    if seconds > 0.0 { 8.0 * bytes as f64 / seconds } else { 0.0 }
}

/// Cause of the time that an episode limits the flow: a timeout during a recovery has the cause of
/// the recovery, as in simulations.
fn limiting_cause(episodes: &[answer::Episode], index: usize) -> Cause {
    let is_within_another = |at: &usize| {
        let before = at.checked_sub(1).and_then(|before| episodes.get(before));
        episodes[*at].kind == "rto" && before.is_some_and(|before| before.end_s.is_none())
    };
    let first = (0..=index).rev().find(|at| !is_within_another(at));
    episodes[first.unwrap_or(index)].cause
}

impl Direction {
    /// Number of payload bytes, of these, that were not acknowledged when the capture ended.
    fn pending(&self, bytes: i64) -> i64 {
        (self.scoreboard.end - self.sender.snd_una).clamp(0, bytes)
    }

    /// True after timeouts and needless retransmissions.
    fn has_trouble(&self) -> bool {
        let is_needless = |record: &RetransmissionRecord| record.needless == Necessity::Yes;
        !self.timeouts.is_empty() || self.records.all.iter().any(is_needless)
    }

    /// Adds the evidence that depends on the place of the capture, and judges the retransmissions
    /// that have no other evidence.
    fn judge(&mut self, place: &str) {
        let has_dsack = self.has_dsack;
        let has_timestamps = self.records.all.iter().any(|it| it.timestamp_value.is_some());
        let view = View { place, has_timestamps };
        for record in &mut self.records.all {
            record.kind_confidence = record.kind_confidence.min(view.kind_max(record));
            let sure = |evidence, packet| Proof { evidence, packet };
            match (place, record.original) {
                ("receiver", Some(original)) => {
                    let proof = sure(Evidence::ArrivedBefore, Some(original));
                    record.add_proof(Necessity::Yes, certainty::ARRIVED_BEFORE, proof);
                }
                ("receiver" | "middle", None) => {
                    record.add_proof(Necessity::No, 0.991, sure(Evidence::NotSeen, None));
                }
                _ => {}
            }
            let is_go_back_n = record.kind == Kind::Timeout && record.is_copy_unknown;
            if record.needless == Necessity::Unknown && record.is_acked && !is_go_back_n {
                let (confidence, evidence) = match has_dsack {
                    true => (certainty::NO_DSACK, Evidence::NoDsack),
                    false => (certainty::NO_EVIDENCE, Evidence::None),
                };
                record.add_proof(Necessity::No, confidence, sure(evidence, None));
            }
        }
    }

    /// Episodes with their causes.
    fn answers(&self) -> Vec<answer::Episode> {
        let counts = self.counts();
        let judgments = self.judgments(&counts);
        let one = |index: usize| self.episode(index, counts[index], judgments[index].as_ref());
        (0..judgments.len()).map(one).collect()
    }

    /// Numbers of retransmissions in each episode.
    fn counts(&self) -> Vec<Counts> {
        let mut counts = vec![Counts::default(); self.episodes.len()];
        for record in &self.records.all {
            if let Some(of) = record.episode.and_then(|index| counts.get_mut(index)) {
                of.sent += 1;
                of.unnecessary += u32::from(record.needless == Necessity::Yes);
            }
        }
        counts
    }

    /// Evidence for the cause of each episode's loss, from the RTTs before all losses of the flow.
    fn judgments(&self, counts: &[Counts]) -> Vec<Option<LossEvidence>> {
        let one = |(episode, counts): (&EpisodeRecord, &Counts)| {
            let trigger = &self.records.all[episode.trigger as usize];
            let is_loss = trigger.needless != Necessity::Yes;
            let judgment = is_loss.then(|| self.sender.rtts.evaluate(episode.rtt_ns)).flatten();
            judgment.map(|it| it.with_episode(episode, counts.sent - counts.unnecessary))
        };
        let mut judgments: Vec<_> = self.episodes.iter().zip(counts).map(one).collect();
        let is_known = |(judgment, _): &(&Option<LossEvidence>, _)| judgment.is_some();
        let losses = judgments.iter().zip(&self.episodes).filter(is_known);
        let mut gaps_ns: Vec<i64> = Vec::new();
        // A loss during a recovery does not begin another one. Nor does it during `SAME_RTTS`: if
        // the capture is not at the sender, one recovery may look like several.
        let mut ready_ns = None;
        for (_, episode) in losses {
            let gap_ns = ready_ns.map(|ready_ns| episode.start_ns - ready_ns);
            gaps_ns.extend(gap_ns.filter(|ns| *ns >= 0));
            let from_now = episode.start_ns + SAME_RTTS * episode.rtt_ns;
            let ends = if gap_ns.is_some_and(i64::is_negative) { ready_ns } else { Some(from_now) };
            ready_ns = ends.max(episode.end_ns);
        }
        cause::adjust_to_all_losses(&mut judgments, &gaps_ns);
        judgments
    }

    fn episode(
        &self,
        index: usize,
        counts: Counts,
        judgment: Option<&LossEvidence>,
    ) -> answer::Episode {
        let episode = &self.episodes[index];
        let records = &self.records.all;
        let trigger = &records[episode.trigger as usize];
        let congestion = judgment.map(|judgment| judgment.congestion_probability);
        let mut evidence = Vec::new();
        let (cause, confidence) = if trigger.needless == Necessity::Yes {
            evidence.push(spurious(trigger));
            (Cause::Spurious, trigger.needless_confidence)
        } else {
            evidence.extend(judgment.map(|it| before(trigger, episode.rtt_ns, it)));
            match congestion {
                // Drops by a policer count as congestion, because the sender exceeds the permitted
                // rate.
                _ if self.is_policed => (Cause::Congestion, POLICED),
                // Congestion is named only if the bottleneck was filled before, because a queue
                // overflows only if a sender fills it.
                Some(share) if share >= SURE_CONGESTION && episode.was_bottleneck_limited => {
                    (Cause::Congestion, share.min(CONGESTION_MAX))
                }
                Some(share) if share <= 1.0 - SURE => (Cause::Wireless, 1.0 - share),
                _ => {
                    let was_filled = episode.was_bottleneck_limited;
                    evidence.push(unknown(congestion, was_filled));
                    (Cause::Unknown, 0.0)
                }
            }
        };
        answer::Episode {
            kind: if episode.is_timeout { "rto" } else { "fast_retransmit" },
            start_s: episode.start_ns as f64 * NS,
            end_s: episode.end_ns.map(|ns| ns as f64 * NS),
            trigger: trigger.packet,
            cause,
            congestion_probability: congestion,
            evidence,
            confidence,
            retransmitted: counts.sent,
            unnecessary: counts.unnecessary,
        }
    }

    fn history(&self) -> Vec<answer::Timeout> {
        let one = |timeout: &super::direction::TimeoutRecord| {
            let record = &self.records.all[timeout.index as usize];
            answer::Timeout {
                packet: record.packet,
                time_s: record.time_ns as f64 * NS,
                number: record.consecutive_timeouts,
                waited_s: timeout.waited_ns as f64 * NS,
                rto_s: timeout.rto_ns as f64 / 1e9,
            }
        };
        self.timeouts.iter().map(one).collect()
    }
}

fn answer_of(record: &RetransmissionRecord, from: &str) -> answer::Retransmission {
    answer::Retransmission {
        packet: record.packet,
        time_s: record.time_ns as f64 * NS,
        seq: record.start,
        length_bytes: record.length_bytes,
        from: from.to_owned(),
        kind: record.kind,
        number: (record.kind == Kind::Timeout).then_some(record.consecutive_timeouts),
        needless: record.needless,
        confidence: record.kind_confidence.min(record.needless_confidence),
        kind_confidence: record.kind_confidence,
        proof: record.proof,
        arrived: None,
        original: record.original,
    }
}
