//! *What it does.* Loses every frame during outages. Outages occur at given times, or a given
//! number of them at random times.
//!
//! *Reference.* The faults of Park, Chung & Ahn 2012 ("faults … 0/5/15/30/45/60/75 times in 200
//! s"). The paper does not say how long a fault lasts; here a fault lasts for `duration`.
//!
//! *Equations.* Random: each span of length `within` contains exactly n outages of length d that do
//! not overlap. To find their starts, n uniform draws from 0 to within − n·d are sorted, and the
//! i-th draw (counted from 0) is moved later by i·d. The link is down for a fraction n·d/within of
//! the time. Listed: with a period, this fraction is the sum of the outages' lengths, divided by
//! the period.
//!
//! Random times depend on the seed, but not on the traffic: two TCPs meet the same outages.

use super::{Channel, DELIVER, Fate, Frame, Model, Reason, checked};
use retx_units::{Duration, RandomStream, StreamKey, Time, choice};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Every frame is lost while the link is down. Write either `times`, a list, or `count`, `within`
/// and `duration` for outages at random instants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", deny_unknown_fields, default)]
pub struct Config {
    /// Outages in order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub times: Vec<Outage>,
    /// Period after which `times` repeat, counted from the start of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "every")]
    pub period: Option<Duration>,
    /// Number of outages in each span of `within`, at random instants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Length of the spans in which `count` outages occur; spans follow each other without a gap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Duration>,
    /// Length of each random outage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
}

checked!(Config);

/// Outage that begins at a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// Start of the outage.
    pub start: Duration,
    /// Length of the outage.
    pub duration: Duration,
}

/// Maximum number of outages in a span.
const COUNT_MAX: u32 = 1_000_000;

impl Config {
    fn check(&self) -> Result<(), String> {
        let random = [
            ("count", self.count.is_some()),
            ("within", self.within.is_some()),
            ("duration", self.duration.is_some()),
        ];
        let given = random.iter().find(|(_, given)| *given);
        let lacks = random.iter().find(|(_, given)| !*given);
        match (given, lacks) {
            (None, _) => self.check_times(),
            (Some((key, _)), _) if !self.times.is_empty() => {
                Err(choice::error_at(key, "contradicts `times`: write one form or the other"))
            }
            (Some(_), Some((key, _))) => {
                Err(format!("lacks `{key}`: random outages have count, within and duration"))
            }
            (Some(_), None) => self.check_random(),
        }
    }

    fn check_random(&self) -> Result<(), String> {
        let (count, within, duration) = self.random();
        if self.period.is_some() {
            return Err(choice::error_at(
                "every",
                "belongs to `times`: random outages go on by themselves",
            ));
        }
        if count > COUNT_MAX {
            return Err(choice::error_at(
                "count",
                &format!("{count} lies outside 0 … {COUNT_MAX}"),
            ));
        }
        if within.is_zero() {
            return Err(choice::error_at("within", "0 s is refused: write a duration above 0 s"));
        }
        let longest = within.as_nanos() / u64::from(count.max(1));
        if duration.as_nanos() > longest {
            let message = format!(
                "{count} outages of {duration} do not fit into {within} without overlapping: at \
                 most {} each",
                Duration::from_nanos(longest)
            );
            return Err(choice::error_at("duration", &message));
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), String> {
        if self.times.is_empty() {
            return Err("needs times, or count, within and duration".into());
        }
        let mut end = Duration::ZERO;
        for (index, outage) in self.times.iter().enumerate() {
            if outage.start < end {
                let message = format!(
                    "{} lies before the end of the outage before, {end}: write them in order of \
                     time",
                    outage.start
                );
                return Err(choice::error_at(&format!("times.{index}.start"), &message));
            }
            end = Duration::from_nanos(
                outage.start.as_nanos().saturating_add(outage.duration.as_nanos()),
            );
        }
        match self.period {
            Some(period) if period < end || period.is_zero() => Err(choice::error_at(
                "every",
                &format!("{period} is too short: the last outage ends after {end}"),
            )),
            _ => Ok(()),
        }
    }

    fn random(&self) -> (u32, Duration, Duration) {
        let [within, duration] = [self.within, self.duration].map(Option::unwrap_or_default);
        (self.count.unwrap_or(0), within, duration)
    }
}

impl Model for Config {
    type Running = State;

