//! Pauses that an application makes: a closed receive window, a server that prepares its response,
//! or a client that sends no request.

use super::{NOTICEABLE_NS, SentPacket, WORTH_NAMING};
use crate::answer::Pattern;

/// Pauses of one kind.
#[derive(Debug, Clone, Copy, Default)]
struct Total {
    count: u64,
    sum_ns: i64,
    longest_ns: i64,
    /// Frame with which the longest pause begins.
    packet: u64,
}

impl Total {
    fn add(&mut self, ns: i64, packet: u64) {
        self.count += 1;
        self.sum_ns += ns;
        if ns >= self.longest_ns {
            (self.longest_ns, self.packet) = (ns, packet);
        }
    }

    fn pattern(self, name: &'static str, life_ns: i64, what: &str) -> Option<Pattern> {
        let is_short = (self.sum_ns as f64) < WORTH_NAMING * life_ns as f64;
        if is_short || self.longest_ns < NOTICEABLE_NS {
            return None;
        }
        let seconds = |ns: i64| format!("{:.3} s", ns as f64 * 1e-9);
        let (sum, longest) = (seconds(self.sum_ns), seconds(self.longest_ns));
        let times = if self.count == 1 { "once".into() } else { format!("{} times", self.count) };
        let evidence = format!(
            "{what} {times}, {sum} in all; the longest, {longest}, begins with frame {}",
            self.packet
        );
        Some(Pattern::new(name, evidence, vec![self.packet], 0.95))
    }
}

/// Pauses of one direction.
#[derive(Debug, Default)]
pub struct Pauses {
    /// Time and frame of the packet that closed the receive window; none while that window is open.
    closed: Option<(i64, u64)>,
    /// Time at which an undelayed ACK of all data would have passed, and frame of the ACK; none
    /// while data are in flight.
    idle: Option<(i64, u64)>,
    /// Time and frame of an unanswered request, if any. A request consists of data that the other
    /// end sends while all data are acknowledged.
    request: Option<(i64, u64)>,
    /// Length of the client's pause before that request, and the frame with which it began. The
    /// pause counts only if the sender responds: otherwise it lies after the flow's life.
    before_request: Option<(i64, u64)>,
    windows: Total,
    answers: Total,
    requests: Total,
    last_ns: i64,
    /// Time of the last packet that acknowledged new data.
    last_progress_ns: i64,
}

/// Packet of the data's receiver.
#[derive(Debug, Clone, Copy)]
pub struct ReceiverPacket {
    /// Number of the frame in the capture.
    pub packet: u64,
    /// Time at the capture.
    pub time_ns: i64,
    /// Receive window, bytes.
    pub window: i64,
    /// Number of payload bytes.
    pub payload_bytes: u32,
    /// Time at which the packet would have passed if the receiver had acknowledged the newest data
    /// at once, and nothing had delayed them; none if it acknowledges no new data, or if these were
    /// retransmitted.
    pub undelayed_ns: Option<i64>,
    /// True if the packet acknowledges everything that was sent.
    pub acks_all_data: bool,
    /// Least time from the capture to the sender and back.
    pub sender_loop_ns: i64,
}

impl Pauses {
    /// Handles a packet of the receiver: its receive window, and a request if the packet carries
    /// data.
    pub fn on_ack(&mut self, it: &ReceiverPacket) {
        let at = (it.time_ns, it.packet);
        self.last_ns = it.time_ns;
        if it.window == 0 {
            // ACKs of window probes repeat the closed window, so only the first one counts.
            self.closed.get_or_insert(at);
        } else if let Some((since_ns, packet)) = self.closed.take() {
            self.windows.add(it.time_ns - since_ns, packet);
        }
        if it.acks_all_data && self.idle.is_none() {
            // The pause begins when the client has the data, not with an ACK that it delays, or
            // sends with the next request. Data behind others that waited arrive after those.
            let since_ns = it.undelayed_ns.map_or(it.time_ns, |ns| ns.max(self.last_progress_ns));
            // Further ACKs do not move the start of the pause while nothing is in flight.
            self.idle = Some((since_ns, it.packet));
        }
        if it.undelayed_ns.is_some() {
            self.last_progress_ns = it.time_ns;
        }
        if it.payload_bytes > 0 && it.acks_all_data {
            // A request may have several segments. The pause of the client ends with the first one,
            // and the server can respond after the last one.
            if self.request.is_none()
                && let Some((since_ns, packet)) = self.idle
                && it.time_ns > since_ns
            {
                self.before_request = Some((it.time_ns - since_ns, packet));
            }
            // The time that request and response take between the capture and the server is not
            // part of the server's pause.
            self.request = Some((it.time_ns + it.sender_loop_ns, it.packet));
        }
    }

    /// Handles data of the sender, which end its pause.
    pub fn on_data(&mut self, sent: &SentPacket) {
        self.idle = None;
        if let Some((ns, packet)) = self.before_request.take() {
            self.requests.add(ns, packet);
        }
        if let Some((since_ns, packet)) = self.request.take().filter(|_| !sent.is_retransmission) {
            self.answers.add((sent.time_ns - since_ns).max(0), packet);
        }
    }

    /// Number of responses to requests.
    pub fn response_count(&self) -> u64 {
        self.answers.count
    }

    /// Patterns of a flow that lasts `life_ns`.
    pub fn finish(mut self, life_ns: i64) -> Vec<Pattern> {
        if let Some((since_ns, packet)) = self.closed.take() {
            self.windows.add(self.last_ns - since_ns, packet);
        }
        let found = [
            self.windows.pattern("zero_window", life_ns, "the receiver closed its window"),
            self.answers.pattern("think_time", life_ns, "a request waited for its answer"),
            self.requests.pattern("no_request", life_ns, "the other end asked for nothing"),
        ];
        found.into_iter().flatten().collect()
    }
}
