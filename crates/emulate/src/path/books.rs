//! What becomes of a flow's segments, and what its sender did, as far as packets tell.
//!
//! The verdicts are those of simulations ([`Truth`]). What a simulation asks a connection is taken
//! from packets instead: a segment has arrived when it has left the network at its host, and the
//! sender has heard what the acknowledgments that have left at its host say. The smoothed RTT comes
//! from the estimator that a simulation would take, fed with the oldest segment that each
//! acknowledgment acknowledges, unless any of them was a retransmission (RFC 6298 §3).

use retx_record::counters::{FlowCounters, IdleEnd};
use retx_record::reason::Cause;
use retx_record::tables::{Segments, Unacked};
use retx_record::truth::{Arrived, Correction, Retransmission, SegmentCopy, Truth};
use retx_sim::Transmission;
use retx_tcp::Ranges;
use retx_tcp::rto::{self, Estimator};
use retx_units::{Duration, Time};
use std::collections::VecDeque;

/// A flow's books.
#[derive(Debug)]
pub struct Books {
    /// What is counted.
    pub counters: FlowCounters,
    tcp: retx_tcp::Config,
    open: Open,
    /// When data were sent last; [`Time::NEVER`] before.
    last_data: Time,
    /// No data have been sent on this connection.
    fresh: bool,
    corrections: Vec<Correction>,
}

/// Of the open connection.
#[derive(Debug)]
struct Open {
    truth: Truth,
    received: Received,
    unacked: Unacked,
    estimator: rto::State,
    /// Position after each segment that is not acknowledged, and when it was sent;
    /// [`Time::NEVER`] for one of which some was sent twice.
    timed: VecDeque<(u64, Time)>,
    /// What the sender has heard of.
    acknowledged: u64,
}

/// What has reached the receiver.
#[derive(Debug, Default)]
struct Received(Ranges);

impl Arrived for Received {
    fn missing(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        self.0.first_gap(from, to)
    }
}

impl Open {
    fn new(tcp: &retx_tcp::Config) -> Self {
        Self {
            truth: Truth::default(),
            received: Received::default(),
            unacked: Unacked::default(),
            estimator: tcp.rto.build(tcp),
            timed: VecDeque::new(),
            acknowledged: 0,
        }
    }

    /// Some of `from … to` is sent again: its acknowledgment tells no RTT.
    fn untime(&mut self, from: u64, to: u64) {
        let first = self.timed.partition_point(|(end, _)| *end <= from);
        let mut start = from;
        for (end, sent) in self.timed.range_mut(first..) {
            if start >= to {
                return;
            }
            start = *end;
            *sent = Time::NEVER;
        }
    }
}

impl Books {
    /// Nothing has happened yet.
    pub fn new(tcp: &retx_tcp::Config) -> Self {
        Self {
            counters: FlowCounters::default(),
            tcp: tcp.clone(),
            open: Open::new(tcp),
            last_data: Time::NEVER,
            fresh: true,
            corrections: Vec::new(),
        }
    }

    /// A connection begins.
    pub fn begin_connection(&mut self) {
        self.open = Open::new(&self.tcp);
        self.fresh = true;
    }

    /// The sender sends what takes sequence numbers; up to `sent_to` it has sent before. Returns
    /// what that was worth.
    pub fn sent(
        &mut self,
        now: Time,
        copy: SegmentCopy,
        sent_to: u64,
        carries_data: bool,
    ) -> Transmission {
        if carries_data {
            self.counters.segments_sent += 1;
            self.note_pause(now);
        }
        let again = copy.from < sent_to;
        if copy.to > sent_to {
            let timed = if again { Time::NEVER } else { now };
            self.open.timed.push_back((copy.to, timed));
        }
        if !again {
            return Transmission::First;
        }
        self.open.untime(copy.from, copy.to);
        let Open { truth, received, .. } = &mut self.open;
        let again = Retransmission { copy, sent_to, episode: None, counted: carries_data };
        let unnecessary = truth.retransmitted(again, received);
        if carries_data {
            self.counters.segments_retransmitted += 1;
            self.counters.retransmissions_unnecessary += u64::from(unnecessary);
        }
        if unnecessary { Transmission::Unnecessary } else { Transmission::Necessary }
    }

    /// Data are sent: was the time since the last longer than a pause may be?
    fn note_pause(&mut self, now: Time) {
        let last = std::mem::replace(&mut self.last_data, now);
        let fresh = std::mem::take(&mut self.fresh);
        let longest = self.open.estimator.srtt().unwrap_or(self.tcp.initial_rto);
        if last == Time::NEVER || now.since(last) <= longest {
            return;
        }
        // A flow's program writes a file as fast as it is taken, so that there is nothing to send
        // between files alone. What ended another pause, packets do not tell.
        let end = if fresh { IdleEnd::Application } else { IdleEnd::Window };
        self.counters.idle.add(now.since(last), end);
    }

    /// A segment that the sender has just sent is in the table.
    pub fn written(&mut self, end: u64, row: u32, retransmission: bool) {
        self.open.unacked.push(end, row, retransmission);
    }