    fn build(&self) -> State {
        State::new(self)
    }

    fn loss_rate(&self, _: u32) -> Option<f64> {
        let (count, within, duration) = self.random();
        let (down, of) = if self.times.is_empty() {
            (duration.as_secs_f64() * f64::from(count), within)
        } else {
            // Without a period the fraction depends on the length of the run, so it is unknown.
            (self.times.iter().map(|outage| outage.duration.as_secs_f64()).sum(), self.period?)
        };
        Some(down / of.as_secs_f64())
    }
}

/// Running channel: the outages of the current span of time.
#[derive(Debug, Clone)]
pub struct State {
    /// Start and end of each outage of the current span, relative to the start of the span.
    spans: Vec<(u64, u64)>,
    /// Length of a span, in nanoseconds; `u64::MAX` for a list that does not repeat.
    period: u64,
    random: Option<Random>,
    /// Number of the current span, to which `spans` belongs; `None` before the first frame.
    current: Option<u64>,
    /// Index in `spans` of the first outage that has not ended yet.
    next: usize,
}

/// Outages at random instants.
#[derive(Debug, Clone, Copy)]
struct Random {
    duration: u64,
    /// Seed of the streams of all spans; drawn when the first frame is sent.
    key: Option<u64>,
}

impl State {
    /// Creates a channel with these outages.
    pub fn new(config: &Config) -> Self {
        let (count, within, duration) = config.random();
        let nanos = |outage: &Outage| {
            let start = outage.start.as_nanos();
            (start, start.saturating_add(outage.duration.as_nanos()))
        };
        let listed = !config.times.is_empty();
        Self {
            spans: if listed {
                config.times.iter().map(nanos).collect()
            } else {
                vec![(0, 0); count as usize]
            },
            period: match (listed, config.period) {
                (true, Some(period)) => period.as_nanos(),
                (true, None) => u64::MAX,
                (false, _) => within.as_nanos(),
            },
            random: (!listed).then_some(Random { duration: duration.as_nanos(), key: None }),
            current: None,
            next: 0,
        }
    }

    /// Draws the outages of a span. Each span has a random stream of its own, so spans in which no
    /// frame is sent can be skipped.
    #[cold]
    fn enter(&mut self, span: u64, stream: &mut RandomStream) {
        self.current = Some(span);
        self.next = 0;
        let Some(random) = &mut self.random else { return };
        let seed = *random.key.get_or_insert_with(|| stream.next_u64());
        let mut stream = StreamKey { seed, replication: span }.stream("outage");
        let free = self.period - self.spans.len() as u64 * random.duration;
        for outage in &mut self.spans {
            outage.0 = stream.below(free + 1);
        }
        self.spans.sort_unstable();
        for (index, outage) in self.spans.iter_mut().enumerate() {
            outage.0 += index as u64 * random.duration;
            outage.1 = outage.0 + random.duration;
        }
    }
}

impl Channel for State {
    fn fate(&mut self, now: Time, _: &Frame, stream: &mut RandomStream) -> Fate {
        let (span, at) = (now.as_nanos() / self.period, now.as_nanos() % self.period);
        if self.current != Some(span) {
            self.enter(span, stream);
        }
        while self.spans.get(self.next).is_some_and(|(_, end)| *end <= at) {
            self.next += 1;
        }
        match self.spans.get(self.next) {
            Some((start, _)) if *start <= at => Fate::Lose(Reason::Channel),
            _ => DELIVER,
        }
    }

    /// Takes over the parameters of `new`, but keeps the seed. If the parameters have not changed,
    /// the outages therefore keep their times.
    fn adopt(&mut self, new: Self) {
        let key = self.random.and_then(|random| random.key);
        *self = new;
        if let Some(random) = &mut self.random {
            random.key = key;
        }
    }
}
