//! Policer: a token bucket drops packets that exceed a rate, and delays none.
//!
//! Tokens accumulate at the policer's rate up to the bucket's size, and each packet that passes
//! takes tokens for its bytes. A loss shows that the bucket is empty. A policer explains the losses
//! if, for some rate and size, the bucket is empty at the later losses as well, but rarely at other
//! times. A channel loses packets at any level of the bucket. A full queue loses packets like a
//! policer with the rate of its link. But packets wait in a queue, so the RTT before a loss
//! distinguishes the two.
//!
//! Flach et al. ("An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016) use the same idea
//! with a bucket of unlimited size.

use super::SentPacket;
use crate::answer::Pattern;

/// Minimum number of losses for a judgment (Flach et al. §3.1).
const LOSSES_MIN: usize = 15;
/// Minimum number of loss bursts, and of those between which the sender has reacted: the round
/// trips at the losses may be much longer than the least one. A burst lasts at least one round
/// trip, because a sender needs this time to react. It counts as one, however many packets it
/// loses: a single slow start that overflows a queue loses packets dozens of times, all for the
/// same reason.
const BURSTS_MIN: usize = 5;
/// Number of segments below which the bucket counts as empty.
const SEGMENTS: f64 = 2.0;
/// Number of tokens, in addition to [`SEGMENTS`], below which the bucket counts as empty, as a
/// fraction of the bytes forwarded since the last loss. The addition allows for the error of the
/// assumed rate.
const TOLERANCE: f64 = 0.01;
/// Minimum fraction of the loss bursts that must find the bucket empty.
const EMPTY: f64 = 0.8;
/// Significance level: a policer is assumed only if the probability that the same number of bursts
/// at random times would find the bucket empty at least as often is at most this value. That
/// probability is first multiplied by the number of rates and sizes that are tried.
const CHANCE_MAX: f64 = 1e-3;
/// Number of rates that are tried, first from 0.95 to 3 times the forwarded rate, and then around
/// the best of these.
const RATES: usize = 60;
const CLOSER: usize = 21;
/// Number of bucket sizes that are tried: from 4 segments on, each twice the previous size.
const SIZES: usize = 12;
/// A rate counts as explaining the losses as well as the best rate if its [`Score::gain`] is lower
/// by at most this difference (an arbitrary choice).
const SIMILAR: f64 = 0.02;
/// Ratio of the largest to the smallest of the rates that explain the losses, from which on their
/// range is printed instead of one rate (an arbitrary choice).
const WIDE: f64 = 1.1;
/// Maximum median delay before a loss, times the policer's rate, as a fraction of the largest
/// number of tokens in the bucket. At a full queue of that size the fraction would be 1.
const WAIT_MAX: f64 = 0.3;

/// Least fraction of the flow's RTTs that are as long as that before a loss, in the median of the
/// losses. A full queue makes the RTT before a loss one of the longest; a policer drops at any RTT.
const LONGER_MIN: f64 = 0.3;

/// Maximum number of samples of the bytes sent; at this number, every second one is discarded.
const SAMPLES: usize = 256;
/// Bytes of the headers of a packet (IPv4, TCP with timestamps), which a policer counts, too.
const HEADERS: i64 = 52;

/// Copy of a segment that may have been lost.
#[derive(Debug, Clone, Copy)]
struct Loss {
    /// Index of the retransmission that repairs the loss.
    record: u32,
    time_ns: i64,
    /// Time of that retransmission.
    repaired_ns: i64,
    /// Bytes that had passed the capture before this copy, and those of this copy that have.
    sent: i64,
    captured: i64,
    length: i64,
}

/// Bytes and losses of one direction.
#[derive(Debug, Default)]
pub struct PolicerDetector {
    sent: i64,
    losses: Vec<Loss>,
    samples: Vec<(i64, i64)>,
    stride: u32,
    skipped: u32,
}

impl PolicerDetector {
    /// Adds the bytes of data that pass the capture.
    pub fn on_data(&mut self, sent: &SentPacket) {
        self.sent += sent.payload_bytes + HEADERS;
        // Before the first loss, the level of the bucket is unknown.
        if self.losses.is_empty() {
            return;
        }
        self.skipped += 1;
        if self.skipped >= self.stride.max(1) {
            self.skipped = 0;
            self.samples.push((sent.time_ns, self.sent));
        }
        if self.samples.len() == SAMPLES {
            let mut index = 0;
            self.samples.retain(|_| {
                index += 1;
                index % 2 == 0
            });
            self.stride = 2 * self.stride.max(1);
        }
    }

    /// Bytes sent so far.
    pub fn sent(&self) -> i64 {
        self.sent
    }

    /// Records the loss of the copy sent at `time_ns`, which a retransmission repairs. `sent` bytes
    /// had passed the capture by then, with that copy if it `was_captured`.
    pub fn on_loss(
        &mut self,
        record: u32,
        (time_ns, sent): (i64, i64),
        length: i64,
        was_captured: bool,
    ) {
        let length = length + HEADERS;
        let captured = if was_captured { length } else { 0 };
        let (repaired_ns, sent) = (time_ns, sent - captured);
        self.losses.push(Loss { record, time_ns, repaired_ns, sent, captured, length });
    }

