//! *What it does.* A cell of 802.11 stations that share the medium by the distributed coordination
//! function: carrier sense, backoff, acknowledgments, retries, RTS and CTS.
//!
//! *Reference.* IEEE 802.11-1999 §9.2, IEEE 802.11b-1999 §18.3; Bianchi 2000 for saturation.
//!
//! *How.* Each station has at most one deadline: the end of its backoff, of its frame, of the SIFS
//! before its response, or of its wait for a response. The cell has one pending event, at the
//! earliest of these deadlines ([`Cell::poll_timeout`]). Slots are not events. The end of a backoff
//! is computed from the end of the last transmission that the station has sensed. When the station
//! senses another transmission, the number of whole slots that have passed is subtracted from the
//! backoff. If the backoffs of several stations end at the same instant, all of them transmit.
//!
//! *Where we differ.* All stations sense the start of a transmission at once, and its end one
//! propagation delay after the last bit. The slots of stations that hear each other therefore
//! coincide, as in Bianchi's model. If two frames overlap at a receiver, it receives neither (no
//! capture effect). A frame that is too weak to be received makes the medium busy and causes EIFS,
//! as in ns-2 and ns-3. Channel models apply only at the station to which a frame is addressed;
//! other stations read its header without error.
//!
//! A response, or the frame that an RTS announces, is in time if it begins before the deadline. The
//! standard requires the end of its preamble before a deadline that is later by the length of the
//! preamble. A station resets its NAV if an RTS has set it and no frame follows the RTS (§9.2.5.4).
//! The standard permits this reset. ns-3 has it, and ns-2 does not. There are no beacons, no
//! fragments and no power saving.

mod access;
mod accounts;
mod announced;
mod channels;
mod collision;
mod deadlines;
mod delayed;
mod exchange;
mod fast_path;
mod line;
mod medium;
pub mod parameters;
mod planning;
pub mod reach;
mod station;
pub mod statistics;

#[cfg(test)]
mod tests;

use crate::channel::{self, Model};
use crate::queue::{self, QueueAction, QueueActions};
pub use crate::stage::{Departure, Entry, Packet};
use accounts::Busy;
use channels::Channels;
use delayed::DelayedPackets;
use line::Line;
use parameters::Times;
pub use parameters::{Parameters, Preamble, Standard};
pub use reach::Geometry;
use reach::Reach;
use retx_units::{Duration, QueueLengthHistory, Rate, StreamKey, Time};
use station::{Radio, Sender};
pub use statistics::{Airtime, Attempts, Bursts, Counters, Statistics};
use std::collections::VecDeque;

/// Maximum number of stations in a cell.
pub const STATIONS_MAX: usize = 1000;

/// Configuration of a cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Names of the stations, which also name their random streams.
    pub stations: Vec<String>,
    /// Timing, windows and rates.
    pub parameters: Parameters,
    /// Maximum number of attempts for an RTS, or for a data frame without an RTS; `None` if
    /// unlimited.
    pub short_retry_limit: Option<u32>,
    /// Maximum number of attempts for a data frame announced by an RTS; `None` if unlimited.
    pub long_retry_limit: Option<u32>,
    /// Length of a data frame in bytes, including MAC header and checksum, above which an RTS is
    /// sent.
    pub rts_threshold: u32,
    /// Positions of the stations; if `None`, every station hears every other.
    pub geometry: Option<Geometry>,
    /// Queue discipline of each station.
    pub queue: queue::Config,
    /// Channel models of each ordered pair of stations.
    pub channel: Vec<channel::Config>,
    /// Names of the stations to whose frames the channel applies; `None` for all stations.
    pub channel_senders: Option<Vec<String>>,
    /// True if both directions between two stations share one channel, like a radio path.
    pub channel_reciprocal: bool,
    /// Scheduled changes, in order of time.
    pub changes: Vec<Change>,
}

/// New values that apply from an instant on; `None` leaves a value unchanged.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Time of the change. A new rate applies to frames that begin at or after this time, a new
    /// channel to frames that end at or after it.
    pub at: Time,
    /// Rate of data frames.
    pub rate: Option<Rate>,
    /// Channel models. A new model of the same kind as the model that it replaces continues with
    /// the state of the old one.
    pub channel: Option<Vec<channel::Config>>,
}

