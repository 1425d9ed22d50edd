//! Cause of a loss (congestion or the channel), judged by the RTT just before it.
//!
//! A queue that overflows is full, so the RTT is near its maximum; a channel loses packets at any
//! RTT. The likelihood of the RTT is compared under both causes. Under congestion the likelihood is
//! given by `OVERFLOW`; under a channel loss, by the fraction of the flow's RTTs that are close to
//! this one. A flow with a constant RTT, or with an RTT always near its maximum, gives little or no
//! evidence.
//!
//! Two more observations are used. A queue fills until it overflows, so under congestion the RTT
//! before the loss is the largest since the previous episode. And a congestion window that exceeds
//! the capacity of the path causes the loss of several segments at once more often than most
//! channels do.
//!
//! Channel losses occur at random intervals. A congestion window that repeatedly grows until the
//! same queue is full, or the same policer drops, causes losses at regular intervals. This holds
//! even if other flows keep the RTT constant, or if the queue is too short to be visible.

use super::direction::EpisodeRecord;

/// Number of bins of the histogram of RTTs, each 2 % wider than the previous one, from 10 µs.
const BINS: usize = 900;
const WIDTH: f64 = 0.02;
const LOWEST_NS: f64 = 1e4;

/// Boundaries of four parts of the range from the least RTT to the largest. `OVERFLOW` is the
/// fraction of overflows with an RTT in each part, rounded from simulated overflows of drop-tail
/// queues (tools/diagnose_truth.py).
const EDGES: [f64; 3] = [0.5, 0.8, 0.95];
const OVERFLOW: [f64; 4] = [0.11, 0.03, 0.10, 0.76];
/// Minimum number of RTT samples for a judgment.
const SAMPLES_MIN: u32 = 20;
/// Minimum difference between the largest and the least RTT, as a fraction of the least RTT. A
/// smaller difference reveals no queue.
const RANGE_MIN: f64 = 0.05;
/// Probability of congestion if the RTT reveals no queue.
const WITHOUT_QUEUE: f64 = 0.12;
/// Number of samples whose minimum is used as the RTT before a loss. The minimum is used because
/// delayed acknowledgments lengthen some samples, in particular the one before a loss: the receiver
/// waits for the segment that was lost.
const RECENT: usize = 3;

/// Constant term of the log odds of congestion. This term and the three weights below are rounded
/// results of a logistic regression over 2,785 episodes of 657 simulated flows. The flows had
/// random, bursty and timed losses, outages, and queues that were shared or not. Both causes have
/// equal weight in the regression.
const OFFSET: f64 = -2.0;
/// Weight of the log odds that follow from the RTT before the loss.
const BY_RTT: f64 = 0.5;
/// Weight of the share of the RTTs since the previous episode that are shorter than the RTT before
/// the loss.
const BY_SHORTER_RTTS: f64 = 1.7;
/// Weight of the logarithm of the number of segments lost; more than 8 segments count as 8.
const BY_LOST: f64 = 1.15;
const LOST_MAX: u32 = 8;
/// Minimum number of RTT samples since the previous episode to compute the share of shorter RTTs.
const SHORTER_SAMPLES_MIN: u32 = 5;

/// Number of iterations in which the share of overflows among the losses is estimated.
const ROUNDS: usize = 20;
/// Bounds of the estimated share of overflows among the losses. Weak evidence in many losses does
/// not add up to certainty, because the same unmodelled reasons (other flows, policers, queues too
/// short to be visible) may apply to all of them.
const SHARES: (f64, f64) = (0.1, 0.9);

/// Minimum number of intervals between losses for a judgment of their regularity.
const INTERVALS_MIN: usize = 8;
/// Losses count as regular if the standard deviation of their intervals, divided by the mean, is
/// less than this threshold. In simulations with Reno, SACK, CUBIC and BBR, this ratio was 0.53 to
/// 2.9 in 47 flows with random losses, and 0 to 0.25 in 8 of 20 flows with a shared or short queue
/// or a policer.
const REGULAR: f64 = 0.45;
/// Factor by which losses at regular intervals are more likely under congestion than with random
/// losses: 8/20 divided by 3/47, the upper 95 % bound of 0 of 47 (from the flows above), rounded.
const REGULAR_RATIO: f64 = 6.0;
/// Least probability of congestion for regular losses, chosen so that they are never attributed to
/// the channel. Without a visible queue their cause remains undecided.
const REGULAR_MIN: f64 = 0.5;

