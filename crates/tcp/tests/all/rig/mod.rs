//! Two connections and a wire between them, for tests that lose segments and check the outcome.

use retx_tcp::{Config, Connection, Event, State, Transmit, presets};
use retx_units::{Duration, SeqNr, Time};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// End of the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// The end that opens the connection.
    Client,
    /// The end that listens.
    Server,
}

impl End {
    pub fn other(self) -> Self {
        if self == Self::Client { Self::Server } else { Self::Client }
    }
}

/// A segment that an end has sent.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    pub at: Time,
    pub from: End,
    pub transmit: Transmit,
}

/// An end with its application: the bytes that it still has to write, and how it reads.
pub struct Host {
    pub connection: Connection,
    pub to_write: u64,
    pub close_when_written: bool,
    /// Largest number of bytes read at each look at the socket; `u64::MAX` means that data are read
    /// at once.
    pub reads: u64,
    pub bytes_read: u64,
    pub events: Vec<(Time, Event)>,
    /// Positions of the peer's stream that the wire has delivered here.
    delivered: BTreeSet<(u64, u64)>,
    /// Everything before this position has been delivered.
    reached: u64,
}

impl Host {
    fn new(connection: Connection) -> Self {
        Self {
            connection,
            to_write: 0,
            close_when_written: false,
            reads: u64::MAX,
            bytes_read: 0,
            events: Vec::new(),
            delivered: BTreeSet::new(),
            reached: 1,
        }
    }

    /// True if the wire has delivered all of the first `bytes` bytes of the peer's stream here.
    fn has_been_given(&mut self, bytes: u64) -> bool {
        while let Some(&(left, right)) =
            self.delivered.first().filter(|range| range.0 <= self.reached)
        {
            self.delivered.remove(&(left, right));
            self.reached = self.reached.max(right);
        }
        self.reached > bytes
    }
}

/// Arrivals of the copies of a frame, as delays beyond the propagation delay; empty if it is lost.
pub type Channel = Box<dyn FnMut(&Sent) -> Vec<Duration>>;

type Flight = Reverse<(Time, u64, End, usize)>;

pub struct Pair {
    pub now: Time,
    pub client: Host,
    pub server: Host,
    pub delay: Duration,
    pub channel: Channel,
    pub sent: Vec<Sent>,
    flights: BinaryHeap<Flight>,
    count: u64,
    /// Interval at which the applications look at their sockets, in addition to every arrival.
    pub look_every: Duration,
    next_look: Time,
    iss: [SeqNr; 2],
}

pub fn preset(name: &str) -> Config {
    (presets::find(name).expect("a preset").config)()
}

impl Pair {
    pub fn new(config: &Config) -> Self {
        Self::with(config, config, [SeqNr(1_000), SeqNr(2_000)])
    }

    pub fn with(client: &Config, server: &Config, iss: [SeqNr; 2]) -> Self {
        Self {
            now: Time::ZERO,
            client: Host::new(Connection::connect(client, iss[0])),
            server: Host::new(Connection::listen(server, iss[1])),
            delay: Duration::from_millis(20),
            channel: Box::new(|_| vec![Duration::ZERO]),
            sent: Vec::new(),
            flights: BinaryHeap::new(),
            count: 0,
            look_every: Duration::from_secs(3600),
            next_look: Time::ZERO,
            iss,
        }
    }

    pub fn host(&mut self, end: End) -> &mut Host {
        if end == End::Client { &mut self.client } else { &mut self.server }
    }

    /// Loses the n-th copies (from 0) of the segments of `from` that carry these positions.
    pub fn lose_copies(&mut self, from: End, losses: &[(u64, u32)]) {
        let mut seen: Vec<(u64, u32)> = losses.iter().map(|loss| (loss.0, 0)).collect();
        let losses = losses.to_vec();
        self.channel = Box::new(move |sent| {
            let left = sent.transmit.position;
            let right = left + u64::from(sent.transmit.segment.seq_len());
            let mut lost = false;
            if sent.from == from {
                for (index, entry) in seen.iter_mut().enumerate() {
                    if (left..right).contains(&entry.0) {
                        lost |= losses[index].1 == entry.1;
                        entry.1 += 1;
                    }
                }
            }
            if lost { vec![] } else { vec![Duration::ZERO] }
        });
    }