impl Config {
    fn asks_about(&self, sender: &String) -> bool {
        self.channel_senders.as_ref().is_none_or(|senders| senders.contains(sender))
    }
}

/// True for channel models that a cell supports: models that lose frames or delay packets. A model
/// must not duplicate or reorder frames, because a receiver accepts each frame once, and a station
/// finishes one packet before the next. Nor may it set the rate, because the cell does.
///
/// The MAC treats a delayed frame as received without delay: the ACK is sent after SIFS. Only the
/// packet in the frame leaves the cell later, and later packets do not overtake it. Control frames
/// are never delayed.
pub fn supports(model: &channel::Config) -> bool {
    model.keeps_order() && model.rates().is_none()
}

/// Ordered pair of stations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// Index of the station that sends.
    pub from: u16,
    /// Index of the station that receives.
    pub to: u16,
}

/// Cell during a run: stations, channels and frames.
#[derive(Debug, Clone)]
pub struct Cell {
    parameters: Parameters,
    /// Rate changes that are not applied yet, in reverse order of time.
    rates: Vec<(Time, Rate)>,
    control_rate: Rate,
    times: Times,
    short_retry_limit: Option<u32>,
    long_retry_limit: Option<u32>,
    rts_threshold: u32,
    reach: Reach,
    radios: Vec<Radio>,
    /// Next deadline of each station. The deadlines have an array of their own, because all of them
    /// are scanned for the earliest.
    dues: Vec<Time>,
    senders: Vec<Sender>,
    /// Current or last frame of each station.
    on_air: Vec<exchange::Transmission>,
    channels: Channels,
    /// Delayed packets; `None` if no channel model delays packets.
    delayed: Option<Box<DelayedPackets>>,
    /// Most recent idle time in nanoseconds, and the number of whole slots in it. The number is
    /// cached because all stations that hear each other need the same value.
    slots_known: (u64, u32),
    /// Earliest deadline of all stations.
    next: Time,
    /// Stations whose deadline is due; empty between calls.
    turns: Vec<u16>,
    /// Events that the caller has not fetched yet, with their stations, in order.
    departures: VecDeque<(u16, Departure)>,
    /// Time of the latest departure.
    departed: Time,
    /// Actions of a queue discipline; empty between calls.
    actions: QueueActions,
    /// Bursts of consecutive failures over all stations, in order of time: of data frames with
    /// errors, of packets given up, and of data frames lost by the channel.
    bursts: [Bursts; 3],
    busy: Busy,
    /// True if the cell may take the fast path.
    uses_fast_path: bool,
    /// Exchange on the fast path; `next` is then the end of its data frame or of the next one.
    exchange: Option<fast_path::Exchange>,
    /// Time from which the exchange is to be brought up to date.
    catch_up_at: Time,
    /// Collision on the fast path.
    collision: collision::Collision,
    /// State of the medium on the fast path.
    medium: medium::SharedMedium,
    /// Fate of the next ACK or CTS, if it was drawn before the end of that frame.
    response_fate: Option<Option<Duration>>,
}

impl Cell {
    /// Creates an idle cell. The random streams are `NAME.S.backoff` for the backoff of station S,
    /// `NAME.S.queue` for its queue, and `NAME.S-T.channel.0`, … for the channel from S to T.
    ///
    /// # Panics
    /// If there are more than [`STATIONS_MAX`] stations.
    pub fn new(config: &Config, key: StreamKey, name: &str) -> Self {
        let count = config.stations.len();
        assert!(count <= STATIONS_MAX, "the scenario has checked it");
        let parameters = config.parameters.clone();
        let sender = |station: &String| {
            let stream = |what: &str| key.stream(&format!("{name}.{station}.{what}"));
            let environment = line::environment(&parameters, stream("queue"));
            let line = Line::new(&config.queue, environment);
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
            delayed: DelayedPackets::new(config),
            next: Time::NEVER,
            turns: Vec::new(),
            departures: VecDeque::new(),
            departed: Time::ZERO,
            actions: QueueActions::default(),
            bursts: [Bursts::default(); 3],
            busy: Busy::default(),
            uses_fast_path: false,
            exchange: None,
            catch_up_at: Time::NEVER,
            collision: collision::Collision::default(),
            medium: medium::SharedMedium::default(),
            response_fate: None,
            parameters,
        }
    }

