//! Matching of the packets of two captures.

use super::MatchEntry;
use crate::packet::Packet;
use std::collections::HashMap;

/// Tolerance for unsteady clocks: a copy may seem faster than the fastest packet by this time.
const SLACK_NS: i64 = 1_000;

/// Maximum number of segments merged by a network card.
const PIECES_MAX: u32 = 1_024;

/// Fields that the network does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MatchKey {
    pub(crate) seq: u32,
    pub(super) ack: u32,
    length: u32,
    control: u8,
    ip_id: u16,
    stamps: Option<(u32, u32)>,
}

impl MatchKey {
    /// The key of a packet.
    pub fn from_packet(packet: &Packet) -> Self {
        Self {
            seq: packet.seq,
            ack: packet.ack,
            length: packet.payload_bytes,
            // Routers change ECN bits, and network cards the PSH of super-segments.
            control: packet.control.0 & 0b10111,
            ip_id: packet.ip_id,
            stamps: packet.options.timestamps,
        }
    }

    pub(super) fn has_stamps(&self) -> bool {
        self.stamps.is_some()
    }
}

/// The packets of one direction, matched.
pub struct Matches {
    /// Packets at the capture that this direction passes first.
    pub sent: Vec<MatchEntry>,
    /// Packets at the other capture.
    pub arrived: Vec<MatchEntry>,
    /// For each packet in `sent`, its index in `arrived`; none if the packet did not arrive.
    pub partner: Vec<Option<usize>>,
    /// Pairs of indices into `sent` and `arrived`, in the order of `sent`.
    pub pairs: Vec<(usize, usize)>,
    /// Number of extra copies that the network made.
    pub duplicated: u64,
    /// Indices of packets in `arrived` that the first capture does not contain.
    pub unseen: Vec<usize>,
}

impl Matches {
    /// Matches the packets of a direction. Payloads longer than `unit` are split first.
    pub fn match_packets([sent, arrived]: [&[MatchEntry]; 2], unit: u32) -> Self {
        let is_long = sent.iter().chain(arrived).any(|entry| entry.length > unit);
        let [mut sent, mut arrived] = if is_long {
            [split(sent, unit), split(arrived, unit)]
        } else {
            [sent, arrived].map(Vec::from)
        };
        if have_stamps(&sent) != have_stamps(&arrived) {
            // If a device on the path removes the timestamps, they cannot be used for matching.
            for entry in sent.iter_mut().chain(&mut arrived) {
                entry.key.stamps = None;
            }
        }
        if is_long || !are_ids_kept(&sent, &arrived) {
            for entry in sent.iter_mut().chain(&mut arrived) {
                entry.key.ip_id = 0;
            }
        }
        let mut matches = Self {
            partner: vec![None; sent.len()],
            sent,
            arrived,
            pairs: Vec::new(),
            duplicated: 0,
            unseen: Vec::new(),
        };
        matches.fill();
        matches
    }

    fn fill(&mut self) {
        let mut groups: HashMap<MatchKey, [Vec<usize>; 2]> = HashMap::new();
        for (which, entries) in [&self.sent, &self.arrived].into_iter().enumerate() {
            for (index, entry) in entries.iter().enumerate() {
                groups.entry(entry.key).or_default()[which].push(index);
            }
        }
        let mut floor = i64::MAX;
        let mut open = Vec::new();
        for [from, to] in groups.into_values() {
            if let ([one], [other]) = (from.as_slice(), to.as_slice()) {
                self.partner[*one] = Some(*other);
                floor = floor.min(self.delay(*one, *other));
            } else if from.is_empty() {
                self.unseen.extend(to);
            } else if !to.is_empty() {
                open.push((from, to));
            }
        }
        for (from, to) in open {
            self.choose(&from, &to, floor);
        }
        self.unseen.sort_unstable();
        let both = |(index, partner): (usize, &Option<usize>)| partner.map(|other| (index, other));
        self.pairs = self.partner.iter().enumerate().filter_map(both).collect();
    }

    /// Matches equal copies. If as many copies arrived as were sent, they are matched in order;
    /// otherwise each arrival is matched with the last possible transmission.
    fn choose(&mut self, from: &[usize], to: &[usize], floor: i64) {
        if from.len() == to.len() {
            for (one, other) in from.iter().zip(to) {
                self.partner[*one] = Some(*other);
            }
            return;
        }
        for other in to {
            let is_free = |one: &&usize| {
                let least = floor.saturating_sub(SLACK_NS);
                let is_sooner = floor < i64::MAX && self.delay(**one, *other) < least;
                self.partner[**one].is_none() && !is_sooner
            };
            match from.iter().rev().find(is_free) {
                Some(one) => self.partner[*one] = Some(*other),
                None => self.duplicated += 1,
            }
        }
    }

    fn delay(&self, from: usize, to: usize) -> i64 {
        self.arrived[to].time_ns.saturating_sub(self.sent[from].time_ns)
    }

    /// For each pair, the time at the first capture and the delay to the other.
    pub fn delays(&self) -> Vec<(i64, i64)> {
        let one = |(from, to): &(usize, usize)| (self.sent[*from].time_ns, self.delay(*from, *to));
        self.pairs.iter().map(one).collect()
    }
}

/// True if most packets carry timestamps.
fn have_stamps(entries: &[MatchEntry]) -> bool {
    entries.iter().filter(|entry| entry.key.has_stamps()).count() * 2 > entries.len()
}

/// False if most packets change their IP identification between the captures.
fn are_ids_kept(sent: &[MatchEntry], arrived: &[MatchEntry]) -> bool {
    let keys: std::collections::HashSet<MatchKey> = arrived.iter().map(|entry| entry.key).collect();
    let kept = sent.iter().filter(|entry| keys.contains(&entry.key)).count();
    kept * 2 >= sent.len().min(arrived.len())
}

/// Splits packets that a network card or a kernel has merged.
fn split(entries: &[MatchEntry], unit: u32) -> Vec<MatchEntry> {
    let mut pieces = Vec::with_capacity(entries.len());
    for entry in entries {
        if entry.length / unit > PIECES_MAX {
            pieces.push(*entry);
            continue;
        }
        let mut offset = 0;
        loop {
            let length = (entry.length - offset).min(unit);
            let seq = entry.key.seq.wrapping_add(offset);
            let key = MatchKey { seq, length, control: entry.key.control & 0b110, ..entry.key };
            pieces.push(MatchEntry { length, key, ..*entry });
            offset += length;
            if offset >= entry.length {
                break;
            }
        }
    }
    pieces
}
