//! Copies of one packet in a capture, due to a mirrored port, several interfaces, two VLANs or a
//! bond.

use crate::packet::{ControlBits, Packet};

/// Number of previous packets of a direction that are compared with a new one.
const RECENT: usize = 32;
/// Number of previous packets that are compared if the direction was captured at several places,
/// since more packets may pass the first of them before a copy passes the last.
const RECENT_SEVERAL: usize = 1_024;
/// Maximum time between two copies of a packet that the capture recorded twice.
const COPY_NS: i64 = 1_000_000;
/// Maximum delay of a copy whose TTL or lower headers differ, because it took a detour through
/// another network.
const DETOUR_NS: i64 = 500_000_000;
/// Maximum delay of a copy if neither its IP identification nor its link layer distinguishes it
/// from a duplicate made by the sender.
const BARE_COPY_NS: i64 = 50_000;

/// Multiplier of the sequence number in a hash: the golden ratio times 2³².
const HASH_FACTOR: u32 = 0x9e37_79b1;

/// The last packets of a direction.
#[derive(Debug, Default)]
pub struct DuplicateFilter {
    recent: Vec<Packet>,
    /// Hashes of the sequence and acknowledgment numbers of the packets in `recent`. They fill two
    /// cache lines, and nearly always show that no packet is alike.
    hashes: Vec<u32>,
    next: usize,
    /// True if packets of this direction were captured at several places.
    has_several_places: bool,
    /// Number of copies found.
    pub copies_found: u64,
}

impl DuplicateFilter {
    /// True if this packet is another copy of an earlier one. `rtt_ns` is the minimum RTT of the
    /// flow, if it is known.
    pub fn is_copy(&mut self, packet: &Packet, rtt_ns: Option<i64>) -> bool {
        self.has_several_places |=
            self.recent.first().is_some_and(|first| is_elsewhere(first, packet));
        let capacity = if self.has_several_places { RECENT_SEVERAL } else { RECENT };
        let hash = packet.seq.wrapping_mul(HASH_FACTOR) ^ packet.ack;
        // Without a branch for each hash, the compiler compares several at a time.
        let may_be_copy = self.hashes.iter().fold(false, |any, earlier| any | (*earlier == hash));
        let is_copy = may_be_copy
            && self.hashes.iter().zip(&self.recent).any(|(earlier_hash, earlier)| {
                *earlier_hash == hash && is_copy(earlier, packet, rtt_ns)
            });
        if is_copy {
            self.copies_found += 1;
        } else if self.recent.len() < capacity {
            self.recent.push(*packet);
            self.hashes.push(hash);
        } else {
            (self.recent[self.next], self.hashes[self.next]) = (*packet, hash);
            self.next = if self.next + 1 == capacity { 0 } else { self.next + 1 };
        }
        is_copy
    }
}

/// True if two packets were captured at different places of the path.
fn is_elsewhere(earlier: &Packet, packet: &Packet) -> bool {
    earlier.link_fingerprint != packet.link_fingerprint
        || earlier.ttl != packet.ttl
        || earlier.interface != packet.interface
}

fn is_copy(earlier: &Packet, packet: &Packet, rtt_ns: Option<i64>) -> bool {
    let elapsed = (packet.time_ns - earlier.time_ns).abs();
    if elapsed > DETOUR_NS || !is_alike(earlier, packet) {
        return false;
    }
    let other_link = is_elsewhere(earlier, packet);
    let counted = packet.ip_id != 0;
    // An unchanged IP identification or timestamp shows that the sender sent the packet only once.
    // A second packet within an RTT shows the same, since no sender knows of a loss before. A SYN
    // is sent again after a second.
    let is_once = counted
        || packet.options.timestamps.is_some()
        || packet.control.any(ControlBits::SYN)
        || rtt_ns.is_some_and(|rtt_ns| elapsed < rtt_ns);
    if elapsed > COPY_NS && !(other_link && is_once) {
        return false;
    }
    if packet.seq_len() == 0 && !counted && !other_link {
        // Duplicate ACKs that the receiver sends are equal as well, but are different packets.
        return false;
    }
    counted || other_link || elapsed <= BARE_COPY_NS
}

/// True if two packets are equal, except in what changes on the path.
fn is_alike(earlier: &Packet, packet: &Packet) -> bool {
    (earlier.seq, earlier.ack) == (packet.seq, packet.ack)
        && earlier.payload_bytes == packet.payload_bytes
        && earlier.ip_id == packet.ip_id
        && earlier.control == packet.control
        && earlier.window == packet.window
        && earlier.options == packet.options
}
