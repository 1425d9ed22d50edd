//! Periodic outages: once in every period, everything is lost for some time.
//!
//! *Equations.* A packet at phase φ = t mod period is lost if start ≤ φ < start + duration. Outside
//! of outages, packets are lost independently with probability `loss`.
//!
//! *Search.* The likelihood is not smooth, so the search is combinatorial. Candidates for the
//! period are the distances between groups of losses. The outage is the longest range of phases
//! around the groups in which nothing arrives. Each end of the outage lies between a loss inside
//! and the next arrival outside; this gap is the interval of the end. The interval of the period
//! contains the periods whose log likelihood is within 1.92 of the maximum.

use super::{
    Law, ModelProperties, Parameter, SearchResult, format_time, probability, round_probability,
    seconds,
};
use crate::loss::series::Series;
use retx_units::RandomStream;
use serde_json::{Value, json};

/// Outages on a schedule.
pub struct Outages;

/// Minimum number of outages to determine a period.
const OUTAGES_LEAST: usize = 4;
/// Maximum number of groups of losses from which candidate periods are derived.
const GROUPS_MOST: usize = 40;
/// Difference of the log likelihood from its maximum at the ends of a 95 % interval.
const FALL: f64 = 1.92;

/// Packets whose fates are known, with times since the first packet.
struct Fates {
    kept: Vec<f64>,
    lost: Vec<f64>,
    groups: Vec<Group>,
}

/// Group of consecutive losses.
#[derive(Clone, Copy)]
struct Group {
    from: f64,
    to: f64,
    size: usize,
}

impl Group {
    fn middle(&self) -> f64 {
        0.5 * (self.from + self.to)
    }
}

impl Fates {
    fn of(series: &Series) -> Self {
        let (indices, fates) = series.fates();
        let first = series.times_s[0];
        let mut found = Self { kept: Vec::new(), lost: Vec::new(), groups: Vec::new() };
        let mut in_group = false;
        for (index, lost) in indices.into_iter().zip(fates) {
            let time = series.times_s[index] - first;
            if !lost {
                found.kept.push(time);
            } else {
                found.lost.push(time);
                match found.groups.last_mut() {
                    Some(group) if in_group => (group.to, group.size) = (time, group.size + 1),
                    _ => found.groups.push(Group { from: time, to: time, size: 1 }),
                }
            }
            in_group = lost;
        }
        found
    }

    /// Groups that are long enough to be outages and not single losses.
    fn outages(&self) -> Vec<Group> {
        let longest = self.groups.iter().map(|group| group.size).max().unwrap_or(0);
        let least = (longest / 3).max(2);
        self.groups.iter().filter(|group| group.size >= least).copied().collect()
    }
}

/// Outage within a period, given by the bounds of the phases of its ends.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// Phases of the last arrival before the outage and of the first loss in it.
    start: (f64, f64),
    /// Phases of the last loss in the outage and of the first arrival after it.
    end: (f64, f64),
    inside: usize,
}

impl Window {
    /// Finds the outage around the phase `centre`. The phases of the result are relative to
    /// `centre`.
    fn around(fates: &Fates, period: f64, centre: f64) -> Self {
        let phase = |time: &f64| {
            let turns = (time - centre) / period;
            (turns - libm::round(turns)) * period
        };
        let (mut before, mut after) = (-period / 2.0, period / 2.0);
        for at in fates.kept.iter().map(phase) {
            if at < 0.0 { before = before.max(at) } else { after = after.min(at) }
        }
        let inside = |at: &f64| *at > before && *at < after;
        let (mut first, mut last, mut count) = (after, before, 0);
        for at in fates.lost.iter().map(phase).filter(inside) {
            (first, last, count) = (first.min(at), last.max(at), count + 1);
        }
        Self { start: (before, first), end: (last, after), inside: count }
    }

    fn log_likelihood(&self, fates: &Fates) -> f64 {
        outside_likelihood(fates.lost.len() - self.inside, fates.kept.len())
    }
}

/// Log likelihood of independent losses at the observed rate.
fn outside_likelihood(lost: usize, kept: usize) -> f64 {
    let (lost, kept) = (lost as f64, kept as f64);
    let part =
        |count: f64| if count > 0.0 { count * libm::log(count / (lost + kept)) } else { 0.0 };
    part(lost) + part(kept)
}

