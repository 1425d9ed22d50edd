//! Bursts of data that the application wrote without a pause, and the pauses between them.

use super::arrivals::TimestampClock;
use crate::flow::packet_log::{CapturedData, Observed};
use serde::Serialize;

/// A sender that sends nothing for RTT/`PAUSE_MIN` after an acknowledgment had no data to send.
const PAUSE_MIN: i64 = 8;
/// Lower bound of the time RTT/`PAUSE_MIN`. If `ROUNDS` round trips are shorter, they are the
/// bound.
const PAUSE_MIN_NS: i64 = 2_000_000;
const ROUNDS: i64 = 4;
/// Shortest time for which a packet counts as held back by the path, if the round trip is shorter.
/// Clocks that drift apart by 50 ppm differ by as much after half an hour.
const HELD_MIN_NS: i64 = 100_000_000;

/// Data that an application sent without a pause.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Burst {
    /// Pause before the burst, in seconds. It begins when all earlier data are acknowledged; before
    /// the first burst, when the connection is established.
    pub pause_s: f64,
    /// Bytes of the burst.
    pub bytes: i64,
}

/// Bursts of the application. A burst begins with new data after a pause with nothing in flight.
pub fn find_bursts(observed: &Observed) -> Vec<Burst> {
    let here_ns = observed.loops_ns[0].unwrap_or(0);
    let round_trip_ns = here_ns + observed.loops_ns[1].unwrap_or(0);
    let least_ns = (round_trip_ns / PAUSE_MIN).max(PAUSE_MIN_NS.min(ROUNDS * round_trip_ns));
    let acks = &observed.packet_log.acks;
    let held = HeldTimes::of(observed, round_trip_ns);
    let mut bursts: Vec<Burst> = Vec::new();
    let (mut next, mut end) = (0, None);
    let (mut acked, mut acked_ns) = (i64::MIN, 0);
    // Time of the last segment if nothing else was in flight.
    let mut alone_ns = None;
    for passed in observed.packet_log.sent.iter().filter(|it| it.payload_bytes > 0) {
        while let Some(it) = acks.get(next).filter(|it| it.time_ns <= passed.time_ns) {
            if it.ack > acked {
                (acked, acked_ns) = (it.ack, it.time_ns);
            }
            next += 1;
        }
        let known = end.unwrap_or(passed.start);
        // A FIN is not data. Data in a gap, which were lost before the capture, count as written.
        let data_end = passed.start + i64::from(passed.payload_bytes);
        let fresh = data_end - known;
        if fresh <= 0 {
            // After a retransmission, the application did not cause the wait before the next data.
            alone_ns = None;
            continue;
        }
        // If the capture is not at the sender, the segments that an acknowledgment releases pass
        // the capture one round trip (between capture and sender) after the acknowledgment.
        let since_ack_ns = passed.time_ns - acked_ns - here_ns;
        // The receiver may have delayed the ACK of a single segment. The pause therefore begins one
        // round trip after this segment, even if its ACK came later.
        let since_alone_ns = alone_ns.map_or(0, |alone| passed.time_ns - alone - round_trip_ns);
        let is_acked = acked >= known;
        let pause_ns = if is_acked { since_ack_ns.max(since_alone_ns) } else { since_alone_ns };
        let pause_ns = pause_ns - held.of_packet_ns(passed);
        let is_idle = pause_ns >= least_ns;
        alone_ns = is_acked.then_some(passed.time_ns);
        match bursts.last_mut() {
            Some(last) if !is_idle => last.bytes += fresh,
            Some(_) => bursts.push(Burst { pause_s: pause_ns as f64 * 1e-9, bytes: fresh }),
            None => {
                let pause_s = first_pause_ns(observed, passed.time_ns) as f64 * 1e-9;
                bursts.push(Burst { pause_s, bytes: fresh });
            }
        }
        end = Some(data_end);
    }
    bursts
}

/// Times for which the path held packets back, by the sender's timestamps. While a packet is held,
/// nothing arrives, although the application has made no pause.
struct HeldTimes {
    clock: Option<TimestampClock>,
    /// Least time from transmission to the capture, by the clock of the timestamps.
    least_ns: i64,
    /// Shortest time that counts.
    from_ns: i64,
}

impl HeldTimes {
    fn of(observed: &Observed, round_trip_ns: i64) -> Self {
        let sent = &observed.packet_log.sent;
        let stamps = || sent.iter().filter_map(|it| Some((it.timestamp_value?, it.time_ns)));
        let clock = TimestampClock::of(stamps());
        let delays = clock
            .into_iter()
            .flat_map(|clock| stamps().map(move |(value, time_ns)| time_ns - clock.sent_ns(value)));
        let least_ns = delays.min().unwrap_or(0);
        Self { clock, least_ns, from_ns: HELD_MIN_NS.max(round_trip_ns) }
    }

    fn of_packet_ns(&self, passed: &CapturedData) -> i64 {
        let sent_ns = self.clock.zip(passed.timestamp_value);
        let sent_ns = sent_ns.map(|(clock, value)| clock.sent_ns(value));
        let held_ns = sent_ns.map_or(0, |sent_ns| passed.time_ns - sent_ns - self.least_ns);
        if held_ns >= self.from_ns { held_ns } else { 0 }
    }
}

/// Time from the end of the handshake, as the sender sees it, until its first data; 0 if the
/// handshake was not captured.
fn first_pause_ns(observed: &Observed, first_ns: i64) -> i64 {
    let Some((is_opener, own)) = observed.sender_opened.zip(observed.syn_ns[0]) else { return 0 };
    // A sender that opened the connection may send data when it has received the other end's SYN. A
    // sender that did not open it may send data when its own SYN has been acknowledged.
    let mut acks = observed.packet_log.acks.iter();
    let Some(ready) = acks.find(|it| it.is_syn == is_opener && it.time_ns >= own) else { return 0 };
    (first_ns - ready.time_ns - observed.loops_ns[0].unwrap_or(0)).max(0)
}
