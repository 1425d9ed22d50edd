//! Buffer that is smaller than the bandwidth-delay product of the path: the receive buffer, which
//! limits the receive window, or the send buffer.

use super::WORTH_NAMING;
use crate::answer::{Limits, Pattern};
use crate::flow::path::Path;

/// Windows of one direction of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Windows {
    /// Largest receive window, bytes.
    pub receive_window_max: i64,
    /// Most bytes in flight.
    pub flight_max: i64,
    /// Bytes in flight at which a full send buffer lets its program write again, and the number of
    /// times; none if unknown.
    pub woken_at: Option<(i64, usize)>,
}

impl Windows {
    /// Handles an acknowledgment with this receive window.
    pub fn on_ack(&mut self, receive_window: i64) {
        self.receive_window_max = self.receive_window_max.max(receive_window);
    }

    /// Handles data, after which so many bytes are in flight.
    pub fn on_data(&mut self, flight: i64) {
        self.flight_max = self.flight_max.max(flight);
    }

    /// Pattern of a small receive or send buffer, whichever limited the flow for longer.
    pub fn find_small_buffer(
        &self,
        limits: &Limits,
        life_s: f64,
        path: &Path,
        rtt_min_ns: Option<i64>,
    ) -> Option<Pattern> {
        let is_receiver = limits.receive_window >= limits.send_buffer;
        let (name, limited_s) = if is_receiver {
            ("small_receive_window", limits.receive_window)
        } else {
            ("small_send_buffer", limits.send_buffer)
        };
        if limited_s < WORTH_NAMING * life_s {
            return None;
        }
        let rtt_s = rtt_min_ns? as f64 * 1e-9;
        let allow = |held: &str, bytes: i64| {
            format!(
                "{held} {:.0} kB, which, at an RTT of {:.1} ms, allow at most {:.3} Mbit/s",
                bytes as f64 * 1e-3,
                rtt_s * 1e3,
                bytes as f64 * 8e-6 / rtt_s
            )
        };
        let (mut evidence, bytes) = match self.woken_at {
            _ if is_receiver => {
                let bytes = self.receive_window_max;
                (allow("the largest receive window is", bytes), bytes as f64)
            }
            Some((bytes, times)) => {
                let kb = bytes as f64 * 1e-3;
                let evidence = format!(
                    "{times} times acknowledgments released no data, until new data followed one \
                     with about {kb:.0} kB still in flight: the program waited for room in the \
                     send buffer; Linux wakes it when a third of the buffer is free"
                );
                (evidence, bytes as f64)
            }
            None => {
                let bytes = self.flight_max;
                (allow("no more data are in flight than", bytes), bytes as f64)
            }
        };
        if let Some((rate, product)) = path.rate().zip(path.bandwidth_delay_bytes())
            && product > bytes
        {
            evidence += &format!(
                "; the bottleneck seems to pass {:.3} Mbit/s, which take {:.0} kB in flight (rate \
                 times RTT)",
                rate * 8e-6,
                product * 1e-3
            );
        }
        Some(Pattern::new(name, evidence, Vec::new(), 0.9))
    }
}
