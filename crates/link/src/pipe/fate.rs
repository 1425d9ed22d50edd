//! Effect of a pipe's channels on a frame.

use super::rare::{Duplicate, Rare};
use super::{Entry, Packet, Pipe, later, later_by};
use crate::channel::{Channel, Fate, Frame, Reason};
use retx_units::{Duration, Time};

/// Delays and order of a frame that is not lost.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct DelayAndOrder {
    /// Delay in addition to the propagation delay.
    pub extra: Duration,
    /// True if the frame arrives out of order.
    out_of_order: bool,
    /// Number of frames that overtake this one, and the longest time to wait for them; `None` if
    /// this frame is not held back.
    held: Option<(u32, Duration)>,
    /// Delay of the copy after the frame; `None` if there is no copy.
    copy: Option<Duration>,
}

impl Pipe {
    /// Determines whether the channels, which can only lose frames, lose a frame whose transmission
    /// ends at `end`. Returns the reason; usually `None`.
    #[inline(never)]
    pub(super) fn draw_loss(&mut self, end: Time, frame: &Frame) -> Option<Reason> {
        let Rare { channels, exceptions, .. } = self.rare_mut();
        for (model, stream) in channels {
            if let Fate::Lose(reason) = model.fate(end, frame, stream) {
                exceptions.bursts.add_loss();
                return Some(reason);
            }
        }
        // Losses of a burst are consecutive, so a frame that arrives ends the burst.
        exceptions.bursts.end_burst();
        None
    }

    #[inline(never)]
    pub(super) fn pass_channels(&mut self, end: Time, packet: &Packet) -> Entry {
        let journey = match self.draw_fate(end, &packet.frame) {
            Ok(journey) => journey,
            Err(reason) => {
                self.rare_mut().exceptions.bursts.add_loss();
                self.delay_line.insert_loss(end, packet.id, reason);
                return Entry::Accepted;
            }
        };
        self.rare_mut().exceptions.bursts.end_burst();
        let own = later(end, later_by(self.delay, journey.extra));
        let arrival = match journey {
            DelayAndOrder { held: Some((packets, at_most)), .. } => {
                let latest = later(own, at_most);
                self.delay_line.insert_reordered(latest, packet.id, (packets, Duration::ZERO));
                latest
            }
            DelayAndOrder { out_of_order: true, .. } => {
                self.delay_line.insert_out_of_order(own, packet.id);
                own
            }
            _ => self.delay_line.insert_in_order(own, packet.id),
        };
        // Only waits for earlier frames are counted; a held frame waits to be overtaken.
        let waited = if journey.held.is_some() { Duration::ZERO } else { arrival.since(own) };
        self.rare_mut().exceptions.delays.add_frame(journey.extra, waited);
        let Some(after) = journey.copy else { return Entry::Accepted };
        // The copy of a held frame is held, too, and arrives `after` later than the frame.
        let held = journey.held.map(|(packets, _)| (packets, after));
        self.rare_mut().copy = Some(Duplicate { arrival: later(arrival, after), held });
        Entry::AcceptedTwice
    }

    /// Fate of a frame whose transmission ends at `end`. The first model that loses the frame
    /// determines the reason; otherwise the delays of all models add up.
    #[inline]
    pub(super) fn draw_fate(&mut self, end: Time, frame: &Frame) -> Result<DelayAndOrder, Reason> {
        let mut journey = DelayAndOrder::default();
        for (model, stream) in self.rare.iter_mut().flat_map(|rare| &mut rare.channels) {
            match model.fate(end, frame, stream) {
                Fate::Deliver { extra_delay } => {
                    journey.extra = later_by(journey.extra, extra_delay);
                }
                Fate::Stray { extra_delay } => {
                    journey.extra = later_by(journey.extra, extra_delay);
                    journey.out_of_order = true;
                }
                Fate::HoldBack { packets, at_most } => {
                    let (most, longest) = journey.held.unwrap_or_default();
                    journey.held = Some((most.max(packets), longest.max(at_most)));
                }
                Fate::Twice { after } => journey.copy = Some(after),
                // A lost frame does not reach the models after this one, so it does not advance
                // their state.
                Fate::Lose(reason) => return Err(reason),
            }
        }
        Ok(journey)
    }
}
