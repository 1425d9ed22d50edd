//! Stages that are no pipes: what several ports share, each with its own way through it.
//!
//! All have the same verbs. `handle_packet` takes a packet in at a port, `poll_transmit` gives
//! those back that leave, `poll_timeout` says when the stage wants to be woken (now, when something
//! is ready to leave), `handle_timeout` wakes it. Polling more often changes nothing. A stage
//! never calls a stage: the engine moves packets on, and waits for one event per stage.

use crate::plan::{Port, StagePlan};
use retx_link::relay::{self, Relay};
use retx_link::stage::{Departure, Entry, Packet};
use retx_link::wlan::{self, Cell};
use retx_units::{Duration, History, StreamKey, Time};

/// A running stage.
#[derive(Debug, Clone)]
pub enum Stage {
    /// A cell of 802.11 stations.
    Wlan(Box<Cell>),
    /// A relay that looks into segments. It takes no packet in: the engine shows it those that
    /// come by, and asks for its orders.
    Relay(Box<Relay>),
}

/// What a stage has counted up to some instant.
#[derive(Debug, Clone)]
pub enum Snapshot {
    /// A cell.
    Wlan(CellSnapshot),
    /// A relay.
    Relay(RelaySnapshot),
}

/// What a relay has counted.
#[derive(Debug, Clone, Copy)]
pub struct RelaySnapshot {
    /// Segments and acknowledgments.
    pub counters: relay::Counters,
    /// What it holds.
    pub occupancy: relay::Occupancy,
    /// Copies that it holds.
    pub held: u64,
}

/// What a cell has counted.
#[derive(Debug, Clone)]
pub struct CellSnapshot {
    /// All stations together.
    pub counters: wlan::Counters,
    /// Time in which someone was on the air.
    pub busy: Duration,
    /// Each station.
    pub stations: Vec<wlan::Statistics>,
}

impl Stage {
    /// A stage in which there is nothing yet.
    pub fn new(plan: &StagePlan, key: StreamKey) -> Self {
        match plan {
            StagePlan::Wlan(plan) => {
                let name = format!("wlan.{}", plan.name);
                Self::Wlan(Box::new(Cell::new(&plan.config, key, &name)))
            }
            StagePlan::Relay(plan) => Self::Relay(Box::new(Relay::new(&plan.config))),
        }
    }

    /// A packet enters at a port.
    #[inline]
    pub fn handle_packet(&mut self, now: Time, port: Port, packet: &Packet) -> Entry {
        match self {
            Self::Wlan(cell) => {
                let way = wlan::Port { from: port.entry, to: port.exit };
                cell.handle_packet(now, way, packet)
            }
            Self::Relay(_) => unreachable!("packets do not stay in a relay"),
        }
    }

    /// The next packet that leaves by `now`, until `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Departure> {
        match self {
            Self::Wlan(cell) => cell.poll_transmit(now),
            Self::Relay(_) => None,
        }
    }

    /// When it wants to be woken.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        match self {
            Self::Wlan(cell) => cell.poll_timeout(),
            Self::Relay(relay) => relay.poll_timeout(),
        }
    }

    /// Does what is due.
    #[inline]
    pub fn handle_timeout(&mut self, now: Time) {
        match self {
            Self::Wlan(cell) => cell.handle_timeout(now),
            Self::Relay(relay) => relay.handle_timeout(now),
        }
    }

    /// How many entries it has, each with a queue.
    pub fn ports(&self) -> u16 {
        match self {
            Self::Wlan(cell) => cell.stations(),
            Self::Relay(_) => 0,
        }
    }

    /// Packets that wait at an entry.
    pub fn queued(&self, now: Time, entry: u16) -> u64 {
        match self {
            Self::Wlan(cell) => cell.statistics(now, entry).queued,
            Self::Relay(_) => 0,
        }
    }

    /// From now on it is kept how many wait at each entry, at every instant.
    pub fn keep_history(&mut self) {
        match self {
            Self::Wlan(cell) => cell.keep_history(),
            Self::Relay(_) => {}
        }
    }

    /// How many have waited at an entry at every instant, if that was kept; empties it.
    pub fn take_history(&mut self, entry: u16) -> Option<History> {
        match self {
            Self::Wlan(cell) => cell.take_history(entry),
            Self::Relay(_) => None,
        }
    }

    /// Forgets maxima: the next snapshot tells those from now on.
    pub fn restart_maxima(&mut self) {
        match self {
            Self::Wlan(cell) => cell.restart_maxima(),
            Self::Relay(relay) => relay.restart_maxima(),
        }
    }

    /// What has been counted by `now`.
    pub fn snapshot(&self, now: Time) -> Snapshot {
        match self {
            Self::Wlan(cell) => Snapshot::Wlan(CellSnapshot {
                counters: cell.counters(),
                busy: cell.busy(now),
                stations: (0..cell.stations()).map(|it| cell.statistics(now, it)).collect(),
            }),
            Self::Relay(relay) => Snapshot::Relay(RelaySnapshot {
                counters: relay.counters(),
                occupancy: relay.occupancy(now),
                held: relay.held(),
            }),
        }
    }
}

impl Snapshot {
    /// Packets in the stage.
    pub fn inside(&self) -> u64 {
        match self {
            Self::Wlan(cell) => {
                cell.stations.iter().map(|it| it.queued + it.in_service + it.late).sum()
            }
            Self::Relay(relay) => relay.held,
        }
    }

    /// Packets in = delivered + dropped + inside, at each port.
    pub fn is_conserved(&self) -> bool {
        match self {
            Self::Wlan(cell) => cell.stations.iter().all(wlan::Statistics::is_conserved),
            Self::Relay(relay) => (relay.held > 0) == (relay.occupancy.bytes > 0),
        }
    }
}