    /// A segment has reached the receiver.
    pub fn arrived(&mut self, copy: SegmentCopy) {
        self.open.received.0.insert(copy.from, copy.to);
        self.open.truth.delivered(copy);
    }

    /// A segment was dropped, and no copy of it that the network has made has arrived or will.
    /// Calls `necessary` for each retransmission, by its packet number, that has turned out to be
    /// so.
    pub fn dropped(&mut self, copy: SegmentCopy, cause: Cause, mut necessary: impl FnMut(u64)) {
        self.open.truth.dropped(copy, cause, &mut self.corrections);
        for correction in self.corrections.drain(..) {
            match correction {
                Correction::Necessary { number, counted, .. } => {
                    self.counters.retransmissions_unnecessary -= u64::from(counted);
                    necessary(number);
                }
                Correction::Cause { .. } => unreachable!("there are no episodes"),
            }
        }
    }

    /// An acknowledgment of everything before `position` has reached the sender, which has sent up
    /// to `sent_to`.
    pub fn acknowledged(
        &mut self,
        now: Time,
        (position, sent_to): (u64, u64),
        segments: Option<&mut Segments>,
    ) {
        let open = &mut self.open;
        if position <= open.acknowledged || position > sent_to {
            return;
        }
        open.acknowledged = position;
        let mut oldest: Option<Time> = None;
        let mut again = false;
        while let Some(&(end, sent)) = open.timed.front()
            && end <= position
        {
            open.timed.pop_front();
            oldest.get_or_insert(sent);
            again |= sent == Time::NEVER;
        }
        if let Some(sent) = oldest.filter(|_| !again) {
            let rtt: Duration = now.since(sent);
            open.estimator.on_rtt(rtt, position, sent_to);
        }
        open.truth.advance(position);
        if let Some(segments) = segments {
            open.unacked.acknowledged(now, position, segments);
        }
    }

    /// Statistics start now: returns what has been counted so far, to be taken off in the end.
    pub fn begin_statistics(&mut self) -> FlowCounters {
        self.counters.restart_maxima();
        self.open.truth.stop_counting();
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linux() -> retx_tcp::Config {
        (retx_tcp::presets::find("linux").expect("it is one").config)()
    }

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn copy(number: u64, from: u64) -> SegmentCopy {
        SegmentCopy { number, from, to: from + 1000 }
    }

    /// A sender whose handshake took 40 ms.
    fn connected() -> Books {
        let mut books = Books::new(&linux());
        books.begin_connection();
        books.sent(ms(0), SegmentCopy { number: 0, from: 0, to: 1 }, 0, false);
        books.arrived(SegmentCopy { number: 0, from: 0, to: 1 });
        books.acknowledged(ms(40), (1, 1), None);
        books
    }

    #[test]
    fn a_retransmission_is_unnecessary_until_the_original_is_dropped() {
        let mut books = connected();
        assert_eq!(books.sent(ms(40), copy(1, 1), 1, true), Transmission::First);
        assert_eq!(books.sent(ms(41), copy(2, 1001), 1001, true), Transmission::First);
        let again = books.sent(ms(300), copy(3, 1), 2001, true);
        assert_eq!(again, Transmission::Unnecessary);
        assert_eq!(books.counters.retransmissions_unnecessary, 1);
        let mut told = Vec::new();
        books.dropped(copy(1, 1), Cause::Wireless, |number| told.push(number));
        assert_eq!((told, books.counters.retransmissions_unnecessary), (vec![3], 0));
        // All copies of it are gone.
        books.dropped(copy(3, 1), Cause::Congestion, |_| panic!("it was known"));
        assert_eq!(books.sent(ms(900), copy(4, 1), 2001, true), Transmission::Necessary);
        books.arrived(copy(4, 1));
        let unneeded = books.sent(ms(901), copy(5, 1), 2001, true);
        assert_eq!(unneeded, Transmission::Unnecessary);
        assert_eq!(books.counters.segments_retransmitted, 3);
    }

    #[test]
    fn pauses_are_longer_than_an_rtt_of_what_was_sent_once() {
        let mut books = connected();
        books.sent(ms(40), copy(1, 1), 1, true);
        // As long as the RTT is no pause; one more is.
        books.sent(ms(80), copy(2, 1001), 1001, true);
        assert_eq!(books.counters.idle.total(), Duration::ZERO);
        books.sent(ms(121), copy(3, 1), 2001, true);
        assert_eq!(books.counters.idle.total(), Duration::from_millis(41));
        // The first was sent twice: that it took 160 ms is no sample.
        books.acknowledged(ms(200), (2001, 2001), None);
        assert_eq!(books.open.estimator.srtt(), Some(Duration::from_millis(40)));
        // Between two connections there is nothing to send.
        books.begin_connection();
        books.sent(ms(2000), SegmentCopy { number: 4, from: 0, to: 1 }, 0, false);
        books.acknowledged(ms(2040), (1, 1), None);
        books.sent(ms(2041), copy(5, 1), 1, true);
        let idle = books.counters.idle;
        assert_eq!(idle.total(), Duration::from_millis(41));
        assert_eq!(idle.application, Duration::from_millis(1920));
    }
}
