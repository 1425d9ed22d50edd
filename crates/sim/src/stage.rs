//! Stages other than pipes. Packets take different paths, called ports, through such a stage.
//!
//! All stages have the same methods. `handle_packet` enters a packet at a port; `poll_transmit`
//! returns the packets that leave; `poll_timeout` returns the time of the next wake-up (now, if a
//! packet is ready to leave); `handle_timeout` wakes the stage. Polling more often than needed has
//! no effect. No stage calls another: the engine moves packets between stages, with one pending
//! event per stage.

use crate::plan::{Port, StagePlan};
use retx_link::relay::{self, Relay};
use retx_link::stage::{Departure, Entry, Packet};
use retx_link::wlan::{self, Cell};
use retx_units::{Duration, QueueLengthHistory, StreamKey, Time};

/// Stage during a run.
#[derive(Debug, Clone)]
pub enum Stage {
    /// Cell of 802.11 stations.
    Wlan(Box<Cell>),
    /// Relay that inspects segments. It stores no packets itself: the engine shows it each segment,
    /// keeps copies on its behalf, and carries out its verdicts and orders.
    Relay(Box<Relay>),
}

/// Counters of a stage up to some instant.
#[derive(Debug, Clone)]
pub enum Snapshot {
    /// Counters of a cell.
    Wlan(CellSnapshot),
    /// Counters of a relay.
    Relay(RelaySnapshot),
}

/// Counters of a relay.
#[derive(Debug, Clone, Copy)]
pub struct RelaySnapshot {
    /// Counters of segments and acknowledgments.
    pub counters: relay::Counters,
    /// Bytes held over time.
    pub occupancy: relay::Occupancy,
    /// Copies held.
    pub held_copies: u64,
}

/// Counters of a cell.
#[derive(Debug, Clone)]
pub struct CellSnapshot {
    /// Sums over all stations.
    pub counters: wlan::Counters,
    /// Time during which at least one station transmitted.
    pub busy_time: Duration,
    /// Statistics of each station.
    pub stations: Vec<wlan::Statistics>,
}

impl Stage {
    /// Creates an empty stage, which uses fast paths if `fast_paths` is true.
    pub fn new(plan: &StagePlan, key: StreamKey, fast_paths: bool) -> Self {
        match plan {
            StagePlan::Wlan(plan) => {
                let name = format!("wlan.{}", plan.name);
                let mut cell = Cell::new(&plan.config, key, &name);
                if fast_paths {
                    cell.enable_fast_path();
                }
                Self::Wlan(Box::new(cell))
            }
            StagePlan::Relay(plan) => Self::Relay(Box::new(Relay::new(&plan.config))),
        }
    }

    /// Makes up for delayed events before `now`, and for those at `now` if `inclusive` is true.
    #[inline]
    pub fn advance_to(&mut self, now: Time, inclusive: bool) {
        if let Self::Wlan(cell) = self {
            cell.advance_to(now, inclusive);
        }
    }

    /// Enters a packet at a port.
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

    /// Removes and returns the next packet that leaves by `now`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Departure> {
        match self {
            Self::Wlan(cell) => cell.poll_transmit(now),
            Self::Relay(_) => None,
        }
    }

    /// Next wake-up.
    #[inline]
    pub fn poll_timeout(&self) -> Time {
        match self {
            Self::Wlan(cell) => cell.poll_timeout(),
            Self::Relay(relay) => relay.poll_timeout(),
        }
    }

    /// Handles the deadlines due by `now`.
    #[inline]
    pub fn handle_timeout(&mut self, now: Time) {
        match self {
            Self::Wlan(cell) => cell.handle_timeout(now),
            Self::Relay(relay) => relay.handle_timeout(now),
        }
    }

    /// Number of entries, each with a queue.
    pub fn entry_count(&self) -> u16 {
        match self {
            Self::Wlan(cell) => cell.stations(),
            Self::Relay(_) => 0,
        }
    }

    /// Number of packets that wait at an entry.
    pub fn queue_length(&self, now: Time, entry: u16) -> u64 {
        match self {
            Self::Wlan(cell) => cell.statistics(now, entry).queued,
            Self::Relay(_) => 0,
        }
    }

    /// Starts recording the queue length at each entry.
    pub fn record_history(&mut self) {
        match self {
            Self::Wlan(cell) => cell.record_history(),
            Self::Relay(_) => {}
        }
    }

    /// Queue length at an entry over time, if recorded; ends the recording.
    pub fn take_history(&mut self, entry: u16) -> Option<QueueLengthHistory> {
        match self {
            Self::Wlan(cell) => cell.take_history(entry),
            Self::Relay(_) => None,
        }
    }

    /// Resets maxima, so that the next snapshot contains the maxima from now on.
    pub fn restart_maxima(&mut self) {
        match self {
            Self::Wlan(cell) => cell.restart_maxima(),
            Self::Relay(relay) => relay.restart_maxima(),
        }
    }

    /// Counters at `now`.
    pub fn snapshot(&self, now: Time) -> Snapshot {
        match self {
            Self::Wlan(cell) => Snapshot::Wlan(CellSnapshot {
                counters: cell.counters(),
                busy_time: cell.busy_time(now),
                stations: (0..cell.stations()).map(|it| cell.statistics(now, it)).collect(),
            }),
            Self::Relay(relay) => Snapshot::Relay(RelaySnapshot {
                counters: relay.counters(),
                occupancy: relay.occupancy(now),
                held_copies: relay.copies_held(),
            }),
        }
    }
}

impl Snapshot {
    /// Number of packets in the stage.
    pub fn packets_inside(&self) -> u64 {
        match self {
            Self::Wlan(cell) => {
                cell.stations.iter().map(|it| it.queued + it.in_service + it.delayed).sum()
            }
            Self::Relay(relay) => relay.held_copies,
        }
    }

    /// True if packets are conserved. In a cell, at each station, the number of packets that
    /// entered equals delivered + dropped + inside; a relay holds bytes exactly when it holds
    /// packets.
    pub fn is_conserved(&self) -> bool {
        match self {
            Self::Wlan(cell) => cell.stations.iter().all(wlan::Statistics::is_conserved),
            Self::Relay(relay) => (relay.held_copies > 0) == (relay.occupancy.bytes > 0),
        }
    }
}
