//! `samples`: time series of the senders.

use super::{durations, names, times};
use crate::reason::SenderState;
use crate::table::{Column, Names, Table};
use retx_units::{Duration, Time};

/// A sender at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Index of the flow.
    pub flow: u32,
    /// When.
    pub time: Time,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow start threshold.
    pub ssthresh_bytes: u64,
    /// Sequence space in flight.
    pub flight_size_bytes: u64,
    /// The peer's window.
    pub rwnd_bytes: u64,
    /// Smoothed RTT, once there was a sample.
    pub srtt: Option<Duration>,
    /// RTT variation.
    pub rttvar: Option<Duration>,
    /// Timeout in force, backoff included.
    pub rto: Duration,
    /// Doublings in it.
    pub backoff: u32,
    /// What the sender is doing.
    pub state: SenderState,
    /// Bytes of data acknowledged.
    pub ack_bytes: u64,
}

/// All samples, in order of time; at the same time in the order of the flows.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    rows: Vec<Sample>,
}

impl Samples {
    /// Another sample.
    pub fn push(&mut self, sample: Sample) {
        self.rows.push(sample);
    }

    /// The rows.
    pub fn rows(&self) -> &[Sample] {
        &self.rows
    }

    /// In columns, see the fields of [`Sample`].
    pub fn table(&self, of: &Names) -> Table {
        let rows = &self.rows;
        let integer = |of: fn(&Sample) -> u64| Column::Integer(rows.iter().map(of).collect());
        let times_of: Vec<Time> = rows.iter().map(|row| row.time).collect();
        Table::new(
            "samples",
            vec![
                ("flow", names(rows.iter().map(|row| row.flow).collect(), &of.flows)),
                ("time_s", times(&times_of)),
                ("cwnd_bytes", integer(|row| row.cwnd_bytes)),
                ("ssthresh_bytes", integer(|row| row.ssthresh_bytes)),
                ("flight_size_bytes", integer(|row| row.flight_size_bytes)),
                ("rwnd_bytes", integer(|row| row.rwnd_bytes)),
                ("srtt_s", durations(rows.iter().map(|row| row.srtt))),
                ("rttvar_s", durations(rows.iter().map(|row| row.rttvar))),
                ("rto_s", durations(rows.iter().map(|row| Some(row.rto)))),
                ("backoff", integer(|row| row.backoff.into())),
                ("state", SenderState::column(rows.iter().map(|row| Some(row.state)))),
                ("ack_bytes", integer(|row| row.ack_bytes)),
            ],
        )
    }
}
