//! Results of many runs, in columns.

use crate::pool::{Collect, Job};
use crate::run::Outcome;
use retx_record::{Column, FlowRow, FlowRows, Rows, Table};
use serde::Serialize;
use std::collections::BTreeMap;

/// Tables of many runs, by [`Job::kind`]: jobs of different kinds record different tables.
pub type TablesByJobKind = BTreeMap<u64, Columns>;

/// Tables of many runs. Each row begins with `point` ([`Job::label`]) and `replication`.
#[derive(Debug, Default)]
pub struct Columns {
    /// Row for each run: `events`, `simulated_s`.
    pub runs: Rows,
    /// Row for each run and flow.
    pub flows: FlowRows,
    /// Row for each run, link and direction.
    pub links: Rows,
    /// Row for each run and wlan.
    pub wlans: Rows,
    /// Row for each run, wlan and station.
    pub stations: Rows,
    /// Row for each run and relay.
    pub relays: Rows,
    /// Recorded tables by name.
    pub tables: Vec<(&'static str, Rows)>,
}

#[derive(Serialize)]
struct Cost {
    events: u64,
    simulated_s: f64,
}

impl Collect for TablesByJobKind {
    fn collect(&mut self, job: &Job, outcome: Outcome) {
        self.entry(job.kind).or_default().add(job.label, outcome);
    }
}

/// Name of the column that numbers the runs in a summary's table.
const REPLICATION: &str = "replication";

impl Outcome {
    /// Table `name` of the summary: `flows`, `links`, `wlans`, `stations` or `relays`; `None` for
    /// any other name. Each scalar of the (nested) rows becomes a column. Without rows, a table
    /// other than `flows` has no columns.
    pub fn summary_columns(&self, name: &str) -> Option<Vec<(String, Column)>> {
        summed_up(name, std::iter::once((&[][..], self)))
    }

    /// Columns of up to `count` flows from the flow `first` on, as in [`Self::summary_columns`].
    pub fn flow_columns(&self, first: usize, count: usize) -> Vec<(String, Column)> {
        let mut rows = FlowRows::default();
        if self.datagrams.is_empty() {
            let flows = self.flows.iter().skip(first).take(count);
            flows.for_each(|flow| rows.push_tcp(&[], flow));
        } else {
            let flows = self.flows_in_order().into_iter().skip(first).take(count);
            flows.for_each(|flow| push_flow(&mut rows, &[], flow));
        }
        rows.into_columns()
    }

    /// Table of the summary for several runs; its first column, `replication`, numbers the runs
    /// from 0.
    pub fn summary_columns_of_runs(runs: &[&Self], name: &str) -> Option<Vec<(String, Column)>> {
        let numbers: Vec<_> =
            (0..runs.len() as u64).map(|number| [(REPLICATION, number)]).collect();
        summed_up(name, numbers.iter().map(|number| &number[..]).zip(runs.iter().copied()))
    }

    /// Recorded table `name` of several runs, which are numbered as in
    /// [`Self::summary_columns_of_runs`]. `None` if a run has not recorded it, or if a text column
    /// has the same code for different texts in two runs.
    pub fn recorded_table_of_runs(runs: &[&Self], name: &str) -> Option<Table> {
        let tables: Option<Vec<Table>> = runs.iter().map(|run| run.recorded_table(name)).collect();
        let tables = tables?;
        let rows = tables.iter().map(Table::row_count).enumerate();
        let numbers = rows.flat_map(|(run, rows)| std::iter::repeat_n(run as u64, rows)).collect();
        let mut all = Table::concatenate(tables)?;
        all.columns.insert(0, (REPLICATION, Column::Integer(numbers)));
        Some(all)
    }

