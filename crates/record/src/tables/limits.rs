//! `limits`: the limits of each flow, from its start to its end.

use super::{names, times};
use crate::limit::{FlowLimit, LimitedSpan};
use crate::table::{Names, Table};
use retx_units::Time;

/// Limits of all flows, sorted by flow, then by time.
#[derive(Debug, Clone, Default)]
pub struct LimitSpans {
    rows: Vec<(u32, LimitedSpan)>,
}

impl LimitSpans {
    /// Appends the spans of the flow with this index.
    pub fn push(&mut self, flow: u32, spans: impl Iterator<Item = LimitedSpan>) {
        self.rows.extend(spans.map(|span| (flow, span)));
    }

    /// Rows: the index of the flow, and the span.
    pub fn rows(&self) -> &[(u32, LimitedSpan)] {
        &self.rows
    }

    /// Converts to a table: `flow start_s end_s limit`, where `limit` is a key of `limited_by`.
    pub fn to_table(&self, of: &Names) -> Table {
        let time = |of: fn(&LimitedSpan) -> Time| {
            times(&self.rows.iter().map(|(_, span)| of(span)).collect::<Vec<_>>())
        };
        let limits = self.rows.iter().map(|(_, span)| span.limit.index() as u32).collect();
        Table::new(
            "limits",
            vec![
                ("flow", names(self.rows.iter().map(|(flow, _)| *flow).collect(), &of.flows)),
                ("start_s", time(|span| span.start)),
                ("end_s", time(|span| span.end)),
                ("limit", names(limits, &FlowLimit::KEYS.map(str::to_owned))),
            ],
        )
    }
}
