//! Repairs the order of a capture: with several queues or interfaces, frames may be slightly older
//! than the previous ones.

use crate::packet::Packet;
use std::collections::VecDeque;

/// Maximum number of packets that wait for an older one.
const WAITING_MAX: usize = 64;

/// The newest packets, in the order of their time.
#[derive(Debug, Default)]
pub struct Order {
    waiting: VecDeque<Packet>,
    last_ns: Option<i64>,
    /// Number of frames with an earlier time than a previous frame.
    pub late: u64,
    /// Largest lateness, nanoseconds.
    pub late_max_ns: i64,
}

impl Order {
    /// Takes a packet; returns the oldest, once enough are waiting.
    pub fn push(&mut self, packet: Packet) -> Option<Packet> {
        let newest_ns = self.last_ns.map_or(packet.time_ns, |last| last.max(packet.time_ns));
        self.last_ns = Some(newest_ns);
        self.waiting.push_back(packet);
        if packet.time_ns < newest_ns {
            self.late += 1;
            self.late_max_ns = self.late_max_ns.max(newest_ns - packet.time_ns);
            let mut index = self.waiting.len() - 1;
            while index > 0 && self.waiting[index - 1].time_ns > packet.time_ns {
                self.waiting.swap(index - 1, index);
                index -= 1;
            }
        }
        if self.waiting.len() > WAITING_MAX { self.waiting.pop_front() } else { None }
    }

    /// Takes out the oldest packet, at the end of the file.
    pub fn pop(&mut self) -> Option<Packet> {
        self.waiting.pop_front()
    }
}
