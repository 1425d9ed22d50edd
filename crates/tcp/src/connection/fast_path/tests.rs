//! Two connections, each twice: one uses the fast paths, its double only the general path. Under
//! any input both produce the same output and keep the same state.

#[path = "test_bulk.rs"]
mod bulk;
#[path = "test_conditions.rs"]
mod conditions;
#[path = "test_sacks.rs"]
mod sacks;
#[path = "test_segments.rs"]
mod segments;

use super::{FastPaths, Receiving, Sending};
use crate::connection::parameters::{Parameters, SharedConfig};
use crate::connection::{Connection, Event, PlainTransmit, Polled, Transmit};
use crate::timers::KnownDeadline;
use crate::{Config, CwndValidation, Size, congestion_control, loss_cause, presets, spurious};
use retx_units::{Duration, RandomStream, SeqNr, StreamKey, Time};
use retx_wire::{Ecn, Flags, Options, SackBlock};

const SEEDS: u64 = 1_000;
const STEPS: u32 = 300;

/// End with and without fast paths.
type End = [Connection; 2];

/// Packets in flight to an end.
struct Flight {
    at: Time,
    to: usize,
    transmit: Transmit,
}

struct World {
    seed: u64,
    stream: RandomStream,
    now: Time,
    ends: [End; 2],
    flights: Vec<Flight>,
    /// Reciprocals of the probabilities of loss and of delay.
    lost: u64,
    late: u64,
    /// Number of steps at which each fast path was open: that of an undisturbed sender, of a sender
    /// in recovery, of a receiver with a gap, of a sender and a receiver with more to do, and of
    /// such a sender while segments are lost or selectively acknowledged.
    open: [u64; 6],
    /// Number of segments that continued a train.
    trains: u64,
}

/// State of a connection, except for the choice of paths.
fn kept(connection: &Connection) -> String {
    let mut connection = connection.clone();
    connection.fast_paths = FastPaths::default();
    connection.parameters = Parameters { use_fast_paths: true, ..*connection.parameters }.into();
    connection.receiver.forget_advertised();
    connection.receiver.memory.iter_mut().for_each(|memory| memory.forget_known());
    connection.sender.forget_known_bursts();
    connection.timers.forget_known();
    let known = connection.receiver.pending.known_deadline();
    known.into_iter().for_each(|known| *known = KnownDeadline::NONE);
    connection.sender.board.normalise(connection.sender.snd_una);
    format!("{connection:?}")
}

/// Passes a packet to a connection as the engine does.
fn take(connection: &mut Connection, now: Time, transmit: &Transmit) {
    let Transmit { segment, ecn, .. } = transmit;
    let timestamps = segment.options.timestamps;
    let plain = segment.options == Options { timestamps, ..Options::default() };
    let plain = plain && !segment.loss_notice;
    let at_once = plain && *ecn == Ecn::NotEct;
    if !at_once || !connection.handle_plain(now, segment.plain(), timestamps) {
        connection.handle_packet(now, segment, *ecn);
    }
}

fn pick<T: Copy>(stream: &mut RandomStream, of: &[T]) -> T {
    of[stream.below(of.len() as u64) as usize]
}

/// Preset with some of its values changed at random.
fn config(stream: &mut RandomStream) -> Config {
    let name = match stream.below(8) {
        0 => "newreno",
        1..=2 => "sack",
        3 => "linux",
        4 => "linux_bbr",
        5 => "rack",
        _ => pick(stream, presets::PRESETS).name,
    };
    let mut config = (presets::find(name).expect("a preset").config)();
    config.mss = pick(stream, &[100, 536, 1_460]);
    config.initial_window = Size::Mss(1 + stream.below(10)).into();
    config.delayed_ack.segments = 1 + stream.below(3) as u32;
    if stream.below(if name == "sack" { 2 } else { 4 }) == 0 {
        // The preset is left unchanged in these cases, so that the fast paths of a recovery and the
        // detailed ones are used.
        return config;
    }
    config.nagle = stream.below(2) == 0;
    config.sack |= stream.below(4) == 0;
    config.timestamps ^= stream.below(8) == 0;
    config.ecn = stream.below(8) == 0;
    config.slow_start_after_idle = stream.below(2) == 0;
    config.receive_buffer = Size::Bytes(pick(stream, &[3_000, 60_000, 4 << 20]));
    config.send_buffer = Size::Bytes(pick(stream, &[20_000, 4 << 20]));
    config.timer_granularity = Duration::from_millis(pick(stream, &[0, 10]));
    config.rtt_samples = pick(stream, &[crate::RttSamples::Timed, crate::RttSamples::EveryAck]);
    let validations = [CwndValidation::None, CwndValidation::Rfc7661, CwndValidation::Linux];
    config.cwnd_validation = pick(stream, &validations);
    let named = |name: &str| format!("it = \"{name}\"");
    if stream.below(4) == 0 {
        let name = pick(stream, spurious::Config::NAMES);
        config.spurious = chosen(&named(name));
    }
    if stream.below(4) == 0 {
        let name = pick(stream, loss_cause::Config::BUILT_IN);
        config.loss_cause = chosen(&named(name));
    }
    if stream.below(4) == 0 {
        let name = pick(stream, congestion_control::Config::BUILT_IN);
        config.congestion_control = chosen(&named(name));
    }
    config
}

