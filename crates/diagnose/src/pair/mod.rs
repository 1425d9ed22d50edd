//! Two captures of one flow: what happened to each packet between them.
//!
//! Packets are matched by sequence and acknowledgment number, timestamps and IP identification.
//! Fates are exact. The clocks are not synchronised: the sum of the minimum delays of both
//! directions is exact, but each of the two is known only to lie between 0 and the sum.

pub(crate) mod clock;
pub(crate) mod matching;
pub(crate) mod one_way;

use crate::answer::{self, Answer, Evidence, Necessity, Proof};
use crate::between::{CaptureComparison, OneWayComparison};
use crate::flow::packet_log::{Observed, WatchedFlows};
use crate::flow::patterns::{options, standing_queue};
use crate::packet::{ControlBits, Endpoint, Packet};
use crate::reader::ReadError;
use crate::run::{self, RequestedOutput};
use clock::MinimumDelay;
use matching::{MatchKey, Matches};
use std::collections::HashMap;
use std::io::Read;

const NS: f64 = 1e-9;
/// Minimum payload of a full segment: the default MSS of 536 (RFC 1122 §4.2.2.6), minus options.
const UNIT_MIN: u32 = 500;
/// Option bytes of timestamps, which shorten every segment.
const TIMESTAMPS_BYTES: u32 = 12;
/// Minimum duration of a flow to estimate the skew of the clocks.
const SKEW_MIN_NS: i64 = 1_000_000_000;

/// Fields of a packet that are needed to match it.
#[derive(Debug, Clone, Copy)]
pub struct MatchEntry {
    pub(crate) time_ns: i64,
    frame: u64,
    pub(crate) length: u32,
    pub(crate) key: MatchKey,
}

impl MatchEntry {
    fn ack(&self) -> u32 {
        self.key.ack
    }
}

/// Packets of a flow, by the endpoint that sent them.
#[derive(Debug)]
pub struct FlowPackets {
    ends: [Endpoint; 2],
    sides: [Vec<MatchEntry>; 2],
    mss: Option<u32>,
    /// Each end's SYN; none if it was not captured.
    syns: [Option<Packet>; 2],
}

/// Packets of all flows of a capture.
#[derive(Debug, Default)]
pub struct CapturePackets {
    flows: Vec<FlowPackets>,
    first_ns: i64,
    last_ns: i64,
}

impl CapturePackets {
    /// Adds a packet of the flow with this index.
    pub fn add(&mut self, index: usize, packet: &Packet) {
        if index >= self.flows.len() {
            let ends = [packet.source, packet.destination];
            self.flows.push(FlowPackets {
                ends,
                sides: Default::default(),
                mss: None,
                syns: [None; 2],
            });
        }
        if self.last_ns == 0 {
            self.first_ns = packet.time_ns;
        }
        self.last_ns = self.last_ns.max(packet.time_ns);
        let flow = &mut self.flows[index];
        let side = usize::from(packet.source != flow.ends[0]);
        if packet.control.any(ControlBits::SYN) {
            let own = packet.options.mss.map(u32::from);
            flow.syns[side].get_or_insert(*packet);
            flow.mss = flow.mss.map_or(own, |mss| Some(own.map_or(mss, |own| own.min(mss))));
        }
        flow.sides[side].push(MatchEntry {
            time_ns: packet.time_ns,
            frame: packet.number,
            length: packet.payload_bytes,
            key: MatchKey::from_packet(packet),
        });
    }
}

/// Diagnoses two captures of the same flows. Each flow is diagnosed from the capture nearer to the
/// sender of its data; the other capture shows the fate of the packets that passed the first.
///
/// # Errors
/// A file is not a capture, or the captures hold different runs.
pub fn diagnose_pair<R: Read>(
    sources: [R; 2],
    names: [&str; 2],
    diagram_of: Option<usize>,
) -> Result<Answer, ReadError> {
    Ok(read(sources, names, RequestedOutput { diagram_of, ..RequestedOutput::default() })?.0)
}

/// Rounding error of a round trip: it is computed from four times, each rounded to a microsecond.
const ROUNDING_NS: i64 = 4_000;

/// Packets of a flow, matched between the two captures.
pub(crate) struct Matched {
    /// Data packets.
    pub forward: Matches,
    /// Acknowledgments.
    pub backward: Matches,
    /// Minimum delay of the data.
    pub line: MinimumDelay,
    /// True if the flow is diagnosed from the second capture.
    is_turned: bool,
}

/// Packets of the watched flow, and their matches between the two captures.
pub(crate) type ObservedPair = (Observed, Option<Matched>);

