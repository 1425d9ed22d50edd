//! Path MTU discovery by probing: search for the largest segment that the path carries.
//!
//! *What it does.* Sends a segment of new data that is larger than the others as a probe: if it is
//! acknowledged, all segments get that size; if it is lost, they do not.
//!
//! *Reference.* RFC 4821; Linux 6.18, `net/ipv4/tcp_output.c`: `tcp_mtu_probe`; `tcp_input.c`:
//! `tcp_mtup_probe_success`, `tcp_mtup_probe_failed`, `tcp_fastretrans_alert`; used if
//! `net.ipv4.tcp_mtu_probing` is 2.
//!
//! *Equations.* The size of a probe is the mean of the largest size known to pass (at first
//! `tcp_base_mss`) and the largest size that may pass (at first the peer's MSS). The search ends
//! when they differ by less than 8 bytes. A probe requires a window of at least eleven segments, of
//! which two are unused, and no missing segments. Enough unsent data must follow for the detection
//! of its loss.
//!
//! *Where we differ.* When the segment size changes, `cwnd` stays the same in bytes; Linux counts
//! `cwnd` in segments and rescales it. A completed search is not repeated after ten minutes, and
//! black holes are not detected (`tcp_mtu_probing` = 1).

use super::{Connection, Sender, State};
use crate::loss_detection::LossDetection;

/// `tcp_probe_threshold`: difference in bytes below which the search ends.
const CLOSE_ENOUGH: u32 = 8;
/// Smallest window for a probe, in segments.
const WINDOW: u64 = 11;

/// State of the search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MtuProbe {
    /// Largest payload known or assumed to pass, bytes.
    low: u32,
    /// Largest payload that may pass, bytes.
    high: u32,
    /// Positions of the probe in flight.
    flight: Option<(u64, u64)>,
}

impl Connection {
    /// Starts the search for the largest segment at `base` bytes. To be called before the
    /// handshake.
    pub fn enable_mtu_probing(&mut self, base: u32) {
        self.requests_mut().mtu = Some(MtuProbe { low: base, high: 0, flight: None });
    }

    /// Sets the peer's MSS, and the part of it that options occupy.
    pub(super) fn bound_mtu_probe(&mut self, peer_mss: u32, option_bytes: u32) {
        if let Some(mtu) = self.sender.allocated_requests().and_then(|it| it.mtu.as_mut()) {
            mtu.low = mtu.low.saturating_sub(option_bytes);
            mtu.high = peer_mss.saturating_sub(option_bytes);
        }
    }

    /// Payload of a probe that can be sent now; `None` if none can.
    pub(super) fn mtu_probe_size(&self) -> Option<u32> {
        let sender = &self.sender;
        let mtu = sender.repair.requests.mtu.as_ref()?;
        let smss = u64::from(sender.window.smss);
        // Linux probes in the state `TCP_CA_Open` only, and not while it sends SACK blocks, whose
        // option changes the payload of a segment.
        let missing = sender.loss_detection.in_recovery()
            || sender.timeout_recovery_end > 0
            || sender.board.sacked_bytes() > 0
            || self.receiver.has_sack_blocks();
        let open = self.state == State::Established && !missing;
        if !open || mtu.flight.is_some() || sender.window.cwnd < WINDOW * smss {
            return None;
        }
        let size = mtu.low.midpoint(mtu.high);
        let reordering =
            sender.loss_detection.reordering().unwrap_or(self.parameters.dupack_threshold);
        // Enough data must follow the probe to cause the duplicate ACKs that detect its loss
        // without a timeout (`size_needed`).
        let needed = u64::from(size) + u64::from(reordering + 1) * smss;
        let waiting = sender.written.saturating_sub(sender.snd_nxt);
        let offered = (sender.snd_una + sender.snd_wnd).saturating_sub(sender.snd_nxt);
        let fits = sender.pipe() + 2 * smss <= sender.window.cwnd;
        let apart = mtu.high.saturating_sub(mtu.low) >= CLOSE_ENOUGH;
        (apart && waiting >= needed && offered >= needed && fits).then_some(size)
    }

