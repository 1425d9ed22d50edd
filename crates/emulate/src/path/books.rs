//! What becomes of a flow's segments, and what its sender did.
//!
//! The verdicts are those of simulations ([`Truth`]). What a simulation asks a connection is taken
//! from packets instead: a segment has arrived when it has left the network at its host, and the
//! sender has heard what the acknowledgments that have left at its host say. The smoothed RTT comes
//! from the estimator that a simulation would take, fed with samples as Linux takes them
//! ([`RoundTrips`]). What the sender took for a loss, and its window, its socket tells ([`Watch`]).

mod episodes;
mod round_trips;

use super::watch::{Finding, Watch, Wire};
use crate::socket_state::SocketState;
use retx_record::counters::{FlowCounters, IdleEnd};
use retx_record::reason::Cause;
use retx_record::tables::{self, Segments, Tables, Unacked, packet_number};
use retx_record::truth::{Arrived, Correction, Retransmission, SegmentCopy, Truth};
use retx_sim::Transmission;
use retx_tcp::Ranges;
use retx_tcp::rto::{self, Estimator, Limits};
use retx_units::{Duration, Time};
use round_trips::RoundTrips;

/// A flow's books.
#[derive(Debug)]
pub struct Books {
    /// What is counted.
    pub counters: FlowCounters,
    flow: u32,
    /// Payload of a full segment.
    smss: u32,
    tcp: retx_tcp::Config,
    /// Its sender answers requests.
    answers: bool,
    open: Open,
    /// When data were sent last; [`Time::NEVER`] before.
    last_data: Time,
    /// No data have been sent on this connection.
    fresh: bool,
    /// What the sender is reacting to.
    impulse: IdleEnd,
    /// Bytes of data acknowledged on earlier connections.
    earlier_bytes: u64,
    corrections: Vec<Correction>,
    findings: Vec<Finding>,
}

/// Of the open connection.
#[derive(Debug)]
struct Open {
    truth: Truth,
    received: Received,
    unacked: Unacked,
    estimator: rto::State,
    round_trips: RoundTrips,
    /// What the sender has heard of.
    acknowledged: u64,
    /// Position after the last byte of data ever sent.
    data_to: u64,
    watch: Watch,
    episode: Option<episodes::Last>,
}

/// What has reached the receiver.
#[derive(Debug, Default)]
struct Received(Ranges);

impl Arrived for Received {
    fn missing(&self, from: u64, to: u64) -> Option<(u64, u64)> {
        self.0.first_gap(from, to)
    }
}

/// A segment that the sender sends, and takes sequence numbers.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// What it carries, the SYN and the FIN with it.
    pub copy: SegmentCopy,
    /// Position after the last ever sent before it.
    pub sent_to: u64,
    /// Bytes of data in it.
    pub payload: u32,
}

/// What an acknowledgment says.
#[derive(Debug, Clone, Copy, Default)]
pub struct Heard {
    /// Everything before this has arrived, …
    pub to: u64,
    /// … and these, as far as they are not empty.
    pub selective: [(u64, u64); 4],
}

impl Open {
    fn new(tcp: &retx_tcp::Config) -> Self {
        Self {
            truth: Truth::default(),
            received: Received::default(),
            unacked: Unacked::default(),
            estimator: tcp.rto.build(tcp),
            round_trips: RoundTrips::default(),
            acknowledged: 0,
            data_to: 1,
            watch: Watch::default(),
            episode: None,
        }
    }

    /// Bytes of data that the sender has heard of.
    fn acked_bytes(&self) -> u64 {
        // SYN and FIN are none.
        self.acknowledged.min(self.data_to).saturating_sub(1)
    }
}

