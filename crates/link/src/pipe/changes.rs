//! What a schedule changes in a direction of a link, and when.

use super::{Pipe, Rates};
use crate::channel::{self, Channel, Model};
use retx_units::{Duration, Rate, Stream, Time};

/// New values from an instant on; what is `None` stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Holds for frames whose transmission ends then or later; a rate, from that very instant.
    pub at: Time,
    /// Transmission rate; above 0. The link has one from the beginning.
    pub rate: Option<Rate>,
    /// Propagation delay. A frame does not overtake the one before it when this falls.
    pub delay: Option<Duration>,
    /// The models. One that takes the place of another of its kind takes over what it remembers.
    pub channel: Option<Vec<channel::Config>>,
}

/// Changes to come.
#[derive(Debug, Clone)]
pub(super) struct Changes {
    /// The last one first.
    pub to_come: Vec<Change>,
    /// Streams of models that the list does not have yet, the first one last.
    pub streams: Vec<Stream>,
}

impl Changes {
    /// When the next one is due.
    pub fn next(&self) -> Time {
        self.to_come.last().map_or(Time::NEVER, |change| change.at)
    }
}

/// The rate over time: the first, and what the changes make of it.
pub(super) fn rates(first: Option<Rate>, changes: &[Change]) -> Option<Rates> {
    let steps = changes.iter().filter_map(|change| Some((change.at, change.rate?)));
    let mut all = vec![(Duration::ZERO, first?)];
    for (at, rate) in steps {
        let at = at.since(Time::ZERO);
        match all.last_mut() {
            Some(last) if last.0 == at => last.1 = rate,
            _ => all.push((at, rate)),
        }
    }
    (all.len() > 1).then_some(Rates::Steps { steps: all, period: None })
}

impl Pipe {
    /// What a schedule has changed by the end of a transmission at `end`.
    #[cold]
    pub(super) fn change(&mut self, end: Time) {
        let Some(changes) = &mut self.changes else { return };
        let channels = &mut self.rare.get_or_insert_default().channels;
        while changes.next() <= end
            && let Some(change) = changes.to_come.pop()
        {
            self.delay = change.delay.unwrap_or(self.delay);
            let Some(models) = change.channel else { continue };
            while channels.len() > models.len()
                && let Some((_, stream)) = channels.pop()
            {
                changes.streams.push(stream);
            }
            for (index, model) in models.iter().enumerate() {
                if let Some((running, _)) = channels.get_mut(index) {
                    running.adopt(model.build());
                } else if let Some(stream) = changes.streams.pop() {
                    channels.push((model.build(), stream));
                }
            }
        }
        self.next_change = changes.next();
    }
}
