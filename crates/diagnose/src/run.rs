//! Reading of a capture file, up to the diagnosis of its flows.

use crate::answer::{Answer, Capture, Flow};
use crate::flow::packet_log::{Observed, WatchedFlows};
use crate::flow::table::Flows;
use crate::layers::{NoSegment, decode};
use crate::order::ReorderBuffer;
use crate::packet::Packet;
use crate::reader::{ReadError, Reader};
use std::collections::HashMap;
use std::io::Read;

/// Number of packets that are decoded before they are diagnosed. The code of both steps together
/// does not fit into the instruction cache of a core.
const BATCH: usize = 32;

/// Counts of frames without a segment, by reason.
#[derive(Debug, Default)]
struct Passed {
    other: u64,
    fragments: u64,
    cut: u64,
    malformed: u64,
    link_types: std::collections::BTreeSet<u16>,
}

impl Passed {
    fn add(&mut self, why: NoSegment) {
        match why {
            NoSegment::Protocol => self.other += 1,
            NoSegment::Fragment => self.fragments += 1,
            NoSegment::Cut => self.cut += 1,
            NoSegment::Malformed => self.malformed += 1,
            NoSegment::LinkType(link_type) => {
                self.other += 1;
                self.link_types.insert(link_type);
            }
        }
    }
}

/// Diagnoses a capture.
///
/// # Errors
/// The file is not a capture.
pub fn diagnose<R: Read>(source: R, name: &str) -> Result<Answer, ReadError> {
    diagnose_with_diagram(source, name, None)
}

/// Diagnoses a capture, with the time–sequence diagram of one flow, given by its number.
///
/// # Errors
/// The file is not a capture.
pub fn diagnose_with_diagram<R: Read>(
    source: R,
    name: &str,
    diagram_of: Option<usize>,
) -> Result<Answer, ReadError> {
    let wanted = RequestedOutput { diagram_of, ..RequestedOutput::default() };
    Ok(read(source, name, wanted, |_, _| ())?.answer)
}

/// Diagnosis of a capture, and the packets of watched flows by the index of the flow.
#[derive(Debug)]
pub(crate) struct CaptureReading {
    /// Diagnosis of the capture.
    pub answer: Answer,
    /// Packets of the watched flows.
    pub observed: HashMap<usize, Observed>,
}

/// Numbers of the flows for which additional output is requested.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestedOutput {
    /// Number of the flow whose time–sequence diagram is requested, if any.
    pub diagram_of: Option<usize>,
    /// Flows whose packets are recorded in order to measure the path.
    pub watched: WatchedFlows,
}

/// Decodes the next packets of a capture, at most [`BATCH`]; returns false at its end.
fn decode_batch<R: Read>(
    reader: &mut Reader<R>,
    batch: &mut Vec<Packet>,
    passed: &mut Passed,
) -> bool {
    batch.clear();
    while batch.len() < BATCH
        && let Some(frame) = reader.next_frame()
    {
        match decode(&frame) {
            Ok(packet) => batch.push(packet),
            Err(why) => passed.add(why),
        }
    }
    !batch.is_empty()
}

/// Reads a capture, and passes each packet on with the index of its flow.
pub(crate) fn read<R: Read>(
    source: R,
    name: &str,
    wanted: RequestedOutput,
    mut on_packet: impl FnMut(usize, &Packet),
) -> Result<CaptureReading, ReadError> {
    let mut reader = Reader::new(source)?;
    let mut flows = Flows::default();
    (flows.diagram_of, flows.watched) = (wanted.diagram_of, wanted.watched);
    let mut passed = Passed::default();
    let mut order = ReorderBuffer::default();
    let mut push = |packet: &Packet| {
        if let Some(index) = flows.handle_packet(packet) {
            on_packet(index, packet);
        }
    };
    let mut batch = Vec::with_capacity(BATCH);
    while decode_batch(&mut reader, &mut batch, &mut passed) {
        for packet in &mut batch {
            if order.exchange(packet) {
                push(packet);
            }
        }
    }
    while let Some(oldest) = order.pop() {
        push(&oldest);
    }
    let (flows, observed) = flows.finish();
    let mut findings = of_file(&reader, &passed);
    if order.late > 0 {
        let most = order.late_max_ns as f64 * 1e-6;
        findings.push(format!(
            "{} earlier than a frame before, by at most {most:.3} ms; put in order",
            frames(order.late, "is", "are")
        ));
    }
    let copies: u64 = flows.iter().map(|flow| flow.capture_duplicates).sum();
    if copies > 0 {
        findings.push(format!(
            "{} another copy of a packet, from another interface, VLAN or place of the path; \
             left out. If the file was captured at several places, give a file for each place",
            frames(copies, "is", "are each")
        ));
    }
    let count = |of: fn(&Flow) -> bool| flows.iter().filter(|flow| of(flow)).count();
    let one_way = count(|flow| flow.is_one_way);
    if one_way > 0 {
        findings.push(format!(
            "only one direction of {} is in the capture: the limits are unknown",
            flows_of(one_way)
        ));
    }
    let cut = count(|flow| flow.has_cut_syn);
    if cut > 0 {
        findings.push(format!(
            "the options of a SYN of {} were cut (snap length): the receive windows are unknown",
            flows_of(cut)
        ));
    }
    let missing: i64 = flows.iter().map(|flow| flow.not_captured_bytes).sum();
    if missing > 0 {
        findings.push(format!(
            "{missing} bytes were acknowledged but are not in the capture: not captured, not lost"
        ));
    }
    let capture = Capture { files: vec![name.to_owned()], packets: reader.frames(), findings };
    Ok(CaptureReading { answer: Answer { capture, flows }, observed })
}

/// Number of frames, with the verb that follows.
fn frames(count: u64, one: &str, several: &str) -> String {
    if count == 1 { format!("1 frame {one}") } else { format!("{count} frames {several}") }
}

fn flows_of(count: usize) -> String {
    format!("{count} flow{}", if count == 1 { "" } else { "s" })
}

fn of_file<R: Read>(reader: &Reader<R>, passed: &Passed) -> Vec<String> {
    let mut findings = Vec::new();
    if let Some(damage) = reader.damage() {
        findings.push(format!(
            "the file is damaged at byte {}: {}; everything before it was read",
            damage.offset, damage.reason
        ));
    }
    let statistics = reader.statistics();
    let mut add = |count: u64, one: &str, several: &str, text: &str| {
        if count > 0 {
            findings.push(format!("{} {text}", frames(count, one, several)));
        }
    };
    let dropped = "dropped by the capturing program, as it says itself";
    add(statistics.dropped, "was", "were", dropped);
    add(statistics.without_time, "has", "have", "no time; that of the frame before is used");
    add(statistics.without_interface, "names", "name", "an interface that is not described");
    add(passed.fragments, "has", "have", "a later fragment of an IP packet; left out");
    add(passed.cut, "was", "were", "cut before the TCP sequence numbers; left out");
    add(passed.malformed, "has", "have", "lengths that cannot be; left out");
    for link_type in &passed.link_types {
        findings.push(format!("frames of link type {link_type} are not understood; left out"));
    }
    findings
}
