//! CoDel's control law: decides which dequeued packets are dropped or marked.
//!
//! The law is used by `codel`, whose module comment describes it, and by each queue of `fq_codel`.

use super::{QueueActions, Waiting};
use retx_units::{Duration, Time};

/// Parameters of the control law.
#[derive(Debug, Clone, Copy)]
pub(super) struct Law {
    /// Acceptable standing queue delay.
    pub target: Duration,
    /// Time for which the delay may exceed the target.
    pub interval: Duration,
    /// True to mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

/// Queue from which the control law takes packets.
pub(super) trait Source {
    /// Removes and returns the first packet.
    fn pop(&mut self) -> Option<Waiting>;
    /// Bytes that remain in the queue.
    fn bytes(&self) -> u64;
}

/// State of the control law (RFC 8289 §5.2).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Control {
    /// `first_above_time_`: time at which the delay will have exceeded the target for an interval.
    first_above: Option<Time>,
    /// `drop_next_`: time of the next drop.
    drop_next: Time,
    /// `count_`: packets dropped since the dropping state was entered.
    pub count: u32,
    /// `lastcount_`: value of `count` when the dropping state was entered.
    last_count: u32,
    dropping: bool,
    /// `maxpacket_`: size of the largest packet so far.
    largest: u32,
}

impl Control {
    /// Next packet to transmit (RFC 8289 §5.5, `dequeue`).
    pub fn dequeue(
        &mut self,
        now: Time,
        law: &Law,
        line: &mut impl Source,
        actions: &mut QueueActions,
    ) -> Option<Waiting> {
        let (mut packet, mut ok_to_drop) = self.take(now, law, line);
        if self.dropping {
            self.dropping = ok_to_drop;
            while self.dropping && now >= self.drop_next {
                let first = packet?;
                self.count = self.count.saturating_add(1);
                if law.ecn && first.ecn_capable {
                    actions.mark(first.id);
                    self.drop_next = self.after(self.drop_next, law);
                    break;
                }
                actions.drop(first.id);
                (packet, ok_to_drop) = self.take(now, law, line);
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next = self.after(self.drop_next, law);
                }
            }
        } else if ok_to_drop {
            let first = packet?;
            if law.ecn && first.ecn_capable {
                actions.mark(first.id);
            } else {
                actions.drop(first.id);
                (packet, _) = self.take(now, law, line);
            }
            self.begin(now, law);
        }
        packet
    }

    /// Enters the dropping state. If that was left recently, the count starts from the value at
    /// which the queue was under control.
    fn begin(&mut self, now: Time, law: &Law) {
        self.dropping = true;
        let dropped = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < law.interval.saturating_mul(16);
        self.count = if dropped > 1 && recent { dropped } else { 1 };
        self.drop_next = self.after(now, law);
        self.last_count = self.count;
    }

    /// `dodequeue`: removes and returns the first packet, and whether it may be dropped.
    fn take(&mut self, now: Time, law: &Law, line: &mut impl Source) -> (Option<Waiting>, bool) {
        let Some(packet) = line.pop() else {
            self.first_above = None;
            return (None, false);
        };
        self.largest = self.largest.max(packet.frame.bytes);
        // At most one more packet is not a standing queue, however slow the link is.
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
