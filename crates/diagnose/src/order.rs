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
            _ => self.waiting.push_back(*packet),
        }
        if is_late {
            self.late += 1;
            self.late_max_ns = self.late_max_ns.max(newest_ns - packet.time_ns);
            let mut index = self.waiting.len() - 1;
            while index > 0 && self.waiting[index - 1].time_ns > packet.time_ns {
                self.waiting.swap(index - 1, index);
                index -= 1;
            }
        }
        let oldest = if is_full { self.waiting.pop_front() } else { None };
        oldest.map(|oldest| *packet = oldest).is_some()
    }

    /// Removes and returns the oldest packet; called at the end of the file.
    pub fn pop(&mut self) -> Option<Packet> {
        self.waiting.pop_front()
    }
}
