//! Window reductions by explicit congestion notification (RFC 3168 §6.1.2).

use crate::answer::Pattern;
use crate::packet::{ControlBits, Packet};

/// State of ECN for the data of one direction.
#[derive(Debug, Default)]
pub struct Ecn {
    /// True if both ends have agreed to use ECN.
    pub is_agreed: bool,
    /// Frame of an ACK with ECN-Echo to which the sender has not yet responded, if any.
    echo: Option<u64>,
    reductions: u32,
    first: u64,
}

impl Ecn {
    /// Records an ACK with ECN-Echo (ECE).
    pub fn on_ack(&mut self, packet: &Packet) {
        // A SYN carries ECE to negotiate ECN (RFC 3168 §6.1.1), not to echo a mark.
        if self.is_agreed
            && packet.control.any(ControlBits::ECE)
            && !packet.control.any(ControlBits::SYN)
        {
            self.echo.get_or_insert(packet.number);
        }
    }

    /// Handles data that pass the capture. Returns true if their CWR bit shows that the sender has
    /// reduced its congestion window because of an ECN-Echo. Senders also set CWR after a reduction
    /// in fast recovery (`tcp_init_cwnd_reduction`); `is_open` is false for such data.
    pub fn detects_reduction(&mut self, packet: &Packet, is_open: bool) -> bool {
        if !packet.control.any(ControlBits::CWR) || packet.control.any(ControlBits::SYN) {
            return false;
        }
        // The echo is cleared in any case, because CWR is the response to it. One reduction answers
        // all echoes of a round trip (RFC 3168 §6.1.2).
        let Some(echo) = self.echo.take().filter(|_| is_open) else { return false };
        if self.reductions == 0 {
            self.first = echo;
        }
        self.reductions += 1;
        true
    }

    /// Pattern of ECN; none if the sender did not reduce its congestion window because of it.
    pub fn pattern(&self) -> Option<Pattern> {
        let times = match self.reductions {
            0 => return None,
            1 => "once".to_owned(),
            count => format!("{count} times"),
        };
        let evidence = format!(
            "a queue marked packets, and the sender reduced its window {times}, the first time \
             after frame {}",
            self.first
        );
        Some(Pattern::new("ecn", evidence, vec![self.first], 0.99))
    }
}
