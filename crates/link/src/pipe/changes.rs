//! Scheduled changes of the parameters of one direction of a link.

use super::{Pipe, Rates};
use crate::channel::{self, Channel, Model};
use retx_units::{Duration, RandomStream, Rate, Time};

/// New values that apply from an instant on; `None` leaves a value unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Time of the change. A new rate applies from this instant on; delay and channel apply to
    /// frames whose transmission ends at or after it.
    pub at: Time,
    /// Transmission rate; above 0. The link must have a rate from the start.
    pub rate: Option<Rate>,
    /// Propagation delay. Even if it decreases, a frame does not overtake the one before it.
    pub delay: Option<Duration>,
    /// Channel models. A new model of the same kind as the model that it replaces continues with
    /// the state of the old one.
    pub channel: Option<Vec<channel::Config>>,
}

/// Pending changes.
#[derive(Debug, Clone)]
pub(super) struct Changes {
    /// Changes that have not been applied yet, in reverse order of time.
    pub pending: Vec<Change>,
    /// Random streams for additional models, if a later change lists more models than the channel
    /// has now; the stream for the last model in the list comes first.
    pub streams: Vec<RandomStream>,
}

impl Changes {
    /// Time of the next change; [`Time::NEVER`] if there is none.
    pub fn next(&self) -> Time {
        self.pending.last().map_or(Time::NEVER, |change| change.at)
    }
}

/// Rate over time: the initial rate and its changes.
pub(super) fn rates(first: Option<Rate>, changes: &[Change]) -> Option<Rates> {
    let steps = changes.iter().filter_map(|change| Some((change.at, change.rate?)));
    let mut all = vec![(Duration::ZERO, first?)];
    for (at, rate) in steps {
        let at = at.since(Time::ZERO);
        match all.last_mut() {
            // If several changes are due at one instant, the last one applies.
            Some(last) if last.0 == at => last.1 = rate,
            _ => all.push((at, rate)),
        }
    }
    (all.len() > 1).then_some(Rates::Steps { steps: all, period: None })
}

impl Pipe {
    /// Applies the changes due by `end`, the end of a transmission.
    #[cold]
    pub(super) fn apply_due_changes(&mut self, end: Time) {
        let Some(changes) = &mut self.changes else { return };
        let channels = &mut self.rare.get_or_insert_default().channels;
        while changes.next() <= end
            && let Some(change) = changes.pending.pop()
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
                    // A running model keeps its state and its random stream.
                    running.adopt(model.build());
                } else if let Some(stream) = changes.streams.pop() {
                    channels.push((model.build(), stream));
                }
            }
        }
        // The time of the next change is cached in the pipe, so each packet needs one comparison
        // and no look-up in the list.
        self.next_change = changes.next();
    }
}
