//! List `flows` of a summary: one row per flow. All rows have the same keys; values that only the
//! other transport protocol has are null.

use crate::collected::Rows;
use crate::datagrams::{DatagramCounters, DatagramInputs, DatagramSummary};
use crate::flow::{FlowCounters, FlowInputs, FlowSummary};
use crate::table::{Column, NO_INTEGER, NO_NAME};
use retx_units::Time;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// Results of a flow over TCP or UDP.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FlowRow<'a> {
    /// TCP flow.
    Tcp(&'a FlowSummary),
    /// UDP flow.
    Udp(&'a DatagramSummary),
}

impl Serialize for FlowRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Tcp(flow) => TcpRow { flow, others: &UDP_ONLY }.serialize(serializer),
            Self::Udp(flow) => {
                let mut row = empty_row();
                row.extend(table(flow));
                row.serialize(serializer)
            }
        }
    }
}

/// Row of a TCP flow. The keys of TCP come first in every row; the keys that only UDP has are
/// appended.
#[derive(Serialize)]
struct TcpRow<'a> {
    #[serde(flatten)]
    flow: &'a FlowSummary,
    #[serde(flatten)]
    others: &'a Map<String, Value>,
}

static EMPTY: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let mut row = Map::new();
    for (key, value) in table(&no_tcp()).into_iter().chain(table(&no_udp())) {
        row.entry(key).or_insert_with(|| without_leaves(value));
    }
    row
});

static UDP_ONLY: LazyLock<Map<String, Value>> = LazyLock::new(|| {
    let tcp = table(&no_tcp());
    empty_row().into_iter().filter(|(key, _)| !tcp.contains_key(key)).collect()
});

/// Row without values: all keys of both transport protocols, each with the value null.
pub fn empty_row() -> Map<String, Value> {
    EMPTY.clone()
}

fn table(of: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(of) {
        Ok(Value::Object(table)) => table,
        other => unreachable!("results are tables: {other:?}"),
    }
}

/// Replaces each number and string by null and keeps the keys, so that the keys, and the columns of
/// the table `flows`, do not depend on the transport protocol.
fn without_leaves(value: Value) -> Value {
    match value {
        Value::Object(table) => {
            table.into_iter().map(|(key, value)| (key, without_leaves(value))).collect()
        }
        _ => Value::Null,
    }
}

/// Rows of the flows of many runs, in columns: the columns of TCP flows, then the columns that only
/// UDP flows have.
#[derive(Debug, Clone, Default)]
pub struct FlowRows {
    tcp: Rows,
    udp: Rows,
    /// True for each row, in order, that belongs to a UDP flow.
    order: Vec<bool>,
}

impl FlowRows {
    /// Appends the row of a TCP flow. `numbers` identify the run; their keys must be equal in all
    /// rows.
    pub fn push_tcp(&mut self, numbers: &[(&str, u64)], row: &FlowSummary) {
        self.tcp.push(numbers, &[], row);
        self.order.push(false);
    }

    /// Appends the row of a UDP flow, like [`Self::push_tcp`].
    pub fn push_udp(&mut self, numbers: &[(&str, u64)], row: &DatagramSummary) {
        self.udp.push(numbers, &[], row);
        self.order.push(true);
    }

    /// Columns of the table; their names and types do not depend on the flows.
    pub fn into_columns(self) -> Vec<(String, Column)> {
        let mut udp: Vec<(String, Column)> = columns_or(self.udp, &no_udp());
        let tcp = columns_or(self.tcp, &no_tcp());
        let mut columns = Vec::with_capacity(tcp.len() + udp.len());
        for (name, of_tcp) in tcp {
            let at = udp.iter().position(|(other, _)| *other == name);
            let of_udp = at.map(|at| udp.remove(at).1);
            columns.push((name, interleaved(&self.order, Some(of_tcp), of_udp)));
        }
        columns.extend(
            udp.into_iter()
                .map(|(name, of_udp)| (name, interleaved(&self.order, None, Some(of_udp)))),
        );
        columns
    }
}