    /// Pattern of a policer, if one explains the losses. `repaired_ns` returns the time of a
    /// retransmission whose earlier copy was lost; `rtts_ns` are the RTTs before losses,
    /// `longer` the fractions of all RTTs that are at least as long, and `least_ns` is the least
    /// RTT.
    pub fn finish(
        mut self,
        repaired_ns: impl Fn(u32) -> Option<i64>,
        (rtts_ns, longer): (&[i64], &[f64]),
        least_ns: Option<i64>,
    ) -> Option<Pattern> {
        self.losses.retain_mut(|loss| {
            let time_ns = repaired_ns(loss.record);
            loss.repaired_ns = time_ns.unwrap_or(loss.time_ns);
            time_ns.is_some()
        });
        if self.losses.len() < LOSSES_MIN {
            return None;
        }
        // Retransmissions repair losses in another order than that in which they happened.
        self.losses.sort_by_key(|loss| loss.time_ns);
        let (events, segment) = self.events(least_ns.unwrap_or(0));
        let bursts = events.iter().filter(|event| event.kind == EventKind::Burst).count();
        if bursts.min(self.reactions()) < BURSTS_MIN {
            return None;
        }
        let (best, rates) = best(&events, segment);
        let mut waits: Vec<i64> = rtts_ns.iter().map(|rtt| rtt - least_ns.unwrap_or(0)).collect();
        waits.sort_unstable();
        let wait_ns = waits.get(waits.len() / 2).copied()?;
        let mut longer = longer.to_vec();
        longer.sort_unstable_by(f64::total_cmp);
        let is_any_rtt = longer.get(longer.len() / 2).is_none_or(|share| *share >= LONGER_MIN);
        let tries = (RATES + CLOSER) * SIZES;
        let is_policer = best.hits as f64 >= EMPTY * best.bursts as f64
            && best.chance() * tries as f64 <= CHANCE_MAX
            && best.rate * wait_ns as f64 <= WAIT_MAX * best.deepest
            && is_any_rtt;
        if !is_policer {
            return None;
        }
        let evidence = format!(
            "a token bucket of {} and about {:.0} kB is empty at {} of {} bursts of losses, and at \
             {:.0} % of all packets; the RTT before the losses is longer than the least by {:.1} \
             ms in the median, so that no queue was full",
            rate_of(rates),
            best.deepest * 1e-3,
            best.hits,
            best.bursts,
            best.share() * 100.0,
            wait_ns as f64 * 1e-6
        );
        Some(Pattern::new("policer", evidence, Vec::new(), 0.9))
    }

    /// Number of bursts of losses between which the sender has reacted: a burst lasts until the
    /// sender has repaired one of its losses.
    fn reactions(&self) -> usize {
        let (mut bursts, mut repaired_ns) = (0, i64::MIN);
        for loss in &self.losses {
            if loss.time_ns >= repaired_ns {
                (bursts, repaired_ns) = (bursts + 1, loss.repaired_ns);
            }
            repaired_ns = repaired_ns.min(loss.repaired_ns);
        }
        bursts
    }

    /// Bursts of losses, and samples between them, in the order of time; and the largest segment. A
    /// burst lasts at least `round_trip_ns`.
    fn events(&self, round_trip_ns: i64) -> (Vec<Event>, f64) {
        let segment = self.losses.iter().map(|loss| loss.length).max().unwrap_or(1) as f64;
        let mut samples = self.samples.iter().peekable();
        let mut events: Vec<Event> = Vec::new();
        let (mut lost, mut last, mut burst_ns) = (0, f64::NEG_INFINITY, None);
        for loss in &self.losses {
            while let Some((time_ns, sent)) = samples.next_if(|(_, sent)| *sent <= loss.sent) {
                let passed = (*sent - lost) as f64;
                if !events.is_empty() {
                    events.push(Event { time_ns: *time_ns, passed, kind: EventKind::Sample });
                }
            }
            // A bucket that stays empty drops several segments in a row.
            let passed = (loss.sent - lost) as f64;
            if passed - last > segment {
                let continues =
                    burst_ns.is_some_and(|burst_ns| loss.time_ns - burst_ns < round_trip_ns);
                let kind = if continues { EventKind::Continuation } else { EventKind::Burst };
                burst_ns = if continues { burst_ns } else { Some(loss.time_ns) };
                events.push(Event { time_ns: loss.time_ns, passed, kind });
            }
            last = passed;
            lost += loss.captured;
        }
        (events, segment)
    }
}

/// Text of the rate, or of its range if the rate is not known more precisely. The argument is in
/// bytes per nanosecond.
fn rate_of([least, most]: [f64; 2]) -> String {
    if most < WIDE * least {
        format!("{:.2} Mbit/s", (least + most) / 2.0 * 8e3)
    } else {
        format!("{:.2} to {:.2} Mbit/s", least * 8e3, most * 8e3)
    }
}

