//! *What it does.* A cell of 802.11 stations that share the air by the distributed coordination
//! function: carrier sense, backoff, acknowledgments, retries, RTS and CTS.
//!
//! *Reference.* IEEE 802.11-1999 §9.2, IEEE 802.11b-1999 §18.3; Bianchi 2000 for saturation.
//!
//! *How.* Every station has at most one instant at which it does something of its own accord: its
//! turn comes, its frame ends, it answers, it gives up waiting. The cell waits for the earliest of
//! them ([`Cell::poll_timeout`]). No slot is an event: a station's turn is computed from the end
//! of the last transmission that it senses, and a transmission takes off as many slots as have
//! passed whole. Stations whose turns fall on the same instant all send.
//!
//! *Where we differ.* A transmission is sensed at once, and its end one propagation delay after
//! its last bit, by everyone: so slots of stations that hear each other coincide, as Bianchi has
//! it. Of two frames that overlap at a receiver neither is received (no capture); a frame too weak
//! to be received makes the medium busy and calls for EIFS, as in ns-2 and ns-3. Channel models
//! are asked at the addressed receiver only: others read headers without error. What a station
//! waits for (an answer; the frame that an RTS announces) has come in time when it begins in time;
//! by the standard the end of its preamble counts, for which the same time is allowed on top. A
//! station resets the NAV that an RTS without consequences has set (§9.2.5.4), which the standard
//! permits and ns-3 does; ns-2 does not. There are no beacons, fragments, or power saving.

mod access;
mod accounts;
mod channels;
mod exchange;
mod late;
mod line;
pub mod parameters;
pub mod reach;
mod station;
pub mod statistics;

#[cfg(test)]
mod tests;

use crate::channel::{self, Model};
use crate::queue::{self, Exit, Exits};
pub use crate::stage::{Departure, Entry, Packet};
use channels::Channels;
use late::Late;
use line::Line;
pub use parameters::{Parameters, Preamble, Standard};
pub use reach::Geometry;
use reach::Reach;
use retx_units::{Duration, History, Rate, StreamKey, Time};
use station::{Activity, Radio, Sender};
pub use statistics::{Airtime, Attempts, Bursts, Counters, Statistics};
use std::collections::VecDeque;

/// Most stations of a cell.
pub const STATIONS_MAX: usize = 1000;

/// How a cell works.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The stations' names, which their random streams are called after.
    pub stations: Vec<String>,
    /// Timing, windows and rates.
    pub parameters: Parameters,
    /// Attempts at an RTS, or at a data frame that needs none; `None` without a limit.
    pub short_retry_limit: Option<u32>,
    /// Attempts at a data frame that an RTS announces; `None` without a limit.
    pub long_retry_limit: Option<u32>,
    /// Longer frames are announced by an RTS; in bytes, MAC header and checksum included.
    pub rts_threshold: u32,
    /// Where the stations are; without it everyone hears everyone.
    pub geometry: Option<Geometry>,
    /// Who may wait at a station.
    pub queue: queue::Config,
    /// What becomes of a frame from one station to another; each ordered pair has its own.
    pub channel: Vec<channel::Config>,
    /// The stations whose frames the channel is asked about, by name; `None`: all.
    pub channel_senders: Option<Vec<String>>,
    /// Both directions between two stations share one channel, as the radio path does.
    pub channel_reciprocal: bool,
    /// What changes as time goes, in order of time.
    pub changes: Vec<Change>,
}

/// New values from an instant on; what is `None` stays as it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Holds for frames that begin then or later; a channel, for those that end then or later.
    pub at: Time,
    /// Rate of data frames.
    pub rate: Option<Rate>,
    /// The models. One that takes the place of another of its kind takes over what it remembers.
    pub channel: Option<Vec<channel::Config>>,
}

impl Config {
    fn asks_about(&self, sender: &String) -> bool {
        self.channel_senders.as_ref().is_none_or(|senders| senders.contains(sender))
    }
}

/// True for channel models that a cell asks: those that lose frames, or let packets wait. A
/// receiver takes every frame once, and the next when the one before is done with, so that none
/// comes twice or out of order; and the rate is the cell's.
///
/// A frame that is late has come in time for the MAC, whose ACK has to follow a SIFS after it: the
/// packet in it is handed on later, and holds up those behind it. Other frames are never late.
pub fn takes(model: &channel::Config) -> bool {
    model.keeps_order() && model.rates().is_none()
}

/// From one station to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// Index of the station that sends.
    pub from: u16,
    /// Index of the station that receives.
    pub to: u16,
}