/// Period, and phase of the outages' middle, by least squares on the middles of the groups.
fn regressed(groups: &[Group], period: f64) -> (f64, f64) {
    let origin = groups[0].middle();
    let (mut period, mut centre) = (period, origin);
    for _ in 0..4 {
        let turn = |group: &Group| libm::round((group.middle() - centre) / period);
        let count = groups.len() as f64;
        let mean_turn = groups.iter().map(turn).sum::<f64>() / count;
        let mean = groups.iter().map(Group::middle).sum::<f64>() / count;
        let (mut square, mut product) = (0.0, 0.0);
        for group in groups {
            let from_mean = turn(group) - mean_turn;
            square += from_mean * from_mean;
            product += from_mean * (group.middle() - mean);
        }
        if square <= 0.0 || product <= 0.0 {
            break;
        }
        period = product / square;
        centre = mean - mean_turn * period;
    }
    (period, centre)
}

/// Periods that the distances between groups suggest, each with the phase of the outages; the most
/// likely comes first.
fn candidates(fates: &Fates, groups: &[Group]) -> Vec<(f64, f64, f64)> {
    let mut found: Vec<(f64, f64, f64)> = Vec::new();
    for (index, group) in groups.iter().enumerate().take(GROUPS_MOST) {
        for other in groups.iter().skip(index + 1).take(3) {
            for parts in 1..=3 {
                let distance = (other.middle() - group.middle()) / f64::from(parts);
                let known = |it: &(f64, f64, f64)| (it.0 / distance - 1.0).abs() < 1e-4;
                if distance <= 2.0 * (group.to - group.from) || found.iter().any(known) {
                    continue;
                }
                let (period, centre) = regressed(groups, distance);
                let window = Window::around(fates, period, centre);
                found.push((period, centre, window.log_likelihood(fates)));
            }
        }
    }
    found.sort_by(|one, other| other.2.total_cmp(&one.2));
    found
}

/// Schedule of outages. Its phase is given at the middle of the series, where it is most precise.
#[derive(Clone, Copy)]
struct Schedule {
    period: f64,
    /// Time of the middle of an outage that is near the middle of the series.
    middle: f64,
}

impl Schedule {
    fn window(self, fates: &Fates) -> Window {
        Window::around(fates, self.period, self.middle)
    }

    fn log_likelihood(self, fates: &Fates) -> f64 {
        self.window(fates).log_likelihood(fates)
    }

    /// Schedule with the most likely period that differs from the present period by at most
    /// `reach`. If several periods are equally likely, the middle one is taken.
    fn refined(self, fates: &Fates, reach: f64) -> Self {
        const POINTS: i32 = 80;
        let at = |index: i32| {
            let period = self.period + reach * f64::from(index) / f64::from(POINTS);
            Self { period, ..self }
        };
        let values: Vec<f64> =
            (-POINTS..=POINTS).map(|index| at(index).log_likelihood(fates)).collect();
        let most = values.iter().fold(f64::NEG_INFINITY, |most, it| most.max(*it));
        let best: Vec<i32> = (-POINTS..=POINTS)
            .zip(&values)
            .filter(|(_, value)| **value >= most - 1e-9)
            .map(|(index, _)| index)
            .collect();
        at(best[best.len() / 2])
    }

    /// Smallest and largest period whose log likelihood is within [`FALL`] of the maximum.
    fn range(self, fates: &Fates) -> (f64, f64) {
        let least = self.log_likelihood(fates) - FALL;
        let holds = |period| Self { period, ..self }.log_likelihood(fates) >= least;
        let end = |sign: f64| {
            let mut step = self.period * 1e-7;
            while holds(self.period + sign * step) && step < self.period / 4.0 {
                step *= 2.0;
            }
            let (mut within, mut beyond) = (step / 2.0, step);
            for _ in 0..20 {
                let middle = 0.5 * (within + beyond);
                let inside = holds(self.period + sign * middle);
                if inside { within = middle } else { beyond = middle }
            }
            self.period + sign * beyond
        };
        (end(-1.0), end(1.0))
    }

    /// Values and intervals. The start is given as the phase at the first packet. Its interval
    /// includes the error of the period, once for each period between the first packet and the
    /// middle of the series.
    fn searched(self, fates: &Fates) -> SearchResult {
        let window = self.window(fates);
        let periods = self.range(fates);
        let half = |(one, other): (f64, f64)| 0.5 * (one + other);
        let turns = libm::floor((self.middle + half(window.start)) / self.period);
        let start = |edge: f64, period: f64| self.middle + edge - turns * period;
        let (lost, kept) = ((fates.lost.len() - window.inside) as f64, fates.kept.len() as f64);
        let loss = lost / (lost + kept);
        let spread = 1.96 * libm::sqrt((lost + 1.0) * (kept + 1.0) / (lost + kept + 2.0).powi(3));
        SearchResult {
            values: vec![
                self.period,
                start(half(window.start), self.period),
                half(window.end) - half(window.start),
                loss,
            ],
            ranges: vec![
                periods,
                (start(window.start.0, periods.1), start(window.start.1, periods.0)),
                (window.end.0 - window.start.1, window.end.1 - window.start.0),
                ((loss - spread).max(0.0), (loss + spread + 2.0 / kept).min(1.0)),
            ],
        }
    }
}

