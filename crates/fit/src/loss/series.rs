//! Series of packet transmissions (copies): time, length, and probability of loss of each.

use std::collections::HashMap;

/// Error of a series that cannot be fitted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SeriesError {
    /// The lists of times, sizes and loss probabilities have different lengths.
    #[error(
        "times, sizes and probabilities have {0}, {1} and {2} entries: give one of each a copy"
    )]
    Lengths(usize, usize, usize),
    /// A time is not a number, or earlier than the previous one.
    #[error("time {0} is not in order: sort the copies by time")]
    Time(usize),
    /// A probability is outside 0 … 1.
    #[error("loss probability {0} lies outside 0 … 1: write NaN where the fate is not known")]
    Probability(usize),
    /// The fate is known of fewer than two transmissions.
    #[error("the fate of fewer than 2 copies is known: there is nothing to fit")]
    Empty,
}

/// Likelihoods of the evidence about a copy, given that it was lost and given that it was not. They
/// are scaled so that the larger one is 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Likelihood if the copy was lost.
    pub lost: f64,
    /// Likelihood if the copy arrived.
    pub arrived: f64,
}

/// Run of consecutive copies with equal evidence.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Index in [`Series::evidence_kinds`].
    pub evidence_index: usize,
    /// Number of copies in the run.
    pub count: u32,
}

/// Run of consecutive, equidistant copies with equal evidence.
#[derive(Debug, Clone, Copy)]
pub struct TimedRun {
    /// Index in [`Series::evidence_kinds`].
    pub evidence_index: usize,
    /// Time from each copy to the next, and from the copy before the run to its first, seconds.
    pub gap_s: f64,
    /// Number of copies in the run.
    pub count: u32,
}

/// Checked series of packet transmissions (copies).
#[derive(Debug, Clone)]
pub struct Series {
    /// Transmission times of the copies, seconds, in order.
    pub times_s: Vec<f64>,
    /// IP packet lengths, bytes.
    pub sizes: Vec<f64>,
    /// Loss probabilities as given by the caller; NaN if unknown.
    pub lost: Vec<f64>,
    /// Distinct pieces of evidence.
    pub evidence_kinds: Vec<Evidence>,
    /// Copies in order, as runs for chains with one step per copy.
    pub runs: Vec<Run>,
    /// Copies in order, as runs for chains in continuous time.
    pub timed_runs: Vec<TimedRun>,
    /// For each copy, the index of its evidence in `evidence_kinds`.
    pub evidence_indices: Vec<usize>,
    /// Mean loss probability of copies with known fates.
    pub loss_rate: f64,
    /// Number of copies whose fate is known with certainty or with a probability.
    pub known: usize,
}

impl Series {
    /// Checks and prepares a series. The probabilities must be calibrated posterior probabilities:
    /// a copy whose probability equals the mean then carries no information, like a copy with NaN.
    ///
    /// # Errors
    /// The lists differ in length, times are out of order, or probabilities are outside 0 … 1.
    pub fn new(times_s: Vec<f64>, sizes: Vec<f64>, lost: Vec<f64>) -> Result<Self, SeriesError> {
        if times_s.len() != sizes.len() || times_s.len() != lost.len() {
            return Err(SeriesError::Lengths(times_s.len(), sizes.len(), lost.len()));
        }
        let disorder = times_s.windows(2).position(|pair| pair[1] < pair[0]);
        let undefined = times_s.iter().position(|time| !time.is_finite());
        if let Some(index) = undefined.or(disorder.map(|index| index + 1)) {
            return Err(SeriesError::Time(index));
        }
        if let Some(index) = lost.iter().position(|it| *it < 0.0 || *it > 1.0) {
            return Err(SeriesError::Probability(index));
        }
        let known = lost.iter().filter(|it| !it.is_nan()).count();
        if known < 2 {
            return Err(SeriesError::Empty);
        }
        let sum: f64 = lost.iter().filter(|it| !it.is_nan()).sum();
        let mut series = Self {
            times_s,
            sizes,
            lost,
            evidence_kinds: Vec::new(),
            runs: Vec::new(),
            timed_runs: Vec::new(),
            evidence_indices: Vec::new(),
            loss_rate: sum / known as f64,
            known,
        };
        series.pack();
        Ok(series)
    }

    /// Number of packet transmissions (copies) in the series.
    pub fn copies(&self) -> usize {
        self.times_s.len()
    }

    /// Time from the first copy to the last, seconds.
    pub fn duration_s(&self) -> f64 {
        self.times_s[self.copies() - 1] - self.times_s[0]
    }

    /// Evidence of a copy.
    pub fn evidence(&self, index: usize) -> Evidence {
        self.evidence_kinds[self.evidence_indices[index]]
    }

    /// Indices of copies with known fates, and the more likely fate of each.
    pub fn fates(&self) -> (Vec<usize>, Vec<bool>) {
        let known = |(_, lost): &(usize, &f64)| !lost.is_nan();
        self.lost
            .iter()
            .enumerate()
            .filter(known)
            .map(|(index, lost)| (index, *lost >= 0.5))
            .unzip()
    }

    /// Share of copies with known but uncertain fates.
    pub fn uncertain_share(&self) -> f64 {
        let soft = self.lost.iter().filter(|lost| **lost > 0.0 && **lost < 1.0).count();
        soft as f64 / self.known as f64
    }

    fn pack(&mut self) {
        let mut kinds = HashMap::new();
        for index in 0..self.copies() {
            let found = evidence(self.lost[index], self.loss_rate);
            let key = (found.lost.to_bits(), found.arrived.to_bits());
            let kind = *kinds.entry(key).or_insert_with(|| {
                self.evidence_kinds.push(found);
                self.evidence_kinds.len() - 1
            });
            self.evidence_indices.push(kind);
            match self.runs.last_mut() {
                Some(run) if run.evidence_index == kind => run.count += 1,
                _ => self.runs.push(Run { evidence_index: kind, count: 1 }),
            }
            let before = if index == 0 { 0 } else { index - 1 };
            let gap_s = self.times_s[index] - self.times_s[before];
            match self.timed_runs.last_mut() {
                Some(run)
                    if run.evidence_index == kind && run.gap_s.to_bits() == gap_s.to_bits() =>
                {
                    run.count += 1;
                }
                _ => self.timed_runs.push(TimedRun { evidence_index: kind, gap_s, count: 1 }),
            }
        }
    }
}

/// Likelihoods that follow, by Bayes' rule, from a posterior and a prior probability.
fn evidence(lost: f64, prior: f64) -> Evidence {
    if lost.is_nan() {
        return Evidence { lost: 1.0, arrived: 1.0 };
    }
    if lost <= 0.0 || lost >= 1.0 {
        return Evidence { lost, arrived: 1.0 - lost };
    }
    let (lost, kept) = (lost / prior, (1.0 - lost) / (1.0 - prior));
    let most = lost.max(kept);
    Evidence { lost: lost / most, arrived: kept / most }
}