/// RTT samples of a flow.
#[derive(Debug, Default)]
pub struct RttSamples {
    bins: Vec<u32>,
    count: u32,
    /// Number of samples since the previous episode, by bin of the histogram.
    since: Vec<u32>,
    since_count: u32,
    recent: [i64; RECENT],
}

/// Evidence from the RTT before a loss.
#[derive(Debug, Clone, Copy)]
pub struct LossEvidence {
    /// Probability of congestion rather than a loss of the channel.
    pub congestion_probability: f64,
    /// Minimum RTT, seconds.
    pub least_s: f64,
    /// 99th percentile of the RTT, seconds.
    pub rtt_p99_s: f64,
    /// Fraction of the RTT samples that are at least as large as the RTT before the loss.
    pub share_at_or_above: f64,
}

impl LossEvidence {
    /// Combines the evidence from the RTT with the share of shorter RTTs before the episode, and
    /// with the number of segments lost.
    pub fn with_episode(self, episode: &EpisodeRecord, lost: u32) -> Self {
        let by_rtt = (self.congestion_probability / (1.0 - self.congestion_probability)).ln();
        // A number of lost segments above this maximum may also be due to an outage, so it is no
        // further evidence of a queue.
        let by_lost = f64::from(lost.clamp(1, LOST_MAX)).ln();
        let share = episode.shorter_rtt_share.unwrap_or(0.5);
        let log_odds = OFFSET + BY_RTT * by_rtt + BY_SHORTER_RTTS * share + BY_LOST * by_lost;
        Self { congestion_probability: 1.0 / (1.0 + (-log_odds).exp()), ..self }
    }
}

/// Adjusts the probabilities in view of all losses of the flow: if most losses occurred at small
/// RTTs as well, the few at a large RTT are less likely to be overflows. The share of overflows is
/// estimated together with the probabilities (expectation–maximisation). `gaps_ns` are the times
/// from the end of each recovery to the next loss.
pub fn adjust_to_all_losses(judgments: &mut [Option<LossEvidence>], gaps_ns: &[i64]) {
    let (ratio, least) =
        if are_regular(gaps_ns) { (REGULAR_RATIO, REGULAR_MIN) } else { (1.0, 0.0) };
    let odds: Vec<f64> = judgments
        .iter()
        .flatten()
        .map(|it| ratio * it.congestion_probability / (1.0 - it.congestion_probability))
        .collect();
    let posterior = |odds: f64, share: f64| odds * share / (odds * share + 1.0 - share);
    let mut share = 0.5;
    for _ in 0..ROUNDS {
        let sum: f64 = odds.iter().map(|odds| posterior(*odds, share)).sum();
        // Laplace's rule of succession: few losses leave the share near one half.
        share = ((sum + 1.0) / (odds.len() as f64 + 2.0)).clamp(SHARES.0, SHARES.1);
    }
    for (judgment, odds) in judgments.iter_mut().flatten().zip(odds) {
        judgment.congestion_probability = posterior(odds, share).max(least);
    }
}

/// True if these times from a recovery to the next loss are nearly equal. The first does not count,
/// because slow start ends in it.
fn are_regular(gaps_ns: &[i64]) -> bool {
    let gaps: Vec<f64> = gaps_ns.iter().skip(1).map(|ns| *ns as f64).collect();
    if gaps.len() < INTERVALS_MIN {
        return false;
    }
    let count = gaps.len() as f64;
    let mean = gaps.iter().sum::<f64>() / count;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / (count - 1.0);
    variance.sqrt() < REGULAR * mean
}

