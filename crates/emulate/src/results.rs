//! Results of flows and proxies, combined from the reports of their ends and from the observations
//! on the path.

use crate::path::Observations;
use crate::progress::WorkerReport;
use crate::protocol::{FlowReport, ProxyReport};
use crate::summary::{EmulatedDatagrams, EmulatedFlow, EmulatedRow};
use retx_record::datagrams::DatagramInputs;
use retx_record::distribution::Distribution;
use retx_record::summary::{ExchangeSummary, FlowInputs, RelaySummary};
use retx_record::tables::{Exchange, Exchanges};
use retx_sim::plan::{AppPlan, Plan, ProxyPlan};
use retx_units::Time;

/// Results of the flows up to the time `to`, in the order of the scenario.
pub fn flow_rows(
    plan: &Plan,
    mut report: WorkerReport,
    seen: &Observations,
    to: Time,
) -> Vec<EmulatedRow> {
    record_end_to_end(&plan.proxies, &mut report.flows);
    let tcp = plan.flows.iter().zip(report.flows).zip(&seen.counters).enumerate();
    let mut tcp = tcp.map(|(index, ((flow, report), counts))| {
        let (name, tcp) = (flow.name.clone(), plan.tcps[flow.tcp as usize].name.clone());
        let inputs = FlowInputs { name, tcp, start: None, finish: None, from: plan.warmup, to };
        let exchanges = match *flow.app {
            AppPlan::Exchanges(_) => summary_of(&report, plan.warmup),
            _ => ExchangeSummary::default(),
        };
        let mut flow = EmulatedFlow::new(inputs, report, counts);
        flow.summary.exchanges = exchanges;
        flow.is_split = plan.proxies.iter().any(|proxy| proxy.legs.contains(&(index as u32)));
        EmulatedRow::Tcp(flow)
    });
    let mut rows = Vec::with_capacity(plan.flows.len() + plan.datagrams.len());
    let udp = plan.datagrams.iter().zip(report.datagrams).zip(&seen.datagrams);
    for (before, ((flow, report), observations)) in udp.enumerate() {
        let of_tcp = rows.len() - before;
        rows.extend(tcp.by_ref().take(flow.flows_before as usize - of_tcp));
        let inputs = DatagramInputs {
            name: flow.name.clone(),
            start: report.start,
            finish: observations.finish,
            from: plan.warmup,
            to,
        };
        rows.push(EmulatedRow::Udp(EmulatedDatagrams::new(inputs, report, observations)));
    }
    rows.extend(tcp);
    rows
}

/// Replaces the results of a split flow's first leg by those of the whole flow. They extend from
/// the opening of the first connection to the delivery to the receiving program.
fn record_end_to_end(proxies: &[ProxyPlan], flows: &mut [FlowReport]) {
    let is_first = |leg: u32| proxies.iter().all(|proxy| proxy.legs[1] != leg);
    for proxy in proxies.iter().filter(|proxy| is_first(proxy.legs[0])) {
        let last = flows[last_of(proxies, proxy.legs[1]) as usize].clone();
        let own = &mut flows[proxy.legs[0] as usize];
        // Either end may open the first connection, so the earlier start counts.
        own.start = own.start.into_iter().chain(last.start).min();
        own.finish = last.finish;
        own.bytes_delivered = last.bytes_delivered;
        own.bytes_in_warmup = last.bytes_in_warmup;
    }
}

/// Last leg of the split flow whose first leg is `leg`.
fn last_of(proxies: &[ProxyPlan], leg: u32) -> u32 {
    let next = proxies.iter().find(|proxy| proxy.legs[0] == leg);
    next.map_or(leg, |proxy| last_of(proxies, proxy.legs[1]))
}

/// Adds the results of proxies to those of their relays. Means and maxima of buffers are summed,
/// because each flow has its own buffer.
pub fn add_proxies<'a>(
    relays: &mut [RelaySummary],
    proxies: impl Iterator<Item = (&'a ProxyPlan, &'a ProxyReport)>,
) {
    for (plan, report) in proxies {
        let of = &mut relays[plan.relay as usize];
        of.bytes_relayed += report.bytes_relayed;
        of.buffer_mean_bytes = of.buffer_mean_bytes.map(|mean| mean + report.buffer_mean_bytes);
        of.buffer_max_bytes += report.buffer_max_bytes;
        of.buffer_end_bytes += report.buffer_end_bytes;
    }
}

fn summary_of(report: &FlowReport, warmup: Time) -> ExchangeSummary {
    let mut times = Distribution::default();
    for exchange in report.exchanges.iter().filter(|exchange| exchange.finish >= warmup) {
        times.add(exchange.finish.since(exchange.start));
    }
    (&times).into()
}

/// Table of exchanges, sorted by the time at which they ended; `None` without exchanges.
pub fn exchange_table(plan: &Plan, reports: &[FlowReport]) -> Option<Exchanges> {
    if !plan.flows.iter().any(|flow| flow.app.sends_requests()) {
        return None;
    }
    let of = |(flow, report): (usize, &FlowReport)| {
        let row = move |(index, exchange): (usize, &crate::protocol::ExchangeReport)| Exchange {
            flow: flow as u32,
            number: index as u64 + 1,
            start: exchange.start,
            finish: exchange.finish,
            request_bytes: exchange.request_bytes,
            response_bytes: exchange.response_bytes,
        };
        report.exchanges.iter().enumerate().map(row).collect::<Vec<_>>()
    };
    let mut rows: Vec<Exchange> = reports.iter().enumerate().flat_map(of).collect();
    // As in a simulation, rows are sorted by the end of the response; the reports are sorted by
    // flow.
    rows.sort_by_key(|row| row.finish);
    let mut table = Exchanges::default();
    rows.into_iter().for_each(|row| table.push(row));
    Some(table)
}
