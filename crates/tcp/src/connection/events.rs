//! Events that have not been polled yet: rarely more than one.

use super::Event;
use crate::loss_cause::Cause;
use retx_units::Duration;

/// Events in order. An RTT sample without other events is stored in place; any other event occupies
/// memory only until it is polled.
#[derive(Debug, Clone)]
pub(super) struct Events {
    /// First event, if it is an RTT sample; otherwise [`Duration::MAX`].
    rtt: Duration,
    rest: Option<Box<Node>>,
}

#[derive(Debug, Clone)]
struct Node {
    event: Event,
    next: Option<Box<Self>>,
}

impl Events {
    pub const NONE: Self = Self { rtt: Duration::MAX, rest: None };

    /// Appends an event.
    #[inline]
    pub fn push_back(&mut self, event: Event) {
        match event {
            // `Duration::MAX` means that no sample is stored, so a sample of that length goes to
            // the list.
            Event::Rtt(rtt) if self.is_empty() && rtt != Duration::MAX => self.rtt = rtt,
            event => self.append(event),
        }
    }

    #[inline(never)]
    fn append(&mut self, event: Event) {
        // Lists are so short that a walk to the end costs less than a tail pointer in each
        // connection.
        let mut end = &mut self.rest;
        while let Some(node) = end {
            end = &mut node.next;
        }
        *end = Some(Box::new(Node { event, next: None }));
    }

    /// Sets `cwnd_after` in every pending [`Event::LossFound`] whose cause is congestion, once the
    /// current acknowledgment has set the window.
    pub fn note_window(&mut self, cwnd: u64) {
        let mut next = &mut self.rest;
        while let Some(node) = next {
            if let Event::LossFound(episode) = &mut node.event
                && episode.inferred_cause == Cause::Congestion
            {
                episode.cwnd_after = cwnd;
            }
            next = &mut node.next;
        }
    }

    /// True if there are no events.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.rtt == Duration::MAX && self.rest.is_none()
    }

    /// Removes and returns the first event if it is an RTT sample.
    #[inline]
    pub fn pop_rtt(&mut self) -> Option<Duration> {
        // A sample was stored in place when there was no other event, so it is the oldest.
        let rtt = std::mem::replace(&mut self.rtt, Duration::MAX);
        (rtt != Duration::MAX).then_some(rtt)
    }

    /// Removes and returns the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<Event> {
        if self.is_empty() { None } else { self.take_first() }
    }

    #[inline(never)]
    fn take_first(&mut self) -> Option<Event> {
        if let Some(rtt) = self.pop_rtt() {
            return Some(Event::Rtt(rtt));
        }
        let node = *self.rest.take()?;
        self.rest = node.next;
        Some(node.event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Episode;

    #[test]
    fn a_loss_gets_its_window_later() {
        let episode = Episode {
            trigger: 1,
            repaired: false,
            inferred_cause: Cause::Congestion,
            cwnd_before: 9_000,
            cwnd_after: 9_000,
            rto: Duration::from_secs(1),
            backoff: 0,
            same_window_of_data: false,
            stale_timer: false,
        };
        let mut events = Events::NONE;
        let timeout = Event::TimedOut(episode);
        for event in [timeout, Event::LossFound(episode)] {
            events.push_back(event);
        }
        events.note_window(4_000);
        assert_eq!(events.pop(), Some(timeout));
        assert_eq!(events.pop(), Some(Event::LossFound(Episode { cwnd_after: 4_000, ..episode })));
    }

    #[test]
    fn in_their_order() {
        let rtt = |ms| Event::Rtt(Duration::from_millis(ms));
        let orders = [
            vec![rtt(1), Event::Connected, rtt(2), Event::Closed],
            vec![Event::Connected, rtt(1), rtt(2)],
            vec![Event::Rtt(Duration::MAX), rtt(1)],
        ];
        for order in orders {
            let mut events = Events::NONE;
            order.iter().for_each(|event| events.push_back(*event));
            let mut samples = events.clone();
            let pop = || samples.pop_rtt().map(Event::Rtt).or_else(|| samples.pop());
            assert_eq!(std::iter::from_fn(pop).collect::<Vec<_>>(), order);
            let popped: Vec<Event> = std::iter::from_fn(|| events.pop()).collect();
            assert_eq!((popped, events.is_empty()), (order, true));
        }
    }
}
