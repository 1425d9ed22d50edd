//! `samples`: time series of the senders.

mod packed;

use super::{names, seconds, seconds_of};
use crate::reason::SenderState;
use crate::table::{Column, Names, Table};
use packed::PackedRows;
use retx_units::{Duration, Time};

/// State of a sender at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Index of the flow.
    pub flow: u32,
    /// Time of the sample.
    pub time: Time,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow start threshold.
    pub ssthresh_bytes: u64,
    /// Sequence space sent and not acknowledged (FlightSize).
    pub flight_size_bytes: u64,
    /// Window advertised by the peer.
    pub rwnd_bytes: u64,
    /// Smoothed RTT; `None` before the first sample.
    pub srtt: Option<Duration>,
    /// RTT variation; `None` before the first sample.
    pub rttvar: Option<Duration>,
    /// Current retransmission timeout, including backoff.
    pub rto: Duration,
    /// Number of backoffs included in the RTO.
    pub backoff: u32,
    /// State of the sender.
    pub state: SenderState,
    /// Bytes of data acknowledged.
    pub ack_bytes: u64,
}

/// All samples, sorted by time, then by flow.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    packed: PackedRows,
}

impl Samples {
    /// Appends a sample.
    #[inline]
    pub fn push(&mut self, sample: Sample) {
        self.packed.push(&sample);
    }

    /// Number of rows.
    pub const fn len(&self) -> usize {
        self.packed.row_count()
    }

    /// True if the table has no rows.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All rows, unpacked.
    pub fn rows(&self) -> Vec<Sample> {
        let mut rows = Vec::with_capacity(self.packed.row_count());
        rows.extend(self.packed.iter());
        rows
    }

    /// Converts to a table, see the fields of [`Sample`].
    pub fn to_table(&self, of: &Names) -> Table {
        let count = self.packed.row_count();
        let mut flows = Vec::with_capacity(count);
        let mut states = Vec::with_capacity(count);
        let [mut time, mut srtt, mut rttvar, mut rto] = [(); 4].map(|()| Vec::with_capacity(count));
        let [mut cwnd, mut ssthresh, mut flight, mut rwnd, mut backoff, mut ack] =
            [(); 6].map(|()| Vec::with_capacity(count));
        for row in self.packed.iter() {
            flows.push(row.flow);
            time.push(seconds_of(row.time));
            cwnd.push(row.cwnd_bytes);
            ssthresh.push(row.ssthresh_bytes);
            flight.push(row.flight_size_bytes);
            rwnd.push(row.rwnd_bytes);
            srtt.push(seconds(row.srtt));
            rttvar.push(seconds(row.rttvar));
            rto.push(seconds(Some(row.rto)));
            backoff.push(u64::from(row.backoff));
            states.push(Some(row.state));
            ack.push(row.ack_bytes);
        }
        Table::new(
            "samples",
            vec![
                ("flow", names(flows, &of.flows)),
                ("time_s", Column::Float(time)),
                ("cwnd_bytes", Column::Integer(cwnd)),
                ("ssthresh_bytes", Column::Integer(ssthresh)),
                ("flight_size_bytes", Column::Integer(flight)),
                ("rwnd_bytes", Column::Integer(rwnd)),
                ("srtt_s", Column::Float(srtt)),
                ("rttvar_s", Column::Float(rttvar)),
                ("rto_s", Column::Float(rto)),
                ("backoff", Column::Integer(backoff)),
                ("state", SenderState::column(states.into_iter())),
                ("ack_bytes", Column::Integer(ack)),
            ],
        )
    }
}