/// Columns of the rows. Without rows, the columns that `row` would create, but empty.
fn columns_or(rows: Rows, row: &impl Serialize) -> Vec<(String, Column)> {
    if !rows.is_unused() {
        return rows.into_columns();
    }
    let mut one = Rows::default();
    one.push(&[], &[], row);
    let empty = |column| match column {
        Column::Float(_) => Column::Float(Vec::new()),
        Column::Integer(_) => Column::Integer(Vec::new()),
        Column::Flag(_) => Column::Flag(Vec::new()),
        Column::Name { .. } => Column::Name { codes: Vec::new(), names: Vec::new() },
    };
    one.into_columns().into_iter().map(|(name, column)| (name, empty(column))).collect()
}

/// Interleaves a column of two kinds of rows; one kind may lack the column.
fn interleaved(order: &[bool], first: Option<Column>, second: Option<Column>) -> Column {
    match (first, second) {
        (Some(Column::Float(a)), Some(Column::Float(b))) => {
            Column::Float(taken(order, Some(a), Some(b), f64::NAN))
        }
        (Some(Column::Float(a)), None) => Column::Float(taken(order, Some(a), None, f64::NAN)),
        (None, Some(Column::Float(b))) => Column::Float(taken(order, None, Some(b), f64::NAN)),
        (Some(Column::Integer(a)), Some(Column::Integer(b))) => {
            Column::Integer(taken(order, Some(a), Some(b), NO_INTEGER))
        }
        (Some(Column::Integer(a)), None) => {
            Column::Integer(taken(order, Some(a), None, NO_INTEGER))
        }
        (None, Some(Column::Integer(b))) => {
            Column::Integer(taken(order, None, Some(b), NO_INTEGER))
        }
        (Some(Column::Name { codes, mut names }), other) => {
            let more = match other {
                Some(Column::Name { codes, names: more }) => {
                    let same = |text: String| {
                        let known = names.iter().position(|name| *name == text);
                        known.unwrap_or_else(|| {
                            names.push(text);
                            names.len() - 1
                        }) as u32
                    };
                    let new: Vec<u32> = more.into_iter().map(same).collect();
                    Some(codes.iter().map(|code| new[*code as usize]).collect())
                }
                None => None,
                Some(other) => unreachable!("names and {other:?}"),
            };
            Column::Name { codes: taken(order, Some(codes), more, NO_NAME), names }
        }
        (None, Some(Column::Name { codes, names })) => {
            Column::Name { codes: taken(order, None, Some(codes), NO_NAME), names }
        }
        other => unreachable!("columns of two kinds: {other:?}"),
    }
}

fn taken<T: Copy>(
    order: &[bool],
    first: Option<Vec<T>>,
    second: Option<Vec<T>>,
    none: T,
) -> Vec<T> {
    let (mut first, mut second) = (first.map(Vec::into_iter), second.map(Vec::into_iter));
    let next = |of_second: &bool| {
        let from = if *of_second { &mut second } else { &mut first };
        from.as_mut().map_or(none, |values| values.next().expect("a value for each row"))
    };
    order.iter().map(next).collect()
}

fn no_tcp() -> FlowSummary {
    let (name, tcp, [from, to]) = (String::new(), String::new(), [Time::ZERO; 2]);
    let inputs = FlowInputs { name, tcp, start: None, finish: None, from, to };
    FlowSummary::new(inputs, &FlowCounters::default())
}

fn no_udp() -> DatagramSummary {
    let (name, [from, to]) = (String::new(), [Time::ZERO; 2]);
    let inputs = DatagramInputs { name, start: None, finish: None, from, to };
    DatagramSummary::new(inputs, &DatagramCounters::default())
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
        let [tcp, udp] = [FlowRow::Tcp(&no_tcp()), FlowRow::Udp(&no_udp())]
            .map(|row| serde_json::to_value(row).expect("a row"));
        assert_eq!(leaves(&tcp), leaves(&udp));
        assert_eq!(leaves(&tcp), leaves(&empty_row().into()));
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