/// Number of bytes that have passed by a certain time, or before a loss.
#[derive(Debug, Clone, Copy)]
struct Event {
    time_ns: i64,
    passed: f64,
    kind: EventKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventKind {
    /// Packet that need not have been lost.
    Sample,
    /// First loss of a burst.
    Burst,
    /// Further loss of a burst.
    Continuation,
}

/// Result of the simulation of one bucket: how well it explains the losses.
#[derive(Debug, Clone, Copy, Default)]
struct Score {
    /// Bytes per nanosecond.
    rate: f64,
    bursts: usize,
    hits: usize,
    samples: usize,
    empty: usize,
    /// Largest number of tokens that a packet found in the bucket.
    deepest: f64,
}

impl Score {
    /// Fraction of all packets that find the bucket empty.
    fn share(&self) -> f64 {
        self.empty as f64 / self.samples.max(1) as f64
    }

    /// Fraction of the loss bursts that find the bucket empty, minus the fraction of all packets
    /// that do.
    fn gain(&self) -> f64 {
        self.hits as f64 / self.bursts.max(1) as f64 - self.share()
    }

    /// Upper bound (Chernoff) of the probability that bursts at random times find the bucket empty
    /// as often. Let n be the number of bursts, h the fraction of bursts that find the bucket
    /// empty, and f the fraction of all packets that find it empty. The bound is (f/h)^(nh) ·
    /// ((1−f)/(1−h))^(n(1−h)).
    fn chance(&self) -> f64 {
        let (n, f) = (self.bursts as f64, self.share().max(1e-3));
        let h = self.hits as f64 / n.max(1.0);
        if h <= f {
            return 1.0;
        }
        let rest = if h < 1.0 { (1.0 - h) * ((1.0 - f) / (1.0 - h)).ln() } else { 0.0 };
        (n * (h * (f / h).ln() + rest)).exp()
    }
}

/// Rate and size of the bucket that explain the losses best, and the range of the rates that
/// explain them about as well.
fn best(events: &[Event], segment: f64) -> (Score, [f64; 2]) {
    let (first, last) = (&events[0], &events[events.len() - 1]);
    let mean = (last.passed - first.passed) / (last.time_ns - first.time_ns).max(1) as f64;
    let step = (3.0f64 / 0.95).powf(1.0 / RATES as f64);
    let rates = (0..RATES).map(|index| 0.95 * mean * step.powi(index as i32));
    let mut scores: Vec<Score> = rates.flat_map(|rate| with_sizes(events, segment, rate)).collect();
    let coarse = best_of(&scores).rate;
    let place = |index: usize| index as f64 / (CLOSER - 1) as f64 * 2.0 - 1.0;
    let closer = (0..CLOSER).map(|index| coarse * (1.0 + place(index) * (step - 1.0)));
    scores.extend(closer.flat_map(|rate| with_sizes(events, segment, rate)));
    let best = best_of(&scores);
    let similar = scores.iter().filter(|it| it.gain() >= best.gain() - SIMILAR);
    let (least, most) = similar
        .fold((best.rate, best.rate), |(least, most), it| (least.min(it.rate), most.max(it.rate)));
    (best, [least, most])
}

fn best_of(scores: &[Score]) -> Score {
    let better = |one: Score, other: Score| if other.gain() > one.gain() { other } else { one };
    scores.iter().copied().reduce(better).unwrap_or_default()
}

/// Scores of buckets of all sizes that are filled at this rate.
fn with_sizes(events: &[Event], segment: f64, rate: f64) -> [Score; SIZES] {
    std::array::from_fn(|power| score(events, segment, rate, segment * f64::from(4 << power)))
}

/// Simulates a bucket, which is empty at each loss.
fn score(events: &[Event], segment: f64, rate: f64, size: f64) -> Score {
    let mut score = Score { rate, ..Score::default() };
    let (mut tokens, mut before, mut burst) = (0.0f64, events[0], events[0].passed);
    for event in &events[1..] {
        let grown = tokens + rate * (event.time_ns - before.time_ns) as f64;
        // The bucket is filled and emptied at the same time, so only the net inflow can overflow
        // it.
        tokens = (grown - (event.passed - before.passed)).clamp(0.0, size);
        before = *event;
        let is_empty = tokens <= SEGMENTS * segment + TOLERANCE * (event.passed - burst);
        if event.kind == EventKind::Sample {
            score.samples += 1;
            score.empty += usize::from(is_empty);
            score.deepest = score.deepest.max(tokens);
        } else {
            // A loss shows that the bucket was empty, so the simulated level is set to 0.
            let begins = event.kind == EventKind::Burst;
            score.bursts += usize::from(begins);
            score.hits += usize::from(begins && is_empty);
            (tokens, burst) = (0.0, event.passed);
        }
    }
    score
}
