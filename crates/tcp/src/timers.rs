//! The timers of a connection, as one table of deadlines.

use retx_units::Time;

/// Deadlines; [`Time::NEVER`] for a timer that is off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timers {
    /// Retransmission (RFC 6298).
    pub retransmit: Time,
    /// Zero-window probe (RFC 9293 §3.8.6.1).
    pub persist: Time,
    /// Loss detection's own: the reordering timer of RACK (RFC 8985 §6.2).
    pub reordering: Time,
    /// Tail loss probe (RFC 8985 §7.2).
    pub tail_loss_probe: Time,
    /// The pacing gate opens.
    pub pacing: Time,
    /// Delayed acknowledgment (RFC 5681 §4.2).
    pub delayed_ack: Time,
    /// Acknowledgment of several segments beyond a gap.
    pub compressed_ack: Time,
    /// End of TIME-WAIT (RFC 9293 §3.6.1).
    pub time_wait: Time,
}

impl Timers {
    pub const OFF: Self = Self {
        retransmit: Time::NEVER,
        persist: Time::NEVER,
        reordering: Time::NEVER,
        tail_loss_probe: Time::NEVER,
        pacing: Time::NEVER,
        delayed_ack: Time::NEVER,
        compressed_ack: Time::NEVER,
        time_wait: Time::NEVER,
    };

    /// The earliest deadline.
    #[inline(never)]
    pub fn next(&self) -> Time {
        self.next_usual().min(self.next_rare())
    }

    /// The earliest of those that run at most times.
    #[inline]
    pub const fn next_usual(&self) -> Time {
        // `min` is not for constants.
        if self.retransmit.as_nanos() < self.delayed_ack.as_nanos() {
            self.retransmit
        } else {
            self.delayed_ack
        }
    }

    /// The earliest of the others.
    fn next_rare(&self) -> Time {
        let sender = self.persist.min(self.pacing);
        let loss_detection = self.reordering.min(self.tail_loss_probe);
        sender.min(loss_detection).min(self.compressed_ack.min(self.time_wait))
    }

    /// One of the others is on.
    pub fn has_rare(&self) -> bool {
        self.next_rare() != Time::NEVER
    }

    /// True, once, when the deadline has come.
    pub fn expire(deadline: &mut Time, now: Time) -> bool {
        let due = *deadline <= now;
        if due {
            *deadline = Time::NEVER;
        }
        due
    }
}