/// Polls for the next segment: within a train, by the method for it.
fn poll(connection: &mut Connection, now: Time) -> Option<Transmit> {
    match connection.poll_train(now) {
        Some(plain) => Some(plain.transmit(connection.timestamps_at(now))),
        None => connection.poll_transmit(now),
    }
}

fn chosen<T: serde::de::DeserializeOwned>(text: &str) -> T {
    let mut table: std::collections::BTreeMap<String, T> = toml::from_str(text).expect("a choice");
    table.remove("it").expect("it was given")
}

impl World {
    fn new(seed: u64) -> Self {
        let mut stream = StreamKey { seed, replication: 0 }.stream("two ways");
        let configs = [(); 2].map(|()| {
            let short = SharedConfig::from(&config(&mut stream));
            [short.clone(), short.without_fast_paths()]
        });
        let [near, far] = [(); 2].map(|()| SeqNr(stream.next_u64() as u32));
        let ends = [
            configs[0].each_ref().map(|config| Connection::connect_as(config, near)),
            configs[1].each_ref().map(|config| Connection::listen_as(config, far)),
        ];
        let lost = pick(&mut stream, &[u64::MAX, 100, 15]);
        let late = pick(&mut stream, &[u64::MAX, 200, 20]);
        Self {
            seed,
            stream,
            now: Time::ZERO,
            ends,
            flights: vec![],
            lost,
            late,
            open: [0; 6],
            trains: 0,
        }
    }

    /// Applies an action to an end and its double, whose results must be equal.
    fn both<T: PartialEq + std::fmt::Debug>(
        &mut self,
        end: usize,
        mut act: impl FnMut(&mut Connection) -> T,
    ) -> T {
        let [short, long] = &mut self.ends[end];
        let answer = act(short);
        assert_eq!(answer, act(long), "seed {}, end {end}, at {:?}", self.seed, self.now);
        answer
    }

    fn check(&self) {
        for (end, [short, long]) in self.ends.iter().enumerate() {
            let seed = self.seed;
            assert_eq!(kept(short), kept(long), "seed {seed}, end {end}, at {:?}", self.now);
        }
    }

    /// Sends all pending segments, and polls the events.
    fn serve(&mut self) {
        let now = self.now;
        for end in 0..2 {
            let fast_paths = self.ends[end][0].fast_paths;
            let ways = [
                fast_paths.sending == Sending::Plain,
                fast_paths.sending == Sending::Repair,
                fast_paths.receiving == Receiving::BeyondGap,
                fast_paths.sending == Sending::Detailed,
                fast_paths.receiving == Receiving::Detailed,
                fast_paths.sending == Sending::DetailedRepair,
            ];
            self.open.iter_mut().zip(ways).for_each(|(open, way)| *open += u64::from(way));
            while self.both(end, Connection::poll_event).is_some_and(|it| it != Event::Reset) {}
            loop {
                self.check_the_last_of_all(&self.ends[end][0]);
                self.check_train(&self.ends[end][0]);
                self.trains += u64::from(self.ends[end][0].has_train(now));
                let Some(transmit) = self.both(end, |it| poll(it, now)) else { break };
                if self.stream.below(self.lost) == 0 {
                    continue;
                }
                let late = self.stream.below(self.late) == 0;
                let extra = if late { self.stream.below(60_000) } else { self.stream.below(100) };
                let delay = Duration::from_micros(20_000 + extra);
                let after = self.flights.iter().filter(|it| it.to != end && !late);
                let at = after.map(|it| it.at).fold(now + delay, Time::max);
                self.flights.push(Flight { at, to: 1 - end, transmit });
            }
            self.both(end, |it| it.poll_timeout());
        }
    }

    /// Asserts that an end which reported no more segments has none.
    fn check_the_last_of_all(&self, connection: &Connection) {
        let (mut ahead, mut place) = (connection.clone(), Transmit::default());
        if let Polled::Plain(plain) = ahead.poll_transmit_into(self.now, &mut place) {
            if plain.begins_train {
                assert!(ahead.has_train(self.now), "seed {}, at {:?}", self.seed, self.now);
            }
            let further = ahead.poll_transmit(self.now);
            let ends = plain.may_send_more || further.is_none();
            assert!(ends, "seed {}, at {:?}: {further:?}", self.seed, self.now);
        }
    }

