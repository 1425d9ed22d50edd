//! Channels between the stations of a cell.

use super::exchange::{Kind, Transmission};
use super::{Cell, Change, Config, parameters};
use crate::channel::{self, Channel, Fate, Frame, Model};
use crate::stage::later_by;
use retx_units::{Duration, RandomStream, StreamKey, Time};

/// Channel models of each ordered pair of stations, created on first use.
#[derive(Debug, Clone)]
pub(super) struct Channels {
    first: Vec<channel::Config>,
    changes: Vec<Change>,
    names: Vec<String>,
    /// For each station, true if the channel models apply to its frames.
    asked: Vec<bool>,
    /// True if both directions between two stations share one channel. The station with the lower
    /// index is then the sender in the pair that has the channel.
    reciprocal: bool,
    key: StreamKey,
    pairs: Vec<Option<StationChannel>>,
}

/// Channel from one station to another.
#[derive(Debug, Clone, Default)]
pub(super) struct StationChannel {
    models: Vec<channel::State>,
    /// Random streams, one for each position in the longest list of models so far.
    streams: Vec<RandomStream>,
    /// Number of changes applied so far.
    changes_seen: usize,
}

impl Channels {
    pub fn new(config: &Config, key: StreamKey, name: &str) -> Self {
        let change = |change: &Change| change.channel.is_some();
        let none = config.channel.is_empty() && !config.changes.iter().any(change);
        let count = if none { 0 } else { config.stations.len() };
        Self {
            first: config.channel.clone(),
            changes: config.changes.clone(),
            asked: config.stations.iter().map(|station| config.asks_about(station)).collect(),
            reciprocal: config.channel_reciprocal,
            names: config.stations.iter().map(|station| format!("{name}.{station}")).collect(),
            key,
            pairs: vec![None; count * count],
        }
    }

    /// True if no frame can be lost or delayed.
    #[inline]
    pub const fn are_perfect(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Models from one station to another, and their random streams, for a frame that ends at
    /// `end`.
    #[inline]
    pub fn between(
        &mut self,
        end: Time,
        from: u16,
        to: u16,
    ) -> impl Iterator<Item = (&mut channel::State, &mut RandomStream)> {
        let asked = self.asked[usize::from(from)];
        let turned = self.reciprocal && to < from;
        let (from, to) = if turned { (to, from) } else { (from, to) };
        let (from, to) = (usize::from(from), usize::from(to));
        let place = if asked { from * self.names.len() + to } else { usize::MAX };
        if self.pairs.get(place).is_some_and(|pair| {
            let seen = pair.as_ref().map(|pair| pair.changes_seen);
            seen.is_none_or(|seen| self.changes.get(seen).is_some_and(|next| next.at <= end))
        }) {
            self.bring_up_to_date(end, from, to);
        }
        let pair = self.pairs.get_mut(place).and_then(Option::as_mut);
        pair.into_iter().flat_map(|pair| pair.models.iter_mut().zip(&mut pair.streams))
    }

    #[cold]
    fn bring_up_to_date(&mut self, end: Time, from: usize, to: usize) {
        let far = self.names[to].rsplit_once('.').map_or("", |(_, station)| station);
        let name = format!("{}-{far}.channel", self.names[from]);
        let stream = |index: usize| self.key.stream(&format!("{name}.{index}"));
        let pair = self.pairs[from * self.names.len() + to].get_or_insert_with(|| {
            let mut pair = StationChannel::default();
            pair.take_over(&self.first, stream);
            pair
        });
        while let Some(change) = self.changes.get(pair.changes_seen).filter(|it| it.at <= end) {
            pair.changes_seen += 1;
            if let Some(models) = &change.channel {
                pair.take_over(models, stream);
            }
        }
    }
}

impl StationChannel {
    /// Replaces the models. A new model of the same kind as the model that it replaces continues
    /// with the state of the old one.
    fn take_over(&mut self, models: &[channel::Config], stream: impl Fn(usize) -> RandomStream) {
        self.models.truncate(models.len());
        for (index, model) in models.iter().enumerate() {
            match self.models.get_mut(index) {
                Some(running) => running.adopt(model.build()),
                None => self.models.push(model.build()),
            }
            if index == self.streams.len() {
                self.streams.push(stream(index));
            }
        }
    }
}

impl Cell {
    /// Applies the channel between sender and receiver to a frame. This is done once per frame,
    /// even if the frame has collided. Returns `None` if the channel loses the frame, otherwise the
    /// delay that the channel adds before the packet leaves the cell.
    #[inline]
    pub(super) fn fate(
        &mut self,
        now: Time,
        station: u16,
        frame: &Transmission,
    ) -> Option<Duration> {
        if matches!(frame.kind, Kind::Ack | Kind::Cts)
            && let Some(fate) = self.response_fate.take()
        {
            return fate;
        }
        if self.channels.are_perfect() {
            return Some(Duration::ZERO);
        }
        self.fate_by_channel(now, station, frame)
    }

    #[inline(never)]
    fn fate_by_channel(
        &mut self,
        now: Time,
        station: u16,
        frame: &Transmission,
    ) -> Option<Duration> {
        let seen = match frame.kind {
            Kind::Data => {
                let frame = self.head(station).frame;
                Frame { bytes: frame.bytes + self.parameters.mac_overhead, ..frame }
            }
            Kind::Ack => Frame::control(parameters::ACK_BYTES),
            Kind::Cts => Frame::control(parameters::CTS_BYTES),
            Kind::Rts => Frame::control(parameters::RTS_BYTES),
        };
        let end = Time::from_nanos(now.as_nanos() - self.parameters.propagation.as_nanos());
        let mut after = Duration::ZERO;
        for (model, stream) in self.channels.between(end, station, frame.to) {
            model.tune(frame.rate);
            match model.fate(end, &seen, stream) {
                Fate::Lose(_) => return None,
                Fate::Deliver { extra_delay } => after = later_by(after, extra_delay),
                other => unreachable!("the scenario has refused models that say {other:?}"),
            }
        }
        Some(after)
    }
}
