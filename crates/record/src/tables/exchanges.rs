//! `exchanges`: every request with a complete response.

use super::{names, times};
use crate::table::{Column, Names, Table};
use retx_units::Time;

/// Request and its response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Index of the flow.
    pub flow: u32,
    /// Number of the exchange in its flow, from 1.
    pub number: u64,
    /// Time of the request.
    pub start: Time,
    /// Time at which the client has read the whole response.
    pub finish: Time,
    /// Size of the request.
    pub request_bytes: u64,
    /// Size of the response.
    pub response_bytes: u64,
}

/// All exchanges, in the order in which they finished.
#[derive(Debug, Clone, Default)]
pub struct Exchanges {
    rows: Vec<Exchange>,
}

impl Exchanges {
    /// Appends an exchange.
    pub fn push(&mut self, exchange: Exchange) {
        self.rows.push(exchange);
    }

    /// All rows.
    pub fn rows(&self) -> &[Exchange] {
        &self.rows
    }

    /// Converts to a table: `flow number start_s finish_s response_time_s request_bytes
    /// response_bytes`.
    pub fn to_table(&self, of: &Names) -> Table {
        let rows = &self.rows;
        let start: Vec<Time> = rows.iter().map(|row| row.start).collect();
        let finish: Vec<Time> = rows.iter().map(|row| row.finish).collect();
        let took = rows.iter().map(|row| row.finish.since(row.start).as_secs_f64());
        let count = |of: fn(&Exchange) -> u64| Column::Integer(rows.iter().map(of).collect());
        Table::new(
            "exchanges",
            vec![
                ("flow", names(rows.iter().map(|row| row.flow).collect(), &of.flows)),
                ("number", count(|row| row.number)),
                ("start_s", times(&start)),
                ("finish_s", times(&finish)),
                ("response_time_s", Column::Float(took.collect())),
                ("request_bytes", count(|row| row.request_bytes)),
                ("response_bytes", count(|row| row.response_bytes)),
            ],
        )
    }
}
