//! Cell driven by hand.

use crate::channel::Frame;
use crate::queue;
use crate::wlan::{Cell, Config, Departure, Entry, Packet, Parameters, Port, Standard};
use retx_units::{StreamKey, Time};

/// An 802.11b cell at 11 Mbit/s whose stations all hear each other.
pub fn config(stations: usize) -> Config {
    config_of(Standard::B.parameters(), stations)
}

pub fn config_of(parameters: Parameters, stations: usize) -> Config {
    Config {
        stations: (0..stations).map(|number| format!("s{number}")).collect(),
        parameters,
        short_retry_limit: Some(7),
        long_retry_limit: Some(4),
        rts_threshold: 2347,
        geometry: None,
        queue: queue::Config::droptail(queue::droptail::Config::default()),
        channel: Vec::new(),
        channel_senders: None,
        channel_reciprocal: false,
        changes: Vec::new(),
    }
}

pub fn packet(id: u32, bytes: u32) -> Packet {
    Packet { id, frame: Frame { bytes, ..Frame::control(bytes) }, ecn_capable: false }
}

/// A cell under test with a clock, which logs the cell's departures.
pub struct Rig {
    pub cell: Cell,
    pub now: Time,
    /// Departures with their times in µs.
    pub left: Vec<(u64, Departure)>,
    /// Number of instants with an event.
    pub events: u64,
}

impl Rig {
    pub fn new(config: &Config, seed: u64) -> Self {
        let key = StreamKey { seed, replication: 0 };
        Self {
            cell: Cell::new(config, key, "wlan.test"),
            now: Time::ZERO,
            left: Vec::new(),
            events: 0,
        }
    }

    /// Sends a packet at a time, before all other events of that time.
    pub fn send(&mut self, at_us: u64, port: (u16, u16), packet: &Packet) -> Entry {
        let at = Time::from_nanos(at_us * 1000);
        while self.cell.poll_timeout() < at {
            self.step();
        }
        self.now = at;
        let (from, to) = port;
        self.cell.handle_packet(self.now, Port { from, to }, packet)
    }

    /// Runs up to and including a time.
    pub fn run_to(&mut self, at_us: u64) {
        let end = Time::from_nanos(at_us * 1000);
        while self.cell.poll_timeout() <= end {
            self.step();
        }
        self.now = end;
    }

    pub fn step(&mut self) {
        self.now = self.cell.poll_timeout();
        self.events += 1;
        self.cell.handle_timeout(self.now);
        while let Some(departure) = self.cell.poll_transmit(self.now) {
            self.left.push((self.now.as_nanos() / 1000, departure));
        }
    }
}