impl Books {
    /// Nothing has happened yet on this flow, whose full segments carry `smss` bytes.
    pub fn new(flow: u32, tcp: &retx_tcp::Config, smss: u32) -> Self {
        Self {
            counters: FlowCounters::default(),
            flow,
            smss,
            tcp: tcp.clone(),
            answers: false,
            open: Open::new(tcp),
            last_data: Time::NEVER,
            fresh: true,
            impulse: IdleEnd::Window,
            earlier_bytes: 0,
            corrections: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// The sender answers requests: when all that it has sent is acknowledged, it may be waiting
    /// for the next.
    pub const fn answer_requests(&mut self) {
        self.answers = true;
    }

    /// A connection begins.
    pub fn begin_connection(&mut self, now: Time, tables: &mut Tables) {
        self.end_watch(now, tables);
        self.earlier_bytes += self.open.acked_bytes();
        self.open = Open::new(&self.tcp);
        self.fresh = true;
    }

    /// The sender sends a segment; returns what that was worth, and its row in the table, if that
    /// is kept.
    pub fn sent(
        &mut self,
        now: Time,
        sent: Sent,
        tables: &mut Tables,
    ) -> (Transmission, Option<u32>) {
        let Sent { copy, sent_to, payload } = sent;
        if payload > 0 {
            self.counters.segments_sent += 1;
            self.open.data_to = self.open.data_to.max(copy.from + u64::from(payload));
            self.note_pause(now, sent_to);
        }
        let again = copy.from < sent_to;
        if copy.to > sent_to {
            self.open.round_trips.sent(copy.to, (!again).then_some(now));
        }
        let transmission = match again {
            true => self.sent_again(&sent, tables),
            false => Transmission::First,
        };
        let row = tables.segments.as_mut().map(|segments| {
            segments.push(tables::Segment {
                flow: self.flow,
                sent: now,
                seq: copy.from,
                length_bytes: payload,
                packet_number: packet_number(copy.from, self.smss),
                retransmission: again,
                cause: self.open.episode.filter(|_| again).map(|last| last.kind),
            })
        });
        if let Some(row) = row {
            self.open.unacked.push(copy.to, row, again);
        }
        (transmission, row)
    }

    fn sent_again(&mut self, sent: &Sent, tables: &mut Tables) -> Transmission {
        let Sent { copy, sent_to, payload } = *sent;
        self.open.round_trips.sent_again(copy.from, copy.to.min(sent_to));
        let episode = self.open.episode.and_then(|last| last.row);
        let Open { truth, received, .. } = &mut self.open;
        let again = Retransmission { copy, sent_to, episode, counted: payload > 0 };
        let unnecessary = truth.retransmitted(again, received);
        if payload > 0 {
            self.counters.segments_retransmitted += 1;
            self.counters.retransmissions_unnecessary += u64::from(unnecessary);
        }
        if let (Some(row), Some(episodes)) = (episode, &mut tables.episodes) {
            let episode = episodes.row_mut(row);
            episode.retransmitted += 1;
            episode.unnecessary += u64::from(unnecessary);
        }
        if unnecessary { Transmission::Unnecessary } else { Transmission::Necessary }
    }

    /// Data are sent, `sent_to` having been sent before: was the time since the last longer than a
    /// pause may be?
    fn note_pause(&mut self, now: Time, sent_to: u64) {
        let last = std::mem::replace(&mut self.last_data, now);
        let fresh = std::mem::take(&mut self.fresh);
        let longest = self.open.estimator.srtt().unwrap_or(self.tcp.initial_rto);
        if last == Time::NEVER || now.since(last) <= longest {
            return;
        }
        // A flow's program writes a file as fast as it is taken, so that there is nothing to send
        // between files alone; a server has nothing between requests.
        let waited = fresh || self.answers && self.open.acknowledged >= sent_to;
        let end = if waited { IdleEnd::Application } else { self.impulse };
        self.counters.idle.add(now.since(last), end);
    }

    /// A segment has reached the receiver.
    pub fn arrived(&mut self, copy: SegmentCopy) {
        self.open.received.0.insert(copy.from, copy.to);
        self.open.truth.delivered(copy);
    }

    /// A segment was dropped, and no copy of it that the network has made has arrived or will.
    /// Appends to `necessary` the packet number of each retransmission that has turned out to be
    /// so.
    pub fn dropped(
        &mut self,
        copy: SegmentCopy,
        cause: Cause,
        tables: &mut Tables,
        necessary: &mut Vec<(u32, u64)>,
    ) {
        self.open.truth.dropped(copy, cause, &mut self.corrections);
        self.correct(tables, necessary);
    }

    /// An acknowledgment of everything before `position` was dropped.
    pub fn ack_dropped(&mut self, position: u64) {
        self.open.truth.ack_dropped(position);
    }

    /// An acknowledgment has reached the sender, which has sent up to `sent_to` and now is as
    /// `state` says.
    pub fn heard(
        &mut self,
        now: Time,
        (ack, sent_to): (&Heard, u64),
        state: Option<&SocketState>,
        tables: &mut Tables,
    ) {
        self.impulse = IdleEnd::Window;
        let acked_before = self.open.acknowledged;
        // What has never been sent nobody takes for acknowledged.
        let acked = if ack.to <= sent_to { ack.to.max(acked_before) } else { acked_before };
        if let Some(state) = state {
            let wire = Wire { at: now, acked_before, acked, sent_to, again: None };
            self.looked(state, &wire, tables);
        }
        let mut sent = None;
        for (from, to) in ack.selective.iter().filter(|(_, to)| *to <= sent_to) {
            let newly = self.open.round_trips.sacked((*from).max(acked_before), *to);
            sent = sent.into_iter().chain(newly).min();
        }
        if acked > acked_before {
            sent = self.open.round_trips.acknowledged(acked).or(sent);
        }
        if let Some(sent) = sent {
            let rtt: Duration = now.since(sent);
            let limits = Limits::of(&self.tcp);
            self.open.estimator.on_rtt(rtt, acked, sent_to, &limits);
            self.counters.rtt.add(rtt);
        }
        if acked > acked_before {
            self.acknowledged(now, acked, tables.segments.as_mut());
        }
    }

    fn acknowledged(&mut self, now: Time, position: u64, segments: Option<&mut Segments>) {
        let open = &mut self.open;
        open.acknowledged = position;
        // An episode may yet be about what a probe has repaired.
        let probe = open.watch.open_probe();
        open.truth.advance(probe.map_or(position, |probe| probe.min(position)));
        if let Some(segments) = segments {
            open.unacked.acknowledged(now, position, segments);
        }
    }

    /// Statistics start now: returns what has been counted so far, to be taken off in the end.
    pub fn begin_statistics(&mut self, now: Time) -> FlowCounters {
        self.counters.cwnd.settle(now);
        self.counters.restart_maxima();
        self.open.truth.stop_counting();
        self.counters.clone()
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

    /// Books, and tables that are not kept.
    struct Kept(Books, Tables);

    impl Kept {
        fn syn(&mut self, at: u64) {
            self.0.begin_connection(ms(at), &mut self.1);
            let copy = SegmentCopy { number: 0, from: 0, to: 1 };
            self.0.sent(ms(at), Sent { copy, sent_to: 0, payload: 0 }, &mut self.1);
            self.0.arrived(copy);
            self.heard(at + 40, 1, 1);
        }

        /// 1000 bytes.
        fn sent(&mut self, at: u64, copy: SegmentCopy, sent_to: u64) -> Transmission {
            self.0.sent(ms(at), Sent { copy, sent_to, payload: 1000 }, &mut self.1).0
        }

        fn heard(&mut self, at: u64, position: u64, sent_to: u64) {
            let ack = Heard { to: position, ..Heard::default() };
            self.0.heard(ms(at), (&ack, sent_to), None, &mut self.1);
        }

        fn dropped(&mut self, copy: SegmentCopy, cause: Cause) -> Vec<(u32, u64)> {
            let mut necessary = Vec::new();
            self.0.dropped(copy, cause, &mut self.1, &mut necessary);
            necessary
        }
    }

    /// A sender whose handshake took 40 ms.
    fn connected() -> Kept {
        let mut books = Kept(Books::new(0, &linux(), 1000), Tables::default());
        books.syn(0);
        books
    }

    #[test]
    fn a_retransmission_is_unnecessary_until_the_original_is_dropped() {
        let mut books = connected();
        assert_eq!(books.sent(40, copy(1, 1), 1), Transmission::First);
        assert_eq!(books.sent(41, copy(2, 1001), 1001), Transmission::First);
        assert_eq!(books.sent(300, copy(3, 1), 2001), Transmission::Unnecessary);
        assert_eq!(books.0.counters.retransmissions_unnecessary, 1);
        assert_eq!(books.dropped(copy(1, 1), Cause::Wireless), [(0, 3)]);
        assert_eq!(books.0.counters.retransmissions_unnecessary, 0);
        // All copies of it are gone.
        assert_eq!(books.dropped(copy(3, 1), Cause::Congestion), []);
        assert_eq!(books.sent(900, copy(4, 1), 2001), Transmission::Necessary);
        books.0.arrived(copy(4, 1));
        assert_eq!(books.sent(901, copy(5, 1), 2001), Transmission::Unnecessary);
        assert_eq!(books.0.counters.segments_retransmitted, 3);
    }

    #[test]
    fn pauses_are_longer_than_an_rtt_of_what_was_sent_once() {
        let mut books = connected();
        books.sent(40, copy(1, 1), 1);
        // As long as the RTT is no pause; one more is.
        books.sent(80, copy(2, 1001), 1001);
        assert_eq!(books.0.counters.idle.total(), Duration::ZERO);
        books.sent(121, copy(3, 1), 2001);
        assert_eq!(books.0.counters.idle.total(), Duration::from_millis(41));
        // The first was sent twice: that it took 160 ms is no sample.
        books.heard(200, 2001, 2001);
        assert_eq!(books.0.open.estimator.srtt(), Some(Duration::from_millis(40)));
        assert_eq!(books.0.counters.rtt.count(), 1);
        // Between two connections there is nothing to send.
        books.syn(2000);
        books.sent(2041, copy(5, 1), 1);
        let idle = books.0.counters.idle;
        assert_eq!(idle.total(), Duration::from_millis(41));
        assert_eq!(idle.application, Duration::from_millis(1920));
        assert_eq!(books.0.earlier_bytes, 2000);
    }
}
