//! Delay line of a pipe: packets that have entered and not yet left, sorted by departure.

use super::Departure;
use crate::channel::Reason;
use crate::ring::Ring;
use crate::stage::later;
use retx_units::{Duration, Time};
use std::collections::VecDeque;

/// Id and length of a packet, which is all that a plain pipe needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PlainPacket {
    /// The caller's id of the packet.
    pub id: u32,
    /// Length of the IP packet, bytes; 0 if unknown.
    pub bytes: u32,
}

/// Packets in a pipe, sorted by departure time.
#[derive(Debug, Clone)]
pub(super) struct DelayLine {
    /// Departure time of the first packet.
    next: Time,
    /// Packets that arrive at the far end.
    delivered: Ring<(Time, PlainPacket)>,
    impairments: Option<Box<Impairments>>,
}

/// State that plain pipes never need. It is allocated for the first packet that is not simply
/// appended to the line.
#[derive(Debug, Clone, Default)]
struct Impairments {
    /// Latest arrival of all packets that have been in the line.
    last: Time,
    /// Arrival of the last in-order packet; in-order packets sent after it do not arrive earlier.
    line: Time,
    /// Packets that the channel loses, sorted by the end of their transmission; usually empty.
    lost: VecDeque<(Time, u32, Reason)>,
    /// Packets among `delivered` that wait to be overtaken; usually empty.
    held: Vec<Held>,
}

/// Packet held back until a number of packets have overtaken it, or until its latest arrival.
#[derive(Debug, Clone, Copy)]
struct Held {
    id: u32,
    /// Latest permitted arrival; the packet is stored in `delivered` with this arrival.
    at: Time,
    /// Number of packets that have yet to overtake this one.
    packets: u32,
    /// Delay from the arrival of the last packet that overtakes this one to the arrival of this
    /// one; above 0 only for the copy of a held frame, which arrives this much after the frame.
    behind: Duration,
}

impl DelayLine {
    pub fn new() -> Self {
        Self { next: Time::NEVER, delivered: Ring::default(), impairments: None }
    }

    #[inline]
    fn impairments(&mut self) -> &mut Impairments {
        self.impairments.get_or_insert_default()
    }

    /// Adds an in-order packet that arrives at `arrival`, but not before the previous in-order
    /// packet. Returns its arrival.
    #[inline]
    pub fn insert_in_order(&mut self, arrival: Time, id: u32) -> Time {
        let impairments = self.impairments.get_or_insert_default();
        let arrival = impairments.line.max(arrival);
        impairments.line = arrival;
        let someone_is_held = !impairments.held.is_empty();
        self.put(arrival, id);
        if someone_is_held {
            self.overtake(arrival);
        }
        arrival
    }

    /// Arrival of an in-order packet that would arrive at `arrival` if there were no packet before
    /// it.
    #[inline]
    pub fn in_order_arrival(&mut self, arrival: Time) -> Time {
        let impairments = self.impairments();
        impairments.line = impairments.line.max(arrival);
        impairments.line
    }

    /// Appends a packet that arrives no earlier than all others, which is always the case with a
    /// constant delay.
    #[inline]
    pub fn append(&mut self, arrival: Time, plain: PlainPacket) {
        self.next = self.next.min(arrival);
        self.delivered.push_back((arrival, plain));
    }

    /// Adds an out-of-order packet that arrives at `arrival`.
    pub fn insert_out_of_order(&mut self, arrival: Time, id: u32) {
        self.put(arrival, id);
    }

    /// Adds an out-of-order packet that arrives at `latest`, or `behind` after the `packets`-th
    /// in-order packet that follows, whichever is earlier.
    #[cold]
    pub fn insert_reordered(&mut self, latest: Time, id: u32, (packets, behind): (u32, Duration)) {
        // The packet is first stored at its latest arrival; `overtake` moves it to an earlier time.
        self.put(latest, id);
        self.impairments().held.push(Held { id, at: latest, packets, behind });
    }

