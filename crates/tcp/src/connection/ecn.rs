//! Explicit congestion notification: queues mark packets, the receiver echoes the marks, and the
//! sender reduces its window as for a loss.
//!
//! *Reference.* RFC 3168 §6.1; with a congestion control that needs ECN (DCTCP), RFC 8257 §3.2 and
//! Linux `tcp_dctcp.h`: the receiver echoes each change of the marks, and every packet is
//! ECN-capable, also SYNs, pure ACKs and retransmissions.
//!
//! *Where we differ.* With the details of Linux, ECN-Echo reduces the window gradually, at each
//! acknowledgment (`tcp_enter_cwr`), and does not stop a sender with a window of one segment. A
//! loss in a window of data for which ECN-Echo has reduced cwnd does not reduce it again (as in
//! Linux). A congestion control that models the path ignores ECN-Echo and answers with CWR alone,
//! as Linux's BBR does.

mod marks;

use super::reduction::Reduction;
use super::{Connection, Event};
use crate::Config;
use crate::congestion_control::{self, Ack, CongestionControl};
use crate::lazy::{Lazy, LazyDefault};
use crate::loss_detection::LossDetection;
use crate::spurious::Detector;
use retx_units::Time;
use retx_wire::{Ecn, Flags, PlainSegment, Segment, Timestamps};

/// Use of ECN by an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EcnMode {
    /// ECN is off.
    Off,
    /// Offered, and used if the peer offers it, too.
    Offered,
    /// Offered, and used if the peer offers it, too, for a congestion control that needs ECN: every
    /// packet is then ECN-capable.
    Needed,
}

impl EcnMode {
    /// Mode of an endpoint with this configuration and congestion control.
    pub fn from_config(config: &Config, control: &congestion_control::State) -> Self {
        match config.ecn {
            _ if control.needs_ecn() => Self::Needed,
            true => Self::Offered,
            false => Self::Off,
        }
    }
}

/// ECN state of an endpoint.
#[derive(Debug, Clone)]
pub(super) struct EcnState {
    mode: EcnMode,
    /// True if both ends use ECN.
    enabled: bool,
    /// ECN field of the packet being handled; not set if ECN is off.
    arriving: Ecn,
    /// Receiver: true if ECN-capable data have arrived.
    markable: bool,
    /// Receiver: true if a packet was marked, and the sender has not sent CWR yet.
    echoes: bool,
    /// Receiver that echoes each change of the marks: true if the last ECN-capable data were marked
    /// (`DCTCP.CE`).
    marked: bool,
    /// Sender: true if the current acknowledgment carries ECN-Echo, and is not below `SND.UNA`.
    echoed: bool,
    /// Sender: true if the congestion window was reduced, so the next new data carry CWR.
    reduced: bool,
    /// Sender: true if ECN-Echo arrived while the congestion window was one segment. No new data
    /// are sent until the retransmission timer expires.
    waits_for_rto: bool,
    /// Sender: true while a reduction by ECN-Echo is in progress (Linux `TCP_CA_CWR`).
    reducing: bool,
    /// Sender: windows of data for which cwnd was reduced; only if both ends use ECN.
    reductions: Lazy<Reductions>,
}

/// Values of `SND.MAX` when cwnd was last reduced: each ends the window of data of that reduction.
#[derive(Debug, Clone, Copy, Default)]
struct Reductions {
    /// `SND.MAX` at the last reduction for any reason.
    recover: u64,
    /// `SND.MAX` at the last reduction by ECN-Echo.
    echo_recover: u64,
}

impl LazyDefault for Reductions {
    const DEFAULT: &'static Self = &Self { recover: 0, echo_recover: 0 };
}

impl EcnState {
    pub const fn new(mode: EcnMode) -> Self {
        Self {
            mode,
            enabled: false,
            arriving: Ecn::NotEct,
            markable: false,
            echoes: false,
            marked: false,
            echoed: false,
            reduced: false,
            waits_for_rto: false,
            reducing: false,
            reductions: Lazy::NONE,
        }
    }

    /// Flags of an opening SYN (RFC 3168 §6.1.1). A retransmitted SYN does not offer ECN, because
    /// the flags may have caused the loss of the first (§6.1.1.1).
    pub const fn syn_flags(&self, retransmission: bool) -> Flags {
        if !matches!(self.mode, EcnMode::Off) && !retransmission {
            Flags::SYN.with(Flags::ECE).with(Flags::CWR)
        } else {
            Flags::SYN
        }
    }

    /// Flags of our SYN/ACK.
    pub const fn syn_ack_flags(&self) -> Flags {
        let flags = Flags::SYN.with(Flags::ACK);
        if self.enabled { flags.with(Flags::ECE) } else { flags }
    }

