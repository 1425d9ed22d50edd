//! Sorts the frames of a capture by time. With several queues or interfaces, a frame may be
//! slightly older than the previous one.

use crate::packet::Packet;
use std::collections::VecDeque;

/// Maximum number of packets that are held back because an older one may follow.
const WAITING_MAX: usize = 64;

/// Newest packets of the file, sorted by time.
#[derive(Debug, Default)]
pub struct ReorderBuffer {
    waiting: VecDeque<Packet>,
    last_ns: Option<i64>,
    /// Number of frames with an earlier time than a previous frame.
    pub late: u64,
    /// Largest time by which a frame is earlier than a previous frame, nanoseconds.
    pub late_max_ns: i64,
}

impl ReorderBuffer {
    /// Adds a packet. If enough packets are held back, replaces it with the oldest one and returns
    /// true.
    pub fn exchange(&mut self, packet: &mut Packet) -> bool {
        let newest_ns = self.last_ns.map_or(packet.time_ns, |last| last.max(packet.time_ns));
        self.last_ns = Some(newest_ns);
        let is_late = packet.time_ns < newest_ns;
        let is_full = self.waiting.len() == WAITING_MAX;
        match self.waiting.front_mut() {
            Some(oldest) if is_full && !is_late => {
                std::mem::swap(oldest, packet);
                self.waiting.rotate_left(1);
                return true;
            }
            _ if is_late => {
                self.late += 1;
                self.late_max_ns = self.late_max_ns.max(newest_ns - packet.time_ns);
                let earlier = self.waiting.iter().rposition(|it| it.time_ns <= packet.time_ns);
                self.waiting.insert(earlier.map_or(0, |index| index + 1), *packet);
            }
            _ => self.waiting.push_back(*packet),
        }
        let oldest = if is_full { self.waiting.pop_front() } else { None };
        oldest.map(|oldest| *packet = oldest).is_some()
    }

    /// Removes and returns the oldest packet; called at the end of the file.
    pub fn pop(&mut self) -> Option<Packet> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_packets_are_sorted_in_and_equal_times_keep_their_order() {
        let mut order = ReorderBuffer::default();
        let mut sorted = Vec::new();
        let mut expected = Vec::new();
        for number in 0..1_000_u64 {
            // Every tenth packet is 9, 19 or 29 packets late. Two packets each have equal times.
            let late = if number % 10 == 9 { number % 30 } else { 0 };
            let time_ns = (number.saturating_sub(late) / 2) as i64;
            let mut packet = Packet { number, time_ns, ..Packet::default() };
            expected.push((time_ns, number));
            if order.exchange(&mut packet) {
                sorted.push((packet.time_ns, packet.number));
            }
        }
        sorted.extend(std::iter::from_fn(|| order.pop()).map(|it| (it.time_ns, it.number)));
        expected.sort_unstable();
        assert_eq!(sorted, expected);
        assert_eq!((order.late, order.late_max_ns), (100, 14));
    }
}
