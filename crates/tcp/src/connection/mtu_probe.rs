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
//! when they differ by less than 8 bytes. Conditions: a window of eleven segments or more, no
//! missing segments, room for two segments, and enough unsent data that the segments after the
//! probe would detect its loss.
//!
//! *Where we differ.* When the segment size changes, `cwnd` keeps its bytes; Linux keeps segments
//! and rescales. A completed search is not repeated after ten minutes, and black holes are not
//! detected (`tcp_mtu_probing` = 1).

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
    pub fn probe_mtu(&mut self, base: u32) {
        self.requests().mtu = Some(MtuProbe { low: base, high: 0, flight: None });
    }

    /// Sets the peer's MSS, and the part of it that options occupy.
    pub(super) fn bound_mtu_probe(&mut self, peer_mss: u32, option_bytes: u32) {
        if let Some(mtu) = self.sender.allocated_requests().and_then(|it| it.mtu.as_mut()) {
            mtu.low = mtu.low.saturating_sub(option_bytes);
            mtu.high = peer_mss.saturating_sub(option_bytes);
        }
    }

    /// Payload of a probe that can be sent now.
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
    /// True if only an MTU probe is missing: it was too large, which is no sign of congestion.
    pub fn lacks_only_mtu_probe(&self) -> bool {
        let mtu = self.repair.get().and_then(|repair| repair.requests.get()?.mtu);
        mtu.and_then(|mtu| mtu.flight).is_some_and(|(start, _)| start == self.snd_una)
    }
}