/// A running cell.
#[derive(Debug, Clone)]
pub struct Cell {
    parameters: Parameters,
    /// Rates to come: the last one first.
    rates: Vec<(Time, Rate)>,
    control_rate: Rate,
    times: Times,
    short_retry_limit: Option<u32>,
    long_retry_limit: Option<u32>,
    rts_threshold: u32,
    reach: Reach,
    radios: Vec<Radio>,
    /// When each station does something of its own accord: apart, as all are looked through.
    dues: Vec<Time>,
    senders: Vec<Sender>,
    /// What each station has on the air, or had last.
    on_air: Vec<exchange::Transmission>,
    channels: Channels,
    /// Packets that have come, and are handed on later; only with channels that delay.
    late: Option<Box<Late>>,
    /// The last time span in nanoseconds and how many whole slots are in it: stations that hear
    /// each other all ask for the same.
    slots_known: (u64, u32),
    /// The earliest of all stations' instants.
    next: Time,
    /// Stations whose turn has come; empty between calls.
    turns: Vec<u16>,
    /// What has happened to packets at which station, and nobody has taken note of, in order.
    departures: VecDeque<(u16, Departure)>,
    /// When the last of it happened.
    departed: Time,
    /// What a queue has just done; empty between calls.
    exits: Exits,
    /// Bursts over the frames and packets of all stations, in order of time.
    bursts: [Bursts; 3],
    busy: Busy,
}

/// How long what is of fixed length takes.
#[derive(Debug, Clone, Copy)]
struct Times {
    ack: Duration,
    cts: Duration,
    rts: Duration,
    /// How long after an RTS a frame has to begin, so that what it reserves stays reserved.
    rts_in_vain: Duration,
    /// The last data frames' sizes and times, which spares the division.
    data: [(u32, Duration); 2],
}

/// How long someone was on the air.
#[derive(Debug, Clone, Copy, Default)]
struct Busy {
    transmitting: u32,
    since: Time,
    total: Duration,
}

impl Times {
    fn new(parameters: &Parameters) -> Self {
        let time = |bytes| parameters.airtime(bytes, parameters.control_rate());
        Self {
            ack: time(parameters::ACK_BYTES),
            cts: time(parameters::CTS_BYTES),
            rts: time(parameters::RTS_BYTES),
            rts_in_vain: (parameters.sifs + parameters.slot) * 2 + time(parameters::CTS_BYTES),
            data: [(0, Duration::ZERO); 2],
        }
    }
}

impl Cell {
    /// A silent cell. Station S draws its backoff from the stream `NAME.S.backoff`, its queue draws
    /// from `NAME.S.queue`; the channels from S to T draw from `NAME.S-T.channel.0`, …
    ///
    /// # Panics
    /// With more than [`STATIONS_MAX`] stations.
    pub fn new(config: &Config, key: StreamKey, name: &str) -> Self {
        let count = config.stations.len();
        assert!(count <= STATIONS_MAX, "the scenario has checked it");
        let parameters = config.parameters.clone();
        let sender = |station: &String| {
            let stream = |what: &str| key.stream(&format!("{name}.{station}.{what}"));
            let surroundings = line::surroundings(&parameters, stream("queue"));
            let line = Line::new(&config.queue, surroundings);
            Sender::new(line, stream("backoff"), parameters.cw_min)
        };
        Self {
            times: Times::new(&parameters),
            rates: config.changes.iter().rev().filter_map(|it| Some((it.at, it.rate?))).collect(),
            control_rate: parameters.control_rate(),
            short_retry_limit: config.short_retry_limit,
            long_retry_limit: config.long_retry_limit,
            rts_threshold: config.rts_threshold,
            reach: Reach::new(count as u16, config.geometry.as_ref()),
            radios: vec![Radio::new(); count],
            dues: vec![Time::NEVER; count],
            slots_known: (0, 0),
            senders: config.stations.iter().map(sender).collect(),
            on_air: vec![exchange::Transmission::NONE; count],
            channels: Channels::new(config, key, name),
            late: Late::new(config),
            next: Time::NEVER,
            turns: Vec::new(),
            departures: VecDeque::new(),
            departed: Time::ZERO,
            exits: Exits::default(),
            bursts: [Bursts::default(); 3],
            busy: Busy::default(),
            parameters,
        }
    }

    /// A packet arrives at a station, to be sent to another.
    pub fn handle_packet(&mut self, now: Time, port: Port, packet: &Packet) -> Entry {
        let sender = &mut self.senders[usize::from(port.from)];
        let idle = sender.head.is_none();
        let admitted = sender.admit(now, port.to, packet, &mut self.exits);
        let begins = idle && sender.head.is_some();
        self.note_exits(now, port.from);
        if !admitted {
            return Entry::QueueFull;
        }
        if begins {
            self.begin_access(now, port.from);
            self.next = self.next.min(self.dues[usize::from(port.from)]);
        }
        Entry::Accepted
    }