    /// Handles a packet that arrives at a station and is to be sent to another station.
    pub fn handle_packet(&mut self, now: Time, port: Port, packet: &Packet) -> Entry {
        self.advance_to(now, false);
        let sender = &mut self.senders[usize::from(port.from)];
        let idle = sender.head.is_none();
        let admitted = sender.admit(now, port.to, packet, &mut self.actions);
        let begins = idle && sender.head.is_some();
        self.note_exits(now, port.from);
        if !admitted {
            return Entry::QueueFull;
        }
        if begins {
            self.begin_contention(now, port.from);
        } else {
            self.note_waiting(port.from);
        }
        Entry::Accepted
    }

    /// Records the actions of a station's queue discipline.
    #[inline]
    fn note_exits(&mut self, now: Time, station: u16) {
        while let Some(action) = self.actions.pop() {
            let sender = &mut self.senders[usize::from(station)];
            let departure = match action {
                QueueAction::Dropped(id) => {
                    sender.unreported_drops += 1;
                    Departure::Dropped { id, at: now }
                }
                QueueAction::Marked(id) => {
                    sender.counters.packets_marked += 1;
                    Departure::Marked { id }
                }
            };
            self.depart(now, station, departure);
        }
    }

    /// Records an event for a station's packet. The caller fetches the event later.
    #[inline]
    fn depart(&mut self, now: Time, station: u16, departure: Departure) {
        self.departures.push_back((station, departure));
        self.departed = now;
    }

    /// Time of the next event; [`Time::NEVER`] if the cell is idle.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        if self.departures.is_empty() { self.next } else { self.departed }
    }

    /// Handles all events due by `now`.
    ///
    /// Ends of frames are handled first, then timeouts. Then all stations whose backoff ends start
    /// to transmit: stations that start at the same instant have not heard each other.
    pub fn handle_timeout(&mut self, now: Time) {
        if now < self.next {
            return;
        }
        self.advance_to(now, false);
        assert!(now == self.next, "what was due is done when it is due");
        if let Some(exchange) = self.exchange {
            return self.advance_exchange(now, exchange);
        }
        if !self.begin_collision(now) {
            self.handle_each_deadline(now);
        }
    }

    /// Removes and returns the next event of a packet.
    #[inline]
    pub fn poll_transmit(&mut self, _: Time) -> Option<Departure> {
        let (station, departure) = self.departures.pop_front()?;
        if let Departure::Dropped { .. } = departure {
            let sender = &mut self.senders[usize::from(station)];
            sender.unreported_drops -= 1;
            sender.counters.dropped_by_queue += 1;
        }
        Some(departure)
    }

    /// Statistics of a station at `now`.
    pub fn statistics(&self, now: Time, station: u16) -> Statistics {
        let sender = &self.senders[usize::from(station)];
        Statistics {
            counters: sender.counters,
            queued: sender.line.queue_length() + sender.unreported_drops,
            in_service: u64::from(sender.head.is_some_and(|head| !head.delivered)),
            delayed: sender.delayed,
            waited: sender.line.total_waiting_ns(now),
            queue_max: sender.line.max_queue(),
        }
    }

    /// Sums of all stations' counters.
    pub fn counters(&self) -> Counters {
        let mut sum = Counters::default();
        for sender in &self.senders {
            sum.add(&sender.counters);
        }
        let [error_bursts, loss_bursts, channel_bursts] = self.bursts;
        Counters { error_bursts, loss_bursts, channel_bursts, ..sum }
    }

    /// Starts recording the queue length of each station; the cell must be empty.
    pub fn record_history(&mut self) {
        for sender in &mut self.senders {
            sender.line.history = Some(QueueLengthHistory::default());
        }
    }

    /// Ends the recording; returns the queue length of a station over time, if it was recorded.
    pub fn take_history(&mut self, station: u16) -> Option<QueueLengthHistory> {
        self.senders[usize::from(station)].line.history.take()
    }

    /// Resets maxima and ends current bursts, so that later statistics do not include earlier ones.
    pub fn restart_maxima(&mut self) {
        self.senders.iter_mut().for_each(Sender::restart_maxima);
        self.bursts.iter_mut().for_each(Bursts::restart);
    }

    /// Number of stations.
    pub const fn stations(&self) -> u16 {
        self.radios.len() as u16
    }
}