impl Law for Outages {
    fn name(&self) -> &'static str {
        "outages"
    }

    fn title(&self) -> &'static str {
        "outages on a schedule"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const ALL: [Parameter; 4] =
            [seconds("every"), seconds("start"), seconds("duration"), probability("loss")];
        &ALL
    }

    fn log_likelihood(&self, values: &[f64], series: &Series) -> f64 {
        let first = series.times_s[0];
        let mut total = 0.0;
        for (index, time) in series.times_s.iter().enumerate() {
            let evidence = series.evidence(index);
            let loss = if is_out(values, time - first) { 1.0 } else { values[3] };
            total += libm::log(loss * evidence.lost + (1.0 - loss) * evidence.arrived);
        }
        total
    }

    fn starts(&self, _: &Series) -> Vec<Vec<f64>> {
        Vec::new()
    }

    fn has_own_search(&self) -> bool {
        true
    }

    fn search(&self, series: &Series) -> Option<SearchResult> {
        let fates = Fates::of(series);
        let groups = fates.outages();
        if groups.len() < OUTAGES_LEAST || fates.kept.is_empty() {
            return None;
        }
        let (period, centre, _) = *candidates(&fates, &groups).first()?;
        let turns = libm::round((groups[groups.len() - 1].middle() - centre) / period);
        if turns + 1.0 < OUTAGES_LEAST as f64 {
            return None;
        }
        let middle = groups[groups.len() / 2].middle();
        let middle = centre + libm::round((middle - centre) / period) * period;
        let mut schedule = Schedule { period, middle };
        let window = schedule.window(&fates);
        let mut reach = (window.end.1 - window.start.0) / turns;
        for _ in 0..3 {
            schedule = schedule.refined(&fates, reach);
            reach /= 20.0;
        }
        let grouped: usize = groups.iter().map(|group| group.size).sum();
        let explains = schedule.window(&fates).inside * 2 >= grouped;
        explains.then(|| schedule.searched(&fates))
    }

    fn draw(&self, values: &[f64], series: &Series, stream: &mut RandomStream) -> Vec<bool> {
        let first = series.times_s[0];
        let draw = |time: &f64| stream.uniform() < values[3] || is_out(values, time - first);
        series.times_s.iter().map(draw).collect()
    }

    fn consequences(&self, values: &[f64], series: &Series) -> ModelProperties {
        let [every, _, duration, loss] = values else { unreachable!("four parameters") };
        let share = (duration / every).min(1.0);
        let per_outage = duration / (series.duration_s() / (series.copies() - 1) as f64);
        let mean_loss = share + (1.0 - share) * loss;
        // Mean burst length: expected losses divided by expected bursts, both per outage. The
        // bursts are the outage itself, and those of the independent losses outside of it.
        let outside = per_outage * (1.0 - share) / share * loss;
        let mean_burst = (per_outage + outside) / (1.0 + outside * (1.0 - loss));
        ModelProperties {
            mean_loss,
            mean_burst: (mean_burst >= 1.0).then_some(mean_burst),
            visits: series.duration_s() / every,
        }
    }

    fn channel(&self, values: &[f64]) -> Value {
        let [every, start, duration, loss] = values else { unreachable!("four parameters") };
        let outage = |start: f64, duration: f64| -> Value {
            json!({ "start": format_time(start), "duration": format_time(duration) })
        };
        let beyond = start + duration - every;
        let times = if beyond > 1e-9 {
            vec![outage(0.0, beyond), outage(*start, every - start)]
        } else {
            vec![outage(*start, *duration)]
        };
        let outages = json!({ "model": "outage", "times": times, "every": format_time(*every) });
        if *loss > 0.0 {
            json!([outages, { "model": "bernoulli", "p": round_probability(*loss) }])
        } else {
            outages
        }
    }
}

fn is_out(values: &[f64], time: f64) -> bool {
    let from_start = (time - values[1]).rem_euclid(values[0]);
    from_start < values[2]
}
