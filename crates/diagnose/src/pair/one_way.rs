//! One direction between two captures: losses, delays, reordering.

use super::clock::MinimumDelay;
use super::matching::Matches;
use super::{MatchEntry, NS};
use crate::between::OneWayComparison;
use std::collections::HashMap;

/// Maximum number of lost packets whose frame numbers are listed.
const FRAMES_MAX: usize = 1_000;

impl OneWayComparison {
    /// Computes the figures of one direction. `spans` contains the times of the first and the last
    /// packet of each capture. The first capture is the one that packets of this direction pass
    /// first.
    pub fn compare(
        own: &Matches,
        back: &Matches,
        line: &MinimumDelay,
        spans: [(i64, i64); 2],
    ) -> Self {
        let mut way = Self { duplicated: own.duplicated, ..Self::default() };
        way.fates(own, back, line.least_ns, spans[1]);
        let was_on = |index: &&usize| {
            let time_ns = own.arrived[**index].time_ns.saturating_sub(line.least_ns);
            (spans[0].0..=spans[0].1).contains(&time_ns)
        };
        way.not_captured_before = own.unseen.iter().filter(was_on).count() as u64;
        way.order(own);
        let mut above: Vec<i64> =
            own.delays().into_iter().map(|point| line.excess(point)).collect();
        above.sort_unstable();
        let quantile = |part: f64| {
            let index = ((above.len() as f64 * part) as usize).min(above.len().saturating_sub(1));
            above.get(index).map_or(0.0, |ns| *ns as f64 * NS)
        };
        (way.queueing_median_s, way.queueing_p95_s) = (quantile(0.5), quantile(0.95));
        way.queueing_max_s = quantile(1.0);
        way
    }

    fn fates(&mut self, own: &Matches, back: &Matches, least_ns: i64, span: (i64, i64)) {
        let missed = find_uncaptured(own, back);
        let (mut run, mut runs) = (0, 0_u64);
        for (index, entry) in own.sent.iter().enumerate() {
            let due_ns = entry.time_ns.saturating_add(least_ns);
            let is_there = own.partner[index].is_some();
            if !is_there && !(span.0..=span.1).contains(&due_ns) {
                continue;
            }
            self.sent += 1;
            if is_there || missed.get(&entry.key.seq) == Some(&index) {
                self.arrived += u64::from(is_there);
                self.not_captured += u64::from(!is_there);
                run = 0;
                continue;
            }
            self.lost += 1;
            self.lost_data += u64::from(entry.length > 0);
            if self.lost_frames.len() < FRAMES_MAX {
                self.lost_frames.push(entry.frame);
            }
            runs += u64::from(run == 0);
            run += 1;
            self.loss_run_max = self.loss_run_max.max(run);
        }
        if runs > 0 {
            self.loss_run_mean = self.lost as f64 / runs as f64;
        }
    }

    fn order(&mut self, own: &Matches) {
        let mut arrivals: Vec<(i64, usize)> =
            own.pairs.iter().map(|(from, to)| (own.arrived[*to].time_ns, *from)).collect();
        arrivals.sort_unstable();
        let mut newest: Option<(usize, i64)> = None;
        for (time_ns, index) in arrivals {
            match newest {
                Some((highest, since_ns)) if index < highest => {
                    self.reordered += 1;
                    self.late_max_s = self.late_max_s.max((time_ns as f64 - since_ns as f64) * NS);
                }
                _ => newest = Some((index, time_ns)),
            }
        }
    }
}

/// Finds data that were acknowledged although the other capture contains no copy of them. Maps
/// their sequence number to the index of their last copy in this capture.
pub(crate) fn find_uncaptured(own: &Matches, back: &Matches) -> HashMap<u32, usize> {
    let acked = back.sent.iter().chain(&back.arrived).map(MatchEntry::ack);
    let highest =
        acked.reduce(|one, other| if (other.wrapping_sub(one) as i32) > 0 { other } else { one });
    let Some(highest) = highest else { return HashMap::new() };
    let mut there: HashMap<u32, bool> = HashMap::new();
    let mut last = HashMap::new();
    for (index, entry) in own.sent.iter().enumerate().filter(|(_, entry)| entry.length > 0) {
        let end = entry.key.seq.wrapping_add(entry.length);
        if (highest.wrapping_sub(end) as i32) >= 0 {
            *there.entry(entry.key.seq).or_default() |= own.partner[index].is_some();
            last.insert(entry.key.seq, index);
        }
    }
    last.retain(|seq, _| !there[seq]);
    last
}