    /// Asserts that the segments of a train, sent together, are those sent one by one, and leave
    /// the same state.
    fn check_train(&self, connection: &Connection) {
        let (mut together, mut single) = (connection.clone(), connection.clone());
        let Some(mut train) = together.begin_train(self.now) else { return };
        let segments: Vec<PlainTransmit> = train.by_ref().collect();
        let may_send_more = together.end_train(self.now, &train);
        let one_by_one: Vec<PlainTransmit> =
            segments.iter().filter_map(|_| single.poll_train(self.now)).collect();
        assert_eq!(one_by_one.last().map(|last| last.may_send_more), Some(may_send_more));
        let sent = |all: &[PlainTransmit]| -> Vec<_> {
            all.iter().map(|plain| (plain.position, plain.segment)).collect()
        };
        assert_eq!(sent(&one_by_one), sent(&segments), "seed {}", self.seed);
        assert_eq!(kept(&together), kept(&single), "seed {}, at {:?}", self.seed, self.now);
    }

    /// Advances to the earliest timer or arrival.
    fn go_on(&mut self) {
        let timer = |end: usize| self.ends[end][0].poll_timeout();
        let first = if timer(0) <= timer(1) { 0 } else { 1 };
        let arrival = (0..self.flights.len()).min_by_key(|index| self.flights[*index].at);
        match arrival.filter(|index| self.flights[*index].at <= timer(first)) {
            Some(index) => {
                let Flight { at, to, transmit } = self.flights.remove(index);
                self.now = self.now.max(at);
                self.deliver(to, transmit);
            }
            None if timer(first) < Time::NEVER => {
                self.now = self.now.max(timer(first));
                let now = self.now;
                self.both(first, |it| it.handle_timeout(now));
            }
            None => {}
        }
    }

    fn deliver(&mut self, to: usize, mut transmit: Transmit) {
        if self.stream.below(60) == 0 {
            self.disturb(&mut transmit);
        }
        let copies = if self.stream.below(80) == 0 { 2 } else { 1 };
        let now = self.now;
        for _ in 0..copies {
            self.both(to, |it| take(it, now, &transmit));
        }
    }

    /// Changes a field of a packet in flight.
    fn disturb(&mut self, transmit: &mut Transmit) {
        let any = self.stream.next_u64() as u32;
        let segment = &mut transmit.segment;
        match any >> 24 & 7 {
            0 => {
                segment.flags =
                    segment.flags.with(pick(&mut self.stream, &[Flags::PSH, Flags::ECE]))
            }
            1 => segment.window = any as u16 & pick(&mut self.stream, &[0, 0xf, u16::MAX]),
            2 => segment.ack = segment.ack.add((any & 0xfff).wrapping_sub(0x800)),
            3 => segment.seq = segment.seq.add((any & 0xfff).wrapping_sub(0x800)),
            4 => segment.loss_notice = true,
            5 => segment.payload_bytes /= 2,
            6 => transmit.ecn = Ecn::Ce,
            _ => {
                let left = segment.ack.add(any & 0xfff);
                segment.options.sack.push(SackBlock { left, right: left.add(1_460) });
            }
        }
    }

    /// Performs a random action of the application.
    fn act(&mut self) {
        let end = self.stream.below(2) as usize;
        let bytes = self.stream.below(if end == 0 { 40_000 } else { 400 });
        match self.stream.below(60) {
            0 => self.both(end, Connection::close),
            1 => self.both(end, Connection::detach),
            2 if self.stream.below(4) == 0 => self.both(end, Connection::abort),
            3..=20 => drop(self.both(end, |it| it.read(bytes))),
            21..=40 => drop(self.both(end, |it| it.read(u64::MAX))),
            _ if end == 1 && self.stream.below(4) > 0 => {}
            _ => {
                let now = self.now;
                self.both(end, |it| it.write(now, bytes));
            }
        }
    }
}

#[test]
fn fast_paths_and_the_general_path_agree() {
    let mut open = [0; 6];
    for seed in 0..SEEDS {
        let mut world = World::new(seed);
        for step in 0..STEPS {
            if world.stream.below(4) == 0 {
                world.act();
            } else {
                world.go_on();
            }
            world.serve();
            if step % 16 == 0 {
                world.check();
            }
        }
        world.check();
        open.iter_mut().zip(world.open).for_each(|(all, of)| *all += of);
    }
    // Open paths were counted for both ends at each step; many connections never open some paths.
    let steps = SEEDS * u64::from(STEPS);
    assert!(open[0] > steps / 4 && open[1] > steps / 200 && open[2] > steps / 100, "{open:?}");
    assert!(open[3] > steps / 8 && open[4] > steps / 8 && open[5] > steps / 50, "{open:?}");
}