/// Reads both captures, and records the packets of the watched flow.
pub(crate) fn read<R: Read>(
    sources: [R; 2],
    names: [&str; 2],
    wanted: RequestedOutput,
) -> Result<(Answer, Option<ObservedPair>), ReadError> {
    let [one, other] = sources;
    let mut of = [CapturePackets::default(), CapturePackets::default()];
    let is_watched = wanted.watched != WatchedFlows::None;
    let all = WatchedFlows::All;
    let of_other =
        RequestedOutput { watched: if is_watched { all } else { WatchedFlows::None }, ..wanted };
    let run::CaptureReading { answer: mut first, observed: mut own } =
        run::read(one, names[0], wanted, |index, packet| of[0].add(index, packet))?;
    let run::CaptureReading { answer: mut second, observed: mut others } =
        run::read(other, names[1], of_other, |index, packet| of[1].add(index, packet))?;
    let mut kept = None;
    let mut partners = HashMap::new();
    for (index, flow) in of[1].flows.iter().enumerate() {
        partners.entry(sorted(flow.ends)).or_insert_with(Vec::new).push(index);
    }
    let mut alone = 0;
    let mut different = Vec::new();
    for index in 0..first.flows.len() {
        let found = partners.get_mut(&sorted(of[0].flows[index].ends));
        let partner = found.filter(|left| !left.is_empty()).map(|left| left.remove(0));
        let Some(partner) = partner else {
            alone += 1;
            continue;
        };
        let flows = (&mut first.flows[index], &mut second.flows[partner]);
        let joined = join(flows, [&of[0], &of[1]], [index, partner], names);
        let matched = joined.unwrap_or_else(|round_trip_ns| {
            different.push((index + 1, round_trip_ns / 1_000));
            None
        });
        let flow = &mut first.flows[index];
        standing_queue::compare_directions(&mut flow.patterns, flow.between.as_ref());
        if wanted.watched == WatchedFlows::Flow(index + 1) {
            let is_turned = matched.as_ref().is_some_and(|matched| matched.is_turned);
            let observed = if is_turned { others.remove(&partner) } else { own.remove(&index) };
            kept = observed.map(|observed| (observed, matched));
        }
    }
    if let Some(&(flow, round_trip_us)) = different.first()
        && first.flows.iter().all(|flow| flow.between.is_none())
    {
        return Err(ReadError::DifferentRuns { flow, round_trip_us });
    }
    for (flow, _) in different {
        // Ports are reused, so a capture may contain several flows with the same endpoints.
        first
            .capture
            .findings
            .push(format!("flow {flow} is not the same connection in both files"));
    }
    if alone > 0 {
        first.capture.findings.push(format!("flows only in {}: {alone}", names[0]));
    }
    let left: usize = partners.values().map(Vec::len).sum();
    if left > 0 {
        first.capture.findings.push(format!("flows only in {}: {left}", names[1]));
    }
    first.capture.files.push(names[1].to_owned());
    first.capture.packets += second.capture.packets;
    let findings = second.capture.findings.iter().map(|text| format!("{}: {text}", names[1]));
    first.capture.findings.extend(findings);
    Ok((first, kept))
}

fn sorted([one, other]: [Endpoint; 2]) -> [Endpoint; 2] {
    if one <= other { [one, other] } else { [other, one] }
}

/// Adds the results of both captures to the diagnosis of the first.
///
/// # Errors
/// Returns the round trip between the captures if it is negative, because the captures then contain
/// different connections.
fn join(
    (first, second): (&mut answer::Flow, &mut answer::Flow),
    collected: [&CapturePackets; 2],
    indices: [usize; 2],
    names: [&str; 2],
) -> Result<Option<Matched>, i64> {
    let number = first.number;
    // The capture nearer to the sender of the data has the shorter round trip to the sender.
    let is_turned = match (first.sender_loop_s, second.sender_loop_s) {
        (Some(one), Some(other)) => other < one && first.name == second.name,
        _ => false,
    };
    if is_turned {
        std::mem::swap(first, second);
        first.number = number;
        if first.picture.is_none() {
            first.picture = second.picture.take();
        }
    }
    let order = if is_turned { [1, 0] } else { [0, 1] };
    let passing = order.map(|of| &collected[of].flows[indices[of]]);
    let spans = order.map(|of| (collected[of].first_ns, collected[of].last_ns));
    let side = usize::from(!first.name.starts_with(&format!("{} ", passing[0].ends[0])));
    let data = passing[0].ends[side];
    let sides = passing.map(|passing| usize::from(passing.ends[0] != data));
    let unit = unit(passing);
    let forward =
        Matches::match_packets([&passing[0].sides[sides[0]], &passing[1].sides[sides[1]]], unit);
    let backward = Matches::match_packets(
        [&passing[1].sides[1 - sides[1]], &passing[0].sides[1 - sides[0]]],
        unit,
    );
    // A SYN first passes the capture that is nearer to the SYN's sender.
    for (of_data, order) in [(true, [0, 1]), (false, [1, 0])] {
        let side = |capture: usize| if of_data { sides[capture] } else { 1 - sides[capture] };
        let [before, behind] = order.map(|capture| passing[capture].syns[side(capture)]);
        if let (Some(before), Some(behind)) = (before, behind)
            && before.seq == behind.seq
        {
            first.patterns.extend(options::removed_between(&before, &behind));
        }
    }
    if forward.pairs.is_empty() || backward.pairs.is_empty() {
        return Ok(None);
    }
    let (lines, skew) = lines(&forward, &backward);
    let round_trip = lines[0].least_ns.saturating_add(lines[1].least_ns);
    // If the estimate of the skew is wrong, the corrected delays may be negative although the
    // original ones are not.
    let raw = [&forward, &backward].map(|it| MinimumDelay::lower_bound(&it.delays(), 0.0).least_ns);
    let longest = round_trip.max(raw[0].saturating_add(raw[1]));
    if longest < -ROUNDING_NS {
        return Err(longest);
    }
    let span = |from: usize| [spans[from], spans[1 - from]];
    first.between = Some(CaptureComparison {
        file: names[order[0]].to_owned(),
        other_file: names[order[1]].to_owned(),
        offset_s: (lines[0].least_ns as f64 - lines[1].least_ns as f64) * NS / 2.0,
        offset_error_s: round_trip as f64 * NS / 2.0,
        skew_ppm: skew.map(|skew| skew * 1e6),
        round_trip_min_s: round_trip as f64 * NS,
        forward: OneWayComparison::compare(&forward, &backward, &lines[0], span(0)),
        backward: OneWayComparison::compare(&backward, &forward, &lines[1], span(1)),
    });
    if second.place == "receiver" {
        fates(first, &data.to_string(), &forward);
    }
    Ok(Some(Matched { forward, backward, line: lines[0], is_turned }))
}

