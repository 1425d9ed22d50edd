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
    /// `first_above_time_`: time at which the delay will have exceeded the target for an interval;
    /// `None` while there is no standing queue.
    first_above: Option<Time>,
    /// `drop_next_`: time of the next drop.
    drop_next: Time,
    /// `count_`: number of packets dropped since the dropping state was entered.
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

    /// Enters the dropping state. If the previous dropping state ended recently, the count starts
    /// with the amount by which it grew in that state.
    fn begin(&mut self, now: Time, law: &Law) {
        self.dropping = true;
        let dropped = self.count.saturating_sub(self.last_count);
        let recent = now.since(self.drop_next) < law.interval.saturating_mul(16);
        self.count = if dropped > 1 && recent { dropped } else { 1 };
        self.drop_next = self.after(now, law);
        self.last_count = self.count;
    }

    /// Removes and returns the first packet, and true if it may be dropped (`dodequeue`).
    fn take(&mut self, now: Time, law: &Law, line: &mut impl Source) -> (Option<Waiting>, bool) {
        let Some(packet) = line.pop() else {
            self.first_above = None;
            return (None, false);
        };
        self.largest = self.largest.max(packet.frame.bytes);
        // If no more bytes remain than the largest packet so far has, there is no standing queue,
        // however slow the link is.
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

    /// Time of the next drop after one at `time`: t + interval/√count (`control_law`).
    fn after(&self, time: Time, law: &Law) -> Time {
        let interval = law.interval.as_nanos() as f64;
        time + Duration::from_nanos((interval / libm::sqrt(self.count.into())) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAW: Law =
        Law { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: false };

    /// RFC 8289 §5.5: `delta = count_ - lastcount_; count_ = 1; if (delta > 1 && now - drop_next_ <
    /// 16 * interval_) count_ = delta`, and the next drop is an interval/√count later.
    #[test]
    fn a_recent_dropping_state_gives_its_count() {
        let begun = |count, last_count, pause_ns: i64| {
            let drop_next = Time::ZERO + Duration::from_secs(10);
            let mut control = Control { count, last_count, drop_next, ..Control::default() };
            let pause = 16 * LAW.interval.as_nanos() as i64 + pause_ns;
            let now = drop_next + Duration::from_nanos(pause as u64);
            control.begin(now, &LAW);
            assert!(control.dropping);
            assert_eq!(control.last_count, control.count);
            (control.count, control.drop_next.since(now).as_nanos() / 1_000_000)
        };
        // In the previous dropping state the count grew by six, so the next drop comes after 100
        // ms/√6 = 40.8 ms.
        assert_eq!(begun(10, 4, -1), (6, 40));
        assert_eq!(begun(10, 4, 0), (1, 100), "16 intervals are not recent");
        // After a growth of the count by two: 100 ms/√2 = 70.7 ms. After a growth by only one, the
        // count starts at 1.
        assert_eq!([begun(6, 4, -1), begun(5, 4, -1)], [(2, 70), (1, 100)]);
        assert_eq!(begun(4, 4, -1), (1, 100));
    }

    /// Queue of packets of these sizes, which all arrived at time 0.
    struct Line(Vec<u32>);

    impl Source for Line {
        fn pop(&mut self) -> Option<Waiting> {
            let bytes = (!self.0.is_empty()).then(|| self.0.remove(0))?;
            let frame = crate::frame::Frame { bytes, ..Default::default() };
            Some(Waiting { frame, ..Waiting::default() })
        }

        fn bytes(&self) -> u64 {
            self.0.iter().map(|bytes| u64::from(*bytes)).sum()
        }
    }

    /// RFC 8289 §5.5, `dodequeue`: a packet may be dropped if the delay was at least the target for
    /// an interval, and if more bytes remain than the largest packet has.
    #[test]
    fn an_interval_above_the_target_permits_a_drop() {
        let ms = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        let ok = |line: &[u32], times: &[Time]| -> Vec<bool> {
            let (mut control, mut line) = (Control::default(), Line(line.to_vec()));
            times.iter().map(|now| control.take(*now, &LAW, &mut line).1).collect()
        };
        let just_before = Time::from_nanos(104_999_999);
        assert_eq!(ok(&[1000; 9], &[ms(5), just_before, ms(105)]), [false, false, true]);
        // A delay 1 ns below the target does not start the interval.
        let below = Time::from_nanos(4_999_999);
        assert_eq!(ok(&[1000; 9], &[below, ms(105), ms(204), ms(205)])[1..], [false, false, true]);
        // When the second packet leaves, as many bytes remain in the queue as the largest packet so
        // far has (1000), or one more (1001). Only the latter are a standing queue.
        assert_eq!(ok(&[1000, 1000, 1000], &[ms(5), ms(105)]), [false, false]);
        assert_eq!(ok(&[1000, 1000, 1001], &[ms(5), ms(105)]), [false, true]);
        // An empty queue has no packet to drop.
        assert_eq!(ok(&[], &[ms(5), ms(105)]), [false, false]);
    }
}