    /// Evaluates the peer's SYN or SYN/ACK.
    pub const fn negotiate(&mut self, flags: Flags) {
        // A SYN asks for ECN with ECE and CWR. A SYN/ACK agrees with ECE alone, because some hosts
        // reflect both bits (RFC 3168 §6.1.1).
        let asks_or_agrees =
            flags.contains(Flags::ECE) && flags.contains(Flags::CWR) != flags.contains(Flags::ACK);
        // If the SYN itself is ECN-capable, the peer's marks have another meaning (Linux
        // `tcp_ecn_create_request`).
        let is_capable = !flags.contains(Flags::ACK) && !matches!(self.arriving, Ecn::NotEct);
        self.enabled = asks_or_agrees
            && match self.mode {
                EcnMode::Off => false,
                EcnMode::Offered => !is_capable,
                EcnMode::Needed => true,
            };
    }

    /// ECN field of an opening SYN.
    pub const fn field_of_syn(&self) -> Ecn {
        if self.is_needed() { Ecn::Ect0 } else { Ecn::NotEct }
    }

    /// ECN field of all packets except SYNs and new data: SYN/ACKs, pure ACKs, retransmissions and
    /// probes of a closed window (RFC 3168 §6.1.5 and §6.1.6).
    pub const fn ecn_field(&self) -> Ecn {
        if self.enabled && self.is_needed() { Ecn::Ect0 } else { Ecn::NotEct }
    }

    const fn is_needed(&self) -> bool {
        matches!(self.mode, EcnMode::Needed)
    }

    /// True if both ends use ECN.
    pub const fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// ECN-Echo, which is set on every acknowledgment until the sender has confirmed its reduction.
    pub const fn echo_flags(&self) -> Flags {
        if self.echoes { Flags::ECE } else { Flags(0) }
    }

    /// True if the current acknowledgment carries ECN-Echo, and is not old.
    pub const fn is_echo(&self) -> bool {
        self.echoed
    }

    /// Flags and ECN field of data sent for the first time, within the peer's window, if both ends
    /// use ECN.
    pub const fn on_new_data(&mut self) -> (Flags, Ecn) {
        let flags = if self.reduced { Flags::CWR } else { Flags(0) };
        self.reduced = false;
        (flags, Ecn::Ect0)
    }

    /// Requests CWR on the next new data, because a lost SYN has reduced the window, too.
    pub const fn on_lost_syn(&mut self) {
        self.reduced = self.enabled;
    }

    /// True if new data wait for the retransmission timer.
    pub const fn waits_for_rto(&self) -> bool {
        self.waits_for_rto
    }

    /// Handles the expiry of the retransmission timer. Returns true if new data waited for it.
    pub const fn on_rto(&mut self) -> bool {
        std::mem::replace(&mut self.waits_for_rto, false)
    }

    /// True while the window is being reduced by ECN-Echo, acknowledgment by acknowledgment.
    pub const fn is_reducing(&self) -> bool {
        self.reducing
    }

    /// Position whose acknowledgment ends the reduction by ECN-Echo.
    pub fn echo_recover(&self) -> u64 {
        self.reductions.echo_recover
    }

    /// Ends the reduction by ECN-Echo, because another event sets the window from now on.
    pub const fn leave_reduction(&mut self) {
        self.reducing = false;
    }

    /// Records a window reduction for any reason (§6.1.2).
    pub fn on_reduction(&mut self, snd_max: u64) {
        self.reduced = self.enabled;
        if self.enabled {
            self.reductions.recover = snd_max;
        }
    }

    /// Cancels CWR after an undo: Linux `tcp_ecn_withdraw_cwr`.
    pub const fn withdraw_reduction(&mut self) {
        self.reduced = false;
    }
}

impl Connection {
    /// Like [`Self::handle_segment`], for a packet with this ECN field in its IP header.
    #[inline]
    pub fn handle_packet(&mut self, now: Time, segment: &Segment, ecn: Ecn) {
        if !self.fast_paths.plain {
            self.ecn.arriving = ecn;
        }
        self.process_segment(now, segment);
    }

    /// Handles, on a fast path, a segment that has neither SACK blocks nor a loss notice, in an
    /// unmarked packet. Returns false, without any effect, if the segment has to be passed to
    /// [`Self::handle_packet`].
    #[inline(always)]
    pub fn handle_plain(
        &mut self,
        now: Time,
        segment: PlainSegment,
        timestamps: Option<Timestamps>,
    ) -> bool {
        if !self.fast_paths.plain {
            self.ecn.arriving = Ecn::NotEct;
        }
        self.handle_fast(now, segment, timestamps)
    }

    /// Passes an acknowledgment to the congestion control, if both ends use ECN.
    #[inline]
    pub(super) fn observe_echo(&mut self, ack: &Ack) {
        if self.ecn.enabled {
            let sender = &mut self.sender;
            let smss = sender.window.smss;
            sender.congestion_control.observe_echo(ack, smss, self.ecn.echoed);
        }
    }

    /// Ignores the ECN-Echo of an old acknowledgment, one below `SND.UNA`.
    #[inline]
    pub(super) const fn ignore_echo(&mut self) {
        self.ecn.echoed = false;
    }