/// Payload of a full segment. Packets with more payload were merged by a network card or a kernel,
/// and are split for matching.
fn unit(passing: [&FlowPackets; 2]) -> u32 {
    let mss = passing[0].mss.or(passing[1].mss);
    let has_stamps = passing[0].sides.iter().flatten().any(|entry| entry.key.has_stamps());
    let largest = passing.map(|it| it.sides.iter().flatten().map(|it| it.length).max());
    let least = largest.into_iter().flatten().min().unwrap_or(0).max(1);
    let options = if has_stamps { TIMESTAMPS_BYTES } else { 0 };
    mss.map_or(least, |mss| mss.saturating_sub(options)).max(UNIT_MIN)
}

/// Minimum delay of each direction, after removing the skew of the clocks.
fn lines(forward: &Matches, backward: &Matches) -> ([MinimumDelay; 2], Option<f64>) {
    let points = [forward.delays(), backward.delays()];
    let length = points[0].last().map_or(0, |last| last.0.saturating_sub(points[0][0].0));
    let slopes = [clock::lower_envelope_slope(&points[0]), clock::lower_envelope_slope(&points[1])];
    let skew = match slopes {
        [Some(one), Some(other)] if length >= SKEW_MIN_NS => {
            let (skew, drift) = ((one - other) / 2.0, (one + other).abs() / 2.0);
            // A drift of the delays has the same sign in both directions; a drift of the clocks has
            // opposite signs.
            (skew.abs() > 2.0 * drift).then_some(skew)
        }
        _ => None,
    };
    let rate = skew.unwrap_or(0.0);
    (
        [MinimumDelay::lower_bound(&points[0], rate), MinimumDelay::lower_bound(&points[1], -rate)],
        skew,
    )
}

/// Determines for each retransmission in the forward direction whether an earlier copy arrived.
fn fates(flow: &mut answer::Flow, from: &str, forward: &Matches) {
    let mut arrived: HashMap<u32, Vec<(usize, Option<u64>)>> = HashMap::new();
    let mut of_frame: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, entry) in forward.sent.iter().enumerate().filter(|(_, it)| it.length > 0) {
        let other = forward.partner[index].map(|at| forward.arrived[at].frame);
        arrived.entry(entry.key.seq).or_default().push((index, other));
        of_frame.entry(entry.frame).or_default().push(index);
    }
    for record in flow.retransmissions.iter_mut().filter(|it| it.from == from) {
        let Some(pieces) = of_frame.get(&record.packet) else { continue };
        let earlier = |piece: &usize| {
            let copies = arrived.get(&forward.sent[*piece].key.seq)?;
            copies.iter().find(|(index, other)| index < piece && other.is_some())?.1
        };
        let found: Option<Vec<u64>> = pieces.iter().map(earlier).collect();
        let is_needless = found.is_some();
        record.needless = if is_needless { Necessity::Yes } else { Necessity::No };
        record.proof = Proof {
            evidence: if is_needless { Evidence::ArrivedThere } else { Evidence::LostBetween },
            packet: found.and_then(|frames| frames.first().copied()),
        };
        record.arrived = Some(pieces.iter().all(|piece| forward.partner[*piece].is_some()));
        record.confidence = record.kind_confidence;
    }
}