impl RttSamples {
    /// Adds a sample.
    pub fn push(&mut self, ns: i64) {
        if self.bins.is_empty() {
            self.bins = vec![0; BINS];
            self.since = vec![0; BINS];
        }
        if self.count == 0 {
            self.recent = [ns; RECENT];
        }
        self.recent[self.count as usize % RECENT] = ns;
        self.count += 1;
        // The histogram contains minima of several samples, because a loss is judged by such a
        // minimum as well.
        let now = bin(self.current_ns());
        self.bins[now] += 1;
        self.since[now] += 1;
        self.since_count += 1;
    }

    /// Called when an episode begins or ends. Returns the share of the RTTs since the previous call
    /// that are shorter than `rtt_ns`, if there are enough samples.
    pub fn take_shorter_share(&mut self, rtt_ns: i64) -> Option<f64> {
        let count = std::mem::take(&mut self.since_count);
        // RTTs in the same bin count as equal, because delays of single acknowledgments may cause
        // their difference.
        let shorter: u32 = self.since.iter().take(bin(rtt_ns.max(1))).sum();
        self.since.fill(0);
        (count >= SHORTER_SAMPLES_MIN).then(|| f64::from(shorter) / f64::from(count))
    }

    /// Current RTT: the minimum of the last samples, which excludes delays of single
    /// acknowledgments.
    pub fn current_ns(&self) -> i64 {
        self.recent.iter().copied().min().unwrap_or(0)
    }

    /// Judges a loss by the RTT before the loss; `None` if there are too few samples.
    pub fn evaluate(&self, rtt_ns: i64) -> Option<LossEvidence> {
        if self.count < SAMPLES_MIN || rtt_ns <= 0 {
            return None;
        }
        let least = middle(self.quantile(0));
        // The highest hundredth of the samples are outliers.
        let largest = middle(self.quantile(self.count / 100 * 99 + self.count % 100));
        let own = bin(rtt_ns);
        let above = self.bins[own..].iter().sum::<u32>();
        // Bins are coarser than the RTT before the loss, which may be the least of all.
        let (least_s, rtt_p99_s) = (least.min(rtt_ns as f64) * 1e-9, largest * 1e-9);
        let above = f64::from(above) / f64::from(self.count);
        let range = largest - least;
        if range < RANGE_MIN * least {
            return Some(LossEvidence {
                congestion_probability: WITHOUT_QUEUE,
                least_s,
                rtt_p99_s,
                share_at_or_above: above,
            });
        }
        let part = |ns: f64| EDGES.iter().filter(|edge| (ns - least) / range >= **edge).count();
        // Each part begins with one sample, because an RTT that has not occurred yet is not
        // impossible.
        let mut shares = [1.0; 4];
        for (index, count) in self.bins.iter().enumerate().filter(|(_, count)| **count > 0) {
            shares[part(middle(index))] += f64::from(*count);
        }
        let own = part(middle(own));
        let channel = shares[own] / shares.iter().sum::<f64>();
        let congestion = OVERFLOW[own] / (OVERFLOW[own] + channel);
        Some(LossEvidence {
            congestion_probability: congestion,
            least_s,
            rtt_p99_s,
            share_at_or_above: above,
        })
    }

    /// Least and median RTT in seconds; `None` if there are too few samples.
    pub fn least_and_median_s(&self) -> Option<[f64; 2]> {
        let at = |rank| middle(self.quantile(rank)) * 1e-9;
        (self.count >= SAMPLES_MIN).then(|| [at(0), at(self.count / 2)])
    }

    /// Bin of the sample with this rank.
    fn quantile(&self, rank: u32) -> usize {
        let mut sum = 0;
        let reached = |count: &u32| {
            sum += count;
            sum > rank.min(self.count - 1)
        };
        self.bins.iter().position(reached).unwrap_or(0)
    }
}

fn bin(ns: i64) -> usize {
    ((ns.max(1) as f64 / LOWEST_NS).ln() / WIDTH).clamp(0.0, (BINS - 1) as f64) as usize
}

fn middle(bin: usize) -> f64 {
    LOWEST_NS * ((bin as f64 + 0.5) * WIDTH).exp()
}