    /// Records that the probe is sent.
    pub(super) fn on_mtu_probe_sent(&mut self, position: u64, size: u32) {
        if let Some(mtu) = self.sender.allocated_requests().and_then(|it| it.mtu.as_mut()) {
            mtu.flight = Some((position, position + u64::from(size)));
        }
    }

    /// Evaluates an acknowledgment. If it covers the probe, the size passes; if it covers only the
    /// data before the probe in a recovery, the probe was too large.
    pub(super) fn evaluate_mtu_probe(&mut self) {
        let sender = &mut self.sender;
        let (snd_una, recovers) = (sender.snd_una, sender.loss_detection.in_recovery());
        let Some(mtu) = sender.allocated_requests().and_then(|it| it.mtu.as_mut()) else { return };
        let Some((start, end)) = mtu.flight else { return };
        let size = (end - start) as u32;
        if snd_una >= end {
            mtu.flight = None;
            mtu.low = size;
            sender.window.smss = size;
        } else if recovers && snd_una == start {
            mtu.flight = None;
            mtu.high = size - 1;
        }
    }
}

impl Sender {
    /// True if only an MTU probe is missing: the probe was too large, which is no sign of
    /// congestion.
    pub fn lacks_only_mtu_probe(&self) -> bool {
        let mtu = self.repair.get().and_then(|repair| repair.requests.get()?.mtu);
        mtu.and_then(|mtu| mtu.flight).is_some_and(|(start, _)| start == self.snd_una)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss_detection;
    use crate::scoreboard::{Delivered, Scoreboard};
    use retx_units::{Duration, SeqNr, Time};

    const SMSS: u64 = 1_000;
    /// Mean of 1024 and 1460 bytes, both without the 12 bytes of an option.
    const PROBE: u32 = 1_230;
    /// Linux, `size_needed`: the probe, and one segment more than DupThresh (`reordering` = 3).
    const NEEDED: u64 = 1_230 + 4 * SMSS;

    /// Connection with a window of eleven segments, nothing in flight, and just enough data and
    /// offered window for a probe.
    fn ready() -> Connection {
        let config = (crate::presets::find("reno").expect("a preset").config)();
        let mut connection = Connection::connect(&config, SeqNr(0));
        connection.enable_mtu_probing(1_024);
        connection.bound_mtu_probe(1_460, 12);
        connection.state = State::Established;
        let sender = &mut connection.sender;
        (sender.snd_una, sender.snd_nxt, sender.snd_max) = (1, 1, 1);
        sender.window.smss = SMSS as u32;
        sender.window.cwnd = 11 * SMSS;
        sender.written = 1 + NEEDED;
        sender.snd_wnd = NEEDED;
        connection
    }

    /// Lets three duplicate ACKs begin a fast recovery.
    fn begin_recovery(connection: &mut Connection) {
        let ack = loss_detection::Ack {
            now: Time::ZERO,
            srtt: None,
            least_rtt: Duration::MAX,
            has_rtt_sample: false,
            overdue: false,
            smss: SMSS as u32,
            selective: None,
            bytes_acked: 0,
            snd_una: 1,
            snd_max: 1,
            recovery_point: 1,
            defers_marking: false,
            dupack_threshold: 3,
        };
        let board = &mut Scoreboard::default();
        (0..3).for_each(|_| _ = connection.sender.loss_detection.on_ack(&ack, board));
        assert!(connection.sender.loss_detection.in_recovery());
    }

    fn size_after(change: impl FnOnce(&mut Connection)) -> Option<u32> {
        let mut connection = ready();
        change(&mut connection);
        connection.mtu_probe_size()
    }

    /// The conditions of `tcp_mtu_probe`, each at its limit.
    #[test]
    fn a_probe_needs_window_and_data() {
        assert_eq!(size_after(|_| ()), Some(PROBE));
        assert_eq!(size_after(|it| it.sender.window.cwnd -= 1), None, "`snd_cwnd` < 11");
        assert_eq!(size_after(|it| it.sender.written -= 1), None, "too few data");
        assert_eq!(size_after(|it| it.sender.snd_wnd -= 1), None, "too small an offer");
        assert_eq!(size_after(|it| it.state = State::CloseWait), None);
        // No probe if `tcp_packets_in_flight(tp) + 2 > snd_cwnd`.
        let in_flight = |segments: u64| {
            size_after(|it| {
                let sender = &mut it.sender;
                sender.snd_nxt += segments * SMSS;
                sender.snd_max = sender.snd_nxt;
                sender.written += segments * SMSS;
                sender.snd_wnd += segments * SMSS;
            })
        };
        assert_eq!([in_flight(9), in_flight(10)], [Some(PROBE), None]);
    }

    /// No probe unless the state is `TCP_CA_Open`, and none while SACK blocks are to be sent.
    #[test]
    fn no_probe_while_segments_are_missing() {
        assert_eq!(size_after(|it| it.sender.timeout_recovery_end = 1), None);
        let sacked = size_after(|it| {
            let board: &mut Scoreboard = &mut it.sender.board;
            (0..2).for_each(|n| board.push(Time::ZERO, 1 + SMSS * n, SMSS as u32));
            board.acknowledge(1, &[(1_001, 2_001)], &mut Delivered::default());
        });
        assert_eq!(sacked, None);
        let in_recovery = size_after(begin_recovery);
        assert_eq!(in_recovery, None);
        let reports = size_after(|it| {
            it.receiver.sack = true;
            it.receiver.note_duplicate(1, 2);
            assert!(it.receiver.has_sack_blocks());
        });
        assert_eq!(reports, None);
    }

    /// `tcp_probe_threshold`: the search goes on while the sizes differ by 8 bytes or more.
    #[test]
    fn the_search_ends_when_the_sizes_are_close() {
        let bounds = |low, high| {
            size_after(|it| it.requests_mut().mtu = Some(MtuProbe { low, high, flight: None }))
        };
        assert_eq!([bounds(1_000, 1_008), bounds(1_000, 1_007)], [Some(1_004), None]);
    }

    /// `tcp_mtup_probe_success`: a probe that is acknowledged gives the new segment size.
    /// `tcp_mtup_probe_failed`: if a recovery begins with the probe as the first missing segment,
    /// the new upper bound is one byte below it. Only one probe is in flight.
    #[test]
    fn a_probe_halves_the_interval() {
        let judged = |snd_una: u64, recovers: bool| {
            let mut connection = ready();
            connection.on_mtu_probe_sent(1_001, PROBE);
            assert_eq!(connection.mtu_probe_size(), None);
            if recovers {
                begin_recovery(&mut connection);
            }
            connection.sender.snd_una = snd_una;
            assert_eq!(connection.sender.lacks_only_mtu_probe(), snd_una == 1_001);
            connection.evaluate_mtu_probe();
            let mtu = connection.sender.repair.requests.mtu.expect("requested");
            assert!(mtu.flight.is_some() || !connection.sender.lacks_only_mtu_probe());
            (mtu.low, mtu.high, mtu.flight.is_none(), connection.sender.window.smss)
        };
        let undecided = (1_012, 1_448, false, 1_000);
        // The probe ends at 2231.
        assert_eq!(judged(2_230, false), undecided);
        assert_eq!(judged(2_231, false), (1_230, 1_448, true, 1_230));
        assert_eq!(judged(1_001, true), (1_012, 1_229, true, 1_000));
        assert_eq!(judged(1_001, false), undecided);
        assert_eq!(judged(1, true), undecided, "a segment before the probe is missing, too");
    }
}