    #[inline(always)]
    fn put(&mut self, arrival: Time, id: u32) {
        self.next = self.next.min(arrival);
        let impairments = self.impairments.get_or_insert_default();
        // Only plain pipes, which use `append`, need the length.
        let plain = PlainPacket { id, bytes: 0 };
        if arrival >= impairments.last {
            impairments.last = arrival;
            self.delivered.push_back((arrival, plain));
        } else {
            // The packet goes behind those with an equal arrival, so ties keep the order of
            // transmission.
            self.delivered.insert_before((arrival, plain), |(time, _)| *time > arrival);
        }
    }

    /// Records for all held packets that an in-order packet, which arrives at `arrival`, overtakes
    /// them.
    #[cold]
    fn overtake(&mut self, arrival: Time) {
        let mut all = std::mem::take(&mut self.impairments().held);
        all.retain_mut(|held| {
            held.packets -= 1;
            // A held packet never leaves later than at its latest arrival.
            let own = later(arrival, held.behind);
            if held.packets == 0 && held.at > own {
                // The in-order packet is the last that has to overtake the held packet. The held
                // packet therefore arrives right after it.
                self.delivered.remove(|(at, plain)| (*at, plain.id) == (held.at, held.id));
                self.put(own, held.id);
            }
            held.packets > 0
        });
        self.impairments().held = all;
        self.next = self.first();
    }

    fn first(&self) -> Time {
        let delivered = self.delivered.front().map_or(Time::NEVER, |(time, _)| *time);
        let lost = self.impairments.as_ref().and_then(|impairments| impairments.lost.front());
        let lost = lost.map_or(Time::NEVER, |(time, ..)| *time);
        delivered.min(lost)
    }

    /// Adds a packet that is lost at the end of its transmission; `end` must not decrease from call
    /// to call.
    pub fn insert_loss(&mut self, end: Time, id: u32, reason: Reason) {
        self.next = self.next.min(end);
        self.impairments().lost.push_back((end, id, reason));
    }

    /// Prefetches the slot for the next packet to be appended.
    #[inline]
    pub fn prefetch_back(&self) {
        self.delivered.prefetch(self.delivered.len() as u32);
    }

    /// Prefetches the slot of the first packet.
    #[inline]
    pub fn prefetch_front(&self) {
        self.delivered.prefetch(0);
    }

    /// Id of the first packet that arrives at the far end.
    #[inline]
    pub fn front(&self) -> Option<u32> {
        self.delivered.front().map(|(_, plain)| plain.id)
    }

    /// Departure time of the first packet.
    #[inline]
    pub const fn next(&self) -> Time {
        self.next
    }

    /// True if a packet in the line will be lost or is held back; [`Self::pop`] must then be used.
    #[inline]
    pub fn has_exceptions(&self) -> bool {
        self.impairments.as_ref().is_some_and(|it| !it.lost.is_empty() || !it.held.is_empty())
    }

    /// Removes and returns the first packet if it has arrived by `now`; valid only if
    /// [`Self::has_exceptions`] is false.
    #[inline]
    pub fn pop_plain(&mut self, now: Time) -> Option<PlainPacket> {
        if self.next > now || self.next == Time::NEVER {
            return None;
        }
        let (_, plain) = self.delivered.pop_front()?;
        self.next = self.delivered.front().map_or(Time::NEVER, |(time, _)| *time);
        Some(plain)
    }

    /// Removes and returns the first packet if it has left by `now`.
    #[cold]
    pub fn pop(&mut self, now: Time) -> Option<Departure> {
        let first = self.next;
        if first > now || first == Time::NEVER {
            return None;
        }
        self.pop_among_exceptions(first)
    }