    /// Recorded table `name` of this run; `None` if it was not recorded.
    fn recorded_table(&self, name: &str) -> Option<Table> {
        let Self { tables, names, .. } = self;
        match name {
            "samples" => tables.samples.as_ref().map(|rows| rows.to_table(names)),
            "link_samples" => tables.link_samples.as_ref().map(|rows| rows.to_table(names)),
            "segments" => tables.segments.as_ref().map(|rows| rows.to_table(names)),
            "acks" => tables.acks.as_ref().map(|rows| rows.to_table(names)),
            "drops" => tables.drops.as_ref().map(|rows| rows.to_table(names)),
            "episodes" => tables.episodes.as_ref().map(|rows| rows.to_table(names)),
            "exchanges" => tables.exchanges.as_ref().map(|rows| rows.to_table(names)),
            "limits" => tables.limits.as_ref().map(|rows| rows.to_table(names)),
            _ => None,
        }
    }
}

/// Summary table `name` of several runs; each row begins with the numbers that identify its run.
fn summed_up<'a>(
    name: &str,
    runs: impl Iterator<Item = (&'a [(&'static str, u64)], &'a Outcome)>,
) -> Option<Vec<(String, Column)>> {
    let (mut flows, mut rows) = (FlowRows::default(), Rows::default());
    for (run, outcome) in runs {
        match name {
            "flows" => add_flows(&mut flows, run, outcome),
            "links" => outcome.links.iter().for_each(|link| rows.push(run, &[], link)),
            "wlans" => outcome.wlans.iter().for_each(|wlan| rows.push(run, &[], wlan)),
            "stations" => add_stations(&mut rows, run, outcome),
            "relays" => outcome.relays.iter().for_each(|relay| rows.push(run, &[], relay)),
            _ => return None,
        }
    }
    Some(if name == "flows" { flows.into_columns() } else { rows.into_columns() })
}

fn add_flows(rows: &mut FlowRows, run: &[(&str, u64)], outcome: &Outcome) {
    for flow in outcome.flows_in_order() {
        push_flow(rows, run, flow);
    }
}

fn push_flow(rows: &mut FlowRows, run: &[(&str, u64)], flow: FlowRow<'_>) {
    match flow {
        FlowRow::Tcp(flow) => rows.push_tcp(run, flow),
        FlowRow::Udp(flow) => rows.push_udp(run, flow),
    }
}

fn add_stations(rows: &mut Rows, run: &[(&str, u64)], outcome: &Outcome) {
    for wlan in &outcome.wlans {
        for station in &wlan.stations {
            rows.push(run, &[("wlan", wlan.name.as_str())], station);
        }
    }
}

impl Columns {
    fn add(&mut self, label: u64, outcome: Outcome) {
        let run = [("point", label), ("replication", outcome.replication)];
        let engine = &outcome.engine;
        let cost = Cost { events: engine.events, simulated_s: engine.simulated_s };
        self.runs.push(&run, &[], &cost);
        add_flows(&mut self.flows, &run, &outcome);
        outcome.links.iter().for_each(|link| self.links.push(&run, &[], link));
        outcome.wlans.iter().for_each(|wlan| self.wlans.push(&run, &[], wlan));
        add_stations(&mut self.stations, &run, &outcome);
        outcome.relays.iter().for_each(|relay| self.relays.push(&run, &[], relay));
        let Outcome { tables, names, .. } = outcome;
        let kept = [
            tables.samples.map(|rows| rows.to_table(&names)),
            tables.link_samples.map(|rows| rows.to_table(&names)),
            tables.segments.map(|rows| rows.to_table(&names)),
            tables.acks.map(|rows| rows.to_table(&names)),
            tables.drops.map(|rows| rows.to_table(&names)),
            tables.episodes.map(|rows| rows.to_table(&names)),
            tables.exchanges.map(|rows| rows.to_table(&names)),
            tables.limits.map(|rows| rows.to_table(&names)),
        ];
        for table in kept.into_iter().flatten() {
            self.append(&run, table);
        }
    }

    fn append(&mut self, run: &[(&'static str, u64)], table: Table) {
        let name = table.name;
        let known = self.tables.iter().position(|(known, _)| *known == name);
        let at = known.unwrap_or_else(|| {
            self.tables.push((name, Rows::default()));
            self.tables.len() - 1
        });
        self.tables[at].1.append(run, table);
    }

    /// All recorded tables by name.
    pub fn into_tables(self) -> impl Iterator<Item = (&'static str, Vec<(String, Column)>)> {
        if self.runs.is_unused() {
            return Vec::new().into_iter();
        }
        let Self { runs, flows, links, wlans, stations, relays, tables } = self;
        let summaries = [
            ("runs", runs),
            ("links", links),
            ("wlans", wlans),
            ("stations", stations),
            ("relays", relays),
        ];
        let kept = summaries.into_iter().chain(tables).filter(|(_, rows)| !rows.is_unused());
        let mut found = vec![("flows", flows.into_columns())];
        found.extend(kept.map(|(name, rows)| (name, rows.into_columns())));
        found.into_iter()
    }
}
