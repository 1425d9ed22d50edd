//! Tables of one flow of a capture, with the columns of a run's tables.
//!
//! docs/how-to/read-the-results.md describes the columns. A capture shows times at only one place.
//! Times at an endpoint are estimated by adding or subtracting half the least round trip between
//! the capture and the endpoint. A capture does not show the congestion window.

use crate::answer::{Kind, Necessity};
use crate::flow::packet_log::{Observed, Sample, WatchedFlows};
use crate::reader::ReadError;
use crate::run::{self, RequestedOutput};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Read;

const NS: f64 = 1e-9;

/// Table of the transmissions of segments with data, by column.
#[derive(Debug, Default, Serialize)]
pub struct Segments {
    sent_s: Vec<f64>,
    seq: Vec<i64>,
    length_bytes: Vec<i64>,
    /// Number of the frame in the file.
    packet_number: Vec<u64>,
    retransmission: Vec<bool>,
    cause: Vec<Option<Kind>>,
    fate: Vec<&'static str>,
    arrived_s: Vec<Option<f64>>,
    acked_s: Vec<Option<f64>>,
}

/// Table of the acknowledgments, by column.
#[derive(Debug, Default, Serialize)]
pub struct Acks {
    sent_s: Vec<f64>,
    ack: Vec<i64>,
    window_bytes: Vec<i64>,
    fate: Vec<&'static str>,
    arrived_s: Vec<f64>,
}

/// State of the sender after each acknowledgment, as far as the capture shows it.
#[derive(Debug, Default, Serialize)]
pub struct Samples {
    time_s: Vec<f64>,
    flight_size_bytes: Vec<i64>,
    rwnd_bytes: Vec<Option<i64>>,
    srtt_s: Vec<Option<f64>>,
    rto_s: Vec<f64>,
    backoff: Vec<u32>,
    state: Vec<&'static str>,
    ack_bytes: Vec<i64>,
}

/// Tables of a flow.
#[derive(Debug, Serialize)]
pub struct Tables {
    segments: Segments,
    acks: Acks,
    samples: Samples,
}

/// Tables of flow `number`; none if there is no such flow.
///
/// # Errors
/// The file is not a capture.
pub fn tables<R: Read>(source: R, name: &str, number: usize) -> Result<Option<Tables>, ReadError> {
    let wanted =
        RequestedOutput { watched: WatchedFlows::Flow(number), ..RequestedOutput::default() };
    let mut reading = run::read(source, name, wanted, |_, _| ())?;
    Ok(reading.observed.remove(&number.wrapping_sub(1)).map(|observed| Tables::of(&observed)))
}

impl Tables {
    fn of(observed: &Observed) -> Self {
        let [to_sender_ns, to_receiver_ns] = observed.loops_ns.map(|ns| ns.unwrap_or(0) / 2);
        let mut acks = Acks::default();
        for packet in observed.packet_log.acks.iter().filter(|packet| !packet.is_syn) {
            acks.sent_s.push((packet.time_ns - to_receiver_ns) as f64 * NS);
            acks.ack.push(packet.ack);
            acks.window_bytes.push(packet.window);
            acks.fate.push("delivered");
            acks.arrived_s.push((packet.time_ns + to_sender_ns) as f64 * NS);
        }
        Self {
            segments: segments(observed, [to_sender_ns, to_receiver_ns]),
            acks,
            samples: samples(&observed.packet_log.samples, to_sender_ns),
        }
    }
}

fn samples(all: &[Sample], to_sender_ns: i64) -> Samples {
    let mut samples = Samples::default();
    for sample in all {
        samples.time_s.push((sample.effective_ns - to_sender_ns) as f64 * NS);
        samples.flight_size_bytes.push(sample.flight);
        samples.rwnd_bytes.push(sample.window);
        samples.srtt_s.push(sample.srtt_ns.map(|ns| ns as f64 * NS));
        samples.rto_s.push(sample.rto_ns as f64 / 1e9);
        samples.backoff.push(sample.backoff);
        samples.state.push(sample.state);
        samples.ack_bytes.push((sample.ack - 1).max(0));
    }
    samples
}

fn segments(observed: &Observed, [to_sender_ns, to_receiver_ns]: [i64; 2]) -> Segments {
    let sent: Vec<_> =
        observed.packet_log.sent.iter().filter(|passed| passed.payload_bytes > 0).collect();
    let mut is_lost = vec![false; sent.len()];
    // Index of the last copy, by the position of its first byte.
    let mut last: BTreeMap<i64, usize> = BTreeMap::new();
    for (index, passed) in sent.iter().enumerate() {
        let verdict = passed.retransmission_record.map(|record| &observed.verdicts[record]);
        let is_needed = verdict.is_some_and(|verdict| verdict.needless != Necessity::Yes);
        for (_, before) in last.range(passed.start..passed.end).filter(|_| is_needed) {
            is_lost[*before] = true;
        }
        last.insert(passed.start, index);
    }
    let acked = acked(observed, &sent.iter().map(|passed| passed.end).collect::<Vec<_>>());
    let mut table = Segments::default();
    for (index, passed) in sent.iter().enumerate() {
        let acked_ns = acked[index].filter(|ns| !is_lost[index] && *ns >= passed.time_ns);
        table.sent_s.push((passed.sent_ns - to_sender_ns) as f64 * NS);
        table.seq.push(passed.start);
        table.length_bytes.push(passed.payload_bytes.into());
        table.packet_number.push(passed.packet);
        table.retransmission.push(passed.retransmission_record.is_some());
        table.cause.push(passed.retransmission_record.map(|record| observed.verdicts[record].kind));
        let is_open = acked_ns.is_none();
        table.fate.push(match is_lost[index] {
            true => "lost",
            false if is_open => "on_its_way",
            false => "delivered",
        });
        let arrives = !is_lost[index];
        let arrived_s = (passed.time_ns + to_receiver_ns) as f64 * NS;
        table.arrived_s.push(arrives.then_some(arrived_s));
        table.acked_s.push(acked_ns.map(|ns| (ns + to_sender_ns) as f64 * NS));
    }
    table
}

/// For each position, the time of the first acknowledgment that covers it, cumulatively or by SACK.
fn acked(observed: &Observed, ends: &[i64]) -> Vec<Option<i64>> {
    let mut open: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (index, end) in ends.iter().enumerate() {
        open.entry(*end).or_default().push(index);
    }
    let mut times = vec![None; ends.len()];
    for packet in &observed.packet_log.acks {
        let rest = open.split_off(&(packet.ack + 1));
        let mut covered: Vec<_> = std::mem::replace(&mut open, rest).into_values().collect();
        for (left, right) in packet.blocks.iter().filter(|(left, right)| left < right) {
            let within: Vec<i64> = open.range(left + 1..=*right).map(|(end, _)| *end).collect();
            covered.extend(within.iter().filter_map(|end| open.remove(end)));
        }
        for index in covered.into_iter().flatten() {
            times[index] = Some(packet.time_ns);
        }
    }
    times
}
