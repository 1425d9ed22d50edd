//! CoDel's control: which of the packets that leave a line are dropped or marked.
//!
//! Shared by `codel` and by each flow of `fq_codel`; their headers tell of it.

use super::{Exits, Waiting};
use retx_units::{Duration, Time};

/// What the control is set to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Law {
    /// The delay that may stand.
    pub target: Duration,
    /// For how long it may be above.
    pub interval: Duration,
    /// Mark what can be marked.
    pub ecn: bool,
}

/// A line from which the control takes packets.
pub(super) trait Source {
    /// The first.
    fn pop(&mut self) -> Option<Waiting>;
    /// Bytes that wait behind it.
    fn bytes(&self) -> u64;
}

/// The state of the control (RFC 8289 §5.3).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Control {
    /// `first_above_time_`: when the delay will have been above the target for an interval.
    first_above: Option<Time>,
    /// `drop_next_`: when the next packet is to be dropped.
    drop_next: Time,
    /// `count_`: packets dropped since the dropping state began.
    pub count: u32,
    /// `lastcount_`: the count that the dropping state began with.
    last_count: u32,
    dropping: bool,
    /// `maxpacket_`: the largest packet so far.
    largest: u32,
}

impl Control {
    /// The next packet that goes on (RFC 8289 §5.4, `dequeue`).
    pub fn dequeue(
        &mut self,
        now: Time,
        law: &Law,
        line: &mut impl Source,
        exits: &mut Exits,
    ) -> Option<Waiting> {
        let (mut packet, mut ok_to_drop) = self.take(now, law, line);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                let first = packet?;
                self.count = self.count.saturating_add(1);
                if law.ecn && first.ecn_capable {
                    exits.mark(first.id);
                    self.drop_next = self.after(self.drop_next, law);
                    break;
                }
                exits.drop(first.id);
                (packet, ok_to_drop) = self.take(now, law, line);
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next = self.after(self.drop_next, law);
                }
            }
        } else if ok_to_drop {
            let first = packet?;
            if law.ecn && first.ecn_capable {
                exits.mark(first.id);
            } else {
                exits.drop(first.id);
                (packet, _) = self.take(now, law, line);
            }
            self.begin(now, law);
        }
        packet
    }

    /// The dropping state begins. If it ended not long ago, the rate that held the queue then is a
    /// good one to begin with.
    fn begin(&mut self, now: Time, law: &Law) {
        self.dropping = true;
        let dropped = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < law.interval.saturating_mul(16);
        self.count = if dropped > 1 && recent { dropped } else { 1 };
        self.drop_next = self.after(now, law);
        self.last_count = self.count;
    }

    /// `dodequeue`: the first of the line, and whether it may be dropped.
    fn take(&mut self, now: Time, law: &Law, line: &mut impl Source) -> (Option<Waiting>, bool) {
        let Some(packet) = line.pop() else {
            self.first_above = None;
            return (None, false);
        };
        self.largest = self.largest.max(packet.frame.bytes);
        // A line that holds no more than a packet is no queue, however slow the link.
        if now.since(packet.since) < law.target || line.bytes() <= u64::from(self.largest) {
            self.first_above = None;
            return (Some(packet), false);
        }
        let ok_to_drop = match self.first_above {
            Some(time) => now >= time,
            None => {
                self.first_above = Some(now + law.interval);
                false
            }
        };
        (Some(packet), ok_to_drop)
    }

    /// `control_law`: t + interval/√count.
    fn after(&self, time: Time, law: &Law) -> Time {
        let interval = law.interval.as_nanos() as f64;
        time + Duration::from_nanos((interval / libm::sqrt(self.count.into())) as u64)
    }
}