    /// Runs until nothing is left to do or `until` is reached.
    pub fn drive(&mut self, until: Time) {
        self.serve(End::Client);
        self.serve(End::Server);
        while let Some(at) = self.next_event().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            if self.flights.peek().is_some_and(|Reverse(flight)| flight.0 <= self.now) {
                let Reverse((_, _, to, index)) = self.flights.pop().expect("peeked");
                self.deliver(to, index);
                self.serve(to);
                continue;
            }
            if self.next_look <= self.now {
                self.next_look = self.now + self.look_every;
            }
            for end in [End::Client, End::Server] {
                let now = self.now;
                self.host(end).connection.handle_timeout(now);
                self.serve(end);
            }
        }
    }

    fn next_event(&self) -> Option<Time> {
        let flight = self.flights.peek().map_or(Time::NEVER, |Reverse(flight)| flight.0);
        let timers =
            self.client.connection.poll_timeout().min(self.server.connection.poll_timeout());
        let open = [&self.client, &self.server]
            .iter()
            .any(|host| host.to_write > 0 || host.connection.readable() > 0);
        let look = if open { self.next_look } else { Time::NEVER };
        let next = flight.min(timers).min(look);
        (next < Time::NEVER).then_some(next)
    }

    fn deliver(&mut self, to: End, index: usize) {
        let sent = self.sent[index];
        let now = self.now;
        let host = self.host(to);
        let left = sent.transmit.position;
        let right = left + u64::from(sent.transmit.segment.payload_bytes);
        if right > left {
            host.delivered.insert((left, right));
        }
        host.connection.handle_segment(now, &sent.transmit.segment);
    }

    /// Lets the application of an end look at its socket, and the connection send what it can.
    fn serve(&mut self, end: End) {
        let now = self.now;
        let iss = self.iss[end as usize];
        let host = self.host(end);
        while let Some(event) = host.connection.poll_event() {
            host.events.push((now, event));
        }
        if host.connection.state() == State::Listen {
            return;
        }
        host.to_write -= host.connection.write(now, host.to_write);
        let open = host.connection.state() != State::SynSent;
        if host.to_write == 0 && host.close_when_written && open {
            host.connection.close();
            host.close_when_written = false;
        }
        let reads = host.reads;
        host.bytes_read += host.connection.read(reads);
        assert!(host.has_been_given(host.bytes_read), "bytes read that never arrived");
        if host.events.iter().any(|(_, event)| *event == Event::PeerClosed)
            && host.connection.readable() == 0
            && host.to_write == 0
            && open
        {
            host.connection.close();
        }
        while let Some(transmit) = self.host(end).connection.poll_transmit(now) {
            let segment = &transmit.segment;
            if !segment.flags.contains(retx_wire::Flags::RST) {
                assert_eq!(segment.seq, iss.add(transmit.position as u32), "{transmit:?}");
            }
            let sent = Sent { at: now, from: end, transmit };
            self.sent.push(sent);
            assert!(self.sent.len() < 200_000, "an endless exchange, last {sent:?}");
            let index = self.sent.len() - 1;
            for extra in (self.channel)(&sent) {
                self.count += 1;
                let arrival = now + self.delay + extra;
                self.flights.push(Reverse((arrival, self.count, end.other(), index)));
            }
        }
        let host = self.host(end);
        while let Some(event) = host.connection.poll_event() {
            host.events.push((now, event));
        }
    }

    /// Data segments that `from` has sent, as (milliseconds, position).
    pub fn data_sent(&self, from: End) -> Vec<(f64, u64)> {
        self.sent
            .iter()
            .filter(|sent| sent.from == from && sent.transmit.segment.payload_bytes > 0)
            .map(|sent| (sent.at.as_secs_f64() * 1e3, sent.transmit.position))
            .collect()
    }

    pub fn states(&self) -> [State; 2] {
        [self.client.connection.state(), self.server.connection.state()]
    }
}

pub fn seconds(secs: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(secs)
}
