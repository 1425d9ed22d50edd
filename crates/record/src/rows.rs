//! `flows[]` of a summary: one row per flow, all with the same keys. What only the other transport
//! has is null.

use crate::counters::FlowCounters;
use crate::datagrams::{DatagramCounters, DatagramFrame, DatagramSummary};
use crate::summary::{FlowFrame, FlowSummary};
use retx_units::Time;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// A flow's results.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)]
pub enum FlowRow {
    /// Over TCP.
    Tcp(FlowSummary),
    /// Over UDP.
    Udp(DatagramSummary),
}

impl Serialize for FlowRow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let own = match self {
            Self::Tcp(flow) => table(flow),
            Self::Udp(flow) => table(flow),
        };
        let mut row = empty_row();
        for (key, value) in own {
            row.insert(key, value);
        }
        row.serialize(serializer)
    }
}

/// A row in which nothing is known: all keys of both transports, with null at each leaf.
pub fn empty_row() -> Map<String, Value> {
    let mut row = Map::new();
    for (key, value) in table(&no_tcp()).into_iter().chain(table(&no_udp())) {
        row.entry(key).or_insert_with(|| without_leaves(value));
    }
    row
}

fn table(of: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(of) {
        Ok(Value::Object(table)) => table,
        other => unreachable!("results are tables: {other:?}"),
    }
}

/// The same tables, with null for each number and text: what keys there are does not depend on
/// the transport, nor do the columns of the table `flows`.
fn without_leaves(value: Value) -> Value {
    match value {
        Value::Object(table) => {
            table.into_iter().map(|(key, value)| (key, without_leaves(value))).collect()
        }
        _ => Value::Null,
    }
}

fn no_tcp() -> FlowSummary {
    let (name, tcp, [from, to]) = (String::new(), String::new(), [Time::ZERO; 2]);
    let frame = FlowFrame { name, tcp, start: None, finish: None, from, to };
    FlowSummary::new(frame, &FlowCounters::default())
}

fn no_udp() -> DatagramSummary {
    let (name, [from, to]) = (String::new(), [Time::ZERO; 2]);
    let frame = DatagramFrame { name, start: None, finish: None, from, to };
    DatagramSummary::new(frame, &DatagramCounters::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(value: &Value) -> Vec<String> {
        let Value::Object(table) = value else { return vec![String::new()] };
        let of = |(key, value): (&String, &Value)| {
            leaves(value).into_iter().map(|leaf| format!("{key}.{leaf}")).collect::<Vec<_>>()
        };
        table.iter().flat_map(of).collect()
    }

    #[test]
    fn rows_of_both_transports_have_the_same_keys() {
        let [tcp, udp] = [FlowRow::Tcp(no_tcp()), FlowRow::Udp(no_udp())]
            .map(|row| serde_json::to_value(row).expect("a row"));
        assert_eq!(leaves(&tcp), leaves(&udp));
        assert_eq!(
            (&tcp["datagrams"]["sent"], &udp["datagrams"]["sent"]),
            (&Value::Null, &0.into())
        );
        assert_eq!((&tcp["rto_count"], &udp["rto_count"]), (&0.into(), &Value::Null));
        assert_eq!(
            (&udp["tcp"], &udp["episodes"]["rto"]["spurious"]),
            (&Value::Null, &Value::Null)
        );
    }
}