    /// Reduces the window for ECN-Echo, once for each window of data, before an acknowledgment up
    /// to `ack` is processed (§6.1.2).
    #[inline]
    pub(super) fn reduce_for_echo(&mut self, now: Time, flags: Flags, ack: u64) {
        self.ecn.echoed = self.ecn.enabled && flags.contains(Flags::ECE);
        let waits = self.echo_comes_last();
        if self.ecn.echoed && ack > self.ecn.reductions.recover && !waits {
            self.reduce_by_echo(now);
        }
    }

    /// True if ECN-Echo is evaluated after the rest of the acknowledgment, as in Linux
    /// (`tcp_try_to_open`). An ACK that undoes or ends a recovery can then begin a reduction.
    fn echo_comes_last(&self) -> bool {
        let sender = &self.sender;
        sender.loss_detection.as_linux() && !sender.congestion_control.models_path()
    }

    /// Evaluates ECN-Echo after loss detection has processed the acknowledgment.
    #[inline]
    pub(super) fn evaluate_echo_after_detection(&mut self, now: Time) {
        if self.ecn.echoed && self.echo_comes_last() && !self.ecn.reducing {
            self.reduce_by_echo(now);
        }
    }

    /// True if an acknowledgment with ECN-Echo does not grow the window. In Linux this depends on
    /// the state: the window does grow during the recovery after a timeout.
    #[inline]
    pub(super) fn echo_stops_growth(&self) -> bool {
        self.ecn.reducing || self.ecn.echoed && !self.echo_comes_last()
    }

    #[cold]
    fn reduce_by_echo(&mut self, now: Time) {
        let Some(cwnd_before) = self.begin_reduction(now) else { return };
        // §6.1.2: a window of one segment cannot be halved; the sender waits for its timer instead.
        self.ecn.waits_for_rto = cwnd_before <= u64::from(self.sender.window.smss)
            && !self.sender.congestion_control.models_path()
            && !self.sender.loss_detection.as_linux();
        let sender = &self.sender;
        let reducing = self.ecn.reducing;
        let cwnd_after =
            if reducing { sender.repair.cwnd_after_recovery } else { sender.window.cwnd };
        self.events.push_back(Event::EchoTaken { cwnd_before, cwnd_after });
    }

    /// Reduces the window as for ECN-Echo (`tcp_enter_cwr`), and returns the window before. Returns
    /// `None`, without a reduction, while a loss is being repaired.
    #[cold]
    pub(super) fn begin_reduction(&mut self, now: Time) -> Option<u64> {
        let sender = &mut self.sender;
        // In Linux this acknowledgment may have ended the recovery from a timeout before ECN-Echo
        // is evaluated.
        let repairs_timeout = sender.timeout_recovery_end > 0
            && !(sender.loss_detection.as_linux() && sender.timeout_recovery_is_over());
        if sender.loss_detection.in_recovery() || repairs_timeout {
            return None;
        }
        let cwnd_before = sender.window.cwnd;
        if !sender.congestion_control.models_path() {
            let loss = sender.loss_summary(now);
            sender.congestion_control.on_echo(&mut sender.window, &loss);
            // ssthresh is two segments at least, which may exceed the window: an echo must not
            // raise it.
            sender.window.cwnd = sender.window.cwnd.min(cwnd_before);
            // ECN-Echo proves congestion, so an earlier reduction is not undone any more
            // (`tcp_enter_cwr` clears `undo_marker`).
            sender.take_undo();
            sender.spurious.on_echo();
            let detection = &sender.loss_detection;
            if detection.as_linux() && detection.proportional_rate_reduction() {
                // `tcp_enter_cwr`: the window is reduced by proportional rate reduction.
                sender.repair.cwnd_after_recovery = sender.window.ssthresh;
                sender.window.cwnd = cwnd_before;
                sender.repair.reduction =
                    Some(Reduction::whole_segments(cwnd_before, sender.window.smss));
                self.ecn.reducing = true;
            } else {
                sender.congestion_control.on_reduction_end();
            }
        }
        let sender = &self.sender;
        self.ecn.on_reduction(sender.snd_max);
        self.ecn.reductions.echo_recover = sender.snd_max;
        Some(cwnd_before)
    }

    /// Ends a reduction once more than what was outstanding at its start is acknowledged (Linux
    /// `tcp_fastretrans_alert`).
    pub(super) fn end_reduction_by_echo(&mut self) {
        if self.ecn.reducing && self.sender.snd_una > self.ecn.reductions.echo_recover {
            self.ecn.reducing = false;
            self.sender.end_reduction();
            self.sender.end_cwnd_reduction();
            self.sender.congestion_control.on_reduction_end();
        }
    }

    /// True if ECN-Echo has already reduced the congestion window in the round trip in which a loss
    /// is detected. The loss then does not reduce it again (RFC 3168 §6.1.2).
    pub(super) fn is_reduced_by_echo(&self) -> bool {
        if self.echo_comes_last() {
            return self.ecn.reducing;
        }
        self.ecn.enabled && self.sender.snd_una <= self.ecn.reductions.echo_recover
    }
}

#[cfg(test)]
mod tests;
