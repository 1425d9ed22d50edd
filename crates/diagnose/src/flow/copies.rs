//! Copies of one packet in a capture, due to a mirrored port, two VLANs or a bond.

use crate::packet::Packet;

/// Number of previous packets of a direction that are compared with a new one.
const RECENT: usize = 32;
/// Maximum time between two copies of a packet that the capture recorded twice.
const COPY_NS: i64 = 1_000_000;
/// Maximum delay of a copy whose TTL or lower headers differ, because it took a detour through
/// another network.
const DETOUR_NS: i64 = 500_000_000;
/// Maximum delay of a copy if neither its IP identification nor its link layer distinguishes it
/// from a duplicate made by the sender.
const BARE_COPY_NS: i64 = 50_000;

/// The last packets of a direction.
#[derive(Debug, Default)]
pub struct DuplicateFilter {
    recent: Vec<Packet>,
    /// Sequence and acknowledgment numbers of the packets in `recent`. They fill four cache lines,
    /// and nearly always show that no packet is alike.
    numbers: Vec<(u32, u32)>,
    next: usize,
    /// Number of copies found.
    pub copies_found: u64,
}

impl DuplicateFilter {
    /// True if this packet is another copy of an earlier one.
    pub fn is_copy(&mut self, packet: &Packet) -> bool {
        let numbers = (packet.seq, packet.ack);
        let mut alike = self.numbers.iter().enumerate().filter(|(_, earlier)| **earlier == numbers);
        let is_copy = alike.any(|(index, _)| is_copy(&self.recent[index], packet));
        if is_copy {
            self.copies_found += 1;
        } else if self.recent.len() < RECENT {
            self.recent.push(*packet);
            self.numbers.push(numbers);
        } else {
            (self.recent[self.next], self.numbers[self.next]) = (*packet, numbers);
            self.next = (self.next + 1) % RECENT;
        }
        is_copy
    }
}

fn is_copy(earlier: &Packet, packet: &Packet) -> bool {
    let elapsed = (packet.time_ns - earlier.time_ns).abs();
    if elapsed > DETOUR_NS || !is_alike(earlier, packet) {
        return false;
    }
    let other_link = earlier.link_fingerprint != packet.link_fingerprint
        || earlier.ttl != packet.ttl
        || earlier.interface != packet.interface;
    let counted = packet.ip_id != 0;
    // An unchanged IP identification or timestamp shows that the sender sent the packet only once.
    let is_once = counted || packet.options.timestamps.is_some();
    if elapsed > COPY_NS && !(other_link && is_once) {
        return false;
    }
    if packet.seq_len() == 0 && !counted && !other_link {
        // Duplicate ACKs that the receiver sends are equal as well, but are different packets.
        return false;
    }
    counted || other_link || elapsed <= BARE_COPY_NS
}

/// True if two packets with equal sequence and acknowledgment numbers agree in other fields, too.
fn is_alike(earlier: &Packet, packet: &Packet) -> bool {
    earlier.payload_bytes == packet.payload_bytes
        && earlier.ip_id == packet.ip_id
        && earlier.control == packet.control
        && earlier.window == packet.window
        && earlier.options == packet.options
}