    /// What a station's queue has done to packets that it holds.
    #[inline]
    fn note_exits(&mut self, now: Time, station: u16) {
        while let Some(exit) = self.exits.pop() {
            let sender = &mut self.senders[usize::from(station)];
            let departure = match exit {
                Exit::Dropped(id) => {
                    sender.untold += 1;
                    Departure::Dropped { id, at: now }
                }
                Exit::Marked(id) => {
                    sender.counters.packets_marked += 1;
                    Departure::Marked { id }
                }
            };
            self.depart(now, station, departure);
        }
    }

    /// Something has happened to a packet of a station.
    #[inline]
    fn depart(&mut self, now: Time, station: u16, departure: Departure) {
        self.departures.push_back((station, departure));
        self.departed = now;
    }

    /// When the next thing happens; [`Time::NEVER`] in a cell that has nothing to do.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        if self.departures.is_empty() { self.next } else { self.departed }
    }

    /// Does all that is due by `now`.
    ///
    /// Frames end first, then waiting ends, then all whose turn it is send: who sends at the same
    /// instant has not heard the others.
    pub fn handle_timeout(&mut self, now: Time) {
        if now < self.next {
            return;
        }
        assert!(now == self.next, "what was due is done when it is due");
        self.hand_on(now);
        while let Some((_, rate)) = self.rates.pop_if(|(at, _)| *at <= now) {
            self.parameters.rate = rate;
            self.control_rate = self.parameters.control_rate();
            self.times = Times::new(&self.parameters);
        }
        let mut turns = std::mem::take(&mut self.turns);
        for (station, due) in self.dues.iter().enumerate() {
            if *due == now {
                turns.push(station as u16);
            }
        }
        self.each(now, &turns, Activity::Transmitting, Self::end_transmission);
        self.each(now, &turns, Activity::Awaiting, Self::give_up_waiting);
        turns.retain(|station| self.dues[usize::from(*station)] == now);
        for station in &turns {
            self.take_turn(now, *station);
        }
        for station in turns.drain(..) {
            self.announce(now, station);
        }
        self.turns = turns;
        let late = self.late.as_ref().map_or(Time::NEVER, |late| late.next());
        self.next = self.dues.iter().fold(late, |least, due| least.min(*due));
        assert!(self.next > now, "time goes on");
    }

    fn each(&mut self, now: Time, of: &[u16], activity: Activity, act: fn(&mut Self, Time, u16)) {
        for station in of {
            let index = usize::from(*station);
            if self.dues[index] == now && self.radios[index].activity == activity {
                act(self, now, *station);
            }
        }
    }

    /// What has happened to packets, one by one, until `None`.
    #[inline]
    pub fn poll_transmit(&mut self, _: Time) -> Option<Departure> {
        let (station, departure) = self.departures.pop_front()?;
        if let Departure::Dropped { .. } = departure {
            let sender = &mut self.senders[usize::from(station)];
            sender.untold -= 1;
            sender.counters.dropped_by_queue += 1;
        }
        Some(departure)
    }

    /// A station's statistics at `now`.
    pub fn statistics(&self, now: Time, station: u16) -> Statistics {
        let sender = &self.senders[usize::from(station)];
        Statistics {
            counters: sender.counters,
            queued: sender.line.waiting() + sender.untold,
            in_service: u64::from(sender.head.is_some_and(|head| !head.delivered)),
            late: sender.late,
            waited: sender.line.waited(now),
            queue_max: sender.line.longest(),
        }
    }

    /// The counters of all stations together.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for sender in &self.senders {
            sum.add(&sender.counters);
        }
        let [error_bursts, loss_bursts, channel_bursts] = self.bursts;
        Counters { error_bursts, loss_bursts, channel_bursts, ..sum }
    }

    /// How long someone was on the air until `now`.
    pub fn busy(&self, now: Time) -> Duration {
        let Busy { transmitting, since, total } = self.busy;
        total + if transmitting > 0 { now.since(since) } else { Duration::ZERO }
    }

    /// From now on it is kept how many wait at each station, at every instant; asked of an empty
    /// cell.
    pub fn keep_history(&mut self) {
        for sender in &mut self.senders {
            sender.line.history = Some(History::default());
        }
    }

    /// How many have waited at a station at every instant, if that was kept; empties it.
    pub fn take_history(&mut self, station: u16) -> Option<History> {
        self.senders[usize::from(station)].line.history.take()
    }

    /// Forgets maxima and ends runs: the next statistics tell those from now on.
    pub fn restart_maxima(&mut self) {
        self.senders.iter_mut().for_each(Sender::restart_maxima);
        self.bursts.iter_mut().for_each(Bursts::restart);
    }

    /// How many stations there are.
    pub const fn stations(&self) -> u16 {
        self.radios.len() as u16
    }
}