    fn pop_among_exceptions(&mut self, first: Time) -> Option<Departure> {
        // At equal times a loss comes before an arrival.
        let impairments = self.impairments();
        let departure = if impairments.lost.front().is_some_and(|(time, ..)| *time == first) {
            let (at, id, reason) = impairments.lost.pop_front()?;
            Departure::Lost { id, at, reason }
        } else {
            let (_, PlainPacket { id, .. }) = self.delivered.pop_front()?;
            // If a held packet leaves at its latest arrival, it is not held any more.
            self.impairments().held.retain(|held| held.id != id);
            Departure::Delivered { id }
        };
        self.next = self.first();
        Some(departure)
    }

    /// Arrival times and ids of the packets in the line that will not be lost.
    pub fn arrivals(&self) -> impl Iterator<Item = (Time, u32)> {
        self.delivered.iter().map(|(time, plain)| (*time, plain.id))
    }

    /// Number of packets in the pipe, including those waiting for the transmitter.
    pub fn len(&self) -> u64 {
        (self.delivered.len()
            + self.impairments.as_ref().map_or(0, |impairments| impairments.lost.len()))
            as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packet of the reference model, which is a plain list. The derived order of packets is their
    /// order of departure.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    struct Plain {
        time: u64,
        delivered: bool,
        turn: usize,
        id: u32,
        /// Number of packets that have yet to overtake this one.
        packets: u32,
        /// Delay from the departure of the last packet that overtakes this one to the departure of
        /// this one, in nanoseconds.
        behind: u64,
    }

    proptest! {
        /// Packets leave in order of time, whichever packets overtake others. At equal times losses
        /// come first; other ties are in the order of entry.
        #[test]
        fn leaves_in_order(arrivals in prop::collection::vec((0u64..30, 0u8..5), 0..60)) {
            let mut delay_line = DelayLine::new();
            let mut plain: Vec<Plain> = Vec::new();
            let (mut end, mut line) = (0, 0);
            for (turn, (arrival, kind)) in arrivals.into_iter().enumerate() {
                let id = turn as u32;
                let mut new = Plain {
                    time: arrival,
                    delivered: true,
                    turn: 2 * turn,
                    id,
                    packets: 0,
                    behind: arrival / 3 % 3,
                };
                let time = Time::from_nanos(arrival);
                match kind {
                    0 => {
                        // Transmissions end in order.
                        end += arrival % 3;
                        delay_line.insert_loss(Time::from_nanos(end), id, Reason::Channel);
                        new = Plain { time: end, delivered: false, ..new };
                    }
                    1 => delay_line.insert_out_of_order(time, id),
                    2 => {
                        new.packets = 1 + arrival as u32 % 3;
                        let behind = Duration::from_nanos(new.behind);
                        delay_line.insert_reordered(time, id, (new.packets, behind));
                    }
                    _ => {
                        line = arrival.max(line);
                        new.time = line;
                        let arrives = delay_line.insert_in_order(time, id);
                        prop_assert_eq!(arrives, Time::from_nanos(line));
                        for held in plain.iter_mut().filter(|held| held.packets > 0) {
                            held.packets -= 1;
                            let own = line + held.behind;
                            if held.packets == 0 && held.time > own {
                                (held.time, held.turn) = (own, 2 * turn + 1);
                            }
                        }
                    }
                }
                plain.push(new);
            }
            plain.sort_unstable();
            for Plain { time, delivered, id, .. } in plain {
                let time = Time::from_nanos(time);
                prop_assert_eq!(delay_line.next(), time);
                if time > Time::ZERO {
                    prop_assert_eq!(delay_line.pop(Time::from_nanos(time.as_nanos() - 1)), None);
                }
                prop_assert_eq!(delay_line.pop(time), Some(if delivered {
                    Departure::Delivered { id }
                } else {
                    Departure::Lost { id, at: time, reason: Reason::Channel }
                }));
            }
            prop_assert_eq!(delay_line.len(), 0);
            prop_assert_eq!(delay_line.next(), Time::NEVER);
        }
    }
}
